//! Parts of a layer that a session chooses among, in place of the layer's own machine.
//!
//! The session says what is next and nothing else: what may be run, how often, and what the whole
//! comes to is decided here, by the ends of the parts and the one table for all layers. So a
//! session cannot go past a limit, an interrupt or a question to a person, and no word of it makes
//! a part pass.

use std::collections::BTreeMap;

use spore_model::propagation::{Action, AttemptsLeft, Layer, decide};
use spore_model::{Outcome, Park};

use crate::child::{ChildEnd, Diagnosis, Parked, WorkLine};
use crate::documents;
use crate::late::RoundsPlan;
use crate::manifest::{
    CoordinatorManifest, PartStatus, PhaseReport, PhaseStatus, StageEntry, StageManifest,
};
use crate::phases::{
    PhasesEnding, left_of_phase, phase_report, spent_on_stages, stages_that_passed,
};
use crate::plan::{CoordinatorPlan, OrchestratorPlan, PhasePlan, StagePlan};
use crate::stages::StagesEnding;
use crate::wording::FlowData;

/// The parts of one layer, as far as they are.
#[derive(Clone, Debug)]
pub struct LedParts {
    layer: Layer,
    parts: Vec<LedPart>,
    /// What concerns the whole layer: nothing is begun after it.
    stop: Option<LedStop>,
}

#[derive(Clone, Debug, Default)]
struct LedPart {
    name: String,
    required: bool,
    depends_on: Vec<String>,
    limits: Option<LedLimits>,
    /// Its stage that passed in an earlier attempt at the whole.
    passed: Option<StageEntry>,
    /// Those of the round that it is in.
    ends: Vec<ChildEnd>,
    /// How many of them are no attempt of the session's.
    lost: u32,
    retries: u32,
    heals: u32,
    /// What its next attempt goes on from.
    kept: Option<KeptStages>,
    asks: Option<Parked>,
    /// When it is enough, where the part says that.
    rounds: Option<RoundsPlan>,
    round: u32,
    /// What the round before was not good enough for.
    feedback: Option<Diagnosis>,
    /// Why it is not run again.
    closed: Option<String>,
}

/// What says how often a part may be tried.
#[derive(Clone, Debug)]
enum LedLimits {
    Stage {
        plan: Box<StagePlan>,
        /// How often in all, less what earlier attempts at the whole have used.
        attempts: u32,
    },
    Phase(Box<PhasePlan>),
}

/// Stages of a phase that are not run again with those that failed, and what they left.
#[derive(Clone, Debug)]
struct KeptStages {
    passed: Vec<StageEntry>,
    line: Option<WorkLine>,
}

#[derive(Clone, Debug)]
enum LedStop {
    Parked(Parked),
    Raised(Outcome, String),
}

/// A part that may be run now.
#[derive(Clone, PartialEq, Debug)]
pub struct LedStep {
    pub part: usize,
    /// Rounds begin anew with attempts.
    pub round: u32,
    pub attempt: u32,
    /// What went wrong before.
    pub diagnosis: Option<Diagnosis>,
    /// The same as the layer below is told it.
    pub resolution: Option<String>,
    /// Of a phase: how often each of its stages was tried before.
    pub spent: BTreeMap<String, u32>,
    /// Of a phase: its stages that passed before, where only the others are run again.
    pub passed: Vec<StageEntry>,
    /// What those left.
    pub line: Option<WorkLine>,
}

/// How the layer rests when its session is over.
#[derive(Clone, PartialEq, Debug)]
pub enum LedRest {
    Park(Parked),
    End(Outcome, String),
}

