//! Where the comments of a text are.
//!
//! For those who ask whether a change touches anything but words for people. So a comment that a
//! compiler obeys is none here, and a text that cannot be read whole has none.

use std::ops::Range;

use tree_sitter::Node;

use crate::{Language, adapter};

/// Returns the bytes of every comment of a text, in order; nothing for one whose language is not
/// known, or which cannot be read whole.
pub fn comments(path: &str, text: &str) -> Option<Vec<Range<usize>>> {
    let language = Language::of_path(path)?;
    let tree = adapter::tree(path, text, language)?;
    if tree.root_node().has_error() {
        return None;
    }
    // The comment above this import is C.
    if language == Language::Go && text.contains("import \"C\"") {
        return Some(Vec::new());
    }
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let is_comment = node.kind().ends_with("comment");
        if is_comment && !is_obeyed(text, node) {
            found.push(node.byte_range());
        }
        if !is_comment && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(found);
            }
        }
    }
}

/// Returns whether a compiler or an interpreter goes by a comment.
fn is_obeyed(text: &str, node: Node<'_>) -> bool {
    const MARKS: &[&str] =
        &["#!", "//go:", "// +build", "//export ", "// @ts-", "/** @jsx", "# type:", "# -*-"];
    let comment = text.get(node.byte_range()).unwrap_or("");
    MARKS.iter().any(|mark| comment.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: Option<&[&str]>) {
        let found = comments(path, text);
        let words: Option<Vec<&str>> =
            found.map(|found| found.into_iter().map(|place| text[place].trim_end()).collect());
        assert_eq!(words.as_deref(), expected, "{path}: {text}");
    }

    #[test]
    fn only_what_no_compiler_obeys_is_a_comment() {
        check("a.py", "# one\nx = '# two'  # three\n", Some(&["# one", "# three"]));
        check("a.py", "x = '''\n# no comment\n'''\n", Some(&[]));
        check(
            "a.rs",
            "/* a */ fn f() {} // b\n/// c\nfn g() {}\n",
            Some(&["/* a */", "// b", "/// c"]),
        );
        check("a.js", "const a = /[/*]/; // b\n", Some(&["// b"]));
        check("a.go", "//go:build linux\n\n// b\npackage a\n", Some(&["// b"]));
        check("a.go", "package a\n\n// int f();\nimport \"C\"\n", Some(&[]));
        check("a.sh", "#!/bin/sh\n# b\ncat <<X\n# c\nX\n", Some(&["# b"]));
        check("a.py", "def (:\n# b\n", None);
        check("a.md", "<!-- b -->\n", None);
        check("a.unknown", "# b\n", None);
    }
}
