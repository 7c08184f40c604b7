//! Trees that are of the change in one part and of its base in the other.

use spore_gates::{TouchKind, TouchedFile};
use spore_git::TreeMixture;
use spore_model::{CommitId, TreeId};
use spore_proof::Exchanged;

use super::ground::{CheckedChange, Proving};
use crate::Result;
use crate::run::context::RunContext;

impl RunContext<'_> {
    /// Returns the tree of the change with these files as the base has them, and tests among its code,
    /// too.
    pub(super) fn kept_tree(
        &self,
        proving: &Proving<'_>,
        place: &CheckedChange<'_>,
        held: &[&TouchedFile],
    ) -> Result<TreeId> {
        let is_new = |one: &&&TouchedFile| one.how == TouchKind::Added;
        let names = |files: Vec<&&TouchedFile>| -> Vec<String> {
            files.into_iter().map(|one| one.path.clone()).collect()
        };
        let leave_out = names(held.iter().filter(|one| is_new(one)).collect());
        let bring_back = names(held.iter().filter(|one| !is_new(one)).collect());
        let base = self.run.settings.base.clone();
        let rewrite = self.exchanged(proving, place.commit, &base)?;
        let mixture = TreeMixture {
            from: &base,
            bring_back: &bring_back,
            leave_out: &leave_out,
            rewrite: &rewrite,
        };
        self.mixed(place.tree, &mixture)
    }

    /// Returns the files of `code` that have tests among them, with the tests of `tests`.
    pub(super) fn exchanged(
        &self,
        proving: &Proving<'_>,
        code: &CommitId,
        tests: &CommitId,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        let mut exchanged = Vec::new();
        for path in &proving.review.sorted.inline {
            let text = |commit: &CommitId| -> Result<Option<String>> {
                let bytes = self.project.repository.read_file(commit, path)?;
                Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            };
            // A file that is new has nothing to be exchanged with: its tests go with it.
            let (Some(code), Some(tests)) = (text(code)?, text(tests)?) else { continue };
            if let Exchanged::Text(text) = spore_proof::exchange(path, &code, &tests) {
                exchanged.push((path.clone(), text.into_bytes()));
            }
        }
        Ok(exchanged)
    }
}
