//! The README's own commands, run as they are printed.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use spore_scripted_model::{ModelServer, Turn, When};
use spore_testkit::TestEnv;

use crate::scenes;
use crate::verified_run::{SUPPORTS, scenario, variables};

/// An agent of a few lines that does what the README's tasks ask for.
const AGENT: &str = r#"#!/bin/sh
prompt=$(cat)
nonce=$(printf '%s\n' "$prompt" | sed -n 's/.*<verdict>{"nonce": "\([^"]*\)".*/\1/p' | head -n 1)
if [ -n "$nonce" ]; then
  echo "<verdict>{\"nonce\":\"$nonce\",\"verdict\":\"supports\",\"confidence\":0.9,\"reason\":\"it does\"}</verdict>"
elif printf '%s' "$prompt" | grep -q STAGE_NOTES_COMPLETE; then
  mkdir -p notes
  echo "look at the parser" > notes/tabs.md
  echo STAGE_NOTES_COMPLETE
else
  echo "and more" >> parser.txt
  echo "The parser accepts it."
fi
"#;

/// What stands between fences of this language, block by block.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(found)) if found == language => open = Some(String::new()),
            (Some(_), Some("")) => blocks.extend(open.take()),
            (Some(block), _) => block.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    blocks
}

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    std::fs::read_to_string(path).unwrap()
}

/// A project with an agent, as a reader of the README has one.
fn project() -> TestEnv {
    let env = scenes::small();
    env.write("parser.txt", "spaces\n");
    env.commit_all("a parser");
    let agent = env.dir().join("tools/reader");
    env.write_at(&agent, AGENT);
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let tools = env.dir().join("tools").display().to_string();
    env.with_variable("PATH", &format!("{tools}:{path}"))
        .with_variable("SPORE_COMMAND_PROGRAM", "reader")
        .with_variable("SPORE_ORCHESTRATE_SUMMARIZE", "false")
}

#[test]
fn every_command_of_the_readme_runs_as_it_is_printed() {
    let (text, env) = (readme(), project());
    for toml in blocks(&text, "toml") {
        match toml.contains("[executors.") {
            true => env.write(".spore/flows/readme.toml", &toml),
            // The project's own check stays: there is no Makefile.
            false => {
                let path = env.dir().join("config/spore/config.toml");
                env.write_at(&path, &toml);
                let shown = env.spore(&["config", "show", "gates.commands.test.run"]).code(0);
                assert!(shown.stdout.contains("make test"), "{}", shown.stdout);
                std::fs::remove_file(path).unwrap();
            }
        }
    }
    let mut run = 0;
    for line in blocks(&text, "sh").iter().flat_map(|block| block.lines()) {
        let line = line.split(" #").next().unwrap_or(line).trim();
        let Some(call) = line.strip_prefix("spore ") else {
            assert_eq!(line, "cargo install --path crates/cli", "nothing runs this");
            continue;
        };
        let newest = || scenes::newest_id(&env)[18..].to_owned();
        let call =
            if call.contains("RUN") { call.replace("RUN", &newest()) } else { call.to_owned() };
        let script = format!("exec \"$0\" {call}");
        let output = env.command("sh", &env.repo()).args(["-c", &script]).arg(env.exe()).output();
        let output = output.unwrap();
        let told = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(
            output.status.success(),
            "spore {call}: {}\n{}",
            output.status,
            told.join("\n---\n")
        );
        run += 1;
    }
    assert!(run > 20, "only {run} commands were found");
    let branches = env.git(&["branch", "--list", "spore/*"]);
    assert!(!branches.is_empty(), "no verified work arrived");
    // What flows made is on their branches, and not among the reader's files.
    assert!(!env.repo().join("notes").exists());
    let flows = env.git(&["branch", "--list", "--format=%(refname:short)", "spore/flow/*"]);
    assert_eq!(flows.lines().count(), 3, "{flows}");
    for branch in flows.lines() {
        let notes = env.git(&["show", &format!("{branch}:notes/tabs.md")]);
        assert_eq!(notes, "look at the parser");
    }
}

/// The flow of the README and its commands as they are printed, with a real agent that is all there is.
#[test]
fn live_claude_runs_the_flow_of_the_readme_as_it_is_printed() {
    let Ok(program) = std::env::var("SPORE_TEST_CLAUDE") else {
        eprintln!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does");
        return;
    };
    let after =
        |result: &str| When { tool_result_contains: Some(result.to_owned()), ..When::default() };
    let notes = json!({ "file_path": "notes/tabs.md", "content": "look at the parser\n" });
    let work = json!({
        "command": "date +%s%N >> parser.txt; printf WRIT; echo TEN", "description": "as told",
    });
    let turns = [
        Turn::says("STAGE_NOTES_COMPLETE").when(after("tabs.md")),
        Turn::says("The parser accepts it.").when(after("WRITTEN")),
        Turn::calls("Write", notes)
            .when(When::contains("Write what a change of tabs has to look at into notes/tabs.md.")),
        Turn::says(SUPPORTS).when(When::contains("verifier in bounce 1")),
        Turn::calls("Bash", work).when(When::contains("make the parser accept")),
    ];
    let server = ModelServer::start(scenario(turns.map(Turn::sticky))).unwrap();
    let env = scenes::small();
    env.write("parser.txt", "spaces\n");
    env.commit_all("a parser");
    let text = readme();
    let own = |block: &&String| block.contains("[executors.");
    let flow = blocks(&text, "toml").iter().find(own).cloned().unwrap();
    env.write(".spore/flows/readme.toml", &flow);
    let commands = blocks(&text, "sh");
    let commands = commands.iter().find(|block| block.contains("spore exec notes")).unwrap();
    for line in commands.lines() {
        let call = line.strip_prefix("spore ").unwrap();
        let mut command = env.command("sh", &env.repo());
        command.args(["-c", &format!("exec \"$0\" {call}")]).arg(env.exe());
        for (name, value) in variables(&server.url()) {
            command.env(name, value);
        }
        command.env("SPORE_CLAUDE_PROGRAM", &program).env("SPORE_ORCHESTRATE_SUMMARIZE", "false");
        let output = command.output().unwrap();
        let told = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{line}: {}\n{}", output.status, told.join("\n---\n"));
    }
    assert_eq!(server.unanswered().len(), 0);
    assert!(!env.repo().join("notes").exists());
    let flows = env.git(&["branch", "--list", "--format=%(refname:short)", "spore/flow/*"]);
    let mut lines: Vec<usize> = Vec::new();
    for branch in flows.lines() {
        let notes = env.git(&["show", &format!("{branch}:notes/tabs.md")]);
        assert_eq!(notes, "look at the parser");
        lines.push(env.git(&["show", &format!("{branch}:parser.txt")]).lines().count());
    }
    lines.sort_unstable();
    // Notes alone; notes and one verified change; and one of each phase.
    assert_eq!(lines, [1, 2, 3], "{flows}");
}

#[test]
fn what_the_readme_links_to_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for part in readme().split("](").skip(1) {
        let target = part.split(')').next().unwrap_or_default();
        assert!(target.starts_with("http") || root.join(target).exists(), "{target}");
    }
}
