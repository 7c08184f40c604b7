//! Runs that are ended from elsewhere: within two seconds, whatever their agents ignore, and gone on
//! with afterwards.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::time::{Duration, Instant};

use spore_testkit::{TestEnv, wait_until_none};

use crate::scenes::{self, WRITE_42, one_bounce, wait_for};

/// A coder whose child ignores every polite signal, the first time.
pub(crate) const STUBBORN: &str = r#"{ run = "test -e $HOME/waits || { trap '' INT TERM HUP; touch $HOME/waits; sleep 600 & wait; while :; do sleep 1; done; }" }"#;

fn scene(waits: &str) -> TestEnv {
    scenes::with_scenario(&one_bounce(&format!("{waits}, {WRITE_42}")))
}

/// Starts the task and waits until its coder waits.
fn started(env: &TestEnv) -> std::process::Child {
    let child = env.start_in(&env.repo(), scenes::ORCHESTRATE, &[]);
    wait_for("the coder", || is_waiting(env));
    child
}

fn is_waiting(env: &TestEnv) -> bool {
    env.dir().join("home/waits").exists()
}

fn hang_up(env: &TestEnv, child: &std::process::Child) {
    scenes::system(env, "kill", &["-HUP", &child.id().to_string()]);
}

#[test]
fn a_cancelled_run_is_over_within_two_seconds_and_goes_on() {
    for waits in [scenes::WAIT_ONCE, STUBBORN] {
        let env = scene(waits);
        let child = started(&env);
        let id = scenes::newest_id(&env);
        let begun = Instant::now();
        let output = env.spore(&["runs", "cancel", &id, "--json"]).code(0);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?}: {}", output.render());
        assert_eq!(output.json()["was_running"], true);
        let left = wait_until_none(env.dir(), Duration::from_millis(200));
        assert_eq!(left, Vec::new(), "{waits}");
        let _ = env.finish(child);
        let run = scenes::newest(&env);
        assert_eq!(
            (&run["status"], &run["run"]["state"]),
            (&"interrupted".into(), &"parked".into())
        );
        // Once more there is nothing to end, and nothing changes.
        let again = env.spore(&["runs", "cancel", &id, "--json"]).code(0).json();
        assert_eq!((&again["was_running"], &again["killed"]), (&false.into(), &false.into()));
        let _ = env.spore(&["resume"]).code(0);
        assert_eq!(scenes::newest(&env)["status"], "verified");
        let over = env.spore(&["runs", "cancel", &id]).code(65);
        assert!(over.stderr.contains("is over"), "{}", over.render());
    }
}

#[test]
fn a_terminal_that_is_closed_parks_the_run_unless_it_was_to_outlive_it() {
    let env = scene(scenes::WAIT_ONCE);
    let child = started(&env);
    hang_up(&env, &child);
    assert_eq!(env.finish(child).code, 20);
    assert_eq!(scenes::newest(&env)["status"], "interrupted");
    let _ = env.spore(&["resume"]).code(0);

    let env = scene(r#"{ run = "touch $HOME/waits; sleep 1" }"#);
    let command = format!("trap '' HUP; exec {} {}", env.exe().display(), scenes::ORCHESTRATE[0]);
    let mut shell = env.command("sh", &env.repo());
    shell.args(["-c", &format!("{command} \"$@\""), "sh"]).args(&scenes::ORCHESTRATE[1..]);
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let child = shell.spawn().unwrap();
    wait_for("the coder", || is_waiting(&env));
    hang_up(&env, &child);
    assert_eq!(env.finish(child).code, 0);
    assert_eq!(scenes::newest(&env)["status"], "verified");
}
