//! What a person asks for with a task.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, RunId, Usd};

use spore_runs::Apply;

/// What a person asks for with a task. What is left out comes from the configuration.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Orchestrate {
    pub task: String,
    /// The commit to start from, as git names it: a branch, a tag, an id. HEAD if left out.
    pub base: Option<String>,
    /// The agent of every role that has none of its own.
    pub backend: Option<String>,
    pub scenario: Option<PathBuf>,
    /// A tier or a model's own name, for every role.
    pub model: Option<String>,
    /// The same for the coder alone.
    pub coder_model: Option<String>,
    pub max_bounces: Option<u32>,
    pub max_turns: Option<u32>,
    pub budget: Option<Usd>,
    pub timeout: Option<Duration>,
    pub allow_red: bool,
    /// What is red at the base is the task, and must be green.
    pub fix_red: bool,
    pub allow_test_changes: bool,
    /// Beside what the configuration requires: every part of the change is noticed by a check.
    pub require_seen: bool,
    /// Whether a tester writes tests that the coder never sees.
    pub hold_out: bool,
    /// What the tester is told beside the task, and no other role: a specification that others made.
    #[serde(skip)]
    pub specified: Option<String>,
    pub summarize: Option<bool>,
    pub apply: Option<Apply>,
    pub in_place: bool,
    /// One session of this role, and nothing around it.
    pub agent: Option<String>,
    pub experiment: Option<String>,
    /// What stands before the task in the subject of the commit: `feat(loop): `.
    pub subject: Option<String>,
    /// Commands that must pass beside the project's own checks.
    pub gates: Vec<String>,
    /// The run whose task is tried again.
    pub retry_of: Option<RunId>,
    /// The commit of a person's that the checks are taken from, where agents made the base and no
    /// verifier stands behind it. Only the layer above can say so, and no session can.
    #[serde(skip)]
    pub trusted: Option<CommitId>,
}
