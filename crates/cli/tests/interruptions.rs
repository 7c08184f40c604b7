//! The real Claude Code is cut off at ten places, and what was paid for is neither lost nor paid for
//! again: it goes on in its own conversation and with its own files, and what is booked is what the
//! scripted model counted.
//!
//! `SPORE_KILLS=claude` asks for all ten; the usual run takes one.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use spore_model::Usage;
use spore_scripted_model::{ModelScenario, ModelServer, Turn, When};
use spore_testkit::{TestEnv, wait_until_none};

use crate::kill_matrix::{asked_for, says};
use crate::scenes;
use crate::verified_run::{MODEL, SUPPORTS, scenario, variables};

/// The places of the turns, from 1, in the order in which the model looks for one that fits.
const FIRST_CALL: usize = 5;

/// How a run is cut off.
#[derive(Clone, Copy)]
enum Interruption {
    /// At an effect, with SIGKILL.
    At(&'static str),
    /// With this signal, as soon as this is seen.
    Once(&'static str, fn(&TestEnv) -> bool),
}

/// A place to cut a run off at.
struct Place {
    name: &'static str,
    cut: Interruption,
    /// How many calls of the coder the model had answered to the end.
    answered: usize,
}

fn written(env: &TestEnv, name: &str) -> bool {
    fn below(dir: &Path, name: &str) -> bool {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            entry.file_name() == name || (is_dir && below(&path, name))
        })
    }
    below(&env.dir().join("state"), name)
}

fn heard(env: &TestEnv, words: &str) -> bool {
    says(env, "bounce-1/coder", words)
}

const PLACES: [Place; 10] = [
    Place {
        name: "when its process was started",
        cut: Interruption::At("after:process:start bounce 1/1 coder/1#1"),
        answered: 0,
    },
    Place {
        name: "while the first call waits for its answer",
        cut: Interruption::Once("KILL", |env| heard(env, "requesting")),
        answered: 0,
    },
    Place {
        name: "in the middle of the first answer",
        cut: Interruption::Once("KILL", |env| heard(env, "content_block_delta")),
        answered: 0,
    },
    Place {
        name: "in the first command, by Ctrl-C",
        cut: Interruption::Once("INT", |env| written(env, "one.txt")),
        answered: 1,
    },
    Place {
        name: "in the first command",
        cut: Interruption::Once("KILL", |env| written(env, "one.txt")),
        answered: 1,
    },
    Place {
        name: "while the second call waits for its answer",
        cut: Interruption::Once("KILL", |env| heard(env, "FIRST-DONE")),
        answered: 1,
    },
    Place {
        name: "in the second command",
        cut: Interruption::Once("TERM", |env| written(env, "two.txt")),
        answered: 2,
    },
    Place {
        name: "in the third command",
        cut: Interruption::Once("KILL", |env| written(env, "three.txt")),
        answered: 3,
    },
    Place {
        name: "while the last call waits for its answer",
        cut: Interruption::Once("KILL", |env| heard(env, "THIRD-DONE")),
        answered: 3,
    },
    Place {
        name: "before its end is on record",
        cut: Interruption::At("before:row:finish coder/1#1"),
        answered: 4,
    },
];

/// A coder of three commands, each of which takes its time after it has written its file; what was
/// cut off is finished by looking at what is there. No command is spelt like what it says.
fn script() -> ModelScenario {
    let shell = |command: &str| {
        Turn::calls("Bash", json!({ "command": command, "description": "as told" }))
    };
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let rest = "echo SEEN *.txt; echo 1 > one.txt; echo 2 > two.txt; echo 3 > three.txt; \
                echo 42 > answer.txt; printf THIRD-; echo DONE";
    let turns = [
        Turn::says("done\nSTAGE_DO_COMPLETE").when(after("THIRD-DONE")),
        shell("echo 3 > three.txt; echo 42 > answer.txt; sleep 1; printf THIRD-; echo DONE")
            .when(after("SECOND-DONE")),
        shell("echo 2 > two.txt; sleep 1; printf SECOND-; echo DONE").when(after("FIRST-DONE")),
        shell(rest).when(When::contains("You were cut off")),
        shell("echo 1 > one.txt; sleep 1; printf FIRST-; echo DONE")
            .when(When::contains("coder in bounce 1"))
            .delay_between(Duration::from_millis(60)),
        Turn::says(SUPPORTS).when(When::contains("verifier in bounce 1")),
    ];
    scenario(turns.into_iter().zip(1..).map(|(turn, number)| {
        let usage = Usage {
            input_tokens: 1000 * number,
            output_tokens: 10 * number,
            cache_read_tokens: 100 * number,
            cache_write_tokens: number,
        };
        turn.usage(usage).sticky().delay(Duration::from_millis(400))
    }))
}

fn scene(program: &str) -> (TestEnv, ModelServer) {
    let server = ModelServer::start(script()).unwrap();
    let env = variables(&server.url())
        .into_iter()
        .fold(scenes::small(), |env, (name, value)| env.with_variable(name, &value));
    (env.with_variable("SPORE_CLAUDE_PROGRAM", program), server)
}

