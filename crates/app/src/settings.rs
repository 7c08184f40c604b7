//! What a run was started with. It is part of the run's record: a resumed run uses this, not
//! what the configuration has become since.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spore_gates::Gate;
use spore_model::{CommitId, Usd};
use spore_pipeline::Rules;

use crate::sandbox::Hold;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RunSettings {
    pub(crate) task: String,
    pub(crate) base: CommitId,
    pub(crate) backend: String,
    /// The model of every role, by the agent's own name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scenario: Option<PathBuf>,
    pub(crate) max_bounces: u32,
    pub(crate) max_turns: u32,
    pub(crate) wall_ms: u64,
    pub(crate) budget: Usd,
    pub(crate) allow_red: bool,
    pub(crate) min_confidence: f64,
    pub(crate) phrase_confidence: f64,
    pub(crate) gates: Vec<Gate>,
    pub(crate) exclude: Vec<String>,
    pub(crate) allow: Vec<String>,
    pub(crate) setup: Vec<String>,
    pub(crate) copy: Vec<String>,
    /// What held the run when it was last started or resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<Hold>,
}

impl RunSettings {
    pub(crate) fn rules(&self) -> Rules {
        Rules {
            max_bounces: self.max_bounces,
            min_confidence: self.min_confidence,
            phrase_confidence: self.phrase_confidence,
            allow_red: self.allow_red,
        }
    }
}

/// A gate as the configuration names it.
pub(crate) fn gate(
    name: &str,
    command: &spore_config::GateCommand,
    config: &spore_config::Config,
) -> Gate {
    Gate {
        name: name.to_owned(),
        command: command.run.clone(),
        kind: command.kind.parse().unwrap_or(spore_gates::GateKind::Test),
        parser: command.parser.parse().unwrap_or(spore_gates::Parser::Plain),
        timeout: command.timeout.unwrap_or(config.gates.timeout),
    }
}
