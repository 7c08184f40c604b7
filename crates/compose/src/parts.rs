//! A stage that is done for several things as a state machine: some at a time, each healed and
//! retried by the table of its layer.
//!
//! What becomes of a part depends on its own ends alone, never on which part was first, so a
//! resumed run that is fed the same ends in another order arrives at the same place.

use serde::{Deserialize, Serialize};
use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{Outcome, StepKey};

use crate::child::{ChildEnd, Diagnosis, Parked};
use crate::manifest::{PartStatus, StageEntry};
use crate::plan::StagePlan;
use crate::stages::may_be_missed;

/// One thing that is to be done, perhaps not for the first time.
#[derive(Clone, PartialEq, Debug)]
pub struct PartStep {
    pub part: usize,
    pub attempt: u32,
    pub diagnosis: Option<Diagnosis>,
}

impl PartStep {
    /// The same step has the same key in every process that works on the run.
    pub fn key(&self) -> StepKey {
        crate::step_key(format!("part/{}/{}", self.part + 1, self.attempt))
    }
}

/// How all parts together ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PartsEnding {
    pub outcome: Outcome,
    pub reason: String,
    pub parts: Vec<StageEntry>,
}

/// What is next once nothing runs and nothing is due.
#[derive(Clone, PartialEq, Debug)]
pub enum PartsNext {
    Park(Parked),
    End(PartsEnding),
}

/// A stage on its way through the things that it is done for.
#[derive(Clone, Debug)]
pub struct Parts {
    names: Vec<String>,
    /// What may be tried with each.
    heals: u32,
    retries: u32,
    max_attempts: u32,
    idempotent: bool,
    max_parallel: usize,
    done: Vec<PartProgress>,
}

#[derive(Clone, Debug, Default)]
struct PartProgress {
    state: PartState,
    attempts: u32,
    heals: u32,
    retries: u32,
    diagnosis: Option<Diagnosis>,
}

#[derive(Clone, Debug, Default, PartialEq)]
enum PartState {
    #[default]
    Waiting,
    Running,
    Settled(Box<StageEntry>, Outcome),
    Parked(Parked),
}

impl Parts {
    pub fn new(stage: &StagePlan, items: &[String], max_attempts: u32) -> Self {
        let max_parallel = stage.each.as_ref().map_or(1, |each| each.max_parallel);
        Self {
            names: items.to_vec(),
            heals: stage.heals,
            retries: stage.retries,
            max_attempts,
            idempotent: stage.idempotent,
            max_parallel: max_parallel.max(1) as usize,
            done: items.iter().map(|_| PartProgress::default()).collect(),
        }
    }

    /// How many may still cost something.
    pub fn open(&self) -> usize {
        let settled = |one: &&PartProgress| !matches!(one.state, PartState::Settled(..));
        self.done.iter().filter(settled).count()
    }

    /// Returns what can begin now. From here on it counts as begun.
    pub fn due(&mut self) -> Vec<PartStep> {
        let mut due = Vec::new();
        let is_running = |one: &&PartProgress| one.state == PartState::Running;
        let mut running = self.done.iter().filter(is_running).count();
        // What is run again is run alone: else parts that do not fit each other would come back
        // for as long as there are others.
        let mut is_alone = self.done.iter().filter(is_running).any(|one| one.attempts > 0);
        for part in 0..self.done.len() {
            if self.is_stopped() || is_alone || running >= self.max_parallel {
                break;
            }
            let one = &mut self.done[part];
            if one.state == PartState::Waiting && (one.attempts == 0 || running == 0) {
                is_alone = one.attempts > 0;
                one.state = PartState::Running;
                let (attempt, diagnosis) = (one.attempts + 1, one.diagnosis.take());
                due.push(PartStep { part, attempt, diagnosis });
                running += 1;
            }
        }
        due
    }

