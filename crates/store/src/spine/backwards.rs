//! Reads the spine from its end, to find where its last few events begin.
//!
//! A person who wants to see the last twenty events must not wait for a gigabyte of older
//! ones. This finds the places of lines, newest first; reading from such a place on is still
//! the [`super::EventReader`]'s work, and so is the reporting of what is no event.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use spore_model::Event;

use super::{Cursor, MAX_LINE_BYTES, Spine, SpineError, open_partition};

const CHUNK: u64 = 64 * 1024;

/// Lines, the newest first: where each begins, and its event if it is one. A line that is
/// still being written is not there yet. After an error there is nothing more.
pub struct Backwards {
    spine: Spine,
    /// The partitions that are not opened yet; the last one is next.
    partitions: Vec<String>,
    current: Option<Partition>,
}

struct Partition {
    name: String,
    file: File,
    /// Where `tail` begins in the file.
    start: u64,
    /// What lies before the last line that was given out.
    tail: Vec<u8>,
    /// How many bytes at the end of `tail` hold no newline.
    searched: usize,
    /// The line that `tail` ends in has more bytes than are kept.
    oversized: bool,
    /// What stands behind the last newline; `None` once that was dealt with.
    unfinished: Option<LastLineState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LastLineState {
    /// A process may be writing it.
    Pending,
    /// It will not be finished any more, but may lack nothing but its newline.
    Closed,
}

impl Backwards {
    pub(super) fn new(spine: Spine) -> Result<Self, SpineError> {
        let partitions = spine.partitions()?;
        let mut backwards = Self { spine, partitions, current: None };
        backwards.open(LastLineState::Pending)?;
        Ok(backwards)
    }

    fn open(&mut self, unfinished: LastLineState) -> Result<(), SpineError> {
        self.current = None;
        let Some(name) = self.partitions.pop() else { return Ok(()) };
        let path = self.spine.path_of(&name);
        let opened = open_partition(&path).and_then(|file| {
            let start = file.metadata()?.len();
            Ok(Partition {
                name,
                file,
                start,
                tail: Vec::new(),
                searched: 0,
                oversized: false,
                unfinished: Some(unfinished),
            })
        });
        self.current = Some(opened.map_err(|source| SpineError::Io { path, source })?);
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<(Cursor, Option<Event>)>, SpineError> {
        while let Some(partition) = &mut self.current {
            let path = self.spine.path_of(&partition.name);
            match partition.previous().map_err(|source| SpineError::Io { path, source })? {
                Some(found) => return Ok(Some(found)),
                None => self.open(LastLineState::Closed)?,
            }
        }
        Ok(None)
    }
}

impl Iterator for Backwards {
    type Item = Result<(Cursor, Option<Event>), SpineError>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.advance();
        if item.is_err() {
            self.partitions.clear();
            self.current = None;
        }
        item.transpose()
    }
}

impl Partition {
    fn previous(&mut self) -> io::Result<Option<(Cursor, Option<Event>)>> {
        loop {
            let unsearched = self.tail.len() - self.searched;
            let newline = self.tail[..unsearched].iter().rposition(|byte| *byte == b'\n');
            let from = match newline {
                Some(newline) => newline + 1,
                None if self.start == 0 && self.searched == 0 && self.tail.is_empty() => {
                    return Ok(None);
                }
                None if self.start == 0 => 0,
                None => {
                    self.searched = self.tail.len();
                    self.read_chunk()?;
                    continue;
                }
            };
            let at = Cursor { partition: self.name.clone(), offset: self.start + from as u64 };
            let event = if self.oversized { None } else { event(&self.tail[from..]) };
            let is_blank = !self.oversized && self.tail[from..].trim_ascii().is_empty();
            self.tail.truncate(newline.unwrap_or(0));
            (self.searched, self.oversized) = (0, false);
            let pending = self.unfinished.take() == Some(LastLineState::Pending);
            if !is_blank && !pending {
                return Ok(Some((at, event)));
            }
            if newline.is_none() {
                return Ok(None);
            }
        }
    }

    /// Puts the bytes before `tail` in front of it. Of an endless line nothing is kept.
    fn read_chunk(&mut self) -> io::Result<()> {
        if self.tail.len() > MAX_LINE_BYTES {
            self.tail.clear();
            (self.searched, self.oversized) = (0, true);
        }
        let length = self.start.min(CHUNK);
        let start = self.start - length;
        let mut chunk = vec![0; usize::try_from(length).unwrap_or(0)];
        self.file.read_exact_at(&mut chunk, start)?;
        chunk.append(&mut self.tail);
        (self.tail, self.start) = (chunk, start);
        Ok(())
    }
}

fn event(line: &[u8]) -> Option<Event> {
    if line.len() > MAX_LINE_BYTES { None } else { serde_json::from_slice(line).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::contract::event;
    use crate::spine::line_of;

    /// Lays out partitions of text, in which `N` on its own stands for the N-th event, and
    /// tells what is read backwards.
    #[track_caller]
    fn check(partitions: &[&str], expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        for (day, text) in (1..).zip(partitions) {
            let line = |line: &str| match line.trim_end().parse() {
                Ok(number) => line.replace(line.trim_end(), &line_of(&event(number)).unwrap()),
                Err(_) => line.to_owned(),
            };
            let text: String = text.split_inclusive('\n').map(line).collect();
            std::fs::write(dir.path().join(format!("2026-01-{day:02}.jsonl")), text).unwrap();
        }
        let read = Spine::new(dir.path()).backwards().unwrap().map(|item| {
            let (at, found) = item.unwrap();
            let number = (0..100).find(|number| found.as_ref() == Some(&event(*number)));
            let name = number.map_or("?".to_owned(), |number| number.to_string());
            // Every place is one that a reader can start from.
            let mut reader = Spine::new(dir.path()).read_from(&at);
            assert_eq!(reader.next().unwrap().ok().map(|(event, _)| event), found);
            format!("{}/{name}", &at.partition[8..])
        });
        assert_eq!(read.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn the_newest_line_comes_first_across_partitions() {
        check(&["1\n2\n", "", "3\n4\n"], "03/4 03/3 01/2 01/1");
        check(&[], "");
        check(&["", "\n"], "");
    }

    #[test]
    fn garbage_is_a_line_without_an_event_and_an_empty_line_is_none() {
        check(&["1\nnonsense\n\n2\n"], "01/2 01/? 01/1");
    }

    #[test]
    fn a_line_being_written_is_left_alone_and_one_nobody_will_finish_is_not() {
        check(&["1\n2\n{\"id\""], "01/2 01/1");
        check(&["1\n2", "3\n4"], "02/3 01/2 01/1");
        check(&["1\n{\"id\"", "3\n"], "02/3 01/? 01/1");
        check(&["1"], "");
    }

    #[test]
    fn lines_longer_than_a_chunk_and_longer_than_allowed_are_passed() {
        let long = "x".repeat(200_000);
        let endless = "y".repeat(3 * MAX_LINE_BYTES);
        check(&[&format!("1\n{long}\n2\n{endless}\n3\n")], "01/3 01/? 01/2 01/? 01/1");
        check(&[&format!("{endless}\n1\n{endless}")], "01/1 01/?");
        let exact = "z".repeat(65_535);
        check(&[&format!("1\n{exact}\n{exact}\n")], "01/? 01/? 01/1");
    }
}
