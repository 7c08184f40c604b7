//! The server: a thread for every connection, and an end that leaves none behind.
//!
//! Threads and blocking sockets, because hanging is a thing this server does on purpose and a
//! blocked thread is the plainest way to do it. Whatever a thread is blocked in, the server can
//! end: it keeps a second handle of every socket and shuts it down, and a thread that only waits
//! for time to pass waits on a condition variable.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::books::{Books, ModelTotals, RecordedExchange};
use crate::dialect::SseFrame;
use crate::http::{self, Framing, HttpError};
use crate::planner::{AnswerPlanner, Body, ConnectionFault, PlannedAnswer, first_half};
use crate::scenario::ModelScenario;

/// Where to listen and what to keep. The default is any free port and no log.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// 0 for any free one.
    pub port: u16,
    /// One JSON line is appended for every request.
    pub log: Option<PathBuf>,
}

/// A running model. Dropping it ends every connection and waits for every thread.
pub struct ModelServer {
    address: SocketAddr,
    state: Arc<ServerState>,
    acceptor: Option<JoinHandle<()>>,
}

/// What all threads share.
struct ServerState {
    planner: Mutex<AnswerPlanner>,
    connections: Mutex<Connections>,
    changed: Condvar,
}

#[derive(Default)]
struct Connections {
    closing: bool,
    next: u64,
    sockets: HashMap<u64, TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

/// What happens to a connection when an answer is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterAnswer {
    Stay,
    Hang,
    Close,
}

impl ModelServer {
    pub fn start(scenario: ModelScenario) -> io::Result<Self> {
        Self::start_with(scenario, &Options::default())
    }

    pub fn start_with(scenario: ModelScenario, options: &Options) -> io::Result<Self> {
        let open = |path| OpenOptions::new().create(true).append(true).open(path);
        let log = options.log.as_ref().map(open).transpose()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        let address = listener.local_addr()?;
        let state = Arc::new(ServerState {
            planner: Mutex::new(AnswerPlanner::new(scenario, Books::new(log))),
            connections: Mutex::default(),
            changed: Condvar::new(),
        });
        let inside = Arc::clone(&state);
        let acceptor = std::thread::Builder::new()
            .name(thread_name(address))
            .spawn(move || admit(&listener, &inside, address))?;
        Ok(Self { address, state, acceptor: Some(acceptor) })
    }

