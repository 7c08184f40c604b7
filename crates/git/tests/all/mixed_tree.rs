//! Some files of one tree in another.

use spore_git::TreeMixture;

use crate::world::World;

#[test]
fn files_come_back_and_others_stay_out() {
    let world = World::with("mkdir t; echo 1 > a; echo base > t/x; echo base > t/y; chmod +x t/y");
    let repo = world.repo();
    let base = repo.head().unwrap();
    let change = "echo 2 > a; rm -r t; echo file > t; mkdir u; echo new > u/z; git add -A";
    world.sh(&world.repo_dir(), &format!("{change}; git commit -q -m change"));
    let changed = repo.tree_of(&repo.head().unwrap()).unwrap();
    let index = world.path("mixed.index");
    let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let before = std::fs::read(world.repo_dir().join(".git/index")).unwrap();
    let mix = || {
        let (back, out) = (names(&["t/x", "t/y", "never"]), names(&["u/z", "gone"]));
        repo.mix(
            &changed,
            &TreeMixture { from: &base, bring_back: &back, leave_out: &out, rewrite: &[] },
            &index,
        )
        .unwrap()
    };
    let mixed = mix();
    let listed = world.sh(&world.repo_dir(), &format!("git ls-tree -r {mixed}"));
    let told: Vec<String> = listed
        .lines()
        .map(|line| format!("{} {}", &line[..6], line.split('\t').nth(1).unwrap()))
        .collect();
    assert_eq!(told, ["100644 a", "100644 t/x", "100755 t/y"]);
    let read = |name: &str| world.sh(&world.repo_dir(), &format!("git show {mixed}:{name}"));
    assert_eq!((read("a").trim(), read("t/x").trim()), ("2", "base"));
    assert_eq!(mix(), mixed);
    assert!(!index.exists());
    assert_eq!(std::fs::read(world.repo_dir().join(".git/index")).unwrap(), before);
}
