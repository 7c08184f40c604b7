//! Whole runs with models of servers on this machine, which write their calls as text.

use spore_scripted_model::{ModelScenario, ModelServer, Turn, When};
use spore_testkit::TestEnv;

use crate::scenes;

const MODEL: &str = "coder-1b";
const SUPPORTS: &str = r#"<verdict>{"nonce":"$NONCE","verdict":"supports","confidence":0.9,"reason":"it says 42"}</verdict>"#;

fn write(answer: &str) -> Turn {
    Turn::says(&format!("I write it.\n\n```write answer.txt\n{answer}\n```\n"))
}

fn is_coder() -> When {
    When::contains("coder in bounce")
}

/// The coder writes and says so; the verifier agrees.
fn works() -> ModelScenario {
    ModelScenario::new()
        .serving(MODEL)
        .turn(write("42").when(is_coder()))
        .turn(Turn::says("Done.").when(When::contains("write answers")))
        .turn(Turn::says(SUPPORTS).sticky())
}

fn env(server: &ModelServer) -> TestEnv {
    let env = scenes::small().with_variable("SPORE_ORCHESTRATE_SUMMARIZE", "false");
    ["OLLAMA", "LLAMA_SERVER", "LMSTUDIO"].iter().fold(env, |env, name| {
        env.with_variable(&format!("SPORE_LOCAL_{name}_ADDRESS"), &server.url())
    })
}

fn run<'a>(backend: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["orchestrate", "write the answer", "--json", "--backend", backend];
    words.iter().chain(more).copied().collect()
}

#[test]
fn a_model_on_this_machine_does_a_whole_run_at_no_cost() {
    let server = ModelServer::start(works()).unwrap();
    let env = env(&server);
    let report = env.spore(&run("llama-server", &[])).code(0).json();
    assert_eq!(report["status"], "verified", "{report:#}");
    assert_eq!(report["cost"]["usd"], 0.0);
    assert_eq!(report["cost"]["estimated"], false);
    assert_eq!(report["ledger"][0]["backend"], "llama-server");
    // The whole first request for a small task, by the estimate of three bytes a token.
    let first = server.requests().into_iter().find(|one| one.method == "POST").unwrap();
    let tokens = first.body.to_string().len() / 3;
    assert!(tokens < 2000, "{tokens}: {:#}", first.body);
}

#[test]
fn servers_on_this_machine_are_listed_with_their_models_and_told_by_the_doctor() {
    let server = ModelServer::start(works()).unwrap();
    let env = env(&server);
    let listed = env.spore(&["agents", "list", "--json"]).code(0).json();
    let ollama = listed.as_array().unwrap().iter().find(|one| one["name"] == "ollama").unwrap();
    assert_eq!(ollama["local"], true);
    assert_eq!(ollama["models"][0], MODEL);
    let shown = env.spore(&["agents", "list"]).code(0).stdout;
    assert!(shown.contains("local: coder-1b"), "{shown}");
    let doctor = env.spore(&["doctor", "--json"]).json();
    let findings = doctor["findings"].as_array().unwrap();
    let local = findings.iter().find(|one| one["name"] == "local models").unwrap();
    assert_eq!(local["ok"], true);
    assert!(local["detail"].as_str().unwrap().contains("with 1 model"), "{local}");
}

#[test]
fn a_server_that_is_not_there_or_a_model_that_nobody_named_is_told_first() {
    let env = scenes::small();
    let gone = env.spore(&run("ollama", &["--model", MODEL])).code(69);
    assert!(gone.stderr.contains("no answer from ollama at http://127.0.0.1:1"), "{}", gone.stderr);
    assert!(gone.stderr.contains("`ollama serve`"), "{}", gone.stderr);
    let server = ModelServer::start(works()).unwrap();
    let env = self::env(&server);
    let nameless = env.spore(&run("ollama", &[])).code(78);
    assert!(nameless.stderr.contains("it has: coder-1b"), "{}", nameless.stderr);
}

#[test]
fn a_server_that_stops_in_the_middle_parks_the_run_which_goes_on_when_it_is_back() {
    // Every answer breaks off: the server goes down in the middle of each.
    let breaks = ModelScenario::new().serving(MODEL).turn(write("4").cut_after(2).sticky());
    let broken = ModelServer::start(breaks).unwrap();
    let env = env(&broken).with_variable("SPORE_API_RETRY_PAUSE", "1ms");
    let parked = env.spore(&run("llama-server", &[])).code(3);
    let text = format!("{}{}", parked.stdout, parked.stderr);
    assert!(text.contains("no answer from llama-server"), "{text}");
    let back = ModelServer::start(works()).unwrap();
    let url = back.url();
    let address = [("SPORE_LOCAL_LLAMA_SERVER_ADDRESS", url.as_str())];
    let report = env.spore_in(&env.repo(), &["resume", "--json"], &address).code(0).json();
    assert_eq!(report["status"], "verified", "{report:#}");
    assert_eq!(report["cost"]["usd"], 0.0);
}

#[test]
fn a_session_by_itself_whose_server_stops_says_that_it_cannot_be_gone_on_with() {
    let breaks = ModelScenario::new().serving(MODEL).turn(write("4").cut_after(2).sticky());
    let broken = ModelServer::start(breaks).unwrap();
    let env = env(&broken).with_variable("SPORE_API_RETRY_PAUSE", "1ms");
    let words =
        ["spawn", "--role", "coder", "--backend", "llama-server", "--json", "--prompt", "write"];
    let ended = env.spore(&words).code(3);
    let text = format!("{}{}", ended.stdout, ended.stderr);
    assert!(text.contains("no answer from llama-server"), "{text}");
    assert!(text.contains("call `spore spawn` again"), "{text}");
    let shown = env.spore(&["runs", "show", "--json"]).json();
    let reason = shown["run"]["reason"].as_str().unwrap();
    assert!(reason.contains("call `spore spawn` again"), "{shown:#}");
}
