use std::collections::BTreeMap;

use proptest::prelude::*;
use spore_model::{CommitId, Outcome, RunId, StepKey};

use super::*;
use crate::campaigns::plan::{
    CampaignGoal, CampaignPlan, CampaignTerms, DomainPlan, PlanningPlan, ResearchPlan,
};
use crate::child::{ChildEnd, WorkLine};
use crate::files::mode::LayerMode;
use crate::plan::{CoordinatorPlan, ExecPlan, PhasePlan, StageWork};
use crate::stages::tests::{plan as stages, read_stage};

fn exec(action: &str) -> ExecPlan {
    match read_stage(action).work {
        StageWork::Exec(exec) => ExecPlan { artifact: Some(format!("{action}.md")), ..exec },
        other => panic!("{other:?}"),
    }
}

fn phase(text: &str) -> PhasePlan {
    let (name, on) = text.split_once('<').unwrap_or((text, ""));
    PhasePlan {
        name: name.to_owned(),
        orchestrator: stages(vec![read_stage("A")]),
        depends_on: on.split('+').filter(|on| !on.is_empty()).map(str::to_owned).collect(),
        retries: 1,
        resolves: 1,
        required: true,
        budget: None,
        resolver: None,
    }
}

fn phases(text: &str) -> CoordinatorPlan {
    CoordinatorPlan {
        coordinator: "phases".into(),
        description: None,
        max_parallel: 1,
        budget: None,
        phases: text.split_whitespace().map(phase).collect(),
        mode: LayerMode::Tool,
    }
}

/// A campaign with everything but phases that are known from the start.
fn whole() -> CampaignPlan {
    CampaignPlan {
        campaign: "feature".into(),
        description: None,
        task: "tabs".into(),
        mode: LayerMode::Tool,
        research: Some(ResearchPlan {
            domains: vec![DomainPlan { name: "code".into(), exec: exec("RESEARCH") }],
            consolidator: Some(exec("CONSOLIDATE")),
            judge: Some(exec("JUDGE")),
            max_rounds: 2,
            max_parallel: 1,
        }),
        planning: Some(PlanningPlan {
            roadmap: Some(exec("ROADMAP")),
            decomposer: Some(exec("DECOMPOSE")),
            max_phases: 8,
        }),
        coordinator: None,
        review: true,
        decide: None,
        evaluator: Some(exec("EVALUATE")),
        ends_with: CampaignGoal::Evaluation,
        budget: None,
        terms: CampaignTerms {
            stage_heals: 2,
            stage_retries: 1,
            max_attempts: 4,
            retries: 1,
            heals: 2,
        },
    }
}

/// One whose phases are known, without anything around them.
fn bare(known: &str) -> CampaignPlan {
    CampaignPlan {
        research: None,
        planning: None,
        review: false,
        evaluator: None,
        coordinator: Some(phases(known)),
        ..whole()
    }
}

const ENOUGH: &str = "<sufficiency>{\"sufficient\": true}</sufficiency>";
const PASS: &str = "<evaluation>{\"verdict\": \"pass\", \"criteria\": [{\"criterion\": \"c\", \
                    \"met\": true, \"evidence\": \"e\"}]}</evaluation>";

fn record(number: u128, code: u8, part: &CampaignPart) -> CampaignRecord {
    let run = RunId::from_parts(1, number);
    let outcome = Outcome::from_exit_code(code).unwrap();
    let hex = |digit: u128| format!("{:040x}", digit + 1).parse::<CommitId>().unwrap();
    let line = (code == 0).then(|| WorkLine { base: hex(number), tip: hex(number + 1) });
    let end = ChildEnd { line, ..ChildEnd::new(run, outcome, Some(format!("code {code}"))) };
    let said = match part {
        CampaignPart::Research { .. } => Some(ENOUGH.to_owned()),
        CampaignPart::Evaluation => Some(PASS.to_owned()),
        _ => None,
    };
    let is_plan = matches!(part, CampaignPart::Plan { .. }) && code == 0;
    let made = is_plan.then(|| Box::new(phases("build docs<build ship<docs")));
    CampaignRecord { end, said, made }
}

/// What is known to have happened: records by their key, answers by their version.
#[derive(Default)]
struct Journal {
    records: BTreeMap<String, CampaignRecord>,
    reviews: BTreeMap<u32, ReviewAnswer>,
}

