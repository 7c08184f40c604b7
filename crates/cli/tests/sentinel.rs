//! The project's own checks, graded, cycle by cycle.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use serde_json::{Value, json};
use spore_scripted_model::{ModelServer, Turn, When};
use spore_testkit::TestEnv;
use spore_testkit::kill::{CommandTraits, KillTarget, matrix_of};

use crate::kill_matrix::asked_for;
use crate::scenes::{self, told};
use crate::verified_run::{self, MODEL, SUPPORTS};

/// A project with a test that counts wrong lines, and a linter.
pub(crate) fn project() -> TestEnv {
    let env = scenes::env();
    env.write("wrong.txt", "");
    env.write("style.txt", "");
    env.write(".gitignore", ".spore/\n");
    env.commit_all("all is well");
    env.write(
        ".spore/config.toml",
        "[gates.commands.test]\nrun = \"test ! -s wrong.txt\"\n\
         [gates.commands.build]\nrun = \"test ! -e broken.txt\"\nkind = \"build\"\n\
         [gates.commands.lint]\nrun = \"test ! -s style.txt\"\nkind = \"lint\"\n",
    );
    env
}

const CHECK: &[&str] = &["sentinel", "--checks-only"];

#[track_caller]
fn artefact(env: &TestEnv, name: &str) -> Value {
    serde_json::from_str(&scenes::artefact(env, name)).unwrap()
}

#[test]
fn what_fails_is_mended_and_checked_again_in_the_next_cycle() {
    let env = project();
    // Not committed: the files count as they are.
    env.write("wrong.txt", "x\n");
    env.write("broken.txt", "x\n");
    let status = env.git(&["status", "--porcelain"]);
    let first = env.spore(CHECK).code(10);
    insta::assert_snapshot!("the_first_cycle", told(&first));
    assert_eq!(env.git(&["status", "--porcelain"]), status);
    let results = artefact(&env, "sentinel/cycle-1/verification-results.json");
    assert_eq!(results["overall"], "FAIL");
    assert_eq!(results["blocking_count"], 2);
    let fixes = artefact(&env, "sentinel/cycle-1/fix-list.json");
    assert_eq!(fixes["fixes"].as_array().unwrap().len(), 2);
    std::fs::remove_file(env.repo().join("broken.txt")).unwrap();
    let second = env.spore(CHECK).code(10);
    assert!(second.stdout.contains("1 blocking, 2 in cycle 1"), "{}", second.render());
    env.write("wrong.txt", "");
    env.write("style.txt", "tabs\n");
    let third = env.spore(&["sentinel", "--checks-only", "--json"]).code(0).json();
    assert_eq!(third["grade"], "WARN");
    assert_eq!(third["verification"]["compared"]["mended"], json!(["test"]));
    assert_eq!(third["verification"]["compared"]["broken"], json!(["lint"]));
    assert_eq!(scenes::artefact(&env, "sentinel/grade.txt"), "WARN\n");
    let summary = artefact(&env, "sentinel/summary.json");
    assert_eq!(summary["blocking_counts"], json!([2, 1, 0]));
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "three cycles are one run");
    assert_eq!(listed[0]["status"], "finished");
    // The next one begins anew.
    env.write("style.txt", "");
    let again = env.spore(&["sentinel", "--checks-only", "--json"]).code(0).json();
    assert_eq!(again["grade"], "PASS");
    assert_eq!(again["verification"]["cycle"], 1);
}

#[test]
fn it_stops_by_rule() {
    let env = project();
    env.write("wrong.txt", "x\n");
    let codes: Vec<i32> = (0..3).map(|_| env.spore(CHECK).code).collect();
    assert_eq!(codes, [10, 10, 11], "no better for two cycles");
    assert_eq!(scenes::newest(&env)["status"], "escalated");
    let once = env.spore(&["sentinel", "--checks-only", "--max-cycles", "1"]).code(10);
    assert!(once.stdout.contains("the last"), "{}", once.render());
    assert_eq!(scenes::newest(&env)["status"], "failed");
}

