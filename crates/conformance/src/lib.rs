//! The conformance suite: what an agent that is installed here really does, case by case.
//!
//! Each case is a row of `assets/conformance.toml`, which says for every backend what is
//! expected and what enforces it: the agent, Spore, or nothing. The suite starts the real program
//! against a scripted model on the loopback address, in a fresh home, with keys that are none,
//! in a directory that is thrown away, and writes beside each expectation what it saw.
//!
//! The one decision: an observation is made from outside. A file is there or it is not, the
//! model's own books say what was asked and used, the kernel says which processes are left.
//! What an agent claims of itself counts only where the claim is the case. A cell whose deed
//! was never tried is not "refused" but "not tried".
//!
//! What differs between agents is a [`Kit`]; what is the same is in `trials`. A trial may
//! show several cases at once, because some agents take half a minute to start.

mod echo;
mod expectations;
mod kits;
mod scene;
mod suite;
mod table;
mod trials;

pub use echo::{ECHO_ARG, serve as serve_echo};
pub use expectations::{Cell, ConformanceCase, Enforcer, Expectations};
pub use kits::{Grant, Kit, ModelStep, SessionPlace, kit};
pub use scene::{TrialScene, Witness};
pub use suite::{CheckError, Subject, check, names};
pub use table::{CaseRow, ConformanceTable, markdown};
