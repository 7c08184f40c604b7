//! What is found for a task in a small tree: anchors, the walk, snippets, calls, both rankings.

use spore_model::graph::ExpandOptions;

use super::*;
use crate::options::tests::sample;
use crate::sample_tree::{SampleTree, id};

const SHOP: &str = "
    file shop/bill.rs
    struct Bill 1-4 the lines of a bill
    method Bill::total 6-12 adds up the cents of all lines
    function rounded 14-18 rounds cents to five
    function discounted 20-24 takes a discount off some cents
    file shop/receipt.rs
    function print_receipt 1-9 prints the total of a bill rounded for the paper
    function offer 11-12 offers a discount
    file shop/till.rs
    function open_till 1-5 opens the drawer
    file tests/bill.rs
    test totals_add_up 1-6 the total of two lines
    file README.md
    section Receipts 1-3 how a receipt is printed with its total
    edge print_receipt calls Bill::total 900
    edge print_receipt calls rounded 900
    edge offer calls discounted 500
    edge totals_add_up calls Bill::total 1000
    edge open_till calls offer 900
    commit receipt: print the total | shop/receipt.rs
    commit till: open the drawer | shop/till.rs
    commit a shop | shop/bill.rs shop/receipt.rs shop/till.rs tests/bill.rs
";

/// What a test hands in besides the tree.
struct Asked<'a> {
    task: &'a str,
    options: ContextOptions,
    seed: bool,
    semantic: &'a [(NodeId, f64)],
    /// Files that cannot be read.
    unreadable: &'a [&'a str],
}

impl<'a> Asked<'a> {
    fn new(task: &'a str) -> Self {
        Self { task, options: sample(), seed: false, semantic: &[], unreadable: &[] }
    }

    #[track_caller]
    fn compiled(&self, tree: &str) -> Compiled {
        let tree = SampleTree::of(tree);
        let text: String = (1..=100).map(|line| format!("line {line}\n")).collect();
        let read_one = |path: &&str| (!self.unreadable.contains(path)).then(|| text.clone());
        let read = |paths: &[&str]| paths.iter().map(read_one).collect();
        let sources = ContextSources {
            knowledge: None,
            near_lessons: &std::collections::HashMap::new(),
            lessons: &[],
            memory: &[],
            semantic: self.semantic,
            read: &read,
            places: None,
        };
        let kind = match self.seed {
            true => RankerKind::Seed,
            false => RankerKind::Fitted(RankWeights::built_in()),
        };
        let mut stages = Vec::new();
        let corpus = tree.corpus();
        let mut done = |stage| stages.push(stage);
        let compiled =
            compile(&corpus, self.task, &kind, &sources, &self.options, &mut done).unwrap();
        use CompileStage::{Expand, Open, Rank, Read};
        assert_eq!(stages, [Open, Rank, Expand, Read]);
        compiled
    }
}

fn names<'c>(items: impl IntoIterator<Item = &'c ItemRef>) -> Vec<&'c str> {
    items.into_iter().map(|item| item.name.as_str()).collect()
}

fn anchors(compiled: &Compiled) -> Vec<String> {
    let told = |anchor: &Anchor| format!("{}: {}", anchor.item.name, anchor.source);
    compiled.anchors.iter().map(told).collect()
}

fn nodes(compiled: &Compiled) -> Vec<String> {
    let told = |node: &ContextNode| format!("{:.2} {} by {}", node.relevance, node.title, node.via);
    compiled.nodes.iter().map(told).collect()
}

