//! What Spore and the shim say to each other: JSON lines over a socket pair.
//!
//! The plan comes first and is not an argument, because every user can read a process's
//! arguments in `/proc` (<https://man7.org/linux/man-pages/man5/proc_pid_cmdline.5.html>) and a
//! plan holds an agent's keys. The end of the stream is a message too: it tells the side that
//! reads it that the other side is gone.
//!
//! Opened files travel with a message (`SCM_RIGHTS`): they come with its first byte, so they are there
//! when the message is whole. The message itself says how many they are and what each is.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use spore_model::SessionToken;

use super::sandbox::HandedFile;
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
    /// The program runs, held to this. What the files are that come with it.
    Started {
        enforced: Option<Enforced>,
        handed: Vec<HandedFile>,
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

/// What the kernel lets one message carry: `SCM_MAX_FD`.
pub(super) const MOST_FILES: usize = 253;

/// One end of the socket pair.
#[derive(Debug)]
pub(super) struct Channel {
    stream: Arc<UnixStream>,
    unread: Vec<u8>,
    /// How much of `unread` is known to hold no end of line.
    searched: usize,
    /// Files that have come and were not taken, in the order in which they were sent.
    files: Vec<OwnedFd>,
}

impl Channel {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self { stream: Arc::new(stream), unread: Vec::new(), searched: 0, files: Vec::new() }
    }

    pub(super) fn send(&self, message: &impl Serialize) -> io::Result<()> {
        send(&self.stream, message)
    }

    /// Sends `message`, and `files` with it. The other side gets copies of its own.
    pub(super) fn send_with(
        &self,
        message: &impl Serialize,
        files: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        if files.is_empty() {
            return self.send(message);
        }
        let line = line_of(message)?;
        let raw: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let control = [ControlMessage::ScmRights(&raw)];
        let sent = loop {
            let (fd, parts) = (self.stream.as_raw_fd(), [IoSlice::new(&line)]);
            match sendmsg::<()>(fd, &parts, &control, MsgFlags::MSG_NOSIGNAL, None) {
                Err(Errno::EINTR) => {}
                sent => break sent?,
            }
        };
        (&*self.stream).write_all(&line[sent..])
    }

    /// Takes the `count` files that came with the message that was just received.
    pub(super) fn take_files(&mut self, count: usize) -> io::Result<Vec<OwnedFd>> {
        if self.files.len() < count {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "files are missing"));
        }
        Ok(self.files.drain(..count).collect())
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
            match self.read(&mut chunk) {
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

    /// Reads bytes, and keeps the files that come with them.
    #[expect(unsafe_code, reason = "a received file is a plain number until it is owned")]
    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let mut space = nix::cmsg_space!([RawFd; MOST_FILES]);
        let (fd, mut parts) = (self.stream.as_raw_fd(), [IoSliceMut::new(chunk)]);
        let got = recvmsg::<()>(fd, &mut parts, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
        for message in got.cmsgs()? {
            if let ControlMessageOwned::ScmRights(files) = message {
                // SAFETY: the kernel has just made them for us alone.
                self.files.extend(files.iter().map(|fd| unsafe { OwnedFd::from_raw_fd(*fd) }));
            }
        }
        Ok(got.bytes)
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
    stream.write_all(&line_of(message)?)
}

fn line_of(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
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

    /// An opened file that holds `text`.
    fn file(text: &str) -> OwnedFd {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        reader.into()
    }

    fn texts(channel: &mut Channel, count: usize) -> Vec<String> {
        let files = channel.take_files(count).unwrap();
        files.into_iter().map(|fd| io::read_to_string(std::fs::File::from(fd)).unwrap()).collect()
    }

    #[test]
    fn files_come_with_their_message_in_order() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut channel, sender) = (Channel::new(ours), Channel::new(theirs));
        let files = ["one", "two", "three"].map(file);
        let [one, two, three] = files.each_ref().map(AsFd::as_fd);
        // What the kernel hands over together is told apart.
        sender.send(&Order::Go).unwrap();
        sender.send_with(&Order::Stop, &[one, two]).unwrap();
        sender.send(&Order::Go).unwrap();
        sender.send_with(&Order::Stop, &[three]).unwrap();
        drop(files);
        assert_eq!([receive(&mut channel), receive(&mut channel)], ["Go", "Stop"]);
        assert_eq!(texts(&mut channel, 2), ["one", "two"]);
        assert_eq!([receive(&mut channel), receive(&mut channel)], ["Go", "Stop"]);
        assert_eq!(texts(&mut channel, 1), ["three"]);
        assert_eq!(channel.take_files(1).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn as_many_files_travel_as_the_kernel_lets_and_no_more() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut channel, sender) = (Channel::new(ours), Channel::new(theirs));
        let one = file("same");
        // Longer than a socket's buffer is read at once, so it comes in pieces.
        let long = "x".repeat(1 << 16);
        sender.send_with(&long, &vec![one.as_fd(); MOST_FILES]).unwrap();
        let received: Received<String> = channel.receive(Some(monotonic())).unwrap();
        assert!(matches!(received, Received::Message(text) if text == long));
        assert_eq!(channel.take_files(MOST_FILES).unwrap().len(), MOST_FILES);
        sender.send_with(&Order::Go, &vec![one.as_fd(); MOST_FILES + 1]).unwrap_err();
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
