use proptest::prelude::*;
use spore_model::TreeId;

use super::*;

fn tree() -> TreeId {
    TreeId::new("0".repeat(40)).unwrap()
}

/// Reads `test=3` (blocking), `lint~2` (a warning) and `build` (passed).
fn checks(text: &str) -> Vec<CheckResult> {
    text.split_whitespace()
        .map(|word| {
            let at = word.find(['=', '~']).unwrap_or(word.len());
            let errors: u32 = word.get(at + 1..).and_then(|text| text.parse().ok()).unwrap_or(0);
            let warns = word[at..].starts_with('~');
            CheckResult {
                name: word[..at].to_owned(),
                tool: format!("run {}", &word[..at]),
                passed: errors == 0,
                errors,
                warnings: 0,
                severity: if warns { Severity::Warning } else { Severity::Blocking },
                exit_code: Some(i32::from(errors > 0)),
                failing: Vec::new(),
                assertions: Vec::new(),
                findings: Vec::new(),
                note: None,
                output: String::new(),
                log: format!("sentinel/cycle-1/{}.log", &word[..at]),
            }
        })
        .collect()
}

fn alone(max_cycles: u32, stuck_cycles: u32) -> SentinelRules {
    SentinelRules { max_cycles, stuck_cycles, judged: false }
}

#[track_caller]
fn check(most: u32, cycles: &str, expected: &str) {
    check_stuck(most, 2, cycles, expected);
}

/// Plays cycles, separated by commas, and tells what the machine says after the last.
#[track_caller]
fn check_stuck(most: u32, stuck: u32, cycles: &str, expected: &str) {
    let mut machine = Sentinel::new(alone(most, stuck));
    let mut told = format!("{:?}", machine.start());
    for (index, cycle) in cycles.split(',').enumerate() {
        let number = u32::try_from(index).unwrap() + 1;
        let found = Verification::grade(number, tree(), checks(cycle), machine.last());
        let grade = found.overall;
        told = match machine.checked(found) {
            SentinelNext::Do(SentinelStep::Finish { ending }) => {
                format!("{grade} {} {}", ending.outcome.exit_code(), ending.reason)
            }
            SentinelNext::Mend { reason, .. } => format!("{grade} mend: {reason}"),
            other => format!("{other:?}"),
        };
    }
    assert_eq!(told, expected);
}

#[test]
fn the_stop_rules_are_those_of_the_seed() {
    check(3, "build test lint", "PASS 0 every check passed");
    check(3, "build test lint~2", "WARN 0 only warnings are left");
    check(3, "build test=3", "FAIL mend: cycle 1 of 3: 3 blocking");
    check(3, "test=3,test=2,test", "PASS 0 every check passed");
    check(3, "test=3,test=2,test=1", "FAIL 10 1 blocking after cycle 3, the last");
    check(3, "test=3,test=2,lint~1", "WARN 0 only warnings are left");
    check(3, "test=3,test=3", "FAIL mend: cycle 2 of 3: 3 blocking");
    check(3, "test=3,test=3,test=4", "FAIL 11 4 blocking, and 2 cycles in a row were no better");
    check(
        5,
        "test=5,test=5,test=4,test=4,test=4",
        "FAIL 11 4 blocking, and 2 cycles in a row were no better",
    );
    check(1, "test=1", "FAIL 10 1 blocking after cycle 1, the last");
}

#[test]
fn how_long_it_may_be_stuck_is_for_the_caller_to_say() {
    check_stuck(5, 1, "test=3,test=3", "FAIL 11 3 blocking, and the last cycle was no better");
    check_stuck(5, 3, "test=3,test=3,test=4", "FAIL mend: cycle 3 of 5: 4 blocking");
    check_stuck(
        5,
        3,
        "test=3,test=3,test=4,test=4",
        "FAIL 11 4 blocking, and 3 cycles in a row were no better",
    );
}

/// No role is paid to judge what decides by itself how it is checked, and it is no pass.
#[test]
fn what_was_refused_is_judged_by_no_role() {
    for judged in [false, true] {
        let mut machine = Sentinel::new(SentinelRules { judged, ..alone(1, 2) });
        let guard = checks("guards=1").remove(0);
        let found = Verification::refuse(1, tree(), guard, None);
        let SentinelNext::Do(SentinelStep::Finish { ending }) = machine.checked(found) else {
            panic!("{machine:?}")
        };
        let told = (ending.outcome, machine.grade(), ending.summary.unjudged.is_some());
        assert_eq!(told, (Outcome::NeedsRefinement, Some(Grade::Fail), judged));
    }
}

