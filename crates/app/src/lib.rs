//! Spore's use cases: what the command line, the MCP server and the dashboard all call.
//!
//! This is where the parts meet: the pipeline's steps are performed here with git, agents,
//! gates and the journal. A use case takes plain data and returns plain data; it never prints
//! and never reads the environment by itself. What it has to say while it works goes to a
//! [`Progress`] the caller hands in.

mod agents;
mod applying;
mod attendance;
mod backends;
mod briefing;
mod broker;
mod cast;
mod checkouts;
mod cleansing;
mod coding;
mod collect;
mod concluding;
mod context;
mod corrections;
mod demo;
mod doctor;
pub mod embedding;
mod error;
mod events;
mod flows;
mod gate_needs;
mod gate_review;
mod gate_runs;
mod gate_steps;
mod gate_words;
pub mod graph;
pub mod indexing;
mod init;
mod investigating;
mod knowledge;
mod learning;
mod lost_sessions;
mod mcp_install;
mod meaning;
pub mod memory;
mod nesting;
mod orchestrate;
mod orchestration;
mod parts;
mod planning;
mod prices;
mod progress;
mod project_gates;
mod promoting;
mod prompts;
mod pruning;
mod records;
mod reports;
mod resume;
mod retry;
mod roles;
mod rollback;
mod run_rows;
mod run_trees;
mod sandbox;
mod scanning;
pub mod search;
mod secrets;
mod sessions;
mod settings;
mod settings_view;
mod setup;
mod since;
mod spawn;
mod spending;
mod spine;
mod surroundings;
mod tail;
pub mod toolbox;
mod verifying;
mod workspace;

pub use agents::{Abilities, AgentListing, find_agent, list_agents};
pub use applying::{Applied, Apply, UnknownApply};
pub use cast::Player;
pub use collect::{Collected, Correction, collect_corrections};
pub use context::{
    ContextAnswer, ContextAsked, DEFAULT_TOKENS, Explained, MIN_TOKENS, context, explain_context,
};
pub use corrections::CorrectionKind;
pub use demo::{DEMO_TASK, DemoRepository, lay_out_demo};
pub use doctor::{Checkup, Finding as DoctorFinding, doctor};
pub use error::{Error, Result};
pub use events::{MAX_PAYLOAD_BYTES, NewEvent, append_event};
pub use flows::{
    ExecAsked, FlowOptions, FlowReport, PhaseAsked, SentinelAsked, StageAsked, exec, phase,
    sentinel, stage,
};
pub use init::{Initialised, init, init_agents};
pub use investigating::{InvestigateAsked, Investigated, Kept, investigate};
pub use mcp_install::{
    Client as McpClient, Install, InstallState, Installed, Scope as McpScope, install_mcp,
};
pub use orchestrate::{Orchestrate, orchestrate};
pub use parts::PartRow;
pub use planning::{RunPlan, plan_run};
pub use progress::{Progress, Update, counted};
pub use pruning::{LeftCheckout, Pruned, PrunedRun, prune};
pub use reports::{BounceReport, RunReport, RunRow, SessionRow, list_runs, show_run};
pub use resume::{Resume, resume};
pub use retry::{Retry, retry};
pub use rollback::{Rollback, RollbackState, RolledBack, rollback};
pub use scanning::{ScanAsked, scan};
pub use settings_view::{Setting, SettingChanged, SettingsFile, change_setting, show_settings};
pub use setup::{SetUp, SetUpAction, model_dir, remove_model, set_up};
pub use since::{BadSince, parse_since};
pub use spawn::{Spawn, Spawned, spawn};
pub use spore_investigate as investigation;
pub use spore_store::spine::Cursor;
pub use surroundings::{Interrupt, Surroundings};
pub use tail::{Seen, SkippedLine, Tail, tail_events};
pub use workspace::Workspace;
