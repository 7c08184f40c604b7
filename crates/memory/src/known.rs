//! The fragments that are there, as far as their names tell.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::Trajectory;
use crate::fragment::read_name;
use crate::lines::LineHash;

/// What is known before a pass.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KnownFragments {
    names: BTreeSet<String>,
    /// How many there are about each line, and what the latest says.
    lines: BTreeMap<LineHash, (u32, Trajectory)>,
}

impl KnownFragments {
    /// Takes in the names of a directory; what is no fragment is passed over.
    pub fn of(names: impl IntoIterator<Item = String>) -> Self {
        let mut known = Self { names: names.into_iter().collect(), lines: BTreeMap::new() };
        // Names begin with the time of the event, so the last one is the latest.
        for name in &known.names {
            if let Some(named) = read_name(name)
                && let Some(line) = named.line
            {
                let entry = known.lines.entry(line).or_insert((0, named.trajectory));
                *entry = (entry.0 + 1, named.trajectory);
            }
        }
        known
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Returns how many fragments there are about a line.
    pub fn about(&self, line: &LineHash) -> u32 {
        self.lines.get(line).map_or(0, |(count, _)| *count)
    }

    /// Returns what the latest fragment about a line says.
    pub fn latest(&self, line: &LineHash) -> Option<Trajectory> {
        self.lines.get(line).map(|(_, trajectory)| *trajectory)
    }
}

/// Says how much evidence backs a line, what is new apart from what was there.
pub fn split_count(new: u32, prior: u32) -> String {
    if prior == 0 {
        return format!("{new} new");
    }
    format!("{new} new + {prior} prior = {} total evidence", new + prior)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment::Fragment;
    use crate::fragment::tests::fragment;

    #[test]
    fn names_alone_tell_how_much_there_is_and_what_came_last() {
        let early = fragment("a", Trajectory::Neutral);
        let late = Fragment {
            ts: "2026-02-01T00:00:00.000Z".into(),
            ..fragment("a", Trajectory::Weakening)
        };
        let names = [late.name(), early.name(), "README.md".into(), ".x.tmp".into()];
        let known = KnownFragments::of(names);
        let line = LineHash::of("a");
        assert_eq!((known.about(&line), known.latest(&line)), (2, Some(Trajectory::Weakening)));
        assert!(known.has(&early.name()) && !known.has("x"));
        assert_eq!(known.about(&LineHash::of("b")), 0);
    }

    #[test]
    fn a_total_is_told_as_a_sum() {
        assert_eq!(split_count(2, 0), "2 new");
        assert_eq!(split_count(2, 3), "2 new + 3 prior = 5 total evidence");
        assert_eq!(split_count(0, 3), "0 new + 3 prior = 3 total evidence");
    }
}
