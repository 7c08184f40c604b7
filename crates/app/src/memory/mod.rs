//! Memory: what events prove about the lines that every agent is told.
//!
//! The rules are in the `memory` crate; here are its files, its passes as runs of the journal,
//! and the lock that keeps two passes apart. A pass is a run like any other: it is listed and
//! shown, its events are on the spine, and `spore resume` goes on with it.

mod asking;
mod crystallize;
mod exchange;
mod feedback;
mod inbox;
mod judge;
mod line_status;
mod open_trials;
mod passes;
pub(crate) mod places;
mod requests;
mod scan;
mod serve;
mod trial;
mod undo;
mod update;
mod wanted_changes;
mod weave;

use spore_model::{Fault, Run};
use spore_runs::RunReport;

use crate::report;
use crate::{Error, Progress, Result, Surroundings, Workspace};
use passes::Pass;
use requests::PassSettings;

pub use crate::knowledge::carried_runs::CarriedRuns;
pub use asking::AskedModel;
pub use crystallize::{Crystallized, RefusedFragment, crystallize_memory};
pub use exchange::{MemoryExported, MemoryImported, export_memory, import_memory};
pub use feedback::{FeedbackGiven, LineDeed, LineFeedback, give_feedback};
pub use inbox::{InboxTask, add_inbox_task, list_inbox, show_inbox_task};
pub use judge::{MemoryJudged, RefusedTouch, judge_memory};
pub use line_status::{
    EvidenceRow, LineStanding, MemoryStatus, MemoryWhy, memory_status, why_line,
};
pub use passes::PassEnding;
pub use requests::{Crystallize, MemoryScan, MemoryUpdate};
pub use scan::{LineEvidence, MemoryScanned, scan_memory};
pub use serve::{MemoryServer, ServerTick};
pub use spore_memory::decision::Decision;
pub use spore_memory::inbox::Terminal;
pub use spore_memory::lines::PRIORITY;
pub use trial::{TrialArm, TrialDeed, TrialFinding, TrialReport, try_line};
pub use undo::{MemoryUndone, undo_memory};
pub use update::{LineDecision, MemoryUpdated, RewrittenLine, update_memory};
pub use wanted_changes::RefusedChange;
pub use weave::{MemoryWoven, WeaveAsked, WeaveMode, WovenPass, WovenTask, weave_memory};

/// Goes on with a pass that was interrupted or killed.
pub(crate) fn go_on(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let config = workspace.config(around, &[])?;
    let settings: PassSettings =
        serde_json::from_value(run.settings.clone()).map_err(|source| {
            Error::new(
                Fault::BadInput,
                format!("the settings of run {} cannot be read", run.id.short()),
            )
            .hint("it was started by another version of Spore: start the pass anew")
            .because(source)
        })?;
    let pass = Pass::reopen(around, workspace, &config, run)?;
    match &settings {
        PassSettings::Scan(asked) => drop(scan::perform(&pass, asked)?),
        PassSettings::Crystallize(asked) => drop(crystallize::perform(&pass, asked)?),
        PassSettings::Update(asked) => drop(update::perform(&pass, asked, progress)?),
        PassSettings::Import(settings) => drop(exchange::perform(&pass, settings)?),
        PassSettings::Weave(settings) => drop(weave::perform(&pass, settings, progress)?),
        PassSettings::Judge(settings) => drop(judge::perform(&pass, settings, progress)?),
        PassSettings::Undo(settings) => drop(undo::perform_undo(&pass, settings)?),
    }
    report::report(workspace, pass.journal(), run.id)
}
