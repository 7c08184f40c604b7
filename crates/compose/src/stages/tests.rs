use std::collections::BTreeMap;

use proptest::prelude::*;
use spore_model::{Outcome, RunId};

use super::*;
use crate::late::{LateWords, RoundsPlan};
use crate::plan::{ExecPlan, StageWork};

fn stage(name: &str) -> StagePlan {
    StagePlan {
        name: name.to_owned(),
        work: StageWork::Exec(ExecPlan {
            executor: "spec".into(),
            action: name.into(),
            target: "t".into(),
            role: "operator".into(),
            prompt: "do".into(),
            backend: None,
            scenario: None,
            model: None,
            allowed_tools: Vec::new(),
            max_turns: None,
            timeout: None,
            artifact: None,
            reads_only: false,
            writes_below: None,
        }),
        heals: 2,
        retries: 1,
        required: true,
        idempotent: true,
        budget: None,
        late: LateWords::default(),
        each: None,
        rounds: None,
        makes: None,
    }
}

pub(crate) fn plan(stages: Vec<StagePlan>) -> OrchestratorPlan {
    OrchestratorPlan {
        orchestrator: "ospec".into(),
        description: None,
        modifier: "full".into(),
        target: "t".into(),
        late_target: None,
        max_attempts: 4,
        stages,
        spent: BTreeMap::new(),
        passed: Vec::new(),
        line: None,
        resolution: None,
        mode: crate::files::mode::LayerMode::Tool,
    }
}

/// Reads `PLAN`, `PLAN?` (not required), `PLAN!` (not to be repeated after a time-out) and
/// digits after `~` for heals and retries: `PLAN~01`.
pub(crate) fn read_stage(text: &str) -> StagePlan {
    let (text, counts) = text.split_once('~').unwrap_or((text, "21"));
    let digit = |at: usize| u32::from(counts.as_bytes()[at] - b'0');
    let name = text.trim_end_matches(['?', '!']);
    StagePlan {
        required: !text.contains('?'),
        idempotent: !text.contains('!'),
        heals: digit(0),
        retries: digit(1),
        ..stage(name)
    }
}

fn run(number: u128) -> RunId {
    RunId::from_parts(1, number)
}

/// Plays `ends` (exit codes) on the stages and tells every step and the end.
fn play(mut machine: Stages, ends: &[u8]) -> String {
    let mut told = String::new();
    let mut next = machine.start();
    let mut ends = ends.iter();
    let mut number = 0;
    loop {
        match next {
            StageNext::Do(step) => {
                told.push_str(&format!("{}", step.key(machine.plan())));
                if let StageStep::Run { diagnosis: Some(diagnosis), .. } = &step {
                    told.push_str(&format!(" after {}", diagnosis.reason));
                }
                told.push('\n');
                number += 1;
                let code = match &step {
                    StageStep::Run { .. } => *ends.next().expect("an end for every step"),
                    StageStep::Finish { .. } => 0,
                };
                let outcome = Outcome::from_exit_code(code).unwrap();
                let end = ChildEnd::new(run(number), outcome, Some(format!("code {code}")));
                next = machine.apply(&step, &end);
            }
            StageNext::Park(parked) => {
                told.push_str(&format!("park {} {:?}", parked.outcome.exit_code(), parked.park));
                break;
            }
            StageNext::End(ending) => {
                let statuses: Vec<String> = ending
                    .manifest
                    .stages
                    .iter()
                    .map(|one| format!("{}:{:?}×{}", one.name, one.status, one.attempts))
                    .collect();
                told.push_str(&format!(
                    "end {} {}",
                    ending.outcome.exit_code(),
                    statuses.join(" ")
                ));
                break;
            }
        }
    }
    assert_eq!(ends.next(), None, "{told}");
    told
}

#[track_caller]
fn check(stages: &str, ends: &[u8], expected: &str) {
    let stages = stages.split_whitespace().map(read_stage).collect();
    assert_eq!(play(Stages::new(plan(stages)), ends), expected);
}

#[test]
fn stages_follow_each_other() {
    check(
        "RESEARCH PLAN",
        &[0, 0],
        "stage/RESEARCH/1\nstage/PLAN/1\nfinish\nend 0 RESEARCH:Success×1 PLAN:Success×1",
    );
}

