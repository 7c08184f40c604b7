//! What the kernel lets the processes of a session do: Landlock, taken on by the program right
//! before it starts and inherited by everything it starts in turn.
//!
//! A [`Confinement`] is plain data that says what is meant; [`Enforced`] is what the kernel
//! took on, no more and no less. The shim itself stays outside, so that no process of the
//! session can signal or trace it.
//!
//! Landlock is a list of what is allowed, by directory and all that is below. Something hidden
//! below something allowed therefore costs a walk: everything beside the path that leads to it
//! is allowed by name, and the directories on that path can be passed but not listed.
//!
//! Not confined, because no version of Landlock known here can
//! (<https://docs.kernel.org/userspace-api/landlock.html>): the mode, owner and times of a
//! file, sockets with a path (a program of the session can talk to any server that listens
//! there), and every protocol but TCP.

mod kernel;
mod rules;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(super) use rules::SandboxRules;

/// The oldest version of Landlock that is a sandbox: before it, any file could be truncated.
pub const SOUND_LANDLOCK: u32 = 3;

/// What a session may reach. Paths that are not there are passed over.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Confinement {
    /// Where everything may be done but the making of devices. What is hidden below stays so.
    pub write: Vec<PathBuf>,
    /// Devices, and directories of them, that may be read, written and controlled.
    pub devices: Vec<PathBuf>,
    /// What can be neither read nor written; all else can be read and run.
    pub hide: Vec<PathBuf>,
    /// What can be read all the same, below something hidden.
    pub read: Vec<PathBuf>,
    /// Neither connects nor listens over TCP.
    pub no_tcp: bool,
}

/// What the kernel has taken on for a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Enforced {
    /// The version of the kernel's Landlock.
    pub abi: u32,
    /// The rights that only exist where they were granted, by the kernel's own names.
    pub rights: Vec<String>,
}

impl Enforced {
    /// Returns whether `right` is held.
    pub fn holds(&self, right: &str) -> bool {
        self.rights.iter().any(|held| held == right)
    }

    /// Says what was meant and cannot be held on this kernel, a clause each.
    pub fn gaps(&self, wanted: &Confinement) -> Vec<&'static str> {
        let all = [
            ("ioctl_dev", true, "the control of devices that may be opened"),
            ("signal", true, "signals to processes outside of the session"),
            ("abstract_unix_socket", true, "abstract sockets of processes outside of the session"),
            ("connect_tcp", wanted.no_tcp, "TCP connections"),
        ];
        let missing = all.iter().filter(|(right, wanted, _)| *wanted && !self.holds(right));
        missing.map(|(_, _, clause)| *clause).collect()
    }
}

/// What this kernel would enforce; nothing where that is no sandbox.
pub fn enforceable(wanted: &Confinement) -> Option<Enforced> {
    let abi = crate::machine::landlock_abi().filter(|abi| *abi >= SOUND_LANDLOCK)?;
    Some(kernel::Handled::of(abi, wanted.no_tcp).enforced(abi))
}
