//! Which definition a name means, case by case; how often it is right on whole projects is in
//! `labelled.rs`.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::time::{Duration, Instant};

use spore_index::{
    Access, CandidateItem, FileFacts, ItemKind, Language, Namesakes, Reference, ReferenceKind,
    ReferenceSite, SURE, Visibility, file_name, imported_file_names, read, resolve, resolve_import,
    subject_of_test, tested_name,
};

fn candidate<'a>(path: &'a str, kind: ItemKind, qualified: &'a str) -> CandidateItem<'a> {
    CandidateItem { path, package: None, kind, qualified, visibility: Visibility::Public }
}

fn facts(path: &str, text: &str) -> FileFacts {
    read(path, text, Language::of_path(path).unwrap())
}

/// Checks what the first reference by a name means, among definitions written as
/// `path kind qualified`.
#[track_caller]
fn check(path: &str, text: &str, name: &str, definitions: &[&str], expected: &[&str]) {
    let facts = facts(path, text);
    let candidates = definitions.iter().map(|line| {
        let words: Vec<_> = line.split(' ').collect();
        let kind = ItemKind::ALL.into_iter().find(|kind| kind.as_str() == words[1]).unwrap();
        candidate(words[0], kind, words[2])
    });
    let namesakes = Namesakes::new(candidates.collect());
    let reference = facts.references.iter().find(|it| it.name == name).unwrap();
    let meanings = resolve(ReferenceSite { path, facts: &facts }, reference, &namesakes);
    let answers: Vec<_> = meanings
        .iter()
        .map(|it| format!("{} {:.2}", definitions[it.candidate], it.confidence))
        .collect();
    assert_eq!(answers, expected);
}

#[test]
fn the_own_file_comes_before_an_import() {
    check(
        "src/a.rs",
        "use crate::b::*;\nfn f() { help() }\nfn help() {}\n",
        "help",
        &["src/b.rs function help", "src/a.rs function help"],
        &["src/a.rs function help 0.95"],
    );
}

#[test]
fn an_import_tells_namesakes_apart() {
    check(
        "crates/x/src/a.rs",
        "use crate::b::help;\nfn f() { help() }\n",
        "help",
        &["crates/y/src/b.rs function help", "crates/x/src/b.rs function help"],
        &["crates/x/src/b.rs function help 0.95"],
    );
}

#[test]
fn a_name_from_outside_means_nothing_here() {
    let namesake = ["src/b.rs function read"];
    check("src/a.rs", "use std::fs::read;\nfn f() { read() }\n", "read", &namesake, &[]);
    check("src/a.rs", "use std::fs;\nfn f() { fs::read() }\n", "read", &namesake, &[]);
    check("a.py", "import json\njson.loads()\n", "loads", &["tools/json.py function loads"], &[]);
    check("a.py", "open('x')\n", "open", &["shop.py function open"], &[]);
}

#[test]
fn a_call_never_means_another_language_or_a_test() {
    let others = ["src/b.py function help", "src/c.rs test help", "src/d.rs trait help"];
    check("src/a.rs", "fn f() { help() }\n", "help", &others, &[]);
    check(
        "src/a.rs",
        "fn f() { write!(x) }\nfn write() {}\nfn g() { other!() }",
        "other",
        &["src/a.rs function other"],
        &[],
    );
}

#[test]
fn methods_are_told_apart_by_their_type() {
    let definitions = ["src/b.rs method Cup::fill", "src/b.rs method Pot::fill"];
    check(
        "src/a.rs",
        "use crate::b::{Cup, Pot};\nfn f(pot: &mut Pot) { pot.fill() }\n",
        "fill",
        &definitions,
        &["src/b.rs method Pot::fill 0.95"],
    );
    check(
        "src/a.rs",
        "fn f() { unknown().fill() }\n",
        "fill",
        &definitions,
        &["src/b.rs method Cup::fill 0.30", "src/b.rs method Pot::fill 0.30"],
    );
}

#[test]
fn a_common_method_of_an_unknown_value_means_nothing() {
    check("src/a.rs", "fn f() { g().push(1) }\n", "push", &["src/b.rs method Heap::push"], &[]);
}

