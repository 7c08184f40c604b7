use proptest::prelude::*;
use spore_model::{Park, RunId};

use super::*;
use crate::manifest::StageEntry;
use crate::stages::tests::{plan as stages, read_stage};

/// Reads `build`, `test<build+docs`, `docs?` (not required).
fn phase(text: &str) -> PhasePlan {
    let (name, on) = text.split_once('<').unwrap_or((text, ""));
    PhasePlan {
        name: name.trim_end_matches('?').to_owned(),
        orchestrator: stages(vec![read_stage("A"), read_stage("B")]),
        depends_on: on.split('+').filter(|on| !on.is_empty()).map(str::to_owned).collect(),
        retries: 1,
        resolves: 1,
        required: !name.ends_with('?'),
        budget: None,
        resolver: None,
    }
}

fn machine(phases: &str, max_parallel: u32) -> Phases {
    Phases::new(CoordinatorPlan {
        coordinator: "release".into(),
        description: None,
        max_parallel,
        budget: None,
        phases: phases.split_whitespace().map(phase).collect(),
        mode: crate::files::mode::LayerMode::Tool,
    })
}

fn end(number: u128, code: u8) -> ChildEnd {
    let run = RunId::from_parts(1, number);
    let entry = |name: &str, status, attempts| StageEntry {
        status,
        attempts,
        run: Some(RunId::from_parts(2, number * 2 + u128::from(name == "B"))),
        ..StageEntry::skipped(name)
    };
    let second = if code == 0 { PartStatus::Success } else { PartStatus::Failure };
    ChildEnd {
        stages: vec![entry("A", PartStatus::Success, 1), entry("B", second, 1)],
        ..ChildEnd::new(run, Outcome::from_exit_code(code).unwrap(), Some(format!("code {code}")))
    }
}

/// Plays the ends of each phase (`build=1,0`) in the order in which phases are due, or the
/// other way round, and tells what was begun and how it ended.
fn play(mut machine: Phases, script: &str, last_first: bool) -> String {
    let mut scripts: BTreeMap<String, Vec<u8>> = script
        .split_whitespace()
        .map(|word| {
            let (name, codes) = word.split_once('=').unwrap();
            (name.to_owned(), codes.split(',').map(|code| code.parse().unwrap()).collect())
        })
        .collect();
    let (mut open, mut told, mut number) = (Vec::new(), Vec::new(), 0);
    loop {
        for step in machine.due() {
            let PhaseStep::Run { orchestrator, .. } = &step else { unreachable!() };
            let mut line = step.key(machine.plan()).to_string();
            if let Some(resolution) = &orchestrator.resolution {
                line.push_str(&format!(" with {:?}", resolution.lines().next().unwrap()));
            }
            if !orchestrator.passed.is_empty() {
                line.push_str(" without what passed");
            }
            told.push(line);
            open.push(step);
        }
        if open.is_empty() {
            break;
        }
        let step = if last_first { open.pop().unwrap() } else { open.remove(0) };
        let PhaseStep::Run { phase, .. } = step else { unreachable!() };
        let codes = scripts.get_mut(&machine.plan().phases[phase].name).unwrap();
        let code = if codes.is_empty() { 0 } else { codes.remove(0) };
        number += 1;
        let _ = machine.apply(phase, &end(number, code));
    }
    let rest = match machine.rest() {
        PhaseNext::Do(PhaseStep::Finish { ending }) => {
            let reports: Vec<String> = ending
                .manifest
                .phases
                .iter()
                .map(|one| format!("{}:{:?}×{}", one.phase, one.status, one.orchestrators.len()))
                .collect();
            format!("end {} {}", ending.outcome.exit_code(), reports.join(" "))
        }
        PhaseNext::Park(parked) => format!("park {} {:?}", parked.outcome.exit_code(), parked.park),
        other => format!("{other:?}"),
    };
    told.push(rest);
    told.join("\n")
}

#[track_caller]
fn check(phases: &str, script: &str, expected: &str) {
    assert_eq!(play(machine(phases, 4), script, false), expected);
}

#[test]
fn a_phase_begins_when_what_it_waits_for_is_done() {
    check(
        "plan build<plan docs<plan ship<build+docs",
        "plan=0 build=0 docs=0 ship=0",
        "phase/plan/1\nphase/build/1\nphase/docs/1\nphase/ship/1\n\
         end 0 plan:Complete×1 build:Complete×1 docs:Complete×1 ship:Complete×1",
    );
}

