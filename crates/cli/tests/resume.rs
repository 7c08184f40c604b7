//! `spore resume`: whatever stopped a run, it ends as an undisturbed one does.

use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};
use spore_testkit::{ProgramOutput, TestEnv, wait_until_none};

use crate::scenes::{self, WAIT_ONCE, WRITE_42, told};

/// A coder that waits in its second bounce, with a half-done change.
fn second_bounce_waits() -> String {
    let waits = format!(
        r#"{{ expect = "sh check.sh" }}, {{ write = "half.txt", content = "half\n" }}, {WAIT_ONCE}, {{ run = "rm -f half.txt" }},"#
    );
    scenes::THREE_BOUNCES.replace(r#"{ expect = "sh check.sh" },"#, &waits)
}

/// Starts the task of the scene and returns when it waits.
fn start(env: &TestEnv) -> Child {
    let child = env.start_in(&env.repo(), scenes::ORCHESTRATE, &[]);
    scenes::wait_for("the agent", || env.dir().join("home/waits").exists());
    child
}

fn signal(env: &TestEnv, name: &str, child: &Child) {
    scenes::system(env, "kill", &[&format!("-{name}"), &child.id().to_string()]);
}

/// Starts the task, sends a signal while it waits, and returns what was told.
fn stop(env: &TestEnv, name: &str) -> ProgramOutput {
    let child = start(env);
    signal(env, name, &child);
    let output = env.finish(child);
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(8)), [], "left by {name}");
    output
}

