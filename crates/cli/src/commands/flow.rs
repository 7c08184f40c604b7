//! What the commands of flows have in common.

use std::path::{Path, PathBuf};
use std::time::Duration;

use spore_app::{
    Apply, Error, FlowOptions, FlowQuestion, FlowReport, LayerMode, Result, Surroundings,
};

use spore_model::{Fault, RunKind, RunStatus, Usd};
use spore_plain::{ends_within, line, line_within};

use super::orchestrate::dollars;
use super::sentinel;
use super::text::to_do;

#[derive(clap::Args)]
pub(crate) struct FlowArgs {
    /// The agent of every executor that names none
    #[arg(long, value_name = "NAME")]
    backend: Option<String>,
    /// The scenario that the replay agent plays, where an executor names none
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// US dollars the whole flow may cost
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget: Option<Usd>,
    /// How deep sessions may be nested
    #[arg(long, value_name = "N")]
    max_depth: Option<u32>,
    /// What becomes of the flow's branch at the end: branch, merge, patch or none
    #[arg(long, value_name = "HOW")]
    apply: Option<Apply>,
    /// The model of every executor that names none: low, medium, high, or the vendor's own name
    #[arg(long, value_name = "NAME", value_parser = some_word)]
    model: Option<String>,
    /// Wall time of one session, where the flow says nothing of it: 90s, 10m (the default) or 2h
    #[arg(long, value_name = "TIME", value_parser = some_time)]
    timeout: Option<Duration>,
    /// A file that every session is told beside its task
    #[arg(long, value_name = "FILE")]
    extra_context: Option<PathBuf>,
    /// Work on the project of this directory; files that are named are looked for there
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Where manifests, signals and reports go; transcripts stay with the run
    #[arg(long, value_name = "DIR")]
    session_dir: Option<PathBuf>,
    /// Who leads the layer that is called: tool, or agent for a session that calls the layer below
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<LayerMode>,
    /// Tell what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

impl FlowArgs {
    /// Returns where the command is as good as called.
    pub(super) fn surroundings(&self, around: &Surroundings) -> Result<Surroundings> {
        around.called_in(self.cwd.as_deref())
    }

    pub(super) fn options(&self, around: &Surroundings) -> Result<FlowOptions> {
        let read = |path: &PathBuf| read_file(around, path);
        Ok(FlowOptions {
            model: self.model.clone(),
            timeout: self.timeout,
            extra_context: self.extra_context.as_ref().map(read).transpose()?,
            dry_run: self.dry_run,
            session_dir: self.session_dir.as_ref().map(|dir| around.cwd.join(dir)),
            backend: self.backend.clone(),
            scenario: self.scenario.clone(),
            budget: self.budget,
            max_depth: self.max_depth,
            apply: self.apply,
            mode: self.mode,
            flow_file: None,
        })
    }
}

/// Reads a time in which something can be done.
pub(super) fn some_time(typed: &str) -> std::result::Result<Duration, String> {
    match spore_config::parse_duration(typed) {
        Ok(Duration::ZERO) => Err("no session is done in no time".to_owned()),
        read => read.map_err(|error| error.to_string()),
    }
}

/// Reads a word that says something.
pub(super) fn some_word(typed: &str) -> std::result::Result<String, String> {
    match typed.trim() {
        "" => Err("it is empty".to_owned()),
        word => Ok(word.to_owned()),
    }
}

fn mode(word: &str) -> std::result::Result<LayerMode, String> {
    LayerMode::named(word).ok_or_else(|| format!("it is one of {}", LayerMode::WORDS.join(", ")))
}

/// Bytes of a file that a person names, at most: sessions are told all of it.
const MOST_BYTES: u64 = 100_000;

/// Reads a file that a person names.
pub(super) fn read_file(around: &Surroundings, path: &Path) -> Result<String> {
    read_named(&around.cwd, path, MOST_BYTES)
}

/// Reads a file of at most `most` bytes that a person names. What is no file, or has no end, is never
/// waited for.
pub(super) fn read_named(from: &Path, path: &Path, most: u64) -> Result<String> {
    use std::io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput};

    spore_effects::files::read_text_within(from.join(path), most).map_err(|source| {
        let message = format!("cannot read {}", spore_plain::path(path));
        match source.kind() {
            FileTooLarge | InvalidData | InvalidInput => {
                Error::new(Fault::BadInput, format!("{message}: {source}"))
            }
            _ => Error::io(message, source),
        }
    })
}

/// The last words about a flow of any kind.
pub(super) fn whole_ending(report: &FlowReport) -> String {
    match report.kind {
        RunKind::Sentinel => sentinel::text(report),
        _ => ending(report),
    }
}

