//! What every kind of session has in common: one opener makes them all.

use serde_json::Value;
use spore_testkit::TestEnv;

use crate::scenes;

const FLOW: &str = "[executors.e]\nrole = \"operator\"\n\
                    [orchestrators.o]\nstages = [{ name = \"A\", executor = \"e\" }]\n";

/// The ways to start an operator's session.
const KINDS: [&[&str]; 4] = [
    &["spawn", "--role", "operator", "--prompt", "look around"],
    &["exec", "e", "A", "around"],
    &["stage", "o", "full", "around"],
    &["orchestrate", "look around", "--agent", "operator"],
];

const PLAYED: &[&str] = &["--backend", "replay", "--scenario", "../scenario.toml"];

/// A scene whose operator writes its variables into its home.
fn scene() -> TestEnv {
    let parts = "[[session]]\nrole = \"operator\"\nbounce = BOUNCE\ncost_usd = 0.5\n\
                 final = \"STAGE_A_COMPLETE\"\nsteps = [{ run = \"env > $HOME/env.txt\" }]\n";
    let both = ["0", "1"].map(|bounce| parts.replace("BOUNCE", bounce)).concat();
    let env = scenes::with_scenario(&both);
    env.write(".spore/flows/release.toml", FLOW);
    let config = std::fs::read_to_string(env.repo().join(".spore/config.toml")).unwrap();
    let more = "[tiers.replay]\nhigh = \"large\"\n[sandbox]\nmode = \"off\"\n";
    env.write(".spore/config.toml", &format!("{config}{more}"));
    env
}

fn events(env: &TestEnv) -> Vec<Value> {
    let dir = env.repo().join(".spore/events");
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|name| name == "jsonl"));
    let text: String = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The names of all files of a run's sessions.
fn names_below(dir: &std::path::Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => names_below(&entry.path(), names),
            false => names.push(entry.file_name().into_string().unwrap()),
        }
    }
}

#[test]
fn sessions_of_every_kind_see_the_same_and_leave_the_same() {
    for args in KINDS {
        let env = scene();
        let home = env.command("env", &env.repo()).output().unwrap();
        let home = String::from_utf8(home.stdout).unwrap();
        let home = home.lines().find_map(|line| line.strip_prefix("HOME=")).unwrap().to_owned();
        let model: &[&str] = if args[0] == "spawn" { &["--model", "high"] } else { &[] };
        let args: Vec<&str> = [args, PLAYED, model].concat();
        let variables = [("SPORE_SPAWN_DEPTH", "1"), ("SPORE_TRACE_ID", "trace-7")];
        let _ = env.spore_in(&env.repo(), &args, &variables).code(0);

        let seen = std::fs::read_to_string(format!("{home}/env.txt")).unwrap();
        let root = format!("SPORE_ROOT={}", env.repo().display());
        let told = ["SPORE_SPAWN_DEPTH=2", "SPORE_SPAWN_MAX_DEPTH=", "SPORE_TRACE_ID=trace-7"];
        for line in [&[root.as_str()], &told[..]].concat() {
            assert!(seen.lines().any(|seen| seen.starts_with(line)), "{args:?} {line}\n{seen}");
        }
        for name in ["SPORE_TRACE_ID", "SPORE_SESSION_RUN", "GIT_CEILING_DIRECTORIES"] {
            let count = seen.lines().filter(|line| line.starts_with(&format!("{name}="))).count();
            assert_eq!(count, 1, "{args:?} {name}\n{seen}");
        }

        let mut files = Vec::new();
        let run = scenes::newest_id(&env);
        names_below(&env.repo().join(".spore/runs").join(&run), &mut files);
        for name in ["task.md", "transcript.jsonl", "final.md"] {
            assert!(files.iter().any(|file| file == name), "{args:?}: {files:?}");
        }

        let told: Vec<Value> = events(&env);
        for kind in ["session.started", "tools.used", "session.finished"] {
            let of_kind: Vec<&Value> = told.iter().filter(|event| event["type"] == kind).collect();
            assert_eq!(of_kind.len(), 1, "{args:?} {kind}: {told:?}");
            assert_eq!(of_kind[0]["source"]["name"], "operator", "{args:?}");
        }
        let started = told.iter().find(|event| event["type"] == "session.started").unwrap();
        assert_eq!(started["payload"]["depth"], 1, "{args:?}");

        let ledger = scenes::newest(&env)["ledger"].clone();
        assert_eq!(ledger.as_array().unwrap().len(), 1, "{args:?}: {ledger}");
        assert_eq!(ledger[0]["model"], "large", "{args:?}: {ledger}");
        assert_eq!(ledger[0]["backend"], "replay", "{args:?}: {ledger}");
    }
}

