//! What an agent tries in a whole run, and does not get done.
//!
//! The tricks of the kernel's sandbox itself are in `crates/effects/tests/sandbox.rs`. These
//! are about what a run must protect: the user's repository, Spore's own state, Spore itself.

#![expect(clippy::print_stdout, reason = "the count is a figure that people quote")]

use std::path::PathBuf;
use std::process::Stdio;

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes::{self, WRITE_42};

/// Each is tried again and again by the coder and must always fail. `$R` is the user's
/// repository, `$S` is Spore's own program.
const TRICKS: [&str; 16] = [
    "git -C $R commit --allow-empty -m x",
    "git -C $R config user.name Evil",
    "git -C $R update-ref refs/heads/evil HEAD",
    "git -C $R update-ref refs/stash HEAD",
    "git -C $R tag evil",
    "git push -q --force $R HEAD:refs/heads/evil",
    "echo evil | git -C $R hash-object -w --stdin",
    "echo true > $R/.git/hooks/pre-commit",
    "echo x > $R/evil.txt",
    "echo x >> $R/kept.txt",
    "cat $R/.spore/spore.db",
    "ls $R/.spore/events",
    "cat ../../gates/checkout/answer.txt",
    "$S --root $R --json events append --kind human --type review.passed | grep -q '\"kind\": *\"human\"'",
    "$S --root $R runs list",
    "kill -URG $(cat $HOME/spore.pid)",
];

const TRIES: u32 = 20;

/// A script that counts in the user's home what it tried and what came of it.
fn script() -> String {
    let mut script =
        format!("R=$SPORE_ROOT; S=$HOME/spore; n=0; while [ $n -lt {TRIES} ]; do n=$((n + 1))\n");
    for (number, trick) in TRICKS.iter().enumerate() {
        script.push_str(&format!(
            "if ( {trick} ) >/dev/null 2>&1; then echo '{number} got out' >> $HOME/escapes; fi; echo >> $HOME/tries\n"
        ));
    }
    script + "done\n"
}

/// A repository with a person's work in it, and an agent that plays every trick.
fn scene() -> TestEnv {
    let step = "{ run = \"sh $HOME/tricks.sh\" }";
    let env = scenes::with_scenario(&scenes::one_bounce(&format!("{step}, {WRITE_42}")));
    env.write_at(&env.dir().join("home/tricks.sh"), &script());
    env.write("kept.txt", "keep me\n");
    env
}

/// Runs spore as this user or, if `user` says so, as another one.
fn run(env: &TestEnv, user: Option<u32>, args: &[&str]) -> ProgramOutput {
    let exe = env.dir().join("home/spore");
    scenes::system(env, "cp", &[&env.exe().display().to_string(), &exe.display().to_string()]);
    let mut command = match user {
        None => env.command(&exe, &env.repo()),
        Some(user) => {
            let owner = format!("{user}:{user}");
            scenes::system(env, "chown", &["-R", &owner, &env.dir().display().to_string()]);
            let mut command = env.command("setpriv", &env.repo());
            command.args([format!("--reuid={user}"), format!("--regid={user}")]);
            command.args(["--clear-groups", "--"]).arg(&exe);
            command
        }
    };
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    std::fs::write(env.dir().join("home/spore.pid"), child.id().to_string()).unwrap();
    env.finish(child)
}

fn refs(env: &TestEnv) -> String {
    let repo = env.repo().display().to_string();
    let safe = format!("safe.directory={repo}");
    let all = env.git(&["-c", &safe, "for-each-ref", "--format=%(refname) %(objectname)"]);
    let is_users = |line: &&str| !line.contains("/spore/");
    all.lines().filter(is_users).collect::<Vec<_>>().join("\n")
}

fn lines(env: &TestEnv, name: &str) -> usize {
    std::fs::read_to_string(env.dir().join("home").join(name)).unwrap_or_default().lines().count()
}

#[track_caller]
fn check(user: Option<u32>) {
    let env = scene();
    let read = |name: &str| std::fs::read(env.repo().join(name)).unwrap_or_default();
    let before = (refs(&env), read(".git/config"), read(".git/index"), read("kept.txt"));
    let output = run(&env, user, scenes::ORCHESTRATE).code(0);
    assert!(!output.stderr.contains("No sandbox"), "{}", output.stderr);
    let (tries, escapes) = (lines(&env, "tries"), lines(&env, "escapes"));
    println!("as user {user:?}: {escapes} escapes in {tries} tries");
    let told = std::fs::read_to_string(env.dir().join("home/escapes")).unwrap_or_default();
    assert_eq!(told, "");
    assert_eq!(tries, TRICKS.len() * usize::try_from(TRIES).unwrap());
    assert_eq!(before, (refs(&env), read(".git/config"), read(".git/index"), read("kept.txt")));
    assert!(!env.repo().join("evil.txt").exists());
}

