//! The bounce loop: coder, gates, verifier, again, until the work holds or a person is asked.
//!
//! [`Bounce`] is the whole policy as a pure state machine: it is given the result of a step and
//! answers which step is next. [`drive`] is the loop around it, short enough to read at once.
//! Every step has a key and a recorded result, so a run that was killed is the same machine
//! fed with what is already on record: it arrives at the first step without a result and goes
//! on from there.
//!
//! [`TaskLoop`] is the same for a whole list of tasks: `tasks` reads the list and decides what is
//! started, landed and waited for.
//!
//! Nothing here touches git, an agent or a file: those are the [`World`]'s, which the caller
//! plugs in. Verdicts are read here, because what counts as a pass is policy.

mod bounce;
mod driver;
mod evidence;
mod proposals;
mod rebase;
mod solo;
mod step;
mod tasks;
mod verdict_text;

pub use bounce::{Bounce, BounceRules, Next, RED_BASE};
pub use driver::{End, Machine, World, drive};
pub use evidence::{Evidence, Shortfall};
pub use proposals::{
    PathLookup, ProposalLimits, ProposalProblem, Proposed, ProposedLesson, ProposedSummary, hold,
    normalised, read_summary,
};
pub use rebase::Rebase;
pub use solo::Solo;
pub use step::{
    Conclusion, Done, GateSummary, NamelessGate, RebaseFate, RebasedEntry, SessionSummary, Step,
    WrittenTests,
};
pub use tasks::{
    CostAnomaly, LoopEnding, LoopMove, LoopRules, LoopState, LoopStateRun, LoopStop, LoopTask,
    LoopView, SourceError, SourceForm, TaskLanding, TaskList, TaskLoop, TaskResult, TaskStanding,
    estimate_complexity, overlap, read_tasks, ticked,
};
pub use verdict_text::{read_verdict, settle_verdict};
