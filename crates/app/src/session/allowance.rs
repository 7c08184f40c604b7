//! What one session and everything that it starts may cost together.
//!
//! A session and those below it spend from one purse. What is set aside for one that was started is
//! gone for all others until it is over, and the session itself is ended when its own tokens would
//! take what the others were promised. So a tree of sessions costs no more than its root may, but
//! for the response that each live session has in flight.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use spore_model::{Allowance, BudgetId, BudgetTree, Usd};

/// The purse of a session that is running.
#[derive(Debug)]
pub(crate) struct SessionAllowance(Mutex<Purse>);

#[derive(Debug)]
struct Purse {
    cap: Option<Usd>,
    budget: BudgetTree,
    /// What the session's own tokens cost so far.
    own: Usd,
    /// What those that it started cost, of which it is over.
    started: Usd,
    /// What is set aside for those that are not over.
    held: Usd,
}

/// What is set aside for something that a session starts.
#[derive(Debug)]
pub(crate) struct SetAside {
    /// Nothing where there is no limit, and none was asked for.
    pub(crate) usd: Option<Usd>,
    node: BudgetId,
}

impl SessionAllowance {
    pub(crate) fn new(cap: Option<Usd>) -> Arc<Self> {
        let whole = Allowance { usd: cap, ..Allowance::default() };
        let budget = BudgetTree::new(whole, Allowance::default());
        let none = Usd::ZERO;
        Arc::new(Self(Mutex::new(Purse { cap, budget, own: none, started: none, held: none })))
    }

    /// Takes note of what the session's own tokens cost by now.
    pub(crate) fn has_spent(&self, own: Usd) {
        let mut purse = self.purse();
        if own > purse.own {
            let more = Usd::from_nanos(own.as_nanos() - purse.own.as_nanos());
            purse.budget.book(BudgetTree::ROOT, usd(more));
            purse.own = own;
        }
    }

    /// Sets aside what is asked for; half of what is left where nothing is, so that something else
    /// can be started beside it. Nothing is set aside where nothing is left.
    pub(crate) fn set_aside(&self, asked: Option<Usd>) -> Option<SetAside> {
        let mut purse = self.purse();
        let wanted = match (purse.budget.left(BudgetTree::ROOT).usd, asked) {
            (None, asked) => asked,
            (Some(left), None) => Some(Usd::from_nanos(left.as_nanos() / 2)),
            (Some(left), Some(asked)) => Some(asked.min(left)),
        };
        if wanted.is_some_and(|wanted| wanted <= Usd::ZERO) {
            return None;
        }
        let allowance = Allowance { usd: wanted, ..Allowance::default() };
        let node = purse.budget.reserve(BudgetTree::ROOT, allowance).ok()?;
        purse.held += wanted.unwrap_or_default();
        Some(SetAside { usd: wanted, node })
    }

    /// Gives back what was not spent of what was set aside.
    pub(crate) fn settle(&self, aside: &SetAside, spent: Usd) {
        let mut purse = self.purse();
        purse.budget.settle(aside.node, usd(spent));
        purse.started += spent;
        let back = aside.usd.unwrap_or_default().as_nanos();
        purse.held = Usd::from_nanos(purse.held.as_nanos().saturating_sub(back));
    }

    /// What those that it started have cost.
    pub(crate) fn started(&self) -> Usd {
        self.purse().started
    }

    /// Returns whether the session's own tokens have taken what others were promised or have spent.
    /// What it may cost by itself its own program is told.
    pub(crate) fn is_overdrawn(&self) -> bool {
        let purse = self.purse();
        let others = purse.held + purse.started;
        others > Usd::ZERO && purse.cap.is_some_and(|cap| purse.own + others > cap)
    }

