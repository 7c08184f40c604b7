//! What git was asked before and can never answer otherwise: an object does not change.
//!
//! A run asks for the tree of its base dozens of times, and each answer of git's is a process.
//! Names of branches are not kept here: they move.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::GitError;
use crate::listing::Listing;

/// How many commits' files are kept: those of the base and of the change under judgement.
const MAX_LISTINGS: usize = 2;

#[derive(Debug, Default)]
pub(crate) struct Recall {
    /// The object that an expression stands for.
    peeled: Mutex<HashMap<String, String>>,
    /// The newest last.
    listings: Mutex<VecDeque<(String, Arc<Listing>)>>,
}

impl Recall {
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
        if let Some(known) = held(&self.peeled).get(expression) {
            return Ok(known.clone());
        }
        let object = ask()?;
        held(&self.peeled).insert(expression.to_owned(), object.clone());
        Ok(object)
    }

    /// Returns the files of a commit, listed by `ask` where they are not known.
    pub(crate) fn listing(
        &self,
        commit: &str,
        ask: impl FnOnce() -> Result<Listing, GitError>,
    ) -> Result<Arc<Listing>, GitError> {
        if let Some((_, known)) = held(&self.listings).iter().find(|(id, _)| id == commit) {
            return Ok(Arc::clone(known));
        }
        let listing = Arc::new(ask()?);
        let mut listings = held(&self.listings);
        if listings.len() == MAX_LISTINGS {
            listings.pop_front();
        }
        listings.push_back((commit.to_owned(), Arc::clone(&listing)));
        Ok(listing)
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
        let recall = Recall::default();
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
    fn the_last_listings_are_kept_and_a_failure_is_not() {
        let recall = Recall::default();
        let unknown = || GitError::UnknownRevision { revision: "x".to_owned() };
        assert!(recall.listing("a", || Err(unknown())).is_err());
        for commit in ["a", "b", "c"] {
            recall.listing(commit, || Ok(Listing::default())).unwrap();
        }
        assert!(recall.listing("b", || Err(unknown())).is_ok());
        assert!(recall.listing("a", || Err(unknown())).is_err());
    }
}
