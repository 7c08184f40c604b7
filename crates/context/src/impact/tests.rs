//! What a change reaches, from small trees before and after it.

use super::*;
use crate::sample_tree::SampleTree;

const LIMITS: ImpactLimits = ImpactLimits {
    files: 200,
    touched: 40,
    users: 6,
    removed: 12,
    tests: 30,
    companions: 6,
    least_together: 0.6,
};

const BEFORE: &str = "
    file bill.rs
    struct Bill 1-9 a bill
    method Bill::total 3-5 adds up
    function rounded 11-14 to five cents
    function discounted 16-18 less ten percent
    function unused 20-21 nothing
    file receipt.rs
    function print_receipt 1-4 prints
    function offer 6-8 offers
    file tests.rs
    test total_adds_up 1-3 one and two
    test rounding 5-7 twelve is ten
    file docs.md
    edge print_receipt calls rounded 900
    edge print_receipt calls Bill::total 700
    edge offer calls discounted 900
    edge rounding tests rounded 900
    edge total_adds_up tests Bill::total 900
    edge bill.rs changed_with docs.md 800
    edge bill.rs changed_with receipt.rs 700
    edge bill.rs changed_with tests.rs 500
";

#[track_caller]
fn told(after: &str, paths: &[&str], limits: &ImpactLimits) -> String {
    let (before, after) = (SampleTree::of(BEFORE), SampleTree::of(after));
    let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
    text(&of(&after.index, Some(&before.index), &paths, limits).unwrap())
}

/// One line for each thing that was found.
fn text(impact: &Impact) -> String {
    let names =
        |items: &[ItemRef]| -> Vec<String> { items.iter().map(|item| item.name.clone()).collect() };
    let mut lines = Vec::new();
    for TouchedItem { how, item, users, more_users } in &impact.touched {
        let more = if *more_users > 0 { format!(" and {more_users}") } else { String::new() };
        lines.push(format!("{how:?} {} used by {:?}{more}", item.name, names(users)));
    }
    for RemovedItem { item, still_used_by } in &impact.removed {
        lines.push(format!("gone {} used by {:?}", item.name, names(still_used_by)));
    }
    for Exercise { test, exercises, touched } in &impact.tests {
        lines.push(format!("test {} of {exercises:?}, touched: {touched}", test.name));
    }
    for Companion { path, with, confidence } in &impact.companions {
        lines.push(format!("{path} goes with {with} {confidence}"));
    }
    lines.join("\n")
}

