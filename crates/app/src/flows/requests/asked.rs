//! What a person or a session asks for, before anything is looked up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_compose::LayerMode;
use spore_model::{Fault, Usd};
use spore_runs::Apply;

use crate::base::starts::StartBounds;
use crate::{Error, Result, Surroundings};

/// What every layer takes. What is left out comes from the flow, then from the configuration.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct FlowOptions {
    /// The agent of every executor that names none.
    pub backend: Option<String>,
    /// What the replay agent plays where an executor names no scenario.
    pub scenario: Option<PathBuf>,
    pub budget: Option<Usd>,
    pub max_depth: Option<u32>,
    /// What becomes of the flow's branch at the end.
    #[serde(default)]
    pub apply: Option<Apply>,
    /// The model of every executor that names none: a tier, or the vendor's own name.
    #[serde(default)]
    pub model: Option<String>,
    /// The time of every session that says nothing of it.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// What every session is told beside its task.
    #[serde(default)]
    pub extra_context: Option<String>,
    /// Tells what would be done, and does nothing of it.
    #[serde(default)]
    pub dry_run: bool,
    /// Where manifests, signals and reports go, in place of the run's own directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_dir: Option<PathBuf>,
    /// Who leads the layer that is called, where the call says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<LayerMode>,
    /// A file of flows that is read beside those of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_file: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExecAsked {
    pub name: String,
    pub action: String,
    pub target: String,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StageAsked {
    pub name: String,
    pub modifier: String,
    pub target: String,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PhaseAsked {
    pub name: String,
    /// What its phases work on, where they leave that to the call.
    #[serde(default)]
    pub target: Option<String>,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CampaignAsked {
    /// A campaign of the project, or a file that defines one.
    pub name: String,
    #[serde(default)]
    pub task: Option<String>,
    pub options: FlowOptions,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SentinelAsked {
    /// Ask no role: only run the checks.
    pub checks_only: bool,
    /// What the work was to do, in the words of the person who asked for it.
    pub task: String,
    /// What the work began from, as git names it.
    pub since: Option<String>,
    /// Have tests written for each fix that its coder never sees.
    pub hold_out: bool,
    pub options: FlowOptions,
    pub max_cycles: Option<u32>,
    /// Begin with cycle 1, although an earlier sentinel waits for its next cycle.
    pub fresh: bool,
}

impl FlowOptions {
    /// Returns what is asked for as far as a session may ask for it. Such a flow works where that
    /// session does, as a part of its work.
    pub(crate) fn within(&self, around: &Surroundings, bounds: &StartBounds) -> Result<Self> {
        let seen = |path: &Path| bounds.seen(&around.cwd, path);
        Ok(Self {
            scenario: self.scenario.as_deref().map(seen).transpose()?,
            budget: bounds.budget(self.budget),
            max_depth: Some(bounds.depth(self.max_depth)),
            apply: None,
            // Files that a session names are its own to write.
            session_dir: None,
            flow_file: None,
            ..self.clone()
        })
    }

    /// Refuses a directory that another flow has its files in.
    pub(crate) fn refuse_other_session(&self) -> Result<()> {
        let Some(dir) = &self.session_dir else { return Ok(()) };
        let name = spore_plain::path(dir);
        let problem = match std::fs::read_dir(dir) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io(format!("cannot read {name}"), error)),
            Ok(mut entries) => match entries.next() {
                None => return Ok(()),
                Some(_) => format!("{name} is not empty"),
            },
        };
        Err(Error::new(Fault::Usage, problem)
            .hint("name a directory that is not there yet; `spore resume` goes on with a flow"))
    }
}
