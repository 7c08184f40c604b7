//! Scans of real event files.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use spore_memory::decision::{Decision, Enough, decide};
use spore_memory::evidence::{RootCause, Trajectory};
use spore_memory::fragment::Fragment;
use spore_memory::known::KnownFragments;
use spore_memory::ledger::Ledger;
use spore_memory::lines::{LineHash, LineMap, LinePlace, ToldLine};
use spore_memory::reading::matcher::Relation;
use spore_memory::reading::recalled::Recalled;
use spore_memory::reading::turns::Turns;
use spore_memory::rules::ToldByRun;
use spore_memory::scan::{PassError, ScanTask, Scanned, scan};
use spore_model::{Lesson, LessonRecord, NodeId, Timestamp};
use spore_store::spine::{Cursor, Spine};
use tempfile::TempDir;

const FILE: &str = "# Memory\n\n- Ask [[entity-ada]] first\n- SQL stays in `crates/store/`\n";
const DAY: &str = "2026-01-01";

struct World {
    dir: TempDir,
    map: LineMap,
    known: Vec<String>,
    in_ledger: HashSet<LineHash>,
    coverage: bool,
    most: usize,
    /// What every run was told.
    told: ToldByRun,
}

impl World {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            map: LineMap::read(FILE),
            known: Vec::new(),
            in_ledger: HashSet::new(),
            coverage: false,
            most: 100,
            told: ToldByRun::default(),
        }
    }

    fn raw(&self, day: &str, bytes: &[u8]) {
        let path = self.dir.path().join(format!("{day}.jsonl"));
        fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap()
            .write_all(bytes)
            .unwrap();
    }

    fn event(&self, number: u32, kind: &Value, what: &str, payload: &Value) {
        let event = event(number, kind, what, payload);
        self.raw(DAY, format!("{event}\n").as_bytes());
    }

    fn scan(&self, from: &Cursor) -> Scanned {
        self.scan_until(from, &|| false).unwrap()
    }

    fn scan_until(&self, from: &Cursor, stop: &dyn Fn() -> bool) -> Result<Scanned, PassError> {
        self.scan_told(from, &Recalled::default(), stop)
    }

    fn scan_told(
        &self,
        from: &Cursor,
        recalled: &Recalled,
        stop: &dyn Fn() -> bool,
    ) -> Result<Scanned, PassError> {
        let known = KnownFragments::of(self.known.clone());
        let task = ScanTask {
            map: &self.map,
            known: &known,
            in_ledger: &self.in_ledger,
            named: &[],
            coverage: self.coverage,
            most: self.most,
            pending_per_line: 50,
            carried: &|_| self.told.clone(),
            turns: &Turns::default(),
            recalled,
            stop,
        };
        scan(&mut Spine::new(self.dir.path()).read_from(from), &task)
    }

    /// As if the fragments had been written.
    fn keep(&mut self, scanned: &Scanned) {
        self.known.extend(scanned.fragments.iter().map(Fragment::name));
    }
}

fn event(number: u32, kind: &Value, what: &str, payload: &Value) -> Value {
    json!({
        "id": format!("E{number:04}"),
        "ts": format!("2026-01-01T00:00:{:02}.000Z", number % 60),
        "source": { "kind": kind, "name": "test" },
        "type": what,
        "session_key": "s",
        "payload": payload,
    })
}

fn about(text: &str, activation: &str) -> Value {
    json!({ "line": LineHash::of(text), "activation": activation })
}

fn names(scanned: &Scanned) -> Vec<String> {
    scanned.fragments.iter().map(Fragment::name).collect()
}

const ADA: &str = "Ask [[entity-ada]] first";
const SQL: &str = "SQL stays in `crates/store/`";