/// Plays a campaign: ends on record are taken, others come from the script (`phase/build=1,0`),
/// which goes on with 0. Returns what was begun and how it rests.
fn play(
    machine: &mut Campaign,
    journal: &mut Journal,
    script: &dyn Fn(&str) -> u8,
    reviews: &dyn Fn(u32) -> Option<ReviewAnswer>,
    most: usize,
) -> Vec<String> {
    let mut told = Vec::new();
    let mut done = 0;
    loop {
        match machine.go_on() {
            CampaignNext::Park(parked) => {
                told.push(format!("park {} {:?}", parked.outcome.exit_code(), parked.park));
                return told;
            }
            CampaignNext::Do(CampaignStep::Coordinate { part, attempt, plan }) => {
                let key = part.key(attempt).to_string();
                let recorded = match journal.records.get(&key) {
                    Some(record) => record.clone(),
                    None if done == most => return told,
                    None => {
                        done += 1;
                        let number = journal.records.len() as u128;
                        let made = record(number, script(&key), &part);
                        let with = plan.phases[0].orchestrator.resolution.as_deref();
                        let with = with.and_then(|text| text.lines().next());
                        let with = with.map_or_else(String::new, |line| format!(" with {line:?}"));
                        told.push(format!("{key}{with}"));
                        made
                    }
                };
                if machine.apply(&part, &recorded) {
                    journal.records.insert(key, recorded);
                }
            }
            CampaignNext::Do(CampaignStep::Review { revision }) => {
                let answer = journal.reviews.get(&revision).cloned().or_else(|| reviews(revision));
                let Some(answer) = answer else {
                    told.push(format!("review {revision}"));
                    return told;
                };
                journal.reviews.insert(revision, answer.clone());
                machine.reviewed(&answer);
            }
            CampaignNext::Do(CampaignStep::Lead { round }) => {
                told.push(format!("lead {round}"));
                return told;
            }
            CampaignNext::Do(CampaignStep::Finish { ending }) => {
                let phases = ending.manifest.phases.iter();
                let phases = phases
                    .map(|one| format!(" {}:{}×{}", one.phase, one.status.as_str(), one.attempts));
                told.push(format!(
                    "end {}{}",
                    ending.outcome.exit_code(),
                    phases.collect::<String>()
                ));
                return told;
            }
        }
    }
}

fn approve(_: u32) -> Option<ReviewAnswer> {
    Some(ReviewAnswer { approved: true, words: "Approved: go on.".to_owned() })
}

/// Reads `phase/build=1,0 evaluation=10`: the codes of the attempts, zero after them.
fn scripted(text: &str) -> impl Fn(&str) -> u8 {
    let scripts: BTreeMap<String, Vec<u8>> = text
        .split_whitespace()
        .map(|word| {
            let (name, codes) = word.split_once('=').unwrap();
            (name.to_owned(), codes.split(',').map(|code| code.parse().unwrap()).collect())
        })
        .collect();
    move |key: &str| {
        let (name, attempt) = key.rsplit_once('/').unwrap();
        let at = attempt.parse::<usize>().unwrap() - 1;
        scripts.get(name).and_then(|codes| codes.get(at)).copied().unwrap_or(0)
    }
}

#[track_caller]
fn check(plan: CampaignPlan, script: &str, expected: &str) {
    let mut machine = Campaign::new(plan, Vec::new());
    let told = play(&mut machine, &mut Journal::default(), &scripted(script), &approve, 100);
    assert_eq!(told.join("\n"), expected);
}

#[test]
fn a_campaign_goes_from_research_to_its_evaluation() {
    check(
        whole(),
        "",
        "research/1/1\nplan/1/1\nphase/build/1\nphase/docs/1\nphase/ship/1\nevaluation/1\n\
         end 0 build:complete×1 docs:complete×1 ship:complete×1",
    );
}

