//! The first process of a session that has namespaces of its own: it makes the root, starts the
//! program, takes in every process that loses its parent, and ends when none is left.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::errno::Errno;
use nix::libc;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout};
use serde::{Deserialize, Serialize};

use super::sandbox::{HandedFile, ProgramRules, SandboxRefusal, ShutIn, shut_in, start_namespaces};
use super::wire::{Channel, ShimPlan};
use super::{Confinement, Enforced, SandboxRoot};

/// From the first process to the shim.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FirstReport {
    /// The program runs. What the files are that come with it.
    Started {
        enforced: Enforced,
        handed: Vec<HandedFile>,
    },
    NotConfined {
        refusal: SandboxRefusal,
    },
    NotStarted {
        errno: i32,
    },
    /// The program ended; others may be left.
    Exited {
        code: i32,
    },
}

/// The first process, seen from the shim.
pub(super) struct FirstProcess {
    pub(super) pid: i32,
    pub(super) channel: Channel,
}

impl FirstProcess {
    /// Clones the first process. `start` starts the program in it.
    pub(super) fn start(
        plan: &ShimPlan,
        (confinement, root): (&Confinement, &SandboxRoot),
        null: &File,
        start: impl FnOnce(&ShimPlan, ProgramRules) -> io::Result<i32>,
    ) -> Result<Self, SandboxRefusal> {
        let init = start_namespaces(root.own_network, |stream| {
            let channel = Channel::new(stream);
            live(plan, (confinement, root), null, &channel, start).map_or(1, |()| 0)
        })?;
        Ok(Self { pid: init.pid, channel: Channel::new(init.stream) })
    }
}

fn live(
    plan: &ShimPlan,
    (confinement, root): (&Confinement, &SandboxRoot),
    null: &File,
    channel: &Channel,
    start: impl FnOnce(&ShimPlan, ProgramRules) -> io::Result<i32>,
) -> io::Result<()> {
    let ShutIn { enforced, rules, handed } = match shut_in(confinement, root, &plan.cwd) {
        Ok(shut_in) => shut_in,
        Err(refusal) => return channel.send(&FirstReport::NotConfined { refusal }),
    };
    let program = match start(plan, rules) {
        Ok(program) => program,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
            return channel.send(&FirstReport::NotStarted { errno });
        }
    };
    // The pipes are the program's alone, and close when it closes them.
    let _ = dup2_stdin(null).and(dup2_stdout(null)).and(dup2_stderr(null));
    let (handed, files): (Vec<HandedFile>, Vec<OwnedFd>) = handed.into_iter().unzip();
    let lent: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
    channel.send_with(&FirstReport::Started { enforced, handed }, &lent)?;
    drop(files);
    reap(program, channel)
}

/// Takes in every process of the session until there is none.
#[expect(unsafe_code, reason = "waitpid of nix does not know real-time signals")]
fn reap(program: i32, channel: &Channel) -> io::Result<()> {
    loop {
        let mut status = 0;
        // SAFETY: the kernel writes one integer, which outlives the call.
        match unsafe { libc::waitpid(-1, &raw mut status, 0) } {
            -1 if Errno::last() == Errno::EINTR => {}
            -1 => return Ok(()),
            pid if pid == program => {
                channel
                    .send(&FirstReport::Exited { code: exit_code(ExitStatus::from_raw(status)) })?;
            }
            _ => {}
        }
    }
}

/// The exit code as shells say it: 128 + n for death by signal n.
pub(super) fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
