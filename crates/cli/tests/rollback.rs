//! `--apply` and `spore runs rollback`, as a person meets them.

use spore_testkit::TestEnv;

use crate::scenes::{self, WRITE_42, told};

/// A verified run, applied as asked.
fn applied(how: &str, code: i32, prepare: &dyn Fn(&TestEnv)) -> (TestEnv, spore_testkit::Output) {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    prepare(&env);
    let output = scenes::orchestrate(&env, &["--apply", how]).code(code);
    (env, output)
}

fn rollback(env: &TestEnv, more: &[&str]) -> spore_testkit::Output {
    let id = scenes::newest_id(env);
    let args: Vec<&str> = ["runs", "rollback", &id].iter().chain(more).copied().collect();
    env.spore(&args)
}

#[test]
fn merged_work_is_in_the_files_and_a_rollback_takes_it_out_again() {
    let (env, output) = applied("merge", 0, &|env| env.write("mine.txt", "mine\n"));
    assert!(output.stdout.contains("merged into main"), "{}", output.stdout);
    assert_eq!(env.git(&["status", "--porcelain"]), "?? mine.txt");
    assert_eq!(env.git(&["show", "HEAD:answer.txt"]), "42");
    let refused = rollback(&env, &[]).code(64);
    assert_eq!(refused.stdout, "");
    let planned = rollback(&env, &["--dry-run"]).code(0);
    insta::assert_snapshot!("what_a_rollback_would_mean", told(&planned));
    assert_eq!(env.git(&["show", "HEAD:answer.txt"]), "42");
    let done = rollback(&env, &["--yes"]).code(0);
    insta::assert_snapshot!("a_rollback_done", told(&done));
    assert_eq!(std::fs::read_to_string(env.repo().join("answer.txt")).unwrap(), "41\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "?? mine.txt");
    assert_eq!(scenes::newest(&env)["status"], "rolled-back");
    let again = rollback(&env, &["--yes", "--json"]).code(0);
    assert_eq!(again.json()["state"], "already");
    let events = env.spore(&["events", "tail", "--json"]).code(0).stdout;
    assert_eq!(events.matches("run.rolled_back").count(), 1, "{events}");
}

#[test]
fn a_merge_that_is_in_the_way_of_nobody_but_the_user_is_left_to_them() {
    let (env, output) = applied("merge", 12, &|env| env.write("answer.txt", "mine\n"));
    assert!(output.stdout.contains("answer.txt has uncommitted changes"), "{}", output.stdout);
    assert_eq!(std::fs::read_to_string(env.repo().join("answer.txt")).unwrap(), "mine\n");
    assert_eq!(scenes::newest(&env)["status"], "verified");
    let branch = format!("spore/{}", scenes::newest_id(&env));
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "42");
}

#[test]
fn a_conflict_of_a_rollback_is_told_with_the_next_step() {
    let (env, _) = applied("merge", 0, &|_| {});
    env.write("answer.txt", "43\n");
    env.commit_all("later");
    let refused = rollback(&env, &["--yes"]).code(1);
    insta::assert_snapshot!("a_rollback_with_a_conflict", told(&refused));
    assert_eq!(refused.stdout, "");
    assert_eq!(scenes::newest(&env)["status"], "verified");
}

#[test]
fn a_key_in_a_change_turns_it_down_and_is_never_said() {
    let key = format!("AK{}Q7ZK2LMX4VB6TR5W", "IA");
    let steps = format!("{WRITE_42}, {{ write = \"deploy.py\", content = \"x = '{key}'\\n\" }}");
    let env = scenes::with_scenario(&scenes::one_bounce(&steps));
    let output = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    let shown = env.spore(&["runs", "show", &scenes::newest_id(&env)]).code(0);
    assert!(!output.stdout.contains(&key) && !output.stderr.contains(&key));
    assert!(!shown.stdout.contains(&key), "{}", shown.stdout);
    let run = env.repo().join(".spore/runs").join(scenes::newest_id(&env));
    let diff = std::fs::read_to_string(run.join("bounce-1/change.diff")).unwrap();
    assert!(diff.contains("[an AWS access key]") && !diff.contains(&key), "{diff}");
    let events = env.spore(&["events", "tail", "--json"]).code(0).stdout;
    assert!(!events.contains(&key), "{events}");
}
