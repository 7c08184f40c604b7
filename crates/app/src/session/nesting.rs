//! How deep sessions are nested in each other, and what they all belong to.
//!
//! Told from process to process in the environment, because agents start sessions through the
//! command line. Attempts are not depth, and neither are layers that run in this process: only
//! a session that starts another one goes deeper.

use spore_model::{Fault, TraceId};

use crate::{Error, Result, Surroundings};

/// Where nesting is counted. The seeds' own names are understood too.
const DEPTH_VARS: [&str; 2] = ["SPORE_SPAWN_DEPTH", "AGENTIC_SPAWN_DEPTH"];
const TRACE_VARS: [&str; 2] = ["SPORE_TRACE_ID", "AGENTIC_TRACE_ID"];
/// A limit that was given to a layer holds for all that is started below it.
const LIMIT_VARS: [&str; 4] = [
    "SPORE_SPAWN_MAX_DEPTH",
    "SPORE_FLOWS_EXEC_DEPTH",
    "SPORE_FLOWS_STAGE_DEPTH",
    "SPORE_FLOWS_PHASE_DEPTH",
];

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Nesting {
    pub(crate) depth: u32,
    pub(crate) limit: u32,
    pub(crate) trace: Option<TraceId>,
}

impl Nesting {
    /// Reads the nesting from the environment. At the limit nothing is started.
    pub(crate) fn read(around: &Surroundings, limit: u32) -> Result<Self> {
        // A depth that cannot be read must not count as none: it would undo the limit.
        let depth = match variable(around, DEPTH_VARS) {
            None => 0,
            Some(text) => text.parse().map_err(|_| {
                Error::new(Fault::BadInput, format!("the spawn depth {text:?} is not a number"))
            })?,
        };
        if depth >= limit {
            return Err(Error::too_deep(depth, limit));
        }
        Ok(Self { depth, ..Self::inherited(around, limit) })
    }

    /// Reads the nesting for a process that the limit does not refuse, only what it starts. A
    /// depth that cannot be read counts as the limit.
    pub(crate) fn inherited(around: &Surroundings, limit: u32) -> Self {
        let trace = variable(around, TRACE_VARS).and_then(|text| TraceId::new(text).ok());
        let depth = match variable(around, DEPTH_VARS) {
            None => 0,
            Some(text) => text.parse().unwrap_or(limit),
        };
        Self { depth, limit, trace }
    }

    /// How many levels of sessions may still be started, this one's included.
    pub(crate) fn left(&self) -> u32 {
        self.limit.saturating_sub(self.depth)
    }

    /// What a session one level deeper is told.
    pub(crate) fn tell(&self, trace: &TraceId, variables: &mut Vec<(String, String)>) {
        let mut set = |name: &str, value: String| {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value));
        };
        set(DEPTH_VARS[0], (self.depth.saturating_add(1)).to_string());
        set(TRACE_VARS[0], trace.to_string());
        for name in LIMIT_VARS {
            set(name, self.limit.to_string());
        }
    }
}

fn variable<'a>(around: &'a Surroundings, names: [&str; 2]) -> Option<&'a str> {
    let found = names.iter().find_map(|name| around.variable(name));
    found.filter(|value| !value.is_empty())
}
