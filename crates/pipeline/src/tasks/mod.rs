//! A list of tasks, and the loop that works through it.
//!
//! [`read_tasks`] turns what a person wrote into tasks. [`TaskLoop`] is the whole policy of the
//! loop as a pure machine: told what has happened and what time it is, it answers what to start,
//! what to land, what to wait for, or why to stop. [`LoopState`] is what is left beside the
//! person's file.

mod complexity;
mod moves;
mod results;
mod source;
mod state;
mod task;
mod task_loop;

pub use complexity::estimate_complexity;
pub use moves::{LoopEnding, LoopMove, LoopRules, LoopStop, LoopView};
pub use results::{CostAnomaly, TaskLanding, TaskResult, TaskStanding};
pub use source::{SourceError, read_tasks, ticked};
pub use state::{LoopState, LoopStateRun};
pub use task::{LoopTask, SourceForm, TaskList, overlap};
pub use task_loop::TaskLoop;
