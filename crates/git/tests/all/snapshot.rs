use std::os::unix::fs::symlink;

use spore_git::{Exclusions, GitError};

use crate::world::{World, changes, exclusions};

/// Checks what of an agent's work in a checkout of `base` enters a snapshot. It is taken
/// twice, then once more by a fresh index: all must be the same tree.
#[track_caller]
fn check(base: &str, agent: &str, expected: &str) {
    let world = World::with(base);
    let (checkout, commit) = world.checkout();
    world.sh(checkout.dir(), agent);
    let tree = checkout.snapshot(&commit, &exclusions()).unwrap();
    assert_eq!(changes(&world.repo(), &commit, &tree), expected);
    assert_eq!(checkout.snapshot(&commit, &exclusions()).unwrap(), tree);
    std::fs::remove_file(world.path("state/coder.index")).unwrap();
    assert_eq!(checkout.snapshot(&commit, &exclusions()).unwrap(), tree);
}

#[test]
fn an_unchanged_checkout_is_the_bases_tree() {
    check("echo 1 > a; mkdir -p b/c; echo 2 > b/c/d; ln -s a l; echo > x.db; mkdir e", "", "");
}

#[test]
fn new_changed_and_removed_files_enter() {
    check(
        "echo 1 > a; echo 2 > b",
        "echo x >> a; rm b; mkdir -p c/d; echo 3 > c/d/e",
        "M a\nD b\nA c/d/e",
    );
    check("seq 50 > a", "mkdir d; mv a d/b", "R a -> d/b");
    check("echo 1 > a", "chmod +x a", "M a");
    check("echo 1 > a", "rm a", "D a");
}

/// Git's index knows a file by its size and the second of its time.
#[test]
fn an_edit_of_the_same_size_in_the_second_of_the_checkout_enters() {
    let world = World::with("echo 1 > a; echo 1 > gone");
    let mut met = false;
    for _ in 0..4 {
        let (checkout, commit) = world.checkout();
        world.sh(checkout.dir(), "echo 2 > a; rm gone");
        let second = |name: &str| world.sh(checkout.dir(), &format!("stat -c %Y {name}"));
        met |= second("a") == second("../coder.index");
        world.sh(checkout.dir(), "while [ $(date +%s) = $(stat -c %Y a) ]; do sleep 0.02; done");
        let tree = checkout.snapshot(&commit, &exclusions()).unwrap();
        assert_eq!(changes(&world.repo(), &commit, &tree), "M a\nD gone");
        checkout.discard().unwrap();
        if met {
            break;
        }
    }
    assert!(met, "no edit fell into the second of its checkout");
}

#[test]
fn a_path_may_change_its_kind() {
    check("echo 1 > a", "rm a; mkdir a; echo 2 > a/b", "D a\nA a/b");
    check("mkdir a; echo 1 > a/b", "rm -r a; echo 2 > a", "A a\nD a/b");
    check("echo 1 > a; echo 2 > b", "rm b; ln -s a b", "T b");
    check("mkdir a; echo 1 > a/b", "mv a c; ln -s c a", "A a\nR a/b -> c/b");
    check("echo 1 > a", "ln -s /etc/passwd p; ln -s nowhere q", "A p\nA q");
}

#[test]
fn ignored_files_stay_out_and_tracked_ones_in() {
    let base = "printf 'build/\\n*.o\\n!keep.o\\n' > .gitignore
                mkdir build; echo 1 > build/in.c; echo 2 > t.o";
    check(
        base,
        "echo x > build/out; echo x > u.o; echo x > keep.o; echo x >> build/in.c; echo x >> t.o
         mkdir n; echo x > n/v.o; echo x > n/w.c",
        "M build/in.c\nA keep.o\nA n/w.c\nM t.o",
    );
    check(base, "rm build/in.c t.o", "D build/in.c\nD t.o");
    // What is ignored is up to the rules of the moment, not of an earlier snapshot.
    check("echo 1 > a", "echo x > new; echo new > .gitignore", "A .gitignore");
    check("echo 1 > a", "mkdir cache; echo '*' > cache/.gitignore; echo x > cache/x", "");
}

#[test]
fn a_file_that_becomes_ignored_leaves_the_next_snapshot() {
    let world = World::with("echo 1 > a");
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), "echo x > new");
    let first = checkout.snapshot(&base, &exclusions()).unwrap();
    world.sh(checkout.dir(), "echo new > .gitignore");
    let second = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(changes(&world.repo(), &base, &first), "A new");
    assert_eq!(changes(&world.repo(), &base, &second), "A .gitignore");
}

#[test]
fn the_users_private_ignore_rules_count() {
    let world = World::with("echo 1 > a");
    world.sh(&world.repo_dir(), "mkdir -p .git/info; echo private >> .git/info/exclude");
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), "echo x > private; test -z \"$(git status --porcelain)\"");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(changes(&world.repo(), &base, &tree), "");
}

#[test]
fn excluded_files_stay_as_the_base_has_them() {
    let base = "mkdir -p s target .claude; echo 1 > s/.env; echo 2 > x.db; echo 3 > target/t
                echo 4 > .claude/c; echo 5 > a";
    check(base, "echo x > s/.env; rm x.db; echo x >> target/t; rm -r .claude; echo x > a", "M a");
    check(
        base,
        "mkdir -p n/target n/node_modules/m .spore; touch n/.env.local n/y.db-wal n/target/z
         touch n/node_modules/m/i.js .spore/config.toml n/q.loop-state.json n/good",
        "A n/good",
    );
    // A file cannot take the place of a directory that keeps something.
    check(base, "rm -r s; echo x > s; echo x > a", "M a");
    check(base, "rm s/.env; mkdir s/.env; echo x > s/.env/y", "");
}

