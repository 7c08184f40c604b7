//! What is booked is what the model counted: a mixed set of runs in one project, with attempts that
//! fall short, calls that are made again, runs that are parked, killed, timed out and raced.
//!
//! The scripted model keeps books of its own, which no client can write to. A session whose end was
//! seen is booked as they say, token by token and to the last billionth of a dollar. One that was cut
//! off in a call is marked as an estimate, and what the model counted lies within the bounds that
//! are told with it, in tokens and in dollars. `SPORE_RECONCILE=all` asks for several rounds, and for
//! calls that hang and a kill after the end is on record as well.

#![expect(clippy::print_stdout, reason = "what was tried is worth knowing")]
#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::time::Duration;

use serde_json::{Value, json};
use spore_model::{Usage, Usd};
use spore_scripted_model::{ModelServer, ModelTotals, Turn, VendorRefusal, When};
use spore_testkit::{TestEnv, wait_until_none};

use crate::scenes;
use crate::verified_run::{MODEL, SUPPORTS, scenario, variables};

/// What a call costs, unlike any other's.
pub(crate) fn usage(number: u64) -> Usage {
    Usage {
        input_tokens: 1000 + 37 * number,
        output_tokens: 10 * number + 3,
        cache_read_tokens: 100 * number,
        cache_write_tokens: 7 * number,
    }
}

/// The turns of all tasks. A task is told from another by a word in it, and its steps by what came
/// before; each turn has usage of its own, so that one booked for another would be seen.
fn turns() -> Vec<Turn> {
    let shell = |command: &str| Turn::calls("run", json!({ "command": command }));
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let asks = |words: &str| When::contains(words);
    let write = "echo 42 > answer.txt; echo WRITTEN";
    vec![
        Turn::says("done").when(after("WRITTEN")),
        Turn::says(SUPPORTS).when(asks("verifier in bounce")),
        // Cleared a file that must stay: its check is red, and the second attempt mends it.
        shell("printf 'keep me\\n' > kept.txt; echo 42 > answer.txt; echo WRITTEN")
            .when(asks("Bounce 1 did not hold")),
        shell("printf 'gone\\n' > kept.txt; echo WRITTEN").when(asks("TASK-RED")),
        Turn::refuses(VendorRefusal::new(529)).when(asks("TASK-AGAIN")).times(2),
        shell(write).when(asks("TASK-AGAIN")),
        Turn::hangs().when(asks("TASK-HANG")).times(1),
        shell(write).when(asks("TASK-HANG")),
        shell(write).when(asks("TASK-CUT")).delay(Duration::from_millis(300)),
        shell(write).when(asks("write the answer")),
        // Whatever else is asked, such as which racer is best: it is paid for like the rest.
        Turn::says("I cannot tell."),
    ]
}

struct Books {
    env: TestEnv,
    server: ModelServer,
}

impl Books {
    fn open() -> Self {
        let numbered = turns().into_iter().zip(1..).map(|(turn, number)| {
            let turn = turn.usage(usage(number));
            // All but those that are told how often.
            match number {
                5 | 7 => turn,
                _ => turn.sticky(),
            }
        });
        let server = ModelServer::start(scenario(numbered)).unwrap();
        let env = variables(&server.url())
            .into_iter()
            .fold(scenes::small(), |env, (name, value)| env.with_variable(name, &value));
        let env = env.with_variable("SPORE_API_RETRY_PAUSE", "10ms");
        Self { env, server }
    }

    /// Runs a task, and what else it takes, then holds what was booked against what the model
    /// counted meanwhile. Returns whether it had to be estimated.
    fn hold(&self, name: &str, work: impl FnOnce(&Self)) -> bool {
        let before = self.server.totals();
        work(self);
        assert_eq!(wait_until_none(self.env.dir(), Duration::from_secs(10)), [], "{name}");
        let after = self.server.totals();
        assert_eq!(self.server.unanswered().len(), 0, "{name}: {:?}", self.server.unanswered());
        agrees(&self.env, name, &difference(after, before), None)
    }

    fn task(&self, words: &str, more: &[&str]) -> i32 {
        let args = ["orchestrate", words, "--backend", "api", "--model", MODEL, "--no-summarize"];
        self.env.spore(&[&args[..], more].concat()).code
    }
}