#[test]
fn a_session_of_a_flow_is_told_what_an_index_knows_and_none_is_made_for_it() {
    let env = scene();
    env.write("answer.py", "def answer():\n    return 41\n");
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--message", "code"]);
    let args = [&["exec", "e", "A", "answer"], PLAYED].concat();
    let _ = env.spore(&args).code(0);
    assert!(!env.repo().join(".spore/index.db").exists());
    let carried = |env: &TestEnv| {
        let run = env.repo().join(".spore/runs").join(scenes::newest_id(env));
        std::fs::read_to_string(run.join("session/carried.json")).ok()
    };
    assert_eq!(carried(&env), None);
    let _ = env.spore(&["index"]).code(0);
    let _ = env.spore(&args).code(0);
    let told = carried(&env).unwrap();
    assert!(told.contains("answer.py"), "{told}");
    let compiled = events(&env).iter().filter(|event| event["type"] == "context.compiled").count();
    assert_eq!(compiled, 1);
    let task = scenes::artefact(&env, "session/task.md");
    let own = task.find("How to end").unwrap();
    assert!(own < task.find("answer.py").unwrap(), "{task}");
}

#[test]
fn at_the_depth_limit_no_kind_of_run_is_started() {
    let env = scene();
    for args in KINDS {
        let args = [args, PLAYED].concat();
        let deep = [("SPORE_SPAWN_DEPTH", "9")];
        let output = env.spore_in(&env.repo(), &args, &deep).code(2);
        assert!(output.stderr.contains("nested"), "{args:?}: {}", output.stderr);
    }
    assert!(!env.repo().join(".spore/runs").exists());
}

#[test]
fn a_resumed_run_is_as_deep_as_it_was() {
    let env = scene();
    let args = [KINDS[3], PLAYED].concat();
    let killed = [("SPORE_SPAWN_DEPTH", "1"), ("SPORE_KILL_AT", "before:row:begin solo")];
    let _ = env.spore_in(&env.repo(), &args, &killed).code(137);
    let _ = env.spore(&["resume"]).code(0);
    let started = events(&env).into_iter().find(|event| event["type"] == "session.started");
    assert_eq!(started.unwrap()["payload"]["depth"], 1);
}

#[test]
fn a_session_that_a_session_starts_is_known_by_both() {
    let spore = env!("CARGO_BIN_EXE_spore");
    let inner = "spawn --prompt inner --role helper --backend replay --scenario inner.toml";
    let env = scenes::with_scenario(&format!(
        "[[session]]\nrole = \"operator\"\nbounce = 1\nfinal = \"done\"\n\
         steps = [{{ run = \"{spore} {inner}\" }}]\n"
    ));
    let helper = "[[session]]\nrole = \"helper\"\nbounce = 1\nfinal = \"helped\"\nsteps = []\n";
    env.write("inner.toml", helper);
    env.write(".spore/agents/helper.md", "You help.\n");
    let _ = env.spore(&[KINDS[0], PLAYED].concat()).code(0);
    let told = events(&env);
    let begun =
        |event: &&Value| event["type"] == "run.started" && event["payload"]["task"] == "inner";
    let started = told.iter().find(begun).unwrap();
    let outer = told
        .iter()
        .find(|event| event["type"] == "session.started" && event["source"]["name"] == "operator");
    let outer = outer.unwrap();
    assert_eq!(started["payload"]["started_by"], outer["run"]);
    assert_eq!(started["trace"], outer["trace"]);
    // A session that is over, or was never there, is not believed.
    for session in [outer["run"].as_str().unwrap(), "no run at all"] {
        let args = ["spawn", "--prompt", "again", "--role", "helper"];
        let args = [&args[..], &["--backend", "replay", "--scenario", "inner.toml"]].concat();
        let _ = env.spore_in(&env.repo(), &args, &[("SPORE_SESSION_RUN", session)]).code(0);
    }
    let again = events(&env).into_iter().filter(|event| event["payload"]["task"] == "again");
    assert!(again.into_iter().all(|event| event["payload"]["started_by"].is_null()));
}

/// Runs a session of `role` that calls these, with what each prints and its exit code in a file of
/// its own; returns these.
fn calls(env: &TestEnv, role: &str, calls: &[&str]) -> Vec<String> {
    let spore = env!("CARGO_BIN_EXE_spore");
    let name = |number: usize| format!("told-{number}");
    let step = |(number, call): (usize, &&str)| {
        let file = name(number);
        format!("{{ run = \"{spore} {call} > {file} 2>&1; echo exit code $? >> {file}\" }},")
    };
    let steps: String = calls.iter().enumerate().map(step).collect();
    env.write_at(
        &env.dir().join("scenario.toml"),
        &format!(
            "[[session]]\nrole = \"{role}\"\nbounce = 1\nfinal = \"done\"\nsteps = [{steps}]\n"
        ),
    );
    let args = [&["spawn", "--role", role, "--prompt", "outer"], PLAYED].concat();
    let _ = env.spore(&args).code(0);
    let read = |number| std::fs::read_to_string(env.repo().join(name(number))).unwrap();
    (0..calls.len()).map(read).collect()
}