#[test]
fn many_equals_mean_nothing() {
    let four = [
        "src/b.rs method A::brew",
        "src/c.rs method B::brew",
        "src/d.rs method C::brew",
        "src/e.rs method D::brew",
    ];
    check("src/a.rs", "fn f() { g().brew() }\n", "brew", &four, &[]);
}

#[test]
fn what_a_package_hands_on_is_found_below_it() {
    check(
        "tests/test_a.py",
        "from shop import Till\nTill()\n",
        "Till",
        &["src/shop/money/till.py class Till", "other/till.py class Till"],
        &["src/shop/money/till.py class Till 0.85"],
    );
    check(
        "crates/cli/src/main.rs",
        "use acme_shop::Till;\nfn f() { Till::open() }\n",
        "open",
        &[
            "crates/shop/src/money/till.rs method Till::open",
            "crates/door/src/door.rs method Door::open",
        ],
        &["crates/shop/src/money/till.rs method Till::open 0.84"],
    );
}

#[test]
fn a_crowd_of_namesakes_is_looked_up_not_looked_through() {
    let paths: Vec<_> = (0..20_000).map(|at| format!("crates/c{at}/src/kind.rs")).collect();
    let names: Vec<_> = (0..20_000).map(|at| format!("Kind{at}::new")).collect();
    let all = paths.iter().zip(&names);
    let namesakes =
        Namesakes::new(all.map(|(path, name)| candidate(path, ItemKind::Method, name)).collect());
    let text = "use crate::kind::Kind7;\nuse std::sync::Mutex;\nfn f() { Kind7::new(); Mutex::new(); Other::new(); x.new() }\n";
    let path = "crates/c7/src/lib.rs";
    let facts = facts(path, text);
    let site = ReferenceSite { path, facts: &facts };
    let calls: Vec<_> = facts.references.iter().filter(|it| it.name == "new").collect();
    let started = Instant::now();
    for _ in 0..2_000 {
        let found: Vec<_> = calls.iter().map(|it| resolve(site, it, &namesakes).len()).collect();
        assert_eq!(found, [1, 0, 0, 0]);
    }
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn a_crowd_gives_the_answers_of_a_few() {
    let text = "use crate::shop::{till, Till};\nuse acme_shop::bell;\nfn f(t: Till) { till(); t.ring(); bell(); here() }\nfn here() {}\n";
    let path = "crates/x/src/a.rs";
    let facts = facts(path, text);
    let crowd: Vec<_> = (0..100).map(|at| format!("crates/z{at}/src/z.rs")).collect();
    for (name, wanted, qualified) in [
        ("till", "crates/x/src/shop.rs", "till"),
        ("ring", "crates/x/src/shop/inner.rs", "Till::ring"),
        ("bell", "crates/shop/src/bells.rs", "bell"),
        ("here", "crates/x/src/a.rs", "here"),
    ] {
        let kind = if qualified.contains(':') { ItemKind::Method } else { ItemKind::Function };
        let reference = facts.references.iter().find(|it| it.name == name).unwrap();
        let mut candidates = vec![candidate(wanted, kind, qualified)];
        let site = ReferenceSite { path, facts: &facts };
        let alone = resolve(site, reference, &Namesakes::new(candidates.clone()));
        candidates.extend(crowd.iter().map(|path| candidate(path, kind, name)));
        let crowded = resolve(site, reference, &Namesakes::new(candidates));
        assert!(alone[0].confidence >= SURE, "{name}");
        assert_eq!(alone, crowded, "{name}");
    }
}

#[test]
fn a_document_mentions_what_is_the_only_one() {
    let facts = facts("README.md", "# A\n");
    let reference = Reference {
        kind: ReferenceKind::Mention,
        name: "run".to_owned(),
        access: Access::Path("Engine".to_owned()),
        scope: None,
        line: 1,
    };
    let namesakes = Namesakes::new(vec![
        candidate("src/a.rs", ItemKind::Method, "Engine::run"),
        candidate("src/b.rs", ItemKind::Method, "Train::run"),
    ]);
    let meanings =
        resolve(ReferenceSite { path: "README.md", facts: &facts }, &reference, &namesakes);
    assert_eq!(meanings.iter().map(|it| it.candidate).collect::<Vec<_>>(), [0]);
}

#[test]
fn a_file_is_known_by_its_stem_or_its_directory() {
    for (path, name) in [
        ("src/search.rs", "search"),
        ("src/search/mod.rs", "search"),
        ("crates/fake-agent/src/lib.rs", "fake_agent"),
        ("src/main.rs", "src"),
        ("shop/__init__.py", "shop"),
        ("web/index.tsx", "web"),
        ("internal/store/rows.go", "store"),
        ("main.go", "main"),
        ("lib.rs", "lib"),
    ] {
        assert_eq!(file_name(path), name, "{path}");
    }
}

/// Checks which files the imports of a text mean.
#[track_caller]
fn check_imports(path: &str, text: &str, files: &[&str], expected: &[&str]) {
    let facts = facts(path, text);
    let site = ReferenceSite { path, facts: &facts };
    let mut answers = Vec::new();
    for import in &facts.imports {
        let names = imported_file_names(import);
        let mut found: Vec<&str> =
            files.iter().copied().filter(|path| names.contains(&file_name(path))).collect();
        found.sort_unstable();
        for meaning in resolve_import(site, import, &found) {
            answers.push(format!("{} {:.2}", found[meaning.candidate], meaning.confidence));
        }
    }
    assert_eq!(answers, expected);
}

#[test]
fn imports_of_rust_mean_files() {
    let files = [
        "crates/x/src/lib.rs",
        "crates/x/src/a.rs",
        "crates/x/src/b/mod.rs",
        "crates/x/src/b/c.rs",
        "crates/y-tools/src/lib.rs",
        "crates/y-tools/src/fs.rs",
        "crates/x/src/a/inner.rs",
    ];
    let text = "mod inner;\nuse crate::b::{c, Thing};\nuse crate::Root;\nuse acme_y_tools::fs::read;\nuse std::fs::write;\nuse super::b::c::Kind::*;\n";
    check_imports(
        "crates/x/src/a.rs",
        text,
        &files,
        &[
            "crates/x/src/a/inner.rs 0.95",
            "crates/x/src/b/c.rs 0.95",
            "crates/x/src/b/mod.rs 0.95",
            "crates/x/src/lib.rs 0.95",
            "crates/y-tools/src/fs.rs 0.85",
            "crates/x/src/b/c.rs 0.85",
        ],
    );
}

#[test]
fn imports_of_python_mean_files() {
    let files = [
        "src/shop/__init__.py",
        "src/shop/till.py",
        "src/shop/json.py",
        "src/shop/money/coin.py",
        "src/shop/money/__init__.py",
    ];
    let text = "import json\nimport shop.till\nfrom shop import money\nfrom .money.coin import Coin\nfrom . import till\nfrom .. import nothing\n";
    check_imports(
        "src/shop/desk.py",
        text,
        &files,
        &[
            "src/shop/till.py 0.90",
            "src/shop/money/__init__.py 0.90",
            "src/shop/money/coin.py 0.95",
            "src/shop/till.py 0.95",
        ],
    );
}

#[test]
fn a_test_is_about_what_its_name_says() {
    for (name, subject) in [
        ("test_parse", Some("parse")),
        ("TestParse", Some("Parse")),
        ("testParse", Some("Parse")),
        ("parse_test", Some("parse")),
        ("testing", None),
        ("it_parses", None),
        ("test_a", None),
    ] {
        assert_eq!(tested_name(name), subject, "{name}");
    }
    let path = "tests/test_shop.py";
    let facts = facts(path, "from shop import till\n\ndef test_pay():\n    pass\n");
    let namesakes = Namesakes::new(vec![
        candidate("bank.py", ItemKind::Function, "pay"),
        candidate("shop/till.py", ItemKind::Function, "pay"),
    ]);
    let site = ReferenceSite { path, facts: &facts };
    let meanings = subject_of_test(site, &facts.items[0], &namesakes);
    assert_eq!(meanings.iter().map(|it| it.candidate).collect::<Vec<_>>(), [1]);
}
