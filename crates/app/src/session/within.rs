//! Whether this process runs inside of a session or a check, by what is on record.
//!
//! What an agent says about itself is not believed, and what it takes out of its environment
//! changes nothing: the processes of sessions and checks are in the journal, and a process cannot
//! leave the line it descends from. A variable may only ever add to that: a session that cannot
//! see its ancestors, because a sandbox holds it, is one by its own word.

use spore_effects::session::{self, ProcessIdentity};
use spore_model::{Fault, RunId};
use spore_store::{Journal, RunQuery};

use crate::{Error, Result, Surroundings};

/// The session or check around this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AroundSession {
    /// The session or check itself, and the run it belongs to, where they are on record.
    pub(crate) session: Option<RunId>,
    pub(crate) root: Option<RunId>,
}

/// Variables that only processes of sessions have.
const MARKS: [&str; 3] = ["SPORE_SESSION_RUN", "SPORE_SESSION", "SPORE_BROKER"];

/// Returns the session around this process; nothing for a person's own.
pub(crate) fn around_session(
    around: &Surroundings,
    journal: &dyn Journal,
) -> Result<Option<AroundSession>> {
    let above = session::ancestors();
    let open = RunQuery { open_only: true, without_settings: true, ..RunQuery::default() };
    for run in journal.runs(&open)?.iter().filter(|_| !above.is_empty()) {
        for row in journal.open_processes(run.id)? {
            let is_it = |one: &ProcessIdentity| {
                (one.pid, one.start_ticks, &one.boot_id) == (row.pid, row.start_ticks, &row.boot_id)
            };
            if above.iter().any(is_it) {
                return Ok(Some(AroundSession {
                    session: Some(row.session),
                    root: Some(row.root),
                }));
            }
        }
    }
    let marked = MARKS.iter().any(|name| around.variable(name).is_some_and(|it| !it.is_empty()));
    Ok(marked.then_some(AroundSession { session: None, root: None }))
}

/// Returns whether this process is one of a session or check on record, whatever it says itself.
pub(crate) fn is_in_session(around: &Surroundings, journal: &dyn Journal) -> Result<bool> {
    Ok(around_session(around, journal)?.is_some_and(|found| found.session.is_some()))
}

/// Refuses what only a person may ask for.
pub(crate) fn refuse_within(
    around: &Surroundings,
    journal: &dyn Journal,
    what: &str,
) -> Result<()> {
    if around_session(around, journal)?.is_none() {
        return Ok(());
    }
    Err(Error::new(Fault::Usage, format!("a session cannot {what}"))
        .hint("that is for people: ask for it outside of the session"))
}
