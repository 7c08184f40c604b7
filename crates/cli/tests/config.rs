//! `spore config`: what is in force, from where, and how to change it.

use spore_testkit::TestEnv;

use crate::scenes::{self, told};

fn project_file(env: &TestEnv) -> String {
    std::fs::read_to_string(env.repo().join(".spore/config.toml")).unwrap()
}

fn user_file(env: &TestEnv) -> std::path::PathBuf {
    env.dir().join("config/spore/config.toml")
}

#[test]
fn settings_are_shown_as_toml() {
    let env = scenes::small();
    let output = env.spore(&["config", "show"]).code(0);
    assert!(output.stdout.contains("\norchestrate.max_bounces = 3\n"), "{}", output.stdout);
    insta::assert_snapshot!(told(&env.spore(&["config", "show", "gates"])), @r#"
    exit code: 0
    --- stdout
    gates.allow_red = false
    gates.allow_test_changes = false
    gates.cache_cap_bytes = 21474836480
    gates.canary_full = "20s"
    gates.canary_tests = 12
    gates.canary_whole = "2s"
    gates.commands.check.run = "sh check.sh"
    gates.evidence_bytes = 4096
    gates.hold_out = false
    gates.log_cap_bytes = 16777216
    gates.only = false
    gates.outputs = []
    gates.probe = "off"
    gates.probe_hunks = 50
    gates.protected = [".github/workflows/", ".gitlab-ci.yml", ".circleci/", "/Jenkinsfile", "azure-pipelines.yml", ".pre-commit-config.yaml"]
    gates.recorded_paths = 200000
    gates.tests = []
    gates.timeout = "15m"
    --- stderr
    "#);
    let one = ["config", "show", "verdict.min_confidence"];
    insta::assert_snapshot!(told(&env.spore(&one).code(0)), @"
    exit code: 0
    --- stdout
    verdict.min_confidence = 0.6
    --- stderr
    ");
    let roles = ["config", "show", "roles"];
    insta::assert_snapshot!("the_table_of_roles", told(&env.spore(&roles).code(0)));
    let unset = ["config", "show", "tiers.codex"];
    insta::assert_snapshot!(told(&env.spore(&unset).code(0)), @"
    exit code: 0
    --- stdout
    # tiers.codex is not set
    --- stderr
    ");
    let bad = ["config", "show", "orchestrate.max_bounce"];
    insta::assert_snapshot!(told(&env.spore(&bad).code(78)), @"
    exit code: 78
    --- stdout
    --- stderr
    error: show orchestrate.max_bounce: there is no setting orchestrate.max_bounce; did you mean orchestrate.max_bounces?
    ");
}

#[test]
fn every_value_knows_where_it_comes_from() {
    let env = scenes::small();
    env.write_at(&user_file(&env), "[show]\nlimit = 7\n\n[orchestrate]\nmax_turns = 9\n");
    let show = |more: &[&str]| {
        let args: Vec<&str> = ["config", "show"].iter().chain(more).copied().collect();
        env.spore_in(&env.repo(), &args, &[("SPORE_SHOW_LIMIT", "8")]).code(0)
    };
    let lines = show(&["--origin"]).stdout;
    for expected in [
        "show.limit = 8  # SPORE_SHOW_LIMIT\n",
        "orchestrate.max_turns = 9  # $TEST_ENV/config/spore/config.toml:5:13\n",
        "gates.commands.check.run = \"sh check.sh\"  # $TEST_ENV/repo/.spore/config.toml:2:7\n",
        "gates.allow_red = false  # defaults.toml:",
    ] {
        assert!(lines.contains(expected), "{expected} in\n{lines}");
    }
    insta::assert_snapshot!(told(&show(&["show", "--json"])), @r#"
    exit code: 0
    --- stdout
    [
      {
        "key": "show.limit",
        "value": 8,
        "layer": "environment",
        "origin": "SPORE_SHOW_LIMIT"
      }
    ]
    --- stderr
    "#);
}

#[test]
fn a_setting_is_changed_and_comments_stay() {
    let env = scenes::small();
    env.write(".spore/config.toml", "# ours\n[show] # lists\nlimit = 5 # few\n# the end\n");
    insta::assert_snapshot!(told(&env.spore(&["config", "set", "show.limit", "50"]).code(0)), @"
    exit code: 0
    --- stdout
    show.limit = 50 (was 5), in $TEST_ENV/repo/.spore/config.toml
    --- stderr
    ");
    let gate = ["config", "set", "gates.commands.test.run", "make test"];
    insta::assert_snapshot!(told(&env.spore(&gate).code(0)), @r#"
    exit code: 0
    --- stdout
    gates.commands.test.run = "make test", in $TEST_ENV/repo/.spore/config.toml
    --- stderr
    "#);
    insta::assert_snapshot!(project_file(&env), @r#"
    # ours
    [show] # lists
    limit = 50 # few
    # the end

    [gates.commands.test]
    run = "make test"
    "#);
    let json = ["config", "set", "show.limit", "50", "--json"];
    insta::assert_snapshot!("a_change_for_machines", told(&env.spore(&json).code(0)));
    let listed = env.spore(&["config", "set", "commit.allow", "a.db, b.db"]).code(0);
    assert!(listed.stdout.starts_with("commit.allow = [\"a.db\", \"b.db\"]"), "{}", listed.stdout);
}

#[test]
fn a_file_that_is_not_there_is_made_and_a_link_stays_one() {
    let env = scenes::small();
    std::fs::remove_file(env.repo().join(".spore/config.toml")).unwrap();
    let _ = env.spore(&["config", "set", "show.limit", "5"]).code(0);
    assert_eq!(project_file(&env), "[show]\nlimit = 5\n");
    let _ = env.spore(&["config", "set", "show.limit", "6", "--user"]).code(0);
    assert_eq!(std::fs::read_to_string(user_file(&env)).unwrap(), "[show]\nlimit = 6\n");

    let elsewhere = env.dir().join("dotfiles.toml");
    std::fs::rename(user_file(&env), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, user_file(&env)).unwrap();
    let _ = env.spore(&["config", "set", "show.limit", "7", "--user"]).code(0);
    assert!(user_file(&env).is_symlink());
    assert_eq!(std::fs::read_to_string(&elsewhere).unwrap(), "[show]\nlimit = 7\n");
}

#[test]
fn a_setting_that_a_stronger_layer_overrides_is_said_to_be() {
    let env = scenes::small();
    let _ = env.spore(&["config", "set", "show.limit", "5"]).code(0);
    let output = env.spore(&["config", "set", "show.limit", "6", "--user"]).code(0);
    insta::assert_snapshot!(told(&output), @"
    exit code: 0
    --- stdout
    show.limit is set in $TEST_ENV/config/spore/config.toml, but $TEST_ENV/repo/.spore/config.toml:5:9 overrides it: 5 is in force.
    --- stderr
    ");
}

#[test]
fn what_would_not_load_is_refused_and_the_file_stays() {
    let env = scenes::small();
    let before = project_file(&env);
    for (name, args) in [
        ("a_misspelt_setting", &["show.limt", "5"][..]),
        ("a_setting_of_another_type", &["show.limit", "few"]),
        ("a_value_out_of_range", &["orchestrate.max_bounces", "-1"]),
        ("a_table_is_no_setting", &["gates", "5"]),
    ] {
        let args: Vec<&str> = ["config", "set"].iter().chain(args).copied().collect();
        insta::assert_snapshot!(name, told(&env.spore(&args).code(78)));
    }
    let json = env.spore(&["config", "set", "show.limt", "5", "--json"]).code(78);
    assert_eq!(json.stdout, "");
    assert_eq!(project_file(&env), before);
    env.write(".spore/config.toml", "[show\n");
    insta::assert_snapshot!(told(&env.spore(&["config", "set", "show.limit", "5"]).code(78)), @"
    exit code: 78
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/.spore/config.toml:1:6: this is not TOML: unclosed table, expected `]`
      because: TOML parse error at line 1, column 6
          |
        1 | [show
          |      ^
        unclosed table, expected `]`
    ");
    assert_eq!(project_file(&env), "[show\n");
}

#[test]
fn without_a_project_only_a_persons_own_settings_can_be_changed() {
    let env = scenes::env();
    env.commit_all("nothing");
    let _ = env.spore(&["config", "show", "show"]).code(0);
    insta::assert_snapshot!(told(&env.spore(&["config", "set", "show.limit", "5"]).code(69)), @"
    exit code: 69
    --- stdout
    --- stderr
    error: $TEST_ENV/repo is not a Spore project: it has no .spore/
      try: run `spore init`
    ");
    let _ = env.spore(&["config", "set", "show.limit", "5", "--user"]).code(0);
    assert!(!env.repo().join(".spore").exists());
}

#[test]
fn a_setting_is_explained_in_the_words_of_the_defaults() {
    let env = scenes::small();
    insta::assert_snapshot!(told(
        &env.spore(&["config", "explain", "orchestrate.max_bounces"]).code(0)
    ));
    let own = env.spore(&["config", "explain", "gates.commands.check.run"]).code(0).stdout;
    for expected in ["[gates.commands.test]", "gates.commands.check.run = \"sh check.sh\"  # "] {
        assert!(own.contains(expected), "{own}");
    }
    let json = env.spore(&["config", "explain", "show.limit", "--json"]).code(0).json();
    assert_eq!(json["variable"], "SPORE_SHOW_LIMIT");
    let unknown = env.spore(&["config", "explain", "show.limt"]).code(78).stderr;
    assert!(unknown.contains("did you mean show.limit?"), "{unknown}");
}

#[test]
fn a_setting_is_taken_out_again() {
    let env = scenes::small();
    env.write_at(&user_file(&env), "[show]\nlimit = 7\n");
    let _ = env.spore(&["config", "set", "show.limit", "50"]).code(0);
    let gone = env.spore(&["config", "unset", "show.limit"]).code(0);
    insta::assert_snapshot!(told(&gone), @"
    exit code: 0
    --- stdout
    show.limit is no longer set in $TEST_ENV/repo/.spore/config.toml; in force now:
      show.limit = 7  # $TEST_ENV/config/spore/config.toml:2:9
    --- stderr
    ");
    assert_eq!(project_file(&env), "[gates.commands.check]\nrun = \"sh check.sh\"\n");
    let again = env.spore(&["config", "unset", "show.limit", "--json"]).code(0).json();
    assert_eq!(again["removed"], false);
    let _ = env.spore(&["config", "unset", "gates.commands.check"]).code(0);
    assert_eq!(project_file(&env), "");
    let unknown = env.spore(&["config", "unset", "show.limt"]).code(78).stderr;
    assert!(unknown.contains("did you mean show.limit?"), "{unknown}");
}

#[test]
fn a_name_that_means_nothing_is_not_written() {
    let env = scenes::small();
    let before = project_file(&env);
    for (key, value, hint) in [
        ("orchestrate.backend", "cluade", "did you mean claude?"),
        ("orchestrate.backend", "acp:mine", "spore config set acp.mine.command"),
        ("roles.verifier.backend", "hal9000", "these can be used: claude"),
        ("roles.codr.turns", "9", "did you mean coder?"),
        ("tiers.cluade.high", "x", "did you mean claude?"),
    ] {
        let refused = env.spore(&["config", "set", key, value]).code(78);
        assert!(refused.stderr.contains(hint), "{key}: {}", refused.stderr);
    }
    assert_eq!(project_file(&env), before);
    let _ = env.spore(&["config", "set", "acp.mine.command", "my-agent,--acp"]).code(0);
    let _ = env.spore(&["config", "set", "orchestrate.backend", "acp:mine"]).code(0);
    env.write(".spore/agents/reviewer.md", "You review.");
    let _ = env.spore(&["config", "set", "roles.reviewer.turns", "9"]).code(0);
}
