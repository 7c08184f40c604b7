//! Verified work on its way onto the integration branch.
//!
//! Work that was made on the tip lands as it was judged. Any other is brought onto the tip and
//! checked as it will stand there, as a run of its own; what does not hold goes back to its task
//! with the evidence. One lands after the other, so every commit of the branch was checked: several
//! stacked and checked at once would cost one check in place of as many, but of all their commits only
//! the last would be known to hold, and those below it would have to be checked after all.
//!
//! A landing that has to wait does not hold up others, so its next turn is planned anew: at the tip as
//! it is by then, with a merge of its own.

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, Fault, Park, RunId, StepKey, Ticket, Timestamp};
use spore_pipeline::{Done, LoopTask, TaskLanding, TaskResult};

use super::active::ActiveLoop;
use super::tasks::hindrance;
use crate::base::error::bug;
use crate::base::run_refs;
use crate::base::step::recorded;
use crate::report;
use crate::run::landing::merge::{MergeAsked, MergeEnd, MergePlace, give_up, says_nothing};
use crate::run::landing::merging::integrate;
use crate::run::settings::MergeEntry;
use crate::{Error, Progress, Result};

/// Verified work that is to land.
pub(crate) struct LandingRun {
    pub(crate) result: TaskResult,
    pub(crate) tip: CommitId,
    /// The run that checks the two together, where that is needed.
    pub(crate) merge: RunId,
}

/// What one turn of a landing is planned with.
#[derive(Serialize, Deserialize)]
struct LandingTurn {
    merge: RunId,
    tip: CommitId,
}

/// How a landing stopped.
pub(crate) enum LandingRest {
    Over(TaskLanding),
    Waits {
        park: Park,
        until: Option<Timestamp>,
        /// The agent that met a limit.
        limited: Option<String>,
        reason: String,
    },
}

fn waits_for_person(reason: String) -> LandingRest {
    LandingRest::Waits { park: Park::Human, until: None, limited: None, reason }
}