/// A scene whose sessions are held, with a helper that they can start.
fn held() -> TestEnv {
    let env = scenes::with_scenario("");
    env.write(".spore/flows/release.toml", FLOW);
    // A role's calls write down what they were told.
    env.write(".spore/config.toml", "[roles.verifier]\nsandbox = \"write\"\n");
    let helper = "[[session]]\nrole = \"helper\"\nbounce = 1\nfinal = \"helped\"\ncost_usd = 0.5\n\
                  steps = [{ run = \"pwd >> seen; cat ../beside.txt >> seen; true\" }]\n\
                  [[session]]\nrole = \"operator\"\nbounce = 1\nfinal = \"STAGE_A_COMPLETE\"\nsteps = []\n";
    env.write("inner.toml", helper);
    env.write(".spore/agents/helper.md", "You help.\n");
    env.write_at(&env.dir().join("beside.txt"), "mine\n");
    env
}

#[test]
fn a_session_that_is_held_starts_others_within_its_own_bounds() {
    let env = held();
    env.write("sub/file", "x\n");
    let play = "--backend replay --scenario inner.toml";
    let spawn = format!("spawn --role helper --prompt x {play}");
    let told = calls(
        &env,
        "operator",
        &[
            &spawn,
            &format!("{spawn} --json"),
            &format!("exec e A around {play}"),
            &format!("{spawn} --cwd sub"),
            &format!("{spawn} --cwd .."),
            "spawn --role helper --prompt x --backend replay --scenario ../scenario.toml",
            &format!("{spawn} --max-depth 9 --budget 1000"),
            &format!("--root .. {spawn}"),
            "loop --source sub/file",
            "orchestrate x --race 2",
        ],
    );
    assert!(told[0].contains("helped\n") && told[0].ends_with("exit code 0\n"), "{}", told[0]);
    assert!(told[0].contains("helper: helped"), "{}", told[0]);
    let json = told[1].strip_suffix("exit code 0\n").unwrap();
    let answer: Value = serde_json::from_str(json).unwrap();
    assert_eq!((&answer["result"], &answer["depth"]), (&"helped".into(), &1.into()));
    for number in [2, 3, 6, 7] {
        assert!(told[number].ends_with("exit code 0\n"), "{number}: {}", told[number]);
    }
    for number in [4, 5] {
        assert!(told[number].contains("which the session is shown"), "{}", told[number]);
        assert!(told[number].ends_with("exit code 64\n"), "{number}: {}", told[number]);
    }
    for number in [8, 9] {
        assert!(told[number].contains("a session cannot start this by itself"), "{}", told[number]);
        assert!(told[number].ends_with("exit code 64\n"), "{number}: {}", told[number]);
    }
    let seen = std::fs::read_to_string(env.repo().join("seen")).unwrap();
    assert!(seen.lines().all(|line| line.starts_with('/')), "{seen}");
    assert!(
        seen.lines().any(|line| line.ends_with("/repo/sub"))
            || env.repo().join("sub/seen").exists()
    );
    let begun: Vec<Value> =
        events(&env).into_iter().filter(|event| event["type"] == "run.started").collect();
    let outer = &begun[0];
    for event in &begun[1..] {
        assert_eq!(event["trace"], outer["trace"]);
        assert!(event["payload"]["started_by"].is_string(), "{event}");
    }
}

#[test]
fn at_the_limit_a_session_starts_none_and_a_role_without_a_shell_never_does() {
    let env = held();
    let spawn = "spawn --role helper --prompt x --backend replay --scenario inner.toml";
    env.write(".spore/config.toml", "[spawn]\nmax_depth = 1\n");
    let told = calls(&env, "operator", &[spawn, &format!("{spawn} --max-depth 9")]);
    for told in told {
        assert!(told.contains("nested") && told.ends_with("exit code 2\n"), "{told}");
    }
    let env = held();
    let told = calls(&env, "verifier", &[spawn]);
    assert!(!told[0].contains("helped") && !told[0].ends_with("exit code 0\n"), "{}", told[0]);
}

#[test]
fn what_a_session_started_ends_with_it() {
    let env = held();
    let helper =
        "[[session]]\nrole = \"helper\"\nbounce = 1\nfinal = \"\"\nsteps = [{ hang = true }]\n";
    env.write("inner.toml", helper);
    env.write(".spore/agents/helper.md", "You help.\n");
    let spore = env!("CARGO_BIN_EXE_spore");
    let spawn = "spawn --role helper --prompt x --backend replay --scenario inner.toml";
    env.write_at(
        &env.dir().join("scenario.toml"),
        &format!("[[session]]\nrole = \"operator\"\nbounce = 1\nfinal = \"\"\nsteps = [{{ run = \"{spore} {spawn}\" }}]\n"),
    );
    let args = [KINDS[0], PLAYED, &["--timeout", "2s"]].concat();
    let _ = env.spore(&args).code(21);
    let wait = std::time::Duration::from_secs(8);
    assert_eq!(spore_testkit::wait_until_none(env.dir(), wait), []);
    let ended = events(&env).into_iter().filter(|event| event["type"] == "run.finished");
    assert_eq!(ended.count(), 2);
}
