//! A script of what the world answers, and the steps the machine takes in return.

use std::collections::BTreeMap;

use proptest::prelude::*;
use spore_model::{
    Begun, CommitId, Cost, ProofSummary, RunId, SessionNotes, StepKey, Ticket, Usage,
};

use super::*;
use crate::{End, NamelessGate, Solo, World, drive};

/// Plays answers by step name: `coder/1 ok`, `gates/1 red`, `verifier/2 pass`, … What the
/// script does not mention goes well; trees are named by a letter.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) answers: BTreeMap<String, String>,
    /// Results on record, as a journal would have them.
    pub(crate) recorded: BTreeMap<StepKey, Done>,
    pub(crate) steps: Vec<String>,
    /// Stop before performing this many steps: the process is killed.
    pub(crate) lives: Option<usize>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Killed;

fn tree(letter: char) -> TreeId {
    let digit = format!("{:x}", (letter as u32) % 16);
    TreeId::new(digit.repeat(40)).unwrap()
}

fn session(outcome: Outcome, text: &str) -> SessionSummary {
    SessionSummary {
        run: RunId::from_parts(0, 0),
        outcome,
        reason: None,
        final_text: text.into(),
        session_id: Some("talk".into()),
        model: None,
        turns: 1,
        usage: Usage::default(),
        cost: Cost::default(),
        notes: SessionNotes::default(),
        duration_ms: 0,
        exit_code: None,
    }
}

fn gates(green: bool) -> GateSummary {
    GateSummary {
        asked: Vec::new(),
        green,
        lines: vec![if green { "test: green".into() } else { "test: 1 new failure".into() }],
        new_failures: Vec::new(),
        evidence: String::new(),
        proof: Some(ProofSummary {
            level: ProofLevel::Checked,
            line: "checked, 1 kept".into(),
            doubts: vec!["the change touches `tox.ini`".into()],
        }),
        nameless: Vec::new(),
    }
}

fn rebased(answer: &str) -> Done {
    let fate = match answer {
        "conflict" => {
            crate::RebaseFate::Conflict { files: vec!["a.rs".into()], shown: String::new() }
        }
        _ => crate::RebaseFate::Stacked { tree: tree('m') },
    };
    let overlap = (answer == "overlaps").then(|| "a.rs".to_owned());
    let owner = RunId::from_parts(0, 1);
    Done::Rebased {
        tree: tree(if answer == "there" { '0' } else { 'm' }),
        entries: vec![crate::RebasedEntry { owner, fate }],
        overlap: overlap.into_iter().collect(),
    }
}

impl Script {
    pub(crate) fn new(text: &str) -> Self {
        let answers = text
            .lines()
            .filter_map(|line| line.trim().split_once(' '))
            .map(|(step, answer)| (step.to_owned(), answer.to_owned()))
            .collect();
        Self { answers, ..Self::default() }
    }

