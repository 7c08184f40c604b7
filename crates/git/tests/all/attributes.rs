//! Attributes choose how files are converted and which programs convert them, so those of the base
//! count and not those that an agent writes.

use spore_git::Checkout;
use spore_model::CommitId;

use crate::world::{World, changes, exclusions};

/// A checkout in which the attributes of the base count, as those of a run.
fn checkout(world: &World) -> (Checkout, CommitId) {
    let repo = world.repo();
    let base = repo.head().unwrap();
    (repo.with_attributes_of(&base).checkout(&world.place(), &base).unwrap(), base)
}

/// Checks what an agent's work amounts to.
#[track_caller]
fn check(base: &str, agent: &str, expected: &str) {
    let world = World::with(base);
    let (checkout, base) = checkout(&world);
    world.sh(checkout.dir(), agent);
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(changes(&world.repo(), &base, &tree), expected);
}

#[test]
fn a_file_that_was_not_edited_is_no_change_whatever_the_attributes_become() {
    let crlf = "printf '*.txt text eol=crlf\\n' > .gitattributes; printf 'a\\nb\\n' > a.txt";
    check(crlf, "touch a.txt", "");
    check(
        crlf,
        "grep -q $'\\r' a.txt || grep -q \"$(printf '\\r')\" a.txt; rm .gitattributes; touch a.txt",
        "D .gitattributes",
    );
    check(crlf, "echo '*.txt -text' > .gitattributes; touch a.txt", "M .gitattributes");
    let raw = "printf 'a\\r\\nb\\r\\n' > a.txt; printf 'b\\n' > b.txt";
    check(raw, "echo '* text eol=crlf' > .gitattributes; touch a.txt b.txt", "A .gitattributes");
    check(raw, "mkdir d; echo '* ident' > d/.gitattributes; touch a.txt", "A d/.gitattributes");
    let ident = "echo '*.txt ident' > .gitattributes; echo '$Id$' > a.txt";
    check(ident, "grep -q 'Id: ' a.txt; rm .gitattributes; touch a.txt", "D .gitattributes");
}

#[test]
fn an_encoding_that_does_not_exist_is_no_obstacle() {
    check(
        "echo 1 > a.txt",
        "echo '*.txt working-tree-encoding=nonsense' > .gitattributes; echo 2 > a.txt",
        "A .gitattributes\nM a.txt",
    );
}

/// A repository whose user has Git LFS, in the shape of a program that leaves a mark.
fn with_lfs(script: &str) -> World {
    let world = World::with(script);
    world.sh(
        &world.repo_dir(),
        "printf '#!/bin/sh\\necho \"$1\" >> %s/ran\\n[ $1 = clean ] && sed s/content/pointer/ || \
         sed s/pointer/content/\\n' \"$HOME\" > ../lfs; chmod +x ../lfs
         git config filter.lfs.clean \"$HOME/lfs clean\"
         git config filter.lfs.smudge \"$HOME/lfs smudge\"
         git config filter.lfs.required true",
    );
    world
}

fn ran(world: &World) -> String {
    let mark = world.path("ran");
    let ran = std::fs::read_to_string(&mark).unwrap_or_default();
    let _ = std::fs::remove_file(mark);
    ran
}

#[test]
fn git_lfs_runs_where_the_base_says_so_and_nowhere_else() {
    let world =
        with_lfs("echo '*.bin filter=lfs' > .gitattributes; echo pointer > a.bin; echo 1 > b");
    let (checkout, base) = checkout(&world);
    assert_eq!(std::fs::read(checkout.dir().join("a.bin")).unwrap(), b"content\n");
    assert_eq!(ran(&world), "smudge\n");
    world.sh(checkout.dir(), "touch a.bin");
    assert_eq!(
        checkout.snapshot(&base, &exclusions()).unwrap(),
        world.repo().tree_of(&base).unwrap()
    );
    ran(&world);

    world.sh(checkout.dir(), "echo '* filter=lfs' > .gitattributes; echo 2 > b; echo 3 > c");
    assert!(!checkout.looks_untouched().unwrap());
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(changes(&world.repo(), &base, &tree), "M .gitattributes\nM b\nA c");
    assert!(!ran(&world).contains("smudge"));
    world.sh(checkout.dir(), "rm a.bin .gitattributes; echo '* filter=lfs' > .gitattributes");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(ran(&world), "");

    // The checkout of the change, by the base's attributes: nothing but what they name.
    let repo = world.repo();
    let when = spore_model::Timestamp::from_millis(0);
    let change = repo.commit_tree(&tree, &base, "change", when).unwrap();
    checkout.reset(&change).unwrap();
    assert_eq!(ran(&world), "");
    assert!(checkout.looks_untouched().unwrap());
}

#[test]
fn git_lfs_does_not_run_with_settings_of_the_change() {
    let world = with_lfs("echo '*.bin filter=lfs' > .gitattributes; echo pointer > a.bin");
    let (checkout, base) = checkout(&world);
    world.sh(checkout.dir(), "echo pointer of mine > b.bin; echo '[lfs]' > .lfsconfig");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    ran(&world);
    let when = spore_model::Timestamp::from_millis(0);
    let change = world.repo().commit_tree(&tree, &base, "change", when).unwrap();
    let repo = world.repo().with_attributes_of(&base);
    let other = repo.checkout(&world.path("state/verifier"), &change).unwrap();
    assert_eq!(ran(&world), "");
    assert_eq!(std::fs::read(other.dir().join("b.bin")).unwrap(), b"pointer of mine\n");
}
