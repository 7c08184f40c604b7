//! The server: a thread for every connection, and an end that leaves none behind.
//!
//! Threads and blocking sockets, because hanging is a thing this server does on purpose and a
//! blocked thread is the plainest way to do it. Whatever a thread is blocked in, the server can
//! end: it keeps a second handle of every socket and shuts it down, and whoever only waits for
//! time to pass waits on a bell.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::books::{Books, Exchange, Totals};
use crate::dialect::Frame;
use crate::http::{self, Framing, HttpError};
use crate::rehearsal::{Body, Mishap, Performance, Rehearsal, first_half};
use crate::scenario::Scenario;

/// Where to listen and what to keep. The default is any free port and no log.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// 0 for any free one.
    pub port: u16,
    /// One JSON line is appended for every request.
    pub log: Option<PathBuf>,
}

/// A running model. Dropping it ends every connection and waits for every thread.
pub struct Server {
    address: SocketAddr,
    house: Arc<House>,
    door: Option<JoinHandle<()>>,
}

/// What all threads share.
struct House {
    rehearsal: Mutex<Rehearsal>,
    guests: Mutex<Guests>,
    bell: Condvar,
}

#[derive(Default)]
struct Guests {
    closing: bool,
    next: u64,
    sockets: HashMap<u64, TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

/// What happens to a connection when an answer is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Stay,
    Hang,
    Close,
}

impl Server {
    pub fn start(scenario: Scenario) -> io::Result<Self> {
        Self::start_with(scenario, &Options::default())
    }

    pub fn start_with(scenario: Scenario, options: &Options) -> io::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        let log = options.log.as_ref().map(open).transpose()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        let address = listener.local_addr()?;
        let house = Arc::new(House {
            rehearsal: Mutex::new(Rehearsal::new(scenario, Books::new(log))),
            guests: Mutex::default(),
            bell: Condvar::new(),
        });
        let inside = Arc::clone(&house);
        let door = std::thread::Builder::new()
            .name(thread_name(address))
            .spawn(move || admit(&listener, &inside, address))?;
        Ok(Self { address, house, door: Some(door) })
    }

    /// The base address, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Exchange> {
        self.house.rehearsal().books.exchanges()
    }

    pub fn totals(&self) -> Totals {
        self.house.rehearsal().books.totals()
    }

    /// The requests that nobody could answer; a test that passes has none.
    pub fn unanswered(&self) -> Vec<Exchange> {
        self.house.rehearsal().books.unanswered()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.house.close();
        // The door is blocked until somebody knocks.
        let knock = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let (Ok(_), Some(door)) = (&knock, self.door.take()) {
            let _ = door.join();
        }
        let threads = std::mem::take(&mut self.house.guests().threads);
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl House {
    fn rehearsal(&self) -> MutexGuard<'_, Rehearsal> {
        self.rehearsal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut guests = self.guests();
        guests.closing = true;
        for socket in guests.sockets.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.bell.notify_all();
    }

    /// Lets the time pass; false if the server closes meanwhile.
    fn wait(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut guests = self.guests();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if guests.closing || left.is_zero() {
                return !guests.closing;
            }
            let waited = self.bell.wait_timeout(guests, left);
            guests = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Short enough for the kernel to keep, so that one sees whose thread is left over.
fn thread_name(address: SocketAddr) -> String {
    format!("model-{}", address.port())
}

fn admit(listener: &TcpListener, house: &Arc<House>, address: SocketAddr) {
    for socket in listener.incoming() {
        let mut guests = house.guests();
        if guests.closing {
            return;
        }
        let (finished, running) =
            std::mem::take(&mut guests.threads).into_iter().partition(JoinHandle::is_finished);
        guests.threads = running;
        drop::<Vec<_>>(finished);
        let Ok(socket) = socket else { continue };
        let Ok(handle) = socket.try_clone() else { continue };
        guests.next += 1;
        let guest = guests.next;
        guests.sockets.insert(guest, handle);
        let inside = Arc::clone(house);
        let thread = std::thread::Builder::new().name(thread_name(address)).spawn(move || {
            // A broken connection is the client's affair; the request is in the books.
            let _ = converse(&socket, &inside);
            let _ = socket.shutdown(Shutdown::Both);
            inside.guests().sockets.remove(&guest);
        });
        match thread {
            Ok(thread) => guests.threads.push(thread),
            Err(_) => drop(guests.sockets.remove(&guest)),
        }
    }
}

fn converse(socket: &TcpStream, house: &House) -> Result<(), HttpError> {
    socket.set_nodelay(true)?;
    let mut input = BufReader::new(socket);
    let mut output = socket;
    loop {
        let request = match http::read(&mut input, &mut output) {
            Ok(None) => return Ok(()),
            Ok(Some(request)) => request,
            Err(HttpError::Bad(what)) => {
                deliver(&mut output, &Performance::bad_request(what), house)?;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut performance = house.rehearsal().receive(&request);
        if request.method == "HEAD" {
            performance.body = Body::Whole(String::new());
        }
        match deliver(&mut output, &performance, house)? {
            Then::Stay if request.keep_alive => {}
            Then::Stay | Then::Close => return Ok(()),
            Then::Hang => {
                // Until the client goes, or the server: both end this read.
                io::copy(&mut input.by_ref(), &mut io::sink())?;
                return Ok(());
            }
        }
    }
}

fn deliver(
    output: &mut dyn Write,
    performance: &Performance,
    house: &House,
) -> Result<Then, HttpError> {
    if performance.mishap == Some(Mishap::HangBeforeHeaders) {
        return Ok(Then::Hang);
    }
    if !house.wait(performance.before) {
        return Ok(Then::Close);
    }
    Ok(match &performance.body {
        Body::Whole(text) => deliver_whole(output, performance, text)?,
        Body::Stream(frames) => deliver_stream(output, performance, frames, house)?,
    })
}

fn deliver_whole(
    output: &mut dyn Write,
    performance: &Performance,
    text: &str,
) -> io::Result<Then> {
    let framing = Framing::Length(text.len());
    http::write_head(output, performance.status, &performance.headers, framing)?;
    let (text, then) = match performance.mishap {
        None | Some(Mishap::HangBeforeHeaders) => (text.to_owned(), Then::Stay),
        Some(Mishap::HangAfter(_)) => (first_half(text), Then::Hang),
        Some(Mishap::CutAfter(_)) => (first_half(text), Then::Close),
    };
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(then)
}

fn deliver_stream(
    output: &mut dyn Write,
    performance: &Performance,
    frames: &[Frame],
    house: &House,
) -> io::Result<Then> {
    http::write_head(output, performance.status, &performance.headers, Framing::Chunks)?;
    for (sent, frame) in frames.iter().enumerate() {
        match performance.mishap {
            Some(Mishap::HangAfter(events)) if events <= sent => return Ok(Then::Hang),
            Some(Mishap::CutAfter(events)) if events <= sent => return Ok(Then::Close),
            _ => {}
        }
        if !house.wait(performance.between) {
            return Ok(Then::Close);
        }
        http::write_chunk(output, &frame.text())?;
    }
    // Told to stop after more events than there are: then after the last, which is still not
    // the end of the body.
    match performance.mishap {
        Some(Mishap::HangAfter(_) | Mishap::HangBeforeHeaders) => return Ok(Then::Hang),
        Some(Mishap::CutAfter(_)) => return Ok(Then::Close),
        None => {}
    }
    http::write_last_chunk(output)?;
    Ok(Then::Stay)
}
