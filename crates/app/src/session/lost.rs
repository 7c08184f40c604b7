//! Sessions whose end no process recorded: they are gone, and their transcripts are not.
//!
//! Such a session may have cost something. What it used is read from its transcript and booked
//! before its work is gone on with, the call in flight as an estimate; its files are kept apart
//! from those of the session that follows.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use spore_agent::api::LocalPreset;
use spore_agent::{Agent, CallsCounted, Conversation, SessionReport};
use spore_config::Config;
use spore_model::{
    Cost, LedgerEntry, Outcome, Run, RunCost, RunId, RunKind, RunState, SourceKind, Usage, Usd,
};
use spore_store::{Journal, RunChange};

use crate::agents::backends::backend;
use crate::agents::prices::cost_of;
use crate::base::files::beside;
use crate::base::outbox::Events;
use crate::base::run_files::SessionFiles;
use crate::base::totals;
use crate::session::plan::SessionPlan;
use crate::{Progress, Result, Surroundings, Update, Workspace};

/// Whose sessions were lost.
pub(crate) struct Lost<'a> {
    pub(crate) journal: &'a dyn Journal,
    pub(crate) config: &'a Config,
    pub(crate) events: Events<'a>,
    /// The run whose ledger they are booked in.
    pub(crate) root: RunId,
    /// What a session told before it was lost.
    pub(crate) told: &'a dyn Fn(&Run) -> SessionReport,
    /// The same for one that belongs to a run that a lost session had started.
    pub(crate) told_below: &'a dyn Fn(&Run, &Run) -> SessionReport,
}

impl Lost<'_> {
    /// Closes and books every session below `parent` that is on record as running.
    pub(crate) fn close_below(&self, parent: RunId) -> Result<()> {
        for run in self.journal.children(parent)? {
            if run.kind == RunKind::Session && run.state == RunState::Running {
                self.close_started(&run)?;
                self.close(&run, &(self.told)(&run))?;
            }
        }
        Ok(())
    }

    /// Closes what a lost session had started: it went on in the process that is gone.
    fn close_started(&self, session: &Run) -> Result<()> {
        for run in self.journal.children(session.id)? {
            self.close_run(&run, &run)?;
        }
        Ok(())
    }

    fn close_run(&self, top: &Run, run: &Run) -> Result<()> {
        if run.state == RunState::Ended {
            return Ok(());
        }
        for child in self.journal.children(run.id)? {
            if child.kind != RunKind::Session {
                self.close_run(top, &child)?;
            } else if child.state == RunState::Running {
                self.close_started(&child)?;
                self.close(&child, &(self.told_below)(top, &child))?;
            }
        }
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(Outcome::Interrupted),
            reason: Some("the session that started it was lost".to_owned()),
            ended: Some(self.events.around.clock.now()),
            ..totals::with_started(self.journal, &self.journal.children(run.id)?)?
        };
        Ok(self.journal.update_run(run.id, &change, &[])?)
    }

    fn close(&self, session: &Run, told: &SessionReport) -> Result<()> {
        let now = self.events.around.clock.now();
        let is_free =
            session.backend.as_deref().is_some_and(|name| LocalPreset::named(name).is_some());
        let cost = match is_free {
            true => Cost::exact(Usd::ZERO),
            false => cost_of(self.config, told, session.model.as_deref())?,
        };
        self.journal.book(&LedgerEntry {
            session: session.id,
            root: self.root,
            role: session.role.clone().unwrap_or_default(),
            backend: session.backend.clone().unwrap_or_default(),
            model: told.model.clone().or_else(|| session.model.clone()),
            turns: told.turns,
            usage: told.usage,
            cost,
            interrupted: true,
            // When it ended was not seen.
            duration_ms: None,
            failure: None,
            booked: now,
        })?;
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(Outcome::Interrupted),
            reason: Some("its end was not seen".to_owned()),
            ended: Some(now),
            turns: Some(told.turns),
            tokens: Some(told.usage),
            cost: Some(RunCost::from(cost)),
            ..RunChange::default()
        };
        let role = session.role.as_deref().unwrap_or_default();
        let mut payload = json!({ "turns": told.turns, "usage": told.usage, "cost": cost });
        if let Some((least, most)) = told.usage_bounds {
            payload["bounds"] = bounds(least, most);
        }
        let event = self.events.make(SourceKind::Runner, role, "session.lost", session.id, payload);
        Ok(self.journal.update_run(session.id, &change, &[event])?)
    }
}

fn bounds(least: Usage, most: Usage) -> Value {
    json!({ "least": least, "most": most })
}

/// Returns what a session told before it was lost, by its transcript. One that has none was never
/// started; of one that is as long as transcripts get, the rest is not known.
pub(crate) fn told_by(agent: &dyn Agent, files: &SessionFiles, config: &Config) -> SessionReport {
    let path = files.transcript();
    let Ok(file) = File::open(&path) else {
        let counted = CallsCounted::NoneMade;
        return SessionReport { counted, ..SessionReport::ended(Outcome::Interrupted, None) };
    };
    let cap = config.session.transcript_cap_bytes;
    let is_cut = file.metadata().is_ok_and(|found| found.len() >= cap);
    let report = agent.recount(&mut BufReader::new(file));
    let counted = if is_cut { CallsCounted::InDoubt } else { report.counted };
    SessionReport { counted, ..report }
}

