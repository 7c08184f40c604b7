//! What every journal has to do, whatever it is made of. Each check gets a fresh one.

use serde_json::json;
use spore_model::{
    CommitId, ContextUse, Cost, EffectClass, Event, EventId, EventSource, LedgerEntry, Outcome,
    Park, Run, RunCost, RunId, RunKind, RunMark, RunState, SessionFailure, SessionToken,
    SourceKind, StepKey, Timestamp, TreeId, Usage, Usd,
};

use super::{
    Journal, JournalError, LeastTime, ProcessRow, RunChange, RunQuery, SpendingBy, StepEntry,
};
use crate::spine::{Cursor, MAX_LINE_BYTES};

type Check = fn(&dyn Journal);

pub(crate) const SUITE: &[(&str, Check)] = &[
    ("a_run_comes_back_as_it_was_written", a_run_comes_back_as_it_was_written),
    ("the_first_creation_counts", the_first_creation_counts),
    ("a_run_without_its_parent_is_refused", a_run_without_its_parent_is_refused),
    ("children_and_lists_have_an_order", children_and_lists_have_an_order),
    ("a_task_counts_once_whatever_it_is_below", a_task_counts_once_whatever_it_is_below),
    (
        "what_is_listed_is_chosen_before_it_is_cut_off",
        what_is_listed_is_chosen_before_it_is_cut_off,
    ),
    ("a_page_begins_where_the_one_before_ended", a_page_begins_where_the_one_before_ended),
    ("sums_of_any_kind_add_up_to_the_ledger", sums_of_any_kind_add_up_to_the_ledger),
    (
        "sums_that_are_kept_are_those_made_of_the_ledger",
        sums_that_are_kept_are_those_made_of_the_ledger,
    ),
    ("bounces_are_told_with_what_they_keep", bounces_are_told_with_what_they_keep),
    ("a_run_is_found_by_either_end_of_its_id", a_run_is_found_by_either_end_of_its_id),
    ("a_change_touches_only_what_it_names", a_change_touches_only_what_it_names),
    ("a_step_keeps_its_first_intent", a_step_keeps_its_first_intent),
    ("an_old_attempt_is_fenced_off", an_old_attempt_is_fenced_off),
    ("a_result_is_written_once", a_result_is_written_once),
    ("a_refused_result_leaves_nothing_behind", a_refused_result_leaves_nothing_behind),
    ("an_amendment_belongs_to_the_newest_attempt", an_amendment_belongs_to_the_newest_attempt),
    ("a_session_is_booked_once", a_session_is_booked_once),
    ("a_process_is_open_until_it_ends", a_process_is_open_until_it_ends),
    ("the_last_value_in_the_cache_counts", the_last_value_in_the_cache_counts),
    ("events_wait_in_the_order_of_the_writes", events_wait_in_the_order_of_the_writes),
    ("a_payload_too_large_is_replaced_by_its_size", a_payload_too_large_is_replaced_by_its_size),
    ("a_flush_intent_lives_until_the_flush_ends", a_flush_intent_lives_until_the_flush_ends),
];

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_767_225_600_000 + millis)
}

pub(crate) fn run_id(number: u32) -> RunId {
    RunId::from_parts(1_767_225_600_000, u128::from(number))
}

pub(crate) fn event(number: u32) -> Event {
    Event {
        id: EventId::from_parts(1_767_225_600_000, u128::from(number)),
        ts: at(0),
        source: EventSource { kind: SourceKind::Check, name: "cargo test".into(), own: true },
        kind: "gate.finished".into(),
        session_key: None,
        run: Some(run_id(1)),
        trace: None,
        payload: json!({ "number": number }),
    }
}

/// A run in which every field has something to lose.
pub(crate) fn full_run(number: u32, parent: Option<u32>) -> Run {
    Run {
        id: run_id(number),
        parent: parent.map(run_id),
        trace: run_id(parent.unwrap_or(number)).into(),
        kind: RunKind::Session,
        name: "coder".into(),
        task: Some("make 'it' work; DROP TABLE run".into()),
        attempt: 2,
        depth: 1,
        role: Some("coder".into()),
        backend: Some("claude".into()),
        model: Some("large".into()),
        state: RunState::Parked,
        outcome: Some(Outcome::QuotaParked),
        park: Some(Park::Quota),
        mark: None,
        reason: Some("the quota resets at noon".into()),
        base_commit: CommitId::new("0123456789abcdef0123456789abcdef01234567").ok(),
        tree_hash: TreeId::new("89abcdef0123456789abcdef0123456789abcdef").ok(),
        started: at(i64::from(number)),
        ended: Some(at(9_000)),
        turns: 7,
        tokens: Usage {
            input_tokens: 1,
            output_tokens: 2,
            cache_read_tokens: 3,
            cache_write_tokens: 4,
        },
        cost: RunCost { cost_usd: Usd::from_nanos(1_234_567_891), cost_estimated: true },
        experiment: Some("a/b".into()),
        settings: json!({ "min_confidence": 0.1 + 0.2, "deep": [{ "n": u64::MAX }] }),
    }
}

