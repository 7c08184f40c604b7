use crate::world::{World, exclusions, photograph};

/// Messes up a checkout, resets it to its base, and compares it with how it was at first.
#[track_caller]
fn check(base: &str, mess: &str) {
    let world = World::with(base);
    let (checkout, commit) = world.checkout();
    let outside_git = |name: &str| !name.starts_with(".git/") && name != ".git";
    let before = photograph(checkout.dir(), &outside_git);
    world.sh(checkout.dir(), mess);
    checkout.snapshot(&commit, &exclusions()).unwrap();
    world.sh(checkout.dir(), mess);
    checkout.reset(&commit).unwrap();
    assert_eq!(photograph(checkout.dir(), &outside_git), before, "after a snapshot");
    world.sh(checkout.dir(), mess);
    checkout.reset_all(&commit).unwrap();
    assert_eq!(photograph(checkout.dir(), &outside_git), before, "reset_all");
    let status = world.sh(checkout.dir(), "git status --porcelain; git rev-parse HEAD");
    assert_eq!(status, commit.as_str());
}

#[test]
fn a_work_tree_becomes_exactly_the_commit() {
    check("echo 1 > a; mkdir d; echo 2 > d/b", "echo x >> a; rm -rf d; mkdir -p n/m; touch n/m/o");
    check("echo 1 > a; mkdir d; echo 2 > d/b", "rm -rf a d; mkdir -p a/x; touch a/x/y; ln -s a d");
    check(
        "echo 1 > a; ln -s a l; echo 3 > x; chmod +x x",
        "rm -f l; cp a l; chmod -x x; chmod +x a",
    );
    check("echo 1 > a", "mkdir -p e/m/p/ty; mkfifo pipe || true");
    check(
        "mkdir -p d/f; echo 2 > d/f/b; git add -f d; echo d > .gitignore",
        "[ -L d ] || { mv d e; ln -s e d; }",
    );
    check("echo 1 > a; mkdir -p d/f; echo 2 > d/f/b", "[ -L d ] || { mv d e; ln -s e d; }");
    check(
        "echo 1 > a; mkdir -p d/f; echo 2 > d/f/b",
        "[ -L d/f ] || { mv d/f .o; ln -s ../.o d/f; }",
    );
    check("echo 1 > .env; echo 2 > x.db", "rm -f .env; echo x > x.db; touch y.db");
}

#[test]
fn repositories_in_the_checkout_go_with_their_git_directory() {
    check("echo 1 > a", "git init -q in; touch in/f; mkdir -p x/.git; echo x > x/.git/config");
    check("echo 1 > a", "rm -rf .git; echo garbage > .git; echo x > a");
}

#[test]
fn a_populated_submodule_is_an_empty_directory_again() {
    let sub = "git init -q lib; cd lib; git config user.name L; git config user.email l@l
               echo 1 > f; git add f; git commit -q -m l; cd ..";
    check(sub, "git init -q lib; echo 1 > lib/f");
    check(sub, "rm -rf lib; echo 1 > lib");
}

#[test]
fn files_follow_the_attributes_of_the_commit() {
    check(
        "printf '1\\n2\\n' > a.txt",
        "echo '*.txt eol=crlf' > .gitattributes; printf '1\\r\\n2\\r\\n' > a.txt",
    );
    check(
        "echo '*.txt eol=crlf' > .gitattributes; echo 1 > a.txt",
        "rm -f .gitattributes; echo 1 > a.txt",
    );
}

#[test]
fn ignored_files_stay_unless_all_has_to_go() {
    let world = World::with("printf 'build/\\n*.o\\n' > .gitignore; mkdir s; echo 1 > s/a");
    let (checkout, base) = world.checkout();
    world.sh(
        checkout.dir(),
        "mkdir -p build/deep cache n; touch build/deep/x s/x.o s/x.c n/y.o n/y.c
         echo '*' > cache/.gitignore
         touch cache/z; echo > .gitignore; chmod 500 build/deep",
    );
    checkout.reset(&base).unwrap();
    let found = "find . -path ./.git -prune -o -type f -print | sort";
    assert_eq!(
        world.sh(checkout.dir(), found),
        "./.gitignore\n./build/deep/x\n./cache/.gitignore\n./cache/z\n./n/y.o\n./s/a\n./s/x.o"
    );
    checkout.reset_all(&base).unwrap();
    assert_eq!(world.sh(checkout.dir(), found), "./.gitignore\n./s/a");
}

#[test]
fn a_reset_goes_to_any_commit_and_leaves_unchanged_files_alone() {
    let world = World::with("echo 1 > a; echo same > b; mkdir d; echo 1 > d/c");
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), "echo 2 > a; rm -r d; echo 3 > e");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    let when = spore_model::Timestamp::from_millis(0);
    let next = world.repo().commit_tree(&tree, &base, "next", when).unwrap();
    let written = |name: &str| checkout.dir().join(name).metadata().unwrap().modified().unwrap();
    let before = written("b");
    checkout.reset(&base).unwrap();
    assert!(checkout.dir().join("d/c").exists() && !checkout.dir().join("e").exists());
    checkout.reset(&next).unwrap();
    assert!(!checkout.dir().join("d").exists() && checkout.dir().join("e").exists());
    assert_eq!(written("b"), before);
    assert_eq!(checkout.snapshot(&base, &exclusions()).unwrap(), tree);
    assert_eq!(world.sh(checkout.dir(), "git log --format=%s"), "next\nbase");
}

#[test]
fn a_link_in_the_way_is_not_written_through() {
    let world = World::with("mkdir d; echo 1 > d/a");
    let (checkout, base) = world.checkout();
    world.sh(&world.path(""), "mkdir victim; echo precious > victim/a; touch victim/b");
    world.sh(checkout.dir(), "rm -r d; ln -s ../../victim d; ln -s ../../victim v");
    checkout.reset_all(&base).unwrap();
    assert_eq!(world.sh(&world.path("victim"), "cat a; ls"), "precious\na\nb");
    assert_eq!(world.sh(checkout.dir(), "cat d/a; ls"), "1\nd");
}

#[test]
fn directories_that_were_closed_or_lie_too_deep_stop_no_reset() {
    let world = World::with("echo 1 > a; mkdir d; echo 2 > d/b");
    let (checkout, commit) = world.checkout();
    let rights = "find . -path ./.git -prune -o -printf '%m %y %p\\n' | sort";
    let before = world.sh(checkout.dir(), rights);
    world.sh(checkout.dir(), "mkdir -p $(yes n | head -250 | tr '\\n' /)");
    let error = checkout.snapshot(&commit, &exclusions()).unwrap_err();
    assert!(matches!(error, spore_git::GitError::Unstorable { .. }), "{error}");
    world.sh(checkout.dir(), "echo x > d/b; chmod 0500 n/n d .");
    checkout.reset(&commit).unwrap();
    assert_eq!(world.sh(checkout.dir(), rights), before);
}
