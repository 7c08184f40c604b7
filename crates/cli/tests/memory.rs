//! `spore memory`: from events to evidence, from evidence to the file that agents are told.

use std::path::Path;

use serde_json::{Value, json};
use spore_testkit::TestEnv;

use crate::scenes::{self, told};

pub(crate) const FILE: &str = "\
# What to keep in mind

- SQL stays in `crates/store/`
- When the build is red, ask [[entity-ada]]
- Run `make lint` before committing
";

const NO_EVIDENCE: &str = "NO_NEW_GRADIENT: no external line-referenced evidence found.\n";

/// A project with three lines of memory.
pub(crate) fn project() -> TestEnv {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    env.write(".spore/memory/CLAUDE.md", FILE);
    env
}

/// Puts an event on the spine as a program other than Spore would.
pub(crate) fn event(env: &TestEnv, number: u32, kind: &str, what: &str, payload: &Value) {
    let line = json!({
        "id": format!("01KDZZZZZZ{number:016}"),
        "ts": format!("2026-01-02T02:00:{number:02}.000Z"),
        "source": { "kind": kind, "name": "test" },
        "type": what,
        "payload": payload,
    });
    raw(env, &format!("{line}\n"));
}

pub(crate) fn raw(env: &TestEnv, text: &str) {
    let path = env.repo().join(".spore/events/2026-01-02.jsonl");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    env.write_at(&path, &(before + text));
}

pub(crate) fn hash(env: &TestEnv, line: &str) -> String {
    let why = env.spore(&["memory", "why", line, "--json"]).code(0).json();
    why["hash"].as_str().unwrap().to_owned()
}

/// Appends feedback of a person: a line failed, and it is wrong.
pub(crate) fn wrong(env: &TestEnv, number: u32, line: &str) {
    let payload = json!({
        "line": line, "activation": "missed", "root_cause": "direction-wrong",
        "note": "we use just\nnow",
    });
    event(env, number, "human", "memory.feedback", &payload);
}

#[track_caller]
fn scan(env: &TestEnv) -> Value {
    env.spore(&["memory", "scan", "--json"]).code(0).json()
}

