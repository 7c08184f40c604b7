//! What Spore and the shim say to each other: JSON lines over a socket pair.
//!
//! The plan comes first and is not an argument, because every user can read a process's
//! arguments in `/proc` (<https://man7.org/linux/man-pages/man5/proc_pid_cmdline.5.html>) and a
//! plan holds an agent's keys. The end of the stream is a message too: it tells the side that
//! reads it that the other side is gone.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use spore_model::SessionToken;

use super::{Confinement, Enforced, ProcessIdentity, SandboxRefusal};
use crate::clock::monotonic;

/// What to start. It has no `Debug`: the environment may hold keys.
#[derive(Clone, Serialize, Deserialize)]
pub struct ShimPlan {
    pub token: SessionToken,
    /// A path, or a name to be found on the `PATH` of `env`.
    pub program: PathBuf,
    pub args: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment but for the token; nothing is inherited.
    pub env: Vec<(String, String)>,
    pub grace: Grace,
    /// True for a pipe, false for an empty input.
    pub stdin: bool,
    /// What the session is held to; one that cannot be held is not started.
    #[serde(default)]
    pub confinement: Option<Confinement>,
}

/// How long a process has to end by itself after each signal; after the second it is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Grace {
    pub interrupt_ms: u64,
    pub terminate_ms: u64,
}

/// From Spore to the shim, after the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    Go,
    Stop,
}

/// From the shim to Spore.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShimReport {
    Ready(ProcessIdentity),
    /// The program runs, held to this.
    Started {
        enforced: Option<Enforced>,
    },
    /// The kernel does not hold what the plan asks for, so nothing was started.
    NotConfined {
        refusal: SandboxRefusal,
    },
    NoDirectory {
        errno: i32,
    },
    NotStarted {
        errno: i32,
    },
    /// The program ended; descendants of it may be left.
    Exited {
        code: i32,
    },
    /// Nothing is left.
    Gone {
        stopped: bool,
        swept: u32,
    },
}

pub(super) enum Received<M> {
    Message(M),
    /// The other side is gone.
    Closed,
    /// Nothing came before the deadline; what has come of a line is kept.
    Late,
}

/// Far above what the kernel lets arguments and environment take together.
const LONGEST_LINE: usize = 16 << 20;

/// One end of the socket pair.
#[derive(Debug)]
pub(super) struct Channel {
    stream: Arc<UnixStream>,
    unread: Vec<u8>,
    /// How much of `unread` is known to hold no end of line.
    searched: usize,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream: Arc::new(stream), unread: Vec::new(), searched: 0 }
    }

    pub(super) fn send(&self, message: &impl Serialize) -> io::Result<()> {
        send(&self.stream, message)
    }

    /// Returns the sending half, which does not keep the channel open.
    pub(super) fn sender(&self) -> Weak<UnixStream> {
        Arc::downgrade(&self.stream)
    }

    /// Ends the stream in both directions, which tells the other side that this one is gone.
    pub(super) fn hang_up(&self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    pub(super) fn receive<M: DeserializeOwned>(
        &mut self,
        deadline: Option<Instant>,
    ) -> io::Result<Received<M>> {
        loop {
            if let Some(line) = self.take_line() {
                return Ok(Received::Message(serde_json::from_slice(&line)?));
            }
            if self.unread.len() > LONGEST_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the line has no end"));
            }
            if !self.is_readable_by(deadline)? {
                return Ok(Received::Late);
            }
            let mut chunk = [0; 1 << 14];
            match (&*self.stream).read(&mut chunk) {
                Ok(0) => return Ok(Received::Closed),
                Ok(count) => self.unread.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What a peer leaves that died with something unread.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Ok(Received::Closed);
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn take_line(&mut self) -> Option<Vec<u8>> {
        let Some(at) = self.unread[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.unread.len();
            return None;
        };
        let rest = self.unread.split_off(self.searched + at + 1);
        self.searched = 0;
        Some(std::mem::replace(&mut self.unread, rest))
    }

    fn is_readable_by(&self, deadline: Option<Instant>) -> io::Result<bool> {
        loop {
            let mut fds = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, timeout_until(deadline)) {
                Ok(0) if deadline.is_some_and(|deadline| monotonic() < deadline) => {}
                Ok(count) => return Ok(count > 0),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

pub(super) fn send(mut stream: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Rounds up: a wait that ends just before its deadline would spin.
pub(super) fn timeout_until(deadline: Option<Instant>) -> PollTimeout {
    let Some(deadline) = deadline else { return PollTimeout::NONE };
    let left = deadline.saturating_duration_since(monotonic());
    if left.is_zero() {
        return PollTimeout::ZERO;
    }
    PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(channel: &mut Channel) -> String {
        match channel.receive::<Order>(Some(monotonic())) {
            Ok(Received::Message(order)) => format!("{order:?}"),
            Ok(Received::Closed) => "closed".to_owned(),
            Ok(Received::Late) => "late".to_owned(),
            Err(error) => format!("{:?}", error.kind()),
        }
    }

    #[track_caller]
    fn check(writes: &[&str], expected: &[&str]) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(ours);
        let mut heard = Vec::new();
        for bytes in writes {
            theirs.write_all(bytes.as_bytes()).unwrap();
            heard.push(receive(&mut channel));
        }
        drop(theirs);
        while heard.last().is_none_or(|last| last != "closed") {
            heard.push(receive(&mut channel));
        }
        assert_eq!(heard, expected);
    }

    #[test]
    fn a_line_counts_when_it_is_whole() {
        check(&["\"g", "o\"\n"], &["late", "Go", "closed"]);
    }

    #[test]
    fn lines_that_come_together_are_heard_one_by_one() {
        check(&["\"go\"\n\"stop\"\n"], &["Go", "Stop", "closed"]);
    }

    #[test]
    fn a_line_that_was_cut_off_is_not_heard() {
        check(&["\"sto"], &["late", "closed"]);
    }

    #[test]
    fn a_line_that_means_nothing_is_an_error_and_the_next_is_heard() {
        check(&["\"dance\"\n\"go\"\n"], &["InvalidData", "Go", "closed"]);
    }

    #[test]
    fn a_peer_that_died_with_something_unread_is_gone() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut channel = Channel::new(ours);
        channel.send(&Order::Go).unwrap();
        drop(theirs);
        assert_eq!(receive(&mut channel), "closed");
    }

    #[test]
    fn a_sender_does_not_keep_the_channel_open() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let channel = Channel::new(ours);
        let sender = channel.sender();
        drop(channel);
        assert!(sender.upgrade().is_none());
        assert_eq!(receive(&mut Channel::new(theirs)), "closed");
    }
}
