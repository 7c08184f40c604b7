//! Which entries still hold: those whose place has the hash they were written for.
//!
//! Nothing else counts, neither times nor who wrote the entry. Because a directory's hash is
//! made of those of what is in it, one edited file is stale together with its directory and
//! the directories above, and nothing else is.

use std::collections::BTreeMap;

use crate::entry::EntryKind;

/// One place: what it is, and its path.
pub type EntryPlace = (EntryKind, String);

/// What has become of entries, each list by place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EntryStaleness {
    pub fresh: Vec<EntryPlace>,
    /// The place is there and has changed.
    pub stale: Vec<EntryPlace>,
    /// Nothing was written about the place yet.
    pub new: Vec<EntryPlace>,
    /// The place is not there any more.
    pub gone: Vec<EntryPlace>,
}

impl EntryStaleness {
    /// Compares the hashes that entries were written for with those there are now.
    pub fn of(known: &BTreeMap<EntryPlace, String>, now: &BTreeMap<EntryPlace, String>) -> Self {
        let mut standing = Self::default();
        for (place, hash) in now {
            let list = match known.get(place) {
                Some(before) if before == hash => &mut standing.fresh,
                Some(_) => &mut standing.stale,
                None => &mut standing.new,
            };
            list.push(place.clone());
        }
        let gone = known.keys().filter(|place| !now.contains_key(*place));
        standing.gone.extend(gone.cloned());
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(list: &[(&str, &str)]) -> BTreeMap<EntryPlace, String> {
        list.iter()
            .map(|(path, hash)| ((EntryKind::File, (*path).to_owned()), (*hash).to_owned()))
            .collect()
    }

    #[test]
    fn the_hash_alone_decides() {
        let known = places(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let now = places(&[("a", "1"), ("b", "2"), ("d", "1")]);
        let standing = EntryStaleness::of(&known, &now);
        let names =
            |list: &[EntryPlace]| list.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>();
        assert_eq!(names(&standing.fresh), ["a"]);
        assert_eq!(names(&standing.stale), ["b"]);
        assert_eq!(names(&standing.new), ["d"]);
        assert_eq!(names(&standing.gone), ["c"]);
    }

    #[test]
    fn a_file_in_the_place_of_a_directory_is_another_place() {
        let known = BTreeMap::from([((EntryKind::Directory, "a".to_owned()), "1".to_owned())]);
        let now = BTreeMap::from([((EntryKind::File, "a".to_owned()), "1".to_owned())]);
        let standing = EntryStaleness::of(&known, &now);
        assert_eq!((standing.new.len(), standing.gone.len()), (1, 1));
    }
}
