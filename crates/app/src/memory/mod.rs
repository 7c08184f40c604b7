//! Memory: what events prove about the lines that every agent is told.
//!
//! The rules are in the `memory` crate; here are its files, its passes as runs of the journal,
//! and the lock that keeps two passes apart. A pass is a run like any other: it is listed and
//! shown, its events are on the spine, and `spore resume` goes on with it.

mod crystallizing;
mod inbox;
mod passes;
mod places;
mod scanning;
mod standing;
mod updating;

use serde::{Deserialize, Serialize};
use spore_memory::lines::Line;
use spore_model::{Fault, Run};

use crate::report::{self, RunReport};
use crate::{Error, Result, Surroundings, Workspace};
use passes::Pass;
use places::Places;

pub use crystallizing::{Crystallize, Crystallized, RefusedFragment, crystallize_memory};
pub use inbox::{InboxTask, add_inbox_task, list_inbox, show_inbox_task};
pub use passes::Ending;
pub use scanning::{LineEvidence, MemoryScan, MemoryScanned, scan_memory};
pub use spore_memory::decision::Decision;
pub use spore_memory::inbox::Terminal;
pub use standing::{EvidenceRow, LineStanding, MemoryStatus, MemoryWhy, memory_status, why_line};
pub use updating::{
    LineDecision, MemoryUndone, MemoryUpdate, MemoryUpdated, undo_memory, update_memory,
};

/// What a pass was started with: all that resume needs.
#[derive(Serialize, Deserialize)]
#[serde(tag = "pass", rename_all = "snake_case")]
enum Settings {
    Scan(MemoryScan),
    Crystallize(Crystallize),
    Update(MemoryUpdate),
    Undo(updating::UndoSettings),
}

/// Returns the lines of the broadcast file in order, each with its number in the file and the
/// hash it is known by.
/// A task file carries the texts; the record of what it carried has the hashes.
pub(crate) fn broadcast_lines(workspace: &Workspace) -> Result<Vec<(u32, String, String)>> {
    let map = Places::of(workspace).line_map()?;
    let lines = map.lines().iter();
    Ok(lines.map(|line| (line.number, line.hash.to_string(), line.text.clone())).collect())
}

/// Goes on with a pass that was interrupted or killed.
pub(crate) fn go_on(around: &Surroundings, workspace: &Workspace, run: &Run) -> Result<RunReport> {
    let config = workspace.config(around, &[])?;
    let settings: Settings = serde_json::from_value(run.settings.clone()).map_err(|source| {
        Error::new(
            Fault::BadInput,
            format!("the settings of run {} cannot be read", run.id.short()),
        )
        .hint("it was started by another version of Spore: start the pass anew")
        .because(source)
    })?;
    let pass = Pass::reopen(around, workspace, &config, run)?;
    match &settings {
        Settings::Scan(asked) => drop(scanning::perform(&pass, asked)?),
        Settings::Crystallize(asked) => drop(crystallizing::perform(&pass, asked)?),
        Settings::Update(asked) => drop(updating::perform(&pass, asked)?),
        Settings::Undo(settings) => drop(updating::perform_undo(&pass, settings)?),
    }
    report::report(workspace, pass.journal(), run.id)
}

fn ambiguous(typed: &str, several: &[&Line]) -> Error {
    let lines: Vec<String> =
        several.iter().take(8).map(|line| format!("  {}  {}", line.hash, line.text)).collect();
    Error::new(Fault::BadInput, format!("{typed:?} could be any of {} lines", several.len()))
        .hint(format!("type more of the hash:\n{}", lines.join("\n")))
}
