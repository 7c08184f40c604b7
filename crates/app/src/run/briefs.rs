//! What the sessions of a run are told beside their task.

use spore_model::CommitId;

use crate::Update;
use crate::knowledge::brief::{BriefAsked, Findings};
use crate::run::context::RunContext;

impl RunContext<'_> {
    /// Finds out what a session is told beside its task. Never fails: a run goes on without.
    pub(crate) fn findings(&mut self, role: &str, at: &CommitId, changed: &[String]) -> Findings {
        if !self.run.settings.wants_context() {
            return Findings::of_task(&self.run.settings.task);
        }
        if self.briefing().is_first() {
            self.progress.update(&Update::Reading);
        }
        let asked = BriefAsked { task: &self.run.settings.task, role, at, changed };
        let findings = self.briefing().find(&asked);
        for warning in &findings.warnings {
            self.progress.update(&Update::LessContext { why: warning.clone() });
        }
        findings
    }
}