#[test]
fn a_rejected_a_missing_and_a_numeric_kind_leave_no_trace_of_what_they_say() {
    let world = World::new();
    let says = about(ADA, "missed");
    for kind in ["cadence", "meta", "system", "runner", "route", "gateway"] {
        world.event(1, &json!(kind), "memory.feedback", &says);
        world.event(2, &json!(kind), "memory.instruction", &json!("always squash"));
        world.event(3, &json!(kind), "chat.message", &json!("see [[entity-ada]]"));
    }
    for kind in [json!(7), json!(null), json!(true), json!([]), json!({}), json!("")] {
        world.event(4, &kind, "memory.feedback", &says);
    }
    world.raw(
        DAY,
        format!("{}\n", json!({ "id": "E5", "type": "memory.feedback", "payload": says }))
            .as_bytes(),
    );
    let scanned = world.scan(&Cursor::default());
    assert_eq!((scanned.fragments.len(), scanned.pending.len(), scanned.flawed), (0, 0, 0));
    assert!(scanned.accepted.is_empty());
    let rejected: Vec<String> = scanned.rejected.iter().map(|(k, n)| format!("{k} {n}")).collect();
    assert_eq!(rejected, ["cadence 3", "gateway 3", "meta 3", "route 3", "runner 3", "system 3"]);
    assert_eq!((scanned.events, scanned.unscannable), (25, 7));
    assert_eq!(scanned.last.unwrap().id, "E5");
}

#[test]
fn every_external_kind_is_heard() {
    let world = World::new();
    let kinds = ["human", "git", "ci", "channel", "check", "verifier", "feishu"];
    for (number, kind) in (1..).zip(kinds) {
        world.event(number, &json!(kind), "memory.feedback", &about(ADA, "activated"));
    }
    let scanned = world.scan(&Cursor::default());
    let found: Vec<&str> = scanned.fragments.iter().map(|f| f.kind.as_str()).collect();
    assert_eq!(found, kinds);
}

#[test]
fn scanning_twice_finds_nothing_new() {
    let mut world = World::new();
    world.coverage = true;
    world.event(1, &json!("human"), "memory.feedback", &about(ADA, "missed"));
    let first = world.scan(&Cursor::default());
    assert_eq!(first.fragments.len(), 2, "one piece of evidence and one line that waits");
    world.keep(&first);
    let second = world.scan(&first.to);
    assert_eq!((second.events, names(&second)), (0, vec![]));
    // And without the cursor.
    let again = world.scan(&Cursor::default());
    assert_eq!((again.events, names(&again), again.repeated), (1, vec![], 1));
}

#[test]
fn a_line_that_moved_is_still_the_one_the_evidence_is_about() {
    let mut world = World::new();
    world.event(1, &json!("human"), "memory.feedback", &about(SQL, "missed"));
    let first = world.scan(&Cursor::default());
    world.keep(&first);
    world.map = LineMap::read(&format!("* {SQL}\n* something new\n* {ADA}\n"));
    assert_eq!(names(&world.scan(&Cursor::default())), [] as [&str; 0]);
    world.event(2, &json!("human"), "memory.feedback", &about(SQL, "missed"));
    let second = world.scan(&first.to);
    let line = second.fragments[0].line.clone().unwrap();
    assert_eq!((line.place, line.hash), (LinePlace::File(1), LineHash::of(SQL)));
    let known = KnownFragments::of(world.known.iter().cloned().chain(names(&second)));
    assert_eq!(known.about(&LineHash::of(SQL)), 2);
}

#[test]
fn torn_and_garbage_lines_are_passed_over_and_told() {
    let world = World::new();
    world.raw(DAY, b"not json\n\n{\"id\": 1\n");
    world.event(1, &json!("human"), "memory.feedback", &about(ADA, "missed"));
    world.raw(
        DAY,
        b"[\"E9\", \"\", {\"kind\": \"human\"}]\n\xff\xfe\n{\"source\": {\"kind\": \"human\"}, \"payload\": \"no id\"}\n",
    );
    world.raw(DAY, b"{\"id\": \"torn");
    let open = world.scan(&Cursor::default());
    assert_eq!((open.fragments.len(), open.flawed), (1, 5), "{:?}", open.flaws);
    world.raw("2026-01-02", b"");
    let rest = world.scan(&open.to);
    let told: Vec<&str> = rest.flaws.iter().map(|flaw| flaw.what.as_str()).collect();
    assert_eq!(told, ["the line was never finished"]);
    assert_eq!(rest.to.partition, "2026-01-02");
}