pub(crate) fn key(text: &str) -> StepKey {
    StepKey::new(text).unwrap()
}

pub(crate) fn entry(result: serde_json::Value) -> StepEntry {
    StepEntry {
        result,
        runs: Vec::new(),
        new_runs: Vec::new(),
        ledger: Vec::new(),
        events: Vec::new(),
        now: at(50),
    }
}

pub(crate) fn bill(session: u32, root: u32) -> LedgerEntry {
    LedgerEntry {
        session: run_id(session),
        root: run_id(root),
        role: "coder".into(),
        backend: "claude".into(),
        model: None,
        turns: 3,
        usage: Usage { input_tokens: 10, ..Usage::default() },
        cost: Cost::estimated(Usd::from_nanos(5)),
        interrupted: true,
        duration_ms: Some(7),
        failure: Some(SessionFailure::FailedLimit),
        booked: at(i64::from(session)),
    }
}

fn with_root(journal: &dyn Journal) -> RunId {
    journal.create_run(&full_run(1, None), &[]).unwrap();
    run_id(1)
}

fn ids(runs: &[Run]) -> Vec<RunId> {
    runs.iter().map(|run| run.id).collect()
}

#[track_caller]
fn assert_fenced(result: Result<(), JournalError>, newest: u32) {
    match result {
        Err(JournalError::Fenced { newest: found, .. }) => assert_eq!(found, newest),
        other => panic!("not fenced: {other:?}"),
    }
}

fn a_run_comes_back_as_it_was_written(journal: &dyn Journal) {
    let full = full_run(1, None);
    let mut bare = full_run(2, Some(1));
    bare.state = RunState::Queued;
    (bare.task, bare.role, bare.backend, bare.model) = (None, None, None, None);
    (bare.outcome, bare.park, bare.mark, bare.reason) = (None, None, None, None);
    (bare.base_commit, bare.tree_hash, bare.ended, bare.experiment) = (None, None, None, None);
    bare.settings = serde_json::Value::Null;
    for run in [full, bare] {
        journal.create_run(&run, &[]).unwrap();
        assert_eq!(journal.run(run.id).unwrap(), Some(run));
    }
    assert_eq!(journal.run(run_id(3)).unwrap(), None);
}

fn the_first_creation_counts(journal: &dyn Journal) {
    let first = full_run(1, None);
    let second = Run { name: "another".into(), ..first.clone() };
    journal.create_run(&first, &[event(1)]).unwrap();
    journal.create_run(&second, &[event(2)]).unwrap();
    assert_eq!(journal.run(first.id).unwrap(), Some(first));
    assert_eq!(journal.pending_events().unwrap(), [event(1)]);
}

fn a_run_without_its_parent_is_refused(journal: &dyn Journal) {
    let orphan = full_run(2, Some(1));
    let refused = journal.create_run(&orphan, &[event(1)]);
    assert!(matches!(refused, Err(JournalError::NoSuchRun { run }) if run == run_id(1)));
    assert_eq!(journal.run(orphan.id).unwrap(), None);
    assert_eq!(journal.pending_events().unwrap(), []);
}

fn children_and_lists_have_an_order(journal: &dyn Journal) {
    journal.create_run(&full_run(1, None), &[]).unwrap();
    for number in [4, 2, 3] {
        journal.create_run(&full_run(number, Some(1)), &[]).unwrap();
    }
    let twin = Run { started: at(2), ..full_run(5, Some(1)) };
    let over = Run { mark: Some(RunMark::Cancelled), ..full_run(6, None) };
    let ended = Run { state: RunState::Ended, ..full_run(7, None) };
    for run in [&twin, &over, &ended] {
        journal.create_run(run, &[]).unwrap();
    }
    let listed = |roots_only, open_only, limit| {
        ids(&journal
            .runs(&RunQuery { roots_only, open_only, limit, ..RunQuery::default() })
            .unwrap())
    };
    assert_eq!(ids(&journal.children(run_id(1)).unwrap()), [2, 5, 3, 4].map(run_id));
    assert_eq!(journal.children(run_id(2)).unwrap(), []);
    assert_eq!(listed(false, false, None), [7, 6, 4, 3, 5, 2, 1].map(run_id));
    assert_eq!(listed(false, false, Some(2)), [7, 6].map(run_id));
    assert_eq!(listed(true, false, None), [7, 6, 1].map(run_id));
    assert_eq!(listed(true, true, None), [1].map(run_id));
    assert_eq!(listed(false, true, Some(1)), [4].map(run_id));
}

