//! Budgets as a tree: a child reserves from its parent before it starts, and settles after.
//!
//! What one child has reserved no other child gets until it is settled, so parallel children can
//! never promise away the same dollar twice. A session may still overshoot what it reserved
//! by its last response, because the price of a response is known only afterwards; that is
//! reported by [`BudgetTree::settle`], and whatever was overshot is no longer there to
//! reserve.
//!
//! Depth is not in here: it is nesting, not consumption, and is checked where runs nest.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Usd;

/// An amount of everything that is limited. A missing figure means without limit when it is
/// a cap, and nothing when it is an expense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Allowance {
    pub usd: Option<Usd>,
    pub turns: Option<u32>,
    #[serde(with = "millis")]
    pub wall: Option<Duration>,
}

mod millis {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(
        wall: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let millis = wall.map(|wall| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX));
        millis.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_millis))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BudgetResource {
    Usd,
    Turns,
    Wall,
}

impl std::fmt::Display for BudgetResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Usd => "money",
            Self::Turns => "turns",
            Self::Wall => "time",
        })
    }
}

/// There is not enough left of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the budget has not enough {resource} left")]
pub struct Exhausted {
    pub resource: BudgetResource,
}

/// By how much a child spent more than it had reserved. Zero for most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overshoot {
    pub usd: Usd,
    pub turns: u32,
    pub wall: Duration,
}

/// Names one node of one [`BudgetTree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BudgetId(u32);

/// Amounts in one unit each, so that the arithmetic is written once.
type Amounts = [u64; 3];

const RESOURCES: [BudgetResource; 3] =
    [BudgetResource::Usd, BudgetResource::Turns, BudgetResource::Wall];

fn amounts(allowance: Allowance, missing: u64) -> Amounts {
    [
        allowance.usd.map_or(missing, |usd| u64::try_from(usd.as_nanos()).unwrap_or(0)),
        allowance.turns.map_or(missing, u64::from),
        allowance.wall.map_or(missing, |wall| u64::try_from(wall.as_millis()).unwrap_or(u64::MAX)),
    ]
}

#[derive(Clone, Debug)]
struct BudgetNode {
    parent: Option<BudgetId>,
    cap: Amounts,
    /// What the parent holds back for this node; zero where it shares the parent's cap.
    held: Amounts,
    /// Settled children and own expenses.
    spent: Amounts,
    /// Held back for children that still run.
    reserved: Amounts,
}

impl BudgetNode {
    fn left(&self, resource: usize) -> u64 {
        self.cap[resource]
            .saturating_sub(self.spent[resource])
            .saturating_sub(self.reserved[resource])
    }
}

/// All budgets of one run tree.
#[derive(Clone, Debug)]
pub struct BudgetTree {
    nodes: BTreeMap<BudgetId, BudgetNode>,
    next: u32,
}

impl BudgetTree {
    pub const ROOT: BudgetId = BudgetId(0);

    /// Starts a tree with the caps of its root, of which `spent` is gone already.
    pub fn new(caps: Allowance, spent: Allowance) -> Self {
        let root = BudgetNode {
            parent: None,
            cap: amounts(caps, u64::MAX),
            held: [0; 3],
            spent: amounts(spent, 0),
            reserved: [0; 3],
        };
        Self { nodes: BTreeMap::from([(Self::ROOT, root)]), next: 1 }
    }

