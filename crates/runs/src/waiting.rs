//! What waits for a person: runs that do not go on by themselves, why, and what to type.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Cost, Run, RunId, RunKind, RunStatus, Timestamp};
use spore_store::{Journal, JournalError, RunQuery};

use crate::advice::{NextStep, advise, is_flow, racers, unapplied};
use crate::applied::NOT_MERGED;
use crate::figures::attempts::{is_list, tasks_of_list};
use crate::live::Presence;

/// A run that waits.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct WaitingRun {
    pub run: RunId,
    pub name: String,
    pub status: RunStatus,
    pub started: Timestamp,
    pub cost: Cost,
    pub reason: String,
    /// What answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextStep>,
}

/// The runs that wait.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WaitingRuns {
    /// The newest of them.
    pub runs: Vec<WaitingRun>,
    /// How many more there are.
    pub left_out: u32,
    /// All whose process is gone, the newest first, those that are left out too.
    pub stale: Vec<RunId>,
}

/// Returns what waits for a person, the newest first: every run that is parked or whose process is
/// gone, what was verified since `since` and could not be brought where it was asked to be, and what was
/// escalated since, tasks of lists too, unless the task was tried anew and verified. `most` of them are
/// told in full.
pub fn waiting_runs(
    journal: &dyn Journal,
    presence: &dyn Presence,
    since: Timestamp,
    most: usize,
) -> Result<WaitingRuns, JournalError> {
    let open = RunQuery { roots_only: true, open_only: true, ..RunQuery::default() };
    let recent = RunQuery {
        roots_only: true,
        with_tasks: true,
        since: Some(since),
        without_settings: true,
        ..RunQuery::default()
    };
    let mut found: Vec<(Run, RunStatus)> = Vec::new();
    for run in journal.runs(&open)? {
        let status = run.status(presence.is_alive(run.id));
        if !matches!(status, RunStatus::Running | RunStatus::Queued) {
            found.push((run, status));
        }
    }
    let mut stale: Vec<&Run> = found
        .iter()
        .filter(|(_, status)| *status == RunStatus::Interrupted)
        .map(|(run, _)| run)
        .collect();
    stale.sort_by_key(|run| std::cmp::Reverse((run.started, run.id)));
    let stale = stale.into_iter().map(|run| run.id).collect();
    let recent = journal.runs(&recent)?;
    found.extend(unapplied_runs(journal, presence, &recent)?);
    found.extend(escalated(journal, recent)?);
    found.sort_by_key(|(run, _)| std::cmp::Reverse((run.started, run.id)));
    let left_out = found.len().saturating_sub(most);
    found.truncate(most);
    let mut runs = Vec::new();
    for (run, status) in found {
        let next = advise(journal, &run, status)?;
        runs.push(WaitingRun {
            run: run.id,
            status,
            started: run.started,
            cost: run.cost.into(),
            reason: match &run.reason {
                Some(reason) => reason.clone(),
                None => "the process that worked on it is gone".to_owned(),
            },
            next,
            name: run.name,
        });
    }
    Ok(WaitingRuns { runs, left_out: u32::try_from(left_out).unwrap_or(u32::MAX), stale })
}

/// Returns those of `recent` that were escalated and whose task still is not verified, whole.
fn escalated(
    journal: &dyn Journal,
    recent: Vec<Run>,
) -> Result<Vec<(Run, RunStatus)>, JournalError> {
    let is_escalated = |run: &Run| !run.is_open() && run.status(false) == RunStatus::Escalated;
    let mut escalated = Vec::new();
    for run in recent.into_iter().filter(is_escalated) {
        // What it was started with says whose task it tries anew, and who raced.
        escalated.push(journal.run(run.id)?.unwrap_or(run));
    }
    let settled = settled(journal, &escalated)?;
    escalated.retain(|run| {
        let is_won = run.kind == RunKind::Race && racers(run).any(|id| settled.contains(&id));
        !is_won && !settled.contains(&run.id)
    });
    Ok(escalated.into_iter().map(|run| (run, RunStatus::Escalated)).collect())
}