fn a_task_counts_once_whatever_it_is_below(journal: &dyn Journal) {
    let run = |number: u32, parent, kind| Run { kind, ..full_run(number, parent) };
    for (number, parent, kind) in [
        (1, None, RunKind::Loop),
        (2, Some(1), RunKind::Orchestrate),
        (3, Some(2), RunKind::Bounce),
        (4, Some(1), RunKind::Merge),
        (5, None, RunKind::Race),
        (6, Some(5), RunKind::Orchestrate),
        (7, None, RunKind::Orchestrate),
        (8, Some(7), RunKind::Session),
    ] {
        journal.create_run(&run(number, parent, kind), &[]).unwrap();
    }
    let tasks = RunQuery { roots_only: true, with_tasks: true, ..RunQuery::default() };
    let listed = |query: &RunQuery| ids(&journal.runs(query).unwrap());
    assert_eq!(listed(&tasks), [7, 5, 2, 1].map(run_id));
    let lean = RunQuery { without_settings: true, ..tasks.clone() };
    assert_eq!(listed(&lean), [7, 5, 2, 1].map(run_id));
    let kind = RunQuery { kind: Some(RunKind::Orchestrate), ..lean };
    assert_eq!(listed(&kind), [7, 2].map(run_id));
    let roots = RunQuery { with_tasks: false, without_settings: true, ..tasks };
    assert_eq!(listed(&roots), [7, 5, 1].map(run_id));
}

fn what_is_listed_is_chosen_before_it_is_cut_off(journal: &dyn Journal) {
    let run = |number: u32, kind, backend: &str, task: &str| Run {
        kind,
        backend: Some(backend.to_owned()),
        model: Some(format!("{backend}-large")),
        task: Some(task.to_owned()),
        ..full_run(number, None)
    };
    for (number, kind, backend, task) in [
        (1, RunKind::Orchestrate, "claude", "Mend the 100% case"),
        (2, RunKind::Orchestrate, "codex", "mend the parser"),
        (3, RunKind::Spawn, "claude", "explain it"),
        (4, RunKind::Orchestrate, "claude", "something else"),
    ] {
        journal.create_run(&run(number, kind, backend, task), &[]).unwrap();
    }
    journal.create_run(&full_run(9, Some(4)), &[]).unwrap();
    let booked = LedgerEntry { backend: "api".into(), model: Some("small".into()), ..bill(9, 4) };
    journal.book(&booked).unwrap();
    let roots = RunQuery { roots_only: true, ..RunQuery::default() };
    let listed = |query: RunQuery| ids(&journal.runs(&query).unwrap());
    let text = |text: &str| RunQuery { text: Some(text.to_owned()), ..roots.clone() };
    assert_eq!(listed(text("MEND")), [2, 1].map(run_id));
    assert_eq!(listed(text("0% c")), [1].map(run_id));
    assert_eq!(listed(text("_")), []);
    assert_eq!(listed(RunQuery { limit: Some(1), ..text("mend the 1") }), [1].map(run_id));
    let kind = RunQuery { kind: Some(RunKind::Spawn), ..roots.clone() };
    assert_eq!(listed(kind), [3].map(run_id));
    let since = RunQuery { since: Some(at(3)), ..roots.clone() };
    assert_eq!(listed(since), [4, 3].map(run_id));
    let agent = |name: &str| RunQuery { backend: Some(name.to_owned()), ..roots.clone() };
    assert_eq!(listed(agent("claude")), [4, 3, 1].map(run_id));
    assert_eq!(listed(agent("api")), [4].map(run_id));
    let model = |name: &str| RunQuery { model: Some(name.to_owned()), ..roots.clone() };
    assert_eq!(listed(model("codex-large")), [2].map(run_id));
    assert_eq!(listed(model("small")), [4].map(run_id));
}

