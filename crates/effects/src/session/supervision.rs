//! Supervises a session whose output is only collected: a gate, a command of the `run` tool.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use super::{Session, SessionError};
use crate::clock::monotonic;

/// How long a pipe may stay open when every process of the session is gone. It closes with
/// the last of them, unless one of them handed its end to a process outside of the session.
const DRAIN_WITHIN: Duration = Duration::from_secs(2);

/// How a supervised session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SupervisedEnd {
    ByItself(i32),
    OutOfTime,
    Cancelled,
}

/// Receives what a session prints, in the order in which it is read.
pub type OutputSink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// The readers of a session's pipes.
pub struct Draining(Receiver<()>);

impl Draining {
    /// Starts to read both pipes. The threads are not joined: one that never ends is left
    /// behind with its pipe rather than waited for.
    pub fn start(session: &mut Session, sink: &OutputSink) -> Self {
        let (sender, drained) = channel();
        if let Some(pipe) = session.take_stderr() {
            read(pipe, Arc::clone(sink), sender.clone());
        }
        if let Some(pipe) = session.take_stdout() {
            read(pipe, Arc::clone(sink), sender);
        }
        Self(drained)
    }

    /// Waits until all that was printed has been read.
    pub fn finish(self) {
        // Ends with a time-out, or when both readers have dropped their side.
        let _ = self.0.recv_timeout(DRAIN_WITHIN);
    }
}

fn read(mut pipe: impl Read + Send + 'static, sink: OutputSink, open: Sender<()>) {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => sink(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        drop(open);
    });
}

/// Waits until nothing of the session is left, which it brings about when time is up or
/// `cancel` says so; that is asked every `look_every`.
pub fn watch(
    session: &mut Session,
    deadline: Option<Instant>,
    look_every: Duration,
    cancel: &dyn Fn() -> bool,
) -> Result<SupervisedEnd, SessionError> {
    let mut asked = None;
    loop {
        if let Some(end) = session.wait_until(monotonic() + look_every)? {
            // A program that ended by itself just before we asked has a result.
            return Ok(asked.filter(|_| end.stopped).unwrap_or(SupervisedEnd::ByItself(end.code)));
        }
        if asked.is_some() {
            continue;
        }
        if cancel() {
            asked = Some(SupervisedEnd::Cancelled);
        } else if deadline.is_some_and(|deadline| monotonic() >= deadline) {
            asked = Some(SupervisedEnd::OutOfTime);
        } else {
            continue;
        }
        session.stop();
    }
}
