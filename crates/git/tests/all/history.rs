//! What the user did after a run: logs, patches, blame.

use std::num::NonZeroU32;

use spore_git::{Commit, LineRange, Patch, PatchDirection, Repository};
use spore_model::CommitId;

use crate::world::World;

fn subjects(commits: &[Commit]) -> String {
    let subject = |commit: &Commit| commit.message.lines().next().unwrap_or_default().to_owned();
    commits.iter().map(subject).collect::<Vec<_>>().join(" ")
}

fn id(world: &World, revision: &str) -> CommitId {
    world.repo().resolve(revision).unwrap()
}

fn patch(repo: &Repository, commit: &CommitId, direction: PatchDirection) -> Patch {
    repo.patches(std::slice::from_ref(commit), direction).unwrap().remove(0)
}

fn lines(first: u32, count: u32) -> LineRange {
    LineRange { first: NonZeroU32::new(first).unwrap(), count: NonZeroU32::new(count).unwrap() }
}

const COMMIT: &str = "c() { git add -A; git commit -q --allow-empty -m \"$@\"; };";

#[test]
fn a_log_has_what_is_new_on_the_users_branches_parents_first() {
    let world = World::with("echo 1 > a");
    let base = id(&world, "HEAD");
    world.sh(
        &world.repo_dir(),
        &format!(
            "{COMMIT} c one; git checkout -q -b side; c two; git checkout -q main; c three
             git merge -q --no-ff -m four side; git branch spore/run; git checkout -q --detach; c five
             git checkout -q spore/run; c hidden; git checkout -q main"
        ),
    );
    let repo = world.repo();
    let seen = [base];
    let commits = repo.log(&repo.branches().unwrap(), &seen).unwrap();
    assert!(["one two three four", "one three two four"].contains(&&*subjects(&commits)));
    let merge = commits.last().unwrap();
    assert_eq!(merge.parents, [id(&world, "main^1"), id(&world, "main^2")]);
    assert_eq!(merge.id, id(&world, "main"));
    let tips = repo.branches().unwrap();
    assert_eq!(repo.log(&tips, &tips).unwrap(), []);
    assert_eq!(repo.log(&[], &[]).unwrap(), []);
}

#[test]
fn a_detached_head_is_a_place_of_the_users_too() {
    let world = World::with("echo 1 > a");
    world.sh(&world.repo_dir(), &format!("{COMMIT} git checkout -q --detach; c loose"));
    let repo = world.repo();
    let commits = repo.log(&repo.branches().unwrap(), &[id(&world, "main")]).unwrap();
    assert_eq!(subjects(&commits), "loose");
}

#[test]
fn a_place_that_is_gone_hides_nothing() {
    let world = World::with("echo 1 > a");
    let repo = world.repo();
    let gone = CommitId::new("1234567890123456789012345678901234567890").unwrap();
    assert_eq!(subjects(&repo.log(&repo.branches().unwrap(), &[gone]).unwrap()), "base");
}

#[test]
fn a_message_comes_whole_and_as_text() {
    let world = World::with("echo 1 > a");
    world.sh(
        &world.repo_dir(),
        "git config log.showSignature true; git config format.pretty oneline
         git -c i18n.commitEncoding=ISO-8859-1 commit -q --allow-empty -m \"$(printf 'gr\\374n\\n\\nbody\\n\\nSpore-Run: X')\"",
    );
    let repo = world.repo();
    let commits = repo.log(&[repo.head().unwrap()], &[id(&world, "HEAD^")]).unwrap();
    assert_eq!(commits[0].message, "grün\n\nbody\n\nSpore-Run: X");
}

#[test]
fn a_revert_includes_the_reverse_of_what_it_undoes() {
    let world = World::with("seq 9 > a; printf '\\0\\1' > bin; echo k > kept");
    world.sh(
        &world.repo_dir(),
        &format!(
            "{COMMIT} sed -i 's/^5$/five/; 7d' a; printf '\\0\\2' > bin; echo n > new; c work
             sed -i '1i zero' a; c 'further up'
             git revert --no-edit HEAD~1; git tag undone
             git reset -q --hard HEAD~1; sed -i 's/^five$/5/' a; c half; git tag half"
        ),
    );
    let repo = world.repo();
    let undo = patch(&repo, &id(&world, "half~2"), PatchDirection::Reverse);
    assert!(patch(&repo, &id(&world, "undone"), PatchDirection::Forward).includes(&undo));
    assert!(!patch(&repo, &id(&world, "half"), PatchDirection::Forward).includes(&undo));
    assert!(!undo.includes(&patch(&repo, &id(&world, "half~2"), PatchDirection::Forward)));
}

#[test]
fn another_change_of_a_binary_file_is_no_revert() {
    let world = World::with("printf '\\0\\1' > bin");
    world.sh(
        &world.repo_dir(),
        &format!("{COMMIT} printf '\\0\\2' > bin; c work; printf '\\0\\3' > bin; c more"),
    );
    let repo = world.repo();
    let undo = patch(&repo, &id(&world, "HEAD^"), PatchDirection::Reverse);
    assert!(!patch(&repo, &id(&world, "HEAD"), PatchDirection::Forward).includes(&undo));
}

#[test]
fn a_rename_by_itself_changes_no_line() {
    let world = World::with("seq 9 > old");
    world.sh(
        &world.repo_dir(),
        &format!("{COMMIT} git mv old new; c moved; git mv new newer; sed -i 's/^4$/four/' newer; c edited"),
    );
    let repo = world.repo();
    let moved = patch(&repo, &id(&world, "HEAD^"), PatchDirection::Forward);
    assert!(moved.files.iter().all(|file| file.hunks.is_empty()));
    let edited = patch(&repo, &id(&world, "HEAD"), PatchDirection::Forward);
    let [file] = edited.files.as_slice() else { panic!("{edited:?}") };
    assert_eq!((file.path.as_deref(), file.hunks[0].old_start), (Some("new"), 4));
    assert_eq!(file.hunks[0].removed, ["4"]);
}

#[test]
fn every_line_has_the_commit_that_wrote_it() {
    let world = World::with("printf 'one\\ntwo\\n\\n' > 'a b'");
    world.sh(
        &world.repo_dir(),
        &format!("{COMMIT} sed -i 's/two/2/' 'a b'; c edit; git mv 'a b' c; c moved"),
    );
    let (repo, base) = (world.repo(), id(&world, "HEAD~2"));
    let edit = id(&world, "HEAD^");
    let blamed =
        |path, ranges: &[LineRange]| repo.blame(&id(&world, "HEAD"), path, ranges).unwrap();
    assert_eq!(blamed("c", &[lines(1, 3)]), [base.clone(), edit.clone(), base.clone()]);
    assert_eq!(blamed("c", &[lines(1, 1), lines(3, 1)]), [base.clone(), base.clone()]);
    assert_eq!(repo.blame(&edit, "a b", &[lines(2, 1)]).unwrap(), [edit]);
    assert_eq!(blamed("c", &[]), []);
    assert!(repo.blame(&base, "none", &[lines(1, 1)]).is_err());
}
