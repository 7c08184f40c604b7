//! The index as a whole, on real files and real git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use spore_effects::{FixedClock, Probe, Tool};
use spore_git::Repository;
use spore_model::graph::Direction;
use spore_model::{CommitId, EdgeKind, Timestamp};
use spore_store::{CodeIndex, KnownTree};
use tempfile::TempDir;

use crate::comparison::TreeComparison;
use crate::error::Result;
use crate::{
    IndexMode, IndexReport, IndexScope, IndexSettings, Indexer, Silent, file_list, identity,
    open_as_is, read,
};

/// The settings that come with Spore.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        threads: 0,
        max_file_bytes: 2_000_000,
        history: 3_000,
        max_commit_files: 30,
        half_life: Duration::from_secs(180 * 86_400),
        companions: 20,
        least_together: 0.2,
        keep_trees: 4,
        debounce: Duration::from_millis(200),
        busy_timeout: Duration::from_secs(30),
    }
}

/// A project in a directory of its own.
struct Project {
    dir: TempDir,
    /// How many times something was written.
    written: std::cell::Cell<u64>,
    settings: IndexSettings,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = Self { dir, written: Default::default(), settings: settings() };
        std::fs::create_dir_all(project.root().join(".spore")).unwrap();
        project
    }

    fn with_git() -> Self {
        let project = Self::new();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        // Long before the clock of the test, so that the stamp is trusted, and never twice at
        // the same time. What git writes has today's date and is read again.
        self.written.set(self.written.get() + 1);
        self.set_time(&path, self.written.get());
    }

    fn set_time(&self, path: &Path, second: u64) {
        let time = std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000 + second);
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    }

    fn remove(&self, path: &str) {
        std::fs::remove_file(self.root().join(path)).unwrap();
    }

    fn git(&self, args: &[&str]) -> String {
        let tool = Tool::new("git").args(args).cwd(&self.root());
        let tool = [("AUTHOR", "2026-01-01T00:00:00Z"), ("COMMITTER", "2026-01-01T00:00:00Z")]
            .iter()
            .fold(tool, |tool, (who, date)| {
                tool.env(format!("GIT_{who}_NAME"), "Test")
                    .env(format!("GIT_{who}_EMAIL"), "test@localhost")
                    .env(format!("GIT_{who}_DATE"), date)
            });
        let output = tool.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
        assert!(output.is_success(), "git {args:?}: {}", output.complaint());
        output.text()
    }

    fn commit(&self, message: &str) {
        self.git(&["add", "--all", "--", ":!.spore"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    fn with_indexer<T>(&self, work: impl FnOnce(&Indexer<'_>) -> T) -> T {
        let (root, dir) = (self.root(), self.root().join(".spore"));
        let indexer = Indexer {
            root: &root,
            dir: &dir,
            settings: &self.settings,
            project: &|| Repository::discover(&root),
            clock: &FixedClock(Timestamp::from_millis(1_767_225_600_000)),
            probe: &Probe::idle(),
            reporter: &Silent,
        };
        work(&indexer)
    }

    fn work_tree(&self, scope: &IndexScope, mode: IndexMode) -> Result<IndexReport> {
        self.with_indexer(|indexer| {
            let (index, mut report) = indexer.work_tree(scope, mode)?;
            report.count(&index)?;
            Ok(report)
        })
    }

    fn refresh(&self) -> IndexReport {
        self.work_tree(&IndexScope::default(), IndexMode::Update).unwrap()
    }

    fn full(&self) -> IndexReport {
        self.work_tree(&IndexScope::default(), IndexMode::Full).unwrap()
    }

    fn tree(&self, revision: &str, mode: IndexMode) -> IndexReport {
        let repository = Repository::discover(&self.root()).unwrap();
        self.with_indexer(|indexer| indexer.tree(&repository, revision, mode)).unwrap().1
    }

    fn draft(&self, base: &CommitId, commit: &CommitId) -> Option<CodeIndex> {
        let repository = Repository::discover(&self.root()).unwrap();
        self.with_indexer(|indexer| indexer.draft(&repository, base, commit)).unwrap()
    }

    fn scope(&self, path: &str) -> IndexScope {
        IndexScope::typed(&self.root(), &self.root(), &[path.into()], &[]).unwrap()
    }

    fn open(&self) -> CodeIndex {
        open_as_is(&self.root().join(".spore"), Duration::ZERO).unwrap().unwrap()
    }

    fn dump(&self) -> String {
        self.open().dump().unwrap()
    }

    /// Asserts that the index is the one that would be made now.
    #[track_caller]
    fn check_equals_full(&self) {
        let kept = self.dump();
        self.full();
        let made = self.dump();
        assert!(kept == made, "{}", difference(&kept, &made));
    }
}

fn difference(kept: &str, made: &str) -> String {
    let (kept, made): (Vec<&str>, Vec<&str>) = (kept.lines().collect(), made.lines().collect());
    let lines = |these: &[&str], others: &[&str], sign: char| {
        let mut only: Vec<String> = Vec::new();
        for line in these.iter().filter(|line| !others.contains(line)).take(10) {
            only.push(format!("{sign} {line}"));
        }
        only.join("\n")
    };
    format!("kept has\n{}\nmade has\n{}", lines(&kept, &made, '-'), lines(&made, &kept, '+'))
}

fn edges(index: &CodeIndex, typed: &str, kind: EdgeKind, direction: Direction) -> Vec<String> {
    let found = index.find(typed).unwrap();
    assert_eq!(found.len(), 1, "{typed} names {found:?}");
    let edges = index.edges_of(&found[0], &[kind]).unwrap();
    let edges = edges.into_iter().filter(|edge| edge.direction == direction);
    edges.map(|edge| edge.far.title).collect()
}

const LIB: &str = "//! A shop.\n\nmod price;\n\nuse price::total;\n\n/// Sells.\npub fn sell() {\n    total();\n}\n\n#[test]\nfn test_sell() {\n    sell();\n}\n";
const PRICE: &str = "/// Adds up.\npub fn total() -> u32 {\n    7\n}\n";

fn shop() -> Project {
    let project = Project::with_git();
    project.write("Cargo.toml", "[package]\nname = \"shop\"\n");
    project.write("src/lib.rs", LIB);
    project.write("src/price.rs", PRICE);
    project.write("README.md", "# Shop\n\nCall `sell` to sell.\n");
    project.commit("a shop");
    project
}

#[test]
fn a_tree_becomes_nodes_and_edges() {
    let project = shop();
    let report = project.refresh();
    assert_eq!((report.added, report.counts.files["rust"]), (4, 2));
    let index = project.open();
    let out = |typed, kind| edges(&index, typed, kind, Direction::Out);
    let into = |typed, kind| edges(&index, typed, kind, Direction::In);
    assert_eq!(out("sell", EdgeKind::Calls), ["total"]);
    assert_eq!(into("total", EdgeKind::Calls), ["sell"]);
    assert_eq!(out("test_sell", EdgeKind::Tests), ["sell"]);
    assert_eq!(into("sell", EdgeKind::Documents), ["Shop"]);
    assert_eq!(out("sell", EdgeKind::DefinedIn), ["src/lib.rs"]);
    assert_eq!(out("src", EdgeKind::Contains), ["src/lib.rs", "src/price.rs"]);
    assert_eq!(into("src", EdgeKind::Contains), ["."]);
    assert_eq!(out("sell", EdgeKind::Sibling), ["test_sell"]);
    let sell = index.node(&index.find("src/lib.rs:9").unwrap()[0]).unwrap().unwrap();
    assert_eq!(sell.title, "sell");
    assert!(sell.content.contains("pub fn sell()") && sell.content.contains("Sells."));
    assert_eq!(sell.metadata["path"], "src/lib.rs");
}

#[test]
fn nothing_to_do_is_seen_without_reading() {
    let project = shop();
    project.refresh();
    let dump = project.dump();
    let again = project.refresh();
    assert_eq!((again.added, again.changed, again.removed, again.unchanged), (0, 0, 0, 4));
    assert_eq!(again.counts, project.open().counts().unwrap());
    assert_eq!(project.dump(), dump);
    // A change that nothing shows from outside is one that only a reader would see.
    let path = project.root().join("src/price.rs");
    let seconds = std::fs::metadata(&path).unwrap().modified().unwrap();
    let seconds = seconds.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    std::fs::write(&path, PRICE.replace('7', "8")).unwrap();
    project.set_time(&path, seconds - 1_700_000_000);
    assert_eq!(project.refresh().unchanged, 4);
    project.set_time(&path, 500);
    assert_eq!(project.refresh().changed, 1);
}

#[test]
fn an_edit_looks_at_other_files_only_where_a_name_means_something_else() {
    let project = shop();
    project.refresh();
    project.write("src/price.rs", PRICE.replace('7', "8"));
    let report = project.refresh();
    assert_eq!((report.changed, report.resolved_again), (1, 0));
    assert_eq!(edges(&project.open(), "sell", EdgeKind::Calls, Direction::Out), ["total"]);
    project.write("src/price.rs", PRICE.replace("total", "sum"));
    let report = project.refresh();
    assert_eq!((report.changed, report.resolved_again), (1, 1));
    assert!(edges(&project.open(), "sell", EdgeKind::Calls, Direction::Out).is_empty());
    project.check_equals_full();
}

#[test]
fn a_renamed_file_is_still_known_by_its_old_id() {
    let project = shop();
    project.refresh();
    let old = project.open().find("total").unwrap()[0].clone();
    project.remove("src/price.rs");
    project.write("src/cost.rs", PRICE);
    project.refresh();
    let index = project.open();
    let renamed = index.edges_of(&old, &[EdgeKind::RenamedTo]).unwrap();
    assert_eq!(renamed.len(), 1);
    assert_eq!(index.find("total").unwrap(), [renamed[0].far.id.clone()]);
    assert_eq!(index.find(&old.as_str()[..8]).unwrap(), std::slice::from_ref(&old));
    let file = renamed_file(&index, "src/price.rs");
    assert_eq!(file, ["src/cost.rs"]);
    project.check_equals_full();
}

fn renamed_file(index: &CodeIndex, path: &str) -> Vec<String> {
    let old = identity::node_key("file", path, "", 0).id();
    let renamed = index.edges_of(&old, &[EdgeKind::RenamedTo]).unwrap();
    renamed.into_iter().map(|edge| edge.far.title).collect()
}

#[test]
fn what_changed_together_is_connected_as_seen_from_the_head() {
    let project = shop();
    project.write("src/lib.rs", format!("{LIB}// more\n"));
    project.write("src/price.rs", format!("{PRICE}// more\n"));
    project.commit("both");
    let report = project.refresh();
    assert_eq!(report.counts.commits, 2);
    let together = |direction| {
        let mut found = edges(&project.open(), "src/price.rs", EdgeKind::ChangedWith, direction);
        found.sort();
        found
    };
    assert_eq!(together(Direction::In), ["Cargo.toml", "README.md", "src/lib.rs"]);
    project.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(project.refresh().counts.commits, 1);
    project.check_equals_full();
}

#[test]
fn a_revision_has_an_index_of_its_own_that_is_like_a_full_one() {
    let project = shop();
    project.refresh();
    project.write("src/price.rs", PRICE.replace("total", "sum"));
    project.write("src/more.rs", "pub fn more() {}\n");
    project.commit("another");
    let first = project.tree("HEAD~1", IndexMode::Update);
    // Taken from the index of the work tree, which still is that of the first commit.
    assert_eq!((first.added, first.changed, first.removed), (0, 0, 0));
    let second = project.tree("HEAD", IndexMode::Update);
    assert_eq!((second.added, second.changed), (1, 1));
    let dump = |report: &IndexReport| {
        CodeIndex::open(Path::new(&report.index), Duration::ZERO).unwrap().dump().unwrap()
    };
    assert_eq!(dump(&first).matches("pub fn total()").count(), 1);
    let before = dump(&second);
    assert!(before == dump(&project.tree("HEAD", IndexMode::Full)));
    // And the same as that of a work tree with these files.
    project.full();
    assert!(before == project.dump(), "{}", difference(&before, &project.dump()));
}

#[test]
fn only_so_many_indexes_of_revisions_are_kept() {
    let project = shop();
    for number in 0..6 {
        project.write("src/more.rs", format!("pub fn more{number}() {{}}\n"));
        project.commit("more");
        project.tree("HEAD", IndexMode::Update);
    }
    let kept = std::fs::read_dir(project.root().join(".spore/index")).unwrap();
    let kept = kept.flatten().filter(|it| it.path().extension().is_some_and(|e| e == "db"));
    assert_eq!(kept.count(), 4);
}

#[test]
fn an_index_that_cannot_be_used_is_made_anew() {
    let project = shop();
    project.refresh();
    let dump = project.dump();
    let file = project.root().join(".spore/index.db");
    std::fs::write(&file, "no database").unwrap();
    assert_eq!(project.refresh().added, 4);
    assert_eq!(project.dump(), dump);
    let content = std::fs::read(&file).unwrap();
    std::fs::write(&file, &content[..content.len() / 2]).unwrap();
    project.refresh();
    assert_eq!(project.dump(), dump);
}

#[test]
fn a_part_of_the_tree_can_be_looked_at_alone() {
    let project = shop();
    project.refresh();
    project.write("src/price.rs", PRICE.replace('7', "8"));
    project.write("src/lib.rs", LIB.replace("Sells", "Still sells"));
    let only = project.scope("src/../src/price.rs");
    let report = project.work_tree(&only, IndexMode::Update).unwrap();
    assert_eq!((report.changed, report.removed), (1, 0));
    assert_eq!(project.refresh().changed, 1);
    assert!(project.work_tree(&project.scope("nowhere"), IndexMode::Update).is_err());
    project.check_equals_full();
}

#[test]
fn odd_files_are_left_out_and_counted() {
    let project = Project::new();
    project.write("good.rs", "fn good() {}\n");
    project.write("binary.rs", b"fn\0");
    project.write("line.js", "x".repeat(1 << 20));
    project.write("foreign.py", [0xfe; 200]);
    project.write("latin.py", b"# Andr\xe9 wrote this some time ago\ndef f(): pass\n");
    project.write("directory.rs/inside.rs", "fn inside() {}\n");
    project.write("ignored.rs", "fn ignored() {}\n");
    project.write(".sporeignore", "ignored.rs\n");
    let huge = std::fs::File::create(project.root().join("huge.rs")).unwrap();
    huge.set_len(2 << 30).unwrap();
    let root = project.root();
    std::os::unix::fs::symlink(&root, root.join("loop")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join("outside")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", root.join("outside.rs")).unwrap();
    let report = project.refresh();
    let skipped: BTreeMap<&str, u64> =
        report.counts.skipped.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
    let expected = [("binary", 1), ("minified", 1), ("not UTF-8", 1), ("too large", 1)];
    assert_eq!(skipped, BTreeMap::from(expected));
    let files: Vec<String> =
        project.open().files().unwrap().into_iter().map(|file| file.path).collect();
    assert_eq!(files, ["directory.rs/inside.rs", "good.rs", "latin.py"]);
    let again = project.refresh();
    assert_eq!((again.added, again.changed), (0, 0));
    project.check_equals_full();
}

#[test]
fn a_file_that_vanishes_before_it_is_read_is_not_there() {
    let project = Project::new();
    project.write("a.rs", "fn a() {}\n");
    let nothing = KnownTree::default();
    let comparison = TreeComparison::with(&nothing, u64::MAX);
    let list = file_list::of_directory(&project.root(), &IndexScope::default(), &comparison, 1);
    project.remove("a.rs");
    let outcome = read::content(&project.root(), &list.files[0], 1000);
    assert!(matches!(outcome, Err(read::ReadOutcome::Gone)));
}

/// What happens to the files between two calls.
#[derive(Clone, Debug)]
enum Deed {
    Write(usize, usize),
    Remove(usize),
    Move(usize, usize),
    Commit,
    Switch(bool),
}

const PATHS: [&str; 8] = [
    "src/a.rs",
    "src/b.rs",
    "src/deep/mod.rs",
    "lib/c.py",
    "lib/d.py",
    "web/e.ts",
    "web/f.ts",
    "doc.md",
];

/// Texts in which a few names are defined and used, over and over.
fn text(path: &str, seed: usize) -> String {
    let names = ["alpha", "beta", "gamma", "delta"];
    let name = |shift: usize| names[(seed >> shift) % 4];
    let (one, two, three) = (name(0), name(2), name(4));
    match path.rsplit('.').next() {
        Some("rs") => format!(
            "use crate::b::{three};\n/// Says `{two}`.\npub fn {one}() {{ {two}(); {three}(); }}\nstruct S;\nimpl S {{ fn {two}(&self) {{ self.{two}(); }} }}\n#[test]\nfn test_{one}() {{ {one}(); }}\n"
        ),
        Some("py") => format!(
            "from lib.{} import {three}\n\ndef {one}():\n    {two}()\n    {three}()\n\nclass {}:\n    def {two}(self):\n        self.{one}()\n",
            if seed.is_multiple_of(2) { "c" } else { "d" },
            ["Base", "Other"][seed % 2],
        ),
        Some("ts") => format!(
            "import {{ {three} as {two}2 }} from './{}';\nexport function {one}() {{ {two}(); {two}2(); }}\nexport class K{} {{ {two}() {{ this.{two}(); }} }}\n",
            if seed.is_multiple_of(3) { "e" } else { "f" },
            seed % 2,
        ),
        _ => format!("# {one}\n\nSee `{two}` and `{three}`.\n\n## {two}\n\nMore of `{one}`.\n"),
    }
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        4 => (0..PATHS.len(), 0..64_usize).prop_map(|(path, seed)| Deed::Write(path, seed)),
        1 => (0..PATHS.len()).prop_map(Deed::Remove),
        1 => (0..PATHS.len(), 0..PATHS.len()).prop_map(|(from, to)| Deed::Move(from, to)),
        1 => Just(Deed::Commit),
        1 => any::<bool>().prop_map(Deed::Switch),
    ]
}

fn perform(project: &Project, deed: &Deed) {
    let place = |path: usize| project.root().join(PATHS[path]);
    match deed {
        Deed::Write(path, seed) => project.write(PATHS[*path], text(PATHS[*path], *seed)),
        Deed::Remove(path) => drop(std::fs::remove_file(place(*path))),
        Deed::Move(from, to) => {
            std::fs::create_dir_all(place(*to).parent().unwrap()).unwrap();
            drop(std::fs::rename(place(*from), place(*to)));
        }
        Deed::Commit => project.commit("a deed"),
        Deed::Switch(main) => {
            project.commit("before a switch");
            project.git(&["checkout", "--quiet", if *main { "main" } else { "side" }]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn an_index_that_was_kept_up_to_date_equals_one_that_is_made_anew(
        first in proptest::collection::vec((0..PATHS.len(), 0..64_usize), 1..8),
        rounds in proptest::collection::vec(proptest::collection::vec(deed(), 1..4), 1..5),
    ) {
        let project = Project::with_git();
        for (path, seed) in first {
            project.write(PATHS[path], text(PATHS[path], seed));
        }
        project.commit("first");
        project.git(&["branch", "side"]);
        project.refresh();
        for round in rounds {
            for deed in &round {
                perform(&project, deed);
            }
            project.refresh();
        }
        let kept = project.dump();
        project.full();
        let made = project.dump();
        prop_assert!(kept == made, "{}", difference(&kept, &made));
    }
}

#[test]
fn a_draft_is_the_index_of_the_change_and_leaves_nothing_behind() {
    let changes: [&dyn Fn(&Project); 6] = [
        &|project| project.write("src/price.rs", PRICE.replace("total", "sum")),
        &|project| project.write("src/deep/more.rs", "pub fn more() { crate::price::total(); }\n"),
        &|project| project.remove("src/price.rs"),
        &|project| {
            let root = project.root();
            std::fs::rename(root.join("src/price.rs"), root.join("src/cost.rs")).unwrap();
        },
        &|project| project.write(".sporeignore", "src/price.rs\n"),
        &|_| {},
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut project = shop();
        // A change that is under way has the past of its base; without one the two are equal.
        project.settings.history = 0;
        let base = CommitId::new(project.git(&["rev-parse", "HEAD"])).unwrap();
        let at_base = project.tree(base.as_str(), IndexMode::Update);
        change(&project);
        project.commit("a change");
        let commit = CommitId::new(project.git(&["rev-parse", "HEAD"])).unwrap();
        let files = || std::fs::read_dir(project.root().join(".spore/index")).unwrap().count();
        let before = files();
        let drafted = project.draft(&base, &commit).unwrap().dump().unwrap();
        assert_eq!(files(), before, "{number}");
        let open = |report: &IndexReport| {
            let index = CodeIndex::open(Path::new(&report.index), Duration::ZERO);
            index.unwrap().dump().unwrap()
        };
        let made = open(&project.tree(commit.as_str(), IndexMode::Full));
        assert!(drafted == made, "{number}: {}", difference(&drafted, &made));
        // The base's own is as it was.
        let kept = open(&at_base);
        assert!(kept == open(&project.tree(base.as_str(), IndexMode::Full)), "{number}");
    }
}

#[test]
fn a_change_of_a_base_without_an_index_has_no_draft() {
    let project = shop();
    let base = CommitId::new(project.git(&["rev-parse", "HEAD"])).unwrap();
    assert!(project.draft(&base, &base).is_none());
}
