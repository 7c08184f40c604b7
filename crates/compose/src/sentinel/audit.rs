//! What the roles of a sentinel hand in: a test specification, an audit, an order of fixes.
//!
//! All of it is read from one block at the end of a session's last message. What cannot be read
//! whole is nothing, and nothing is never good news: an audit passes only by saying of each
//! requirement that it is met and how that shows.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use spore_plain::line_within;

use super::fixes::{Fix, FixList, Severity};
use crate::documents::block;
use crate::grade::Grade;

const MOST_REQUIREMENTS: usize = 40;
const MOST_FINDINGS: usize = 100;

/// What the work has to show, as a writer read it off the task and the artefacts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TestSpec {
    pub requirements: Vec<Requirement>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Requirement {
    pub id: String,
    /// What must be so.
    pub text: String,
    #[serde(default)]
    pub level: RequirementLevel,
    /// How it can be seen.
    #[serde(default)]
    pub check: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequirementLevel {
    #[default]
    Must,
    Should,
}

impl RequirementLevel {
    const fn severity(self) -> Severity {
        match self {
            Self::Must => Severity::Blocking,
            Self::Should => Severity::Warning,
        }
    }
}

impl TestSpec {
    /// Reads what a writer handed in.
    pub(super) fn read(answer: &str) -> Result<Self, String> {
        let mut spec: Self = block(answer, "test-spec")?;
        let count = spec.requirements.len();
        if count == 0 || count > MOST_REQUIREMENTS {
            return Err(format!("it has {count} requirements, not 1 to {MOST_REQUIREMENTS}"));
        }
        let mut ids = BTreeSet::new();
        for one in &mut spec.requirements {
            let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
            if one.id.is_empty() || one.id.len() > 20 || !one.id.bytes().all(plain) {
                return Err("a requirement has no plain id".to_owned());
            }
            if !ids.insert(one.id.clone()) {
                return Err(format!("two requirements are called {}", one.id));
            }
            (one.text, one.check) = (line_within(&one.text, 500), line_within(&one.check, 500));
            if one.text.is_empty() {
                return Err(format!("the requirement {} says nothing", one.id));
            }
        }
        Ok(spec)
    }

    /// `test-spec.md`.
    pub fn report(&self) -> String {
        let mut text = "# Test specification\n\n".to_owned();
        text.push_str(&self.lines());
        text
    }

    pub(super) fn lines(&self) -> String {
        let line = |one: &Requirement| {
            let word = match one.level {
                RequirementLevel::Must => "must",
                RequirementLevel::Should => "should",
            };
            let check = match one.check.as_str() {
                "" => String::new(),
                check => format!(" (shows by: {check})"),
            };
            format!("- {} [{word}] {}{check}\n", one.id, one.text)
        };
        self.requirements.iter().map(line).collect()
    }
}

/// The auditor's answer, as far as it holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Audit {
    pub grade: Grade,
    #[serde(default)]
    pub requirements: Vec<AuditedRequirement>,
    #[serde(default)]
    pub findings: Vec<AuditFinding>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AuditedRequirement {
    pub id: String,
    pub status: RequirementStatus,
    #[serde(default)]
    pub evidence: String,
}

/// The worst is the greatest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequirementStatus {
    Met,
    Unknown,
    Unmet,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AuditFinding {
    pub severity: Severity,
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub line: Option<u32>,
    pub issue: String,
    #[serde(default)]
    pub suggested_fix: Option<String>,
}

impl Audit {
    /// Reads what an auditor handed in, and holds it to the specification: a requirement that it
    /// does not speak of, or calls met without saying how that shows, is unknown.
    pub(super) fn read(answer: &str, spec: &TestSpec) -> Result<Self, String> {
        let told: Self = block(answer, "audit")?;
        let of = |id: &str| {
            let mut worst: Option<&AuditedRequirement> = None;
            for one in told.requirements.iter().filter(|one| one.id == id) {
                if worst.is_none_or(|worst| one.status > worst.status) {
                    worst = Some(one);
                }
            }
            let evidence = worst.map(|one| line_within(&one.evidence, 500)).unwrap_or_default();
            let status = match worst.map(|one| one.status) {
                None => RequirementStatus::Unknown,
                Some(RequirementStatus::Met) if evidence.is_empty() => RequirementStatus::Unknown,
                Some(status) => status,
            };
            AuditedRequirement { id: id.to_owned(), status, evidence }
        };
        let requirements = spec.requirements.iter().map(|one| of(&one.id)).collect();
        let mut findings = told.findings.clone();
        // What would be left out may be what blocks.
        if findings.len() > MOST_FINDINGS {
            let count = findings.len();
            return Err(format!("it has {count} findings, and {MOST_FINDINGS} are read"));
        }
        for one in &mut findings {
            one.issue = line_within(&one.issue, 500);
            one.file = one.file.take().map(|file| line_within(&file, 300));
            one.suggested_fix = one.suggested_fix.take().map(|fix| line_within(&fix, 500));
        }
        Ok(Self { grade: told.grade, requirements, findings })
    }

    /// Returns how much of it blocks and how much only warns. A grade that is worse than what
    /// it rests on counts for itself.
    pub(super) fn weigh(&self, spec: &TestSpec) -> (u32, u32) {
        let fixes = self.fixes(spec);
        let count = |severity| {
            let all = fixes.iter().filter(|fix| fix.severity == severity).count();
            u32::try_from(all).unwrap_or(u32::MAX)
        };
        (count(Severity::Blocking), count(Severity::Warning))
    }

    pub(super) fn fixes(&self, spec: &TestSpec) -> Vec<Fix> {
        let fix = |severity, check: &str, issue: String| Fix {
            id: 0,
            severity,
            check: check.to_owned(),
            file: None,
            line: None,
            issue,
            suggested_fix: String::new(),
        };
        let mut fixes = Vec::new();
        for one in &spec.requirements {
            let told = self.requirements.iter().find(|told| told.id == one.id);
            let status = told.map_or(RequirementStatus::Unknown, |told| told.status);
            let word = match status {
                RequirementStatus::Met => continue,
                RequirementStatus::Unknown => "nothing shows that",
                RequirementStatus::Unmet => "it is not so that",
            };
            let evidence = told.map(|told| told.evidence.as_str()).unwrap_or_default();
            let evidence =
                if evidence.is_empty() { String::new() } else { format!(": {evidence}") };
            let issue = format!("{word} {}{evidence}", one.text);
            fixes.push(fix(one.level.severity(), &one.id, issue));
        }
        fixes.extend(self.findings.iter().map(|found| Fix {
            file: found.file.clone(),
            line: found.line,
            suggested_fix: found.suggested_fix.clone().unwrap_or_default(),
            ..fix(found.severity, "audit", found.issue.clone())
        }));
        let rests_on = fixes.iter().map(|fix| fix.severity).min();
        match self.grade {
            Grade::Fail if rests_on != Some(Severity::Blocking) => {
                let issue = "the auditor says FAIL and gives no reason".to_owned();
                fixes.push(fix(Severity::Blocking, "audit", issue));
            }
            Grade::Warn if rests_on.is_none() => {
                let issue = "the auditor says WARN and gives no reason".to_owned();
                fixes.push(fix(Severity::Warning, "audit", issue));
            }
            _ => {}
        }
        fixes
    }

    pub(super) fn report(&self, spec: &TestSpec) -> String {
        let mut text = format!(
            "\n## Audit: {}\n\n| requirement | status | evidence |\n|---|---|---|\n",
            self.grade
        );
        let cell = |text: &str| text.replace('|', "\\|");
        for one in &spec.requirements {
            let told = self.requirements.iter().find(|told| told.id == one.id);
            let (status, evidence) = match told {
                Some(told) => (told.status, told.evidence.as_str()),
                None => (RequirementStatus::Unknown, ""),
            };
            let status = match status {
                RequirementStatus::Met => "met",
                RequirementStatus::Unknown => "unknown",
                RequirementStatus::Unmet => "not met",
            };
            let text_of = cell(&format!("{}: {}", one.id, one.text));
            text.push_str(&format!("| {text_of} | {status} | {} |\n", cell(evidence)));
        }
        for found in &self.findings {
            let place = match (&found.file, found.line) {
                (Some(file), Some(line)) => format!("{file}:{line}: "),
                (Some(file), None) => format!("{file}: "),
                _ => String::new(),
            };
            text.push_str(&format!("\n- {place}{}", found.issue));
        }
        if !self.findings.is_empty() {
            text.push('\n');
        }
        text
    }
}

impl FixList {
    /// Puts the list into the order that a consolidator gave it, with what it suggests. Whatever
    /// it leaves out stays on the list, and what blocks stays in front.
    pub(super) fn ordered(self, answer: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct OrderedFixes {
            fixes: Vec<OrderedFix>,
        }
        #[derive(Deserialize)]
        struct OrderedFix {
            id: usize,
            #[serde(default)]
            suggested_fix: Option<String>,
        }
        let told: OrderedFixes = block(answer, "fixes")?;
        let mut left = self.fixes;
        let mut fixes = Vec::new();
        for one in told.fixes {
            let Some(at) = left.iter().position(|fix| fix.id == one.id) else { continue };
            let mut fix = left.remove(at);
            if let Some(suggested) = one.suggested_fix.filter(|text| !text.trim().is_empty()) {
                fix.suggested_fix = line_within(&suggested, 500);
            }
            fixes.push(fix);
        }
        if fixes.is_empty() && !left.is_empty() {
            return Err("it names none of the fixes".to_owned());
        }
        fixes.append(&mut left);
        Ok(Self::numbered(fixes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_audit_that_is_too_long_is_none_and_not_a_shorter_one() {
        let finding = |severity: &str| format!(r#"{{"severity":"{severity}","issue":"i"}}"#);
        let read = |count: usize| {
            let mut all = vec![finding("warning"); count];
            all.push(finding("blocking"));
            let findings = all.join(",");
            let text = format!(r#"<audit>{{"grade":"PASS","findings":[{findings}]}}</audit>"#);
            Audit::read(&text, &TestSpec::default())
        };
        assert_eq!(read(MOST_FINDINGS - 1).unwrap().findings.len(), MOST_FINDINGS);
        assert_eq!(read(MOST_FINDINGS).unwrap_err(), "it has 101 findings, and 100 are read");
    }
}
