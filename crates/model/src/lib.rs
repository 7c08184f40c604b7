//! The words every part of Spore shares: ids, outcomes, budgets, events, runs, verdicts, and
//! the graph of what is known.
//!
//! Plain data and pure rules. Nothing here reads a file, a clock or the environment, and
//! nothing is asynchronous: callers hand in time and text, so the same input gives the same
//! bytes and every rule can be tested exhaustively.
//!
//! Two decisions live here because everything else leans on them. A run's end is one
//! [`Outcome`], from which its exit code follows; and what a layer does with a child's
//! outcome is one function, [`propagation::decide`].

mod budget;
mod context_use;
mod event;
pub mod graph;
mod ids;
mod ledger;
mod lesson;
mod money;
mod network;
mod outcome;
mod patterns;
mod proof;
pub mod propagation;
mod role;
mod run;
mod session_failure;
mod session_notes;
mod step;
mod time;
mod verdict;

pub use budget::{Allowance, BudgetId, BudgetResource, BudgetTree, Exhausted, Overshoot};
pub use context_use::{ContextUse, FileUse};
pub use event::{Event, EventSource, SourceKind, UnknownSourceKind, is_own_type};
pub use graph::{Edge, EdgeKind, Node, NodeClass};
pub use ids::{
    BadId, CommitId, EdgeId, EventId, NodeId, RunId, SessionToken, StepKey, TraceId, TreeId,
};
pub use ledger::{LedgerEntry, Usage, token_count};
pub use lesson::{LESSON_KIND, Lesson, LessonRecord};
pub use money::{Cost, Usd};
pub use network::NetAddress;
pub use outcome::{Fault, Outcome};
pub use patterns::Patterns;
pub use proof::{ProbeTime, ProofLevel, ProofSummary, UnknownLevel};
pub use role::{CheckoutAccess, ToolGroup, ToolGroups};
pub use run::{Park, Run, RunCost, RunKind, RunMark, RunStanding, RunState, RunStatus};
pub use session_failure::SessionFailure;
pub use session_notes::{RefusedCalls, RefusedTool, SessionNotes, ToolUse};
pub use step::{Begun, EffectClass, Ticket};
pub use time::{BadTime, Timestamp};
pub use verdict::{Finding, Ruling, Verdict, VerdictSource};
