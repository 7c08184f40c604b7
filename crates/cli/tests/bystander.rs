//! A run leaves the user's repository as it was, whatever the agent tries.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use spore_testkit::TestEnv;

use crate::scenes::{self, WRITE_42};

/// What an agent may try in its checkout. Each by itself: one that fails must not save the
/// repository from the next.
const MISCHIEF: &str = r#"
    { run = "git stash drop" },
    { run = "git stash clear" },
    { run = "git stash push --include-untracked --message stolen" },
    { run = "git config user.name Evil" },
    { run = "git config core.hooksPath /tmp" },
    { run = "git config --worktree user.name Evil" },
    { run = "git remote add origin ../../../../.." },
    { run = "git fetch --all --prune" },
    { run = "git update-ref refs/heads/main HEAD" },
    { run = "git update-ref refs/stash HEAD" },
    { run = "git update-ref -d refs/tags/v1" },
    { run = "git tag --delete v1" },
    { run = "git checkout -b evil" },
    { run = "git commit --all --allow-empty --message x" },
    { run = "git branch --force main HEAD" },
    { run = "git push --force ../../.. HEAD:refs/heads/main" },
    { run = "git push --force --all" },
    { run = "git reflog expire --expire=now --all" },
    { run = "git gc --prune=now --quiet" },
    { run = "git prune --expire=now" },
    { run = "git repack -a -d -l --quiet" },
    { run = "git worktree prune" },
    { run = "git submodule deinit --all --force" },
    { run = "git reset --hard" },
    { run = "git clean -ffdx" },
    { run = "rm -rf .git" },
    { run = "git config user.name Evil" },
    { run = "git commit --all --message x" },
"#;

/// Hooks that would leave a trace if anything of Spore's ran them.
const HOOKS: [&str; 7] = [
    "pre-commit",
    "post-commit",
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "fsmonitor-watchman",
];

/// A repository in the middle of a person's work: edits staged and not, an untracked file, a
/// stash, a tag, packed refs, hooks.
fn busy() -> TestEnv {
    let steps = format!("{MISCHIEF} {WRITE_42}");
    let env = scenes::with_scenario(&scenes::one_bounce(&steps));
    env.write("run.sh", "echo run\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(env.repo().join("run.sh"), mode.clone()).unwrap();
    env.commit_all("a program");
    env.git(&["tag", "--annotate", "--message", "one", "v1"]);
    env.git(&["branch", "other"]);
    env.git(&["pack-refs", "--all"]);
    env.write("kept.txt", "stashed\n");
    env.git(&["stash", "push", "--quiet", "--message", "for later"]);
    env.write("kept.txt", "edited\n");
    env.write("staged.txt", "staged\n");
    env.git(&["add", "staged.txt"]);
    env.write("staged.txt", "staged, then edited\n");
    env.write("untracked/notes.txt", "mine\n");
    for hook in HOOKS {
        let path = env.repo().join(".git/hooks").join(hook);
        env.write_at(&path, "#!/bin/sh\ntouch \"$HOME/hooked\"\n");
        std::fs::set_permissions(&path, mode.clone()).unwrap();
    }
    env.git(&["config", "core.fsmonitor", ".git/hooks/fsmonitor-watchman"]);
    // The trap works: git itself walks into it.
    env.git(&["update-ref", "refs/heads/third", "HEAD"]);
    forget_hooks(&env);
    env
}

#[track_caller]
fn forget_hooks(env: &TestEnv) {
    std::fs::remove_file(env.dir().join("home/hooked")).unwrap();
}

/// Everything below `dir`: kind, mode and bytes by path.
fn files(dir: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let bytes = if metadata.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                std::fs::read(&path).unwrap()
            };
            let name = path.strip_prefix(dir).unwrap().to_owned();
            found.insert(name, (metadata.permissions().mode(), bytes));
        }
    }
    found
}

/// What is the user's alone: all but Spore's own directory and refs. Objects are compared by
/// what must still be there, since Spore adds some.
pub(crate) struct Footprint {
    places: BTreeMap<PathBuf, (u32, Vec<u8>)>,
    objects: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

const OURS: [&str; 5] = [
    ".spore",
    ".git/refs/spore",
    ".git/refs/heads/spore",
    ".git/logs/refs/spore",
    ".git/logs/refs/heads/spore",
];

impl Footprint {
    pub(crate) fn of(dir: &Path) -> Self {
        let ours = |path: &Path| OURS.iter().any(|prefix| path.starts_with(prefix));
        let all = files(dir).into_iter().filter(|(path, _)| !ours(path));
        let (objects, places) = all.partition(|(path, _)| path.starts_with(".git/objects"));
        Self { places, objects }
    }

