//! The files that an investigation leaves under `runs/<id>/`, with the seed's shapes.
//!
//! Plan, plan evaluation and flags are written by a model's passes alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spore_model::{RunId, Timestamp};

pub const META: &str = "meta.json";
pub const LOG: &str = "investigation.log";
pub const BRIEF: &str = "brief.md";
pub const SCAN: &str = "scan.json";
pub const PLAN: &str = "plan.json";
pub const PLAN_EVALUATION: &str = "plan_evaluation.json";
/// One line each: what a pass flagged for a person.
pub const FLAGS: &str = "flags.jsonl";

/// What an investigation is of: `meta.json`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Meta {
    pub investigation_id: RunId,
    /// From the project's root; `.` is the root itself.
    pub target: String,
    /// None where no model took part.
    pub model: Option<String>,
    pub started_at: Timestamp,
    pub directories: u64,
    pub files: u64,
    /// Of all that was seen, and what was looked at.
    pub hash: String,
    pub scope: String,
    /// Which version of Spore wrote it.
    pub version: String,
}

/// One line of `investigation.log`: what was done, never what it said.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LogLine {
    pub directory: String,
    /// Which call of its session it was, from one on: an agent does not say in which of its turns it
    /// makes one. Nothing was called where a scan is noted.
    pub turn: u32,
    pub timestamp: Timestamp,
    pub tool: String,
    pub args: Value,
    /// In bytes.
    pub result_length: u64,
}
