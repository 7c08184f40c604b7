//! The string at the top of a body, without its quotes and indentation.

use tree_sitter::Node;

use crate::reader::FactReader;

pub(super) fn of_body(reader: &FactReader<'_>, body: Node<'_>) -> String {
    words(reader, body).unwrap_or_default()
}

fn words(reader: &FactReader<'_>, body: Node<'_>) -> Option<String> {
    let mut cursor = body.walk();
    let first = body.named_children(&mut cursor).find(|child| child.kind() != "comment")?;
    let string = if first.kind() == "expression_statement" { first.named_child(0)? } else { first };
    if string.kind() != "string" {
        return None;
    }
    let text = reader.of(string).trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| text.starts_with(quote))?;
    let text = text.strip_prefix(quote)?;
    Some(dedent(text.strip_suffix(quote).unwrap_or(text)))
}

fn dedent(text: &str) -> String {
    let rest = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let indent = rest.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = if number == 0 { line } else { line.get(indent..).unwrap_or("") };
        lines.push(line.trim_end());
    }
    lines.join("\n").trim().to_owned()
}
