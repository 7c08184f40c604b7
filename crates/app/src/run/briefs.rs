//! What the sessions of a run are told beside their task.

use spore_model::CommitId;

use crate::Update;
use crate::knowledge::brief::{Brief, Question};
use crate::run::context::RunContext;

impl RunContext<'_> {
    /// Compiles what a session is told beside its task. Never fails: a run goes on without.
    pub(crate) fn brief(&mut self, role: &str, at: &CommitId, changed: &[String]) -> Brief {
        if !self.settings.wants_context() {
            return Brief::default();
        }
        if self.briefing().is_first() {
            self.progress.update(&Update::Reading);
        }
        let brief = self.briefing().compile(&Question {
            task: &self.settings.task,
            role,
            at,
            changed,
            budget_tokens: self.config.context.tokens as usize,
        });
        for warning in &brief.warnings {
            self.progress.update(&Update::LessContext { why: warning.clone() });
        }
        brief
    }
}