#[test]
fn resume_is_the_next_cycle_and_fresh_begins_anew() {
    let env = project();
    env.write("wrong.txt", "x\n");
    let _ = env.spore(CHECK).code(10);
    assert_eq!(scenes::newest(&env)["status"], "parked:human");
    let _ = env.spore(&["resume"]).code(10);
    assert!(scenes::artefact(&env, "sentinel/cycle-2/audit-report.md").contains("Compared with"));
    let fresh = env.spore(&["sentinel", "--checks-only", "--fresh", "--json"]).code(10).json();
    assert_eq!(fresh["verification"]["cycle"], 1);
}

#[test]
fn without_an_agent_only_the_checks_run_and_that_is_said() {
    let env = project();
    let output = env.spore(&["sentinel"]).code(0);
    assert!(output.stdout.contains("PASS in cycle 1"), "{}", output.render());
    assert!(output.stdout.contains("nobody judged the work"), "{}", output.render());
    let named = env.spore(&["sentinel", "--backend", "claude"]);
    assert_ne!(named.code, 0, "an agent that was asked for must be there");
    let told = env.spore(&["sentinel", "--json"]).code(0).json();
    assert_eq!(told["checks_only"], true);
    assert!(told["no_judges_because"].as_str().unwrap().contains("no agent"), "{told}");
}

/// The spec, a red cycle whose audit is garbage at first, a fix, and a cycle that holds.
const WHOLE: &str = r#"
[[session]]
role = "spec-writer"
bounce = 1
cost_usd = 0.25
final = '''<test-spec>{"requirements": [
  {"id": "R1", "text": "wrong.txt is empty", "level": "must", "check": "the check test"},
  {"id": "R2", "text": "done.txt says when", "level": "should"}]}</test-spec>'''
steps = [{ expect = "the wrong lines go" }, { expect = "wrong.txt" }]

[[session]]
role = "auditor"
bounce = 1
cost_usd = 0.125
final = "All good, PASS."

[[session]]
role = "auditor"
bounce = 2
cost_usd = 0.125
final = '''<audit>{"grade": "FAIL", "requirements": [{"id": "R1", "status": "unmet", "evidence": "wrong.txt:1"}],
"findings": [{"severity": "warning", "file": "wrong.txt", "line": 1, "issue": "it is no text"}]}</audit>'''
steps = [{ expect = "An earlier answer did not count: the message has no audit block" }]

[[session]]
role = "consolidator"
bounce = 1
cost_usd = 0.0625
final = '''<fixes>{"fixes": [{"id": 2, "suggested_fix": "empty the file"}]}</fixes>'''

[[session]]
role = "coder"
bounce = 1
cost_usd = 0.5
final = "done"
steps = [{ expect = "empty the file" }, { write = "wrong.txt", content = "" }]

[[session]]
role = "verifier"
bounce = 1
cost_usd = 0.25
final = '''<verdict>{"nonce":"$NONCE","verdict":"supports","confidence":0.95,"reason":"it is empty"}</verdict>'''

[[session]]
role = "auditor"
bounce = 3
cost_usd = 0.125
final = '''<audit>{"grade": "PASS", "requirements": [{"id": "R1", "status": "met", "evidence": "the check test"},
{"id": "R2", "status": "unmet", "evidence": "there is no done.txt"}]}</audit>'''
"#;

/// A spec, a red cycle and its audit, and no cycle left to mend it.
const AT_ONCE: &str = r#"
[[session]]
role = "spec-writer"
bounce = 1
cost_usd = 0.25
final = '''<test-spec>{"requirements": [{"id": "R1", "text": "wrong.txt is empty"}]}</test-spec>'''

[[session]]
role = "auditor"
bounce = 1
cost_usd = 0.125
final = '''<audit>{"grade": "FAIL", "requirements": [{"id": "R1", "status": "unmet", "evidence": "wrong.txt:1"}]}</audit>'''
"#;

