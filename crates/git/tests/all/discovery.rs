#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use spore_git::{GitError, Repository};
use spore_model::CommitId;

use crate::world::World;

const ONE_FILE: &str = "mkdir src; echo 1 > src/a.rs";

#[test]
fn a_repository_is_found_from_any_directory_in_it() {
    let world = World::with(ONE_FILE);
    let root = world.repo_dir().canonicalize().unwrap();
    for dir in [root.clone(), root.join("src")] {
        let repo = Repository::discover(&dir).unwrap();
        assert_eq!((repo.root(), repo.git_dir()), (root.as_path(), root.join(".git").as_path()));
        assert_eq!(repo.head_name().unwrap().as_deref(), Some("main"));
        assert_eq!(repo.head().unwrap().as_str(), world.sh(&root, "git rev-parse HEAD"));
    }
}

#[test]
fn a_linked_worktree_has_its_own_head_and_the_common_git_directory() {
    let world = World::with(ONE_FILE);
    let linked = world.path("linked");
    world.sh(&world.repo_dir(), "git worktree add -q ../linked -b side");
    world.sh(&linked, "echo 2 > b; git add b; git commit -q -m two");
    let repo = Repository::discover(&linked.join("src")).unwrap();
    assert_eq!(repo.git_dir(), world.repo().git_dir());
    assert_eq!(repo.root(), linked.canonicalize().unwrap());
    assert_eq!(repo.head_name().unwrap().as_deref(), Some("side"));
    assert_ne!(repo.head().unwrap(), world.repo().head().unwrap());

    let head = repo.head().unwrap();
    let checkout = repo.checkout(&world.place(), &head).unwrap();
    assert!(checkout.dir().join("b").exists());
}

#[test]
fn worktrees_of_a_bare_repository_are_work_trees() {
    let world = World::with(ONE_FILE);
    world.sh(&world.path(""), "git clone -q --bare repo store.git");
    world.sh(&world.path("store.git"), "git worktree add -q ../linked main");
    let repo = Repository::discover(&world.path("linked")).unwrap();
    let head = repo.head().unwrap();
    let checkout = repo.checkout(&world.place(), &head).unwrap();
    let tree = checkout.snapshot(&head, &crate::world::exclusions()).unwrap();
    assert_eq!(tree, repo.tree_of(&head).unwrap());
}

#[test]
fn a_detached_head_has_no_name() {
    let world = World::with(ONE_FILE);
    world.sh(&world.repo_dir(), "git checkout -q --detach");
    assert_eq!(world.repo().head_name().unwrap(), None);
    assert_eq!(world.repo().head().unwrap(), world.repo().resolve("main").unwrap());
}

#[test]
fn what_is_no_repository_to_work_on_is_told_apart() {
    let world = World::empty();
    let dir = world.path("");
    let discover = |name: &str| Repository::discover(&world.path(name));
    assert!(matches!(discover(""), Err(GitError::NotARepository { .. })));
    assert!(matches!(discover("missing"), Err(GitError::NotARepository { .. })));
    world.sh(&dir, "git init -q --bare bare; git init -q young");
    assert!(matches!(discover("bare"), Err(GitError::Bare { .. })));
    assert!(matches!(discover("young/.git"), Err(GitError::NotARepository { .. })));
    let young = discover("young").unwrap();
    assert!(matches!(young.head(), Err(GitError::NoCommits { .. })));
    assert!(young.head_name().unwrap().is_some());
    assert_eq!(young.dirty_files().unwrap(), 0);
}

#[test]
fn a_revision_that_names_nothing_is_an_error() {
    let repo = World::with(ONE_FILE);
    let repo = repo.repo();
    let nobody = CommitId::new("0123456789".repeat(4)).unwrap();
    assert!(matches!(repo.tree_of(&nobody), Err(GitError::UnknownRevision { .. })));
    assert!(matches!(repo.resolve("--all"), Err(GitError::UnknownRevision { .. })));
    assert!(matches!(repo.resolve("no such"), Err(GitError::UnknownRevision { .. })));
}

#[test]
fn submodules_are_named_and_are_no_files() {
    let world = World::with(ONE_FILE);
    world.sh(&world.path(""), "git clone -q repo lib");
    world.sh(
        &world.repo_dir(),
        "git -c protocol.file.allow=always submodule --quiet add ../lib 'vendor/a lib'
         git commit -q -m sub",
    );
    let repo = world.repo();
    let head = repo.head().unwrap();
    assert_eq!(repo.submodules(&head).unwrap(), ["vendor/a lib"]);
    assert_eq!(repo.list_files(&head).unwrap(), [".gitmodules", "src/a.rs"]);
}

#[test]
fn uncommitted_files_are_counted_without_spores_own() {
    let world = World::with("echo 1 > a; echo 2 > b; echo '*.o' > .gitignore");
    assert_eq!(world.repo().dirty_files().unwrap(), 0);
    world.sh(
        &world.repo_dir(),
        "echo x >> a; rm b; mkdir new .spore; touch new/1 new/2 x.o .spore/config.toml
         touch 'with a space'; git add 'with a space'; git mv a moved",
    );
    // a and moved, b, two new ones, and the one with a space.
    assert_eq!(world.repo().dirty_files().unwrap(), 6);
    assert!(world.repo().is_ignored("new/y.o").unwrap());
    assert!(!world.repo().is_ignored("new/y.c").unwrap());
}

#[test]
fn inherited_git_variables_do_not_count() {
    // The test program again, with the variables that a hook or `rebase --exec` would set.
    let output = spore_effects::Tool::new(std::env::current_exe().unwrap())
        .args(["--exact", "results::the_same_inputs_give_the_same_commit"])
        .env("GIT_DIR", "/nowhere")
        .env("GIT_WORK_TREE", "/nowhere")
        .env("GIT_INDEX_FILE", "/nowhere/index")
        .env("GIT_OBJECT_DIRECTORY", "/nowhere/objects")
        .env("GIT_AUTHOR_NAME", "Somebody Else")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "user.name")
        .env("GIT_CONFIG_VALUE_0", "Somebody Else")
        .output()
        .unwrap();
    assert!(output.is_success() && output.text().contains("1 passed"), "{}", output.text());
}

#[test]
fn a_glance_at_head_says_what_git_says_or_nothing() {
    let world = World::with(ONE_FILE);
    let dir = world.repo_dir();
    let two = "git commit -q --allow-empty -m two";
    for (script, is_known) in [
        ("true", true),
        ("git pack-refs --all", true),
        (two, true),
        ("git checkout -q --detach", true),
        ("git checkout -q -b dir/other; git pack-refs --all", true),
        // A ref that leads to another, over what it was before.
        ("git symbolic-ref refs/heads/dir/other refs/heads/main", false),
    ] {
        world.sh(&dir, script);
        let head = world.repo().head().unwrap();
        assert_eq!(spore_git::head_at_a_glance(&dir), is_known.then_some(head), "{script}");
    }
    assert_eq!(spore_git::head_at_a_glance(&world.path("")), None);
}
