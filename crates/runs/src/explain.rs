//! Why a run is where it is, from its records alone: what stopped it, what decided each attempt,
//! what the verifier objected to, why a file was in its task files, and what to do next.
//!
//! Pure: a report, the steps and the records of its task files make the explanation.

mod carrying;
pub(crate) mod tasks;

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{ContextUse, Ruling, Run, RunId, RunKind, RunStatus, StepKey};
use spore_store::RecordedStep;

use crate::advice::NextStep;
use crate::applied::Apply;
use crate::report::{BounceReport, RunReport};
pub use carrying::{FileSignals, Signal, TaskFileRecord};
use tasks::{TaskEnd, again, task_ends, words_of_list_step};

#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct RunExplanation {
    pub run: RunId,
    pub name: String,
    pub status: RunStatus,
    /// Why it stopped, or what it does.
    pub why: String,
    /// What it was doing when it stopped, where it is not over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    pub attempts: Vec<AttemptExplained>,
    /// The tasks of a list, or the racers, that fell short.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskEnd>,
    /// What a person does now, the most useful first.
    pub next: Vec<NextStep>,
    /// Why a file was in its task files, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<FileExplained>,
}

/// How an attempt ended, and which part of it decided that.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct AttemptExplained {
    pub bounce: u32,
    pub status: RunStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    pub why: String,
    /// Tests that fail now and did not at the base.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// What the verifier ruled, and how sure it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ruling: Option<Ruling>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What the verifier found, place by place.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<String>,
}

/// Which part of an attempt had the last word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// A session that failed.
    Session,
    /// What looks like a secret in the change.
    Secret,
    Checks,
    Verifier,
}

impl DecidedBy {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "its session",
            Self::Secret => "a secret in the change",
            Self::Checks => "the checks",
            Self::Verifier => "the verifier",
        }
    }
}

/// Why a file was in the task files of a run.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct FileExplained {
    pub path: String,
    /// The task files that name it, in their order.
    pub told: Vec<FileTold>,
    /// The attempts that changed it.
    pub changed_in: Vec<u32>,
    /// How many task files the run had on record.
    pub task_files: usize,
    /// All of it in one sentence.
    pub say: String,
}

/// One task file that names the file.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct FileTold {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounce: Option<u32>,
    pub role: String,
    /// Its place among the files that are named, the first being 1.
    pub place: u32,
    pub of: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// What spoke for it, the strongest first; nothing for a run of an earlier version, and for a
    /// file that is named for another reason than its rank.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<Signal>,
}

/// Explains a run. `used` is what each attempt's task file was worth, by number.
pub fn explain(
    report: &RunReport,
    steps: &[RecordedStep],
    records: &[TaskFileRecord],
    used: &[(u32, ContextUse)],
    file: Option<&str>,
) -> RunExplanation {
    let open = steps.iter().rfind(|step| step.result.is_none() && report.run.is_open());
    let tasks = fell_short(report, steps);
    RunExplanation {
        run: report.run.id,
        name: report.run.name.clone(),
        status: report.status,
        why: why(report),
        at: open.map(|step| words_of_step(&report.run, &step.key)),
        attempts: report.bounces.iter().map(attempt).collect(),
        next: next(report, &tasks),
        tasks,
        file: file.map(|typed| file_explained(typed, records, used)),
    }
}

/// The losers of a race that was won need nothing of a person.
fn fell_short(report: &RunReport, steps: &[RecordedStep]) -> Vec<TaskEnd> {
    let is_won = report.run.kind == RunKind::Race
        && matches!(report.status, RunStatus::Finished | RunStatus::Partial);
    let mut ends = if is_won { Vec::new() } else { task_ends(report, steps) };
    ends.retain(|end| end.fell_short(!report.run.is_open()));
    ends
}

fn why(report: &RunReport) -> String {
    let why = why_it_stopped(report);
    match report.applied.as_ref().filter(|applied| !applied.done && report.next.is_some()) {
        // The reason of a list or a race says it.
        Some(applied) if !why.contains(&applied.what) => {
            format!("{why}; but the work is not applied: {}", applied.what)
        }
        _ => why,
    }
}

fn why_it_stopped(report: &RunReport) -> String {
    let reason = || match report.run.reason.as_deref().map(str::trim) {
        Some(reason) if !reason.is_empty() => reason.to_owned(),
        _ => "no reason is on record".to_owned(),
    };
    let last = report.bounces.last();
    match report.status {
        RunStatus::Verified => {
            let by = last.map(|bounce| format!(" by attempt {}", bounce.bounce));
            let applied = report.applied.as_ref();
            let landed = applied.filter(|applied| applied.done);
            let landed = landed.map(|applied| format!("; the work is {}", applied.what));
            format!(
                "its checks are green and the verifier supports the very tree that they ran on{}{}",
                by.unwrap_or_default(),
                landed.unwrap_or_default()
            )
        }
        RunStatus::Running => match report.live.last() {
            Some(live) => format!("a process works on it: {} is under way", live.name),
            None => "a process works on it".to_owned(),
        },
        RunStatus::Interrupted if report.run.reason.is_none() => {
            "the process that worked on it is gone; what is on record is kept".to_owned()
        }
        RunStatus::Cancelled => format!("a person cancelled it: {}", reason()),
        RunStatus::RolledBack => "a person took back what it did".to_owned(),
        _ => reason(),
    }
}

