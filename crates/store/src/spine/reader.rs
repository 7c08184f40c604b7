//! Reads the spine from a cursor on, any size, in bounded memory.
//!
//! Foreign text does not fail a reader: a line that is no event is a [`SpineProblem`] among the
//! events, and reading goes on behind it. A last line without its newline is still being
//! written and is left alone, until a later partition shows that it will never be finished.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use spore_model::{Event, EventId};

use super::{Cursor, MAX_LINE_BYTES, Spine, SpineError, is_day, open_partition};

/// How many ids a reader remembers to drop a second event with the same one. A repetition
/// comes from a writer that retried, so it stands close by; one that is further away, or
/// before the cursor that the reader started from, is not noticed.
pub const DEDUP_WINDOW: usize = 16_384;

/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// Something on the spine that is not an event.
#[derive(Debug, thiserror::Error)]
#[error("event file {partition}, byte {offset}: {what}")]
pub struct SpineProblem {
    pub partition: String,
    pub offset: u64,
    pub what: Flaw,
}

/// What is wrong with a place on the spine.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    /// A writer died in the middle of the last line of a closed partition.
    #[error("the line was never finished")]
    Torn,
    #[error("not an event: {0}")]
    Garbage(String),
    #[error("a line of {0} bytes is too long")]
    Oversized(u64),
    /// The cursor points behind the end: the file is not what it was.
    #[error("the file has only {0} bytes")]
    Shrunk(u64),
    /// The partition the cursor points into is gone.
    #[error("the file is gone")]
    Gone,
    /// Reading stops here; asking again tries again.
    #[error(transparent)]
    Unreadable(#[from] SpineError),
}

/// Events in the order of the spine, each with the cursor behind it.
///
/// `None` means: nothing more for now. Asking again later finds what was appended since.
pub struct EventReader {
    spine: Spine,
    cursor: Cursor,
    file: Option<BufReader<File>>,
    /// The line that was found last, kept for its memory.
    line: Vec<u8>,
    /// The file was read beyond the cursor, up to an end that may not be the last.
    astray: bool,
    /// A later partition exists, and everything up to here was read after that was known.
    closed: bool,
    seen: Window,
}

/// What stands at the cursor.
enum FoundLine {
    /// It is in the reader's `line`, without its newline.
    Line,
    /// A line with more bytes than are kept.
    Oversized(u64),
    /// The end, behind a line without newline or directly behind the last one.
    End(UnfinishedLine),
}

struct UnfinishedLine {
    /// Cut at the limit.
    text: Vec<u8>,
    bytes: u64,
}

impl EventReader {
    pub(super) fn new(spine: Spine, cursor: Cursor) -> Self {
        Self {
            spine,
            cursor,
            file: None,
            line: Vec::new(),
            astray: false,
            closed: false,
            seen: Window::default(),
        }
    }

    /// Returns the place behind everything that was read, problems included.
    pub fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    /// Returns the event on the unfinished last line, if the reader is at the end and the line
    /// lacks nothing but its newline.
    pub(super) fn unfinished(&mut self) -> Result<Option<Event>, SpineError> {
        if self.file.is_none() {
            return Ok(None);
        }
        match self.find()? {
            FoundLine::End(rest) => Ok(serde_json::from_slice(&rest.text).ok()),
            FoundLine::Line | FoundLine::Oversized(_) => Ok(None),
        }
    }

    /// Reads on to the next line that `read` makes something of, for readers with an idea of
    /// their own of what an event is; empty lines are passed over, and repetitions are not
    /// noticed. `read` gets the place of the line and its bytes, and says what is wrong with
    /// it, or nothing to pass over it. The last line of a closed partition may lack its end:
    /// what is wrong with that one is that it is torn.
    ///
    /// `None` means: nothing more for now.
    pub fn next_with<T>(&mut self, read: &mut ReadLine<'_, T>) -> Option<Result<T, SpineProblem>> {
        let item = self.advance(&mut |at, text, _| {
            if text.trim_ascii_start().is_empty() {
                return None;
            }
            read(at, text).map(|item| item.map_err(Flaw::Garbage))
        });
        item.unwrap_or_else(|error| self.stopped(error))
    }

    /// Opened anew when asked again.
    fn stopped<T>(&mut self, error: SpineError) -> Option<Result<T, SpineProblem>> {
        self.file = None;
        Some(Err(flawed(&self.cursor, Flaw::Unreadable(error))))
    }

