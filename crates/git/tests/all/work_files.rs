//! The user's own files as a tree.

use crate::world::{World, changes, exclusions, photograph};

/// Checks what of the user's uncommitted work is in the tree, and that nothing of theirs is
/// touched by looking.
#[track_caller]
fn check(base: &str, work: &str, expected: &str) {
    let world = World::with(base);
    world.sh(&world.repo_dir(), work);
    let repo = world.repo();
    let head = repo.head().unwrap();
    let everything = |name: &str| !name.starts_with(".git/objects");
    let before = photograph(&world.repo_dir(), &everything);
    let tree = repo.present(&world.path("state/scratch/index"), &exclusions()).unwrap();
    assert_eq!(changes(&repo, &head, &tree), expected);
    assert_eq!(photograph(&world.repo_dir(), &everything), before);
    assert_eq!(repo.present(&world.path("state/scratch/index"), &exclusions()).unwrap(), tree);
    assert!(!world.path("state/scratch/index").exists());
}

#[test]
fn what_is_on_disk_is_in_the_tree_staged_or_not() {
    check("echo 1 > a; echo 2 > b", "", "");
    check(
        "echo 1 > a; echo 2 > b; echo 3 > c",
        "echo x > a; rm b; echo staged > c; git add c; echo later > c; mkdir d; echo n > d/e",
        "M a\nD b\nM c\nA d/e",
    );
    check("echo 1 > a", "rm a; mkdir a; echo 2 > a/b", "D a\nA a/b");
}

#[test]
fn what_is_ignored_or_excluded_stays_out() {
    check(
        "echo out > .gitignore; echo 1 > .env",
        "echo x > out; echo secret > .env; echo x > data.db; mkdir -p .spore; echo x > .spore/y",
        "",
    );
}
