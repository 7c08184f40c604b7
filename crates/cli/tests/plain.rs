//! Foreign text on the terminal: names of files, tasks, words of agents, events, lines of the
//! memory and commit messages are shown by every command, and none of them acts on the terminal
//! or passes for a line of ours.

use serde_json::json;
use spore_testkit::{ProgramOutput, TestEnv};

use crate::memory::raw;
use crate::scenes;

/// Sets a title, clears the screen, turns the letters round twice and opens a line of its own.
const HOSTILE: &str = "bad\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}\u{2066}\u{200b}\nFORGED line";

/// Asserts that a terminal would only ever write what was printed, from left to right.
#[track_caller]
fn check_acts(env: &TestEnv, args: &[&str], code: i32) -> ProgramOutput {
    let output = env.spore(args).code(code);
    for text in [&output.stdout, &output.stderr] {
        let acts = |c: char| {
            c.is_control() && !matches!(c, '\n' | '\t')
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        assert!(!text.contains(acts), "{args:?}: {text:?}");
    }
    output
}

/// Asserts besides that nothing foreign has a line of its own.
#[track_caller]
fn check(env: &TestEnv, args: &[&str], code: i32) -> ProgramOutput {
    let output = check_acts(env, args, code);
    for text in [&output.stdout, &output.stderr] {
        assert!(!text.lines().any(|line| line.starts_with("FORGED")), "{args:?}: {text}");
    }
    output
}

/// The same for commands that must show the foreign text, and not merely nothing.
#[track_caller]
fn check_shows(env: &TestEnv, args: &[&str], shown: &str) {
    let output = check(env, args, 0);
    assert!(output.stdout.contains(shown), "{args:?}: {}", output.stdout);
}

#[test]
fn names_and_words_of_code_do_not_act_on_the_terminal() {
    let env = scenes::env();
    let path = "src/total\u{1b}[3m\u{202e}\nFORGED.rs";
    env.write(path, &format!("/// Adds up {HOSTILE}\npub fn total_price() -> u32 {{\n    7\n}}\n"));
    env.write("src/lib.rs", "pub fn total() -> u32 {\n    7\n}\n");
    env.commit_all(&format!("total price {HOSTILE}"));
    let _ = check(&env, &["init"], 0);
    let spelled = "src/total\\u{1b}[3m\\u{202e}\\nFORGED.rs";
    check_shows(&env, &["search", "total_price", "--no-embed"], spelled);
    let _ = check(&env, &["search", "--no-embed", "nowhere", HOSTILE], 0);
    let _ = check(&env, &["index", "-v"], 0);
    check_shows(&env, &["scan"], "total\\u{1b}[3m\\u{202e}\\nFORGED.rs");
    let _ = check(&env, &["investigate"], 0);
    // A task file holds the task with its lines.
    let _ = check_acts(&env, &["context", "--no-embed", &format!("total price {HOSTILE}")], 0);
    let _ = check(&env, &["context", "--no-embed", "--explain", path, "total price"], 0);
    // Nothing there can be checked, so no run could start.
    let _ = check(&env, &["doctor"], 69);
    let _ = check(&env, &["events", "collect"], 0);
    let _ = check(&env, &["graph", "show", "total_price"], 0);
    let _ = check(&env, &["graph", "show", HOSTILE], 65);
}

#[test]
fn a_run_of_hostile_words_does_not_act_on_the_terminal() {
    let env = scenes::small();
    let said = serde_json::to_string(HOSTILE).unwrap();
    let reason = json!({ "verdict": "contradicts", "reason": HOSTILE,
        "findings": [{ "file": HOSTILE, "message": HOSTILE }] });
    let scenario = format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\nfinal = {said}\n\
         steps = [{{ say = {said} }}, {{ run = {said} }}, {}]\n\
         [[session]]\nrole = \"verifier\"\nbounce = 1\nfinal = '''<verdict>{reason}</verdict>'''\n",
        scenes::WRITE_42
    );
    env.write_at(&env.dir().join("scenario.toml"), &scenario);
    let words = ["orchestrate", HOSTILE, "--backend", "replay", "--scenario", "../scenario.toml"];
    let _ = check(&env, &[&words[..], &["--dry-run"]].concat(), 0);
    let ran = check(&env, &[&words[..], &["-v", "--max-bounces", "1"]].concat(), 11);
    assert!(ran.stderr.contains("coder: bad…"), "{}", ran.stderr);
    let id = scenes::newest_id(&env);
    check_shows(&env, &["runs", "list"], "bad");
    check_shows(&env, &["runs", "show", &id], "bad");
    let _ = check(&env, &["runs", "rollback", &id, "--dry-run"], 0);
    let _ = check(&env, &["runs", "show", HOSTILE], 65);
    check_shows(&env, &["events", "tail", "-n", "100"], "bad");
    let _ = check(&env, &["graph", "status", "-v"], 0);
    check_shows(&env, &["graph", "query-edges"], "bad");
    let _ = check_acts(&env, &["no-such-command", HOSTILE], 64);
    let _ = check_acts(&env, &["runs", HOSTILE], 64);
    // What programs read is what there was.
    let told = env.spore(&["runs", "show", &id, "--json"]).code(0).json();
    assert_eq!(told["bounces"][0]["verdict"]["reason"], HOSTILE);
}

#[test]
fn events_and_memory_do_not_act_on_the_terminal() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    let on_one_line = HOSTILE.replace('\n', " ");
    env.write(".spore/memory/CLAUDE.md", &format!("- Run `make lint` {on_one_line}\n"));
    for (number, kind) in [(1, "human"), (2, "external")] {
        let event = json!({
            "id": format!("01KDZZZZZZ{number:016}"),
            "ts": "2026-01-02T02:00:00.000Z",
            "source": { "kind": kind, "name": HOSTILE },
            "type": "memory.feedback",
            "payload": { "line": "memory/CLAUDE.md:1", "activation": "missed",
                "root_cause": "direction-wrong", "note": HOSTILE },
        });
        raw(&env, &format!("{event}\n"));
    }
    raw(&env, &format!("no event {on_one_line}\n"));
    check_shows(&env, &["events", "tail"], "bad FORGED line");
    check_shows(&env, &["memory", "status"], "make lint");
    for args in [
        &["memory", "scan"][..],
        &["memory", "why", "memory/CLAUDE.md:1"],
        &["memory", "crystallize"],
        &["memory", "update", "--dry-run"],
        &["memory", "inbox", "add", "--name", "task.md", HOSTILE],
        &["memory", "inbox", "list"],
        &["memory", "status"],
    ] {
        let _ = check(&env, args, 0);
    }
    // The body of a task has lines of its own.
    let task = env.spore(&["memory", "inbox", "show", "task.md"]).code(0);
    assert!(task.stdout.ends_with("\n\nbad\nFORGED line\n"), "{:?}", task.stdout);
}
