//! Verified work onto a branch that moved on while it was made: checked as it stands there, or not
//! landed.

use spore_testkit::TestEnv;
use spore_testkit::kill::{CommandTraits, KillPoint, KillTarget, matrix_of, sample};

use crate::kill_matrix::asked_for;
use crate::scenes::{self, WRITE_42, one_bounce};

/// The run begins below the tip: so the branch has moved on from the start.
const LATE: &[&str] = &["--base", "HEAD~1", "--apply", "merge"];

/// A scene whose branch has one commit more than the run begins from.
fn moved(scenario: &str, path: &str, content: &str) -> TestEnv {
    let env = scenes::with_scenario(scenario);
    env.write("long.txt", &lines(""));
    env.commit_all("a long file");
    env.write(path, content);
    env.commit_all("theirs");
    env
}

/// Twenty numbered lines, one of them another.
fn lines(other: &str) -> String {
    let line =
        |n: u32| if other.starts_with(&format!("{n} ")) { other.to_owned() } else { n.to_string() };
    (1..=20).map(|n| line(n) + "\n").collect()
}

fn message(env: &TestEnv) -> String {
    env.git(&["log", "-1", "--format=%B"])
}

fn tree_of(env: &TestEnv, revision: &str) -> String {
    env.git(&["rev-parse", &format!("{revision}^{{tree}}")])
}

#[test]
fn work_lands_on_a_branch_that_moved_on_when_both_together_are_green() {
    let env = moved(&one_bounce(WRITE_42), "theirs.txt", "theirs\n");
    let tip = env.git(&["rev-parse", "HEAD"]);
    let output = scenes::orchestrate(&env, LATE).code(0);
    assert!(output.stderr.contains("brought onto"), "{}", output.render());
    assert_eq!(env.git(&["show", "main:answer.txt"]), "42");
    assert_eq!(env.git(&["show", "main:theirs.txt"]), "theirs");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(env.git(&["rev-parse", "main^"]), tip, "one commit on top of theirs");
    let run = scenes::newest(&env);
    let judged = tree_of(&env, &scenes::newest_branch(&env));
    let told = message(&env);
    assert!(told.contains(&format!("Spore-Judged: {judged}\n")), "{told}");
    assert!(told.contains(&format!("Spore-Tree: {}", tree_of(&env, "main"))), "{told}");
    assert_eq!(run["status"], "verified");
    assert_eq!(run["ledger"].as_array().unwrap().len(), 2, "no verifier was asked again: {run}");
    assert_eq!(run["parts"][0]["kind"], "merge");
    assert_eq!(run["parts"][0]["status"], "finished");
    // It is taken back like any other.
    let _ = env.spore(&["runs", "rollback", run["run"]["id"].as_str().unwrap(), "--yes"]).code(0);
    assert_eq!(env.git(&["rev-parse", "main"]), tip);
}

#[test]
fn where_both_sides_touch_a_file_the_verifier_judges_what_lands() {
    let ours = r#"{ run = "sed -i 's/^3$/3 ours/' long.txt" }"#;
    let env = moved(&one_bounce(ours), "long.txt", &lines("17 theirs"));
    let output = scenes::orchestrate(&env, LATE).code(0);
    assert!(output.stderr.contains("both sides touch long.txt"), "{}", output.render());
    let landed = env.git(&["show", "main:long.txt"]);
    assert!(landed.contains("3 ours") && landed.contains("17 theirs"), "{landed}");
    let told = message(&env);
    assert!(!told.contains("Spore-Judged") && told.contains("Spore-Merge"), "{told}");
    let run = scenes::newest(&env);
    assert_eq!(run["ledger"].as_array().unwrap().len(), 3);
    assert_eq!(run["cost"]["usd"], 1.0, "the second verdict is on the bill: {run}");
    assert_eq!(run["run"]["cost_usd"], 1.0);
}

/// Asserts that nothing landed, and why.
#[track_caller]
fn check_not_landed(env: &TestEnv, why: &str) {
    let tip = env.git(&["rev-parse", "HEAD"]);
    let output = scenes::orchestrate(env, LATE).code(12);
    assert!(output.stdout.contains(why), "{}", output.render());
    assert_eq!(env.git(&["rev-parse", "main"]), tip);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let run = scenes::newest(env);
    assert_eq!(
        (&run["status"], &run["parts"][0]["status"]),
        (&"verified".into(), &"failed".into())
    );
    assert_eq!(env.git(&["show", &format!("{}:mine.txt", scenes::newest_branch(env))]), "mine");
}

#[test]
fn what_does_not_merge_or_is_red_together_stays_on_its_own_branch() {
    let ours = r#"{ write = "mine.txt", content = "mine\n" }, { run = "sed -i 's/^3$/3 ours/' long.txt" }"#;
    let env = moved(&one_bounce(ours), "long.txt", &lines("3 theirs"));
    check_not_landed(&env, "both sides changed `long.txt`");

    // Each is green by itself.
    let ours = r#"{ write = "mine.txt", content = "mine\n" }"#;
    let env = scenes::with_scenario(&one_bounce(ours));
    env.write("check.sh", "test -s answer.txt && ! { test -e mine.txt && test -e theirs.txt; }\n");
    env.commit_all("one of them at most");
    env.write("theirs.txt", "theirs\n");
    env.commit_all("theirs");
    check_not_landed(&env, "the two together do not hold");
}

#[test]
fn a_branch_that_is_red_by_itself_is_left_alone() {
    let env =
        moved(&one_bounce(r#"{ write = "mine.txt", content = "mine\n" }"#), "kept.txt", "gone\n");
    check_not_landed(&env, "already fail");
}

#[test]
fn a_merge_killed_at_any_effect_ends_like_one_that_was_not() {
    let all = asked_for("all");
    let ours = r#"{ run = "sed -i 's/^3$/3 ours/' long.txt" }"#;
    let target = KillTarget {
        scene: &|| moved(&one_bounce(ours), "long.txt", &lines("17 theirs")),
        command: &[scenes::ORCHESTRATE, LATE].concat(),
        random: 20,
    };
    // All of them take minutes: `SPORE_KILLS=all` asks for them.
    let points = [
        "after:row:create write the answer/1#1",
        "after:commit:work of run RUN#1",
        "before:row:finish write the answer/1 rebase#1",
        "before:row:finish write the answer/1 finish#1",
        "after:ref:branch of the user#1",
        "before:row:finish apply#1",
    ];
    let tally = match all {
        true => matrix_of(&target, CommandTraits::default()),
        false => sample(&target, CommandTraits::default(), &points.map(KillPoint::At)),
    };
    println!("kill matrix of a merge: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.ended, "verified");
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}
