//! Everything Spore does to the world outside its own memory, behind small named doors.
//!
//! The clock, random ids, durable files, locks, and the starting of programs live here and
//! nowhere else, so a test can hold them still and a reader can find them all. Programs have
//! two doors. [`Tool`] is for our own short calls (git, version probes): synchronous, and
//! dead when we are. [`session`] is for everything foreign and long (agents, gates): a shim
//! of our own binary that ends every descendant, whatever happens to us.
//!
//! [`Probe`] marks each durable effect by name. It does nothing unless a test asks to be
//! killed right before or after one.

mod child;
mod clock;
pub mod files;
mod ids;
pub mod machine;
mod probe;
pub mod programs;
pub mod session;
mod tool;
mod walk;

pub use clock::{Clock, FixedClock, SystemClock};
pub use ids::Ids;
pub use probe::{Effect, Probe};
pub use tool::{Tool, ToolError, ToolOutput};
pub use walk::walk;
