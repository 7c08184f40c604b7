//! Sessions whose model does what it should, and the limits they are held to.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use spore_agent::api::{CallForm, Protocol};
use spore_agent::{AgentEvent, McpServer, Request, SessionReport, ToolPolicy};
use spore_model::{Outcome, ToolGroup, Usage, Usd};
use spore_scripted_model::{ModelScenario, ModelServer, Turn, TurnStop, When};
use spore_tools::ToolAnswer;
use spore_tools::graph::declared_for;
use spore_tools::remote::{Answerer, Ask, Asked, Listening, SOCKET_VARIABLE, TOKEN_VARIABLE, Told};

use crate::scene::{PROTOCOLS, Scene, Witness, check, check_with, usd};

fn mends() -> ModelScenario {
    ModelScenario::new()
        .turn(
            Turn::silent()
                .thinking("The sum is wrong.")
                .text("I mend it.")
                .call("edit", json!({ "path": "add.txt", "find": "3", "replace": "2" }))
                .when(When::contains("Mend the sum.")),
        )
        .turn(Turn::calls("run", json!({ "command": "cat add.txt; echo $OPENAI_API_KEY" })).when(
            When { tool_result_contains: Some("add.txt:1 is changed".into()), ..When::default() },
        ))
        .turn(Turn::says("It is 2 now.").when(When {
            tool_result_contains: Some("exit code 0\n1 + 1 = 2\n\n".into()),
            ..When::default()
        }))
}

#[test]
fn a_session_edits_runs_and_says_so() {
    for protocol in PROTOCOLS {
        let scene = Scene::new(protocol, mends());
        let mut witness = Witness::default();
        let report = scene.play_before(&mut witness);
        let totals = scene.server.totals();
        let expected = SessionReport {
            final_text: "It is 2 now.".to_owned(),
            turns: 3,
            usage: totals.usage,
            model: Some("model-1".to_owned()),
            cost: Some(totals.cost_usd),
            ..SessionReport::ended(Outcome::Success, None)
        };
        assert_eq!(report, expected, "{protocol:?}: {:?}", scene.server.unanswered());
        assert_eq!(
            fs::read_to_string(scene.dir.path().join("checkout/add.txt")).unwrap(),
            "1 + 1 = 2\n"
        );
        assert_eq!(witness.starts, 1);
        let told: Vec<String> = witness
            .events
            .iter()
            .map(|event| match event {
                AgentEvent::Text { text } => format!("says {text}"),
                AgentEvent::Thinking { text } => format!("thinks {text}"),
                AgentEvent::ToolUse { tool, summary, .. } => format!("{tool} {summary}"),
                AgentEvent::ToolResult { tool, ok } => format!("{tool} {ok}"),
                AgentEvent::Usage { .. } => "usage".to_owned(),
                AgentEvent::Result(result) => format!("result {}", result.text),
                other => format!("{other:?}"),
            })
            .collect();
        let expected = [
            "thinks The sum is wrong.",
            "says I mend it.",
            "usage",
            "edit add.txt",
            "edit true",
            "usage",
            "run cat add.txt; echo $OPENAI_API_KEY",
            "run true",
            "says It is 2 now.",
            "usage",
            "result It is 2 now.",
        ];
        assert_eq!(told, expected, "{protocol:?}");
    }
}

#[test]
fn the_transcript_is_our_own_events_with_what_tools_were_asked_and_said() {
    let scene = Scene::new(Protocol::Messages, mends());
    let mut witness = Witness::default();
    scene.play_before(&mut witness);
    let transcript = fs::read_to_string(&scene.request.transcript).unwrap();
    let read: Vec<AgentEvent> =
        transcript.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, witness.events);
    let lines: Vec<Value> =
        transcript.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[3]["input"]["replace"], "2");
    assert_eq!(lines[4]["text"], "add.txt:1 is changed");
}

