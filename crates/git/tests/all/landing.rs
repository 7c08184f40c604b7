//! Bringing a commit into the user's own branch, index and files: only what is concerned
//! changes, and only where nothing of the user's is in the way.

use spore_git::{BranchTip, GitError, HeadState, Merged, Obstacle, Repository};
use spore_model::{CommitId, Timestamp};

use crate::world::{World, exclusions, photograph};

/// A repository with `base`, and a commit on top of it made in a checkout by `change`.
pub(crate) fn world_and_change(base: &str, change: &str) -> (World, CommitId, CommitId) {
    let world = World::with(base);
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), change);
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    let when = Timestamp::from_millis(1_767_225_600_000);
    let commit = world.repo().commit_tree(&tree, &base, "change", when).unwrap();
    world.repo().set_ref("refs/spore/run/result", &commit).unwrap();
    (world, base, commit)
}

/// Lands as the application does: look, move the branch, turn the files.
fn land(world: &World, from: &CommitId, to: &CommitId) -> Result<Vec<Obstacle>, GitError> {
    let repo = world.repo();
    let obstacles = repo.obstacles(from, to, &world.path("scratch"))?;
    assert!(!world.path("scratch").exists());
    if obstacles.is_empty() {
        assert!(repo.move_branch("refs/heads/main", from, to, "spore: test")?);
        repo.turn(from, to)?;
    }
    Ok(obstacles)
}

fn status(world: &World) -> String {
    world.sh(&world.repo_dir(), "git status --porcelain --untracked-files=all")
}

/// Checks that `dirt` of the user's is an obstacle and that looking changes nothing.
#[track_caller]
fn check_refused(base: &str, change: &str, dirt: &str, expected: &str) {
    let (world, from, to) = world_and_change(base, change);
    world.sh(&world.repo_dir(), dirt);
    let before = photograph(&world.repo_dir(), &|_| true);
    let obstacles = land(&world, &from, &to).unwrap();
    let told: Vec<String> = obstacles.iter().map(ToString::to_string).collect();
    assert!(told.join("\n").contains(expected), "{dirt}: {told:?}");
    assert_eq!(photograph(&world.repo_dir(), &|_| true), before, "{dirt}");
}

#[test]
fn a_clean_tree_follows_its_branch() {
    let (world, from, to) = world_and_change(
        "echo 1 > a; echo 1 > gone; mkdir d; echo 1 > d/x; ln -s a l; echo 1 > run",
        "echo 2 > a; rm gone; rm -r d; echo 3 > d; ln -sf d l; chmod +x run; mkdir n; echo n > n/n",
    );
    assert_eq!(land(&world, &from, &to).unwrap(), []);
    assert_eq!(status(&world), "");
    let dir = world.repo_dir();
    assert_eq!(
        world.sh(&dir, "cat a d n/n; readlink l; test -x run; test ! -e gone"),
        "2\n3\nn\nd"
    );
    assert_eq!(world.sh(&dir, "git rev-parse HEAD"), to.as_str());
    assert_eq!(world.sh(&dir, "git symbolic-ref HEAD"), "refs/heads/main");
    assert!(world.sh(&dir, "git reflog -1").contains("spore: test"));
}

#[test]
fn what_the_user_changed_elsewhere_stays_as_it_is() {
    let (world, from, to) = world_and_change("echo 1 > a; echo 1 > b; echo 1 > c", "echo 2 > a");
    let dir = world.repo_dir();
    world.sh(&dir, "echo stashed > b; git stash push -q; echo mine > b; echo staged > c");
    world.sh(&dir, "git add c; echo more > c; echo new > untracked; touch a");
    let before = status(&world);
    assert_eq!(land(&world, &from, &to).unwrap(), []);
    assert_eq!(status(&world), before);
    assert_eq!(world.sh(&dir, "cat a b c untracked; git show :c"), "2\nmine\nmore\nnew\nstaged");
    assert_eq!(world.sh(&dir, "git stash show -p | tail -1"), "+stashed");
}

