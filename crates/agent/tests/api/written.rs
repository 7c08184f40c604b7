//! Models that write their calls as text, windows that are small, and servers on this machine.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use spore_agent::AgentEvent;
use spore_agent::api::{CallForm, LocalPreset, LocalServer, PriceList, Protocol};
use spore_model::{Outcome, Usage, Usd};
use spore_scripted_model::{ModelScenario, Turn, VendorRefusal};

use crate::scene::{PROTOCOLS, Scene, Witness};

const EDIT: &str = "I mend it.\n\n```edit add.txt\n<<<<<<< SEARCH\n1 + 1 = 3\n=======\n1 + 1 = 2\n\
                    >>>>>>> REPLACE\n```\n";
const RUN: &str =
    "```json\n{\"name\": \"run\", \"arguments\": {\"command\": \"cat add.txt\"}}\n```";

fn mends() -> ModelScenario {
    ModelScenario::new().turn(Turn::says(EDIT)).turn(Turn::says(RUN)).turn(Turn::says("Done."))
}

fn sum(scene: &Scene) -> String {
    fs::read_to_string(scene.dir.path().join("checkout/add.txt")).unwrap()
}

/// What the model was last told.
fn last_told(scene: &Scene) -> String {
    scene.server.requests().last().unwrap().body.to_string()
}

#[test]
fn a_model_that_writes_its_calls_is_read() {
    for form in [CallForm::Text, CallForm::Auto] {
        for protocol in PROTOCOLS {
            let mut scene = Scene::new(protocol, mends());
            scene.settings.call_form = form;
            let mut witness = Witness::default();
            let report = scene.play_before(&mut witness);
            assert_eq!((report.outcome, report.turns), (Outcome::Success, 3), "{protocol:?}");
            assert_eq!(
                (report.final_text.as_str(), sum(&scene).as_str()),
                ("Done.", "1 + 1 = 2\n")
            );
            let used: Vec<&str> = witness
                .events
                .iter()
                .filter_map(|event| match event {
                    AgentEvent::ToolUse { tool, .. } => Some(tool.as_str()),
                    _ => None,
                })
                .collect();
            assert_eq!(used, ["edit", "run"]);
            let requests = scene.server.requests();
            // It is told natively until it shows that it does not call so, and in words after.
            let has_tools = |at: usize| requests[at].body.get("tools").is_some();
            assert_eq!((has_tools(0), has_tools(1)), (form == CallForm::Auto, false));
            assert!(requests[1].body.to_string().contains("One call a block"));
            assert!(last_told(&scene).contains("run answers:"), "{}", last_told(&scene));
        }
    }
}

#[test]
fn a_model_that_calls_natively_is_asked_as_before_and_its_prose_is_prose() {
    let scenario = || {
        ModelScenario::new()
            .turn(Turn::calls("read", json!({ "path": "add.txt" })))
            .turn(Turn::says(EDIT))
    };
    for protocol in PROTOCOLS {
        let bodies = [CallForm::Native, CallForm::Auto].map(|form| {
            let mut scene = Scene::new(protocol, scenario());
            scene.settings.call_form = form;
            let report = scene.play();
            assert_eq!((report.outcome, report.turns), (Outcome::Success, 2));
            assert_eq!(sum(&scene), "1 + 1 = 3\n");
            let requests = scene.server.requests();
            requests.iter().map(|request| request.body.clone()).collect::<Vec<Value>>()
        });
        assert_eq!(bodies[0], bodies[1], "{protocol:?}");
    }
    // Nor is a native model read where that was asked for.
    let mut scene = Scene::new(Protocol::Chat, ModelScenario::new().turn(Turn::says(EDIT)));
    scene.settings.call_form = CallForm::Native;
    assert_eq!((scene.play().turns, sum(&scene).as_str()), (1, "1 + 1 = 3\n"));
}

#[test]
fn what_cannot_be_read_goes_back_and_is_not_done() {
    let bad = "```write add.txt\nnothing\n```\n\n```json\n{\"name\": \"run\"}\n```\n\
               ```write add.txt\nmore\n```";
    let scenario =
        ModelScenario::new().turn(Turn::says(bad)).turn(Turn::says(EDIT)).turn(Turn::says("Done."));
    let mut scene = Scene::new(Protocol::Chat, scenario);
    scene.settings.call_form = CallForm::Text;
    assert_eq!(scene.play().outcome, Outcome::Success);
    // What came before the fault was done, and nothing after it.
    assert_eq!(sum(&scene), "nothing\n");
    let told = scene.server.requests()[1].body.to_string();
    assert!(
        told.contains("Line 5 of your answer: run was not called: command is missing"),
        "{told}"
    );
    let stubborn =
        ModelScenario::new().turn(Turn::says("```json\n{\"name\": \"run\"\n```").sticky());
    let mut scene = Scene::new(Protocol::Chat, stubborn);
    scene.settings.call_form = CallForm::Text;
    let report = scene.play();
    assert_eq!((report.outcome, report.turns), (Outcome::Partial, 3));
    assert!(report.reason.unwrap().starts_with("it wrote no call that can be read, 3 times"));
}