/// The result of a run, without what a pause may rightly add.
fn result(env: &TestEnv) -> Value {
    let shown = scenes::newest(env);
    let branch = scenes::branch_of(env, shown["run"]["id"].as_str().unwrap());
    let bounces: Vec<Value> = shown["bounces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bounce| json!([bounce["status"], bounce["tree"], bounce["gates"], bounce["verdict"]]))
        .collect();
    json!({
        "status": shown["status"],
        "bounces": bounces,
        "change": env.git(&["diff", "main", &branch]),
        "message": scenes::plain(&env.git(&["show", "-s", "--format=%B", &branch])),
    })
}

/// The result of the same scene when the run is not stopped.
fn undisturbed(scenario: &str) -> Value {
    let env = scenes::with_scenario(scenario);
    env.write_at(&env.dir().join("home/waits"), "");
    let _ = scenes::orchestrate(&env, &[]).code(0);
    result(&env)
}

#[test]
fn a_session_that_is_started_again_is_told_the_same_to_the_byte() {
    let env = scenes::with_scenario(&second_bounce_waits());
    let _ = stop(&env, "KILL");
    let resumed = env.spore(&["resume"]).code(0);
    // Every command of a scene has a later time: the task file's is that of the first attempt.
    let task = |session: &str| scenes::artefact(&env, &format!("bounce-2/{session}/task.md"));
    let again = task("coder");
    let (same, left) = again.split_once("\n\n## Left behind\n").unwrap();
    assert_eq!(same, task("coder.lost-1").trim_end());
    assert!(same.contains(" UTC."), "{same}");
    // An agent that cannot go on with a conversation is told what was left, and so is the user.
    assert!(left.contains("+++ b/half.txt\n@@ -0,0 +1 @@\n+half\n"), "{left}");
    let kept = format!("refs/spore/{}/left/2-1", scenes::newest_id(&env));
    assert!(resumed.stderr.contains(&kept), "{}", resumed.stderr);
    assert_eq!(env.work_git(&["show", &format!("{kept}:half.txt")]), "half");
    let shown = env.spore(&["runs", "show"]).code(0).stdout;
    let told = format!(
        "left        What was changed when a session was cut short:\n{:16}git --git-dir=.spore/work.git show {kept}\n",
        ""
    );
    assert!(shown.contains(&told), "{shown}");
    assert_eq!(scenes::newest(&env)["left"], serde_json::json!([kept]));
}

#[test]
fn where_several_runs_wait_a_person_says_which() {
    let env = scenes::with_scenario(&second_bounce_waits());
    for task in ["first task", "second task"] {
        let args = ["orchestrate", task, "--backend", "replay", "--scenario", "../scenario.toml"];
        let point = [("SPORE_KILL_AT", "before:row:begin coder/1")];
        let _ = env.spore_in(&env.repo(), &args, &point).code(137);
    }
    let several = env.spore(&["resume"]).code(65);
    insta::assert_snapshot!(told(&several), @"
    exit code: 65
    --- stdout
    --- stderr
    error: 2 runs wait to be resumed
      try: say which one, or give one up with `spore runs abandon`:
        spore resume RUN-0001  interrupted: second task
        spore resume RUN-0002  interrupted: first task
    ");
    let id = scenes::newest_id(&env);
    let abandoned = env.spore(&["runs", "abandon", &id]).code(0);
    assert!(abandoned.stdout.contains("is cancelled: second task"), "{}", abandoned.render());
    assert_eq!(scenes::newest(&env)["status"], "cancelled");
    let over = env.spore(&["resume", &id]).code(65);
    assert!(over.stderr.contains("is over: cancelled"), "{}", over.render());
    // Now there is one to go on with.
    env.write_at(&env.dir().join("home/waits"), "");
    let _ = env.spore(&["resume"]).code(0);
}

#[test]
fn a_run_that_is_given_up_keeps_its_work_and_is_booked() {
    let env = scenes::with_scenario(&second_bounce_waits());
    let _ = stop(&env, "KILL");
    let id = scenes::newest_id(&env);
    let abandoned = env.spore(&["runs", "abandon", &id, "--json"]).code(0).json();
    let left = abandoned["left"][0].as_str().unwrap();
    assert_eq!(env.work_git(&["show", &format!("{left}:half.txt")]), "half");
    let shown = scenes::newest(&env);
    assert_eq!(shown["status"], "cancelled");
    assert_eq!(shown["ledger"].as_array().unwrap().len(), 2, "{shown:#}");
    assert_eq!(shown["ledger"][1]["interrupted"], true);
    assert_eq!(shown["cost"], abandoned["cost"]);
    let events = env.spore(&["events", "tail", "--limit", "1000"]).code(0).stdout;
    assert_eq!(events.matches("run.cancelled").count(), 1, "{events}");
    // Giving it up twice is a mistake, and pruning takes what a ref keeps.
    let _ = env.spore(&["runs", "abandon", &id]).code(65);
    let pruned = env.spore(&["runs", "prune", "--json"]).code(0).json();
    assert_eq!(pruned["runs"].as_array().unwrap().len(), 1, "{pruned}");
}

#[test]
fn a_session_that_was_never_started_costs_nothing() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let point = [("SPORE_KILL_AT", "after:row:amend coder/1")];
    let _ = env.spore_in(&env.repo(), scenes::ORCHESTRATE, &point).code(137);
    let _ = env.spore(&["resume"]).code(0);
    let ledger = scenes::newest(&env)["ledger"].clone();
    assert_eq!(ledger[0]["interrupted"], true, "{ledger:#}");
    assert_eq!(ledger[0]["cost"], json!({ "usd": 0.0, "estimated": false }), "{ledger:#}");
}

#[test]
fn a_retry_keeps_the_model_and_takes_another() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let _ = scenes::orchestrate(&env, &["--model", "large", "--apply", "none"]).code(0);
    let model = |env: &TestEnv| {
        let ledger = scenes::newest(env)["ledger"].clone();
        ledger.as_array().unwrap().iter().map(|row| row["model"].to_string()).collect::<Vec<_>>()
    };
    let id = scenes::newest_id(&env);
    let _ = env.spore(&["retry", &id]).code(0);
    assert_eq!(model(&env), [r#""large""#, r#""large""#]);
    let again = ["retry", &id, "--model", "small", "--backend", "replay", "--apply", "branch"];
    let _ = env.spore(&[&again[..], &["--budget", "7"]].concat()).code(0);
    assert_eq!(model(&env), [r#""small""#, r#""small""#]);
    assert!(!scenes::newest_branch(&env).is_empty());
}

#[test]
fn a_run_stopped_by_ctrl_c_parks_and_ends_as_if_nothing_had_happened() {
    let scenario = second_bounce_waits();
    let env = scenes::with_scenario(&scenario);
    let stopped = stop(&env, "INT").code(20);
    insta::assert_snapshot!(told(&stopped));
    assert_eq!(scenes::newest(&env)["status"], "interrupted");
    let listed = env.spore(&["runs", "list"]).code(0);
    insta::assert_snapshot!(told(&listed), @"
    exit code: 0
    --- stdout
    RUN       STATUS         STARTED                    COST  TASK
    RUN-0001  interrupted    2026-01-02 03:06 UTC     ~$1.50  write the answer
    --- stderr
    ");
    let resumed = env.spore(&["resume"]).code(0);
    insta::assert_snapshot!("an_interrupted_run_resumed", told(&resumed));
    assert_eq!(result(&env), undisturbed(&scenario));
    let shown = env.spore(&["runs", "show", &scenes::newest_id(&env)]).code(0);
    insta::assert_snapshot!("an_interrupted_run_shown", told(&shown));
}

#[test]
fn a_run_stopped_by_term_parks_like_one_stopped_by_ctrl_c() {
    let scenario = second_bounce_waits();
    let env = scenes::with_scenario(&scenario);
    let stopped = stop(&env, "TERM").code(20);
    assert!(stopped.stdout.contains("spore resume"), "{}", stopped.render());
    let _ = env.spore(&["resume"]).code(0);
    assert_eq!(result(&env), undisturbed(&scenario));
}

#[test]
fn an_interrupted_run_tells_machines_the_same() {
    let env = scenes::with_scenario(&second_bounce_waits());
    let args: Vec<&str> = scenes::ORCHESTRATE.iter().chain(&["--json", "-q"]).copied().collect();
    let child = env.start_in(&env.repo(), &args, &[]);
    scenes::wait_for("the agent", || env.dir().join("home/waits").exists());
    signal(&env, "INT", &child);
    let output = env.finish(child).code(20);
    assert_eq!(output.json()["status"], "interrupted");
    assert_eq!(output.json()["run"]["park"], "interrupt");
    assert_eq!(output.stderr, "");
}

#[test]
fn a_run_killed_while_a_gate_runs_checks_again() {
    let scenario = scenes::one_bounce(WRITE_42);
    let check = "if grep -q 42 answer.txt && ! test -e $HOME/waits; then\n  \
                 touch $HOME/waits; sleep 600\nfi\n";
    let scene = || {
        let env = scenes::with_scenario(&scenario);
        env.write("check.sh", check);
        env.commit_all("a check that takes its time");
        env
    };
    let env = scene();
    let _ = stop(&env, "KILL").code(137);
    assert_eq!(scenes::newest(&env)["status"], "interrupted");
    let resumed = env.spore(&["resume"]).code(0);
    assert!(resumed.stderr.contains("checks: attempt 1"), "{}", resumed.stderr);
    assert!(!resumed.stderr.contains("coder (replay)"), "paid twice: {}", resumed.stderr);
    let calm = scene();
    calm.write_at(&calm.dir().join("home/waits"), "");
    let _ = scenes::orchestrate(&calm, &[]).code(0);
    assert_eq!(result(&env), result(&calm));
}

#[test]
fn a_run_is_worked_on_by_one_process_at_a_time() {
    let env = scenes::with_scenario(&scenes::one_bounce(&format!("{WAIT_ONCE}, {WRITE_42}")));
    let child = start(&env);
    assert_eq!(scenes::newest(&env)["status"], "running");
    let id = scenes::newest_id(&env);
    let second = env.spore(&["resume", &id]).code(65);
    insta::assert_snapshot!(told(&second), @"
    exit code: 65
    --- stdout
    --- stderr
    error: run RUN-0001 is being worked on by another process
      try: `spore runs show RUN-0001` tells how far it is; Ctrl-C there parks it, and so does `spore runs cancel RUN-0001`
    ");
    let other = env.spore(&["resume"]).code(65);
    insta::assert_snapshot!(told(&other), @"
    exit code: 65
    --- stdout
    --- stderr
    error: no run is waiting to be resumed
      try: `spore runs list` shows all runs
    ");
    signal(&env, "INT", &child);
    let _ = env.finish(child).code(20);
    let _ = env.spore(&["resume"]).code(0);
}

#[test]
fn two_runs_of_one_project_do_not_get_in_each_others_way() {
    let env = scenes::with_scenario(&scenes::one_bounce(&format!("{WAIT_ONCE}, {WRITE_42}")));
    let child = start(&env);
    let _ = scenes::orchestrate(&env, &[]).code(0);
    signal(&env, "INT", &child);
    let _ = env.finish(child).code(20);
    let _ = env.spore(&["resume"]).code(0);
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    let status: Vec<&Value> = listed.as_array().unwrap().iter().map(|run| &run["status"]).collect();
    assert_eq!(status, ["verified", "verified"]);
}

#[test]
fn a_run_that_is_over_is_not_resumed() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let _ = scenes::orchestrate(&env, &[]).code(0);
    let before = scenes::newest(&env);
    let over = env.spore(&["resume", &scenes::newest_id(&env)]).code(65);
    insta::assert_snapshot!(told(&over), @"
    exit code: 65
    --- stdout
    --- stderr
    error: run RUN-0001 is over: verified
      try: `spore runs show RUN-0001` tells where its work is
    ");
    let nothing = env.spore(&["resume"]).code(65);
    insta::assert_snapshot!(told(&nothing), @"
    exit code: 65
    --- stdout
    --- stderr
    error: no run is waiting to be resumed
      try: `spore runs list` shows all runs
    ");
    assert_eq!(scenes::newest(&env), before);
}

#[test]
fn an_id_must_name_one_run() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    for task in ["first task", "second task"] {
        let args = ["orchestrate", task, "--backend", "replay", "--scenario", "../scenario.toml"];
        let _ = env.spore(&args).code(0);
    }
    let ambiguous = env.spore(&["resume", "01"]).code(65);
    insta::assert_snapshot!(told(&ambiguous), @r#"
    exit code: 65
    --- stdout
    --- stderr
    error: "01" could be any of 2 runs
      try: type more of the id:
        RUNID-001  first task
        RUNID-002  second task
    "#);
    for typed in ["ZZZZ", "", "not an id", "%"] {
        let unknown = env.spore(&["resume", typed]).code(65);
        assert!(unknown.stderr.contains("there is no run"), "{}", unknown.stderr);
        assert!(unknown.stderr.contains("spore runs list"), "{}", unknown.stderr);
    }
}

#[test]
fn a_run_whose_checkout_was_deleted_lays_it_out_again() {
    let scenario = second_bounce_waits();
    let env = scenes::with_scenario(&scenario);
    let _ = stop(&env, "INT").code(20);
    std::fs::remove_dir_all(env.dir().join("state")).unwrap();
    let _ = env.spore(&["resume"]).code(0);
    assert_eq!(result(&env), undisturbed(&scenario));
}

#[test]
fn work_that_was_deleted_before_it_was_seen_is_done_again() {
    let once = scenes::one_bounce(WRITE_42);
    let env = scenes::with_scenario(&(once.clone() + &once.replace("bounce = 1", "bounce = 2")));
    let point = [("SPORE_KILL_AT", "before:row:begin snapshot/1")];
    let _ = env.spore_in(&env.repo(), scenes::ORCHESTRATE, &point).code(137);
    std::fs::remove_dir_all(env.dir().join("state")).unwrap();
    let resumed = env.spore(&["resume"]).code(0);
    insta::assert_snapshot!(told(&resumed));
}

#[test]
fn a_bounce_whose_checkout_was_deleted_starts_from_the_last_ones_change() {
    let env = scenes::with_scenario(scenes::THREE_BOUNCES);
    let point = [("SPORE_KILL_AT", "before:row:begin coder/2")];
    let _ = env.spore_in(&env.repo(), scenes::ORCHESTRATE, &point).code(137);
    std::fs::remove_dir_all(env.dir().join("state")).unwrap();
    let _ = env.spore(&["resume"]).code(0);
    assert_eq!(result(&env), undisturbed(scenes::THREE_BOUNCES));
}

#[test]
fn the_id_of_a_session_stands_for_its_run() {
    let env = scenes::with_scenario(&second_bounce_waits());
    let _ = stop(&env, "INT").code(20);
    let session = scenes::newest(&env)["bounces"][1]["sessions"][0]["id"].clone();
    let _ = env.spore(&["resume", session.as_str().unwrap()]).code(0);
    assert_eq!(scenes::newest(&env)["status"], "verified");
}

#[test]
fn a_run_whose_scenario_is_gone_says_so_and_waits_for_it() {
    let scenario = second_bounce_waits();
    let env = scenes::with_scenario(&scenario);
    let _ = stop(&env, "INT").code(20);
    let place = env.dir().join("scenario.toml");
    std::fs::remove_file(&place).unwrap();
    let refused = env.spore(&["resume"]).code(65);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 65
    --- stdout
    --- stderr
    error: cannot read the scenario $TEST_ENV/scenario.toml
      because: No such file or directory (os error 2)
      try: put it back: every session of the run is played from it
    ");
    assert_eq!(scenes::newest(&env)["status"], "interrupted");
    env.write_at(&place, &scenario);
    let _ = env.spore(&["resume"]).code(0);
    assert_eq!(result(&env), undisturbed(&scenario));
}

#[test]
fn a_run_goes_on_with_what_it_was_started_with() {
    let scenario = second_bounce_waits();
    let env = scenes::with_scenario(&scenario);
    let _ = stop(&env, "INT").code(20);
    // Neither a new commit nor new settings are part of a run that began before them.
    env.write("answer.txt", "another\n");
    env.commit_all("the user goes on");
    env.write(".spore/config.toml", "[gates.commands.check]\nrun = \"false\"\n");
    let _ = env.spore(&["resume"]).code(0);
    let branch = scenes::newest_branch(&env);
    assert_eq!(env.git(&["diff", "--name-only", "main~1", &branch]), "answer.txt\nnotes/new.txt");
}