#[test]
fn no_more_phases_run_at_once_than_allowed() {
    let mut two = machine("a b c", 2);
    assert_eq!(two.due().len(), 2);
    assert_eq!(two.due().len(), 0);
    assert!(two.apply(0, &end(1, 0)));
    assert_eq!(two.due().len(), 1);
}

#[test]
fn a_failing_phase_is_retried_once_and_stops_only_those_that_wait_for_it() {
    check(
        "build ship<build docs",
        "build=1,1 docs=0",
        "phase/build/1\nphase/docs/1\nphase/build/2\n\
         end 1 build:Failure×2 ship:Skipped×0 docs:Complete×1",
    );
    check("build", "build=1,0", "phase/build/1\nphase/build/2\nend 0 build:Complete×2");
}

#[test]
fn a_need_for_refinement_is_resolved_once() {
    check(
        "build",
        "build=10,10",
        "phase/build/1\n\
         phase/build/2 with \"build was run before and ended with exit code 10: code 10\"\n\
         end 10 build:Failure×2",
    );
}

#[test]
fn after_partial_success_only_what_failed_is_run_again() {
    check(
        "build",
        "build=12,0",
        "phase/build/1\nphase/build/2 without what passed\nend 0 build:Complete×2",
    );
}

#[test]
fn what_concerns_everybody_stops_everything() {
    let told = play(machine("a b<a c d<c", 1), "a=2 c=0 d=0", false);
    assert!(told.contains("end 2") && !told.contains("phase/c/1"), "{told}");
    check("a b", "a=20 b=0", "phase/a/1\nphase/b/1\npark 20 Interrupt");
    check("a b", "a=75 b=0", "phase/a/1\nphase/b/1\npark 75 Quota");
    check("a b", "a=3 b=0", "phase/a/1\nphase/b/1\npark 3 Human");
    check("a b", "a=75 b=20", "phase/a/1\nphase/b/1\npark 20 Interrupt");
}

#[test]
fn a_question_parks_its_phase_and_what_waits_for_it_and_nothing_else() {
    for code in [3, 11] {
        let told = play(machine("a b<a c d<c", 1), &format!("a={code} c=0 d=0"), false);
        let expected = format!("phase/a/1\nphase/c/1\nphase/d/1\npark {code} Human");
        assert_eq!(told, expected);
    }
}

#[test]
fn a_phase_that_is_not_required_leaves_a_partial_success() {
    check(
        "docs? build",
        "docs=1,1 build=0",
        "phase/docs/1\nphase/build/1\nphase/docs/2\nend 12 docs:Failure×2 build:Complete×1",
    );
    check(
        "docs? ship<docs",
        "docs=1,1",
        "phase/docs/1\nphase/docs/2\nend 1 docs:Failure×2 ship:Skipped×0",
    );
}

#[test]
fn a_phase_is_not_retried_beyond_the_attempts_of_its_stages() {
    let mut one = machine("build", 1);
    let _ = one.due();
    let mut tired = end(1, 1);
    tired.stages[1].attempts = 4;
    assert!(one.apply(0, &tired));
    assert_eq!(one.due(), []);
}

#[test]
fn a_child_that_waits_for_budget_parks_the_phase_for_budget() {
    let mut one = machine("build", 1);
    let _ = one.due();
    let waits = ChildEnd { park: Some(Park::Budget), ..end(1, 3) };
    assert!(!one.apply(0, &waits));
    let PhaseNext::Park(parked) = one.rest() else { panic!() };
    assert_eq!((parked.outcome, parked.park), (Outcome::NeedsHuman, Park::Budget));
}

proptest! {
    /// The order in which parallel phases end does not matter.
    #[test]
    fn the_order_of_ends_does_not_matter(
        codes in proptest::collection::vec(
            prop_oneof![Just(0u8), Just(1), Just(10), Just(12), Just(21)], 12),
        shape in 0..4usize,
    ) {
        let shapes = [
            "a b c d<a",
            "a b<a c<a d<b+c",
            "a? b<a c? d<c",
            "a b? c<a+b d",
        ];
        let script: String = ["a", "b", "c", "d"]
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let own = &codes[at * 3..at * 3 + 3];
                format!("{name}={},{},{} ", own[0], own[1], own[2])
            })
            .collect();
        let told = |last_first: bool, parallel: u32| {
            let told = play(machine(shapes[shape], parallel), &script, last_first);
            let mut begun: Vec<String> = told.lines().map(str::to_owned).collect();
            let rest = begun.pop();
            begun.sort();
            (begun, rest)
        };
        let expected = told(false, 4);
        prop_assert_eq!(&told(true, 4), &expected);
        prop_assert_eq!(&told(true, 2), &expected);
        prop_assert_eq!(&told(false, 1), &expected);
    }
}
