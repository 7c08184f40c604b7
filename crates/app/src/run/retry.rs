//! Tries a task again, from what HEAD is now or from a commit that is named, as a new run that
//! knows which one came before.

use std::time::Duration;

use spore_model::{Fault, ProofLevel, RunKind, Usd};
use spore_runs::{Apply, RunReport};

use crate::report;
use crate::run::request::Orchestrate;
use crate::run::settings::{RunSettings, settings_of};
use crate::run::start::orchestrate;
use crate::{Error, Progress, Result, Surroundings, Workspace};

/// What to try again. What is left out is as it was.
#[derive(Clone, Debug, Default)]
pub struct Retry {
    /// Part of a run's id.
    pub run: String,
    /// The commit to start from. It is not as it was: HEAD if left out.
    pub base: Option<String>,
    pub backend: Option<String>,
    pub model: Option<String>,
    pub apply: Option<Apply>,
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

/// The models that a task is tried again with.
#[derive(Debug, PartialEq, Eq)]
struct RetriedModels {
    all: Option<String>,
    coder: Option<String>,
}

impl RetriedModels {
    /// A model that is named now is every role's. One of the earlier run is kept, unless the agent
    /// is another now, to whom only a tier means anything.
    fn of(old: &RunSettings, asked: &Retry) -> Self {
        if asked.model.is_some() {
            return Self { all: asked.model.clone(), coder: None };
        }
        let is_tier = |name: &String| ["low", "medium", "high"].contains(&name.as_str());
        let is_other = asked.backend.as_ref().is_some_and(|backend| *backend != old.backend);
        let kept = |model: &Option<String>| model.clone().filter(|name| !is_other || is_tier(name));
        // Runs of earlier versions did not keep what was typed.
        let known = old.agents.get("coder").and_then(|choice| choice.model.clone());
        let coder = match &old.model {
            Some(_) => old.coder_model.clone(),
            None => old.coder_model.clone().or(known),
        };
        Self { all: kept(&old.model), coder: kept(&coder) }
    }
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
    drop(journal);
    let models = RetriedModels::of(&old, asked);
    // What a task of a list or a racer may cost and where its work goes was not asked for it alone.
    let is_part = run.parent.is_some();
    let again = Orchestrate {
        task: old.task.clone(),
        base: asked.base.clone(),
        backend: asked
            .backend
            .clone()
            .or(Some(old.backend.clone()).filter(|name| !name.is_empty())),
        // Only the replay agent plays one.
        scenario: old
            .scenario
            .clone()
            .filter(|_| asked.backend.as_deref().is_none_or(|name| name == "replay")),
        model: models.all,
        coder_model: models.coder,
        max_bounces: asked.max_bounces.or(Some(old.max_bounces)),
        max_turns: asked.max_turns.or(old.max_turns),
        budget: asked.budget.or(Some(old.budget).filter(|_| !is_part)),
        timeout: asked.timeout.or(old.wall_ms.map(Duration::from_millis)),
        allow_red: old.allow_red || asked.allow_red,
        fix_red: old.fix_red,
        allow_test_changes: old.allow_test_changes || asked.allow_test_changes,
        require_seen: old.require >= ProofLevel::Seen || asked.require_seen,
        hold_out: old.hold_out || asked.hold_out,
        specified: old.specified.clone(),
        summarize: Some(old.summarize),
        // A role that worked alone was asked for a place, or it was not.
        apply: asked.apply.or_else(|| {
            let is_asked = old.solo.is_none() || old.solo_lands && !old.in_place;
            Some(old.apply).filter(|_| is_asked && !is_part)
        }),
        // Who says where the work is to go does not want it in the files besides.
        in_place: old.in_place && asked.apply.is_none(),
        agent: old.solo.clone(),
        experiment: old.experiment.clone(),
        subject: None,
        gates: old.asked_gates(),
        retry_of: Some(run.id),
        trusted: None,
    };
    orchestrate(around, &again, progress)
}