#[test]
fn an_allowed_path_enters() {
    let world = World::with("echo 1 > .env.example");
    let (checkout, base) = world.checkout();
    world.sh(
        checkout.dir(),
        "echo 2 > .env.example; mkdir -p .claude/agents .claude/x
         touch .claude/agents/a .claude/x/b",
    );
    let allow = [".env.example".to_owned(), ".claude/agents".to_owned()];
    let exclusions = Exclusions::new(&[".env*".to_owned(), ".claude/".to_owned()], &allow);
    let tree = checkout.snapshot(&base, &exclusions).unwrap();
    assert_eq!(changes(&world.repo(), &base, &tree), "A .claude/agents/a\nM .env.example");
}

#[test]
fn a_submodule_stays_what_it_is() {
    let sub = "git init -q lib; cd lib; git config user.name L; git config user.email l@l
               echo 1 > f; git add f; git commit -q -m l; cd ..";
    check(sub, "test -d lib; rmdir lib; echo 1 > a", "A a");
    check(sub, "echo 1 > lib/f; git init -q lib; echo 1 > a", "A a");
    check(sub, "rmdir lib; echo 1 > lib", "");
}

#[test]
fn names_may_hold_any_byte() {
    let world = World::with("echo 1 > 'a b'");
    let (checkout, base) = world.checkout();
    world.sh(
        checkout.dir(),
        "touch \"$(printf 'new\\nline')\" \"$(printf 'latin\\351')\" ':(top)x' ./-f
         touch '*' '\"q\"' ' s '
         mkdir '[d]'; touch \"[d]/$(printf 't\\ttab')\"; rm 'a b'",
    );
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(
        changes(&world.repo(), &base, &tree),
        "A  s \nA \"q\"\nA *\nA -f\nA :(top)x\nA [d]/t\ttab\nD a b\nA latin\u{fffd}\nA new\nline"
    );
    checkout.reset(&base).unwrap();
    assert_eq!(
        checkout.snapshot(&base, &exclusions()).unwrap(),
        world.repo().tree_of(&base).unwrap()
    );
}

#[test]
fn a_change_that_hides_behind_its_old_time_and_size_is_seen() {
    check("echo 1 > a", "touch -r a ../stamp; echo 2 > a; touch -r ../stamp a; rm ../stamp", "M a");
}

#[test]
fn what_no_tree_can_hold_is_left_out() {
    check("echo 1 > a", "mkfifo pipe; mkdir -p d/.GIT; touch d/.GIT/x d/e", "A d/e");
}

#[test]
fn a_pipe_in_the_place_of_rules_blocks_nobody() {
    let world = World::with("mkdir d; echo 1 > d/a");
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), "mkfifo d/.gitignore .gitattributes");
    let error = checkout.snapshot(&base, &exclusions()).unwrap_err();
    assert!(matches!(error, GitError::Unstorable { .. }), "{error}");
    checkout.reset(&base).unwrap();
    checkout.snapshot(&base, &exclusions()).unwrap();
}

#[test]
fn a_checkout_that_is_gone_or_a_link_is_an_error() {
    let world = World::with("echo 1 > a");
    let (checkout, base) = world.checkout();
    world.sh(&world.path("state"), "mv coder away");
    for _ in 0..2 {
        let error = checkout.snapshot(&base, &exclusions()).unwrap_err();
        assert!(matches!(error, GitError::Vanished { .. }), "{error}");
        let error = checkout.reset_all(&base).unwrap_err();
        assert!(matches!(error, GitError::Vanished { .. }), "{error}");
        let _ = symlink(world.repo_dir(), checkout.dir());
    }
    assert!(world.repo_dir().join("a").exists());
}

#[test]
fn what_a_killed_git_left_of_our_index_is_healed() {
    let world = World::with("echo 1 > a");
    let (checkout, base) = world.checkout();
    let expected = world.repo().tree_of(&base).unwrap();
    for damage in ["touch coder.index.lock", "echo garbage > coder.index", "rm coder.index"] {
        world.sh(&world.path("state"), damage);
        assert_eq!(checkout.snapshot(&base, &exclusions()).unwrap(), expected, "{damage}");
        world.sh(&world.path("state"), damage);
        checkout.reset(&base).unwrap();
    }
}

#[test]
fn a_sha_256_repository_works_the_same() {
    let world = World::with_format("sha256", "echo 1 > a; echo 1 > .env; echo 2 > b");
    let (checkout, base) = world.checkout();
    assert_eq!(base.as_str().len(), 64);
    world.sh(checkout.dir(), "git log -1; git status --porcelain; rm b .env; echo 3 > c");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(changes(&world.repo(), &base, &tree), "D b\nA c");
    checkout.reset(&base).unwrap();
    assert!(checkout.dir().join("b").exists());
}

#[test]
fn a_checkout_looks_untouched_until_a_tracked_file_is_not_as_it_was() {
    let world =
        World::with("echo 1 > a; mkdir d; echo 2 > d/b; ln -s a l; echo '*.o' > .gitignore");
    let (checkout, base) = world.checkout();
    assert!(checkout.looks_untouched().unwrap());
    world.sh(checkout.dir(), "mkdir new; touch new/file x.o; git add -A; git commit -q -m mine");
    assert!(checkout.looks_untouched().unwrap());
    for touch in [
        "echo 3 > a",
        "printf 9 | dd of=a conv=notrunc status=none; touch -d 2001-01-01 a",
        "rm d/b",
        "chmod +x a",
        "rm l; cp a l",
        "mv d e; ln -s e d",
    ] {
        world.sh(checkout.dir(), touch);
        assert!(!checkout.looks_untouched().unwrap(), "{touch}");
        checkout.reset_all(&base).unwrap();
        assert!(checkout.looks_untouched().unwrap(), "after {touch}");
    }
}