#[test]
fn what_no_rule_decides_is_left_to_a_judge() {
    let world = World::new();
    world.event(1, &json!("human"), "chat.message", &json!("what does Ada say?"));
    world.event(2, &json!("ci"), "build.failed", &json!({ "files": ["crates/store/x.rs"] }));
    world.event(3, &json!("human"), "chat.message", &json!("I like tabs"));
    world.event(4, &json!("ci"), "build.passed", &json!({}));
    world.event(
        5,
        &json!("human"),
        "memory.feedback",
        &json!({ "line": "L3", "activation": "missed" }),
    );
    let scanned = world.scan(&Cursor::default());
    assert_eq!(names(&scanned), [] as [&str; 0]);
    let open: Vec<String> = scanned
        .pending
        .touches()
        .map(|touch| format!("{} {}", touch.event, touch.relation.map_or("-", |r| r.as_str())))
        .collect();
    let mut expected = vec!["E0003 -", "E0005 -", "E0001 slug", "E0002 path"];
    expected.sort_unstable();
    let mut open = open;
    open.sort_unstable();
    assert_eq!(open, expected);
}

#[test]
fn a_line_that_nothing_touched_is_said_to_wait_once() {
    let mut world = World::new();
    world.in_ledger.insert(LineHash::of(ADA));
    world.event(1, &json!("human"), "chat.message", &json!("good morning"));
    let first = world.scan(&Cursor::default());
    let waiting: Vec<LineHash> =
        first.fragments.iter().filter_map(|f| f.line.as_ref()).map(|l| l.hash.clone()).collect();
    assert_eq!(waiting, [LineHash::of(ADA)], "the other line has no place in the ledger");
    world.keep(&first);
    world.event(2, &json!("human"), "chat.message", &json!("good evening"));
    let second = world.scan(&first.to);
    assert_eq!(names(&second), [] as [&str; 0]);
    // Something happened to it since.
    world.event(3, &json!("human"), "memory.feedback", &about(ADA, "activated"));
    let third = world.scan(&second.to);
    world.keep(&third);
    world.event(4, &json!("human"), "chat.message", &json!("good night"));
    let fourth = world.scan(&third.to);
    assert_eq!((third.fragments.len(), fourth.fragments.len()), (1, 1));
}

#[test]
fn a_window_without_external_events_tests_no_line() {
    let mut world = World::new();
    world.coverage = true;
    world.event(1, &json!("runner"), "run.started", &json!({}));
    assert_eq!(names(&world.scan(&Cursor::default())), [] as [&str; 0]);
}

#[test]
fn a_pass_that_has_found_enough_goes_on_the_next_time() {
    let mut world = World::new();
    world.most = 2;
    for number in 1..=5 {
        world.event(number, &json!("human"), "memory.feedback", &about(ADA, "missed"));
    }
    let mut cursor = Cursor::default();
    let mut found = Vec::new();
    for full in [true, true, false] {
        let scanned = world.scan(&cursor);
        assert_eq!(scanned.full, full);
        found.extend(names(&scanned));
        cursor = scanned.to;
    }
    assert_eq!(found.len(), 5);
}

#[test]
fn a_writer_that_retried_counts_once() {
    let world = World::new();
    for _ in 0..3 {
        world.event(1, &json!("human"), "chat.message", &json!("[[entity-ada]]"));
    }
    let scanned = world.scan(&Cursor::default());
    assert_eq!((scanned.accepted["human"], scanned.pending.len()), (1, 1));
}

#[test]
fn an_interrupted_scan_changes_nothing() {
    let world = World::new();
    world.event(1, &json!("human"), "chat.message", &json!("x"));
    let stopped = world.scan_until(&Cursor::default(), &|| true);
    assert!(matches!(stopped, Err(PassError::Interrupted)));
}

#[test]
fn a_spine_that_cannot_be_read_is_an_error_and_no_empty_scan() {
    let world = World::new();
    let place: &Path = &world.dir.path().join(format!("{DAY}.jsonl"));
    fs::create_dir(place).unwrap();
    let read = world.scan_until(&Cursor::default(), &|| false);
    assert!(matches!(read, Err(PassError::Unreadable(_))));
}

