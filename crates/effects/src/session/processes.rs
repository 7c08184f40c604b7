//! What `/proc` says about processes: which are alive, whose they are, what token they carry.
//!
//! A process id alone is not a process: ids are used again. Together with its start time and
//! the boot it belongs to it is, for ever. Descent is by parent links, which a process cannot
//! fake; the token is for the time after a crash, when the links lead to init.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use spore_model::SessionToken;

use super::TOKEN_VAR;
use crate::clock::monotonic;

/// One process, told apart from every other that ever had its id.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: i32,
    /// Clock ticks from boot to its start.
    pub start_ticks: u64,
    pub boot_id: String,
}

impl ProcessIdentity {
    /// Returns the process that calls this.
    pub fn of_this_process() -> io::Result<Self> {
        Self::of(Pid::this().as_raw())
    }

    /// Returns the process that has this id now.
    pub fn of(pid: i32) -> io::Result<Self> {
        let stat = Stat::read(pid).ok_or_else(|| io::Error::other("/proc does not know it"))?;
        Ok(Self { pid, start_ticks: stat.start_ticks, boot_id: boot_id()? })
    }
}

/// Returns whether the very process is still there; one that only waits to be reaped is not.
pub fn is_alive(identity: &ProcessIdentity) -> bool {
    Stat::read(identity.pid)
        .is_some_and(|stat| stat.is_alive() && stat.start_ticks == identity.start_ticks)
        && boot_id().is_ok_and(|boot_id| boot_id == identity.boot_id)
}

/// Asks a process of ours to end, as Ctrl-C does; one that is gone is left alone. Returns whether it
/// was there.
pub fn interrupt(identity: &ProcessIdentity) -> bool {
    is_alive(identity) && signal(identity.pid, Signal::SIGTERM)
}

/// Ends a process of ours at once, and waits until it is gone. Returns whether it was there.
pub fn end(identity: &ProcessIdentity) -> bool {
    let found = || match is_alive(identity) {
        true => BTreeSet::from([identity.pid]),
        false => BTreeSet::new(),
    };
    kill_until_gone(found) > 0
}

/// Returns the processes above the one that calls this, its parent first. A process cannot leave
/// the line it descends from: what a session's own processes leave behind is its shim's.
pub fn ancestors() -> Vec<ProcessIdentity> {
    let Ok(boot_id) = boot_id() else { return Vec::new() };
    let mut found: Vec<ProcessIdentity> = Vec::new();
    let mut pid = Pid::parent().as_raw();
    while let Some(stat) = Stat::read(pid).filter(|_| pid > 0) {
        let identity =
            ProcessIdentity { pid, start_ticks: stat.start_ticks, boot_id: boot_id.clone() };
        // Ids may be used again while they are read.
        if found.contains(&identity) {
            break;
        }
        found.push(identity);
        pid = stat.parent;
    }
    found
}

/// Returns every live process that was started with the token in its environment, the shim
/// among them. One that was given another environment on purpose is not found.
pub fn find_by_token(token: &SessionToken) -> Vec<i32> {
    let entry = format!("{TOKEN_VAR}={token}");
    let carries = |pid: &i32| {
        // A dead process has no environment, another user's is not ours to read.
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|it| it == entry.as_bytes()))
    };
    all_pids().filter(carries).collect()
}

/// Clears up after a crash: waits for the shim to finish its work, for at most `patience`, then
/// kills whatever of the session is left. Returns how many it killed.
pub fn reap(identity: &ProcessIdentity, token: &SessionToken, patience: Duration) -> u32 {
    let deadline = monotonic() + patience;
    // The shim is not our child, so its end is not told to us.
    while is_alive(identity) && monotonic() < deadline {
        std::thread::sleep(LOOK_AGAIN);
    }
    let offspring = || if is_alive(identity) { descendants(identity.pid) } else { Vec::new() };
    let killed = kill_until_gone(|| {
        let mut pids: BTreeSet<i32> = find_by_token(token).into_iter().chain(offspring()).collect();
        pids.remove(&identity.pid);
        pids
    });
    // The shim goes last: while it lives, descent finds also those without the token.
    let shim = kill_until_gone(|| {
        if is_alive(identity) { BTreeSet::from([identity.pid]) } else { BTreeSet::new() }
    });
    killed + shim
}

/// Kills what carries the token, when the shim that should have done it is dead.
pub(super) fn kill_by_token(token: &SessionToken) -> u32 {
    kill_until_gone(|| find_by_token(token).into_iter().collect())
}

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Processes that the kernel does not end within this time are not in our power.
const KILL_WITHIN: Duration = Duration::from_secs(5);

