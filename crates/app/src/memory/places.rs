//! Where memory keeps its files, and how they are read and written.
//!
//! The broadcast file has one way in: [`MemoryPlaces::replace_broadcast`]. What is asked for is
//! checked before; here it is only made sure that no edit in between is lost.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use spore_effects::files::{self, Lock, LockError};
use spore_memory::cues::DossierKind;
use spore_memory::inbox::is_ack_name;
use spore_memory::judging::JudgedTouches;
use spore_memory::known::KnownFragments;
use spore_memory::ledger::Ledger;
use spore_memory::lines::{BROADCAST, LineMap};
use spore_memory::pending::Pending;
use spore_memory::reading::recalled::Recalled;
use spore_model::Fault;

use crate::base::files::{create_dir, read_text};
use crate::knowledge::broadcast::line_map;
use crate::knowledge::ledger::read_ledger;
use crate::{Error, Result, Surroundings, Workspace};

pub(crate) struct MemoryPlaces {
    /// The project, below which everything stays.
    root: PathBuf,
    spore: PathBuf,
}

impl MemoryPlaces {
    pub(crate) fn of(workspace: &Workspace) -> Self {
        Self { root: workspace.root().to_owned(), spore: workspace.spore_dir() }
    }

    /// Returns the place of what reports call `memory/…`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.spore.join(name)
    }

    pub(crate) fn broadcast(&self) -> PathBuf {
        self.path(BROADCAST)
    }

    pub(crate) fn fragments(&self) -> PathBuf {
        self.path("memory/fragments")
    }

    pub(crate) fn inbox(&self) -> PathBuf {
        self.path("memory/inbox")
    }

    pub(crate) fn pending(&self) -> PathBuf {
        self.path("memory/state/pending.jsonl")
    }

    /// What judges were asked and what they said, without a word of the events.
    pub(crate) fn judged_file(&self) -> PathBuf {
        self.path("memory/state/judged.jsonl")
    }

    pub(crate) fn judged(&self) -> Result<JudgedTouches> {
        Ok(JudgedTouches::read(&self.read(&self.judged_file())?.unwrap_or_default()))
    }

    /// Which questions about the broadcast file a model has answered: digests, no words.
    pub(crate) fn answered_edits_file(&self) -> PathBuf {
        self.path("memory/state/answered-edits")
    }

    pub(crate) fn answered_edits(&self) -> Result<BTreeSet<String>> {
        let text = self.read(&self.answered_edits_file())?.unwrap_or_default();
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// The turns that the last scan left open: hashes and ids, no words.
    pub(crate) fn turns(&self) -> PathBuf {
        self.path("memory/state/turns.json")
    }

    /// Returns all that memory tells sessions: the lines as they are and were, and the dossiers.
    pub(crate) fn told(&self, map: &LineMap, ledger: &Ledger) -> Result<Recalled> {
        let mut told = Recalled::default();
        map.lines().iter().for_each(|line| told.add_line(&line.text));
        ledger.entries().for_each(|(_, record)| told.add_line(&record.text));
        for kind in [DossierKind::Entity, DossierKind::Topic] {
            let dir = self.path("memory").join(kind.directory());
            for name in names_in(&dir, |name| name.ends_with(".md"))? {
                told.add(&self.read(&dir.join(name))?.unwrap_or_default());
            }
        }
        Ok(told)
    }

    pub(crate) fn scanner_state(&self) -> PathBuf {
        self.path("memory/state/spine-scanner.json")
    }

    /// Keeps other passes away until it is dropped.
    pub(crate) fn lock(&self) -> Result<Lock> {
        let dir = self.path("memory/state");
        create_dir(&dir)?;
        Lock::try_take(&dir.join("lock")).map_err(|error| match error {
            LockError::Held { .. } => {
                Error::new(Fault::BadInput, "another pass of memory is at work in this project")
                    .hint("wait for it: `spore runs list` shows it; then try again")
            }
            other => other.into(),
        })
    }

    /// Reads a text that may not be there.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<String>> {
        read_text(path)
    }

    pub(crate) fn line_map(&self) -> Result<LineMap> {
        line_map(&self.spore)
    }

    pub(crate) fn ledger(&self) -> Result<Ledger> {
        read_ledger(&self.spore)
    }

    /// Returns the names in the directory of fragments, in order.
    pub(crate) fn fragment_names(&self) -> Result<Vec<String>> {
        // What we did not write has other names; a leftover of a killed write as well.
        names_in(&self.fragments(), |name| name.ends_with(".md"))
    }

    /// Returns the names of the tasks in the inbox, in order.
    pub(crate) fn inbox_names(&self) -> Result<Vec<String>> {
        let inbox = self.inbox();
        let is_file =
            |name: &str| inbox.join(name).symlink_metadata().is_ok_and(|found| found.is_file());
        names_in(&inbox, |name| is_ack_name(name) && is_file(name))
    }

    pub(crate) fn known(&self) -> Result<KnownFragments> {
        Ok(KnownFragments::of(self.fragment_names()?))
    }

    /// Reads what waits for a judge. A line that cannot be read is let go of: it is only a
    /// place on the spine, and the spine still has it.
    pub(crate) fn read_pending(&self, most: usize) -> Result<Pending> {
        let text = self.read(&self.pending())?.unwrap_or_default();
        Ok(Pending::read(&text, most).0)
    }

    /// Puts `after` in the place of `before`. Where it stands already nothing happens; where
    /// anything else stands, the file was edited meanwhile and is left alone.
    pub(crate) fn replace_broadcast(
        &self,
        around: &Surroundings,
        before: &str,
        after: &str,
    ) -> Result<()> {
        let path = self.resolved_broadcast()?;
        let now = self.read(&path)?.unwrap_or_default();
        if now == after {
            return Ok(());
        }
        if now != before {
            return Err(Error::new(
                Fault::BadInput,
                format!("{BROADCAST} was edited in the meantime, so nothing was written"),
            )
            .hint("look at it, then try again"));
        }
        around.write_exact_file(&path, after.as_bytes())
    }

    /// A project may keep the file elsewhere and link to it; the link stays. It may not lead
    /// out of the project.
    fn resolved_broadcast(&self) -> Result<PathBuf> {
        let path = self.broadcast();
        if !path.is_symlink() {
            return Ok(path);
        }
        let target = path.canonicalize().map_err(|source| {
            Error::io(format!("cannot follow {}", spore_plain::path(&path)), source)
        })?;
        if target.starts_with(&self.root) {
            return Ok(target);
        }
        Err(Error::new(
            Fault::BadInput,
            format!(
                "{BROADCAST} is a link that leads out of the project: {}",
                spore_plain::path(&target)
            ),
        )
        .hint("edit that file yourself, or put the file itself in the place of the link"))
    }
}

/// Returns the names in a directory that are text and kept, in order.
fn names_in(dir: &Path, keep: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let paths = files::paths_in(dir)
        .map_err(|source| Error::io(format!("cannot read {}", spore_plain::path(dir)), source))?;
    let name = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    Ok(paths.iter().filter_map(name).filter(|name| keep(name)).collect())
}
