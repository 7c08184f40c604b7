//! `spore runs export`: one document that stands by itself, and traces for a collector.
//!
//! `SPORE_TEST_ROTEL` names a real collector, which then has to take what is sent; where it names
//! none, a listener of our own stands in for it.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::scenes::{self, ORCHESTRATE, THREE_BOUNCES, WRITE_42};
use crate::schemas::hold_to;

#[test]
fn a_run_is_one_document_that_opens_by_itself() {
    let env = scenes::with_scenario(THREE_BOUNCES);
    let hostile = "write </title><script>alert(1)</script>\u{202e}the answer";
    let args = ["orchestrate", hostile, "--backend", "replay", "--scenario", "../scenario.toml"];
    let _ = env.spore(&args).code(0);
    let said = env.spore(&["runs", "export", "-o", "run.html"]).code(0);
    assert_eq!(said.stdout, "Written to run.html\n");
    let page = std::fs::read_to_string(env.repo().join("run.html")).unwrap();
    for part in [
        "<h2>Timeline</h2>",
        "<h2>Cost</h2>",
        "<h2>Attempt 3 ",
        "<span class=\"added\">+42</span>",
        "<code>check</code> printed nothing",
        "<h3>Verdict</h3>",
        "<svg ",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    // The same again, byte for byte; and on stdout the same as in a file.
    assert_eq!(env.spore(&["runs", "export"]).code(0).stdout, page);
    let text = env.spore(&["runs", "export", "--format", "markdown"]).code(0).stdout;
    assert!(text.contains("## Attempt 3: verified") && text.contains("```diff\n"), "{text}");
    let _ = env.spore(&["runs", "export", "-o", "run.md"]).code(0);
    // What is no file keeps its place.
    scenes::system(&env, "mkfifo", &[&env.repo().join("pipe").display().to_string()]);
    let refused = env.spore(&["runs", "export", "-o", "pipe"]).code(65);
    assert!(refused.stderr.contains("pipe is there, and is no file"), "{}", refused.render());
    assert!(!env.repo().join("pipe").is_file());
    std::fs::remove_file(env.repo().join("pipe")).unwrap();
    assert_eq!(std::fs::read_to_string(env.repo().join("run.md")).unwrap(), text);
    let told = env.spore(&["runs", "export", "-o", "run.html", "--json"]).code(0).json();
    assert_eq!((&told["runs"], &told["format"]), (&1.into(), &"html".into()));
    assert_eq!(told["bytes"], page.len());

    let period = env.spore(&["runs", "export", "--since", "7d"]).code(0).stdout;
    assert!(period.contains("<h1>Runs since 2025-12-26"), "{period}");
    assert!(period.contains("100 %, 1 of 1 decided tasks"), "{period}");
    let both = env.spore(&["runs", "export", "abc", "--since", "7d"]).code(64);
    assert!(both.stderr.contains("one run"), "{}", both.render());
    let _ = env.spore(&["runs", "export", "-o", ".spore"]).code(65);
}

/// One request that a collector got: its path, its headers, its document.
struct Posted {
    path: String,
    headers: BTreeMap<String, String>,
    body: Value,
}

/// Listens like a collector, and answers everything with this.
fn listen(status: &'static str, answer: &'static str) -> (String, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if take(stream, status, answer, &sender).is_none() {
                return;
            }
        }
    });
    (url, receiver)
}

fn take(stream: TcpStream, status: &str, answer: &str, sender: &Sender<Posted>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = serde_json::from_slice(&body).ok()?;
    let length = answer.len();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    (&stream).write_all(format!("{head}{answer}").as_bytes()).ok()?;
    sender.send(Posted { path, headers, body }).ok()
}

fn spans(body: &Value) -> Vec<Value> {
    body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn names(spans: &[Value]) -> Vec<&str> {
    spans.iter().map(|span| span["name"].as_str().unwrap()).collect()
}

#[test]
fn a_run_is_sent_when_it_is_over_and_again_with_the_same_spans() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let (url, posted) = listen("200 OK", "{}");
    let own = env.dir().join("config/spore/config.toml");
    let settings = format!("[telemetry]\nendpoint = \"{url}\"\nheaders = [\"x-team=TEAM_WORD\"]\n");
    env.write_at(&own, &settings);
    let env = env.with_variable("TEAM_WORD", "garden");
    let output = env.spore(ORCHESTRATE).code(0);
    assert!(!output.stderr.contains("traces"), "{}", output.render());
    let first = posted.recv().unwrap();
    assert_eq!(first.path, "/v1/traces");
    assert_eq!(first.headers["content-type"], "application/json");
    assert_eq!(first.headers["x-team"], "garden");
    let all = spans(&first.body);
    for name in [
        "invoke_workflow orchestrate",
        "bounce 1",
        "invoke_agent coder",
        "execute_tool gates",
        "invoke_agent verifier",
    ] {
        assert!(names(&all).contains(&name), "{name}: {:?}", names(&all));
    }
    let cost = |span: &Value| {
        let all = span["attributes"].as_array().unwrap();
        let found = all.iter().find(|one| one["key"] == "spore.cost.usd");
        found.map_or(0.0, |one| one["value"]["doubleValue"].as_f64().unwrap())
    };
    let agents =
        all.iter().filter(|span| span["name"].as_str().unwrap().starts_with("invoke_agent"));
    let shown = scenes::newest(&env);
    assert_eq!(agents.map(cost).sum::<f64>(), shown["cost"]["usd"].as_f64().unwrap());
    // What was sent is not sent again, unless it is asked for: then it is the same.
    let id = scenes::newest_id(&env);
    let _ = env.spore(&["resume"]);
    assert!(posted.try_recv().is_err(), "what was sent is sent again");
    let told = env.spore(&["runs", "export", &id, "--otlp", &url]).code(0);
    assert_eq!(posted.recv().unwrap().body, first.body);
    let trace = all[0]["traceId"].as_str().unwrap();
    assert!(told.stdout.contains(&format!("trace {trace}")), "{}", told.render());
    let words = ["runs", "export", &id, "--otlp", &url, "--json"];
    hold_to("runs-export-otlp", &env.spore(&words).code(0).json(), &words);
}