#[test]
fn a_failing_stage_is_healed_then_retried_then_raised() {
    check(
        "A B",
        &[1, 1, 1, 1],
        "stage/A/1\nstage/A/2 after code 1\nstage/A/3 after code 1\nstage/A/4\nfinish\n\
         end 1 A:Failure×4 B:Skipped×0",
    );
    check("A~00 B", &[1], "stage/A/1\nfinish\nend 1 A:Failure×1 B:Skipped×0");
    check(
        "A~01 B",
        &[1, 0, 0],
        "stage/A/1\nstage/A/2\nstage/B/1\nfinish\nend 0 A:Success×2 B:Success×1",
    );
}

#[test]
fn what_needs_refinement_is_healed_twice_and_raised_as_such() {
    check(
        "A",
        &[10, 10, 10],
        "stage/A/1\nstage/A/2 after code 10\nstage/A/3 after code 10\nfinish\nend 10 A:Failure×3",
    );
}

#[test]
fn a_timeout_is_retried_once_if_that_is_harmless() {
    check("A", &[21, 21], "stage/A/1\nstage/A/2\nfinish\nend 21 A:Failure×2");
    check("A!", &[21], "stage/A/1\nfinish\nend 21 A:Failure×1");
    let mut machine = Stages::new(plan(vec![read_stage("A")]));
    let StageNext::Do(step) = machine.start() else { panic!() };
    let broke = ChildEnd { budget_left: false, ..ChildEnd::new(run(1), Outcome::TimedOut, None) };
    assert!(matches!(machine.apply(&step, &broke), StageNext::Do(StageStep::Finish { .. })));
}

#[test]
fn limits_and_questions_are_never_absorbed() {
    check("A?", &[2], "stage/A/1\nfinish\nend 2 A:Failure×1");
    check("A?", &[11], "stage/A/1\npark 11 Human");
    check("A?", &[20], "stage/A/1\npark 20 Interrupt");
    check("A?", &[75], "stage/A/1\npark 75 Quota");
    check("A?", &[3], "stage/A/1\npark 3 Human");
}

#[test]
fn a_stage_that_is_not_required_leaves_the_rest_to_go_on() {
    check("A?~00 B", &[1, 0], "stage/A/1\nstage/B/1\nfinish\nend 12 A:Failure×1 B:Success×1");
    check("A?~00", &[21], "stage/A/1\nfinish\nend 1 A:Failure×1");
}

#[test]
fn attempts_of_an_earlier_phase_count() {
    let spent = BTreeMap::from([("A".to_owned(), 3)]);
    let machine = Stages::new(OrchestratorPlan { spent, ..plan(vec![read_stage("A")]) });
    assert_eq!(play(machine, &[1]), "stage/A/1\nfinish\nend 1 A:Failure×1");
}

#[test]
fn only_what_failed_is_run_again_where_only_that_is_asked() {
    let stages: Vec<StagePlan> = ["A", "B?~00"].map(read_stage).into();
    let passed = vec![StageEntry { run: Some(run(7)), ..StageEntry::passed("A") }];
    let machine = Stages::new(OrchestratorPlan { passed, ..plan(stages) });
    assert_eq!(play(machine, &[0]), "stage/B/1\nfinish\nend 0 A:Success×1 B:Success×1");
}

