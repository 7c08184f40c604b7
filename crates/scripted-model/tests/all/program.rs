//! The program around the server.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::client::Answer;

const SCENARIO: &str = "[prices]\n\"*\" = { input = 1.0, output = 2.0 }\n\n\
    [[turn]]\ntext = \"yes\"\nusage = { input = 1000000, output = 500000 }\n";

struct Program {
    child: Child,
    out: BufReader<ChildStdout>,
    url: String,
}

#[expect(clippy::disallowed_methods, reason = "the program under test")]
fn program(dir: &Path, scenario: &str) -> Command {
    let file = dir.join("scenario.toml");
    std::fs::write(&file, scenario).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_scripted-model"));
    command.arg(file).arg("--port-file").arg(dir.join("port"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn start(dir: &Path) -> Program {
    let mut child = program(dir, SCENARIO).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    Program { child, out, url: url.trim_end().to_owned() }
}

impl Program {
    fn ask(&self) -> Answer {
        let body = r#"{"model":"m","messages":[]}"#;
        crate::client::post_to(&self.url, "/v1/messages", body)
    }

    /// The rest of its output and its exit code.
    fn end(mut self) -> (Value, Option<i32>) {
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        let status = self.child.wait().unwrap();
        (serde_json::from_str(&rest).unwrap(), status.code())
    }
}

#[test]
fn it_serves_until_stdin_closes_and_tells_the_totals() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = start(dir.path());
    assert_eq!(program.ask().status, 200);
    drop(program.child.stdin.take());
    let (totals, code) = program.end();
    assert_eq!((&totals["requests"], &totals["cost_usd"]), (&1.into(), &2.0.into()));
    assert_eq!(code, Some(0));
}

#[test]
fn a_question_without_an_answer_shows_in_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = start(dir.path());
    assert_eq!((program.ask().status, program.ask().status), (200, 500));
    drop(program.child.stdin.take());
    assert_eq!(program.end().1, Some(1));
}

#[test]
fn a_term_signal_ends_it_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let program = start(dir.path());
    terminate(program.child.id());
    assert_eq!(program.end().1, Some(0));
}

#[expect(clippy::disallowed_methods, reason = "a signal to the program under test")]
fn terminate(pid: u32) {
    let sent = Command::new("kill").arg("-TERM").arg(pid.to_string()).status().unwrap();
    assert!(sent.success());
}

#[test]
fn the_port_is_in_the_file_whole() {
    let dir = tempfile::tempdir().unwrap();
    let program = start(dir.path());
    let file = dir.path().join("port");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !file.exists() {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let port = std::fs::read_to_string(file).unwrap();
    assert_eq!(format!("http://127.0.0.1:{}", port.trim_end()), program.url);
    terminate(program.child.id());
    program.end();
}

#[test]
fn a_bad_scenario_is_named_on_stderr_only() {
    let dir = tempfile::tempdir().unwrap();
    let output = program(dir.path(), "[[turn]]\n").output().unwrap();
    assert_eq!(output.status.code(), Some(65));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("error: turn 1 of the scenario: nothing to do"), "{told}");
}