    fn advance<T>(
        &mut self,
        judge: &mut Judge<'_, T>,
    ) -> Result<Option<Result<T, SpineProblem>>, SpineError> {
        loop {
            if self.file.is_none() {
                match self.open()? {
                    OpenedPartition::Ready => {}
                    OpenedPartition::Flawed(problem) => return Ok(Some(Err(problem))),
                    OpenedPartition::Nothing => return Ok(None),
                }
            }
            match self.find()? {
                FoundLine::Line => {
                    let judged = judge(&self.cursor, &self.line, &mut self.seen);
                    let item = judged.map(|item| item.map_err(|what| flawed(&self.cursor, what)));
                    self.cursor.offset += self.line.len() as u64 + 1;
                    if item.is_some() {
                        return Ok(item);
                    }
                }
                FoundLine::Oversized(bytes) => {
                    let problem = flawed(&self.cursor, Flaw::Oversized(bytes));
                    self.cursor.offset += bytes + 1;
                    return Ok(Some(Err(problem)));
                }
                FoundLine::End(rest) => match self.leave(&self.cursor.clone(), &rest, judge)? {
                    AtPartitionEnd::Stays => return Ok(None),
                    AtPartitionEnd::Again => {}
                    AtPartitionEnd::Item(item) => return Ok(Some(item)),
                },
            }
        }
    }

    /// Decides at the end of a partition whether to wait or to move on.
    fn leave<T>(
        &mut self,
        at: &Cursor,
        rest: &UnfinishedLine,
        judge: &mut Judge<'_, T>,
    ) -> Result<AtPartitionEnd<T>, SpineError> {
        let Some(next) = self.partition_after(&at.partition)? else {
            return Ok(AtPartitionEnd::Stays);
        };
        if !self.closed {
            // Something may have been appended between the end we saw and the new partition.
            self.closed = true;
            return Ok(AtPartitionEnd::Again);
        }
        self.move_to(next);
        if rest.bytes == 0 {
            return Ok(AtPartitionEnd::Again);
        }
        if rest.bytes > MAX_LINE_BYTES as u64 {
            return Ok(AtPartitionEnd::Item(Err(flawed(at, Flaw::Oversized(rest.bytes)))));
        }
        // Without its newline an event may still be whole.
        Ok(match judge(at, &rest.text, &mut self.seen) {
            Some(Ok(item)) => AtPartitionEnd::Item(Ok(item)),
            Some(Err(_)) => AtPartitionEnd::Item(Err(flawed(at, Flaw::Torn))),
            None => AtPartitionEnd::Again,
        })
    }

    /// Opens the cursor's partition, or the first one behind it.
    fn open(&mut self) -> Result<OpenedPartition, SpineError> {
        let path = self.spine.path_of(&self.cursor.partition);
        let failed = |source| SpineError::Io { path: path.clone(), source };
        if !is_day(&self.cursor.partition) {
            return self.skip();
        }
        let file = match open_partition(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.skip(),
            Err(source) => return Err(failed(source)),
        };
        let length = file.metadata().map_err(failed)?.len();
        let at = self.cursor.clone();
        self.cursor.offset = at.offset.min(length);
        self.file = Some(BufReader::with_capacity(CHUNK, file));
        self.astray = true;
        if at.offset > length {
            return Ok(OpenedPartition::Flawed(flawed(&at, Flaw::Shrunk(length))));
        }
        Ok(OpenedPartition::Ready)
    }

    fn skip(&mut self) -> Result<OpenedPartition, SpineError> {
        let at = self.cursor.clone();
        if let Some(next) = self.partition_after(&at.partition)? {
            self.move_to(next);
        } else if at.offset > 0 {
            self.cursor.offset = 0;
        } else {
            return Ok(OpenedPartition::Nothing);
        }
        if at.offset > 0 {
            return Ok(OpenedPartition::Flawed(flawed(&at, Flaw::Gone)));
        }
        self.open()
    }

    fn partition_after(&self, partition: &str) -> Result<Option<String>, SpineError> {
        let partitions = self.spine.partitions()?;
        Ok(partitions.into_iter().find(|next| next.as_str() > partition))
    }

    fn move_to(&mut self, partition: String) {
        self.cursor = Cursor { partition, offset: 0 };
        self.file = None;
        self.closed = false;
    }

    /// Reads one line at the cursor, without moving it.
    fn find(&mut self) -> Result<FoundLine, SpineError> {
        let (spine, partition) = (&self.spine, &self.cursor.partition);
        let failed = |source| SpineError::Io { path: spine.path_of(partition), source };
        let Some(file) = &mut self.file else {
            return Ok(FoundLine::End(UnfinishedLine { text: Vec::new(), bytes: 0 }));
        };
        if self.astray {
            file.seek(SeekFrom::Start(self.cursor.offset)).map_err(failed)?;
        }
        let found = read_line(file, &mut self.line).map_err(failed)?;
        self.astray = matches!(found, FoundLine::End(_));
        Ok(found)
    }
}

