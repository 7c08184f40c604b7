//! The person's own directory, as a session in it may see and change it.
//!
//! The session may write the files of the directory, because the person said so, and nothing that
//! acts for the person later without being asked: git's own directory, where hooks and settings
//! name programs, is read-only, and of Spore's state only what people share is there.
//!
//! A place that must not change is a mount of its own, which the kernel neither renames nor
//! removes. The directories that lead to it could be renamed and made anew with something else in
//! them, so each of these is a mount too.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use spore_effects::session::Confinement;
use spore_model::{CheckoutAccess, Fault};

use super::new_root::borrowed_objects;
use crate::{Error, Result, Surroundings, Workspace};

/// What people share of `.spore/` (see `spore init`). The rest is Spore's own.
const SHARED: [&str; 8] = [
    ".gitignore",
    "config.toml",
    "agents",
    "flows",
    "memory/CLAUDE.md",
    "memory/entities",
    "memory/topics",
    "memory/effectiveness",
];

/// One directory and what in it is not the session's.
#[derive(Debug)]
pub(crate) struct OwnDirectory {
    dir: PathBuf,
    /// Git's own files and directories for it, and the objects that those borrow.
    git: Vec<PathBuf>,
    /// Spore's state in it.
    state: Vec<PathBuf>,
    /// What people share of that.
    shared: Vec<PathBuf>,
}

impl OwnDirectory {
    /// Refuses a directory that cannot be shown without what must stay hidden.
    pub(crate) fn refuse_unfit(around: &Surroundings, dir: &Path) -> Result<()> {
        let home = around.variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let held = [
            (home, "your home"),
            (Some(around.state_home.clone()), "Spore's state"),
            (around.config_file.parent().map(Path::to_owned), "your settings of Spore"),
        ];
        for (place, what) in held {
            let Some(place) = place else { continue };
            let real = place.canonicalize().unwrap_or_else(|_| place.clone());
            if place.starts_with(dir) || real.starts_with(dir) {
                return Err(refused(dir, &format!("{what} is in it")));
            }
        }
        // No mount keeps a link. One further down is like any that the session could make.
        match [".git", ".spore"].iter().find(|name| dir.join(name).is_symlink()) {
            Some(name) => Err(refused(dir, &format!("its {name} is a link"))),
            None => Ok(()),
        }
    }

    /// Looks for what in `dir` is not the session's.
    pub(crate) fn find(around: &Surroundings, workspace: &Workspace, dir: &Path) -> Result<Self> {
        Self::refuse_unfit(around, dir)?;
        let (mut git, mut state) = below(dir);
        state.push(workspace.spore_dir());
        git.retain(|place| is_plain(place));
        state.retain(|place| place.starts_with(dir) && is_plain(place));
        state.sort();
        state.dedup();
        let shared = state.iter().flat_map(|place| SHARED.map(|name| place.join(name)));
        // A repository may have committed a link that leads anywhere, here or further up.
        let is_itself = |place: &PathBuf| place.canonicalize().is_ok_and(|real| real == *place);
        let shared = shared.filter(is_itself).collect();
        // A checkout's `.git` is written by agents: it is believed in nothing.
        if !dir.starts_with(&around.state_home) {
            let led_to: Vec<PathBuf> = git.iter().filter_map(|dot| led_to(dot)).collect();
            git.extend(led_to);
            git.extend(git_around(dir));
        }
        git.sort();
        git.dedup();
        Ok(Self { dir: dir.to_owned(), git, state, shared })
    }

    /// Puts the directory into a root made anew.
    pub(super) fn place_in(&self, confinement: &mut Confinement, access: CheckoutAccess) {
        if let Some(root) = &mut confinement.root {
            root.empty.retain(|place| !place.starts_with(&self.dir));
        }
        let protected = || self.git.iter().chain(&self.state);
        let is_protected = |place: &Path| protected().any(|one| place.starts_with(one));
        let leading = protected().flat_map(|place| place.ancestors().skip(1));
        let leading = leading.filter(|above| above.starts_with(&self.dir) && !is_protected(above));
        let mut own: Vec<PathBuf> = leading.map(Path::to_owned).collect();
        own.push(self.dir.clone());
        own.sort();
        own.dedup();
        match access {
            CheckoutAccess::Write => confinement.write.extend(own),
            CheckoutAccess::ReadOnly => confinement.read.extend(own),
        }
        confinement.hide.extend(self.state.iter().cloned());
        confinement.read.extend(self.shared.iter().cloned());
        confinement.keep.extend(self.git.iter().cloned());
    }

