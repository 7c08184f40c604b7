//! Commits, refs, diffs: what a run leaves in the user's repository and reads from it.

use spore_git::{ChangedFile, FileChange, GitError};
use spore_model::Timestamp;

use crate::world::{World, exclusions};

#[test]
fn the_same_inputs_give_the_same_commit() {
    let ids = ["one", "two"].map(|_| {
        let world = World::with("echo 1 > a");
        let repo = world.repo();
        let (tree, parent) = (repo.tree_of(&repo.head().unwrap()).unwrap(), repo.head().unwrap());
        let when = Timestamp::from_millis(1_767_225_600_999);
        let commit = repo.commit_tree(&tree, &parent, "feat: größer\n\nbody", when).unwrap();
        assert_eq!(repo.commit_tree(&tree, &parent, "feat: größer\n\nbody", when).unwrap(), commit);
        let shown = world.sh(&world.repo_dir(), &format!("git cat-file commit {commit}"));
        shown.lines().filter(|line| !line.starts_with("parent ")).collect::<Vec<_>>().join("\n")
    });
    assert_eq!(
        ids[0],
        "tree 2ce1eef76631e82282e0f7f0cf9e6f3e9a4a0b1e\n\
         author Ada <ada@example.org> 1767225600 +0000\n\
         committer Ada <ada@example.org> 1767225600 +0000\n\nfeat: größer\n\nbody"
    );
    assert_eq!(ids[0], ids[1]);
}

#[test]
fn only_spores_refs_can_be_set() {
    let world = World::with("echo 1 > a");
    let (repo, head) = (world.repo(), world.repo().head().unwrap());
    for name in
        ["refs/heads/main", "HEAD", "refs/spore", "refs/spore/", "refs/sporeling/x", "--stdin"]
    {
        let error = repo.set_ref(name, &head).unwrap_err();
        assert!(matches!(error, GitError::ForeignRef { .. }), "{name}: {error}");
    }
    assert!(matches!(repo.set_ref("refs/spore/../heads/x", &head), Err(GitError::Failed { .. })));
    for _ in 0..2 {
        repo.set_ref("refs/spore/run/base", &head).unwrap();
        repo.set_ref("refs/heads/spore/run", &head).unwrap();
    }
    assert_eq!(repo.ref_target("refs/spore/run/base").unwrap(), Some(head.clone()));
    assert_eq!(repo.ref_target("refs/spore/run").unwrap(), None);
    // Wherever git keeps it.
    world.sh(&world.repo_dir(), "git pack-refs --all");
    assert_eq!(repo.ref_target("refs/spore/run/base").unwrap(), Some(head.clone()));
    assert_eq!(repo.ref_target("refs/spore/other").unwrap(), None);
    assert_eq!(repo.refs_under("refs/spore").unwrap(), [("refs/spore/run/base".to_owned(), head)]);
}

#[test]
fn a_branch_that_the_user_looks_at_is_not_moved() {
    let world = World::with("echo 1 > a");
    let (repo, head) = (world.repo(), world.repo().head().unwrap());
    repo.set_ref("refs/heads/spore/run", &head).unwrap();
    world.sh(&world.repo_dir(), "git checkout -q spore/run");
    let tree = repo.tree_of(&head).unwrap();
    let next = repo.commit_tree(&tree, &head, "next", Timestamp::from_millis(0)).unwrap();
    let error = repo.set_ref("refs/heads/spore/run", &next).unwrap_err();
    assert!(matches!(error, GitError::CheckedOut { .. }), "{error}");
    repo.set_ref("refs/heads/spore/run", &head).unwrap();
}

#[test]
fn a_lock_of_the_users_is_reported_and_left_alone() {
    let world = World::with("echo 1 > a");
    world.sh(&world.repo_dir(), "mkdir -p .git/refs/spore; touch .git/refs/spore/x.lock");
    let error = world.repo().set_ref("refs/spore/x", &world.repo().head().unwrap()).unwrap_err();
    assert!(matches!(error, GitError::Locked { .. }), "{error}");
    assert!(world.repo_dir().join(".git/refs/spore/x.lock").exists());
}

#[test]
fn a_diff_has_its_facts_whole_and_its_text_capped() {
    let world =
        World::with("seq 60 > old; echo 1 > a; printf '\\0\\1' > bin; echo 1 > gone; echo 1 > l");
    let (checkout, base) = world.checkout();
    world.sh(
        checkout.dir(),
        "mv old new; echo 61 >> new; echo 2 >> a; printf '\\0\\2' > bin
         rm gone l; ln -s a l; seq 9 > 'b c'",
    );
    let repo = world.repo();
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    let diff = repo.diff(&base, &tree, 1_000_000).unwrap();
    let file = |path: &str, status, added, removed| ChangedFile {
        path: path.to_owned(),
        status,
        added,
        removed,
    };
    let expected = [
        file("a", FileChange::Modified, Some(1), Some(0)),
        file("b c", FileChange::Added, Some(9), Some(0)),
        file("bin", FileChange::Modified, None, None),
        file("gone", FileChange::Deleted, Some(0), Some(1)),
        file("l", FileChange::TypeChanged, Some(1), Some(1)),
        file("new", FileChange::Renamed { from: "old".to_owned() }, Some(1), Some(0)),
    ];
    assert_eq!(diff.files, expected);
    assert!(diff.text.starts_with("diff --git a/a b/a\n") && !diff.truncated);

    let capped = repo.diff(&base, &tree, 100).unwrap();
    assert!(capped.truncated && capped.text.len() <= 100 && capped.text.ends_with('\n'));
    assert!(diff.text.starts_with(&capped.text));
    assert_eq!(capped.files, expected);
    assert_eq!(repo.diff(&tree, &tree, 100).unwrap(), spore_git::Diff::default());
}