    #[track_caller]
    pub(crate) fn still_holds(&self, dir: &Path) {
        let now = Self::of(dir);
        let names = self.places.keys().chain(now.places.keys());
        let changed: Vec<&PathBuf> =
            names.filter(|name| self.places.get(*name) != now.places.get(*name)).collect();
        assert!(changed.is_empty(), "not as it was: {changed:?}");
        let lost: Vec<&PathBuf> =
            self.objects.keys().filter(|name| !now.objects.contains_key(*name)).collect();
        assert!(lost.is_empty(), "objects are gone: {lost:?}");
    }
}

/// The user's refs as git tells them.
fn refs(env: &TestEnv) -> Vec<String> {
    let all = env.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let ours =
        |line: &&str| line.starts_with("refs/spore/") || line.starts_with("refs/heads/spore/");
    all.lines().filter(|line| !ours(line)).map(str::to_owned).collect()
}

/// Runs the task from `place` and compares everything of the user's before and after.
#[track_caller]
fn check(env: &TestEnv, place: &Path, watched: &[&Path]) {
    let before: Vec<Footprint> = watched.iter().map(|dir| Footprint::of(dir)).collect();
    let scenario = env.dir().join("scenario.toml").display().to_string();
    let args = ["orchestrate", "write the answer", "--backend", "replay", "--scenario", &scenario];
    let output = env.spore_in(place, &args, &[]).code(0);
    for (footprint, dir) in before.iter().zip(watched) {
        footprint.still_holds(dir);
    }
    assert!(!env.dir().join("home/hooked").exists(), "a hook was run");
    assert!(output.stderr.contains("not part of this run"), "{}", output.stderr);
    assert!(output.stdout.starts_with("Verified"), "{}", output.stdout);
}

#[test]
fn a_run_leaves_everything_of_the_users_as_it_was() {
    let env = busy();
    // Asking git runs hooks and refreshes the index, so it is asked before and after all.
    let (told, stash) = (refs(&env), env.git(&["stash", "list"]));
    let status = env.git(&["status", "--porcelain=v2", "--branch"]);
    forget_hooks(&env);
    check(&env, &env.repo(), &[&env.repo()]);
    assert_eq!(refs(&env), told);
    assert_eq!(env.git(&["stash", "list"]), stash);
    assert_eq!(env.git(&["status", "--porcelain=v2", "--branch"]), status);
    assert_eq!(env.git(&["config", "user.name"]), "Test");
    let branch = scenes::newest_branch(&env);
    assert_eq!(env.git(&["diff", "--name-only", "main", &branch]), "answer.txt");
    env.git(&["fsck", "--full", "--strict"]);
}

#[test]
fn a_run_from_a_sub_directory_leaves_everything_as_it_was() {
    let env = busy();
    check(&env, &env.repo().join("untracked"), &[&env.repo()]);
    assert!(!env.repo().join("untracked/.spore").exists());
}

#[test]
fn a_run_from_a_detached_head_starts_there_and_leaves_it_detached() {
    let env = busy();
    env.git(&["update-ref", "--no-deref", "HEAD", "main~1"]);
    env.git(&["checkout", "--quiet", "--detach"]);
    forget_hooks(&env);
    check(&env, &env.repo(), &[&env.repo()]);
    let branch = scenes::newest_branch(&env);
    assert_eq!(env.git(&["rev-parse", &format!("{branch}^")]), env.git(&["rev-parse", "HEAD"]));
    assert_eq!(env.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
}

/// A linked worktree with a commit of its own and an edit.
fn linked(env: &TestEnv) -> PathBuf {
    let linked = env.dir().join("linked");
    let place = linked.display().to_string();
    env.git(&["worktree", "add", "--quiet", "-b", "side", &place]);
    env.write_at(&linked.join("side.txt"), "side\n");
    env.git(&["-C", &place, "add", "--all"]);
    env.git(&["-C", &place, "commit", "--quiet", "--no-verify", "--message", "aside"]);
    env.write_at(&linked.join("side.txt"), "edited\n");
    forget_hooks(env);
    linked
}

#[test]
fn a_run_from_a_linked_worktree_starts_from_its_head_and_leaves_both_as_they_were() {
    let env = busy();
    let linked = linked(&env);
    check(&env, &linked, &[&env.repo(), &linked]);
    assert!(!linked.join(".spore").exists(), "the project is the main work tree's");
    let branch = scenes::newest_branch(&env);
    assert_eq!(env.git(&["rev-parse", &format!("{branch}^")]), env.git(&["rev-parse", "side"]));
}

#[test]
fn a_linked_worktree_shares_the_runs_although_it_has_the_settings_too() {
    let env = busy();
    env.write(".gitignore", "");
    env.write(".spore/.gitignore", "spore.db*\nevents/\nruns/\n");
    env.git(&["add", "--force", ".gitignore", ".spore/config.toml"]);
    env.git(&["commit", "--quiet", "--no-verify", "--message", "share the settings"]);
    let linked = linked(&env);
    assert!(linked.join(".spore/config.toml").exists());
    check(&env, &linked, &[&linked]);
    assert!(!linked.join(".spore/spore.db").exists());
    assert_eq!(scenes::newest(&env)["status"], "verified");
}

#[test]
fn a_failed_run_leaves_everything_as_it_was_too() {
    let env = busy();
    let scenario = scenes::one_bounce(r#"{ write = "kept.txt", content = "gone\n" }"#);
    env.write_at(&env.dir().join("scenario.toml"), &scenario);
    let before = Footprint::of(&env.repo());
    let _ = scenes::orchestrate(&env, &["--max-bounces", "1"]).code(11);
    before.still_holds(&env.repo());
    assert!(!env.dir().join("home/hooked").exists(), "a hook was run");
}
