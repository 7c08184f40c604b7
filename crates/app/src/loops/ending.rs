//! The end of a loop: its branch is brought where it was asked to be, and its row is closed.

use serde_json::json;
use spore_model::{
    Begun, CommitId, EffectClass, Fault, Outcome, Park, Run, RunState, SourceKind, StepKey, Ticket,
};
use spore_pipeline::{Done, LoopEnding, LoopTask, TaskLanding};
use spore_runs::Applied;
use spore_store::RunChange;

use super::active::ActiveLoop;
use super::projection::cost_of_all;
use super::record::{LoopRecord, TaskNews};
use super::settings::LoopSettings;
use crate::base::error::bug;
use crate::base::step::Intent;
use crate::base::totals;
use crate::run::landing::apply::{self, ApplyEnd, Brought, Site, applied_of};
use crate::run::landing::merge::{MERGES, MergeAsked, brought, planned_merge};
use crate::run::landing::merging::integrate;
use crate::run::settings::{MergeEntry, RunSettings};
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
    let ending = match record.tip(ground.settings) != ground.settings.base {
        false => ending,
        true => match apply_branch(ground, record, progress)? {
            ApplyEnd::Over(applied) => with_applied(ending, &applied),
            ApplyEnd::Waits { park, reason } => {
                let outcome = apply::outcome_of(park);
                return Ok(LoopEnding { outcome, park: Some(park), reason });
            }
        },
    };
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

/// Work that is verified and not where it was asked to be is a part of what was asked for.
fn with_applied(ending: LoopEnding, applied: &Applied) -> LoopEnding {
    if applied.done {
        return ending;
    }
    let reason = applied.added_to(&ending.reason);
    let outcome = match ending.outcome {
        Outcome::Success => Outcome::Partial,
        other => other,
    };
    LoopEnding { outcome, reason, ..ending }
}

/// Applies the branch, unless it is on record what came of that.
fn apply_branch(
    ground: &ActiveLoop<'_>,
    record: &LoopRecord,
    progress: &mut dyn Progress,
) -> Result<ApplyEnd> {
    let settings = ground.settings;
    let tip = record.tip(settings);
    let (steps, key) = (ground.steps(), StepKey::apply());
    let plan = |intent: Intent, name: &&str| intent.plan(name, ground.around.ids.run());
    let intent = MERGES.iter().fold(steps.intent(), plan);
    let begun = steps.begin::<Done>(&key, EffectClass::Keyed, intent)?;
    let ticket = match begun {
        Begun::Do(ticket) => ticket,
        Begun::Done(done) => return Ok(ApplyEnd::Over(applied_of(done)?)),
    };
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
        waits @ ApplyEnd::Waits { .. } => return Ok(waits),
    };
    let told = serde_json::to_value(&applied).map_err(bug)?;
    let mut entry = steps.entry(&Done::Applied { record: told.clone() })?;
    entry.events.push(ground.event(SourceKind::Git, "commit.applied", told));
    steps.finish(&key, &ticket, &entry)?;
    let commit = applied.named(&tip).to_string();
    progress.update(&Update::Applied { done: applied.done, what: applied.what.clone(), commit });
    Ok(ApplyEnd::Over(applied))
}

/// Joins the branch to what the person's has become, and has the two checked together. Its commits
/// were each checked as they stand and stay as they are, those of earlier loops, too; what is new is
/// one commit with both below it. Made anew on the other branch, one by one, each would have to be
/// checked there as well, for as many times the price.
fn bring_onto(
    ground: &ActiveLoop<'_>,
    record: &LoopRecord,
    ticket: &Ticket,
    onto: &CommitId,
    progress: &mut dyn Progress,
) -> Result<Brought> {
    let (settings, repository) = (ground.settings, ground.repository);
    let now = ground.around.clock.now();
    let Some(id) = planned_merge(ground.journal, ticket, onto, now)? else {
        return Ok(Brought::Not("the branch moves on faster than it is checked".to_owned()));
    };
    let commit = record.tip(settings);
    let base = repository.merge_base(onto, &commit)?.unwrap_or_else(|| settings.base.clone());
    let entries = [MergeEntry { owner: ground.root, base, commit, joins: true }];
    let words = joined_words(settings, record);
    let whole = together(landed(settings, record));
    let asked = settings.terms.asked(&whole, words, onto);
    let mut held = RunSettings::settle(ground.workspace, repository, ground.config, &asked)?;
    // A check that a task asked for may need what an earlier one made, which is not there yet.
    held.fix_red |= !whole.gates.is_empty() && !held.allow_red;
    // Tests of its own each task had to pass where it was judged.
    held.hold_out = false;
    // No task is at work any more: all that is left is for this.
    let funds = ground.fund_landing(ground.cost_of(id)?, 1);
    let asked = MergeAsked {
        place: ground.merge_place(id),
        tip: onto,
        entries: &entries,
        budget: funds.most,
        settings: Some(&held),
    };
    let ended = integrate(ground.around, &asked, progress);
    ground.settle_landing(id, &funds)?;
    let end = ended?.into_iter().next().map(|(_, end)| end);
    end.map(brought).ok_or_else(|| Error::new(Fault::Bug, "nothing came of a merge"))
}

/// The tasks that this loop brought onto its branch, in that order.
fn landed<'a>(
    settings: &'a LoopSettings,
    record: &'a LoopRecord,
) -> impl Iterator<Item = &'a LoopTask> {
    record.news.iter().filter_map(|(task, news)| match news {
        TaskNews::Landed(TaskLanding::Landed { .. }) => Some(&settings.tasks[*task]),
        _ => None,
    })
}

/// What the work of all of them is held to: the checks that each asked for, and where one had to make
/// something green, everything is to be green.
fn together<'a>(tasks: impl Iterator<Item = &'a LoopTask>) -> LoopTask {
    let mut whole = LoopTask::default();
    for task in tasks {
        whole.fix_red |= task.fix_red;
        for gate in &task.gates {
            if !whole.gates.contains(gate) {
                whole.gates.push(gate.clone());
            }
        }
    }
    whole
}

/// What a verifier and the history are told of the whole branch.
fn joined_words(settings: &LoopSettings, record: &LoopRecord) -> String {
    let landed = landed(settings, record).map(|task| task.text.as_str());
    let earlier = settings.before.verified_tasks.iter().map(String::as_str);
    let earlier = earlier.filter(|_| settings.base != settings.start);
    let tasks: Vec<String> = earlier.chain(landed).map(|text| format!("- {text}")).collect();
    let count = crate::counted(u32::try_from(tasks.len()).unwrap_or(u32::MAX), "verified task");
    format!("Merge {count} of {}\n\n{}", settings.branch, tasks.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_branch_is_held_to_what_each_of_its_tasks_was() {
        let task = |gates: &[&str], fix_red| LoopTask {
            gates: gates.iter().map(|&gate| gate.to_owned()).collect(),
            fix_red,
            ..LoopTask::default()
        };
        let tasks = [task(&["make lint"], false), task(&["make x", "make lint"], true)];
        let whole = together(tasks.iter());
        assert_eq!((whole.gates.join(", ").as_str(), whole.fix_red), ("make lint, make x", true));
        assert_eq!(together(std::iter::empty()), LoopTask::default());
    }
}
