//! `spore memory trial`: what a line is worth, by runs that were told it and runs that were not.
//!
//! A trial is a person's decision and a file; which runs are not told the line is drawn by lot from
//! their ids (`spore_memory::trial`). What each run was told, and what was withheld, stands beside
//! its task files, so the report is counted from records alone.

use serde::Serialize;
use spore_memory::lines::{LineHash, LineMap};
use spore_memory::trial::{LineTrial, read_trials};
use spore_model::{Fault, Outcome, Run, RunKind, RunState, Timestamp};
use spore_runs::{Difference, difference_of_arms};
use spore_store::{Journal, RunQuery};

use super::line_status::why_line;
use super::places::MemoryPlaces;
use crate::base::files::{pretty, read_text};
use crate::knowledge::carried::{TRIALS, told_lines};
use crate::session::within::refuse_within;
use crate::{Error, Result, Surroundings, Workspace};

/// What a person wants of a trial.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum TrialDeed {
    /// Withhold the line from this share of runs, 0 to 1.
    Start(f64),
    Stop,
    Report,
}

/// How a trial stands.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TrialReport {
    pub hash: LineHash,
    pub text: String,
    pub trial: LineTrial,
    pub told: TrialArm,
    pub withheld: TrialArm,
    /// Told minus withheld, each with its 95 % interval; nothing where an arm has too few runs.
    pub verified: Option<Difference>,
    pub cost_usd: Option<Difference>,
    pub finding: TrialFinding,
    /// Files of the project that have the line too. Agents read those by themselves, so runs that
    /// are not told the line may know it all the same, and the trial shows less than there is.
    pub also_in: Vec<String>,
}

/// Files that agents read by themselves.
const READ_BY_AGENTS: [&str; 6] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
];

/// The runs of one side.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct TrialArm {
    pub runs: u32,
    pub verified: u32,
    pub mean_cost_usd: f64,
}

/// What the figures say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialFinding {
    TooFewRuns,
    NoDifferenceSeen,
    /// Runs that were told the line are verified more often.
    Helps,
    Harms,
}

/// Starts, ends or reports a trial.
pub fn try_line(around: &Surroundings, typed: &str, deed: TrialDeed) -> Result<TrialReport> {
    let line = why_line(around, typed)?;
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let places = MemoryPlaces::of(&workspace);
    let mut trials = read_trials(&places.read(&places.path(TRIALS))?.unwrap_or_default());
    let now = around.clock.now();
    if deed != TrialDeed::Report {
        refuse_within(around, &journal, "put a line on trial")?;
        let _alone = places.lock()?;
        change(&mut trials, &line.hash, deed, now)?;
        around.write_file(&places.path(TRIALS), pretty(&trials)?.as_bytes())?;
    }
    let trial = trials.into_iter().rev().find(|trial| trial.line == line.hash);
    let trial = trial.ok_or_else(|| {
        Error::new(Fault::BadInput, format!("{} was never on trial", line.hash))
            .hint(format!("start one: spore memory trial {} --share 0.5", line.hash))
    })?;
    report(&workspace, &journal, trial, line.text)
}

fn change(
    trials: &mut Vec<LineTrial>,
    hash: &LineHash,
    deed: TrialDeed,
    now: Timestamp,
) -> Result<()> {
    let open = trials.iter_mut().find(|trial| trial.line == *hash && trial.is_open());
    match (deed, open) {
        (TrialDeed::Start(share), None) if share > 0.0 && share < 1.0 => {
            let started = now.to_string();
            trials.push(LineTrial { line: hash.clone(), share, started, ended: None });
            Ok(())
        }
        (TrialDeed::Start(_), None) => {
            Err(Error::new(Fault::Usage, "a share is above 0 and below 1")
                .hint("half of the runs tell most: --share 0.5"))
        }
        (TrialDeed::Start(_), Some(_)) => {
            Err(Error::new(Fault::BadInput, "the line is on trial already")
                .hint(format!("see how it stands: spore memory trial {hash}; or end it: --stop")))
        }
        (TrialDeed::Stop, Some(trial)) => {
            trial.ended = Some(now.to_string());
            Ok(())
        }
        (TrialDeed::Stop, None) => Err(Error::new(Fault::BadInput, "the line is not on trial")
            .hint(format!("start one: spore memory trial {hash} --share 0.5"))),
        (TrialDeed::Report, _) => Ok(()),
    }
}

/// Finds the files of the project that agents read by themselves and that have a line: an export's
/// block, or a person's own words.
fn also_in(workspace: &Workspace, hash: &LineHash) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in READ_BY_AGENTS {
        let text = read_text(&workspace.root().join(name))?.unwrap_or_default();
        if LineMap::read(&text).by_hash(hash).is_some() {
            found.push(name.to_owned());
        }
    }
    Ok(found)
}

/// Counts the runs that began while the trial was on and have ended as themselves.
fn report(
    workspace: &Workspace,
    journal: &dyn Journal,
    trial: LineTrial,
    text: String,
) -> Result<TrialReport> {
    let since = trial.started.parse().ok();
    let query = RunQuery { kind: Some(RunKind::Orchestrate), since, ..RunQuery::default() };
    let ended: Option<Timestamp> = trial.ended.as_ref().and_then(|ended| ended.parse().ok());
    let counts = |run: &&Run| {
        let decided = matches!(
            run.outcome,
            Some(
                Outcome::Success
                    | Outcome::Failure
                    | Outcome::NeedsRefinement
                    | Outcome::NeedsEscalation
                    | Outcome::TimedOut
            )
        );
        // What a person gave up or took back says nothing about the line.
        let is_standing = run.mark.is_none() && run.state == RunState::Ended;
        is_standing && decided && ended.is_none_or(|ended| run.started <= ended)
    };
    let (mut told, mut withheld): (Vec<Run>, Vec<Run>) = (Vec::new(), Vec::new());
    for run in journal.runs(&query)?.iter().filter(counts) {
        let lines = told_lines(workspace, run.id);
        if lines.withheld.contains(&trial.line) {
            withheld.push(run.clone());
        } else if lines.carried.contains(&trial.line) {
            told.push(run.clone());
        }
    }
    let verified = |runs: &[Run]| -> Vec<f64> {
        runs.iter().map(|run| f64::from(u8::from(run.outcome == Some(Outcome::Success)))).collect()
    };
    let cost = |runs: &[Run]| -> Vec<f64> {
        runs.iter().map(|run| spore_model::Cost::from(run.cost).usd.as_dollars()).collect()
    };
    let difference = difference_of_arms(&verified(&told), &verified(&withheld));
    let finding = match difference {
        None => TrialFinding::TooFewRuns,
        Some(found) if found.low > 0.0 => TrialFinding::Helps,
        Some(found) if found.high < 0.0 => TrialFinding::Harms,
        Some(_) => TrialFinding::NoDifferenceSeen,
    };
    Ok(TrialReport {
        hash: trial.line.clone(),
        text,
        told: arm(&verified(&told), &cost(&told)),
        withheld: arm(&verified(&withheld), &cost(&withheld)),
        verified: difference,
        cost_usd: difference_of_arms(&cost(&told), &cost(&withheld)),
        finding,
        also_in: also_in(workspace, &trial.line)?,
        trial,
    })
}

fn arm(verified: &[f64], cost: &[f64]) -> TrialArm {
    let runs = u32::try_from(verified.len()).unwrap_or(u32::MAX);
    TrialArm {
        runs,
        verified: verified.iter().sum::<f64>() as u32,
        mean_cost_usd: if runs == 0 { 0.0 } else { cost.iter().sum::<f64>() / f64::from(runs) },
    }
}
