//! What a run does, one step at a time, and which results each step can have.

use serde::{Deserialize, Serialize};
use spore_model::{
    CommitId, Cost, EffectClass, Fault, Finding, Outcome, Park, ProofSummary, RunId, SessionNotes,
    StepKey, TreeId, Usage, Verdict,
};

use crate::Evidence;

/// Something to be done. The same step has the same key in every process that works on the
/// run, so its result is looked up before it is done.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// Pin the base commit and lay out the coder's checkout.
    Prepare,
    /// Run the gates on the base, so that old failures are not the coder's.
    Baseline,
    /// One session that writes tests for the task before there is a change. The coder never sees
    /// them.
    Tester,
    /// One coder session, with what was wrong with the bounce before. `conversation` is the
    /// one that bounce ended well in, to go on with.
    Coder { bounce: u32, evidence: Option<Evidence>, conversation: Option<String> },
    /// Turn the checkout's content into a tree that can be judged.
    Snapshot { bounce: u32 },
    /// Bring verified work onto the commit that the branch is at by now.
    Rebase,
    /// Run the gates on that tree.
    Gates { bounce: u32, tree: TreeId },
    /// One verifier session, on exactly that tree. `attempt` counts restarts of a verifier
    /// that broke down.
    Verifier { bounce: u32, tree: TreeId, attempt: u32 },
    /// Record how the bounce ended.
    Close { bounce: u32, outcome: Outcome, verdict: Option<Verdict>, reason: String },
    /// Make the verified tree a commit.
    Commit { bounce: u32, tree: TreeId },
    /// Bring the commit where the person asked for it.
    Apply { commit: CommitId, conclusion: Conclusion },
    /// Leave a record for the person who has to take over.
    Escalate { bounce: u32, reason: String },
    /// One session that sums up a run which is already decided. Nothing that happens in it
    /// changes the conclusion.
    Summarize { bounce: u32, conclusion: Conclusion },
    /// One session of a single role, for its own sake: no verifier judges it.
    Solo { role: String },
    /// Close the run.
    Finish { conclusion: Conclusion },
}

impl Step {
    pub fn key(&self) -> StepKey {
        match self {
            Self::Prepare => StepKey::prepare(),
            Self::Baseline => StepKey::baseline(),
            Self::Tester => StepKey::tester(),
            Self::Coder { bounce, .. } => StepKey::coder(*bounce),
            Self::Snapshot { bounce } => StepKey::snapshot(*bounce),
            Self::Rebase => StepKey::rebase(),
            Self::Gates { bounce, .. } => StepKey::gates(*bounce),
            Self::Verifier { bounce, attempt, .. } => StepKey::verifier(*bounce, *attempt),
            Self::Close { bounce, .. } => StepKey::close(*bounce),
            Self::Commit { .. } => StepKey::commit(),
            Self::Apply { .. } => StepKey::apply(),
            Self::Escalate { .. } => StepKey::escalate(),
            Self::Summarize { .. } => StepKey::summarize(),
            Self::Solo { .. } => StepKey::solo(),
            Self::Finish { .. } => StepKey::finish(),
        }
    }

    pub const fn class(&self) -> EffectClass {
        match self {
            Self::Tester
            | Self::Coder { .. }
            | Self::Verifier { .. }
            | Self::Summarize { .. }
            | Self::Solo { .. } => EffectClass::Paid,
            Self::Baseline | Self::Gates { .. } => EffectClass::Fenced,
            _ => EffectClass::Keyed,
        }
    }

    /// Returns the bounce the step belongs to; zero for those of the run itself.
    pub const fn bounce(&self) -> u32 {
        match self {
            Self::Coder { bounce, .. }
            | Self::Snapshot { bounce }
            | Self::Gates { bounce, .. }
            | Self::Verifier { bounce, .. }
            | Self::Close { bounce, .. } => *bounce,
            _ => 0,
        }
    }
}

