//! The project's own checks, graded, cycle by cycle.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use serde_json::{Value, json};
use spore_testkit::TestEnv;
use spore_testkit::kill::{CommandTraits, KillTarget, matrix_of};

use crate::scenes::{self, told};

/// A project with a test that counts wrong lines, and a linter.
fn project() -> TestEnv {
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
fn it_only_checks_and_says_so() {
    let env = project();
    let output = env.spore(&["sentinel"]).code(64);
    assert!(output.stderr.contains("--checks-only"), "{}", output.stderr);
}

#[test]
fn a_sentinel_killed_at_any_effect_ends_like_one_that_was_not() {
    let whole = std::env::var_os("FLOW_MATRIX").is_some();
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