#[test]
fn what_a_person_says_reaches_the_next_version_of_the_plan() {
    let mut machine = Campaign::new(whole(), Vec::new());
    let mut journal = Journal::default();
    let none = |_| None;
    let told = play(&mut machine, &mut journal, &scripted(""), &none, 100);
    assert_eq!(told, ["research/1/1", "plan/1/1", "review 1"]);
    machine.reviewed(&ReviewAnswer { approved: false, words: "ship it too".to_owned() });
    let CampaignNext::Do(CampaignStep::Coordinate { plan, .. }) = machine.go_on() else { panic!() };
    for phase in &plan.phases {
        let StageWork::Exec(exec) = &phase.orchestrator.stages[0].work else { panic!() };
        assert!(exec.prompt.contains("ship it too"), "{}", exec.prompt);
    }
    let told = play(&mut machine, &mut journal, &scripted(""), &none, 100);
    assert_eq!(told, ["plan/2/1", "review 2"]);
}

#[test]
fn only_what_failed_is_healed_with_what_is_known_of_it_and_twice_at_most() {
    check(
        bare("build docs ship<docs"),
        "phase/docs=1",
        "phase/build/1\nphase/docs/1\nphase/docs/2 with \"docs was run before and ended with exit code 1: code 1\"\n\
         phase/ship/1\nend 0 build:complete×1 docs:complete×2 ship:complete×1",
    );
    check(
        bare("build docs ship<docs"),
        "phase/docs=1,1,1,1",
        "phase/build/1\nphase/docs/1\n\
         phase/docs/2 with \"docs was run before and ended with exit code 1: code 1\"\n\
         phase/docs/3 with \"docs was run before and ended with exit code 1: code 1\"\n\
         end 12 build:complete×1 docs:failure×3 ship:pending×0",
    );
}

/// The column of the one table, as a campaign of one phase plays it.
#[test]
fn every_end_of_a_phase_means_what_the_table_says() {
    let rest = |code: u8| {
        let mut machine = Campaign::new(bare("p"), Vec::new());
        let script = move |_: &str| code;
        let told = play(&mut machine, &mut Journal::default(), &script, &approve, 100);
        format!("{code}: {} then {}", told.len() - 1, told.last().unwrap())
    };
    let told: Vec<String> = Outcome::ALL.iter().map(|one| rest(one.exit_code())).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    0: 1 then end 0 p:complete×1
    1: 3 then end 11 p:failure×3
    2: 1 then end 2 p:pending×0
    3: 1 then park 3 Human
    10: 4 then end 10 p:failure×4
    11: 1 then park 11 Human
    12: 3 then end 12 p:failure×3
    20: 1 then park 20 Interrupt
    21: 4 then end 21 p:failure×4
    75: 1 then park 75 Quota
    ");
}

/// No record says how far it came, so neither a round of healing nor a session that leads does it twice.
#[test]
fn a_phase_that_took_too_long_and_may_not_be_done_again_is_not_healed() {
    let mut plan = bare("a b");
    let known = plan.coordinator.as_mut().unwrap();
    known.phases[0].orchestrator.stages[0].idempotent = false;
    check(
        plan.clone(),
        "phase/a=21 phase/b=1",
        "phase/a/1\nphase/b/1\nphase/b/2 with \"b was run before and ended with exit code 1: code 1\"\n\
         end 12 a:failure×1 b:complete×2",
    );
    plan.coordinator.as_mut().unwrap().phases.truncate(1);
    check(plan.clone(), "phase/a=21", "phase/a/1\nend 21 a:failure×1");
    // What ended otherwise is healed as before.
    check(
        plan.clone(),
        "phase/a=1",
        "phase/a/1\nphase/a/2 with \"a was run before and ended with exit code 1: code 1\"\n\
         end 0 a:complete×2",
    );
    let mut led = Campaign::new(CampaignPlan { mode: LayerMode::Agent, ..plan }, Vec::new());
    let CampaignStep::Coordinate { part, .. } = led.choose("a", None).unwrap() else { panic!() };
    led.apply(&part, &record(1, 21, &part));
    assert_eq!(
        led.choose("a", None).unwrap_err(),
        "a took too long, and may not simply be done again"
    );
}

#[test]
fn a_phase_that_asks_waits_alone_and_all_is_asked_at_once() {
    let mut machine = Campaign::new(bare("a b c d<a"), Vec::new());
    let script = scripted("phase/a=3 phase/c=11");
    let told = play(&mut machine, &mut Journal::default(), &script, &approve, 100);
    assert_eq!(told, ["phase/a/1", "phase/b/1", "phase/c/1", "park 3 Human"]);
    let CampaignNext::Park(parked) = machine.go_on() else { panic!() };
    assert_eq!(parked.reason, "a: code 3; c: code 11");
}

