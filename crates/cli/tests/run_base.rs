//! `spore orchestrate --base`: a run from another commit than HEAD.

use spore_testkit::TestEnv;

use crate::scenes::{self, WRITE_42, orchestrate};

/// A repository whose newest commit is checked otherwise than the one before, which is tagged
/// `first`.
fn two_commits() -> TestEnv {
    let env = scenes::env();
    env.write(".gitignore", ".spore/\n");
    env.write("answer.txt", "41\n");
    env.write("Makefile", "test:\n\ttest -s answer.txt\n");
    env.commit_all("a question");
    env.git(&["tag", "-a", "-m", "the first one", "first"]);
    env.write("Makefile", "check:\n\tfalse\n");
    env.write("later.txt", "later\n");
    env.commit_all("another check");
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(WRITE_42));
    env
}

/// What is the person's and must stay as it is.
fn persons(env: &TestEnv) -> String {
    let standing = env.git(&["symbolic-ref", "HEAD"]) + &env.git(&["rev-parse", "HEAD"]);
    standing + &env.git(&["status", "--porcelain"]) + &env.git(&["diff", "HEAD"])
}

#[test]
fn a_run_can_start_from_an_older_commit() {
    let env = two_commits();
    let first = env.git(&["rev-parse", "first^{commit}"]);
    // What is not committed is left out, whatever the base is.
    env.write("later.txt", "mine\n");
    let before = persons(&env);
    let planned = orchestrate(&env, &["--base", "first", "--dry-run", "--json"]).code(0).json();
    assert_eq!(planned["base"], first.as_str());
    assert_eq!(planned["gates"], serde_json::json!(["make test"]));
    assert_eq!(planned["left_out"], 1);

    let output = orchestrate(&env, &["--base", "first"]).code(0);
    assert!(output.stderr.contains("uncommitted"), "{}", output.stderr);
    let branch = scenes::newest_branch(&env);
    let parent = env.git(&["rev-parse", &format!("{branch}^")]);
    assert_eq!(parent, first);
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "42");
    let changed = env.git(&["diff", "--name-only", "first", &branch]);
    assert_eq!(changed, "answer.txt");
    let shown = scenes::newest(&env);
    assert_eq!(shown["run"]["base_commit"], first.as_str());
    assert_eq!(shown["run"]["settings"]["gates"][0]["command"], "make test");
    assert_eq!(persons(&env), before);
}

#[test]
fn a_retry_starts_from_head_unless_it_is_told() {
    let env = two_commits();
    let _ = orchestrate(&env, &["--base", "first"]).code(0);
    let id = scenes::newest_id(&env);
    // At HEAD the project's own check fails.
    let red = env.spore(&["retry", &id]).code(65);
    assert!(red.stderr.contains("--allow-red"), "{}", red.stderr);
    let again = env.spore(&["retry", &id, "--base", "HEAD~1", "--json"]).code(0).json();
    assert_eq!(again["run"]["base_commit"], env.git(&["rev-parse", "first^{commit}"]).as_str());
    assert_eq!(again["run"]["settings"]["retry_of"], id.as_str());
}

#[test]
fn work_on_an_older_base_is_not_merged_into_a_branch_whose_own_checks_fail() {
    let env = two_commits();
    let before = persons(&env);
    let output = orchestrate(&env, &["--base", "first", "--apply", "merge"]).code(12);
    let why = "the branch moved on, and the project's own checks already fail";
    assert!(output.stdout.contains(why), "{}", output.stdout);
    assert_eq!(env.git(&["show", &format!("{}:answer.txt", scenes::newest_branch(&env))]), "42");
    assert_eq!(persons(&env), before);
}

#[test]
fn a_base_that_is_no_commit_is_refused() {
    let env = two_commits();
    for base in ["no-such-branch", "HEAD^{tree}", "HEAD:answer.txt", "first..HEAD", ""] {
        let output = orchestrate(&env, &["--base", base]).code(64);
        let told = format!("--base {base:?} names no commit");
        assert!(output.stderr.contains(&told), "{}", output.stderr);
        assert!(output.stderr.contains("git log --all --oneline"), "{}", output.stderr);
    }
    assert_eq!(scenes::added_refs(&env), [""; 0]);
}

#[test]
fn a_change_is_put_into_files_only_where_they_are_at_the_base() {
    let env = two_commits();
    let output = orchestrate(&env, &["--base", "first", "--in-place"]).code(64);
    assert!(output.stderr.contains("git switch --detach first"), "{}", output.stderr);
    assert_eq!(scenes::added_refs(&env), [""; 0]);
    env.git(&["switch", "--quiet", "--detach", "first"]);
    let _ = orchestrate(&env, &["--base", "first", "--in-place"]).code(0);
    assert_eq!(std::fs::read_to_string(env.repo().join("answer.txt")).unwrap(), "42\n");
}