/// Returns those of `recent` whose work is not where it was asked to be, and was not brought there since.
fn unapplied_runs(
    journal: &dyn Journal,
    presence: &dyn Presence,
    recent: &[Run],
) -> Result<Vec<(Run, RunStatus)>, JournalError> {
    let mut found = Vec::new();
    for run in recent.iter().filter(|run| run.parent.is_none() && !run.is_open()) {
        // The rows of flows do not say it, and there are few of them.
        let may_be = is_flow(run.kind)
            || run.reason.as_deref().is_some_and(|reason| reason.contains(NOT_MERGED));
        if !may_be {
            continue;
        }
        let status = run.status(false);
        if let Some(work) = unapplied(journal, run, status)?
            && !presence.is_settled(&work)
        {
            let reason = run.reason.as_deref().unwrap_or_default();
            let is_told = reason.contains(&work.what);
            let reason = if is_told { reason.to_owned() } else { work.added_to(reason) };
            found.push((Run { reason: Some(reason), ..run.clone() }, status));
        }
    }
    Ok(found)
}

/// Returns those of the escalated runs whose task was verified since: tried anew, done once more by
/// another list, or asked for again in the same words.
fn settled(journal: &dyn Journal, escalated: &[Run]) -> Result<BTreeSet<RunId>, JournalError> {
    let Some(first) = escalated.iter().map(|run| run.started).min() else {
        return Ok(BTreeSet::new());
    };
    let query = RunQuery { roots_only: true, since: Some(first), ..RunQuery::default() };
    let later = journal.runs(&query)?;
    let mut settled = tried_anew(&later);
    let tasks = RunQuery { with_tasks: true, without_settings: true, ..query };
    let lists = ListsWorkedThrough::read(journal, escalated, &later)?;
    let verified: Vec<Run> = journal
        .runs(&tasks)?
        .into_iter()
        .filter(|run| run.kind == RunKind::Orchestrate)
        .filter(|run| {
            run.status(false) == RunStatus::Verified && !lists.not_landed.contains(&run.id)
        })
        .collect();
    for run in escalated {
        let is_same = |other: &&Run| {
            let same_task = lists.task_of.get(&run.id);
            same_task.is_some() && same_task == lists.task_of.get(&other.id)
                || run.task.is_some() && words_of(run) == words_of(other)
        };
        if verified.iter().filter(|other| other.started > run.started).any(|other| is_same(&other))
        {
            settled.insert(run.id);
        }
    }
    Ok(settled)
}

/// The words of a task that was asked for.
fn words_of(run: &Run) -> Option<&str> {
    run.task.as_deref().map(str::trim)
}

/// What the lists that an escalated task stands in have of their tasks, at any time.
#[derive(Default)]
struct ListsWorkedThrough {
    /// The source of its list and its name there, by the run.
    task_of: BTreeMap<RunId, (String, String)>,
    /// Runs that were verified and whose work is on no branch.
    not_landed: BTreeSet<RunId>,
}

impl ListsWorkedThrough {
    fn read(journal: &dyn Journal, escalated: &[Run], later: &[Run]) -> Result<Self, JournalError> {
        let mut lists = Self::default();
        let source = |run: &Run| run.settings.get("source")?.as_str().map(str::to_owned);
        let mut sources = BTreeMap::new();
        for parent in escalated.iter().filter_map(|run| run.parent).collect::<BTreeSet<_>>() {
            let list = journal.run(parent)?.filter(|run| is_list(run.kind));
            sources.extend(list.and_then(|list| Some((parent, source(&list)?))));
        }
        let known: BTreeSet<String> = sources.values().cloned().collect();
        for list in later.iter().filter(|run| is_list(run.kind)) {
            sources.extend(source(list).filter(|it| known.contains(it)).map(|it| (list.id, it)));
        }
        for (list, source) in sources {
            for task in tasks_of_list(journal, list)? {
                let name = task.id.split('~').next().unwrap_or_default();
                let has_landed = task.has_landed();
                for (at, run) in task.attempts.iter().enumerate() {
                    lists.task_of.insert(*run, (source.clone(), name.to_owned()));
                    if !has_landed || at + 1 < task.attempts.len() {
                        lists.not_landed.insert(*run);
                    }
                }
            }
        }
        Ok(lists)
    }
}