#[test]
fn what_the_user_changed_in_the_same_files_is_in_the_way() {
    let base = "echo 1 > a; mkdir d; echo 1 > d/t";
    check_refused(base, "echo 2 > a", "echo mine > a", "a has uncommitted changes");
    check_refused(base, "echo 2 > a", "echo m > a; git add a; echo 1 > a", "a has uncommitted");
    check_refused(base, "rm a", "echo mine > a", "a has uncommitted changes");
    check_refused(base, "echo 2 > a", "rm a", "a has uncommitted changes");
    check_refused(base, "echo 2 > a", "git rm -q --cached a", "a has uncommitted changes");
    check_refused(base, "echo 2 > a", "git update-index --assume-unchanged a; echo m > a", "a");
    check_refused(base, "echo 2 > a", "echo m > a; git update-index --skip-worktree a", "a");
    check_refused(base, "echo 1 > n", "echo mine > n", "n is not tracked");
    check_refused(
        base,
        "echo 1 > n",
        "echo n > .git/info/exclude; echo mine > n",
        "n is not tracked",
    );
    check_refused(base, "mkdir n; echo 1 > n/n", "echo mine > n", "n is not tracked");
    check_refused(base, "echo 1 > n", "mkdir n; echo mine > n/deep", "n/deep is not tracked");
    let ignored = "echo ign > .git/info/exclude; echo mine > d/ign";
    check_refused(base, "rm -r d; echo 1 > d", ignored, "d/ign is not tracked");
    check_refused(base, "echo 1 > n", "echo staged > n; git add n", "n has uncommitted changes");
}

#[test]
fn a_file_that_needs_a_filter_of_the_users_is_in_the_way() {
    let base = "echo 'a filter=mine' > .gitattributes; echo 1 > a; echo 1 > b
                git config filter.mine.smudge 'touch \"$HOME/ran\"; cat'
                git config filter.mine.clean cat";
    check_refused(base, "echo 2 > a", "true", "a goes through a filter of yours");
    // An attribute that the change brings counts as well.
    let sly = "echo '* filter=mine' > .gitattributes; echo 2 > b";
    check_refused(base, sly, "true", "b goes through a filter of yours");
    let (world, from, to) = world_and_change(base, "echo 2 > b");
    assert_eq!(land(&world, &from, &to).unwrap(), []);
    assert!(!world.path("ran").exists());
}

#[test]
fn a_sparse_tree_stays_sparse() {
    let base = "mkdir in out; echo 1 > in/a; echo 1 > out/b; echo 1 > top";
    let (world, from, to) = world_and_change(base, "echo 2 > in/a; echo 2 > out/b; echo 3 > out/c");
    let dir = world.repo_dir();
    world.sh(&dir, "git sparse-checkout set in");
    assert_eq!(land(&world, &from, &to).unwrap(), []);
    assert_eq!(world.sh(&dir, "cat in/a; test ! -e out; git show :out/c"), "2\n3");
    assert_eq!(status(&world), "");
}

#[test]
fn a_branch_that_moved_meanwhile_is_left_alone() {
    let (world, from, to) = world_and_change("echo 1 > a", "echo 2 > a");
    world.sh(&world.repo_dir(), "git commit -q --allow-empty -m meanwhile");
    let repo = world.repo();
    let tip = repo.head().unwrap();
    assert!(!repo.move_branch("refs/heads/main", &from, &to, "x").unwrap());
    assert_eq!(repo.head().unwrap(), tip);
    for foreign in ["refs/heads/spore/x", "refs/tags/v1", "HEAD", "refs/stash"] {
        let error = repo.move_branch(foreign, &from, &to, "x").unwrap_err();
        assert!(matches!(error, GitError::ForeignRef { .. }), "{foreign}: {error}");
    }
}

#[test]
fn a_lock_of_the_users_on_their_index_is_reported_and_nothing_is_written() {
    let (world, from, to) = world_and_change("echo 1 > a", "echo 2 > a");
    world.sh(&world.repo_dir(), "touch .git/index.lock");
    let before = photograph(&world.repo_dir(), &|_| true);
    assert_eq!(world.repo().obstacles(&from, &to, &world.path("scratch")).unwrap(), []);
    let error = world.repo().turn(&from, &to).unwrap_err();
    assert!(matches!(error, GitError::Locked { .. }), "{error}");
    assert_eq!(photograph(&world.repo_dir(), &|_| true), before);
}

