//! `--apply` and `spore runs rollback`, as a person meets them.

use spore_testkit::TestEnv;
use spore_testkit::kill::{CommandTraits, KillPoint, KillTarget, sample};

use crate::scenes::{self, WRITE_42, told};

/// A verified run, applied as asked.
fn applied(
    how: &str,
    code: i32,
    prepare: &dyn Fn(&TestEnv),
) -> (TestEnv, spore_testkit::ProgramOutput) {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    prepare(&env);
    let output = scenes::orchestrate(&env, &["--apply", how]).code(code);
    (env, output)
}

fn rollback(env: &TestEnv, more: &[&str]) -> spore_testkit::ProgramOutput {
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
    insta::assert_snapshot!(told(&planned), @"
    exit code: 0
    --- stdout
    A rollback of run RUN-0001 (write the answer) would mean:
      - main goes from hash-0000002 to hash-0000003, without the change
      - branch spore/write-the-answer-RUN-0001 is removed; refs/spore/RUNID-001/rolled-back keeps its commit
      - what it taught no longer counts: 2 nodes of the graph
    --- stderr
    ");
    assert_eq!(env.git(&["show", "HEAD:answer.txt"]), "42");
    let done = rollback(&env, &["--yes"]).code(0);
    insta::assert_snapshot!(told(&done), @"
    exit code: 0
    --- stdout
    Rolled back run RUN-0001 (write the answer):
      - main goes from hash-0000002 to hash-0000003, without the change
      - branch spore/write-the-answer-RUN-0001 is removed; refs/spore/RUNID-001/rolled-back keeps its commit
      - what it taught no longer counts: 2 nodes of the graph
    --- stderr
    ");
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
    let branch = scenes::newest_branch(&env);
    assert_eq!(env.git(&["show", &format!("{branch}:answer.txt")]), "42");
}

#[test]
fn a_conflict_of_a_rollback_is_told_with_the_next_step() {
    let (env, _) = applied("merge", 0, &|_| {});
    env.write("answer.txt", "43\n");
    env.commit_all("later");
    let refused = rollback(&env, &["--yes"]).code(1);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 1
    --- stdout
    --- stderr
    error: main has changed in the same places since: the work of run RUN-0001 cannot be taken out by itself, it conflicts in answer.txt
      try: nothing was changed. On main: git revert hash-0000002, and mend the conflicts; then `spore runs rollback RUN-0001` does the rest
    ");
    assert_eq!(refused.stdout, "");
    assert_eq!(scenes::newest(&env)["status"], "verified");
}

/// A verified run, laid into the person's own files.
fn laid() -> TestEnv {
    let steps = format!("{WRITE_42}, {{ write = \"notes/new.txt\", content = \"new\\n\" }}");
    let env = scenes::with_scenario(&scenes::one_bounce(&steps));
    let _ = scenes::orchestrate(&env, &["--in-place"]).code(0);
    assert_eq!(env.git(&["status", "--porcelain"]), "M  answer.txt\nA  notes/new.txt");
    env
}

#[test]
fn what_was_laid_into_the_persons_files_is_taken_out_again() {
    let env = laid();
    env.write("kept.txt", "mine\n");
    let planned = rollback(&env, &["--dry-run"]).code(0);
    insta::assert_snapshot!(told(&planned), @"
    exit code: 0
    --- stdout
    A rollback of run RUN-0001 (write the answer) would mean:
      - what was laid into your files goes back: 2 files
      - branch spore/write-the-answer-RUN-0001 is removed; refs/spore/RUNID-001/rolled-back keeps its commit
      - what it taught no longer counts: 2 nodes of the graph
    --- stderr
    ");
    assert_eq!(env.git(&["diff", "--staged", "--name-only"]), "answer.txt\nnotes/new.txt");
    let done = rollback(&env, &["--yes", "--json"]).code(0);
    assert_eq!(done.json()["state"], "done");
    assert_eq!(env.git(&["status", "--porcelain"]), " M kept.txt");
    assert_eq!(std::fs::read_to_string(env.repo().join("answer.txt")).unwrap(), "41\n");
    assert!(!env.repo().join("notes").exists());
    assert_eq!(scenes::newest(&env)["status"], "rolled-back");
}

#[test]
fn files_that_the_person_went_on_with_are_named_and_stay() {
    let env = laid();
    env.write("answer.txt", "42, as far as I know\n");
    let refused = rollback(&env, &["--yes"]).code(65);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 65
    --- stdout
    --- stderr
    error: the work of run RUN-0001 cannot be taken out of your files: answer.txt is not as it was laid down
      try: nothing was changed. Stage what you only unstaged, and commit or stash what is yours; then `spore runs rollback RUN-0001`
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), "MM answer.txt\nA  notes/new.txt");
    assert_eq!(scenes::newest(&env)["status"], "verified");
    env.git(&["commit", "--quiet", "--all", "--message", "mine now"]);
    let done = rollback(&env, &["--yes"]).code(0);
    let left = "in commits of yours: answer.txt, notes/new.txt";
    assert!(done.stdout.contains(left), "{}", done.stdout);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_rollback_of_laid_files_killed_among_its_effects_is_called_again() {
    for point in ["before:checkout:files of the user#1", "after:checkout:files of the user#1"] {
        let env = laid();
        let id = scenes::newest_id(&env);
        let args = ["runs", "rollback", id.as_str(), "--yes"];
        let killed = env.spore_in(&env.repo(), &args, &[("SPORE_KILL_AT", point)]);
        assert_eq!(killed.code, 137, "{}", killed.render());
        let done = rollback(&env, &["--yes"]).code(0);
        assert!(done.stdout.contains("what was laid into your files goes back: 2 files"));
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        assert_eq!(scenes::newest(&env)["status"], "rolled-back");
    }
}

/// Something that looks like a key. Put together here, so that no file of ours holds one.
fn key() -> String {
    format!("AK{}Q7ZK2LMX4VB6TR5W", "IA")
}

/// A coder that does its task and writes a key beside it.
fn leaking() -> TestEnv {
    let leak = format!("{{ write = \"deploy.py\", content = \"x = '{}'\\n\" }}", key());
    let kept = r#"{ edit = "kept.txt", find = "keep me", replace = "keep me, please" }"#;
    scenes::with_scenario(&scenes::one_bounce(&format!("{WRITE_42}, {kept}, {leak}")))
}

#[test]
fn a_key_in_a_change_turns_it_down_and_is_never_said() {
    let (env, key) = (leaking(), key());
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

#[test]
fn a_key_that_was_turned_down_is_under_no_ref_when_the_run_is_over() {
    let env = leaking();
    let _ = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    let blob = {
        env.write_at(&env.dir().join("deploy.py"), &format!("x = '{}'\n", key()));
        env.git(&["hash-object", "../deploy.py"])
    };
    // It was there: the object still is, until the run is pruned.
    assert_eq!(env.work_git(&["cat-file", "-t", &blob]), "blob");
    let reachable = env.work_git(&["rev-list", "--objects", "--all"]);
    assert!(!reachable.contains(&blob), "{reachable}");
    let stored = env.git(&["cat-file", "--batch-check", "--batch-all-objects"]);
    assert!(!stored.contains(&blob), "{stored}");
    // The rest of the work is kept.
    let kept = format!("refs/spore/{}/bounce/1", scenes::newest_id(&env));
    let head = env.git(&["rev-parse", "HEAD"]);
    assert_eq!(env.work_git(&["diff", "--name-only", &head, &kept]), "answer.txt\nkept.txt");
    assert_eq!(env.work_git(&["show", &format!("{kept}:answer.txt")]), "42");
}

#[test]
fn a_key_that_a_lost_session_left_behind_is_let_go_too() {
    let leak =
        format!(r#"{{ run = "test -e $HOME/waits || echo 'x = \"{}\"' > deploy.py" }}"#, key());
    let steps = format!("{leak}, {}, {WRITE_42}", scenes::WAIT_ONCE);
    let env = scenes::with_scenario(&scenes::one_bounce(&steps));
    let mut child = env.start_in(&env.repo(), scenes::ORCHESTRATE, &[]);
    scenes::wait_for("the agent", || env.dir().join("home/waits").exists());
    child.kill().unwrap();
    assert_eq!(env.finish(child).code, 137);
    let _ = env.spore(&["resume"]).code(0);
    let left = format!("refs/spore/{}/left/1-1", scenes::newest_id(&env));
    let message = env.work_git(&["log", "-1", "--format=%s", &left]);
    assert!(message.ends_with("without its secrets"), "{message}");
    let head = env.git(&["rev-parse", "HEAD"]);
    assert_eq!(env.work_git(&["diff", "--name-only", &head, &left]), "");
}

#[test]
fn a_run_that_is_killed_while_it_lets_go_of_a_key_ends_like_one_that_was_not() {
    let command = [scenes::ORCHESTRATE, &["--max-bounces", "1"]].concat();
    let target = KillTarget { scene: &leaking, command: &command, random: 0 };
    let points = [
        "before:commit:bounce/1 of run RUN, without its secrets#1",
        "before:ref:refs/spore/RUN/bounce/1#2",
        "after:ref:refs/spore/RUN/bounce/1#2",
    ];
    let tally = sample(&target, CommandTraits::default(), &points.map(KillPoint::At));
    assert_eq!((tally.ended.as_str(), tally.killed), ("escalated", 3));
    assert_eq!(tally.divergent, Vec::<String>::new(), "{}", tally.line());
}