    /// Sets `wanted` aside for a child of `parent`. Of a resource that `wanted` does not
    /// name nothing is set aside: the child may use what its parent has left of it.
    pub fn reserve(&mut self, parent: BudgetId, wanted: Allowance) -> Result<BudgetId, Exhausted> {
        let held = amounts(wanted, 0);
        let mut cap = amounts(wanted, u64::MAX);
        let node =
            self.nodes.get_mut(&parent).ok_or(Exhausted { resource: BudgetResource::Usd })?;
        for (index, resource) in RESOURCES.into_iter().enumerate() {
            // Who has nothing left may not start a child, even one that asks for nothing.
            if node.left(index) < held[index].max(1) {
                return Err(Exhausted { resource });
            }
            cap[index] = cap[index].min(node.left(index));
        }
        for (reserved, held) in node.reserved.iter_mut().zip(held) {
            *reserved += held;
        }
        let id = BudgetId(self.next);
        self.next += 1;
        let child = BudgetNode { parent: Some(parent), cap, held, spent: [0; 3], reserved: [0; 3] };
        self.nodes.insert(id, child);
        Ok(id)
    }

    /// Ends a child: gives back what it reserved and books what it really spent, on top of
    /// what its own children did. What those still hold counts as spent, because no run is
    /// left that could settle it. Settling twice changes nothing.
    pub fn settle(&mut self, child: BudgetId, spent: Allowance) -> Overshoot {
        let Some(node) = self.nodes.remove(&child) else { return Overshoot::default() };
        let mut total = amounts(spent, 0);
        let mut over = [0; 3];
        for (index, total) in total.iter_mut().enumerate() {
            *total = total.saturating_add(node.spent[index]).saturating_add(node.reserved[index]);
            over[index] = total.saturating_sub(node.cap[index]);
        }
        if let Some(parent) = node.parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            for (index, total) in total.into_iter().enumerate() {
                parent.reserved[index] -= node.held[index];
                parent.spent[index] = parent.spent[index].saturating_add(total);
            }
        }
        Overshoot {
            usd: Usd::from_nanos(i64::try_from(over[0]).unwrap_or(i64::MAX)),
            turns: u32::try_from(over[1]).unwrap_or(u32::MAX),
            wall: Duration::from_millis(over[2]),
        }
    }

    /// Books what `id` itself has used, beside what it reserves for others.
    pub fn book(&mut self, id: BudgetId, spent: Allowance) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        for (sum, spent) in node.spent.iter_mut().zip(amounts(spent, 0)) {
            *sum = sum.saturating_add(spent);
        }
    }

    /// Returns what `id` could still reserve; `None` where there is no limit.
    pub fn left(&self, id: BudgetId) -> Allowance {
        let Some(node) = self.nodes.get(&id) else {
            let none = Duration::ZERO;
            return Allowance { usd: Some(Usd::ZERO), turns: Some(0), wall: Some(none) };
        };
        let limited = |index: usize| (node.cap[index] != u64::MAX).then(|| node.left(index));
        Allowance {
            usd: limited(0).map(|n| Usd::from_nanos(i64::try_from(n).unwrap_or(i64::MAX))),
            turns: limited(1).map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
            wall: limited(2).map(Duration::from_millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use proptest::prelude::*;

    use super::*;

    fn dollars(amount: u32) -> Allowance {
        Allowance {
            usd: Some(Usd::from_nanos(i64::from(amount) * 1_000_000_000)),
            ..Allowance::default()
        }
    }

    fn usd_left(tree: &BudgetTree, id: BudgetId) -> f64 {
        tree.left(id).usd.unwrap().as_dollars()
    }

    #[test]
    fn what_one_child_reserved_another_cannot_have() {
        let mut tree = BudgetTree::new(dollars(10), Allowance::default());
        let first = tree.reserve(BudgetTree::ROOT, dollars(7)).unwrap();
        let refused = tree.reserve(BudgetTree::ROOT, dollars(4));
        assert_eq!(refused, Err(Exhausted { resource: BudgetResource::Usd }));
        assert_eq!(tree.settle(first, dollars(2)), Overshoot::default());
        assert_eq!(usd_left(&tree, BudgetTree::ROOT), 8.0);
    }

    #[test]
    fn an_overshoot_is_reported_once_and_is_gone_from_the_budget() {
        let mut tree = BudgetTree::new(dollars(10), Allowance::default());
        let child = tree.reserve(BudgetTree::ROOT, dollars(4)).unwrap();
        assert_eq!(tree.settle(child, dollars(6)).usd.as_dollars(), 2.0);
        assert_eq!(tree.settle(child, dollars(6)), Overshoot::default());
        assert_eq!(usd_left(&tree, BudgetTree::ROOT), 4.0);
    }

    #[test]
    fn a_resumed_tree_starts_with_what_is_already_spent() {
        let mut tree = BudgetTree::new(dollars(5), dollars(5));
        assert!(tree.reserve(BudgetTree::ROOT, Allowance::default()).is_err());
    }

    #[test]
    fn a_grandchild_is_bounded_by_every_level_above() {
        let mut tree = BudgetTree::new(dollars(10), Allowance::default());
        let child = tree.reserve(BudgetTree::ROOT, dollars(3)).unwrap();
        assert!(tree.reserve(child, dollars(4)).is_err());
        let grandchild = tree.reserve(child, Allowance::default()).unwrap();
        assert_eq!(usd_left(&tree, grandchild), 3.0);
        tree.settle(grandchild, dollars(1));
        tree.settle(child, dollars(1));
        assert_eq!(usd_left(&tree, BudgetTree::ROOT), 8.0);
    }

    #[derive(Debug, Clone)]
    enum Move {
        Reserve { parent: usize, amount: u32 },
        Settle { child: usize, share: u32 },
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let one = prop_oneof![
            (0..8usize, 0..40u32).prop_map(|(parent, amount)| Move::Reserve { parent, amount }),
            (0..8usize, 0..=100u32).prop_map(|(child, share)| Move::Settle { child, share }),
        ];
        proptest::collection::vec(one, 1..60)
    }

    proptest! {
        /// No order of reservations and settlements promises or spends more than the cap,
        /// as long as no session overshoots its own reservation.
        #[test]
        fn reservations_never_exceed_the_cap(cap in 1..100u32, moves in moves()) {
            let mut tree = BudgetTree::new(dollars(cap), Allowance::default());
            let mut open = vec![(BudgetTree::ROOT, 0)];
            let mut spent = 0;
            for step in moves {
                match step {
                    Move::Reserve { parent, amount } => {
                        // Leaves only below the root: what a parent spends is its children's.
                        let parent = open[parent % open.len()].0;
                        if parent == BudgetTree::ROOT
                            && let Ok(child) = tree.reserve(parent, dollars(amount))
                        {
                            open.push((child, amount));
                        }
                    }
                    Move::Settle { child, share } if open.len() > 1 => {
                        let (child, amount) = open.remove(1 + child % (open.len() - 1));
                        let used = amount * share / 100;
                        spent += used;
                        prop_assert_eq!(tree.settle(child, dollars(used)), Overshoot::default());
                    }
                    Move::Settle { .. } => {}
                }
                let promised: u32 = open.iter().map(|(_, amount)| amount).sum();
                prop_assert!(spent + promised <= cap);
                let left = f64::from(cap - spent - promised);
                prop_assert_eq!(usd_left(&tree, BudgetTree::ROOT), left);
            }
        }

        /// Threads that reserve and spend at once, each overshooting by at most one response,
        /// together overshoot by at most one response per live session.
        #[test]
        fn parallel_children_stay_within_the_cap(cap in 5..60u32, response in 0..4u32) {
            let tree = Mutex::new(BudgetTree::new(dollars(cap), Allowance::default()));
            let sessions = 4;
            let spent: u32 = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..sessions)
                    .map(|_| scope.spawn(|| {
                        let reserve = || tree.lock().unwrap().reserve(BudgetTree::ROOT, dollars(5));
                        let mut spent = 0;
                        while let Ok(child) = reserve() {
                            spent += 5 + response;
                            tree.lock().unwrap().settle(child, dollars(5 + response));
                        }
                        spent
                    }))
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).sum()
            });
            prop_assert!(spent <= cap + sessions * response);
        }
    }
}