/// Leaves the files as a turn does that was killed: some written, one torn, the index old.
#[test]
fn a_turn_that_was_cut_off_is_brought_to_its_end() {
    let base = "seq 2000 > a; echo 1 > b; echo 1 > gone; echo 1 > kept; ln -s a l";
    let change = "seq 9 3000 > a; echo 2 > b; rm gone; mkdir n; seq 1000 > n/new; ln -sf b l";
    let cuts = [
        "true",
        "seq 9 3000 > a",
        "seq 9 3000 | head -c 999 > a",
        "rm a",
        "echo 2 > b; rm gone; mkdir n; : > n/new",
        "seq 9 3000 > a; echo 2 > b; rm gone; mkdir n; seq 1000 > n/new; ln -sf b l",
        "ln -sf b l; rm gone",
    ];
    for cut in cuts {
        let (world, from, to) = world_and_change(base, change);
        let (repo, dir) = (world.repo(), world.repo_dir());
        assert!(repo.move_branch("refs/heads/main", &from, &to, "spore").unwrap());
        world.sh(&dir, cut);
        world.sh(&dir, "echo mine > kept; echo new > untracked");
        assert_eq!(repo.mend_turn(&from, &to).unwrap(), []);
        repo.turn(&from, &to).unwrap();
        assert_eq!(status(&world), " M kept\n?? untracked", "{cut}");
        // Once more changes nothing.
        repo.mend_turn(&from, &to).unwrap();
        repo.turn(&from, &to).unwrap();
        assert_eq!(status(&world), " M kept\n?? untracked", "{cut}");
    }
}

#[test]
fn what_the_user_edited_after_a_cut_is_not_taken_for_ours() {
    let (world, from, to) = world_and_change("seq 9 > a; echo 1 > b", "seq 20 > a; echo 2 > b");
    let (repo, dir) = (world.repo(), world.repo_dir());
    assert!(repo.move_branch("refs/heads/main", &from, &to, "spore").unwrap());
    world.sh(&dir, "echo mine > a");
    repo.mend_turn(&from, &to).unwrap();
    assert!(repo.turn(&from, &to).is_err());
    assert_eq!(world.sh(&dir, "cat a b"), "mine\n1");
}

#[test]
fn what_the_user_wrote_after_a_cut_where_a_file_is_to_come_is_in_the_way() {
    for theirs in
        ["echo mine > n", "mkdir n; echo mine > n/new", "mkdir -p n/new; echo 1 > n/new/x"]
    {
        let change = "mkdir n; echo 1 > n/new; echo 2 > a; echo 3 > b";
        let (world, from, to) = world_and_change("echo 1 > a; echo 1 > b", change);
        let (repo, dir) = (world.repo(), world.repo_dir());
        assert!(repo.move_branch("refs/heads/main", &from, &to, "spore").unwrap());
        // One file is written, and git would overwrite what is ignored.
        world.sh(&dir, "echo 2 > a; echo n > .git/info/exclude");
        world.sh(&dir, theirs);
        let before = world.sh(&dir, "grep -r . a b n; git ls-files --stage");
        let obstacles = repo.mend_turn(&from, &to).unwrap();
        assert!(matches!(obstacles[..], [Obstacle::Untracked(_)]), "{theirs}: {obstacles:?}");
        assert_eq!(world.sh(&dir, "grep -r . a b n; git ls-files --stage"), before);
        world.sh(&dir, "mv n elsewhere");
        assert_eq!(repo.mend_turn(&from, &to).unwrap(), []);
        repo.turn(&from, &to).unwrap();
        assert_eq!(world.sh(&dir, "cat a b n/new; grep -rc . elsewhere | wc -l"), "2\n3\n1\n1");
    }
}

fn merged(repo: &Repository, ours: &CommitId, theirs: &CommitId) -> String {
    match repo.merge(ours, theirs).unwrap() {
        Merged::Clean(tree) => format!("clean {}", repo.diff(ours, &tree, 0).unwrap().files.len()),
        Merged::Conflicts { files, .. } => format!("conflicts {}", files.join(" ")),
    }
}

