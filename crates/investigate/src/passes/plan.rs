//! Where the loops spend their turns.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How closely one directory is looked at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanTier {
    Priority,
    Default,
    Shallow,
    /// Not at all, nor anything below it.
    Skip,
}

const PRIORITY_LEAST: u32 = 15;
const PRIORITY_MOST: u32 = 25;
const DEFAULT_TURNS: u32 = 10;
const SHALLOW_TURNS: u32 = 5;

/// What the planner handed in: only directories for which the default is wrong. `plan.json`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DirectoryPlan {
    #[serde(default)]
    pub priority_dirs: Vec<PriorityDir>,
    #[serde(default)]
    pub shallow_dirs: Vec<ListedDir>,
    #[serde(default)]
    pub skip_dirs: Vec<ListedDir>,
    /// `leaf-first` or `priority-first`; children come before their parents either way.
    #[serde(default)]
    pub investigation_order: String,
    #[serde(default)]
    pub notes: String,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PriorityDir {
    pub path: String,
    #[serde(default)]
    pub reason: String,
    #[serde(default)]
    pub suggested_turns: Option<u32>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ListedDir {
    pub path: String,
    #[serde(default)]
    pub reason: String,
}

impl DirectoryPlan {
    /// Reads what was handed in; nothing where it is no plan.
    pub fn read(handed_in: &Value) -> Option<Self> {
        let mut plan: Self = serde_json::from_value(handed_in.clone()).ok()?;
        plan.priority_dirs.iter_mut().for_each(|dir| dir.path = normal(&dir.path));
        for list in [&mut plan.shallow_dirs, &mut plan.skip_dirs] {
            list.iter_mut().for_each(|dir| dir.path = normal(&dir.path));
        }
        // A plan that skips the target would be no investigation.
        plan.skip_dirs.retain(|dir| dir.path != ".");
        Some(plan)
    }

    /// Returns how closely a directory is looked at. What is below a skipped one is skipped,
    /// whatever else the plan says of it.
    pub fn tier(&self, dir: &str) -> PlanTier {
        let is_skipped = self.skip_dirs.iter().any(|skipped| is_within(dir, &skipped.path));
        if is_skipped {
            PlanTier::Skip
        } else if self.priority_dirs.iter().any(|listed| listed.path == dir) {
            PlanTier::Priority
        } else if self.shallow_dirs.iter().any(|listed| listed.path == dir) {
            PlanTier::Shallow
        } else {
            PlanTier::Default
        }
    }

    /// Returns how many turns a directory's loop has.
    pub fn turns(&self, dir: &str) -> u32 {
        match self.tier(dir) {
            PlanTier::Skip => 0,
            PlanTier::Shallow => SHALLOW_TURNS,
            PlanTier::Default => DEFAULT_TURNS,
            PlanTier::Priority => {
                let listed = self.priority_dirs.iter().find(|listed| listed.path == dir);
                let suggested = listed.and_then(|listed| listed.suggested_turns);
                suggested.unwrap_or(PRIORITY_LEAST).clamp(PRIORITY_LEAST, PRIORITY_MOST)
            }
        }
    }
}

/// A directory's path as the tree has it: no `./`, no slash at the end, `.` for the target.
fn normal(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

fn is_within(dir: &str, above: &str) -> bool {
    dir == above || dir.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn plan() -> DirectoryPlan {
        DirectoryPlan::read(&json!({
            "priority_dirs": [
                { "path": "./src/", "reason": "core", "suggested_turns": 18 },
                { "path": "big", "reason": "much", "suggested_turns": 90 },
                { "path": "vendor/own", "reason": "ours" },
            ],
            "shallow_dirs": [{ "path": "docs", "reason": "prose" }],
            "skip_dirs": [{ "path": "vendor", "reason": "foreign" }, { "path": ".", "reason": "all" }],
            "notes": "look at src",
        }))
        .unwrap()
    }

    #[test]
    fn turns_follow_the_tier_and_no_suggestion_goes_beyond_it() {
        let plan = plan();
        let cases = [
            ("src", PlanTier::Priority, 18),
            ("big", PlanTier::Priority, 25),
            ("docs", PlanTier::Shallow, 5),
            ("docs/more", PlanTier::Default, 10),
            (".", PlanTier::Default, 10),
            ("vendor", PlanTier::Skip, 0),
            ("vendored", PlanTier::Default, 10),
        ];
        for (dir, tier, turns) in cases {
            assert_eq!((plan.tier(dir), plan.turns(dir)), (tier, turns), "{dir}");
        }
    }

    #[test]
    fn what_is_below_a_skipped_directory_is_skipped_even_if_it_was_to_come_first() {
        assert_eq!(plan().tier("vendor/own"), PlanTier::Skip);
        assert_eq!(plan().turns("vendor/a/b"), 0);
    }

    #[test]
    fn nothing_but_a_plan_is_a_plan() {
        assert_eq!(DirectoryPlan::read(&json!("all")), None);
        assert_eq!(DirectoryPlan::read(&json!({ "priority_dirs": [{}] })), None);
        assert_eq!(DirectoryPlan::read(&json!({})), Some(DirectoryPlan::default()));
    }

    proptest! {
        #[test]
        fn turns_are_in_their_bounds_whatever_is_suggested(suggested in any::<u32>()) {
            let plan = DirectoryPlan {
                priority_dirs: vec![PriorityDir {
                    path: "a".to_owned(), reason: String::new(), suggested_turns: Some(suggested),
                }],
                ..DirectoryPlan::default()
            };
            prop_assert!((15..=25).contains(&plan.turns("a")));
        }
    }
}
