use std::fs;

use spore_git::{Checkout, GitError};

use crate::world::{World, exclusions};

#[test]
fn a_finished_checkout_is_reused_with_the_work_in_it() {
    let world = World::with("echo 1 > a");
    assert!(Checkout::open(&world.repo(), &world.place()).is_none());
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), "echo work > w");
    world.sh(&world.repo_dir(), "echo 2 > a; git commit -q -a -m two");
    let (again, other) = world.checkout();
    assert_ne!(base, other);
    assert_eq!(world.sh(again.dir(), "cat a w"), "1\nwork");
    let opened = Checkout::open(&world.repo(), &world.place()).unwrap();
    assert_eq!(opened.dir(), checkout.dir());
    assert!(opened.snapshot(&base, &exclusions()).is_ok());
}

#[test]
fn a_half_made_checkout_is_made_again() {
    let halves = [
        "echo begun > coder.state",
        "echo begun > coder.state; mkdir coder; touch coder/half coder.index.lock",
        "echo begun > coder.state; mkdir -p coder/.git coder.git; echo x > coder.index",
        "rm -f coder.state; mkdir coder",
    ];
    for half in halves {
        let world = World::with("echo 1 > a");
        fs::create_dir(world.path("state")).unwrap();
        world.sh(&world.path("state"), half);
        assert!(Checkout::open(&world.repo(), &world.place()).is_none());
        let (checkout, base) = world.checkout();
        let tree = checkout.snapshot(&base, &exclusions()).unwrap();
        assert_eq!(tree, world.repo().tree_of(&base).unwrap(), "{half}");
        assert_eq!(world.sh(checkout.dir(), "ls; git status --porcelain"), "a", "{half}");
    }
}

#[test]
fn a_finished_checkout_that_vanished_is_made_again() {
    let world = World::with("echo 1 > a");
    let (checkout, _) = world.checkout();
    fs::remove_dir_all(checkout.dir()).unwrap();
    assert!(Checkout::open(&world.repo(), &world.place()).is_none());
    let (checkout, _) = world.checkout();
    assert!(checkout.dir().join("a").exists());
}

#[test]
fn files_that_are_not_ours_are_never_cleared_away() {
    let world = World::with("echo 1 > a");
    fs::create_dir_all(world.place()).unwrap();
    fs::write(world.place().join("thesis"), "x").unwrap();
    let error = world.repo().checkout(&world.place(), &world.repo().head().unwrap()).unwrap_err();
    assert!(matches!(error, GitError::Occupied { .. }), "{error}");
    assert!(world.place().join("thesis").exists());
}

#[test]
fn a_discarded_checkout_leaves_nothing() {
    let world = World::with("echo 1 > a");
    let (checkout, _) = world.checkout();
    checkout.discard().unwrap();
    assert_eq!(fs::read_dir(world.path("state")).unwrap().count(), 0);
    assert!(world.repo_dir().join("a").exists());
}

#[test]
fn a_checkout_has_all_files_of_a_sparse_or_shallow_repository() {
    let world = World::with("mkdir in out; echo 1 > in/a; echo 2 > out/b");
    world.sh(&world.repo_dir(), "git commit -q --allow-empty -m two");
    let clone = format!("git clone -q --depth 1 'file://{}' small", world.repo_dir().display());
    world.sh(&world.path(""), &clone);
    world.sh(&world.path("small"), "git sparse-checkout set in; test ! -e out");
    let repo = spore_git::Repository::discover(&world.path("small")).unwrap();
    let head = repo.head().unwrap();
    let checkout = repo.checkout(&world.place(), &head).unwrap();
    assert!(checkout.dir().join("out/b").exists());
    assert_eq!(checkout.snapshot(&head, &exclusions()).unwrap(), repo.tree_of(&head).unwrap());
    assert_eq!(world.sh(checkout.dir(), "git log --format=%s; git status --porcelain"), "two");
}

#[test]
fn an_unknown_commit_changes_nothing() {
    let world = World::with("echo 1 > a");
    let nobody = spore_model::CommitId::new("0123456789".repeat(4)).unwrap();
    let error = world.repo().checkout(&world.place(), &nobody).unwrap_err();
    assert!(matches!(error, GitError::UnknownRevision { .. }), "{error}");
    assert!(!world.place().exists());

    let (checkout, base) = world.checkout();
    let error = checkout.snapshot(&nobody, &exclusions()).unwrap_err();
    assert!(matches!(error, GitError::UnknownRevision { .. }), "{error}");
    let error = checkout.reset(&nobody).unwrap_err();
    assert!(matches!(error, GitError::UnknownRevision { .. }), "{error}");
    checkout.reset(&base).unwrap();
}
