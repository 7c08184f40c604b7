//! Which files a text means: a path, the end of a path, or the name of a piece of code.

use std::cell::OnceCell;

use spore_model::{CommitId, NodeId};
use spore_store::CodeIndex;

use crate::knowledge::brief::Briefing;

/// A tree whose places can be named.
pub(crate) struct NamedPlaces<'a> {
    briefing: Briefing<'a>,
    at: CommitId,
    files: Vec<String>,
    /// Opened for the first name that is no path.
    index: OnceCell<Option<CodeIndex>>,
}

impl<'a> NamedPlaces<'a> {
    /// Opens the tree of a run's commit. Names of code are known where its base is indexed
    /// already; what cannot be read has no places.
    pub(crate) fn of(briefing: Briefing<'a>, at: CommitId) -> Self {
        let files = briefing.repository.list_files(&at).unwrap_or_default();
        Self { briefing, at, files, index: OnceCell::new() }
    }

    /// Returns the paths that `named` stands for; none if it names nothing of the tree.
    pub(crate) fn find(&self, named: &str) -> Vec<String> {
        let named = named.trim().trim_start_matches("./").trim_end_matches('/');
        let (inside, ending) = (format!("{named}/"), format!("/{named}"));
        if named.is_empty() {
            return Vec::new();
        }
        if self.files.iter().any(|file| file == named || file.starts_with(&inside)) {
            return vec![named.to_owned()];
        }
        let endings: Vec<&String> =
            self.files.iter().filter(|file| file.ends_with(&ending)).collect();
        match endings.len() {
            0 => self.paths_of_code(named),
            many if self.stands_for_none(many) => Vec::new(),
            _ => endings.into_iter().cloned().collect(),
        }
    }

    fn paths_of_code(&self, named: &str) -> Vec<String> {
        let index = self.index.get_or_init(|| self.briefing.seen(&self.at));
        let Some(index) = index else { return Vec::new() };
        let found = index.find(named.trim_end_matches("()")).unwrap_or_default();
        let path = |id: &NodeId| {
            let node = index.node(id).ok().flatten()?;
            Some(node.metadata.get("path")?.as_str()?.to_owned())
        };
        let mut paths: Vec<String> = found.iter().filter_map(path).collect();
        paths.sort_unstable();
        paths.dedup();
        if self.stands_for_none(paths.len()) { Vec::new() } else { paths }
    }

    /// Returns whether a name that fits `many` files is too common to mean any of them.
    fn stands_for_none(&self, many: usize) -> bool {
        many > self.briefing.config.lessons.namesakes as usize
    }
}
