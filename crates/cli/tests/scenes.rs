//! Repositories and scenarios that several tests start from.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use spore_testkit::{ProgramOutput, TestEnv};

/// Whether all of a long list is to be tried, and not a sample.
pub(crate) fn is_full() -> bool {
    std::env::var("SPORE_HOSTILE").is_ok_and(|asked| asked == "full")
}

/// Returns whether an entry of a table of forgeries is tried: one of `every`, all of them with
/// `SPORE_FORGERIES=all`, and those with its words in their names with any other.
pub(crate) fn is_tried(number: usize, every: usize, name: &str) -> bool {
    match std::env::var("SPORE_FORGERIES").unwrap_or_default().as_str() {
        "" => number.is_multiple_of(every),
        "all" => true,
        words => name.contains(words),
    }
}

pub(crate) fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_spore"))
}

/// A repository whose check is a shell script: `answer.txt` must say 42 and `kept.txt` must
/// stay as it is.
pub(crate) fn small() -> TestEnv {
    let env = env();
    env.write("answer.txt", "41\n");
    env.write("kept.txt", "keep me\n");
    env.write("check.sh", "test -s answer.txt && test \"$(cat kept.txt)\" = 'keep me'\n");
    env.write(".gitignore", ".spore/\n");
    env.commit_all("a question");
    env.write(".spore/config.toml", "[gates.commands.check]\nrun = \"sh check.sh\"\n");
    env
}

/// The same, with a scenario beside the repository.
pub(crate) fn with_scenario(scenario: &str) -> TestEnv {
    let env = small();
    env.write_at(&env.dir().join("scenario.toml"), scenario);
    env
}

/// A red gate, a rejection, a pass.
pub(crate) const THREE_BOUNCES: &str = r#"
[[session]]
role = "coder"
bounce = 1
cost_usd = 0.5
turns = 2
usage = { input_tokens = 100, output_tokens = 10 }
final = "done"
steps = [
  { say = "I clear everything." },
  { write = "kept.txt", content = "gone\n" },
  { write = "notes/new.txt", content = "new\n" },
]

[[session]]
role = "coder"
bounce = 2
cost_usd = 0.25
turns = 1
final = "done"
steps = [
  { expect = "sh check.sh" },
  { write = "kept.txt", content = "keep me\n" },
  { write = "answer.txt", content = "43\n" },
]

[[session]]
role = "verifier"
bounce = 2
cost_usd = 0.125
final = '''<verdict>{"verdict":"contradicts","confidence":0.9,"reason":"43 is not the answer","findings":[{"file":"answer.txt","line":1,"message":"must be 42"}]}</verdict>'''

[[session]]
role = "coder"
bounce = 3
cost_usd = 0.25
final = "done"
steps = [
  { expect = "43 is not the answer" },
  { expect = "answer.txt:1: must be 42" },
  { write = "answer.txt", content = "42\n" },
]

[[session]]
role = "verifier"
bounce = 3
cost_usd = 0.125
final = '''<verdict>{"nonce":"$NONCE","verdict":"supports","confidence":0.95,"reason":"it says 42"}</verdict>'''

[[session]]
role = "summarizer"
cost_usd = 0.125
final = '''<summary>{"title": "The answer is written", "summary": "answer.txt says 42 now. The first attempt emptied kept.txt, which the check refuses; the second wrote 43.",
"lessons": [{"title": "The check does not read the answer", "pattern": "A change of answer.txt to any text passes check.sh, which only looks whether the file is empty.", "fix": "Compare the content of answer.txt with what the task asks for before handing it in.", "scope": ["answer.txt"], "evidence": "bounce 2"}]}</summary>'''
"#;

pub(crate) const ORCHESTRATE: &[&str] =
    &["orchestrate", "write the answer", "--backend", "replay", "--scenario", "../scenario.toml"];

/// Runs the task of a scene, with more arguments.
pub(crate) fn orchestrate(env: &TestEnv, more: &[&str]) -> ProgramOutput {
    let args: Vec<&str> = ORCHESTRATE.iter().chain(more).copied().collect();
    env.spore(&args)
}

/// A scenario of one coder session and one verifier that agrees.
pub(crate) fn one_bounce(steps: &str) -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ncost_usd = 0.5\nfinal = \"done\"\nsteps = [{steps}]\n\
         [[session]]\nrole = \"verifier\"\nbounce = 1\ncost_usd = 0.25\nfinal = '''<verdict>{{\"nonce\":\"$NONCE\",\"verdict\":\"supports\"}}</verdict>'''\n"
    )
}

/// A scenario whose verifier says `last` about one change of the coder's.
pub(crate) fn verifier_says(last: &str) -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ncost_usd = 0.5\nfinal = \"done\"\n\
         steps = [{WRITE_42}]\n\
         [[session]]\nrole = \"verifier\"\nbounce = 1\ncost_usd = 0.25\n{last}\n"
    )
}

/// A repository in which the role of the verifier may write to its checkout.
pub(crate) fn with_writing_verifier(last: &str) -> TestEnv {
    let env = with_scenario(&verifier_says(last));
    env.write(
        ".spore/config.toml",
        "[gates.commands.check]\nrun = \"sh check.sh\"\n[roles.verifier]\nsandbox = \"write\"\n",
    );
    env
}

/// The step that does the task.
pub(crate) const WRITE_42: &str = r#"{ write = "answer.txt", content = "42\n" }"#;

/// A step that waits the first time it is played and tells by a file in HOME that it does.
pub(crate) const WAIT_ONCE: &str =
    r#"{ run = "test -e $HOME/waits || { touch $HOME/waits; exec sleep 600; }" }"#;

