//! What speaks for a file, signal by signal, and the order that follows.

use super::*;
use crate::sample_tree::SampleTree;

const PRINTER: &str = "
    file crates/cli/printer.rs
    function print_path 4-9 prints the path of a match
    function print_line 11-12 prints a line
    file crates/core/cache.rs
    function lookup_path 2-5 looks a path up in the cache
    file crates/core/walk.rs
    function walk_tree 1-8 walks a tree of directories
    file scripts/release.py
    function upload 1-5 uploads the printer
    file tests/printer.rs
    test a_path_is_printed 3-6 prints one path
    file README.md
    section Printing 1-4 prints the path of every match
    commit cache: forget paths on demand | crates/core/cache.rs
    commit printer: colours | crates/cli/printer.rs tests/printer.rs
    commit walk: follow links | crates/core/walk.rs
";

/// Returns the value of a signal for every file whose value is not zero, the largest first.
#[track_caller]
fn told(tree: &str, task: &str, signal: RankSignal) -> Vec<String> {
    let tree = SampleTree::of(tree);
    let corpus = tree.corpus();
    let ranker = Ranker::new(&corpus);
    let (signals, _) = ranker.signals(&TaskQuestion::new(task)).unwrap();
    assert_eq!((signals.len(), signals.is_empty()), (ranker.len(), ranker.is_empty()));
    let mut values: Vec<(f32, &str)> = (0..)
        .zip(signals.column(signal))
        .map(|(file, value)| (*value, ranker.path(file)))
        .collect();
    values.retain(|(value, _)| *value != 0.0);
    values.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let name = |path: &str| path.rsplit_once('/').map_or(path, |(_, name)| name).to_owned();
    values.iter().map(|(value, path)| format!("{} {value:.2}", name(path))).collect()
}

#[track_caller]
fn check(task: &str, signal: RankSignal, expected: &[&str]) {
    assert_eq!(told(PRINTER, task, signal), expected, "{task}: {}", signal.as_str());
}

#[test]
fn words_speak_for_files_and_their_functions() {
    for signal in [RankSignal::Text, RankSignal::BestUnit, RankSignal::BestUnits] {
        let found = told(PRINTER, "walk the tree of directories", signal);
        assert_eq!(found, ["walk.rs 1.00"], "{}", signal.as_str());
    }
    // The body counts for the whole, the subject has a column of its own.
    let task = "uploads\n\nwalk the tree of directories";
    let of_subject = told(PRINTER, task, RankSignal::TextSubject);
    assert_eq!(of_subject, ["release.py 1.00"]);
    assert_eq!(told(PRINTER, task, RankSignal::Text).len(), 2);
    check("zebra", RankSignal::Text, &[]);
}

#[test]
fn a_spelled_name_speaks_for_its_definition() {
    check("print_path is slow", RankSignal::NamedDefinition, &["printer.rs 1.00"]);
    check("the printPath is slow", RankSignal::NamedDefinition, &["printer.rs 1.00"]);
    check("print the path", RankSignal::NamedDefinition, &[]);
    check("walk_tree", RankSignal::NameUsed, &["walk.rs 1.00"]);
}

#[test]
fn the_words_of_a_path_speak_for_it_most_of_all_its_own_name() {
    check("cache", RankSignal::PathBase, &["cache.rs 1.00"]);
    check("core", RankSignal::PathBase, &[]);
    check("core", RankSignal::PathDirectory, &["cache.rs 1.00", "walk.rs 1.00"]);
    check("cache", RankSignal::Stem, &["cache.rs 1.00"]);
    let both = told(PRINTER, "the printer of the cli", RankSignal::Path);
    assert_eq!(both, ["printer.rs 1.00", "printer.rs 0.39"]);
    // A word of the body counts less than one of the subject.
    let parted = told(PRINTER, "cache\n\nwalk", RankSignal::Path);
    assert_eq!(parted, ["cache.rs 1.00", "walk.rs 0.35"]);
}

#[test]
fn a_file_is_named_by_its_name_with_its_ending() {
    check("see walk.rs.", RankSignal::FileNamed, &["walk.rs 1.00"]);
    check("see crates/core/walk.rs:12", RankSignal::FileNamed, &["walk.rs 1.00"]);
    check("see src/printer.rs", RankSignal::FileNamed, &["printer.rs 1.00", "printer.rs 1.00"]);
    check("see walk", RankSignal::FileNamed, &[]);
}

