//! The end of a loop: its branch is brought where it was asked to be, and its row is closed.

use serde_json::json;
use spore_model::{
    Begun, CommitId, EffectClass, Fault, Outcome, Park, Run, RunState, SourceKind, StepKey, Ticket,
};
use spore_pipeline::{Done, LoopEnding, TaskLanding};
use spore_store::RunChange;

use super::active::ActiveLoop;
use super::projection::cost_of_all;
use super::record::{LoopRecord, TaskNews};
use crate::base::error::bug;
use crate::base::step::Intent;
use crate::base::totals;
use crate::run::landing::apply::{self, ApplyEnd, Brought, Site};
use crate::run::landing::merge::{MERGES, MergeAsked, MergeEnd, planned_merge};
use crate::run::landing::merging::integrate;
use crate::run::settings::MergeEntry;
use crate::{Error, Progress, Result, Update};

/// Writes down that a loop waits, and for what.
pub(crate) fn park_loop(
    ground: &ActiveLoop<'_>,
    run: &Run,
    park: Park,
    ending: &LoopEnding,
) -> Result<()> {
    let below = ground.journal.children(ground.root)?;
    let change = RunChange {
        state: Some(RunState::Parked),
        outcome: Some(ending.outcome),
        park: Some(Some(park)),
        reason: Some(ending.reason.clone()),
        cost: Some(cost_of_all(&below).into()),
        ..RunChange::default()
    };
    let payload = json!({ "park": park, "reason": ending.reason });
    let event = ground.event(SourceKind::Runner, "run.parked", payload);
    Ok(ground.journal.update_run(run.id, &change, &[event])?)
}

/// Brings the whole branch where it was asked to be, and closes the loop. Returns how it ends: it
/// may have to wait for that.
pub(crate) fn finish(
    ground: &ActiveLoop<'_>,
    record: &LoopRecord,
    run: &Run,
    ending: LoopEnding,
    progress: &mut dyn Progress,
) -> Result<LoopEnding> {
    if record.tip(ground.settings) != ground.settings.base
        && let Some((park, reason)) = apply_branch(ground, record, progress)?
    {
        let outcome = match park {
            Park::Quota => Outcome::QuotaParked,
            Park::Interrupt => Outcome::Interrupted,
            Park::Budget | Park::Human => Outcome::NeedsHuman,
        };
        return Ok(LoopEnding { outcome, park: Some(park), reason });
    }
    let (steps, key) = (ground.steps(), StepKey::finish());
    let begun = steps.begin::<Outcome>(&key, EffectClass::Keyed, steps.intent())?;
    let Begun::Do(ticket) = begun else { return Ok(ending) };
    let mut entry = steps.entry(&ending.outcome)?;
    let below = ground.journal.children(ground.root)?;
    let change = RunChange {
        state: Some(RunState::Ended),
        outcome: Some(ending.outcome),
        reason: Some(ending.reason.clone()),
        ended: Some(ticket.time().map_err(bug)?),
        ..totals::of_runs(below.iter())
    };
    entry.runs.push((run.id, change));
    let payload = json!({ "outcome": ending.outcome, "reason": ending.reason });
    entry.events.push(ground.event(SourceKind::Runner, "run.finished", payload));
    steps.finish(&key, &ticket, &entry)?;
    Ok(ending)
}

/// Applies the branch. Returns what that waits for, where it does.
fn apply_branch(
    ground: &ActiveLoop<'_>,
    record: &LoopRecord,
    progress: &mut dyn Progress,
) -> Result<Option<(Park, String)>> {
    let settings = ground.settings;
    let tip = record.tip(settings);
    let (steps, key) = (ground.steps(), StepKey::apply());
    let plan = |intent: Intent, name: &&str| intent.plan(name, ground.around.ids.run());
    let intent = MERGES.iter().fold(steps.intent(), plan);
    let begun = steps.begin::<Done>(&key, EffectClass::Keyed, intent)?;
    let Begun::Do(ticket) = begun else { return Ok(None) };
    let site = Site {
        around: ground.around,
        workspace: ground.workspace,
        repository: ground.repository,
        run: ground.root,
        branch: settings.branch.clone(),
    };
    let mut bring = |onto: &CommitId| bring_onto(ground, record, &ticket, onto, progress);
    let end = apply::apply(&site, &settings.base, &tip, settings.apply, &mut bring)?;
    let applied = match end {
        ApplyEnd::Over(applied) => applied,
        ApplyEnd::Waits { park, reason } => return Ok(Some((park, reason))),
    };
    let told = serde_json::to_value(&applied).map_err(bug)?;
    let mut entry = steps.entry(&Done::Applied { record: told.clone() })?;
    entry.events.push(ground.event(SourceKind::Git, "commit.applied", told));
    steps.finish(&key, &ticket, &entry)?;
    let commit = applied.named(&tip).to_string();
    progress.update(&Update::Applied { done: applied.done, what: applied.what, commit });
    Ok(None)
}

/// Brings every task's commit onto what the person's branch has become, and checks it there.
fn bring_onto(
    ground: &ActiveLoop<'_>,
    record: &LoopRecord,
    ticket: &Ticket,
    onto: &CommitId,
    progress: &mut dyn Progress,
) -> Result<Brought> {
    let settings = ground.settings;
    let mut below = settings.start.clone();
    let mut entries = Vec::new();
    for (task, news) in &record.news {
        if let (TaskNews::Landed(TaskLanding::Landed { commit, .. }), Some(result)) =
            (news, record.result(*task))
        {
            let base = std::mem::replace(&mut below, commit.clone());
            entries.push(MergeEntry { owner: result.run, base, commit: commit.clone() });
        }
    }
    if settings.base != settings.start || entries.is_empty() {
        let why = "your branch moved on, and a part of this one is of an earlier loop";
        return Ok(Brought::Not(why.to_owned()));
    }
    let now = ground.around.clock.now();
    let Some(id) = planned_merge(ground.journal, ticket, onto, now)? else {
        return Ok(Brought::Not("the branch moves on faster than it is checked".to_owned()));
    };
    // No task is at work any more: all that is left is for this.
    let funds = ground.fund_landing(ground.cost_of(id)?, 1);
    let asked = MergeAsked {
        place: ground.merge_place(id),
        tip: onto,
        entries: &entries,
        budget: funds.most,
        settings: None,
    };
    let ended = integrate(ground.around, &asked, progress);
    ground.settle_landing(id, &funds)?;
    let mut last = None;
    for (_, end) in ended? {
        match end {
            MergeEnd::Landed(work) => last = Some(work.commit),
            MergeEnd::Waits { park, reason, .. } => return Ok(Brought::Waits { park, reason }),
            MergeEnd::Apart { reason } | MergeEnd::Blocked { reason } => {
                return Ok(Brought::Not(reason));
            }
            MergeEnd::Conflict { evidence, .. } | MergeEnd::Red { evidence } => {
                return Ok(Brought::Not(evidence.reason));
            }
        }
    }
    last.map(Brought::Onto).ok_or_else(|| Error::new(Fault::Bug, "nothing came of a merge"))
}