/// Holds what was booked of the newest run against what the model counted: exactly, but for sessions that
/// were cut off, which are within the bounds that are told of them. Where none are told, a session that
/// was cut off has made the calls that it is booked with, and at most the one in flight beside them.
/// Returns whether there were any.
#[track_caller]
pub(crate) fn agrees(
    env: &TestEnv,
    name: &str,
    model: &ModelTotals,
    in_flight: Option<Usage>,
) -> bool {
    let shown = scenes::newest(env);
    let rows = shown["ledger"].as_array().unwrap();
    let is_estimated = |row: &&Value| row["cost"]["estimated"] == true;
    let sum = |rows: &mut dyn Iterator<Item = &Value>| -> Usage {
        rows.map(|row| serde_json::from_value::<Usage>(row["usage"].clone()).unwrap()).sum()
    };
    let told = format!("{name}: {rows:#?}\nmodel: {model:?}");
    let lost: Vec<&Value> = rows.iter().filter(is_estimated).collect();
    if lost.is_empty() {
        assert_eq!(sum(&mut rows.iter()), model.usage, "{told}");
        assert_eq!(shown["cost"]["usd"], json!(model.cost_usd), "{told}");
        return false;
    }
    let exact = sum(&mut rows.iter().filter(|row| !is_estimated(row)));
    let bounds = bounds(env);
    let told_of = |row: &Value| bounds.iter().find(|(run, _)| row["session"] == run.as_str());
    let bound = |side: &str| -> Usage {
        let of = |row: &&Value| {
            let read = |usage: &Value| serde_json::from_value::<Usage>(usage.clone()).unwrap();
            match (told_of(row), in_flight) {
                (Some((_, bounds)), _) => read(&bounds[side]),
                (None, Some(call)) if side == "most" => read(&row["usage"]) + call,
                (None, Some(_)) => read(&row["usage"]),
                (None, None) => panic!("no bounds are told of an estimate; {told}"),
            }
        };
        lost.iter().map(of).sum()
    };
    let (least, most) = (bound("least"), bound("most"));
    let read = model.usage.read_tokens() - exact.read_tokens();
    let output = model.usage.output_tokens - exact.output_tokens;
    assert!((least.read_tokens()..=most.read_tokens()).contains(&read), "{told}\n{bounds:?}");
    assert!((least.output_tokens..=most.output_tokens).contains(&output), "{told}\n{bounds:?}");
    let dollars = |row: &Value| row["cost"]["usd"].as_f64().unwrap();
    let of_exact: f64 = rows.iter().filter(|row| !is_estimated(row)).map(dollars).sum();
    let estimate: f64 = rows.iter().filter(is_estimated).map(dollars).sum();
    // Which of the tokens that were read came from a cache is not told: the cheapest and the dearest.
    let (low, high) = (price(least, CACHED), price(most, WRITTEN));
    let paid = model.cost_usd.as_dollars() - of_exact;
    assert!((low - 1e-9..=high + 1e-9).contains(&paid), "{paid}: {low} to {high}; {told}");
    // Of a session that was cut off in its first call nothing is known but that it was not free.
    let highest = if lost.iter().all(|row| told_of(row).is_some()) { high } else { f64::MAX };
    assert!((low - 1e-9..=highest + 1e-9).contains(&estimate), "{estimate}: {low}; {told}");
    true
}

/// The bounds that are told of sessions whose end was not seen, by session.
fn bounds(env: &TestEnv) -> Vec<(String, Value)> {
    let told = env.spore(&["events", "tail", "--json", "--limit", "2000"]).code(0);
    let lines = told.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told = lines.filter_map(|event| {
        let bounds = event["payload"]["bounds"].clone();
        Some((event["run"].as_str()?.to_owned(), bounds)).filter(|(_, one)| !one.is_null())
    });
    told.collect()
}

/// What the scripted model takes for a million tokens, in dollars.
const CACHED: f64 = 0.3;
const WRITTEN: f64 = 3.75;
const OUTPUT: f64 = 15.0;