/// Runs the task, cuts it off and returns how many requests the model had by then.
fn cut_off(env: &TestEnv, server: &ModelServer, place: &Place) -> usize {
    let args = ["orchestrate", "write the answer", "--backend", "claude", "--model", MODEL];
    let args = [&args[..], &["--no-summarize"]].concat();
    match place.cut {
        Interruption::At(point) => {
            let output = env.spore_in(&env.repo(), &args, &[("SPORE_KILL_AT", point)]);
            assert_eq!(output.code, 137, "{}: {}", place.name, output.render());
        }
        Interruption::Once(signal, seen) => {
            let mut child = env.start_in(&env.repo(), &args, &[]);
            while !seen(env) && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(2));
            }
            scenes::system(env, "kill", &[&format!("-{signal}"), &child.id().to_string()]);
            let output = env.finish(child);
            let code = if signal == "KILL" { 137 } else { 20 };
            assert_eq!(output.code, code, "{}: {}", place.name, output.render());
        }
    }
    assert_eq!(wait_until_none(env.dir(), Duration::from_secs(10)), [], "{}", place.name);
    server.requests().len()
}

fn usage_of(value: &Value) -> Usage {
    serde_json::from_value(value.clone()).unwrap()
}

/// Holds what is booked against the model's own count: exactly, but for one call in flight.
fn the_books_agree(env: &TestEnv, server: &ModelServer, place: &Place) {
    let shown = scenes::newest(env);
    let rows = shown["ledger"].as_array().unwrap();
    let booked: Usage = rows.iter().map(|row| usage_of(&row["usage"])).sum();
    let model = server.totals();
    let name = place.name;
    let is_estimated = |row: &&Value| row["cost"]["estimated"] == true;
    let Some(row) = rows.iter().find(is_estimated) else {
        assert_eq!(booked, model.usage, "{name}: {rows:#?}");
        assert_eq!(shown["cost"]["usd"], json!(model.cost_usd), "{name}");
        return;
    };
    let bounds = lost_bounds(env, row["session"].as_str().unwrap());
    let others: Usage =
        rows.iter().filter(|row| !is_estimated(row)).map(|row| usage_of(&row["usage"])).sum();
    let read = |usage: Usage| usage.read_tokens();
    let true_read = read(model.usage) - read(others);
    let true_output = model.usage.output_tokens - others.output_tokens;
    let (least, most) = (usage_of(&bounds["least"]), usage_of(&bounds["most"]));
    assert!(read(least) <= true_read && true_read <= read(most), "{name}: {true_read} {bounds}");
    assert!(
        least.output_tokens <= true_output && true_output <= most.output_tokens,
        "{name}: {true_output} {bounds}"
    );
}

fn lost_bounds(env: &TestEnv, session: &str) -> Value {
    let told = env.spore(&["events", "tail", "--json", "--limit", "1000"]).code(0);
    let lines = told.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut lost = lines.filter(|event| event["type"] == "session.lost" && event["run"] == session);
    lost.next().unwrap_or_else(|| panic!("{}", told.render()))["payload"]["bounds"].clone()
}

fn interrupt(program: &str, place: &Place) {
    let (env, server) = scene(program);
    let before = cut_off(&env, &server, place);
    let resumed = env.spore(&["resume"]);
    assert_eq!(resumed.code, 0, "{}: {}", place.name, resumed.render());
    assert_eq!(scenes::newest(&env)["status"], "verified", "{}", place.name);
    let requests = server.requests();
    let asked: Vec<_> = requests[before..].iter().filter(|one| one.turn().is_some()).collect();
    let name = place.name;
    if place.answered > 0 {
        // No work is done twice, and the model hears all that was said before.
        assert!(resumed.stderr.contains("goes on in its own conversation"), "{}", resumed.stderr);
        let body = asked[0].body.to_string();
        for words in ["coder in bounce 1", "You were cut off"] {
            assert!(body.contains(words), "{name}: {words:?} is not in {body}");
        }
        let firsts = requests.iter().filter(|one| one.turn() == Some(FIRST_CALL)).count();
        assert_eq!(firsts, 1, "{name}");
    }
    for (number, words) in [(2, "FIRST-DONE"), (3, "SECOND-DONE"), (4, "THIRD-DONE")] {
        if place.answered >= number {
            let body = asked[0].body.to_string();
            assert!(body.contains(words), "{name}: {words:?} is not in {body}");
        }
    }
    the_books_agree(&env, &server, place);
}

/// Returns the program, unless it is not there to be tried.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn claude() -> Option<String> {
    let program = std::env::var("SPORE_TEST_CLAUDE").ok();
    if program.is_none() {
        eprintln!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does");
    }
    program
}