#[test]
fn what_is_sent_is_as_the_vendors_want_it() {
    for protocol in PROTOCOLS {
        let scene = Scene::new(protocol, mends());
        scene.play();
        let requests = scene.server.requests();
        let body = &requests.last().unwrap().body;
        let last_tool = body["tools"].as_array().unwrap().last().unwrap();
        let is_marked = last_tool.get("cache_control").is_some();
        assert_eq!(is_marked, protocol == Protocol::Messages);
        insta::assert_snapshot!(format!("sent_on_{protocol:?}").to_lowercase(), shape(body));
    }
}

/// The body without what is the same everywhere: the tools' descriptions and ids.
fn shape(body: &Value) -> String {
    let mut body = body.clone();
    body["tools"] = Value::from(format!("{} tools", body["tools"].as_array().unwrap().len()));
    let text = format!("{body:#}");
    let lines = text.lines().map(|line| {
        let is_id = ["\"id\"", "\"tool_use_id\"", "\"call_id\"", "\"tool_call_id\""]
            .iter()
            .any(|name| line.trim_start().starts_with(name));
        match (is_id, line.split_once(':')) {
            (true, Some((name, _))) => format!("{name}: …"),
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_structured_result_is_handed_in_by_a_tool_that_checks_it() {
    let scenario = ModelScenario::new()
        .turn(Turn::calls("submit", json!({ "verdict": "maybe" })))
        .turn(Turn::calls("submit", json!({ "verdict": "supports" })).when(When {
            tool_result_contains: Some("verdict must be one of".into()),
            ..When::default()
        }));
    for protocol in PROTOCOLS {
        let mut scene = Scene::new(protocol, scenario.clone());
        scene.request.schema = Some(json!({
            "type": "object",
            "properties": { "verdict": { "enum": ["supports", "contradicts"] } },
            "required": ["verdict"],
        }));
        let report = scene.play();
        assert_eq!(report.outcome, Outcome::Success, "{:?}", report.reason);
        assert_eq!(report.structured, Some(json!({ "verdict": "supports" })));
        assert_eq!(report.final_text, r#"{"verdict":"supports"}"#);
    }
}

#[test]
fn a_session_without_its_structured_result_has_failed() {
    let wants_result = |scene: &mut Scene| {
        scene.request.schema = Some(json!({ "type": "object" }));
    };
    let reason = "it ended without handing in a result";
    check_with(
        &ModelScenario::new().turn(Turn::says("Done.")),
        &wants_result,
        Outcome::Failure,
        reason,
        1,
    );
    let nudged = |scene: &mut Scene| {
        wants_result(scene);
        scene.settings.nudges = 1;
    };
    let scenario = ModelScenario::new()
        .turn(Turn::says("Done."))
        .turn(Turn::calls("submit", json!({})).when(When::contains("Hand in your result")));
    check_with(&scenario, &nudged, Outcome::Success, "", 2);
}

#[test]
fn turns_context_and_money_have_an_end_and_what_was_said_is_kept() {
    let looks = Turn::silent().text("So far.").call("list", json!({}));
    let heavy = Usage { input_tokens: 100, cache_read_tokens: 650, ..Usage::default() };
    let scenario = ModelScenario::new().turn(looks.usage(heavy).sticky());
    let few = |scene: &mut Scene| scene.request.limits.turns = 3;
    check_with(&scenario, &few, Outcome::Partial, "its 3 turns were used up", 3);
    let narrow = |scene: &mut Scene| scene.settings.context_window = 1000;
    check_with(&scenario, &narrow, Outcome::Partial, "its context was full: 750 tokens", 1);
    let wide = |scene: &mut Scene| {
        scene.settings.context_window = 1100;
        scene.settings.repeats = 20;
    };
    check_with(&scenario, &wide, Outcome::Partial, "its 10 turns were used up", 10);
    let thrifty = |scene: &mut Scene| {
        scene.settings.context_window = 1100;
        scene.settings.context_share = 0.5;
    };
    check_with(&scenario, &thrifty, Outcome::Partial, "its context was full: 750 tokens", 1);
    let poor = |scene: &mut Scene| scene.request.limits.usd = Some(usd(0.001));
    check_with(&scenario, &poor, Outcome::Partial, "its budget was used up: $0.0013", 2);
    let mut scene = Scene::new(Protocol::Chat, scenario);
    scene.request.limits.turns = 1;
    assert_eq!(scene.play().final_text, "So far.");
}

#[test]
fn a_model_that_makes_one_call_over_and_over_is_told_and_then_ended() {
    let list = Turn::says("```json\n{\"name\": \"list\"}\n```");
    let stuck = ModelScenario::new().turn(list.clone().sticky());
    let reason = "4 answers in a row asked for what it had been told";
    check(&stuck, Outcome::Partial, reason, 4);
    let both = "```json\n{\"name\": \"list\"}\n```\n\n\
                ```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"add.txt\"}}\n```";
    check(&ModelScenario::new().turn(Turn::says(both).sticky()), Outcome::Partial, reason, 4);
    // One that goes on otherwise when it is told is not ended.
    let note = "You were told this before";
    let helped = ModelScenario::new()
        .turn(Turn::says("Done.").when(When::contains(note)))
        .turn(list.sticky());
    check(&helped, Outcome::Success, "", 3);
}

#[test]
fn a_model_that_goes_round_in_circles_is_shown_what_to_do_instead() {
    let read = |path: &str| {
        Turn::says(&format!(
            "```json\n{{\"name\": \"read\", \"arguments\": {{\"path\": \"{path}\"}}}}\n```"
        ))
    };
    let list = Turn::says("```json\n{\"name\": \"list\"}\n```");
    let write = Turn::says("```write add.txt\n1 + 1 = 2\n```");
    let told = |text: &str, turn: Turn| turn.when(When::contains(text));
    // It reads, lists and reads: the form of a change is there to be filled in, and after the change
    // the same reading is new, once.
    let scenario = ModelScenario::new()
        .turn(told("end now: answer with one sentence", Turn::says("Done.")))
        .turn(read("add.txt"))
        .turn(list.clone())
        .turn(read("add.txt"))
        .turn(told("```write add.txt", write))
        .turn(read("add.txt"))
        .turn(read("add.txt"));
    check(&scenario, Outcome::Success, "", 7);
    // Where nothing comes of it the session ends: four answers brought nothing new.
    let scenario = ModelScenario::new()
        .turn(read("add.txt"))
        .turn(list.clone())
        .turn(read("add.txt"))
        .turn(list)
        .turn(read("add.txt").sticky());
    check(&scenario, Outcome::Partial, "4 answers in a row asked for what it had been told", 5);
    // Nobody is led to write over tests.
    let mut scene = Scene::new(
        Protocol::Chat,
        ModelScenario::new()
            .turn(read("test_add.txt"))
            .turn(read("test_add.txt"))
            .turn(told("Tests stay as they are", Turn::says("Done."))),
    );
    fs::write(scene.dir.path().join("checkout/test_add.txt"), "1 + 1 = 2").unwrap();
    scene.settings.call_form = CallForm::Text;
    let report = scene.play();
    assert_eq!((report.outcome, report.turns), (Outcome::Success, 3), "{:?}", report.reason);
}

#[test]
fn a_model_that_asks_natively_until_something_changes_is_not_ended() {
    let mut scenario = ModelScenario::new();
    for _ in 0..6 {
        scenario = scenario.turn(Turn::calls("read", json!({ "path": "add.txt" })));
    }
    for protocol in PROTOCOLS {
        let scene = Scene::new(protocol, scenario.clone().turn(Turn::says("Done.")));
        let report = scene.play();
        assert_eq!((report.outcome, report.turns), (Outcome::Success, 7), "{protocol:?}");
        let last = scene.server.requests().last().unwrap().body.to_string();
        assert!(!last.contains("told this before"), "{protocol:?}");
        assert_eq!(last.matches("1 + 1 = 3").count(), 6, "{protocol:?}");
    }
}

#[test]
fn an_answer_that_is_too_long_or_refused_is_no_success() {
    let long = ModelScenario::new().turn(Turn::says("And so on and").stop(TurnStop::MaxTokens));
    check(&long, Outcome::Partial, "its answer was cut off", 1);
    let refused = ModelScenario::new().turn(Turn::says("No.").stop(TurnStop::Refusal));
    for protocol in [Protocol::Messages, Protocol::Chat] {
        let report = Scene::new(protocol, refused.clone()).play();
        assert_eq!(report.outcome, Outcome::Failure, "{protocol:?}");
    }
}

#[test]
fn usage_is_counted_by_kind_and_an_unknown_price_is_not_zero() {
    let usage = Usage {
        input_tokens: 1000,
        output_tokens: 70,
        cache_read_tokens: 300,
        cache_write_tokens: 0,
    };
    let scenario = ModelScenario::new()
        .turn(Turn::calls("list", json!({})).usage(usage))
        .turn(Turn::says("Done.").usage(usage));
    for protocol in PROTOCOLS {
        let mut scene = Scene::new(protocol, scenario.clone());
        let report = scene.play();
        assert_eq!((report.usage, report.cost), (usage + usage, Some(usd(0.0084))), "{protocol:?}");
        assert_eq!(Some(scene.server.totals().cost_usd), report.cost);
        scene = Scene::new(protocol, scenario.clone());
        scene.request.model = Some("unheard-of".to_owned());
        assert_eq!(scene.play().cost, None);
    }
}

#[test]
fn the_input_of_a_broken_answer_is_booked_where_the_server_said_it() {
    let usage = Usage { input_tokens: 1000, output_tokens: 10, ..Usage::default() };
    let scenario = ModelScenario::new()
        .turn(Turn::says("Some of it is paid for.").usage(usage).cut_after(4))
        .turn(Turn::says("Whole.").usage(usage));
    let report = Scene::new(Protocol::Messages, scenario).play();
    assert_eq!(report.usage.input_tokens, 2000);
}

#[test]
fn tools_stay_inside_and_within_the_policy() {
    let scenario = ModelScenario::new()
        .turn(
            Turn::silent()
                .call("read", json!({ "path": "../secret" }))
                .call("write", json!({ "path": "/etc/spore", "content": "" }))
                .call("run", json!({ "command": "cat ../secret" }))
                .call("grep", json!({ "pattern": "." })),
        )
        .turn(Turn::says("Refused.").when(When {
            tool_result_contains: Some("../secret is outside".into()),
            not_contains: Some("the secret".into()),
            ..When::default()
        }));
    for protocol in PROTOCOLS {
        let mut scene = Scene::new(protocol, scenario.clone());
        fs::write(scene.dir.path().join("secret"), "the secret").unwrap();
        let allow = ["read", "list", "edit", "write", "run(true)"].map(str::to_owned).to_vec();
        scene.request.tools = ToolPolicy { allow, ..ToolPolicy::default() };
        let mut witness = Witness::default();
        let report = scene.play_before(&mut witness);
        assert_eq!(report.outcome, Outcome::Success, "{:?}", report.reason);
        let all_failed = witness
            .events
            .iter()
            .all(|event| !matches!(event, AgentEvent::ToolResult { ok: true, .. }));
        assert!(all_failed && witness.starts == 0, "{:?}", witness.events);
    }
}

#[test]
fn what_is_missing_is_told_without_a_call() {
    let scene = || Scene::new(Protocol::Messages, ModelScenario::new());
    let reason = |change: &dyn Fn(&mut Request)| {
        let mut scene = scene();
        change(&mut scene.request);
        let report = scene.play();
        assert_eq!((report.outcome, scene.server.totals().requests), (Outcome::Failure, 0));
        assert_eq!(report.cost, Some(Usd::ZERO), "who was never asked is paid nothing");
        report.reason.unwrap()
    };
    assert_eq!(reason(&|request| request.model = None), "no model was named");
    assert_eq!(reason(&|request| request.env.clear()), "ANTHROPIC_API_KEY is not set");
    let server = McpServer {
        name: "graph".to_owned(),
        command: "spore".into(),
        args: Vec::new(),
        env: Vec::new(),
        required: true,
    };
    assert_eq!(
        reason(&|request| request.mcp_servers = vec![server.clone()]),
        "the MCP server graph is needed, which this backend cannot use"
    );
}

#[test]
fn a_server_that_is_not_there_is_a_failure() {
    let mut scene = Scene::new(Protocol::Chat, ModelScenario::new());
    // The server is dropped at once, so no process listens on its port any more.
    let url = ModelServer::start(ModelScenario::new()).unwrap().url();
    scene.request.env.retain(|(name, _)| name != "OPENAI_BASE_URL");
    scene.request.env.push(("OPENAI_BASE_URL".to_owned(), url));
    let report = scene.play();
    assert_eq!(report.outcome, Outcome::Failure);
    assert!(report.reason.unwrap().starts_with("the model cannot be reached"));
}

const VERIFIER: [ToolGroup; 2] = [ToolGroup::Graph, ToolGroup::Verdict];

/// Stands in for the broker of a run.
struct Broker;

impl Answerer for Broker {
    fn answer(&self, asked: Asked) -> Told {
        match asked.ask {
            _ if asked.token != "the token" => Told::Refused,
            Ask::Tools => Told::Tools(declared_for(&VERIFIER.into_iter().collect())),
            Ask::Call { tool, arguments } => {
                Told::Answer(ToolAnswer::ok(format!("{tool} was asked {arguments}")))
            }
            _ => Told::Refused,
        }
    }
}

fn spore_server(socket: &Path, token: &str, required: bool) -> McpServer {
    McpServer {
        name: "spore".to_owned(),
        command: "/nowhere/spore".into(),
        args: vec!["mcp".to_owned()],
        env: vec![
            (SOCKET_VARIABLE.to_owned(), socket.display().to_string()),
            (TOKEN_VARIABLE.to_owned(), token.to_owned()),
        ],
        required,
    }
}

#[test]
fn the_tools_of_a_runs_broker_are_the_models_too_and_a_proposal_ends_nothing() {
    let scenario = ModelScenario::new()
        .turn(Turn::calls("search", json!({ "query": "sum" })))
        .turn(
            Turn::calls(
                "submit_verdict",
                json!({ "verdict": "supports", "confidence": 0.9, "reason": "it adds up" }),
            )
            .when(When {
                tool_result_contains: Some("search was asked {\"query\":\"sum\"}".into()),
                ..When::default()
            }),
        )
        .turn(Turn::says("Done.").when(When {
            tool_result_contains: Some("submit_verdict was asked".into()),
            ..When::default()
        }));
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let _listening = Listening::start(&socket, Arc::new(Broker)).unwrap();
    for protocol in PROTOCOLS {
        let mut scene = Scene::new(protocol, scenario.clone());
        scene.request.role = "verifier".to_owned();
        scene.request.mcp_servers = vec![spore_server(&socket, "the token", true)];
        let report = scene.play();
        assert_eq!(report.outcome, Outcome::Success, "{:?}", report.reason);
        assert_eq!((report.final_text.as_str(), &report.structured), ("Done.", &None));
        assert_eq!(report.mcp, [("spore".to_owned(), "connected".to_owned())]);
    }
}

#[test]
fn a_broker_that_refuses_is_a_failure_only_where_it_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let _listening = Listening::start(&socket, Arc::new(Broker)).unwrap();
    let play = |required: bool, token: &str| {
        let mut scene =
            Scene::new(Protocol::Messages, ModelScenario::new().turn(Turn::says("Hello.")));
        scene.request.mcp_servers = vec![spore_server(&socket, token, required)];
        scene.play()
    };
    let refused = play(true, "void");
    assert_eq!(refused.outcome, Outcome::Failure);
    let reason = "the MCP server spore is needed: the session was refused";
    assert_eq!(refused.reason.as_deref(), Some(reason));
    let welcome = play(false, "void");
    assert_eq!(welcome.outcome, Outcome::Success);
    assert_eq!(welcome.mcp, [("spore".to_owned(), "failed".to_owned())]);
}