/// The last words about a flow.
pub(super) fn ending(report: &FlowReport) -> String {
    if report.told["dry_run"] == true {
        return serde_json::to_string_pretty(&report.told["plan"]).unwrap_or_default();
    }
    let (id, cost) = (report.run.short(), report.cost);
    let reason = report.reason.as_deref().unwrap_or("no reason was given");
    let (reason, name) = (line(reason), line(&report.name));
    let kind = report.kind.as_str();
    match report.status {
        RunStatus::Finished => format!(
            "{}{} is done for {cost}: {reason}\n{}  {}",
            parts(report),
            name,
            place(report),
            report.directory
        ),
        RunStatus::Interrupted => {
            format!("Run {id} is interrupted, after {cost}. To go on:\n  spore resume {id}")
        }
        RunStatus::ParkedBudget | RunStatus::ParkedQuota | RunStatus::ParkedHuman => {
            let what = match report.status {
                RunStatus::ParkedBudget => "budget",
                RunStatus::ParkedQuota => "quota",
                _ => "a person",
            };
            let next = report.next.as_ref().map(|next| format!("\n{}", to_do(next)));
            let next = next.unwrap_or_default();
            format!("Run {id} waits for {what}: {reason}{}{next}", questions(report))
        }
        _ => format!(
            "{}The {kind} {} ended with exit code {}, after {cost}: {reason}\n{}  spore runs show {id}\n  {}",
            parts(report),
            name,
            report.exit_code,
            place(report),
            report.directory
        ),
    }
}

/// What is asked, where more than one part does: each is answered by its own id.
fn questions(report: &FlowReport) -> String {
    if report.questions.len() < 2 {
        return String::new();
    }
    let one = |asked: &FlowQuestion| {
        let question = line_within(&asked.question, 200);
        format!("\n  {}  {}: {question}", asked.run.short(), ends_within(&asked.name, 32))
    };
    report.questions.iter().map(one).collect()
}

/// Where the work is, and what to do with it.
fn place(report: &FlowReport) -> String {
    let (Some(branch), Some(commit)) = (&report.branch, &report.commit) else {
        return String::new();
    };
    let place = match &report.applied {
        Some(applied) => applied.what.clone(),
        None => format!("on branch {branch}"),
    };
    let next = report.applied.as_ref().and_then(|applied| applied.next.clone());
    let next = next.map(|next| format!("\n  {next}")).unwrap_or_default();
    format!("  {} {}{next}\n", &commit.as_str()[..12], line(&place))
}

/// The runs below it: how each ended, what it made, and where that is kept if it was taken back.
fn children(report: &FlowReport) -> String {
    let mut text = String::new();
    for child in &report.children {
        let name = ends_within(&child.name, 32);
        let (status, run) = (child.status, child.run.short());
        let commit = child.commit.as_ref().map(|commit| format!(", {}", &commit.as_str()[..12]));
        let kept = child.rolled_back.as_ref().map(|name| format!(", taken back to {name}"));
        let more = format!("{}{}", commit.unwrap_or_default(), kept.unwrap_or_default());
        text.push_str(&format!("  {name:16}  {status} by run {run}{more}\n"));
    }
    text
}

/// One line a stage or phase.
fn parts(report: &FlowReport) -> String {
    let mut text = String::new();
    let list = |key: &str| report.told[key].as_array().cloned().unwrap_or_default();
    for stage in list("stages") {
        let word = |key: &str| stage[key].as_str().unwrap_or_default().to_owned();
        let attempts = stage["attempts"].as_u64().unwrap_or(0);
        let again =
            if attempts > 1 { format!(" after {attempts} attempts") } else { String::new() };
        text.push_str(&part(&word("name"), &format!("{}{again}", word("status")), &word("error")));
        for one in stage["parts"].as_array().into_iter().flatten() {
            let word = |key: &str| one[key].as_str().unwrap_or_default();
            let told = part(word("name"), word("status"), word("error"));
            text.push_str(&format!("  {told}"));
        }
    }
    for phase in list("phases") {
        let word = |key: &str| phase[key].as_str().unwrap_or_default().to_owned();
        let attempts = phase["orchestrators"].as_array().map_or(0, Vec::len);
        let again =
            if attempts > 1 { format!(" after {attempts} attempts") } else { String::new() };
        text.push_str(&part(&word("phase"), &format!("{}{again}", word("status")), &word("error")));
    }
    text + &children(report)
}

fn part(name: &str, status: &str, error: &str) -> String {
    let error = line_within(error, 200);
    let told = if error.is_empty() { status.to_owned() } else { format!("{status}: {error}") };
    format!("  {:16}  {told}\n", ends_within(name, 32))
}
