//! What is read out of one rich file of TypeScript, TSX, JavaScript and Go each, and out of
//! texts that are not as one would wish.

#![expect(clippy::unwrap_used, reason = "a test that cannot write its own text has failed")]

use std::fmt::Write;

use spore_index::{Access, FileFacts, Import, Language, read};

/// Writes facts the way a person checks them: one line each, indented by what holds it.
fn shown(facts: &FileFacts) -> String {
    let mut out = String::new();
    let head =
        format!("{} errors={} generated={}", facts.language, facts.syntax_errors, facts.generated);
    writeln!(out, "{head} package={:?} doc={:?}", facts.package, facts.doc).unwrap();
    for item in &facts.items {
        let depth = std::iter::successors(item.parent, |place| facts.items[*place as usize].parent);
        let indent = "  ".repeat(depth.count());
        let visibility = format!("{:?}", item.visibility).to_lowercase();
        let lines = format!("{}-{}", item.lines.first, item.lines.last);
        writeln!(out, "{indent}{} {} [{visibility} {lines}]", item.kind, item.qualified).unwrap();
        writeln!(out, "{indent}    {}", item.signature).unwrap();
        if !item.doc.is_empty() {
            writeln!(out, "{indent}    {:?}", item.doc).unwrap();
        }
    }
    for import in &facts.imports {
        writeln!(out, "{}", import_line(import)).unwrap();
    }
    for reference in &facts.references {
        let scope = reference.scope.map(|place| facts.items[place as usize].qualified.as_str());
        let access = match &reference.access {
            Access::Bare => String::new(),
            Access::Path(path) => format!("{path}::"),
            Access::Own => "own.".to_owned(),
            Access::Value(of) => format!("<{}>.", of.as_deref().unwrap_or("?")),
        };
        let kind = format!("{:?}", reference.kind).to_lowercase();
        let scope = scope.unwrap_or("(file)");
        writeln!(out, "{}: {kind} {access}{} in {scope}", reference.line, reference.name).unwrap();
    }
    out
}

fn import_line(import: &Import) -> String {
    let root = if import.anchored { "/" } else { "" };
    let mut line = format!("{}: import {root}{}", import.line, import.segments.join("/"));
    if let Some(name) = &import.name {
        write!(line, " name={name}").unwrap();
    }
    if let Some(alias) = &import.alias {
        write!(line, " alias={alias}").unwrap();
    }
    if import.glob {
        line.push_str(" all");
    }
    line
}

fn golden(path: &str, text: &str) -> String {
    let language = Language::of_path(path).unwrap();
    shown(&read(path, text, language))
}

#[test]
fn a_go_file() {
    insta::assert_snapshot!(golden("kitchen/pantry/pantry.go", include_str!("golden/sample.go")));
}

#[test]
fn a_go_test_file() {
    let text = "package pantry_test\n\n\
        import \"testing\"\n\n\
        func TestPut(t *testing.T) {\n\tt.Run(\"twice\", func(t *testing.T) { put(t) })\n}\n\n\
        func Testify(t *testing.T) {}\n\n\
        func TestMain() {}\n\n\
        func BenchmarkPut(b *testing.B) {}\n\n\
        func ExampleShelf_Put() {}\n\n\
        func FuzzPut(f *testing.F) {}\n\n\
        func (s *Suite) TestAll() { s.Equal(1, 1) }\n\n\
        func helper(t *testing.T) { t.Helper() }\n";
    insta::assert_snapshot!(golden("pantry/pantry_test.go", text));
}

#[test]
fn a_typescript_file() {
    insta::assert_snapshot!(golden("src/shop/orders.ts", include_str!("golden/sample.ts")));
}

#[test]
fn a_tsx_file() {
    insta::assert_snapshot!(golden("src/panel.test.tsx", include_str!("golden/sample.tsx")));
}

#[test]
fn a_javascript_file() {
    insta::assert_snapshot!(golden("lib/queue.js", include_str!("golden/sample.js")));
}

#[test]
fn defaults_without_a_name_go_by_the_name_of_their_file() {
    let function = golden("src/greet.ts", "export default (name: string) => hello(name);\n");
    let class = golden("src/widgets/index.js", "module.exports = class { draw() { ink(); } };\n");
    let object = golden("src/api.ts", "export default { get() { call(); }, put: () => call() };\n");
    insta::assert_snapshot!([function, class, object].join("\n"));
}

#[test]
fn broken_texts_yield_what_can_be_read() {
    let script =
        "export function good() { fine(); }\n\nclass {{ oops\n\nfunction alsoGood() { ok() }\n";
    let go = "package p\n\nfunc Good() { fine() }\n\nfunc ( { oops\n\nfunc AlsoGood() { ok() }\n";
    let shown = [golden("a.ts", script), golden("a.js", script), golden("a.go", go)];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn line_ends_of_either_kind_give_the_same_facts_on_the_same_lines() {
    let samples = [
        ("a.go", include_str!("golden/sample.go")),
        ("a.ts", include_str!("golden/sample.ts")),
        ("a.tsx", include_str!("golden/sample.tsx")),
        ("a.js", include_str!("golden/sample.js")),
    ];
    for (path, text) in samples {
        let other = text.replace('\n', "\r\n");
        pretty_assert(path, &golden(path, text), &golden(path, &other));
    }
}

fn pretty_assert(path: &str, left: &str, right: &str) {
    for (left, right) in left.lines().zip(right.lines()) {
        assert_eq!(left, right, "{path}");
    }
    assert_eq!(left.lines().count(), right.lines().count(), "{path}");
}

#[test]
fn identifiers_of_any_script_are_names() {
    let script =
        "export function größe(maß: Länge) { return 长度(maß); }\nclass Ключ { ход() {} }\n";
    let go = "package π\n\ntype Größe struct{}\n\n// Ход hilft — immer.\nfunc (g Größe) Ход() { 世界() }\n";
    let shown =
        [golden("a.ts", script), golden("a.js", "const ñ = () => día();\n"), golden("a.go", go)];
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn empty_texts_and_bare_comments_have_no_items() {
    for path in ["a.go", "a.ts", "a.tsx", "a.js"] {
        for text in ["", "\n", "// nothing\n", "/* nothing */", "\u{feff}"] {
            let facts = read(path, text, Language::of_path(path).unwrap());
            assert_eq!((facts.items.len(), facts.references.len()), (0, 0), "{path} {text:?}");
        }
    }
}

#[test]
fn files_that_a_program_wrote_say_so() {
    let go = "// Code generated by protoc-gen-go. DO NOT EDIT.\npackage p\n";
    let script = "/**\n * @generated\n */\nexport const a = 1;\n";
    assert!(read("a.go", go, Language::Go).generated);
    assert!(read("a.ts", script, Language::TypeScript).generated);
    assert!(
        !read("a.go", "package p\n\n// A generated name.\nvar x = 1\n", Language::Go).generated
    );
}
