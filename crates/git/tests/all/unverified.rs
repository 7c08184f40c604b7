//! Unverified work: in a bare repository of Spore's own, and the user's has none of it.

use spore_git::{GitError, Repository};
use spore_model::{CommitId, Timestamp};

use crate::world::{World, changes, exclusions};

const BOUNCE: &str = "refs/spore/RUN/bounce/1";

fn repo(world: &World) -> Repository {
    world.repo().keeping_work_in(&world.path("work.git"))
}

/// Every object of the user's repository.
fn objects(world: &World) -> String {
    world.sh(&world.repo_dir(), "git cat-file --batch-check --batch-all-objects | sort")
}

/// A change in a checkout, as a run keeps it.
fn bounce(world: &World, repo: &Repository) -> (CommitId, CommitId) {
    let base = repo.head().unwrap();
    let checkout = repo.checkout(&world.place(), &base).unwrap();
    world.sh(checkout.dir(), "echo 2 > a; mkdir -p d/e; seq 1000 > d/e/junk");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    let commit = repo.commit_tree(&tree, &base, "bounce", Timestamp::from_millis(0)).unwrap();
    repo.set_ref(BOUNCE, &commit).unwrap();
    repo.set_ref(BOUNCE, &commit).unwrap();
    (base, commit)
}

#[test]
fn runs_that_begin_at_once_share_one_whole_repository() {
    const RUNS: usize = 8;
    let world = World::with_format("sha1", "echo 1 > a");
    let head = world.repo().head().unwrap();
    for _ in 0..25 {
        let start = std::sync::Barrier::new(RUNS);
        std::thread::scope(|scope| {
            for number in 0..RUNS {
                let (repo, head, start) = (repo(&world), &head, &start);
                let name = format!("refs/spore/RUN{number}/bounce/1");
                scope.spawn(move || {
                    start.wait();
                    repo.set_ref(&name, head).unwrap();
                });
            }
        });
        let kept = world.sh(&world.path("work.git"), "git for-each-ref | wc -l");
        assert_eq!(kept.trim(), RUNS.to_string());
        std::fs::remove_dir_all(world.path("work.git")).unwrap();
    }
}

#[test]
fn a_bounce_adds_nothing_to_the_users_repository() {
    for format in ["sha1", "sha256"] {
        let world = World::with_format(format, "echo 1 > a; echo 1 > b");
        let before = objects(&world);
        let repo = repo(&world);
        let (base, commit) = bounce(&world, &repo);
        repo.set_ref("refs/spore/RUN/base", &base).unwrap();
        assert_eq!(objects(&world), before);
        let refs = world.sh(&world.repo_dir(), "git for-each-ref --format='%(refname)'");
        assert_eq!(refs, "refs/heads/main\nrefs/spore/RUN/base");
        // It is seen by Spore all the same, also by one that is started anew.
        let again = self::repo(&world);
        let tree = again.tree_of(&commit).unwrap();
        assert_eq!(changes(&again, &base, &tree), "M a\nA d/e/junk");
        assert_eq!(again.ref_target(BOUNCE).unwrap(), Some(commit.clone()));
        let names: Vec<String> =
            again.refs_under("refs/spore/RUN").unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["refs/spore/RUN/base", BOUNCE]);
        // Whatever the user tidies up, it stays.
        world.sh(&world.repo_dir(), "git gc -q --prune=now");
        let checkout = again.checkout(&world.path("state/verifier"), &commit).unwrap();
        assert!(checkout.dir().join("d/e/junk").exists());
        // The agent's own git has all of it, without a look at Spore's.
        world.sh(&world.path(""), "mv work.git hidden");
        let log = "git fsck --no-dangling; git status --porcelain; git log --format=%s";
        assert_eq!(world.sh(checkout.dir(), log), "bounce\nbase");
        assert_eq!(world.sh(checkout.dir(), "git diff --name-only HEAD~"), "a\nd/e/junk");
    }
}

#[test]
fn what_lands_is_whole_in_the_users_repository() {
    for (dir, prepared) in [
        ("repo", "true"),
        ("work.git", "git repack -q -a -d -l; test -n \"$(ls objects/pack)\""),
        ("repo", "git config core.sharedRepository group"),
    ] {
        let world = World::with("echo 1 > a; echo 1 > b");
        let (base, commit) = bounce(&world, &repo(&world));
        world.sh(&world.path(dir), prepared);
        let repo = repo(&world);
        let tree = repo.tree_of(&commit).unwrap();
        let result = repo.commit_tree(&tree, &base, "result", Timestamp::from_millis(0)).unwrap();
        for _ in 0..2 {
            repo.set_ref("refs/spore/RUN/result", &result).unwrap();
            repo.set_ref("refs/heads/spore/RUN", &result).unwrap();
        }
        assert!(repo.move_branch("refs/heads/main", &base, &result, "spore").unwrap());
        std::fs::remove_dir_all(world.path("work.git")).unwrap();
        world.sh(&world.repo_dir(), "git fsck --strict --no-dangling");
        assert_eq!(world.sh(&world.repo_dir(), "git show spore/RUN:a"), "2", "{prepared}");
        let bounce = world.sh(&world.repo_dir(), &format!("git cat-file -e {commit} || echo none"));
        assert_eq!(bounce, "none", "{prepared}");
    }
}

#[test]
fn a_ref_of_the_users_is_not_set_to_what_is_not_there() {
    let world = World::with("echo 1 > a");
    let repo = repo(&world);
    let (_, commit) = bounce(&world, &repo);
    std::fs::remove_dir_all(world.path("work.git")).unwrap();
    let error = repo.set_ref("refs/heads/spore/RUN", &commit).unwrap_err();
    assert!(matches!(error, GitError::Failed { .. } | GitError::ObjectsGone { .. }), "{error}");
}

#[test]
fn forgotten_work_is_gone_from_the_disk_and_the_rest_is_not() {
    let world = World::with("echo 1 > a");
    let repo = repo(&world);
    let (_, commit) = bounce(&world, &repo);
    repo.set_ref("refs/spore/OTHER/bounce/1", &commit).unwrap();
    let count = || world.sh(&world.path("work.git"), "find objects -type f -name '??*' | wc -l");
    let full = count();
    repo.forget_work("refs/spore/RUN").unwrap();
    repo.sweep_work().unwrap();
    assert_eq!(count(), full);
    assert_eq!(repo.ref_target(BOUNCE).unwrap(), None);
    assert_eq!(repo.ref_target("refs/spore/OTHER/bounce/1").unwrap(), Some(commit));
    repo.forget_work("refs/spore/OTHER").unwrap();
    repo.sweep_work().unwrap();
    // What is left is the list of what is borrowed.
    assert_eq!(count(), "1");
    bounce(&world, &self::repo(&world));
    assert_eq!(count(), full);
}

#[test]
fn a_project_that_was_moved_borrows_from_where_it_is_now() {
    let world = World::with("echo 1 > a; mkdir .spore; echo '*' > .spore/.gitignore");
    let here = |root: &str| {
        let root = world.path(root);
        Repository::discover(&root).unwrap().keeping_work_in(&root.join(".spore/work.git"))
    };
    let (_, commit) = bounce(&world, &here("repo"));
    assert_eq!(world.sh(&world.repo_dir(), "git status --porcelain"), "");
    world.sh(&world.path(""), "mv repo moved; rm -r state");
    let moved = here("moved");
    let checkout = moved.checkout(&world.place(), &commit).unwrap();
    assert!(checkout.dir().join("d/e/junk").exists());
}