    /// The base address, without a slash at its end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<RecordedExchange> {
        self.state.planner().books.exchanges()
    }

    pub fn totals(&self) -> ModelTotals {
        self.state.planner().books.totals()
    }

    /// The requests that no turn of the scenario answers; a test that passes has none.
    pub fn unanswered(&self) -> Vec<RecordedExchange> {
        self.state.planner().books.unanswered()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.state.close();
        // The acceptor is blocked in `accept` until a connection arrives: this is one.
        let knock = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let (Ok(_), Some(acceptor)) = (&knock, self.acceptor.take()) {
            let _ = acceptor.join();
        }
        let threads = std::mem::take(&mut self.state.connections().threads);
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl ServerState {
    fn planner(&self) -> MutexGuard<'_, AnswerPlanner> {
        self.planner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut connections = self.connections();
        connections.closing = true;
        for socket in connections.sockets.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    /// Lets the time pass; false if the server closes meanwhile.
    fn wait(&self, time: Duration) -> bool {
        let is_open = |connections: &mut Connections| !connections.closing;
        let waited = self.changed.wait_timeout_while(self.connections(), time, is_open);
        !waited.unwrap_or_else(PoisonError::into_inner).0.closing
    }
}

/// Short enough for the kernel to keep, so that one sees whose thread is left over.
fn thread_name(address: SocketAddr) -> String {
    format!("model-{}", address.port())
}

fn admit(listener: &TcpListener, state: &Arc<ServerState>, address: SocketAddr) {
    for socket in listener.incoming() {
        let mut connections = state.connections();
        if connections.closing {
            return;
        }
        let (finished, running) =
            std::mem::take(&mut connections.threads).into_iter().partition(JoinHandle::is_finished);
        connections.threads = running;
        drop::<Vec<_>>(finished);
        let Ok(socket) = socket else { continue };
        let Ok(handle) = socket.try_clone() else { continue };
        connections.next += 1;
        let number = connections.next;
        connections.sockets.insert(number, handle);
        let inside = Arc::clone(state);
        let thread = std::thread::Builder::new().name(thread_name(address)).spawn(move || {
            // A broken connection is the client's affair; the request is in the books.
            let _ = converse(&socket, &inside);
            let _ = socket.shutdown(Shutdown::Both);
            inside.connections().sockets.remove(&number);
        });
        match thread {
            Ok(thread) => connections.threads.push(thread),
            Err(_) => drop(connections.sockets.remove(&number)),
        }
    }
}

fn converse(socket: &TcpStream, state: &ServerState) -> Result<(), HttpError> {
    socket.set_nodelay(true)?;
    let mut input = BufReader::new(socket);
    let mut output = socket;
    loop {
        let request = match http::read(&mut input, &mut output) {
            Ok(None) => return Ok(()),
            Ok(Some(request)) => request,
            Err(HttpError::Bad(what)) => {
                deliver(&mut output, &PlannedAnswer::bad_request(what), state)?;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut answer = state.planner().receive(&request);
        if request.method == "HEAD" {
            answer.body = Body::Whole(String::new());
        }
        match deliver(&mut output, &answer, state)? {
            AfterAnswer::Stay if request.keep_alive => {}
            AfterAnswer::Stay | AfterAnswer::Close => return Ok(()),
            AfterAnswer::Hang => {
                // Until the client goes, or the server: both end this read.
                io::copy(&mut input.by_ref(), &mut io::sink())?;
                return Ok(());
            }
        }
    }
}

fn deliver(
    output: &mut dyn Write,
    answer: &PlannedAnswer,
    state: &ServerState,
) -> Result<AfterAnswer, HttpError> {
    if answer.fault == Some(ConnectionFault::HangBeforeHeaders) {
        return Ok(AfterAnswer::Hang);
    }
    if !state.wait(answer.before) {
        return Ok(AfterAnswer::Close);
    }
    Ok(match &answer.body {
        Body::Whole(text) => deliver_whole(output, answer, text)?,
        Body::Stream(frames) => deliver_stream(output, answer, frames, state)?,
    })
}

fn deliver_whole(
    output: &mut dyn Write,
    answer: &PlannedAnswer,
    text: &str,
) -> io::Result<AfterAnswer> {
    let framing = Framing::Length(text.len());
    http::write_head(output, answer.status, &answer.headers, framing)?;
    let (text, then) = match answer.fault {
        None | Some(ConnectionFault::HangBeforeHeaders) => (text.to_owned(), AfterAnswer::Stay),
        Some(ConnectionFault::HangAfter(_)) => (first_half(text), AfterAnswer::Hang),
        Some(ConnectionFault::CutAfter(_)) => (first_half(text), AfterAnswer::Close),
    };
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(then)
}

fn deliver_stream(
    output: &mut dyn Write,
    answer: &PlannedAnswer,
    frames: &[SseFrame],
    state: &ServerState,
) -> io::Result<AfterAnswer> {
    http::write_head(output, answer.status, &answer.headers, Framing::Chunks)?;
    for (sent, frame) in frames.iter().enumerate() {
        match answer.fault {
            Some(ConnectionFault::HangAfter(events)) if events <= sent => {
                return Ok(AfterAnswer::Hang);
            }
            Some(ConnectionFault::CutAfter(events)) if events <= sent => {
                return Ok(AfterAnswer::Close);
            }
            _ => {}
        }
        if !state.wait(answer.between) {
            return Ok(AfterAnswer::Close);
        }
        http::write_chunk(output, &frame.text())?;
    }
    // Told to stop after more events than there are: then after the last, which is still not
    // the end of the body.
    match answer.fault {
        Some(ConnectionFault::HangAfter(_) | ConnectionFault::HangBeforeHeaders) => {
            return Ok(AfterAnswer::Hang);
        }
        Some(ConnectionFault::CutAfter(_)) => return Ok(AfterAnswer::Close),
        None => {}
    }
    http::write_last_chunk(output)?;
    Ok(AfterAnswer::Stay)
}