/// A lesson about keys of a cache.
fn lesson() -> Lesson {
    Lesson {
        id: NodeId::from_parts(1_767_225_600_000, 77),
        title: "Keys".into(),
        pattern: "A path became a key of `PathCache` as it was typed".into(),
        fix: "Call `normalise` on it before".into(),
        scope: vec!["src/cache".into()],
        evidence: String::new(),
        run: None,
        created: Timestamp::from_millis(1_767_225_600_000),
        record: LessonRecord::default(),
    }
}

/// A run about what the lesson is about, which does what it asks for, and its commit; then a
/// person who finds fault with the same.
fn run_and_correction() -> World {
    let mut world = World::new();
    world.map = LineMap::read(FILE).with_lessons([&lesson()]);
    let of_run = |number: u32, kind: &str, what: &str, payload: Value| {
        let mut event = event(number, &json!(kind), what, &payload);
        event["run"] = json!("RUN");
        event["source"]["own"] = json!(true);
        world.raw(DAY, format!("{event}\n").as_bytes());
    };
    of_run(1, "runner", "run.started", json!({ "task": "PathCache misses a path" }));
    let tools = [json!({ "name": "run", "command": "normalise it" })];
    let tools = json!({ "role": "coder", "tools": tools, "of": "RUN" });
    of_run(2, "runner", "tools.used", tools);
    of_run(3, "git", "commit.created", json!({ "commit": "abc" }));
    let words = json!({ "text": "That's wrong, PathCache is empty now" });
    world.event(4, &json!("human"), "message", &words);
    world
}

#[test]
fn a_lesson_is_tested_by_the_sessions_that_were_told_it() {
    let mut world = run_and_correction();
    let hash = ToldLine::of_lesson(&lesson()).hash;
    world.told.carried = vec![hash];
    let seen: Vec<(Trajectory, Option<LinePlace>)> = world
        .scan(&Cursor::default())
        .fragments
        .into_iter()
        .map(|fragment| (fragment.trajectory, fragment.line.map(|line| line.place)))
        .collect();
    let place = Some(LinePlace::Lesson(lesson().id));
    assert_eq!(seen, [(Trajectory::Strengthening, place.clone()), (Trajectory::Weakening, place)]);
}

#[test]
fn a_session_that_was_not_told_a_lesson_says_nothing_about_it() {
    for carried in [Vec::new(), vec![LineHash::of(SQL)]] {
        let mut world = run_and_correction();
        world.told.carried = carried;
        world.coverage = true;
        let scanned = world.scan(&Cursor::default());
        let hash = ToldLine::of_lesson(&lesson()).hash;
        let about =
            |fragment: &&Fragment| fragment.line.as_ref().is_some_and(|line| line.hash == hash);
        assert_eq!(scanned.fragments.iter().filter(about).count(), 0);
        assert_eq!(scanned.pending.of_line(&hash).count(), 0);
        // What the person said is news all the same.
        let new = |fragment: &&Fragment| fragment.trajectory == Trajectory::NewSignal;
        assert_eq!(scanned.fragments.iter().filter(new).count(), 1);
    }
}

const STOP: &str = "When the cache is stale, run `make sweep`";

/// An event of a run in the tree `s`, as Spore itself writes it.
fn own(number: u32, kind: &str, what: &str, run: &str, payload: &Value) -> Value {
    let mut event = event(number, &json!(kind), what, payload);
    event["run"] = json!(run);
    event["source"]["own"] = json!(true);
    event
}

/// A world with one line about a cache, and these events.
fn swept(events: &[Value]) -> World {
    let mut world = World::new();
    world.map = LineMap::read(&format!("- {STOP}\n- SQL stays in `crates/store/`\n"));
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    world.raw(DAY, lines.as_bytes());
    world
}

fn trajectories(scanned: &Scanned) -> Vec<Trajectory> {
    scanned.fragments.iter().map(|fragment| fragment.trajectory).collect()
}

fn asked(number: u32, run: &str) -> Value {
    own(number, "runner", "run.started", run, &json!({ "task": "The cache is stale" }))
}

fn did(number: u32, run: &str) -> Value {
    let tools = json!({ "role": "coder", "of": run, "tools": [{ "command": "make sweep" }] });
    own(number, "runner", "tools.used", "SESSION", &tools)
}

