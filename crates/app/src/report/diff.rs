//! What a run changed, as it was handed in.

use schemars::JsonSchema;
use serde::Serialize;
use spore_model::{Fault, RunId, RunStatus};
use spore_store::Journal;

use crate::base::run_lock::is_claimed;
use crate::report::named_or_newest;
use crate::{Error, Result, Surroundings, Workspace};

/// The change of one attempt of a run.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct RunDiff {
    pub run: RunId,
    pub name: String,
    pub status: RunStatus,
    pub bounce: u32,
    /// As git writes it, without secrets.
    pub diff: String,
}

/// Returns what a run changed: in the attempt that is asked for, else in the last one that handed
/// something in.
pub fn diff_run(
    around: &Surroundings,
    typed: Option<&str>,
    bounce: Option<u32>,
) -> Result<RunDiff> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = named_or_newest(&journal, typed)?;
    let files = workspace.run_files(run.id);
    let last = u32::try_from(journal.children(run.id)?.len()).unwrap_or(u32::MAX);
    let asked: Vec<u32> = match bounce {
        Some(bounce) => vec![bounce],
        None => (1..=last).rev().collect(),
    };
    let read = |bounce: u32| {
        let text = spore_effects::files::read_text(files.diff(bounce)).ok();
        Some((bounce, text.filter(|text| !text.trim().is_empty())?))
    };
    let Some((bounce, diff)) = asked.into_iter().find_map(read) else {
        let which = bounce.map(|bounce| format!(" in attempt {bounce}")).unwrap_or_default();
        let message = format!("run {} handed in no change{which}", run.id.short());
        return Err(Error::new(Fault::BadInput, message)
            .hint(format!("`spore runs show {}` tells what happened", run.id.short())));
    };
    let status = run.status(is_claimed(&workspace, run.id));
    Ok(RunDiff { run: run.id, name: run.name, status, bounce, diff })
}
