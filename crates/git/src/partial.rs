//! Repositories that do not have everything: partial clones, whose remote has promised the blobs
//! that are missing, and shallow ones, whose history has an edge.
//!
//! Git fetches what was promised by itself, object by object, whenever something reads it: a log
//! that follows renames would fetch half of the history that way. So what only reads history asks
//! for nothing that is not there, and what a commit's files need is fetched at once, before anything
//! reads them.

use std::collections::HashSet;

use spore_model::CommitId;

use crate::command::Git;
use crate::{GitError, Repository};

/// What of its history a repository does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MissingHistory {
    /// Blobs that a remote has promised are fetched only when they are needed.
    pub is_partial: bool,
    /// Commits before a certain one were never fetched.
    pub is_shallow: bool,
}

impl Repository {
    /// Returns what of its history the repository does not have.
    pub fn missing_history(&self) -> MissingHistory {
        MissingHistory {
            is_partial: self.promisor().is_some(),
            is_shallow: !self.edges().is_empty(),
        }
    }

    /// Returns the commits at the edge of a shallow repository: what they changed is not known.
    pub(crate) fn edges(&self) -> HashSet<String> {
        let list = std::fs::read_to_string(self.git_dir().join("shallow")).unwrap_or_default();
        list.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    }

    /// Returns the remote that has promised what is missing.
    fn promisor(&self) -> Option<String> {
        let settings = self.settings();
        let named = settings.get("extensions.partialclone");
        let is_one = |name: &String| {
            let promises = settings.get(&format!("remote.{name}.promisor"));
            promises.is_some_and(|told| ["true", "yes", "on", "1"].contains(&told.as_str()))
        };
        named.or_else(|| settings.remotes().into_iter().find(is_one))
    }

    /// Fetches the blobs of a commit that a partial clone does not have, all at once. Where that
    /// cannot be done nothing can be checked out.
    pub fn complete(&self, commit: &CommitId) -> Result<(), GitError> {
        let Some(remote) = self.promisor() else { return Ok(()) };
        let missing = self.missing_blobs(commit)?;
        if missing.is_empty() {
            return Ok(());
        }
        let question: String = missing.iter().map(|blob| format!("{blob}\n")).collect();
        // In the way that git itself fetches what was promised (`fetch_objects` in the sources of its
        // promisor-remote). It belongs to the user's repository, like all that git fetches.
        let call = self
            .users_git("fetch the missing files")
            .set(&["fetch.negotiationAlgorithm=noop"])
            .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"])
            .args(["--recurse-submodules=no", "--filter=blob:none", "--stdin", &remote])
            .stdin(question);
        let answer = call.answer()?;
        let left = if answer.is_success() { self.missing_blobs(commit)? } else { missing };
        if left.is_empty() {
            return Ok(());
        }
        let files = left.len();
        let complaint = answer.complaint();
        Err(GitError::NotFetched { commit: commit.clone(), files, remote, complaint })
    }

    /// Returns the blobs of a commit that are not here, each once.
    fn missing_blobs(&self, commit: &CommitId) -> Result<Vec<String>, GitError> {
        let listing = self.listing(commit)?;
        let mut blobs: Vec<&str> = listing
            .iter()
            .filter(|(_, entry)| !entry.is_submodule())
            .map(|(_, entry)| entry.object)
            .collect();
        blobs.sort_unstable();
        blobs.dedup();
        let question: String = blobs.iter().map(|blob| format!("{blob}\n")).collect();
        let call = self.git("look for missing files");
        let call = without_fetching(call).args(["cat-file", "--batch-check"]).stdin(question);
        let answer = call.run()?.text();
        let missing = answer.lines().filter_map(|line| line.strip_suffix(" missing"));
        Ok(missing.map(str::to_owned).collect())
    }
}

/// A call that goes by what is here, and fetches nothing.
pub(crate) fn without_fetching(call: Git) -> Git {
    call.env("GIT_NO_LAZY_FETCH", "1")
}
