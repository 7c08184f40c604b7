//! What a session is opened with. Plain data: who works, on what, where, and within which
//! bounds. What differs between a run's sessions, a flow's and a spawned one differs here and
//! nowhere else.

use std::path::PathBuf;
use std::sync::Arc;

use spore_agent::{Agent, Conversation, ToolPolicy};
use spore_git::Checkout;
use spore_model::{CommitId, RunId, StepKey, Ticket, ToolGroups, Usd};

use crate::agents::roles::{self, RoleTerms};
use crate::base::error::bug;
use crate::base::run_files::SessionFiles;
use crate::knowledge::brief::Brief;
use crate::session::agent_choice::AgentChoice;
use crate::session::broker::SessionCommands;
use crate::session::confinement::SessionConfinement;
use crate::session::nesting::Nesting;
use crate::{Result, Surroundings};

/// One session to be opened.
pub(crate) struct SessionPlan {
    pub(crate) role: String,
    /// What people call it: a role, a stage, the beginning of a prompt.
    pub(crate) name: String,
    pub(crate) choice: AgentChoice,
    pub(crate) agent: Arc<dyn Agent>,
    /// The whole task, with the brief in it.
    pub(crate) prompt: String,
    /// The conversation to go on with, where there is one worth it.
    pub(crate) conversation: Option<Conversation>,
    /// What is done where that conversation turns out to be lost.
    pub(crate) fresh: Option<FreshStart>,
    /// Where its home outlives it, so that a later session can go on with its conversation.
    pub(crate) keeps_home: Option<PathBuf>,
    /// Whether our own loop goes on at the turn in which an earlier attempt was cut off: only where
    /// the calls of that turn may be made again.
    pub(crate) keeps_turns: bool,
    /// Used in place of the role's own text.
    pub(crate) system_prompt: Option<String>,
    /// Where it works.
    pub(crate) dir: PathBuf,
    pub(crate) files: SessionFiles,
    /// What its role may use, and for how long.
    pub(crate) terms: RoleTerms,
    /// What it may cost.
    pub(crate) usd: Option<Usd>,
    pub(crate) tools: SessionTools,
    /// What the prompt carries beside the task.
    pub(crate) brief: Option<Brief>,
    /// The commit that its tools on the graph answer for; the work tree where there is none.
    pub(crate) graph_at: Option<CommitId>,
    /// Who runs commands for it, outside of it; none where its role has none run.
    pub(crate) commands: Option<Arc<dyn SessionCommands>>,
    /// How deep the process is that opens it.
    pub(crate) nesting: Nesting,
    pub(crate) row: SessionPosition,
    pub(crate) confinement: SessionConfinement,
}

/// How a session begins afresh whose conversation is lost: from its start, with what an earlier
/// attempt left kept under a ref.
#[derive(Clone, Debug)]
pub(crate) struct FreshStart {
    pub(crate) checkout: Checkout,
    pub(crate) start: CommitId,
    pub(crate) left: Option<String>,
}

/// Which tools of its agent a session may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SessionTools {
    /// Those of its role, with these commands as the only ones that it may run unless its
    /// shell is free.
    OfRole { commands: Vec<String> },
    /// Those that the caller names; where it names none, the choice is the agent's.
    Allowed(Vec<String>),
}

impl SessionTools {
    /// Returns the policy for a role with these groups of tools on `backend`; `free` says
    /// whether a role that may use a shell may run any command.
    pub(crate) fn policy(&self, backend: &str, groups: &ToolGroups, free: bool) -> ToolPolicy {
        match self {
            Self::OfRole { commands } => roles::tools(backend, groups, commands, free),
            Self::Allowed(names) => roles::tools_outside(backend, groups, names, free),
        }
    }
}

/// Where a session stands in the tree of runs.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SessionPosition {
    pub(crate) id: RunId,
    /// The run in whose ledger it is booked.
    pub(crate) root: RunId,
    pub(crate) attempt: u32,
    /// Zero for a session that belongs to no bounce.
    pub(crate) bounce: u32,
    /// How many rows are above it.
    pub(crate) depth: u32,
    pub(crate) experiment: Option<String>,
    /// The row that it is below.
    pub(crate) parent: RunId,
    /// The run and its step whose effect it is.
    pub(crate) run: RunId,
    pub(crate) key: StepKey,
}

impl SessionPosition {
    /// Returns the id that a step planned for its session. An attempt after the first is
    /// another session, with an id of its own.
    pub(crate) fn id_for(around: &Surroundings, ticket: &Ticket) -> Result<RunId> {
        match ticket.attempt {
            1 => ticket.planned("session").map_err(bug),
            _ => Ok(around.ids.run()),
        }
    }
}
