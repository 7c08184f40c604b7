//! One pass over new events: what they prove about the lines, and what they leave open.
//!
//! Events are read once, in the order of the spine, in bounded memory. Each is gated, matched
//! and judged where it stands; what remains is fragments to be written, touches that a judge
//! has to look at, counts, and the place to go on from. Nothing is written here: a pass that
//! dies leaves everything as it was.

mod pass;
mod recent;
mod task;

use spore_store::spine::{EventReader, Flaw, SpineProblem};

use crate::gate::{EventHeader, Passage};
use pass::ScanPass;

pub use task::{LastEvent, PassError, ScanTask, Scanned, SpineFlaw};

/// After how many events the caller is asked whether to stop.
const BREATH: u64 = 1024;

/// Reads everything behind `reader`'s cursor.
pub fn scan(reader: &mut EventReader, task: &ScanTask<'_>) -> Result<Scanned, PassError> {
    let mut pass = ScanPass::new(task, reader.cursor().clone());
    while !pass.done.full {
        if pass.done.events.is_multiple_of(BREATH) && (task.stop)() {
            return Err(PassError::Interrupted);
        }
        match reader.next_with(&mut |at, line| Some(pass.take(at, line))) {
            Some(Ok(())) => {}
            Some(Err(SpineProblem { what: Flaw::Unreadable(error), partition, offset })) => {
                let what = Flaw::Unreadable(error);
                return Err(PassError::Unreadable(SpineProblem { partition, offset, what }));
            }
            Some(Err(problem)) => pass.flaw(&problem),
            None => break,
        }
    }
    pass.cover();
    Ok(pass.end(reader.cursor().clone()))
}

/// Returns whether an event from outside is behind `reader`'s cursor.
pub fn has_external(reader: &mut EventReader, stop: &dyn Fn() -> bool) -> Result<bool, PassError> {
    let mut has_any = false;
    each_external(reader, stop, |_| {
        has_any = true;
        false
    })?;
    Ok(has_any)
}

/// Returns how many bytes the events from outside have that are behind `reader`'s cursor.
pub fn external_bytes(reader: &mut EventReader, stop: &dyn Fn() -> bool) -> Result<u64, PassError> {
    let mut bytes: u64 = 0;
    each_external(reader, stop, |length| {
        bytes += length as u64;
        true
    })?;
    Ok(bytes)
}

/// Goes through the events from outside by their length, as long as `each` says so.
fn each_external(
    reader: &mut EventReader,
    stop: &dyn Fn() -> bool,
    mut each: impl FnMut(usize) -> bool,
) -> Result<(), PassError> {
    let mut read: u64 = 0;
    loop {
        read += 1;
        if read.is_multiple_of(BREATH) && stop() {
            return Err(PassError::Interrupted);
        }
        let next = reader.next_with(&mut |_, line| {
            let header = match EventHeader::read(line) {
                Ok(header) => header,
                Err(error) => return Some(Err(error)),
            };
            let is_external = matches!(header.gate(), Passage::External(_));
            Some(Ok(is_external.then_some(line.len() + 1)))
        });
        match next {
            None => return Ok(()),
            Some(Ok(Some(length))) if !each(length) => return Ok(()),
            Some(Err(SpineProblem { what: Flaw::Unreadable(error), partition, offset })) => {
                let what = Flaw::Unreadable(error);
                return Err(PassError::Unreadable(SpineProblem { partition, offset, what }));
            }
            Some(Ok(_) | Err(_)) => {}
        }
    }
}