    fn purse(&self) -> MutexGuard<'_, Purse> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn usd(amount: Usd) -> Allowance {
    Allowance { usd: Some(amount), ..Allowance::default() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dollars(amount: u32) -> Usd {
        Usd::from_nanos(i64::from(amount) * 1_000_000_000)
    }

    /// One thing that happens somewhere in a tree of sessions that start each other.
    #[derive(Clone, Debug)]
    enum Deed {
        /// A session starts another one, with what it names or nothing.
        Start { by: usize, asked: Option<u32> },
        /// A session spends on its own tokens, as much as its purse has.
        Spend { by: usize, usd: u32 },
        /// A session is over, and so is what it started.
        End { which: usize },
    }

    fn deeds() -> impl Strategy<Value = Vec<Deed>> {
        let one = prop_oneof![
            (0..9usize, proptest::option::of(1..60u32))
                .prop_map(|(by, asked)| Deed::Start { by, asked }),
            (0..9usize, 1..20u32).prop_map(|(by, usd)| Deed::Spend { by, usd }),
            (0..9usize).prop_map(|which| Deed::End { which }),
        ];
        proptest::collection::vec(one, 1..80)
    }

    /// A session of the tree: what it has from the one above it, and what it spent itself.
    struct Node {
        above: Option<(usize, SetAside)>,
        purse: Arc<SessionAllowance>,
        own: Usd,
        is_open: bool,
    }

    fn end(nodes: &mut [Node], which: usize) {
        let below: Vec<usize> = (0..nodes.len())
            .filter(|&at| {
                let above = nodes[at].above.as_ref().map(|(above, _)| *above);
                nodes[at].is_open && above == Some(which)
            })
            .collect();
        for at in below {
            end(nodes, at);
        }
        nodes[which].is_open = false;
        let spent = nodes[which].own + nodes[which].purse.started();
        if let Some((above, aside)) = &nodes[which].above {
            nodes[*above].purse.settle(aside, spent);
        }
    }

    proptest! {
        /// Whatever sessions start each other in whichever order, what is promised and spent never
        /// exceeds what the first of them may cost, and no purse below promises more than it has.
        #[test]
        fn a_tree_of_sessions_never_promises_more_than_its_root_may_cost(
            cap in 1..100u32,
            deeds in deeds(),
        ) {
            let root = SessionAllowance::new(Some(dollars(cap)));
            let mut nodes =
                vec![Node { above: None, purse: root, own: Usd::ZERO, is_open: true }];
            for deed in deeds {
                let open: Vec<usize> =
                    (0..nodes.len()).filter(|&at| nodes[at].is_open).collect();
                if open.is_empty() {
                    break;
                }
                match deed {
                    Deed::Start { by, asked } => {
                        let by = open[by % open.len()];
                        if let Some(aside) = nodes[by].purse.set_aside(asked.map(dollars)) {
                            let purse = SessionAllowance::new(aside.usd);
                            let above = Some((by, aside));
                            nodes.push(Node { above, purse, own: Usd::ZERO, is_open: true });
                        }
                    }
                    Deed::Spend { by, usd } => {
                        let node = &mut nodes[open[by % open.len()]];
                        let left = node.purse.purse().budget.left(BudgetTree::ROOT).usd.unwrap();
                        node.own += dollars(usd).min(left);
                        node.purse.has_spent(node.own);
                    }
                    Deed::End { which } => {
                        let which = open[which % open.len()];
                        if which != 0 {
                            end(&mut nodes, which);
                        }
                    }
                }
                let spent: Usd = nodes.iter().map(|node| node.own).sum();
                prop_assert!(spent <= dollars(cap), "{spent} of {cap}");
                for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.is_open) {
                    let promised: i64 = nodes
                        .iter()
                        .filter(|below| below.is_open)
                        .filter_map(|below| below.above.as_ref().filter(|(above, _)| *above == at))
                        .filter_map(|(_, aside)| aside.usd.map(Usd::as_nanos))
                        .sum();
                    let mine = match &node.above {
                        Some((_, aside)) => aside.usd.unwrap(),
                        None => dollars(cap),
                    };
                    let gone = node.own + node.purse.started();
                    prop_assert!(promised + gone.as_nanos() <= mine.as_nanos());
                }
            }
        }
    }

    #[test]
    fn a_session_is_ended_where_its_own_tokens_would_take_what_others_were_promised() {
        let purse = SessionAllowance::new(Some(dollars(10)));
        purse.has_spent(dollars(11));
        assert!(!purse.is_overdrawn(), "its own program knows what it may cost");
        let purse = SessionAllowance::new(Some(dollars(10)));
        let first = purse.set_aside(None).unwrap();
        assert_eq!(first.usd, Some(dollars(5)));
        purse.has_spent(dollars(5));
        assert!(!purse.is_overdrawn(), "all of it is given away, and it waits");
        assert!(purse.set_aside(Some(dollars(1))).is_none());
        purse.has_spent(dollars(6));
        assert!(purse.is_overdrawn());
        purse.settle(&first, dollars(2));
        assert!(!purse.is_overdrawn());
        assert_eq!(purse.started(), dollars(2));
        assert_eq!(purse.set_aside(Some(dollars(9))).unwrap().usd, Some(dollars(2)));
    }

    #[test]
    fn without_a_limit_nothing_is_ever_overdrawn() {
        let purse = SessionAllowance::new(None);
        assert_eq!(purse.set_aside(None).unwrap().usd, None);
        purse.has_spent(dollars(1000));
        assert!(!purse.is_overdrawn());
        assert_eq!(purse.set_aside(Some(dollars(2))).unwrap().usd, Some(dollars(2)));
    }
}
