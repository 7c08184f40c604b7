//! A gate's log file: its beginning and its end, and a mark where the middle was too much.
//!
//! Half of the cap goes to what came first, written as it comes, so a person can follow it.
//! The other half is a window over what came last, held in memory until the end: the
//! summary of a talkative test run is in its last lines.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use spore_secrets::{KnownSecrets, Scrubber};

pub(crate) struct Log {
    file: File,
    /// What is kept has passed it.
    scrubber: Scrubber,
    head_room: usize,
    tail: VecDeque<u8>,
    tail_cap: usize,
    left_out: u64,
    closed: bool,
    /// The first thing that went wrong. The program is not told: it is drained to its end.
    broken: Option<io::Error>,
}

/// What became of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) is_whole: bool,
}

impl Log {
    pub(crate) fn create(path: &Path, cap: u64, secrets: &KnownSecrets) -> io::Result<Self> {
        let cap = usize::try_from(cap).unwrap_or(usize::MAX);
        Ok(Self {
            file: File::create(path)?,
            scrubber: Scrubber::new(secrets.clone()),
            head_room: cap / 2,
            tail: VecDeque::new(),
            tail_cap: cap - cap / 2,
            left_out: 0,
            closed: false,
            broken: None,
        })
    }

    pub(crate) fn append(&mut self, output: &[u8]) {
        if self.closed || self.broken.is_some() {
            return;
        }
        let clean = self.scrubber.pass(output);
        self.keep(&clean);
    }

    fn keep(&mut self, output: &[u8]) {
        let (head, rest) = output.split_at(output.len().min(self.head_room));
        self.head_room -= head.len();
        if let Err(error) = self.file.write_all(head) {
            self.broken = Some(error);
            return;
        }
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.tail_cap);
        self.tail.drain(..excess);
        self.left_out += excess as u64;
    }

    /// Writes the end and makes all of it durable. Whatever is appended later is dropped.
    pub(crate) fn close(&mut self) -> io::Result<Written> {
        self.closed = true;
        let rest = self.scrubber.finish();
        self.keep(&rest);
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        if self.left_out > 0 {
            let left_out = self.left_out;
            writeln!(self.file, "\n[… {left_out} bytes left out: the log has a cap …]")?;
        }
        self.file.write_all(self.tail.make_contiguous())?;
        self.tail = VecDeque::new();
        self.file.sync_all()?;
        Ok(Written { bytes: self.file.metadata()?.len(), is_whole: self.left_out == 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cap: u64, pieces: &[&[u8]], expected: &str, is_whole: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gate.log");
        let mut log = Log::create(&path, cap, &KnownSecrets::default()).unwrap();
        for piece in pieces {
            log.append(piece);
        }
        let bytes = expected.len() as u64;
        assert_eq!(log.close().unwrap(), Written { bytes, is_whole });
        log.append(b"too late");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
    }

    #[test]
    fn output_up_to_the_cap_is_kept_whole() {
        check(8, &[b"abc", b"defgh"], "abcdefgh", true);
        check(8, &[], "", true);
    }

    #[test]
    fn of_more_than_the_cap_the_middle_is_marked() {
        let marked = "abcd\n[… 2 bytes left out: the log has a cap …]\nghij";
        check(8, &[b"abcdefghij"], marked, false);
        check(8, &[b"a", b"bcdefghi", b"j"], marked, false);
        check(0, &[b"ab"], "\n[… 2 bytes left out: the log has a cap …]\n", false);
    }

    #[test]
    fn a_secret_in_pieces_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gate.log");
        let known =
            KnownSecrets::new([spore_secrets::KnownValue::new("KEY", "umbrella-17-quartz")]);
        let mut log = Log::create(&path, 1 << 16, &known).unwrap();
        for piece in ["key: umbrel", "la-17-", "quartz\numbrella-17"] {
            log.append(piece.as_bytes());
        }
        log.close().unwrap();
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!(kept, "key: [secret KEY]\numbrella-17");
    }

    #[test]
    fn fifty_megabytes_pass_through() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gate.log");
        let mut log = Log::create(&path, 1 << 16, &KnownSecrets::default()).unwrap();
        let piece = vec![b'x'; 1 << 16];
        for _ in 0..800 {
            log.append(&piece);
        }
        log.append(b"the end");
        assert!(!log.close().unwrap().is_whole);
        let kept = std::fs::read(&path).unwrap();
        assert!(kept.ends_with(b"xthe end") && kept.len() < (1 << 16) + 100);
    }
}