fn a_page_begins_where_the_one_before_ended(journal: &dyn Journal) {
    for number in 1..=5 {
        let ended = Some(at(i64::from(number) * 1000));
        let cost = RunCost { cost_usd: Usd::from_nanos(number.into()), cost_estimated: false };
        let label = (number % 2 == 0).then(|| "even".to_owned());
        let run = Run { ended, cost, experiment: label, ..full_run(number, None) };
        journal.create_run(&run, &[]).unwrap();
    }
    journal.create_run(&full_run(9, Some(5)), &[]).unwrap();
    let booked = LedgerEntry { role: "tester".into(), ..bill(9, 2) };
    journal.book(&booked).unwrap();
    let roots = RunQuery { roots_only: true, ..RunQuery::default() };
    let listed = |query: RunQuery| ids(&journal.runs(&query).unwrap());
    let page = |before| RunQuery { before, limit: Some(2), ..roots.clone() };
    assert_eq!(listed(page(None)), [5, 4].map(run_id));
    assert_eq!(listed(page(Some(run_id(4)))), [3, 2].map(run_id));
    assert_eq!(listed(page(Some(run_id(2)))), [1].map(run_id));
    let experiment = RunQuery { experiment: Some("even".into()), ..roots.clone() };
    assert_eq!(listed(experiment), [4, 2].map(run_id));
    let role = RunQuery { role: Some("tester".into()), ..roots.clone() };
    assert_eq!(listed(role), [2].map(run_id));
    // What is booked counts also where the row does not say it yet.
    let dear = RunQuery { min_cost: Some(Usd::from_nanos(4)), ..roots.clone() };
    assert_eq!(listed(dear), [5, 4, 2].map(run_id));
    let least = LeastTime { least: std::time::Duration::from_millis(3_900), now: at(0) };
    let long = RunQuery { lasted: Some(least), ..roots.clone() };
    assert_eq!(listed(long), [5, 4].map(run_id));
    let lean = RunQuery { without_settings: true, limit: Some(1), ..roots };
    let full = journal.run(run_id(5)).unwrap().unwrap();
    assert_eq!(journal.runs(&lean).unwrap(), [Run { settings: json!(null), ..full }]);
}

fn sums_of_any_kind_add_up_to_the_ledger(journal: &dyn Journal) {
    const DAY: i64 = 86_400_000;
    for number in [1, 2] {
        let label = (number == 2).then(|| "b".to_owned());
        journal.create_run(&Run { experiment: label, ..full_run(number, None) }, &[]).unwrap();
    }
    for (session, root, role, model, day) in [
        (11, 1, "coder", Some("large"), 0),
        (12, 1, "verifier", None, 0),
        (13, 2, "coder", Some("small"), 1),
    ] {
        journal.create_run(&full_run(session, Some(root)), &[]).unwrap();
        let model = model.map(str::to_owned);
        let booked = at(day * DAY);
        let entry = LedgerEntry { role: role.into(), model, booked, ..bill(session, root) };
        journal.book(&entry).unwrap();
    }
    let sums = |query: &RunQuery, by| {
        let mut sums: Vec<(Option<String>, u64, i64)> = journal
            .spending(query, by)
            .unwrap()
            .into_iter()
            .map(|sum| (sum.of, sum.sessions, sum.cost.usd.as_nanos()))
            .collect();
        sums.sort();
        sums
    };
    let all = RunQuery::default();
    let word = |word: &str| Some(word.to_owned());
    assert_eq!(sums(&all, SpendingBy::Role), [(word("coder"), 2, 10), (word("verifier"), 1, 5)]);
    assert_eq!(
        sums(&all, SpendingBy::Model),
        [(None, 1, 5), (word("large"), 1, 5), (word("small"), 1, 5)]
    );
    let days = [(word("2026-01-01"), 2, 10), (word("2026-01-02"), 1, 5)];
    assert_eq!(sums(&all, SpendingBy::Day), days);
    assert_eq!(sums(&all, SpendingBy::Experiment), [(None, 2, 10), (word("b"), 1, 5)]);
    let runs = [(word(&run_id(1).to_string()), 2, 10), (word(&run_id(2).to_string()), 1, 5)];
    assert_eq!(sums(&all, SpendingBy::Run), runs);
    let labelled = RunQuery { experiment: word("b"), ..RunQuery::default() };
    assert_eq!(sums(&labelled, SpendingBy::Role), [(word("coder"), 1, 5)]);
    // Paid since then, whenever its run began.
    let since = RunQuery { since: Some(at(DAY)), ..RunQuery::default() };
    assert_eq!(sums(&since, SpendingBy::Role), [(word("coder"), 1, 5)]);
    for (query, runs) in [(&all, 2), (&labelled, 1), (&since, 1)] {
        assert_eq!(journal.paying_runs(query).unwrap(), runs, "{query:?}");
    }
    let named = journal.spending(&labelled, SpendingBy::Run).unwrap().remove(0);
    assert_eq!((named.label, named.runs, named.turns), (word("coder"), 1, 3));
    assert!(named.cost.estimated);
}