pub(crate) const JUDGE: &[&str] = &[
    "sentinel",
    "--task",
    "the wrong lines go",
    "--backend",
    "replay",
    "--scenario",
    "../scenario.toml",
];

pub(crate) fn judged(scenario: &str) -> TestEnv {
    let env = project();
    env.write("wrong.txt", "x\n");
    env.write_at(&env.dir().join("scenario.toml"), scenario);
    env
}

#[test]
fn the_whole_loop_writes_checks_audits_orders_mends_and_looks_again() {
    let env = judged(WHOLE);
    let output = env.spore(JUDGE).code(0);
    insta::assert_snapshot!("the_whole_loop", told(&output));
    assert_eq!(std::fs::read_to_string(env.repo().join("wrong.txt")).unwrap(), "x\n");
    assert_eq!(scenes::artefact(&env, "sentinel/grade.txt"), "WARN\n");
    let summary = artefact(&env, "sentinel/summary.json");
    assert_eq!(summary["blocking_counts"], json!([2, 0]));
    assert_eq!(summary["judged"], true);
    for cycle in ["cycle-1", "cycle-2"] {
        assert!(
            scenes::artefact(&env, &format!("sentinel/{cycle}/test-spec.md"))
                .contains("R2 [should]")
        );
    }
    insta::assert_snapshot!(
        "the_fixes_in_their_order",
        scenes::artefact(&env, "sentinel/cycle-1/fix-list.json")
    );
    assert!(
        scenes::artefact(&env, "sentinel/cycle-2/audit-report.md")
            .contains("| R1: wrong.txt is empty | met |")
    );
    let shown = scenes::newest(&env);
    assert_eq!(shown["cost"]["usd"], 1.4375, "{shown}");
}

/// Green checks, an auditor who misses something, a fix, and an audit that finds it.
const GREEN: &str = r#"
[[session]]
role = "spec-writer"
bounce = 1
cost_usd = 0.25
final = '''<test-spec>{"requirements": [{"id": "R1", "text": "done.txt says when"}]}</test-spec>'''

[[session]]
role = "auditor"
bounce = 1
cost_usd = 0.125
final = '''<audit>{"grade": "FAIL", "requirements": [{"id": "R1", "status": "unmet", "evidence": "there is no done.txt"}]}</audit>'''

[[session]]
role = "consolidator"
bounce = 1
final = '''<fixes>{"fixes": [{"id": 1, "suggested_fix": "say when in done.txt"}]}</fixes>'''

[[session]]
role = "coder"
bounce = 1
cost_usd = 0.5
final = "done"
steps = [{ write = "done.txt", content = "today" }]

[[session]]
role = "verifier"
bounce = 1
cost_usd = 0.25
final = '''<verdict>{"nonce":"$NONCE","verdict":"supports","confidence":0.95,"reason":"it says when"}</verdict>'''

[[session]]
role = "auditor"
bounce = 3
cost_usd = 0.125
final = '''<audit>{"grade": "PASS", "requirements": [{"id": "R1", "status": "met", "evidence": "done.txt:1"}]}</audit>'''
"#;

#[test]
fn what_an_auditor_misses_where_every_check_is_green_is_mended_too() {
    let env = project();
    env.write_at(&env.dir().join("scenario.toml"), GREEN);
    let output = env.spore(JUDGE).code(0);
    assert_eq!(scenes::artefact(&env, "sentinel/grade.txt"), "PASS\n", "{}", output.render());
    let summary = artefact(&env, "sentinel/summary.json");
    assert_eq!(summary["blocking_counts"].as_array().unwrap().len(), 2, "{summary}");
}

