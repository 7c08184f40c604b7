//! Moves our own events from the journal to the spine, each exactly once.
//!
//! A row of the outbox and a line of a file cannot change in one transaction. So the journal
//! first records where the writing will begin; a flush that finds such a record left by a dead
//! process looks in the files, from there on, which events were written. A line that was cut
//! short is not an event and is written again; one that lacks nothing but its newline is.
//!
//! The order of the files is the order of the outbox. One flush at a time: a lock beside the
//! files, which the kernel drops with its holder, says so.

use std::ops::ControlFlow;

use spore_model::{EventId, Timestamp};

use super::reader::Flaw;
use super::{APPEND_LOCK, Cursor, OUTBOX_LOCK, Spine, SpineError};
use crate::journal::{Journal, JournalError};

/// Why events are still in the outbox. They stay there, and the next flush takes them.
#[derive(Debug, thiserror::Error)]
pub enum FlushError {
    #[error("the outbox cannot be read or cleared")]
    Journal(#[from] JournalError),
    #[error("the event files cannot be written or read")]
    Spine(#[from] SpineError),
}

/// The points between which a process may die.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FlushPhase {
    Locked,
    Recovered,
    IntentRecorded,
    Appended,
    Marked,
}

/// Appends all pending events to the spine, to the partition of `now`, and returns how many
/// there were. With nothing pending, nothing is written.
pub fn flush(journal: &dyn Journal, spine: &Spine, now: Timestamp) -> Result<usize, FlushError> {
    flush_until(journal, spine, now, &mut |_| ControlFlow::Continue(()))
}

/// [`flush`], stopped dead where `passing` breaks.
pub(super) fn flush_until(
    journal: &dyn Journal,
    spine: &Spine,
    now: Timestamp,
    passing: &mut dyn FnMut(FlushPhase) -> ControlFlow<()>,
) -> Result<usize, FlushError> {
    let _held = spine.lock(OUTBOX_LOCK)?;
    if passing(FlushPhase::Locked).is_break() {
        return Ok(0);
    }
    if let Some(intent) = journal.flush_intent()? {
        journal.end_flush(&written_since(spine, &intent)?)?;
    }
    let mut flushed = 0;
    if passing(FlushPhase::Recovered).is_break() {
        return Ok(flushed);
    }
    loop {
        let events = journal.begin_flush(&spine.end(&now.day())?)?;
        if events.is_empty() {
            return Ok(flushed);
        }
        if passing(FlushPhase::IntentRecorded).is_break() {
            return Ok(flushed);
        }
        let (ids, lines): (Vec<EventId>, Vec<String>) =
            events.into_iter().map(|event| (event.id, event.line)).unzip();
        spine.append(&now.day(), &lines)?;
        if passing(FlushPhase::Appended).is_break() {
            return Ok(flushed);
        }
        journal.end_flush(&ids)?;
        flushed += ids.len();
        if passing(FlushPhase::Marked).is_break() {
            return Ok(flushed);
        }
    }
}

/// Returns the events that stand on the spine from `intent` on, other people's included.
fn written_since(spine: &Spine, intent: &Cursor) -> Result<Vec<EventId>, SpineError> {
    // Held still, or a line could get its newline between the two looks at it below.
    let _held = spine.lock(APPEND_LOCK)?;
    let mut reader = spine.read_from(intent);
    let mut written = Vec::new();
    for item in reader.by_ref() {
        match item {
            Ok((event, _)) => written.push(event.id),
            Err(problem) => {
                if let Flaw::Unreadable(error) = problem.what {
                    return Err(error);
                }
            }
        }
    }
    // The next append will give this line its newline, and so make it an event.
    written.extend(reader.unfinished()?.map(|event| event.id));
    Ok(written)
}
