//! What the adapters for Rust and Python read out of a file that has every construct, and out
//! of files that are not as they should be.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its own text has failed")]

use std::fmt::Write as _;

use spore_index::{Access, FileFacts, Language, Visibility, read};

fn facts(path: &str, text: &str) -> FileFacts {
    read(path, text, Language::of_path(path).unwrap())
}

fn render(facts: &FileFacts) -> String {
    let mut page = String::new();
    writeln!(page, "doc: {:?}", facts.doc).unwrap();
    writeln!(page, "syntax errors: {}, generated: {}", facts.syntax_errors, facts.generated)
        .unwrap();
    page.push_str("\nitems\n");
    for (place, item) in facts.items.iter().enumerate() {
        let seen = match item.visibility {
            Visibility::Public => '+',
            Visibility::Restricted => '~',
            Visibility::Private => '-',
        };
        let parent = item.parent.map_or(String::new(), |parent| format!(" in {parent}"));
        let lines = format!("{}-{}", item.lines.first, item.lines.last);
        writeln!(page, "{place:3} {seen}{} {} [{lines}]{parent}", item.kind, item.qualified)
            .unwrap();
        writeln!(page, "      {}", item.signature).unwrap();
        if !item.doc.is_empty() {
            writeln!(page, "      {:?}", item.doc).unwrap();
        }
    }
    page.push_str("\nimports\n");
    for import in &facts.imports {
        let root = if import.anchored { "/" } else { "" };
        let mut line = format!("{:3} {root}{}", import.line, import.segments.join("/"));
        if let Some(name) = &import.name {
            write!(line, " : {name}").unwrap();
        }
        if let Some(alias) = &import.alias {
            write!(line, " as {alias}").unwrap();
        }
        if import.glob {
            line.push_str(" : *");
        }
        writeln!(page, "{line}").unwrap();
    }
    page.push_str("\nreferences\n");
    for reference in &facts.references {
        let access = match &reference.access {
            Access::Bare => String::new(),
            Access::Path(path) => format!("{path}::"),
            Access::Own => "own ".to_owned(),
            Access::Value(None) => "value ".to_owned(),
            Access::Value(Some(of_type)) => format!("<{of_type}> "),
        };
        let scope = reference.scope.map_or("file", |place| &facts.items[place as usize].qualified);
        let kind = format!("{:?}", reference.kind).to_lowercase();
        writeln!(page, "{:3} {kind} {access}{} in {scope}", reference.line, reference.name)
            .unwrap();
    }
    page
}

#[test]
fn every_construct_of_rust() {
    let text = include_str!("golden/sample.rs");
    insta::assert_snapshot!(render(&facts("crates/shop/src/sample.rs", text)));
}

#[test]
fn every_construct_of_python() {
    let text = include_str!("golden/sample.py");
    insta::assert_snapshot!(render(&facts("shop/tests/test_sample.py", text)));
}

/// The items and calls, for texts of which little else matters.
fn outline(path: &str, text: &str) -> String {
    let facts = facts(path, text);
    let items = facts.items.iter().map(|item| {
        let lines = format!("{}-{}", item.lines.first, item.lines.last);
        format!("{} {} [{lines}] {:?}", item.kind, item.qualified, item.doc)
    });
    let uses = facts.references.iter().map(|it| format!("{} -> {}", it.line, it.name));
    let errors = (facts.syntax_errors > 0).then(|| "cannot be read everywhere".to_owned());
    items.chain(uses).chain(errors).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_broken_rust_file_yields_what_can_be_read() {
    insta::assert_snapshot!(outline("src/a.rs", "fn whole() { first(); }\n\nfn broken( {\n\nstruct Point;\n\nfn after() { second() }\n"), @r#"
    function whole [1-1] ""
    struct Point [5-5] ""
    function after [7-7] ""
    1 -> first
    7 -> second
    cannot be read everywhere
    "#);
}

#[test]
fn a_broken_python_file_yields_what_can_be_read() {
    insta::assert_snapshot!(outline("a.py", "def whole():\n    first()\n\ndef broken(:\n    pass\n\nclass After:\n    def method(self):\n        second(\n"), @r#"
    function whole [1-2] ""
    function broken [4-5] ""
    class After [7-9] ""
    method After::method [8-9] ""
    2 -> first
    cannot be read everywhere
    "#);
}

#[test]
fn line_ends_of_another_system_do_not_reach_the_words() {
    let rust = "/// One.\r\n/// Two.\r\npub fn f() {\r\n    g();\r\n}\r\n";
    insta::assert_snapshot!(outline("src/a.rs", rust), @r#"
    function f [3-5] "One.\nTwo."
    4 -> g
    "#);
    let python = "def f():\r\n    \"\"\"One.\r\n\r\n    Two.\r\n    \"\"\"\r\n    g()\r\n";
    insta::assert_snapshot!(outline("a.py", python), @r#"
    function f [1-6] "One.\n\nTwo."
    6 -> g
    "#);
}

#[test]
fn names_of_any_script_are_names() {
    let rust = "struct Größe;\nimpl Größe { fn größer(&self) {} }\nfn 猫() { let π = Größe; π.größer(); 犬(); }\n";
    insta::assert_snapshot!(outline("src/a.rs", rust), @r#"
    struct Größe [1-1] ""
    impl impl Größe [2-2] ""
    method Größe::größer [2-2] ""
    function 猫 [3-3] ""
    2 -> Größe
    3 -> größer
    3 -> 犬
    "#);
    let python =
        "class Ñandú:\n    def correr(self): pass\n\ndef 猫(ñ: Ñandú):\n    ñ.correr()\n    犬()\n";
    insta::assert_snapshot!(outline("a.py", python), @r#"
    class Ñandú [1-2] ""
    method Ñandú::correr [2-2] ""
    function 猫 [4-6] ""
    4 -> Ñandú
    5 -> correr
    6 -> 犬
    "#);
}

#[test]
fn a_file_without_code_has_no_items() {
    for path in ["src/a.rs", "a.py"] {
        for text in ["", "\n\n", "\u{feff}", "   \t"] {
            let facts = facts(path, text);
            assert_eq!((facts.items.len(), facts.references.len(), facts.syntax_errors), (0, 0, 0));
        }
    }
    assert_eq!(facts("src/a.rs", "// one\n/* two */\n//! three\n").doc, "three");
    assert_eq!(facts("a.py", "# one\n'''two'''\n# three\n").doc, "two");
}

#[test]
fn a_file_that_a_program_wrote_is_known_by_its_words() {
    assert!(facts("src/a.rs", "// @generated by a tool\nfn f() {}\n").generated);
    assert!(facts("a.py", "# Code generated by x. DO NOT EDIT.\n").generated);
    assert!(!facts("src/a.rs", "// Generates code.\nfn f() {}\n").generated);
}

#[test]
fn deep_nesting_is_walked_without_a_deep_stack() {
    let deep = 20_000;
    let rust = format!("fn f() {{ {}1{}; g() }}", "(".repeat(deep), ")".repeat(deep));
    assert_eq!(facts("src/a.rs", &rust).items.len(), 1);
    let patterns = format!("fn f() {{ let {}x{} = 1; }}", "(".repeat(deep), ")".repeat(deep));
    assert_eq!(facts("src/a.rs", &patterns).items.len(), 1);
    let python = format!("def f(): return {}1{}\n", "[".repeat(deep), "]".repeat(deep));
    assert!(facts("a.py", &python).items.len() <= 1);
}
