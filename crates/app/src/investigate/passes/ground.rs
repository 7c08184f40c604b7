//! What all passes of one investigation stand on: the tree as it was scanned, what is known of it,
//! and where lines of the run's files go. Whatever leaves here has its secrets struck.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use spore_investigate::{EntryKind, Tree, path_text};
use spore_secrets::KnownSecrets;
use spore_tools::Root;

use super::summaries::Summaries;
use crate::base::error::bug;
use crate::base::files::read_text;
use crate::base::run_files::RunFiles;
use crate::{Result, Surroundings};

/// What all passes of one investigation share.
pub(super) struct Ground {
    pub(super) around: Arc<Surroundings>,
    pub(super) files: RunFiles,
    pub(super) target: std::path::PathBuf,
    pub(super) tree: Arc<Tree>,
    pub(super) root: Arc<Root>,
    pub(super) summaries: Summaries,
    /// Of everything that was scanned: places by their path from the target.
    pub(super) places: BTreeMap<String, (EntryKind, usize)>,
    /// Finds symbols, where the code is indexed.
    pub(super) index: Option<spore_store::CodeIndex>,
    /// Directories whose path holds a secret: no model is asked about them, and nothing is kept by
    /// their names.
    pub(super) unspoken: BTreeSet<usize>,
    /// Where the target is, from the project's root: places of the index are from there.
    pub(super) base: String,
    pub(super) log: Mutex<()>,
}

impl Ground {
    pub(super) fn places_of(tree: &Tree) -> BTreeMap<String, (EntryKind, usize)> {
        let dirs = tree.dirs.iter().enumerate();
        let dirs = dirs.map(|(at, dir)| (named(&dir.path), (EntryKind::Directory, at)));
        let files = tree.files.iter().enumerate().filter(|(_, file)| file.kind.is_file());
        let files = files.map(|(at, file)| (named(&tree.path_of(file)), (EntryKind::File, at)));
        dirs.chain(files).collect()
    }

    pub(super) fn secrets(&self) -> KnownSecrets {
        self.around.secrets()
    }

    /// Strikes what is known to be secret, and what looks like it.
    pub(super) fn struck(&self, text: &str) -> String {
        spore_secrets::strike_out(&self.secrets().strike(text))
    }

    pub(super) fn append(&self, name: &str, line: &impl serde::Serialize) -> Result<()> {
        let line = self.line(line)?;
        let _one_at_a_time = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        self.around.append_file(&self.files.file(name), line.as_bytes())
    }

    /// Adds a line unless it is there: a call that was made before a kill is made again.
    pub(super) fn append_once(&self, name: &str, line: &impl serde::Serialize) -> Result<()> {
        let line = self.line(line)?;
        let _one_at_a_time = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.files.file(name);
        let known = read_text(&path)?.unwrap_or_default();
        if known.lines().any(|one| one == line.trim_end()) {
            return Ok(());
        }
        self.around.append_file(&path, line.as_bytes())
    }

    fn line(&self, line: &impl serde::Serialize) -> Result<String> {
        let text = serde_json::to_string(line).map_err(bug)?;
        Ok(format!("{}\n", self.struck(&text)))
    }
}

/// A path from the target; `.` is the target itself.
pub(super) fn named(path: &Path) -> String {
    let text = path_text(path);
    if text.is_empty() { ".".to_owned() } else { text }
}

/// Strikes every text of a value that a model handed in.
pub(super) fn strike_json(ground: &Ground, value: &mut Value) {
    match value {
        Value::String(text) => *text = ground.struck(text),
        Value::Array(all) => all.iter_mut().for_each(|one| strike_json(ground, one)),
        Value::Object(fields) => fields.values_mut().for_each(|one| strike_json(ground, one)),
        _ => {}
    }
}
