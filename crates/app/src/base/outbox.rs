//! Our own events: made here, written with the journal row they belong to, then carried to
//! the spine.

use serde_json::Value;
use spore_effects::Effect;
use spore_model::{Event, EventSource, RunId, SourceKind, TraceId, is_own_type};
use spore_store::Journal;
use spore_store::spine::Spine;

use crate::{Result, Surroundings, Workspace};

/// Makes events of one run.
pub(crate) struct Events<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) trace: TraceId,
}

impl Events<'_> {
    pub(crate) fn make(
        &self,
        kind: SourceKind,
        name: &str,
        what: &str,
        run: RunId,
        payload: Value,
    ) -> Event {
        // A type that is not reserved for Spore a session could append as well.
        debug_assert!(is_own_type(what), "{what}");
        Event {
            id: self.around.ids.event(),
            ts: self.around.clock.now(),
            source: EventSource { kind, name: name.to_owned(), own: true },
            kind: what.to_owned(),
            // All that a run and its sessions do is one turn.
            session_key: Some(self.trace.to_string()),
            run: Some(run),
            trace: Some(self.trace.clone()),
            payload,
        }
    }
}

/// Carries what is in the outbox to the day's file.
pub(crate) fn flush(
    around: &Surroundings,
    workspace: &Workspace,
    journal: &dyn Journal,
) -> Result<()> {
    let spine = Spine::new(workspace.events_dir());
    around.probe.around(Effect::Event, "flush", || {
        spore_store::spine::flush(journal, &spine, around.clock.now())
    })?;
    Ok(())
}

/// Carries over what a killed process left in the outbox, for commands that only read. They
/// answer all the same where the events cannot be written.
pub(crate) fn catch_up(around: &Surroundings, workspace: &Workspace, journal: &dyn Journal) {
    if journal.pending_events().is_ok_and(|pending| !pending.is_empty()) {
        let spine = Spine::new(workspace.events_dir());
        let _ = spore_store::spine::flush(journal, &spine, around.clock.now());
    }
}
