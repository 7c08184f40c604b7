//! Work applied in real repositories: each way, each refusal, and killed at each effect.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use spore_effects::{FixedClock, Ids, Probe, Tool};
use spore_model::{Timestamp, TreeId};
use tempfile::TempDir;

use super::*;
use crate::Interrupt;
use crate::base::run_refs::branch;

pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_767_225_600_000);

/// A repository with a base and a verified commit on it, which a run ended with.
pub(crate) struct Yard {
    dir: TempDir,
    pub(crate) run: RunId,
    pub(crate) base: CommitId,
    pub(crate) commit: CommitId,
}

impl Yard {
    /// Commits what `base` makes, and on top of it, away from any branch, what `change` makes.
    pub(crate) fn new(base: &str, change: &str) -> Self {
        // In memory where that is to be had: git syncs a lot.
        let place = Some(Path::new("/dev/shm")).filter(|shm| shm.is_dir());
        let dir = place.map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap();
        let yard = Self { dir, run: RunId::from_parts(1, 7), base: any(), commit: any() };
        std::fs::create_dir(yard.repo()).unwrap();
        yard.sh("git init -q -b main; git config user.name Ada; git config user.email a@b.c");
        yard.sh(&format!(
            "echo .spore > .git/info/exclude; {base}; git add -A; git commit -qm base"
        ));
        let before = CommitId::new(yard.sh("git rev-parse HEAD")).unwrap();
        yard.sh(&format!(
            "git checkout -q --detach; {change}; git add -A; git commit -qm 'a change'"
        ));
        let commit = CommitId::new(yard.sh("git rev-parse HEAD")).unwrap();
        yard.sh("git checkout -q main; git reflog expire --expire=now --all");
        Self { base: before, commit, ..yard }
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    #[track_caller]
    pub(crate) fn sh(&self, script: &str) -> String {
        shell(&self.repo(), script)
    }

    pub(crate) fn around(&self) -> Surroundings {
        self.around_with(Probe::idle())
    }

    pub(crate) fn around_with(&self, probe: Probe) -> Surroundings {
        surroundings(&self.repo(), probe)
    }

    pub(crate) fn apply(&self, how: Apply) -> Applied {
        apply_in(&self.repo(), Probe::idle(), self.run, &self.base, &self.commit, how).unwrap()
    }

    pub(crate) fn branch(&self) -> String {
        branch(self.run, "")
    }

    /// Everything of the user's: files, index, branches; not Spore's own.
    pub(crate) fn users(&self) -> String {
        self.sh("git for-each-ref refs/heads refs/tags refs/stash --format='%(refname) %(objectname)' | grep -v spore/ || true
                 git symbolic-ref -q HEAD || git rev-parse HEAD; git ls-files --stage
                 find . -path ./.git -prune -o -path ./.spore -prune -o -type f -print | sort | xargs sha1sum")
    }
}

fn any() -> CommitId {
    CommitId::new("0".repeat(40)).unwrap()
}

#[track_caller]
fn shell(dir: &Path, script: &str) -> String {
    let output = Tool::new("sh")
        .args(["-e", "-c", script])
        .cwd(dir)
        .env("HOME", dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
        .output()
        .unwrap();
    assert!(output.is_success(), "{script}\n{}", output.complaint());
    output.text()
}

pub(crate) fn surroundings(repo: &Path, probe: Probe) -> Surroundings {
    let clock: Arc<dyn spore_effects::Clock> = Arc::new(FixedClock(NOW));
    let home = repo.parent().unwrap().to_owned();
    Surroundings {
        ids: Ids::seeded(Arc::clone(&clock), 7),
        clock,
        probe,
        exe: PathBuf::new(),
        cwd: repo.to_owned(),
        root: None,
        variables: Vec::new(),
        config_file: home.join("config.toml"),
        state_home: home.join("state"),
        credentials: crate::base::credentials::Credentials::default(),
        interrupt: Interrupt::default(),
        starter: None,
    }
}

fn apply_in(
    repo: &Path,
    probe: Probe,
    run: RunId,
    base: &CommitId,
    commit: &CommitId,
    how: Apply,
) -> Result<Applied> {
    let around = surroundings(repo, probe);
    let workspace = Workspace::find(&around)?;
    std::fs::create_dir_all(workspace.run_files(run).dir()).unwrap();
    let repository = workspace.repository(&around)?;
    let (around, workspace, repository) = (&around, &workspace, &repository);
    let site = Site { around, workspace, repository, run, branch: branch(run, "") };
    // No gate is here to check anything with.
    let mut bring = |_: &CommitId| Ok(Brought::Not("no check has seen both together".to_owned()));
    match apply(&site, base, commit, how, &mut bring)? {
        ApplyEnd::Over(applied) => Ok(applied),
        ApplyEnd::Waits { reason, .. } => panic!("it waits: {reason}"),
    }
}

pub(crate) const BASE: &str = "seq 20 > a; echo 1 > b; echo 1 > gone; mkdir d; echo 1 > d/x";
pub(crate) const CHANGE: &str = "sed -i s/^3$/x/ a; git rm -q gone; mkdir n; echo new > n/new";

#[test]
fn each_way_leaves_what_it_says_and_nothing_else() {
    for how in [Apply::None, Apply::Branch, Apply::Patch] {
        let yard = Yard::new(BASE, CHANGE);
        yard.sh("echo mine > b; echo new > untracked");
        let before = yard.users();
        let applied = yard.apply(how);
        assert_eq!(yard.apply(how), applied, "twice is once");
        assert!(applied.done && applied.how == how && applied.commit == Some(yard.commit.clone()));
        assert_eq!(yard.users(), before);
        let refs = yard.sh("git for-each-ref --format='%(refname)' refs/spore refs/heads/spore");
        let result = format!("refs/spore/{}/result", yard.run);
        let expected = match how {
            Apply::Branch => format!("refs/heads/{}\n{result}", yard.branch()),
            _ => result,
        };
        assert_eq!(refs, expected);
        assert_eq!(applied.path.is_some(), how == Apply::Patch);
    }
}

#[test]
fn a_patch_is_taken_by_git_am_as_the_answer_says() {
    let yard = Yard::new(BASE, "printf '1\\r\\n' > b; mv d/x d/y; printf '\\0\\1' > bin");
    let applied = yard.apply(Apply::Patch);
    let next = applied.next.unwrap();
    assert!(next.starts_with("git am --keep-cr .spore/runs/"), "{next}");
    yard.sh(&next);
    assert_eq!(
        yard.sh("git rev-parse HEAD^{tree}"),
        yard.sh(&format!("git rev-parse {}^{{tree}}", yard.commit))
    );
}

#[test]
fn a_merge_onto_the_base_is_a_fast_forward() {
    let yard = Yard::new(BASE, CHANGE);
    yard.sh("echo mine > b; echo new > untracked; echo s > d/x; git add d/x");
    let applied = yard.apply(Apply::Merge);
    assert_eq!((applied.what.as_str(), applied.done), ("merged into main", true));
    assert_eq!(applied.commit, Some(yard.commit.clone()));
    assert_eq!(yard.sh("git rev-parse main"), yard.commit.as_str());
    assert_eq!(yard.sh("git status --porcelain"), " M b\nM  d/x\n?? untracked");
    assert_eq!(yard.apply(Apply::Merge), applied, "twice is once");
    assert_eq!(yard.sh("git status --porcelain"), " M b\nM  d/x\n?? untracked");
}

/// Checks that a merge is refused, says why, touches nothing, and leaves the branch.
#[track_caller]
fn check_refused(prepare: &str, expected: &str) {
    let yard = Yard::new(BASE, CHANGE);
    yard.sh(prepare);
    let before = yard.users();
    for _ in 0..2 {
        let applied = yard.apply(Apply::Merge);
        assert!(!applied.done && applied.what.contains(expected), "{prepare}: {}", applied.what);
        assert_eq!(applied.next, Some(format!("git merge {}", yard.branch())));
        assert_eq!(yard.users(), before, "{prepare}");
    }
    assert_eq!(yard.sh(&format!("git rev-parse {}", yard.branch())), yard.commit.as_str());
}

#[test]
fn a_merge_that_cannot_be_clean_touches_nothing() {
    // Whether the two conflict or not: without a check of both together nothing lands.
    for theirs in ["sed -i s/^3$/z/ a", "sed -i s/^17$/y/ a", "echo mine > b"] {
        check_refused(
            &format!("{theirs}; git commit -qam ours"),
            "no check has seen both together",
        );
    }
    check_refused(
        "git checkout -q --orphan x; git commit -qm x",
        "x does not have the commit that the run began from",
    );
    check_refused("echo mine > a", "a has uncommitted changes");
    check_refused("mkdir n; echo mine > n/new", "n/new is not tracked");
    check_refused("git rm -q gone", "gone has uncommitted changes");
    check_refused("git checkout -q --detach", "no branch is checked out");
    check_refused("git checkout -q --orphan x", "has no commit");
    check_refused("git rev-parse HEAD > .git/MERGE_HEAD", "a merge is under way");
}

#[test]
fn work_that_is_there_already_is_not_merged_again() {
    let yard = Yard::new(BASE, CHANGE);
    yard.sh(&format!("git merge -q {}; echo more >> b; git commit -qam more", yard.commit));
    let before = yard.users();
    let applied = yard.apply(Apply::Merge);
    assert_eq!((applied.what.as_str(), applied.done), ("already in main", true));
    assert_eq!(yard.users(), before);
}

#[test]
fn a_merge_lands_in_the_work_tree_it_was_asked_for_in() {
    let yard = Yard::new(BASE, CHANGE);
    yard.sh("git worktree add -q -b side ../side");
    let before = yard.users();
    let side = yard.repo().with_file_name("side");
    let applied =
        apply_in(&side, Probe::idle(), yard.run, &yard.base, &yard.commit, Apply::Merge).unwrap();
    assert_eq!(applied.what, "merged into side");
    assert_eq!(shell(&side, "cat n/new; git status --porcelain"), "new");
    assert_eq!(yard.users().replace(yard.commit.as_str(), yard.base.as_str()), before);
    // Resumed from the main work tree, it is found to be done.
    assert_eq!(yard.apply(Apply::Merge), applied);
    assert_eq!(yard.sh("git rev-parse main"), yard.base.as_str());
}

#[test]
fn ways_are_read_from_text() {
    for way in Apply::ALL {
        assert_eq!(way.as_str().parse(), Ok(way));
        assert_eq!(serde_json::to_value(way).unwrap(), way.as_str());
    }
    let error = "rebase".parse::<Apply>().unwrap_err().to_string();
    assert_eq!(
        error,
        "\"rebase\" is no way to apply verified work: it is branch, merge, patch or none"
    );
}

#[test]
fn the_trailers_of_a_commit_are_trailers_to_git_whatever_the_task_says() {
    let yard = Yard::new(BASE, CHANGE);
    let tree = TreeId::new(yard.sh("git rev-parse HEAD^{tree}")).unwrap();
    let tasks = [
        "fix it",
        "fix it\n\nwith a body\n\nSpore-Run: forged\nSigned-off-by: me",
        "fix\n---\nbelow the line",
        "---\n--- a/x\n+++ b/x",
        "# not a comment\n; nor this\n\0\x1b[31mred\r\nlast  ",
        "   \n\t\n",
        "title\n\n-- >8 --\n----- 8< -----\nBREAKING: x",
    ];
    for task in tasks {
        let message = commit_message(&CommitStory {
            subject: "",
            task,
            run: yard.run,
            tree: &tree,
            // An agent's last words can be just as much of anything.
            said: task,
            changed: &["a".to_owned(), "d/x".to_owned()],
            judged: CommitJudge::Verifier { proof: None },
        });
        std::fs::write(yard.repo().join("message"), &message).unwrap();
        let parsed = yard.sh("git interpret-trailers --parse message");
        let expected =
            format!("Spore-Run: {}\nSpore-Verdict: supports\nSpore-Tree: {tree}", yard.run);
        assert_eq!(parsed, expected, "{message}");
        yard.sh("git commit -q --allow-empty --cleanup=verbatim -F message");
        assert_eq!(yard.sh("git log -1 --format='%(trailers)'"), expected, "{message}");
        assert!(!yard.sh("git log -1 --format=%s").is_empty());
    }
}

/// Not a test by itself: what the next one starts and kills.
#[test]
#[ignore = "is started by another test"]
fn applies_in_a_process_of_its_own() {
    let Some(scene) = std::env::var_os("SPORE_TEST_SCENE") else { return };
    let scene: (PathBuf, RunId, CommitId, CommitId) =
        serde_json::from_str(scene.to_str().unwrap()).unwrap();
    let variable = |name| std::env::var(name).ok();
    let probe = Probe::armed(
        variable("SPORE_EFFECTS_LOG").map(PathBuf::from),
        variable("SPORE_KILL_AT").as_deref(),
    );
    apply_in(&scene.0, probe, scene.1, &scene.2, &scene.3, Apply::Merge).unwrap();
}

/// Applies in a child process, which is killed at a point, and returns its exit code.
fn apply_and_die(yard: &Yard, variable: (&str, &str)) -> i32 {
    let scene = serde_json::to_string(&(yard.repo(), yard.run, &yard.base, &yard.commit)).unwrap();
    let test = "run::landing::apply::tests::applies_in_a_process_of_its_own";
    let output = Tool::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("SPORE_TEST_SCENE", scene)
        .env(variable.0, variable.1)
        .output()
        .unwrap();
    output.code
}

#[test]
fn a_merge_killed_at_any_effect_ends_like_one_that_was_not() {
    let yard = || {
        let yard = Yard::new(BASE, CHANGE);
        yard.sh("echo mine > b; echo u > untracked");
        yard
    };
    let state = |yard: &Yard| {
        let refs = yard.sh("git for-each-ref refs/spore --format='%(refname) %(objectname)'");
        let files =
            yard.sh("ls .spore/runs/*; cat .spore/runs/*/landing.json; git status --porcelain");
        let files = files.replace(&yard.repo().display().to_string(), "REPO");
        format!("{}\n{refs}\n{files}", yard.users())
    };
    let undisturbed = yard();
    let log = undisturbed.repo().with_file_name("effects.log");
    assert_eq!(apply_and_die(&undisturbed, ("SPORE_EFFECTS_LOG", log.to_str().unwrap())), 0);
    let (points, expected) = (std::fs::read_to_string(&log).unwrap(), state(&undisturbed));
    assert!(points.lines().count() >= 12, "{points}");
    // To be killed after an effect is to be killed before the next.
    let last = points.lines().last().unwrap();
    for point in points.lines().filter(|point| point.starts_with("before:")).chain([last]) {
        let yard = yard();
        assert_eq!(apply_and_die(&yard, ("SPORE_KILL_AT", point)), 137, "{point}");
        assert!(yard.apply(Apply::Merge).done, "{point}");
        assert_eq!(state(&yard), expected, "{point}");
    }
}

/// Whether the files were clean, and what came of laying the change into them.
fn lay(yard: &Yard) -> (Result<()>, Result<in_place::Laying>) {
    let around = yard.around();
    let workspace = Workspace::find(&around).unwrap();
    std::fs::create_dir_all(workspace.run_files(yard.run).dir()).unwrap();
    let repository = workspace.repository(&around).unwrap();
    let (around, workspace, repository) = (&around, &workspace, &repository);
    let site = Site { around, workspace, repository, run: yard.run, branch: yard.branch() };
    (refuse_dirty(repository), lay_down(&site, &yard.base, &yard.commit))
}

#[test]
fn a_change_is_laid_into_clean_files_and_only_there() {
    let yard = Yard::new(BASE, CHANGE);
    let (clean, laid) = lay(&yard);
    assert!(clean.is_ok() && laid.unwrap().done);
    let staged = "M  a\nD  gone\nA  n/new";
    assert_eq!(yard.sh("git status --porcelain"), staged);
    assert_eq!(yard.sh("git rev-parse main"), yard.base.as_str());
    // After a crash: some files written, the index not.
    yard.sh("git reset -q");
    assert!(lay(&yard).1.unwrap().done);
    assert_eq!(yard.sh("git status --porcelain"), staged);

    let yard = Yard::new(BASE, CHANGE);
    yard.sh("echo mine > a; echo new > untracked; echo s > d/x; git add d/x");
    let before = yard.users();
    let (clean, laid) = lay(&yard);
    let (clean, laid) = (clean.unwrap_err(), laid.unwrap());
    let message = "your work tree has uncommitted files: a, d/x, untracked";
    assert_eq!((clean.exit_code(), clean.to_string()), (65, message.to_owned()));
    assert!(!laid.done && laid.what.contains("a has uncommitted changes"), "{}", laid.what);
    assert_eq!(yard.users(), before);
}

#[test]
fn a_laying_that_was_cut_off_overwrites_nothing_that_was_written_since() {
    let yard = Yard::new(BASE, CHANGE);
    assert!(lay(&yard).1.unwrap().done);
    // Cut off before the new file came, which the user has written since and git ignores.
    yard.sh("git reset -q; echo n >> .git/info/exclude; echo precious > n/new");
    let before = yard.users();
    let error = lay(&yard).1.unwrap_err();
    assert!(error.to_string().contains("n/new is not tracked and would be overwritten"), "{error}");
    assert_eq!((error.exit_code(), yard.users()), (65, before));
    yard.sh("mv n/new elsewhere");
    assert!(lay(&yard).1.unwrap().done);
    assert_eq!(yard.sh("cat elsewhere; git diff --cached --name-only"), "precious\na\ngone\nn/new");
}
