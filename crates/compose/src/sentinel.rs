//! The sentinel: cycles of checks, graded, compared with the cycle before, and stopped by rule.
//!
//! Between two cycles what the first one found has to be mended. The machine only says that
//! another cycle is worth it; the caller parks the run until a person has done that.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{Outcome, StepKey, TreeId};

/// How good a cycle was. The worst is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Grade {
    Pass,
    /// Nothing that must be mended, but something that should.
    Warn,
    Fail,
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "PASS",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Blocking,
    Warning,
}

/// What one check of the project said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckResult {
    pub name: String,
    /// The command.
    pub tool: String,
    pub passed: bool,
    /// How much was wrong: failing tests where they can be counted, else one.
    pub errors: u32,
    pub severity: Severity,
    /// Nothing where it took too long.
    pub exit_code: Option<i32>,
    /// What fails, by name, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The last of what a check that failed printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Its log, below the run's directory.
    pub log: String,
}

/// `verification-results.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Verification {
    pub cycle: u32,
    /// What was checked.
    pub tree: TreeId,
    pub checks: Vec<CheckResult>,
    pub overall: Grade,
    pub blocking_count: u32,
    pub warning_count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<CycleComparison>,
}

/// This cycle against the one before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CycleComparison {
    pub with_cycle: u32,
    pub blocking_before: u32,
    /// Fewer blocking errors than before.
    pub improved: bool,
    /// Checks that failed and now pass, and the other way round.
    pub mended: Vec<String>,
    pub broken: Vec<String>,
}

impl Verification {
    /// Grades the checks of one cycle.
    pub fn grade(
        cycle: u32,
        tree: TreeId,
        checks: Vec<CheckResult>,
        before: Option<&Self>,
    ) -> Self {
        let count = |severity| {
            let failed = checks.iter().filter(|check| !check.passed && check.severity == severity);
            failed.map(|check| check.errors.max(1)).sum()
        };
        let (blocking_count, warning_count) = (count(Severity::Blocking), count(Severity::Warning));
        let overall = match (blocking_count, warning_count) {
            (0, 0) => Grade::Pass,
            (0, _) => Grade::Warn,
            _ => Grade::Fail,
        };
        let compared = before.map(|before| before.compare(blocking_count, &checks));
        Self { cycle, tree, checks, overall, blocking_count, warning_count, compared }
    }

    fn compare(&self, blocking: u32, now: &[CheckResult]) -> CycleComparison {
        let failing = |checks: &[CheckResult]| {
            let failed = checks.iter().filter(|check| !check.passed);
            failed.map(|check| check.name.clone()).collect::<BTreeSet<String>>()
        };
        let (before, after) = (failing(&self.checks), failing(now));
        CycleComparison {
            with_cycle: self.cycle,
            blocking_before: self.blocking_count,
            improved: blocking < self.blocking_count,
            mended: before.difference(&after).cloned().collect(),
            broken: after.difference(&before).cloned().collect(),
        }
    }

    /// Returns the outcome that the propagation table decides on another cycle by.
    fn outcome(&self) -> Outcome {
        match self.overall {
            Grade::Pass | Grade::Warn => Outcome::Success,
            Grade::Fail => Outcome::NeedsRefinement,
        }
    }

    /// `fix-list.json`: what to mend, the blocking first.
    pub fn fix_list(&self) -> FixList {
        let mut failed: Vec<&CheckResult> =
            self.checks.iter().filter(|check| !check.passed).collect();
        failed.sort_by_key(|check| check.severity == Severity::Warning);
        let fixes = failed.into_iter().flat_map(|check| {
            let issue = match (&check.note, check.exit_code) {
                (Some(note), _) => note.clone(),
                (None, Some(code)) => format!("`{}` exited with {code}", check.tool),
                (None, None) => format!("`{}` took too long", check.tool),
            };
            let whole = vec![issue];
            let issues = if check.failing.is_empty() { whole } else { check.failing.clone() };
            issues.into_iter().map(move |issue| (check, issue))
        });
        let fix = |(index, (check, issue)): (usize, (&CheckResult, String))| Fix {
            id: index + 1,
            severity: check.severity,
            check: check.name.clone(),
            issue,
            suggested_fix: format!("see {}", check.log),
        };
        FixList { fixes: fixes.enumerate().map(fix).collect() }
    }