/// Returns the runs whose task was tried anew, at last by one of `runs` that was verified.
fn tried_anew(runs: &[Run]) -> BTreeSet<RunId> {
    let mut tried_by: BTreeMap<RunId, RunId> = BTreeMap::new();
    let mut verified = Vec::new();
    for run in runs {
        let tried = run.settings.get("retry_of").and_then(|id| id.as_str()?.parse().ok());
        let Some(tried) = tried else { continue };
        tried_by.insert(run.id, tried);
        let well = matches!(run.status(false), RunStatus::Verified | RunStatus::Finished);
        if well {
            verified.push(run.id);
        }
    }
    let mut settled = BTreeSet::new();
    for run in verified {
        let mut at = run;
        while let Some(before) = tried_by.get(&at).copied().filter(|id| settled.insert(*id)) {
            at = before;
        }
    }
    settled
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spore_model::{EffectClass, Outcome, RunState, StepKey};
    use spore_store::{SqliteJournal, StepEntry};

    use super::*;
    use crate::live::Live;

    struct Nobody;

    impl Presence for Nobody {
        fn is_alive(&self, _: RunId) -> bool {
            false
        }

        fn live(&self, _: RunId) -> Vec<Live> {
            Vec::new()
        }
    }

    fn journal(runs: &[Run]) -> (tempfile::TempDir, SqliteJournal) {
        let dir = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
        for run in runs {
            journal.create_run(run, &[]).unwrap();
        }
        (dir, journal)
    }

    fn id(number: u128) -> RunId {
        RunId::from_parts(0, number)
    }

    fn task(number: u128, outcome: Outcome, retry_of: Option<u128>) -> Run {
        let at = Timestamp::from_millis(i64::try_from(number).unwrap());
        Run {
            state: RunState::Ended,
            outcome: Some(outcome),
            ended: Some(at),
            reason: Some("no attempt held".to_owned()),
            settings: json!({ "retry_of": retry_of.map(id) }),
            ..Run::begin(id(number), RunKind::Orchestrate, "a task", at)
        }
    }

    #[track_caller]
    fn waits(runs: &[Run], expected: &[u128]) {
        let (_dir, journal) = journal(runs);
        let since = Timestamp::from_millis(0);
        let waiting = waiting_runs(&journal, &Nobody, since, 12).unwrap();
        let ids: Vec<RunId> = waiting.runs.iter().map(|one| one.run).collect();
        assert_eq!(ids, expected.iter().copied().map(id).collect::<Vec<_>>());
    }

    #[test]
    fn a_task_that_was_tried_anew_and_verified_waits_no_longer() {
        let (escalated, verified) = (Outcome::NeedsEscalation, Outcome::Success);
        let first = task(1, escalated, None);
        waits(std::slice::from_ref(&first), &[1]);
        waits(&[first.clone(), task(2, verified, Some(1))], &[]);
        let again = [first.clone(), task(2, escalated, Some(1))];
        waits(&again, &[2, 1]);
        waits(&[again.as_slice(), &[task(3, verified, Some(2))]].concat(), &[]);
        waits(&[first, task(2, verified, None)], &[1]);
    }

    #[test]
    fn what_was_verified_and_could_not_be_brought_in_waits_whatever_it_is() {
        let (dir, journal) = journal(&[
            Run {
                reason: Some(format!("well; {NOT_MERGED}in the way")),
                ..task(1, Outcome::Success, None)
            },
            Run { kind: RunKind::Stage, reason: None, ..task(2, Outcome::Success, None) },
            Run {
                kind: RunKind::Loop,
                reason: Some(NOT_MERGED.to_owned()),
                ..task(3, Outcome::Partial, None)
            },
            task(4, Outcome::Success, None),
        ]);
        for (number, done) in [(1, false), (2, false), (3, true)] {
            let record = json!({ "how": "merge", "done": done, "what": format!("{NOT_MERGED}in the way"),
                "next": "git merge spore/a" });
            finished(
                &journal,
                id(number),
                &StepKey::apply(),
                json!({}),
                json!({ "done": "applied", "record": record }),
            );
        }
        let waiting = waiting_runs(&journal, &Nobody, Timestamp::from_millis(0), 9).unwrap().runs;
        let told: Vec<_> = waiting
            .iter()
            .map(|one| (one.run, one.next.as_ref().unwrap().command.as_str()))
            .collect();
        assert_eq!(told, [(id(2), "git merge spore/a"), (id(1), "git merge spore/a")]);
        assert!(waiting[0].reason.contains("in the way"), "{}", waiting[0].reason);
        drop(dir);
    }

    /// Records a step.
    fn finished(
        journal: &SqliteJournal,
        run: RunId,
        key: &StepKey,
        intent: serde_json::Value,
        result: serde_json::Value,
    ) {
        let now = Timestamp::from_millis(0);
        let begun = journal.begin_step(run, key, EffectClass::Keyed, &intent, now).unwrap();
        let entry = StepEntry {
            result,
            runs: Vec::new(),
            new_runs: Vec::new(),
            ledger: Vec::new(),
            events: Vec::new(),
            now,
        };
        journal.finish_step(run, key, begun.attempt, &entry).unwrap();
    }

    #[test]
    fn a_task_that_its_list_did_at_last_waits_no_more() {
        let list = |number| Run {
            kind: RunKind::Loop,
            settings: json!({ "source": "/tasks.txt" }),
            ..task(number, Outcome::Partial, None)
        };
        let of = |number, list: u128, outcome| Run {
            parent: Some(id(list)),
            ..task(number, outcome, None)
        };
        let fell_short = Outcome::NeedsEscalation;
        let (_dir, journal) = journal(&[
            list(10),
            of(1, 10, fell_short),
            of(2, 10, fell_short),
            list(20),
            of(23, 20, Outcome::Success),
            of(24, 20, Outcome::Success),
            // Asked for anew by itself, in the same words.
            Run { task: Some("mend it".to_owned()), ..task(5, fell_short, None) },
            Run { task: Some("mend it ".to_owned()), ..task(30, Outcome::Success, None) },
        ]);
        let landed = json!({ "landing": "landed", "number": 1, "commit": "0".repeat(40), "tree": "0".repeat(40) });
        let back = json!({ "landing": "back", "number": 1, "evidence": "conflict" });
        for (parent, child, name, landing) in [
            (10, 1, "a", None),
            (10, 2, "b", None),
            (20, 23, "a~1", Some(landed)),
            (20, 24, "b", Some(back)),
        ] {
            let intent = json!({ "child": id(child) });
            finished(&journal, id(parent), &StepKey::task(name, 1), intent, json!({}));
            if let Some(landing) = landing {
                finished(&journal, id(parent), &StepKey::task_landing(name, 1), json!({}), landing);
            }
        }
        let waiting = waiting_runs(&journal, &Nobody, Timestamp::from_millis(0), 9).unwrap().runs;
        assert_eq!(waiting.iter().map(|one| one.run).collect::<Vec<_>>(), [id(2)]);
    }

    #[test]
    fn a_race_is_settled_by_a_racer_that_was_tried_anew() {
        let race = Run {
            kind: RunKind::Race,
            settings: json!({ "racers": [{ "run": id(5) }] }),
            ..task(4, Outcome::NeedsEscalation, None)
        };
        let racer = Run { parent: Some(id(4)), ..task(5, Outcome::NeedsEscalation, None) };
        waits(&[race.clone(), racer.clone()], &[4]);
        waits(&[race, racer, task(6, Outcome::Success, Some(5))], &[]);
    }

    #[test]
    fn what_is_left_out_is_counted_and_no_stale_run_is_lost() {
        let open = |number| Run {
            state: RunState::Running,
            outcome: None,
            ended: None,
            reason: None,
            ..task(number, Outcome::Success, None)
        };
        let (_dir, journal) = journal(&(1..=5).map(open).collect::<Vec<_>>());
        let since = Timestamp::from_millis(0);
        let waiting = waiting_runs(&journal, &Nobody, since, 2).unwrap();
        assert_eq!((waiting.runs.len(), waiting.left_out), (2, 3));
        assert_eq!(waiting.stale, [5, 4, 3, 2, 1].map(id));
    }
}
