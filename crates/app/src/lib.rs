//! Spore's use cases: what the command line, the MCP server and the dashboard all call.
//!
//! This is where the parts meet: the pipeline's steps are performed here with git, agents,
//! gates and the journal. A use case takes plain data and returns plain data; it never prints
//! and never reads the environment by itself. What it has to say while it works goes to a
//! [`Progress`] the caller hands in.

mod agents;
mod base;
mod checks;
mod events;
mod flows;
pub mod graph;
pub mod indexing;
mod investigate;
mod knowledge;
mod loops;
pub mod memory;
mod race;
mod report;
mod resume;
mod run;
pub mod search;
mod session;
mod setup;
mod stopping;
pub mod toolbox;

pub use agents::leaders::cannot_lead;
pub use agents::roles::RoleTerms;
pub use base::credentials::Credentials;
pub use base::cutoff::{BadSince, parse_since};
pub use base::error::{Error, Result};
pub use base::init::{Initialised, init, init_agents, init_flows};
pub use base::progress::{ALLOW_SECRETS, LoopSummary, LoopUpdate, Progress, Update, counted};
pub use base::surroundings::{Interrupt, Surroundings};
pub use base::workspace::Workspace;
pub use events::append::{MAX_PAYLOAD_BYTES, NewEvent, append_event};
pub use events::collect::{Collected, Correction, collect_corrections};
pub use events::corrections::CorrectionKind;
pub use events::tail::{SkippedLine, Tail, TailItem, tail_events};
pub use events::traces::{SentTraces, send_ended_runs, send_runs};
pub use flows::starts::Starts;
pub use flows::{
    CampaignAsked, CampaignPhaseRow, CampaignQuestion, CampaignStatus, ChangeAsked, ChangedPhases,
    PhaseEdit, campaign, campaign_status, change_campaign, resume_campaign,
};
pub use flows::{
    ExecAsked, FlowAnswer, FlowChild, FlowOptions, FlowQuestion, FlowReport, LintedLine,
    PhaseAsked, PromptLint, SentinelAsked, StageAsked, exec, lint_prompts, phase, resolve,
    sentinel, stage,
};
pub use investigate::base_scan::{ScanAsked, scan};
pub use investigate::{
    ClearedCounts, DirectoryCounts, InvestigateAsked, Investigated, Kept, PassesReport,
    PlaceAnswer, RaisedFlag, clear_investigation, investigate,
};
pub use knowledge::brief::{context_options, task_file_limits};
pub use knowledge::context::{
    ContextAnswer, ContextAsked, Explained, MIN_TOKENS, context, explain_context,
};
pub use loops::{
    LoopAsked, LoopPlan, LoopReport, PlannedTask, TaskRow, TaskSource, plan_loop, run_loop,
};
pub use race::{BadRace, RaceField, race};
pub use report::diff::{DiffAsked, RunDiff, diff_run};
pub use report::distill::{DistilledAttempt, RunDistillation, distill_prompt, distill_run};
pub use report::explain::{ShownRun, explain_run, show_run_whole};
pub use report::export::{Export, Exported, export};
pub use report::figures::{
    RunComparison, compare_experiments, compare_runs, run_named, run_timeline, sum_spending,
    top_runs,
};
pub use report::lessons::{LessonRow, list_lessons};
pub use report::{list_runs, show_run, watch_run};
pub use resume::tasks::ProjectRunner;
pub use resume::{KindReport, Resume, Resumed, resume};
pub use run::dry_run::{RolePlan, RunPlan, plan_run};
pub use run::landing::rollback::{Rollback, RollbackState, RolledBack, rollback};
pub use run::request::Orchestrate;
pub use run::retention::prune::{LeftCheckout, Pruned, PrunedRun, prune};
pub use run::retention::records::TrimmedRecords;
pub use run::retry::{Retry, retry};
pub use run::start::orchestrate;
pub use search::model_files::{SetUp, SetUpAction, model_dir, remove_model, set_up};
pub use search::vectors as embedding;
pub use session::agent_choice::AgentChoice;
pub use session::agent_listing::{Abilities, AgentListing, find_agent, list_agents};
pub use session::broker::SERVER_NAME;
pub use session::spawn::{Spawn, Spawned, spawn};
pub use setup::dashboard::{
    CarriedOutcomes, Dashboard, DaySpend, Helps, SpendToday, StatsReport, dashboard, stats_report,
};
pub use setup::demo::{DEMO_TASK, DemoRepository, lay_out_demo};
pub use setup::doctor::{Checkup, DoctorFinding, doctor};
pub use setup::health::{CheckoutSize, HealthCheck, ProjectHealth, health};
pub use setup::prompts::{PromptStat, PromptStats, prompt_stats};
pub use setup::settings::{
    Setting, SettingChanged, SettingExplained, SettingRemoved, SettingsFile, change_setting,
    explain_setting, remove_setting, show_settings,
};
pub use spore_compose::LayerMode;
pub use spore_investigate as investigation;
pub use spore_pipeline::SourceForm;
pub use spore_runs::{
    Applied, Apply, AttemptExplained, BounceReport, BouncesSaved, Conclusiveness,
    ExperimentComparison, ExportFormat, FileExplained, FileTold, Live, LiveKind,
    MeasuredDifference, News, NextStep, PartRow, RunExplanation, RunFigures, RunFilter, RunList,
    RunReport, RunRow, RunStats, RunStory, RunTimeline, SessionFailure, SessionRow, SpendingBy,
    SpendingReport, Spread, StoryEntry, TaskEnd, TimelineEntry, TopBy, UNLABELLED, UnknownApply,
    WaitingRun, time_in_words,
};
pub use spore_store::spine::Cursor;
pub use stopping::abandon::{Abandoned, abandon};
pub use stopping::cancel::{Interrupted, cancel};
