//! Layers of runs: executor, orchestrator, coordinator, campaign and sentinel, as pure state machines.
//!
//! A flow file names the parts, a plan is one call of them with every name looked up, and a
//! machine leads the plan to its end: it is told how a child ended and says what is next.
//! What a layer does with a child's end is never decided here but by
//! [`spore_model::propagation`], the one table for all layers.
//!
//! Each layer calls only the one below it, as a child run with steps of its own. So a run that
//! was killed is the same machines fed with what is on record, layer by layer.
//!
//! Nothing here touches a file, a clock, a thread or an agent: `app` performs the steps.

mod campaigns;
mod child;
mod compress;
mod documents;
mod execution_report;
mod files;
mod grade;
mod judges;
mod late;
mod manifest;
mod parts;
mod phases;
mod plan;
mod prompt_lint;
mod sentinel;
mod session_state;
mod signal;
mod stages;
mod turn;
mod wording;

pub use campaigns::answers::{EvaluatedCriterion, Evaluation, EvaluationIssue};
pub use campaigns::machine::{
    Campaign, CampaignEnding, CampaignManifest, CampaignNext, CampaignPart, CampaignPhase,
    CampaignPhaseStatus, CampaignRecord, CampaignStep, PhaseChange, RecordedChange, ReviewAnswer,
    change_key, lead_key,
};
pub use campaigns::plan::{
    CampaignGoal, CampaignPlan, CampaignTerms, DECISION, DomainPlan, EVALUATION, JUDGEMENT,
    PhasesWork, PlanningPlan, ResearchPlan,
};
pub use campaigns::report::{campaign_report, review_document};
pub use child::{ChildEnd, Diagnosis, Parked, WorkLine};
pub use documents::{
    StageWord, answer, complete_line, lead_prompt, prompt, read_status, refinement, summary_of,
};
pub use execution_report::execution_report;
pub use files::flow::{Flows, campaign_names, flow_keys};
pub use files::flow_file::FlowFile;
pub use files::mode::LayerMode;
pub use grade::Grade;
pub use judges::{JudgedWork, JudgesPlan, SentinelRole, SentinelRoles};
pub use late::{EachPlan, LateWords, MadeFor, PlannedWork, RoundsPlan, read_items};
pub use manifest::{
    ArtifactMark, CoordinatorManifest, ManifestSummary, OrchestratorEntry, PartStatus, PhaseReport,
    PhaseStatus, StageEntry, StageManifest,
};
pub use parts::{PartStep, Parts, PartsEnding, PartsNext};
pub use phases::led_parts::{LedParts, LedRest, LedStep};
pub use phases::{PhaseNext, PhaseStep, Phases, PhasesEnding, attempt_dir, phase_dir};
pub use plan::{
    CoordinatorPlan, ExecPlan, FlowLayer, Habits, OrchestratePlan, OrchestratorPlan, PhasePlan,
    PlanError, StagePlan, StageWork,
};
pub use prompt_lint::{
    PromptKind, PromptProblem, PromptRule, lint_document, lint_flow_file, lint_prompt, prompt_files,
};
pub use sentinel::{
    Audit, AuditFinding, AuditedRequirement, CheckFinding, CheckResult, CycleComparison,
    FailedAssertion, Fix, FixEnd, FixList, Requirement, RequirementLevel, RequirementStatus,
    RoleAnswer, RoleQuestion, Sentinel, SentinelEnding, SentinelNext, SentinelRules, SentinelStep,
    SentinelSubject, SentinelSummary, Severity, TestSpec, Verification,
};
pub use session_state::{
    CHECKPOINT_VERSION, Checkpoint, CompletedPhase, SessionRecord, SessionState, WrongTurn,
};
pub use signal::{SignalFile, SignalPointer, layer, live_lines, signal, started, status};
pub use stages::{StageNext, StageStep, Stages, StagesEnding};

pub use wording::{DataHole, DataMissing, Datum, FlowData, Wording};

/// Turns the name of a step into its key.
fn step_key(text: String) -> spore_model::StepKey {
    #[expect(
        clippy::expect_used,
        reason = "names of stages and phases are letters, digits, - and _"
    )]
    spore_model::StepKey::new(text).expect("a step's name is a key")
}
