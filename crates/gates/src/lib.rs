//! The project's own build, test and lint commands, as evidence about a tree.
//!
//! [`detect()`] finds the commands in the base tree, [`Runner`] runs one of them in a checkout,
//! [`parse`] and [`diagnostics()`] read what it printed, and [`judge()`] compares it with the same gate at the base
//! commit, so that what was broken before is not held against the change. [`tampering`] says
//! what in a change decides how it is checked, and [`Cache`] keeps build output that no change has
//! touched. What a gate reads is recorded while it runs ([`Runner::run_recorded`]) or, where that
//! cannot be, followed from its command ([`follow`]). What green gates prove is the `proof` crate's.
//!
//! The decision behind all of it: the exit code is the witness, the parsed report only
//! explains it. A report can turn a success into a red, and tell an old failure from a new
//! one; it can never turn a failure into a green. Output that cannot be read is said to be
//! unread, never guessed at.
//!
//! Nothing here knows what a run or a bounce is, and nothing decides what happens next: that
//! is the `pipeline` crate.

mod assertion;
mod cache;
mod detect;
mod diagnostics;
mod excerpt;
mod gate;
mod guard;
mod judge;
mod log;
mod paths;
mod reading;
mod report;
mod report_files;
mod runner;
mod stamp;
mod test_files;

pub use assertion::assertion;
pub use cache::{Cache, CacheError};
pub use detect::{Detection, detect};
pub use diagnostics::{Diagnostic, DiagnosticWeight, RanIn, diagnostics};
pub use excerpt::excerpt;
pub use gate::{Gate, GateKind, Held, InstallRule, Parser, UnknownGateWord};
pub use guard::{Read, Tampering, parts_of_command, tampering};
pub use judge::{Absence, GateResult, Standing, judge};
pub use paths::matches as path_matches;
pub use reading::follow;
pub use report::{TestReport, parse, parse_files};
pub use runner::{BoxError, GateError, GateRecord, Runner};
pub use stamp::TrackedFiles;
pub use test_files::{TouchKind, TouchedFile, is_test_file};
