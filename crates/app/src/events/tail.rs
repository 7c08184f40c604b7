//! `spore events tail`: the last events, those since a time, or those after a cursor.
//!
//! Partitions of any size are read line by line. The last few events are found from the end,
//! so that the reader does not wait for the start of a long day. What is no event is told with its
//! place and passed over.
//!
//! A cursor file is moved only when its reader has everything before it: a reader that dies in
//! between gets some events a second time, and never misses one.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use spore_effects::files;
use spore_model::{Event, Fault, Patterns, SourceKind, Timestamp};
use spore_store::spine::{Cursor, EventReader, Flaw, Spine, SpineProblem};

use crate::base::outbox;
use crate::events::append::source_kind;
use crate::{Error, Result, Surroundings, Workspace, parse_since};

/// How often a follower looks for new lines.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Which events are wanted. Without `since` and `cursor` these are the last `limit` ones.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tail {
    /// A date, a time, or an age such as `2h`.
    pub since: Option<String>,
    /// A pattern for the type; `*` stands for anything, `?` for one character.
    pub what: Option<String>,
    /// Any of these kinds; all if empty.
    pub kinds: Vec<String>,
    pub limit: Option<u32>,
    pub follow: bool,
    /// A file that says where the last call left off. The first `limit` events from there.
    pub cursor: Option<PathBuf>,
}

/// One thing that a tail hands to its reader.
#[derive(Clone, PartialEq, Debug)]
pub enum TailItem<'a> {
    Event(&'a Event),
    Skipped(SkippedLine),
    /// Nothing more for now; a good moment to let everything out.
    CaughtUp,
}

/// Something on the spine that is no event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SkippedLine {
    pub file: String,
    pub offset: u64,
    pub what: String,
}

