//! What is handed in broken is refused in a clear sentence, and nothing is touched.

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes::{self, WRITE_42, told};

/// Asserts what holds of every refusal: the code, nothing on stdout, no ref added, and the
/// same as one JSON object for machines.
#[track_caller]
fn refused(env: &TestEnv, args: &[&str], code: i32) -> ProgramOutput {
    refused_with(env, args, &[], code)
}

#[track_caller]
fn refused_with(
    env: &TestEnv,
    args: &[&str],
    variables: &[(&str, &str)],
    code: i32,
) -> ProgramOutput {
    let output = env.spore_in(&env.repo(), args, variables).code(code);
    assert_eq!(output.stdout, "", "an error has no answer");
    let with_json: Vec<&str> = args.iter().chain(&["--json", "-q"]).copied().collect();
    let json = env.spore_in(&env.repo(), &with_json, variables).code(code);
    assert_eq!(json.stdout, "", "an error has no answer");
    let object: serde_json::Value = serde_json::from_str(&json.stderr)
        .unwrap_or_else(|error| panic!("{error} in {}", json.stderr));
    assert_eq!(object["error"]["exit_code"], code, "{object}");
    assert!(object["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{object}");
    output
}

const TASK: &[&str] =
    &["orchestrate", "write the answer", "--backend", "replay", "--scenario", "../scenario.toml"];

fn scene() -> TestEnv {
    scenes::with_scenario(&scenes::one_bounce(WRITE_42))
}

/// Puts `bytes` in the place of the database and asserts that every command refuses it and
/// leaves it alone.
#[track_caller]
fn bad_database(name: &str, make: impl Fn(&TestEnv, &std::path::Path)) {
    let env = scene();
    let _ = env.spore(&["init"]).code(0);
    let path = env.repo().join(".spore/spore.db");
    make(&env, &path);
    let before = std::fs::read(&path).unwrap();
    for args in [&["runs", "list"][..], TASK, &["resume"], &["init"]] {
        let output = refused(&env, args, 65);
        insta::assert_snapshot!(name, told(&output));
        assert_eq!(std::fs::read(&path).unwrap(), before, "{args:?} wrote to it");
    }
    assert_eq!(scenes::added_refs(&env), [""; 0]);
    assert!(!env.repo().join(".spore/runs").exists(), "a run was begun");
}

#[test]
fn a_database_that_is_no_database_is_refused_and_left_alone() {
    bad_database("a_corrupt_database", |_, path| {
        std::fs::write(path, "no database at all\n".repeat(500)).unwrap();
    });
}

#[test]
fn a_truncated_database_is_refused_and_left_alone() {
    bad_database("a_truncated_database", |_, path| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::write(path, &bytes[..bytes.len() / 2 + 100]).unwrap();
    });
}

#[test]
fn an_emptied_database_is_refused_and_left_alone() {
    bad_database("an_emptied_database", |_, path| std::fs::write(path, "").unwrap());
}

#[test]
fn a_database_with_a_scrambled_page_is_refused_and_left_alone() {
    bad_database("a_scrambled_database", |_, path| {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[100..4096].fill(0xa5);
        std::fs::write(path, bytes).unwrap();
    });
}

const PYTHON: &str = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                      c.executescript(sys.argv[2]); c.close()";

fn sql(env: &TestEnv, path: &std::path::Path, script: &str) {
    scenes::system(env, "python3", &["-c", PYTHON, &path.display().to_string(), script]);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    bad_database("a_foreign_database", |env, path| {
        std::fs::remove_file(path).unwrap();
        sql(env, path, "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x')");
    });
}

#[test]
fn a_database_of_a_newer_spore_is_refused_and_left_alone() {
    bad_database("a_newer_database", |env, path| {
        sql(env, path, "PRAGMA journal_mode = DELETE; PRAGMA user_version = 9999");
    });
}