#[test]
fn a_model_that_only_shows_code_is_told_once_that_nothing_was_done() {
    let code = "```python\nprint(2)\n```";
    let mut scene =
        Scene::new(Protocol::Chat, ModelScenario::new().turn(Turn::says(code).sticky()));
    scene.settings.call_form = CallForm::Text;
    scene.settings.nudges = 1;
    let report = scene.play();
    assert_eq!((report.outcome, report.turns), (Outcome::Success, 2));
    assert!(last_told(&scene).contains("nothing was changed"));
}

#[test]
fn a_server_that_holds_its_model_to_a_schema_gets_one() {
    let call = r#"{"name": "write", "arguments": {"path": "add.txt", "content": "2"}}"#;
    let done = r#"{"name": "done", "arguments": {"text": "It is 2."}}"#;
    let scenario = ModelScenario::new().turn(Turn::says(call)).turn(Turn::says(done));
    let mut scene = Scene::new(Protocol::Chat, scenario);
    scene.settings.call_form = CallForm::Held;
    let report = scene.play();
    assert_eq!((report.outcome, report.final_text.as_str()), (Outcome::Success, "It is 2."));
    assert_eq!(sum(&scene), "2");
    let body = &scene.server.requests()[0].body;
    assert_eq!(body["response_format"]["type"], "json_schema");
    assert_eq!(body.get("tools"), None);
}

#[test]
fn a_small_window_is_never_filled_and_the_task_never_left_out() {
    let write = |bytes: usize| format!("```write big.txt\n{}```", "word word\n".repeat(bytes / 10));
    // From another line each time: the same call again is answered with less.
    let read = |from: u32| {
        let arguments = json!({ "path": "big.txt", "from": from });
        format!("```json\n{}\n```", json!({ "name": "read", "arguments": arguments }))
    };
    for window in [4_000, 8_000, 32_768] {
        let mut scenario = ModelScenario::new().turn(Turn::says(&write(window)));
        for from in 1..=8 {
            scenario = scenario.turn(Turn::says(&read(from)));
        }
        let mut scene = Scene::new(Protocol::Chat, scenario.turn(Turn::says("Done.")));
        scene.settings.call_form = CallForm::Text;
        scene.settings.context_window = window as u64;
        scene.settings.small_window = 32_768;
        scene.request.prompt = format!("Mend the sum. {}", "Mind it. ".repeat(200));
        assert_eq!(scene.play().outcome, Outcome::Success, "{window}");
        let requests = scene.server.requests();
        assert_eq!(requests.len(), 10);
        for request in &requests {
            // The least that any tokenizer makes of English is about four bytes each.
            assert!(request.body.to_string().len() / 4 < window, "{window}");
            assert_eq!(request.body["messages"][1]["content"], scene.request.prompt.as_str());
        }
        assert!(requests.last().unwrap().body.to_string().contains("left out to save room"));
    }
}

#[test]
fn an_answer_that_is_the_same_as_before_can_be_read_where_the_one_before_made_room() {
    let read = "```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"big.txt\"}}\n```";
    for bytes in [4_000, 4_500, 5_000, 5_500] {
        let scenario = ModelScenario::new().turn(Turn::says(read)).turn(Turn::says(read));
        let mut scene = Scene::new(Protocol::Chat, scenario.turn(Turn::says("Done.")));
        scene.settings.call_form = CallForm::Text;
        scene.settings.context_window = 4_000;
        scene.settings.small_window = 32_768;
        scene.request.prompt = "Mind it. ".repeat(bytes / 9);
        fs::write(scene.dir.path().join("checkout/big.txt"), "word word\n".repeat(250)).unwrap();
        assert_eq!(scene.play().outcome, Outcome::Success, "{bytes}");
        let told = last_told(&scene);
        assert!(told.contains("told this before") && told.contains("word word"), "{bytes}: {told}");
    }
}

#[test]
fn a_doubt_is_asked_about_and_leaves_a_model_its_native_tools() {
    let doubtful = "I could call {\"name\": \"read\", \"arguments\": {\"path\": \"add.txt\"}} now.";
    for protocol in PROTOCOLS {
        let scenario = ModelScenario::new()
            .turn(Turn::says(doubtful))
            .turn(Turn::calls("read", json!({ "path": "add.txt" })))
            .turn(Turn::says("Done."));
        let mut scene = Scene::new(protocol, scenario);
        scene.settings.nudges = 1;
        let report = scene.play();
        assert_eq!((report.outcome, report.turns), (Outcome::Success, 3), "{protocol:?}");
        let requests = scene.server.requests();
        assert!(requests[1].body.to_string().contains("so it was not made"));
        let tools = |at: usize| requests[at].body["tools"].clone();
        assert!(tools(0).is_array());
        assert_eq!((tools(1), tools(2)), (tools(0), tools(0)), "{protocol:?}");
    }
}