fn sums_that_are_kept_are_those_made_of_the_ledger(journal: &dyn Journal) {
    for number in 0..7 {
        let experiment =
            [None, Some(String::new()), Some("b".to_owned())][number as usize % 3].clone();
        journal.create_run(&Run { experiment, ..full_run(number, None) }, &[]).unwrap();
    }
    kept_sums_hold(journal);
    for number in 0..60_u32 {
        let (session, root) = (100 + number, number * number % 7);
        journal.create_run(&full_run(session, Some(root)), &[]).unwrap();
        let entry = LedgerEntry {
            role: ["coder", "verifier"][number as usize % 2].into(),
            model: [None, Some("m"), Some("n"), Some("")][number as usize % 4].map(str::to_owned),
            cost: Cost {
                usd: Usd::from_nanos(number.into()),
                estimated: number.is_multiple_of(11),
            },
            booked: at(i64::from(number) * 9_999_999),
            ..bill(session, root)
        };
        assert!(journal.book(&entry).unwrap());
        // It is booked once, and so is what is kept of it.
        assert!(!journal.book(&entry).unwrap());
    }
    kept_sums_hold(journal);
}

/// Asserts that a question about everything, which is answered by what is kept, has the answer that
/// the ledger gives where it is asked since some time.
#[track_caller]
pub(crate) fn kept_sums_hold(journal: &dyn Journal) {
    use SpendingBy::{Day, Experiment, Model, Role, Run};
    const DAY: i64 = 86_400_000;
    let sums = |since: Option<i64>, by| {
        let query = RunQuery { since: since.map(Timestamp::from_millis), ..RunQuery::default() };
        let mut sums = journal.spending(&query, by).unwrap();
        sums.sort_by(|a, b| a.of.cmp(&b.of));
        (sums, journal.paying_runs(&query).unwrap())
    };
    for by in [Run, Role, Model, Day, Experiment] {
        assert_eq!(sums(None, by), sums(Some(-1), by), "{by:?}");
    }
    // Nothing is booked in the first millisecond of a day.
    assert_eq!(sums(Some(3 * DAY), Day), sums(Some(3 * DAY + 1), Day));
}

fn bounces_are_told_with_what_they_keep(journal: &dyn Journal) {
    journal.create_run(&full_run(1, None), &[]).unwrap();
    let used = ContextUse::of(&["a".to_owned()], ["a".to_owned()]);
    for (number, attempt, settings) in [(2, 2, json!(used)), (3, 1, json!(null))] {
        let kind = RunKind::Bounce;
        let bounce = Run { kind, attempt, settings, ..full_run(number, Some(1)) };
        journal.create_run(&bounce, &[]).unwrap();
    }
    // One whose newest bounce has no task file yet, and one that has had none.
    journal.create_run(&full_run(4, None), &[]).unwrap();
    for (number, attempt, settings) in [(5, 1, json!(used)), (6, 2, json!(null))] {
        let kind = RunKind::Bounce;
        let bounce = Run { kind, attempt, settings, ..full_run(number, Some(4)) };
        journal.create_run(&bounce, &[]).unwrap();
    }
    journal.create_run(&full_run(7, None), &[]).unwrap();
    let told = |query: &RunQuery| -> Vec<_> {
        let rows = journal.figures(query).unwrap().into_iter();
        rows.map(|row| (row.id, row.bounces, row.context)).collect()
    };
    let all = RunQuery::default();
    let figures =
        [(run_id(7), 0, None), (run_id(4), 2, Some(used.clone())), (run_id(1), 2, Some(used))];
    assert_eq!(told(&all), figures);
    assert_eq!(told(&RunQuery { since: Some(at(2)), ..all.clone() }), figures[..2]);
    for row in journal.figures(&all).unwrap() {
        let run = journal.run(row.id).unwrap().unwrap();
        assert_eq!((row.standing, row.name, row.task), (run.standing(), run.name, run.task));
        assert_eq!((row.reason, row.started, row.ended), (run.reason, run.started, run.ended));
        assert_eq!((row.turns, row.cost), (run.turns, run.cost.into()));
        assert_eq!((row.experiment, row.parent), (run.experiment, run.parent));
    }
}

