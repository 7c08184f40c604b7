//! The steps of verified work: its commit, and bringing it where it was asked to be.

use spore_model::{CommitId, Fault, RunId, StepKey, Ticket, TreeId, Usd};
use spore_pipeline::{Done, RebaseFate};
use spore_runs::Apply;

use crate::base::error::bug;
use crate::base::run_refs;
use crate::run::context::RunContext;
use crate::run::landing::apply::{
    self, ApplyEnd, Brought, CommitJudge, CommitStory, RebasedStory, Site, commit_message,
    joining_message, rebased_message,
};
use crate::run::landing::merge::{MergeAsked, MergePlace, MergeRuns, brought, planned_merge};
use crate::run::settings::MergeEntry;
use crate::{Error, Result, Update};

impl RunContext<'_> {
    pub(crate) fn commit(&mut self, ticket: &Ticket, bounce: u32, tree: &TreeId) -> Result<Done> {
        if self.run.settings.is_merge() {
            return self.commit_rebased(ticket);
        }
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
            subject: settings.subject.as_deref().unwrap_or_default(),
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

    /// Makes a commit of each entry that was brought onto the base, in their order. What the checks said
    /// is told of the tree that they saw, which is the last.
    fn commit_rebased(&mut self, ticket: &Ticket) -> Result<Done> {
        let (checked, entries, judged_again) = match self.steps().result(&StepKey::rebase())? {
            Some(Done::Rebased { tree, entries, overlap }) => (tree, entries, !overlap.is_empty()),
            _ => return Err(Error::new(Fault::Bug, "nothing was brought together")),
        };
        let proof = match self.steps().result(&StepKey::gates(1))? {
            Some(Done::Gates(gates)) => gates.proof,
            _ => None,
        };
        let (repository, when) = (self.project.repository, ticket.time().map_err(bug)?);
        let mut top = self.run.settings.base.clone();
        for (entry, rebased) in self.run.settings.merges.iter().zip(entries) {
            let RebaseFate::Stacked { tree } = rebased.fate else { continue };
            let judged = repository.tree_of(&entry.commit)?;
            let known = repository
                .log(std::slice::from_ref(&entry.commit), std::slice::from_ref(&entry.base))?;
            let original = match known.last() {
                _ if entry.joins => {
                    let said = &self.run.settings.task;
                    joining_message(said, entry.owner, judged_again)
                }
                Some(commit) => commit.message.clone(),
                None => "verified work".to_owned(),
            };
            let is_its_own = |judged: &&TreeId| **judged != tree && !judged_again && !entry.joins;
            let message = rebased_message(&RebasedStory {
                original: &original,
                merge: self.run.id,
                tree: &tree,
                judged: Some(&judged).filter(is_its_own),
                proof: proof.as_ref().filter(|_| tree == checked),
            });
            let parents = [&top, &entry.commit];
            let parents = if entry.joins { &parents[..] } else { &parents[..1] };
            top = repository.commit_with_parents(&tree, parents, &message, when)?;
        }
        self.set_ref(&run_refs::own(self.run.id, "result"), &top)?;
        Ok(Done::Committed { commit: top })
    }

    pub(crate) fn apply(&mut self, ticket: &Ticket, commit: &CommitId) -> Result<Done> {
        let (base, how) = (self.run.settings.base.clone(), self.run.settings.apply);
        let (around, workspace, repository) =
            (self.project.around, self.project.workspace, self.project.repository);
        let run = self.run.id;
        let branch = run_refs::free_branch(repository, run, &self.run.settings.task, commit)?;
        let site = Site { around, workspace, repository, run, branch };
        let mut bring = |tip: &CommitId| self.bring_onto(ticket, commit, tip);
        let mut applied = match apply::apply(&site, &base, commit, how, &mut bring)? {
            ApplyEnd::Over(applied) => applied,
            ApplyEnd::Waits { park, reason } => return Ok(Done::Stopped { park, reason }),
        };
        if self.run.settings.in_place && how != Apply::Merge {
            let laid = apply::lay_down(&site, &base, commit)?;
            applied.done &= laid.done;
            applied.what = format!("{}; {}", applied.what, laid.what);
        }
        self.progress.update(&Update::Applied {
            done: applied.done,
            what: applied.what.clone(),
            commit: applied.named(commit).to_string(),
        });
        Ok(Done::Applied { record: serde_json::to_value(&applied).map_err(bug)? })
    }

    /// Brings the work onto what its branch has become, and checks the two together.
    fn bring_onto(
        &mut self,
        ticket: &Ticket,
        commit: &CommitId,
        tip: &CommitId,
    ) -> Result<Brought> {
        if self.run.settings.solo.is_some() {
            let why = "the branch moved on, and nobody checks what a role does alone";
            return Ok(Brought::Not(why.to_owned()));
        }
        let Some(id) = planned_merge(self.project.journal, ticket, tip, self.steps().now())? else {
            return Ok(Brought::Not("the branch moves on faster than it is checked".to_owned()));
        };
        let base = self.run.settings.base.clone();
        let entries = [MergeEntry::new(self.run.id, base, commit.clone())];
        let before = self.cost_of(id)?;
        let left = self.budget.left().unwrap_or(self.run.settings.budget);
        let place = MergePlace {
            id,
            parent: self.run.id,
            trace: self.run.trace.clone(),
            depth: self.run.depth + 1,
            nesting: self.run.settings.nesting,
        };
        // In all, of which some may be gone already.
        let budget = left + before;
        let asked = MergeAsked { place, tip, entries: &entries, budget, settings: None };
        let ends = self.project.merge(&asked, self.progress)?;
        if self.budget.reserve() {
            let more = self.cost_of(id)?.as_nanos().saturating_sub(before.as_nanos());
            self.budget.settle(Usd::from_nanos(more));
        }
        let end = ends.into_iter().next().map(|(_, end)| end);
        end.map(brought).ok_or_else(|| Error::new(Fault::Bug, "nothing came of a merge"))
    }

    fn cost_of(&self, run: RunId) -> Result<Usd> {
        Ok(self.project.journal.ledger(run)?.iter().map(|entry| entry.cost.usd).sum())
    }
}
