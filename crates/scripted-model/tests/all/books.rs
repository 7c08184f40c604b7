//! What the server writes down, and what it must not.

use serde_json::{Value, json};
use spore_model::{Usage, Usd};
use spore_scripted_model::{
    AnsweredBy, ModelScenario, ModelServer, Options, ScriptedPrice, Turn, VendorRefusal, When,
    tokens_of,
};

use crate::client::{Connection, post};

fn dollars(dollars: f64) -> Usd {
    Usd::from_dollars(dollars).unwrap()
}

fn ask(model: &str) -> Value {
    json!({"model": model, "stream": true, "messages": [{"role": "user", "content": "hi"}]})
}

#[test]
fn tokens_and_cost_are_summed_by_kind() {
    let usage = Usage {
        input_tokens: 1000,
        cache_read_tokens: 200,
        cache_write_tokens: 100,
        output_tokens: 50,
    };
    let price = ScriptedPrice {
        written: dollars(6.25),
        ..ScriptedPrice::per_million(dollars(5.0), dollars(25.0), dollars(0.5))
    };
    let server = ModelServer::start(
        ModelScenario::new().price("dear", price).turn(Turn::says("yes").usage(usage).sticky()),
    )
    .unwrap();
    for model in ["dear", "dear", "unknown"] {
        post(&server, "/v1/messages", &ask(model));
    }
    let totals = server.totals();
    assert_eq!((totals.requests, totals.refused, totals.unpriced), (3, 0, 1));
    assert_eq!(totals.usage, usage + usage + usage);
    assert_eq!(totals.cost_usd, dollars(2.0 * 0.006_975));
}

#[test]
fn what_is_not_told_is_counted() {
    let server = ModelServer::start(
        ModelScenario::new().turn(Turn::says("five!").thinking("abc").call("t", json!({"a": 1}))),
    )
    .unwrap();
    let body = ask("m");
    let answer = post(&server, "/v1/messages", &body);
    let expected = Usage {
        input_tokens: tokens_of(body.to_string().len()),
        output_tokens: tokens_of("five!abc{\"a\":1}".len()),
        ..Usage::default()
    };
    assert_eq!(server.totals().usage, expected);
    let last: Value = serde_json::from_str(answer.data().iter().rev().nth(1).unwrap()).unwrap();
    assert_eq!(last["usage"]["output_tokens"], expected.output_tokens, "the client is told so too");
}

#[track_caller]
fn books(turn: Turn, expected: (u64, u64)) {
    let usage = Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() };
    let server = ModelServer::start(ModelScenario::new().turn(turn.usage(usage))).unwrap();
    let mut connection = Connection::open(&server);
    connection.post("/v1/messages", &ask("m").to_string());
    while server.requests().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let booked = server.totals().usage;
    assert_eq!((booked.input_tokens, booked.output_tokens), expected);
}

#[test]
fn only_what_was_delivered_is_booked() {
    books(Turn::says("yes"), (10, 5));
    books(Turn::says("yes").malformed_after(2), (10, 5));
    books(Turn::says("yes").cut_after(2), (10, 0));
    books(Turn::says("yes").end_after(2), (10, 0));
    books(Turn::says("yes").hang_after(2), (10, 0));
    books(Turn::says("yes").fail_after(2, VendorRefusal::new(529)), (10, 0));
    books(Turn::hangs(), (0, 0));
    books(Turn::refuses(VendorRefusal::new(500)), (0, 0));
}

#[test]
fn a_whole_answer_that_fails_is_refused_and_costs_nothing() {
    let turn = Turn::says("yes").fail_after(2, VendorRefusal::new(529));
    let server = ModelServer::start(ModelScenario::new().turn(turn)).unwrap();
    assert_eq!(post(&server, "/v1/messages", &json!({"messages": []})).status, 529);
    assert_eq!((server.totals().refused, server.totals().usage), (1, Usage::default()));
}

#[test]
fn counting_tokens_uses_up_no_turn() {
    let server = ModelServer::start(ModelScenario::new().turn(Turn::says("yes"))).unwrap();
    let body = ask("m");
    let tokens = tokens_of(body.to_string().len());
    let counted = post(&server, "/v1/messages/count_tokens?beta=true", &body).json();
    assert_eq!(counted, json!({"input_tokens": tokens}));
    let counted = post(&server, "/v1beta/models/m:countTokens", &body).json();
    assert_eq!(counted, json!({"totalTokens": tokens}));
    assert_eq!(post(&server, "/v1/messages", &body).status, 200);
    assert_eq!(server.totals().requests, 1);
    assert!(server.unanswered().is_empty());
}

#[test]
fn a_request_that_no_turn_answers_is_an_error_to_assert_on() {
    let never = Turn::says("yes").when(When::contains("never said"));
    let server = ModelServer::start(ModelScenario::new().turn(never)).unwrap();
    let answer = post(&server, "/v1/messages", &ask("m"));
    assert_eq!(answer.status, 500);
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    assert_eq!(
        answer.json()["error"]["message"],
        "scripted model: no turn of the scenario answers request 1 for the model \"m\""
    );
    post(&server, "/v1/embeddings", &ask("m"));
    let mut connection = Connection::open(&server);
    connection.post("/v1/messages", "{");
    assert_eq!(connection.receive().status, 400);
    let unanswered: Vec<_> =
        server.unanswered().into_iter().map(|exchange| exchange.answered).collect();
    assert_eq!(unanswered, [AnsweredBy::NoTurn, AnsweredBy::NoSuchPath, AnsweredBy::NotJson]);
}

#[test]
fn the_log_has_a_line_for_every_request_and_no_key() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("requests.jsonl");
    let scenario = ModelScenario::new().turn(Turn::says("yes").named("agrees"));
    let options = Options { log: Some(log.clone()), ..Options::default() };
    let server = ModelServer::start_with(scenario, &options).unwrap();
    post(&server, "/v1beta/models/m:generateContent?key=s3cret", &ask("m"));
    post(&server, "/v1/messages", &ask("m"));
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    assert!(!format!("{:?}", server.requests()).contains("s3cret"));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["answered"], json!({"turn": {"turn": 1, "name": "agrees"}}));
    assert_eq!(lines[1]["answered"], "no_turn");
    assert_eq!(lines[1]["headers"]["authorization"], "(hidden)");
    assert_eq!(lines[1]["body"], ask("m"));
}
