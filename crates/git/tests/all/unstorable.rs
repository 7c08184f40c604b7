//! What an agent leaves that no tree can hold: said in words, and gone with the next reset.

use spore_git::{ChangeCaps, GitError};

use crate::world::{World, changes, exclusions};

/// Checks that a snapshot is refused for the files' sake, as often as it is tried, and that a
/// reset helps.
#[track_caller]
fn check(base: &str, agent: &str, words: &str) {
    let world = World::with(base);
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), agent);
    for _ in 0..2 {
        match checkout.snapshot(&base, &exclusions()).unwrap_err() {
            GitError::Unstorable { why } => assert!(why.contains(words), "{why}"),
            error => panic!("{agent}: {error}"),
        }
    }
    checkout.reset(&base).unwrap();
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(tree, world.repo().tree_of(&base).unwrap());
}

/// Makes directories below each other, and a file in the last.
fn deep(levels: u32, length: u32) -> String {
    format!(
        "top=$PWD; part=$(printf %0{length}d 0); i=0
         while [ $i -lt {levels} ]; do mkdir $part; cd -P ./$part; i=$((i + 1)); done; echo 1 > f"
    )
}

#[test]
fn a_path_that_is_too_long_is_said_to_be() {
    check("echo 1 > a", &deep(25, 200), "is too long");
    check("echo 1 > a", &deep(40, 250), "is too long");
    check("echo 1 > a", &deep(250, 1), "is too long");
    check("echo '*.o' > .gitignore", &deep(15, 200), "is too long");
}

#[test]
fn names_that_git_refuses_are_left_out() {
    let world = World::with("echo 1 > a");
    let (checkout, base) = world.checkout();
    world.sh(
        checkout.dir(),
        "mkdir 'git~1'; echo x > 'git~1/config'; ln -s a .gitmodules; echo 2 > a",
    );
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(changes(&world.repo(), &base, &tree), "M a");
}

#[test]
fn text_that_is_not_in_its_encoding_is_said_to_be() {
    check(
        "echo '*.txt working-tree-encoding=UTF-16' > .gitattributes",
        "printf 'a' > a.txt",
        "a.txt",
    );
}

#[test]
fn a_change_beyond_the_caps_leaves_nothing_in_the_object_store() {
    let world = World::with("for i in $(seq 30); do echo $i > f$i; done; seq 1000 > big");
    let (checkout, base) = world.checkout();
    let objects = || world.sh(&world.repo_dir(), "find .git/objects -type f | sort");
    let before = objects();
    let refused = |caps: ChangeCaps| {
        let error = checkout.snapshot_within(&base, &exclusions(), caps).unwrap_err();
        let GitError::Unstorable { why } = error else { panic!("{error}") };
        why
    };
    // More files than the cap are there, but few of them are changed.
    let caps = ChangeCaps { bytes: 2000, files: 5 };
    world.sh(checkout.dir(), "touch f* big; echo x > f1; rm f2; echo 1 > new");
    let tree = checkout.snapshot_within(&base, &exclusions(), caps).unwrap();
    assert_eq!(changes(&world.repo(), &base, &tree), "M f1\nD f2\nA new");
    let kept = objects();
    assert_ne!(kept, before);

    world.sh(checkout.dir(), "for i in $(seq 6); do echo $i > n$i; done");
    let words = refused(caps);
    assert!(words.starts_with("the change writes 8 files with"), "{words}");
    world.sh(checkout.dir(), "rm n*; seq 2000 | tee big > junk");
    let words = refused(caps);
    assert!(words.contains("8893 bytes"), "{words}");
    assert_eq!(objects(), kept);
    // A lost index is no reason to take all files for new.
    world.sh(checkout.dir(), "rm junk ../coder.index ../coder.laid; git checkout -q big");
    checkout.snapshot_within(&base, &exclusions(), caps).unwrap();
}

#[test]
fn objects_that_were_pruned_are_stored_anew() {
    let world = World::with("echo 1 > a");
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), "echo 2 > a; mkdir d; echo 3 > d/b");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    let when = spore_model::Timestamp::from_millis(0);
    let commit = world.repo().commit_tree(&tree, &base, "bounce", when).unwrap();
    checkout.reset(&commit).unwrap();
    world.sh(&world.repo_dir(), "git prune --expire=now; git gc -q --prune=now");
    // Another process: this one has read what is gone.
    let again = spore_git::Checkout::open(&world.repo(), checkout.dir()).unwrap();
    assert_eq!(again.snapshot(&base, &exclusions()).unwrap(), tree);
    assert_eq!(changes(&world.repo(), &base, &tree), "M a\nA d/b");
}

#[test]
fn lost_objects_are_called_that() {
    let world = World::with("mkdir d; echo 1 > d/a");
    let base = world.repo().head().unwrap();
    world.sh(
        &world.repo_dir(),
        "t=$(git rev-parse HEAD:d); rm -f .git/objects/${t%${t#??}}/${t#??}",
    );
    let error = world.repo().checkout(&world.place(), &base).unwrap_err();
    assert!(matches!(error, GitError::ObjectsGone { .. }), "{error}");
}