    /// Takes the end of a part. Returns false for one that is parked: then it is no result, and
    /// resume does the part again.
    pub fn apply(&mut self, step: &PartStep, end: &ChildEnd) -> bool {
        let (at, attempt) = (step.part, step.attempt);
        let name = self.names[at].clone();
        let one = &mut self.done[at];
        let more = self.max_attempts.saturating_sub(attempt);
        let left = AttemptsLeft {
            retries: self.retries.saturating_sub(one.retries).min(more),
            heals: self.heals.saturating_sub(one.heals).min(more),
            idempotent: self.idempotent,
            budget: end.budget_left,
        };
        let action = decide(Layer::Stage, end.outcome, left);
        if let Action::Park(outcome)
        | Action::RaiseAndCleanUp(outcome)
        | Action::Raise(outcome @ (Outcome::NeedsHuman | Outcome::NeedsEscalation)) = action
            && end.answer.is_none()
        {
            one.state = PartState::Parked(Parked::because(&name, outcome, end));
            return false;
        }
        one.attempts = attempt;
        one.state = PartState::Waiting;
        match action {
            Action::Heal => {
                one.heals += 1;
                one.diagnosis = Some(Diagnosis::of(attempt, end));
            }
            Action::RetryFailedParts => {
                one.retries += 1;
                one.diagnosis = Some(Diagnosis::of(attempt, end));
            }
            // A question of a part that is over: with its answer the part is run again.
            Action::Raise(Outcome::NeedsHuman | Outcome::NeedsEscalation)
                if end.answer.is_some() =>
            {
                one.diagnosis = Some(Diagnosis::of(attempt, end));
            }
            Action::Retry => one.retries += 1,
            Action::Advance => {
                let entry = end.entry(&name, PartStatus::Success, attempt);
                one.state = PartState::Settled(Box::new(entry), end.outcome);
            }
            _ => {
                let entry = end.entry(&name, PartStatus::Failure, attempt);
                one.state = PartState::Settled(Box::new(entry), end.outcome);
            }
        }
        true
    }

    /// Begins a part anew whose end is on record while what it left is gone.
    pub fn lost(&mut self, step: &PartStep) {
        let one = &mut self.done[step.part];
        *one = PartProgress { attempts: step.attempt, ..PartProgress::default() };
    }

    /// Says how it rests once nothing runs and nothing is due.
    pub fn rest(&self) -> PartsNext {
        let parked = |wanted: &dyn Fn(Outcome) -> bool| {
            self.done.iter().find_map(|one| match &one.state {
                PartState::Parked(parked) if wanted(parked.outcome) => {
                    Some(PartsNext::Park(parked.clone()))
                }
                _ => None,
            })
        };
        let raised = |wanted: &dyn Fn(Outcome) -> bool| {
            self.failed().find(|(_, outcome)| wanted(*outcome)).map(|(entry, outcome)| {
                let reason = entry.error.clone().unwrap_or_default();
                self.ending(outcome, format!("{}: {reason}", entry.name))
            })
        };
        // What no layer absorbs comes first, then what has to wait, then what concerns all.
        parked(&|outcome| outcome == Outcome::Interrupted)
            .or_else(|| raised(&|outcome| outcome == Outcome::DepthExceeded))
            .or_else(|| parked(&|_| true))
            .or_else(|| raised(&|outcome| !may_be_missed(outcome)))
            .unwrap_or_else(|| self.conclude())
    }

    fn conclude(&self) -> PartsNext {
        let failed: Vec<(&StageEntry, Outcome)> = self.failed().collect();
        let told = || {
            let one = |(entry, _): &(&StageEntry, Outcome)| {
                format!("{}: {}", entry.name, entry.error.as_deref().unwrap_or_default())
            };
            failed.iter().map(one).collect::<Vec<_>>().join("; ")
        };
        match failed.as_slice() {
            [] => self.ending(Outcome::Success, format!("all {} are done", self.done.len())),
            [(_, first), ..] if failed.len() == self.done.len() => self.ending(*first, told()),
            _ => self.ending(Outcome::Partial, told()),
        }
    }

    fn ending(&self, outcome: Outcome, reason: String) -> PartsNext {
        let entries = self.names.iter().zip(&self.done).map(|(name, one)| match &one.state {
            PartState::Settled(entry, _) => (**entry).clone(),
            _ => StageEntry::skipped(name),
        });
        PartsNext::End(PartsEnding { outcome, reason, parts: entries.collect() })
    }

    fn failed(&self) -> impl Iterator<Item = (&StageEntry, Outcome)> {
        self.done.iter().filter_map(|one| match &one.state {
            PartState::Settled(entry, outcome) if entry.status == PartStatus::Failure => {
                Some((&**entry, *outcome))
            }
            _ => None,
        })
    }