#[test]
fn two_lines_of_work_are_merged_without_touching_anything() {
    let (world, base, theirs) =
        world_and_change("seq 20 > a; echo 1 > b; echo 1 > c", "sed -i s/^3$/x/ a; echo 2 > b");
    let (repo, dir) = (world.repo(), world.repo_dir());
    let ours = |script: &str| {
        world.sh(&dir, &format!("git checkout -q --detach {base}; {script}; git commit -qam x"));
        repo.head().unwrap()
    };
    let apart = ours("sed -i s/^17$/y/ a");
    let clash = ours("sed -i s/^3$/z/ a; echo 3 > b");
    let gone = ours("git rm -q b");
    let before = photograph(&dir, &|name| !name.starts_with(".git/objects"));
    assert_eq!(merged(&repo, &apart, &theirs), "clean 2");
    assert_eq!(merged(&repo, &clash, &theirs), "conflicts a b");
    assert_eq!(merged(&repo, &gone, &theirs), "conflicts b");
    assert!(
        repo.is_ancestor(&base, &theirs).unwrap() && !repo.is_ancestor(&theirs, &base).unwrap()
    );
    // The way back: what came with `theirs` is taken out again, wherever history went.
    let Merged::Clean(there) = repo.merge(&apart, &theirs).unwrap() else { panic!("conflicts") };
    let when = Timestamp::from_millis(0);
    let both = repo.commit_with_parents(&there, &[&apart, &theirs], "m", when).unwrap();
    let Merged::Clean(back) = repo.transplant(&both, &apart, &both).unwrap() else {
        panic!("conflicts")
    };
    assert_eq!(back, repo.tree_of(&apart).unwrap());
    assert_eq!(photograph(&dir, &|name| !name.starts_with(".git/objects")), before);
}

#[test]
fn no_program_of_the_users_runs_to_merge_and_their_attributes_count() {
    let base = "seq 9 > a; echo 'a merge=mine' > .gitattributes; seq 9 > bin; echo 'bin -merge' >> .gitattributes
                git config merge.mine.driver 'touch \"$HOME/ran\"; true'";
    let (world, base, theirs) = world_and_change(base, "sed -i s/1/x/ a; sed -i s/1/x/ bin");
    let dir = world.repo_dir();
    world.sh(&dir, &format!("git checkout -q --detach {base}; sed -i s/9/y/ a; git commit -qam x"));
    assert_eq!(merged(&world.repo(), &world.repo().head().unwrap(), &theirs), "conflicts a");
    world.sh(
        &dir,
        &format!("git checkout -q --detach {base}; sed -i s/9/y/ bin; git commit -qam x"),
    );
    assert_eq!(merged(&world.repo(), &world.repo().head().unwrap(), &theirs), "conflicts bin");
    assert!(!world.path("ran").exists());
}

#[test]
fn where_the_user_stands_is_told() {
    let world = World::with("echo 1 > a");
    let (repo, dir) = (world.repo(), world.repo_dir());
    let tip = repo.head().unwrap();
    let main = "refs/heads/main".to_owned();
    assert_eq!(
        repo.standing().unwrap(),
        HeadState::OnBranch(BranchTip { branch: main.clone(), tip: tip.clone() })
    );
    world.sh(&dir, "touch .git/MERGE_HEAD");
    assert_eq!(repo.standing().unwrap(), HeadState::Busy { doing: "merge" });
    world.sh(&dir, "rm .git/MERGE_HEAD; git worktree add -q -b side ../linked");
    let linked = Repository::discover(&world.path("linked")).unwrap();
    let side = BranchTip { branch: "refs/heads/side".to_owned(), tip };
    assert_eq!(linked.standing().unwrap(), HeadState::OnBranch(side));
    world.sh(&world.path("linked"), "git checkout -q --ignore-other-worktrees main");
    let HeadState::Shared { branch, .. } = repo.standing().unwrap() else { panic!("not shared") };
    assert_eq!(branch, main);
    world.sh(&world.path("linked"), "git checkout -q --detach");
    assert_eq!(linked.standing().unwrap(), HeadState::Detached);
    world.sh(&dir, "git checkout -q --orphan fresh");
    assert_eq!(repo.standing().unwrap(), HeadState::Unborn);
}

#[test]
fn a_linked_work_tree_lands_by_itself() {
    let (world, from, to) = world_and_change("echo 1 > a", "echo 2 > a");
    let (dir, linked) = (world.repo_dir(), world.path("linked"));
    world.sh(&dir, "git worktree add -q -b side ../linked");
    let there = Repository::discover(&linked).unwrap();
    assert_eq!(there.obstacles(&from, &to, &world.path("scratch")).unwrap(), []);
    assert!(there.move_branch("refs/heads/side", &from, &to, "spore: here").unwrap());
    there.turn(&from, &to).unwrap();
    assert_eq!(world.sh(&linked, "cat a; git status --porcelain"), "2");
    assert!(world.sh(&linked, "git reflog -1").contains("spore: here"));
    assert_eq!(world.sh(&dir, "cat a; git status --porcelain"), "1");
}

