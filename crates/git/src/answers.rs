//! What git was asked before and has no reason to answer otherwise: an object does not change.
//! How a diff looks is also a matter of the user's settings; those count that were there when it was
//! made first.
//!
//! A run asks for the tree of its base dozens of times, and each answer of git's is a process.
//! Names of branches are not kept here: they move.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use spore_model::{CommitId, TreeId};

use crate::listing::TreeListing;
use crate::{Diff, GitError};

/// How many answers of a kind are kept: those about the base, the change under judgement, and the
/// tree in which both are mixed.
const MAX_KEPT: usize = 3;

/// How many bytes of files are kept together.
const MAX_BLOB_BYTES: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(crate) struct AnswerCache {
    /// The object that an expression stands for.
    peeled: Mutex<HashMap<String, String>>,
    /// The files of a tree.
    pub(crate) listings: Newest<TreeId, TreeListing>,
    /// What differs between two trees, with so many bytes of text.
    pub(crate) diffs: Newest<(TreeId, TreeId, usize), Diff>,
    /// What a commit of unverified work leads to that the user's repository lacked when it was
    /// asked first. Later it lacks no more: the base is kept by a ref of the run's.
    pub(crate) unverified: Newest<CommitId, String>,
    pub(crate) blobs: KeptBlobs,
    /// Where the attributes are that the user has for all repositories, like the settings at the
    /// moment that the repository was found.
    pub(crate) users_attributes: OnceLock<Option<PathBuf>>,
}

/// The contents of files that were read last, the newest last.
#[derive(Debug, Default)]
pub(crate) struct KeptBlobs(Mutex<VecDeque<(String, Arc<[u8]>)>>);

impl KeptBlobs {
    pub(crate) fn get(&self, blob: &str) -> Option<Arc<[u8]>> {
        let kept = held(&self.0);
        kept.iter().find(|(name, _)| name == blob).map(|(_, content)| Arc::clone(content))
    }

    pub(crate) fn keep(&self, blob: &str, content: &[u8]) {
        if content.len() > MAX_BLOB_BYTES || self.get(blob).is_some() {
            return;
        }
        let mut kept = held(&self.0);
        kept.push_back((blob.to_owned(), content.into()));
        while kept.iter().map(|(_, content)| content.len()).sum::<usize>() > MAX_BLOB_BYTES {
            kept.pop_front();
        }
    }
}

/// The answers to questions of a kind that were asked last, the newest last.
#[derive(Debug)]
pub(crate) struct Newest<Q, A>(Mutex<VecDeque<(Q, Arc<A>)>>);

impl<Q, A> Default for Newest<Q, A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: PartialEq, A> Newest<Q, A> {
    /// Returns the answer to `question`, found out by `ask` where it is not known.
    pub(crate) fn answer(
        &self,
        question: Q,
        ask: impl FnOnce() -> Result<A, GitError>,
    ) -> Result<Arc<A>, GitError> {
        let known = self.take(&question);
        let answer = match known {
            Some(answer) => answer,
            None => Arc::new(ask()?),
        };
        // Two threads may have asked at once.
        self.take(&question);
        let mut kept = held(&self.0);
        if kept.len() == MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back((question, Arc::clone(&answer)));
        Ok(answer)
    }

    /// Returns the newest answer to a question of this sort, if there is one.
    pub(crate) fn known(&self, is_wanted: impl Fn(&Q) -> bool) -> Option<Arc<A>> {
        let kept = held(&self.0);
        let found = kept.iter().rev().find(|(asked, _)| is_wanted(asked));
        found.map(|(_, answer)| Arc::clone(answer))
    }

    fn take(&self, question: &Q) -> Option<Arc<A>> {
        let mut kept = held(&self.0);
        let at = kept.iter().position(|(asked, _)| asked == question)?;
        kept.remove(at).map(|(_, answer)| answer)
    }
}

impl AnswerCache {
    /// Returns the object that `expression` stands for, found out by `ask` where it is not
    /// known or may change.
    pub(crate) fn object(
        &self,
        expression: &str,
        ask: impl FnOnce() -> Result<String, GitError>,
    ) -> Result<String, GitError> {
        if !is_fixed(expression) {
            return ask();
        }
        if let Some(known) = self.known_object(expression) {
            return Ok(known);
        }
        let object = ask()?;
        held(&self.peeled).insert(expression.to_owned(), object.clone());
        Ok(object)
    }

    fn known_object(&self, expression: &str) -> Option<String> {
        held(&self.peeled).get(expression).cloned()
    }

    /// Remembers what a commit is made of, which the caller knows.
    pub(crate) fn learn(&self, commit: &CommitId, tree: &TreeId, parent: Option<&CommitId>) {
        let mut peeled = held(&self.peeled);
        peeled.insert(format!("{commit}^{{commit}}"), commit.to_string());
        peeled.insert(format!("{commit}^{{tree}}"), tree.to_string());
        if let Some(parent) = parent {
            peeled.insert(format!("{commit}^^{{commit}}"), parent.to_string());
        }
    }

    /// Returns the files of a commit, if git was asked for them before.
    pub(crate) fn known_listing(&self, commit: &CommitId) -> Option<Arc<TreeListing>> {
        let tree = TreeId::new(self.known_object(&format!("{commit}^{{tree}}"))?).ok()?;
        self.listings.known(|asked| *asked == tree)
    }
}

/// Returns whether an expression starts from a whole object id, so that no ref decides.
fn is_fixed(expression: &str) -> bool {
    let id = expression.bytes().take_while(u8::is_ascii_hexdigit).count();
    let rest = expression[id..].bytes().next();
    matches!(id, 40 | 64) && matches!(rest, None | Some(b'^' | b'~'))
}

/// A thread that panicked while it held this left a whole answer or none.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn only_what_starts_from_an_object_is_remembered() {
        let recall = AnswerCache::default();
        for (expression, asked) in [
            (format!("{ID}^{{tree}}"), 1),
            (format!("{ID}^^{{commit}}"), 1),
            ("main^{tree}".to_owned(), 2),
            (format!("{ID}-branch^{{tree}}"), 2),
            (format!("{}^{{tree}}", &ID[..12]), 2),
        ] {
            let mut times = 0;
            for _ in 0..2 {
                let answer = recall.object(&expression, || {
                    times += 1;
                    Ok(ID.to_owned())
                });
                assert_eq!(answer.unwrap(), ID);
            }
            assert_eq!(times, asked, "{expression}");
        }
    }

    #[test]
    fn the_newest_answers_are_kept_and_a_failure_is_not() {
        let newest = Newest::default();
        let unknown = || GitError::UnknownRevision { revision: "x".to_owned() };
        assert!(newest.answer("a", || Err(unknown())).is_err());
        for question in ["a", "b", "c", "a", "d"] {
            newest.answer(question, || Ok(question.len())).unwrap();
        }
        // "a" was asked for again, so "b" is the one that had to go.
        for (question, is_known) in [("a", true), ("b", false), ("c", true), ("d", true)] {
            assert_eq!(newest.answer(question, || Err(unknown())).is_ok(), is_known, "{question}");
        }
    }
}
