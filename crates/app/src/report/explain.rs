//! One run explained, and told whole: what its task files carried joined with its report.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{ContextUse, RunId, RunKind};
use spore_runs::{RunExplanation, RunReport, RunStory, TaskFileRecord};
use spore_store::Journal;

use crate::base::outbox;
use crate::base::run_files::RunFiles;
use crate::knowledge::carried::{CarriedRecord, carried_files};
use crate::report::{named_or_newest, report, task_of};
use crate::{Result, Surroundings, Workspace};

/// One run with all that is on record of it.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ShownRun {
    #[serde(flatten)]
    pub report: RunReport,
    #[serde(flatten)]
    pub story: RunStory,
}

/// Says why a run is where it is, and why `file` was in its task files where that is asked. The
/// run is named by any unique part of its id; the newest if none is named.
pub fn explain_run(
    around: &Surroundings,
    typed: Option<&str>,
    file: Option<&str>,
) -> Result<RunExplanation> {
    let (workspace, journal) = opened(around)?;
    let run = task_of(&journal, named_or_newest(&journal, typed)?)?;
    let report = report(&workspace, &journal, run.id)?;
    let steps = journal.steps(run.id)?;
    let records = task_file_records(&workspace.run_files(run.id));
    let used = context_uses(&journal, run.id)?;
    Ok(spore_runs::explain(&report, &steps, &records, &used, file))
}

/// Shows one run whole, named by any unique part of its id; the newest if none is named.
pub fn show_run_whole(around: &Surroundings, typed: Option<&str>) -> Result<ShownRun> {
    let (workspace, journal) = opened(around)?;
    let run = named_or_newest(&journal, typed)?;
    let report = report(&workspace, &journal, run.id)?;
    let records = task_file_records(&workspace.run_files(run.id));
    let story = spore_runs::story_of_run(&journal, &report, &records)?;
    Ok(ShownRun { report, story })
}

fn opened(around: &Surroundings) -> Result<(Workspace, impl Journal + use<>)> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    Ok((workspace, journal))
}

/// Returns what the coder's task file of each attempt was worth, by its number.
fn context_uses(journal: &dyn Journal, run: RunId) -> Result<Vec<(u32, ContextUse)>> {
    let children = journal.children(run)?.into_iter();
    let bounces = children.filter(|child| child.kind == RunKind::Bounce);
    Ok(bounces.filter_map(|row| Some((row.attempt, ContextUse::of_row(&row)?))).collect())
}

/// Reads what the task files of a run carried. A record that cannot be read is left out: what is
/// said about the run is only less then.
pub(crate) fn task_file_records(files: &RunFiles) -> Vec<TaskFileRecord> {
    let mut records = Vec::new();
    for path in carried_files(files.dir(), 2) {
        let Ok(below) = path.strip_prefix(files.dir()) else { continue };
        let names: Vec<&str> = below.iter().filter_map(|name| name.to_str()).collect();
        let (bounce, role) = match names.as_slice() {
            [bounce, role, _] => match bounce.strip_prefix("bounce-").map(str::parse) {
                Some(Ok(bounce)) => (Some(bounce), *role),
                _ => continue,
            },
            [role, _] => (None, *role),
            _ => continue,
        };
        let Ok(text) = spore_effects::files::read(&path) else { continue };
        let Ok(record) = serde_json::from_slice::<CarriedRecord>(&text) else { continue };
        let CarriedRecord { carried, signals } = record;
        records.push(TaskFileRecord {
            bounce,
            role: role.to_owned(),
            files: carried.files,
            signals,
            lessons: carried.lessons.iter().map(ToString::to_string).collect(),
            memory_lines: carried.memory_lines,
            tokens: carried.tokens,
        });
    }
    records.sort_by(|a, b| {
        // Those of the run itself come last: its summarizer looks back.
        let order = |record: &TaskFileRecord| record.bounce.unwrap_or(u32::MAX);
        order(a).cmp(&order(b)).then_with(|| a.role.cmp(&b.role))
    });
    records
}
