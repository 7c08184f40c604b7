//! What is read of one rich file of every language of the second tier, and of documents.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files has failed")]

use std::fmt::Write as _;
use std::path::Path;

use spore_index::{Access, FileFacts, Language, read};

/// Writes facts as lines: an item under what holds it, then what it refers to.
fn told(facts: &FileFacts) -> String {
    let mut out = String::new();
    writeln!(out, "{} package={:?}", facts.language, facts.package).unwrap();
    writeln!(out, "errors={} generated={}", facts.syntax_errors, facts.generated).unwrap();
    if !facts.doc.is_empty() {
        writeln!(out, "doc={:?}", facts.doc).unwrap();
    }
    for import in &facts.imports {
        let path = import.segments.join("/");
        let anchor = if import.anchored { "/" } else { "" };
        let name = import.name.as_deref().unwrap_or("");
        let all = if import.glob { "*" } else { "" };
        let alias = import.alias.as_ref().map(|alias| format!(" as {alias}")).unwrap_or_default();
        writeln!(out, "{:>3} import {anchor}{path} {name}{all}{alias}", import.line).unwrap();
    }
    tell_references(&mut out, facts, None, 0);
    for (place, item) in facts.items.iter().enumerate() {
        let depth = depth(facts, item.parent);
        let indent = "  ".repeat(depth);
        let lines = format!("{}-{}", item.lines.first, item.lines.last);
        let (kind, name, visibility) = (item.kind, &item.qualified, item.visibility);
        writeln!(out, "{indent}{kind} {name} [{lines} {visibility:?}] {}", item.signature).unwrap();
        assert!(item.qualified.ends_with(&item.name), "{} is not {}", item.qualified, item.name);
        for line in item.doc.lines() {
            writeln!(out, "{indent}  | {line}").unwrap();
        }
        tell_references(&mut out, facts, u32::try_from(place).ok(), depth + 1);
    }
    out
}

fn tell_references(out: &mut String, facts: &FileFacts, scope: Option<u32>, depth: usize) {
    let indent = "  ".repeat(depth);
    for reference in facts.references.iter().filter(|reference| reference.scope == scope) {
        let through = match &reference.access {
            Access::Bare => String::new(),
            Access::Path(path) => format!("{path}::"),
            Access::Own => "self.".to_owned(),
            Access::Value(of_type) => format!("{}.", of_type.as_deref().unwrap_or("?")),
        };
        let (line, kind, name) = (reference.line, reference.kind, &reference.name);
        writeln!(out, "{indent}- {line} {kind:?} {through}{name}").unwrap();
    }
}

fn depth(facts: &FileFacts, mut parent: Option<u32>) -> usize {
    let mut depth = 0;
    while let Some(place) = parent {
        depth += 1;
        parent = facts.items[place as usize].parent;
    }
    depth
}

fn golden(file: &str) -> FileFacts {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let path = format!("src/garden/{file}");
    read(&path, &text, Language::of_path(&path).unwrap())
}

#[track_caller]
fn check(file: &str) {
    let (_, language) = file.rsplit_once('.').unwrap();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(language, told(&golden(file)));
    });
}

#[test]
fn java() {
    check("sample.java");
}

#[test]
fn kotlin() {
    check("sample.kt");
}

#[test]
fn c() {
    check("sample.c");
}

#[test]
fn cpp() {
    check("sample.cpp");
}

#[test]
fn csharp() {
    check("sample.cs");
}

#[test]
fn ruby() {
    check("sample.rb");
}

#[test]
fn php() {
    check("sample.php");
}

#[test]
fn swift() {
    check("sample.swift");
}

#[test]
fn scala() {
    check("sample.scala");
}

#[test]
fn bash() {
    check("sample.sh");
}

#[test]
fn markdown() {
    check("sample.md");
}

#[test]
fn rst() {
    check("sample.rst");
}

#[test]
fn a_header_is_read_as_what_it_is_written_in() {
    let cases = [
        ("struct row { int count; };", Language::C),
        ("class Row {\npublic:\n int count() { return 1; }\n};", Language::Cpp),
        ("  namespace garden {}", Language::Cpp),
        ("/* a class of rows */\nint first_class(void) { return 1; }", Language::C),
        ("template<class T> T pick(T t) { return t; }", Language::Cpp),
    ];
    for (text, expected) in cases {
        let facts = read("include/row.h", text, Language::C);
        assert_eq!(facts.language, expected, "{text}");
        assert!(facts.items.len() <= 2, "{text}");
    }
}