#[test]
fn an_unknown_setting_is_named_with_its_place_and_its_neighbour() {
    let env = scene();
    env.write(".spore/config.toml", "# mine\n[orchestrate]\nmax_bounce = 4\n");
    insta::allow_duplicates! {
        for args in [TASK, &["runs", "list"], &["resume"]] {
            let output = refused(&env, args, 78);
            insta::assert_snapshot!(told(&output), @"
            exit code: 78
            --- stdout
            --- stderr
            error: $TEST_ENV/repo/.spore/config.toml:3:1: there is no setting orchestrate.max_bounce; did you mean orchestrate.max_bounces?
            ");
        }
    }
    assert_eq!(scenes::added_refs(&env), [""; 0]);
}

#[test]
fn settings_that_make_no_sense_are_named_with_their_place() {
    let cases = [
        ("a_setting_of_the_wrong_type", "[orchestrate]\nmax_bounces = \"many\"\n"),
        ("settings_that_are_not_toml", "[orchestrate\n"),
        ("a_time_without_a_unit", "[gates]\ntimeout = \"15\"\n"),
    ];
    for (name, config) in cases {
        let env = scene();
        env.write(".spore/config.toml", config);
        insta::assert_snapshot!(name, told(&refused(&env, TASK, 78)));
    }
}

#[test]
fn a_setting_of_the_environment_is_checked_too() {
    let env = scene();
    let variables = [("SPORE_ORCHESTRATE_MAX_BOUNCES", "lots")];
    let output = refused_with(&env, TASK, &variables, 78);
    insta::assert_snapshot!(told(&output), @"
    exit code: 78
    --- stdout
    --- stderr
    error: SPORE_ORCHESTRATE_MAX_BOUNCES: orchestrate.max_bounces must be a whole number, not text
    ");
}

#[test]
fn without_git_a_task_is_refused() {
    let env = scene();
    let bin = scenes::path_without_git(&env);
    let output = refused_with(&env, TASK, &[("PATH", &bin)], 69);
    insta::assert_snapshot!(told(&output), @"
    exit code: 69
    --- stdout
    --- stderr
    error: git is not installed or not on PATH
      try: install git
    ");
}

#[test]
fn a_place_that_no_run_can_start_from_is_refused() {
    let env = scenes::env();
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(WRITE_42));
    insta::assert_snapshot!(told(&refused(&env, TASK, 65)), @"
    exit code: 65
    --- stdout
    --- stderr
    error: $TEST_ENV/repo is not in a git repository
      try: go to a git repository, or `git init`
    ");
    assert!(!env.repo().join(".spore").exists(), "a refusal leaves nothing behind");
    env.git(&["init", "--quiet", "--initial-branch=main"]);
    insta::assert_snapshot!(told(&refused(&env, TASK, 65)), @"
    exit code: 65
    --- stdout
    --- stderr
    error: the repository $TEST_ENV/repo has no commit yet
      try: commit something first: a run starts from a commit
    ");
    assert!(!env.repo().join(".spore").exists(), "a refusal leaves nothing behind");
}

#[test]
fn a_bare_repository_is_refused() {
    let env = scenes::env();
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(WRITE_42));
    env.git(&["init", "--quiet", "--bare"]);
    insta::assert_snapshot!(told(&refused(&env, TASK, 65)), @"
    exit code: 65
    --- stdout
    --- stderr
    error: $TEST_ENV/repo is a bare repository, without a work tree
      try: clone it, and work in the clone
    ");
    assert!(!env.repo().join(".spore").exists(), "a refusal leaves nothing behind");
}

#[test]
fn a_repository_with_submodules_is_refused_with_the_ways_out() {
    let env = scene();
    let head = env.git(&["rev-parse", "HEAD"]);
    env.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},vendor/lib")]);
    env.git(&["commit", "--quiet", "--message", "a submodule"]);
    insta::assert_snapshot!(told(&refused(&env, TASK, 65)), @r#"
    exit code: 65
    --- stdout
    --- stderr
    error: the repository has submodules, which Spore's checkouts leave empty: vendor/lib
      try: set `[checkout] setup = ["git submodule update --init"]`, or `submodules = "empty"` if the checks do not need them
    "#);
    let config = std::fs::read_to_string(env.repo().join(".spore/config.toml")).unwrap();
    env.write(".spore/config.toml", &format!("{config}[checkout]\nsubmodules = \"empty\"\n"));
    let _ = env.spore(TASK).code(0);
}

#[test]
fn a_project_without_checks_is_refused() {
    let env = scenes::env();
    env.write("notes.txt", "notes\n");
    env.commit_all("notes");
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(WRITE_42));
    insta::assert_snapshot!(told(&refused(&env, TASK, 78)), @r#"
    exit code: 78
    --- stdout
    --- stderr
    error: no build or test command was found in $TEST_ENV/repo
      try: name one in .spore/config.toml:
        [gates.commands.test]
        run = "make test"
    "#);
    assert!(!env.repo().join(".spore").exists(), "a refusal leaves nothing behind");
}

#[test]
fn an_agent_must_be_one_that_exists() {
    let env = scene();
    let unknown = ["orchestrate", "x", "--backend", "hal9000"];
    insta::assert_snapshot!(told(&refused(&env, &unknown, 64)), @r#"
    exit code: 64
    --- stdout
    --- stderr
    error: there is no agent "hal9000"
      try: these can be used: claude, codex, opencode, gemini, qwen, goose, claude-acp, codex-acp, acp:NAME, api, ollama, llama-server, lmstudio, command, replay
    "#);
    // Which agents are installed is the machine's affair.
    let unchosen = told(&refused(&env, &["orchestrate", "x"], 69));
    assert!(unchosen.contains("error: no agent is chosen, and none"), "{unchosen}");
    assert!(unchosen.contains("`spore agents list` tells of all"), "{unchosen}");
    let none = ["orchestrate", "x", "--backend", "replay"];
    insta::assert_snapshot!(told(&refused(&env, &none, 64)), @"
    exit code: 64
    --- stdout
    --- stderr
    error: the replay agent needs a scenario
      try: add `--scenario FILE`; `spore demo` shows one at work
    ");
    let missing = ["orchestrate", "x", "--backend", "replay", "--scenario", "../none.toml"];
    insta::assert_snapshot!(told(&refused(&env, &missing, 64)), @"
    exit code: 64
    --- stdout
    --- stderr
    error: cannot read the scenario ../none.toml
      because: No such file or directory (os error 2)
      try: name a file that is there; `spore demo` shows one at work
    ");
    assert!(!env.repo().join(".spore/spore.db").exists(), "a refusal leaves nothing behind");
}

#[test]
fn a_scenario_that_cannot_be_read_is_named_with_its_line() {
    let cases = [
        ("a_scenario_that_is_not_toml", "[[session]]\nrole = \"coder\"\nbounce = \n"),
        (
            "a_scenario_with_a_strange_field",
            "[[session]]\nrole = \"coder\"\nbounce = 1\nmood = 1\n",
        ),
        (
            "a_scenario_with_a_strange_step",
            "[[session]]\nrole = \"coder\"\nbounce = 1\nsteps = [{ write = \"a\" }]\n",
        ),
    ];
    for (name, scenario) in cases {
        let env = scenes::with_scenario(scenario);
        insta::assert_snapshot!(name, told(&refused(&env, TASK, 65)));
    }
}

#[test]
fn a_task_that_is_not_text_is_refused() {
    let env = scene();
    let mut args = TASK.to_vec();
    args[1] = "-";
    let output = scenes::with_stdin(&env, &args, b"write \xff\xfe").code(65);
    insta::assert_snapshot!(told(&output), @"
    exit code: 65
    --- stdout
    --- stderr
    error: the text on stdin cannot be read
      because: stream did not contain valid UTF-8
    ");
    assert_eq!(output.stdout, "");
}

#[test]
fn a_root_that_is_no_directory_is_refused() {
    let env = scene();
    for root in ["../nowhere", "answer.txt"] {
        for args in [&["runs", "list"][..], &["doctor"], &["init"], TASK] {
            let with_root: Vec<&str> = args.iter().chain(&["--root", root]).copied().collect();
            let output = refused(&env, &with_root, 64);
            assert!(output.stderr.contains("there is no directory"), "{}", output.stderr);
        }
    }
    insta::assert_snapshot!(told(&refused(&env, &["doctor", "--root", "../nowhere"], 64)), @"
    exit code: 64
    --- stdout
    --- stderr
    error: there is no directory ../nowhere
      because: No such file or directory (os error 2)
    ");
}

#[test]
fn a_wrong_call_gets_a_suggestion() {
    let env = scene();
    let cases: [(&str, &[&str]); 6] = [
        ("a_misspelt_flag", &["orchestrate", "x", "--max-bounce", "3"]),
        ("a_misspelt_command", &["orchestate", "x"]),
        ("a_number_that_is_none", &["orchestrate", "x", "--max-bounces", "0"]),
        ("an_amount_that_is_none", &["orchestrate", "x", "--budget", "lots"]),
        ("a_time_that_is_none", &["orchestrate", "x", "--timeout", "soon"]),
        ("a_missing_task", &["orchestrate"]),
    ];
    for (name, args) in cases {
        insta::assert_snapshot!(name, told(&refused(&env, args, 64)));
    }
}

#[test]
fn every_kind_of_error_is_one_object_for_machines() {
    let env = scene();
    let shape = |args: &[&str], code: i32| {
        let args: Vec<&str> = args.iter().chain(&["--json"]).copied().collect();
        let output = env.spore(&args).code(code);
        let object: serde_json::Value = serde_json::from_str(&output.stderr).unwrap();
        serde_json::to_string_pretty(&object).unwrap()
    };
    insta::assert_snapshot!(shape(&["orchestrate"], 64), @r#"
    {
      "error": {
        "causes": [],
        "exit_code": 64,
        "fault": "usage",
        "hint": null,
        "message": "the following required arguments were not provided: <TASK>"
      }
    }
    "#);
    let unchosen = shape(&["orchestrate", "x"], 69);
    assert!(unchosen.contains(r#""fault": "missing""#), "{unchosen}");
    let _ = env.spore(&["init"]).code(0);
    insta::assert_snapshot!(shape(&["resume"], 65), @r#"
    {
      "error": {
        "causes": [],
        "exit_code": 65,
        "fault": "bad_input",
        "hint": "`spore runs list` shows all runs",
        "message": "no run is waiting to be resumed"
      }
    }
    "#);
    env.write(".spore/config.toml", "[gates]\ntime = 3\n");
    let config = shape(&["resume"], 78).replace(&env.dir().display().to_string(), "$TEST_ENV");
    insta::assert_snapshot!(config, @r#"
    {
      "error": {
        "causes": [],
        "exit_code": 78,
        "fault": "config",
        "hint": null,
        "message": "$TEST_ENV/repo/.spore/config.toml:2:1: there is no setting gates.time; did you mean gates.timeout?"
      }
    }
    "#);
}

#[test]
fn what_cannot_come_to_an_end_is_refused_before_anyone_is_paid() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let gate = "[gates.commands.check]\nrun = \"true\"\n";
    let replay = scenes::ORCHESTRATE;
    for (config, args, code, expected) in [
        (
            "[codex]\nprogram = \"no-such-codex\"\n[roles.verifier]\nbackend = \"codex\"\n",
            replay,
            69,
            "the agent program no-such-codex was not found",
        ),
        ("", &["orchestrate", "x", "--backend", "api"][..], 78, "no model is named for the coder"),
    ] {
        env.write(".spore/config.toml", &format!("{gate}{config}"));
        let output = refused(&env, args, code);
        assert!(output.stderr.contains(expected), "{}", output.stderr);
        assert!(!env.repo().join(".spore/spore.db").exists(), "a run was begun");
    }
    env.write(".spore/config.toml", gate);
    let _ = env.git(&["branch", "spore"]);
    let output = scenes::orchestrate(&env, &[]).code(65);
    assert!(output.stderr.contains("git branch -m spore NAME"), "{}", output.stderr);
}

#[test]
fn state_never_lands_where_the_command_was_called() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let args = scenes::ORCHESTRATE;
    let _ = env.spore_in(&env.repo(), args, &[("XDG_STATE_HOME", "rel")]).code(0);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let env = scenes::small();
    let _ = env.spore(&["init"]).code(0);
    let mut command = env.command(env!("CARGO_BIN_EXE_spore"), &env.repo());
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command.args(["runs", "list", "--json"]).stdout(full).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(74), "{told}");
    assert!(told.contains("the answer could not be written"), "{told}");
}

#[test]
fn a_word_that_means_nothing_is_refused_before_anything_is_done() {
    let env = scene();
    let cases: [(&[&str], &str); 12] = [
        (&["runs", "list", "--limit", "0"], "0 is not in 1.."),
        (&["runs", "top", "--limit", "0"], "0 is not in 1.."),
        (&["runs", "cost", "--limit", "0"], "0 is not in 1.."),
        (&["runs", "list", "--csv", "--json"], "cannot be used with"),
        (&["orchestrate", "x", "--experiment", ""], "a label is not empty"),
        (&["orchestrate", "x", "--experiment", "a\nb"], "a label is one line of text"),
        (
            &["orchestrate", "x", "--experiment", "unlabelled"],
            "what runs without a label are called",
        ),
        (&["orchestrate", "x", "--model", ""], "a value is required for '--model <NAME>'"),
        (&["loop", "--source", "x", "--coder-model", ""], "a value is required for '--coder-model"),
        // Of several commands that are like it the nearest.
        (&["orchestrat", "x"], "a similar subcommand exists: 'orchestrate'"),
        (&["runs", "lst"], "a similar subcommand exists: 'list'"),
        (&["runs", "compare-experiments", "a", "a"], "both are \"a\": nothing can differ"),
    ];
    let _ = env.spore(&["init"]).code(0);
    for (args, expected) in cases {
        let output = refused(&env, args, 64);
        assert!(output.stderr.contains(expected), "{args:?}: {}", output.stderr);
    }
}
