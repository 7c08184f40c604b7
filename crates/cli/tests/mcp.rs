//! `spore mcp` as clients meet it: on pipes, over HTTP, as the shim of a session.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use spore_model::ToolGroup;
use spore_testkit::TestEnv;
use spore_tools::ToolAnswer;
use spore_tools::graph::declared_for;
use spore_tools::remote::{Answerer, Ask, Asked, Listening as Served, Told};

use crate::scenes;

const LIB: &str = "\
/// Waters every bed.
pub fn water_all(beds: &[u32]) -> u32 {
    pour(beds.iter().sum())
}

fn pour(litres: u32) -> u32 {
    litres * 2
}
";

fn garden() -> TestEnv {
    let env = scenes::env();
    env.write("src/lib.rs", LIB);
    env.write(".gitignore", ".env\n");
    env.write(".env", "KEY=s3cret\n");
    env.commit_all("plant");
    let _ = env.spore(&["init"]).code(0);
    let _ = env.spore(&["index"]).code(0);
    env
}

/// A client on pipes.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    fn start(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = env.command(env.exe(), &env.repo());
        command.arg("mcp").args(args).envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output), asked: 0 }
    }

    /// One that has shaken hands.
    pub(crate) fn greeted(env: &TestEnv, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut client = Self::start(env, args, variables);
        let hello = client.ask("initialize", hello());
        assert_eq!(hello["result"]["serverInfo"]["name"], "spore", "{hello}");
        client
            .tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.tell(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        );
        loop {
            let answer = self.hear();
            // What was no request at all is refused without a name.
            if answer.get("id").is_some() {
                assert_eq!(answer["id"], id, "{answer}");
                return answer;
            }
            assert_eq!(answer["error"]["message"], "Invalid request", "{answer}");
        }
    }

    /// The text that a tool answers with, and whether it is an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}")).to_owned();
        (text, result["isError"].as_bool().unwrap_or_default())
    }

    /// Hangs up; what is left to hear must be nothing.
    pub(crate) fn leave(mut self) -> i32 {
        self.input = None;
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn hello() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    })
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_tools_and_their_schemas_are_these() {
    let env = garden();
    let mut client = Client::greeted(&env, &["--allow-writes"], &[]);
    let listed = client.ask("tools/list", json!({}));
    insta::assert_snapshot!(serde_json::to_string_pretty(&listed["result"]["tools"]).unwrap());
    let prompts = client.ask("prompts/list", json!({}));
    let templates = client.ask("resources/templates/list", json!({}));
    insta::assert_snapshot!(
        "prompts_and_templates",
        serde_json::to_string_pretty(&json!([prompts["result"], templates["result"]])).unwrap()
    );
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_client_asks_and_is_answered() {
    let env = garden();
    let mut client = Client::greeted(&env, &[], &[]);
    let (found, is_error) = client.call("search", json!({ "query": "pour" }));
    assert!(!is_error && found.contains("src/lib.rs:6"), "{found}");
    let (impact, _) = client.call("impact", json!({ "targets": ["pour"] }));
    assert!(impact.contains("water_all src/lib.rs:2"), "{impact}");
    let prompt = client
        .ask("prompts/get", json!({ "name": "explain", "arguments": { "question": "pour" } }));
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("litres * 2"), "{prompt}");
    let node = client.ask("resources/read", json!({ "uri": "spore://node/pour" }));
    assert!(
        node["result"]["contents"][0]["text"].as_str().unwrap().contains("litres * 2"),
        "{node}"
    );
    let listed = client.ask("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "spore://memory");
    assert_eq!(client.leave(), 0);
}

#[test]
fn nothing_can_be_written_unless_a_person_said_so() {
    let env = garden();
    let node =
        json!({ "kind": "note", "title": "Hose", "content": "It leaks.", "connects_to": ["pour"] });
    let mut reader = Client::greeted(&env, &[], &[]);
    let listed = names(&reader.ask("tools/list", json!({})));
    assert!(!listed.contains(&"create_node".to_owned()), "{listed:?}");
    for tool in ["create_node", "create_edge", "flag", "submit_verdict", "propose_lesson"] {
        let (said, is_error) = reader.call(tool, node.clone());
        assert!(is_error && said.contains("there is no tool"), "{tool}: {said}");
    }
    let mut writer = Client::greeted(&env, &["--allow-writes"], &[]);
    let (said, is_error) = writer.call("create_node", node);
    assert!(!is_error && said.contains("Added note Hose"), "{said}");
    let (said, is_error) = writer.call("submit_verdict", json!({}));
    assert!(is_error && said.contains("there is no tool"), "{said}");
    let shown = env.spore(&["graph", "show", "Hose", "--json"]).code(0).json();
    assert_eq!((&shown["agent"], &shown["class"]), (&json!("mcp"), &json!("meta")));
}

#[test]
fn whatever_comes_in_is_refused_and_the_next_question_answered() {
    let env = garden();
    let mut client = Client::greeted(&env, &[], &[]);
    for junk in ["", "{", "nonsense", "\u{feff}{}", "{\"jsonrpc\":\"2.0\"", "[[[[[["] {
        client.tell(junk);
    }
    // Larger than a message may be: dropped, and the connection stays.
    let huge = "x".repeat(3 << 20);
    client.tell(
        &json!({ "jsonrpc": "2.0", "id": 900, "method": "tools/call",
        "params": { "name": "search", "arguments": { "query": huge } } })
        .to_string(),
    );
    let (said, is_error) = client.call("search", json!({ "query": "x".repeat(500 << 10) }));
    assert!(is_error && said.contains("at most 8000 characters"), "{said}");
    for (tool, arguments) in [
        ("no_such_tool", json!({})),
        ("", json!({})),
        ("search", json!({})),
        ("search", json!({ "query": 7 })),
        ("search", json!({ "query": "x", "limit": -1 })),
        ("search", json!({ "query": "x", "surprise": true })),
        ("read_content", json!({ "target": "../../etc/passwd" })),
        ("read_content", json!({ "target": "/etc/passwd" })),
        ("read_content", json!({ "target": ".env" })),
        ("read_content", json!({ "target": ".git/config" })),
        ("read_content", json!({ "target": ".spore/spore.db" })),
        ("run_show", json!({ "run": "../.." })),
    ] {
        let (said, is_error) = client.call(tool, arguments.clone());
        assert!(is_error, "{tool} {arguments}: {said}");
        assert!(!said.contains("s3cret") && !said.contains("root:"), "{said}");
    }
    for (method, params) in [
        ("no/such/method", json!({})),
        ("tools/call", json!({ "arguments": {} })),
        ("prompts/get", json!({ "name": "nothing" })),
        ("prompts/get", json!({ "name": "task" })),
        ("resources/read", json!({ "uri": "file:///etc/passwd" })),
    ] {
        let answer = client.ask(method, params);
        assert!(answer["error"]["code"].is_i64(), "{method}: {answer}");
    }
    let (found, is_error) = client.call("search", json!({ "query": "pour" }));
    assert!(!is_error && found.contains("src/lib.rs"), "{found}");
    assert_eq!(client.leave(), 0);
}

#[test]
fn a_client_that_hangs_up_at_once_or_talks_nonsense_is_no_failure() {
    let env = garden();
    assert_eq!(Client::start(&env, &[], &[]).leave(), 0);
    let mut rude = Client::start(&env, &[], &[]);
    rude.tell("GET / HTTP/1.1");
    assert_eq!(rude.leave(), 0);
}

#[test]
fn a_shim_without_a_good_token_is_refused_and_touches_nothing() {
    let env = garden();
    let before = std::fs::metadata(env.repo().join(".spore/spore.db")).unwrap().modified().unwrap();
    let nowhere = env.dir().join("nobody-listens");
    let variables = [("SPORE_BROKER", nowhere.to_str().unwrap()), ("SPORE_BROKER_TOKEN", "stolen")];
    let mut shim = Client::greeted(&env, &["--allow-writes"], &variables);
    for (method, params) in [
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "search", "arguments": { "query": "pour" } })),
        ("tools/call", json!({ "name": "submit_verdict", "arguments": {} })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": "spore://memory" })),
        ("prompts/get", json!({ "name": "review" })),
    ] {
        let answer = shim.ask(method, params);
        assert_eq!(answer["error"]["message"], "refused", "{method}: {answer}");
    }
    assert_eq!(shim.leave(), 0);
    let after = std::fs::metadata(env.repo().join(".spore/spore.db")).unwrap().modified().unwrap();
    assert_eq!(before, after);
}

