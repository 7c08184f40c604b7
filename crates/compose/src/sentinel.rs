//! The sentinel: cycles of checks, graded, compared with the cycle before, and stopped by rule.
//!
//! By itself it only checks: between two cycles a person mends what the first one found, for
//! which the caller parks the run. With roles to ask it is a loop of its own: a writer says what
//! the work has to show, the project's checks run, an auditor holds the results against what the
//! writer said, a consolidator orders what is to be mended, a run mends it, and the next cycle
//! looks again.
//!
//! No role can make a cycle better than its checks are. A role that says nothing, or nothing that
//! can be read, is asked once more; then the sentinel ends without a pass.

mod audit;
mod fixes;
mod prompts;
mod verification;

use crate::grade::Grade;
use serde::{Deserialize, Serialize};
use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{CommitId, Outcome, Park, RunId, StepKey};

use crate::child::Parked;
use crate::judges::SentinelRole;

pub use audit::{
    Audit, AuditFinding, AuditedRequirement, Requirement, RequirementLevel, RequirementStatus,
    TestSpec,
};
pub use fixes::{Fix, FixList, Severity};
pub use prompts::SentinelSubject;
pub use verification::{CheckFinding, CheckResult, CycleComparison, FailedAssertion, Verification};

/// How often one question is put before the sentinel goes without its answer.
const ASKED: u32 = 2;

/// What a sentinel goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentinelRules {
    /// The most cycles that there can be.
    pub max_cycles: u32,
    /// So many in a row without improvement are enough.
    pub stuck_cycles: u32,
    /// Whether roles are asked, or there are only checks.
    pub judged: bool,
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
    /// Whether roles were asked, or there were only checks.
    #[serde(default)]
    pub judged: bool,
    /// Why there is no audit where there should be one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SentinelStep {
    /// Ask a writer for the test specification.
    Write {
        attempt: u32,
    },
    Check {
        cycle: u32,
    },
    /// Ask an auditor about what the cycle found.
    Audit {
        cycle: u32,
        attempt: u32,
    },
    /// Ask a consolidator for the order of the fixes.
    Consolidate {
        cycle: u32,
    },
    /// Have what the cycle found mended.
    Fix {
        cycle: u32,
    },
    Finish {
        ending: SentinelEnding,
    },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SentinelEnding {
    pub outcome: Outcome,
    pub reason: String,
    pub summary: SentinelSummary,
}

/// What came of asking a role.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RoleAnswer {
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Set where it was not done but waits, and what for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub park: Option<Park>,
    /// Its last message.
    pub text: String,
}

/// What came of mending.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FixEnd {
    pub run: RunId,
    pub outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub park: Option<Park>,
    /// What the next cycle checks, where anything was mended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SentinelNext {
    Do(SentinelStep),
    /// What the checks found has to be mended outside of the flow; then this is next.
    Mend {
        reason: String,
        then: SentinelStep,
    },
    /// It stops, and goes on later with the same step.
    Park(Parked),
    End(SentinelEnding),
}

/// Cycles of checks on their way to a grade.
#[derive(Clone, Debug)]
pub struct Sentinel {
    rules: SentinelRules,
    spec: Option<TestSpec>,
    cycles: Vec<Verification>,
    /// The newest cycle's, in the order in which it is to be mended.
    fixes: FixList,
    /// What was wrong with the last answer, for the role that is asked again.
    problem: Option<String>,
    unjudged: Option<String>,
}

/// Which role is to be asked what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleQuestion {
    pub role: SentinelRole,
    pub prompt: String,
}

impl Sentinel {
    /// Begins with no cycle done.
    pub fn new(rules: SentinelRules) -> Self {
        let (max_cycles, stuck_cycles) = (rules.max_cycles.max(1), rules.stuck_cycles.max(1));
        Self {
            rules: SentinelRules { max_cycles, stuck_cycles, ..rules },
            spec: None,
            cycles: Vec::new(),
            fixes: FixList::default(),
            problem: None,
            unjudged: None,
        }
    }

    pub fn start(&self) -> SentinelNext {
        SentinelNext::Do(match self.rules.judged {
            true => SentinelStep::Write { attempt: 1 },
            false => SentinelStep::Check { cycle: 1 },
        })
    }

    /// The newest cycle.
    pub fn last(&self) -> Option<&Verification> {
        self.cycles.last()
    }

    pub fn spec(&self) -> Option<&TestSpec> {
        self.spec.as_ref()
    }

    /// What the newest cycle wants mended.
    pub fn fixes(&self) -> &FixList {
        &self.fixes
    }

    /// The grade as it stands; none while a role has yet to answer.
    pub fn grade(&self) -> Option<Grade> {
        let last = self.last()?;
        match (self.rules.judged, &self.unjudged, &last.audit) {
            (false, ..) | (true, None, Some(_)) => Some(last.overall),
            (true, Some(_), _) => Some(Grade::Fail),
            (true, None, None) => None,
        }
    }

