//! Values of the user's own credentials reach no commit, no file of Spore's and no terminal,
//! whichever session, check or command says them.
//!
//! Every value here is made up and looks like nothing: only that the environment or a file at
//! home holds it makes it a secret. A word beside each shows that its way leads somewhere: where
//! the word arrives, the value would have.

use std::path::Path;
use std::process::Stdio;

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

/// What the environment holds.
const VARIABLES: [(&str, &str); 9] = [
    ("DEPLOY_KEY", "umbrella-17-quartz"),
    ("ANTHROPIC_API_KEY", "lantern-58-marble"),
    ("OPENAI_API_KEY", "thimble-92-copper"),
    ("PIP_INDEX_URL", "https://me:pelican-33-walnut@pypi.example.org/simple"),
    ("HTTPS_PROXY", "http://me:juniper-64-basalt@127.0.0.1:9"),
    ("npm_config__authToken", "hammock-26-cobalt"),
    ("DATABASE_URL", "postgres://app:bracken-71-ivory@db.example.org/x"),
    ("PGPASSWORD", "correcthorsebatterystaple"),
    ("QUOTED_SECRET", "say \"nutmeg\" 45 / slate+plum"),
];

/// Files at home, and what is secret in each.
const FILES: [(&str, &str, &str); 11] = [
    (".claude/.credentials.json", r#"{"claudeAiOauth":{"accessToken":"@"}}"#, "orchard-11-pewter"),
    (".codex/auth.json", r#"{"tokens":{"refresh_token":"@"}}"#, "saddle-22-jasper"),
    (".gemini/oauth_creds.json", r#"{"access_token":"@"}"#, "kettle-33-onyx-x"),
    (".local/share/opencode/auth.json", r#"{"a":{"type":"api","key":"@"}}"#, "velvet-44-agate"),
    (".netrc", "machine a login b password @\n", "pigment-55-topaz"),
    (".npmrc", "//r.example.org/:_authToken=@\n", "gallop-66-flint"),
    (".cargo/credentials.toml", "[registry]\ntoken = \"@\"\n", "tundra-77-opal-y"),
    (".config/gh/hosts.yml", "github.com:\n    oauth_token: @\n", "cinder-88-beryl"),
    (".aws/credentials", "[default]\naws_secret_access_key = @\n", "meadow/99+garnet"),
    (".docker/config.json", r#"{"auths":{"r":{"auth":"@"}}}"#, "bWFkZS11cC1kb2NrZXI="),
    (".git-credentials", "https://me:@@git.example.org\n", "furrow-13-amber"),
];

const KEY: &str = VARIABLES[0].1;

fn values() -> Vec<&'static str> {
    let of_variables = [
        KEY,
        "lantern-58-marble",
        "thimble-92-copper",
        "pelican-33-walnut",
        "juniper-64-basalt",
        "hammock-26-cobalt",
        "bracken-71-ivory",
        "correcthorsebatterystaple",
        VARIABLES[8].1,
        // As JSON, addresses and base64 write the last and the first.
        r#"say \"nutmeg\" 45 / slate+plum"#,
        "say%20%22nutmeg%22%2045%20%2F%20slate%2Bplum",
        "dW1icmVsbGEtMTctcXVhcnR6",
    ];
    of_variables.into_iter().chain(FILES.map(|(_, _, value)| value)).collect()
}

/// A place whose user has all of these, and whose check prints what it can find of them.
fn scene(scenario: &str) -> TestEnv {
    let mut env = scenes::env();
    for (name, value) in VARIABLES {
        env = env.with_variable(name, value);
    }
    // The machine's own would be in the way.
    let cargo = env.dir().join("home/.cargo").display().to_string();
    let env = env.with_variable("CARGO_HOME", &cargo);
    for (name, text, value) in FILES {
        let text = text.replacen('@', value, 1);
        env.write_at(&env.dir().join("home").join(name), &text);
    }
    env.write("answer.txt", "41\n");
    env.write("moved.txt", "a file that will have another name\nof two lines\n");
    env.write("check.sh", CHECK);
    env.write(".gitignore", ".spore/\n");
    env.commit_all("a question");
    let config = "[gates.commands.check]\nrun = \"sh check.sh\"\n[sandbox]\nmode = \"off\"\n";
    env.write(".spore/config.toml", config);
    env.write_at(&env.dir().join("scenario.toml"), scenario);
    env
}

/// Prints every value that a file at home or a variable of the gate holds, in one piece, in two
/// pieces, and encoded.
const CHECK: &str = "echo word-gate; env; cat $HOME/.netrc $HOME/.npmrc $HOME/.codex/auth.json\n\
    printf 'pigment-55'; sleep 0.05; echo -topaz\nbase64 -w0 < $HOME/.aws/credentials; echo\n\
    env > $HOME/gate-env.txt; test -s answer.txt\n";

const PLAYED: [&str; 4] = ["--backend", "replay", "--scenario", "../scenario.toml"];

fn orchestrate(env: &TestEnv, task: &str, more: &[&str]) -> ProgramOutput {
    let args: Vec<&str> =
        ["orchestrate", task].iter().chain(&PLAYED).chain(more).copied().collect();
    env.spore(&args)
}

/// Everything that is left: what was printed, each file below `.spore/` with its name, and each
/// object that a ref leads to, with names.
fn left(env: &TestEnv, outputs: &[&ProgramOutput]) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    for output in outputs {
        all.push(("stdout".into(), output.stdout.clone().into_bytes()));
        all.push(("stderr".into(), output.stderr.clone().into_bytes()));
    }
    files_below(&env.repo().join(".spore"), &mut all);
    let objects = env.git(&["rev-list", "--objects", "--all"]);
    for line in objects.lines() {
        let (id, name) = line.split_once(' ').unwrap_or((line, ""));
        let content = env.git(&["cat-file", "-p", id]);
        all.push((format!("object {name}"), format!("{name}\n{content}").into_bytes()));
    }
    all
}

fn files_below(dir: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            files_below(&path, all);
        } else {
            let name = path.display().to_string();
            let content = [name.as_bytes(), &std::fs::read(&path).unwrap()].concat();
            all.push((name, content));
        }
    }
}

fn holds(content: &[u8], value: &str) -> bool {
    content.windows(value.len()).any(|window| window == value.as_bytes())
}

#[track_caller]
fn nothing_leaks(env: &TestEnv, outputs: &[&ProgramOutput], words: &[&str]) {
    let left = left(env, outputs);
    for value in values() {
        let at: Vec<&str> =
            left.iter().filter(|(_, text)| holds(text, value)).map(|(at, _)| at.as_str()).collect();
        assert!(at.is_empty(), "{value} is in {at:?}\n{}", outputs[0].render());
    }
    for word in words {
        let arrives = left.iter().any(|(_, text)| holds(text, word));
        assert!(arrives, "{word} arrives nowhere\n{}", outputs[0].render());
    }
}

/// Ways in which a change can hold a value, each with a place where it stands.
fn changes() -> Vec<(&'static str, String)> {
    let write =
        |path: &str, content: &str| format!("{{ write = \"{path}\", content = '''{content}''' }}");
    let run = |command: &str| format!("{{ run = '''{command}''' }}");
    vec![
        ("a line", write("answer.txt", &format!("42 {KEY}\n"))),
        ("a line of a file's secret", write("answer.txt", "42 orchard-11-pewter\n")),
        ("a line of an address", write("answer.txt", "42 pelican-33-walnut\n")),
        ("a long line", write("answer.txt", &format!("42{}{KEY}\n", "x".repeat(5000)))),
        ("the name of a file", write(&format!("{KEY}.txt"), "42\n")),
        ("the name of a folder", write(&format!("{KEY}/answer.txt"), "42\n")),
        ("the name of an empty file", run(&format!("mkdir d && touch d/{KEY}"))),
        ("the new name of a file", run(&format!("mv moved.txt {KEY}"))),
        ("the target of a link", run(&format!("ln -s /nowhere/{KEY} link"))),
        ("a binary file", run(&format!("printf 'a\\000b{KEY}\\000c' > data.bin"))),
        (
            "a file that counts as binary",
            run(&format!("echo '* -diff' > .gitattributes; echo {KEY} > a")),
        ),
        ("base64", write("answer.txt", "42 dW1icmVsbGEtMTctcXVhcnR6\n")),
        ("basic authentication", write("answer.txt", "Basic bWU6dW1icmVsbGEtMTctcXVhcnR6\n")),
        ("an address", write("answer.txt", "?q=say%20%22nutmeg%22%2045%20%2F%20slate%2Bplum\n")),
        ("JSON", write("answer.txt", r#"{"q":"say \"nutmeg\" 45 / slate+plum"}"#)),
    ]
}

#[test]
fn a_change_that_holds_a_known_value_is_turned_down_and_leaves_nothing_of_it() {
    for (what, step) in changes() {
        let env = scene(&scenes::one_bounce(&step));
        let output = orchestrate(&env, "write the answer", &["--max-bounces", "1"]);
        assert_eq!(output.code, 11, "{what}: {}", output.render());
        nothing_leaks(&env, &[&output], &["word-gate"]);
    }
}

/// The same changes where no credential holds the values: they are verified as they are.
#[test]
fn what_no_credential_holds_is_let_through() {
    for (what, step) in changes() {
        let mut env = scene(&scenes::one_bounce(&step));
        for (name, _) in VARIABLES {
            env = env.with_variable(name, "");
        }
        std::fs::remove_dir_all(env.dir().join("home")).unwrap();
        env.write_at(&env.dir().join("home/.netrc"), "");
        let output = orchestrate(&env, "write the answer", &["--max-bounces", "1"]);
        assert_eq!(output.code, 0, "{what}: {}", output.render());
        let left = left(&env, &[&output]);
        let arrives = values().into_iter().any(|value| {
            left.iter().any(|(at, text)| at.starts_with("object") && holds(text, value))
        });
        assert!(arrives, "{what}");
    }
}

#[test]
fn what_the_base_holds_is_no_secret() {
    let step =
        format!("{{ write = \"answer.txt\", content = \"42 {KEY}\\n\" }}, {{ say = \"{KEY}\" }}");
    let env = scene(&scenes::one_bounce(&step));
    env.write("compose.yml", &format!("password: {KEY}\n"));
    env.commit_all("public");
    let output = orchestrate(&env, "write the answer", &["-v"]).code(0);
    assert!(output.stderr.contains(KEY), "{}", output.stderr);
}

/// A coder, a verifier and a summarizer say all of it in all places where they can speak.
#[test]
fn nothing_that_sessions_and_gates_say_is_kept_with_a_known_value_in_it() {
    let all = values().join(" ").replace('\\', "").replace("say \"nutmeg\" 45 / slate+plum ", "");
    let scenario = format!(
        r#"[[session]]
role = "coder"
bounce = 1
cost_usd = 0.5
final = '''word-final {all}'''
steps = [
  {{ say = '''word-said {all}''' }},
  {{ run = '''echo word-printed {all}; env; cat $HOME/.netrc $HOME/.aws/credentials; echo word-stderr {KEY} >&2''' }},
  {{ run = '''printf umbrella-17; sleep 0.05; echo -quartz''' }},
  {{ run = '''env > $HOME/agent-env.txt; mkdir -p {KEY}.d && rm -rf {KEY}.d''' }},
  {{ write = "word-tool-{KEY}.tmp", content = "" }}, {{ delete = "word-tool-{KEY}.tmp" }},
  {{ write = "answer.txt", content = "43\n" }},
]
[[session]]
role = "verifier"
bounce = 1
cost_usd = 0.25
final = '''<verdict>{{"verdict":"contradicts","confidence":0.9,"reason":"word-reason {KEY} saddle-22-jasper","findings":[{{"file":"{KEY}.txt","line":1,"message":"word-finding {KEY}"}}]}}</verdict>'''
[[session]]
role = "coder"
bounce = 2
cost_usd = 0.5
final = "word-again {KEY}"
steps = [{{ expect = "word-reason [secret DEPLOY_KEY] [secret codex sign-in]" }}, {{ expect = "word-finding [secret DEPLOY_KEY]" }}, {{ write = "answer.txt", content = "42\n" }}]
[[session]]
role = "verifier"
bounce = 2
cost_usd = 0.25
final = '''<verdict>{{"nonce":"$NONCE","verdict":"supports","confidence":0.9,"reason":"word-support {KEY}"}}</verdict>'''
[[session]]
role = "summarizer"
cost_usd = 0.125
final = '''<summary>{{"title": "word-title {KEY}", "summary": "word-summary {KEY} pigment-55-topaz was printed by the check of the base.",
"lessons": [{{"title": "word-lesson {KEY}", "pattern": "A change of answer.txt prints {KEY} when the check runs over it, word-pattern.", "fix": "Compare the content of answer.txt, word-fix {KEY}, with what the task asks for.", "scope": ["answer.txt"], "evidence": "bounce 1"}}]}}</summary>'''
"#
    );
    let env = scene(&scenario);
    let task = format!("write the answer, word-task, with {KEY} and furrow-13-amber");
    let run = orchestrate(&env, &task, &["-v"]).code(0);
    assert!(run.stderr.contains("There is a secret in the task"), "{}", run.stderr);
    let id = scenes::newest_id(&env);
    let shown = env.spore(&["runs", "show", &id, "--json"]).code(0);
    let events = env.spore(&["events", "tail", "--json"]).code(0);
    let words = [
        "word-final",
        "word-said",
        "word-printed",
        "word-reason",
        "word-finding",
        "word-again",
        "word-support",
        "word-title",
        "word-summary",
        "word-lesson",
        "word-pattern",
        "word-fix",
        "word-gate",
        "word-task",
        "word-tool",
    ];
    nothing_leaks(&env, &[&run, &shown, &events], &words);
    let message = env.git(&["log", "-1", "--format=%B", &scenes::branch_of(&env, &id)]);
    assert!(
        message.starts_with("write the answer, word-task, with [secret DEPLOY_KEY]"),
        "{message}"
    );
    assert!(message.contains("word-again [secret DEPLOY_KEY]\n"), "{message}");

    let seen = std::fs::read_to_string(env.dir().join("home/agent-env.txt")).unwrap();
    let gate = std::fs::read_to_string(env.dir().join("home/gate-env.txt")).unwrap();
    for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "DEPLOY_KEY", "npm_config__authToken"] {
        assert!(!seen.contains(name) && !gate.contains(name), "{name}\n{seen}\n{gate}");
    }
    assert!(gate.contains("PIP_INDEX_URL=https://me:pelican"), "{gate}");
}

/// An agent that speaks our own format: thoughts, what it hands in, what it prints on stderr.
#[test]
fn nothing_that_an_agent_thinks_or_complains_is_kept_with_a_known_value_in_it() {
    let env = scene("");
    let script = format!(
        "#!/bin/sh\ncat > $HOME/prompt.txt\necho 'word-complaint {KEY}' >&2\n\
         echo '{{\"type\":\"thinking\",\"text\":\"word-thought {KEY} cinder-88-beryl\"}}'\n\
         echo '{{\"type\":\"tool_use\",\"tool\":\"read\",\"summary\":\"word-use {KEY}\",\"path\":\"/word-path/{KEY}\"}}'\n\
         echo 'word-raw {KEY}'\n\
         echo '{{\"type\":\"result\",\"text\":\"word-result {KEY}\",\"turns\":1}}'\n"
    );
    env.write_at(&env.dir().join("agent.sh"), &script);
    let config = "[sandbox]\nmode = \"off\"\n[command]\nprogram = \"sh\"\noutput = \"events\"\nargs = [\"../agent.sh\"]\n";
    env.write(".spore/config.toml", config);
    let prompt = format!("word-prompt {KEY} gallop-66-flint");
    let args = ["spawn", "--prompt", &prompt, "--backend", "command"];
    let spawned = env.spore(&args).code(0);
    assert!(spawned.stderr.contains("There is a secret in the prompt"), "{}", spawned.stderr);
    let as_json = env.spore(&[&args[..], &["--json"]].concat()).code(0);
    let words = [
        "word-complaint",
        "word-thought",
        "word-use",
        "word-path",
        "word-raw",
        "word-result",
        "word-prompt",
    ];
    nothing_leaks(&env, &[&spawned, &as_json], &words);
    let told = std::fs::read_to_string(env.dir().join("home/prompt.txt")).unwrap();
    assert!(told.contains("word-prompt [secret DEPLOY_KEY] [secret npmrc]"), "{told}");
}

/// A person or a script says it to a command that keeps it, or that shows it to a model.
#[test]
fn nothing_that_a_person_hands_in_is_kept_with_a_known_value_in_it() {
    let env = scene(&scenes::one_bounce(scenes::WRITE_42));
    let said = |word: &str| format!("{word} {KEY} tundra-77-opal-y");
    let payload = format!("{{\"word-field {KEY}\": \"{}\"}}", said("word-payload"));
    let (name, session) = (said("word-source"), said("word-session"));
    let (title, content) = (said("word-node"), said("word-content"));
    let task = said("word-inbox");
    let planned = said("word-planned");
    let calls: [&[&str]; 6] = [
        &["events", "append", "--kind", "ci", "--type", "a.b", "--payload", &payload],
        &[
            "events",
            "append",
            "--kind",
            "ci",
            "--type",
            "a.b",
            "--name",
            &name,
            "--session",
            &session,
        ],
        &["graph", "create-meta", "-t", "status", "--title", &title, "--content", &content],
        &["memory", "inbox", "add", &task],
        &["memory", "scan"],
        &["context", &planned],
    ];
    let _ = env.spore(&["init"]).code(0);
    let outputs: Vec<ProgramOutput> = calls.iter().map(|args| env.spore(args).code(0)).collect();
    let words = [
        "word-field",
        "word-payload",
        "word-source",
        "word-session",
        "word-node",
        "word-content",
        "word-inbox",
        "word-planned",
    ];
    nothing_leaks(&env, &outputs.iter().collect::<Vec<_>>(), &words);
}

/// What a flow is asked to do becomes names, prompts and reports.
#[test]
fn nothing_that_a_flow_is_asked_is_kept_with_a_known_value_in_it() {
    let scenario = format!(
        "[[session]]\nrole = \"operator\"\nbounce = 0\ncost_usd = 0.5\n\
         final = \"word-final {KEY}\\nSTAGE_A_COMPLETE\"\nsteps = [{{ say = \"word-said {KEY}\" }}]\n"
    );
    let both = [scenario.clone(), scenario.replace("bounce = 0", "bounce = 1")].concat();
    let env = scene(&both);
    let flow = "[executors.e]\nrole = \"operator\"\n\
                [orchestrators.o]\nstages = [{ name = \"A\", executor = \"e\" }]\n";
    env.write(".spore/flows/release.toml", flow);
    let target = format!("word-target {KEY}");
    let calls: [&[&str]; 3] = [
        &["exec", "e", "A", &target],
        &["stage", "o", "full", &target],
        &["orchestrate", &target, "--agent", "operator"],
    ];
    let outputs: Vec<ProgramOutput> =
        calls.iter().map(|args| env.spore(&[args, &PLAYED[..]].concat()).code(0)).collect();
    nothing_leaks(
        &env,
        &outputs.iter().collect::<Vec<_>>(),
        &["word-target", "word-final", "word-said"],
    );
}

/// A file that is not part of the base, read by a client over MCP.
#[test]
fn no_answer_to_a_model_holds_a_known_value() {
    use std::io::Write;
    let env = scene("");
    let _ = env.spore(&["init"]).code(0);
    env.write("notes.py", &format!("def word_asked():\n    return '{KEY} velvet-44-agate'\n"));
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_content","arguments":{"target":"notes.py"}}}"#,
    ];
    let _ = env.spore(&["index"]).code(0);
    let mut command = env.command(env.exe(), &env.repo());
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in lines {
        writeln!(stdin, "{line}").unwrap();
    }
    let mut answers = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut told = String::new();
    while !told.contains("\"id\":2") {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut answers, &mut line).unwrap() > 0, "{told}");
        told.push_str(&line);
    }
    drop(stdin);
    let _ = child.wait();
    assert!(told.contains("word_asked"), "{told}");
    assert!(!told.contains(KEY) && !told.contains("velvet-44"), "{told}");
}
