//! The session's own world: namespaces of users, mounts, processes, messages and, if asked for, of
//! the network, with a first process that no other one of the session can touch.
//!
//! The shim stays outside and clones that first process, `init`. The two talk over a socket pair. When
//! the shim dies the kernel kills init (`PR_SET_PDEATHSIG`; the shim has one thread, so it is the
//! right one), and with init dies every process of the session, however it was detached
//! (<https://man7.org/linux/man-pages/man7/pid_namespaces.7.html>).

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::libc;
use serde::{Deserialize, Serialize};

use super::filter::CallFilters;
use super::ids::map_ids;
use super::kernel::{Handled, Ruleset};
use super::mounts::{Made, SandboxRefusal};
use super::network;
use super::root::{self, SandboxRoot};
use super::{Confinement, Enforced, HandedFile, SandboxLayer};

/// What this machine lets a session have. Found out by making one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RootSupport {
    /// Why no root can be made anew; nothing where it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<SandboxRefusal>,
    /// Why directories cannot be layered; nothing where they can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_layers: Option<SandboxRefusal>,
    /// Whether a session is refused a `/proc` of its own, as in a container that covers parts of it:
    /// then it sees which processes there are outside.
    #[serde(default)]
    pub no_proc: bool,
}

impl RootSupport {
    /// A machine that is not asked: Landlock alone holds its sessions.
    pub fn not_wanted() -> Self {
        let step = "make a root anew, which is not wanted".to_owned();
        Self { refused: Some(SandboxRefusal { step, errno: libc::EOPNOTSUPP }), ..Self::default() }
    }
}

/// The first process of a session, seen from outside.
pub(in crate::session) struct NamespaceInit {
    pub(in crate::session) pid: i32,
    pub(in crate::session) stream: UnixStream,
}

/// Clones the first process into new namespaces. It runs `life`, whose answer is its exit code.
pub(in crate::session) fn start(
    own_network: bool,
    life: impl FnOnce(UnixStream) -> i32,
) -> Made<NamespaceInit> {
    let failed = |error: io::Error| SandboxRefusal::new("open a socket pair", &error);
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    let flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | if own_network { libc::CLONE_NEWNET } else { 0 };
    // A session of root's allows no more of control groups; what is inside of it has none to mount.
    let pid = clone(flags | libc::CLONE_NEWCGROUP).or_else(|_| clone(flags))?;
    if pid == 0 {
        drop(ours);
        let code = wait_for_ids(&theirs).map_or(1, |()| life(theirs));
        leave(code);
    }
    drop(theirs);
    let init = NamespaceInit { pid, stream: ours };
    map_ids(pid)?;
    let go = (&init.stream).write_all(b"\n");
    go.map_err(|error| SandboxRefusal::new("start the first process", &error))?;
    Ok(init)
}

/// `fork` with namespaces. The raw call: a filter around us that knows only old calls refuses
/// `clone3` as unknown, and the shim has one thread, so the child may do anything.
#[expect(unsafe_code, reason = "nix's clone wants a stack and a function")]
fn clone(flags: libc::c_int) -> Made<i32> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM it is a fork; no thread of ours holds a lock in the child.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid < 0 {
        return Err(SandboxRefusal::last("make namespaces"));
    }
    i32::try_from(pid).map_err(|_| SandboxRefusal::last("make namespaces"))
}

/// Waits in the new process until its ids are mapped, and ties its life to the shim's.
#[expect(unsafe_code, reason = "prctl")]
fn wait_for_ids(stream: &UnixStream) -> Option<()> {
    (&*stream).read_exact(&mut [0]).ok()?;
    // SAFETY: numbers only.
    let tied = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) } == 0;
    // The shim may have died before: its end of the stream is closed then.
    stream.set_nonblocking(true).ok()?;
    let is_closed = matches!(
        nix::sys::socket::recv(stream.as_raw_fd(), &mut [0], nix::sys::socket::MsgFlags::MSG_PEEK),
        Ok(0)
    );
    stream.set_nonblocking(false).ok()?;
    (tied && !is_closed).then_some(())
}

