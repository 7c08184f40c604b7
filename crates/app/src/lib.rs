//! Spore's use cases: what the command line, the MCP server and the dashboard all call.
//!
//! This is where the parts meet: the pipeline's steps are performed here with git, agents,
//! gates and the journal. A use case takes plain data and returns plain data; it never prints
//! and never reads the environment by itself. What it has to say while it works goes to a
//! [`Progress`] the caller hands in.

mod agents;
mod attendance;
mod backends;
mod checkouts;
mod collect;
mod context;
mod corrections;
mod demo;
mod doctor;
pub mod embedding;
mod error;
mod events;
mod gate_runs;
pub mod graph;
pub mod indexing;
mod init;
mod knowledge;
mod meaning;
mod orchestrate;
mod orchestration;
mod prices;
mod progress;
mod prompts;
mod records;
mod reports;
mod roles;
mod run_rows;
mod run_trees;
mod sandbox;
pub mod search;
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
mod workspace;

pub use agents::{Abilities, AgentListing, find_agent, list_agents};
pub use collect::{Collected, Correction, collect_corrections};
pub use context::{
    ContextAnswer, ContextAsked, DEFAULT_TOKENS, Explained, MIN_TOKENS, context, explain_context,
};
pub use corrections::CorrectionKind;
pub use demo::{DEMO_TASK, DemoRepository, lay_out_demo};
pub use doctor::{Checkup, Finding as DoctorFinding, doctor};
pub use error::{Error, Result};
pub use events::{MAX_PAYLOAD_BYTES, NewEvent, append_event};
pub use init::{Initialised, init};
pub use orchestrate::{Orchestrate, Resume, orchestrate, resume};
pub use progress::{Progress, Update, counted};
pub use reports::{BounceReport, RunReport, RunRow, SessionRow, list_runs, show_run};
pub use settings_view::{Setting, SettingChanged, SettingsFile, change_setting, show_settings};
pub use setup::{SetUp, SetUpAction, model_dir, remove_model, set_up};
pub use since::{BadSince, parse_since};
pub use spawn::{Spawn, Spawned, spawn};
pub use surroundings::{Interrupt, Surroundings};
pub use tail::{Seen, SkippedLine, Tail, tail_events};
pub use workspace::Workspace;
