//! Whatever the repository, the change and the user's own edits: a landing that is refused
//! leaves every byte as it was, and one that is not changes what is concerned and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proptest::prelude::*;
use spore_git::Repository;
use spore_model::{CommitId, Timestamp};

use crate::world::{World, exclusions, photograph};

const PATHS: [&str; 7] = ["a", "b", "d", "d/x", "d/y", "e/f/g", "e/h"];

#[derive(Clone, Debug)]
enum Edit {
    Write(usize, u8),
    Delete(usize),
}

/// What the user does besides editing.
#[derive(Clone, Debug)]
struct Dirt {
    edits: Vec<Edit>,
    /// Those of the edits that are staged, by path.
    staged: BTreeSet<usize>,
    ignored: BTreeSet<usize>,
    stash: bool,
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let write = (0..PATHS.len(), 0..4_u8).prop_map(|(path, text)| Edit::Write(path, text));
    let delete = (0..PATHS.len()).prop_map(Edit::Delete);
    prop::collection::vec(prop_oneof![3 => write, 1 => delete], 1..5)
}

fn dirt() -> impl Strategy<Value = Dirt> {
    let some = || prop::collection::btree_set(0..PATHS.len(), 0..3);
    let edits = prop_oneof![1 => Just(Vec::new()), 3 => edits()];
    (edits, some(), some(), any::<bool>()).prop_map(|(edits, staged, ignored, stash)| Dirt {
        edits,
        staged,
        ignored,
        stash,
    })
}

/// Makes the edits, in order; a file takes the place of what is in its way.
fn perform(root: &Path, edits: &[Edit]) {
    for edit in edits {
        let (Edit::Write(index, _) | Edit::Delete(index)) = edit;
        let path = root.join(PATHS[*index]);
        match edit {
            Edit::Delete(_) => drop(fs::remove_file(&path)),
            Edit::Write(_, text) => {
                for above in path.ancestors().skip(1).take_while(|above| *above != root) {
                    let _ = fs::remove_file(above);
                }
                let _ = fs::remove_dir_all(&path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, format!("{text}\n").repeat(usize::from(*text) + 1)).unwrap();
            }
        }
    }
}

fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = photograph(root, &|name| name != ".git");
    let is_file = |name: &String| !root.join(name).is_dir();
    all.into_iter()
        .filter(|(name, _)| is_file(name))
        .map(|(name, (_, bytes))| (name, bytes))
        .collect()
}

fn staged(world: &World) -> BTreeMap<String, String> {
    let listed = world.sh(&world.repo_dir(), "git ls-files --stage");
    let parse = |line: &str| line.split_once('\t').map(|(entry, name)| (name.into(), entry.into()));
    listed.lines().filter_map(parse).collect()
}

struct Scene {
    world: World,
    repo: Repository,
    from: CommitId,
    to: CommitId,
    concerned: BTreeSet<String>,
}

impl Scene {
    fn new(base: &[Edit], change: &[Edit], dirt: &Dirt) -> Self {
        let world = World::with("echo kept > kept; echo '#' > .git/hooks/post-checkout");
        let dir = world.repo_dir();
        perform(&dir, base);
        world.sh(
            &dir,
            "git add -A; git commit -q --allow-empty -m more; git tag v1; git branch other",
        );
        let (checkout, from) = world.checkout();
        perform(checkout.dir(), change);
        let repo = world.repo();
        let tree = checkout.snapshot(&from, &exclusions()).unwrap();
        let to = repo.commit_tree(&tree, &from, "change", Timestamp::from_millis(0)).unwrap();
        let names = world.sh(&dir, &format!("git diff --no-renames --name-only {from} {to}"));
        if dirt.stash {
            world.sh(&dir, "echo stashed > kept; git stash push -q");
        }
        let ignored: String =
            dirt.ignored.iter().map(|index| format!("/{}\n", PATHS[*index])).collect();
        fs::write(dir.join(".git/info/exclude"), ignored).unwrap();
        perform(&dir, &dirt.edits);
        for index in &dirt.staged {
            // What cannot be staged, is not.
            world.sh(&dir, &format!("git add -f -A -- {} 2>/dev/null || true", PATHS[*index]));
        }
        world.sh(&dir, "git update-index -q --refresh || true");
        let concerned = names.lines().map(str::to_owned).collect();
        Self { world, repo, from, to, concerned }
    }

    /// Everything that is the user's and no file of the work tree or line of the index.
    fn rest(&self) -> BTreeMap<String, (u32, Vec<u8>)> {
        let changes = ["index", "logs/HEAD", "logs/refs/heads/main", "refs/heads/main"];
        photograph(&self.world.repo_dir().join(".git"), &|name| {
            !name.starts_with("objects") && !changes.contains(&name)
        })
    }
}

fn check(base: &[Edit], change: &[Edit], dirt: &Dirt) -> Result<(), TestCaseError> {
    let scene = Scene::new(base, change, dirt);
    let dir = scene.world.repo_dir();
    let whole = || photograph(&dir, &|name| !name.starts_with(".git/objects"));
    let (before, rest) = (whole(), scene.rest());
    let (old_files, old_staged) = (files(&dir), staged(&scene.world));
    let dirty: BTreeSet<String> = dirt
        .edits
        .iter()
        .map(|(Edit::Write(index, _) | Edit::Delete(index))| PATHS[*index].to_owned())
        .collect();
    let (repo, from, to) = (&scene.repo, &scene.from, &scene.to);
    let obstacles = repo.obstacles(from, to, &scene.world.path("scratch")).unwrap();
    prop_assert_eq!(whole(), before, "looking changed something");
    if !obstacles.is_empty() {
        let near = |name: &String| {
            dirty.iter().any(|path| {
                path == name
                    || path.starts_with(&format!("{name}/"))
                    || name.starts_with(&format!("{path}/"))
            })
        };
        prop_assert!(scene.concerned.iter().any(near), "refused for nothing: {:?}", obstacles);
        return Ok(());
    }
    prop_assert!(repo.move_branch("refs/heads/main", from, to, "spore").unwrap());
    repo.turn(from, to).unwrap();
    prop_assert_eq!(scene.rest(), rest);
    let (mut wanted, mut wanted_staged) = (old_files, old_staged);
    for name in &scene.concerned {
        wanted.remove(name);
        wanted_staged.remove(name);
        if let Some(bytes) = repo.read_file(to, name).unwrap() {
            wanted.insert(name.clone(), bytes);
            let entry = scene.world.sh(&dir, &format!("git ls-tree {to} -- {name}"));
            let mut words = entry.split_whitespace();
            let (mode, object) = (words.next().unwrap(), words.nth(1).unwrap());
            wanted_staged.insert(name.clone(), format!("{mode} {object} 0"));
        }
    }
    prop_assert_eq!(files(&dir), wanted);
    prop_assert_eq!(staged(&scene.world), wanted_staged);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_landing_touches_what_is_concerned_or_nothing(base in edits(), change in edits(), dirt in dirt()) {
        check(&base, &change, &dirt)?;
    }
}