impl LedParts {
    /// The stages of an orchestrator. Each builds on those before it, in the order of the plan: what
    /// is not required may be left out, but nothing is begun after a later one, whose checks would
    /// not have seen it.
    pub fn stages(plan: &OrchestratorPlan) -> Self {
        let stages = plan.stages.iter().enumerate();
        let parts = stages.map(|(at, stage)| LedPart {
            name: stage.name.clone(),
            required: stage.required,
            depends_on: plan.stages[..at]
                .iter()
                .filter(|before| before.required)
                .map(|before| before.name.clone())
                .collect(),
            limits: Some(LedLimits::Stage {
                plan: Box::new(stage.clone()),
                attempts: plan.attempts_left(&stage.name),
            }),
            passed: plan.passed.iter().find(|entry| entry.name == stage.name).cloned(),
            rounds: stage.rounds.clone(),
            ..LedPart::default()
        });
        Self { layer: Layer::Stage, parts: parts.collect(), stop: None }
    }

    /// The phases of a coordinator.
    pub fn phases(plan: &CoordinatorPlan) -> Self {
        let parts = plan.phases.iter().map(|phase| LedPart {
            name: phase.name.clone(),
            required: phase.required,
            depends_on: phase.depends_on.clone(),
            limits: Some(LedLimits::Phase(Box::new(phase.clone()))),
            ..LedPart::default()
        });
        Self { layer: Layer::Phase, parts: parts.collect(), stop: None }
    }

    /// Returns the next attempt at a part, or why there is none.
    pub fn choose(&self, name: &str) -> Result<LedStep, String> {
        match &self.stop {
            Some(LedStop::Parked(parked)) => {
                return Err(format!("nothing more is run: {}", parked.reason));
            }
            Some(LedStop::Raised(_, reason)) => {
                return Err(format!("nothing more is run: {reason}"));
            }
            None => {}
        }
        let Some(at) = self.parts.iter().position(|part| part.name == name) else {
            let names: Vec<&str> = self.parts.iter().map(|part| &*part.name).collect();
            return Err(format!("there is no such part; there are: {}", names.join(", ")));
        };
        let part = &self.parts[at];
        if self.has_passed(name) {
            return Err(format!("{name} is done already"));
        }
        if part.asks.is_some() {
            return Err(format!("{name} waits for a person"));
        }
        let open = part.depends_on.iter().filter(|other| !self.has_passed(other));
        let open: Vec<&str> = open.map(String::as_str).collect();
        if !open.is_empty() {
            return Err(format!("{name} waits for: {}", open.join(", ")));
        }
        if let Some(later) = self.begun_after(at) {
            return Err(format!("{name} comes before {later}, which was begun already"));
        }
        if let Some(why) = &part.closed {
            return Err(format!("{name} is not run again: {why}"));
        }
        let attempt = count(&part.ends) + 1;
        let before = part.ends.last();
        let diagnosis = before.map(|end| Diagnosis::of(attempt - 1, end));
        let diagnosis = diagnosis.or_else(|| part.feedback.clone());
        let resolution = before.map(|end| documents::resolution(name, end));
        let kept = part.kept.clone();
        let (passed, line) = kept.map(|kept| (kept.passed, kept.line)).unwrap_or_default();
        let spent = spent_on_stages(part.ends.iter());
        let round = part.round + 1;
        Ok(LedStep { part: at, round, attempt, diagnosis, resolution, spent, passed, line })
    }

    /// Returns a stage after this one that was begun. Phases are in the order of what they wait for.
    fn begun_after(&self, at: usize) -> Option<&str> {
        if self.layer != Layer::Stage {
            return None;
        }
        let begun = |part: &&LedPart| !part.ends.is_empty() || part.asks.is_some();
        self.parts[at + 1..].iter().find(begun).map(|part| &*part.name)
    }