#[test]
fn a_collector_that_is_gone_or_refuses_changes_no_run() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let (url, posted) = listen("503 Service Unavailable", "busy");
    // A port that was free a moment ago: nothing listens there.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (endpoint, told) in [(format!("http://{gone}"), "did not take"), (url, "answered 503 busy")]
    {
        let run =
            env.spore_in(&env.repo(), ORCHESTRATE, &[("SPORE_TELEMETRY_ENDPOINT", &endpoint)]);
        assert_eq!(run.code, 0, "{}", run.render());
        assert!(run.stderr.contains(told) && run.stderr.contains("No traces"), "{}", run.render());
        assert_eq!(scenes::newest(&env)["status"], "verified");
        let asked = env.spore(&["runs", "export", "--otlp", &endpoint]).code(69);
        assert!(asked.stderr.contains("can be sent again"), "{}", asked.render());
    }
    // What did not arrive goes with the next run, once there is a collector.
    assert!(posted.try_iter().count() >= 2);
    let (url, posted) =
        listen("200 OK", r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}"#);
    let asked = env.spore(&["runs", "export", "--since", "7d", "--otlp", &url]).code(69);
    assert!(asked.stderr.contains("turned 2 spans down: no"), "{}", asked.render());
    let roots = |body: &Value| {
        let all = spans(body);
        all.iter().filter(|span| span["parentSpanId"].is_null()).count()
    };
    assert_eq!(roots(&posted.recv().unwrap().body), 2);
    let _ = env.spore(&["runs", "export", "--otlp", "collector:4318"]).code(65);
}

#[test]
fn a_real_collector_takes_what_is_sent() {
    let Ok(program) = std::env::var("SPORE_TEST_ROTEL") else {
        eprintln!("skipped: SPORE_TEST_ROTEL names no collector");
        return;
    };
    let env = scenes::with_scenario(THREE_BOUNCES);
    let _ = env.spore(ORCHESTRATE).code(0);
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (http, grpc) = (free(), free());
    let beside = |name: &str| env.dir().join(name).display().to_string();
    let mut collector = std::process::Command::new(program)
        .args(["start", "--exporter", "blackhole"])
        .args(["--debug-log", "traces", "--debug-log-verbosity", "detailed"])
        .args(["--otlp-http-endpoint", &http.to_string()])
        .args(["--otlp-grpc-endpoint", &grpc.to_string()])
        .args(["--pid-file", &beside("collector.pid"), "--log-file", &beside("collector.log")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    scenes::wait_for("the collector", || TcpStream::connect(http).is_ok());
    let sent = env.spore(&["runs", "export", "--otlp", &format!("http://{http}"), "--json"]);
    let heard = heard_of(&env, &mut collector);
    let sent = sent.code(0).json();
    // Three attempts with a coder, checks and, but for the first, a verifier; the base; a summary.
    // And each coder's own tool.
    assert_eq!(sent["spans"], 17, "{sent}");
    let count = |words: &str| heard.lines().filter(|line| line.trim_end().ends_with(words)).count();
    assert_eq!(count(&format!(" {}", sent["traces"][0].as_str().unwrap())), 17, "{heard}");
    for (name, times) in [
        (": invoke_workflow orchestrate", 1),
        (": invoke_agent coder", 3),
        (": invoke_agent verifier", 2),
        (": invoke_agent summarizer", 1),
        (": execute_tool gates", 3),
        (": execute_tool write", 3),
        (": execute_tool baseline", 1),
    ] {
        assert_eq!(count(name), times, "{name}: {heard}");
    }
}

/// Lets a collector finish, and returns what it said.
fn heard_of(env: &TestEnv, collector: &mut std::process::Child) -> String {
    std::thread::sleep(std::time::Duration::from_millis(500));
    scenes::system(env, "kill", &["-TERM", &collector.id().to_string()]);
    let _ = collector.wait().unwrap();
    let mut heard = String::new();
    for pipe in [
        collector.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read>),
        collector.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read>),
    ] {
        pipe.unwrap().read_to_string(&mut heard).unwrap();
    }
    heard
}