#[test]
fn only_spores_refs_can_be_removed_and_only_where_they_are() {
    let (world, base, commit) = world_and_change("echo 1 > a", "echo 2 > a");
    let repo = world.repo();
    let branch = "refs/heads/spore/run";
    repo.set_ref(branch, &commit).unwrap();
    assert!(matches!(repo.remove_ref("refs/heads/main", &base), Err(GitError::ForeignRef { .. })));
    assert!(!repo.remove_ref(branch, &base).unwrap());
    world.sh(&world.repo_dir(), "git checkout -q spore/run");
    assert!(!repo.remove_ref(branch, &commit).unwrap());
    world.sh(&world.repo_dir(), "git checkout -q main");
    for _ in 0..2 {
        assert!(repo.remove_ref(branch, &commit).unwrap());
    }
    assert_eq!(repo.ref_target(branch).unwrap(), None);
}

#[test]
fn a_mailed_commit_is_taken_by_git_am() {
    let base = "seq 99 > old; printf '\\0\\1' > bin; echo 1 > run; printf 'a\\r\\nb\\r\\n' > crlf
                echo 'x -diff' > .gitattributes; echo 1 > x; echo 1 > gone; echo 1 > l
                git config diff.noprefix true; git config format.attach true
                git config format.subjectPrefix 'RFC'; git config format.signoff true";
    let change = "git mv old new; echo 100 >> new; printf '\\0\\2\\3' > bin; chmod +x run
                  printf 'a\\r\\nc\\r\\n' > crlf; echo 2 > x; rm gone l; ln -s run l
                  mkdir 'ü b'; echo 1 > 'ü b/c'";
    let (world, _, commit) = world_and_change(base, change);
    let mail = world.repo().mail(&commit).unwrap();
    assert_eq!(world.repo().mail(&commit).unwrap(), mail);
    std::fs::write(world.path("result.patch"), &mail).unwrap();
    assert!(String::from_utf8_lossy(&mail).contains("rename from old"));
    world.sh(&world.repo_dir(), "git checkout -q -b other; git am -q --keep-cr ../result.patch");
    let (repo, head) = (world.repo(), world.repo().head().unwrap());
    assert_eq!(repo.tree_of(&head).unwrap(), repo.tree_of(&commit).unwrap());
    assert_eq!(world.sh(&world.repo_dir(), "git log -1 --format=%B"), "change");
}

#[test]
fn added_lines_are_found_in_any_file() {
    let base = "printf 'one\\ntwo\\n' > a; printf '\\0\\n' > bin; echo '* -diff' > .gitattributes";
    let change = "printf 'zero\\none\\nthree\\n' > a; printf '\\0\\nkey\\n' > bin; mkdir 'b c'; printf x > 'b c/d'";
    let (world, from, to) = world_and_change(base, change);
    let told: Vec<String> = world
        .repo()
        .additions(&from, &to)
        .unwrap()
        .iter()
        .flat_map(|file| {
            let line = |(number, line): &(u32, Vec<u8>)| {
                format!("{}:{number} {}", file.path, String::from_utf8_lossy(line))
            };
            file.added.iter().map(line).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(told, ["a:1 zero", "a:3 three", "b c/d:1 x", "bin:2 key"]);
}

#[test]
fn a_text_is_found_in_any_file_of_a_tree_and_a_pattern_is_none() {
    let base = "printf 'a\\0b-key\\0' > bin; echo '* -diff' > .gitattributes";
    let (world, from, to) = world_and_change(base, "echo '+later [x].*' > a");
    let holds = |at: &spore_model::CommitId, text: &str| world.repo().holds(at, text).unwrap();
    assert!(holds(&from, "b-key") && holds(&to, "b-key") && holds(&to, "+later [x].*"));
    assert!(!holds(&from, "+later") && !holds(&to, "b.key") && !holds(&to, "later [y]"));
    assert!(!holds(&to, "--help"));
}

#[test]
fn a_new_name_is_told_of_a_file_without_lines() {
    let base = "seq 9 > old; echo 1 > kept";
    let change = "touch 'e m'; mkdir d; touch d/e; git mv old new; echo 2 > kept; ln -s x l";
    let (world, from, to) = world_and_change(base, change);
    let additions = world.repo().additions(&from, &to).unwrap();
    let told: Vec<(&str, bool)> =
        additions.iter().map(|file| (file.path.as_str(), file.is_new_name)).collect();
    assert_eq!(told, [("d/e", true), ("e m", true), ("kept", false), ("l", true), ("new", true)]);
}