#[test]
fn what_the_task_names_comes_before_what_its_words_match() {
    let compiled = Asked::new("print_receipt shows the discounted price").compiled(SHOP);
    insta::assert_snapshot!(anchors(&compiled).join("\n"), @r"
    print_receipt: named in the task
    discounted: word match
    ");
    let paths: Vec<&str> = compiled.files.iter().map(|file| file.path.as_str()).collect();
    insta::assert_snapshot!(paths.join("\n"), @r"
    shop/receipt.rs
    shop/bill.rs
    shop/till.rs
    tests/bill.rs
    ");
    assert_eq!(names(&compiled.files[0].nodes)[0], "print_receipt");
    assert_eq!((compiled.ranker.as_str(), compiled.impact), ("fitted", None));
}

#[test]
fn a_name_that_stands_for_many_is_no_anchor() {
    let tree = "
        file a.rs
        function read_all 1-5 one
        file b.rs
        function read_all 1-5 two
        file c.rs
        function read_all 1-5 three
    ";
    #[track_caller]
    fn check(tree: &str, namesakes: usize, named: usize) {
        let mut asked = Asked::new("read_all fails");
        asked.options.namesakes = namesakes;
        let compiled = asked.compiled(tree);
        let found = compiled.anchors.iter().filter(|it| it.source == "named in the task");
        assert_eq!(found.count(), named, "{namesakes}");
    }
    check(tree, 2, 0);
    check(tree, 3, 3);
}

#[test]
fn anchors_are_as_many_as_asked_for_and_each_once() {
    #[track_caller]
    fn check(most: usize, files: usize, semantic: &[(NodeId, f64)], expected: &[&str]) {
        let mut asked = Asked::new("the total of a bill, rounded");
        (asked.options.anchors, asked.options.anchor_files) = (most, files);
        asked.semantic = semantic;
        let compiled = asked.compiled(SHOP);
        let found = compiled.anchors.iter().map(|anchor| &anchor.item);
        assert_eq!(names(found), expected);
    }
    let near =
        [(id("shop/till.rs", "open_till"), 0.7), (id("shop/receipt.rs", "print_receipt"), 0.5)];
    check(5, 8, &[], &["print_receipt", "rounded", "totals_add_up"]);
    check(5, 1, &[], &["print_receipt"]);
    check(1, 8, &[], &["print_receipt"]);
    check(0, 8, &[], &[]);
    check(5, 8, &near, &["open_till", "print_receipt", "rounded", "totals_add_up"]);
    // What the index does not have is no anchor, whatever the vectors say.
    check(5, 1, &[(id("gone.rs", "gone"), 0.9)], &["print_receipt"]);
}

#[test]
fn the_walk_goes_as_far_as_it_may() {
    #[track_caller]
    fn check(walk: ExpandOptions, most: usize) -> String {
        let mut asked = Asked::new("print_receipt");
        (asked.options.anchors, asked.options.walk, asked.options.nodes) = (1, walk, most);
        nodes(&asked.compiled(SHOP)).join("\n")
    }
    let walk = ExpandOptions::within(7, 4, 2.0);
    insta::assert_snapshot!(check(ExpandOptions { max_hops: 1, ..walk.clone() }, 15), @r"
    0.92 rounded by print_receipt → calls
    0.92 Bill::total by print_receipt → calls
    0.71 offer by print_receipt → sibling
    0.71 shop/receipt.rs by print_receipt → defined_in
    ");
    // A call is nearer than a place in the same file, which costs the structural floor.
    insta::assert_snapshot!(check(ExpandOptions { max_cost: 0.2, ..walk.clone() }, 15), @r"
    0.92 rounded by print_receipt → calls
    0.92 Bill::total by print_receipt → calls
    0.92 totals_add_up by print_receipt → calls ← calls
    ");
    insta::assert_snapshot!(check(ExpandOptions { budget: 2, ..walk.clone() }, 15), @r"
    0.92 rounded by print_receipt → calls
    0.92 Bill::total by print_receipt → calls
    ");
    insta::assert_snapshot!(check(walk.clone(), 3), @r"
    0.92 rounded by print_receipt → calls
    0.92 Bill::total by print_receipt → calls
    0.92 totals_add_up by print_receipt → calls ← calls
    ");
    assert_eq!(check(walk, 0), "");
}

#[test]
fn a_node_that_two_anchors_reach_is_told_once_by_the_nearer_way() {
    let tree = "
        file a.rs
        function alpha 1-5 alpha
        file b.rs
        function beta 1-5 beta
        file c.rs
        function shared 1-5 gamma
        edge alpha calls shared 300
        edge beta calls shared 900
    ";
    let mut asked = Asked::new("alpha and beta");
    asked.options.walk.max_hops = 1;
    let compiled = asked.compiled(tree);
    let shared: Vec<String> =
        nodes(&compiled).into_iter().filter(|node| node.contains("shared")).collect();
    assert_eq!(shared, ["0.92 shared by beta → calls"]);
}

#[test]
fn snippets_are_of_items_that_can_be_read_at_a_glance() {
    #[track_caller]
    fn check(change: impl Fn(&mut Asked<'_>), expected: &[&str]) {
        let mut asked = Asked::new("print_receipt offers open_till a rounded total");
        change(&mut asked);
        let compiled = asked.compiled(SHOP);
        let told = |it: &crate::compiled::Snippet| {
            let lines: Vec<&str> = it.text.lines().collect();
            let shown = format!("{}..{}", lines[0], lines[lines.len() - 1]);
            format!("{} {} {shown} and {}", it.item.name, it.language, it.more_lines)
        };
        assert_eq!(compiled.snippets.iter().map(told).collect::<Vec<_>>(), expected);
    }
    let all = [
        "print_receipt rust line 1..line 9 and 0",
        "open_till rust line 1..line 5 and 0",
        "rounded rust line 14..line 18 and 0",
        "totals_add_up rust line 1..line 6 and 0",
    ];
    check(|_| {}, &all);
    check(|asked| asked.options.snippets = 1, &all[..1]);
    check(|asked| asked.options.snippets = 0, &[]);
    check(
        |asked| (asked.options.snippets, asked.options.snippet_lines) = (1, 2),
        &["print_receipt rust line 1..line 2 and 7"],
    );
    check(|asked| asked.options.snippet_item_lines = 9..=200, &all[..1]);
    check(|asked| asked.options.snippet_item_lines = 3..=5, &all[1..3]);
    // One that cannot be read makes room for another.
    check(
        |asked| {
            asked.options.snippets = 2;
            asked.unreadable = &["shop/till.rs"];
        },
        &[all[0], all[2]],
    );
}

#[test]
fn calls_are_told_of_functions_that_have_any() {
    #[track_caller]
    fn check(calls: usize, neighbours: usize, expected: &[&str]) {
        let mut asked = Asked::new("print_receipt offers open_till a rounded total");
        (asked.options.calls, asked.options.neighbours_of_call) = (calls, neighbours);
        let told = |calls: &crate::compiled::CallGraph| {
            let (from, to) = (names(&calls.callers).join(" "), names(&calls.callees).join(" "));
            format!("[{from}] {} [{to}]", calls.item.name)
        };
        let compiled = asked.compiled(SHOP);
        assert_eq!(compiled.calls.iter().map(told).collect::<Vec<_>>(), expected);
    }
    check(
        3,
        3,
        &[
            "[] print_receipt [Bill::total rounded]",
            "[] open_till [offer]",
            "[print_receipt] rounded []",
        ],
    );
    check(1, 1, &["[] print_receipt [Bill::total]"]);
    check(0, 3, &[]);
}

#[test]
fn a_judge_is_told_the_files_alone() {
    let mut asked = Asked::new("print_receipt rounds the total");
    asked.options = asked.options.of_a_judge(2);
    let compiled = asked.compiled(SHOP);
    assert_eq!(compiled.files.len(), 2);
    let rest = (compiled.anchors, compiled.nodes, compiled.snippets, compiled.calls);
    assert_eq!(rest, (vec![], vec![], vec![], vec![]));
}

#[test]
fn the_seeds_ranking_counts_what_the_anchors_lead_to() {
    let mut asked = Asked::new("the total of a bill");
    asked.seed = true;
    let compiled = asked.compiled(SHOP);
    let told = |file: &RankedFile| format!("{} {}", file.path, file.why[0].share);
    let files: Vec<String> = compiled.files.iter().map(told).collect();
    insta::assert_snapshot!(files.join("\n"), @r"
    shop/bill.rs 5
    shop/receipt.rs 3
    tests/bill.rs 2
    shop/till.rs 1
    ");
    assert_eq!(compiled.ranker, "seed");
    asked.options.files = 1;
    assert_eq!(asked.compiled(SHOP).files.len(), 1);
}

#[test]
fn reasons_are_the_strongest_first_and_as_many_as_asked_for() {
    let mut asked = Asked::new("receipt: print the total");
    let share = |file: &RankedFile| -> Vec<f64> {
        file.why.iter().map(|reason| reason.share.abs()).collect()
    };
    let first = asked.compiled(SHOP).files.remove(0);
    assert_eq!(first.path, "shop/receipt.rs");
    assert!(share(&first).is_sorted_by(|a, b| a >= b) && share(&first).len() == 4, "{first:?}");
    asked.options.reasons = 1;
    assert_eq!(asked.compiled(SHOP).files[0].why, first.why[..1]);
}

#[test]
fn a_task_that_says_nothing_still_gets_an_answer() {
    for task in ["", "the of and", "配置を読む", "zzz qqq"] {
        let compiled = Asked::new(task).compiled(SHOP);
        assert_eq!(compiled.files.len(), 4, "{task}");
        assert!(compiled.anchors.is_empty(), "{task}: {:?}", anchors(&compiled));
    }
    let empty = Asked::new("anything").compiled("file README.md");
    assert_eq!((empty.files, empty.nodes), (vec![], vec![]));
}