    /// Takes the end of a part. Returns false for one that is parked: then it is no result.
    pub fn apply(&mut self, at: usize, end: &ChildEnd) -> bool {
        let name = self.parts[at].name.clone();
        let parked = |outcome| Parked::because(&name, outcome, end);
        let action = decide(self.layer, end.outcome, self.parts[at].left(end));
        match action {
            Action::Park(outcome) | Action::RaiseAndCleanUp(outcome) => {
                self.stop = Some(LedStop::Parked(parked(outcome)));
                return false;
            }
            // A question of a part that is over: with its answer the part is run again.
            Action::Raise(Outcome::NeedsHuman | Outcome::NeedsEscalation)
                if end.answer.is_some() => {}
            Action::Raise(outcome @ (Outcome::NeedsHuman | Outcome::NeedsEscalation)) => {
                let parked = parked(outcome);
                match parked.park {
                    // A question is its own part's: the others can go on.
                    Park::Human => self.parts[at].asks = Some(parked),
                    _ => self.stop = Some(LedStop::Parked(parked)),
                }
                return false;
            }
            Action::Raise(Outcome::DepthExceeded) => {
                let reason = format!("{name}: {}", end.told());
                self.stop = Some(LedStop::Raised(Outcome::DepthExceeded, reason));
            }
            _ => {}
        }
        self.take(at, end, action);
        true
    }

    /// Notes what may become of a part that is over. Whether one that may be run again is, is for the
    /// session to say.
    fn note(&mut self, at: usize, end: &ChildEnd, action: Action) {
        let tried = count(&self.parts[at].ends);
        let part = &mut self.parts[at];
        part.kept = None;
        match action {
            Action::Heal | Action::Resolve => part.heals += 1,
            Action::Retry => part.retries += 1,
            Action::RetryFailedParts => {
                part.retries += 1;
                let passed = stages_that_passed(end);
                let line = end.line.clone().filter(|_| !passed.is_empty());
                part.kept = Some(KeptStages { passed, line });
            }
            Action::Raise(Outcome::NeedsHuman | Outcome::NeedsEscalation) => {}
            Action::Raise(Outcome::TimedOut) if !part.is_idempotent() => {
                let why = "it took too long, and how far it came is not known";
                part.closed = Some(why.to_owned());
            }
            Action::Raise(_) if tried == 1 => {
                part.closed = Some("it was tried once, which is all".to_owned());
            }
            Action::Raise(_) => {
                part.closed = Some(format!("it was tried {tried} times, which is all"));
            }
            _ => {}
        }
    }

    /// Keeps the end of a part. Of one that says when it is enough only that word is a success: while
    /// rounds are left, it is begun anew with all that its round is about.
    fn take(&mut self, at: usize, end: &ChildEnd, action: Action) {
        let part = &self.parts[at];
        let is_done = matches!(end.outcome, Outcome::Success | Outcome::NeedsRefinement);
        let is_enough = end.outcome == Outcome::Success && end.says_until.unwrap_or(false);
        let Some(plan) = part.rounds.clone().filter(|_| is_done && !is_enough) else {
            self.parts[at].ends.push(end.clone());
            self.note(at, end, action);
            return;
        };
        let (until, most, round) = (&plan.until, plan.max_rounds, part.round + 1);
        if round >= most {
            let reason = format!("it does not say {until} after {most} rounds");
            let outcome = Outcome::NeedsRefinement;
            self.parts[at].closed = Some(reason.clone());
            self.parts[at].ends.push(ChildEnd { outcome, reason: Some(reason), ..end.clone() });
            return;
        }
        let attempt = count(&part.ends) + 1;
        let reason = format!("{} does not say {until} in round {round} of {most}", part.name);
        let output = end.diagnosis.clone();
        let mut feedback = Some(Diagnosis { attempt, reason, output, answer: None });
        let first = self.parts.iter().position(|one| one.name == plan.from).unwrap_or(at);
        for one in &mut self.parts[first.min(at)..=at] {
            one.begin_anew(feedback.take());
        }
    }

    /// Has a part run anew whose end is on record while what it left is gone. It is no attempt of
    /// the session's, which asked for none of it.
    pub fn lost(&mut self, at: usize, end: &ChildEnd) {
        let (outcome, line) = (Outcome::Failure, None);
        let reason = Some("what it left, or stood on, is gone".to_owned());
        let part = &mut self.parts[at];
        part.lost += 1;
        part.kept = None;
        part.ends.push(ChildEnd { outcome, line, reason, ..end.clone() });
    }

