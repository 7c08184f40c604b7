//! Runs the trials of one agent and holds what was seen against what is expected.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use spore_agent::AgentError;
use spore_effects::Tool;

use crate::expectations::{ConformanceCase, Expectations};
use crate::kits::{self, KITS, Kit};
use crate::scene::{TrialScene, no_session};
use crate::table::{CaseRow, ConformanceTable};
use crate::trials::{Observation, TRIALS, Trial};

/// Some agents take long to wake up where the machine is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// The agent that is checked, and what it takes to start it.
pub struct Subject {
    /// What `--backend` takes.
    pub name: String,
    /// Nothing for an agent that is part of Spore.
    pub program: Option<PathBuf>,
    /// Our own executable, with the modes of the shim, the replay and the echo server.
    pub exe: PathBuf,
    /// Where sessions look for programs.
    pub path: String,
    /// Ends the suite when it is set.
    pub stop: Arc<AtomicBool>,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("there is no conformance suite for {name:?}", name = .0)]
    NoSuite(String),
    #[error("there is no case {name:?}", name = .0)]
    NoSuchCase(String),
    #[error("the agent program {program} was not found", program = spore_plain::path(.0))]
    NotInstalled(PathBuf),
    #[error("it was interrupted")]
    Interrupted,
    #[error("cannot prepare a place for a session")]
    Place(#[from] std::io::Error),
    #[error("{0}")]
    Table(String),
}

/// The agents that there is a suite for.
pub fn names() -> impl Iterator<Item = &'static str> {
    KITS.iter().map(|kit| kit.name())
}

/// Runs the suite, or those `cases` of it. `tell` hears which cases are about to be run.
pub fn check(
    subject: &Subject,
    cases: &[String],
    tell: &mut dyn FnMut(&[&str]),
) -> Result<ConformanceTable, CheckError> {
    let kit = kits::kit(&subject.name).ok_or_else(|| CheckError::NoSuite(subject.name.clone()))?;
    let all = Expectations::read().map_err(CheckError::Table)?.cases;
    if let Some(unknown) = cases.iter().find(|name| !all.iter().any(|case| case.name == **name)) {
        return Err(CheckError::NoSuchCase(unknown.clone()));
    }
    let wanted: Vec<ConformanceCase> =
        all.into_iter().filter(|case| cases.is_empty() || cases.contains(&case.name)).collect();
    let is_run = |name: &str| {
        let case = wanted.iter().find(|case| case.name == name);
        case.and_then(|case| case.cells.get(kit.name())).is_some_and(|cell| cell.is_run())
    };
    let mut seen = Vec::new();
    for trial in TRIALS {
        let shown: Vec<&str> = trial.shows.iter().copied().filter(|name| is_run(name)).collect();
        if !shown.is_empty() {
            tell(&shown);
            seen.extend(attempt(subject, kit, trial)?);
        }
    }
    let rows = wanted.iter().filter_map(|case| CaseRow::of(case, kit.name(), &seen)).collect();
    Ok(ConformanceTable::new(kit, version(subject), rows))
}

/// A trial's sightings, each with what the program printed last.
fn attempt(
    subject: &Subject,
    kit: &'static dyn Kit,
    trial: &Trial,
) -> Result<Vec<(Observation, String)>, CheckError> {
    let mut scene = TrialScene::new(subject, kit, trial.steps)?;
    let seen = (trial.run)(&mut scene);
    if subject.stop.load(Ordering::Relaxed) {
        return Err(CheckError::Interrupted);
    }
    let seen = match seen {
        Ok(seen) => seen,
        Err(AgentError::NotInstalled { program }) => {
            return Err(CheckError::NotInstalled(program));
        }
        Err(error) => {
            let got = no_session(&error);
            trial.shows.iter().map(|&case| Observation { case, got: got.clone() }).collect()
        }
    };
    let last_words = scene.last_words();
    Ok(seen.into_iter().map(|seen| (seen, last_words.clone())).collect())
}

/// Asks the program for its version: the first word that looks like one.
fn version(subject: &Subject) -> Option<String> {
    let program = subject.program.as_ref()?;
    let tool = Tool::new(program).arg("--version").env("PATH", &subject.path);
    let answer = tool.timeout(PATIENCE).output().ok()?.text();
    let mut words = answer.split_whitespace().map(|word| word.trim_start_matches('v'));
    words
        .find(|word| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit()))
        .map(|word| spore_plain::line_within(word, 40))
}