fn a_run_is_found_by_either_end_of_its_id(journal: &dyn Journal) {
    for number in [1, 2, 33] {
        journal.create_run(&full_run(number, None), &[]).unwrap();
    }
    let found = |typed: &str| ids(&journal.find_runs(typed).unwrap());
    let ids_with = |part: &str| -> Vec<RunId> {
        [1, 2, 33].map(run_id).into_iter().filter(|id| id.short().contains(part)).collect()
    };
    let whole = run_id(33).to_string();
    assert_eq!(found(&whole), [run_id(33)]);
    assert_eq!(found(&whole.to_lowercase()), [run_id(33)]);
    assert_eq!(found(&run_id(33).short()), [run_id(33)]);
    assert_eq!(found(&whole[..8]), [1, 2, 33].map(run_id));
    assert_eq!(found("02"), [run_id(2)]);
    assert_eq!(found(&run_id(33).short()[2..7]), ids_with(&run_id(33).short()[2..7]));
    for nothing in ["", "%", "_", "%2", "0_", "*", "' OR 1 --", "ü", &format!("0{whole}")] {
        assert_eq!(found(nothing), [], "{nothing}");
    }
}

fn a_change_touches_only_what_it_names(journal: &dyn Journal) {
    let mut run = full_run(1, None);
    journal.create_run(&run, &[]).unwrap();
    journal.update_run(run.id, &RunChange::default(), &[]).unwrap();
    assert_eq!(journal.run(run.id).unwrap().as_ref(), Some(&run));

    let unpark = RunChange {
        park: Some(None),
        state: Some(RunState::Running),
        turns: Some(8),
        ..RunChange::default()
    };
    journal.update_run(run.id, &unpark, &[event(1)]).unwrap();
    (run.park, run.state, run.turns) = (None, RunState::Running, 8);
    assert_eq!(journal.run(run.id).unwrap().as_ref(), Some(&run));
    assert_eq!(journal.pending_events().unwrap(), [event(1)]);

    run.state = RunState::Ended;
    run.outcome = Some(Outcome::NeedsHuman);
    run.park = Some(Park::Human);
    run.mark = Some(RunMark::RolledBack);
    run.reason = Some("a person said so".into());
    run.tree_hash = TreeId::new("f".repeat(40)).ok();
    run.base_commit = CommitId::new("e".repeat(64)).ok();
    run.ended = Some(at(1));
    run.tokens = Usage { output_tokens: 99, ..Usage::default() };
    run.cost = RunCost { cost_usd: Usd::from_nanos(1), cost_estimated: false };
    run.settings = json!({ "other": true });
    let everything = RunChange {
        state: Some(run.state),
        outcome: run.outcome,
        park: Some(run.park),
        mark: run.mark,
        reason: run.reason.clone(),
        tree_hash: run.tree_hash.clone(),
        base_commit: run.base_commit.clone(),
        ended: run.ended,
        turns: Some(run.turns),
        tokens: Some(run.tokens),
        cost: Some(run.cost),
        settings: Some(run.settings.clone()),
        if_open: false,
    };
    journal.update_run(run.id, &everything, &[]).unwrap();
    assert_eq!(journal.run(run.id).unwrap().as_ref(), Some(&run));

    // What is over stays over for a change that is meant for what is not.
    let cancels =
        RunChange { state: Some(RunState::Parked), if_open: true, ..RunChange::default() };
    journal.update_run(run.id, &cancels, &[]).unwrap();
    assert_eq!(journal.run(run.id).unwrap(), Some(run));
    let nobody = journal.update_run(run_id(9), &cancels, &[]);
    assert!(matches!(nobody, Err(JournalError::NoSuchRun { .. })));

    let nobody = journal.update_run(run_id(9), &everything, &[event(2)]);
    assert!(matches!(nobody, Err(JournalError::NoSuchRun { .. })));
    assert_eq!(journal.pending_events().unwrap(), [event(1)]);
}

fn a_step_keeps_its_first_intent(journal: &dyn Journal) {
    let run = with_root(journal);
    let begin = |intent| {
        let begun =
            journal.begin_step(run, &key("coder/1"), EffectClass::Paid, &intent, at(5)).unwrap();
        (begun.attempt, begun.intent, begun.result)
    };
    let first = json!({ "branch": "a", "share": 0.1 });
    assert_eq!(begin(first.clone()), (1, first.clone(), None));
    assert_eq!(begin(json!("other")), (2, first.clone(), None));
    journal.finish_step(run, &key("coder/1"), 2, &entry(json!(null))).unwrap();
    assert_eq!(begin(json!("third")), (2, first.clone(), Some(json!(null))));

    let step = journal.step(run, &key("coder/1")).unwrap().unwrap();
    assert_eq!((step.class, step.attempt, step.intent), (EffectClass::Paid, 2, first));
    assert_eq!((step.begun, step.finished), (at(5), Some(at(50))));
    assert_eq!(journal.step(run, &key("coder/2")).unwrap(), None);
    let nobody = journal.begin_step(run_id(9), &key("a"), EffectClass::Keyed, &json!(1), at(0));
    assert!(matches!(nobody, Err(JournalError::NoSuchRun { .. })));
}

