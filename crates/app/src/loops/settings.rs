//! What a loop was started with: the record that a resumed one goes by.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_config::Config;
use spore_model::{CommitId, Fault, Run, RunKind, Usd};
use spore_pipeline::{LoopRules, LoopState, LoopTask, SourceForm};
use spore_runs::{Apply, UnknownApply};

use super::request::LoopAsked;
use crate::run::request::Orchestrate;
use crate::run::settings::place_of_scenario;
use crate::session::agent_choice::{AgentChoice, TESTER, Wishes};
use crate::session::nesting::Nesting;
use crate::{Error, Result};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct LoopSettings {
    /// The person's file from the root of the file system, or `-`.
    pub(crate) source: String,
    pub(crate) form: SourceForm,
    pub(crate) tasks: Vec<LoopTask>,
    pub(crate) rules: LoopRules,
    /// What the whole branch began from, and what this loop begins from.
    pub(crate) base: CommitId,
    pub(crate) start: CommitId,
    /// The integration branch, as people type it.
    pub(crate) branch: String,
    /// What earlier loops over the list left.
    pub(crate) before: LoopState,
    /// Results up to this one were seen by a person: their escalations count no more.
    #[serde(default)]
    pub(crate) seen: u32,
    /// By how much the budget was raised since; what a task may cost that does not say so itself follows.
    #[serde(default)]
    pub(crate) raised: Usd,
    /// The same for tasks that do say it, and that had reached it.
    #[serde(default)]
    pub(crate) raised_for: BTreeMap<String, Usd>,
    pub(crate) tick: bool,
    pub(crate) apply: Apply,
    pub(crate) terms: TaskTerms,
    pub(crate) nesting: Nesting,
}

/// What holds for every task that does not say otherwise.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TaskTerms {
    pub(crate) backend: Option<String>,
    pub(crate) scenario: Option<PathBuf>,
    pub(crate) model: Option<String>,
    pub(crate) coder_model: Option<String>,
    pub(crate) max_bounces: Option<u32>,
    pub(crate) max_turns: Option<u32>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) summarize: bool,
    pub(crate) allow_red: bool,
    pub(crate) allow_test_changes: bool,
    pub(crate) experiment: Option<String>,
    /// What stands before each task in the subject of its commit.
    pub(crate) subject: String,
}

impl LoopSettings {
    /// Returns what a run of a task may cost; `usual` is for those that do not say it.
    pub(crate) fn most_of(&self, task: &LoopTask, usual: Usd) -> Usd {
        match task.budget {
            None => usual + self.raised,
            Some(own) => own + self.raised_for.get(&task.id).copied().unwrap_or_default(),
        }
    }

    /// Returns the agents without which a task is not verified; the coder's comes first.
    pub(crate) fn agents(&self, task: &LoopTask, config: &Config) -> Vec<String> {
        let asked = task.backend.as_ref().or(self.terms.backend.as_ref());
        let backend = asked.unwrap_or(&self.rules.backend);
        let wishes = Wishes { backend: Some(backend), ..Wishes::default() };
        let tester = config.gates.hold_out.then_some(TESTER);
        let roles = ["coder", "verifier"].into_iter().chain(tester);
        roles.map(|role| AgentChoice::settle(config, role, wishes).backend).collect()
    }
}

impl TaskTerms {
    pub(crate) fn of(asked: &LoopAsked, config: &Config) -> Result<Self> {
        let usual =
            if asked.batch { config.orchestrate.summarize } else { config.task_loop.summarize };
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Ok(Self {
            backend: asked.backend.clone(),
            scenario: asked.scenario.as_deref().map(place_of_scenario).transpose()?,
            model: asked.model.clone(),
            coder_model: asked.coder_model.clone(),
            max_bounces: asked.max_bounces,
            max_turns: asked.max_turns,
            timeout_ms: asked.timeout.map(millis),
            summarize: asked.summarize.unwrap_or(usual),
            allow_red: asked.allow_red,
            allow_test_changes: asked.allow_test_changes,
            experiment: asked.experiment.clone(),
            subject: format!("feat({}): ", kind(asked.batch).as_str()),
        })
    }

    /// Returns what is asked of a run of `task`, from `base`, in these words.
    pub(crate) fn asked(&self, task: &LoopTask, words: String, base: &CommitId) -> Orchestrate {
        Orchestrate {
            task: words,
            base: Some(base.to_string()),
            backend: task.backend.clone().or_else(|| self.backend.clone()),
            // Only the replay agent plays one.
            scenario: self
                .scenario
                .clone()
                .filter(|_| task.backend.as_deref().is_none_or(|name| name == "replay")),
            model: task.model.clone().or_else(|| self.model.clone()),
            coder_model: self.coder_model.clone().filter(|_| task.model.is_none()),
            max_bounces: task.max_bounces.or(self.max_bounces),
            max_turns: self.max_turns,
            timeout: self.timeout_ms.map(Duration::from_millis),
            summarize: Some(self.summarize),
            allow_red: self.allow_red,
            fix_red: task.fix_red,
            allow_test_changes: self.allow_test_changes,
            experiment: self.experiment.clone(),
            subject: Some(self.subject.clone()),
            gates: task.gates.clone(),
            apply: Some(Apply::None),
            ..Orchestrate::default()
        }
    }
}

pub(crate) const fn kind(batch: bool) -> RunKind {
    if batch { RunKind::Batch } else { RunKind::Loop }
}

/// Returns what the loop is held to.
pub(crate) fn rules(asked: &LoopAsked, config: &Config) -> LoopRules {
    let usual = &config.task_loop;
    let cooldown =
        asked.cooldown.unwrap_or(if asked.batch { Duration::ZERO } else { usual.cooldown });
    LoopRules {
        budget: asked.budget.or((!asked.batch).then_some(usual.budget_usd)),
        max_runs: asked.max_runs.or((!asked.batch).then_some(usual.max_runs)),
        pause_on_escalation: asked.pause_on_escalation,
        stop_on_failure: asked.stop_on_failure,
        // A batch is worked through to its end.
        escalation_limit: if asked.batch { u32::MAX } else { usual.escalation_limit },
        anomaly_factor: usual.anomaly_factor,
        anomaly_after: usual.anomaly_after,
        parallel: asked.parallel.max(1),
        cooldown_ms: u64::try_from(cooldown.as_millis()).unwrap_or(u64::MAX),
        max_returns: usual.max_returns,
        backend: asked.backend.clone().unwrap_or_else(|| config.orchestrate.backend.clone()),
    }
}

/// Returns what becomes of the branch.
pub(crate) fn apply_of(asked: &LoopAsked, config: &Config) -> Result<Apply> {
    match asked.apply {
        Some(apply) => Ok(apply),
        None => config.orchestrate.apply.parse().map_err(|error: UnknownApply| {
            Error::new(Fault::Config, format!("orchestrate.apply: {error}"))
        }),
    }
}

/// Reads what a loop was started with.
pub(crate) fn loop_settings(run: &Run) -> Result<LoopSettings> {
    serde_json::from_value(run.settings.clone()).map_err(|source| {
        let message = format!("the settings of run {} cannot be read", run.id.short());
        Error::new(Fault::BadInput, message)
            .hint("it was started by another version of Spore: start the list anew with `--reset`")
            .because(source)
    })
}
