use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use spore_git::{Checkout, Repository};

use crate::world::{World, exclusions, photograph};

/// With more directories than one thread reads by itself.
const BASE: &str = "echo 1 > a; mkdir d; echo 2 > d/b; echo 3 > d/run; chmod +x d/run; \
                    ln -s a l; echo '*.o' > .gitignore; \
                    for i in $(seq 40); do mkdir -p many/$i; echo $i > many/$i/file; done";

fn outside_git(name: &str) -> bool {
    !name.starts_with(".git/") && name != ".git"
}

/// Lets an agent mess a checkout up and retires it; what is made of the spare must be what is
/// made of nothing.
#[track_caller]
fn check(mess: &str) {
    let world = World::with(BASE);
    let spares = world.path("spares");
    let (repo, commit) = (world.repo(), world.repo().head().unwrap());
    let fresh = repo.checkout(&world.path("state/fresh"), &commit).unwrap();
    let first = repo.checkout_reusing(&spares, &world.place(), &commit).unwrap();
    let inode = fs::metadata(first.dir().join("d/b")).unwrap().ino();
    world.sh(first.dir(), mess);
    first.snapshot(&commit, &exclusions()).unwrap();
    world.sh(first.dir(), mess);
    first.retire(&spares).unwrap();
    assert!(!world.place().exists() && !world.path("state/coder.state").exists());
    let second = repo.checkout_reusing(&spares, &world.path("state/other"), &commit).unwrap();
    let (now, then) =
        (photograph(second.dir(), &outside_git), photograph(fresh.dir(), &outside_git));
    assert_eq!(now, then, "{mess}");
    assert_eq!(world.sh(second.dir(), "git status --porcelain"), "", "{mess}");
    let links = "find . -path ./.git -prune -o -type f -printf '%m %n %p\\n' | sort";
    assert_eq!(world.sh(second.dir(), links), world.sh(fresh.dir(), links), "{mess}");
    if mess == "true" {
        // It is the very same file: nothing was written again.
        assert_eq!(fs::metadata(second.dir().join("d/b")).unwrap().ino(), inode);
    }
}

#[test]
fn a_spare_becomes_what_a_new_checkout_would_be() {
    for mess in [
        "true",
        "echo x > a; rm -rf d; touch new new.o",
        "touch -d '2001-01-01' d/b; printf 9 | dd of=d/b conv=notrunc status=none",
        "chmod 4755 a; chmod 0400 d/b",
        "ln -f d/b keep.o; ln -f d/b again",
        "rm -rf d; ln -s . d",
        "chmod 2777 d; mkdir -p cache.o/deep; touch cache.o/deep/file; chmod 0500 cache.o",
        "rm -f l; ln -s d l; rm -rf a; mkdir a; touch a/b",
        "rm -rf .git; git init -q d/sub; rm -f .gitignore",
        "chmod +x a; chmod -x d/run",
        "rm -rf many/7; ln -s ../d many/7; chmod 0500 many/8; rm -f many/9/file; echo x > many/10/new",
        "chmod 0 many/11 d; chmod 0500 many .",
    ] {
        check(mess);
    }
}

#[test]
fn a_spare_serves_another_commit_too() {
    let world = World::with(BASE);
    let (repo, spares) = (world.repo(), world.path("spares"));
    let (checkout, _) = world.checkout();
    checkout.retire(&spares).unwrap();
    world.sh(&world.repo_dir(), "git rm -q -r d; echo 5 > a; git commit -q -a -m two");
    let head = repo.head().unwrap();
    let second = repo.checkout_reusing(&spares, &world.place(), &head).unwrap();
    assert_eq!(world.sh(second.dir(), "ls; cat a; git status --porcelain"), "a\nl\nmany\n5");
    let tree = second.snapshot(&head, &exclusions()).unwrap();
    assert_eq!(tree, repo.tree_of(&head).unwrap());
}

#[test]
fn no_more_spares_are_kept_than_are_of_use() {
    let world = World::with(BASE);
    let (repo, spares) = (world.repo(), world.path("spares"));
    let head = repo.head().unwrap();
    let places: Vec<_> = (0..4).map(|number| world.path(&format!("state/{number}"))).collect();
    let all: Vec<Checkout> =
        places.iter().map(|place| repo.checkout_reusing(&spares, place, &head).unwrap()).collect();
    for checkout in all {
        checkout.retire(&spares).unwrap();
    }
    assert_eq!(fs::read_dir(&spares).unwrap().count(), 2);
    assert_eq!(fs::read_dir(world.path("state")).unwrap().count(), 0);
    assert_eq!(Repository::remove_spares(&spares).unwrap(), 2);
    assert_eq!(fs::read_dir(&spares).unwrap().count(), 0);
}

#[test]
fn a_spare_that_is_broken_costs_time_and_nothing_else() {
    for damage in [
        "rm -rf 0/tree",
        "rm -f 0/laid",
        "echo nonsense > 0/laid",
        "rm -rf 0/tree; mkdir -m 0711 theirs; ln -s ../theirs 0/tree",
        "mkdir 0/more",
    ] {
        let world = World::with(BASE);
        let (repo, spares) = (world.repo(), world.path("spares"));
        let (checkout, commit) = world.checkout();
        checkout.retire(&spares).unwrap();
        world.sh(&spares, damage);
        let again = repo.checkout_reusing(&spares, &world.place(), &commit).unwrap();
        let tree = again.snapshot(&commit, &exclusions()).unwrap();
        assert_eq!(tree, repo.tree_of(&commit).unwrap(), "{damage}");
        assert_eq!(world.sh(again.dir(), "git status --porcelain"), "", "{damage}");
        assert!(!world.path("state/coder.spare").exists(), "{damage}");
        // A link is not followed: what it points at is not ours.
        let theirs =
            world.sh(&spares, "test ! -d theirs || stat -c '%a' theirs; ls theirs || true");
        assert!(["", "711"].contains(&theirs.as_str()), "{damage}: {theirs}");
    }
}