fn attempt(bounce: &BounceReport) -> AttemptExplained {
    let failed = bounce.sessions.iter().rfind(|session| session.status == RunStatus::Failed);
    let verdict = bounce.verdict.as_ref();
    let is_over = matches!(bounce.status, RunStatus::Verified | RunStatus::Rejected);
    let decided_by = match (verdict, failed) {
        (Some(_), _) => Some(DecidedBy::Verifier),
        _ if !bounce.secrets.is_empty() => Some(DecidedBy::Secret),
        _ if is_over && !bounce.gates.is_empty() => Some(DecidedBy::Checks),
        (None, Some(_)) => Some(DecidedBy::Session),
        _ => None,
    };
    let said = bounce.reason.clone().or_else(|| failed.and_then(|one| one.reason.clone()));
    let why = match (verdict, said) {
        (Some(verdict), _) if !verdict.reason.trim().is_empty() => verdict.reason.clone(),
        (_, Some(said)) => said,
        _ => match bounce.status {
            RunStatus::Running => "it is being worked on".to_owned(),
            _ if !is_over => "it is not decided yet".to_owned(),
            _ => "no reason is on record".to_owned(),
        },
    };
    AttemptExplained {
        bounce: bounce.bounce,
        status: bounce.status,
        decided_by,
        why,
        failing: bounce.failing.clone(),
        ruling: verdict.map(|verdict| verdict.ruling),
        confidence: verdict.map(|verdict| verdict.confidence),
        objections: verdict
            .map(|verdict| verdict.findings.iter().map(ToString::to_string).collect())
            .unwrap_or_default(),
    }
}

fn next(report: &RunReport, short: &[TaskEnd]) -> Vec<NextStep> {
    let id = report.run.id.short();
    let step = |say: &str, command: String| NextStep { say: say.to_owned(), command, until: None };
    // Who reads this has typed it already.
    let itself = format!("spore runs explain {id}");
    let advised = report.next.clone().filter(|next| next.command != itself);
    let mut steps: Vec<NextStep> = advised.into_iter().collect();
    let applied = report.applied.as_ref();
    if let (RunStatus::Verified | RunStatus::Finished | RunStatus::Partial, Some(applied)) =
        (report.status, applied)
    {
        // What could not be applied is in the report's advice.
        if let Some(branch) = applied.branch.as_ref().filter(|_| applied.how == Apply::Branch) {
            steps.push(step("bring the work in", format!("git merge {branch}")));
        }
    }
    if !short.is_empty()
        && !report.run.is_open()
        && let Some(again) = again(&report.run)
    {
        steps.push(step("call the list again, which goes on with what is not verified", again));
    }
    if report.status == RunStatus::Running {
        steps.push(step("watch it", format!("spore runs watch {id}")));
    }
    // What was checked, or held a secret, was handed in.
    if report.bounces.iter().any(|bounce| !bounce.gates.is_empty() || !bounce.secrets.is_empty()) {
        steps.push(step("see what was changed", format!("spore runs diff {id}")));
    }
    steps.push(step("see everything", format!("spore runs show {id}")));
    steps
}

fn file_explained(
    typed: &str,
    records: &[TaskFileRecord],
    used: &[(u32, ContextUse)],
) -> FileExplained {
    let path = meant(typed, records, used);
    let told: Vec<FileTold> = records
        .iter()
        .filter_map(|record| {
            let place = record.place(&path)?;
            let found = record.signals.iter().find(|signals| signals.path == path);
            Some(FileTold {
                bounce: record.bounce,
                role: record.role.clone(),
                place,
                of: record.files.len(),
                score: found.map(|signals| signals.score),
                signals: found.map(|signals: &FileSignals| signals.why.clone()).unwrap_or_default(),
            })
        })
        .collect();
    let changes = |used: &ContextUse| used.changed.iter().any(|file| file.path == path);
    let changed_in: Vec<u32> =
        used.iter().filter(|(_, used)| changes(used)).map(|(bounce, _)| *bounce).collect();
    let say = sentence(&path, &told, &changed_in, records.len());
    FileExplained { path, told, changed_in, task_files: records.len(), say }
}

/// Returns the path as the records have it: as it was typed, else the only one that ends so.
fn meant(typed: &str, records: &[TaskFileRecord], used: &[(u32, ContextUse)]) -> String {
    let typed = typed.trim_start_matches("./");
    let named = records.iter().flat_map(|record| record.files.iter().map(String::as_str));
    let changed = used.iter().flat_map(|(_, used)| used.changed.iter().map(|file| &*file.path));
    let mut known: Vec<&str> = named.chain(changed).collect();
    known.sort_unstable();
    known.dedup();
    if known.contains(&typed) {
        return typed.to_owned();
    }
    let end = format!("/{typed}");
    let mut like = known.iter().filter(|path| path.ends_with(&end));
    match (like.next(), like.next()) {
        (Some(only), None) => (*only).to_owned(),
        _ => typed.to_owned(),
    }
}

