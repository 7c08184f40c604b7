//! Clones that do not have everything: partial ones, shallow ones, and a repository of one commit.

use std::path::Path;

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

/// A project with a history: each commit changes two files, and one renames a file.
fn origin() -> TestEnv {
    let env = scenes::small();
    for number in 1..4 {
        env.write("answer.py", &format!("def answer():\n    return {number}\n"));
        env.write("question.py", &format!("ASKED = {number}\n"));
        env.commit_all(&format!("question {number}"));
    }
    env.git(&["mv", "question.py", "asked.py"]);
    env.write("asked.py", "ASKED = 4\nWHO = 'all'\n");
    env.commit_all("rename the question");
    env.git(&["config", "uploadpack.allowFilter", "true"]);
    env.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    env
}

/// Clones the origin with these arguments into a place of its own.
fn clone(origin: &TestEnv, args: &[&str]) -> TestEnv {
    let env = scenes::env();
    let url = format!("file://{}", origin.repo().display());
    let args = [&["clone", "--quiet"], args, &[&url, "."]].concat();
    scenes::system(&env, "git", &args);
    env.write(".spore/config.toml", "[gates.commands.check]\nrun = \"sh check.sh\"\n");
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(scenes::WRITE_42));
    env
}

/// Takes the origin away: nothing can be fetched any more.
fn cut_off(origin: &TestEnv) {
    std::fs::rename(origin.repo(), origin.dir().join("gone")).unwrap();
}

fn notes(output: &ProgramOutput, words: &str) -> usize {
    output.stderr.matches(words).count()
}

/// Index, context and a whole run work, and what is missing is said once.
fn works(env: &TestEnv, warning: Option<&str>) {
    let indexed = env.spore(&["index"]).code(0);
    if let Some(words) = warning {
        assert_eq!(notes(&indexed, words), 1, "{}", indexed.render());
    }
    let again = env.spore(&["index"]).code(0);
    for words in ["partial clone", "is shallow"] {
        assert_eq!(notes(&again, words), 0, "{}", again.render());
        let expected = usize::from(warning == Some(words));
        assert_eq!(notes(&indexed, words), expected, "{}", indexed.render());
    }
    let context = env.spore(&["context", "make answer return 42"]).code(0);
    assert!(context.stdout.contains("answer.py"), "{}", context.render());
    let _ = scenes::orchestrate(env, &["--no-summarize"]).code(0);
    assert_eq!(scenes::newest(env)["status"], "verified");
}

#[test]
fn a_partial_clone_without_a_network_is_indexed_and_worked_on() {
    let origin = origin();
    let env = clone(&origin, &["--filter=blob:none"]);
    cut_off(&origin);
    works(&env, Some("partial clone"));
}

#[test]
fn a_shallow_clone_is_indexed_and_worked_on() {
    let origin = origin();
    let env = clone(&origin, &["--depth=2"]);
    works(&env, Some("is shallow"));
    // At its edge every file looks as if it were new: that is no commit that touched all of them.
    let log = env.spore(&["graph", "analyze", "--json"]);
    assert_eq!(log.code, 0, "{}", log.render());
}

#[test]
fn a_repository_of_one_commit_is_indexed_and_worked_on() {
    let env = scenes::with_scenario(&scenes::one_bounce(scenes::WRITE_42));
    env.write("answer.py", "def answer():\n    return 1\n");
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    works(&env, None);
}

#[test]
fn files_of_the_base_that_are_missing_are_fetched_once_or_the_command_is_told() {
    let origin = origin();
    let fetches = |env: &TestEnv| {
        let packs = std::fs::read_dir(env.repo().join(".git/objects/pack")).unwrap();
        let is_promised = |path: &Path| path.extension().is_some_and(|end| end == "promisor");
        packs.flatten().filter(|entry| is_promised(&entry.path())).count()
    };
    let online = clone(&origin, &["--filter=blob:none"]);
    let before = fetches(&online);
    let _ = scenes::orchestrate(&online, &["--base", "HEAD~2", "--no-summarize"]).code(0);
    assert_eq!(fetches(&online), before + 1);

    let offline = clone(&origin, &["--filter=blob:none"]);
    cut_off(&origin);
    let refused = scenes::orchestrate(&offline, &["--base", "HEAD~2"]).code(69);
    for words in ["2 files of", "partial clone", "git fetch --refetch --no-filter origin"] {
        assert!(refused.stderr.contains(words), "{}", refused.render());
    }
    assert!(!offline.repo().join(".spore/runs").exists());
}
