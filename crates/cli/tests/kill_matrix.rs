//! Killed anywhere, a run ends like one that was not: with agents that only play a scenario at
//! every effect, with the real Claude Code at eight places.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use spore_testkit::TestEnv;
use spore_testkit::kill::{CommandTraits, KillPoint, KillTally, KillTarget, matrix_of, sample};

use crate::{scenes, verified_run};

/// What `SPORE_KILLS` asks for beyond the usual: `all` effects, or the real `claude`.
pub(crate) fn asked_for(kills: &str) -> bool {
    std::env::var("SPORE_KILLS").is_ok_and(|asked| asked == kills)
}

#[track_caller]
fn all_came_to_the_same_good_end(tally: &KillTally) {
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.ended, "verified");
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}

#[test]
fn a_run_killed_at_any_effect_ends_like_one_that_was_not() {
    // All of a run's effects take some minutes: `SPORE_KILLS=all` asks for them, and the
    // normal run kills it once at every kind of effect.
    let all = asked_for("all");
    let target = KillTarget {
        scene: &|| scenes::with_scenario(scenes::THREE_BOUNCES),
        command: scenes::ORCHESTRATE,
        random: if all { 20 } else { 3 },
    };
    let tally = matrix_of(&target, CommandTraits { one_of_each: !all, ..CommandTraits::default() });
    println!("kill matrix: {}", tally.line());
    assert!(tally.points > 40, "{}", tally.line());
    all_came_to_the_same_good_end(&tally);
}

#[test]
fn a_role_alone_killed_at_any_effect_ends_like_one_that_was_not() {
    let scenario = "[[session]]\nrole = \"operator\"\nbounce = 0\ncost_usd = 0.5\n\
                    final = \"done\"\nsteps = [{ write = \"answer.txt\", content = \"42\\n\" }]\n";
    let all = asked_for("all");
    let target = KillTarget {
        scene: &|| scenes::with_scenario(scenario),
        command: &[scenes::ORCHESTRATE, &["--agent", "operator"]].concat(),
        random: if all { 20 } else { 2 },
    };
    let traits = CommandTraits { one_of_each: !all, ..CommandTraits::default() };
    let tally = matrix_of(&target, traits);
    println!("kill matrix of a role alone: {}", tally.line());
    let nothing: Vec<String> = Vec::new();
    assert_eq!(tally.ended, "finished");
    assert_eq!(tally.divergent, nothing, "{}", tally.line());
    assert_eq!(tally.duplicates, nothing, "{}", tally.line());
    assert_eq!(tally.left_running, nothing, "{}", tally.line());
}

#[test]
fn a_run_killed_while_it_lays_its_work_into_files_ends_like_one_that_was_not() {
    let target = KillTarget {
        scene: &|| scenes::with_scenario(&scenes::one_bounce(scenes::WRITE_42)),
        command: &[scenes::ORCHESTRATE, &["--in-place"]].concat(),
        random: 0,
    };
    let points = [
        "before:file:in-place.json#1",
        "before:checkout:files of the user#1",
        "after:checkout:files of the user#1",
    ];
    let tally = sample(&target, CommandTraits::default(), &points.map(KillPoint::At));
    all_came_to_the_same_good_end(&tally);
}

#[test]
fn a_run_that_ends_otherwise_is_seen() {
    let made = AtomicU32::new(0);
    let scene = || {
        let first = made.fetch_add(1, Ordering::Relaxed) == 0;
        let other = r#"{ write = "answer.txt", content = "42, or so\n" }"#;
        scenes::with_scenario(&scenes::one_bounce(if first { scenes::WRITE_42 } else { other }))
    };
    let target = KillTarget { scene: &scene, command: scenes::ORCHESTRATE, random: 0 };
    let kills =
        [KillPoint::At("before:row:begin commit#1"), KillPoint::At("before:row:no such step#1")];
    let tally = sample(&target, CommandTraits::default(), &kills);
    let [first, second] = &tally.divergent[..] else { panic!("{:?}", tally.divergent) };
    let (other, unkilled) =
        if first.contains("no such") { (second, first) } else { (first, second) };
    assert!(other.contains("before:row:begin commit#1: bounces/0/2/"), "{other}");
    assert!(unkilled.contains("was not killed"), "{unkilled}");
}

/// One place of every part of a run, in the order in which they are passed.
const EIGHT: [KillPoint<'static>; 8] = [
    KillPoint::At("after:process:start bounce 1/1 coder/1#1"),
    KillPoint::Once("inside the second coder's session", |env| {
        says(env, "bounce-2/coder", "WRITTEN")
    }),
    KillPoint::At("before:ref:refs/spore/RUN/bounce/2#1"),
    KillPoint::At("after:process:start bounce 2/2 gates/1#1"),
    KillPoint::Once("its verdict handed in", |env| says(env, "bounce-2/verifier", "Taken")),
    KillPoint::At("after:commit:write the answer#1"),
    KillPoint::At("before:checkout:files of the user#1"),
    KillPoint::At("before:row:finish summarize#1"),
];

/// Returns whether a session of the only run is known to have said this.
pub(crate) fn says(env: &TestEnv, session: &str, words: &str) -> bool {
    let Ok(mut runs) = std::fs::read_dir(env.repo().join(".spore/runs")) else { return false };
    let Some(Ok(run)) = runs.next() else { return false };
    let transcript = run.path().join(session).join("transcript.jsonl");
    std::fs::read_to_string(transcript).is_ok_and(|text| text.contains(words))
}

#[test]
fn a_run_of_the_real_claude_killed_at_eight_places_ends_like_one_that_was_not() {
    if !asked_for("claude") {
        eprintln!("skipped: it takes minutes, and `SPORE_KILLS=claude` asks for it");
        return;
    }
    // Asked for, it is not skipped.
    let program = std::env::var("SPORE_TEST_CLAUDE").unwrap();
    let target = KillTarget {
        scene: &|| verified_run::claude_scene(&program),
        command: verified_run::CLAUDE_RUN,
        random: 0,
    };
    let start = Instant::now();
    let traits = CommandTraits { foreign: true, ..CommandTraits::default() };
    let tally = sample(&target, traits, &EIGHT);
    println!("kill matrix of Claude Code: {} in {:.0?}", tally.line(), start.elapsed());
    all_came_to_the_same_good_end(&tally);
    assert_eq!(tally.killed, 8, "{}", tally.line());
    // Four of the places are inside of a session or before its end is on record.
    assert_eq!(tally.repeated_sessions, 4, "{}", tally.line());
}