fn is_skipped() -> bool {
    let skipped = spore_effects::machine::landlock_abi().is_none_or(|abi| abi < 6);
    if skipped {
        println!("skipped: this kernel has no Landlock of version 6 or later");
    }
    skipped
}

#[test]
fn an_agent_harms_neither_the_repository_nor_spore() {
    if !is_skipped() {
        check(None);
    }
}

#[test]
fn an_agent_of_another_user_harms_neither_the_repository_nor_spore() {
    if is_skipped() {
        return;
    }
    if spore_effects::machine::user() != 0 || !PathBuf::from("/usr/bin/setpriv").exists() {
        println!("skipped: needs root and setpriv");
        return;
    }
    check(Some(65534));
}

#[test]
fn what_the_tricks_try_would_work_without_a_sandbox() {
    let env = scene();
    env.write(
        ".spore/config.toml",
        "[gates.commands.check]\nrun = \"true\"\n[sandbox]\nmode = \"off\"\n",
    );
    let output = run(&env, None, scenes::ORCHESTRATE);
    assert!(output.stderr.contains("No sandbox holds agents and checks: it is switched off."));
    let told = std::fs::read_to_string(env.dir().join("home/escapes")).unwrap_or_default();
    let worked = |number: &usize| told.contains(&format!("{number} got out"));
    let held: Vec<&str> =
        (0..TRICKS.len()).filter(|number| !worked(number)).map(|number| TRICKS[number]).collect();
    // An agent's event is its own word, also where no sandbox holds it: its process is on record.
    assert!(held.len() == 1 && held[0].contains("--kind human"), "{held:?}");
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(listed[0]["settings"]["sandbox"]["held"], false);
}

#[test]
fn gates_are_held_too_and_have_a_temporary_directory_of_their_own() {
    if is_skipped() {
        return;
    }
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let gate = "echo x > build.log && echo x > $TMPDIR/t && ! echo x > $PWD/../../out && ! cat $PWD/../../*/coder/answer.txt && echo x > /tmp/spore-gate-was-here";
    env.write(".spore/config.toml", &format!("[gates.commands.check]\nrun = '''{gate}'''\n"));
    let output = scenes::orchestrate(&env, &[]).code(0);
    assert!(output.stderr.contains("green"), "{}", output.stderr);
    // Its /tmp is its own.
    assert!(!PathBuf::from("/tmp/spore-gate-was-here").exists());
}

#[test]
fn a_session_keeps_on_record_what_it_was_held_to() {
    if is_skipped() {
        return;
    }
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let _ = scenes::orchestrate(&env, &[]).code(0);
    let dir = env.repo().join(".spore/runs").join(scenes::newest_id(&env));
    let text = std::fs::read_to_string(dir.join("bounce-1/coder/sandbox.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(record["rights"].as_array().unwrap().contains(&"signal".into()), "{record}");
    assert_eq!(
        record["layers"],
        serde_json::json!(["root", "processes", "sight", "calls", "network"])
    );
    let report = std::fs::read_to_string(dir.join("report.json")).unwrap();
    assert!(report.contains("\"held\": true"), "{report}");
}

#[test]
fn a_summarizer_reads_its_checkout_and_changes_nothing_in_it() {
    if is_skipped() {
        return;
    }
    let steps = r#"{ run = "cat answer.txt > $HOME/read; if ( echo x > evil.txt ) 2>/dev/null; then touch $HOME/escaped; fi" }"#;
    let summary = format!(
        "[[session]]\nrole = \"summarizer\"\ncost_usd = 0.125\nfinal = \"nothing\"\nsteps = [{steps}]\n"
    );
    let env = scenes::with_scenario(&(scenes::one_bounce(WRITE_42) + &summary));
    let _ = scenes::orchestrate(&env, &[]).code(0);
    let home = env.dir().join("home");
    assert_eq!(std::fs::read_to_string(home.join("read")).unwrap(), "42\n");
    assert!(!home.join("escaped").exists());
}
