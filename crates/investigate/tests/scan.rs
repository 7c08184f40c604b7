//! The base scan on real directories, the nasty ones among them.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use proptest::prelude::*;
use spore_investigate::{
    Category, CountedEntry, Counting, EntryKind, EntryPlace, EntryStaleness, ReportInput,
    ScanError, ScanLimits, ScanProgress, ScanReport, ScanScope, ScanWatch, ScannedKind, Tree,
    problems,
};
use spore_model::Timestamp;
use tempfile::TempDir;

const LIMITS: ScanLimits = ScanLimits {
    depth: 3,
    width: 40,
    whole_bytes: 1_000_000,
    large_bytes: 100_000,
    large_lines: 5,
    recent: 2,
    top_directories: 2,
    listed: 5,
};

struct Patient;

impl ScanWatch for Patient {
    fn pass(&self, _: ScanProgress) {}

    fn is_over(&self) -> bool {
        false
    }
}

struct Gone;

impl ScanWatch for Gone {
    fn pass(&self, _: ScanProgress) {}

    fn is_over(&self) -> bool {
        true
    }
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn place(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, content) in files {
        put(dir.path(), path, content.as_bytes());
    }
    dir
}

fn put(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn read(root: &Path) -> Tree {
    read_in(root, &ScanScope::default())
}

fn read_in(root: &Path, scope: &ScanScope) -> Tree {
    Tree::read(root, scope, &LIMITS, &Patient).unwrap()
}

fn report(root: &Path, scope: &ScanScope) -> ScanReport {
    let tree = read_in(root, scope);
    let told = ReportInput {
        target: Path::new("/x/shop"),
        scope,
        limits: &LIMITS,
        now: now(),
        every_file: true,
    };
    ScanReport::of(&tree, &told)
}

fn paths(root: &Path, scope: &ScanScope) -> Vec<String> {
    let files = report(root, scope).classified_files.unwrap();
    files.into_iter().map(|file| file.path).collect()
}

fn hashes(root: &Path) -> BTreeMap<EntryPlace, String> {
    let tree = read(root);
    Counting::new(&tree, Path::new(""), ScanScope::default().word(), now()).hashes()
}

/// A small tree: short paths of a few names, so that directories are shared.
fn trees() -> impl Strategy<Value = BTreeMap<String, String>> {
    let name = prop::sample::select(vec!["a", "b", "c"]);
    let path = prop::collection::vec(name, 1..5)
        .prop_map(|names| format!("{}/f{}", names.join("/"), names.len()));
    prop::collection::btree_map(path, "[a-z]{0,6}", 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn one_edited_file_marks_its_directory_and_those_above_and_nothing_else(
        files in trees(),
        pick in any::<prop::sample::Index>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in &files {
            put(dir.path(), path, content.as_bytes());
        }
        let before = hashes(dir.path());
        let edited = files.keys().nth(pick.index(files.len())).unwrap();
        put(dir.path(), edited, b"something else");
        let standing = EntryStaleness::of(&before, &hashes(dir.path()));
        let mut expected: BTreeSet<EntryPlace> =
            BTreeSet::from([(EntryKind::File, edited.clone())]);
        for above in Path::new(edited).ancestors().skip(1) {
            let above = above.to_str().unwrap();
            let above = if above.is_empty() { "." } else { above };
            expected.insert((EntryKind::Directory, above.to_owned()));
        }
        let stale: BTreeSet<EntryPlace> = standing.stale.iter().cloned().collect();
        prop_assert_eq!(&stale, &expected);
        prop_assert_eq!(standing.fresh.len(), before.len() - expected.len());
        prop_assert!(standing.new.is_empty() && standing.gone.is_empty());

        // Put back, everything holds again: times do not count.
        put(dir.path(), edited, files[edited].as_bytes());
        let standing = EntryStaleness::of(&before, &hashes(dir.path()));
        prop_assert_eq!(standing.fresh.len(), before.len());
    }

    #[test]
    fn a_removed_file_is_gone_and_marks_what_is_above_it(
        files in trees(),
        pick in any::<prop::sample::Index>(),
    ) {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in &files {
            put(dir.path(), path, content.as_bytes());
        }
        let before = hashes(dir.path());
        let removed = files.keys().nth(pick.index(files.len())).unwrap();
        std::fs::remove_file(dir.path().join(removed)).unwrap();
        let standing = EntryStaleness::of(&before, &hashes(dir.path()));
        prop_assert_eq!(standing.gone, vec![(EntryKind::File, removed.clone())]);
        let above = Path::new(removed).ancestors().skip(1).count();
        prop_assert_eq!(standing.stale.len(), above);
        prop_assert!(standing.stale.iter().all(|(kind, _)| *kind == EntryKind::Directory));
    }

    #[test]
    fn every_entry_that_counting_writes_is_one_that_would_be_taken(files in trees()) {
        let dir = tempfile::tempdir().unwrap();
        for (path, content) in &files {
            put(dir.path(), path, content.as_bytes());
        }
        let tree = read(dir.path());
        let counting = Counting::new(&tree, Path::new("sub"), ScanScope::default().word(), now());
        let mut told = BTreeMap::new();
        for CountedEntry { entry, files } in counting.entries(|_| true) {
            let proposed = serde_json::to_value(&entry).unwrap();
            prop_assert_eq!(problems(EntryKind::Directory, &proposed), vec![]);
            for (name, hash) in files {
                told.insert((EntryKind::File, format!("{}/{name}", entry.path)), hash);
            }
            told.insert((EntryKind::Directory, entry.path), entry.hash);
        }
        prop_assert_eq!(told, counting.hashes());
    }
}

#[test]
fn lines_are_counted_as_tokei_counts_them() {
    let utf16: Vec<u8> = [0xfeff_u16]
        .into_iter()
        .chain("int a; // x\n\nint b;\n".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let dir = place(&[
        ("lib.rs", "//! Doc.\n//! ```\n//! let a = 1;\n//! ```\n\nfn a() {}\n/* c */\n"),
        ("a/b.py", "\"\"\"doc\"\"\"\n\nx = 1  # one\n"),
        ("index.html", "<html>\n<script>\nlet a = 1;\n</script>\n</html>\n"),
        ("README.md", "# T\n\n```rust\nfn x() {}\n```\n"),
        ("tool", "#!/usr/bin/env python3\nprint(1)\n"),
        ("Makefile", "all:\n\ttrue\n"),
        ("strange.qqq", "who knows\n"),
        ("marked.c", "\u{feff}int a;\n"),
    ]);
    put(dir.path(), "wide.c", &utf16);
    let mut theirs = tokei::Languages::new();
    theirs.get_statistics(&[dir.path()], &[], &tokei::Config::default());
    let ours = report(dir.path(), &ScanScope::default());
    let expected: BTreeMap<String, [usize; 4]> = theirs
        .iter()
        .map(|(language, counted)| {
            let files = counted.reports.len();
            (language.name().to_owned(), [files, counted.code, counted.comments, counted.blanks])
        })
        .filter(|(_, numbers)| numbers[0] > 0)
        .collect();
    let found: BTreeMap<String, [usize; 4]> = ours
        .languages
        .iter()
        .map(|row| {
            let numbers = [row.files, row.code, row.comments, row.blanks];
            (row.name.clone(), numbers.map(|number| usize::try_from(number).unwrap()))
        })
        .collect();
    assert_eq!(found, expected);
    assert!(found.contains_key("Python") && found["Python"][0] == 2, "{found:?}");
    let embedded = |name: &str| ours.languages.iter().find(|row| row.name == name).unwrap();
    assert_eq!(embedded("HTML").embedded["JavaScript"].code, 1);
}

#[test]
fn hidden_and_ignored_files_are_seen_only_when_asked_for() {
    let dir = place(&[
        ("a.rs", ""),
        (".hidden/b.rs", ""),
        ("target/c.rs", ""),
        ("d.rs", ""),
        ("e.log", ""),
        (".gitignore", "target/\n"),
        (".sporeignore", "d.rs\n"),
        (".git/config", ""),
        (".spore/spore.db", ""),
    ]);
    let seen = |all: bool, exclude: &[&str]| {
        let exclude = exclude.iter().map(|&name| name.to_owned()).collect();
        paths(dir.path(), &ScanScope::new(all, exclude))
    };
    assert_eq!(seen(false, &[]), ["a.rs", "e.log"]);
    assert_eq!(
        seen(true, &[]),
        [".gitignore", ".sporeignore", "a.rs", "d.rs", "e.log", ".hidden/b.rs", "target/c.rs"]
    );
    assert_eq!(seen(true, &["target", "*.log", ".hidden"]).len(), 4);
    // What is kept out everywhere is a directory like any other when it is named.
    assert_eq!(paths(&dir.path().join(".git"), &ScanScope::default()), ["config"]);
}

#[test]
fn a_pattern_that_is_none_is_refused() {
    let dir = place(&[]);
    for bad in ["", "[", "{a"] {
        let scope = ScanScope::new(false, vec![bad.to_owned()]);
        let refused = Tree::read(dir.path(), &scope, &LIMITS, &Patient);
        assert!(matches!(refused, Err(ScanError::Pattern { .. })), "{bad:?}");
    }
    let nowhere = Tree::read(&dir.path().join("no"), &ScanScope::default(), &LIMITS, &Patient);
    assert!(matches!(nowhere, Err(ScanError::Target { .. })));
    let stopped = Tree::read(dir.path(), &ScanScope::default(), &LIMITS, &Gone);
    assert!(matches!(stopped, Err(ScanError::Stopped)));
}

#[test]
fn loops_pipes_sockets_and_strange_names_do_no_harm() {
    let dir = place(&[("a/b.rs", "fn b() {}\n")]);
    let root = dir.path();
    std::os::unix::fs::symlink("..", root.join("a/loop")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join("out")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join("dangling")).unwrap();
    let pipe = nix::sys::stat::Mode::S_IRUSR;
    nix::unistd::mkfifo(&root.join("pipe"), pipe).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    std::fs::write(root.join(OsStr::from_bytes(b"no\xfftext.rs")), "fn c() {}\n").unwrap();
    std::fs::write(root.join("line\nbreak\x1b.rs"), "").unwrap();

    let report = report(root, &ScanScope::default());
    let totals = report.totals;
    assert_eq!((totals.files, totals.links, totals.special), (3, 3, 2));
    assert_eq!(report.languages[0].code, 2);
    let text = report.tree_rendered;
    assert!(text.contains("no\\xfftext.rs"), "{text}");
    assert!(text.contains("line\\nbreak\\u{1b}.rs"), "{text}");
    assert!(text.contains("loop (link)") && text.contains("pipe (special)"), "{text}");
}

#[test]
fn a_link_that_leads_elsewhere_is_a_change() {
    let dir = place(&[("a", "1"), ("b", "1")]);
    let link = dir.path().join("link");
    std::os::unix::fs::symlink("a", &link).unwrap();
    let before = hashes(dir.path());
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("b", &link).unwrap();
    let standing = EntryStaleness::of(&before, &hashes(dir.path()));
    assert_eq!(standing.stale, [(EntryKind::Directory, ".".to_owned())]);
}

#[test]
fn a_file_over_the_limit_is_not_read_whole_and_its_change_is_seen() {
    let dir = place(&[("small.rs", "fn a() {}\n")]);
    let huge = dir.path().join("huge.json");
    let file = std::fs::File::create(&huge).unwrap();
    // Nothing of it is on the disk, and reading it whole would take seconds and memory.
    file.set_len(3 << 30).unwrap();
    let tree = read(dir.path());
    let seen = tree.files.iter().find(|file| file.name == "huge.json").unwrap();
    assert_eq!(seen.kind, ScannedKind::Sampled);
    assert_eq!((seen.size, seen.lines, seen.language), (3 << 30, 0, None));
    let totals = report(dir.path(), &ScanScope::default()).totals;
    assert_eq!((totals.not_read_whole, totals.large_files), (1, 1));
    assert!(totals.disk_bytes < 1 << 30, "{}", totals.disk_bytes);

    let before = hashes(dir.path());
    file.set_len((3 << 30) + 1).unwrap();
    assert_eq!(EntryStaleness::of(&before, &hashes(dir.path())).stale.len(), 2);
}

#[test]
fn a_content_with_two_names_takes_its_room_once() {
    let dir = place(&[("a/one.bin", &"x".repeat(100_000))]);
    let before = read(dir.path());
    std::fs::hard_link(dir.path().join("a/one.bin"), dir.path().join("a/two.bin")).unwrap();
    let after = read(dir.path());
    assert_eq!(after.top().sums.disk, before.top().sums.disk);
    assert_eq!(after.top().sums.bytes, 2 * before.top().sums.bytes);
    assert_eq!((after.files[0].disk > 0, after.files[1].disk), (true, 0));
}

#[test]
fn recent_is_relative_to_the_clock_that_is_given() {
    let dir = place(&[("old.rs", ""), ("new.rs", ""), ("future.rs", "")]);
    for (name, seconds) in [("old.rs", -86_400 * 400), ("new.rs", -120), ("future.rs", 3_600)] {
        let at = now().as_seconds() + seconds;
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(u64::try_from(at).unwrap());
        let file = std::fs::File::options().write(true).open(dir.path().join(name)).unwrap();
        file.set_modified(at).unwrap();
    }
    let recent = report(dir.path(), &ScanScope::default()).recent_files;
    let told: Vec<(&str, &str)> =
        recent.iter().map(|file| (file.path.as_str(), file.modified_human.as_str())).collect();
    assert_eq!(told, [("future.rs", "in the future"), ("new.rs", "2 minutes ago")]);
}

fn shop() -> TempDir {
    place(&[
        ("Cargo.toml", "[package]\nname = \"shop\"\n"),
        ("src/lib.rs", &"fn a() {}\n".repeat(8)),
        ("src/api/types.rs", "// @generated by hand\nstruct A;\n"),
        ("src/api/deep/er/still.rs", "fn d() {}\n"),
        ("web/index.html", "<p>hello</p>\n"),
        ("web/logo.png", "\u{89}PNG"),
        ("notes", "just text\n"),
        ("empty", ""),
    ])
}

#[test]
fn a_scan_says_what_there_is() {
    let dir = shop();
    std::fs::create_dir(dir.path().join("hollow")).unwrap();
    let report = report(dir.path(), &ScanScope::default());
    insta::assert_snapshot!(report.tree_rendered, @"
    shop/
    ├── hollow/
    ├── src/
    │   ├── api/
    │   │   ├── deep/ (1 entry)
    │   │   └── types.rs (32 B)
    │   └── lib.rs (80 B)
    ├── web/
    │   ├── index.html (13 B)
    │   └── logo.png (5 B)
    ├── Cargo.toml (24 B)
    ├── empty (0 B)
    └── notes (10 B)
    ");
    insta::assert_snapshot!(report.brief, @"shop holds 8 files in 7 directories, 174 B in all. 13 lines of code: Rust 76 %, TOML 15 %, HTML 7 %. At its top: Cargo.toml. Most of it is in src/ (3 files, mostly source), web/ (2 files, mostly document). Of all that: 1 generated, 1 unusually large.");
    insta::assert_snapshot!(
        "signals",
        serde_json::to_string_pretty(&report.survey_signals).unwrap()
    );
    let categories: Vec<(Category, u64)> = report.file_categories.into_iter().collect();
    let expected = [
        (Category::Source, 3),
        (Category::Config, 1),
        (Category::Document, 2),
        (Category::Media, 1),
        (Category::Unknown, 1),
    ];
    assert_eq!(categories, expected);
    let large: Vec<&str> = report.large_files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(large, ["src/lib.rs"]);
    assert_eq!(report.large_files[0].reasons, ["more than 5 lines"]);
    assert_eq!(report.generated_files[0].path, "src/api/types.rs");
    let dirs: Vec<&str> = report.disk_usage.iter().map(|used| used.path.as_str()).collect();
    assert_eq!(dirs, ["", "hollow", "src", "src/api", "web"]);
}

#[test]
fn entries_say_that_nobody_has_read_anything() {
    let dir = shop();
    let tree = read(dir.path());
    let counting = Counting::new(&tree, Path::new("sub/shop"), ScanScope::default().word(), now());
    let mut text = String::new();
    for CountedEntry { entry, .. } in counting.entries(|_| true) {
        text.push_str(&format!("{} [{}]: {}\n", entry.path, entry.relative_path, entry.summary));
        assert_eq!(entry.confidence_reason.as_deref(), Some("counted, not read"));
    }
    insta::assert_snapshot!(text, @"
    sub/shop [.]: 8 files in 6 directories, 174 B, mostly source; Rust 10 lines of code in 3 files, TOML 2 lines of code in 1 file, HTML 1 line of code in 1 file.
    sub/shop/src [src]: 3 files in 4 directories, 122 B, mostly source; Rust 10 lines of code in 3 files.
    sub/shop/src/api [src/api]: 2 files in 3 directories, 42 B, mostly source; Rust 2 lines of code in 2 files.
    sub/shop/src/api/deep [src/api/deep]: 1 file in 2 directories, 10 B, mostly source; Rust 1 line of code in 1 file.
    sub/shop/src/api/deep/er [src/api/deep/er]: 1 file, 10 B, mostly source; Rust 1 line of code in 1 file.
    sub/shop/web [web]: 2 files, 18 B, mostly document; HTML 1 line of code in 1 file.
    ");
}

#[test]
fn the_same_directory_gives_the_same_bytes() {
    let dir = shop();
    let other = shop();
    let json = |root: &Path| {
        let mut report = report(root, &ScanScope::default());
        report.recent_files.clear();
        serde_json::to_string(&report).unwrap()
    };
    let first = json(dir.path());
    for _ in 0..5 {
        assert_eq!(json(dir.path()), first);
    }
    assert_eq!(json(other.path()), first);
}

#[test]
fn an_empty_directory_is_one_too() {
    let dir = place(&[]);
    let report = report(dir.path(), &ScanScope::default());
    assert_eq!(report.brief, "shop holds no files.");
    assert_eq!(report.totals.files, 0);
    assert_eq!(report.tree_rendered, "shop/\n");
}