    /// Says what the whole comes to when the session is over.
    pub fn rest(&self) -> LedRest {
        match &self.stop {
            Some(LedStop::Parked(parked)) => return LedRest::Park(parked.clone()),
            Some(LedStop::Raised(outcome, reason)) => {
                return LedRest::End(*outcome, reason.clone());
            }
            None => {}
        }
        if let Some(parked) = self.parts.iter().find_map(|part| part.asks.as_ref()) {
            return LedRest::Park(parked.clone());
        }
        let missed = self.parts.iter().filter(|part| !self.has_passed(&part.name));
        let missed: Vec<&LedPart> = missed.collect();
        let told = |part: &&LedPart| match part.ends.last() {
            Some(end) => format!("{}: {}", part.name, end.told()),
            None => format!("{} was not run", part.name),
        };
        let reason = || missed.iter().map(told).collect::<Vec<_>>().join("; ");
        match missed.iter().find(|part| part.required) {
            Some(part) => {
                let outcome = part.ends.last().map_or(Outcome::Failure, |end| end.outcome);
                LedRest::End(outcome, reason())
            }
            None if missed.is_empty() => {
                LedRest::End(Outcome::Success, "every part passed".to_owned())
            }
            None if missed.len() == self.parts.len() => {
                LedRest::End(Outcome::Failure, format!("no part passed: {}", reason()))
            }
            None => LedRest::End(Outcome::Partial, format!("not every part passed: {}", reason())),
        }
    }

    /// What the layer waits for, where it does.
    pub fn waits(&self) -> Option<Parked> {
        match self.rest() {
            LedRest::Park(parked) => Some(parked),
            LedRest::End(..) => None,
        }
    }

    /// How the stages of an orchestrator ended.
    pub fn stages_ending(
        &self,
        plan: &OrchestratorPlan,
        outcome: Outcome,
        reason: String,
    ) -> StagesEnding {
        let named = (&*plan.orchestrator, &*plan.modifier, &*plan.target);
        let manifest = StageManifest::summed(named, self.entries(), outcome);
        StagesEnding { outcome, reason, manifest }
    }

    /// How the phases of a coordinator ended.
    pub fn phases_ending(
        &self,
        plan: &CoordinatorPlan,
        outcome: Outcome,
        reason: String,
    ) -> PhasesEnding {
        let reports = (0..self.parts.len()).map(|at| self.report(plan, at)).collect();
        let manifest = CoordinatorManifest::summed(&plan.coordinator, reports, outcome);
        PhasesEnding { outcome, reason, manifest }
    }

    /// The reports of all phases that were run.
    pub fn reports(&self, plan: &CoordinatorPlan) -> Vec<(usize, PhaseReport)> {
        let was_run = |at: &usize| !self.parts[*at].ends.is_empty();
        (0..self.parts.len()).filter(was_run).map(|at| (at, self.report(plan, at))).collect()
    }

    /// The reports of those phases that are not run again.
    pub fn settled(&self, plan: &CoordinatorPlan) -> Vec<(usize, PhaseReport)> {
        let is_over = |part: &LedPart| part.has_passed() || part.closed.is_some();
        let mut reports = self.reports(plan);
        reports.retain(|(at, _)| is_over(&self.parts[*at]));
        reports
    }

    /// The stages that failed and are not run again.
    pub fn closed_stages(&self) -> Vec<(usize, StageEntry)> {
        let entries = self.entries().into_iter().enumerate();
        entries.filter(|(at, _)| self.parts[*at].closed.is_some()).collect()
    }

