//! In which order directories are looked at: each after all that are in it.
//!
//! Always so, whatever a plan wishes: a loop begins with its children's summaries. Among the
//! directories that are ready the tier decides, then the depth, then the path, so that the order
//! is the same however many work at once.

use std::collections::BTreeSet;

use super::plan::PlanTier;

/// How soon a directory comes: where doubtful ones come first, whether it is one or is below one; its
/// tier; how deep it is.
type Rank = (u8, PlanTier, std::cmp::Reverse<usize>);

/// Gives out directories as they become ready.
#[derive(Clone, Debug)]
pub struct LoopOrder {
    parents: Vec<Option<usize>>,
    ranks: Vec<Rank>,
    /// How many directories in it are not settled.
    waits_for: Vec<usize>,
    ready: BTreeSet<(Rank, usize)>,
    unsettled: usize,
}

impl LoopOrder {
    /// Takes for each directory its parent and its tier; a parent comes before what is in it, as
    /// in a scanned tree.
    pub fn new(directories: &[(Option<usize>, PlanTier)]) -> Self {
        Self::doubtful_first(directories, |_| false)
    }

    /// Lets doubtful directories come first, and right after them those that one waits for.
    pub fn doubtful_first(
        directories: &[(Option<usize>, PlanTier)],
        is_doubtful: impl Fn(usize) -> bool,
    ) -> Self {
        let mut urgency: Vec<u8> = Vec::with_capacity(directories.len());
        for (at, (parent, _)) in directories.iter().enumerate() {
            let above = parent.and_then(|parent| urgency.get(parent)).copied().unwrap_or(2);
            urgency.push(match above {
                _ if is_doubtful(at) => 0,
                0 | 1 => 1,
                _ => 2,
            });
        }
        let mut depths = Vec::with_capacity(directories.len());
        let mut waits_for = vec![0; directories.len()];
        for (parent, _) in directories {
            let depth = parent.and_then(|parent| depths.get(parent)).map_or(0, |depth| depth + 1);
            depths.push(depth);
            if let Some(count) = parent.and_then(|parent| waits_for.get_mut(parent)) {
                *count += 1;
            }
        }
        let rank = |(at, (_, tier)): (usize, &(Option<usize>, PlanTier))| {
            (urgency[at], *tier, std::cmp::Reverse(depths[at]))
        };
        let mut order = Self {
            parents: directories.iter().map(|(parent, _)| *parent).collect(),
            ranks: directories.iter().enumerate().map(rank).collect(),
            ready: BTreeSet::new(),
            unsettled: directories.len(),
            waits_for,
        };
        (0..directories.len()).for_each(|at| order.admit(at));
        order
    }

    fn admit(&mut self, at: usize) {
        if self.waits_for[at] == 0 {
            self.ready.insert((self.ranks[at], at));
        }
    }

    /// Returns a directory to look at now. Nothing where all are settled or wait for others.
    pub fn next_ready(&mut self) -> Option<usize> {
        self.ready.pop_first().map(|(_, at)| at)
    }

    /// Takes back a directory that was given out and cannot be looked at yet.
    pub fn give_back(&mut self, at: usize) {
        self.admit(at);
    }

    /// Notes that a directory that was given out is settled.
    pub fn settle(&mut self, at: usize) {
        self.unsettled = self.unsettled.saturating_sub(1);
        if let Some(parent) = self.parents.get(at).copied().flatten() {
            self.waits_for[parent] = self.waits_for[parent].saturating_sub(1);
            self.admit(parent);
        }
    }

    pub fn is_over(&self) -> bool {
        self.unsettled == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tier(number: u8) -> PlanTier {
        [PlanTier::Priority, PlanTier::Default, PlanTier::Shallow, PlanTier::Skip]
            [usize::from(number % 4)]
    }

    #[test]
    fn a_parent_of_priority_still_waits_for_its_default_child() {
        let tree = [
            (None, PlanTier::Default),
            (Some(0), PlanTier::Priority),
            (Some(1), PlanTier::Default),
            (Some(0), PlanTier::Shallow),
            (Some(0), PlanTier::Priority),
        ];
        let mut order = LoopOrder::new(&tree);
        let mut seen = Vec::new();
        while let Some(at) = order.next_ready() {
            seen.push(at);
            order.settle(at);
        }
        assert_eq!(seen, [4, 2, 1, 3, 0]);
        assert!(order.is_over());
    }

    #[test]
    fn doubtful_ones_come_first_and_then_what_they_wait_for() {
        let default = |parent| (parent, PlanTier::Default);
        // The root holds 1, 2 and 4; 3 is in 2.
        let tree = [
            default(None),
            (Some(0), PlanTier::Priority),
            default(Some(0)),
            default(Some(2)),
            default(Some(0)),
        ];
        let mut order = LoopOrder::doubtful_first(&tree, |at| at == 2 || at == 4);
        let mut seen = Vec::new();
        while let Some(at) = order.next_ready() {
            seen.push(at);
            order.settle(at);
        }
        assert_eq!(seen, [4, 3, 2, 1, 0]);
    }

    proptest! {
        #[test]
        fn every_directory_comes_once_and_after_all_that_are_in_it(
            shape in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..60),
            at_once in 1_usize..5,
        ) {
            let tree: Vec<(Option<usize>, PlanTier)> = shape
                .iter()
                .enumerate()
                .map(|(at, (parent, rank))| {
                    ((at > 0).then(|| parent.index(at)), tier(*rank))
                })
                .collect();
            let mut order = LoopOrder::new(&tree);
            let (mut given, mut settled) = (Vec::new(), Vec::new());
            while !order.is_over() {
                let mut batch = Vec::new();
                while batch.len() < at_once && let Some(at) = order.next_ready() {
                    for (child, (parent, _)) in tree.iter().enumerate() {
                        prop_assert!(*parent != Some(at) || settled.contains(&child));
                    }
                    batch.push(at);
                }
                prop_assert!(!batch.is_empty());
                given.extend(batch.clone());
                for at in batch {
                    order.settle(at);
                    settled.push(at);
                }
            }
            given.sort_unstable();
            prop_assert_eq!(given, (0..tree.len()).collect::<Vec<_>>());
        }
    }
}