#[test]
fn native_requests_are_what_they_were_byte_for_byte() {
    for protocol in PROTOCOLS {
        let scenario = ModelScenario::new()
            .turn(Turn::calls("read", json!({ "path": "add.txt" })))
            .turn(Turn::says("Done."));
        let scene = Scene::new(protocol, scenario);
        scene.play();
        let body = serde_json::to_string_pretty(&scene.server.requests()[0].body).unwrap();
        insta::assert_snapshot!(format!("native_on_{protocol:?}").to_lowercase(), body);
    }
}

#[test]
fn a_task_that_does_not_fit_is_told_in_tokens_as_its_server_counts() {
    let counted = Usage { input_tokens: 3_900, ..Usage::default() };
    let list = Turn::says("```json\n{\"name\": \"list\"}\n```").usage(counted);
    let mut scene = local(ModelScenario::new().turn(list), "llama-server");
    scene.settings.call_form = CallForm::Text;
    scene.settings.context_window = 4_000;
    scene.settings.small_window = 32_768;
    scene.request.prompt = "Mind it. ".repeat(300);
    let report = scene.play();
    assert_eq!((report.outcome, report.turns), (Outcome::NeedsHuman, 1));
    let reason = report.reason.unwrap();
    let tokens: u64 =
        reason.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or_default();
    // What did not fit is more than what there was room for: the window without an answer.
    assert!(tokens > 3_000, "{reason}");
}

#[test]
fn a_first_request_for_a_small_window_is_short() {
    for form in [CallForm::Auto, CallForm::Text] {
        let mut scene = Scene::new(Protocol::Chat, ModelScenario::new().turn(Turn::says("Done.")));
        scene.settings.call_form = form;
        scene.settings.context_window = 8_192;
        scene.settings.small_window = 32_768;
        scene.request.prompt = "x".repeat(1_500);
        scene.request.system_prompt = "y".repeat(1_200);
        scene.play();
        let bytes = scene.server.requests()[0].body.to_string().len();
        // As the loop estimates, which counts more tokens than most servers do.
        assert!(bytes / 3 < 2_000, "{form:?}: {bytes}");
    }
}

fn local(scenario: ModelScenario, name: &str) -> Scene {
    let mut scene = Scene::new(Protocol::Chat, scenario);
    let preset = LocalPreset::named(name).unwrap();
    scene.settings.local = Some(LocalServer { preset, address: scene.server.url() });
    scene.settings.prices = PriceList::free();
    // The loop sends no vendor's key to a server on this machine.
    scene.request.env.retain(|(name, _)| !name.ends_with("BASE_URL"));
    scene
}

#[test]
fn a_model_that_takes_no_tools_is_told_how_to_write_its_calls() {
    for (status, words) in [
        (400, "registry.ollama.ai/library/m1 does not support tools"),
        (500, "tools param requires --jinja flag"),
    ] {
        let refused = || Turn::refuses(VendorRefusal::new(status).message(words));
        let scenario =
            ModelScenario::new().turn(refused()).turn(Turn::says(EDIT)).turn(Turn::says("Done."));
        let scene = local(scenario, "ollama");
        assert_eq!((scene.play().outcome, sum(&scene).as_str()), (Outcome::Success, "1 + 1 = 2\n"));
        let has_tools = |at: usize| scene.server.requests()[at].body.get("tools").is_some();
        assert_eq!([0, 1, 2].map(has_tools), [true, false, false]);
        // Where native calls were asked for there is nothing else to try, but it is said.
        let mut scene = local(ModelScenario::new().turn(refused().sticky()), "ollama");
        scene.settings.call_form = CallForm::Native;
        let report = scene.play();
        let reason = report.reason.unwrap_or_default();
        assert_eq!(report.outcome, Outcome::Failure);
        assert!(reason.contains(words) && reason.contains("tools = \"text\""), "{reason}");
    }
}