/// Hands every wanted event to `each`, in the order of the spine, until that breaks off, all
/// is read, or a follower is interrupted.
pub fn tail_events(
    around: &Surroundings,
    asked: &Tail,
    each: &mut dyn FnMut(TailItem<'_>) -> ControlFlow<()>,
) -> Result<()> {
    let filter = Filter::new(asked, around.clock.now())?;
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    // The events are readable all the same where the journal is not.
    if workspace.database().exists()
        && let Ok(journal) = workspace.journal(&config)
    {
        outbox::catch_up(around, &workspace, &journal);
    }
    let spine = Spine::new(workspace.events_dir());
    let start = start(&spine, &filter, asked, config.show.limit)?;
    let mut stream = Stream {
        reader: spine.read_from(&start),
        filter,
        // Counted from the end the limit has done its work already.
        left: asked.limit.filter(|_| asked.cursor.is_some()),
        keep: asked.cursor.as_deref(),
        kept: start,
    };
    loop {
        let ended = stream.read(around, each)?;
        if ended.is_break() || !asked.follow || around.interrupt.is_raised() {
            return Ok(());
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

struct Stream<'a> {
    reader: EventReader,
    filter: Filter,
    left: Option<u32>,
    keep: Option<&'a Path>,
    /// What the cursor file says.
    kept: Cursor,
}

impl Stream<'_> {
    /// Hands on what there is. Breaks when there is to be no more.
    fn read(
        &mut self,
        around: &Surroundings,
        each: &mut dyn FnMut(TailItem<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        while self.left != Some(0) && !around.interrupt.is_raised() {
            let Some(item) = self.reader.next() else { break };
            let flow = match item {
                Ok((event, _)) if !self.filter.wants(&event) => continue,
                Ok((event, _)) => {
                    self.left = self.left.map(|left| left - 1);
                    each(TailItem::Event(&event))
                }
                Err(SpineProblem { what: Flaw::Unreadable(error), .. }) => return Err(error.into()),
                Err(problem) => each(TailItem::Skipped(skipped(&problem))),
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        if each(TailItem::CaughtUp).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        self.move_cursor()?;
        Ok(if self.left == Some(0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    fn move_cursor(&mut self) -> Result<()> {
        let Some(file) = self.keep.filter(|_| *self.reader.cursor() != self.kept) else {
            return Ok(());
        };
        self.kept = self.reader.cursor().clone();
        let mut text = serde_json::to_string(&self.kept).map_err(crate::base::error::bug)?;
        text.push('\n');
        files::write_atomic(file, text.as_bytes()).map_err(|source| {
            Error::io(format!("cannot write {}", spore_plain::path(file)), source)
        })
    }
}

/// Returns where to begin.
fn start(spine: &Spine, filter: &Filter, asked: &Tail, default_limit: u32) -> Result<Cursor> {
    if let Some(file) = &asked.cursor {
        return read_cursor(file);
    }
    // A line is never in a partition before the day of its event.
    let day = filter.since.map(Timestamp::day).unwrap_or_default();
    let first = Cursor { partition: day, offset: 0 };
    let limit = match (asked.limit, filter.since) {
        (Some(limit), _) => limit,
        (None, None) => default_limit,
        (None, Some(_)) => return Ok(first),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut found = HashSet::new();
    let mut start = None;
    for line in spine.backwards()? {
        let (at, event) = line?;
        if at < first || found.len() == limit {
            break;
        }
        if let Some(event) = event.filter(|event| filter.wants(event)) {
            found.insert(event.id);
            start = Some(at);
        }
    }
    // With fewer than were asked for, everything is shown, and so is what is wrong with it.
    Ok(start.filter(|_| found.len() == limit).unwrap_or(first))
}

fn read_cursor(file: &Path) -> Result<Cursor> {
    let text = match spore_effects::files::read_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Cursor::default());
        }
        Err(source) => {
            return Err(Error::io(format!("cannot read {}", spore_plain::path(file)), source));
        }
    };
    serde_json::from_str(&text).map_err(|source| {
        Error::new(Fault::BadInput, format!("{} is not a cursor", spore_plain::path(file)))
            .hint("name a file that this command wrote, or one that is not there yet")
            .because(source)
    })
}

fn skipped(problem: &SpineProblem) -> SkippedLine {
    SkippedLine {
        file: format!(".spore/events/{}.jsonl", problem.partition),
        offset: problem.offset,
        what: problem.what.to_string(),
    }
}

struct Filter {
    since: Option<Timestamp>,
    what: Option<Patterns>,
    kinds: Vec<SourceKind>,
}

impl Filter {
    fn new(asked: &Tail, now: Timestamp) -> Result<Self> {
        let since = asked.since.as_deref().map(|text| parse_since(text, now)).transpose();
        Ok(Self {
            since: since.map_err(|error| Error::new(Fault::Usage, error.to_string()))?,
            what: asked.what.as_ref().map(|pattern| Patterns::of_names(&[pattern])),
            kinds: asked.kinds.iter().map(|kind| source_kind(kind)).collect::<Result<_>>()?,
        })
    }

    fn wants(&self, event: &Event) -> bool {
        self.since.is_none_or(|since| event.ts >= since)
            && (self.kinds.is_empty() || self.kinds.contains(&event.source.kind))
            && self.what.as_ref().is_none_or(|patterns| patterns.cover(&event.kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_anything_and_a_question_mark_one_character() {
        for (pattern, text, expected) in [
            ("run.started", "run.started", true),
            ("run.*", "run.started", true),
            ("*.started", "run.started", true),
            ("*", "", true),
            ("", "", true),
            ("r?n.*ed", "run.started", true),
            ("*a*b", "aabab", true),
            ("**", "x", true),
            ("run", "run.started", false),
            ("run.?", "run.", false),
            ("*.finished", "run.started", false),
            ("[r]un.*", "run.started", false),
        ] {
            assert_eq!(Patterns::of_names(&[pattern]).cover(text), expected, "{pattern} {text}");
        }
    }
}
