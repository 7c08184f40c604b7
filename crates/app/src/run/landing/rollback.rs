//! Takes back what a run brought: out of the branch it was merged into or the files it was laid
//! into, its own branch, its patch, and what it taught.
//!
//! Nothing is lost by it: `refs/spore/<run>/rolled-back` keeps the commit, and the run's
//! record stays. What is to be done is worked out first, from the branches as they are now,
//! and if a part of it cannot be done then none is: a conflict or an edited file in the way
//! leaves everything as it is. Each deed may be repeated, so a rollback that was killed is
//! simply called again.
//!
//! The one decision: only what Spore did is undone. Work that a person merged, picked or
//! rebased by hand is theirs; it is named, with the command that takes it back.

mod knowledge;
mod lifting;
mod plan;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use spore_git::{HeadState, Merged};
use spore_model::{
    Begun, CommitId, EffectClass, Fault, Run, RunId, RunKind, RunMark, RunState, SourceKind,
    StepKey, Ticket, Timestamp,
};
use spore_pipeline::Done;
use spore_store::RunChange;

use crate::base::error::bug;
use crate::base::outbox::Events;
use crate::base::run_lock::claim;
use crate::base::run_refs;
use crate::base::step::{Steps, recorded};
use crate::report;
use crate::run::landing::apply::{
    Landing, LandingEnd, Refused, Site, listed, revert_message, short, short_branch,
};
use crate::{Error, Result, Surroundings, Workspace, counted};
use plan::{RollbackPlan, Undoing};

/// Which run to take back.
#[derive(Clone, Debug, Default)]
pub struct Rollback {
    /// Any unique part of the run's id as it is shown.
    pub run: String,
    /// Only tell what would be done.
    pub dry_run: bool,
}

/// The result of a rollback.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct RolledBack {
    pub run: RunId,
    pub name: String,
    pub state: RollbackState,
    /// What was done, or would be, one line each.
    pub deeds: Vec<String>,
    /// What stays as it is, and why.
    pub left: Vec<String>,
    /// Where the branch stands that the work was merged into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<CommitId>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RollbackState {
    /// Nothing was done: a dry run.
    Planned,
    Done,
    /// It had been rolled back before; nothing was done.
    Already,
}

/// Takes a run back, or tells what that would mean.
pub fn rollback(around: &Surroundings, asked: &Rollback) -> Result<RolledBack> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = report::find_run(&journal, &asked.run)?;
    refuse_others(&workspace, &run)?;
    if run.mark == Some(RunMark::RolledBack) {
        return Ok(account(&run, RollbackState::Already, &RollbackPlan::default(), None));
    }
    let _lock = if asked.dry_run { None } else { Some(claim(&workspace, run.id)?) };
    refuse_unfinished(&run)?;
    let repository = workspace.repository(around)?;
    let knowledge = workspace.knowledge(&config)?;
    let commit = match recorded(&journal, run.id, &StepKey::commit())? {
        Some(Done::Committed { commit }) => Some(commit),
        _ => None,
    };
    let task = run.task.as_deref().unwrap_or_default();
    let branch = run_refs::branch_of(&repository, run.id, task, commit.as_ref())?;
    let (id, repository) = (run.id, &repository);
    let site = Site { around, workspace: &workspace, repository, run: id, branch };
    let undoing = Undoing { site, journal: &journal, knowledge: &knowledge, run: &run };
    let plan = undoing.plan()?;
    if asked.dry_run {
        return Ok(account(&run, RollbackState::Planned, &plan, None));
    }
    undoing.undo(&plan)
}

