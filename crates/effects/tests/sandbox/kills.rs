//! The shim is killed, at once or in the middle of making the sandbox: nothing of the session is left.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use spore_effects::session::{Shim, find_by_token};
use spore_effects::{Ids, SystemClock};

use crate::stage::{NOBODY, Stage, shim, support};

/// Processes of every kind that is hard to end: detached, deaf, stopped, and one that forks.
const CROWD: &str = "
    (setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' &)
    (setsid nohup sleep 600 >/dev/null 2>&1 &)
    sh -c 'kill -STOP $$' &
    (while :; do sleep 0.01 & wait; done) &
    (sh -c '(sh -c \"sleep 600\" &) &' &)
    trap '' TERM INT
    echo ready
    while :; do sleep 1; done";

/// How often each is tried: `SPORE_KILLS=all` asks for a hundred times.
fn times() -> u32 {
    if std::env::var("SPORE_KILLS").is_ok_and(|asked| asked == "all") { 100 } else { 6 }
}

/// Kills the shim `after` its program was started, and returns how many processes are left.
fn kill_shim(stage: &Stage, user: u32, after: Duration) -> usize {
    let plan =
        stage.plan(CROWD, Some(stage.rooted()), Ids::random(Arc::new(SystemClock)).session_token());
    let waiting = Shim::new(shim(user)).prepare(&plan).unwrap();
    let pid = Pid::from_raw(waiting.identity().pid);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        kill(pid, Signal::SIGKILL).unwrap();
    });
    let started = waiting.go();
    killer.join().unwrap();
    let until = Instant::now() + Duration::from_secs(2);
    while !find_by_token(&plan.token).is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = find_by_token(&plan.token).len();
    drop(started);
    left
}

fn check(user: u32) {
    if user == NOBODY && !geteuid().is_root() || support(user).refused.is_some() {
        println!("skipped: no root can be made anew for user {user}");
        return;
    }
    let mut left = 0;
    for number in 0..times() {
        let stage = Stage::new(user);
        // From the making of namespaces to a crowd that runs.
        let after = Duration::from_millis(u64::from(number % 20) * u64::from(number % 20));
        left += kill_shim(&stage, user, after);
    }
    println!("as user {user}: {left} processes left after {} kills", times());
    assert_eq!(left, 0);
}

#[test]
fn a_killed_shim_leaves_no_process() {
    check(geteuid().as_raw());
}

#[test]
fn a_killed_shim_of_another_user_leaves_no_process() {
    check(NOBODY);
}