fn sentence(path: &str, told: &[FileTold], changed_in: &[u32], task_files: usize) -> String {
    let changed = match changed_in {
        [] => "no attempt changed it".to_owned(),
        [one] => format!("attempt {one} changed it"),
        several => {
            let numbers: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!("attempts {} changed it", numbers.join(", "))
        }
    };
    let Some(first) = told.first() else {
        return match task_files {
            0 => format!("the run has no record of what its task files named; {changed}"),
            _ => format!("no task file of the run named {path}; {changed}"),
        };
    };
    let by = match first.signals.as_slice() {
        [] => String::new(),
        [only] => format!(", for {}", only.name),
        [one, two, ..] => format!(", most for {} and {}", one.name, two.name),
    };
    let of_attempt = first.bounce.map(|bounce| format!(" of attempt {bounce}")).unwrap_or_default();
    format!(
        "the task file of the {}{of_attempt} named it at place {} of {}{by}; {changed}",
        first.role, first.place, first.of
    )
}

/// Returns what people call a step of `run`.
pub fn words_of_step(run: &Run, key: &StepKey) -> String {
    if let Some(words) = words_of_list_step(run, key) {
        return words;
    }
    let key = key.to_string();
    let mut parts = key.split('/');
    let (name, bounce) = (parts.next().unwrap_or_default(), parts.next());
    let of = bounce.map(|bounce| format!(" of attempt {bounce}")).unwrap_or_default();
    match name {
        "prepare" => "laying out the checkout".to_owned(),
        "baseline" => "the checks on the base".to_owned(),
        "tester" => "the tester".to_owned(),
        "coder" => format!("the coder{of}"),
        "snapshot" => format!("taking up the change{of}"),
        "gates" => format!("the checks{of}"),
        "verifier" => format!("the verifier{of}"),
        "close" => format!("closing{}", of.replacen(" of", "", 1)),
        "commit" => "the commit".to_owned(),
        "apply" => "bringing the work in".to_owned(),
        "escalate" => "handing over to a person".to_owned(),
        "summarize" => "the summary".to_owned(),
        "finish" => "closing the run".to_owned(),
        "solo" | "session" => "its session".to_owned(),
        "winner" => "choosing the winner".to_owned(),
        "rollback" => "taking back what it did".to_owned(),
        "ask" => "what it asks".to_owned(),
        "review" => "a person's look at its plan".to_owned(),
        "rebase" => "bringing the work onto the branch as it is now".to_owned(),
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(bounce: u32, role: &str, files: &[&str]) -> TaskFileRecord {
        TaskFileRecord {
            bounce: Some(bounce),
            role: role.to_owned(),
            files: files.iter().map(ToString::to_string).collect(),
            signals: vec![FileSignals {
                path: "src/a.rs".to_owned(),
                rank: 2,
                score: 1.5,
                why: vec![
                    Signal { name: "words".to_owned(), share: 1.0 },
                    Signal { name: "history".to_owned(), share: 0.5 },
                ],
            }],
            ..TaskFileRecord::default()
        }
    }

    #[test]
    fn a_file_is_explained_by_the_task_files_that_named_it_and_the_attempts_that_changed_it() {
        let records = [record(1, "coder", &["src/b.rs", "src/a.rs"]), record(2, "coder", &["x"])];
        let used = ContextUse::of(&[], ["src/a.rs".to_owned()]);
        let told = |typed: &str| file_explained(typed, &records, &[(1, used.clone())]);
        for typed in ["src/a.rs", "./src/a.rs", "a.rs"] {
            let file = told(typed);
            assert_eq!(
                file.say,
                "the task file of the coder of attempt 1 named it at place 2 of 2, most for words \
                 and history; attempt 1 changed it"
            );
            assert_eq!((file.told.len(), file.told[0].score), (1, Some(1.5)));
        }
        assert_eq!(
            told("none.rs").say,
            "no task file of the run named none.rs; no attempt changed it"
        );
        let nothing = file_explained("none.rs", &[], &[]);
        assert!(nothing.say.starts_with("the run has no record"), "{}", nothing.say);
    }

    #[test]
    fn every_step_has_words() {
        let run = Run::begin(
            RunId::from_parts(0, 1),
            RunKind::Orchestrate,
            "",
            spore_model::Timestamp::from_millis(0),
        );
        for (key, words) in [
            (StepKey::coder(2), "the coder of attempt 2"),
            (StepKey::verifier(1, 2), "the verifier of attempt 1"),
            (StepKey::close(3), "closing attempt 3"),
            (StepKey::baseline(), "the checks on the base"),
            (StepKey::task("t-7ffd99b44644", 1), "the task of the list"),
        ] {
            assert_eq!(words_of_step(&run, &key), words);
        }
    }
}