    /// Returns whom a step asks, and what.
    pub fn question(&self, step: &SentinelStep, subject: &SentinelSubject) -> Option<RoleQuestion> {
        let problem = self.problem.as_deref();
        let (role, prompt) = match step {
            SentinelStep::Write { .. } => {
                (SentinelRole::Writer, prompts::for_writer(subject, problem))
            }
            SentinelStep::Audit { .. } => {
                let (spec, last) = (self.spec.as_ref()?, self.last()?);
                (SentinelRole::Auditor, prompts::for_auditor(subject, spec, last, problem))
            }
            SentinelStep::Consolidate { .. } => {
                (SentinelRole::Consolidator, prompts::for_consolidator(&self.fixes))
            }
            SentinelStep::Check { .. } | SentinelStep::Fix { .. } | SentinelStep::Finish { .. } => {
                return None;
            }
        };
        Some(RoleQuestion { role, prompt })
    }

    /// Returns the task of the run that mends what the newest cycle found.
    pub fn fix_task(&self, subject: &SentinelSubject) -> String {
        prompts::for_fixer(subject, self.cycle(), &self.fixes)
    }

    /// Returns what the tester of that run is told beside its task: what the work has to show becomes
    /// tests that the coder never sees.
    pub fn tester_task(&self) -> Option<String> {
        self.spec.as_ref().map(prompts::for_tester)
    }

    /// Takes what a role said to the step that asked it.
    pub fn answered(&mut self, step: &SentinelStep, answer: &RoleAnswer) -> SentinelNext {
        if let Some(stop) = self.stopped(answer.outcome, answer.park, answer.reason.as_deref()) {
            return stop;
        }
        let text = match answer.outcome {
            Outcome::Success => Ok(answer.text.as_str()),
            _ => Err(answer.reason.clone().unwrap_or_else(|| "its session failed".to_owned())),
        };
        match *step {
            SentinelStep::Write { attempt } => self.written(attempt, text),
            SentinelStep::Audit { cycle, attempt } => self.audited(cycle, attempt, text),
            SentinelStep::Consolidate { cycle } => self.consolidated(cycle, text),
            SentinelStep::Check { .. } | SentinelStep::Fix { .. } | SentinelStep::Finish { .. } => {
                self.unjudged_end("a role answered what nobody asked")
            }
        }
    }

    fn written(&mut self, attempt: u32, text: Result<&str, String>) -> SentinelNext {
        match text.and_then(TestSpec::read) {
            Ok(spec) => {
                (self.spec, self.problem) = (Some(spec), None);
                SentinelNext::Do(SentinelStep::Check { cycle: 1 })
            }
            Err(problem) if attempt < ASKED => {
                self.problem = Some(problem);
                SentinelNext::Do(SentinelStep::Write { attempt: attempt + 1 })
            }
            // The checks are worth running all the same: they show what is red.
            Err(problem) => {
                self.unjudged = Some(format!("there is no test specification: {problem}"));
                SentinelNext::Do(SentinelStep::Check { cycle: 1 })
            }
        }
    }

    /// Takes what a cycle found and says what is next.
    pub fn checked(&mut self, found: Verification) -> SentinelNext {
        let cycle = found.cycle;
        self.fixes = found.fix_list(None);
        let is_refused = found.refused;
        self.cycles.push(found);
        if !self.rules.judged {
            return self.judged();
        }
        if is_refused {
            // No role is paid to judge work that decides by itself how it is checked.
            let why = "it changes how it is checked, so no role was asked about it".to_owned();
            self.unjudged = Some(why.clone());
            return self.finish(Outcome::NeedsRefinement, why);
        }
        match &self.unjudged {
            Some(why) => {
                let why = why.clone();
                self.unjudged_end(&why)
            }
            None => SentinelNext::Do(SentinelStep::Audit { cycle, attempt: 1 }),
        }
    }

    fn audited(&mut self, cycle: u32, attempt: u32, text: Result<&str, String>) -> SentinelNext {
        let Some(spec) = self.spec.clone() else {
            return self.unjudged_end("there is no test specification");
        };
        match text.and_then(|text| Audit::read(text, &spec)) {
            Ok(audit) => {
                self.problem = None;
                if let Some(last) = self.cycles.pop() {
                    let last = last.with_audit(audit, &spec, self.cycles.last());
                    self.fixes = last.fix_list(Some(&spec));
                    self.cycles.push(last);
                }
                self.judged()
            }
            Err(problem) if attempt < ASKED => {
                self.problem = Some(problem);
                SentinelNext::Do(SentinelStep::Audit { cycle, attempt: attempt + 1 })
            }
            Err(problem) => self.unjudged_end(&format!("there is no audit: {problem}")),
        }
    }

