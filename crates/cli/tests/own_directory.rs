//! Sessions in the person's own directory: they may write what the person works on, and nothing
//! that is the person's besides, nothing of git's own and nothing of Spore's.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::print_stdout, reason = "a skipped test says so")]

use std::collections::BTreeMap;
use std::os::unix::net::UnixListener;
use std::path::Path;

use serde_json::json;
use spore_scripted_model::{ModelScenario, ModelServer, Turn, When};
use spore_testkit::{ProgramOutput, TestEnv};

use crate::isolation::is_skipped;
use crate::scenes::{self, told};

/// Each must fail where it is held. Each undoes what it did, so that the next one can be tried.
const TRICKS: [&str; 19] = [
    "cat $H/.ssh/id",
    "ls $H/.ssh",
    "cat $H/.profile-of-user",
    "cat $H/../beside.txt",
    "test -S $H/../socket",
    "test -e /proc/TEST_PID",
    "echo true > .git/hooks/evil && rm .git/hooks/evil",
    "chmod 755 .git/hooks",
    "git config evil.x y && git config --unset evil.x",
    "git commit -q --allow-empty -m x && git reset -q --soft HEAD~1",
    "git update-ref refs/heads/evil HEAD && git update-ref -d refs/heads/evil",
    "echo ../evil > .git/commondir && rm .git/commondir",
    "mv .git git2 && mv git2 .git",
    "touch .git/index",
    "cat .spore/spore.db",
    "echo >> .spore/config.toml",
    "echo >> .spore/agents/helper.md",
    "touch .spore/agents/other.md && rm .spore/agents/other.md",
    "mv .spore spore2 && mv spore2 .spore",
];

/// What a session needs all the same.
const NEEDS: [&str; 8] = [
    "git status",
    "git log -1",
    "git diff",
    "cat .spore/config.toml",
    "cat .spore/agents/helper.md",
    "echo of-the-session > made.txt && mkdir -p deep/er && echo x > deep/er/file",
    "echo x >> answer.txt",
    "echo x > ~/.bashrc && echo x > ~/.npm/new",
];

const FLOW: &str = "[executors.e]\nrole = \"operator\"\n\
                    [orchestrators.o]\nstages = [{ name = \"A\", executor = \"e\" }]\n";

const PLAYED: &[&str] = &["--backend", "replay", "--scenario", "../scenario.toml"];

/// The way to start a session in the project itself; flows work in checkouts of their branch.
const KINDS: [&[&str]; 1] = [&["spawn", "--role", "operator", "--prompt", "look around"]];

fn scene() -> TestEnv {
    let script = "{ run = \"sh tricks.sh\" }";
    let env = scenes::with_scenario(&format!(
        "[[session]]\nrole = \"operator\"\nbounce = 1\nfinal = \"STAGE_A_COMPLETE\"\nsteps = [{script}]\n"
    ))
    .with_variable("SPORE_SANDBOX_WRITE", "");
    let home = env.dir().join("home");
    let mut text = format!("H={}\n", home.display());
    for (kind, list) in [("got out", &TRICKS[..]), ("worked", &NEEDS[..])] {
        for trick in list {
            let done = trick.replace("TEST_PID", &std::process::id().to_string());
            text.push_str(&format!(
                "if ( {done} ) >/dev/null 2>&1; then echo '{kind}: {trick}' >> told; fi\n"
            ));
        }
    }
    env.write("tricks.sh", &text);
    env.write(".spore/flows/release.toml", FLOW);
    env.write(".spore/agents/helper.md", "You help.\n");
    env.write_at(&home.join(".ssh/id"), "a key\n");
    env.write_at(&home.join(".profile-of-user"), "mine\n");
    env.write_at(&home.join(".npm/package/index.js"), "as it was\n");
    env.write_at(&env.dir().join("beside.txt"), "mine\n");
    env
}