/// Returns what usage costs if all that is read has one price.
fn price(usage: Usage, read: f64) -> f64 {
    (usage.read_tokens() as f64 * read + usage.output_tokens as f64 * OUTPUT) / 1e6
}

fn difference(after: ModelTotals, before: ModelTotals) -> ModelTotals {
    let less = |a: u64, b: u64| a - b;
    let (a, b) = (after.usage, before.usage);
    ModelTotals {
        requests: less(after.requests, before.requests),
        refused: less(after.refused, before.refused),
        unpriced: less(after.unpriced, before.unpriced),
        usage: Usage {
            input_tokens: less(a.input_tokens, b.input_tokens),
            output_tokens: less(a.output_tokens, b.output_tokens),
            cache_read_tokens: less(a.cache_read_tokens, b.cache_read_tokens),
            cache_write_tokens: less(a.cache_write_tokens, b.cache_write_tokens),
        },
        cost_usd: Usd::from_nanos(after.cost_usd.as_nanos() - before.cost_usd.as_nanos()),
    }
}

/// Places at which a run is killed: before its coder's end is on record, and after it is.
const KILLS: [&str; 2] = ["before:row:finish coder/1#1", "after:row:finish coder/1#1"];

#[test]
fn what_is_booked_is_what_the_model_counted() {
    let is_all = std::env::var("SPORE_RECONCILE").is_ok_and(|asked| asked == "all");
    let books = Books::open();
    usual(&books);
    for round in 0..if is_all { 5 } else { 0 } {
        mixed(&books, round);
    }
    // Every way to sum up what was booked comes to the same, and no run is left out.
    let listed = books.env.spore(&["runs", "list", "--json", "--limit", "1000"]).code(0).json();
    let cost = |run: &Value| run["cost_usd"].as_f64().unwrap();
    let sum: f64 = listed.as_array().unwrap().iter().map(cost).sum();
    for by in ["run", "role", "model", "day"] {
        let told = books.env.spore(&["runs", "cost", "--by", by, "--json"]).code(0).json();
        let total = told["total"]["cost"]["usd"].as_f64().unwrap();
        assert!((total - sum).abs() < 1e-9, "{by}: {total} and {sum}");
    }
}

fn exact(books: &Books, name: &str, work: &dyn Fn(&Books)) {
    assert!(!books.hold(name, work), "{name} is booked exactly");
}

fn usual(books: &Books) {
    exact(books, "a task", &|books| assert_eq!(books.task("write the answer", &[]), 0));
    exact(books, "a red check", &|books| {
        assert_eq!(books.task("TASK-RED: write the answer", &[]), 0);
    });
    exact(books, "calls that are made again", &|books| {
        assert_eq!(books.task("TASK-AGAIN: write the answer", &[]), 0);
    });
    exact(books, "more to spend", &|books| {
        assert_eq!(books.task("write the answer", &["--budget", "0.001"]), 3);
        let _ = books.env.spore(&["resume", "--budget", "+5"]).code(0);
    });
    raced(books);
    killed(books, KILLS[0]);
}

fn mixed(books: &Books, round: u32) {
    if round == 0 {
        let estimated = books.hold("a call that hangs", |books| {
            assert_eq!(books.task("TASK-HANG: write the answer", &[]), 0);
        });
        println!("a call that hangs: estimated {estimated}");
    }
    raced(books);
    for kill in KILLS {
        killed(books, kill);
    }
    println!("round {round} is over");
}

fn raced(books: &Books) {
    exact(books, "a race", &|books| {
        assert_eq!(books.task("write the answer", &["--race", "best,2"]), 0);
    });
}

fn killed(books: &Books, kill: &str) {
    let estimated = books.hold(kill, |books| {
        let args = ["orchestrate", "TASK-CUT: write the answer", "--backend", "api"];
        let args = [&args[..], &["--model", MODEL, "--no-summarize"]].concat();
        let killed = books.env.spore_in(&books.env.repo(), &args, &[("SPORE_KILL_AT", kill)]);
        assert_eq!(killed.code, 137, "{kill}: {}", killed.render());
        let _ = books.env.spore(&["resume"]).code(0);
    });
    println!("killed {kill}: estimated {estimated}");
}
