use super::*;

/// Comments as `#` to the end of a line, or `//`.
fn comments(_: &str, text: &str) -> Option<Vec<Range<usize>>> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(start) = line.find("//").or_else(|| line.find("# ")) {
            found.push(at + start..at + line.trim_end().len());
        }
        at += line.len();
    }
    Some(found)
}

fn file(path: &str, base: &str, now: &str) -> FileVersions {
    let bytes = |text: &str| (text != "-").then(|| text.as_bytes().to_vec());
    let how = match (base, now) {
        ("-", _) => TouchKind::Added,
        (_, "-") => TouchKind::Deleted,
        _ => TouchKind::Modified,
    };
    FileVersions { path: path.to_owned(), how, base: bytes(base), now: bytes(now) }
}

fn places(hunks: &Hunks) -> Vec<String> {
    hunks.hunks.iter().map(|hunk| hunk.place.text()).collect()
}

/// Checks where the parts of one changed file are, and its text without each of them.
#[track_caller]
fn check(path: &str, base: &str, now: &str, expected: &[(&str, &str)]) {
    let hunks = Hunks::of(&[file(path, base, now)], &comments);
    let found: Vec<(String, String)> = (0..hunks.hunks.len())
        .map(|one| {
            let back = hunks.without(&[one]);
            let text = match back.rewrite.first() {
                Some((_, text)) => String::from_utf8(text.clone()).unwrap(),
                None => format!("{:?} {:?}", back.bring_back, back.leave_out),
            };
            (hunks.hunks[one].place.text(), text)
        })
        .collect();
    let expected: Vec<(String, String)> =
        expected.iter().map(|(place, text)| (format!("`{path}{place}`"), (*text).into())).collect();
    assert_eq!(found, expected);
}

#[test]
fn each_part_can_be_taken_back_alone() {
    let base = "a\nb\nc\nd\ne\nf\n";
    check(
        "a.py",
        base,
        "A\nb\nc\nd\nE\nf\n",
        &[(":1", "a\nb\nc\nd\nE\nf\n"), (":5", "A\nb\nc\nd\ne\nf\n")],
    );
    check("a.py", base, "a\nf\n", &[(":2", base)]);
    check("a.py", base, "A\nb\nC\nd\ne\nf\n", &[(":1-3", base)]);
    check("a.py", "a", "a\nb", &[(":1-2", "a")]);
}

#[test]
fn lines_that_only_came_are_parted_where_something_new_begins() {
    let base = "one\n";
    let now = "one\ndef f():\n    x\n\n    y\n\ndef g():\n    z\n";
    check(
        "a.py",
        base,
        now,
        &[(":2-5", "one\ndef g():\n    z\n"), (":7-8", "one\ndef f():\n    x\n\n    y\n\n")],
    );
}

#[test]
fn comments_blank_lines_and_prose_are_no_part() {
    check("a.py", "x = 1\ny = 2\n", "# why\nx = 1\n\ny = 2  # how\n", &[]);
    check("README.md", "a\n", "b\n", &[]);
    check("empty.py", "-", "# nothing yet\n", &[]);
    check("a.py", "if x:\n    y\nz\n", "if x:\n    y\n    z\n", &[(":3", "if x:\n    y\nz\n")]);
}