impl ActiveLoop<'_> {
    /// Returns the run that checks a task's work at `tip`: that of the last turn, unless the branch
    /// moved on since or that run said nothing about the work. `begun` is the first turn's plan.
    pub(crate) fn turn(
        &self,
        (id, attempt): (&str, u32),
        begun: &Ticket,
        tip: &CommitId,
    ) -> Result<RunId> {
        let mut last = LandingTurn {
            merge: begun.planned("merge").map_err(bug)?,
            tip: begun.planned("tip").map_err(bug)?,
        };
        for turn in 2.. {
            if last.tip == *tip && !says_nothing(self.journal, last.merge)? {
                break;
            }
            give_up(self.journal, last.merge, self.around.clock.now())?;
            let key = StepKey::landing_turn(id, attempt, turn);
            let next = LandingTurn { merge: self.around.ids.run(), tip: tip.clone() };
            last = self.steps().once(&key, |_, _| Ok(next))?;
        }
        Ok(last.merge)
    }

    /// Returns whether the branch is where the landing of this work brought it.
    pub(crate) fn is_at(
        &self,
        task: &LoopTask,
        result: &TaskResult,
        attempt: u32,
        there: &CommitId,
    ) -> Result<bool> {
        if result.commit.as_ref() == Some(there) {
            return Ok(true);
        }
        for run in self.merges_of(&task.key(task.edition), attempt)? {
            if let Some(Done::Committed { commit }) =
                recorded(self.journal, run, &StepKey::commit())?
                && commit == *there
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The runs that the turns of a landing were planned with; not all of them were begun.
    pub(crate) fn merges_of(&self, id: &str, attempt: u32) -> Result<Vec<RunId>> {
        let first = self.journal.step(self.root, &StepKey::task_landing(id, attempt))?;
        let mut merge = first.and_then(|step| RunId::deserialize(&step.intent["merge"]).ok());
        let mut merges = Vec::new();
        for turn in 2.. {
            let Some(run) = merge else { break };
            merges.push(run);
            let key = StepKey::landing_turn(id, attempt, turn);
            merge = self.steps().result::<LandingTurn>(&key)?.map(|turn| turn.merge);
        }
        Ok(merges)
    }

    /// Brings verified work onto the tip, and moves the branch there.
    pub(crate) fn land(
        &self,
        run: &LandingRun,
        progress: &mut dyn Progress,
    ) -> Result<LandingRest> {
        let lost = || Error::new(Fault::Bug, "there is no commit of a run that was verified");
        let commit = run.result.commit.clone().ok_or_else(lost)?;
        let base = run.result.base.clone().ok_or_else(lost)?;
        if base == run.tip {
            return self.landed(&run.tip, commit);
        }
        let entries = [MergeEntry::new(run.result.run, base, commit)];
        let funds = self.fund_landing(self.cost_of(run.merge)?, 2);
        let asked = MergeAsked {
            place: self.merge_place(run.merge),
            tip: &run.tip,
            entries: &entries,
            budget: funds.most,
            settings: None,
        };
        let ended = integrate(self.around, &asked, progress);
        let has_more = self.settle_landing(run.merge, &funds)?;
        let end = match ended {
            Ok(ended) => ended.into_iter().next(),
            Err(error) => {
                let reason = hindrance(error)?;
                return Ok(waits_for_person(reason));
            }
        };
        let back =
            |evidence: String| Ok(LandingRest::Over(TaskLanding::Back { number: 0, evidence }));
        match end.map(|(_, end)| end) {
            Some(MergeEnd::Landed(work)) => self.landed(&run.tip, work.commit),
            Some(MergeEnd::Conflict { evidence, .. } | MergeEnd::Red { evidence }) => {
                back(evidence.to_markdown())
            }
            Some(MergeEnd::Apart { reason }) => back(reason),
            Some(MergeEnd::Waits { park, reason, .. }) => {
                let told = report::report(self.workspace, self.journal, run.merge)?;
                let goes_on = park == Park::Budget && has_more;
                let later = told.next.and_then(|next| next.until);
                let until = if goes_on { Some(self.now()) } else { later };
                let limited = self.limited_below(run.merge, park)?;
                Ok(LandingRest::Waits { park, until, limited, reason })
            }
            Some(MergeEnd::Blocked { reason }) => Ok(waits_for_person(reason)),
            None => Err(Error::new(Fault::Bug, "nothing came of a merge")),
        }
    }

    /// Where the run of a merge stands.
    pub(crate) fn merge_place(&self, id: RunId) -> MergePlace {
        MergePlace {
            id,
            parent: self.root,
            trace: self.trace.clone(),
            depth: self.depth + 1,
            nesting: self.settings.nesting,
        }
    }

    fn landed(&self, tip: &CommitId, commit: CommitId) -> Result<LandingRest> {
        let tree = self.repository.tree_of(&commit)?;
        self.move_tip(tip, &commit)?;
        Ok(LandingRest::Over(TaskLanding::Landed { number: 0, commit, tree }))
    }

    /// Moves the branch from `from` to `to`, once. One that another process moved is left alone.
    fn move_tip(&self, from: &CommitId, to: &CommitId) -> Result<()> {
        let name = run_refs::branch_ref(&self.settings.branch);
        match self.repository.ref_target(&name)? {
            Some(there) if there == *to => return Ok(()),
            Some(there) if there != *from => {
                return Err(moved(&self.settings.branch, from));
            }
            _ => {}
        }
        Ok(self.repository.set_ref(&name, to)?)
    }
}

/// The branch is not where the loop left it, which is at `tip`.
pub(crate) fn moved(branch: &str, tip: &CommitId) -> Error {
    let message = format!("the branch {branch} is not where the loop left it: it was moved");
    Error::new(Fault::BadInput, message).hint(format!(
        "keep what is there under another name (git branch kept {branch}), then bring it back: git \
         branch -f {branch} {tip}; or begin the list anew with `--reset`"
    ))
}
