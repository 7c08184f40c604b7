//! What a run was started with. It is part of the run's record: a resumed run uses this, not
//! what the configuration has become since.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spore_config::Config;
use spore_gates::Gate;
use spore_git::{ChangeCaps, GitError, Repository};
use spore_model::{CommitId, Fault, ProbeTime, ProofLevel, Run, RunId, Usd};
use spore_pipeline::BounceRules;
use spore_runs::{Apply, UnknownApply};

use crate::agents::roles::{self, RoleTerms};
use crate::base::checkouts::CheckoutSettings;
use crate::checks::project::{TASK_GATE, gates, refuse_submodules};
use crate::checks::review::ReviewSettings;
use crate::run::request::Orchestrate;
use crate::session::agent_choice::{AgentChoice, ROLES, TESTER, Wishes};
use crate::session::nesting::Nesting;
use crate::session::sandbox::Enforcement;
use crate::{Error, Result, Workspace};

/// The experiment whose sessions are told nothing but their task: what context is worth shows
/// against it.
pub(crate) const NO_CONTEXT: &str = "no-context";

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RunSettings {
    pub(crate) task: String,
    pub(crate) base: CommitId,
    /// The commit of a person's that the base was made from, where agents made the base and no
    /// verifier stands behind it: the checks are its own, and so is what sets checkouts up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) trusted: Option<CommitId>,
    /// Of the roles that have none of their own.
    pub(crate) backend: String,
    /// The models as they were typed, for another run of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) coder_model: Option<String>,
    /// The agent of each role.
    #[serde(default, alias = "cast")]
    pub(crate) agents: BTreeMap<String, AgentChoice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scenario: Option<PathBuf>,
    pub(crate) max_bounces: u32,
    /// What a person allowed one session of any role, where one did; runs of earlier versions
    /// always have both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wall_ms: Option<u64>,
    /// What sessions of each role are held to.
    #[serde(default)]
    pub(crate) terms: BTreeMap<String, RoleTerms>,
    pub(crate) budget: Usd,
    pub(crate) allow_red: bool,
    /// Whether mending what is red at the base is the task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) fix_red: bool,
    /// Whether tests and what configures them may be changed.
    #[serde(default)]
    pub(crate) allow_test_changes: bool,
    /// How far the checks of a change must go.
    #[serde(default = "checked")]
    pub(crate) require: ProofLevel,
    /// How long parts of a change are taken back, and how many at most.
    #[serde(default)]
    pub(crate) probe: ProbeTime,
    #[serde(default)]
    pub(crate) probe_hunks: u32,
    /// Whether a tester writes tests that the coder never sees.
    #[serde(default)]
    pub(crate) hold_out: bool,
    /// What the tester is told beside the task, and no other role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) specified: Option<String>,
    pub(crate) min_confidence: f64,
    pub(crate) phrase_confidence: f64,
    #[serde(default = "verifier_attempts")]
    pub(crate) verifier_attempts: u32,
    #[serde(default)]
    pub(crate) summarize: bool,
    #[serde(default)]
    pub(crate) apply: Apply,
    /// Verified work is put into the person's own files as well.
    #[serde(default)]
    pub(crate) in_place: bool,
    /// The only role that works, where a person asked for one alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) solo: Option<String>,
    /// What that role does is brought where the person asked for it, although no one judges it.
    #[serde(default)]
    pub(crate) solo_lands: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) experiment: Option<String>,
    /// What stands before the task in the subject of the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<String>,
    /// The run whose task this one tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_of: Option<RunId>,
    pub(crate) gates: Vec<Gate>,
    /// What counts as a test besides what convention says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tests: Vec<String>,
    /// What no change may touch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) protected: Vec<String>,
    pub(crate) exclude: Vec<String>,
    pub(crate) allow: Vec<String>,
    /// What a change may write at most; a run of an earlier version has no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_files: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_bytes: Option<u64>,
    pub(crate) setup: Vec<String>,
    pub(crate) copy: Vec<String>,
    /// How deep the sessions are that its own ones belong to.
    #[serde(default)]
    pub(crate) nesting: Nesting,
    /// What held the run when it was last started or resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<Enforcement>,
    /// The verified work that is brought onto the base, where that is all there is to do; in the
    /// order in which it is to land.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) merges: Vec<MergeEntry>,
    /// Whether no verifier stood behind that work: then none is asked for again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unjudged: bool,
}