    /// Returns whether anything has happened that concerns all parts.
    fn is_stopped(&self) -> bool {
        self.done.iter().any(|one| match &one.state {
            PartState::Parked(_) => true,
            PartState::Settled(_, outcome) => {
                *outcome != Outcome::Success && !may_be_missed(*outcome)
            }
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spore_model::RunId;

    use super::*;
    use crate::late::EachPlan;
    use crate::stages::tests::read_stage;

    fn parts(count: usize, max_parallel: u32) -> Parts {
        let each = EachPlan { items: Vec::new(), file: None, max_parallel, max_items: 50 };
        let stage = StagePlan { each: Some(each), ..read_stage("A") };
        let items: Vec<String> = (0..count).map(|at| format!("item {at}")).collect();
        Parts::new(&stage, &items, 4)
    }

    fn end(outcome: Outcome) -> ChildEnd {
        ChildEnd::new(RunId::from_parts(1, 1), outcome, Some("so it went".to_owned()))
    }

    /// Plays parts to their rest; the next outcome is drawn for whichever part is told of.
    fn play(mut parts: Parts, outcomes: &[Outcome], backwards: bool) -> (PartsNext, usize, usize) {
        let mut ends = outcomes.iter().cycle();
        let (mut running, mut most, mut sessions) = (Vec::new(), 0, 0);
        loop {
            running.extend(parts.due());
            most = most.max(running.len());
            let next = if backwards {
                running.pop()
            } else {
                (!running.is_empty()).then(|| running.remove(0))
            };
            let Some(step) = next else { return (parts.rest(), most, sessions) };
            sessions += 1;
            let _ = parts.apply(&step, &end(*ends.next().unwrap()));
        }
    }

    #[test]
    fn what_fails_is_run_again_and_what_holds_is_not() {
        let (rest, most, sessions) = play(parts(5, 2), &[Outcome::Success], false);
        let PartsNext::End(ending) = rest else { panic!("{rest:?}") };
        assert_eq!((ending.outcome, ending.parts.len()), (Outcome::Success, 5));
        assert_eq!((most, sessions), (2, 5));
        let (rest, _, sessions) = play(parts(2, 2), &[Outcome::Failure], false);
        let PartsNext::End(ending) = rest else { panic!("{rest:?}") };
        assert_eq!((ending.outcome, sessions), (Outcome::Failure, 8));
    }

    #[test]
    fn a_part_that_asks_waits_and_with_an_answer_is_run_again() {
        for outcome in [Outcome::NeedsHuman, Outcome::NeedsEscalation] {
            let mut machine = parts(2, 1);
            let step = machine.due().remove(0);
            assert!(!machine.apply(&step, &end(outcome)), "it has no result");
            assert!(matches!(machine.rest(), PartsNext::Park(parked) if parked.outcome == outcome));
            let mut machine = parts(2, 1);
            let step = machine.due().remove(0);
            let answer = Some("the first".to_owned());
            assert!(machine.apply(&step, &ChildEnd { answer, ..end(outcome) }));
            let again = machine.due().remove(0);
            assert_eq!((again.part, again.attempt), (0, 2));
            assert_eq!(again.diagnosis.unwrap().answer.as_deref(), Some("the first"));
        }
    }

    #[test]
    fn a_part_that_is_lost_is_another_attempt() {
        let mut machine = parts(1, 1);
        let step = machine.due().remove(0);
        machine.lost(&step);
        assert_eq!(machine.open(), 1);
        let again = machine.due().remove(0);
        assert_eq!(again.attempt, 2);
        let _ = machine.apply(&again, &end(Outcome::Success));
        assert!(
            matches!(machine.rest(), PartsNext::End(ending) if ending.outcome == Outcome::Success)
        );
    }

    proptest! {
        #[test]
        fn depth_and_interrupts_are_never_absorbed_and_no_part_is_begun_after_them(
            picks in prop::collection::vec(0..Outcome::ALL.len(), 1..12),
            count in 1..6usize, at_once in 1..4u32, backwards: bool,
        ) {
            let outcomes: Vec<Outcome> = picks.iter().map(|at| Outcome::ALL[*at]).collect();
            let mut machine = parts(count, at_once);
            let mut seen = Vec::new();
            let mut running: Vec<PartStep> = Vec::new();
            let mut ends = outcomes.iter().cycle();
            loop {
                let due = machine.due();
                let stops = |one: &Outcome| matches!(one, Outcome::Interrupted | Outcome::DepthExceeded);
                prop_assert!(due.is_empty() || !seen.iter().any(stops), "{seen:?} and then {due:?}");
                running.extend(due);
                prop_assert!(running.len() <= at_once as usize);
                let next = if backwards { running.pop() } else { (!running.is_empty()).then(|| running.remove(0)) };
                let Some(step) = next else { break };
                prop_assert!(step.attempt <= 4);
                let outcome = *ends.next().unwrap();
                seen.push(outcome);
                let _ = machine.apply(&step, &end(outcome));
            }
            let outcome = match machine.rest() {
                PartsNext::Park(parked) => parked.outcome,
                PartsNext::End(ending) => ending.outcome,
            };
            if seen.contains(&Outcome::Interrupted) {
                prop_assert_eq!(outcome, Outcome::Interrupted);
            } else if seen.contains(&Outcome::DepthExceeded) {
                prop_assert_eq!(outcome, Outcome::DepthExceeded);
            } else if outcome == Outcome::Success {
                prop_assert!(seen.iter().filter(|one| **one == Outcome::Success).count() >= count);
            }
        }
    }
}
