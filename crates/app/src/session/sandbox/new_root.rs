//! What a root made anew holds for one session or gate: the system, toolchains, the objects of the
//! user's repository, and in the place of home, caches and temporary files something of its own.

use std::path::{Path, PathBuf};

use spore_config::Config;
use spore_effects::session::{LayeredPlace, SandboxRoot, StandIn};

use super::places::SandboxPlaces;
use crate::{Result, Surroundings, Workspace};

/// What a session's root is made for.
pub(super) struct RootWanted<'a> {
    /// Where the directories are that stand in for others, apart from the home.
    pub(super) scratch: &'a Path,
    /// The directory that stands in for the user's home.
    pub(super) home: &'a Path,
    /// What it is shown besides: its broker's socket, the program of its agent.
    pub(super) shown: &'a [PathBuf],
    pub(super) own_network: bool,
    /// Whether the machine can layer directories.
    pub(super) layers: bool,
}

pub(super) fn new_root(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    wanted: &RootWanted<'_>,
) -> Result<SandboxRoot> {
    let places = SandboxPlaces::new(around);
    let mut show = places.all(&config.sandbox.show);
    show.extend(on_path(around, workspace));
    show.extend(name_servers());
    show.push(around.exe.clone());
    show.extend(objects(workspace)?);
    show.extend(wanted.shown.iter().cloned());
    let home = around.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let empty = vec![workspace.root().to_owned(), around.state_home.clone()];
    let own_network = wanted.own_network;
    let mut root = SandboxRoot { show, empty, own_network, ..SandboxRoot::default() };
    root.stand_ins.push(StandIn { at: "/tmp".into(), dir: wanted.scratch.join("tmp") });
    if let Some(home) = &home {
        root.stand_ins.push(StandIn { at: home.clone(), dir: wanted.home.to_owned() });
    }
    let caches = places.all(&places.without_programs(&config.sandbox.caches));
    for (number, at) in caches.into_iter().filter(|at| at.is_dir()).enumerate() {
        if !wanted.layers {
            root.show.push(at);
            continue;
        }
        // Toolchains keep locks beside their caches. In the home there is room for them.
        let beside = at.parent().unwrap_or(&at);
        let is_there = |stand_in: &StandIn| beside.starts_with(&stand_in.at);
        if !root.stand_ins.iter().any(is_there) {
            let dir = wanted.scratch.join(format!("beside-{number}"));
            root.stand_ins.push(StandIn { at: beside.to_owned(), dir });
        }
        let changes = wanted.scratch.join(format!("changes-{number}"));
        root.layered.push(LayeredPlace { lowers: vec![at.clone()], at, changes });
    }
    Ok(root)
}

/// Returns the directories on PATH with what belongs to them: a `bin` comes with what is beside it,
/// except in a home, where credentials may be beside it. The project's own are in the checkout.
fn on_path(around: &Surroundings, workspace: &Workspace) -> Vec<PathBuf> {
    let home = around.variable("HOME").map(PathBuf::from).unwrap_or_default();
    let path = around.variable("PATH").unwrap_or_default();
    let ours = [workspace.root(), workspace.state(), home.as_path()];
    let is_too_much = |dir: &Path| ours.iter().any(|own| own.starts_with(dir));
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute() && dir.is_dir());
    let dirs = dirs.filter(|dir| !dir.starts_with(workspace.root()));
    dirs.filter_map(|dir| {
        let is_at_home = dir.starts_with(&home);
        let whole =
            dir.parent().filter(|_| dir.ends_with("bin") && !is_at_home).map(Path::to_owned);
        let whole = whole.filter(|whole| !is_too_much(whole));
        Some(whole.unwrap_or(dir)).filter(|dir| !is_too_much(dir))
    })
    .collect()
}

/// Returns the file with the addresses of name servers, which on many systems is a link to a place
/// that is not shown.
fn name_servers() -> Option<PathBuf> {
    Path::new("/etc/resolv.conf").canonicalize().ok().filter(|real| !real.starts_with("/etc"))
}

/// Returns the stores of objects that a checkout borrows from: the user's own, and those that the
/// user's borrows from.
fn objects(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    /// Git follows no more than five
    /// (<https://git-scm.com/docs/gitrepository-layout>, and `alt_odb_usable` in its sources).
    const DEPTH: usize = 5;
    let mut found = vec![workspace.project_repository()?.git_dir().join("objects")];
    let mut next = 0;
    while let Some(store) = found.get(next).filter(|_| next < DEPTH) {
        let borrowed = std::fs::read_to_string(store.join("info/alternates")).unwrap_or_default();
        let store = store.clone();
        let borrowed = borrowed.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        found.extend(borrowed.map(|line| store.join(line)));
        next += 1;
    }
    Ok(found)
}
