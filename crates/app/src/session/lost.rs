//! Sessions whose end no process recorded: they are gone, and so is what they had to say.
//!
//! Such a session may have cost something, so it is booked as an estimate before its work is
//! done again, and its files are kept apart from those of the session that follows.

use std::path::Path;

use serde_json::json;
use spore_agent::api::LocalPreset;
use spore_config::Config;
use spore_model::{
    Cost, LedgerEntry, Outcome, Run, RunId, RunKind, RunState, SourceKind, Usage, Usd,
};
use spore_store::{Journal, RunChange};

use crate::base::files::beside;
use crate::base::outbox::Events;
use crate::{Result, Surroundings};

/// Whose sessions were lost.
pub(crate) struct Lost<'a> {
    pub(crate) journal: &'a dyn Journal,
    pub(crate) config: &'a Config,
    pub(crate) events: Events<'a>,
    /// The run whose ledger they are booked in.
    pub(crate) root: RunId,
}

impl Lost<'_> {
    /// Closes and books every session below `parent` that is on record as running.
    pub(crate) fn close_below(&self, parent: RunId) -> Result<()> {
        for run in self.journal.children(parent)? {
            if run.kind == RunKind::Session && run.state == RunState::Running {
                self.close(&run)?;
            }
        }
        Ok(())
    }

    fn close(&self, session: &Run) -> Result<()> {
        let now = self.events.around.clock.now();
        let price = Usd::from_dollars(self.config.prices.lost_session_usd).unwrap_or_default();
        let is_free =
            session.backend.as_deref().is_some_and(|name| LocalPreset::named(name).is_some());
        let cost = if is_free { Cost::exact(Usd::ZERO) } else { Cost::estimated(price) };
        self.journal.book(&LedgerEntry {
            session: session.id,
            root: self.root,
            role: session.role.clone().unwrap_or_default(),
            backend: session.backend.clone().unwrap_or_default(),
            model: session.model.clone(),
            turns: 0,
            usage: Usage::default(),
            cost,
            interrupted: true,
            booked: now,
        })?;
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(Outcome::Interrupted),
            reason: Some("its end was not seen".to_owned()),
            ended: Some(now),
            cost: Some(cost.into()),
            ..RunChange::default()
        };
        let role = session.role.as_deref().unwrap_or_default();
        let event =
            self.events.make(SourceKind::Runner, role, "session.lost", session.id, json!({}));
        Ok(self.journal.update_run(session.id, &change, &[event])?)
    }
}

/// Keeps what an earlier attempt wrote under a name of its own, so that a transcript is one
/// session's alone.
pub(crate) fn set_aside(around: &Surroundings, dir: &Path, attempt: u32) -> Result<()> {
    if attempt == 1 || !dir.exists() {
        return Ok(());
    }
    around.rename(dir, &beside(dir, &format!(".lost-{}", attempt - 1)))
}
