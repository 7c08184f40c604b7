//! The steps of verified work: its commit, and bringing it where it was asked to be.

use spore_model::{CommitId, StepKey, Ticket, TreeId};
use spore_pipeline::Done;
use spore_runs::Apply;

use crate::base::error::bug;
use crate::base::run_refs;
use crate::run::apply::{self, CommitJudge, CommitStory, Site, commit_message};
use crate::run::context::RunContext;
use crate::{Result, Update};

impl RunContext<'_> {
    pub(crate) fn commit(&mut self, ticket: &Ticket, bounce: u32, tree: &TreeId) -> Result<Done> {
        let proof = match self.steps().result(&StepKey::gates(bounce))? {
            Some(Done::Gates(gates)) => gates.proof,
            _ => None,
        };
        let settings = &self.run.settings;
        let key = if settings.solo.is_some() { StepKey::solo() } else { StepKey::coder(bounce) };
        let said = match self.steps().result(&key)? {
            Some(Done::Coder(session) | Done::Solo(session)) => session.final_text,
            _ => String::new(),
        };
        let diff = self.project.repository.diff(&settings.base, tree, 0)?;
        let changed: Vec<String> = diff.files.into_iter().map(|file| file.path).collect();
        let message = commit_message(&CommitStory {
            task: &settings.task,
            run: self.run.id,
            tree,
            said: &said,
            changed: &changed,
            judged: match &settings.solo {
                Some(role) => CommitJudge::Unjudged { role },
                None => CommitJudge::Verifier { proof: proof.as_ref() },
            },
        });
        let commit = self.commit_tree(tree, &message, ticket)?;
        self.set_ref(&run_refs::own(self.run.id, "result"), &commit)?;
        Ok(Done::Committed { commit })
    }

    pub(crate) fn apply(&mut self, commit: &CommitId) -> Result<Done> {
        let (base, how) = (self.run.settings.base.clone(), self.run.settings.apply);
        let (around, workspace, repository) =
            (self.project.around, self.project.workspace, self.project.repository);
        let run = self.run.id;
        let branch = run_refs::free_branch(repository, run, &self.run.settings.task, commit)?;
        let site = Site { around, workspace, repository, run, branch };
        let mut applied = apply::apply(&site, &base, commit, how)?;
        if self.run.settings.in_place && how != Apply::Merge {
            let laid = apply::lay_down(&site, &base, commit)?;
            applied.done &= laid.done;
            applied.what = format!("{}; {}", applied.what, laid.what);
        }
        self.progress.update(&Update::Applied {
            done: applied.done,
            what: applied.what.clone(),
            commit: commit.to_string(),
        });
        Ok(Done::Applied { record: serde_json::to_value(&applied).map_err(bug)? })
    }
}
