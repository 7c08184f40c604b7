//! A file that an agent is signed in with, the user's or a session's copy.

use std::io;
use std::path::{Path, PathBuf};

use spore_effects::files::Beneath;

/// A larger file is none that an agent is signed in with.
const LARGEST: u64 = 1 << 20;

/// One file, by a name that no link stands for.
#[derive(Debug)]
pub(super) struct OneFile {
    dir: Beneath,
    name: PathBuf,
    /// As we see it.
    pub(super) path: PathBuf,
}

impl OneFile {
    /// Returns a file of the user's; the one that is meant where it is a link.
    pub(super) fn of_user(file: &Path) -> Option<Self> {
        let path = file.canonicalize().ok()?;
        let dir = Beneath::open(path.parent()?).ok()?;
        Some(Self { dir, name: path.file_name()?.into(), path })
    }

    /// Returns a file below a session's home, where the session may have put anything.
    pub(super) fn of_session(home: &Path, name: &Path) -> io::Result<Self> {
        let dir = Beneath::open(home)?;
        Ok(Self { dir, name: name.to_owned(), path: home.join(name) })
    }

    /// Reads it, unless it is empty.
    pub(super) fn read(&self) -> Option<Vec<u8>> {
        self.dir.read(&self.name, LARGEST).ok().filter(|text| !text.is_empty())
    }

    pub(super) fn write(&self, text: &[u8]) -> io::Result<()> {
        self.dir.replace(&self.name, text)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        self.dir.remove(&self.name)
    }
}
