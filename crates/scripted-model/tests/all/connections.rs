//! HTTP as the agents' clients speak it, and the end of a server.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::time::{Duration, Instant};

use serde_json::json;
use spore_scripted_model::{ModelScenario, ModelServer, Turn};

use crate::client::{Connection, post};

const ASKED: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

fn server(turn: Turn) -> ModelServer {
    ModelServer::start(ModelScenario::new().turn(turn.sticky())).unwrap()
}

#[test]
fn a_connection_serves_many_requests() {
    let server = server(Turn::says("yes"));
    let mut connection = Connection::open(&server);
    for stream in [false, true, true, false] {
        let body = json!({"stream": stream, "messages": []}).to_string();
        connection.post("/v1/messages", &body);
        let answer = connection.receive();
        assert!(answer.complete && answer.body.contains("yes"), "{answer:?}");
    }
    assert_eq!(server.totals().requests, 4);
}

#[test]
fn a_client_that_says_close_is_let_go() {
    let server = server(Turn::says("yes"));
    let mut connection = Connection::open(&server);
    let length = ASKED.len();
    connection.send(&format!(
        "POST /v1/messages HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{ASKED}"
    ));
    assert!(connection.receive().complete);
    assert!(connection.is_closed());
}

#[test]
fn a_body_comes_in_chunks_after_a_nod() {
    let server = server(Turn::says("yes"));
    let mut connection = Connection::open(&server);
    connection.send(
        "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
    );
    assert_eq!(connection.line(), "HTTP/1.1 100 Continue");
    connection.line();
    let (one, two) = ASKED.split_at(7);
    connection.send(&format!("{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len()));
    assert_eq!(connection.receive().status, 200);
    assert_eq!(server.requests()[0].body["messages"][0]["content"], "hi");
}

#[test]
fn a_probe_is_answered_and_asks_nothing() {
    let server = server(Turn::says("yes"));
    let mut connection = Connection::open(&server);
    connection.send("HEAD / HTTP/1.1\r\nHost: here\r\n\r\n");
    let answer = connection.receive();
    assert_eq!((answer.status, answer.body.as_str()), (404, ""));
    assert!(server.unanswered().is_empty());
    assert_eq!((server.requests().len(), server.totals().requests), (1, 0));
}

#[test]
fn nonsense_is_told_so_and_the_connection_ends() {
    let server = server(Turn::says("yes"));
    let mut connection = Connection::open(&server);
    connection.send("what?\r\n\r\n");
    let answer = connection.receive();
    assert_eq!(answer.status, 400);
    assert!(connection.is_closed());
    assert_eq!(server.requests(), []);
}

#[test]
fn delays_are_kept() {
    let delay = Duration::from_millis(30);
    let server = server(Turn::says("one two three").delay(delay).delay_between(delay));
    let start = Instant::now();
    let body = json!({"stream": true, "messages": []});
    let events = u32::try_from(post(&server, "/v1/messages", &body).data().len()).unwrap();
    assert!(start.elapsed() >= delay * (events + 1), "{:?}", start.elapsed());
}

/// The threads of this server; others run beside it.
fn threads_of(port: u16) -> usize {
    let name = format!("model-{port}");
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
        .filter(|comm| comm.trim_end() == name)
        .count()
}

#[track_caller]
fn ends_at_once(turn: Turn) {
    let server = server(turn);
    let port = server.port();
    let mut connections: Vec<_> = (0..4).map(|_| Connection::open(&server)).collect();
    for connection in &mut connections[..3] {
        connection.post("/v1/messages", r#"{"stream":true,"messages":[]}"#);
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while (server.requests().len(), threads_of(port)) != (3, 5) {
        assert!(Instant::now() < deadline, "{} threads", threads_of(port));
        std::thread::sleep(Duration::from_millis(2));
    }
    let start = Instant::now();
    drop(server);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(threads_of(port), 0);
}

#[test]
fn a_server_ends_whatever_its_threads_are_doing() {
    ends_at_once(Turn::hangs());
    ends_at_once(Turn::says("partial").hang_after(3));
    ends_at_once(Turn::says("late").delay(Duration::from_secs(600)));
    ends_at_once(Turn::says("slow").delay_between(Duration::from_secs(600)));
    // The client does not read the answer: the threads are blocked in writing.
    ends_at_once(Turn::silent().huge(6));
}
