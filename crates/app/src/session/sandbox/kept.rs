//! What checks of a base wrote outside of their checkout: a layer below the homes and caches of what
//! comes after.
//!
//! A check of another base makes a new one while sessions of other runs still look through the one
//! before. So it is made aside and becomes the current one when the check is over; some before it
//! stay. Most checks write nothing there, and then there is none.

use std::path::{Path, PathBuf};

use spore_effects::files::remove_all;

use crate::{Error, Result, Surroundings, Workspace};

/// How many layers before the current one sessions may still look through.
const KEPT: u64 = 3;

/// The layers of one project.
pub(crate) struct KeptLayers<'a> {
    around: &'a Surroundings,
    dir: PathBuf,
}

impl<'a> KeptLayers<'a> {
    pub(crate) fn of(around: &'a Surroundings, workspace: &Workspace) -> Self {
        Self { around, dir: workspace.gates_state().join("outside") }
    }

    /// Returns the one that is looked through.
    pub(super) fn current(&self) -> PathBuf {
        self.numbered(self.number())
    }

    /// Returns the one that a check of a base makes, with nothing in it yet. All checks of a project
    /// come one after another, so there is no other.
    pub(super) fn begin(&self) -> Result<PathBuf> {
        let next = self.numbered(self.number() + 1);
        remove_all(&next).map_err(|source| Error::io("cannot remove what gates left", source))?;
        Ok(next)
    }

    /// Makes what a check of a base has made the current one.
    pub(crate) fn settle(&self) -> Result<()> {
        let number = self.number() + 1;
        let made = self.numbered(number);
        if !made.is_dir() {
            return Ok(());
        }
        if !holds_files(&made) {
            remove_all(&made)
                .map_err(|source| Error::io("cannot remove what gates left", source))?;
        }
        self.around.write_file(&self.dir.join("current"), number.to_string().as_bytes())?;
        if let Some(older) = number.checked_sub(KEPT + 1) {
            // One that cannot be removed is in nothing's way.
            let _ = remove_all(&self.numbered(older));
        }
        Ok(())
    }

    fn numbered(&self, number: u64) -> PathBuf {
        self.dir.join(number.to_string())
    }

    fn number(&self) -> u64 {
        let text = spore_effects::files::read_text(self.dir.join("current"));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }
}

/// Returns whether there is anything but directories. What cannot be looked into counts.
fn holds_files(dir: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return true };
    // Beside what was written the kernel keeps a directory of its own, which it closes.
    let is_layer = dir.join("upper").is_dir();
    entries.flatten().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() && is_layer && entry.file_name() == "work" => false,
        Ok(kind) if kind.is_dir() => holds_files(&entry.path()),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_alone_are_no_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/upper/b")).unwrap();
        assert!(!holds_files(dir.path()));
        std::fs::write(dir.path().join("a/upper/b/c"), "").unwrap();
        assert!(holds_files(dir.path()));
    }
}