#[test]
fn a_cycle_is_compared_with_the_one_before() {
    let first = Verification::grade(1, tree(), checks("build=1 test=2 lint~1"), None);
    let second = Verification::grade(2, tree(), checks("build test=2 lint~1 docs=1"), Some(&first));
    assert_eq!(
        second.compared,
        Some(CycleComparison {
            with_cycle: 1,
            blocking_before: 3,
            improved: false,
            mended: vec!["build".into()],
            broken: vec!["docs".into()],
        })
    );
    insta::assert_snapshot!(second.report(None));
    insta::assert_snapshot!(
        "the_fix_list",
        serde_json::to_string_pretty(&second.fix_list(None)).unwrap()
    );
    insta::assert_snapshot!(
        "the_verification_results",
        serde_json::to_string_pretty(&second).unwrap()
    );
}

const SPEC: &str = r#"<test-spec>{"requirements": [
    {"id": "R1", "text": "the total is right", "level": "must", "check": "a test"},
    {"id": "R2", "text": "it is told in dollars", "level": "should"}]}</test-spec>"#;
const GOOD: &str = r#"<audit>{"grade": "PASS", "requirements": [
    {"id": "R1", "status": "met", "evidence": "bill.py:3"},
    {"id": "R2", "status": "met", "evidence": "bill.py:9"}]}</audit>"#;
const BAD: &str = r#"<audit>{"grade": "FAIL", "requirements": [
    {"id": "R1", "status": "unmet", "evidence": "bill.py:3 adds nothing"},
    {"id": "R2", "status": "met", "evidence": "bill.py:9"}],
    "findings": [{"severity": "warning", "file": "bill.py", "line": 4, "issue": "unused"}]}</audit>"#;
const ORDER: &str =
    r#"<fixes>{"fixes": [{"id": 2, "suggested_fix": "add them up"}, {"id": 1}]}</fixes>"#;

fn said(text: &str) -> RoleAnswer {
    let (outcome, reason) = match text {
        "fails" => (Outcome::Failure, Some("it broke down".to_owned())),
        "too deep" => (Outcome::DepthExceeded, Some("no depth is left".to_owned())),
        "quota" => (Outcome::QuotaParked, Some("until noon".to_owned())),
        _ => (Outcome::Success, None),
    };
    RoleAnswer { outcome, reason, park: None, text: text.to_owned() }
}

fn mended(outcome: Outcome) -> FixEnd {
    FixEnd { run: RunId::from_parts(1, 1), outcome, reason: None, park: None, commit: None }
}

/// Leads a judged sentinel: each answer is used by the step that is next, each cycle by a check.
fn lead(rules: SentinelRules, cycles: &[&str], answers: &[&str]) -> (Sentinel, Vec<String>) {
    let mut machine = Sentinel::new(rules);
    let (mut cycles, mut answers) = (cycles.iter(), answers.iter());
    let mut told = Vec::new();
    let mut next = machine.start();
    loop {
        let step = match next {
            SentinelNext::Do(SentinelStep::Finish { ending }) => {
                let grade = machine.grade().map_or("none".to_owned(), |grade| grade.to_string());
                let code = ending.outcome.exit_code();
                told.push(format!("{grade} {code} {}", ending.reason));
                return (machine, told);
            }
            SentinelNext::Do(step) => step,
            SentinelNext::Park(parked) => {
                told.push(format!("parked: {}", parked.reason));
                return (machine, told);
            }
            other => panic!("{other:?}"),
        };
        told.push(step.key().to_string());
        next = match &step {
            SentinelStep::Check { cycle } => {
                let checks = checks(cycles.next().unwrap_or(&"test"));
                let found = Verification::grade(*cycle, tree(), checks, machine.last());
                machine.checked(found)
            }
            SentinelStep::Fix { .. } => machine.fixed(&mended(Outcome::Success)),
            step => machine.answered(step, &said(answers.next().unwrap_or(&""))),
        };
    }
}

fn whole(max_cycles: u32) -> SentinelRules {
    SentinelRules { max_cycles, stuck_cycles: 2, judged: true }
}

