//! The project's own build, test and lint commands, as evidence about a tree.
//!
//! [`detect()`] finds the commands in the base tree, [`Runner`] runs one of them in a checkout,
//! [`parse`] reads what it printed, and [`judge()`] compares it with the same gate at the base
//! commit, so that what was broken before is not held against the change.
//!
//! The decision behind all of it: the exit code is the witness, the parsed report only
//! explains it. A report can turn a success into a red, and tell an old failure from a new
//! one; it can never turn a failure into a green. Output that cannot be read is said to be
//! unread, never guessed at.
//!
//! Nothing here knows what a run or a bounce is, and nothing decides what happens next: that
//! is the `pipeline` crate.

mod detect;
mod excerpt;
mod gate;
mod judge;
mod log;
mod report;
mod runner;

pub use detect::{Detection, detect};
pub use excerpt::excerpt;
pub use gate::{Gate, GateKind, Parser, UnknownWord};
pub use judge::{GateResult, Standing, judge};
pub use report::{TestReport, parse};
pub use runner::{BoxError, GateError, Runner};