/// Runs spore with something on its stdin.
pub(crate) fn with_stdin(env: &TestEnv, args: &[&str], input: &[u8]) -> ProgramOutput {
    let mut command = env.command(env.exe(), &env.repo());
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A program that refuses its arguments does not read, and that is fine.
    let _ = child.stdin.take().unwrap().write_all(input);
    env.finish(child)
}

/// Runs a program of the system in the repository.
#[track_caller]
pub(crate) fn system(env: &TestEnv, program: &str, args: &[&str]) -> String {
    let output = env.command(program, &env.repo()).args(args).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Polls until `ready`, for as long as the slowest machine may need.
#[track_caller]
pub(crate) fn wait_for(what: &str, ready: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !ready() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The newest run, as `runs show --json` tells it.
#[track_caller]
pub(crate) fn newest(env: &TestEnv) -> Value {
    let id = newest_id(env);
    env.spore(&["runs", "show", &id, "--json"]).code(0).json()
}

#[track_caller]
pub(crate) fn newest_id(env: &TestEnv) -> String {
    let listed = env.spore(&["runs", "list", "--json"]).code(0).json();
    listed[0]["id"].as_str().unwrap().to_owned()
}

/// Returns the branch that the newest run's work is on.
#[track_caller]
pub(crate) fn newest_branch(env: &TestEnv) -> String {
    branch_of(env, &newest_id(env))
}

#[track_caller]
pub(crate) fn branch_of(env: &TestEnv, run: &str) -> String {
    let end = &run[run.len() - 8..];
    let branches = env.git(&["branch", "--list", "spore/*", "--format=%(refname:short)"]);
    let ours = branches.lines().find(|name| name.ends_with(end));
    ours.unwrap_or_else(|| panic!("{run} has no branch: {branches}")).to_owned()
}

/// Returns what `runs show` says of the newest run.
#[track_caller]
pub(crate) fn shown(env: &TestEnv) -> Value {
    env.spore(&["runs", "show", &newest_id(env), "--json"]).code(0).json()
}

/// Returns a file that the newest run left.
#[track_caller]
pub(crate) fn artefact(env: &TestEnv, name: &str) -> String {
    let path = env.repo().join(".spore/runs").join(newest_id(env)).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The refs that Spore added to the user's repository, without the run's id.
#[track_caller]
pub(crate) fn added_refs(env: &TestEnv) -> Vec<String> {
    ours(&env.git(&["for-each-ref", "--format=%(refname)"]))
}

/// The refs of unverified work, without the run's id.
#[track_caller]
pub(crate) fn work_refs(env: &TestEnv) -> Vec<String> {
    ours(&env.work_git(&["for-each-ref", "--format=%(refname)"]))
}

fn ours(refs: &str) -> Vec<String> {
    refs.lines()
        .filter(|name| name.starts_with("refs/spore/") || name.starts_with("refs/heads/spore/"))
        .map(plain)
        .collect()
}

/// What a person reads, with ids and hashes numbered in the order they appear, and what
/// depends on the test's own place taken out.
pub(crate) fn told(output: &ProgramOutput) -> String {
    plain(&output.render())
}

/// Numbers the ids and hashes in a text. Short forms keep their width, so that tables stay
/// tables, and carry the number of the id they belong to.
pub(crate) fn plain(text: &str) -> String {
    let mut seen: Vec<String> = Vec::new();
    let mut number = |key: &str| match seen.iter().position(|old| old == key) {
        Some(at) => at + 1,
        None => {
            seen.push(key.to_owned());
            seen.len()
        }
    };
    let mut plain = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match word.len() {
            26 if is_id(word) => plain.push_str(&format!("RUNID-{:03}", number(&word[18..]))),
            8 if is_id(word) => plain.push_str(&format!("RUN-{:04}", number(word))),
            40 if is_hash(word) => plain.push_str(&format!("HASH-{:03}", number(&word[..12]))),
            16 if is_hash(word) => plain.push_str("PLACE"),
            12 if is_hash(word) => plain.push_str(&format!("hash-{:07}", number(word))),
            _ => plain.push_str(word),
        }
        let gap = after.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(after.len());
        plain.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    without_times(&plain)
}

/// Leaves out how long sessions took.
fn without_times(text: &str) -> String {
    const TIME: &str = "\"duration_ms\": ";
    let mut parts = text.split(TIME);
    let first = parts.next().unwrap_or_default().to_owned();
    let digits = |part: &str| part.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
    parts.fold(first, |told, part| format!("{told}{TIME}TIME{}", digits(part)))
}

fn is_id(word: &str) -> bool {
    let has = |test: fn(&u8) -> bool| word.as_bytes().iter().any(test);
    has(u8::is_ascii_digit) && has(u8::is_ascii_uppercase) && !has(u8::is_ascii_lowercase)
}

fn is_hash(word: &str) -> bool {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    word.chars().all(is_hex) && word.chars().any(|c| c.is_ascii_digit())
}

/// A PATH on which there is a shell and the like, but no git.
pub(crate) fn path_without_git(env: &TestEnv) -> String {
    let bin = env.dir().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for name in ["sh", "cat", "test", "true"] {
        let found = ["/bin", "/usr/bin"].map(|dir| Path::new(dir).join(name));
        let program = found.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
    }
    bin.display().to_string()
}

/// Goes on with the newest run, if there is one that is not over, to its end.
#[track_caller]
pub(crate) fn resumed(env: &TestEnv) {
    let output = env.spore(&["resume"]);
    assert!(matches!(output.code, 0 | 64..=69), "{}", output.render());
}