    fn answer(&self, step: &Step) -> Done {
        let answer = self.answers.get(step.key().as_str()).map_or("", String::as_str);
        match step {
            Step::Prepare => {
                Done::Prepared { base: CommitId::new("0".repeat(40)).unwrap(), tree: tree('0') }
            }
            Step::Baseline => {
                let nameless = |unstarted| {
                    vec![NamelessGate {
                        command: "make test".into(),
                        unstarted,
                        tail: "make: nothing\nmake: stop".into(),
                    }]
                };
                let nameless = match answer {
                    "silent" => nameless(false),
                    "unstarted" => nameless(true),
                    _ => Vec::new(),
                };
                Done::Baseline(GateSummary { nameless, ..gates(answer.is_empty()) })
            }
            Step::Tester => {
                let outcome = match answer {
                    "quota" => Outcome::QuotaParked,
                    "interrupted" => Outcome::Interrupted,
                    "too-deep" => Outcome::DepthExceeded,
                    "fails" => Outcome::Failure,
                    _ => Outcome::Success,
                };
                let failure = matches!(answer, "fails" | "nothing").then(|| answer.to_owned());
                let tests = crate::WrittenTests { failure, ..crate::WrittenTests::default() };
                let session = (answer != "unstarted").then(|| session(outcome, ""));
                Done::Tester { session, tests }
            }
            Step::Coder { .. } => match answer {
                "fails" => Done::Coder(session(Outcome::Failure, "")),
                "limited" => Done::Coder(session(Outcome::Partial, "")),
                "quota" => Done::Coder(session(Outcome::QuotaParked, "")),
                "interrupted" => Done::Coder(session(Outcome::Interrupted, "")),
                "too-deep" => Done::Coder(session(Outcome::DepthExceeded, "")),
                "broke" => Done::Stopped { park: Park::Budget, reason: "no money".into() },
                _ => Done::Coder(session(Outcome::Success, "done")),
            },
            Step::Snapshot { bounce } => {
                let letter = answer.chars().next().unwrap_or(char::from(b'0' + *bounce as u8));
                let secrets = match answer {
                    "secret" => vec![Finding { file: None, line: None, message: "key".into() }],
                    _ => Vec::new(),
                };
                let refused = (answer == "refused").then(|| "too large".to_owned());
                Done::Snapshot {
                    tree: tree(letter),
                    changed_files: 1,
                    secrets,
                    refused,
                    left_out: Vec::new(),
                }
            }
            Step::Rebase => rebased(answer),
            Step::Gates { .. } => Done::Gates(gates(answer != "red")),
            Step::Verifier { .. } => {
                let (outcome, text) = match answer {
                    "fail" => {
                        (Outcome::Success, r#"<verdict>{"verdict":"fail","reason":"no"}</verdict>"#)
                    }
                    "mumble" => (Outcome::Success, "looks fine to me"),
                    "breaks" => (Outcome::TimedOut, ""),
                    "quota" => (Outcome::QuotaParked, ""),
                    _ => {
                        (Outcome::Success, r#"<verdict>{"nonce":"n1","verdict":"pass"}</verdict>"#)
                    }
                };
                Done::Verifier {
                    session: session(outcome, text),
                    intact: answer != "tampers",
                    nonce: "n1".into(),
                    submitted: None,
                }
            }
            Step::Close { .. } => Done::Closed,
            Step::Commit { .. } => {
                Done::Committed { commit: CommitId::new("c".repeat(40)).unwrap() }
            }
            Step::Apply { .. } => Done::Applied { record: serde_json::Value::Null },
            Step::Escalate { .. } => Done::Escalated,
            Step::Summarize { .. } => match answer {
                "interrupted" => Done::Stopped { park: Park::Interrupt, reason: answer.into() },
                _ => Done::Summarized { session: None, note: "nothing".into() },
            },
            Step::Solo { .. } => match answer {
                "fails" => Done::Solo(session(Outcome::Failure, "")),
                "quota" => Done::Solo(session(Outcome::QuotaParked, "")),
                _ => Done::Solo(session(Outcome::Success, "done")),
            },
            Step::Finish { .. } => Done::Finished,
        }
    }
}

impl World for Script {
    type Error = Killed;

    fn begin(&mut self, step: &Step) -> Result<Begun<Done>, Killed> {
        Ok(match self.recorded.get(&step.key()) {
            Some(done) => Begun::Done(done.clone()),
            None => Begun::Do(Ticket { attempt: 1, intent: serde_json::Value::Null }),
        })
    }

    fn perform(&mut self, step: &Step, _: &Ticket) -> Result<Done, Killed> {
        if let Some(lives) = &mut self.lives {
            *lives = lives.checked_sub(1).ok_or(Killed)?;
        }
        self.steps.push(step.key().to_string());
        Ok(self.answer(step))
    }

    fn finish(&mut self, step: &Step, _: &Ticket, done: &Done) -> Result<(), Killed> {
        self.recorded.insert(step.key(), done.clone());
        Ok(())
    }
}

pub(crate) fn rules() -> BounceRules {
    BounceRules {
        max_bounces: 3,
        min_confidence: 0.6,
        phrase_confidence: 0.5,
        verifier_attempts: 2,
        require: ProofLevel::Checked,
        allow_red: false,
        fix_red: false,
        hold_out: false,
        summarize: true,
    }
}

pub(crate) fn told(end: &End) -> String {
    match end {
        End::Concluded(Conclusion { fault: Some(fault), .. }) => format!("fault {fault:?}"),
        End::Concluded(Conclusion { outcome, .. }) => format!("{outcome:?}"),
        End::Parked { park, .. } => format!("parked {park:?}"),
    }
}

#[track_caller]
fn check(script: &str, steps: &str, end: &str) {
    let mut world = Script::new(script);
    let ended = drive(&mut Bounce::new(rules()), &mut world).unwrap();
    let expected: Vec<&str> = steps.split_whitespace().collect();
    assert_eq!(
        (world.steps, told(&ended)),
        (expected.iter().map(|&s| s.to_owned()).collect(), end.to_owned())
    );
}

#[test]
fn work_that_holds_at_once_is_committed() {
    check(
        "",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 close/1 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn a_tester_works_before_the_coder_and_its_failure_is_not_the_runs() {
    let rest = "coder/1 snapshot/1 gates/1 verifier/1 close/1 commit apply summarize finish";
    let checked = BounceRules { hold_out: true, ..rules() };
    let required = BounceRules { require: ProofLevel::HeldOut, ..checked };
    for (rules, answer, behind, end) in [
        (&checked, "ok", rest, "Success"),
        (&checked, "fails", rest, "Success"),
        (&checked, "nothing", rest, "Success"),
        (&checked, "unstarted", rest, "Success"),
        (&checked, "quota", "", "parked Quota"),
        (&checked, "interrupted", "", "parked Interrupt"),
        (&checked, "too-deep", "finish", "DepthExceeded"),
        (&required, "nothing", "", "parked Human"),
        (&required, "fails", "", "parked Human"),
    ] {
        let mut world = Script::new(&format!("tester {answer}"));
        let ended = drive(&mut Bounce::new(rules.clone()), &mut world).unwrap();
        let steps = format!("prepare baseline tester {behind}");
        assert_eq!(world.steps.join(" "), steps.trim_end(), "{answer}");
        assert_eq!(told(&ended), end, "{answer}");
        // What has to wait is done again.
        let is_parked = end.starts_with("parked");
        assert_eq!(world.recorded.contains_key(&StepKey::tester()), !is_parked, "{answer}");
    }
}

#[test]
fn a_red_gate_goes_back_to_the_coder_without_asking_the_verifier() {
    check(
        "gates/1 red",
        "prepare baseline coder/1 snapshot/1 gates/1 close/1
         coder/2 snapshot/2 gates/2 verifier/2 close/2 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn a_run_that_never_holds_is_escalated() {
    check(
        "gates/1 red
         verifier/2 fail
         verifier/3 fail",
        "prepare baseline coder/1 snapshot/1 gates/1 close/1
         coder/2 snapshot/2 gates/2 verifier/2 close/2
         coder/3 snapshot/3 gates/3 verifier/3 close/3 escalate summarize finish",
        "NeedsEscalation",
    );
}

#[test]
fn a_verifier_that_never_says_anything_is_not_a_pass() {
    check(
        "verifier/1 mumble
         verifier/2 tampers
         verifier/3 mumble",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 close/1
         coder/2 snapshot/2 gates/2 verifier/2 close/2
         coder/3 snapshot/3 gates/3 verifier/3 close/3 finish",
        "NeedsRefinement",
    );
}

#[test]
fn a_coder_that_fails_and_changes_nothing_ends_the_run() {
    check(
        "coder/1 fails
         snapshot/1 0",
        "prepare baseline coder/1 snapshot/1 finish",
        "Failure",
    );
}

#[test]
fn a_coder_that_reaches_a_limit_and_changes_nothing_has_its_next_attempt() {
    check(
        "coder/1 limited
         snapshot/1 0",
        "prepare baseline coder/1 snapshot/1 close/1
         coder/2 snapshot/2 gates/2 verifier/2 close/2 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn a_coder_that_fails_and_leaves_the_rejected_tree_ends_the_run() {
    check(
        "verifier/1 fail
         coder/2 fails
         snapshot/2 1",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 close/1 coder/2 snapshot/2 finish",
        "Failure",
    );
}

#[test]
fn a_coder_that_fails_with_changes_is_still_checked() {
    check(
        "coder/1 fails",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 close/1 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn a_coder_that_claims_success_without_a_change_is_bounced() {
    check(
        "snapshot/1 0",
        "prepare baseline coder/1 snapshot/1 close/1
         coder/2 snapshot/2 gates/2 verifier/2 close/2 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn the_rejected_tree_handed_in_again_is_no_change() {
    check(
        "verifier/1 fail
         snapshot/2 1",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 close/1
         coder/2 snapshot/2 close/2
         coder/3 snapshot/3 gates/3 verifier/3 close/3 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn a_tree_nobody_could_judge_may_be_handed_in_again() {
    check(
        "verifier/1 mumble
         snapshot/2 1",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 close/1
         coder/2 snapshot/2 gates/2 verifier/2 close/2 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn a_verifier_that_breaks_is_started_once_more_and_then_a_person_is_asked() {
    check(
        "verifier/1 breaks",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 verifier/1/2 close/1 commit apply summarize finish",
        "Success",
    );
    check(
        "verifier/1 breaks
         verifier/1/2 breaks",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 verifier/1/2",
        "parked Human",
    );
}

#[test]
fn a_red_baseline_is_refused() {
    check("baseline red", "prepare baseline finish", "fault BadInput");
}

/// The rules of a run, the base's checks, and how far it gets: to its first coder or not.
#[track_caller]
fn check_base(rules: BounceRules, baseline: &str, coded: bool, told: &str) {
    let mut world = Script::new(&format!("baseline {baseline}"));
    let end = drive(&mut Bounce::new(rules), &mut world).unwrap();
    assert_eq!(world.steps.iter().any(|step| step == "coder/1"), coded, "{baseline}");
    let End::Concluded(conclusion) = end else { panic!("{end:?}") };
    assert!(conclusion.reason.contains(told), "{baseline}: {}", conclusion.reason);
    assert_eq!(conclusion.fault.is_none(), coded, "{baseline}");
}

#[test]
fn a_red_base_is_worked_on_where_old_failures_can_be_told_from_new_ones() {
    let allowed = || BounceRules { allow_red: true, ..rules() };
    check_base(allowed(), "red", true, "verified");
    check_base(allowed(), "silent", false, "without naming a test");
    check_base(allowed(), "silent", false, "\n$ make test\n  make: nothing\n  make: stop");
    check_base(allowed(), "unstarted", false, "make: stop");
    check_base(rules(), "silent", false, "make: stop");
}

#[test]
fn a_check_of_the_tasks_own_that_is_red_at_the_base_is_named() {
    let reason = |rules: BounceRules, asked: &[&str]| {
        let asked = asked.iter().map(ToString::to_string).collect();
        let red = Done::Baseline(GateSummary { asked, ..gates(false) });
        match Bounce::new(rules).apply(&Step::Baseline, &red) {
            Next::Do(Step::Finish { conclusion }) => conclusion.reason,
            other => panic!("{other:?}"),
        }
    };
    for (asked, expected) in [
        (&["[ -f a ]"][..], "the task's own check `[ -f a ]` already fails at the base commit"),
        (&["x", "y"], "the task's own check `x`, and not it alone, already fails at the base"),
        (&[], RED_BASE),
    ] {
        assert!(reason(rules(), asked).starts_with(expected), "{}", reason(rules(), asked));
    }
}

#[test]
fn what_is_red_at_the_base_can_be_the_task() {
    let fix = || BounceRules { fix_red: true, ..rules() };
    check_base(fix(), "red", true, "verified");
    check_base(fix(), "silent", true, "verified");
    check_base(fix(), "unstarted", false, "cannot even be started");
    check_base(fix(), "", false, "nothing to mend");
    let mut machine = Bounce::new(fix());
    let red = Done::Baseline(GateSummary { evidence: "assert 1 == 2".into(), ..gates(false) });
    let Next::Do(Step::Coder { evidence: Some(told), .. }) = machine.apply(&Step::Baseline, &red)
    else {
        panic!("no coder was told what fails")
    };
    let text = told.to_markdown();
    assert!(
        text.contains("mending that is the task") && text.contains("> assert 1 == 2"),
        "{text}"
    );
}

#[test]
fn what_has_to_wait_parks_and_leaves_its_step_undone() {
    check("coder/1 quota", "prepare baseline coder/1", "parked Quota");
    check("coder/1 interrupted", "prepare baseline coder/1", "parked Interrupt");
    check("coder/1 broke", "prepare baseline coder/1", "parked Budget");
    check(
        "verifier/1 quota",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1",
        "parked Quota",
    );
}

#[test]
fn a_secret_goes_back_before_anything_runs() {
    check(
        "snapshot/1 secret",
        "prepare baseline coder/1 snapshot/1 close/1
         coder/2 snapshot/2 gates/2 verifier/2 close/2 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn files_that_cannot_be_stored_go_back_before_anything_runs() {
    check(
        "snapshot/1 refused",
        "prepare baseline coder/1 snapshot/1 close/1
         coder/2 snapshot/2 gates/2 verifier/2 close/2 commit apply summarize finish",
        "Success",
    );
}

#[test]
fn summing_up_may_wait_and_never_changes_the_end() {
    check(
        "summarize interrupted",
        "prepare baseline coder/1 snapshot/1 gates/1 verifier/1 close/1 commit apply summarize",
        "parked Interrupt",
    );
    let mut world = Script::new("");
    let silent = BounceRules { summarize: false, ..rules() };
    let end = drive(&mut Bounce::new(silent), &mut world).unwrap();
    assert_eq!(told(&end), "Success");
    assert!(!world.steps.contains(&"summarize".to_owned()));
}

#[test]
fn what_is_not_proved_as_far_as_required_goes_back_without_a_verdict() {
    let mut world = Script::new("");
    let strict = BounceRules { require: ProofLevel::Proved, max_bounces: 1, ..rules() };
    let end = drive(&mut Bounce::new(strict), &mut world).unwrap();
    assert_eq!(told(&end), "NeedsEscalation");
    assert!(!world.steps.iter().any(|step| step.starts_with("verifier")), "{:?}", world.steps);
}

#[test]
fn a_single_role_is_kept_and_judged_by_nobody() {
    let ends = |script: &str| {
        let mut world = Script::new(script);
        let end = drive(&mut Solo::new("operator"), &mut world).unwrap();
        (world.steps.join(" "), told(&end))
    };
    let whole = "prepare solo snapshot/1 finish".to_owned();
    assert_eq!(ends(""), (whole.clone(), "Success".into()));
    assert_eq!(ends("solo fails"), (whole, "Failure".into()));
    assert_eq!(ends("solo quota"), ("prepare solo".into(), "parked Quota".into()));
}

#[test]
fn the_next_coder_goes_on_with_a_conversation_that_ended_well() {
    let conversation = |script: &str| {
        let mut machine = Bounce::new(rules());
        let mut world = Script::new(script);
        drive(&mut machine, &mut world).unwrap();
        machine.conversation()
    };
    assert_eq!(conversation("coder/1 fails\ngates/1 red"), Some("talk".into()));
    assert_eq!(conversation("coder/1 fails"), None);
}

#[test]
fn depth_is_raised_at_once() {
    check("coder/1 too-deep", "prepare baseline coder/1 finish", "DepthExceeded");
}

#[test]
fn the_reason_of_a_rejection_reaches_the_next_coder() {
    let mut machine = Bounce::new(rules());
    let mut world = Script::new("verifier/1 fail");
    drive(&mut machine, &mut world).unwrap();
    let evidence = machine.evidence.unwrap();
    assert_eq!((evidence.shortfall, evidence.reason.as_str()), (Shortfall::Rejected, "no"));
}

#[test]
fn a_record_that_does_not_fit_its_step_is_a_bug_and_never_a_pass() {
    let mut world = Script::new("");
    world.recorded.insert(Step::Baseline.key(), Done::Finished);
    let end = drive(&mut Bounce::new(rules()), &mut world).unwrap();
    assert_eq!(told(&end), "fault Bug");
}

fn scripts() -> impl Strategy<Value = String> {
    let coder = prop_oneof![Just("ok"), Just("fails"), Just("limited"), Just("too-deep")];
    let gate = prop_oneof![Just("green"), Just("red")];
    let verifier =
        prop_oneof![Just("pass"), Just("fail"), Just("mumble"), Just("tampers"), Just("breaks")];
    let bounce = (coder, prop_oneof![Just(""), Just("0"), Just("1")], gate, verifier);
    proptest::collection::vec(bounce, 3).prop_map(|bounces| {
        let mut text = String::new();
        for (index, (coder, tree, gate, verifier)) in bounces.into_iter().enumerate() {
            let n = index + 1;
            text += &format!("coder/{n} {coder}\nsnapshot/{n} {tree}\ngates/{n} {gate}\nverifier/{n} {verifier}\n");
        }
        text
    })
}

proptest! {
    /// Killed before any step and started again, a run takes the same steps to the same end.
    #[test]
    fn a_killed_run_ends_like_one_that_was_not(script in scripts(), lives in 0..20usize) {
        let mut whole = Script::new(&script);
        let end = drive(&mut Bounce::new(rules()), &mut whole).unwrap();

        let mut killed = Script { lives: Some(lives), ..Script::new(&script) };
        let first = drive(&mut Bounce::new(rules()), &mut killed);
        killed.lives = None;
        let again = drive(&mut Bounce::new(rules()), &mut killed).unwrap();
        prop_assert!(first == Err(Killed) || first == Ok(again.clone()));
        prop_assert_eq!(again, end);
        // A resumed run does the step again that it was parked at, and no other.
        killed.steps.dedup();
        prop_assert_eq!(killed.steps, whole.steps);
    }

    /// Success needs a green gate and a formal, untampered pass in the same bounce.
    #[test]
    fn nothing_passes_without_gate_and_verdict(script in scripts()) {
        let mut world = Script::new(&script);
        let end = drive(&mut Bounce::new(rules()), &mut world).unwrap();
        if let End::Concluded(Conclusion { outcome: Outcome::Success, .. }) = end {
            let last = world.steps.iter().rev().find_map(|step| step.strip_prefix("close/")).unwrap();
            prop_assert_eq!(&world.answers[&format!("gates/{last}")], "green");
            let verifier = &world.answers[&format!("verifier/{last}")];
            let restarted = world.steps.contains(&format!("verifier/{last}/2"));
            prop_assert!(verifier == "pass" || verifier == "breaks" && restarted);
        }
    }
}
