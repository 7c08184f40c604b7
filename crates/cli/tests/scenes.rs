//! Repositories and scenarios that several tests start from.

use spore_testkit::{Output, TestEnv};

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
final = '''<verdict>{"verdict":"supports","confidence":0.95,"reason":"it says 42"}</verdict>'''
"#;

pub(crate) const ORCHESTRATE: &[&str] =
    &["orchestrate", "write the answer", "--backend", "replay", "--scenario", "../scenario.toml"];

/// Runs the task of a scene, with more arguments.
pub(crate) fn orchestrate(env: &TestEnv, more: &[&str]) -> Output {
    let args: Vec<&str> = ORCHESTRATE.iter().chain(more).copied().collect();
    env.spore(&args)
}

/// A scenario of one coder session and one verifier that agrees.
pub(crate) fn one_bounce(steps: &str) -> String {
    format!(
        "[[session]]\nrole = \"coder\"\nbounce = 1\ncost_usd = 0.5\nfinal = \"done\"\nsteps = [{steps}]\n\
         [[session]]\nrole = \"verifier\"\nbounce = 1\ncost_usd = 0.25\nfinal = '''<verdict>{{\"verdict\":\"supports\"}}</verdict>'''\n"
    )
}
