//! Looks at a run that another process works on, until it is over. Changes nothing.

use std::time::Duration;

use spore_model::{Fault, Run, RunStatus};
use spore_runs::{News, RunReport, RunWatch};
use spore_store::{Journal, RunQuery};

use super::{find_run, report};
use crate::base::run_lock::is_claimed;
use crate::{Error, Result, Surroundings, Workspace};

/// How often the run is looked at.
const GLANCE: Duration = Duration::from_millis(250);

/// Tells what is new about a run, and how it stands, until it is over or waits, or the watcher is
/// interrupted. Without a name the one is meant that is being worked on. Returns the last look,
/// nothing where it was interrupted.
pub fn watch_run(
    around: &Surroundings,
    typed: Option<&str>,
    told: &mut dyn FnMut(&[News], &RunReport),
) -> Result<Option<RunReport>> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = match typed {
        Some(typed) => find_run(&journal, typed)?,
        None => the_running_one(&workspace, &journal)?,
    };
    let mut watch = RunWatch::default();
    loop {
        let now = report(&workspace, &journal, run.id)?;
        told(&watch.look(&now), &now);
        if now.status != RunStatus::Running {
            return Ok(Some(now));
        }
        let until = around.clock.monotonic() + GLANCE;
        while around.clock.monotonic() < until {
            if around.interrupt.is_raised() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn the_running_one(workspace: &Workspace, journal: &dyn Journal) -> Result<Run> {
    let query = RunQuery { roots_only: true, open_only: true, ..RunQuery::default() };
    let mut runs = journal.runs(&query)?;
    runs.retain(|run| is_claimed(workspace, run.id));
    match runs.len() {
        0 => Err(Error::new(Fault::BadInput, "no run is being worked on")
            .hint("`spore runs list` shows all runs, `spore runs show RUN` one of them")),
        1 => Ok(runs.remove(0)),
        several => {
            let lines: Vec<String> = runs
                .iter()
                .map(|run| format!("  spore runs watch {}  {}", run.id.short(), run.name))
                .collect();
            let message = format!("{several} runs are being worked on");
            Err(Error::new(Fault::BadInput, message).hint(lines.join("\n")))
        }
    }
}
