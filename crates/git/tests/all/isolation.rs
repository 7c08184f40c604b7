//! The promise to the user: nothing of theirs changes, whatever happens in a checkout.

use crate::world::{World, changes, exclusions, photograph};

/// Everything of the user's but the objects, which only grow, and Spore's own refs.
fn is_users(name: &str) -> bool {
    let ours = ["objects", "refs/spore", "refs/heads/spore", "logs/refs/heads/spore"];
    !ours.iter().any(|ours| name.strip_prefix(".git/").is_some_and(|rest| rest.starts_with(ours)))
}

/// A user in the middle of things: a stash, a staged file, an edit, a new file, hooks.
/// `MARKS` is where a program that runs leaves its mark: a path, not a variable, for Spore's
/// own git has another environment.
const BUSY: &str = "
    echo stashed > a; git stash -q
    echo staged > b; git add b
    echo edited > a; echo new > c
    for hook in post-index-change reference-transaction post-checkout pre-commit; do
        printf '#!/bin/sh\\ntouch MARKS/hook-ran\\n' > .git/hooks/$hook
        chmod +x .git/hooks/$hook
    done
    git config core.fsmonitor 'touch MARKS/fsmonitor-ran; false'
    git tag v1";

/// Lets `agent` loose in a checkout, takes the result, and compares all that is the user's.
#[track_caller]
fn check(agent: &str, expected: &str) {
    let world = World::with("echo 1 > a; echo 2 > b; echo '*.o' > .gitignore");
    let home = world.path("").display().to_string();
    let script = |text: &str| text.replace("MARKS/", &home);
    world.sh(&world.repo_dir(), &script(BUSY));
    let before = photograph(&world.repo_dir(), &is_users);
    let stash = world.sh(&world.repo_dir(), "git rev-parse refs/stash");
    let marks = ["hook-ran", "fsmonitor-ran", "filter-ran"].map(|name| world.path(name));
    for mark in &marks {
        let _ = std::fs::remove_file(mark);
    }

    let (checkout, base) = world.checkout();
    let repo = world.repo();
    repo.set_ref("refs/spore/run/base", &base).unwrap();
    world.sh(checkout.dir(), &script(agent));
    // An agent's own git may run the agent's own programs.
    for mark in &marks {
        let _ = std::fs::remove_file(mark);
    }
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    let when = spore_model::Timestamp::from_millis(1_767_225_600_000);
    let commit = repo.commit_tree(&tree, &base, "work", when).unwrap();
    repo.set_ref("refs/heads/spore/run", &commit).unwrap();
    checkout.reset(&base).unwrap();
    repo.dirty_files().unwrap();

    assert_eq!(changes(&repo, &base, &tree), expected);
    assert_eq!(photograph(&world.repo_dir(), &is_users), before);
    assert_eq!(world.sh(&world.repo_dir(), "git rev-parse refs/stash"), stash);
    assert!(marks.iter().all(|mark| !mark.exists()), "a program of somebody's ran");
    world.sh(&world.repo_dir(), "git fsck --strict");
}

#[test]
fn an_agent_that_edits_changes_only_its_checkout() {
    check("echo more >> a; rm b; echo 3 > d; touch x.o", "M a\nD b\nA d");
}

#[test]
fn an_agent_that_uses_git_changes_only_its_clone() {
    check(
        "test -z \"$(git status --porcelain)\"; test \"$(git describe --tags)\" = v1
         test \"$(git log --format=%s)\" = base; test -z \"$(git remote)\"
         echo mine > a; git commit -q -a -m mine
         git checkout -q -b other; git config user.name Eve; git config --unset-all user.email
         echo more > d; git add d; git stash -q; git stash list | grep -q stash; git stash drop -q
         git tag -d v1; git update-ref refs/heads/main HEAD; git gc -q --prune=now
         git reset -q --soft HEAD~",
        "M a",
    );
}

#[test]
fn an_agent_without_its_git_directory_is_no_problem() {
    check("rm -rf .git; echo more >> a", "M a");
    check("rm -rf .git; echo garbage > .git; echo more >> a", "M a");
    check("rm -rf .git; ln -s \"$HOME/repo/.git\" .git; echo more >> a", "M a");
}

#[test]
fn a_program_that_an_agent_configures_never_runs() {
    let touch = "touch MARKS/filter-ran; cat";
    check(
        &format!(
            "git config filter.evil.clean '{touch}'; git config filter.evil.smudge '{touch}'
             git config core.fsmonitor '{touch}'; git config diff.external '{touch}'
             git config diff.evil.textconv '{touch}'
             mkdir -p .git/hooks; printf '#!/bin/sh\\n{touch}\\n' > .git/hooks/post-index-change
             chmod +x .git/hooks/post-index-change
             echo '* filter=evil diff=evil' > .gitattributes; echo more >> a"
        ),
        "A .gitattributes\nM a",
    );
}

#[test]
fn a_filter_of_the_users_runs_no_script_of_the_checkout() {
    let world = World::with("echo '*.txt filter=tidy' > .gitattributes; echo 1 > a.txt");
    let config = "git config filter.tidy.clean ./tidy; git config filter.tidy.smudge ./tidy
                  git config filter.tidy.required true";
    world.sh(&world.repo_dir(), config);
    let (checkout, base) = world.checkout();
    world.sh(
        checkout.dir(),
        "printf '#!/bin/sh\\ntouch \"$0-ran\"; cat\\n' > tidy; chmod +x tidy; echo 2 > a.txt",
    );
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    assert_eq!(changes(&world.repo(), &base, &tree), "M a.txt\nA tidy");
    checkout.reset(&base).unwrap();
    assert!(!checkout.dir().join("tidy-ran").exists());
    assert_eq!(std::fs::read(checkout.dir().join("a.txt")).unwrap(), b"1\n");
}

#[test]
fn a_nested_repository_is_neither_asked_nor_stored_as_a_submodule() {
    check(
        "git init -q in; cd in; echo 1 > f; echo '[core' >> .git/config; touch f.o
         mkdir .git/objects/x; mkdir -p deep/er; cd deep/er; git init -q .; echo 2 > g",
        "A in/deep/er/g\nA in/f",
    );
    check(
        "mkdir in; cd in; git init -q; git config user.name E; git config user.email e@e
         echo 1 > f; git add f; git commit -q -m nested
         git config core.fsmonitor 'touch MARKS/fsmonitor-ran; false'",
        "A in/f",
    );
}