#[track_caller]
fn check_whole(most: u32, cycles: &[&str], answers: &[&str], expected: &str) {
    let (_, told) = lead(whole(most), cycles, answers);
    assert_eq!(told.join(", "), expected);
}

#[test]
fn a_whole_loop_writes_checks_audits_orders_mends_and_looks_again() {
    check_whole(
        3,
        &["test=2", "test"],
        &[SPEC, BAD, ORDER, GOOD],
        "write/1, cycle/1, audit/1/1, consolidate/1, fix/1, cycle/2, audit/2/1, \
         PASS 0 every check passed and every requirement is met",
    );
    check_whole(
        2,
        &["test"],
        &[SPEC, BAD, "", BAD],
        "write/1, cycle/1, audit/1/1, consolidate/1, fix/1, cycle/2, audit/2/1, \
         FAIL 10 1 blocking after cycle 2, the last",
    );
    check_whole(
        5,
        &["test=1", "test=1", "test=1"],
        &[SPEC, GOOD, "", GOOD, "", GOOD],
        "write/1, cycle/1, audit/1/1, consolidate/1, fix/1, cycle/2, audit/2/1, consolidate/2, \
         fix/2, cycle/3, audit/3/1, FAIL 11 1 blocking, and 2 cycles in a row were no better",
    );
}

#[test]
fn a_role_that_answers_garbage_is_asked_once_more_and_is_never_a_pass() {
    let asked = "write/1, write/2, cycle/1";
    for garbage in [
        "",
        "PASS",
        "fails",
        "<test-spec>{}</test-spec>",
        "<test-spec>{\"requirements\": []}</test-spec>",
    ] {
        let (machine, told) = lead(whole(3), &["test"], &[garbage, garbage]);
        assert!(told.join(", ").starts_with(asked), "{told:?}");
        assert_eq!(machine.grade(), Some(Grade::Fail), "{garbage}");
    }
    for garbage in [
        "",
        "PASS",
        "fails",
        "<audit>PASS</audit>",
        "<audit>{\"grade\": \"PASS\"",
        &format!("{GOOD}{GOOD}"),
    ] {
        let (machine, told) = lead(whole(3), &["test"], &[SPEC, garbage, garbage]);
        assert_eq!(told[..4].join(", "), "write/1, cycle/1, audit/1/1, audit/1/2", "{garbage}");
        assert!(told[4].starts_with("FAIL 11 there is no audit"), "{told:?}");
        assert_eq!(machine.grade(), Some(Grade::Fail));
    }
    // The second answer may be better, and the role is told what was wrong with the first.
    check_whole(
        3,
        &["test"],
        &["", SPEC, "what?", GOOD],
        "write/1, write/2, cycle/1, audit/1/1, audit/1/2, \
         PASS 0 every check passed and every requirement is met",
    );
}

#[test]
fn a_pass_with_red_checks_or_silent_requirements_is_no_pass() {
    let (machine, told) = lead(whole(1), &["test=3"], &[SPEC, GOOD]);
    assert_eq!(told.last().unwrap(), "FAIL 10 3 blocking after cycle 1, the last");
    assert_eq!(machine.grade(), Some(Grade::Fail));
    let silent = r#"<audit>{"grade": "PASS", "requirements": []}</audit>"#;
    let (_, told) = lead(whole(1), &["test"], &[SPEC, silent]);
    assert_eq!(told.last().unwrap(), "FAIL 10 1 blocking after cycle 1, the last");
    let bare = GOOD.replace("bill.py:3", " ");
    let (machine, told) = lead(whole(1), &["test"], &[SPEC, &bare]);
    assert_eq!(told.last().unwrap(), "FAIL 10 1 blocking after cycle 1, the last");
    insta::assert_snapshot!("an_audit", machine.last().unwrap().report(machine.spec()));
    let groundless = GOOD.replace("PASS", "FAIL");
    let (_, told) = lead(whole(1), &["test"], &[SPEC, &groundless]);
    assert_eq!(told.last().unwrap(), "FAIL 10 1 blocking after cycle 1, the last");
}