#[test]
fn a_prefix_names_a_place() {
    let scope = told(PRINTER, "fix(cache): x", RankSignal::Scope);
    assert_eq!(scope.len(), 1);
    assert!(scope[0].starts_with("cache.rs"), "{scope:?}");
    // Two files share a place: each says less.
    let shared = told(PRINTER, "core: x", RankSignal::Scope);
    assert_eq!(shared.len(), 2);
    assert!(shared[0] < scope[0], "{shared:?}");
    check("no prefix here", RankSignal::Scope, &[]);
    let loosely =
        "file src/line-cache.rs\nfunction get 1-2 x\nfile src/other.rs\nfunction put 1-2 y";
    assert_eq!(told(loosely, "cache: x", RankSignal::Scope), [""; 0]);
    assert_eq!(told(loosely, "cache: x", RankSignal::ScopeLoosely).len(), 1);
}

#[test]
fn history_says_what_changed_lately_and_for_a_similar_reason() {
    check(
        "anything",
        RankSignal::Recency,
        &["cache.rs 1.00", "printer.rs 0.59", "printer.rs 0.59", "walk.rs 0.48"],
    );
    let now = told(PRINTER, "anything", RankSignal::ChangesNow);
    assert_eq!(now[0], "cache.rs 1.00");
    // A commit that touched two files says less of each than one that touched one alone.
    check("follow the links", RankSignal::SimilarNow, &["walk.rs 1.00"]);
    check("colours", RankSignal::SimilarBest, &["printer.rs 1.00", "printer.rs 1.00"]);
    check("printer: x", RankSignal::ScopeHistory, &["printer.rs 1.00", "printer.rs 1.00"]);
    check("demand", RankSignal::MessageWords, &["cache.rs 1.00"]);
    check("demand", RankSignal::DirectorySimilar, &["cache.rs 1.00", "walk.rs 1.00"]);
}

#[test]
fn a_commit_that_touched_very_many_files_says_nothing_of_them() {
    let file = |number: u32| format!("file f{number}.rs\nfunction f{number} 1-2 x\n");
    let files: String = (0..40).map(file).collect();
    let paths = |count: u32| (0..count).map(|n| format!("f{n}.rs")).collect::<Vec<_>>().join(" ");
    let tree = |count| format!("{files}commit reformat | {}\n", paths(count));
    assert_eq!(told(&tree(30), "reformat", RankSignal::SimilarNow).len(), 30);
    assert_eq!(told(&tree(31), "reformat", RankSignal::SimilarNow), [""; 0]);
    // Being touched at all is still told.
    assert_eq!(told(&tree(31), "reformat", RankSignal::Recency).len(), 31);
}

#[test]
fn tests_and_tooling_are_told_apart_and_count_where_they_are_asked_for() {
    check("anything", RankSignal::IsTest, &["printer.rs 1.00"]);
    check("anything", RankSignal::TestAsked, &[]);
    check("a flaky test", RankSignal::TestAsked, &["printer.rs 1.00"]);
    check("fix: a bug", RankSignal::TestOfRepair, &["printer.rs 1.00"]);
    check("anything", RankSignal::IsTooling, &["release.py 1.00"]);
    check("the release script", RankSignal::ToolingAsked, &["release.py 1.00"]);
}

#[test]
fn only_source_files_are_ranked_and_equals_stand_by_path() {
    let tree = SampleTree::of(PRINTER);
    let corpus = tree.corpus();
    let ranker = Ranker::new(&corpus);
    let ranked = |task: &str, weights: &RankWeights| -> Vec<String> {
        let ranking = ranker.rank(task, weights).unwrap();
        ranking.order.iter().map(|source| ranker.path(*source).to_owned()).collect()
    };
    let by_path = ranked("anything", &RankWeights::none());
    assert!(by_path.is_sorted() && by_path.len() == 5, "{by_path:?}");
    let first = |task: &str| ranked(task, &RankWeights::built_in()).remove(0);
    assert_eq!(first("printer: print_path prints the path twice"), "crates/cli/printer.rs");
    assert_eq!(first("lookup_path of the cache is slow"), "crates/core/cache.rs");
    assert_eq!(first("the test a_path_is_printed is flaky"), "tests/printer.rs");
    assert_eq!(first("upload the release"), "scripts/release.py");
}

#[test]
fn the_same_question_gives_the_same_scores() {
    let scores = || {
        let tree = SampleTree::of(PRINTER);
        let corpus = tree.corpus();
        Ranker::new(&corpus)
            .rank("print_path in the cache", &RankWeights::built_in())
            .unwrap()
            .scores
    };
    assert_eq!(scores(), scores());
}