#[test]
fn a_judge_that_says_nothing_or_passes_what_is_red_gives_no_pass() {
    let spec = &WHOLE[..WHOLE.find("[[session]]\nrole = \"auditor\"").unwrap()];
    let auditor = |bounce: u32, text: &str| {
        format!("[[session]]\nrole = \"auditor\"\nbounce = {bounce}\nfinal = '''{text}'''\n")
    };
    let pass = r#"<audit>{"grade": "PASS", "requirements": [{"id": "R1", "status": "met", "evidence": "seen"},
        {"id": "R2", "status": "met", "evidence": "seen"}]}</audit>"#;
    for (text, code) in [("", 11), ("PASS", 11), ("<audit>{}</audit>", 11), (pass, 10)] {
        let env = judged(&format!("{spec}{}{}", auditor(1, text), auditor(2, text)));
        let args: Vec<&str> = JUDGE.iter().chain(&["--max-cycles", "1"]).copied().collect();
        let output = env.spore(&args);
        assert_eq!(output.code, code, "{text}: {}", output.render());
        assert_eq!(scenes::artefact(&env, "sentinel/grade.txt"), "FAIL\n", "{text}");
    }
}

#[test]
fn a_sentinel_that_waits_is_gone_on_with_by_whoever_asked_for_it() {
    let env = judged(AT_ONCE);
    let _ = env.spore(CHECK).code(10);
    let once: Vec<&str> = JUDGE.iter().chain(&["--max-cycles", "1"]).copied().collect();
    let _ = env.spore(&once).code(10);
    let summary = artefact(&env, "sentinel/summary.json");
    assert_eq!((&summary["cycles"], &summary["judged"]), (&json!(1), &json!(true)));
    let again = env.spore(&["sentinel", "--checks-only", "--json"]).code(10).json();
    assert_eq!(again["verification"]["cycle"], 2, "the checks alone go on with their own");
}

#[test]
fn what_linters_say_is_counted_with_file_and_line() {
    let env = scenes::env();
    env.write("said.txt", "src/app.py:3:1: F401 [*] `os` imported but unused\nFound 1 error.\n");
    env.write("types.txt", "src/app.ts(1,7): error TS2322: Type 'string' is not\n");
    env.write(
        "t.txt",
        "=== FAILURES ===\n____ test_a ____\nE   assert 3 == 4\n=== short test summary info ===\n\
        FAILED tests/test_a.py::test_a - assert 3 == 4\n=== 1 failed in 0.01s ===\n",
    );
    env.write(".gitignore", ".spore/\n");
    env.commit_all("as it is");
    env.write(
        ".spore/config.toml",
        "[gates.commands.lint]\nrun = \"cat said.txt; exit 1\"\nkind = \"lint\"\n\
         [gates.commands.types]\nrun = \"cat types.txt\"\nkind = \"build\"\n\
         [gates.commands.test]\nrun = \"cat t.txt; exit 1\"\nparser = \"pytest\"\n",
    );
    let output = env.spore(&["sentinel", "--checks-only"]).code(10);
    insta::assert_snapshot!("places_and_assertions", told(&output));
    let fixes = artefact(&env, "sentinel/cycle-1/fix-list.json");
    assert_eq!(fixes["fixes"][1]["file"], "src/app.py");
    assert_eq!(fixes["fixes"][1]["line"], 3);
}

/// Whether every effect is asked for, and not one of each kind.
fn is_whole() -> bool {
    asked_for("all") || std::env::var_os("FLOW_MATRIX").is_some()
}

