//! How far the session of a coordinator is: its states, and the checkpoints between its phases.
//!
//! INIT, then for every phase PHASE_N, VERIFY and CHECKPOINT, and COMPLETE at the end; a phase that
//! is verified and not good enough goes through REFINEMENT back to itself. Where one phase ends the
//! session while another waits, that one is given up and COMPLETE comes at once. A step that is not in
//! this picture is refused: the process that writes the state has lost count.
//!
//! The journal decides what is done again. A checkpoint is what others read, and what a process that
//! goes on compares with the journal: both must tell of the same phases.

use serde::{Deserialize, Serialize};
use spore_model::{CommitId, Timestamp, TraceId};

use crate::grade::Grade;
use crate::manifest::PhaseReport;

/// The only version there is.
pub const CHECKPOINT_VERSION: u32 = 1;

/// Where a session is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionState {
    Init,
    /// Phases are counted from one, as they come to their end.
    Phase(u32),
    Verify(u32),
    Refinement(u32),
    Checkpoint(u32),
    Complete,
}

/// A step from one state to another that there is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a session cannot go from {} to {}", from.word(), to.word())]
pub struct WrongTurn {
    pub from: SessionState,
    pub to: SessionState,
}

impl SessionState {
    /// Goes on to `next`, if there is a way.
    pub fn go(self, next: Self) -> Result<Self, WrongTurn> {
        let is_way = match (self, next) {
            (Self::Init, Self::Phase(number)) => number == 1,
            (Self::Phase(one), Self::Verify(other))
            | (Self::Verify(one), Self::Checkpoint(other) | Self::Refinement(other))
            | (Self::Refinement(one), Self::Phase(other)) => one == other,
            (Self::Checkpoint(one), Self::Phase(other)) => one + 1 == other,
            // What ends a session is not absorbed by a phase that waits.
            (Self::Phase(_) | Self::Checkpoint(_), Self::Complete) => true,
            _ => false,
        };
        if is_way { Ok(next) } else { Err(WrongTurn { from: self, to: next }) }
    }

    /// The word for it in `.session-state`.
    pub fn word(self) -> String {
        match self {
            Self::Init => "INIT".to_owned(),
            Self::Phase(number) => format!("PHASE_{number}"),
            Self::Verify(_) => "VERIFY".to_owned(),
            Self::Refinement(_) => "REFINEMENT".to_owned(),
            Self::Checkpoint(_) => "CHECKPOINT".to_owned(),
            Self::Complete => "COMPLETE".to_owned(),
        }
    }
}

/// What a session's state file says.
#[derive(Clone, PartialEq, Debug)]
pub struct SessionRecord {
    pub state: SessionState,
    pub current_phase: u32,
    pub total_phases: u32,
    pub started_at: Timestamp,
    pub last_checkpoint: Option<String>,
    pub depth_used: u32,
    pub depth_max: u32,
}

impl SessionRecord {
    pub fn text(&self) -> String {
        let last = self.last_checkpoint.as_deref().unwrap_or("null");
        format!(
            "state: {}\ncurrent_phase: {}\ntotal_phases: {}\nstarted_at: {}\nlast_checkpoint: {last}\n\
             depth_used: {}\ndepth_max: {}\n",
            self.state.word(),
            self.current_phase,
            self.total_phases,
            self.started_at,
            self.depth_used,
            self.depth_max,
        )
    }
}

/// A phase that is over, as a checkpoint has it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CompletedPhase {
    pub name: String,
    pub exit_code: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sentinel_grade: Option<Grade>,
    /// Where its work is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
}

/// What a session was when one of its phases had come to its end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Checkpoint {
    pub checkpoint_version: u32,
    pub created_at: Timestamp,
    pub session_dir: String,
    pub trace_id: TraceId,
    pub completed_phases: Vec<CompletedPhase>,
    pub pending_phases: Vec<String>,
    pub depth_used: u32,
    pub depth_max: u32,
}

impl Checkpoint {
    /// Its file: when it was made, and a number that no other of the session has.
    pub fn file(&self) -> String {
        let at: String =
            self.created_at.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
        let at = at.get(..15).unwrap_or(&at);
        format!("cp-{at}-{:03}.json", self.completed_phases.len())
    }
}

impl From<&PhaseReport> for CompletedPhase {
    fn from(report: &PhaseReport) -> Self {
        Self {
            name: report.phase.clone(),
            exit_code: report.exit_code.unwrap_or_default(),
            sentinel_grade: report.sentinel_grade,
            commit: report.orchestrators.last().and_then(|last| last.commit.clone()),
            artifacts: report.artifacts.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use SessionState::{Checkpoint as At, Complete, Init, Phase, Refinement, Verify};
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(states: &[SessionState], is_way: bool) {
        let walked = states[1..].iter().try_fold(states[0], |at, next| at.go(*next));
        assert_eq!(walked.is_ok(), is_way, "{states:?}");
    }

    #[test]
    fn a_session_goes_from_phase_to_phase_and_no_other_way() {
        check(&[Init, Phase(1), Verify(1), At(1), Phase(2), Verify(2), At(2), Complete], true);
        check(&[Init, Phase(1), Verify(1), Refinement(1), Phase(1), Verify(1), At(1)], true);
        check(&[Init, Phase(1), Verify(1), At(1), Phase(2), Complete], true);
        check(&[Init, Complete], false);
        check(&[Init, Phase(2)], false);
        check(&[Init, Phase(1), At(1)], false);
        check(&[Init, Phase(1), Verify(1), Complete], false);
        check(&[At(1), Phase(1)], false);
        check(&[At(1), Phase(3)], false);
        check(&[Complete, Phase(1)], false);
        check(&[Phase(1), Refinement(1)], false);
    }

    fn any_state() -> impl Strategy<Value = SessionState> {
        let number = 1..5u32;
        prop_oneof![
            Just(Init),
            number.clone().prop_map(Phase),
            number.clone().prop_map(Verify),
            number.clone().prop_map(Refinement),
            number.prop_map(At),
            Just(Complete),
        ]
    }

    proptest! {
        /// However a session is led, no phase is left unverified and none is skipped.
        #[test]
        fn no_way_leads_past_a_verification(turns in proptest::collection::vec(any_state(), 0..200)) {
            let (mut at, mut verified, mut passed) = (Init, None, 0);
            for turn in turns {
                let Ok(next) = at.go(turn) else { continue };
                match next {
                    Verify(number) => verified = Some(number),
                    At(number) => {
                        prop_assert_eq!(verified, Some(number));
                        prop_assert_eq!(number, passed + 1);
                        passed = number;
                    }
                    Phase(_) => verified = None,
                    _ => {}
                }
                at = next;
            }
        }
    }

    #[test]
    fn checkpoints_of_one_second_have_names_of_their_own() {
        let checkpoint = |phases: usize| Checkpoint {
            checkpoint_version: CHECKPOINT_VERSION,
            created_at: Timestamp::from_millis(1_770_000_000_123),
            session_dir: ".spore/runs/x".to_owned(),
            trace_id: spore_model::RunId::from_parts(1, 1).into(),
            completed_phases: (0..phases)
                .map(|number| CompletedPhase {
                    name: format!("p{number}"),
                    exit_code: 0,
                    sentinel_grade: None,
                    commit: None,
                    artifacts: Vec::new(),
                })
                .collect(),
            pending_phases: Vec::new(),
            depth_used: 1,
            depth_max: 5,
        };
        assert_ne!(checkpoint(1).file(), checkpoint(2).file());
        assert_eq!(checkpoint(2).file(), "cp-20260202T024000-002.json");
    }
}
