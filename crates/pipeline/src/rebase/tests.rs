use proptest::prelude::*;
use spore_model::ProofLevel;

use super::*;
use crate::bounce::tests::{Script, rules, told};
use crate::{End, drive};

#[track_caller]
fn check(script: &str, steps: &str, end: &str) {
    let mut world = Script::new(script);
    let ended = drive(&mut Rebase::new(rules()), &mut world).unwrap();
    assert_eq!((world.steps.join(" ").as_str(), told(&ended).as_str()), (steps, end), "{script}");
}

#[test]
fn what_was_brought_together_is_checked_anew_and_judged_anew_where_it_overlaps() {
    let apart = "prepare baseline rebase gates/1 close/1 commit finish";
    let again = "prepare baseline rebase gates/1 verifier/1 close/1 commit finish";
    let turned_down = "prepare baseline rebase gates/1 close/1 finish";
    check("", apart, "Success");
    check("rebase overlaps", again, "Success");
    check("rebase there", "prepare baseline rebase finish", "Success");
    check("rebase conflict", "prepare baseline rebase finish", "Failure");
    check("gates/1 red", turned_down, "Failure");
    let judged = "prepare baseline rebase gates/1 verifier/1 close/1 finish";
    check("rebase overlaps\nverifier/1 fail", judged, "Failure");
    check("rebase overlaps\nverifier/1 mumble", judged, "NeedsRefinement");
    let waits = "prepare baseline rebase gates/1 verifier/1";
    check("rebase overlaps\nverifier/1 quota", waits, "parked Quota");
    check("baseline red", "prepare baseline finish", "fault BadInput");
}

#[test]
fn work_that_mends_what_is_red_lands_on_a_red_and_on_a_green_tip_and_only_green() {
    for (script, steps, end) in [
        ("baseline red", "prepare baseline rebase gates/1 close/1 commit finish", "Success"),
        ("baseline silent", "prepare baseline rebase gates/1 close/1 commit finish", "Success"),
        ("", "prepare baseline rebase gates/1 close/1 commit finish", "Success"),
        (
            "baseline silent\ngates/1 red",
            "prepare baseline rebase gates/1 close/1 finish",
            "Failure",
        ),
        ("baseline red\ngates/1 red", "prepare baseline rebase gates/1 close/1 finish", "Failure"),
        ("baseline unstarted", "prepare baseline finish", "fault BadInput"),
    ] {
        let mut world = Script::new(script);
        let rules = BounceRules { fix_red: true, ..rules() };
        let ended = drive(&mut Rebase::new(rules), &mut world).unwrap();
        let found = (world.steps.join(" "), told(&ended));
        assert_eq!((found.0.as_str(), found.1.as_str()), (steps, end), "{script}");
    }
}

#[test]
fn what_was_required_of_the_work_is_required_of_both_together() {
    let mut world = Script::new("");
    let rules = BounceRules { require: ProofLevel::Seen, ..rules() };
    let end = drive(&mut Rebase::new(rules), &mut world).unwrap();
    assert_eq!(told(&end), "Failure");
    assert!(!world.steps.iter().any(|step| step == "commit"));
}

proptest! {
    /// No commit is made of a tree that the gates did not pass, nor where both sides touch the same
    /// without a verifier that passes it; killed anywhere it goes the same way.
    #[test]
    fn nothing_lands_that_was_not_checked_as_it_stands(
        base in prop::sample::select(vec!["", "red", "silent"]),
        rebase in prop::sample::select(vec!["", "overlaps", "conflict", "there"]),
        gates in prop::sample::select(vec!["green", "red"]),
        verifier in prop::sample::select(vec!["pass", "fail", "mumble", "tampers", "quota", "breaks"]),
        lives in 0usize..8,
    ) {
        let script =
            format!("baseline {base}\nrebase {rebase}\ngates/1 {gates}\nverifier/1 {verifier}");
        let mut whole = Script::new(&script);
        let end = drive(&mut Rebase::new(rules()), &mut whole).unwrap();
        if whole.steps.iter().any(|step| step == "commit") {
            prop_assert_eq!(gates, "green");
            let asked = whole.steps.iter().any(|step| step == "verifier/1");
            prop_assert_eq!(asked, rebase == "overlaps");
            prop_assert!(!asked || verifier == "pass" || verifier == "breaks");
            let ended_well = matches!(
                end, End::Concluded(Conclusion { outcome: Outcome::Success, .. })
            );
            prop_assert!(ended_well);
        }
        let mut killed = Script { lives: Some(lives), ..Script::new(&script) };
        let first = drive(&mut Rebase::new(rules()), &mut killed);
        if first.is_err() {
            killed.lives = None;
            let again = drive(&mut Rebase::new(rules()), &mut killed).unwrap();
            prop_assert_eq!(told(&again), told(&end));
            prop_assert_eq!(killed.steps, whole.steps);
        }
    }
}