#[test]
fn a_change_cannot_hide_itself_from_its_diff() {
    let world = World::with("echo 1 > a");
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), "echo 'a -diff' > .gitattributes; echo evil > a");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    let diff = world.repo().diff(&base, &tree, 100_000).unwrap();
    assert!(diff.text.contains("+evil"), "{}", diff.text);
}

#[test]
fn files_are_read_as_the_commit_has_them() {
    let world = World::with("mkdir d; echo 1 > 'd/a b'; echo x > '*'; ln -s d/a l; echo 1 > u");
    world.sh(&world.repo_dir(), "echo dirty > u");
    let (repo, head) = (world.repo(), world.repo().head().unwrap());
    let read = |path| repo.read_file(&head, path).unwrap();
    assert_eq!(read("d/a b").as_deref(), Some(&b"1\n"[..]));
    assert_eq!(read("*").as_deref(), Some(&b"x\n"[..]));
    assert_eq!(read("u").as_deref(), Some(&b"1\n"[..]));
    for path in ["d", "d/", "l", "none", "d/none", ":/u", ""] {
        assert_eq!(read(path), None, "{path}");
    }
    assert_eq!(repo.list_files(&head).unwrap(), ["*", "d/a b", "l", "u"]);
    let files = repo.tree_files(&repo.tree_of(&head).unwrap()).unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["*", "d/a b", "u"]);
    let read = repo.read_files(&head, &["u", "none", "l", "d/a b"]).unwrap();
    assert_eq!(read, [Some(b"1\n".to_vec()), None, None, Some(b"1\n".to_vec())]);
    let missing = "0".repeat(40);
    let blobs = [&files[1].blob, &missing, &files[0].blob].map(String::as_str);
    assert_eq!(repo.blob_sizes(&blobs).unwrap(), [2, 0, 2]);
}

#[test]
fn refs_are_those_that_git_lists_however_it_keeps_them() {
    let world = World::with("echo 1 > a; echo 1 > b");
    let dir = world.repo_dir();
    for script in [
        "git branch spore/one; git tag v1; git tag -a -m two v2; git tag deep/er/v3",
        "git pack-refs --all",
        "git commit -q --allow-empty -m more; git branch -f spore/one; git branch spore/two",
        "git tag -d v1; git branch spore-like; git update-ref refs/spore/RUN/base HEAD~",
        // What git says of a ref that leads to another, and of one that is half written.
        "git symbolic-ref refs/heads/spore/three refs/heads/spore/one",
        "git symbolic-ref -d refs/heads/spore/three; echo > .git/refs/tags/broken.lock",
        "git pack-refs --all --prune; mkdir -p .git/refs/heads/spore/empty/er",
    ] {
        world.sh(&dir, script);
        for prefix in ["refs/tags", "refs/heads", "refs/heads/spore", "refs/heads/spore/one"] {
            let list = format!("git for-each-ref --format='%(refname) %(objectname)' {prefix}");
            let refs = world.repo().refs_under(prefix).unwrap();
            let lines: Vec<String> =
                refs.iter().map(|(name, commit)| format!("{name} {commit}")).collect();
            assert_eq!(lines.join("\n"), world.sh(&dir, &list), "{script}: {prefix}");
        }
    }
}

#[test]
fn what_was_asked_before_is_answered_as_at_first() {
    let world = World::with("echo 1 > a; mkdir d; echo 2 > d/b; ln -s a link");
    let (checkout, base) = world.checkout();
    world.sh(checkout.dir(), "echo 3 > a; rm -r d; seq 9 > new");
    let tree = checkout.snapshot(&base, &exclusions()).unwrap();
    let asked = world.repo();
    let commit = asked.commit_tree(&tree, &base, "two", Timestamp::from_millis(0)).unwrap();
    // From here on it knows the files, their content and the comparison.
    asked.list_files(&base).unwrap();
    asked.list_files(&commit).unwrap();
    asked.read_files(&commit, &["a", "new"]).unwrap();
    asked.diff(&base, &commit, usize::MAX).unwrap();
    for path in ["a", "d", "d/b", "link", "new", "d/../a", ""] {
        for at in [&base, &commit] {
            let first = world.repo().read_file(at, path).unwrap();
            assert_eq!(asked.read_file(at, path).unwrap(), first, "{path}");
            assert_eq!(asked.read_file(at, path).unwrap(), first, "{path}");
        }
    }
    let fresh = world.repo();
    assert_eq!(asked.diff(&base, &commit, 0).unwrap(), fresh.diff(&base, &commit, 0).unwrap());
    for revision in [format!("{commit}^"), commit.to_string(), base.to_string()] {
        assert_eq!(asked.resolve(&revision).unwrap(), fresh.resolve(&revision).unwrap());
    }
    let files = fresh.tree_files(&tree).unwrap();
    let blobs: Vec<&str> = files.iter().map(|file| file.blob.as_str()).collect();
    for _ in 0..2 {
        assert_eq!(asked.blob_sizes(&blobs).unwrap(), world.repo().blob_sizes(&blobs).unwrap());
        assert_eq!(asked.read_blobs(&blobs).unwrap(), world.repo().read_blobs(&blobs).unwrap());
    }
}