    /// `audit-report.md`, for people.
    pub fn audit(&self) -> String {
        let mut text = format!(
            "# Cycle {}: {}\n\nTree {}. {} blocking, {} warning.\n\n| check | result | errors |\n|---|---|---|\n",
            self.cycle, self.overall, self.tree, self.blocking_count, self.warning_count
        );
        for check in &self.checks {
            let result = match (check.passed, check.severity) {
                (true, _) => "passed",
                (false, Severity::Blocking) => "failed",
                (false, Severity::Warning) => "warning",
            };
            text.push_str(&format!("| {} | {result} | {} |\n", check.name, check.errors));
        }
        if let Some(compared) = &self.compared {
            let list = |names: &[String]| match names {
                [] => "none".to_owned(),
                names => names.join(", "),
            };
            text.push_str(&format!(
                "\nCompared with cycle {}: {} blocking then, {} now. Mended: {}. Broken since: {}.\n",
                compared.with_cycle,
                compared.blocking_before,
                self.blocking_count,
                list(&compared.mended),
                list(&compared.broken)
            ));
        }
        text
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FixList {
    pub fixes: Vec<Fix>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fix {
    pub id: usize,
    pub severity: Severity,
    pub check: String,
    pub issue: String,
    pub suggested_fix: String,
}

/// `summary.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SentinelSummary {
    pub cycles: u32,
    pub max_cycles: u32,
    pub grade: Option<Grade>,
    /// By cycle.
    pub blocking_counts: Vec<u32>,
    pub warning_count: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SentinelStep {
    Check { cycle: u32 },
    Finish { ending: SentinelEnding },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SentinelEnding {
    pub outcome: Outcome,
    pub reason: String,
    pub summary: SentinelSummary,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SentinelNext {
    Do(SentinelStep),
    /// What the checks found has to be mended outside of the flow; then this is next.
    Mend {
        reason: String,
        then: SentinelStep,
    },
    End(SentinelEnding),
}

/// Cycles of checks on their way to a grade.
#[derive(Clone, Debug)]
pub struct Sentinel {
    max_cycles: u32,
    stuck_cycles: u32,
    cycles: Vec<Verification>,
}

impl Sentinel {
    /// Begins with no cycle done. `max_cycles` are the most there can be; `stuck_cycles` in a row
    /// without improvement are enough.
    pub fn new(max_cycles: u32, stuck_cycles: u32) -> Self {
        let (max_cycles, stuck_cycles) = (max_cycles.max(1), stuck_cycles.max(1));
        Self { max_cycles, stuck_cycles, cycles: Vec::new() }
    }

    pub fn start(&self) -> SentinelNext {
        SentinelNext::Do(SentinelStep::Check { cycle: 1 })
    }

    /// The newest cycle.
    pub fn last(&self) -> Option<&Verification> {
        self.cycles.last()
    }

    /// Takes what a cycle found and says what is next.
    pub fn checked(&mut self, found: Verification) -> SentinelNext {
        let cycle = found.cycle;
        let left = AttemptsLeft {
            retries: self.max_cycles.saturating_sub(cycle),
            heals: 0,
            idempotent: true,
            budget: true,
        };
        let action = decide(Layer::Sentinel, found.outcome(), left);
        let (grade, blocking) = (found.overall, found.blocking_count);
        self.cycles.push(found);
        if grade == Grade::Fail && self.is_stuck() {
            let reason = match self.stuck_cycles {
                1 => format!("{blocking} blocking, and the last cycle was no better"),
                stuck => format!("{blocking} blocking, and {stuck} cycles in a row were no better"),
            };
            return self.finish(Outcome::NeedsEscalation, reason);
        }
        match action {
            Action::Advance if grade == Grade::Warn => {
                self.finish(Outcome::Success, "only warnings are left".to_owned())
            }
            Action::Advance => self.finish(Outcome::Success, "every check passed".to_owned()),
            Action::FixCycle => SentinelNext::Mend {
                reason: format!("cycle {cycle} of {}: {blocking} blocking", self.max_cycles),
                then: SentinelStep::Check { cycle: cycle + 1 },
            },
            _ => {
                let reason = format!("{blocking} blocking after cycle {cycle}, the last");
                self.finish(Outcome::NeedsRefinement, reason)
            }
        }
    }

    pub fn summary(&self) -> SentinelSummary {
        SentinelSummary {
            cycles: u32::try_from(self.cycles.len()).unwrap_or(u32::MAX),
            max_cycles: self.max_cycles,
            grade: self.last().map(|last| last.overall),
            blocking_counts: self.cycles.iter().map(|cycle| cycle.blocking_count).collect(),
            warning_count: self.last().map_or(0, |last| last.warning_count),
        }
    }

    fn is_stuck(&self) -> bool {
        let worse = |cycle: &&Verification| {
            cycle.compared.as_ref().is_some_and(|compared| !compared.improved)
        };
        self.cycles.iter().rev().take_while(worse).count() >= self.stuck_cycles as usize
    }

    fn finish(&self, outcome: Outcome, reason: String) -> SentinelNext {
        let summary = self.summary();
        SentinelNext::Do(SentinelStep::Finish {
            ending: SentinelEnding { outcome, reason, summary },
        })
    }
}

impl SentinelStep {
    pub fn key(&self) -> StepKey {
        crate::step_key(match self {
            Self::Check { cycle } => format!("cycle/{cycle}"),
            Self::Finish { .. } => "finish".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
