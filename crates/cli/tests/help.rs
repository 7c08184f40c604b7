//! The help of every command, as people read it.

use spore_testkit::TestEnv;

use crate::scenes;

/// The words of every command that is no group of others, with its help.
pub(crate) fn commands_with_help(env: &TestEnv) -> Vec<(Vec<String>, String)> {
    fn walk(env: &TestEnv, words: &[String], found: &mut Vec<(Vec<String>, String)>) {
        let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
        let page = env.spore(&args).code(0).stdout;
        let below = commands(&page);
        for name in &below {
            walk(env, &[words, std::slice::from_ref(name)].concat(), found);
        }
        // `mcp` and others do something by themselves and are a group besides.
        if below.is_empty() || page.contains("[OPTIONS]\n") {
            found.push((words.to_vec(), page));
        }
    }
    let mut found = Vec::new();
    walk(env, &[], &mut found);
    found
}

/// Help by name, for the command of these words and all below it.
fn collect(env: &TestEnv, words: &[String], pages: &mut Vec<(String, String)>) {
    let args: Vec<&str> = words.iter().map(String::as_str).chain(["--help"]).collect();
    let page = env.spore(&args).code(0);
    assert_eq!(page.stderr, "", "{args:?}");
    for name in commands(&page.stdout) {
        let below: Vec<String> = words.iter().cloned().chain([name]).collect();
        collect(env, &below, pages);
    }
    pages.push((format!("help {}", words.join(" ")).trim_end().replace(' ', "-"), page.stdout));
}

/// The names in the list of commands of a help page.
fn commands(page: &str) -> Vec<String> {
    let listed = page.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        // A name is set in by two; the lines of its text by more.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_explains_itself() {
    let env = scenes::env();
    let mut pages = Vec::new();
    collect(&env, &[], &mut pages);
    assert!(pages.len() >= 9, "{}", pages.len());
    for (name, page) in pages {
        insta::assert_snapshot!(name, page);
    }
}

#[test]
fn a_short_help_is_no_longer_than_the_long_one() {
    let env = scenes::env();
    let (short, long) = (env.spore(&["orchestrate", "-h"]), env.spore(&["orchestrate", "--help"]));
    assert!(short.code(0).stdout.len() <= long.code(0).stdout.len());
}

#[test]
fn the_version_is_one_line() {
    let env = scenes::env();
    let output = env.spore(&["--version"]).code(0);
    assert_eq!(output.stdout, format!("spore {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn no_command_at_all_is_a_wrong_call_that_gets_the_help() {
    let env = scenes::env();
    let output = env.spore(&[]).code(64);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("Usage: spore"), "{}", output.stderr);
}
