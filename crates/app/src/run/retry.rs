//! Tries a task again, from what HEAD is now or from a commit that is named, as a new run that
//! knows which one came before.

use std::time::Duration;

use spore_model::{Fault, ProofLevel, RunKind, Usd};

use crate::report::{self, RunReport};
use crate::run::request::Orchestrate;
use crate::run::settings::settings_of;
use crate::run::start::orchestrate;
use crate::{Error, Progress, Result, Surroundings, Workspace};

/// What to try again. What is left out is as it was.
#[derive(Clone, Debug, Default)]
pub struct Retry {
    /// Part of a run's id.
    pub run: String,
    /// The commit to start from. It is not as it was: HEAD if left out.
    pub base: Option<String>,
    pub max_bounces: Option<u32>,
    pub max_turns: Option<u32>,
    pub budget: Option<Usd>,
    pub timeout: Option<Duration>,
    /// Beside what the earlier run allowed.
    pub allow_red: bool,
    pub allow_test_changes: bool,
    /// Beside what the earlier run required.
    pub require_seen: bool,
    /// Beside what the earlier run had.
    pub hold_out: bool,
}

/// Starts the task of an earlier run anew.
pub fn retry(
    around: &Surroundings,
    asked: &Retry,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    let run = report::find_run(&journal, &asked.run)?;
    if !matches!(run.kind, RunKind::Orchestrate | RunKind::Solo) {
        return Err(Error::new(
            Fault::BadInput,
            format!("run {} is a {} and has no task of its own", run.id.short(), run.kind.as_str()),
        )
        .hint("`spore runs list` shows the runs that have one"));
    }
    let old = settings_of(&run)?;
    let coder = old.agents.get("coder").and_then(|choice| choice.model.clone());
    drop(journal);
    let again = Orchestrate {
        task: old.task.clone(),
        base: asked.base.clone(),
        backend: Some(old.backend.clone()).filter(|name| !name.is_empty()),
        scenario: old.scenario.clone(),
        model: None,
        coder_model: coder,
        max_bounces: asked.max_bounces.or(Some(old.max_bounces)),
        max_turns: asked.max_turns.or(old.max_turns),
        budget: asked.budget.or(Some(old.budget)),
        timeout: asked.timeout.or(old.wall_ms.map(Duration::from_millis)),
        allow_red: old.allow_red || asked.allow_red,
        allow_test_changes: old.allow_test_changes || asked.allow_test_changes,
        require_seen: old.require >= ProofLevel::Seen || asked.require_seen,
        hold_out: old.hold_out || asked.hold_out,
        summarize: Some(old.summarize),
        apply: Some(old.apply),
        in_place: old.in_place,
        agent: old.solo.clone(),
        experiment: old.experiment,
        retry_of: Some(run.id),
    };
    orchestrate(around, &again, progress)
}
