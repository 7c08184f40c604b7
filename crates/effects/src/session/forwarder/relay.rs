//! Copies between two streams in both directions, each until its own end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use nix::poll::PollFlags;

use super::Ending;

pub(super) const ROOM: usize = 32 << 10;

/// How often one direction goes on before the other one has its turn, and the end is looked for.
const TURNS: usize = 8;

/// One direction.
struct Flow<'a> {
    from: &'a TcpStream,
    to: &'a TcpStream,
    held: Vec<u8>,
    /// How much of it is written.
    written: usize,
    /// The end was read, and passed on: nothing is read before all that is held is written.
    ended: bool,
}

impl<'a> Flow<'a> {
    fn new(from: &'a TcpStream, to: &'a TcpStream, held: Vec<u8>) -> Self {
        Self { from, to, held, written: 0, ended: false }
    }

    fn is_empty(&self) -> bool {
        self.written == self.held.len()
    }

    fn wants_to_read(&self) -> bool {
        self.is_empty() && !self.ended
    }

    /// Moves what can be moved without waiting.
    fn advance(&mut self) -> io::Result<()> {
        for _ in 0..TURNS {
            while !self.is_empty() {
                match self.to.write(&self.held[self.written..]) {
                    Ok(count) => self.written += count,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            if self.ended {
                return Ok(());
            }
            self.held.resize(ROOM, 0);
            self.written = 0;
            let read = self.from.read(&mut self.held);
            self.held.truncate(*read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => {
                    // At once, and not in the next turn: there may be none, as nothing is waited for any more.
                    self.ended = true;
                    return self.to.shutdown(Shutdown::Write);
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Copies until both directions have ended. `first` is what the client has said already.
pub(super) fn relay(
    client: &TcpStream,
    server: &TcpStream,
    first: Vec<u8>,
    ending: &Ending,
) -> io::Result<()> {
    let mut out = Flow::new(client, server, first);
    let mut back = Flow::new(server, client, Vec::new());
    loop {
        let moved = out.advance().and_then(|()| back.advance());
        if let Err(error) = moved {
            // What one side broke off, the other must not take for a whole answer.
            let _ = super::reset(client).and(super::reset(server));
            return Err(error);
        }
        if out.ended && back.ended {
            return Ok(());
        }
        let flags = |read: &Flow<'_>, write: &Flow<'_>| {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::POLLIN, read.wants_to_read());
            flags.set(PollFlags::POLLOUT, !write.is_empty());
            flags
        };
        let both = [(client, &out, &back), (server, &back, &out)];
        // A side that is over in both directions is always ready, and of no interest.
        let open = both.iter().filter(|(_, read, write)| !(read.ended && write.ended));
        let wanted: Vec<_> =
            open.map(|(stream, read, write)| (stream.as_fd(), flags(read, write))).collect();
        let ready = ending.wait(&wanted, None)?;
        if ready.iter().any(|ready| ready.contains(PollFlags::POLLERR)) {
            let _ = super::reset(client).and(super::reset(server));
            return Err(io::ErrorKind::ConnectionReset.into());
        }
    }
}
