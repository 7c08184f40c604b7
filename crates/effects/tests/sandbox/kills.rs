//! The shim, Spore or both are killed, at once or in the middle of making the sandbox: nothing of the
//! session is left.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use spore_effects::session::{Grace, ProcessIdentity, ShimPlan, find_by_token};
use spore_effects::{Ids, SystemClock};

use crate::stage::{NOBODY, Stage, shim, support};

/// Processes of every kind that is hard to end: detached, deaf, stopped, without the token, and one that
/// forks.
const CROWD: &str = "
    (setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' &)
    (setsid nohup sleep 600 >/dev/null 2>&1 &)
    (setsid env -i sh -c \"sleep 600; : $T\" &)
    sh -c 'kill -STOP $$' &
    (while :; do sleep 0.01 & wait; done) &
    (sh -c '(sh -c \"sleep 600\" &) &' &)
    trap '' TERM INT
    echo ready
    while :; do sleep 1; done";

/// How often each is tried: `SPORE_KILLS=all` asks for a hundred times.
pub(crate) fn times() -> u32 {
    if std::env::var("SPORE_KILLS").is_ok_and(|asked| asked == "all") { 100 } else { 3 }
}

/// Who is killed. Spore is the program that started the shim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Killed {
    Shim,
    Spore,
    Both,
}

/// Kills them `after` Spore has let the program run, and returns how many processes are left.
fn kill_one(stage: &Stage, user: u32, killed: Killed, after: Duration) -> usize {
    let token = Ids::random(Arc::new(SystemClock)).session_token();
    let mut plan = stage.plan(CROWD, Some(stage.rooted()), token);
    // What hears no signal is killed at once: the time that it is left is not what is tried.
    plan.grace = Grace { interrupt_ms: 20, terminate_ms: 20 };
    let (mut spore, shim) = start_spore(user, &plan);
    std::thread::sleep(after);
    if killed != Killed::Shim {
        spore.kill().unwrap();
    }
    if killed != Killed::Spore {
        // One whose Spore is gone may be gone, too.
        let _ = kill(Pid::from_raw(shim.pid), Signal::SIGKILL);
    }
    spore.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    let left = || find_by_token(&plan.token).len() + named(&stage.dir.path().display().to_string());
    // One that is between two programs has no words for a moment, so one look does not tell.
    let mut quiet = 0;
    while quiet < 3 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
        quiet = if left() == 0 { quiet + 1 } else { 0 };
    }
    if quiet == 3 { 0 } else { left().max(1) }
}

/// Starts a process that stands for Spore and runs this session, and says who its shim is.
pub(crate) fn start_spore(user: u32, plan: &ShimPlan) -> (Child, ProcessIdentity) {
    let mut spore = Command::new(shim(user));
    let spore = spore.arg("go").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut spore = spore.spawn().unwrap();
    let plan_text = serde_json::to_string(plan).unwrap();
    writeln!(spore.stdin.take().unwrap(), "{plan_text}").unwrap();
    let mut told = String::new();
    BufReader::new(spore.stdout.as_mut().unwrap()).read_line(&mut told).unwrap();
    (spore, serde_json::from_str(&told).unwrap())
}

/// Returns how many processes have `name` in their command line.
fn named(name: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(name)).count()
}

fn check(user: u32, killed: Killed) {
    if user == NOBODY && !geteuid().is_root() || support(user).refused.is_some() {
        println!("skipped: no root can be made anew for user {user}");
        return;
    }
    let mut left = 0;
    for number in 0..times() {
        let stage = Stage::new(user);
        // From the making of namespaces to a crowd that runs.
        let after = Duration::from_millis(u64::from(number % 20) * u64::from(number % 20));
        left += kill_one(&stage, user, killed, after);
    }
    println!("as user {user}, {killed:?}: {left} processes left after {} kills", times());
    assert_eq!(left, 0);
}

#[test]
fn a_killed_shim_leaves_no_process() {
    check(geteuid().as_raw(), Killed::Shim);
}

#[test]
fn a_killed_shim_of_another_user_leaves_no_process() {
    check(NOBODY, Killed::Shim);
}

#[test]
fn a_killed_spore_leaves_no_process() {
    check(geteuid().as_raw(), Killed::Spore);
}

#[test]
fn a_killed_spore_of_another_user_leaves_no_process() {
    check(NOBODY, Killed::Spore);
}

#[test]
fn a_killed_spore_and_its_killed_shim_leave_no_process() {
    check(geteuid().as_raw(), Killed::Both);
}

#[test]
fn a_killed_spore_and_its_killed_shim_of_another_user_leave_no_process() {
    check(NOBODY, Killed::Both);
}