fn stands(number: u32, run: &str) -> Value {
    own(number, "git", "commit.created", run, &json!({ "commit": "abc" }))
}

#[test]
fn what_one_run_of_a_tree_did_is_no_credit_for_the_task_of_another() {
    let helped = swept(&[asked(1, "A"), did(2, "A"), stands(3, "A")]);
    assert_eq!(trajectories(&helped.scan(&Cursor::default())), [Trajectory::Strengthening]);
    for events in [
        [asked(1, "A"), did(2, "B"), stands(3, "A")],
        [asked(1, "A"), did(2, "B"), stands(3, "B")],
        [asked(1, "A"), did(2, "A"), stands(3, "B")],
        [asked(1, "A"), stands(2, "A"), did(3, "A")],
    ] {
        let mut events = events.to_vec();
        events.push(stands(4, "B"));
        assert_eq!(trajectories(&swept(&events).scan(&Cursor::default())), [], "{events:?}");
    }
}

#[test]
fn what_is_only_spoken_of_in_a_command_or_comes_too_late_has_not_helped() {
    let line = "Run `make lint` before committing";
    let helped = |commands: &[&str], then: &str| {
        let said = |number, text: &str| event(number, &json!("human"), "message", &json!(text));
        let used = |(at, command): (usize, &&str)| {
            let payload = json!({ "command": command });
            event(u32::try_from(at).unwrap() + 2, &json!("runner"), "agent.tool_use", &payload)
        };
        let mut events = vec![said(1, "fix the parser, then go on with committing")];
        events.extend(commands.iter().enumerate().map(used));
        events.push(said(50, then));
        let mut world = swept(&events);
        world.map = LineMap::read(&format!("- {line}\n"));
        trajectories(&world.scan(&Cursor::default())) == [Trajectory::Strengthening]
    };
    let thanks = "thank you";
    for commands in [
        &["make lint && git commit -m done"][..],
        &["make lint", "git commit -m done"],
        &["make lint", "git commit -m done", "make lint"],
    ] {
        assert!(helped(commands, thanks), "{commands:?}");
    }
    for commands in [
        &["git commit -m \"skip make lint for now\""][..],
        &["# do not run make lint; git commit"],
        &["grep -rn \"make lint\" Makefile", "git commit -m done"],
        &["echo make lint is stupid"],
        &["git commit -m done", "make lint"],
        &["git commit -m done && make lint"],
    ] {
        assert!(!helped(commands, thanks), "{commands:?}");
    }
    for doubt in ["I am not sure that this was needed at all", "do we really need make lint?"] {
        assert!(!helped(&["make lint", "git commit -m done"], doubt), "{doubt}");
    }
}

#[test]
fn what_a_session_appends_is_no_trace_of_it() {
    let as_appended = |mut event: Value, own: Value| {
        event["source"]["own"] = own;
        event
    };
    for own in [Value::Null, json!(false), json!("true"), json!(1)] {
        let forged = as_appended(did(2, "A"), own.clone());
        let task = as_appended(asked(1, "A"), own);
        for events in
            [[asked(1, "A"), forged.clone(), stands(3, "A")], [task, did(2, "A"), stands(3, "A")]]
        {
            assert_eq!(trajectories(&swept(&events).scan(&Cursor::default())), [], "{events:?}");
        }
    }
    // What another program calls its tools counts where no run of Spore stands behind it.
    let said = |number, text: &str| event(number, &json!("human"), "message", &json!(text));
    let foreign = |run: Value| {
        let payload = json!({ "command": "make sweep" });
        let mut event = event(2, &json!("runner"), "agent.tool_use", &payload);
        event["run"] = run;
        event
    };
    let turn = |run| [said(1, "the cache is stale"), foreign(run), said(3, "thank you")];
    let helped = swept(&turn(Value::Null)).scan(&Cursor::default());
    assert_eq!(trajectories(&helped), [Trajectory::Strengthening]);
    assert_eq!(trajectories(&swept(&turn(json!("A"))).scan(&Cursor::default())), []);
}