#[test]
fn a_time_that_an_agent_set_hides_nothing() {
    // Within one second, and with the size and the time of before: git alone sees no change.
    let aligned = "python3 -c 'import time; t = time.time(); time.sleep(1.01 - t % 1)'";
    let world = World::with("printf 'good\\n' > a; echo 1 > kept");
    let (repo, spares) = (world.repo(), world.path("spares"));
    let commit = repo.head().unwrap();
    let first = repo.checkout_reusing(&spares, &world.place(), &commit).unwrap();
    world.sh(first.dir(), &format!("{aligned}; printf 'good\\n' > a; touch -d @1000 a"));
    let base = first.snapshot(&commit, &exclusions()).unwrap();
    world.sh(first.dir(), "printf 'EVIL\\n' > a; touch -d @1000 a");
    assert!(!first.looks_untouched().unwrap());
    assert_ne!(first.snapshot(&commit, &exclusions()).unwrap(), base);
    world.sh(first.dir(), "printf 'good\\n' > a; touch -d @1000 a");
    assert_eq!(first.snapshot(&commit, &exclusions()).unwrap(), base);
    world.sh(first.dir(), "printf 'EVIL\\n' > a; touch -d @1000 a");
    first.retire(&spares).unwrap();
    let second = repo.checkout_reusing(&spares, &world.path("state/other"), &commit).unwrap();
    assert_eq!(world.sh(second.dir(), "cat a kept"), "good\n1");
}

#[test]
fn what_is_stored_alike_is_written_again_all_the_same() {
    let world = World::with(
        "printf '*.c ident\\n*.txt text\\n' > .gitattributes
         printf '$Id$\\n' > a.c; printf 'one\\ntwo\\n' > b.txt",
    );
    let (repo, spares) = (world.repo(), world.path("spares"));
    let commit = repo.head().unwrap();
    let fresh = repo.checkout(&world.path("state/fresh"), &commit).unwrap();
    let first = repo.checkout_reusing(&spares, &world.place(), &commit).unwrap();
    let mess =
        "printf '$Id: a note to the next agent $\\n' > a.c; printf 'one\\r\\ntwo\\r\\n' > b.txt";
    world.sh(first.dir(), mess);
    let tree = first.snapshot(&commit, &exclusions()).unwrap();
    assert_eq!(tree, repo.tree_of(&commit).unwrap(), "git stores the same");
    first.retire(&spares).unwrap();
    let second = repo.checkout_reusing(&spares, &world.path("state/other"), &commit).unwrap();
    let (now, then) =
        (photograph(second.dir(), &outside_git), photograph(fresh.dir(), &outside_git));
    assert_eq!(now, then);
}

#[test]
fn a_spare_follows_the_users_settings() {
    for change in ["git config core.autocrlf true", "echo '* text eol=crlf' > .git/info/attributes"]
    {
        let world = World::with("printf 'one\\ntwo\\n' > b.txt; mkdir d; echo 1 > d/gone");
        let spares = world.path("spares");
        let first = world.repo().head().unwrap();
        let old = world.repo().checkout_reusing(&spares, &world.place(), &first).unwrap();
        old.retire(&spares).unwrap();
        world.sh(&world.repo_dir(), &format!("git rm -qr d; git commit -qm two; {change}"));
        let (repo, head) = (world.repo(), world.repo().head().unwrap());
        let fresh = repo.checkout(&world.path("state/fresh"), &head).unwrap();
        let reused = repo.checkout_reusing(&spares, &world.place(), &head).unwrap();
        assert_eq!(world.sh(fresh.dir(), "wc -c < b.txt"), "10", "{change}");
        let (now, then) =
            (photograph(reused.dir(), &outside_git), photograph(fresh.dir(), &outside_git));
        assert_eq!(now, then, "{change}");
    }
}

/// Sets the list of rights, as the kernel stores it, by which no user may use what is made in the
/// directory.
fn hand_down_nothing(dir: &Path) -> bool {
    let entry = |tag: u16| [&tag.to_le_bytes()[..], &[0; 2], &[0xff; 4]].concat();
    let list = [&2_u32.to_le_bytes()[..], &entry(1), &entry(4), &entry(0x20)].concat();
    let name = "system.posix_acl_default";
    xattr::set(dir, name, &list).is_ok()
}

#[test]
fn rights_that_a_directory_hands_down_are_taken_from_it() {
    let world = World::with(BASE);
    let (repo, spares) = (world.repo(), world.path("spares"));
    let (checkout, base) = world.checkout();
    if !hand_down_nothing(&checkout.dir().join("d")) {
        return; // A file system without such lists.
    }
    world.sh(&world.repo_dir(), "echo 5 > d/b; git commit -q -a -m two");
    let head = repo.head().unwrap();
    let usual = world.sh(checkout.dir(), "stat -c %a a");
    checkout.reset(&head).unwrap();
    assert_eq!(world.sh(checkout.dir(), "stat -c %a d/b"), usual);
    assert!(hand_down_nothing(&checkout.dir().join("d")) && hand_down_nothing(checkout.dir()));
    checkout.retire(&spares).unwrap();
    let second = repo.checkout_reusing(&spares, &world.place(), &base).unwrap();
    assert_eq!(
        world.sh(second.dir(), "touch d/new; stat -c %a d/b d/new"),
        [&*usual; 2].join("\n")
    );
}
