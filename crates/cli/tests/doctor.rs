//! `spore doctor`: what is there, what is missing, what that costs.

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes::{self, told};

/// What is found of the project; what is found of the machine differs from one to the next.
const OF_THE_PROJECT: [&str; 6] =
    ["sh", "repository", "project", "database", "checks", "checkouts"];

/// Leaves out the findings that are the machine's: versions, disks, other programs.
fn of_the_project(output: &ProgramOutput) -> String {
    let mut kept = String::new();
    let mut keep = true;
    for line in told(output).lines() {
        let remedy = line.starts_with("                     ");
        if !remedy {
            // A mark, perhaps of two words, then the name.
            let name = line.strip_prefix("  ").and_then(|rest| rest.get(7..)).map(str::trim_start);
            let name = name.and_then(|rest| rest.split_whitespace().next());
            keep = name.is_none_or(|name| {
                OF_THE_PROJECT.contains(&name) || name == "git" && line.starts_with("  NOT OK")
            });
        }
        if keep {
            kept.push_str(&format!("{line}\n"));
        }
    }
    kept
}

/// The agent of a run is the machine's affair, unless one is chosen.
fn with_agent(env: TestEnv) -> TestEnv {
    env.with_variable("SPORE_ORCHESTRATE_BACKEND", "replay")
}

#[test]
fn a_healthy_project_is_told_so() {
    let env = with_agent(scenes::small());
    let _ = env.spore(&["init"]).code(0);
    let output = env.spore(&["doctor"]).code(0);
    insta::assert_snapshot!(of_the_project(&output), @"
    exit code: 0
    --- stdout
    $TEST_ENV/repo
      ok       sh          POSIX shell
      ok       repository  HEAD is hash-0000001
      ok       project     .spore/ can be read and written
      ok       database    spore.db is sound
      ok       checks      check: sh check.sh
      ok       checkouts   $TEST_ENV/state/spore

    A run can start here.
    --- stderr
    ");
}

#[test]
fn a_repository_that_cannot_be_checked_is_told_what_to_name() {
    let env = with_agent(scenes::env());
    env.commit_all("nothing");
    let output = env.spore(&["doctor"]).code(69);
    insta::assert_snapshot!(of_the_project(&output), @r#"
    exit code: 69
    --- stdout
    $TEST_ENV/repo
      ok       sh          POSIX shell
      ok       repository  HEAD is hash-0000001
      -        project     no .spore/ yet
                           nothing is lost: the first run makes it, or `spore init`
      NOT OK   checks      no build or test command was found in $TEST_ENV/repo
                           no task can be checked: spore config set gates.commands.test.run "make test"
      ok       checkouts   $TEST_ENV/state/spore

    No run can start here before what is NOT OK is put right.
    --- stderr
    "#);
    assert!(!env.repo().join(".spore").exists(), "a doctor changes nothing");
}

#[test]
fn without_git_no_run_can_start() {
    let env = scenes::small();
    let bin = scenes::path_without_git(&env);
    let output = env.spore_in(&env.repo(), &["doctor"], &[("PATH", &bin)]).code(69);
    insta::assert_snapshot!(of_the_project(&output), @"
    exit code: 69
    --- stdout
    $TEST_ENV/repo
      NOT OK   git         not installed or not on PATH
                           no run can start: install git
      ok       sh          POSIX shell
      NOT OK   repository  git is not installed or not on PATH
                           no run can start here: work in a git repository with a commit
      ok       project     .spore/ can be read and written
      ok       checkouts   $TEST_ENV/state/spore

    No run can start here before what is NOT OK is put right.
    --- stderr
    ");
    let json = env.spore_in(&env.repo(), &["doctor", "--json"], &[("PATH", &bin)]).code(69);
    let findings = json.json()["findings"].as_array().unwrap().clone();
    let git = findings.iter().find(|finding| finding["name"] == "git").unwrap();
    assert_eq!(git["ok"], false);
    assert_eq!(git["required"], true);
}

#[test]
fn a_place_without_a_repository_is_found_wanting() {
    let env = scenes::env();
    let output = env.spore(&["doctor"]).code(69);
    insta::assert_snapshot!(of_the_project(&output), @"
    exit code: 69
    --- stdout
    $TEST_ENV/repo
      ok       sh          POSIX shell
      NOT OK   repository  $TEST_ENV/repo is not in a git repository
                           no run can start here: work in a git repository with a commit
      -        project     no .spore/ yet
                           nothing is lost: the first run makes it, or `spore init`
      ok       checkouts   $TEST_ENV/state/spore

    No run can start here before what is NOT OK is put right.
    --- stderr
    ");
}

#[test]
fn a_broken_database_is_a_finding_and_not_an_error() {
    let env = scenes::small();
    env.write(".spore/spore.db", "this is no database, however long it may be");
    let output = env.spore(&["doctor"]).code(69);
    insta::assert_snapshot!(of_the_project(&output), @"
    exit code: 69
    --- stdout
    $TEST_ENV/repo
      ok       sh          POSIX shell
      ok       repository  HEAD is hash-0000001
      ok       project     .spore/ can be read and written
      NOT OK   database    $TEST_ENV/repo/.spore/spore.db is damaged or not a database
                           its runs cannot be read: restore the file, or move it away to start with no history
      ok       checks      check: sh check.sh
      ok       checkouts   $TEST_ENV/state/spore

    No run can start here before what is NOT OK is put right.
    --- stderr
    ");
}

#[test]
fn settings_that_name_what_is_not_there_fail_the_visit() {
    let env = with_agent(scenes::small());
    env.write_at(
        &env.repo().join(".spore/config.toml"),
        "[gates.commands.check]\nrun = \"sh check.sh\"\n[roles.verifer]\nturns = 9\n",
    );
    let output = env.spore(&["doctor"]).code(69);
    let told = "config.toml:4:9: roles.verifer.turns: there is no role \"verifer\"";
    assert!(output.stdout.contains(told), "{}", output.stdout);
    assert!(output.stdout.contains("did you mean verifier?"), "{}", output.stdout);
}

#[test]
fn a_check_whose_program_is_missing_fails_the_visit() {
    let env = with_agent(scenes::small());
    env.write(".spore/config.toml", "[gates.commands.check]\nrun = \"no-such-tool --all\"\n");
    let output = env.spore(&["doctor"]).code(69);
    let told = "no run can start without no-such-tool: install it";
    assert!(output.stdout.contains(told), "{}", output.stdout);
}

#[test]
fn colours_are_for_those_who_want_them() {
    let env = with_agent(scenes::small());
    let doctor = |variables: &[(&str, &str)]| {
        env.spore_in(&env.repo(), &["doctor"], variables).code(0).stdout
    };
    assert!(!doctor(&[]).contains('\u{1b}'), "a pipe has no colours");
    let painted = doctor(&[("CLICOLOR_FORCE", "1")]);
    assert!(painted.contains("  \u{1b}[32mok\u{1b}[0m"), "{painted:?}");
    assert!(!doctor(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
}