/// One run's verified work on its way onto a branch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct MergeEntry {
    /// The run that it is of, and that is told where it does not hold.
    pub(crate) owner: RunId,
    pub(crate) base: CommitId,
    pub(crate) commit: CommitId,
    /// A branch whose commits were each checked as they stand: it is joined as it is, by a commit with
    /// two parents, and none of its commits is made anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) joins: bool,
}

impl MergeEntry {
    /// One run's work, as a commit on `base`.
    pub(crate) fn new(owner: RunId, base: CommitId, commit: CommitId) -> Self {
        Self { owner, base, commit, joins: false }
    }
}

impl RunSettings {
    /// Settles what the person left open.
    pub(crate) fn settle(
        workspace: &Workspace,
        repository: &Repository,
        config: &Config,
        asked: &Orchestrate,
    ) -> Result<Self> {
        let base = base(repository, asked)?;
        repository.complete(&base)?;
        refuse_submodules(repository, &base, config)?;
        let gates = match &asked.agent {
            Some(role) => {
                roles::require(workspace.root(), config, role)?;
                Vec::new()
            }
            None => {
                let of = asked.trusted.as_ref().unwrap_or(&base);
                gates(workspace, repository, of, config, &asked.gates)?
            }
        };
        let backend = asked.backend.clone().unwrap_or_else(|| config.orchestrate.backend.clone());
        let apply = match asked.apply {
            Some(apply) => apply,
            None => config.orchestrate.apply.parse().map_err(|error: UnknownApply| {
                Error::new(Fault::Config, format!("orchestrate.apply: {error}"))
            })?,
        };
        let require = match asked.require_seen {
            true => ProofLevel::Seen.max(config.verdict.require),
            false => config.verdict.require,
        };
        let hold_out = asked.agent.is_none()
            && (asked.hold_out || config.gates.hold_out || require >= ProofLevel::HeldOut);
        let agents = agents(config, asked, hold_out);
        let terms = |role: &String| {
            (role.clone(), RoleTerms::settle(config, role, asked.max_turns, asked.timeout))
        };
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Ok(Self {
            nesting: Nesting::default(),
            task: asked.task.clone(),
            gates,
            base,
            trusted: asked.trusted.clone(),
            terms: agents.keys().map(terms).collect(),
            agents,
            backend,
            model: asked.model.clone(),
            coder_model: asked.coder_model.clone(),
            scenario: asked.scenario.as_deref().map(place_of_scenario).transpose()?,
            max_bounces: asked.max_bounces.unwrap_or(config.orchestrate.max_bounces).max(1),
            max_turns: asked.max_turns,
            wall_ms: asked.timeout.map(millis),
            budget: asked.budget.unwrap_or(config.orchestrate.budget_usd),
            allow_red: asked.allow_red || config.gates.allow_red,
            fix_red: asked.fix_red,
            allow_test_changes: asked.allow_test_changes || config.gates.allow_test_changes,
            require,
            probe: match require >= ProofLevel::Seen {
                true => config.gates.probe.insisted(),
                false => config.gates.probe,
            },
            probe_hunks: config.gates.probe_hunks,
            hold_out,
            specified: asked.specified.clone(),
            min_confidence: config.verdict.min_confidence,
            phrase_confidence: config.verdict.phrase_confidence,
            verifier_attempts: config.verdict.verifier_attempts,
            summarize: asked.summarize.unwrap_or(config.orchestrate.summarize)
                && asked.scenario.as_deref().is_none_or(has_summarizer),
            apply,
            in_place: asked.in_place,
            solo: asked.agent.clone(),
            solo_lands: asked.agent.is_some()
                && (asked.in_place || asked.apply.is_some_and(|how| how != Apply::None)),
            experiment: asked.experiment.clone(),
            subject: asked.subject.clone(),
            retry_of: asked.retry_of,
            tests: config.gates.tests.clone(),
            protected: config.gates.protected.clone(),
            exclude: config.commit.exclude.clone(),
            allow: config.commit.allow.clone(),
            max_files: Some(config.commit.max_files),
            max_bytes: Some(config.commit.max_bytes),
            setup: config.checkout.setup.clone(),
            copy: config.checkout.copy.clone(),
            sandbox: None,
            merges: Vec::new(),
            unjudged: false,
        })
    }

