//! `spore loop` and `spore batch`: a list of tasks goes in, a branch of verified commits comes
//! out.
//!
//! A loop is a run whose children are ordinary runs of tasks. What to do next is decided by
//! [`spore_pipeline::TaskLoop`], a pure machine; what is here performs it on the journal. Each run
//! of a task is a step of the loop whose intent holds the child's id and the commit that it starts
//! from, each landing another, so a loop that was killed finds what it began and does nothing
//! twice. The branch is moved by landings alone. The file beside the person's list is a projection.

mod active;
mod caller;
mod earlier;
mod ending;
mod engine;
mod ground;
mod landing;
mod plan;
mod projection;
mod record;
mod request;
mod settings;
mod source;
mod start;
mod tasks;

pub use plan::{LoopPlan, PlannedTask, plan_loop};
pub use projection::{LoopReport, TaskRow};
pub use request::{LoopAsked, TaskSource};
pub(crate) use start::resume;
pub use start::run_loop;
