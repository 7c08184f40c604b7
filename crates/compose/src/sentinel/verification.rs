//! What one cycle found: checks, what an auditor said of them, the grade of both, and what to mend.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use spore_model::{Outcome, TreeId};

use super::audit::{Audit, TestSpec};
use super::fixes::{Fix, FixList, Severity};
use crate::grade::Grade;

/// What one check of the project said.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckResult {
    pub name: String,
    /// The command.
    pub tool: String,
    pub passed: bool,
    /// How much was wrong: failing tests and errors where they can be counted, else one.
    pub errors: u32,
    /// What should be mended and does not fail the check.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub warnings: u32,
    pub severity: Severity,
    /// Nothing where it took too long.
    pub exit_code: Option<i32>,
    /// What fails, by name, where that is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// What failed assertions said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<FailedAssertion>,
    /// What it complains about, place by place; the first of many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<CheckFinding>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The last of what a check that failed printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Its log, below the run's directory.
    pub log: String,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_not(it: &bool) -> bool {
    !it
}

/// One place that a check complains about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckFinding {
    pub file: String,
    pub line: u32,
    pub severity: Severity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub message: String,
}

/// What the assertion said that a test failed by.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedAssertion {
    pub test: String,
    pub said: String,
}

/// `verification-results.json`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Verification {
    pub cycle: u32,
    /// What was checked.
    pub tree: TreeId,
    pub checks: Vec<CheckResult>,
    /// Whether the work was not even checked, because it changes how it would be.
    #[serde(default, skip_serializing_if = "is_not")]
    pub refused: bool,
    pub overall: Grade,
    pub blocking_count: u32,
    pub warning_count: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<CycleComparison>,
    /// What an auditor said of it, where one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
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
        let (mut blocking_count, mut warning_count) = (0, 0);
        for check in &checks {
            let errors = if check.passed { 0 } else { check.errors.max(1) };
            match check.severity {
                Severity::Blocking => blocking_count += errors,
                Severity::Warning => warning_count += errors,
            }
            warning_count += check.warnings;
        }
        let overall = Grade::of(blocking_count, warning_count);
        let compared = before.map(|before| before.compare(blocking_count, &checks));
        let (refused, audit) = (false, None);
        Self {
            cycle,
            tree,
            checks,
            refused,
            overall,
            blocking_count,
            warning_count,
            compared,
            audit,
        }
    }

    /// The result of a cycle that refused its work: `guard` says what that changed of how it would be
    /// checked.
    pub fn refuse(cycle: u32, tree: TreeId, guard: CheckResult, before: Option<&Self>) -> Self {
        Self { refused: true, ..Self::grade(cycle, tree, vec![guard], before) }
    }

    /// Adds what an auditor said. It can only make the grade worse: what is red stays red.
    pub(super) fn with_audit(
        mut self,
        audit: Audit,
        spec: &TestSpec,
        before: Option<&Self>,
    ) -> Self {
        let (blocking, warnings) = audit.weigh(spec);
        self.blocking_count += blocking;
        self.warning_count += warnings;
        self.overall = Grade::of(self.blocking_count, self.warning_count);
        self.compared = before.map(|before| before.compare(self.blocking_count, &self.checks));
        self.audit = Some(audit);
        self
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
    pub(super) fn outcome(&self) -> Outcome {
        match self.overall {
            Grade::Pass | Grade::Warn => Outcome::Success,
            Grade::Fail => Outcome::NeedsRefinement,
        }
    }

    /// `fix-list.json`: what to mend, the blocking first.
    pub fn fix_list(&self, spec: Option<&TestSpec>) -> FixList {
        let mut fixes: Vec<Fix> = self.checks.iter().flat_map(CheckResult::fixes).collect();
        if let (Some(audit), Some(spec)) = (&self.audit, spec) {
            fixes.extend(audit.fixes(spec));
        }
        FixList::numbered(fixes)
    }

    /// `audit-report.md`, for people.
    pub fn report(&self, spec: Option<&TestSpec>) -> String {
        let mut text = format!(
            "# Cycle {}: {}\n\nTree {}. {} blocking, {} warning.\n\n| check | result | errors |\n|---|---|---|\n",
            self.cycle, self.overall, self.tree, self.blocking_count, self.warning_count
        );
        for check in &self.checks {
            let result = match (check.passed, check.severity) {
                (true, _) if check.warnings > 0 => {
                    format!("passed, {} warning", check.warnings)
                }
                (true, _) => "passed".to_owned(),
                (false, Severity::Blocking) => "failed".to_owned(),
                (false, Severity::Warning) => "warning".to_owned(),
            };
            text.push_str(&format!("| {} | {result} | {} |\n", check.name, check.errors));
        }
        for check in self.checks.iter().filter(|check| !check.passed) {
            if let Some(note) = &check.note {
                text.push_str(&format!("\n{}: {note}\n", check.name));
            }
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
        if let (Some(audit), Some(spec)) = (&self.audit, spec) {
            text.push_str(&audit.report(spec));
        }
        text
    }
}

impl CheckResult {
    /// What this check wants mended: places where it names them, else tests, else the whole.
    fn fixes(&self) -> Vec<Fix> {
        let fix = |severity, issue: String| Fix {
            id: 0,
            severity,
            check: self.name.clone(),
            file: None,
            line: None,
            issue,
            suggested_fix: format!("see {}", self.log),
        };
        let severity = match self.passed {
            true => Severity::Warning,
            false => self.severity,
        };
        let places = self.findings.iter().map(|found| {
            let rule = found.rule.as_ref().map(|rule| format!(" ({rule})")).unwrap_or_default();
            Fix {
                file: Some(found.file.clone()),
                line: Some(found.line),
                ..fix(severity.max(found.severity), format!("{}{rule}", found.message))
            }
        });
        let mut fixes: Vec<Fix> = places.collect();
        if self.passed {
            return fixes;
        }
        let said = |name: &String| {
            let said = self.assertions.iter().find(|one| one.test == *name);
            said.map_or_else(|| name.clone(), |one| format!("{name}: {}", one.said))
        };
        fixes.extend(self.failing.iter().map(|name| fix(severity, said(name))));
        if fixes.iter().all(|fix| fix.severity != severity) {
            fixes.push(fix(severity, self.whole_issue()));
        }
        fixes
    }

    fn whole_issue(&self) -> String {
        match (&self.note, self.exit_code) {
            (Some(note), _) => note.clone(),
            (None, Some(code)) => format!("`{}` exited with {code}", self.tool),
            (None, None) => format!("`{}` took too long", self.tool),
        }
    }
}
