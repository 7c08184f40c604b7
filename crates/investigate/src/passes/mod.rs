//! The passes of a model over a directory: what each is told, what it may hand in, and in which
//! order directories are looked at. Pure: sessions are opened by `app`.
//!
//! Survey and plan shape the directory loops, the loops write entries, synthesis reads them. Each
//! degrades by itself: without a survey the loops run without one, without a plan every directory
//! has the default, without a synthesis the brief is made of the entries.

mod estimate;
mod evaluation;
mod grounding;
mod key;
mod order;
mod plan;
mod prompt;
mod survey;
mod synthesis;

pub use estimate::{InvestigationEstimate, PassEstimate, SessionNeed};
pub use evaluation::{DirectoryLook, PlanEvaluation};
pub use grounding::{DOUBTFUL, names_in, unknown_names};
pub use key::{ChildSummary, PROMPT_VERSION, SummaryWriter, directory_key, file_key, text_digest};
pub use order::LoopOrder;
pub use plan::{DirectoryPlan, PlanTier};
pub use prompt::{DirectoryBrief, directory_prompt, plan_prompt, survey_prompt, synthesis_prompt};
pub use survey::{PROTECTED_TOOLS, Survey};
pub use synthesis::{
    PassReport, SynthesisGroup, SynthesisInput, groups, mechanical, partial_summary,
};

/// Survey and plan have so many turns.
pub const SHORT_TURNS: u32 = 3;
pub const SYNTHESIS_TURNS: u32 = 5;

/// Returns whether a tree is too small for a survey and a plan.
pub const fn is_small(files: u64, directories: u64) -> bool {
    files < 5 && directories < 2
}