    fn report(&self, plan: &CoordinatorPlan, at: usize) -> PhaseReport {
        let ends = &self.parts[at].ends;
        let status = match ends.last() {
            None => PhaseStatus::Skipped,
            Some(end) if end.outcome == Outcome::Success => PhaseStatus::Complete,
            Some(_) => PhaseStatus::Failure,
        };
        phase_report((at, &plan.phases[at]), status, ends)
    }

    /// Returns what is known by now of the stages that are over.
    pub fn stage_data(&self) -> FlowData {
        FlowData::of_stages(self.entries().iter())
    }

    /// Returns what is known by now of the phases that passed.
    pub fn phase_data(&self) -> FlowData {
        let mut data = FlowData::default();
        for part in self.parts.iter().filter(|part| self.has_passed(&part.name)) {
            if let Some(end) = part.ends.last() {
                let commit = end.line.as_ref().map(|line| line.tip.to_string());
                data.add_phase(&part.name, &end.stages, commit);
            }
        }
        data
    }

    fn entries(&self) -> Vec<StageEntry> {
        let entry = |part: &LedPart| {
            if let Some(passed) = &part.passed {
                return passed.clone();
            }
            let attempts = count(&part.ends);
            let rounds = (part.round > 0).then_some(part.round + 1);
            let entry = match part.ends.last() {
                None => return StageEntry::skipped(&part.name),
                Some(end) if end.outcome == Outcome::Success => {
                    end.entry(&part.name, PartStatus::Success, attempts)
                }
                Some(end) => end.entry(&part.name, PartStatus::Failure, attempts),
            };
            StageEntry { rounds, ..entry }
        };
        self.parts.iter().map(entry).collect()
    }

    /// How far the parts are, a line each.
    pub fn status(&self) -> String {
        let line = |part: &LedPart| {
            let state = match (self.has_passed(&part.name), part.ends.last(), &part.asks) {
                (true, ..) => "passed".to_owned(),
                (_, _, Some(parked)) => format!("waits for a person: {}", parked.reason),
                (_, Some(end), _) => {
                    format!("failed {} times: {}", part.ends.len(), end.told())
                }
                (_, None, _) if part.round > 0 => format!("to be run in round {}", part.round + 1),
                (_, None, _) => "not run yet".to_owned(),
            };
            format!("{}: {}\n", part.name, spore_plain::line_within(&state, 500))
        };
        self.parts.iter().map(line).collect()
    }

    fn has_passed(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.name == name && part.has_passed())
    }
}

impl LedPart {
    fn has_passed(&self) -> bool {
        let passes = |end: &ChildEnd| end.outcome == Outcome::Success;
        self.passed.is_some() || self.ends.last().is_some_and(passes)
    }

    /// What may still be tried after `end`, by the limits of the layer's own machine.
    fn left(&self, end: &ChildEnd) -> AttemptsLeft {
        match &self.limits {
            None => AttemptsLeft { budget: end.budget_left, ..AttemptsLeft::default() },
            Some(LedLimits::Phase(plan)) => {
                left_of_phase(plan, (self.retries, self.heals), &self.ends, end)
            }
            Some(LedLimits::Stage { plan, attempts }) => {
                let tried = (count(&self.ends) + 1).saturating_sub(self.lost);
                // What has parts was healed and retried part by part.
                let more = if plan.has_parts() { 0 } else { attempts.saturating_sub(tried) };
                AttemptsLeft {
                    retries: plan.retries.saturating_sub(self.retries).min(more),
                    heals: plan.heals.saturating_sub(self.heals).min(more),
                    idempotent: plan.idempotent,
                    budget: end.budget_left,
                }
            }
        }
    }

    fn is_idempotent(&self) -> bool {
        match &self.limits {
            None => true,
            Some(LedLimits::Stage { plan, .. }) => plan.idempotent,
            Some(LedLimits::Phase(plan)) => {
                plan.orchestrator.stages.iter().all(|stage| stage.idempotent)
            }
        }
    }

