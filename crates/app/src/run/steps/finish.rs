//! The last step of a run: lessons get their credit, checkouts go, and the report is written.

mod secrets;

use serde_json::json;
use spore_model::{Outcome, Ticket};
use spore_pipeline::{Conclusion, Done};

use crate::Result;
use crate::base::files::remove_empty_dir;
use crate::run::context::RunContext;
use crate::session::sandbox::coder_home;

impl RunContext<'_> {
    pub(crate) fn close_up(&mut self, ticket: &Ticket, conclusion: &Conclusion) -> Result<Done> {
        self.let_go_of_secrets(ticket)?;
        self.checkouts().retire_verifiers()?;
        self.checkouts().discard_tester()?;
        // Its conversations are over.
        let home = coder_home(self.project.workspace, self.run.id);
        if home.exists() {
            self.project.around.remove_tree(&home)?;
        }
        // Of a run that fell short the user may want to see more than git keeps.
        let settings = &self.run.settings;
        let is_kept = conclusion.outcome != Outcome::Success || settings.solo.is_some();
        if !is_kept || settings.is_merge() {
            self.checkouts().retire_coder()?;
            // Nothing else of it is there, unless something went wrong.
            remove_empty_dir(&self.project.workspace.run_state(self.run.id));
        }
        let ledger = self.project.bills(self.run.id)?;
        let report = json!({
            "run": self.run.id,
            "task": self.run.settings.task,
            "outcome": conclusion.outcome,
            "reason": conclusion.reason,
            "commit": conclusion.commit,
            "tree": conclusion.tree,
            "sandbox": self.run.enforcement,
            "sessions": ledger.len(),
            "cost": ledger.iter().map(|entry| entry.cost).sum::<spore_model::Cost>(),
        });
        self.project.around.write_json(&self.files().report(), &report)?;
        Ok(Done::Finished)
    }
}