#[test]
fn a_correction_of_a_session_that_worked_on_a_lines_path_touches_the_line() {
    let tools = |path: &str| json!({ "of": "A", "tools": [{ "tool": "edit", "path": path }] });
    let worked = |path| own(1, "runner", "tools.used", "SESSION", &tools(path));
    let said = |number, text: &str| event(number, &json!("human"), "message", &json!(text));
    let wrong = "That's wrong, redo it";
    let scanned = swept(&[worked("crates/store/src/lib.rs"), said(2, wrong), said(3, wrong)])
        .scan(&Cursor::default());
    assert_eq!(trajectories(&scanned), [], "{:?}", scanned.fragments);
    let touches: Vec<_> = scanned.pending.of_line(&LineHash::of(SQL)).collect();
    assert_eq!(touches.len(), 2, "{touches:?}");
    assert_eq!(touches[0].relation.map(Relation::as_str), Some("used"));
    // Of another path, and of what was done before a person went on, it is not.
    for events in [
        vec![worked("src/lib.rs"), said(2, wrong)],
        vec![worked("crates/store/src/lib.rs"), said(2, "and now the docs"), said(3, wrong)],
    ] {
        let scanned = swept(&events).scan(&Cursor::default());
        assert_eq!(trajectories(&scanned), [Trajectory::NewSignal], "{events:?}");
    }
}

#[test]
fn a_line_that_was_withheld_from_a_run_is_neither_helped_nor_harmed_by_it() {
    let wrong = json!("That's wrong, the cache is stale still");
    let correction = own(4, "human", "message", "A", &wrong);
    let events = [asked(1, "A"), did(2, "A"), stands(3, "A"), correction];
    let about = |told: ToldByRun| {
        let mut world = swept(&events);
        world.told = told;
        let scanned = world.scan(&Cursor::default());
        (trajectories(&scanned), scanned.pending.of_line(&LineHash::of(STOP)).count())
    };
    let (line, other) = (vec![LineHash::of(STOP)], vec![LineHash::of(SQL)]);
    let both = (vec![Trajectory::Strengthening, Trajectory::Weakening], 0);
    assert_eq!(about(ToldByRun::default()), both);
    assert_eq!(about(ToldByRun { carried: line.clone(), withheld: Vec::new() }), both);
    for carried in [Vec::new(), other.clone()] {
        assert_eq!(about(ToldByRun { carried, withheld: line.clone() }), (Vec::new(), 0));
    }
    // Whether a run missed a line that did not fit into its task file is for a judge.
    assert_eq!(about(ToldByRun { carried: other, withheld: Vec::new() }), (Vec::new(), 1));
}

/// What a person says of a run that did what the line asks for, twice: the cause that is told, and
/// what is to be done with the line.
fn said_of_a_run_that_followed(text: &str) -> (Vec<Option<RootCause>>, Decision) {
    let said = |number| own(number, "human", "message", "A", &json!(text));
    let scanned =
        swept(&[asked(1, "A"), did(2, "A"), said(3), asked(4, "A"), did(5, "A"), said(6)])
            .scan(&Cursor::default());
    let mut ledger = Ledger::default();
    for fragment in &scanned.fragments {
        let _ = ledger.fold(fragment);
    }
    let decision = decide(ledger.entry(&LineHash::of(STOP)), Enough { wrong: 2 });
    (scanned.fragments.iter().map(|fragment| fragment.root_cause).collect(), decision)
}

#[test]
fn a_line_is_not_wrong_because_people_miss_what_it_asks_for() {
    for text in [
        "You forgot to run make sweep after the last edit",
        "You didn't run `make sweep` after the last edit",
        "You should not have committed before running make sweep",
        "That's wrong, run make sweep for every package",
        "Revert that: the line you added to parser.rs is wrong, `make sweep` complains about it",
        "You forgot `make sweep`. And memory use is no longer a problem",
        "You forgot `make sweep`. The eslint rule no-shadow is obsolete",
        "You shouldn't have run `make sweep` with JOBS=64",
        "You shouldn't have run `make sweep` twice, once is enough",
    ] {
        let said = said_of_a_run_that_followed(text);
        assert_eq!(said, (vec![None, None], Decision::Judge), "{text}");
    }
    let wrong = Some(RootCause::DirectionWrong);
    let said = said_of_a_run_that_followed("You should not have run `make sweep` at all");
    assert_eq!(said, (vec![wrong, wrong], Decision::Remove));
}