/// All files below a directory, with what they hold.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in std::fs::read_dir(&next).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => dirs.push(entry.path()),
                kind if kind.is_file() => {
                    let bytes = std::fs::read(entry.path()).unwrap();
                    found.insert(entry.path().display().to_string(), bytes);
                }
                _ => {}
            }
        }
    }
    found
}

fn told_by(env: &TestEnv, kind: &str) -> Vec<String> {
    let told = std::fs::read_to_string(env.repo().join("told")).unwrap_or_default();
    let lines = told.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(": "));
    lines.map(str::to_owned).collect()
}

fn play(env: &TestEnv, kind: &[&str], variables: &[(&str, &str)]) -> ProgramOutput {
    let _socket = UnixListener::bind(env.dir().join("socket")).unwrap();
    let output = env.spore_in(&env.repo(), &[kind, PLAYED].concat(), variables);
    std::fs::remove_file(env.dir().join("socket")).unwrap();
    output
}

#[test]
fn a_session_in_your_own_directory_reaches_nothing_else() {
    for kind in KINDS {
        let env = scene();
        if is_skipped(&env) {
            return;
        }
        let _ = env.spore(&["init"]).code(0);
        let kept = || (files(&env.dir().join("home")), files(&env.repo().join(".git")));
        let before = kept();
        let output = play(&env, kind, &[]).code(0);
        assert_eq!(told_by(&env, "got out"), Vec::<String>::new(), "{kind:?}");
        assert_eq!(told_by(&env, "worked"), NEEDS, "{kind:?}");
        assert!(before == kept(), "{kind:?}: something of the home or of .git has changed");
        let read = |name: &str| std::fs::read_to_string(env.repo().join(name)).unwrap();
        assert_eq!(
            (read("made.txt"), read("answer.txt")),
            ("of-the-session\n".into(), "41\nx\n".into())
        );
        assert!(!output.stderr.contains("hold"), "{}", output.stderr);
    }
}

/// The same with a real agent: its own shell plays the tricks, and what it needs works.
#[test]
fn live_claude_in_your_own_directory_reaches_nothing_else() {
    let Some(program) = live_claude() else { return };
    let after = When { tool_result_contains: Some("PLAYED".to_owned()), ..When::default() };
    let script = Turn::calls("Bash", json!({ "command": "sh tricks.sh; echo PLAYED" }));
    let model = ModelScenario::new()
        .turn(Turn::says("It is done.").when(after).sticky())
        .turn(script.when(When::contains("play the tricks")));
    let server = ModelServer::start(model).unwrap();
    let env = scene()
        .with_variable("ANTHROPIC_BASE_URL", &server.url())
        .with_variable("ANTHROPIC_API_KEY", "no-key-at-all")
        .with_variable("DISABLE_TELEMETRY", "1")
        .with_variable("SPORE_CLAUDE_PROGRAM", &program);
    if is_skipped(&env) {
        return;
    }
    let _ = env.spore(&["init"]).code(0);
    let kept = || (files(&env.dir().join("home")), files(&env.repo().join(".git")));
    let before = kept();
    let typed =
        ["spawn", "--prompt", "play the tricks", "--backend", "claude", "--model", "sonnet"];
    let _socket = UnixListener::bind(env.dir().join("socket")).unwrap();
    let output = env.spore(&typed).code(0);
    assert_eq!(output.stdout.trim(), "It is done.", "{}", output.render());
    assert_eq!(told_by(&env, "got out"), Vec::<String>::new());
    assert_eq!(told_by(&env, "worked"), NEEDS);
    assert!(before == kept(), "something of the home or of .git has changed");
}

fn live_claude() -> Option<String> {
    let program = std::env::var("SPORE_TEST_CLAUDE").ok();
    if program.is_none() {
        println!("skipped: SPORE_TEST_CLAUDE names no program; `cargo xtask test` does");
    }
    program
}