#[test]
fn what_stops_a_session_stops_the_sentinel() {
    check_whole(3, &[], &["too deep"], "write/1, none 2 no depth is left");
    check_whole(3, &["test"], &[SPEC, "quota"], "write/1, cycle/1, audit/1/1, parked: until noon");
    let mut machine = Sentinel::new(whole(3));
    let stopped = machine.fixed(&mended(Outcome::Interrupted));
    assert!(matches!(stopped, SentinelNext::Park(Parked { park: Park::Interrupt, .. })));
}

#[test]
fn a_consolidator_orders_and_drops_nothing() {
    let found = Verification::grade(1, tree(), checks("build=1 test=1 lint~1"), None);
    let list = found.fix_list(None);
    let ids = |list: &FixList| {
        list.fixes
            .iter()
            .map(|fix| (fix.check.clone(), fix.suggested_fix.clone()))
            .collect::<Vec<_>>()
    };
    let ordered = list.clone().ordered(ORDER).unwrap();
    assert_eq!(
        ids(&ordered),
        [
            ("test".to_owned(), "add them up".to_owned()),
            ("build".to_owned(), "see sentinel/cycle-1/build.log".to_owned()),
            ("lint".to_owned(), "see sentinel/cycle-1/lint.log".to_owned()),
        ]
    );
    // What only warns does not get in front, and what was left out is still there.
    let turned = r#"<fixes>{"fixes": [{"id": 3}, {"id": 99}]}</fixes>"#;
    assert_eq!(ids(&list.clone().ordered(turned).unwrap()), ids(&list));
    assert!(list.ordered("<fixes>{}</fixes>").is_err());
}

#[test]
fn places_and_assertions_are_what_is_to_be_mended() {
    let mut red = checks("test=2 lint~2");
    red[0].failing = vec!["t.py::test_a".into()];
    red[0].assertions =
        vec![FailedAssertion { test: "t.py::test_a".into(), said: "assert 3 == 4".into() }];
    let place = |line, severity| CheckFinding {
        file: "src/a.py".into(),
        line,
        severity,
        rule: Some("F401".into()),
        message: "`os` imported but unused".into(),
    };
    red[1].findings = vec![place(1, Severity::Warning), place(2, Severity::Warning)];
    let found = Verification::grade(1, tree(), red, None);
    insta::assert_snapshot!(found.fix_list(None).lines(2));
    let mut green = checks("lint");
    green[0].warnings = 2;
    let found = Verification::grade(1, tree(), green, None);
    assert_eq!((found.overall, found.warning_count), (Grade::Warn, 2));
}

fn an_answer() -> impl Strategy<Value = String> {
    let known = vec!["", "PASS", "fails", SPEC, GOOD, BAD, ORDER, "<audit>", "{}"];
    prop_oneof![
        proptest::sample::select(known).prop_map(str::to_owned),
        "[<>{}\"a-zA-Z: /-]{0,40}",
        (
            proptest::sample::select(vec!["PASS", "WARN", "FAIL"]),
            proptest::sample::select(vec!["met", "unmet", "unknown"])
        )
            .prop_map(|(grade, status)| {
                GOOD.replacen("PASS", grade, 1).replacen("\"met\"", &format!("\"{status}\""), 1)
            }),
    ]
}

proptest! {
    #[test]
    fn whatever_is_answered_a_pass_has_green_checks_and_met_requirements(
        cycles in proptest::collection::vec(proptest::sample::select(
            vec!["test", "test=1", "test=2", "lint~1", "build=1 test"]), 0..5),
        answers in proptest::collection::vec(an_answer(), 0..14),
        most in 1_u32..4,
        stuck in 1_u32..4,
    ) {
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let rules = SentinelRules { max_cycles: most, stuck_cycles: stuck, judged: true };
        let (machine, told) = lead(rules, &cycles, &answers);
        prop_assert!(told.len() <= 3 + 5 * most as usize + 1);
        let is_success = told.last().unwrap().contains(" 0 ");
        prop_assert_eq!(is_success, machine.grade().is_some_and(|grade| grade != Grade::Fail));
        if is_success {
            let last = machine.last().unwrap();
            let is_fine =
                |check: &CheckResult| check.passed || check.severity == Severity::Warning;
            prop_assert!(last.checks.iter().all(is_fine));
            let audit = last.audit.as_ref().unwrap();
            prop_assert!(audit.grade != Grade::Fail);
            prop_assert!(audit.requirements[0].status == RequirementStatus::Met);
            prop_assert!(audit.requirements[0].id == "R1");
        }
    }
}