fn an_old_attempt_is_fenced_off(journal: &dyn Journal) {
    let run = with_root(journal);
    let begin = |name: &str| {
        journal.begin_step(run, &key(name), EffectClass::Fenced, &json!({}), at(0)).unwrap().attempt
    };
    assert_eq!((begin("b"), begin("b"), begin("a")), (1, 2, 1));
    assert_fenced(journal.finish_step(run, &key("b"), 1, &entry(json!("late"))), 2);
    assert_fenced(journal.finish_step(run, &key("b"), 3, &entry(json!("early"))), 2);
    journal.finish_step(run, &key("b"), 2, &entry(json!("new"))).unwrap();
    assert_fenced(journal.finish_step(run, &key("b"), 2, &entry(json!("changed"))), 2);
    assert_fenced(journal.finish_step(run, &key("b"), 1, &entry(json!("new"))), 2);
    let never = journal.finish_step(run, &key("c"), 1, &entry(json!(1)));
    assert!(matches!(never, Err(JournalError::NoSuchStep { .. })));

    let steps = journal.steps(run).unwrap();
    let seen: Vec<_> = steps.iter().map(|step| (step.key.as_str(), &step.result)).collect();
    assert_eq!(seen, [("b", &Some(json!("new"))), ("a", &None)]);
}

fn a_result_is_written_once(journal: &dyn Journal) {
    let run = with_root(journal);
    journal.begin_step(run, &key("coder/1"), EffectClass::Paid, &json!({}), at(0)).unwrap();
    let turns = RunChange { turns: Some(40), ..RunChange::default() };
    let whole = StepEntry {
        runs: vec![(run, turns.clone()), (run_id(2), turns)],
        new_runs: vec![full_run(2, Some(1))],
        ledger: vec![bill(2, 1)],
        events: vec![event(1), event(2)],
        ..entry(json!({ "cost": 0.1 + 0.2 }))
    };
    for _ in 0..2 {
        journal.finish_step(run, &key("coder/1"), 1, &whole).unwrap();
    }
    assert_eq!(journal.run(run).unwrap().unwrap().turns, 40);
    assert_eq!(journal.run(run_id(2)).unwrap().unwrap().turns, 40);
    assert_eq!(journal.ledger(run).unwrap(), [bill(2, 1)]);
    assert_eq!(journal.pending_events().unwrap(), [event(1), event(2)]);

    journal.end_flush(&[event(1).id, event(2).id]).unwrap();
    journal.finish_step(run, &key("coder/1"), 1, &whole).unwrap();
    assert_eq!(journal.pending_events().unwrap(), []);
}

fn a_refused_result_leaves_nothing_behind(journal: &dyn Journal) {
    let run = with_root(journal);
    journal.begin_step(run, &key("a"), EffectClass::Keyed, &json!({}), at(0)).unwrap();
    let half = StepEntry {
        runs: vec![(run_id(9), RunChange::default())],
        new_runs: vec![full_run(2, Some(1))],
        ledger: vec![bill(2, 1)],
        events: vec![event(1)],
        ..entry(json!(1))
    };
    let refused = journal.finish_step(run, &key("a"), 1, &half);
    assert!(matches!(refused, Err(JournalError::NoSuchRun { run }) if run == run_id(9)));
    assert_eq!(journal.step(run, &key("a")).unwrap().unwrap().result, None);
    assert_eq!(journal.run(run_id(2)).unwrap(), None);
    assert_eq!(journal.ledger(run).unwrap(), []);
    assert_eq!(journal.pending_events().unwrap(), []);
}

fn an_amendment_belongs_to_the_newest_attempt(journal: &dyn Journal) {
    let run = with_root(journal);
    let begin =
        || journal.begin_step(run, &key("a"), EffectClass::Paid, &json!({}), at(0)).unwrap();
    let amend = |attempt, child, number| {
        let child = full_run(child, Some(1));
        journal.amend_step(run, &key("a"), attempt, &[child], &[event(number)])
    };
    begin();
    amend(1, 2, 1).unwrap();
    journal.end_flush(&[event(1).id]).unwrap();
    amend(1, 2, 1).unwrap();
    assert_eq!(journal.pending_events().unwrap(), []);
    begin();
    assert_fenced(amend(1, 3, 2), 2);
    amend(2, 3, 2).unwrap();
    journal.finish_step(run, &key("a"), 2, &entry(json!(1))).unwrap();
    assert_fenced(amend(2, 4, 3), 2);
    assert_eq!(ids(&journal.children(run).unwrap()), [2, 3].map(run_id));
    assert_eq!(journal.pending_events().unwrap(), [event(2)]);
}

