//! The rows that a run's steps open, and the ids they were first meant to have.

use serde_json::json;
use spore_model::{Fault, Run, RunId, RunKind, SourceKind, Ticket};
use spore_pipeline::Step;
use spore_runs::Apply;

use crate::base::error::bug;
use crate::base::step::Intent;
use crate::run::context::RunContext;
use crate::run::landing::merge::MERGES;
use crate::{Error, Result};

impl RunContext<'_> {
    /// What a step must do the same way again: its time, and the ids of the rows it opens.
    pub(crate) fn intent(&self, step: &Step) -> Intent {
        let ids = &self.project.around.ids;
        let intent = self.steps().intent();
        match step {
            Step::Coder { .. } => intent.plan("bounce", ids.run()).plan("session", ids.run()),
            Step::Tester | Step::Verifier { .. } | Step::Summarize { .. } | Step::Solo { .. } => {
                intent.plan("session", ids.run())
            }
            Step::Baseline | Step::Gates { .. } => intent.plan("gates", ids.run()),
            Step::Rebase => intent.plan("bounce", ids.run()),
            Step::Apply { .. } if self.run.settings.apply == Apply::Merge => {
                MERGES.iter().fold(intent, |intent, name| intent.plan(name, ids.run()))
            }
            _ => intent,
        }
    }

    /// Returns the bounce's row, opening it for the coder's first session.
    pub(crate) fn bounce_run(&self, bounce: u32, ticket: &Ticket) -> Result<RunId> {
        if let Ok(run) = self.existing_bounce(bounce) {
            return Ok(run);
        }
        let id = ticket.planned("bounce").map_err(bug)?;
        let run = Run {
            attempt: bounce,
            base_commit: Some(self.run.settings.base.clone()),
            ..self.child(id, RunKind::Bounce, &format!("bounce {bounce}"))
        };
        let payload = json!({ "bounce": bounce });
        let event = self.event(SourceKind::Runner, "bounce.started", id, payload);
        self.project.journal.create_run(&run, &[event])?;
        Ok(id)
    }

    pub(crate) fn existing_bounce(&self, bounce: u32) -> Result<RunId> {
        self.project
            .journal
            .children(self.run.id)?
            .into_iter()
            .find(|run| run.kind == RunKind::Bounce && run.attempt == bounce)
            .map(|run| run.id)
            .ok_or_else(|| Error::new(Fault::Bug, format!("bounce {bounce} has no record")))
    }

    pub(crate) fn open_gates(&self, ticket: &Ticket, parent: RunId, name: &str) -> Result<RunId> {
        let id = ticket.planned("gates").map_err(bug)?;
        let run = Run { parent: Some(parent), ..self.child(id, RunKind::Gates, name) };
        self.project.journal.create_run(&run, &[])?;
        Ok(id)
    }

    pub(crate) fn child(&self, id: RunId, kind: RunKind, name: &str) -> Run {
        Run {
            parent: Some(self.run.id),
            trace: self.run.trace.clone(),
            depth: self.run.depth + 1,
            experiment: self.run.settings.experiment.clone(),
            ..Run::begin(id, kind, name, self.project.around.clock.now())
        }
    }
}
