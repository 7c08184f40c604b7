//! What a root made anew holds for one session or gate: the system, toolchains, the objects of the
//! user's repository, and in the place of home, caches and temporary files something of its own.

use std::path::{Path, PathBuf};

use spore_config::Config;
use spore_effects::session::{LayeredPlace, Reached, SandboxRoot, StandIn};

use super::places::SandboxPlaces;
use crate::base::workspace::fnv1a;
use crate::{Surroundings, Workspace};

/// What a session's root is made for.
pub(super) struct RootWanted<'a> {
    /// Where the directories are that stand in for others, apart from the home.
    pub(super) scratch: &'a Path,
    pub(super) home: SessionHome<'a>,
    /// Where what checks of a base wrote is kept, for those that come after.
    pub(super) kept: &'a Path,
    /// What it is shown besides: its broker's socket, the program of its agent.
    pub(super) shown: &'a [PathBuf],
    /// What it reaches over a network of its own; nothing where it has the machine's.
    pub(super) network: Option<Vec<Reached>>,
    /// Whether the machine can layer directories.
    pub(super) layers: bool,
}

/// What stands in for the user's home.
#[derive(Clone, Copy)]
pub(super) enum SessionHome<'a> {
    /// This directory.
    Own(&'a Path),
    /// For checks of a base: what they write is kept.
    Kept,
    /// For checks of a change: what was kept, with changes that are thrown away.
    OverKept,
}

pub(super) fn new_root(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    wanted: &RootWanted<'_>,
) -> SandboxRoot {
    let places = SandboxPlaces::new(around);
    let mut show = places.all(&config.sandbox.show);
    show.extend(on_path(around, workspace));
    show.extend(name_servers());
    show.push(around.exe.clone());
    if let Ok(repository) = workspace.project_repository() {
        show.extend(borrowed_objects(repository.git_dir()));
    }
    show.extend(wanted.shown.iter().cloned());
    let home = around.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let empty = vec![workspace.root().to_owned(), around.state_home.clone()];
    let own_network = wanted.network.is_some();
    let reach = wanted.network.clone().unwrap_or_default();
    let mut root = SandboxRoot { show, empty, own_network, reach, ..SandboxRoot::default() };
    root.stand_ins.push(StandIn { at: "/tmp".into(), dir: wanted.scratch.join("tmp") });
    if let Some(home) = &home {
        wanted.place_home(home.clone(), &mut root);
    }
    let caches = places.all(&places.without_programs(&config.sandbox.caches));
    for (number, at) in caches.into_iter().filter(|at| at.is_dir()).enumerate() {
        if !wanted.layers {
            root.show.push(at);
            continue;
        }
        // Toolchains keep locks beside their caches. In the home there is room for them.
        let beside = at.parent().unwrap_or(&at);
        let is_at_home = home.as_ref().is_some_and(|home| beside.starts_with(home));
        let is_there = |stand_in: &StandIn| beside.starts_with(&stand_in.at);
        if !is_at_home && !root.stand_ins.iter().any(is_there) {
            let dir = wanted.scratch.join(format!("beside-{number}"));
            root.stand_ins.push(StandIn { at: beside.to_owned(), dir });
        }
        root.layered.push(wanted.layered(at));
    }
    root
}

impl RootWanted<'_> {
    fn place_home(&self, at: PathBuf, root: &mut SandboxRoot) {
        let kept = self.kept.join("home");
        match self.home {
            SessionHome::OverKept if self.layers && kept.is_dir() => {
                let changes = self.scratch.join("home-changes");
                root.layered.push(LayeredPlace { at, lowers: vec![kept], changes });
            }
            SessionHome::Kept => root.stand_ins.push(StandIn { at, dir: kept }),
            SessionHome::Own(dir) => root.stand_ins.push(StandIn { at, dir: dir.to_owned() }),
            SessionHome::OverKept => {
                root.stand_ins.push(StandIn { at, dir: self.scratch.join("home") });
            }
        }
    }

    /// Layers a cache: on the user's, what checks of the base added, and on top changes that are
    /// thrown away, unless it is the base that is checked.
    fn layered(&self, at: PathBuf) -> LayeredPlace {
        let name = format!("{:016x}", fnv1a(at.as_os_str().as_encoded_bytes()));
        let kept = self.kept.join(&name);
        if matches!(self.home, SessionHome::Kept) {
            return LayeredPlace { lowers: vec![at.clone()], at, changes: kept };
        }
        let added = Some(kept.join("upper")).filter(|added| added.is_dir());
        let lowers = added.into_iter().chain([at.clone()]).collect();
        LayeredPlace { at, lowers, changes: self.scratch.join(name) }
    }
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
        // Programs of npm are links to what is beside them.
        let is_part = dir.ends_with("bin") && !is_at_home || dir.ends_with("node_modules/.bin");
        let whole = dir.parent().filter(|_| is_part).map(Path::to_owned);
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

/// Returns the stores of objects of a repository: its own, and those that it borrows from.
pub(super) fn borrowed_objects(git_dir: &Path) -> Vec<PathBuf> {
    /// Git follows no more than five
    /// (<https://git-scm.com/docs/gitrepository-layout>, and `alt_odb_usable` in its sources).
    const DEPTH: usize = 5;
    let mut found = vec![git_dir.join("objects")];
    let mut next = 0;
    while let Some(store) = found.get(next).filter(|_| next < DEPTH) {
        let borrowed = std::fs::read_to_string(store.join("info/alternates")).unwrap_or_default();
        let store = store.clone();
        let borrowed = borrowed.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        // A file may name anything: a store is known by how it is laid out.
        let is_store = |place: &PathBuf| place.join("pack").is_dir() && place.join("info").is_dir();
        found.extend(borrowed.map(|line| store.join(line)).filter(is_store));
        next += 1;
    }
    found
}
