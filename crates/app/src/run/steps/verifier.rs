//! The step of a verifier: a clean checkout, one session, what it handed in.
//!
//! Agents obey certain files of the directory they are started in (`CLAUDE.md` and the like).
//! A coder that writes one would write instructions to its own judge, so the verifier's
//! checkout has those of the base; what the change does to them stands in the diff.

use spore_context::task_file::{Before, RoleTurn};
use spore_git::{ChangedFile, Checkout, Exclusions, FileChange};
use spore_model::{CommitId, Outcome, StepKey, Ticket, TreeId};
use spore_pipeline::{Done, Step};

use crate::Result;
use crate::base::checkouts::Snapshot;
use crate::run::context::{RunContext, interrupted};
use crate::run::sessions::StepSession;

/// What a verifier is given to look at.
struct Handed {
    commit: CommitId,
    tree: TreeId,
    /// Instructions that the change touches, and that are the base's here.
    withheld: Vec<String>,
}

impl RunContext<'_> {
    pub(crate) fn verify(
        &mut self,
        step: &Step,
        ticket: &Ticket,
        bounce: u32,
        tree: &TreeId,
        attempt: u32,
    ) -> Result<Done> {
        if let Some(stop) = self.out_of_budget() {
            return Ok(stop);
        }
        if attempt > 1 && !self.pause(self.project.config.verdict.verifier_retry_pause) {
            return Ok(interrupted());
        }
        let commit = self.bounce_commit(bounce)?;
        let diff = self.diff_for("verifier", tree)?;
        let handed = self.handed(ticket, &commit, tree, &diff.files)?;
        let checkout = self.checkouts().verifier(bounce, &handed.commit)?;
        let mut lines = self.recorded_gate_lines(bounce)?;
        lines.extend(handed.withheld.iter().map(|path| {
            format!("the change touches `{path}`, which agents obey: here it is the base's, and the change to it is in the diff alone")
        }));
        let changed: Vec<String> = diff.files.iter().map(|file| file.path.clone()).collect();
        let findings = self.findings("verifier", &commit, &changed);
        let turn = RoleTurn::Bounce { bounce, of: self.run.settings.max_bounces };
        // Made now, when every process of the coder is gone: nothing of the change can hold it.
        let nonce = self.project.around.ids.run().to_string();
        let before = Before::ToCheck { checks: &lines, diff: &diff.text, nonce: &nonce };
        let (prompt, brief) = self.task_file(ticket, "verifier", turn, before, findings)?;
        let asked = StepSession {
            role: "verifier",
            bounce,
            prompt,
            conversation: None,
            fresh: None,
            keeps_home: false,
            dir: checkout.dir().to_owned(),
            commands: Some(self.verifier_commands(bounce, &commit, tree)?),
            at: commit,
            files: self.files().verifier(bounce, attempt),
            brief,
        };
        let (session, mut proposals) = self.run_session(step, ticket, asked)?;
        if attempt >= self.run.settings.verifier_attempts && session.outcome != Outcome::Success {
            // The last breakdown parks the run, so no result of the step will book it.
            self.book_stopped("verifier", &session)?;
        } else {
            self.book_if_stopped("verifier", &session)?;
        }
        let intact = self.is_intact(&checkout, &handed.tree)?;
        Ok(Done::Verifier { session, intact, nonce, submitted: proposals.verdicts.pop() })
    }

    /// Returns what the gates of `bounce` said, from the record.
    fn recorded_gate_lines(&self, bounce: u32) -> Result<Vec<String>> {
        Ok(match self.steps().result(&StepKey::gates(bounce))? {
            Some(Done::Gates(gates)) => gates.lines,
            _ => Vec::new(),
        })
    }

    /// Returns whether what was handed over is as it was. What a build leaves behind is new.
    fn is_intact(&self, checkout: &Checkout, handed: &TreeId) -> Result<bool> {
        if checkout.looks_untouched()? {
            return Ok(true);
        }
        let Snapshot::Taken(after) = self.checkouts().snapshot(checkout)? else {
            return Ok(false);
        };
        let touched = self.project.repository.diff(handed, &after, 0)?;
        Ok(touched.files.iter().all(|file| file.status == FileChange::Added))
    }

    /// The tree under check, with the base's own instructions to agents.
    fn handed(
        &self,
        ticket: &Ticket,
        commit: &CommitId,
        tree: &TreeId,
        files: &[ChangedFile],
    ) -> Result<Handed> {
        let obeyed = Exclusions::new(&self.project.config.verdict.instructions, &[]);
        let (mut added, mut changed) = (Vec::new(), Vec::new());
        for file in files {
            if let FileChange::Renamed { from } = &file.status
                && obeyed.excludes(from)
            {
                changed.push(from.clone());
            }
            if obeyed.excludes(&file.path) {
                let is_new = matches!(file.status, FileChange::Added | FileChange::Renamed { .. });
                if is_new { &mut added } else { &mut changed }.push(file.path.clone());
            }
        }
        if added.is_empty() && changed.is_empty() {
            return Ok(Handed { commit: commit.clone(), tree: tree.clone(), withheld: Vec::new() });
        }
        let tree = self.with_base_files(tree, &changed, &added)?;
        let message = format!("for the verifier of run {}", self.run.id);
        let commit = self.commit_tree(&tree, &message, ticket)?;
        Ok(Handed { commit, tree, withheld: [added, changed].concat() })
    }
}