    fn consolidated(&mut self, cycle: u32, text: Result<&str, String>) -> SentinelNext {
        // An order that cannot be read costs nothing but the order.
        if let Ok(ordered) = text.and_then(|text| self.fixes.clone().ordered(text)) {
            self.fixes = ordered;
        }
        SentinelNext::Do(SentinelStep::Fix { cycle })
    }

    /// Takes how mending ended. Where nothing was mended, the next cycle shows that.
    pub fn fixed(&mut self, end: &FixEnd) -> SentinelNext {
        if let Some(stop) = self.stopped(end.outcome, end.park, end.reason.as_deref()) {
            return stop;
        }
        SentinelNext::Do(SentinelStep::Check { cycle: self.cycle() + 1 })
    }

    /// Decides on the newest cycle, once all has been said about it.
    fn judged(&self) -> SentinelNext {
        let Some(found) = self.last() else { return self.start() };
        let (cycle, grade, blocking) = (found.cycle, found.overall, found.blocking_count);
        let left = AttemptsLeft {
            retries: self.rules.max_cycles.saturating_sub(cycle),
            heals: 0,
            idempotent: true,
            budget: true,
        };
        let action = decide(Layer::Sentinel, found.outcome(), left);
        if grade == Grade::Fail && self.is_stuck() {
            let reason = match self.rules.stuck_cycles {
                1 => format!("{blocking} blocking, and the last cycle was no better"),
                stuck => format!("{blocking} blocking, and {stuck} cycles in a row were no better"),
            };
            return self.finish(Outcome::NeedsEscalation, reason);
        }
        match action {
            Action::Advance if grade == Grade::Warn => {
                self.finish(Outcome::Success, "only warnings are left".to_owned())
            }
            Action::Advance => self.finish(Outcome::Success, self.praise()),
            Action::FixCycle if self.rules.judged => {
                SentinelNext::Do(SentinelStep::Consolidate { cycle })
            }
            Action::FixCycle => SentinelNext::Mend {
                reason: format!("cycle {cycle} of {}: {blocking} blocking", self.rules.max_cycles),
                then: SentinelStep::Check { cycle: cycle + 1 },
            },
            _ => {
                let reason = format!("{blocking} blocking after cycle {cycle}, the last");
                self.finish(Outcome::NeedsRefinement, reason)
            }
        }
    }

    fn praise(&self) -> String {
        match self.rules.judged {
            true => "every check passed and every requirement is met".to_owned(),
            false => "every check passed".to_owned(),
        }
    }

    /// Ends or parks it where a child did not come to its end.
    fn stopped(
        &self,
        outcome: Outcome,
        park: Option<Park>,
        reason: Option<&str>,
    ) -> Option<SentinelNext> {
        let left = AttemptsLeft { retries: 1, heals: 0, idempotent: true, budget: true };
        let why = reason.unwrap_or("no reason was given").to_owned();
        match decide(Layer::Sentinel, outcome, left) {
            Action::Raise(raised @ (Outcome::DepthExceeded | Outcome::NeedsEscalation)) => {
                Some(self.finish(raised, why))
            }
            Action::Raise(raised @ (Outcome::Interrupted | Outcome::NeedsHuman))
            | Action::Park(raised) => {
                let park = park.unwrap_or(match raised {
                    Outcome::Interrupted => Park::Interrupt,
                    Outcome::QuotaParked => Park::Quota,
                    _ => Park::Human,
                });
                Some(SentinelNext::Park(Parked { outcome: raised, park, reason: why }))
            }
            _ => None,
        }
    }

    /// Ends it without a pass, whatever the checks say: no role judged the work.
    fn unjudged_end(&mut self, why: &str) -> SentinelNext {
        self.unjudged = Some(why.to_owned());
        self.finish(Outcome::NeedsEscalation, why.to_owned())
    }

    pub fn summary(&self) -> SentinelSummary {
        SentinelSummary {
            cycles: self.cycle(),
            max_cycles: self.rules.max_cycles,
            grade: self.grade(),
            blocking_counts: self.cycles.iter().map(|cycle| cycle.blocking_count).collect(),
            warning_count: self.last().map_or(0, |last| last.warning_count),
            judged: self.rules.judged,
            unjudged: self.unjudged.clone(),
        }
    }

    fn cycle(&self) -> u32 {
        u32::try_from(self.cycles.len()).unwrap_or(u32::MAX)
    }

    fn is_stuck(&self) -> bool {
        let worse = |cycle: &&Verification| {
            cycle.compared.as_ref().is_some_and(|compared| !compared.improved)
        };
        self.cycles.iter().rev().take_while(worse).count() >= self.rules.stuck_cycles as usize
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
            Self::Write { attempt } => format!("write/{attempt}"),
            Self::Check { cycle } => format!("cycle/{cycle}"),
            Self::Audit { cycle, attempt } => format!("audit/{cycle}/{attempt}"),
            Self::Consolidate { cycle } => format!("consolidate/{cycle}"),
            Self::Fix { cycle } => format!("fix/{cycle}"),
            Self::Finish { .. } => "finish".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