    /// Returns whether all there is to do is to bring verified work onto another commit.
    pub(crate) fn is_merge(&self) -> bool {
        !self.merges.is_empty()
    }

    /// Returns what a tree with the work of `self` and other work on `tip` is held to.
    pub(crate) fn merging(&self, tip: &CommitId, gates: Vec<Gate>, merges: &[MergeEntry]) -> Self {
        let mut agents = self.agents.clone();
        agents.retain(|role, _| role == "verifier");
        Self {
            base: tip.clone(),
            gates,
            merges: merges.to_vec(),
            agents,
            max_bounces: 1,
            hold_out: self.hold_out && merges.len() == 1,
            summarize: false,
            apply: Apply::None,
            in_place: false,
            solo: None,
            solo_lands: false,
            retry_of: None,
            ..self.clone()
        }
    }

    /// Returns whether work of both can be checked together: they are held to the same.
    pub(crate) fn is_held_like(&self, other: &Self) -> bool {
        let terms = |one: &Self| {
            let Self { require, probe, probe_hunks, hold_out, allow_test_changes, .. } = one;
            let red = (one.allow_red, one.fix_red);
            (*require, *probe, *probe_hunks, *hold_out, *allow_test_changes, red)
        };
        terms(self) == terms(other)
    }

    /// The commands that the task asked for beside the project's own checks.
    pub(crate) fn asked_gates(&self) -> Vec<String> {
        let asked = self.gates.iter().filter(|gate| gate.name.starts_with(TASK_GATE));
        asked.map(|gate| gate.command.clone()).collect()
    }

    pub(crate) fn rules(&self) -> BounceRules {
        BounceRules {
            max_bounces: self.max_bounces,
            min_confidence: self.min_confidence,
            phrase_confidence: self.phrase_confidence,
            verifier_attempts: self.verifier_attempts,
            require: self.require,
            allow_red: self.allow_red,
            fix_red: self.fix_red,
            hold_out: self.hold_out,
            summarize: self.summarize,
        }
    }

    /// The commit of a person's that decides what runs and how, which is the base of most runs.
    pub(crate) fn trusted(&self) -> &CommitId {
        self.trusted.as_ref().unwrap_or(&self.base)
    }

    /// Returns how checkouts of the run are made.
    pub(crate) fn checkout(&self) -> CheckoutSettings<'_> {
        CheckoutSettings {
            base: &self.base,
            trusted: self.trusted(),
            exclude: &self.exclude,
            allow: &self.allow,
            caps: ChangeCaps {
                bytes: self.max_bytes.unwrap_or(ChangeCaps::NONE.bytes),
                files: self.max_files.map_or(ChangeCaps::NONE.files, u64::from),
            },
            setup: &self.setup,
            copy: &self.copy,
            max_bounces: self.max_bounces,
        }
    }

    /// Returns what a change of the run is compared with before its gates run.
    pub(crate) fn review(&self) -> ReviewSettings<'_> {
        ReviewSettings {
            base: &self.base,
            gates: &self.gates,
            tests: &self.tests,
            protected: &self.protected,
            allow_test_changes: self.allow_test_changes,
        }
    }

    /// Returns who plays `role`.
    pub(crate) fn choice(&self, role: &str) -> AgentChoice {
        let own = self.agents.get(role).cloned();
        own.unwrap_or_else(|| AgentChoice { backend: self.backend.clone(), model: None })
    }

    /// Returns what sessions of `role` are held to. A run of an earlier version recorded no more
    /// than turns and time; the rest is as `config` has it now.
    pub(crate) fn terms(&self, config: &Config, role: &str) -> RoleTerms {
        let timeout = || self.wall_ms.map(Duration::from_millis);
        let own = self.terms.get(role).cloned();
        own.unwrap_or_else(|| RoleTerms::settle(config, role, self.max_turns, timeout()))
    }

    pub(crate) fn wants_context(&self) -> bool {
        self.experiment.as_deref() != Some(NO_CONTEXT)
    }
}