#[test]
fn a_changed_function_is_told_with_its_users_and_tests() {
    let after = BEFORE.replace("to five cents", "to ten cents");
    insta::assert_snapshot!(told(&after, &["bill.rs"], &LIMITS), @r#"
    Changed rounded used by ["print_receipt"]
    test rounding of "rounded", touched: false
    docs.md goes with bill.rs 0.8
    receipt.rs goes with bill.rs 0.7
    "#);
}

#[test]
fn of_what_holds_a_changed_piece_only_the_piece_is_told() {
    let after = BEFORE.replace("a bill", "another bill").replace("adds up", "adds all up");
    let found = told(&after, &["bill.rs"], &ImpactLimits { companions: 0, ..LIMITS });
    insta::assert_snapshot!(found, @r#"
    Changed Bill::total used by ["print_receipt"]
    test total_adds_up of "Bill::total", touched: false
    "#);
}

#[test]
fn what_is_gone_is_told_first_where_unchanged_code_relies_on_it() {
    let gone = |text: &str, name: &str| -> String {
        text.lines().filter(|line| !line.contains(name)).map(|line| format!("{line}\n")).collect()
    };
    let after = gone(&gone(BEFORE, "discounted"), "unused");
    let limits = ImpactLimits { companions: 0, tests: 0, ..LIMITS };
    insta::assert_snapshot!(told(&after, &["bill.rs"], &limits), @r#"
    gone discounted used by ["offer"]
    gone unused used by []
    "#);
    insta::assert_snapshot!(
        told(&after, &["bill.rs"], &ImpactLimits { removed: 1, ..limits }),
        @r#"
    gone discounted used by ["offer"]
    "#
    );
    // A caller that was changed as well has been seen to.
    let mended = after.replace("8 offers", "8 offers otherwise");
    let found = told(&mended, &["bill.rs", "receipt.rs"], &limits);
    insta::assert_snapshot!(found, @r"
    Changed offer used by []
    gone discounted used by []
    gone unused used by []
    ");
}

#[test]
fn a_touched_test_is_told_with_what_it_exercises() {
    let after = BEFORE.replace("twelve is ten", "thirteen is fifteen");
    insta::assert_snapshot!(told(&after, &["tests.rs"], &LIMITS), @r#"
    test rounding of "rounded", touched: true
    "#);
}

#[test]
fn what_is_new_is_told_as_new() {
    let after = BEFORE.replace("file receipt.rs", "function taxed 23-25 more\n    file receipt.rs");
    let limits = ImpactLimits { companions: 0, ..LIMITS };
    insta::assert_snapshot!(told(&after, &["bill.rs"], &limits), @r"
    Added taxed used by []
    ");
}

#[test]
fn without_the_tree_before_everything_in_the_files_counts() {
    let after = SampleTree::of(BEFORE);
    let paths = ["receipt.rs".to_owned(), "receipt.rs".to_owned(), "nowhere.rs".to_owned()];
    let impact = of(&after.index, None, &paths, &LIMITS).unwrap();
    assert_eq!(impact.paths, ["nowhere.rs", "receipt.rs"]);
    insta::assert_snapshot!(text(&impact), @r"
    InChangedFile print_receipt used by []
    InChangedFile offer used by []
    bill.rs goes with receipt.rs 0.7
    ");
}

#[test]
fn each_list_is_as_long_as_it_may_be() {
    #[track_caller]
    fn check(limits: ImpactLimits, expected: [usize; 4]) {
        let after = BEFORE
            .replace("to five cents", "to ten cents")
            .replace("adds up", "adds all up")
            .replace("3 prints", "3 prints more");
        let (before, after) = (SampleTree::of(BEFORE), SampleTree::of(&after));
        let paths = ["bill.rs".to_owned(), "receipt.rs".to_owned()];
        let impact = of(&after.index, Some(&before.index), &paths, &limits).unwrap();
        let users: usize = impact.touched.iter().map(|touched| touched.users.len()).sum();
        let found = [impact.touched.len(), users, impact.tests.len(), impact.companions.len()];
        assert_eq!(found, expected, "{limits:?}");
    }
    check(LIMITS, [2, 2, 2, 1]);
    check(ImpactLimits { touched: 1, ..LIMITS }, [1, 1, 2, 1]);
    check(ImpactLimits { users: 0, ..LIMITS }, [2, 0, 2, 1]);
    check(ImpactLimits { tests: 1, ..LIMITS }, [2, 2, 1, 1]);
    check(ImpactLimits { companions: 0, ..LIMITS }, [2, 2, 2, 0]);
    check(ImpactLimits { least_together: 0.9, ..LIMITS }, [2, 2, 2, 0]);
    check(ImpactLimits { least_together: 0.4, ..LIMITS }, [2, 2, 2, 2]);
    check(ImpactLimits { files: 0, ..LIMITS }, [0, 0, 0, 0]);
}

#[test]
fn files_are_tied_by_what_they_call_and_are_called_by() {
    let tree = SampleTree::of(BEFORE);
    let told = |ours: &[&str], theirs: &[&str]| {
        let list =
            |paths: &[&str]| -> Vec<String> { paths.iter().map(|&p| p.to_owned()).collect() };
        let tied = ties(&tree.index, &list(ours), &list(theirs)).unwrap();
        tied.iter().map(|(one, other)| format!("{one} {other}")).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(told(&["receipt.rs"], &["bill.rs"]), "receipt.rs bill.rs", "it calls");
    assert_eq!(told(&["bill.rs"], &["receipt.rs"]), "bill.rs receipt.rs", "it is called");
    assert_eq!(told(&["bill.rs"], &["tests.rs"]), "bill.rs tests.rs", "it is tested");
    assert_eq!(told(&["receipt.rs"], &["tests.rs", "docs.md", "gone.rs"]), "");
    assert_eq!(
        told(&["docs.md", "new.rs"], &["bill.rs"]),
        "",
        "what usually changes with it is no tie"
    );
}