/// Returns what a session of `run` told before it was lost, by the newest transcript of its role that
/// is not set aside.
pub(crate) fn told_in(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    run: &Run,
    session: &Run,
) -> SessionReport {
    let unknown = || SessionReport::ended(Outcome::Interrupted, None);
    let name = session.backend.as_deref().unwrap_or_default();
    let scenario = run.settings.get("scenario").and_then(Value::as_str).map(Path::new);
    let Ok(agent) = backend(around, config, name, scenario) else { return unknown() };
    let mut found = Vec::new();
    transcripts(workspace.run_files(run.id).dir(), &mut found);
    let role = session.role.clone().unwrap_or_default();
    found.retain(|(_, dir)| is_of_role(dir, &role));
    found.sort();
    let Some((_, dir)) = found.pop() else { return unknown() };
    told_by(agent.as_ref(), &SessionFiles::new(dir), config)
}

/// Returns the files of earlier attempts at a session, newest first: those that were set aside, and
/// before them those that are still in its place.
pub(crate) fn files_of_attempts(files: &SessionFiles, attempt: u32) -> Vec<SessionFiles> {
    let aside = (1..attempt).rev().map(|number| SessionFiles::new(name_aside(files.dir(), number)));
    std::iter::once(files.clone()).chain(aside).filter(|files| files.dir().is_dir()).collect()
}

/// Returns the turns that earlier attempts at a session kept, newest first.
pub(crate) fn turns_of_attempts(files: &SessionFiles, attempt: u32) -> Vec<std::path::PathBuf> {
    let all = files_of_attempts(files, attempt).into_iter();
    all.filter(|one| one.dir() != files.dir()).map(|one| one.turns()).collect()
}

/// What is said in a conversation that was cut short.
const GO_ON: &str = "You were cut off in the middle of your work, and go on with it now. The task \
    and the checks are as before. The files are as you left them, but what ran when you were cut \
    off may be half done: look before you go on. Finish what is missing, do nothing twice, then \
    end with a short account.\n";

/// The conversation that earlier attempts at a session had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EarlierTalk {
    pub(crate) session_id: String,
    /// Whether the model answered in it.
    is_heard: bool,
}

impl EarlierTalk {
    /// Finds the newest one that an attempt before this one told of.
    pub(crate) fn find(
        agent: &dyn Agent,
        files: &SessionFiles,
        attempt: u32,
        config: &Config,
    ) -> Option<Self> {
        let attempts: Vec<SessionReport> = files_of_attempts(files, attempt)
            .iter()
            .map(|files| told_by(agent, files, config))
            .collect();
        let session_id = attempts.iter().find_map(|told| told.session_id.clone())?;
        let is_it = |told: &SessionReport| told.session_id.as_ref() == Some(&session_id);
        let is_heard = attempts.iter().any(|told| told.turns > 0 && is_it(told));
        Some(Self { session_id, is_heard })
    }

    /// Returns what is said in it now: no more than is new, where the rest is known to be heard.
    pub(crate) fn said(&self) -> Option<String> {
        self.is_heard.then(|| GO_ON.to_owned())
    }
}

/// Returns the conversation in which a session in the person's own directory goes on that was cut
/// short: its own, else the one that it was to go on with from the beginning.
pub(crate) fn gone_on_with(
    plan: &SessionPlan,
    config: &Config,
    progress: &mut dyn Progress,
) -> Option<Conversation> {
    let attempt = plan.row.attempt;
    if attempt == 1 || !plan.agent.capabilities().resume {
        return plan.conversation.clone();
    }
    let Some(talk) = EarlierTalk::find(plan.agent.as_ref(), &plan.files, attempt, config) else {
        return plan.conversation.clone();
    };
    progress.update(&Update::GoesOn { role: plan.role.clone(), left: None });
    let prompt = talk.said().unwrap_or_else(|| plan.prompt.clone());
    Some(Conversation { session_id: talk.session_id, prompt })
}

/// Keeps what an earlier attempt wrote under a name of its own, so that a transcript is one
/// session's alone.
pub(crate) fn set_aside(around: &Surroundings, dir: &Path, attempt: u32) -> Result<()> {
    if attempt == 1 || !dir.exists() {
        return Ok(());
    }
    around.rename(dir, &name_aside(dir, attempt - 1))
}

fn name_aside(dir: &Path, attempt: u32) -> PathBuf {
    beside(dir, &format!(".lost-{attempt}"))
}

/// Finds the directories with a transcript below `dir`, each with the time of its last line.
fn transcripts(dir: &Path, found: &mut Vec<(SystemTime, PathBuf)>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            transcripts(&path, found);
        } else if path.file_name().is_some_and(|name| name == "transcript.jsonl") {
            let at = entry.metadata().and_then(|told| told.modified());
            found.push((at.unwrap_or(SystemTime::UNIX_EPOCH), dir.to_owned()));
        }
    }
}

/// Tells whether a session's directory is one of this role, and not of an attempt that was set
/// aside.
fn is_of_role(dir: &Path, role: &str) -> bool {
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_numbered = name.strip_prefix(role).is_some_and(|rest| {
        rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok())
    });
    is_numbered || name == "session"
}