/// The result of an agent session, as far as the loop needs it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionSummary {
    pub run: RunId,
    pub outcome: Outcome,
    /// Why, where it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub final_text: String,
    /// The agent's own id of the conversation, to continue it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The model that did the work, else the one that was asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub turns: u32,
    pub usage: Usage,
    pub cost: Cost,
    /// What it was not let do, and until when it has to wait.
    #[serde(default, skip_serializing_if = "SessionNotes::is_empty")]
    pub notes: SessionNotes,
    #[serde(default)]
    pub duration_ms: u64,
    /// What its program exited with by itself, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

/// The result of the gates, as far as the loop needs it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct GateSummary {
    pub green: bool,
    /// One line a gate, for people and for the verifier.
    pub lines: Vec<String>,
    /// Names of tests that fail now and did not at the base.
    pub new_failures: Vec<String>,
    /// The part of the logs that the coder needs, capped.
    pub evidence: String,
    /// What green checks of a change prove; nothing where there was nothing to prove.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofSummary>,
    /// Red gates that name no failing test: no later failure of theirs can be told from an
    /// earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nameless: Vec<NamelessGate>,
    /// The commands of the red gates where the task alone asked for all of them, beside the
    /// project's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<String>,
}

/// A gate that is red and names no test that failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NamelessGate {
    pub command: String,
    /// Its program or script could not even be started.
    pub unstarted: bool,
    /// Its last lines.
    pub tail: String,
}

/// What a tester left for the change to be held to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WrittenTests {
    /// The base with them, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    pub files: Vec<String>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What became of one run's verified work on another commit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RebasedEntry {
    /// The run that it is of.
    pub owner: RunId,
    #[serde(flatten)]
    pub fate: RebaseFate,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum RebaseFate {
    /// It is in: the tree with it and with all before it.
    Stacked { tree: TreeId },
    /// These files were changed on both sides; `shown` has the places, capped.
    Conflict { files: Vec<String>, shown: String },
    /// Together with the others it cannot be told what is whose: it is to be checked by itself.
    Apart { reason: String },
}

/// How the run as a whole ends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Conclusion {
    pub outcome: Outcome,
    /// Set where the run could not rightly begin; the exit code is the fault's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
}

/// The result of a step, which the journal keeps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "done", rename_all = "snake_case")]
pub enum Done {
    Prepared {
        base: CommitId,
        tree: TreeId,
    },
    Baseline(GateSummary),
    /// `session` is missing where none could be started.
    Tester {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionSummary>,
        tests: WrittenTests,
    },
    Coder(SessionSummary),
    /// `secrets` are places in the change that look like one, never the text itself. Where the
    /// files could not be stored, `refused` says why, and `tree` is the one the bounce began with.
    /// `left_out` are files that were edited and that no commit takes.
    Snapshot {
        tree: TreeId,
        changed_files: u32,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        secrets: Vec<Finding>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<String>,
    },
    /// `tree` is the whole of what was brought together; what `overlap` names was touched on both
    /// sides, itself or what it calls and is called by.
    Rebased {
        tree: TreeId,
        entries: Vec<RebasedEntry>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        overlap: Vec<String>,
    },
    Gates(GateSummary),
    /// `intact` is false when the session changed the tree it was to judge; `submitted` is
    /// what it handed in through the tool that is there for it, and `nonce` what a verdict in
    /// its last message must carry.
    Verifier {
        session: SessionSummary,
        intact: bool,
        #[serde(default)]
        nonce: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        submitted: Option<Verdict>,
    },
    Closed,
    Committed {
        commit: CommitId,
    },
    /// `record` is the caller's own account of it. Verified work that could not be brought
    /// where it was asked to be is verified all the same.
    Applied {
        record: serde_json::Value,
    },
    Escalated,
    /// `session` is missing where none was started: the budget was spent.
    Summarized {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionSummary>,
        /// One line for people: what was kept of it.
        note: String,
    },
    Solo(SessionSummary),
    Finished,
    /// The step was cut short and will be done again: interrupt, quota, budget.
    /// Never recorded as a result.
    Stopped {
        park: Park,
        reason: String,
    },
}