/// Holds that the model heard the whole conversation again, and did its first part once.
fn went_on(server: &ModelServer, before: usize, name: &str) {
    let requests = server.requests();
    let asked = requests[before..].iter().find(|one| one.turn().is_some()).unwrap();
    let body = asked.body.to_string();
    for words in ["coder in bounce 1", "echo 1 > one.txt", "You were cut off"] {
        assert!(body.contains(words), "{name}: {words:?} is not in {body}");
    }
    let firsts = requests.iter().filter(|one| one.turn() == Some(FIRST_CALL)).count();
    assert_eq!(firsts, 1, "{name}");
}

#[test]
fn a_coder_whose_budget_is_spent_goes_on_in_its_conversation_with_more() {
    let Some(program) = claude() else { return };
    let (env, server) = scene(&program);
    let args = ["orchestrate", "write the answer", "--backend", "claude", "--model", MODEL];
    // The first call costs a cent and a half. Claude drops the one that is too much.
    let args = [&args[..], &["--no-summarize", "--budget", "0.02"]].concat();
    let output = env.spore(&args);
    assert_eq!(output.code, 3, "{}", output.render());
    let told = format!("Give it more to spend:\n  spore resume {}", short_id(&env));
    assert!(output.stdout.contains(&format!("{told} --budget +5")), "{}", output.render());
    let before = server.requests().len();
    let resumed = env.spore(&["resume", "--budget", "+5"]);
    assert_eq!(resumed.code, 0, "{}", resumed.render());
    assert!(resumed.stderr.contains("goes on in its own conversation"), "{}", resumed.stderr);
    went_on(&server, before, "an empty budget");
    let shown = scenes::newest(&env);
    assert_eq!(shown["status"], "verified");
    let booked = shown["ledger"].as_array().unwrap().iter().map(|row| usage_of(&row["usage"]));
    assert_eq!(booked.sum::<Usage>(), server.totals().usage, "{:#}", shown["ledger"]);
}

fn short_id(env: &TestEnv) -> String {
    let id = scenes::newest_id(env);
    id[id.len() - 8..].to_owned()
}

const FLOW: &str = "[executors.work]\nrole = \"operator\"\nbackend = \"claude\"\nactions = [\"DO\"]\n\
    prompt = \"coder in bounce 1\"\nartifact = \"answer.txt\"\n";

#[test]
fn sessions_without_a_checkout_go_on_in_their_conversation_too() {
    let Some(program) = claude() else { return };
    let spawn = ["spawn", "--prompt", "coder in bounce 1", "--backend", "claude", "--model", MODEL];
    let exec = ["exec", "work", "DO", "it"];
    let all: [(&str, &[&str], &str, &str); 3] = [
        ("a spawned session, by Ctrl-C", &spawn, "INT", "session"),
        ("an exec", &exec, "KILL", "exec"),
        ("a spawned session", &spawn, "KILL", "session"),
    ];
    let usual = if asked_for("claude") { 3 } else { 2 };
    for (name, args, signal, part) in &all[..usual] {
        let (env, server) = scene(&program);
        env.write(".spore/flows/work.toml", FLOW);
        let mut child = env.start_in(&env.repo(), args, &[]);
        let seen = || says_anywhere(&env, "FIRST-DONE");
        while !seen() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        scenes::system(&env, "kill", &[&format!("-{signal}"), &child.id().to_string()]);
        let output = env.finish(child);
        let code = if *signal == "KILL" { 137 } else { 20 };
        assert_eq!(output.code, code, "{name}: {}", output.render());
        if *signal == "INT" {
            let told = format!("it can be gone on with: spore resume {}", short_id(&env));
            assert!(output.stderr.contains(&told), "{name}: {}", output.render());
        }
        assert_eq!(wait_until_none(env.dir(), Duration::from_secs(10)), [], "{name}");
        let before = server.requests().len();
        let resumed = env.spore(&["resume"]);
        assert_eq!(resumed.code, 0, "{name}: {}", resumed.render());
        assert!(resumed.stderr.contains("goes on in its own conversation"), "{}", resumed.stderr);
        went_on(&server, before, name);
        assert_eq!(scenes::newest(&env)["status"], "finished", "{name}");
        if *part == "session" {
            assert_eq!(resumed.stdout.trim(), "done\nSTAGE_DO_COMPLETE", "{name}");
        }
        println!("cut off: {name} goes on");
    }
}

/// Returns whether a session of any run is known to have said this.
fn says_anywhere(env: &TestEnv, words: &str) -> bool {
    fn below(dir: &Path, words: &str) -> bool {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| {
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_dir && below(&path, words)
                || entry.file_name() == "transcript.jsonl"
                    && std::fs::read_to_string(&path).is_ok_and(|text| text.contains(words))
        })
    }
    below(&env.repo().join(".spore/runs"), words)
}

#[test]
fn claude_that_is_cut_off_goes_on_where_it_was_and_is_booked_as_the_model_counts() {
    let Some(program) = claude() else { return };
    let places: Vec<&Place> = match asked_for("claude") {
        true => PLACES.iter().collect(),
        false => vec![&PLACES[5]],
    };
    for place in places {
        interrupt(&program, place);
        println!("cut off {}: goes on", place.name);
    }
}
