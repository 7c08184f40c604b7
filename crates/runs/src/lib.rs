//! The read model of runs: what happened, what it cost, and what is going on now.
//!
//! The command line, the MCP server and whatever shows runs to people later read them through
//! here. It always holds that nothing here writes, that a status is derived in one place
//! (`Run::status`), and that what a row says and what a report says of the same run is one.
//! Whether a process works on a run is not in the journal: the caller knows it, and hands in a
//! [`Presence`].
//!
//! Results of steps are read as the pipeline wrote them. How a run is performed, and how it is
//! told about on a terminal, is not known here.

mod advice;
mod applied;
mod books;
mod bootstrap;
mod experiments;
mod explain;
mod export;
mod figures;
mod groups;
mod list;
mod live;
mod news;
mod parts;
mod questions;
mod report;
mod spending;
mod stats;
mod telemetry;
mod timeline;
mod waiting;

pub use advice::{NextStep, REVIEW};
pub use applied::{Applied, Apply, NOT_MERGED, UnknownApply};
pub use books::sessions_below;
pub use bootstrap::{Difference, difference_of_arms};
pub use experiments::{
    Conclusiveness, ExperimentComparison, MeasuredDifference, TaskMeans, TaskPair, UNLABELLED,
    compare_experiments,
};
pub use explain::tasks::{TaskEnd, source_of_list, task_ends};
pub use explain::{
    AttemptExplained, DecidedBy, FileExplained, FileSignals, FileTold, RunExplanation, Signal,
    TaskFileRecord, explain, words_of_step,
};
pub use export::{
    BounceChange, ExportFormat, ExportedDocument, GateLog, PeriodAccount, RunAccount, TaskAccount,
    WholeChange, export_period, export_run,
};
pub use figures::work::{RecordedWork, recorded_work};
pub use figures::{
    RunFigures, TopBy, figures_of_run, figures_of_runs, figures_with_tasks, top_runs,
};
pub use groups::{BouncesSaved, ExperimentSum, bounces_saved, dollars_by_hour, sums_by_experiment};
pub use list::{RunFilter, RunList, RunRow, list_runs};
pub use live::{Live, LiveKind, Presence, time_in_words};
pub use news::{News, RunWatch};
pub use parts::PartRow;
pub use questions::{ASKER, OpenQuestion, Question, last_question, open_questions};
pub use report::{BounceReport, RunReport, SessionRow, report_run};
pub use spending::{SpendingLine, SpendingReport, report_spending};
pub use spore_model::SessionFailure;
pub use spore_store::SpendingBy;
pub use stats::{ContextStats, ReasonCount, RunStats, Spread, stats_of};
pub use telemetry::{RunSpan, spans_of_run, trace_requests};
pub use timeline::{
    CarriedSum, RunStory, RunTimeline, StoryEntry, StorySession, TimelineEntry, story_of_run,
    timeline_of_run,
};
pub use waiting::{WaitingRun, WaitingRuns, waiting_runs};