/// Finds the commit that the run starts from, and refuses one that the result could not be put
/// on top of as it was asked for.
fn base(repository: &Repository, asked: &Orchestrate) -> Result<CommitId> {
    let Some(revision) = &asked.base else { return Ok(repository.head()?) };
    let base = repository.resolve(revision).map_err(|error| match error {
        GitError::UnknownRevision { .. } => {
            Error::new(Fault::Usage, format!("--base {revision:?} names no commit")).hint(
                "name a branch, a tag or a commit of this repository: `git log --all --oneline` \
                 lists them",
            )
        }
        other => other.into(),
    })?;
    if asked.in_place && repository.head()? != base {
        let message = format!(
            "--in-place puts the change into your files, which are at HEAD, not at {revision:?}"
        );
        return Err(Error::new(Fault::Usage, message).hint(format!(
            "check it out first (`git switch --detach {revision}`), or leave `--in-place` out: \
             the work arrives on a branch"
        )));
    }
    Ok(base)
}

/// Reads what a run was started with.
pub(crate) fn settings_of(run: &Run) -> Result<RunSettings> {
    serde_json::from_value(run.settings.clone()).map_err(|source| {
        Error::new(
            Fault::BadInput,
            format!("the settings of run {} cannot be read", run.id.short()),
        )
        .hint("it was started by another version of Spore: start the task anew")
        .because(source)
    })
}

/// What runs were held to that do not say.
fn checked() -> ProofLevel {
    ProofLevel::Checked
}

/// What held for runs that were started before it was a setting.
fn verifier_attempts() -> u32 {
    2
}

fn agents(config: &Config, asked: &Orchestrate, hold_out: bool) -> BTreeMap<String, AgentChoice> {
    let wishes = Wishes {
        backend: asked.backend.as_deref(),
        model: asked.model.as_deref(),
        coder_model: asked.coder_model.as_deref(),
    };
    let roles: Vec<&str> = match &asked.agent {
        Some(role) => vec![role],
        None => ROLES.into_iter().chain(hold_out.then_some(TESTER)).collect(),
    };
    let play = |role: &str| (role.to_owned(), AgentChoice::settle(config, role, wishes));
    roles.into_iter().map(play).collect()
}

/// A scenario without the role of the summarizer is played without a summary. One that cannot be
/// read is refused by the agent that is to play it.
fn has_summarizer(scenario: &Path) -> bool {
    let text = std::fs::read_to_string(scenario).unwrap_or_default();
    spore_agent::Scenario::parse(&text).is_ok_and(|scenario| scenario.has_role("summarizer"))
}

/// Returns where the scenario of a replay lies, for all that reads it later.
pub(crate) fn place_of_scenario(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|source| {
        Error::new(Fault::Usage, format!("cannot read the scenario {}", spore_plain::path(path)))
            .hint("name a file that is there; `spore demo` shows one at work")
            .because(source)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recorded(more: &serde_json::Value) -> RunSettings {
        let mut settings = json!({
            "task": "t", "base": "a".repeat(40), "backend": "claude", "max_bounces": 3,
            "budget": 1.0, "allow_red": false, "min_confidence": 0.6, "phrase_confidence": 0.5,
            "gates": [], "exclude": [], "allow": [], "setup": [], "copy": [],
        });
        for (key, value) in more.as_object().unwrap() {
            settings[key] = value.clone();
        }
        serde_json::from_value(settings).unwrap()
    }

    #[test]
    fn a_run_of_an_earlier_version_keeps_its_turns_and_its_time() {
        let config = Config::load(&[]).unwrap().config;
        let old = recorded(&json!({ "max_turns": 40, "wall_ms": 7000 }));
        for role in ["coder", "summarizer"] {
            let terms = old.terms(&config, role);
            assert_eq!((terms.turns, terms.wall_ms), (40, 7000), "{role}");
            assert_eq!(terms.tools, config.roles.of(role).tools, "{role}");
        }
    }

    #[test]
    fn a_run_keeps_the_terms_that_it_was_started_with() {
        let terms = json!({ "turns": 9, "wall_ms": 5, "tools": ["read"], "sandbox": "read-only" });
        let run = recorded(&json!({ "terms": { "coder": terms } }));
        let config = Config::load(&[]).unwrap().config;
        let kept = run.terms(&config, "coder");
        assert_eq!(serde_json::to_value(&kept).unwrap(), terms);
        assert_eq!(run.terms(&config, "summarizer").turns, 15);
    }
}
