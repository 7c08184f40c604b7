//! Where the broker's socket is.
//!
//! Paths of sockets have room for a hundred bytes, so it is not with the run's other state but
//! in the user's runtime directory, or where temporary files are. A lock says that its maker
//! lives: what a killed one left is removed by the next.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use spore_effects::files::Lock;

use crate::{Error, Result, Surroundings};

/// The kernel takes 108 bytes with the zero at the end; a little is left for other systems.
const LONGEST_PATH: usize = 100;

const PREFIX: &str = "spore-broker-";

pub(super) struct Home {
    dir: PathBuf,
    _lock: Lock,
}

impl Home {
    pub(super) fn make(around: &Surroundings) -> Result<Self> {
        let word = around.ids.session_token();
        let name = format!("{PREFIX}{}", &word.as_str()[..12]);
        let dir = bases(around)
            .map(|base| base.join(&name))
            .find(|dir| dir.join("s").as_os_str().len() <= LONGEST_PATH)
            .unwrap_or_else(|| Path::new("/tmp").join(&name));
        if let Some(base) = dir.parent() {
            remove_left(base);
        }
        let failed = |source| Error::io(format!("cannot create {}", dir.display()), source);
        std::fs::DirBuilder::new().mode(0o700).create(&dir).map_err(failed)?;
        let lock = Lock::try_take(&dir.join("lock"))?;
        Ok(Self { dir, _lock: lock })
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.dir.join("s")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// The places to try, best first.
fn bases(around: &Surroundings) -> impl Iterator<Item = PathBuf> {
    let set =
        |name: &str| around.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let runtime = set("XDG_RUNTIME_DIR").filter(|dir| is_ours(dir));
    let temporary = set("TMPDIR").filter(|dir| dir.is_dir());
    runtime.into_iter().chain(temporary).chain(std::iter::once(PathBuf::from("/tmp")))
}

/// Removes what killed brokers left. A broker locks before it makes its socket, so a socket whose
/// lock no process holds has no broker any more.
fn remove_left(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    let ours = entries
        .filter_map(io::Result::ok)
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
    for entry in ours {
        let dir = entry.path();
        let is_left = is_ours(&dir)
            && dir.join("s").symlink_metadata().is_ok()
            && !Lock::is_held(&dir.join("lock"));
        if is_left {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

fn is_ours(dir: &Path) -> bool {
    dir.symlink_metadata().is_ok_and(|found| {
        let me = spore_effects::machine::user();
        found.is_dir() && found.uid() == me && found.permissions().mode() & 0o077 == 0
    })
}
