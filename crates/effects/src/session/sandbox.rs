//! What the kernel lets the processes of a session do.
//!
//! A [`Confinement`] is plain data that says what is meant; [`Enforced`] is what the kernel
//! took on, no more and no less. The shim itself stays outside, so that no process of the
//! session can signal or trace it.
//!
//! Best is a root made anew ([`SandboxRoot`]): namespaces in which only what the session is shown
//! exists, and a filter on system calls. What is not there can be neither read nor changed nor
//! connected to, and when the first process of the session is gone, all are.
//!
//! Where the machine refuses that, Landlock holds the session to a list of what is allowed, by
//! directory and all that is below. Something hidden below something allowed therefore costs a
//! walk: everything beside the path that leads to it is allowed by name, and the directories on
//! that path can be passed but not listed. It cannot hold the mode, owner and times of a file,
//! sockets with a path, and every protocol but TCP
//! (<https://docs.kernel.org/userspace-api/landlock.html>).

mod filter;
mod ids;
mod kernel;
mod mounts;
mod namespaces;
mod network;
mod reach;
mod root;
mod rules;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use mounts::SandboxRefusal;
pub use namespaces::RootSupport;
pub(super) use namespaces::{ProgramRules, ShutIn, shut_in, start as start_namespaces, support};
pub use reach::Reached;
pub use root::{LayeredPlace, ProjectPlace, SandboxRoot, StandIn};
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
    /// What stays as it is, below something that may be written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<PathBuf>,
    /// Directories whose names can be listed with all names below, even where Landlock alone
    /// holds the session and something below is hidden.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<PathBuf>,
    /// Neither connects nor listens over TCP.
    pub no_tcp: bool,
    /// The root that is made anew for it. Nothing where the machine's own stays, and Landlock
    /// holds the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<SandboxRoot>,
}

impl Confinement {
    /// Returns a path as the session calls it.
    pub fn inside(&self, path: &Path) -> PathBuf {
        self.root.as_ref().map_or_else(|| path.to_owned(), |root| root.inside(path))
    }

    fn has_own_network(&self) -> bool {
        self.root.as_ref().is_some_and(|root| root.own_network)
    }
}

/// One thing that holds a session as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLayer {
    /// Files: only what it is shown exists.
    Root,
    /// Processes: it reaches its own alone, and they end with it.
    Processes,
    /// It is not told which processes there are outside.
    Sight,
    /// System calls that no namespace holds are refused.
    Calls,
    /// It has a network of its own, with nothing in it but what it is to reach.
    Network,
}

/// What a file is that the first process opens for Spore.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HandedFile {
    /// A socket that listens in the session's own network, for what is at this place in the list
    /// of what it reaches.
    Listener { reached: usize },
}

/// What the kernel has taken on for a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Enforced {
    /// The version of the kernel's Landlock.
    pub abi: u32,
    /// The rights that only exist where they were granted, by the kernel's own names.
    pub rights: Vec<String>,
    /// What else holds it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<SandboxLayer>,
}

impl Enforced {
    /// Returns whether `right` is held.
    pub fn holds(&self, right: &str) -> bool {
        self.rights.iter().any(|held| held == right)
    }

    /// Returns whether `layer` holds the session.
    pub fn has(&self, layer: SandboxLayer) -> bool {
        self.layers.contains(&layer)
    }

    /// Says what was meant and is not held, a clause each.
    pub fn gaps(&self, wanted: &Confinement) -> Vec<&'static str> {
        let (files, processes) = (self.has(SandboxLayer::Root), self.has(SandboxLayer::Processes));
        let network = self.has(SandboxLayer::Network);
        let sight = self.has(SandboxLayer::Sight);
        let own_network = wanted.has_own_network();
        let all = [
            (files, "reading what is yours outside of the checkout"),
            (files, "modes, owners and times of files outside of the checkout"),
            (files, "sockets and terminals of other programs"),
            (files, "what is left in the caches of toolchains"),
            (files, "memory and messages that programs share"),
            (sight, "which other processes there are"),
            // What is seen in /proc can be given another rank for when memory is short.
            (processes && sight, "limits and priorities of other processes"),
            (processes, "processes that outlive a shim that was killed"),
            (self.has(SandboxLayer::Calls), "keys of the kernel and sockets to the hypervisor"),
            (files || self.holds("ioctl_dev"), "the control of devices that may be opened"),
            (processes || self.holds("signal"), "signals to processes outside of the session"),
            (
                // Without it sessions of one kind, agents or checks, may share the machine's.
                network && wanted.no_tcp && own_network || self.holds("abstract_unix_socket"),
                "abstract sockets of processes outside of the session",
            ),
            (!wanted.no_tcp || network || self.holds("connect_tcp"), "TCP connections"),
            (!wanted.no_tcp || network, "datagrams and other traffic that is not TCP"),
            (!own_network || network, "what agents reach over the network"),
        ];
        all.iter().filter(|(held, _)| !held).map(|(_, clause)| *clause).collect()
    }
}

/// What this machine would enforce; nothing where that is no sandbox.
pub fn enforceable(wanted: &Confinement, support: &RootSupport) -> Option<Enforced> {
    let abi = crate::machine::landlock_abi();
    let filter = filter::is_allowed().then_some(SandboxLayer::Calls);
    if support.refused.is_none() {
        let layers = vec![SandboxLayer::Root, SandboxLayer::Processes];
        let sight = (!support.no_proc).then_some(SandboxLayer::Sight);
        let is_meant = wanted.no_tcp || wanted.has_own_network();
        let network = is_meant.then_some(SandboxLayer::Network);
        let abi = abi.unwrap_or(0);
        let scopes = kernel::Handled::scopes(abi, false).enforced(abi);
        let layers = layers.into_iter().chain(sight).chain(filter).chain(network).collect();
        return Some(Enforced { layers, ..scopes });
    }
    let abi = abi.filter(|abi| *abi >= SOUND_LANDLOCK)?;
    let layers = filter.into_iter().collect();
    Some(Enforced { layers, ..kernel::Handled::of(abi, wanted.no_tcp).enforced(abi) })
}