/// Makes something of a line at a place, says what is wrong with it, or passes over it.
pub type ReadLine<'a, T> = dyn FnMut(&Cursor, &[u8]) -> Option<Result<T, String>> + 'a;

/// Makes something of a line at a place, or passes over it.
type Judge<'a, T> = dyn FnMut(&Cursor, &[u8], &mut Window) -> Option<Result<T, Flaw>> + 'a;

/// Turns a whole line into an event; nothing for an empty line or a repetition.
fn event_of(text: &[u8], seen: &mut Window) -> Option<Result<Event, Flaw>> {
    if text.trim_ascii_start().is_empty() {
        return None;
    }
    match serde_json::from_slice::<Event>(text) {
        Ok(event) => seen.admit(event.id).then_some(Ok(event)),
        Err(error) => Some(Err(Flaw::Garbage(error.to_string()))),
    }
}

fn read_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<FoundLine> {
    line.clear();
    let most = MAX_LINE_BYTES as u64 + 1;
    file.by_ref().take(most).read_until(b'\n', line)?;
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(FoundLine::Line);
    }
    if line.len() <= MAX_LINE_BYTES {
        return Ok(FoundLine::End(UnfinishedLine { bytes: line.len() as u64, text: line.clone() }));
    }
    line.truncate(MAX_LINE_BYTES);
    let (rest, ended) = skip_line(file)?;
    let bytes = most + rest;
    if ended {
        return Ok(FoundLine::Oversized(bytes));
    }
    Ok(FoundLine::End(UnfinishedLine { bytes, text: line.clone() }))
}

/// Passes over the rest of a line. Returns its bytes, and whether there was a newline.
fn skip_line(file: &mut impl BufRead) -> io::Result<(u64, bool)> {
    let mut bytes = 0;
    loop {
        let buffer = match file.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok((bytes, false));
        }
        let newline = buffer.iter().position(|byte| *byte == b'\n');
        let part = newline.unwrap_or(buffer.len());
        bytes += part as u64;
        file.consume(part + usize::from(newline.is_some()));
        if newline.is_some() {
            return Ok((bytes, true));
        }
    }
}

impl Iterator for EventReader {
    type Item = Result<(Event, Cursor), SpineProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = self.advance(&mut |_, text, seen| event_of(text, seen));
        let item = item.unwrap_or_else(|error| self.stopped(error))?;
        Some(item.map(|event| (event, self.cursor.clone())))
    }
}

enum OpenedPartition {
    Ready,
    Flawed(SpineProblem),
    Nothing,
}

enum AtPartitionEnd<T> {
    Stays,
    Again,
    Item(Result<T, SpineProblem>),
}

fn flawed(at: &Cursor, what: Flaw) -> SpineProblem {
    SpineProblem { partition: at.partition.clone(), offset: at.offset, what }
}

/// The last ids that were read.
#[derive(Default)]
struct Window {
    ids: HashSet<EventId>,
    order: VecDeque<EventId>,
}

impl Window {
    /// Returns whether `id` is new, and remembers it.
    fn admit(&mut self, id: EventId) -> bool {
        if !self.ids.insert(id) {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > DEDUP_WINDOW
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::contract::event;
    use crate::spine::line_of;

    #[test]
    fn a_line_written_between_the_end_and_the_next_partition_is_not_missed() {
        let dir = tempfile::tempdir().unwrap();
        let spine = Spine::new(dir.path());
        let append = |day, number| spine.append(day, &[line_of(&event(number)).unwrap()]).unwrap();
        append("2026-01-01", 1);
        let mut reader = spine.read_from(&Cursor::default());
        reader.next().unwrap().unwrap();
        let FoundLine::End(rest) = reader.find().unwrap() else { panic!("there is more") };
        append("2026-01-01", 2);
        append("2026-01-02", 3);
        let at = reader.cursor().clone();
        let mut judge = |_: &Cursor, text: &[u8], seen: &mut Window| event_of(text, seen);
        assert!(matches!(reader.leave(&at, &rest, &mut judge).unwrap(), AtPartitionEnd::Again));
        let read: Vec<Event> = reader.map(|item| item.unwrap().0).collect();
        assert_eq!(read, [event(2), event(3)]);
    }
}