#[test]
fn a_server_that_reads_its_weights_is_waited_for() {
    let loading = VendorRefusal::new(503).message("Loading model");
    let scenario = ModelScenario::new()
        .turn(Turn::refuses(loading.clone()).times(9))
        .turn(Turn::says(EDIT))
        .turn(Turn::says("Done."));
    let scene = local(scenario, "llama-server");
    assert_eq!((scene.play().outcome, sum(&scene).as_str()), (Outcome::Success, "1 + 1 = 2\n"));
    // For as long as there may be no first word, and no longer.
    let mut scene =
        local(ModelScenario::new().turn(Turn::refuses(loading).sticky()), "llama-server");
    scene.watchdog.first_output = Duration::from_millis(50);
    let report = scene.play();
    let reason = report.reason.unwrap_or_default();
    assert_eq!(report.outcome, Outcome::NeedsHuman);
    assert!(reason.contains("reading its weights"), "{reason}");
}

#[test]
fn code_that_is_only_shown_is_asked_for_once_where_a_file_should_change() {
    let shown = "Here is the file:\n\n```python\nprint(2)\n```\nThat mends it.";
    let scenario = || {
        let turns = [shown, EDIT, "Done."].map(Turn::says);
        turns.into_iter().fold(ModelScenario::new(), ModelScenario::turn)
    };
    let mut scene = local(scenario(), "ollama");
    scene.settings.nudges = 1;
    assert_eq!((scene.play().outcome, sum(&scene).as_str()), (Outcome::Success, "1 + 1 = 2\n"));
    let asked = scene.server.requests()[1].body.clone();
    assert!(asked.to_string().contains("You have called no tool"), "{asked}");
    // Nothing is decided by it: the model may still call natively.
    assert!(asked.get("tools").is_some());
    // One that has called before is taken at its word, and so is prose without code.
    let called = ModelScenario::new()
        .turn(Turn::calls("read", json!({ "path": "add.txt" })))
        .turn(Turn::says(shown));
    for (scenario, turns) in
        [(called, 2), (ModelScenario::new().turn(Turn::says("It is right.")), 1)]
    {
        let mut scene = local(scenario, "ollama");
        scene.settings.nudges = 1;
        assert_eq!(scene.play().turns, turns);
    }
}

#[test]
fn tokens_that_a_server_does_not_count_are_estimated() {
    let uncounted = || Turn::says("Done.").usage(Usage::default());
    let report = local(ModelScenario::new().turn(uncounted()), "ollama").play();
    assert!(report.usage.input_tokens > 100 && report.usage.output_tokens > 0, "{report:?}");
    assert_eq!(report.cost, Some(Usd::ZERO));
    // What has a price is never sure then.
    let scene = Scene::new(Protocol::Chat, ModelScenario::new().turn(uncounted()));
    let report = scene.play();
    assert!(report.usage.input_tokens > 100 && report.cost.is_none(), "{report:?}");
}

#[test]
fn a_server_on_this_machine_gets_no_key_and_costs_nothing() {
    for name in ["ollama", "llama-server", "lmstudio"] {
        let scene = local(mends(), name);
        let report = scene.play();
        assert_eq!((report.outcome, report.cost), (Outcome::Success, Some(Usd::ZERO)));
        assert_eq!(sum(&scene), "1 + 1 = 2\n");
        let request = &scene.server.requests()[0];
        assert!(!request.headers.contains_key("authorization"), "{name}");
        assert_eq!(request.body["max_tokens"], request.body["max_completion_tokens"]);
    }
}

#[test]
fn a_server_on_this_machine_that_fails_waits_for_a_person() {
    let told = |scene: &Scene| {
        let report = scene.play();
        assert_eq!((report.outcome, report.cost), (Outcome::NeedsHuman, Some(Usd::ZERO)));
        report.reason.unwrap()
    };
    // It stops in the middle of an answer, and again.
    let cut = ModelScenario::new().turn(Turn::says("Nearly everything.").cut_after(3).sticky());
    let reason = told(&local(cut, "ollama"));
    assert!(
        reason.contains("the answer broke off") && reason.contains("`ollama serve`"),
        "{reason}"
    );
    // It is not there.
    let mut gone = local(ModelScenario::new(), "llama-server");
    let server = gone.settings.local.as_mut().unwrap();
    server.address = "http://127.0.0.1:1".to_owned();
    let reason = told(&gone);
    assert!(reason.starts_with("no answer from llama-server at http://127.0.0.1:1"), "{reason}");
    // Its window is too small for what it is asked, and nothing can be left out.
    let full = VendorRefusal::new(400).message("the request exceeds the available context size");
    let reason = told(&local(ModelScenario::new().turn(Turn::refuses(full).sticky()), "lmstudio"));
    assert!(reason.starts_with("the request is longer than the model can read"), "{reason}");
    let mut large = local(ModelScenario::new(), "lmstudio");
    large.settings.context_window = 4_000;
    large.settings.small_window = 32_768;
    large.request.prompt = "word ".repeat(4_000);
    let reason = told(&large);
    assert!(reason.starts_with("the task and what has to go with it take about"), "{reason}");
}