#[test]
fn a_correction_that_quotes_the_line_is_heard_and_an_echo_is_not() {
    let undo = "Undo it with `make undo` when a migration fails half-way";
    let heard = |text: &str| {
        let mut recalled = Recalled::default();
        recalled.add_line(STOP);
        recalled.add_line(undo);
        let mut world = swept(&[event(1, &json!("human"), "message", &json!(text))]);
        world.map = LineMap::read(&format!("- {STOP}\n- {undo}\n"));
        let scanned = world.scan_told(&Cursor::default(), &recalled, &|| false).unwrap();
        (trajectories(&scanned), scanned.recalled, scanned.pending.len())
    };
    for text in [
        format!("You forgot: {STOP}"),
        format!("You ignored this again: \"{STOP}\"!"),
        format!("> {STOP}\n\nYou didn't follow this."),
    ] {
        assert_eq!(heard(&text), (vec![Trajectory::Weakening], 0, 0), "{text}");
    }
    for text in [
        STOP.to_owned(),
        undo.to_owned(),
        format!("As memory says: {undo}"),
        format!("From now on: {STOP}"),
        format!("I prefer this: {undo}"),
    ] {
        assert_eq!(heard(&text), (Vec::new(), 1, 0), "{text}");
    }
}

#[test]
fn a_line_that_the_task_names_is_left_open_whatever_else_is_touched() {
    let world = swept(&[
        event(1, &json!("human"), "message", &json!("hm, crates/store/ again")),
        event(2, &json!("human"), "message", &json!("hm")),
        event(3, &json!("human"), "message", &json!("the cache is stale")),
        event(4, &json!("human"), "memory.feedback", &about(SQL, "missed")),
        event(5, &json!("ci"), "build.failed", &json!("crates/store/")),
    ]);
    let (known, turns, recalled) =
        (KnownFragments::default(), Turns::default(), Recalled::default());
    let task = ScanTask {
        map: &world.map,
        known: &known,
        in_ledger: &HashSet::new(),
        named: &[LineHash::of(STOP)],
        coverage: false,
        most: 99,
        pending_per_line: 50,
        carried: &|_| ToldByRun::default(),
        turns: &turns,
        recalled: &recalled,
        stop: &|| false,
    };
    let scanned =
        scan(&mut Spine::new(world.dir.path()).read_from(&Cursor::default()), &task).unwrap();
    let open: Vec<String> = scanned
        .pending
        .of_line(&LineHash::of(STOP))
        .map(|touch| format!("{} {}", touch.event, touch.relation.map_or("-", Relation::as_str)))
        .collect();
    assert_eq!(open, ["E0001 dispatch", "E0002 dispatch", "E0003 cue"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However often a scan stops and goes on, and whatever lies between the events.
    #[test]
    fn scanning_in_pieces_finds_what_scanning_at_once_does(
        deeds in prop::collection::vec((0_u32..8, 0_usize..5, any::<bool>()), 1..24)
    ) {
        let mut world = World::new();
        let mut cursor = Cursor::default();
        let (mut pieces, mut heard) = (Vec::new(), 0);
        for (number, kind, pause) in &deeds {
            let kind_word = ["human", "runner", "git", "channel", "meta"][*kind];
            let what = ["memory.feedback", "chat.message", "memory.preference"][*number as usize % 3];
            let payload = match number % 3 {
                0 => about(SQL, "activated"),
                1 => json!("ask ada"),
                _ => json!("tabs"),
            };
            world.event(*number, &json!(kind_word), what, &payload);
            if number % 4 == 3 {
                world.raw(DAY, b"garbage\n");
            }
            if *pause {
                let scanned = world.scan(&cursor);
                pieces.extend(names(&scanned));
                heard += scanned.events;
                cursor = scanned.to.clone();
                world.keep(&scanned);
            }
        }
        let last = world.scan(&cursor);
        pieces.extend(names(&last));
        heard += last.events;
        world.known.clear();
        let whole = world.scan(&Cursor::default());
        prop_assert_eq!(pieces, names(&whole));
        prop_assert_eq!(heard, whole.events);
    }

    /// In which order the files of the days came to be, and where the lines stand, decides nothing.
    #[test]
    fn shuffled_partitions_and_moved_lines_give_the_same_evidence(
        days in Just((1_u32..=5).collect::<Vec<_>>()).prop_shuffle(),
        lines in Just(vec!["# Memory", "- Ask [[entity-ada]] first", "- SQL stays in `crates/store/`", "- Squash", ""]).prop_shuffle(),
    ) {
        let evidence = |days: &[u32], file: &str| {
            let mut world = World::new();
            world.map = LineMap::read(file);
            for day in days {
                let number = *day;
                let payload = if number.is_multiple_of(2) { about(SQL, "missed") } else { json!("You forgot to ask ada, see [[entity-ada]]") };
                let what = if number.is_multiple_of(2) { "memory.feedback" } else { "chat.message" };
                let line = event(number, &json!("human"), what, &payload);
                world.raw(&format!("2026-01-0{day}"), format!("{line}\n").as_bytes());
            }
            let scanned = world.scan(&Cursor::default());
            let mut ledger = spore_memory::ledger::Ledger::default();
            for fragment in &scanned.fragments {
                ledger.fold(fragment);
            }
            let tallies: Vec<_> =
                ledger.entries().map(|(hash, record)| (hash.clone(), record.tally())).collect();
            (names(&scanned), tallies, scanned.pending.len())
        };
        let whole = "# Memory\n- Ask [[entity-ada]] first\n- SQL stays in `crates/store/`\n- Squash\n";
        let expected = evidence(&[1, 2, 3, 4, 5], whole);
        prop_assert!(!expected.0.is_empty());
        prop_assert_eq!(evidence(&days, &lines.join("\n")), expected);
    }
}

#[test]
fn a_short_line_that_is_said_again_is_no_new_signal() {
    let mut recalled = Recalled::default();
    recalled.add_line("Squash commits");
    for (text, new) in [("From now on squash commits", 0), ("From now on rebase commits", 1)] {
        let world = World::new();
        world.event(1, &json!("human"), "message", &json!({ "text": text }));
        let scanned = world.scan_told(&Cursor::default(), &recalled, &|| false).unwrap();
        assert_eq!(scanned.fragments.len(), new, "{text}");
        assert_eq!(scanned.pending.len(), 1 - new, "a judge may still read it");
    }
}

/// What memory tells comes back as what people say, and grows by being heard: unless it is known.
#[test]
fn what_memory_told_is_never_a_new_signal() {
    let told: Vec<String> = (0..200)
        .map(|n| {
            format!("From now on, part number {n} of the house is swept by whoever is in it last")
        })
        .collect();
    let mut recalled = Recalled::default();
    told.iter().for_each(|text| recalled.add(text));
    for (number, kind) in [(0, "human"), (1000, "channel"), (2000, "chat-bridge")] {
        let world = World::new();
        for (at, text) in told.iter().enumerate() {
            let text = match at % 4 {
                0 => text.clone(),
                1 => text.to_uppercase(),
                2 => format!("As it says: {text}!"),
                _ => format!("> hm\n{}", text.replace(' ', "  ")),
            };
            let payload = json!({ "text": text });
            world.event(
                number + u32::try_from(at).unwrap(),
                &json!(kind),
                "chat.message",
                &payload,
            );
        }
        let known = KnownFragments::default();
        let (map, in_ledger, turns) = (world.map.clone(), HashSet::new(), Turns::default());
        let task = ScanTask {
            map: &map,
            known: &known,
            in_ledger: &in_ledger,
            named: &[],
            coverage: false,
            most: 999,
            pending_per_line: 50,
            carried: &|_| ToldByRun::default(),
            turns: &turns,
            recalled: &recalled,
            stop: &|| false,
        };
        let scanned =
            scan(&mut Spine::new(world.dir.path()).read_from(&Cursor::default()), &task).unwrap();
        assert_eq!(names(&scanned), [] as [String; 0], "{kind}");
        let heard = if kind == "chat-bridge" { 0 } else { 200 };
        assert_eq!(scanned.recalled, heard, "{kind}");
    }
}
