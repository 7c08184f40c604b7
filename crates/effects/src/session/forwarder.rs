//! Connects what a session reaches inside of its own network with what is outside.
//!
//! The session's first process has left sockets that listen in there. Here, in Spore, what comes in
//! is accepted and copied to and from the real address, whose name is looked up out here. A
//! session therefore reaches what is listed and nothing else, whatever it sends. A proxy is
//! reached too, but only for tunnels to what is listed (see [`tunnel`]).
//!
//! One thread accepts, and each connection has one; all of them sleep in `poll`. The end of the
//! forwarder is the end of a pipe that each of them watches, so no list of them is kept. A thread
//! that looks up a name cannot be woken: it is waited for a moment only, and ends by itself.

mod relay;
mod tunnel;

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::{
    IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs,
};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrIn, SockaddrIn6, connect, setsockopt, socket,
    sockopt,
};

use spore_model::NetAddress;

use super::sandbox::Reached;
use super::wire::timeout_until;
use crate::clock::monotonic;
use relay::relay;

/// More wait until one of them ends: what is inside could take every descriptor that we may have.
const MOST_CONNECTIONS: usize = 128;

/// What systems wait for on their own is minutes.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);

/// How long a thread is waited for that looks up a name.
const END_WITHIN: Duration = Duration::from_millis(500);

/// How long nothing is accepted after that has failed: there may be no descriptors left.
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Enough to look up a name, with what libraries put on a stack for it.
const STACK: usize = 256 << 10;

/// Forwards until it is dropped.
#[derive(Debug)]
pub(super) struct Forwarder {
    /// Its end tells every thread.
    hold: Option<PipeWriter>,
    accepting: Option<JoinHandle<()>>,
}

/// A socket that listens inside, for something outside.
pub(super) struct InnerListener {
    pub(super) socket: OwnedFd,
    pub(super) reached: Reached,
}

impl Forwarder {
    /// Starts to forward; nothing is started where nothing listens.
    pub(super) fn start(listeners: Vec<InnerListener>) -> io::Result<Self> {
        if listeners.is_empty() {
            return Ok(Self { hold: None, accepting: None });
        }
        let (end, hold) = io::pipe()?;
        let (freed, free) = io::pipe()?;
        let listeners = listeners.into_iter();
        let listeners = listeners.map(|inner| (inner.socket.into(), Arc::new(inner.reached)));
        let acceptor = Acceptor {
            listeners: listeners.collect(),
            end: Arc::new(end),
            freed,
            free: Arc::new(free),
            connections: 0,
        };
        let thread = std::thread::Builder::new().name("forwarder".to_owned()).stack_size(STACK);
        let accepting = Some(thread.spawn(|| acceptor.run())?);
        Ok(Self { hold: Some(hold), accepting })
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        drop(self.hold.take());
        let _ = self.accepting.take().map(JoinHandle::join);
    }
}

struct Acceptor {
    listeners: Vec<(TcpListener, Arc<Reached>)>,
    /// Readable when all is over.
    end: Arc<PipeReader>,
    /// One byte for each connection that has ended.
    freed: PipeReader,
    free: Arc<PipeWriter>,
    connections: usize,
}

impl Acceptor {
    fn run(mut self) {
        let mut pause = None;
        while !self.wait(pause) {
            pause = match self.accept_all() {
                Ok(()) => None,
                Err(_) => Some(monotonic() + TRY_AGAIN),
            };
        }
        self.listeners.clear();
        let until = Some(monotonic() + END_WITHIN);
        while self.connections > 0 && is_readable(self.freed.as_fd(), until) {
            self.count_freed();
        }
    }

    /// Sleeps until there is something to accept. Returns whether all is over.
    fn wait(&mut self, pause: Option<Instant>) -> bool {
        let is_full = self.connections >= MOST_CONNECTIONS;
        let is_paused = pause.is_some_and(|until| monotonic() < until);
        let waits: &[_] = if is_full || is_paused { &[] } else { &self.listeners };
        let mut fds = vec![
            PollFd::new(self.end.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.freed.as_fd(), PollFlags::POLLIN),
        ];
        fds.extend(waits.iter().map(|(one, _)| PollFd::new(one.as_fd(), PollFlags::POLLIN)));
        let asked = poll(&mut fds, timeout_until(pause.filter(|_| is_paused)));
        let [is_over, is_freed] = [0, 1].map(|at| fds[at].any().unwrap_or(true));
        if asked.is_err_and(|error| error != Errno::EINTR) || is_over {
            return true;
        }
        if is_freed {
            self.count_freed();
        }
        false
    }

    fn count_freed(&mut self) {
        let mut bytes = [0; MOST_CONNECTIONS];
        self.connections -= self.freed.read(&mut bytes).unwrap_or(0).min(self.connections);
    }