/// Ends this process at once: what the shim would do at its end is not ours to do.
#[expect(unsafe_code, reason = "_exit")]
fn leave(code: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// Makes the root, then gives up everything that was needed for it. Called by init.
pub(in crate::session) fn shut_in(
    confinement: &Confinement,
    root: &SandboxRoot,
    cwd: &Path,
) -> Made<ShutIn> {
    let is_own_proc = root::enter(confinement, root, cwd)?;
    let handed = if root.own_network { network::open(&root.reach)? } else { Vec::new() };
    join_keyring();
    no_more_privileges()?;
    let abi = crate::machine::landlock_abi().unwrap_or(0);
    let handled = Handled::scopes(abi, confinement.no_tcp && !root.own_network);
    let rules = Some(handled).filter(|handled| !handled.is_empty()).map(Ruleset::new).transpose();
    let rules = rules.map_err(|error| SandboxRefusal::new("make Landlock's rules", &error))?;
    let is_filtered = take_on_filters()?;
    let mut layers = vec![SandboxLayer::Root, SandboxLayer::Processes];
    layers.extend(is_own_proc.then_some(SandboxLayer::Sight));
    layers.extend(is_filtered.then_some(SandboxLayer::Calls));
    layers.extend(root.own_network.then_some(SandboxLayer::Network));
    Ok(ShutIn {
        enforced: Enforced { layers, ..handled.enforced(abi) },
        rules: ProgramRules(rules),
        handed,
    })
}

/// What holds a first process, and what its program takes on beside it.
pub(in crate::session) struct ShutIn {
    pub(in crate::session) enforced: Enforced,
    pub(in crate::session) rules: ProgramRules,
    /// Opened files that Spore gets.
    pub(in crate::session) handed: Vec<(HandedFile, OwnedFd)>,
}

/// Landlock's scopes, where the kernel has them. The program takes them on and the first process
/// does not: so it cannot be signalled.
pub(in crate::session) struct ProgramRules(Option<Ruleset>);

impl ProgramRules {
    /// Binds this process; between fork and exec.
    pub(in crate::session) fn take_on(&self) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), Ruleset::restrict)
    }
}

/// Returns whether there is a filter: where none is allowed, the rest holds all the same.
fn take_on_filters() -> Made<bool> {
    let refused = |error: String| {
        SandboxRefusal::new(format!("filter system calls ({error})"), &io::Error::last_os_error())
    };
    let filters = CallFilters::where_allowed().map_err(|error| refused(error.to_string()))?;
    let Some(filters) = filters else { return Ok(false) };
    filters.take_on().map_err(|error| refused(error.to_string()))?;
    Ok(true)
}

/// Drops every capability, for good, and hides init's memory from the session's processes.
#[expect(unsafe_code, reason = "nix has no wrappers for these calls")]
fn no_more_privileges() -> Made<()> {
    /// `_LINUX_CAPABILITY_VERSION_3` of linux/capability.h.
    const VERSION: u32 = 0x2008_0522;
    /// More than any kernel knows; it refuses what it does not.
    const HIGHEST: libc::c_ulong = 63;
    /// `SECBIT_*`, with their locks: root is no reason for capabilities any more.
    const NO_ROOT: libc::c_ulong = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80;
    let refused = |error: nix::Error| SandboxRefusal::new("drop privileges", &error.into());
    nix::sys::prctl::set_no_new_privs().map_err(refused)?;
    let head: [u32; 2] = [VERSION, 0];
    let none: [u32; 6] = [0; 6];
    // SAFETY: numbers, and two structures that outlive the call.
    let done = unsafe {
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
        for capability in 0..=HIGHEST {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_SET_SECUREBITS, NO_ROOT, 0, 0, 0);
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        libc::syscall(libc::SYS_capset, head.as_ptr(), none.as_ptr())
    };
    if done < 0 { Err(SandboxRefusal::last("drop privileges")) } else { Ok(()) }
}

/// Leaves the user's keyring: it is inherited, and no namespace holds it.
#[expect(unsafe_code, reason = "nix has no wrapper for this call")]
fn join_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: numbers and a null pointer, which asks for a keyring without a name. A kernel
    // without keys refuses, and has none to leave.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0, 0, 0, 0) };
}

/// Finds out what this machine lets a session have, by making a root and nothing in it.
pub(in crate::session) fn support(scratch: &Path) -> RootSupport {
    let attempt = |layered: bool| {
        let mut root = SandboxRoot { show: vec!["/usr".into()], ..SandboxRoot::default() };
        if layered {
            root.layered = vec![super::LayeredPlace {
                at: "/tmp/layered".into(),
                lowers: vec!["/usr".into()],
                changes: scratch.join("changes"),
            }];
        }
        let confinement = Confinement {
            write: vec![scratch.to_owned()],
            devices: vec!["/dev/null".into()],
            ..Confinement::default()
        };
        let answer = start(false, |mut stream| {
            let made = shut_in(&confinement, &root, scratch).map(|made| made.enforced);
            let no_proc = made.as_ref().is_ok_and(|held| !held.has(SandboxLayer::Sight));
            let told = serde_json::to_vec(&(made.err(), no_proc)).unwrap_or_default();
            i32::from(stream.write_all(&told).is_err())
        })
        .and_then(|init| heard(&init));
        answer.unwrap_or_else(|refused| (Some(refused), false))
    };
    match attempt(true) {
        (None, no_proc) => RootSupport { no_proc, ..RootSupport::default() },
        (no_layers, _) => {
            let (refused, no_proc) = attempt(false);
            RootSupport { refused, no_layers, no_proc }
        }
    }
}

/// What a first process said that only tried; it is gone when this returns.
fn heard(init: &NamespaceInit) -> Made<(Option<SandboxRefusal>, bool)> {
    let mut told = String::new();
    let read = (&init.stream).read_to_string(&mut told);
    let _ = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(init.pid), None);
    let broken = |error: io::Error| SandboxRefusal::new("try a sandbox", &error);
    read.map_err(broken)?;
    serde_json::from_str(&told)
        .map_err(|_| SandboxRefusal { step: "try a sandbox".to_owned(), errno: libc::EPIPE })
}
