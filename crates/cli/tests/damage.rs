//! Every file below `.spore/`, cut, scrambled or replaced: each command mends it or says what is
//! wrong with it, and none loses another file.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

/// What happens to a file.
const DAMAGES: &[&str] =
    &["nothing", "half", "garbage", "directory", "closed", "full device", "outside"];

/// Puts the damage in the place of a file. `outside` is a file that does not belong to Spore.
fn damage(path: &Path, how: &str, outside: &Path) {
    let bytes = std::fs::read(path).unwrap();
    match how {
        "nothing" => return std::fs::write(path, "").unwrap(),
        "half" => return std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap(),
        "garbage" => {
            let garbage: Vec<u8> = (0..5000u32).map(|at| (at * 37 % 251) as u8).collect();
            return std::fs::write(path, garbage).unwrap();
        }
        "closed" => {
            return std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).unwrap();
        }
        _ => std::fs::remove_file(path).unwrap(),
    }
    match how {
        "directory" => std::fs::create_dir(path).unwrap(),
        "full device" => symlink("/dev/full", path).unwrap(),
        _ => symlink(outside, path).unwrap(),
    }
}

/// The files below a directory, by their paths, with what is in them.
fn files_below(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap().file_type();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let bytes = std::fs::read(&path).unwrap_or_default();
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// A project with a run, an index, events, memory and a task in its inbox, and a copy of its
/// `.spore/` beside it.
fn scene() -> TestEnv {
    let env = scenes::with_scenario(scenes::THREE_BOUNCES);
    let _ = env.spore(&["init"]).code(0);
    env.write(".spore/agents/coder.md", "Do what the task says.\n");
    let _ = env.spore(&["investigate"]).code(0);
    let _ = env.spore(&["index"]).code(0);
    env.write(".spore/memory/CLAUDE.md", "- Run `make lint` before a commit\n");
    let _ = env.spore(&["memory", "scan"]).code(0);
    let _ = env.spore(&["memory", "inbox", "add", "--name", "task.md", "hello"]).code(0);
    let _ = scenes::orchestrate(&env, &[]).code(0);
    scenes::system(&env, "cp", &["-a", ".spore", "../kept"]);
    env
}

fn restore(env: &TestEnv) {
    scenes::system(env, "rm", &["-rf", ".spore"]);
    scenes::system(env, "cp", &["-a", "../kept", ".spore"]);
}

/// Runs spore with so much time and memory that one that reads a device to its end is noticed.
fn call(env: &TestEnv, args: &[String]) -> ProgramOutput {
    let held = "ulimit -v 4000000; exec timeout 30 \"$0\" \"$@\"";
    let mut command = env.command("sh", &env.repo());
    command.args(["-c".as_ref(), held.as_ref(), env.exe().as_os_str()]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    env.finish(command.spawn().unwrap())
}

/// The commands that look at a file or write to it.
fn commands(name: &str, run: &str) -> Vec<Vec<String>> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut all = vec![words(&format!("runs show {run}"))];
    if !name.starts_with("runs/") {
        all.extend(
            [
                "doctor",
                "runs list",
                "init",
                "config show",
                "config set gates.timeout 7m",
                "events tail",
                "memory status",
                "memory scan",
                "memory inbox list",
                "graph status",
                "search answer --no-embed",
                "index",
            ]
            .map(words),
        );
    }
    all.extend([words("resume"), words("runs prune")]);
    all
}

/// What a program of ours may exit with: no panic, no signal, no bug.
const CODES: &[i32] = &[0, 1, 2, 3, 10, 11, 12, 20, 21, 75, 64, 65, 69, 74, 78];

fn check_files(wanted: impl Fn(&str) -> bool) {
    let env = scene();
    let run = scenes::newest_id(&env);
    let spore = env.repo().join(".spore");
    let outside = env.dir().join("outside.txt");
    let names: Vec<PathBuf> = files_below(&spore)
        .into_keys()
        .map(|path| path.strip_prefix(&spore).unwrap().to_owned())
        .filter(|path| wanted(&path.to_string_lossy()))
        // Of prompts, logs and transcripts one of a name stands for all.
        .map(|path| (path.file_name().unwrap().to_owned(), path))
        .collect::<BTreeMap<_, _>>()
        .into_values()
        .collect();
    assert!(!names.is_empty());
    let mut wrong = Vec::new();
    let full = scenes::is_full();
    for (number, name) in names.into_iter().enumerate() {
        for (kind, how) in DAMAGES.iter().enumerate() {
            // In turns one of them; `SPORE_HOSTILE=full` does all of them to every file.
            if !full && kind != number % DAMAGES.len() {
                continue;
            }
            restore(&env);
            std::fs::write(&outside, "not of Spore\n").unwrap();
            let path = spore.join(&name);
            damage(&path, how, &outside);
            let before = files_below(&spore);
            for args in commands(&name.to_string_lossy(), &run) {
                let case = format!("{} {how}: {}", name.display(), args.join(" "));
                let output = call(&env, &args);
                let told = output.stderr.lines().next().unwrap_or_default().to_owned();
                if !CODES.contains(&output.code) || output.stderr.contains("panicked") {
                    wrong.push(format!("{case}: exit {}: {}", output.code, output.stderr.trim()));
                }
                if output.code != 0 && told.is_empty() && output.stdout.is_empty() {
                    wrong.push(format!("{case}: exit {} in silence", output.code));
                }
                if std::fs::read(&outside).unwrap() != b"not of Spore\n" {
                    wrong.push(format!("{case}: wrote outside"));
                    std::fs::write(&outside, "not of Spore\n").unwrap();
                }
            }
            for (other, bytes) in &before {
                if *other == path || is_derived(other.strip_prefix(&spore).unwrap()) {
                    continue;
                }
                match std::fs::read(other) {
                    Ok(now) if now.starts_with(bytes) || other.ends_with("config.toml") => {}
                    _ => wrong.push(format!("{} {how}: lost {}", name.display(), other.display())),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What can be made anew, is a projection, is kept by SQLite, or is pruned with its run.
fn is_derived(path: &Path) -> bool {
    let name = path.to_string_lossy();
    ["index", "vectors", "spore.db", "memory/state", "memory/fragments", "work.git"]
        .iter()
        .any(|derived| name.starts_with(derived))
}

/// The databases and the spine.
fn is_store(name: &str) -> bool {
    ["spore.db", "index", "vectors", "events/"].iter().any(|store| name.starts_with(store))
}

#[test]
fn a_damaged_store_is_told_or_mended() {
    check_files(is_store);
}

#[test]
fn a_damaged_setting_is_told_or_mended() {
    let elsewhere = |name: &str| name.starts_with("runs/") || name.starts_with("memory/");
    check_files(|name| !is_store(name) && !elsewhere(name));
}

#[test]
fn a_damaged_file_of_the_memory_is_told_or_mended() {
    check_files(|name| name.starts_with("memory/"));
}

#[test]
fn a_damaged_file_of_a_run_is_told_or_mended() {
    check_files(|name| name.starts_with("runs/"));
}