impl Undoing<'_> {
    fn plan(&self) -> Result<RollbackPlan> {
        let mut plan = RollbackPlan::default();
        let commit = match self.steps().result(&StepKey::commit())? {
            Some(Done::Committed { commit }) => Some(commit),
            _ => None,
        };
        self.plan_merge(&mut plan)?;
        self.plan_lift(&mut plan)?;
        if let Some(commit) = commit {
            self.plan_branch(&mut plan, &commit)?;
            self.plan_strays(&mut plan, &commit)?;
            plan.keep = Some(commit);
        }
        plan.patch = self.site.files().patch().exists();
        if plan.patch {
            plan.deeds.push("its patch is removed".to_owned());
        }
        plan.nodes = knowledge::taught(self.knowledge, self.run.id)?.len();
        if plan.nodes > 0 {
            let nodes = counted(u32::try_from(plan.nodes).unwrap_or(u32::MAX), "node");
            plan.deeds.push(format!("what it taught no longer counts: {nodes} of the graph"));
        }
        Ok(plan)
    }

    /// The way back of a merge: to the commit before it if nothing followed, else by a commit
    /// that reverts it.
    fn plan_merge(&self, plan: &mut RollbackPlan) -> Result<()> {
        let site = &self.site;
        if let Some(back) = site.landing_on_record("rollback")?
            && self.has_begun(&back)?
        {
            plan.deeds.push(way_back(&back));
            plan.back = Some(back);
            plan.begun = true;
            return Ok(());
        }
        let Some(landing) = site.landing_on_record("landing")? else { return Ok(()) };
        let name = short_branch(&landing.branch);
        let Some(tip) = site.repository.ref_target(&landing.branch)? else {
            plan.left.push(format!("branch {name}, which it was merged into, is gone"));
            return Ok(());
        };
        if !site.repository.is_ancestor(&landing.to, &tip)? {
            plan.left.push(format!("{name} no longer has the merge: somebody took it out"));
            return Ok(());
        }
        let root = self.work_tree_of(&landing.branch)?;
        let to = if tip == landing.to {
            landing.from.clone()
        } else {
            let how = if site.repository.is_merge(&landing.to) { "-m 1 " } else { "" };
            self.revert(&landing, &tip, how)?
        };
        if site.repository.tree_of(&to)? == site.repository.tree_of(&tip)? {
            plan.left.push(format!("{name} no longer has the change: somebody reverted it"));
            return Ok(());
        }
        let back = Landing { root, branch: landing.branch, from: tip, to };
        plan.deeds.push(way_back(&back));
        plan.back = Some(back);
        Ok(())
    }

    /// Returns whether an earlier call has moved the branch already.
    fn has_begun(&self, back: &Landing) -> Result<bool> {
        let tip = self.site.repository.ref_target(&back.branch)?;
        Ok(tip.as_ref() == Some(&back.to))
    }

    /// Makes the commit that takes the merge out of what `tip` has become. `how` is what `git
    /// revert` has to be told about a merge with two parents.
    fn revert(&self, landing: &Landing, tip: &CommitId, how: &str) -> Result<CommitId> {
        let repository = self.site.repository;
        let tree = match repository.transplant(&landing.to, &landing.from, tip)? {
            Merged::Clean(tree) => tree,
            Merged::Conflicts { files, .. } => {
                return Err(conflict(landing, how, &files, self.run));
            }
        };
        let message = revert_message(&self.run.name, &landing.to, &landing.from, self.run.id);
        // The time follows from the tip, so that a repeated call makes the same commit.
        let when = Timestamp::from_millis(repository.commit_time(tip)?.as_millis() + 1000);
        Ok(repository.commit_with_parents(&tree, &[tip], &message, when)?)
    }

    /// Returns the work tree whose files have to follow the branch.
    fn work_tree_of(&self, branch: &str) -> Result<Option<std::path::PathBuf>> {
        let repository = self.site.repository;
        let trees = repository.work_trees_on(branch)?;
        let Some(root) = trees.first() else { return Ok(None) };
        match self.site.workspace.discover(root)?.standing()? {
            HeadState::OnBranch(_) => Ok(Some(root.clone())),
            HeadState::Busy { doing } => Err(Error::new(
                Fault::BadInput,
                format!("a {doing} is under way in {}", spore_plain::path(root)),
            )
            .hint(format!(
                "finish it, or give it up; then `spore runs rollback {}`",
                self.run.id.short()
            ))),
            _ => Err(Error::new(
                Fault::BadInput,
                format!("{} is checked out in more than one work tree", short_branch(branch)),
            )
            .hint("check out another branch in all but one of them")),
        }
    }

    fn plan_branch(&self, plan: &mut RollbackPlan, commit: &CommitId) -> Result<()> {
        let (name, full) = (&self.site.branch, self.site.branch_ref());
        match self.site.repository.ref_target(&full)? {
            None => {}
            Some(tip) if tip != *commit => {
                plan.left.push(format!("branch {name} has commits of yours and stays"));
            }
            Some(_) if !self.site.repository.work_trees_on(&full)?.is_empty() => {
                plan.left.push(format!("branch {name} is checked out and stays"));
            }
            Some(tip) => {
                let keeper = self.site.own_ref("rolled-back");
                plan.deeds.push(format!("branch {name} is removed; {keeper} keeps its commit"));
                plan.own = Some(tip);
            }
        }
        Ok(())
    }

    /// Names the user's branches that have the commit although Spore did not bring it there.
    fn plan_strays(&self, plan: &mut RollbackPlan, commit: &CommitId) -> Result<()> {
        let repository = self.site.repository;
        let ours = plan.back.as_ref().map(|back| back.branch.as_str());
        for (name, tip) in repository.refs_under("refs/heads")? {
            if name.starts_with("refs/heads/spore/") || ours == Some(&name) {
                continue;
            }
            let told = plan.left.iter().any(|line| line.contains(short_branch(&name)));
            if !told && repository.is_ancestor(commit, &tip)? {
                plan.left.push(format!(
                    "{} has its commit, but not from Spore: git revert {}",
                    short_branch(&name),
                    short(commit)
                ));
            }
        }
        Ok(())
    }

    fn undo(&self, plan: &RollbackPlan) -> Result<RolledBack> {
        let (steps, key) = (self.steps(), StepKey::rollback());
        let ticket = match steps.begin::<Value>(&key, EffectClass::Keyed, steps.intent())? {
            Begun::Do(ticket) => ticket,
            Begun::Done(_) => return Ok(account(self.run, RollbackState::Already, plan, None)),
        };
        let at = ticket.time().map_err(bug)?;
        if let Some(back) = &plan.back {
            self.take_out(back, plan.begun)?;
        }
        if let Some(lift) = &plan.lift {
            self.lift(lift)?;
        }
        if let Some(commit) = &plan.keep {
            self.site.set_ref(&self.site.own_ref("rolled-back"), commit)?;
        }
        if let Some(tip) = &plan.own {
            let name = self.site.branch_ref();
            self.site.repository.remove_ref(&name, tip)?;
        }
        if plan.patch {
            self.site.around.remove_file(&self.site.files().patch())?;
        }
        self.forget(at)?;
        let told = account(self.run, RollbackState::Done, plan, plan.back.as_ref());
        self.record(&key, &ticket, &told)?;
        Ok(told)
    }

    fn take_out(&self, back: &Landing, begun: bool) -> Result<()> {
        let reached = if begun {
            self.site.finish("rollback", back)?.unwrap_or(LandingEnd::Landed)
        } else {
            self.site.land("rollback", back)?
        };
        match reached {
            LandingEnd::Landed => Ok(()),
            LandingEnd::Not(why) => Err(in_the_way(&why, back, self.run)),
        }
    }

    fn record(&self, key: &StepKey, ticket: &Ticket, told: &RolledBack) -> Result<()> {
        let events = Events { around: self.site.around, trace: self.run.trace.clone() };
        let payload = json!({ "deeds": told.deeds, "left": told.left, "commit": told.tip });
        let event =
            events.make(SourceKind::Human, "rollback", "run.rolled_back", self.run.id, payload);
        let change = RunChange { mark: Some(RunMark::RolledBack), ..RunChange::default() };
        let steps = self.steps();
        let mut entry = steps.entry(told)?;
        entry.runs.push((self.run.id, change));
        entry.events.push(event);
        steps.finish(key, ticket, &entry)
    }

    fn steps(&self) -> Steps<'_> {
        let Site { around, workspace, run, .. } = self.site;
        Steps { around, workspace, journal: self.journal, run }
    }
}