#[test]
fn what_the_tricks_try_works_where_nothing_holds_it() {
    let env = scene();
    let _ = env.spore(&["init"]).code(0);
    let output = play(&env, KINDS[0], &[("SPORE_SANDBOX_MODE", "off")]).code(0);
    assert!(output.stderr.contains("No sandbox holds"), "{}", output.stderr);
    assert_eq!(told_by(&env, "got out"), TRICKS);
    assert_eq!(told_by(&env, "worked"), NEEDS);
}

#[test]
fn landlock_alone_keeps_git_and_the_state_and_says_what_it_does_not_hold() {
    if spore_effects::machine::landlock_abi().is_none_or(|abi| abi < 3) {
        println!("skipped: this kernel has no Landlock of version 3 or later");
        return;
    }
    let env = scene();
    let _ = env.spore(&["init"]).code(0);
    env.write("told", "");
    let git = || files(&env.repo().join(".git"));
    let before = git();
    let output = play(&env, KINDS[0], &[("SPORE_SANDBOX_ROOT", "off")]).code(0);
    assert!(before == git(), "something of .git has changed");
    let out = told_by(&env, "got out");
    for trick in TRICKS.iter().filter(|trick| trick.contains(".spore")) {
        assert!(!out.contains(&(*trick).to_owned()), "{trick}");
    }
    let worked = told_by(&env, "worked");
    for need in ["git status", "cat .spore/config.toml", "echo x >> answer.txt"] {
        assert!(worked.contains(&need.to_owned()), "{need}: {worked:?}");
    }
    for promise in ["reading what is yours outside of the directory", "No new file can be made"] {
        assert!(output.stderr.contains(promise), "{}", output.stderr);
    }
}

#[test]
fn a_directory_with_your_home_in_it_is_refused_and_a_required_sandbox_is_had() {
    let env = scene();
    if is_skipped(&env) {
        return;
    }
    let home = [KINDS[0], PLAYED, &["--cwd", "../home"]].concat();
    let refused = env.spore(&home).code(64);
    insta::assert_snapshot!(told(&refused), @"
    exit code: 64
    --- stdout
    --- stderr
    error: no session can be held in $TEST_ENV/home: your home is in it
      try: name a directory that holds the project alone (`--cwd DIR`), or let `spore orchestrate` do the task in a checkout
    ");
    let above = [KINDS[0], PLAYED, &["--cwd", ".."]].concat();
    let _ = env.spore(&above).code(64);
    let required = [("SPORE_SANDBOX_MODE", "required"), ("SPORE_SANDBOX_ROOT", "required")];
    let _ = play(&env, KINDS[0], &required).code(0);
    assert_eq!(told_by(&env, "got out"), Vec::<String>::new());
}

#[test]
fn git_is_kept_in_a_linked_worktree_and_below_the_directory_too() {
    let env = scene();
    if is_skipped(&env) {
        return;
    }
    let _ = env.spore(&["init"]).code(0);
    env.git(&["worktree", "add", "--quiet", "../linked/tree"]);
    let linked = env.dir().join("linked");
    let script = "git log -1 && ! git commit -q --allow-empty -m x && ! rm .git && ! mv .git g && echo x > new";
    env.write_at(&linked.join("tree/try.sh"), script);
    let above = "cd tree && sh try.sh && cd .. && ! mv tree other";
    for (dir, script) in [("../linked/tree", "sh try.sh"), ("../linked", above)] {
        let steps = format!("{{ run = \"{script}\" }}");
        let text = format!(
            "[[session]]\nrole = \"operator\"\nbounce = 1\nfinal = \"x\"\nsteps = [{steps}]\n"
        );
        env.write_at(&env.dir().join("scenario.toml"), &text);
        let output = env.spore(&[KINDS[0], PLAYED, &["--cwd", dir]].concat()).code(0);
        assert!(output.stderr.contains("run ok"), "{dir}: {}", output.stderr);
    }
}
