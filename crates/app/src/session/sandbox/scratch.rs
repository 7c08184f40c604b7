//! The temporary directories of a run's sessions and gates, each gone with what it was for.
//!
//! They lie where temporary files lie and not with the checkouts: programs put sockets there,
//! and those must have short names. All of a run's are below one directory that is found
//! again by its name, so that what a killed process left is removed when the run goes on.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use spore_effects::files::remove_all;
use spore_model::SessionToken;

use crate::base::workspace::fnv1a;
use crate::{Error, Result, Surroundings};

/// A directory that only this user can enter.
#[derive(Debug)]
pub(crate) struct Scratch {
    dir: PathBuf,
    /// Where its programs see it: elsewhere, in a root made anew.
    seen_at: PathBuf,
}

impl Scratch {
    /// Makes one for the session with `token`, of the run whose checkouts are in `state`.
    pub(crate) fn make(around: &Surroundings, state: &Path, token: &SessionToken) -> Result<Self> {
        let parent = home(around, state);
        let dir = parent.join(format!("{:08x}", fnv1a(token.as_str().as_bytes()) >> 32));
        let mut made = make_in(&parent, &dir);
        // Another session of the run that ends now removes the parent, if it finds it empty.
        for _ in 0..TRIES {
            match &made {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    made = make_in(&parent, &dir);
                }
                _ => break,
            }
        }
        made.map_err(|source| Error::io(format!("cannot create {}", dir.display()), source))?;
        Ok(Self { seen_at: dir.clone(), dir })
    }

    /// Makes the directories in it that stand in for others in a root made anew, where `tmp` is
    /// seen as `/tmp`. Returns the one for the home.
    pub(super) fn furnish(&mut self) -> Result<PathBuf> {
        for dir in ["tmp", "home"].map(|name| self.dir.join(name)) {
            make_ours(&dir)
                .map_err(|source| Error::io(format!("cannot create {}", dir.display()), source))?;
        }
        self.seen_at = "/tmp".into();
        Ok(self.dir.join("home"))
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns where its programs may leave files, from outside and as they see it.
    pub(crate) fn places(&self) -> (PathBuf, PathBuf) {
        let is_elsewhere = self.seen_at != self.dir;
        let outside = if is_elsewhere { self.dir.join("tmp") } else { self.dir.clone() };
        (outside, self.seen_at.clone())
    }

    /// Points the programs of a session to it. Some keep their locks in `/tmp` whatever
    /// `TMPDIR` says, unless there is a directory for this user's sockets and the like: pnpm.
    pub(crate) fn tell(&self, variables: &mut Vec<(String, String)>) {
        for variable in ["TMPDIR", "XDG_RUNTIME_DIR"] {
            variables.retain(|(name, _)| name != variable);
            variables.push((variable.to_owned(), self.seen_at.display().to_string()));
        }
    }

    /// Removes what sessions of the run left that were killed together with us.
    pub(crate) fn remove_left(around: &Surroundings, state: &Path) {
        let parent = home(around, state);
        if is_ours(&parent) {
            let _ = remove_all(&parent);
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove_all(&self.dir);
        // Only the last one to go succeeds.
        let _ = self.dir.parent().map(std::fs::remove_dir);
    }
}

/// How often a directory is made again that went away in between.
const TRIES: u32 = 100;

fn make_in(parent: &Path, dir: &Path) -> io::Result<()> {
    make_ours(parent).and_then(|()| make_private(dir))
}

/// By a hash: names in a shared directory are for all to see.
fn home(around: &Surroundings, state: &Path) -> PathBuf {
    let base = around.variable("TMPDIR").filter(|value| !value.is_empty()).unwrap_or("/tmp");
    let name = fnv1a(state.as_os_str().as_encoded_bytes());
    Path::new(base).join(format!("spore-{name:016x}"))
}

/// Makes the directory unless it is there and ours alone: its name can be foreseen, and any user
/// of the machine may make something of that name first.
fn make_ours(dir: &Path) -> io::Result<()> {
    match make_private(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_ours(dir) => Ok(()),
        other => other,
    }
}

fn make_private(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(dir)
}

fn is_ours(dir: &Path) -> bool {
    dir.symlink_metadata().is_ok_and(|found| {
        let me = spore_effects::machine::user();
        found.is_dir() && found.uid() == me && found.permissions().mode() & 0o077 == 0
    })
}