pub(crate) fn broadcast(env: &TestEnv) -> String {
    std::fs::read_to_string(env.repo().join(".spore/memory/CLAUDE.md")).unwrap()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn fragments(env: &TestEnv) -> Vec<String> {
    names(&env.repo().join(".spore/memory/fragments"))
}

/// Two words against the third line, and one for the first.
fn with_evidence() -> TestEnv {
    let env = project();
    wrong(&env, 1, "Run `make lint` before committing");
    wrong(&env, 2, "Run `make lint` before committing");
    let helped = json!({ "line": "SQL stays in `crates/store/`", "activation": "activated" });
    event(&env, 3, "ci", "memory.feedback", &helped);
    env
}

#[test]
fn evidence_goes_from_event_to_edit_and_back() {
    let env = with_evidence();
    insta::assert_snapshot!("memory_scan", told(&env.spore(&["memory", "scan"]).code(0)));
    let first = std::fs::read_to_string(
        env.repo().join(".spore/memory/fragments").join(&fragments(&env)[0]),
    );
    insta::assert_snapshot!("memory_fragment", scenes::plain(&first.unwrap()));
    let crystallize = ["memory", "crystallize"];
    insta::assert_snapshot!(told(&env.spore(&crystallize).code(0)), @"
    exit code: 0
    --- stdout
    BOOTSTRAPPED: 3 fragments folded in, 2 files written.

    Written:
      memory/effectiveness/CLAUDE-md-effectiveness.md
      memory/entities/ada.md
    Lines:
      memory/CLAUDE.md:L3: 1 new
      memory/CLAUDE.md:L5: 2 new
    --- stderr
    ");
    let dry = ["memory", "update", "--dry-run"];
    insta::assert_snapshot!("memory_update_dry_run", told(&env.spore(&dry).code(0)));
    assert_eq!(broadcast(&env), FILE);
    insta::assert_snapshot!(told(&env.spore(&["memory", "status"]).code(0)), @"
    exit code: 0
    --- stdout
    L3    hash-0000001  keep      SQL stays in `crates/store/`
          1 helped, 0 missed, 0 waiting  ▅
    L4    hash-0000002  untested  When the build is red, ask [[entity-ada]]
          0 helped, 0 missed, 0 waiting
    L5    hash-0000003  remove    Run `make lint` before committing
          0 helped, 2 missed, 0 waiting  ▃▂

    Scanned to: 2026-01-02@1030
    Lines the ledger asks to remove: 1 (`spore memory update`)
    --- stderr
    ");
    insta::assert_snapshot!("memory_why", told(&env.spore(&["memory", "why", "L5"]).code(0)));
    insta::assert_snapshot!("memory_update", told(&env.spore(&["memory", "update"]).code(0)));
    assert_eq!(broadcast(&env), FILE.replace("- Run `make lint` before committing\n", ""));
    insta::assert_snapshot!(told(&env.spore(&["memory", "update"]).code(0)), @"
    exit code: 0
    --- stdout
    NO-OP: the ledger asks for no change of memory/CLAUDE.md.
    Kept:
      memory/CLAUDE.md:L3: 1 helped, 0 missed, 0 waiting
    --- stderr
    ");
    insta::assert_snapshot!(told(&env.spore(&["memory", "undo"]).code(0)), @"
    exit code: 0
    --- stdout
    UPDATED: memory/CLAUDE.md is as it was before update RUN-0001.

    --- a/memory/CLAUDE.md
    +++ b/memory/CLAUDE.md
    @@ -3,2 +3,3 @@
     - SQL stays in `crates/store/`
     - When the build is red, ask [[entity-ada]]
    +- Run `make lint` before committing
    --- stderr
    ");
    assert_eq!(broadcast(&env), FILE);
    let nothing_left = env.spore(&["memory", "undo"]).code(65);
    insta::assert_snapshot!(told(&nothing_left), @"
    exit code: 65
    --- stdout
    --- stderr
    error: no update of memory/CLAUDE.md is left to be undone
      try: `spore runs list` shows what memory did
    ");
    insta::assert_snapshot!(told(&env.spore(&["runs", "list"]).code(0)), @"
    exit code: 0
    --- stdout
    RUN       STATUS         STARTED                    COST  TASK
    RUN-0001  finished       2026-01-02 03:14 UTC      $0.00  memory undo
    RUN-0002  finished       2026-01-02 03:13 UTC      $0.00  memory update
    RUN-0003  finished       2026-01-02 03:12 UTC      $0.00  memory update
    RUN-0004  finished       2026-01-02 03:08 UTC      $0.00  memory crystallize
    RUN-0005  finished       2026-01-02 03:07 UTC      $0.00  memory scan
    --- stderr
    ");
}

#[test]
fn scanning_twice_writes_nothing_new() {
    let env = with_evidence();
    assert_eq!(scan(&env)["fragments"].as_array().unwrap().len(), 3);
    let written = fragments(&env);
    let again = env.spore(&["memory", "scan"]).code(0);
    assert_eq!((again.stdout.as_str(), again.stderr.as_str()), (NO_EVIDENCE, ""));
    // With no memory of how far it read, and from a place that is named.
    std::fs::remove_file(env.repo().join(".spore/memory/state/spine-scanner.json")).unwrap();
    assert_eq!(env.spore(&["memory", "scan"]).code(0).stdout, NO_EVIDENCE);
    let from = ["memory", "scan", "--from", "2026-01-02@0"];
    assert_eq!(env.spore(&from).code(0).stdout, NO_EVIDENCE);
    assert_eq!(fragments(&env), written);
}

/// What happened in one session: Spore's own word of a tool, or a person's.
fn in_session(env: &TestEnv, number: u32, tool: Option<&str>, said: &str) {
    let (kind, what, payload) = match tool {
        Some(command) => ("runner", "tools.used", json!({ "tools": [{ "command": command }] })),
        None => ("human", "chat.message", json!(said)),
    };
    let line = json!({
        "id": format!("01KDZZZZZZ{number:016}"),
        "ts": format!("2026-01-02T02:00:{number:02}.000Z"),
        "source": { "kind": kind, "name": "test", "own": tool.is_some() },
        "type": what, "session_key": "chat 7", "payload": payload,
    });
    raw(env, &format!("{line}\n"));
}

#[test]
fn events_that_are_read_again_meet_no_turn_that_they_left_open() {
    let env = project();
    // The tool came before the line's trigger, so it was not used because of the line.
    in_session(&env, 1, Some("make lint"), "");
    in_session(&env, 2, None, "have a look at the tree before committing");
    assert_eq!(scan(&env)["fragments"], json!([]));
    let elsewhere = env.dir().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let day = "2026-01-02.jsonl";
    std::fs::copy(env.repo().join(".spore/events").join(day), elsewhere.join(day)).unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    for more in
        [&["--from", "2026-01-02@0"][..], &["--events", elsewhere], &["--events", elsewhere]]
    {
        let again = [&["memory", "scan"], more].concat();
        assert_eq!(env.spore(&again).code(0).stdout, NO_EVIDENCE, "{more:?}");
    }
    std::fs::remove_file(env.repo().join(".spore/memory/state/spine-scanner.json")).unwrap();
    assert_eq!(env.spore(&["memory", "scan"]).code(0).stdout, NO_EVIDENCE);
    // What comes next goes on with the turn.
    in_session(&env, 3, Some("make lint"), "");
    in_session(&env, 4, None, "and now the docs");
    let helped = scan(&env);
    assert_eq!(helped["fragments"].as_array().unwrap().len(), 1, "{helped}");
    assert_eq!(fragments(&env).len(), 1);
}

#[test]
fn two_branches_that_both_learned_something_are_merged_by_git_alone() {
    let env = project();
    env.commit_all("what every session is told");
    let base = env.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
    let base = base.trim();
    let learn = |number: u32, branch: &str| {
        env.git(&["checkout", "--quiet", "-B", branch, base]);
        // Fragments are of one machine.
        let _ = std::fs::remove_dir_all(env.repo().join(".spore/memory/fragments"));
        wrong(&env, number, "Run `make lint` before committing");
        let _ = scan(&env);
        let _ = env.spore(&["memory", "crystallize"]).code(0);
        env.commit_all("what was learned");
    };
    learn(1, "one");
    learn(2, "two");
    env.git(&["merge", "--quiet", "--no-edit", "one"]);
    let status = env.spore(&["memory", "status", "--json"]).code(0).json();
    let line = status["lines"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["line"] == "memory/CLAUDE.md:L5");
    assert_eq!(line.unwrap()["missed"], 2, "{status}");
    let _ = env.spore(&["memory", "crystallize"]).code(0);
}

#[test]
fn the_state_of_a_scan_is_a_place_and_no_content() {
    let env = with_evidence();
    event(&env, 4, "human", "chat.message", &json!("the build is red, says a secret"));
    let scanned = scan(&env);
    assert_eq!((&scanned["pending"], &scanned["state_advanced"]), (&json!(1), &json!(true)));
    let state = env.repo().join(".spore/memory/state");
    for name in names(&state) {
        let text = std::fs::read_to_string(state.join(&name)).unwrap();
        assert!(!text.contains("secret") && !text.contains("we use just"), "{name}: {text}");
    }
    let text = std::fs::read_to_string(state.join("spine-scanner.json")).unwrap();
    let state: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(state["places"][".spore/events"]["cursor"]["partition"], "2026-01-02");
}

#[test]
fn spores_own_chatter_and_events_without_a_kind_are_no_evidence() {
    let env = project();
    let says = json!({ "line": "SQL stays in `crates/store/`", "activation": "missed" });
    for (number, kind) in (1..).zip(["cadence", "meta", "system", "runner", "route", "gateway"]) {
        event(&env, number, kind, "memory.feedback", &says);
    }
    raw(&env, &format!("{}\n", json!({ "id": "a", "source": { "kind": 7 }, "payload": says })));
    raw(&env, &format!("{}\n", json!({ "id": "b", "source": {}, "payload": says })));
    let told = env.spore(&["memory", "scan", "--coverage"]).code(0);
    assert_eq!(told.stdout, NO_EVIDENCE);
    assert_eq!(fragments(&env), [] as [&str; 0]);
    let run = scenes::newest_id(&env);
    let report = env.repo().join(".spore/runs").join(run).join("report.json");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    // One more of the runner's: the scan itself.
    assert_eq!(report["rejected"]["runner"], 2);
    assert_eq!((&report["accepted"], &report["unscannable"]), (&json!({}), &json!(2)));
}

#[test]
fn what_is_no_event_is_told_and_passed_over() {
    let env = project();
    raw(&env, "half an ev\n{\"id\": 1\n");
    wrong(&env, 1, "SQL stays in `crates/store/`");
    raw(&env, "[]\n");
    let scanned = env.spore(&["memory", "scan"]).code(0);
    insta::assert_snapshot!("memory_scan_of_garbage", told(&scanned));
}

#[test]
fn a_moved_line_keeps_its_evidence() {
    let env = with_evidence();
    scan(&env);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let line = hash(&env, "L5");
    env.write(
        ".spore/memory/CLAUDE.md",
        "1. Run `make lint`\n   before committing\n2. SQL stays in `crates/store/`\n",
    );
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let why = env.spore(&["memory", "why", "L1", "--json"]).code(0).json();
    assert_eq!((&why["hash"], &why["decision"]), (&json!(line), &json!("remove")));
    assert_eq!(why["evidence"].as_array().unwrap().len(), 2);
    let ledger = env.repo().join(".spore/memory/effectiveness/CLAUDE-md-effectiveness.md");
    let text = std::fs::read_to_string(ledger).unwrap();
    assert!(text.contains(&format!("## memory/CLAUDE.md:L1 `{line}`")), "{text}");
    let _ = env.spore(&["memory", "update"]).code(0);
    assert_eq!(broadcast(&env), "2. SQL stays in `crates/store/`\n");
    // What is gone from the file is still in the books.
    let why = env.spore(&["memory", "why", &line, "--json"]).code(0).json();
    assert_eq!(why["line"], Value::Null);
}

#[test]
fn crystallizing_twice_changes_nothing() {
    let env = with_evidence();
    scan(&env);
    let memory = env.repo().join(".spore/memory");
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    assert_eq!(names(&memory.join("entities")), ["ada.md"]);
    let ledger = memory.join("effectiveness/CLAUDE-md-effectiveness.md");
    let before = std::fs::read_to_string(&ledger).unwrap();
    env.write(".spore/memory/entities/ada.md", "Ada knows the build.\n");
    let again = env.spore(&["memory", "crystallize"]).code(0);
    assert_eq!(again.stdout, "NO-OP: ledger and pages are up to date.\n");
    assert_eq!(std::fs::read_to_string(&ledger).unwrap(), before);
    // On another machine the fragments are missing, and the ledger still stands.
    std::fs::remove_dir_all(memory.join("fragments")).unwrap();
    let elsewhere = env.spore(&["memory", "crystallize"]).code(0);
    assert_eq!(elsewhere.stdout, "NO-OP: ledger and pages are up to date.\n");
    let written = std::fs::read_to_string(memory.join("entities/ada.md")).unwrap();
    assert_eq!(written, "Ada knows the build.\n");
}

#[test]
fn an_edit_without_evidence_is_refused_whatever_asks_for_it() {
    let env = with_evidence();
    scan(&env);
    // A ledger that lacks evidence defends nothing.
    let behind = env.spore(&["memory", "update"]).code(65);
    insta::assert_snapshot!(told(&behind), @"
    exit code: 65
    --- stdout
    --- stderr
    error: memory/effectiveness/CLAUDE-md-effectiveness.md lacks 3 fragments of the fragments directory
      try: run `spore memory crystallize` first
    ");
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    // No evidence is about L4; all evidence about L3 speaks for it.
    let untested = env.spore(&["memory", "update", "--remove", "L4"]).code(65);
    insta::assert_snapshot!(told(&untested), @r#"
    exit code: 65
    --- stdout
    --- stderr
    error: no evidence, no edit: memory/CLAUDE.md:L4 has no evidence against it in the ledger, so it stays
      try: if it is wrong, say so: spore memory feedback hash-0000001 failed "why"; then scan and crystallize. Or edit the file yourself: it is yours
    "#);
    let _ = env.spore(&["memory", "update", "--remove", "L3"]).code(65);
    let json = env.spore(&["memory", "update", "--remove", "L3", "--json"]).code(65);
    assert_eq!(json.stdout, "");
    assert_eq!(broadcast(&env), FILE);
    // A task may ask as it likes.
    let compress = "[memory:claude-compress] rewrite memory/CLAUDE.md, drop memory/CLAUDE.md:L3";
    let _ = env.spore(&["memory", "inbox", "add", compress, "--name", "tidy"]).code(0);
    let _ = env.spore(&["memory", "update", "--task", "tidy"]).code(0);
    assert_eq!(broadcast(&env), FILE.replace("- Run `make lint` before committing\n", ""));
}

#[test]
fn a_ledger_that_somebody_wrote_in_defends_nothing() {
    let env = with_evidence();
    scan(&env);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let path = env.repo().join(".spore/memory/effectiveness/CLAUDE-md-effectiveness.md");
    let text = std::fs::read_to_string(&path).unwrap();
    env.write_at(&path, &text.replace("2 missed", "many missed"));
    let refused = env.spore(&["memory", "update"]).code(65);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 65
    --- stdout
    --- stderr
    error: line 18 of the ledger is not what Spore writes: 0 helped, many missed, 0 waiting; 2 direction-wrong; seen 2026-01-02T02:00:01.0…
      try: take your edit or the merge conflict out of .spore/memory/effectiveness/CLAUDE-md-effectiveness.md, then try again
    ");
    let _ = env.spore(&["memory", "crystallize"]).code(65);
    assert!(std::fs::read_to_string(&path).unwrap().contains("many missed"), "nothing is lost");
    assert_eq!(broadcast(&env), FILE);
}

#[test]
fn a_fragment_that_nobody_could_have_written_is_left_out() {
    let env = with_evidence();
    scan(&env);
    let dir = env.repo().join(".spore/memory/fragments");
    let name = fragments(&env)[0].clone();
    let text = std::fs::read_to_string(dir.join(&name)).unwrap();
    env.write_at(&dir.join(&name), &text.replace("source_kind: human", "source_kind: runner"));
    env.write_at(&dir.join("notes.md"), "my notes\n");
    let done = env.spore(&["memory", "crystallize"]).code(0);
    insta::assert_snapshot!(told(&done), @r#"
    exit code: 0
    --- stdout
    BOOTSTRAPPED: 2 fragments folded in, 2 files written.

    Written:
      memory/effectiveness/CLAUDE-md-effectiveness.md
      memory/entities/ada.md
    Lines:
      memory/CLAUDE.md:L3: 1 new
      memory/CLAUDE.md:L5: 1 new
    --- stderr
    memory/fragments/20260102T020001000Z-RUNID-001-statement-hash-0000002-weakening.md: its source kind "runner" is internal; left out
    memory/fragments/notes.md: it has no front matter; left out
    "#);
}

#[test]
fn a_file_that_was_edited_since_is_not_overwritten() {
    let env = with_evidence();
    scan(&env);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let _ = env.spore(&["memory", "update"]).code(0);
    let edited = broadcast(&env) + "- A new thought\n";
    env.write(".spore/memory/CLAUDE.md", &edited);
    let refused = env.spore(&["memory", "undo"]).code(65);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 65
    --- stdout
    --- stderr
    error: memory/CLAUDE.md was edited in the meantime, so nothing was written
      try: the file as it was before the update: $TEST_ENV/repo/.spore/runs/RUNID-001/before.md
    ");
    assert_eq!(broadcast(&env), edited);
}

#[test]
fn what_was_put_back_is_not_removed_again_for_the_same_reasons() {
    let env = with_evidence();
    let pass = |pass: &str| env.spore(&["memory", pass, "--json"]).code(0).json();
    for name in ["scan", "crystallize", "update", "undo", "scan", "crystallize"] {
        pass(name);
    }
    assert_eq!(pass("update")["terminal"], "NO-OP");
    assert_eq!(broadcast(&env), FILE);
    // That the line was put back is on record in nobody's words, and is no help.
    let why = env.spore(&["memory", "why", "L5", "--json"]).code(0).json();
    let put_back = why["evidence"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&put_back["signal"], &put_back["trajectory"], &why["decision"]),
        (&json!("restored"), &json!("NEUTRAL"), &json!("judge"))
    );
    assert!(!put_back["evidence"].as_str().unwrap().contains('“'), "{put_back}");
}

#[test]
fn a_link_is_followed_inside_the_project_alone() {
    let env = with_evidence();
    scan(&env);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let link = env.repo().join(".spore/memory/CLAUDE.md");
    std::fs::remove_file(&link).unwrap();
    let outside = env.dir().join("outside.md");
    env.write_at(&outside, FILE);
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let _ = env.spore(&["memory", "update"]).code(65);
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), FILE);
    std::fs::remove_file(&link).unwrap();
    env.write("CLAUDE.md", FILE);
    std::os::unix::fs::symlink(env.repo().join("CLAUDE.md"), &link).unwrap();
    let _ = env.spore(&["memory", "update"]).code(0);
    assert!(link.is_symlink() && broadcast(&env).len() < FILE.len());
}

#[test]
fn work_that_carried_a_line_and_had_to_be_put_right_weakens_it() {
    let env = project();
    let run = "01KDZZZZZZ0000000000000777";
    let carried = json!({
        "files": [], "symbols": [], "lessons": [], "memory_lines": [hash(&env, "L3")], "tokens": 0,
    });
    env.write(&format!(".spore/runs/{run}/bounce-1/coder/carried.json"), &carried.to_string());
    let edited = json!({
        "id": "01KDZZZZZZ0000000000000001", "ts": "2026-01-02T02:00:01.000Z",
        "source": { "kind": "git", "name": "collect" }, "type": "correction.edited", "run": run,
        "payload": { "commit": "c", "lines": 2, "files": { "crates/store/src/lib.rs": 2 } },
    });
    raw(&env, &format!("{edited}\n"));
    let mut of_nobody = edited;
    of_nobody["id"] = json!("01KDZZZZZZ0000000000000002");
    of_nobody["run"] = json!("../../../etc");
    raw(&env, &format!("{of_nobody}\n"));
    let scanned = scan(&env);
    assert_eq!(scanned["fragments"].as_array().unwrap().len(), 1);
    assert_eq!(scanned["lines"][0]["line"], "memory/CLAUDE.md:L3");
    assert_eq!(scanned["pending"], 1);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let why = env.spore(&["memory", "why", "L3", "--json"]).code(0).json();
    assert_eq!(
        (&why["decision"], &why["evidence"][0]["signal"]),
        (&json!("judge"), &json!("correction"))
    );
}

#[test]
fn a_task_is_off_the_inbox_only_when_it_is_done() {
    let env = with_evidence();
    let inbox = env.repo().join(".spore/memory/inbox");
    let add = |body: &str, name: &str| {
        let _ = env.spore(&["memory", "inbox", "add", body, "--name", name]).code(0);
    };
    add("scan recent events", "look.md");
    add("prune what failed", "prune.md");
    insta::assert_snapshot!(told(&env.spore(&["memory", "inbox", "list"]).code(0)), @"
    exit code: 0
    --- stdout
    look.md: scan recent events  (scan, crystallize)
    prune.md: prune what failed  (update)
    --- stderr
    ");
    let show = ["memory", "inbox", "show", "look.md"];
    insta::assert_snapshot!(told(&env.spore(&show).code(0)), @"
    exit code: 0
    --- stdout
    look.md: needs scan, crystallize

    scan recent events
    --- stderr
    ");
    let scanned = env.spore(&["memory", "scan", "--task", "look.md", "--json"]).code(0).json();
    assert_eq!(scanned["pending_task"], "look.md");
    // It refuses, so the task stays.
    let _ = env.spore(&["memory", "update", "--task", "prune.md"]).code(65);
    assert_eq!(names(&inbox), ["look.md", "prune.md"]);
    let folded =
        env.spore(&["memory", "crystallize", "--task", "look.md", "--json"]).code(0).json();
    assert_eq!((&folded["acked"], names(&inbox)), (&json!("look.md"), vec!["prune.md".to_owned()]));
    assert_eq!(scenes::artefact(&env, "task.md"), "scan recent events");
    let _ = env.spore(&["memory", "update", "--task", "prune.md"]).code(0);
    assert_eq!(names(&inbox), [] as [&str; 0]);
}

#[test]
fn a_task_about_a_line_that_needs_a_judge_stays() {
    let env = project();
    wrong(&env, 1, "SQL stays in `crates/store/`");
    scan(&env);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let _ =
        env.spore(&["memory", "inbox", "add", "prune memory/CLAUDE.md:L3", "--name", "a"]).code(0);
    let updated = env.spore(&["memory", "update", "--task", "a", "--json"]).code(12).json();
    assert_eq!(
        (&updated["terminal"], &updated["pending_task"]),
        (&json!("PARTIAL_UPDATE"), &json!("a"))
    );
    assert_eq!(broadcast(&env), FILE);
}

#[test]
fn two_passes_at_once_exclude_each_other() {
    let env = with_evidence();
    let state = env.repo().join(".spore/memory/state");
    std::fs::create_dir_all(&state).unwrap();
    let held = std::fs::File::create(state.join("lock")).unwrap();
    held.lock().unwrap();
    let refused = env.spore(&["memory", "scan"]).code(65);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 65
    --- stdout
    --- stderr
    error: another pass of memory is at work in this project
      try: wait for it: `spore runs list` shows it; then try again
    ");
    for pass in ["crystallize", "update"] {
        let _ = env.spore(&["memory", pass]).code(65);
    }
    assert_eq!(env.spore(&["runs", "list", "--json"]).code(0).json(), json!([]));
    drop(held);
    assert_eq!(scan(&env)["events"], 4);
}

#[test]
fn bad_input_is_told_with_what_to_do() {
    let env = project();
    let told = |args: &[&str], code| told(&env.spore(args).code(code));
    insta::assert_snapshot!(told(&["memory", "why", "L99"], 65), @r#"
    exit code: 65
    --- stdout
    --- stderr
    error: memory/CLAUDE.md has no line "L99"
      try: `spore memory status` shows all lines, `spore lessons --full` all lessons; name one as L3, by its hash or its words
    "#);
    insta::assert_snapshot!(told(&["memory", "scan", "--events", "nowhere"], 64), @"
    exit code: 64
    --- stdout
    --- stderr
    error: there is no directory nowhere
      try: --events names a directory of files such as 2026-01-31.jsonl
    ");
    insta::assert_snapshot!(told(&["memory", "scan", "--from", "yesterday"], 64), @"
    exit code: 64
    --- stdout
    --- stderr
    error: invalid value 'yesterday' for '--from <PLACE>': a day such as 2026-01-31, or 2026-01-31@4096 for a byte of its file

    For more information, try '--help'.
    ");
    insta::assert_snapshot!(told(&["memory", "inbox", "show", "../spore.db"], 64), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: "../spore.db" cannot be the name of a task
      try: letters, digits, `-`, `_` and `.`, at most 100, and not a dot in front
    "#);
    insta::assert_snapshot!(told(&["memory", "scan", "--task", "none.md"], 65), @"
    exit code: 65
    --- stdout
    --- stderr
    error: the inbox has no task none.md
      try: `spore memory inbox list` shows what is there
    ");
    env.write_at(&env.repo().join(".spore/memory/CLAUDE.md"), "");
    std::fs::write(env.repo().join(".spore/memory/CLAUDE.md"), b"\xff\xfe").unwrap();
    insta::assert_snapshot!(told(&["memory", "status"], 65), @"
    exit code: 65
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/.spore/memory/CLAUDE.md is not UTF-8 text
      try: save it as UTF-8, then try again
    ");
    let bare = scenes::env();
    insta::assert_snapshot!(scenes::told(&bare.spore(&["memory", "scan"]).code(69)), @"
    exit code: 69
    --- stdout
    --- stderr
    error: $TEST_ENV/repo is not a Spore project: it has no .spore/
      try: run `spore init`
    ");
}

#[test]
fn a_project_without_memory_is_told_how_to_begin() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    insta::assert_snapshot!(told(&env.spore(&["memory", "status"]).code(0)), @"
    exit code: 0
    --- stdout
    memory/CLAUDE.md has no lines yet: write what every agent should keep in mind into .spore/memory/CLAUDE.md.

    Scanned to: never
    --- stderr
    ");
    assert_eq!(env.spore(&["memory", "scan"]).code(0).stdout, NO_EVIDENCE);
    let nothing = env.spore(&["memory", "crystallize"]).code(0);
    assert_eq!(nothing.stdout, "NO-OP: ledger and pages are up to date.\n");
    let _ = env.spore(&["memory", "update"]).code(0);
    assert_eq!(names(&env.repo().join(".spore/memory")), ["state"]);
}

#[test]
fn a_persons_word_about_a_line_is_evidence_with_the_next_scan() {
    let env = project();
    let given = env.spore(&["memory", "feedback", "L5", "failed", "we use just now"]).code(0);
    assert!(given.stdout.contains("make lint"), "{}", given.stdout);
    let _ = env.spore(&["memory", "feedback", "L3", "helped", "no query leaked"]).code(0);
    let _ = env.spore(&["memory", "scan"]).code(0);
    let _ = env.spore(&["memory", "crystallize"]).code(0);
    let evidence = |line: &str| {
        let why = env.spore(&["memory", "why", line, "--json"]).code(0).json();
        why["evidence"].as_array().unwrap().clone()
    };
    assert_eq!(evidence("L5")[0]["root_cause"], "direction-wrong");
    assert_eq!(evidence("L5")[0]["kind"], "human");
    assert_eq!(evidence("L3").len(), 1);
    let silent = env.spore(&["memory", "feedback", "L3", "failed", "  "]).code(64).stderr;
    assert!(silent.contains("the reason is empty"), "{silent}");
}
