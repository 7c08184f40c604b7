//! An executable with a shim mode, for this crate's tests.
//!
//! `prepare` and `go` make it a Spore that can be killed: each reads a plan from standard input
//! and prints the shim's identity. The first then waits for its standard input to end, the
//! second lets the program run and waits for the session. `record` does too, with a second line
//! that asks for a record, which it prints; the program's output goes to standard error.
//!
//! `outer LACK... -- PROGRAM ARG...` runs a program on a machine that lacks something: it refuses
//! calls by a filter of its own, allows no user namespaces, has an overlay where layers go, or covers a
//! part of `/proc`.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use nix::libc;
use nix::sched::{CloneFlags, unshare};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};
use spore_effects::session::{
    Draining, OutputSink, SHIM_ARG, Shim, ShimPlan, SupervisedEnd, shim_main, watch,
};

#[expect(clippy::disallowed_methods, reason = "a program of its own, for tests")]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    if mode == SHIM_ARG {
        return Ok(ExitCode::from(u8::try_from(shim_main())?));
    }
    if mode == "outer" {
        return outer(std::env::args().skip(2));
    }
    let mut plan = String::new();
    io::stdin().lock().read_line(&mut plan)?;
    let (shim, plan) = (Shim::new(std::env::current_exe()?), serde_json::from_str(&plan)?);
    if mode == "record" {
        return record(&shim, &plan);
    }
    let waiting = shim.prepare(&plan)?;
    writeln!(io::stdout(), "{}", serde_json::to_string(waiting.identity())?)?;
    match mode.as_str() {
        "prepare" => {
            io::stdin().lock().read_to_end(&mut Vec::new())?;
        }
        "go" => {
            waiting.go()?.wait()?;
        }
        _ => return Err("modes: __session, prepare, go, record, outer".into()),
    }
    Ok(ExitCode::SUCCESS)
}

fn record(shim: &Shim, plan: &ShimPlan) -> Result<ExitCode, Box<dyn Error>> {
    let mut wanted = String::new();
    io::stdin().lock().read_line(&mut wanted)?;
    // Measured beside a record: the same without one.
    let waiting = match wanted.trim() {
        "" => shim.prepare(plan)?,
        wanted => shim.prepare_recorded(plan, serde_json::from_str(wanted)?)?,
    };
    writeln!(io::stdout(), "{}", serde_json::to_string(waiting.identity())?)?;
    let mut session = waiting.go()?;
    let sink: OutputSink = Arc::new(|bytes| {
        let _ = io::stderr().write_all(bytes);
    });
    let draining = Draining::start(&mut session, &sink);
    let end = watch(&mut session, None, Duration::from_secs(1), &|| false)?;
    draining.finish();
    writeln!(io::stdout(), "{}", serde_json::to_string(&session.take_recording())?)?;
    let SupervisedEnd::ByItself(code) = end else { return Ok(ExitCode::FAILURE) };
    Ok(ExitCode::from(u8::try_from(code)?))
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, for tests")]
fn outer(mut args: impl Iterator<Item = String>) -> Result<ExitCode, Box<dyn Error>> {
    for lack in args.by_ref().take_while(|arg| arg != "--") {
        match lack.split_once('=').unwrap_or((&lack, "")) {
            ("namespaces", _) => refuse_namespaces()?,
            ("user-namespaces", _) => allow_no_user_namespaces()?,
            ("landlock", _) => refuse(&[libc::SYS_landlock_create_ruleset], libc::EOPNOTSUPP)?,
            ("filters", _) => refuse(&[libc::SYS_seccomp], libc::EPERM)?,
            ("overlays", place) => stack(place)?,
            ("proc", _) => cover_proc()?,
            _ => return Err(format!("a machine cannot lack {lack}").into()),
        }
    }
    let program = args.next().ok_or("no program")?;
    Err(Command::new(program).args(args).exec().into())
}

type CallRules = BTreeMap<i64, Vec<SeccompRule>>;

fn filter(rules: CallRules, errno: libc::c_int) -> Result<(), Box<dyn Error>> {
    let refused = SeccompAction::Errno(errno.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into()?;
    let program: BpfProgram =
        SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()?;
    Ok(seccompiler::apply_filter(&program)?)
}

fn refuse(calls: &[i64], errno: libc::c_int) -> Result<(), Box<dyn Error>> {
    filter(calls.iter().map(|call| (*call, Vec::new())).collect(), errno)
}

/// As containers do it: calls that name a user namespace are not permitted, and the call whose
/// arguments no filter can read is not there.
fn refuse_namespaces() -> Result<(), Box<dyn Error>> {
    let flag = libc::CLONE_NEWUSER.unsigned_abs().into();
    let names = || {
        let is = SeccompCmpOp::MaskedEq(flag);
        let is = SeccompCondition::new(0, SeccompCmpArgLen::Qword, is, flag)?;
        Ok::<_, seccompiler::BackendError>(vec![SeccompRule::new(vec![is])?])
    };
    filter([(libc::SYS_clone, names()?), (libc::SYS_unshare, names()?)].into(), libc::EPERM)?;
    refuse(&[libc::SYS_clone3], libc::ENOSYS)
}

/// The number of user namespaces is limited by user namespace, so the machine keeps its own.
fn allow_no_user_namespaces() -> Result<(), Box<dyn Error>> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER)?;
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))?;
    std::fs::write("/proc/sys/user/max_user_namespaces", "0")?;
    Ok(())
}

/// Covers a part of `/proc`, as containers do: the kernel then gives a new one to none that is inside.
fn cover_proc() -> Result<(), Box<dyn Error>> {
    use nix::mount::{MsFlags, mount};
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    Ok(mount(Some("tmpfs"), "/proc/tty", Some("tmpfs"), MsFlags::MS_RDONLY, none)?)
}

/// Mounts an overlay at `place`, on which no other can be made.
fn stack(place: &str) -> Result<(), Box<dyn Error>> {
    use nix::mount::{MsFlags, mount};
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let data = format!("lowerdir=/usr/share/doc,upperdir={place}/upper,workdir={place}/work");
    Ok(mount(Some("overlay"), place, Some("overlay"), MsFlags::empty(), Some(data.as_str()))?)
}
