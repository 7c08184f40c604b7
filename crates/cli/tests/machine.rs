//! When the machine refuses: no room on the disk, no right to write.
//!
//! These need root to set the stage: a file system of their own size, a user who may not
//! write. Elsewhere they say so and pass.

#![expect(clippy::print_stdout, reason = "a test that was skipped says so")]

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use spore_testkit::{ProgramOutput, TestEnv};

use crate::scenes::{self, WRITE_42, told};

/// A user that owns nothing.
const NOBODY: u32 = 65534;

/// Returns whether the stage can be set with `program`, and says so if not.
fn can_use(env: &TestEnv, program: &str) -> bool {
    let root = scenes::system(env, "id", &["-u"]) == "0";
    let there = env.command(program, &env.repo()).arg("--version").output().is_ok();
    if !root || !there {
        println!("skipped: needs root and {program}");
    }
    root && there
}

/// A small file system of its own, gone with the value.
struct SmallDisk<'a> {
    env: &'a TestEnv,
    place: PathBuf,
}

impl<'a> SmallDisk<'a> {
    /// Mounts `megabytes` at `place`; `None` where that is not allowed, as in a container.
    fn mount(env: &'a TestEnv, place: &Path, megabytes: u32) -> Option<Self> {
        std::fs::create_dir_all(place).unwrap();
        let size = format!("size={megabytes}m");
        let mut command = env.command("mount", env.dir());
        let output = command.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(place).output();
        let mounted = output.unwrap().status.success();
        if !mounted {
            println!("skipped: a file system cannot be mounted here");
        }
        mounted.then(|| Self { env, place: place.to_owned() })
    }

    /// Writes until nothing more fits.
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.ballast()).unwrap();
        for chunk in [&[0; 65536][..], &[0; 4096], &[0; 512]] {
            while file.write_all(chunk).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.place.join("ballast")
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let mut command = self.env.command("umount", self.env.dir());
        let _ = command.arg("--lazy").arg(&self.place).status();
    }
}

fn result(env: &TestEnv) -> String {
    let branch = scenes::newest_branch(env);
    env.git(&["diff", "main", &branch])
}

#[test]
fn a_run_that_fills_the_disk_of_its_checkouts_goes_on_when_there_is_room() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let place = env.dir().join("state");
    if !can_use(&env, "mount") {
        return;
    }
    let Some(disk) = SmallDisk::mount(&env, &place, 1) else { return };
    disk.fill();
    let full = scenes::orchestrate(&env, &[]).code(74);
    insta::assert_snapshot!(told(&full), @"
    exit code: 74
    --- stdout
    --- stderr
    Initialised .spore/, where runs are kept.
    Run RUN-0001 starts from hash-0000002.
    error: cannot use $TEST_ENV/state/spore/repo-PLACE/RUNID-001/coder.state
      because: No space left on device (os error 28)
      try: free some disk space, then try again; a run that was under way goes on with `spore resume`
    ");
    assert_eq!(full.stdout, "");
    let still = env.spore(&["resume", "--json", "-q"]).code(74);
    assert_eq!(still.stdout, "");
    disk.free();
    let _ = env.spore(&["resume"]).code(0);
    assert!(result(&env).contains("+42"), "{}", result(&env));
}

