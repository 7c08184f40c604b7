//! What the sessions of a run may cost.

use spore_model::{Allowance, BudgetId, BudgetTree, Usd};

/// The budget of one run, and the part of it that the running session may spend.
pub(crate) struct RunBudget {
    tree: BudgetTree,
    reserved: Option<BudgetId>,
}

impl RunBudget {
    /// Makes the budget of a run that has spent some of it already.
    pub(crate) fn new(limit: Usd, spent: Usd) -> Self {
        Self { tree: BudgetTree::new(dollars(limit), dollars(spent)), reserved: None }
    }

    /// Returns what is left for sessions.
    pub(crate) fn left(&self) -> Option<Usd> {
        self.tree.left(BudgetTree::ROOT).usd
    }

    /// Sets what is left aside for a session. Returns whether there was anything.
    pub(crate) fn reserve(&mut self) -> bool {
        let reserved = self.tree.reserve(BudgetTree::ROOT, Allowance::default()).ok();
        self.reserved = reserved.or(self.reserved);
        reserved.is_some()
    }

    /// Settles what the session really cost. Returns by how much it went over, where it did.
    pub(crate) fn settle(&mut self, cost: Usd) -> Option<Usd> {
        let over = self.tree.settle(self.reserved.take()?, dollars(cost)).usd;
        Some(over).filter(|over| *over > Usd::ZERO)
    }
}

fn dollars(amount: Usd) -> Allowance {
    Allowance { usd: Some(amount), ..Allowance::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_by_sessions_that_were_reserved() {
        let mut budget = RunBudget::new(Usd::from_nanos(100), Usd::from_nanos(40));
        assert_eq!(budget.left(), Some(Usd::from_nanos(60)));
        assert_eq!(budget.settle(Usd::from_nanos(10)), None, "no session was running");
        assert!(budget.reserve());
        assert_eq!(budget.settle(Usd::from_nanos(50)), None);
        assert_eq!(budget.left(), Some(Usd::from_nanos(10)));
        assert!(budget.reserve());
        assert_eq!(budget.settle(Usd::from_nanos(30)), Some(Usd::from_nanos(20)));
        assert!(!budget.reserve());
    }
}
