//! Several runs' verified work checked together: which to check next, and what came of each.
//!
//! All of it is checked at once. A batch that holds lands whole, at the price of one check; one that
//! does not is halved until the work is alone that breaks it, with everything that landed before
//! below it. What cannot be stacked with the others is checked alone, behind them. The order of the
//! entries is kept among those that are checked together.
//!
//! The one decision: only work that was checked alone is ever turned down. In company another's fault
//! could be taken for its own.

use std::collections::VecDeque;

/// How the work of one entry fared in a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BatchFate {
    Landed,
    /// It is in the tree that does not hold.
    Red,
    /// It is not in the tree that was checked: it does not merge, or is not to be stacked.
    LeftOut,
}

/// Entries on their way onto a branch; `E` is what is told of each in the end.
#[derive(Clone, PartialEq, Debug)]
pub struct MergeBatch<E> {
    /// What is checked together, by the numbers of the entries; the first is next.
    groups: VecDeque<Vec<usize>>,
    ends: Vec<Option<E>>,
}

impl<E> MergeBatch<E> {
    /// So many entries, of which at most `most` are checked together.
    pub fn new(entries: usize, most: usize) -> Self {
        let all: Vec<usize> = (0..entries).collect();
        let groups = all.chunks(most.max(1)).map(<[usize]>::to_vec).collect();
        Self { groups, ends: (0..entries).map(|_| None).collect() }
    }

    /// Returns which entries to bring onto the branch together; nothing when all are settled.
    pub fn next(&self) -> Option<&[usize]> {
        self.groups.front().map(Vec::as_slice)
    }

    /// Takes in what came of the entries of [`Self::next`], in their order.
    pub fn apply(&mut self, said: Vec<(BatchFate, E)>) {
        let Some(group) = self.groups.pop_front() else { return };
        let is_alone = group.len() == 1;
        let mut red = Vec::new();
        for (entry, (fate, end)) in group.into_iter().zip(said) {
            match fate {
                BatchFate::Landed => self.ends[entry] = Some(end),
                _ if is_alone => self.ends[entry] = Some(end),
                BatchFate::Red => red.push(entry),
                BatchFate::LeftOut => self.groups.push_back(vec![entry]),
            }
        }
        let behind = red.split_off(red.len().div_ceil(2));
        for half in [behind, red] {
            if !half.is_empty() {
                self.groups.push_front(half);
            }
        }
    }

    /// Ends all that are not settled with `end`.
    pub fn stop(&mut self, end: impl Fn() -> E) {
        self.groups.clear();
        for open in self.ends.iter_mut().filter(|known| known.is_none()) {
            *open = Some(end());
        }
    }

    /// Returns what came of each entry; one that is not settled is missing.
    pub fn ends(self) -> Vec<Option<E>> {
        self.ends
    }
}

/// So many checks a batch may need: those of halving, and one for each entry that is left out.
pub const fn most_checks(entries: usize) -> usize {
    entries.saturating_mul(3)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// What is wrong with entries: by themselves, or with another.
    #[derive(Clone, Debug, Default)]
    struct Faults {
        alone: BTreeSet<usize>,
        together: Vec<(usize, usize)>,
        conflicts: Vec<(usize, usize)>,
    }

    impl Faults {
        fn is_red(&self, tree: &BTreeSet<usize>) -> bool {
            !tree.is_disjoint(&self.alone)
                || self.together.iter().any(|(a, b)| tree.contains(a) && tree.contains(b))
        }

        fn conflicts_with(&self, entry: usize, tree: &BTreeSet<usize>) -> bool {
            let meets = |(a, b): &(usize, usize)| {
                (*a == entry && tree.contains(b)) || (*b == entry && tree.contains(a))
            };
            self.conflicts.iter().any(meets)
        }
    }

    /// Plays a batch; returns what landed in its order, what each entry was told, and the checks.
    fn play(entries: usize, most: usize, faults: &Faults) -> (Vec<usize>, Vec<BatchFate>, usize) {
        let mut batch = MergeBatch::new(entries, most);
        let (mut branch, mut order, mut checks) = (BTreeSet::new(), Vec::new(), 0);
        while let Some(group) = batch.next().map(<[usize]>::to_vec) {
            checks += 1;
            assert!(checks <= most_checks(entries), "it does not end");
            let (mut tree, mut stacked) = (branch.clone(), Vec::new());
            for entry in &group {
                if !faults.conflicts_with(*entry, &tree) {
                    tree.insert(*entry);
                    stacked.push(*entry);
                }
            }
            let red = faults.is_red(&tree);
            let fate = |entry: &usize| match stacked.contains(entry) {
                false => BatchFate::LeftOut,
                true if red => BatchFate::Red,
                true => BatchFate::Landed,
            };
            let said = group.iter().map(|entry| (fate(entry), fate(entry))).collect();
            if !red {
                // What the branch is now was checked just so.
                branch = tree;
                order.extend(stacked);
            }
            batch.apply(said);
        }
        (order, batch.ends().into_iter().map(Option::unwrap).collect(), checks)
    }

    #[test]
    fn a_batch_that_holds_costs_one_check_and_one_fault_is_found_by_halving() {
        let (order, _, checks) = play(8, 8, &Faults::default());
        assert_eq!((order, checks), ((0..8).collect(), 1));
        let faults = Faults { alone: [5].into(), ..Faults::default() };
        let (order, ends, checks) = play(8, 8, &faults);
        assert_eq!(order, [0, 1, 2, 3, 4, 6, 7]);
        assert_eq!(ends.iter().filter(|end| **end == BatchFate::Red).count(), 1);
        assert_eq!((ends[5], checks), (BatchFate::Red, 7));
        let (order, _, checks) = play(3, 1, &Faults::default());
        assert_eq!((order, checks), (vec![0, 1, 2], 3), "each by itself");
    }

    #[test]
    fn of_two_that_break_each_other_the_second_comes_back() {
        let faults = Faults { together: vec![(1, 4)], ..Faults::default() };
        let (order, ends, _) = play(6, 6, &faults);
        assert_eq!(order, [0, 1, 2, 3, 5]);
        assert_eq!(ends[4], BatchFate::Red);
    }

    proptest! {
        /// Every entry is told once; what landed holds together; no entry comes back that could have
        /// landed on what did.
        #[test]
        fn only_work_that_breaks_the_branch_comes_back(
            entries in 1usize..12,
            most in 1usize..12,
            alone in prop::collection::btree_set(0usize..12, 0..3),
            together in prop::collection::vec((0usize..12, 0usize..12), 0..3),
            conflicts in prop::collection::vec((0usize..12, 0usize..12), 0..3),
        ) {
            let pairs = |pairs: Vec<(usize, usize)>| -> Vec<(usize, usize)> {
                pairs.into_iter().filter(|(a, b)| a != b).collect()
            };
            let faults =
                Faults { alone, together: pairs(together), conflicts: pairs(conflicts) };
            let (order, ends, _) = play(entries, most, &faults);
            let landed: BTreeSet<usize> = order.iter().copied().collect();
            prop_assert_eq!(landed.len(), order.len(), "none twice");
            prop_assert!(!faults.is_red(&landed));
            for (entry, end) in ends.iter().enumerate() {
                prop_assert_eq!(*end == BatchFate::Landed, landed.contains(&entry));
                let mut with = landed.clone();
                with.insert(entry);
                let fits = !faults.is_red(&with) && !faults.conflicts_with(entry, &landed);
                prop_assert!(landed.contains(&entry) || !fits, "{} could have landed", entry);
            }
        }
    }
}