#[test]
fn a_run_that_fills_the_disk_of_the_repository_goes_on_when_there_is_room() {
    let env = scenes::env();
    if !can_use(&env, "mount") {
        return;
    }
    let Some(disk) = SmallDisk::mount(&env, &env.repo(), 4) else { return };
    env.write("answer.txt", "41\n");
    env.write("check.sh", "if grep -q 42 answer.txt; then touch \"$HOME/full\"; fi\n");
    env.write(".gitignore", ".spore/\nballast\n");
    env.commit_all("a question");
    // The coder itself uses up the disk, so that the run is well under way by then. No sandbox
    // would let it.
    let settings = "[gates.commands.check]\nrun = \"sh check.sh\"\n[sandbox]\nmode = \"off\"\n";
    env.write(".spore/config.toml", settings);
    let ballast = disk.ballast().display().to_string();
    let greedy = format!(
        "{{ run = \"test -e $HOME/greedy || {{ touch $HOME/greedy; cat /dev/zero > {ballast}; }}\" }}, {WRITE_42}"
    );
    env.write_at(&env.dir().join("scenario.toml"), &scenes::one_bounce(&greedy));
    let full = scenes::orchestrate(&env, &[]).code(74);
    insta::assert_snapshot!(told(&full), @"
    exit code: 74
    --- stdout
    --- stderr
    Initialised .spore/, where runs are kept.
    Run RUN-0001 starts from hash-0000002.
    No sandbox holds agents and checks: it is switched off.
    checks: the base commit
    checks: check `sh check.sh`: green
    reading the code for the first time
    attempt 1/3: coder (replay)
      coder: run test -e $HOME/greedy || { touch $HOME/greedy; cat /dev/zero > $TEST_ENV/repo/ballast; }
      coder: write answer.txt
    error: the disk is full
      because: database or disk is full
      try: free some disk space, then try again; a run that was under way goes on with `spore resume`
    ");
    assert_eq!(full.stdout, "");
    disk.free();
    assert_eq!(scenes::newest(&env)["status"], "interrupted");
    let _ = env.spore(&["resume"]).code(0);
    assert!(result(&env).contains("+42"), "{}", result(&env));
    env.git(&["fsck", "--strict"]);
}

#[test]
fn a_project_is_not_begun_on_a_full_disk() {
    let env = scenes::env();
    if !can_use(&env, "mount") {
        return;
    }
    let Some(disk) = SmallDisk::mount(&env, &env.repo(), 1) else { return };
    env.write("answer.txt", "41\n");
    env.commit_all("a question");
    disk.fill();
    let full = env.spore(&["init"]).code(74);
    insta::assert_snapshot!(told(&full), @"
    exit code: 74
    --- stdout
    --- stderr
    error: cannot write $TEST_ENV/repo/.spore/.gitignore
      because: No space left on device (os error 28)
      try: free some disk space, then try again; a run that was under way goes on with `spore resume`
    ");
    disk.free();
    let _ = env.spore(&["init"]).code(0);
}

/// Another user, who may read everything of the scene and write only below `nobody/`.
struct Stranger<'a> {
    env: &'a TestEnv,
    exe: PathBuf,
}

impl<'a> Stranger<'a> {
    fn of(env: &'a TestEnv) -> Option<Self> {
        if !can_use(env, "setpriv") {
            return None;
        }
        let home = env.dir().join("nobody");
        let exe = env.dir().join("spore");
        std::fs::copy(env.exe(), &exe).unwrap();
        for place in [&home, &home.join("state"), &home.join("config")] {
            std::fs::create_dir(place).unwrap();
            chown(place, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        for place in [env.dir(), &exe] {
            std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        env.write_at(
            &home.join(".gitconfig"),
            &format!("[safe]\n\tdirectory = {}\n", env.repo().display()),
        );
        Some(Self { env, exe })
    }

    fn spore(&self, args: &[&str]) -> ProgramOutput {
        let home = self.env.dir().join("nobody");
        let mut command = self.env.command("setpriv", &self.env.repo());
        command
            .env("HOME", &home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
            .arg(&self.exe)
            .args(args)
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        self.env.finish(command.spawn().unwrap())
    }
}

#[test]
fn a_repository_of_somebody_else_is_left_as_it_is() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let Some(stranger) = Stranger::of(&env) else { return };
    let read_only = stranger.spore(scenes::ORCHESTRATE).code(74);
    insta::assert_snapshot!(told(&read_only), @"
    exit code: 74
    --- stdout
    --- stderr
    error: cannot write $TEST_ENV/repo/.spore/.gitignore
      because: Permission denied (os error 13)
      try: make the directory writable for this user
    ");
    let init = stranger.spore(&["init"]).code(74);
    insta::assert_snapshot!(told(&init), @"
    exit code: 74
    --- stdout
    --- stderr
    error: cannot write $TEST_ENV/repo/.spore/.gitignore
      because: Permission denied (os error 13)
      try: make the directory writable for this user
    ");
    assert_eq!(scenes::added_refs(&env), [""; 0]);
}

#[test]
fn the_runs_of_somebody_else_are_said_to_be_out_of_reach_and_left_alone() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let Some(stranger) = Stranger::of(&env) else { return };
    let _ = scenes::orchestrate(&env, &[]).code(0);
    let before = std::fs::read(env.repo().join(".spore/spore.db")).unwrap();
    let listed = stranger.spore(&["runs", "list"]).code(74);
    insta::assert_snapshot!(told(&listed), @"
    exit code: 74
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/.spore/spore.db cannot be written to
      try: make .spore/ writable for this user
    ");
    let resumed = stranger.spore(&["resume"]).code(74);
    insta::assert_snapshot!(told(&resumed), @"
    exit code: 74
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/.spore/spore.db cannot be written to
      try: make .spore/ writable for this user
    ");
    let run = stranger.spore(scenes::ORCHESTRATE).code(74);
    insta::assert_snapshot!(told(&run), @"
    exit code: 74
    --- stdout
    --- stderr
    error: $TEST_ENV/repo/.spore/spore.db cannot be written to
      try: make .spore/ writable for this user
    ");
    assert_eq!(std::fs::read(env.repo().join(".spore/spore.db")).unwrap(), before);
}

#[test]
fn a_git_directory_that_cannot_be_written_stops_a_run_before_any_agent_starts() {
    let env = scenes::with_scenario(&scenes::one_bounce(WRITE_42));
    let Some(stranger) = Stranger::of(&env) else { return };
    chown(env.repo().join(".spore"), Some(NOBODY), Some(NOBODY)).unwrap();
    let output = stranger.spore(scenes::ORCHESTRATE).code(74);
    insta::assert_snapshot!(told(&output), @"
    exit code: 74
    --- stdout
    --- stderr
    Initialised .spore/, where runs are kept.
    Run RUN-0001 starts from hash-0000002.
    error: cannot set a ref: git ended with code 128: fatal: update_ref failed for ref 'refs/spore/RUNID-001/base': cannot lock ref 'refs/spore/RUNID-001/base': unable to create directory for $TEST_ENV/repo/.git/refs/spore/RUNID-001/base
      try: make .git/ writable for this user
    ");
    assert_eq!(scenes::added_refs(&env), [""; 0]);
    let dubious = env.dir().join("nobody/.gitconfig");
    std::fs::remove_file(dubious).unwrap();
    let distrusted = stranger.spore(scenes::ORCHESTRATE).code(65);
    insta::assert_snapshot!(told(&distrusted), @"
    exit code: 65
    --- stdout
    --- stderr
    error: git does not trust $TEST_ENV/repo: it belongs to another user
      try: if that is as it should be: git config --global --add safe.directory $TEST_ENV/repo
    ");
}
