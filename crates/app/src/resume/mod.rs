//! Goes on with a run, of whatever kind, from its first step without a result.
//!
//! What a killed process left running is ended first. Each kind of run knows how it goes on;
//! finding the run, and telling about it, is the same for all. Tasks that an engine hands over are
//! begun and gone on with in `tasks`.

pub(crate) mod tasks;

use spore_model::{Fault, Run, RunKind, Usd};
use spore_runs::RunReport;
use spore_store::{Journal, RunQuery};

use crate::base::run_lock::unclaimed;
use crate::flows::FlowReport;
use crate::loops::LoopReport;
use crate::report::{self, is_over, root_of};
use crate::run::settings::settings_of;
use crate::session::parent::refuse_inside;
use crate::{Error, Progress, Result, Surroundings, Workspace};

/// Which run to go on with.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// Part of a run's id; the only open run where missing.
    pub run: Option<String>,
    /// Raises the budget by this much.
    pub more_budget: Option<Usd>,
}

/// A run that was gone on with.
#[derive(Clone, Debug)]
pub struct Resumed {
    pub report: RunReport,
    /// The same as the command tells it that begins such a run.
    pub told: Option<KindReport>,
}

/// What a kind of run tells at its end in a way of its own.
#[derive(Clone, Debug)]
pub enum KindReport {
    List(Box<LoopReport>),
    Flow(Box<FlowReport>),
}

/// Goes on with a run.
pub fn resume(
    around: &Surroundings,
    asked: &Resume,
    progress: &mut dyn Progress,
) -> Result<Resumed> {
    let workspace = Workspace::find_with_runs(around)?;
    refuse_inside(around, &workspace, None)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = match &asked.run {
        Some(typed) => report::find_run(&journal, typed)?,
        None => only_open(&workspace, &journal)?,
    };
    let run = root_of(&journal, run)?;
    if !run.is_open() {
        return Err(is_over(&run));
    }
    let mut told = None;
    let report = match run.kind {
        RunKind::Orchestrate | RunKind::Solo => {
            let budget = budget_of(&run, asked.more_budget)?;
            crate::run::resume::go_on(around, &workspace, &run, budget, progress)
        }
        RunKind::Exec | RunKind::Stage | RunKind::Phase | RunKind::Campaign | RunKind::Sentinel => {
            let flow = crate::flows::resume(around, &workspace, &run, asked.more_budget, progress)?;
            told = Some(KindReport::Flow(Box::new(flow)));
            report::report(&workspace, &journal, run.id)
        }
        RunKind::Spawn => {
            crate::session::spawn::go_on(around, &workspace, &run, asked.more_budget, progress)?;
            report::report(&workspace, &journal, run.id)
        }
        RunKind::Loop | RunKind::Batch => {
            let list = crate::loops::resume(around, &workspace, &run, asked.more_budget, progress)?;
            told = Some(KindReport::List(Box::new(list)));
            report::report(&workspace, &journal, run.id)
        }
        RunKind::Race => crate::race::go_on(around, &workspace, &run, asked.more_budget, progress),
        RunKind::Memory => crate::memory::go_on(around, &workspace, &run, progress),
        RunKind::Investigate => crate::investigate::go_on(around, &workspace, &run, progress),
        kind => Err(Error::new(
            Fault::BadInput,
            format!("run {} is a {}, which cannot be gone on with", run.id.short(), kind.as_str()),
        )
        .hint("start it anew")),
    }?;
    Ok(Resumed { report, told })
}

/// Whether a run of this kind can be gone on with by itself.
const fn is_resumable(kind: RunKind) -> bool {
    matches!(
        kind,
        RunKind::Orchestrate
            | RunKind::Solo
            | RunKind::Exec
            | RunKind::Stage
            | RunKind::Phase
            | RunKind::Campaign
            | RunKind::Sentinel
            | RunKind::Spawn
            | RunKind::Memory
            | RunKind::Investigate
            | RunKind::Loop
            | RunKind::Batch
            | RunKind::Race
    )
}

fn budget_of(run: &Run, more: Option<Usd>) -> Result<Option<Usd>> {
    more.map(|more| Ok(settings_of(run)?.budget + more)).transpose()
}

/// Returns the one run that waits. Where several do, a person has to say which: each may cost money.
fn only_open(workspace: &Workspace, journal: &dyn Journal) -> Result<Run> {
    let query = RunQuery { roots_only: true, open_only: true, ..RunQuery::default() };
    let open = journal.runs(&query)?.into_iter().filter(|run| is_resumable(run.kind)).collect();
    let mut waiting = unclaimed(workspace, open);
    match waiting.len() {
        0 => Err(Error::new(Fault::BadInput, "no run is waiting to be resumed")
            .hint("`spore runs list` shows all runs")),
        1 => Ok(waiting.remove(0)),
        several => Err(Error::new(Fault::BadInput, format!("{several} runs wait to be resumed"))
            .hint(choices(&waiting))),
    }
}

/// How many runs are listed where one is to be chosen.
const MOST_CHOICES: usize = 10;

fn choices(waiting: &[Run]) -> String {
    let mut lines = vec!["say which one, or give one up with `spore runs abandon`:".to_owned()];
    lines.extend(waiting.iter().take(MOST_CHOICES).map(|run| {
        let (id, status) = (run.id.short(), run.status(false));
        let name = spore_plain::line_within(&run.name, 50);
        format!("  spore resume {id}  {status}: {name}")
    }));
    if let Some(more) = waiting.len().checked_sub(MOST_CHOICES).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more: `spore runs list`"));
    }
    lines.join("\n")
}