#[test]
fn a_sentinel_killed_at_any_effect_ends_like_one_that_was_not() {
    let whole = is_whole();
    let random = if whole { 20 } else { 0 };
    let target = KillTarget { scene: &project, command: CHECK, random };
    let tally =
        matrix_of(&target, CommandTraits { one_of_each: !whole, ..CommandTraits::default() });
    println!("kill matrix of a sentinel: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}

#[test]
fn a_judged_sentinel_killed_at_any_effect_ends_like_one_that_was_not() {
    let whole = is_whole();
    // Mending is a whole run, whose own effects have a matrix of their own.
    let scene = || if whole { judged(WHOLE) } else { judged(AT_ONCE) };
    let once: Vec<&str> = JUDGE.iter().chain(&["--max-cycles", "1"]).copied().collect();
    let (command, random) = if whole { (JUDGE, 20) } else { (once.as_slice(), 0) };
    let target = KillTarget { scene: &scene, command, random };
    let tally =
        matrix_of(&target, CommandTraits { one_of_each: !whole, ..CommandTraits::default() });
    println!("kill matrix of a judged sentinel: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}

/// The roles of the loop on a real agent. The auditor of the first cycle tries to mend the work
/// itself, in both of the ways it knows, before it answers.
fn loop_with(backend: &str, shell: fn(&str) -> Turn, write: Turn, more: &[(&str, &str)]) {
    let spec =
        r#"<test-spec>{"requirements": [{"id": "R1", "text": "wrong.txt is empty"}]}</test-spec>"#;
    let audit = |grade: &str, status: &str| {
        format!(
            r#"<audit>{{"grade": "{grade}", "requirements": [{{"id": "R1", "status": "{status}", "evidence": "wrong.txt"}}]}}</audit>"#
        )
    };
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let summary = r#"<summary>{"title": "It is empty", "summary": "wrong.txt was emptied.", "lessons": []}</summary>"#;
    let turns = [
        // First: what is summed up quotes the others.
        Turn::says(summary).when(When::contains("summarizer after its end")),
        Turn::says("done").when(after("WRITTEN")).sticky(),
        Turn::says(spec).when(When::contains("Write the test specification")),
        shell("printf '' > wrong.txt").when(When::contains("Audit cycle 1 of this work")),
        // Whatever it is told of its tries.
        write.when(after("")),
        Turn::says(&audit("FAIL", "unmet")).when(after("")),
        Turn::says(r#"<fixes>{"fixes": [{"id": 1, "suggested_fix": "empty it"}]}</fixes>"#)
            .when(When::contains("Put these fixes into the order")),
        shell("printf '' > wrong.txt; printf WRIT; echo TEN")
            .when(When::contains("coder in bounce 1")),
        Turn::says(SUPPORTS).when(When::contains("verifier in bounce 1")),
        Turn::says(&audit("PASS", "met")).when(When::contains("Audit cycle 2 of this work")),
    ];
    let env = project();
    env.write("wrong.txt", "x\n");
    let server = ModelServer::start(verified_run::scenario(turns)).unwrap();
    let variables = verified_run::variables(&server.url());
    let variables = variables.iter().map(|(name, value)| (*name, value.as_str()));
    let variables: Vec<(&str, &str)> = variables.chain(more.iter().copied()).collect();
    let args = ["sentinel", "--task", "the wrong lines go", "--backend", backend, "--json"];
    let args = [&args[..], &["--model", MODEL]].concat();
    let output = env.spore_in(&env.repo(), &args, &variables);
    assert_eq!(output.code, 0, "{}", output.render());
    assert_eq!(server.unanswered().len(), 0);
    let report = output.json();
    assert_eq!((&report["grade"], &report["verification"]["cycle"]), (&json!("PASS"), &json!(2)));
    let summary = artefact(&env, "sentinel/summary.json");
    assert_eq!(summary["blocking_counts"], json!([2, 0]), "the auditor mended nothing");
    assert_eq!(std::fs::read_to_string(env.repo().join("wrong.txt")).unwrap(), "x\n");
    assert_eq!(report["cost"]["usd"], json!(server.totals().cost_usd), "{report:#}");
}

#[test]
fn the_loop_runs_on_our_own_agent_and_is_booked_as_the_model_counts() {
    let write = Turn::calls("write", json!({ "path": "wrong.txt", "content": "" }));
    loop_with("api", |command| Turn::calls("run", json!({ "command": command })), write, &[]);
}

#[test]
fn live_claude_runs_the_loop_and_an_auditor_changes_nothing() {
    let Ok(program) = std::env::var("SPORE_TEST_CLAUDE") else {
        eprintln!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does");
        return;
    };
    let bash = |command: &str| {
        Turn::calls("Bash", json!({ "command": command, "description": "as told" }))
    };
    let write = Turn::calls("Write", json!({ "file_path": "wrong.txt", "content": "" }));
    loop_with("claude", bash, write, &[("SPORE_CLAUDE_PROGRAM", &program)]);
}
