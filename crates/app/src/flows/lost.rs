//! What parts of a flow left and is gone since: a part of it is done again, and so is all that stands
//! on it.
//!
//! A part is lost where its commit or an artifact is gone, and where the commit is gone that it started
//! from: checks that passed on a tree that is gone say nothing about the next one. That a
//! part was found lost is on record from then on, so that every process decides the same.

use spore_compose::ChildEnd;
use spore_model::{Outcome, RunId, RunState, StepKey};

use super::flow::{ActiveFlow, LayerPlace};
use super::worksite::hash;
use crate::base::error::bug;
use crate::{Result, Update};

impl ActiveFlow<'_> {
    /// Returns whether a part is lost that is on record as done.
    pub(crate) fn has_lost(
        &self,
        place: &LayerPlace,
        key: &StepKey,
        end: &ChildEnd,
    ) -> Result<bool> {
        self.found_lost(place, key, || Ok(!self.holds(end)? || !self.stands(end.run)?))
    }

    /// Returns whether a part that began and has no result has lost what it started from. It is given
    /// up then, with what it asks.
    pub(crate) fn has_lost_ground(
        &self,
        place: &LayerPlace,
        key: &StepKey,
        part: RunId,
    ) -> Result<bool> {
        let is_lost = self.found_lost(place, key, || Ok(!self.stands(part)?))?;
        let open = self.journal.run(part)?.filter(|run| run.state != RunState::Ended);
        if let (true, Some(run)) = (is_lost, open) {
            self.give_up(&run, "what it started from is gone")?;
        }
        Ok(is_lost)
    }

    /// What is said of a part that is done again.
    pub(crate) fn told_lost(&self, layer: (&'static str, u32), name: &str) -> Update {
        let why = Some("what it left, or stood on, is gone: it is done again".to_owned());
        self.told_layer(layer, name, "PENDING".to_owned(), why, None)
    }

    fn found_lost(
        &self,
        place: &LayerPlace,
        key: &StepKey,
        look: impl FnOnce() -> Result<bool>,
    ) -> Result<bool> {
        let steps = self.steps(place);
        let gone = StepKey::new(format!("gone/{key}")).map_err(bug)?;
        if steps.result::<bool>(&gone)?.is_some() {
            return Ok(true);
        }
        if !look()? {
            return Ok(false);
        }
        steps.once(&gone, |_, _| Ok(true))
    }

    /// Returns whether the commit is there that a run started from.
    fn stands(&self, run: RunId) -> Result<bool> {
        let Some(branch) = &self.branch else { return Ok(true) };
        let base = self.journal.run(run)?.and_then(|run| run.base_commit);
        Ok(base.is_none_or(|base| branch.repository.tree_of(&base).is_ok()))
    }

    /// Returns whether what a part left is still there: its commit, and its artifacts as they were.
    fn holds(&self, end: &ChildEnd) -> Result<bool> {
        if !matches!(end.outcome, Outcome::Success | Outcome::Partial) {
            return Ok(true);
        }
        let Some(branch) = &self.branch else {
            let is_there = |path: &String| self.own_dir.join(path).is_file();
            return Ok(end.artifact.iter().all(is_there));
        };
        if let Some(line) = &end.line
            && branch.repository.tree_of(&line.tip).is_err()
        {
            return Ok(false);
        }
        let own = (end.artifact.as_deref(), end.artifact_mark.as_ref());
        let below = end.stages.iter().chain(&end.parts);
        let below = below.map(|entry| (entry.artifact.as_deref(), entry.artifact_mark.as_ref()));
        for (path, mark) in below.chain([own]) {
            let (Some(path), Some(mark)) = (path, mark) else { continue };
            let content = branch.repository.read_file(&mark.commit, path).ok().flatten();
            if content.is_none_or(|content| hash(&content) != mark.hash) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
