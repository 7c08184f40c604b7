//! What a person asks for with a list of tasks.

use std::path::PathBuf;
use std::time::Duration;

use spore_model::Usd;
use spore_runs::Apply;

/// Where a list of tasks comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskSource {
    File(PathBuf),
    /// What was on stdin.
    Text(String),
}

/// What a person asks for with a list of tasks. What is left out comes from the configuration.
#[derive(Clone, Debug)]
pub struct LoopAsked {
    pub source: TaskSource,
    /// Worked through once, and not gone on with when the list changes.
    pub batch: bool,
    pub base: Option<String>,
    pub budget: Option<Usd>,
    pub max_runs: Option<u32>,
    pub parallel: u32,
    pub cooldown: Option<Duration>,
    pub pause_on_escalation: bool,
    pub stop_on_failure: bool,
    /// Begins anew, whatever was verified before.
    pub reset: bool,
    pub summarize: Option<bool>,
    /// Verified tasks of a check list are ticked in the person's own file.
    pub tick: bool,
    /// What tasks touch that do not say so is taken from their context.
    pub plan_touches: bool,
    pub backend: Option<String>,
    pub scenario: Option<PathBuf>,
    pub model: Option<String>,
    pub coder_model: Option<String>,
    pub max_bounces: Option<u32>,
    pub max_turns: Option<u32>,
    pub timeout: Option<Duration>,
    pub allow_red: bool,
    pub allow_test_changes: bool,
    pub apply: Option<Apply>,
    pub experiment: Option<String>,
}

impl LoopAsked {
    /// A list that is worked through as the configuration says.
    pub fn new(source: TaskSource, batch: bool) -> Self {
        Self {
            source,
            batch,
            base: None,
            budget: None,
            max_runs: None,
            parallel: 1,
            cooldown: None,
            pause_on_escalation: false,
            stop_on_failure: false,
            reset: false,
            summarize: None,
            tick: false,
            plan_touches: false,
            backend: None,
            scenario: None,
            model: None,
            coder_model: None,
            max_bounces: None,
            max_turns: None,
            timeout: None,
            allow_red: false,
            allow_test_changes: false,
            apply: None,
            experiment: None,
        }
    }
}
