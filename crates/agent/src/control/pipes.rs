//! The pipes of a session. Each has a thread of its own, so a program that fills one while
//! we look at another never waits for us, and none is read for longer than it is open.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender};

use spore_secrets::{KnownSecrets, Scrubber};

const READ_BYTES: usize = 64 * 1024;

/// How much of stderr is kept from its beginning.
const STDERR_BYTES: usize = 1024 * 1024;

/// How much of stderr is kept from its end, in the log and for an error message.
const COMPLAINT_BYTES: usize = 4096;

/// The record of what a session printed, up to a cap.
pub(super) struct Transcript {
    file: File,
    left: u64,
}

impl Transcript {
    /// A second attempt at the same session goes on where the first left off.
    pub(super) fn open(path: &Path, cap: u64) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        let left = cap.saturating_sub(file.metadata()?.len());
        Ok(Self { file, left })
    }

    /// Keeps `bytes` while there is room. A full disk must not lose the session: what
    /// matters of it reaches the journal by another way.
    fn keep(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len());
        if room > 0 && self.file.write_all(&bytes[..room]).is_ok() {
            self.left -= room as u64;
        }
    }
}

/// The record of stderr: its beginning and its end.
pub(super) struct StderrLog {
    file: File,
    left: usize,
}

impl StderrLog {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        Ok(Self { file, left: STDERR_BYTES })
    }

    /// Returns how much of `bytes` had no room.
    fn keep(&mut self, bytes: &[u8]) -> usize {
        let room = self.left.min(bytes.len());
        self.left -= room;
        let _ = self.file.write_all(&bytes[..room]);
        bytes.len() - room
    }
}

/// Writes each line to stdin until every sender is dropped; then closes stdin.
pub(super) fn feed(stdin: Option<impl Write>, words: &Receiver<String>) {
    let Some(mut stdin) = stdin else { return };
    for word in words {
        // A program that does not read its prompt is no error of ours.
        if stdin.write_all(word.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// Reads stdout to its end, keeps it, and passes it on while the listener is there.
pub(super) fn stdout(
    stdout: Option<impl Read>,
    secrets: &KnownSecrets,
    mut transcript: Transcript,
    listener: &SyncSender<Vec<u8>>,
) {
    read_to_end(stdout, secrets, &mut |block| {
        transcript.keep(block);
        // A listener that is gone does not end the reading: a full pipe would block the program.
        let _ = listener.send(block.to_vec());
    });
}

/// Reads stderr to its end, keeps it, and returns its last words.
pub(super) fn stderr(
    stderr: Option<impl Read>,
    secrets: &KnownSecrets,
    mut log: StderrLog,
) -> String {
    let mut tail = Vec::new();
    let mut missing = 0;
    read_to_end(stderr, secrets, &mut |block| {
        missing += log.keep(block);
        tail.extend_from_slice(block);
        if tail.len() > 2 * COMPLAINT_BYTES {
            tail.drain(..tail.len() - COMPLAINT_BYTES);
        }
    });
    tail.drain(..tail.len().saturating_sub(COMPLAINT_BYTES));
    if missing > 0 {
        let last = &tail[tail.len().saturating_sub(missing)..];
        let left_out = missing - last.len();
        let _ = write!(log.file, "\n… {left_out} bytes left out\n").and(log.file.write_all(last));
    }
    String::from_utf8_lossy(&tail).trim().to_owned()
}

/// Reads to the end; `on_block` sees every byte but the secrets.
fn read_to_end(pipe: Option<impl Read>, secrets: &KnownSecrets, on_block: &mut dyn FnMut(&[u8])) {
    let Some(mut pipe) = pipe else { return };
    let mut scrubber = Scrubber::new(secrets.clone());
    let mut chunk = vec![0; READ_BYTES];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => {
                let clean = scrubber.pass(&chunk[..count]);
                if !clean.is_empty() {
                    on_block(&clean);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    let rest = scrubber.finish();
    if !rest.is_empty() {
        on_block(&rest);
    }
}