    fn accept_all(&mut self) -> io::Result<()> {
        for (listener, reached) in &self.listeners {
            while self.connections < MOST_CONNECTIONS {
                let client = match listener.accept() {
                    Ok((client, _)) => client,
                    Err(error) if is_no_matter(&error) => break,
                    Err(error) => return Err(error),
                };
                client.set_nonblocking(true)?;
                let (end, free) = (Arc::clone(&self.end), FreedAtEnd(Arc::clone(&self.free)));
                let reached = Arc::clone(reached);
                let thread = std::thread::Builder::new().name("forwarded".to_owned());
                let attend = move || {
                    let _free = free;
                    // What goes wrong shows inside as a connection that ends.
                    let _ = attend(client, &reached, &Ending(end));
                };
                // Where no thread can be had, what `attend` owns is dropped, and so told.
                self.connections += 1;
                let _ = thread.stack_size(STACK).spawn(attend)?;
            }
        }
        Ok(())
    }
}

/// Nothing is there, or no more.
fn is_no_matter(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | ConnectionAborted | Interrupted)
}

fn is_readable(fd: BorrowedFd<'_>, until: Option<Instant>) -> bool {
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    matches!(poll(&mut fds, timeout_until(until)), Ok(1..))
}

/// Tells that a connection has ended, however it did.
struct FreedAtEnd(Arc<PipeWriter>);

impl Drop for FreedAtEnd {
    fn drop(&mut self) {
        let _ = (&*self.0).write_all(&[0]);
    }
}

/// The forwarder's end, which every wait is also a wait for.
struct Ending(Arc<PipeReader>);

impl Ending {
    /// Waits until one of `wanted` is ready, and returns what each of them is.
    fn wait(
        &self,
        wanted: &[(BorrowedFd<'_>, PollFlags)],
        deadline: Option<Instant>,
    ) -> io::Result<Vec<PollFlags>> {
        loop {
            let mut fds = vec![PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            fds.extend(wanted.iter().map(|(fd, flags)| PollFd::new(*fd, *flags)));
            match poll(&mut fds, timeout_until(deadline)) {
                Ok(0) if deadline.is_some_and(|deadline| monotonic() >= deadline) => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                Ok(_) if fds[0].any().unwrap_or(true) => {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => {
                    let ready =
                        fds[1..].iter().map(|fd| fd.revents().unwrap_or(PollFlags::POLLERR));
                    return Ok(ready.collect());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Connects one client with what it asked for, to the end.
fn attend(client: TcpStream, reached: &Reached, ending: &Ending) -> io::Result<()> {
    let connected = match &reached.tunnels {
        None => connect_to(&reached.address, ending).map(|server| Some((server, Vec::new()))),
        Some(allowed) => tunnel::open(&client, &reached.address, allowed, ending),
    };
    match connected {
        Ok(Some((server, first))) => relay(&client, &server, first, ending),
        Ok(None) => client.shutdown(Shutdown::Both),
        Err(error) => {
            // The client is not to take it for an answer that is empty.
            let _ = reset(&client);
            Err(error)
        }
    }
}

/// Makes the end of this connection an error for the other side.
fn reset(stream: &TcpStream) -> io::Result<()> {
    let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    Ok(setsockopt(stream, sockopt::Linger, &at_once)?)
}

/// Connects to the first of the host's addresses that answers.
fn connect_to(address: &NetAddress, ending: &Ending) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    let found: Vec<SocketAddr> = match address.host.as_str() {
        // Inside it is both, whatever it is out here.
        "localhost" => {
            let both = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
            both.map(|ip| SocketAddr::new(ip, address.port)).into()
        }
        host => (host, address.port).to_socket_addrs()?.collect(),
    };
    for at in found {
        match connect_at(at, ending) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => failed = error,
            connected => return connected,
        }
    }
    Err(failed)
}

fn connect_at(at: SocketAddr, ending: &Ending) -> io::Result<TcpStream> {
    let family = if at.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let stream = TcpStream::from(socket(family, SockType::Stream, flags, None)?);
    let asked = match at {
        SocketAddr::V4(at) => connect(stream.as_raw_fd(), &SockaddrIn::from(at)),
        SocketAddr::V6(at) => connect(stream.as_raw_fd(), &SockaddrIn6::from(at)),
    };
    match asked {
        Ok(()) => return Ok(stream),
        Err(Errno::EINPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let deadline = Some(monotonic() + CONNECT_WITHIN);
    ending.wait(&[(stream.as_fd(), PollFlags::POLLOUT)], deadline)?;
    match stream.take_error()? {
        None => Ok(stream),
        Some(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