    /// Begins another round with all that a part may be tried.
    fn begin_anew(&mut self, feedback: Option<Diagnosis>) {
        *self = Self {
            name: std::mem::take(&mut self.name),
            required: self.required,
            depends_on: std::mem::take(&mut self.depends_on),
            limits: self.limits.take(),
            rounds: self.rounds.take(),
            round: self.round + 1,
            feedback,
            ..Self::default()
        };
    }
}

fn count(ends: &[ChildEnd]) -> u32 {
    u32::try_from(ends.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spore_model::RunId;

    use super::*;
    use crate::stages::tests::{plan, read_stage};

    fn end(outcome: Outcome) -> ChildEnd {
        ChildEnd::new(RunId::from_parts(1, 1), outcome, Some("so it went".to_owned()))
    }

    fn phases(orchestrator: OrchestratorPlan, retries: u32) -> CoordinatorPlan {
        let one = PhasePlan {
            name: "one".to_owned(),
            orchestrator,
            depends_on: Vec::new(),
            retries,
            resolves: 1,
            required: true,
            budget: None,
            resolver: None,
        };
        CoordinatorPlan {
            coordinator: "both".to_owned(),
            description: None,
            max_parallel: 1,
            budget: None,
            phases: vec![one],
            mode: crate::files::mode::LayerMode::Tool,
        }
    }

    fn three() -> LedParts {
        LedParts::stages(&plan(vec![read_stage("A"), read_stage("B?"), read_stage("C")]))
    }

    #[test]
    fn what_may_be_run_is_not_for_the_session_to_say() {
        let mut chosen = three();
        assert_eq!(chosen.choose("X").unwrap_err(), "there is no such part; there are: A, B, C");
        assert_eq!(chosen.choose("C").unwrap_err(), "C waits for: A");
        for attempt in 1..=4 {
            assert_eq!(chosen.choose("A").unwrap().attempt, attempt);
            assert!(chosen.apply(0, &end(Outcome::Failure)));
        }
        let why = "A is not run again: it was tried 4 times, which is all";
        assert_eq!(chosen.choose("A").unwrap_err(), why);
        let mut chosen = three();
        assert!(chosen.apply(0, &end(Outcome::Success)));
        assert_eq!(chosen.choose("A").unwrap_err(), "A is done already");
        assert!(chosen.choose("C").is_ok());
        let reason = "B was not run; C was not run".to_owned();
        assert_eq!(chosen.rest(), LedRest::End(Outcome::Failure, reason));
        assert!(chosen.apply(2, &end(Outcome::Success)));
        let LedRest::End(outcome, _) = chosen.rest() else { panic!() };
        assert_eq!(outcome, Outcome::Partial);
    }

    #[test]
    fn no_stage_is_begun_after_a_later_one_whose_checks_have_not_seen_it() {
        let stages = ["WORK", "POLISH?", "SENTINEL"].map(read_stage);
        let mut chosen = LedParts::stages(&plan(stages.to_vec()));
        assert!(chosen.apply(0, &end(Outcome::Success)));
        assert!(chosen.choose("POLISH").is_ok());
        assert!(chosen.apply(2, &end(Outcome::Success)));
        let why = "POLISH comes before SENTINEL, which was begun already";
        assert_eq!(chosen.choose("POLISH").unwrap_err(), why);
        // One that was tried and failed is not tried again behind it either.
        let mut chosen = LedParts::stages(&plan(["OPT?", "WORK"].map(read_stage).to_vec()));
        assert!(chosen.apply(0, &end(Outcome::Failure)));
        assert!(chosen.choose("OPT").is_ok());
        assert!(chosen.apply(1, &end(Outcome::Failure)));
        assert!(chosen.choose("OPT").is_err());
        assert!(chosen.choose("WORK").is_ok());
    }

    #[test]
    fn a_stage_that_says_when_it_is_enough_passes_by_that_word_alone() {
        let rounds = RoundsPlan { until: "LGTM".to_owned(), from: "A".to_owned(), max_rounds: 2 };
        let last = crate::plan::StagePlan { rounds: Some(rounds), ..read_stage("B") };
        let mut chosen = LedParts::stages(&plan(vec![read_stage("A"), last]));
        let said = |says: bool| ChildEnd { says_until: Some(says), ..end(Outcome::Success) };
        assert!(chosen.apply(0, &end(Outcome::Success)) && chosen.apply(1, &said(false)));
        assert_eq!(chosen.choose("B").unwrap_err(), "B waits for: A");
        let again = chosen.choose("A").unwrap();
        assert_eq!((again.round, again.attempt), (2, 1));
        assert!(again.diagnosis.unwrap().reason.contains("does not say LGTM in round 1 of 2"));
        assert!(chosen.apply(0, &end(Outcome::Success)));
        let mut enough = chosen.clone();
        assert!(enough.apply(1, &said(true)));
        assert_eq!(enough.rest(), LedRest::End(Outcome::Success, "every part passed".to_owned()));
        assert!(chosen.apply(1, &said(false)));
        let why = "B is not run again: it does not say LGTM after 2 rounds";
        assert_eq!(chosen.choose("B").unwrap_err(), why);
        let LedRest::End(outcome, _) = chosen.rest() else { panic!() };
        assert_eq!(outcome, Outcome::NeedsRefinement);
    }

    #[test]
    fn what_is_gone_is_run_again_before_what_stands_on_it() {
        let mut chosen = three();
        chosen.lost(0, &end(Outcome::Success));
        assert_eq!(chosen.choose("C").unwrap_err(), "C waits for: A");
        for attempt in 2..=5 {
            assert_eq!(chosen.choose("A").unwrap().attempt, attempt);
            assert!(chosen.apply(0, &end(Outcome::Failure)));
        }
        assert!(chosen.choose("A").is_err());
    }

    #[test]
    fn a_part_that_asked_is_run_again_once_it_is_answered() {
        for outcome in [Outcome::NeedsHuman, Outcome::NeedsEscalation] {
            let mut chosen = three();
            assert!(!chosen.apply(0, &end(outcome)), "it has no result");
            assert_eq!(chosen.choose("A").unwrap_err(), "A waits for a person");
            let mut chosen = three();
            let answer = Some("the first".to_owned());
            assert!(chosen.apply(0, &ChildEnd { answer, ..end(outcome) }));
            assert_eq!(chosen.waits(), None);
            let again = chosen.choose("A").unwrap();
            assert_eq!(again.attempt, 2);
            assert_eq!(again.diagnosis.unwrap().answer.as_deref(), Some("the first"));
            assert!(chosen.apply(0, &end(Outcome::Success)));
            assert!(chosen.choose("C").is_ok());
        }
    }

    #[test]
    fn a_stage_is_tried_as_often_as_it_says() {
        let mut chosen = LedParts::stages(&plan(vec![read_stage("A~00"), read_stage("B!")]));
        assert!(chosen.apply(0, &end(Outcome::Failure)));
        let why = "A is not run again: it was tried once, which is all";
        assert_eq!(chosen.choose("A").unwrap_err(), why);
        let mut chosen = LedParts::stages(&plan(vec![read_stage("A~01")]));
        for _ in 0..2 {
            assert!(chosen.choose("A").is_ok() && chosen.apply(0, &end(Outcome::Failure)));
        }
        assert!(chosen.choose("A").is_err());
        let mut chosen = LedParts::stages(&plan(vec![read_stage("A!")]));
        assert!(chosen.apply(0, &end(Outcome::TimedOut)));
        assert!(chosen.choose("A").unwrap_err().contains("how far it came is not known"));
        let mut chosen = LedParts::stages(&plan(vec![read_stage("A")]));
        assert!(chosen.apply(0, &end(Outcome::TimedOut)));
        assert!(chosen.choose("A").is_ok());
        let broke = ChildEnd { budget_left: false, ..end(Outcome::TimedOut) };
        let mut chosen = LedParts::stages(&plan(vec![read_stage("A")]));
        assert!(chosen.apply(0, &broke));
        assert!(chosen.choose("A").is_err());
    }

    #[test]
    fn what_an_earlier_attempt_at_the_phase_did_is_neither_done_nor_counted_anew() {
        let mut plan = plan(vec![read_stage("A"), read_stage("B"), read_stage("C")]);
        plan.passed = vec![StageEntry::passed("A")];
        plan.spent.insert("B".to_owned(), 3);
        let mut chosen = LedParts::stages(&plan);
        assert_eq!(chosen.choose("A").unwrap_err(), "A is done already");
        assert!(chosen.status().starts_with("A: passed\n"), "{}", chosen.status());
        assert!(chosen.choose("B").is_ok());
        assert!(chosen.apply(1, &end(Outcome::Failure)));
        assert!(chosen.choose("B").is_err(), "four in all");
        let ending = chosen.stages_ending(&plan, Outcome::Failure, String::new());
        assert_eq!(ending.manifest.stages[0], StageEntry::passed("A"));
        let mut chosen = LedParts::stages(&plan);
        assert!(chosen.apply(1, &end(Outcome::Success)) && chosen.apply(2, &end(Outcome::Success)));
        assert_eq!(chosen.rest(), LedRest::End(Outcome::Success, "every part passed".to_owned()));
    }

    #[test]
    fn a_phase_that_is_run_again_knows_what_it_did_before_and_how_often() {
        let stages = plan(vec![read_stage("A"), read_stage("B")]);
        let mut chosen = LedParts::phases(&phases(stages, 9));
        let mut tried = 0;
        while let Ok(step) = chosen.choose("one") {
            assert_eq!(step.spent.get("B").copied().unwrap_or(0), tried);
            assert_eq!(step.passed.len(), usize::from(tried > 0), "A is not run again");
            tried += 2;
            let run = |number| Some(RunId::from_parts(2, number));
            let passed = StageEntry { run: run(1), ..StageEntry::passed("A") };
            let failed = StageEntry {
                run: run(u128::from(tried)),
                status: PartStatus::Failure,
                attempts: 2,
                ..StageEntry::passed("B")
            };
            let stages = vec![passed, failed];
            assert!(chosen.apply(0, &ChildEnd { stages, ..end(Outcome::Partial) }));
        }
        assert_eq!(tried, 4, "both layers together");
    }

    proptest! {
        #[test]
        fn nothing_is_begun_after_depth_or_an_interrupt_and_neither_is_absorbed(
            tries in prop::collection::vec((0..3usize, 0..Outcome::ALL.len()), 1..30),
        ) {
            let mut chosen = three();
            let mut seen = Vec::new();
            for (at, outcome) in tries {
                let (name, outcome) = (["A", "B", "C"][at], Outcome::ALL[outcome]);
                let stops = |one: &Outcome| {
                    matches!(one, Outcome::Interrupted | Outcome::DepthExceeded | Outcome::QuotaParked)
                };
                match chosen.choose(name) {
                    Ok(step) => {
                        prop_assert!(!seen.iter().any(stops), "{seen:?}");
                        prop_assert!(step.attempt <= 4);
                        seen.push(outcome);
                        let _ = chosen.apply(step.part, &end(outcome));
                    }
                    Err(why) => prop_assert!(!why.is_empty()),
                }
            }
            let outcome = match chosen.rest() {
                LedRest::Park(parked) => parked.outcome,
                LedRest::End(outcome, _) => outcome,
            };
            for stop in [Outcome::Interrupted, Outcome::DepthExceeded, Outcome::QuotaParked] {
                if seen.contains(&stop) {
                    prop_assert_eq!(outcome, stop);
                }
            }
            if outcome == Outcome::Success {
                prop_assert_eq!(seen.iter().filter(|one| **one == Outcome::Success).count(), 3);
            }
        }
    }
}
