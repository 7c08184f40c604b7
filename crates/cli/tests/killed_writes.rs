//! A command that is killed in the middle of a write leaves nothing that git sees, and the next
//! one finds everything in order.

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes;

/// A project whose `.spore/` is committed, as people do.
fn project() -> TestEnv {
    let env = scenes::env();
    env.write("check.sh", "true\n");
    env.commit_all("a project");
    env
}

/// Runs spore with no room for a single byte in any file. The kernel kills it in the middle of
/// its first write, or refuses the write where `told` is set
/// (<https://man7.org/linux/man-pages/man2/getrlimit.2.html>, `RLIMIT_FSIZE`).
fn without_room(env: &TestEnv, args: &[&str], told: bool) -> ProgramOutput {
    let ignore = if told { "trap '' XFSZ; " } else { "" };
    let script = format!("ulimit -c 0; ulimit -f 0; {ignore}exec \"$0\" \"$@\"");
    let mut command = env.command("sh", &env.repo());
    command.args(["-c".as_ref(), script.as_ref(), env.exe().as_os_str()]).args(args);
    command.stdin(std::process::Stdio::null());
    // Not through pipes of files: a pipe has no size.
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    env.finish(command.spawn().unwrap())
}

fn seen_by_git(env: &TestEnv) -> String {
    env.git(&["status", "--porcelain", "--untracked-files=all"])
}

const SIGXFSZ: i32 = 128 + 25;

#[test]
fn a_write_that_is_killed_or_refused_leaves_nothing_that_git_sees() {
    for args in [
        &["config", "set", "gates.timeout", "7m"][..],
        &["memory", "inbox", "add", "--name", "task.md", "hello"],
        &["mcp", "install", "--client", "claude", "--scope", "project"],
        &["init", "--agents"],
    ] {
        for told in [false, true] {
            let env = project();
            let _ = env.spore(&["init"]).code(0);
            env.commit_all("a project of Spore");
            let output = without_room(&env, args, told);
            let expected = if told { 74 } else { SIGXFSZ };
            assert_eq!(output.code, expected, "{args:?}: {}", output.stderr);
            assert_eq!(seen_by_git(&env), "", "{args:?}");
            // The next one does what the first was to do.
            let again = env.spore(args);
            assert_eq!(again.code, 0, "{args:?}: {}", again.stderr);
            assert!(!seen_by_git(&env).contains(".tmp"), "{args:?}");
        }
    }
}

#[test]
fn an_init_that_is_killed_or_refused_is_begun_again() {
    for told in [false, true] {
        let env = project();
        let output = without_room(&env, &["init"], told);
        assert_eq!(output.code, if told { 74 } else { SIGXFSZ }, "{}", output.stderr);
        // The ignore file is the first that is written, so all that follows is ignored.
        env.write(".spore/.gitignore", "spore.db*\n");
        env.write(".spore/config.toml", "");
        let output = without_room(&env, &["init"], told);
        assert_eq!(output.code, if told { 74 } else { SIGXFSZ }, "{}", output.stderr);
        assert!(!env.repo().join(".spore/spore.db").exists(), "half a database has its name");
        let _ = env.spore(&["init"]).code(0);
        let _ = env.spore(&["runs", "list"]).code(0);
        let mut left: Vec<String> = std::fs::read_dir(env.repo().join(".spore"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, [".gitignore", "config.toml", "spore.db"]);
    }
}

#[test]
fn what_a_killed_write_of_an_older_version_left_is_taken_away() {
    let env = project();
    let _ = env.spore(&["init"]).code(0);
    env.write(".spore/config.toml.4194999.tmp", "half");
    let _ = env.spore(&["config", "set", "gates.timeout", "7m"]).code(0);
    assert!(!env.repo().join(".spore/config.toml.4194999.tmp").exists());
}