fn a_session_is_booked_once(journal: &dyn Journal) {
    let root = with_root(journal);
    for child in [2, 3] {
        journal.create_run(&full_run(child, Some(1)), &[]).unwrap();
    }
    assert!(journal.book(&bill(3, 1)).unwrap());
    assert!(journal.book(&bill(2, 1)).unwrap());
    assert!(!journal.book(&LedgerEntry { turns: 99, ..bill(2, 1) }).unwrap());
    assert_eq!(journal.ledger(root).unwrap(), [bill(2, 1), bill(3, 1)]);
    assert_eq!(journal.ledger(run_id(2)).unwrap(), []);
    assert!(matches!(journal.book(&bill(9, 1)), Err(JournalError::NoSuchRun { .. })));
}

fn a_process_is_open_until_it_ends(journal: &dyn Journal) {
    let root = with_root(journal);
    let token = |letter: &str| SessionToken::new(letter.repeat(16)).unwrap();
    let row = |letter, started| ProcessRow {
        token: token(letter),
        root,
        session: root,
        pid: 4711,
        start_ticks: 123_456_789,
        boot_id: "boot".into(),
        started: at(started),
    };
    for row in [row("b", 2), row("a", 1)] {
        journal.process_started(&row).unwrap();
        journal.process_started(&row).unwrap();
    }
    assert_eq!(journal.open_processes(root).unwrap(), [row("a", 1), row("b", 2)]);
    journal.process_ended(&token("a"), at(3)).unwrap();
    journal.process_ended(&token("a"), at(4)).unwrap();
    journal.process_ended(&token("z"), at(4)).unwrap();
    assert_eq!(journal.open_processes(root).unwrap(), [row("b", 2)]);
    assert_eq!(journal.open_processes(run_id(9)).unwrap(), []);
    assert_eq!(journal.unended_processes().unwrap(), [row("b", 2)]);
}

fn the_last_value_in_the_cache_counts(journal: &dyn Journal) {
    assert_eq!(journal.cached("baseline", "tree").unwrap(), None);
    for value in [json!({ "failed": ["a"] }), json!(null)] {
        journal.cache("baseline", "tree", &value, at(0)).unwrap();
        assert_eq!(journal.cached("baseline", "tree").unwrap(), Some(value));
    }
    assert_eq!(journal.cached("other", "tree").unwrap(), None);
}

fn events_wait_in_the_order_of_the_writes(journal: &dyn Journal) {
    let run = with_root(journal);
    let change = RunChange::default();
    journal.update_run(run, &change, &[event(9), event(3)]).unwrap();
    journal.update_run(run, &change, &[event(5), event(3)]).unwrap();
    assert_eq!(journal.pending_events().unwrap(), [event(9), event(3), event(5)]);
    journal.end_flush(&[event(3).id, event(77).id]).unwrap();
    assert_eq!(journal.pending_events().unwrap(), [event(9), event(5)]);
}

fn a_payload_too_large_is_replaced_by_its_size(journal: &dyn Journal) {
    let run = with_root(journal);
    let text = "x".repeat(MAX_LINE_BYTES);
    let large = Event { payload: json!(text), ..event(1) };
    journal.update_run(run, &RunChange::default(), &[large]).unwrap();
    let kept = Event { payload: json!({ "omitted_bytes": MAX_LINE_BYTES + 2 }), ..event(1) };
    assert_eq!(journal.pending_events().unwrap(), [kept]);

    let hopeless = Event { kind: text, ..event(2) };
    let refused = journal.update_run(run, &RunChange::default(), &[hopeless]);
    assert!(matches!(refused, Err(JournalError::EventTooLarge { event: id }) if id == event(2).id));
}

fn a_flush_intent_lives_until_the_flush_ends(journal: &dyn Journal) {
    let here = Cursor { partition: "2026-01-01".into(), offset: 7 };
    assert_eq!(journal.begin_flush(&here).unwrap(), []);
    assert_eq!(journal.flush_intent().unwrap(), None);
    journal.create_run(&full_run(1, None), &[event(2), event(1)]).unwrap();
    let waiting: Vec<_> =
        journal.begin_flush(&here).unwrap().into_iter().map(|event| event.id).collect();
    assert_eq!(waiting, [event(2).id, event(1).id]);
    assert_eq!(journal.flush_intent().unwrap(), Some(here));
    journal.end_flush(&waiting).unwrap();
    assert_eq!(journal.flush_intent().unwrap(), None);
    assert_eq!(journal.pending_events().unwrap(), []);
}
