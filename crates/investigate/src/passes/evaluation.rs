//! What a plan was worth: `plan_evaluation.json`.

use serde::{Deserialize, Serialize};
use spore_model::Timestamp;

use super::plan::PlanTier;

/// What came of one directory's loop.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DirectoryLook {
    pub dir: String,
    pub planned_tier: PlanTier,
    pub turns_allocated: u32,
    pub turns_used: u32,
    pub utilization: f64,
    pub completeness: Option<f64>,
    pub confidence: Option<f64>,
}

impl DirectoryLook {
    pub fn new(
        dir: &str,
        planned_tier: PlanTier,
        (turns_allocated, turns_used): (u32, u32),
        completeness: Option<f64>,
        confidence: Option<f64>,
    ) -> Self {
        let utilization = share(turns_used, turns_allocated);
        let dir = dir.to_owned();
        Self {
            dir,
            planned_tier,
            turns_allocated,
            turns_used,
            utilization,
            completeness,
            confidence,
        }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanEvaluation {
    pub plan_order: String,
    pub total_dirs_investigated: u64,
    pub total_turns_allocated: u32,
    pub total_turns_used: u32,
    pub overall_utilization: f64,
    pub per_directory: Vec<DirectoryLook>,
    pub evaluated_at: Timestamp,
}

impl PlanEvaluation {
    /// Sums up the loops that were run, by directory.
    pub fn of(order: &str, mut loops: Vec<DirectoryLook>, evaluated_at: Timestamp) -> Self {
        loops.sort_by(|a, b| a.dir.cmp(&b.dir));
        let allocated = loops.iter().map(|one| one.turns_allocated).sum();
        let used = loops.iter().map(|one| one.turns_used).sum();
        let order = if order == "priority-first" { order } else { "leaf-first" };
        Self {
            plan_order: order.to_owned(),
            total_dirs_investigated: loops.len() as u64,
            total_turns_allocated: allocated,
            total_turns_used: used,
            overall_utilization: share(used, allocated),
            per_directory: loops,
            evaluated_at,
        }
    }
}

fn share(used: u32, allocated: u32) -> f64 {
    if allocated == 0 { 0.0 } else { f64::from(used) / f64::from(allocated) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_weighed_by_the_turns_that_were_used() {
        let loops = vec![
            DirectoryLook::new("b", PlanTier::Default, (10, 5), Some(0.9), Some(0.8)),
            DirectoryLook::new("a", PlanTier::Priority, (20, 20), None, None),
        ];
        let told = PlanEvaluation::of("", loops, Timestamp::from_millis(0));
        assert_eq!(told.plan_order, "leaf-first");
        assert_eq!((told.total_turns_allocated, told.total_turns_used), (30, 25));
        assert!((told.overall_utilization - 25.0 / 30.0).abs() < 1e-9);
        assert_eq!(told.per_directory[0].dir, "a");
        let none = PlanEvaluation::of("priority-first", Vec::new(), Timestamp::from_millis(0));
        assert_eq!((none.overall_utilization, none.plan_order.as_str()), (0.0, "priority-first"));
    }
}