proptest! {
    /// However the stages end, no stage is run more often than the cap allows, and a
    /// resumed machine says the same as one that was not stopped.
    #[test]
    fn no_stage_exceeds_its_attempts_and_a_replay_is_the_same(
        codes in proptest::collection::vec(0..10usize, 40),
        count in 1..4usize,
        required in proptest::collection::vec(any::<bool>(), 4),
    ) {
        let stages: Vec<StagePlan> = (0..count)
            .map(|at| StagePlan { required: required[at], ..stage(&format!("S{at}")) })
            .collect();
        let drive = |stop: usize, record: &mut Vec<(String, ChildEnd)>| {
            let mut machine = Stages::new(plan(stages.clone()));
            let mut next = machine.start();
            let mut steps = 0;
            while let StageNext::Do(step) = next {
                let key = step.key(machine.plan()).to_string();
                let known = record.iter().find(|(known, _)| *known == key).map(|(_, end)| end.clone());
                let end = match known {
                    Some(end) => end,
                    None if steps >= stop => return None,
                    None => {
                        let code = codes[record.len() % codes.len()];
                        let outcome = Outcome::ALL[code];
                        let end = ChildEnd::new(run(record.len() as u128), outcome, None);
                        record.push((key, end.clone()));
                        end
                    }
                };
                steps += 1;
                if let StageStep::Run { attempt, .. } = &step {
                    assert!(*attempt <= 4);
                }
                next = machine.apply(&step, &end);
            }
            Some(format!("{next:?}"))
        };
        let mut whole = Vec::new();
        let expected = drive(usize::MAX, &mut whole);
        for stop in 0..whole.len() {
            let mut record = Vec::new();
            let _ = drive(stop, &mut record);
            prop_assert_eq!(&drive(usize::MAX, &mut record), &expected);
        }
    }
}

/// Two stages of which the second says when it is enough.
fn repeated(max_rounds: u32) -> Stages {
    let (until, from) = ("ENOUGH".to_owned(), "A".to_owned());
    let rounds = Some(RoundsPlan { until, from, max_rounds });
    Stages::new(plan(vec![stage("A"), StagePlan { rounds, ..stage("B") }]))
}

#[test]
fn rounds_begin_where_they_are_said_to_and_end_when_it_is_enough() {
    let mut machine = repeated(3);
    let mut next = machine.start();
    let mut keys = Vec::new();
    while let StageNext::Do(step) = next {
        keys.push(step.key(machine.plan()).to_string());
        let end = ChildEnd {
            says_until: Some(keys.len() >= 4),
            diagnosis: "more about blue".to_owned(),
            ..ChildEnd::new(run(keys.len() as u128), Outcome::Success, None)
        };
        if let StageStep::Run { stage: 0, round: 2, diagnosis, .. } = &step {
            let told = diagnosis.as_ref().unwrap();
            assert_eq!(told.reason, "B does not say ENOUGH in round 1 of 3");
            assert_eq!(told.output, "more about blue");
        }
        next = machine.apply(&step, &end);
    }
    assert_eq!(
        keys,
        ["stage/A/1", "stage/B/1", "stage/A/round-2/1", "stage/B/round-2/1", "finish"]
    );
}

proptest! {
    /// A round absorbs neither a limit nor an interrupt, nor a question to a person, never passes
    /// without the word, and there are never more of them than allowed.
    #[test]
    fn rounds_absorb_only_what_is_not_good_enough(
        ends in proptest::collection::vec((0..10usize, any::<bool>()), 60),
        most in 1..4u32,
    ) {
        let mut machine = repeated(most);
        let mut next = machine.start();
        let mut said = false;
        for (at, (code, says)) in ends.iter().cycle().enumerate() {
            let StageNext::Do(step) = &next else { break };
            let outcome = Outcome::ALL[*code];
            if let StageStep::Run { stage, round, .. } = step {
                prop_assert!(*round <= most);
                said |= *stage == 1 && outcome == Outcome::Success && *says;
            }
            let end = ChildEnd {
                says_until: Some(*says),
                ..ChildEnd::new(run(at as u128), outcome, None)
            };
            let is_run = matches!(step, StageStep::Run { .. });
            let step = step.clone();
            next = machine.apply(&step, &end);
            if is_run && outcome == Outcome::Interrupted {
                let parks = matches!(&next, StageNext::Park(parked) if parked.outcome == outcome);
                prop_assert!(parks);
            }
            if is_run && outcome == Outcome::DepthExceeded {
                let raised = |ending: &StagesEnding| ending.outcome == Outcome::DepthExceeded;
                let is_raised = matches!(
                    &next,
                    StageNext::Do(StageStep::Finish { ending }) if raised(ending)
                );
                prop_assert!(is_raised);
            }
        }
        if let StageNext::End(ending) = &next {
            prop_assert!(ending.outcome != Outcome::Success || said);
        }
    }
}