    /// The same where Landlock alone holds the session. It grants by directory and all below, so
    /// what is beside `.git` is granted by name, and no new name can be made there.
    pub(super) fn grant_in(&self, confinement: &mut Confinement, access: CheckoutAccess) {
        confinement.hide.extend(self.state.iter().cloned());
        confinement.read.push(self.dir.clone());
        confinement.read.extend(self.shared.iter().cloned());
        confinement.list.push(self.dir.clone());
        if access == CheckoutAccess::Write {
            confinement.write.push(self.dir.clone());
            confinement.keep.extend(self.git.iter().cloned());
        }
    }
}

fn refused(dir: &Path, why: &str) -> Error {
    let message = format!("no session can be held in {}: {why}", spore_plain::path(dir));
    Error::new(Fault::Usage, message).hint(
        "name a directory that holds the project alone (`--cwd DIR`), or let `spore orchestrate` \
         do the task in a checkout",
    )
}

/// A directory that holds more names than this is not gone through to its end, the deepest
/// directories last: looking would take longer than what is found there is worth.
const LOOKED_AT: usize = 20_000;

/// Returns git's own places and Spore's in a directory, those of repositories further down
/// included.
fn below(dir: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut git, mut state, mut looked_at) = (Vec::new(), Vec::new(), 0);
    let mut dirs = VecDeque::from([dir.to_owned()]);
    while let Some(next) = dirs.pop_front().filter(|_| looked_at < LOOKED_AT) {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            looked_at += 1;
            match entry.file_name().to_str() {
                Some(".git") => git.push(entry.path()),
                Some(".spore") => state.push(entry.path()),
                _ if entry.file_type().is_ok_and(|kind| kind.is_dir()) => {
                    dirs.push_back(entry.path());
                }
                _ => {}
            }
        }
    }
    (git, state)
}

/// Returns git's own places for the work tree around `dir`, with the objects that those borrow.
fn git_around(dir: &Path) -> Vec<PathBuf> {
    let dots = dir.ancestors().map(|above| above.join(".git"));
    let Some(dot) = dots.into_iter().find(|dot| is_plain(dot)) else { return Vec::new() };
    let common = if dot.is_dir() { Some(dot.clone()) } else { led_to(&dot) };
    let objects = common.iter().flat_map(|common| borrowed_objects(common));
    objects.chain([dot]).chain(common.clone()).collect()
}

/// Returns where a `.git` leads that is a file. It may have been written by anything, and what it
/// names is shown: so it is followed only to a directory that knows this work tree as its own.
fn led_to(dot: &Path) -> Option<PathBuf> {
    named_by(dot, "gitdir: ").and_then(|own| shared_by(&own, dot))
}

/// Returns the git directory that `own`, which is that of the work tree with `dot`, is a part of:
/// linked worktrees and submodules have theirs inside of the main one.
fn shared_by(own: &Path, dot: &Path) -> Option<PathBuf> {
    let of_worktree = || {
        let knows = named_by(&own.join("gitdir"), "")? == dot.canonicalize().ok()?;
        let (name, common) = (own.parent()?.file_name()?, own.parent()?.parent()?);
        (knows && name == "worktrees").then(|| common.to_owned())
    };
    let of_submodule = || {
        let main = dot.ancestors().skip(2).map(|above| above.join(".git"));
        main.into_iter().find(|main| main.is_dir() && own.starts_with(main.join("modules")))
    };
    of_worktree().or_else(of_submodule)
}

/// Reads the path that one of git's files consists of, as it is seen from that file.
fn named_by(file: &Path, before: &str) -> Option<PathBuf> {
    let text = spore_effects::files::read_text(file).ok()?;
    let name = text.trim_end().strip_prefix(before)?;
    file.parent()?.join(name).canonicalize().ok()
}

/// Whether it is there and no link.
fn is_plain(place: &Path) -> bool {
    place.symlink_metadata().is_ok_and(|found| !found.is_symlink())
}