#[test]
fn research_goes_on_with_its_gaps_and_ends_where_it_is_never_enough() {
    let gaps = "<sufficiency>{\"sufficient\": false, \"gaps\": [\"who calls it\"]}</sufficiency>";
    for (said, gap) in
        [(Some(gaps), "who calls it"), (Some("fine"), "was not named"), (None, "was not named")]
    {
        let mut machine = Campaign::new(whole(), Vec::new());
        for round in 1..=2 {
            let CampaignNext::Do(CampaignStep::Coordinate { part, plan, .. }) = machine.go_on()
            else {
                panic!()
            };
            assert_eq!(part, CampaignPart::Research { round });
            let StageWork::Exec(exec) = &plan.phases[0].orchestrator.stages[0].work else {
                panic!()
            };
            assert_eq!(exec.prompt.contains("who calls it"), round == 2 && said == Some(gaps));
            let made = CampaignRecord { said: said.map(str::to_owned), ..record(1, 0, &part) };
            assert!(machine.apply(&part, &made));
        }
        let CampaignNext::Do(CampaignStep::Finish { ending }) = machine.go_on() else { panic!() };
        assert_eq!(ending.outcome, Outcome::NeedsRefinement);
        assert!(ending.reason.contains(gap), "{}", ending.reason);
    }
}