fn kill_until_gone(find: impl Fn() -> BTreeSet<i32>) -> u32 {
    let deadline = monotonic() + KILL_WITHIN;
    let mut killed = BTreeSet::new();
    loop {
        let mut pids = find();
        // Spore may itself run inside a session.
        pids.remove(&Pid::this().as_raw());
        if pids.is_empty() || monotonic() > deadline {
            return u32::try_from(killed.len()).unwrap_or(u32::MAX);
        }
        killed.extend(pids.into_iter().filter(|pid| signal(*pid, Signal::SIGKILL)));
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Sends a signal; returns whether there was such a process and it may be signalled.
pub(super) fn signal(pid: i32, signal: Signal) -> bool {
    // 0, 1 and negative numbers mean something else to `kill` than one process.
    pid > 1 && kill(Pid::from_raw(pid), signal).is_ok()
}

/// Returns the live processes below `root`, parents before their children, so that a
/// supervisor is told before it sees its workers go.
pub(super) fn descendants(root: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<Stat>> = BTreeMap::new();
    for stat in all_pids().filter_map(Stat::read) {
        children.entry(stat.parent).or_default().push(stat);
    }
    let mut alive = Vec::new();
    let mut parents = vec![root];
    while !parents.is_empty() {
        let born: Vec<Stat> =
            parents.iter().filter_map(|pid| children.remove(pid)).flatten().collect();
        alive.extend(born.iter().filter(|stat| stat.is_alive()).map(|stat| stat.pid));
        parents = born.iter().map(|stat| stat.pid).collect();
    }
    alive
}

fn all_pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

/// The part of `/proc/PID/stat` that matters here.
#[derive(PartialEq, Eq, Debug)]
struct Stat {
    pid: i32,
    state: char,
    parent: i32,
    threads: u32,
    start_ticks: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    fn parse(text: &str) -> Option<Self> {
        let (pid, rest) = text.split_once(' ')?;
        // The name is free text, brackets and spaces included; no later field has a bracket.
        let (_, rest) = rest.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Counted from the state, which proc(5) calls field 3.
        let field = |number: usize| fields.get(number - 3).copied();
        Some(Self {
            pid: pid.parse().ok()?,
            state: field(3)?.chars().next()?,
            parent: field(4)?.parse().ok()?,
            threads: field(20)?.parse().ok()?,
            start_ticks: field(22)?.parse().ok()?,
        })
    }

    /// A program whose first thread has ended looks dead while its other threads run.
    fn is_alive(&self) -> bool {
        !matches!(self.state, 'Z' | 'X') || self.threads > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, state: char, threads: u32, alive: bool) {
        let text = format!(
            "41 ({name}) {state} 7 41 41 0 -1 4194304 90 0 0 0 1 2 0 0 20 0 {threads} 0 5151 9 9"
        );
        let stat = Stat::parse(&text).unwrap();
        assert_eq!(stat, Stat { pid: 41, state, parent: 7, threads, start_ticks: 5151 });
        assert_eq!(stat.is_alive(), alive);
    }

    #[test]
    fn a_name_may_hold_anything() {
        for name in ["sh", "", "a b", ") S 1 2", "(sd-pam)", "x) Z 9 (y", "line\nbreak"] {
            check(name, 'S', 1, true);
        }
    }

    #[test]
    fn a_process_is_alive_while_one_of_its_threads_is() {
        check("sh", 'R', 1, true);
        check("sh", 'T', 1, true);
        check("sh", 'Z', 1, false);
        check("sh", 'Z', 4, true);
        check("sh", 'X', 0, false);
    }

    #[test]
    fn text_that_is_no_stat_line_is_no_process() {
        for text in ["", "41", "41 (sh", "41 (sh) S 7", "x (sh) S 7 1 1"] {
            assert_eq!(Stat::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_process_has_its_parent_above_it_and_is_not_above_itself() {
        let above = ancestors();
        let parent = ProcessIdentity::of(Pid::parent().as_raw()).unwrap();
        assert_eq!(above.first(), Some(&parent));
        assert!(!above.contains(&ProcessIdentity::of_this_process().unwrap()));
    }

    #[test]
    fn a_process_is_told_apart_from_others_with_its_id() {
        let this = || ProcessIdentity::of_this_process().unwrap();
        let later = this().start_ticks + 1;
        assert!(is_alive(&this()));
        assert!(!is_alive(&ProcessIdentity { start_ticks: later, ..this() }));
        assert!(!is_alive(&ProcessIdentity { boot_id: "another".to_owned(), ..this() }));
        assert!(!is_alive(&ProcessIdentity { pid: i32::MAX, ..this() }));
    }
}
