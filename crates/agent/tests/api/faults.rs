//! Servers that refuse, break off, fall silent and talk nonsense: nothing of it is a success.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use spore_agent::AgentEvent;
use spore_agent::api::Protocol;
use spore_model::{Outcome, Timestamp};
use spore_scripted_model::{ModelScenario, Turn, VendorRefusal};

use crate::scene::{KEY, NOW, PROTOCOLS, Scene, Witness, check, check_with};

#[test]
fn a_key_that_is_refused_is_not_tried_again() {
    let refused = |status| {
        ModelScenario::new()
            .turn(Turn::refuses(VendorRefusal::new(status).message(&format!("bad {KEY}"))))
    };
    check(&refused(401), Outcome::Failure, "the key was not accepted (401): bad ***", 1);
    check(&refused(403), Outcome::Failure, "the key was not accepted (403)", 1);
    check(&refused(400), Outcome::Failure, "the call was refused (400)", 1);
}

#[test]
fn what_passes_is_waited_for() {
    for refusal in [VendorRefusal::new(500), VendorRefusal::new(529), VendorRefusal::new(429)] {
        let scenario =
            ModelScenario::new().turn(Turn::refuses(refusal).times(2)).turn(Turn::says("At last."));
        check(&scenario, Outcome::Success, "", 3);
    }
}

#[test]
fn what_does_not_pass_is_a_failure() {
    let scenario =
        |status| ModelScenario::new().turn(Turn::refuses(VendorRefusal::new(status)).sticky());
    check(&scenario(500), Outcome::Failure, "the model's server has an error (500)", 3);
    check(&scenario(529), Outcome::Failure, "the model is overloaded (529)", 3);
}

#[test]
fn a_limit_that_stays_parks_the_session_until_its_reset() {
    let at = |seconds: i64| Some(Timestamp::from_millis(NOW.as_millis() + 1000 * seconds));
    for protocol in PROTOCOLS {
        let scenario = ModelScenario::new()
            .turn(Turn::refuses(VendorRefusal::new(429).retry_after(3600)).sticky());
        let scene = Scene::new(protocol, scenario);
        let mut witness = Witness::default();
        let report = scene.play_before(&mut witness);
        assert_eq!((report.outcome, report.resets_at), (Outcome::QuotaParked, at(3600)));
        assert_eq!(scene.server.totals().requests, 1);
        assert!(matches!(
            witness.events.first(),
            Some(AgentEvent::RateLimit { resets_at, .. }) if *resets_at == at(3600)
        ));
    }
    let unsaid = ModelScenario::new().turn(Turn::refuses(VendorRefusal::new(429)).sticky());
    check(&unsaid, Outcome::QuotaParked, "the rate limit is reached (429)", 3);
    let reset = VendorRefusal::new(429).reset("2026-01-01T02:00:00Z");
    let scene = Scene::new(Protocol::Messages, ModelScenario::new().turn(Turn::refuses(reset)));
    assert_eq!(scene.play().resets_at, at(7200));
}

type Break = fn(Turn) -> Turn;

/// What is wrong with a stream, and how it is told.
const BREAKS: [(Break, &str); 5] = [
    (|turn| turn.cut_after(3), "the answer broke off"),
    (|turn| turn.end_after(3), "the answer broke off"),
    (|turn| turn.malformed_after(3), "the answer cannot be read"),
    (|turn| turn.huge(2), "the answer has no end"),
    (
        |turn| turn.fail_after(3, VendorRefusal::new(529).message("too busy")),
        "the model's server gave up",
    ),
];

#[test]
fn a_broken_answer_is_asked_for_again_and_nothing_of_it_is_kept() {
    for (break_it, _) in BREAKS {
        let scenario = ModelScenario::new()
            .turn(break_it(Turn::says("This must never be taken for an answer.")))
            .turn(Turn::says("Whole."));
        for protocol in PROTOCOLS {
            let scene = Scene::new(protocol, scenario.clone());
            let report = scene.play();
            assert_eq!((report.outcome, report.final_text.as_str()), (Outcome::Success, "Whole."));
            let requests = scene.server.requests();
            assert_eq!(requests[0].body, requests[1].body, "{protocol:?}");
        }
    }
}

#[test]
fn an_answer_that_breaks_twice_is_never_a_success() {
    for (break_it, reason) in BREAKS {
        let scenario =
            ModelScenario::new().turn(break_it(Turn::says("Nearly everything.")).sticky());
        check(&scenario, Outcome::Failure, reason, 2);
    }
}

#[test]
fn a_tool_call_that_breaks_off_is_not_performed() {
    let call = json!({ "path": "add.txt", "content": "half of it" });
    let scenario = ModelScenario::new()
        .turn(Turn::calls("write", call).pieces_of(4).cut_after(6))
        .turn(Turn::says("I did nothing."));
    for protocol in PROTOCOLS {
        let scene = Scene::new(protocol, scenario.clone());
        assert_eq!(scene.play().outcome, Outcome::Success);
        let text = fs::read_to_string(scene.dir.path().join("checkout/add.txt")).unwrap();
        assert_eq!(text, "1 + 1 = 3\n");
    }
}

#[test]
fn silence_is_not_waited_for() {
    let impatient = |scene: &mut Scene| {
        scene.watchdog.first_output = Duration::from_secs(1);
        scene.request.limits.idle = Some(Duration::from_secs(1));
    };
    for turn in [Turn::hangs(), Turn::says("And then").hang_after(3)] {
        let hangs = ModelScenario::new().turn(turn.clone().sticky());
        check_with(&hangs, &impatient, Outcome::Failure, "the model fell silent", 2);
        let recovers = ModelScenario::new().turn(turn).turn(Turn::says("Back."));
        check_with(&recovers, &impatient, Outcome::Success, "", 2);
    }
}

#[test]
fn the_clock_and_a_cancel_end_a_session_in_the_middle_of_a_stream() {
    let hangs = || ModelScenario::new().turn(Turn::says("And then").hang_after(3));
    let brief = |scene: &mut Scene| scene.request.limits.wall = Duration::from_secs(1);
    check_with(&hangs(), &brief, Outcome::TimedOut, "its time was over", 1);
    for protocol in PROTOCOLS {
        let scene = Scene::new(protocol, hangs());
        let started = Instant::now();
        let cancel_at = Some(started + Duration::from_millis(100));
        let report = scene.play_before(&mut Witness { cancel_at, ..Witness::default() });
        assert_eq!(report.outcome, Outcome::Interrupted);
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_cancel_ends_a_command_too() {
    let scenario = ModelScenario::new().turn(Turn::calls("run", json!({ "command": "sleep 60" })));
    let scene = Scene::new(Protocol::Chat, scenario);
    let mut witness = Witness { cancels_commands: true, ..Witness::default() };
    let report = scene.play_before(&mut witness);
    assert_eq!((report.outcome, report.turns), (Outcome::Interrupted, 1));
}