#[test]
fn a_directory_that_is_no_project_is_told_so_in_the_answer() {
    let env = scenes::env();
    let mut client = Client::greeted(&env, &[], &[]);
    let (said, is_error) = client.call("search", json!({ "query": "pour" }));
    assert!(is_error && said.contains("spore init"), "{said}");
    assert!(!env.repo().join(".spore").exists());
}

/// A server over HTTP, ended when dropped.
struct Listening {
    child: Child,
    port: u16,
    token: String,
}

impl Listening {
    fn start(env: &TestEnv) -> Self {
        let mut child = env.start_in(&env.repo(), &["mcp", "--http", "127.0.0.1:0"], &[]);
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = said.next().unwrap().unwrap();
        let port = address.rsplit_once(':').unwrap().1.trim_end_matches("/mcp").parse().unwrap();
        let file = env.dir().join("state/spore");
        let project = std::fs::read_dir(file).unwrap().next().unwrap().unwrap().path();
        let token = std::fs::read_to_string(project.join("mcp-token")).unwrap().trim().to_owned();
        let mode = std::fs::metadata(project.join("mcp-token")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let shown = said.next().unwrap().unwrap();
        assert_eq!(shown, format!("Authorization: Bearer {token}"));
        Self { child, port, token }
    }

    /// Sends a request as it is and returns the status and the rest.
    fn send(&self, head: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request =
            format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        (status.unwrap_or_else(|| panic!("{answer}")), answer)
    }

    fn post(&self, host: &str, more: &str, body: &str) -> (u16, String) {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{more}"
        );
        self.send(&head, body)
    }

    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn question(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

#[test]
fn over_http_only_who_has_the_token_and_a_local_name_is_answered() {
    let env = garden();
    let server = Listening::start(&env);
    let local = format!("127.0.0.1:{}", server.port);
    let call =
        question("tools/call", &json!({ "name": "search", "arguments": { "query": "pour" } }));
    let (status, answer) = server.post(&local, &server.bearer(), &call);
    assert!(status == 200 && answer.contains("src/lib.rs:6"), "{answer}");
    for wrong in [
        "",
        "Authorization: Bearer wrong\r\n",
        "Authorization: Basic eDp5\r\n",
        "Authorization: Bearer\r\n",
    ] {
        let (status, answer) = server.post(&local, wrong, &call);
        assert_eq!(status, 401, "{wrong}");
        assert!(!answer.contains("src/lib.rs"), "{answer}");
    }
    let twice = format!("{}Authorization: Bearer x\r\n", server.bearer());
    assert_eq!(server.post(&local, &twice, &call).0, 401);
    // A page that had its name resolved to this machine.
    for host in ["evil.example", "evil.example:7400", "169.254.169.254", ""] {
        let (status, answer) = server.post(host, &server.bearer(), &call);
        assert!(status == 403 || status == 400, "{host}: {answer}");
        assert!(!answer.contains("src/lib.rs"), "{answer}");
    }
    for origin in ["https://evil.example", "null", "http://localhost.evil.example"] {
        let more = format!("{}Origin: {origin}\r\n", server.bearer());
        assert_eq!(server.post(&local, &more, &call).0, 403, "{origin}");
    }
    let page = format!("{}Origin: http://localhost:{}\r\n", server.bearer(), server.port);
    assert_eq!(server.post(&local, &page, &call).0, 200);
}

#[test]
fn over_http_malformed_requests_are_refused_and_the_next_is_answered() {
    let env = garden();
    let server = Listening::start(&env);
    let local = format!("127.0.0.1:{}", server.port);
    for junk in ["", "{", "[]", "{\"jsonrpc\":\"2.0\"}", "\u{0}"] {
        let (status, answer) = server.post(&local, &server.bearer(), junk);
        assert!((400..500).contains(&status), "{junk}: {answer}");
    }
    let huge = question(
        "tools/call",
        &json!({ "name": "search", "arguments": { "query": "x".repeat(2 << 20) } }),
    );
    assert_eq!(server.post(&local, &server.bearer(), &huge).0, 413);
    let head = format!("GET / HTTP/1.1\r\nHost: {local}\r\n{}", server.bearer());
    assert_eq!(server.send(&head, "").0, 404);
    let head = format!("DELETE /mcp HTTP/1.1\r\nHost: {local}\r\n{}", server.bearer());
    assert_eq!(server.send(&head, "").0, 405);
    let mut rude = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    rude.write_all(b"\x16\x03\x01 this is no HTTP\r\n\r\n").unwrap();
    drop(rude);
    let hello = question("initialize", &hello());
    let (status, answer) = server.post(&local, &server.bearer(), &hello);
    assert!(status == 200 && answer.contains("\"name\":\"spore\""), "{answer}");
    let (status, answer) =
        server.post(&local, &server.bearer(), &question("tools/list", &json!({})));
    assert!(status == 200 && answer.contains("\"impact\""), "{answer}");
}

#[test]
fn a_token_that_others_can_read_is_refused_and_so_is_an_address_that_others_can_reach() {
    let env = garden();
    drop(Listening::start(&env));
    let project =
        std::fs::read_dir(env.dir().join("state/spore")).unwrap().next().unwrap().unwrap().path();
    let token = project.join("mcp-token");
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o644)).unwrap();
    let refused = env.spore(&["mcp", "--http", "127.0.0.1:0"]).code(65);
    assert!(refused.stderr.contains("only its owner may read it"), "{}", refused.stderr);
    let refused = env.spore(&["mcp", "--http", "0.0.0.0:0"]).code(64);
    assert!(refused.stderr.contains("can be reached from other machines"), "{}", refused.stderr);
    let _ = env.spore(&["mcp", "--http", "somewhere"]).code(64);
}