#[test]
fn what_an_evaluator_finds_is_mended_and_no_answer_but_a_pass_is_one() {
    let issue = "<evaluation>{\"verdict\": \"fail\", \"issues\": [{\"phase\": \"b\", \"problem\": \
                 \"too slow\"}]}</evaluation>";
    let plan = CampaignPlan { evaluator: Some(exec("EVALUATE")), ..bare("a b") };
    for (said, steps) in [(issue, 7), ("PASS", 3), ("", 3)] {
        let mut machine = Campaign::new(plan.clone(), Vec::new());
        let mut told = Vec::new();
        let ending = loop {
            match machine.go_on() {
                CampaignNext::Do(CampaignStep::Coordinate { part, attempt, .. }) => {
                    told.push(part.key(attempt).to_string());
                    let mut made = record(told.len() as u128, 0, &part);
                    made.said = made.said.map(|_| said.to_owned());
                    machine.apply(&part, &made);
                }
                CampaignNext::Do(CampaignStep::Finish { ending }) => break ending,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((ending.outcome, told.len()), (Outcome::NeedsRefinement, steps), "{told:?}");
        assert!(!told.contains(&"phase/a/2".to_owned()), "{told:?}");
    }
    // Red checks are the end of an evaluation, whatever its session would have said.
    check(
        plan,
        "evaluation=10,10",
        "phase/a/1\nphase/b/1\nevaluation/1\nevaluation/2\nend 10 a:complete×1 b:complete×1",
    );
}

#[test]
fn a_decision_that_is_missing_heals_nothing() {
    let plan = CampaignPlan { decide: Some(exec("DECIDE")), ..bare("a b") };
    for (said, expected) in [
        (
            Some("<decision>{\"heal\": [\"b\"]}</decision>"),
            "phase/a/1 phase/b/1 decision/1/1 phase/b/2 decision/2/1 phase/b/3 12",
        ),
        (Some("heal them all"), "phase/a/1 phase/b/1 decision/1/1 12"),
        (None, "phase/a/1 phase/b/1 decision/1/1 12"),
    ] {
        let mut machine = Campaign::new(plan.clone(), Vec::new());
        let mut told = Vec::new();
        loop {
            match machine.go_on() {
                CampaignNext::Do(CampaignStep::Coordinate { part, attempt, .. }) => {
                    let key = part.key(attempt).to_string();
                    let code = u8::from(key.starts_with("phase/b"));
                    let made = record(told.len() as u128, code, &part);
                    told.push(key);
                    machine.apply(&part, &CampaignRecord { said: said.map(str::to_owned), ..made });
                }
                CampaignNext::Do(CampaignStep::Finish { ending }) => {
                    told.push(ending.outcome.exit_code().to_string());
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(told.join(" "), expected, "{said:?}");
    }
}

#[test]
fn changes_are_for_phases_that_were_not_begun() {
    let begun = |key: &StepKey| key.to_string() == "phase/a/1";
    let machine = Campaign::new(bare("a b c<b"), Vec::new());
    let refuse = |change: PhaseChange| machine.allow(change, &begun).unwrap_err();
    let drop = |name: &str| PhaseChange::Drop { phase: name.to_owned() };
    let order =
        |names: &str| PhaseChange::Order { phases: names.split(' ').map(str::to_owned).collect() };
    assert_eq!(refuse(drop("a")), "a is under way");
    assert_eq!(refuse(drop("b")), "c waits for b: drop c first");
    assert_eq!(refuse(drop("z")), "there is no phase \"z\"; there are: a, b, c");
    assert_eq!(refuse(order("a b c")), "a is under way");
    assert_eq!(refuse(order("c")), "b is left out: name every phase that was not begun");
    assert_eq!(refuse(order("c b c")), "c is there twice");
    let add = |text: &str| PhaseChange::Add { phases: phases(text).phases };
    assert_eq!(refuse(add("b")), "there is a phase b already");
    assert_eq!(refuse(add("d<x")), "d waits for x, which is not there");
    let mut changes = Vec::new();
    for change in [drop("c"), add("d<a e"), order("e b d")] {
        let machine = Campaign::new(bare("a b c<b"), changes.clone());
        changes.push(machine.allow(change, &begun).unwrap());
    }
    let dropped = Campaign::new(bare("a b c<b"), changes[..1].to_vec());
    let refused = dropped.allow(add("d<a e<c"), &begun).unwrap_err();
    assert_eq!(refused, "e waits for c, which is dropped");
    let mut machine = Campaign::new(bare("a b c<b"), changes);
    let told = play(&mut machine, &mut Journal::default(), &scripted(""), &approve, 100);
    assert_eq!(
        told,
        [
            "phase/a/1",
            "phase/e/1",
            "phase/b/1",
            "phase/d/1",
            "end 0 a:complete×1 c:dropped×0 e:complete×1 b:complete×1 d:complete×1"
        ]
    );
}

/// What was changed of a version of the plan that was turned down is gone, and is not told as if it held.
#[test]
fn a_change_is_of_one_version_of_the_plan() {
    let drop = |name: &str| PhaseChange::Drop { phase: name.to_owned() };
    let recorded = |revision, name| RecordedChange { revision, change: drop(name) };
    let changes = || vec![recorded(0, "a"), recorded(1, "b")];
    let told = |machine: &Campaign| machine.changes().map(PhaseChange::told).collect::<Vec<_>>();
    let made = Campaign::new(CampaignPlan { coordinator: None, ..whole() }, changes());
    assert_eq!(made.revision(), 1);
    assert_eq!(told(&made), ["b is dropped"]);
    assert_eq!(made.lost_at_rejection(), ["b is dropped"]);
    let known = Campaign::new(bare("a b c"), changes());
    assert_eq!(told(&known), ["a is dropped", "b is dropped"]);
    assert_eq!(known.lost_at_rejection(), Vec::<String>::new());
}

/// What came after the phases has begun: a phase that is added now would not be part of it.
#[test]
fn a_phase_that_comes_too_late_is_refused() {
    let add = || PhaseChange::Add { phases: phases("late").phases };
    let never = |_: &StepKey| false;
    let plan = CampaignPlan { evaluator: Some(exec("EVALUATE")), ..bare("a b") };
    let refused = |plan: &CampaignPlan, script: &str, most: usize, is_begun: &str| {
        let mut machine = Campaign::new(plan.clone(), Vec::new());
        play(&mut machine, &mut Journal::default(), &scripted(script), &approve, most);
        machine.allow(add(), &|key| key.to_string() == is_begun).err()
    };
    assert_eq!(refused(&plan, "", 2, ""), None);
    let late = |what: &str| Some(format!("a phase comes too late now: {what}"));
    assert_eq!(refused(&plan, "", 2, "evaluation/1"), late("the evaluation has begun"));
    assert_eq!(refused(&plan, "", 3, ""), late("the evaluation has begun"));
    assert_eq!(refused(&plan, "phase/a=1", 2, ""), late("what failed is being healed"));
    assert_eq!(refused(&bare("a"), "", 1, "apply"), late("the work is being brought home"));
    let mut led = Campaign::new(CampaignPlan { mode: LayerMode::Agent, ..bare("a") }, Vec::new());
    assert!(led.allow(add(), &never).is_ok());
    led.led(None);
    assert_eq!(led.allow(add(), &never).err(), late("the session that led the phases is over"));
}

/// A roadmap is planned anew, the phases that a person wrote are not; and no campaign that ran
/// nothing has passed.
#[test]
fn phases_that_are_known_outlive_a_plan_that_is_turned_down() {
    let planning = PlanningPlan { roadmap: Some(exec("ROADMAP")), decomposer: None, max_phases: 8 };
    let plan = CampaignPlan { planning: Some(planning), review: true, ..bare("a b") };
    let dropped = PhaseChange::Drop { phase: "b".to_owned() };
    let changes = vec![RecordedChange { revision: 1, change: dropped }];
    let mut machine = Campaign::new(plan, changes);
    let reviews =
        |revision: u32| Some(ReviewAnswer { approved: revision > 1, words: "shorter".to_owned() });
    let script = |key: &str| u8::from(key == "none");
    let mut told = Vec::new();
    loop {
        match machine.go_on() {
            CampaignNext::Do(CampaignStep::Coordinate { part, attempt, .. }) => {
                let key = part.key(attempt).to_string();
                let made = record(told.len() as u128, script(&key), &part);
                told.push(key);
                machine.apply(&part, &CampaignRecord { made: None, ..made });
            }
            CampaignNext::Do(CampaignStep::Review { revision }) => {
                machine.reviewed(&reviews(revision).unwrap());
            }
            CampaignNext::Do(CampaignStep::Finish { ending }) => {
                assert_eq!(ending.outcome, Outcome::Success, "{}", ending.reason);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(told, ["plan/1/1", "plan/2/1", "phase/a/1"]);
    let mut none = Campaign::new(CampaignPlan { coordinator: None, ..bare("a") }, Vec::new());
    let CampaignNext::Do(CampaignStep::Finish { ending }) = none.go_on() else { panic!() };
    assert_eq!(ending.outcome, Outcome::Failure);
}

/// Work that an evaluator turned down is no partial success when mending it fails as well.
#[test]
fn what_was_turned_down_and_not_mended_is_not_partly_good() {
    let issue = "<evaluation>{\"verdict\": \"fail\", \"issues\": [{\"phase\": \"b\", \"problem\": \
                 \"too slow\"}]}</evaluation>";
    let plan = CampaignPlan { evaluator: Some(exec("EVALUATE")), ..bare("a b") };
    let mut machine = Campaign::new(plan, Vec::new());
    let ending = loop {
        match machine.go_on() {
            CampaignNext::Do(CampaignStep::Coordinate { part, attempt, .. }) => {
                let code = u8::from(part.name() == "b" && attempt > 1);
                let mut made = record(u128::from(attempt), code, &part);
                made.said = made.said.map(|_| issue.to_owned());
                machine.apply(&part, &made);
            }
            CampaignNext::Do(CampaignStep::Finish { ending }) => break ending,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(ending.outcome, Outcome::NeedsRefinement, "{}", ending.reason);
    assert!(ending.reason.contains("too slow"), "{}", ending.reason);
    assert!(!ending.manifest.evaluation.unwrap().passed);
}

#[test]
fn a_session_that_leads_chooses_among_what_is_there_and_left_out_is_not_done() {
    let plan = CampaignPlan { mode: LayerMode::Agent, ..bare("a b<a c") };
    let mut machine = Campaign::new(plan, Vec::new());
    assert_eq!(machine.go_on(), CampaignNext::Do(CampaignStep::Lead { round: 1 }));
    assert!(machine.choose("z", None).unwrap_err().contains("there are: a, b, c"));
    assert_eq!(machine.choose("b", None).unwrap_err(), "b waits for: a");
    let CampaignStep::Coordinate { part, .. } = machine.choose("a", None).unwrap() else {
        panic!()
    };
    machine.apply(&part, &record(1, 0, &part));
    assert_eq!(machine.choose("a", None).unwrap_err(), "a is done already");
    assert!(machine.choose("b", None).is_ok());
    machine.led(None);
    // What was left out is a round of healing for another session.
    assert_eq!(machine.go_on(), CampaignNext::Do(CampaignStep::Lead { round: 2 }));
    machine.led(None);
    assert_eq!(machine.go_on(), CampaignNext::Do(CampaignStep::Lead { round: 3 }));
    machine.led(Some("its time was up".to_owned()));
    let CampaignNext::Do(CampaignStep::Finish { ending }) = machine.go_on() else { panic!() };
    assert_eq!(ending.outcome, Outcome::Partial);
    assert!(ending.reason.contains("its time was up"), "{}", ending.reason);
}

proptest! {
    /// A campaign that is killed anywhere, fed with its records and gone on with, ends the same.
    #[test]
    fn a_killed_campaign_ends_like_one_that_was_not(
        codes in prop::collection::vec(0..Outcome::ALL.len(), 1..24),
        kills in prop::collection::vec(0..8usize, 1..6),
        rejects in 0..3u32,
    ) {
        let codes: Vec<u8> = codes.iter().map(|at| Outcome::ALL[*at].exit_code()).collect();
        // What a step comes to follows from its name, in every process.
        let script = |key: &str| {
            let at = key.bytes().fold(7usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            codes[at % codes.len()]
        };
        let reviews = |revision: u32| {
            Some(ReviewAnswer { approved: revision > rejects, words: "more".to_owned() })
        };
        let mut straight = Journal::default();
        let mut machine = Campaign::new(whole(), Vec::new());
        let whole_way = play(&mut machine, &mut straight, &script, &reviews, usize::MAX);
        let mut journal = Journal::default();
        for most in kills {
            let mut machine = Campaign::new(whole(), Vec::new());
            let _ = play(&mut machine, &mut journal, &script, &reviews, most);
        }
        let mut machine = Campaign::new(whole(), Vec::new());
        let last = play(&mut machine, &mut journal, &script, &reviews, usize::MAX);
        prop_assert_eq!(whole_way.last(), last.last());
        prop_assert_eq!(
            straight.records.keys().collect::<Vec<_>>(),
            journal.records.keys().collect::<Vec<_>>()
        );
    }

    /// Depth and interrupts are never absorbed, nothing begins after them, and nothing passes that did not.
    #[test]
    fn depth_and_interrupts_are_never_absorbed_by_a_campaign(
        codes in prop::collection::vec(0..Outcome::ALL.len(), 1..40),
    ) {
        let outcomes: Vec<Outcome> = codes.iter().map(|at| Outcome::ALL[*at]).collect();
        let mut machine = Campaign::new(bare("a b<a c d<b+c"), Vec::new());
        let mut seen = Vec::new();
        for step in 0.. {
            prop_assert!(step < 100, "it has no end: {seen:?}");
            match machine.go_on() {
                CampaignNext::Do(CampaignStep::Coordinate { part, .. }) => {
                    let stops = |one: &Outcome| {
                        matches!(one, Outcome::Interrupted | Outcome::DepthExceeded | Outcome::QuotaParked)
                    };
                    prop_assert!(!seen.iter().any(stops), "{seen:?}");
                    let outcome = outcomes[seen.len() % outcomes.len()];
                    seen.push(outcome);
                    machine.apply(&part, &record(seen.len() as u128, outcome.exit_code(), &part));
                }
                CampaignNext::Do(CampaignStep::Finish { ending }) => {
                    prop_assert!(!seen.contains(&Outcome::Interrupted), "{seen:?}");
                    if seen.contains(&Outcome::DepthExceeded) {
                        prop_assert_eq!(ending.outcome, Outcome::DepthExceeded);
                    }
                    if ending.outcome == Outcome::Success {
                        let passed = seen.iter().filter(|one| **one == Outcome::Success).count();
                        prop_assert_eq!(passed, 4);
                    }
                    break;
                }
                CampaignNext::Park(parked) => {
                    let last = *seen.last().unwrap();
                    let is_stop = matches!(last, Outcome::Interrupted | Outcome::QuotaParked);
                    prop_assert!(parked.outcome == last || !is_stop, "{seen:?}");
                    prop_assert!(!seen.contains(&Outcome::DepthExceeded), "{seen:?}");
                    break;
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