#[test]
fn a_file_that_came_went_or_is_no_text_is_one_part() {
    check("a.py", "-", "x = 1\ny = 2\n", &[(":1-2", r#"[] ["a.py"]"#)]);
    check("a.py", "x = 1\n", "-", &[("", r#"["a.py"] []"#)]);
    check("run.py", "x = 1\n", "x = 1\n", &[(":1", r#"["run.py"] []"#)]);
    let image = |byte| Some(vec![0xff, byte]);
    let how = TouchKind::Modified;
    let binary = FileVersions { path: "a.png".into(), how, base: image(1), now: image(2) };
    let hunks = Hunks::of(&[binary], &comments);
    assert_eq!(hunks.without(&[0]).bring_back, ["a.png"]);
    let empty = Hunks::of(&[file("pkg/__init__.py", "-", "")], &comments);
    assert_eq!(places(&empty), ["`pkg/__init__.py`"]);
}

#[test]
fn tests_among_the_code_stay_as_the_change_has_them() {
    let tests = |name: &str| format!("#[cfg(test)]\nmod tests {{\n    fn {name}() {{}}\n}}\n");
    let base = format!("fn a() {{ 1 }}\n{}", tests("old"));
    let now = format!("fn a() {{ 2 }}\nfn b() {{}}\n{}", tests("new"));
    let without = format!("fn a() {{ 1 }}\n{}", tests("new"));
    check("a.rs", &base, &now, &[(":1-2", &without)]);
    check("a.rs", &base, &format!("fn a() {{ 1 }}\n{}", tests("new")), &[]);
    let added = Hunks::of(&[file("b.rs", "-", &now)], &comments);
    assert!(added.hunks[0].holds_tests);
}

#[test]
fn parts_that_share_a_new_name_belong_together() {
    let files = [
        file(
            "src/lib.rs",
            "mod a;\n\n\n\nfn f() {}\n",
            "mod a;\nmod tax;\n\n\n\nfn f() { tax::rate() }\n",
        ),
        file("src/tax.rs", "-", "pub fn rate() {}\n"),
        file("src/z.rs", "fn z() {}\n\n\n\n\nfn y() {}\n", "fn z() { 1 }\n\n\n\n\nfn y() { 2 }\n"),
    ];
    let hunks = Hunks::of(&files, &comments);
    let groups: Vec<Vec<usize>> = (0..5).map(|one| hunks.with_related(one)).collect();
    let (first, second) = (vec![0, 1, 2], vec![3, 4]);
    assert_eq!(groups, [&first, &first, &first, &second, &second].map(Clone::clone));
    let back = hunks.without(&first);
    assert_eq!(back.leave_out, ["src/tax.rs"]);
    assert_eq!(back.rewrite, [("src/lib.rs".to_owned(), b"mod a;\n\n\n\nfn f() {}\n".to_vec())]);
}

mod any_change {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// All parts taken back together leave the base; none, the change.
        #[test]
        fn is_the_base_without_its_parts(
            base in proptest::collection::vec("[abc]", 0..30),
            now in proptest::collection::vec("[abc]", 0..30),
        ) {
            let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (base, now) = (text(&base), text(&now));
            let hunks = Hunks::of(&[file("a.txt", &base, &now)], &|_, _| None);
            let all: Vec<usize> = (0..hunks.hunks.len()).collect();
            if base != now {
                let back = hunks.without(&all);
                prop_assert_eq!(&back.rewrite, &[("a.txt".to_owned(), base.into_bytes())]);
            }
        }
    }
}

#[test]
fn a_part_of_a_file_that_no_check_looks_up_needs_no_question() {
    let record = |complete: bool, read: &[&str]| -> GateRecord {
        let recording = serde_json::json!({
            "method": "nothing", "read": read, "seen": [], "listed": [], "missed": [], "run": [],
            "complete": complete, "why": [],
        });
        serde_json::from_value(
            serde_json::json!({ "gate": "test", "command": "test", "recording": recording }),
        )
        .unwrap()
    };
    let beyond = |files: &[FileVersions], records: &[GateRecord]| {
        Hunks::of(files, &comments).hunks[0].is_beyond(records)
    };
    let changed = [file("a.py", "a\n", "b\n")];
    let other = || record(true, &["b.py"]);
    assert!(beyond(&changed, &[other()]));
    assert!(!beyond(&changed, &[other(), record(true, &["a.py"])]));
    // What is not known whole leaves it open, and so does a file whose name alone is new.
    assert!(!beyond(&changed, &[other(), record(false, &[])]));
    assert!(!beyond(&changed, &[]));
    assert!(!beyond(&[file("a.py", "-", "b\n")], &[other()]));
}