fn account(
    run: &Run,
    state: RollbackState,
    plan: &RollbackPlan,
    back: Option<&Landing>,
) -> RolledBack {
    RolledBack {
        run: run.id,
        name: run.name.clone(),
        state,
        deeds: plan.deeds.clone(),
        left: plan.left.clone(),
        tip: back.map(|back| back.to.clone()),
    }
}

fn way_back(back: &Landing) -> String {
    let name = short_branch(&back.branch);
    format!("{name} goes from {} to {}, without the change", short(&back.from), short(&back.to))
}

fn conflict(landing: &Landing, how: &str, files: &[String], run: &Run) -> Error {
    let name = short_branch(&landing.branch);
    let message = format!(
        "{name} has changed in the same places since: the work of run {} cannot be taken out by \
         itself, it conflicts in {}",
        run.id.short(),
        listed(files)
    );
    Error::in_vain(message).hint(format!(
        "nothing was changed. On {name}: git revert {how}{}, and mend the conflicts; then `spore \
         runs rollback {}` does the rest",
        short(&landing.to),
        run.id.short()
    ))
}

fn in_the_way(why: &Refused, back: &Landing, run: &Run) -> Error {
    let id = run.id.short();
    let name = short_branch(&back.branch);
    let error = Error::new(
        Fault::BadInput,
        format!("the work of run {id} cannot be taken out of {name}: {why}"),
    );
    match why {
        Refused::InTheWay(_) => error.hint(format!(
            "nothing was changed. Commit or stash your edits there, then `spore runs rollback {id}`"
        )),
        Refused::Moved(_) => error.hint(format!("`spore runs rollback {id}` tries again")),
    }
}

/// What other kinds of runs merged is taken out again; their branches stay as they are.
fn refuse_others(workspace: &Workspace, run: &Run) -> Result<()> {
    let has_merged = workspace.run_files(run.id).landing_note("landing").exists();
    if run.kind == RunKind::Orchestrate || has_merged {
        return Ok(());
    }
    let kind = run.kind.as_str();
    Err(Error::new(
        Fault::BadInput,
        format!(
            "run {} is a {kind} that merged nothing: there is nothing to take back",
            run.id.short()
        ),
    )
    .hint("what is on a branch of its own is yours to keep or to delete"))
}

fn refuse_unfinished(run: &Run) -> Result<()> {
    if run.state == RunState::Ended {
        return Ok(());
    }
    let id = run.id.short();
    Err(Error::new(Fault::BadInput, format!("run {id} is not over: {}", run.status(false)))
        .hint(format!("`spore resume {id}` brings it to its end; until then nothing is applied")))
}
