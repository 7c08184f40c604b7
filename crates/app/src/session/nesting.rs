//! How deep sessions are nested in each other, and what they all belong to.
//!
//! Told from process to process in the environment, because agents start sessions through the
//! command line. Attempts are not depth, and neither are layers that run in this process: only
//! a session that starts another one goes deeper.

use serde::{Deserialize, Serialize};
use spore_model::{Fault, Run, RunId, TraceId};
use spore_store::Journal;

use crate::{Error, Result, Surroundings};

/// Where nesting is counted. The seeds' own names are understood too.
const DEPTH_VARS: [&str; 2] = ["SPORE_SPAWN_DEPTH", "AGENTIC_SPAWN_DEPTH"];
const TRACE_VARS: [&str; 2] = ["SPORE_TRACE_ID", "AGENTIC_TRACE_ID"];
/// The session that a process runs in, by its run.
const SESSION_VAR: &str = "SPORE_SESSION_RUN";
/// A limit that was given to a layer holds for all that is started below it.
const LIMIT_VARS: [&str; 4] = [
    "SPORE_SPAWN_MAX_DEPTH",
    "SPORE_FLOWS_EXEC_DEPTH",
    "SPORE_FLOWS_STAGE_DEPTH",
    "SPORE_FLOWS_PHASE_DEPTH",
];

/// How deep a process is among sessions that start each other, and how deep they may go.
/// Recorded with a run, so that a resumed one counts from where it was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Nesting {
    pub(crate) depth: u32,
    pub(crate) limit: u32,
}

/// What the environment tells a process about the session that it runs in.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ancestry {
    pub(crate) nesting: Nesting,
    trace: Option<TraceId>,
    session: Option<RunId>,
}

impl Ancestry {
    /// Reads the ancestry from the environment. At the limit nothing is started.
    pub(crate) fn read(around: &Surroundings, limit: u32) -> Result<Self> {
        // A depth that cannot be read must not count as none: it would undo the limit.
        let depth = match variable(around, &DEPTH_VARS) {
            None => 0,
            Some(text) => text.parse().map_err(|_| {
                Error::new(Fault::BadInput, format!("the spawn depth {text:?} is not a number"))
            })?,
        };
        if depth >= limit {
            return Err(Error::too_deep(depth, limit));
        }
        let (session, trace) = Self::told(around);
        Ok(Self { nesting: Nesting { depth, limit }, trace, session })
    }

    /// Returns what the environment tells of session and trace, and decides nothing by it.
    pub(crate) fn told(around: &Surroundings) -> (Option<RunId>, Option<TraceId>) {
        let session = variable(around, &[SESSION_VAR]).and_then(|text| text.parse().ok());
        let trace = variable(around, &TRACE_VARS).and_then(|text| TraceId::new(text).ok());
        (session, trace)
    }

    /// Returns the trace that a new run belongs to: its own, unless a session started it.
    pub(crate) fn trace_of(&self, run: RunId) -> TraceId {
        self.trace.clone().unwrap_or_else(|| run.into())
    }

    /// Returns the session that started this process. The variable is not believed: a session
    /// that the journal does not know as running is none.
    pub(crate) fn started_by(&self, journal: &dyn Journal) -> Result<Option<RunId>> {
        let Some(session) = self.session else { return Ok(None) };
        Ok(journal.run(session)?.filter(Run::is_open).map(|run| run.id))
    }
}

/// A run of an earlier version kept no nesting: its sessions start none of their own.
impl Default for Nesting {
    fn default() -> Self {
        Self { depth: 0, limit: 1 }
    }
}

impl Nesting {
    /// How many levels of sessions may still be started, this one's included.
    pub(crate) fn left(self) -> u32 {
        self.limit.saturating_sub(self.depth)
    }

    /// What a session one level deeper is told.
    pub(crate) fn tell(
        self,
        trace: &TraceId,
        session: RunId,
        variables: &mut Vec<(String, String)>,
    ) {
        let mut set = |name: &str, value: String| {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value));
        };
        set(DEPTH_VARS[0], (self.depth.saturating_add(1)).to_string());
        set(TRACE_VARS[0], trace.to_string());
        set(SESSION_VAR, session.to_string());
        for name in LIMIT_VARS {
            set(name, self.limit.to_string());
        }
    }
}

fn variable<'a>(around: &'a Surroundings, names: &[&str]) -> Option<&'a str> {
    let found = names.iter().find_map(|name| around.variable(name));
    found.filter(|value| !value.is_empty())
}