/// Runs the official client of another language; nothing where it is not installed.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn official_client(env: &TestEnv, args: &[&str]) -> Option<Value> {
    let Some(sdk) = std::env::var_os("SPORE_TEST_MCP_SDK") else {
        eprintln!("skipped: SPORE_TEST_MCP_SDK names no directory; `cargo xtask test` does");
        return None;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp_client.mjs");
    let mut command = env.command("node", &env.repo());
    let output = command.arg(script).arg(sdk).args(args).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[track_caller]
fn check_official(seen: &Value) {
    assert_eq!(seen["server"], "spore");
    assert_eq!(seen["tools"].as_array().unwrap().len(), 15);
    assert!(seen["search"]["text"].as_str().unwrap().contains("src/lib.rs:6"), "{seen}");
    assert!(seen["explore"]["text"].as_str().unwrap().contains("calls: pour"), "{seen}");
    assert_eq!(seen["refused"]["isError"], true);
    assert_eq!(seen["resources"], json!(["spore://memory"]));
    assert_eq!(seen["prompts"], json!(["task", "explain", "review"]));
}

#[test]
fn live_official_client_calls_the_tools_over_stdio() {
    let env = garden();
    let exe = env.exe().display().to_string();
    if let Some(seen) = official_client(&env, &["stdio", &exe, "mcp"]) {
        check_official(&seen);
    }
}

#[test]
fn live_official_client_calls_the_tools_over_http() {
    let env = garden();
    let server = Listening::start(&env);
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    if let Some(seen) = official_client(&env, &["http", &url, &server.token]) {
        check_official(&seen);
    }
}

const VERIFIER: [ToolGroup; 3] = [ToolGroup::Graph, ToolGroup::Verdict, ToolGroup::Flags];

/// Stands in for the broker of a run.
struct Broker(std::sync::Mutex<Vec<String>>);

impl Answerer for Broker {
    fn answer(&self, asked: Asked) -> Told {
        match asked.ask {
            _ if asked.token != "the token" => Told::Refused,
            Ask::Tools => Told::Tools(declared_for(&VERIFIER.into_iter().collect())),
            Ask::Call { tool, arguments } => {
                self.0.lock().unwrap().push(format!("{tool} {arguments}"));
                Told::Answer(ToolAnswer::ok("Taken."))
            }
            Ask::Resources => Told::Resources(Vec::new()),
            Ask::Start(_) => Told::Refused,
            Ask::Read { .. } => Told::Contents(None),
        }
    }
}

#[test]
fn a_shim_passes_on_what_its_broker_serves_and_needs_no_project() {
    let env = scenes::env();
    let broker = std::sync::Arc::new(Broker(std::sync::Mutex::default()));
    let socket = env.dir().join("s");
    let listening = Served::start(&socket, broker.clone()).unwrap();
    let variables =
        |token| [("SPORE_BROKER", socket.to_str().unwrap()), ("SPORE_BROKER_TOKEN", token)];
    let mut shim = Client::greeted(&env, &[], &variables("the token"));
    let listed = names(&shim.ask("tools/list", json!({})));
    assert!(listed.contains(&"submit_verdict".to_owned()) && listed.len() == 17, "{listed:?}");
    let verdict = json!({ "verdict": "supports", "confidence": 0.9, "reason": "read it" });
    assert_eq!(shim.call("submit_verdict", verdict), ("Taken.".to_owned(), false));
    let heard = broker.0.lock().unwrap().clone();
    assert_eq!(
        heard,
        [r#"submit_verdict {"confidence":0.9,"reason":"read it","verdict":"supports"}"#]
    );
    let mut thief = Client::greeted(&env, &[], &variables("another"));
    let refused = thief.ask("tools/list", json!({}));
    assert_eq!(refused["error"]["message"], "refused", "{refused}");
    drop(listening);
    let over = shim.ask("tools/list", json!({}));
    assert_eq!(over["error"]["message"], "refused", "{over}");
    assert!(!env.repo().join(".spore").exists());
}
