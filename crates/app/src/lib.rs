//! Spore's use cases: what the command line, the MCP server and the dashboard all call.
//!
//! This is where the parts meet: the pipeline's steps are performed here with git, agents,
//! gates and the journal. A use case takes plain data and returns plain data; it never prints
//! and never reads the environment by itself. What it has to say while it works goes to a
//! [`Progress`] the caller hands in.

mod checkouts;
mod demo;
mod doctor;
mod error;
mod gate_runs;
mod init;
mod orchestrate;
mod orchestration;
mod progress;
mod prompts;
mod reports;
mod sessions;
mod settings;
mod spine;
mod surroundings;
mod workspace;

pub use demo::{DEMO_TASK, DemoRepository, lay_out_demo};
pub use doctor::{Checkup, Finding as DoctorFinding, doctor};
pub use error::{Error, Result};
pub use init::{Initialised, init};
pub use orchestrate::{Orchestrate, Resume, orchestrate, resume};
pub use progress::{Progress, Update};
pub use reports::{BounceReport, RunReport, RunRow, SessionRow, list_runs, show_run};
pub use surroundings::{Interrupt, Surroundings};
pub use workspace::Workspace;
