//! Everything that can go wrong, in every dialect.

use insta::assert_snapshot;
use serde_json::{Value, json};
use spore_scripted_model::{ModelScenario, ModelServer, Turn, VendorRefusal};

use crate::client::{Answer, Connection, post};

const TARGETS: [&str; 4] = [
    "/v1/messages",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1beta/models/flash:streamGenerateContent?alt=sse",
];

fn server(turn: Turn) -> ModelServer {
    ModelServer::start(ModelScenario::new().turn(turn.sticky())).unwrap()
}

fn streamed() -> Value {
    json!({"model": "m", "stream": true, "messages": [], "input": [], "contents": []})
}

fn whole() -> Value {
    json!({"model": "m", "messages": []})
}

/// A turn of enough events to break in the middle, in any dialect.
fn talkative() -> Turn {
    Turn::says("one two three four five six").pieces_of(4)
}

fn parses(data: &str) -> bool {
    data == "[DONE]" || serde_json::from_str::<Value>(data).is_ok()
}

#[test]
fn errors_are_the_vendors_own() {
    let mut seen = String::new();
    for status in [400, 401, 403, 404, 429, 500, 529] {
        let refusal = VendorRefusal::new(status).message("no");
        let server = server(Turn::refuses(refusal));
        for target in TARGETS {
            let answer = post(&server, target, &streamed());
            assert!(answer.complete);
            assert_eq!(answer.status, status);
            seen.push_str(&format!("{status} {}\n", answer.body));
        }
    }
    assert_snapshot!(seen);
}

#[test]
fn a_rate_limit_says_when_to_come_back() {
    let refusal = VendorRefusal::new(429)
        .retry_after(7)
        .reset("2026-01-01T00:00:00Z")
        .kind("usage_limit_reached");
    let server = server(Turn::refuses(refusal).header("x-extra", "more"));
    let mut seen = String::new();
    for target in TARGETS {
        let answer = post(&server, target, &streamed());
        seen.push_str(&format!("{target}\n"));
        for (name, value) in &answer.headers {
            seen.push_str(&format!("  {name}: {value}\n"));
        }
        seen.push_str(&format!("  {}\n", answer.body));
    }
    assert_snapshot!(seen);
}

#[test]
fn an_error_comes_inside_a_stream() {
    let refusal = VendorRefusal::new(529).message("busy").kind("overloaded");
    let server = server(talkative().fail_after(3, refusal));
    let mut seen = String::new();
    for target in TARGETS {
        let answer = post(&server, target, &streamed());
        assert_eq!((answer.status, answer.complete, answer.data().len()), (200, true, 4));
        seen.push_str(&format!("{}\n", answer.body.trim_end().rsplit("\n\n").next().unwrap()));
    }
    assert_snapshot!(seen, @r#"
    event: error
    data: {"error":{"message":"busy","type":"overloaded"},"request_id":"req_scripted","type":"error"}
    event: response.failed
    data: {"response":{"created_at":0,"error":{"code":"overloaded","message":"busy"},"id":"resp_0002_141a4bd7","incomplete_details":null,"model":"m","object":"response","output":[],"status":"failed","usage":null},"sequence_number":3,"type":"response.failed"}
    data: {"error":{"code":"server_is_overloaded","message":"busy","param":null,"type":"overloaded"}}
    data: {"error":{"code":529,"message":"busy","status":"overloaded"}}
    "#);
    assert_eq!(post(&server, "/v1/messages", &whole()).status, 529);
}

#[test]
fn a_body_of_the_scenarios_own_is_sent_as_it_is() {
    let scenario = ModelScenario::parse(
        "[[turn]]\nerror = { status = 429, body = { error = { resets_in_seconds = 60 } } }\n",
    );
    let server = ModelServer::start(scenario.unwrap()).unwrap();
    let answer = post(&server, "/v1/responses", &streamed());
    assert_eq!(answer.json(), json!({"error": {"resets_in_seconds": 60}}));
}

#[test]
fn it_hangs_before_the_headers() {
    let server = server(Turn::hangs());
    for target in TARGETS {
        let mut connection = Connection::open(&server);
        connection.post(target, &streamed().to_string());
        assert!(connection.is_silent(), "{target}");
    }
    assert_eq!(server.requests()[0].status, None);
}

#[test]
fn it_hangs_inside_a_stream() {
    let server = server(talkative().hang_after(3));
    for target in TARGETS {
        let mut connection = Connection::open(&server);
        connection.post(target, &streamed().to_string());
        let mut events = 0;
        while events < 3 {
            events += usize::from(connection.line().starts_with("data: "));
        }
        connection.line();
        connection.line();
        assert!(connection.is_silent(), "{target}");
    }
}

#[test]
fn it_hangs_inside_a_body() {
    let server = server(talkative().hang_after(3));
    let mut connection = Connection::open(&server);
    connection.post("/v1/messages", &whole().to_string());
    while !connection.line().is_empty() {}
    assert!(connection.has_more(), "half of it comes");
}

/// How an answer ended: events, whether HTTP is content, whether all of it is JSON.
fn ending(answer: &Answer) -> (usize, bool, bool) {
    let data = answer.data();
    (data.len(), answer.complete, data.iter().all(|data| parses(data)))
}

#[test]
fn it_cuts_the_connection() {
    let server = server(talkative().cut_after(3));
    for target in TARGETS {
        assert_eq!(ending(&post(&server, target, &streamed())), (3, false, true), "{target}");
    }
    let answer = post(&server, "/v1/messages", &whole());
    assert!(!answer.complete && !answer.body.is_empty() && !parses(&answer.body));
}

#[test]
fn it_ends_too_early_but_politely() {
    let server = server(talkative().end_after(3));
    for target in TARGETS {
        assert_eq!(ending(&post(&server, target, &streamed())), (3, true, true), "{target}");
    }
    let answer = post(&server, "/v1/messages", &whole());
    assert!(answer.complete && !parses(&answer.body));
}

#[test]
fn one_event_is_malformed_and_the_rest_follows() {
    let (good, bad) = (server(talkative()), server(talkative().malformed_after(2)));
    for target in TARGETS {
        let (good, bad) = (post(&good, target, &streamed()), post(&bad, target, &streamed()));
        let broken: Vec<usize> =
            (0..bad.data().len()).filter(|n| !parses(bad.data()[*n])).collect();
        assert_eq!(broken, [2], "{target}");
        assert_eq!(bad.data()[3..], good.data()[3..], "{target}");
    }
    assert!(!parses(&post(&bad, "/v1/messages", &whole()).body));
}

#[test]
fn a_line_is_as_long_as_the_scenario_says() {
    let server = server(Turn::silent().huge(1));
    for target in TARGETS {
        let answer = post(&server, target, &streamed());
        let longest = answer.data().into_iter().map(str::len).max().unwrap();
        assert!(answer.complete && longest > 1024 * 1024, "{target}: {longest}");
        assert!(answer.data().into_iter().all(parses));
    }
}

#[test]
fn a_client_that_goes_away_harms_nobody() {
    let server = server(Turn::silent().huge(1));
    for _ in 0..3 {
        Connection::open(&server).post("/v1/messages", &streamed().to_string());
    }
    assert!(post(&server, "/v1/messages", &streamed()).complete);
}
