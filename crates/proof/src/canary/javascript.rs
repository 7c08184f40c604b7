//! Calls of `test` and `it`, as node's own runner, jest, vitest and mocha have them.

use tree_sitter::Node;

use super::edits::{CanaryEnding, FoundTest, TextEdit};
use super::syntax::{Source, another, at, children, expected, instead};

/// Functions that compare two values, or one with what stands before them.
const COMPARING: [&str; 14] = [
    "equal",
    "equals",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "eql",
    "eq",
    "is",
    "same",
    "toBe",
    "toEqual",
    "toStrictEqual",
    "toMatchObject",
    "toContainEqual",
];

pub(super) fn tests(source: &Source<'_>, root: Node<'_>) -> Vec<FoundTest> {
    let mut found = Vec::new();
    look(source, root, "", &mut found);
    found
}

/// Returns whether a line begins a test or a group of tests.
pub(super) fn begins_tests(line: &str) -> bool {
    let name = line.split(['(', '.']).next().unwrap_or_default();
    matches!(name, "test" | "it" | "describe" | "suite" | "context") && line.contains('(')
}

/// Returns whether others can use something of it.
pub(super) fn holds_product(source: &Source<'_>, root: Node<'_>) -> bool {
    children(root).into_iter().any(|item| {
        let text = source.of(item);
        item.kind() == "export_statement"
            || text.starts_with("module.exports")
            || text.starts_with("exports.")
    })
}

fn look(source: &Source<'_>, node: Node<'_>, above: &str, found: &mut Vec<FoundTest>) {
    for child in children(node) {
        let call =
            children(child).into_iter().next().filter(|_| child.kind() == "expression_statement");
        let named = call.and_then(|call| NamedCall::of(source, call));
        match named {
            Some(named) if matches!(named.function, "test" | "it") => {
                found.extend(named.test(source, child, above));
            }
            Some(named) => {
                let above = format!("{above}{} > ", source.of(named.title));
                look(source, named.body, &above, found);
            }
            None => look(source, child, above, found),
        }
    }
}

/// A call with a title and a function.
struct NamedCall<'a, 't> {
    function: &'a str,
    title: Node<'t>,
    callback: Node<'t>,
    body: Node<'t>,
}

impl<'a, 't> NamedCall<'a, 't> {
    fn of(source: &Source<'a>, call: Node<'t>) -> Option<Self> {
        let function = source.field(call, "function");
        if call.kind() != "call_expression"
            || !matches!(function, "test" | "it" | "describe" | "suite" | "context")
        {
            return None;
        }
        let arguments = children(call.child_by_field_name("arguments")?);
        let title = *arguments.first().filter(|first| first.kind() == "string")?;
        let is_function = |node: &&Node<'t>| {
            matches!(node.kind(), "arrow_function" | "function_expression" | "function")
        };
        let callback = *arguments.iter().rev().find(is_function)?;
        let body = callback.child_by_field_name("body")?;
        Some(Self { function, title, callback, body })
    }

    fn test(&self, source: &Source<'_>, statement: Node<'_>, above: &str) -> Option<FoundTest> {
        let title = source.of(self.title);
        let name = title.get(1..title.len() - 1)?;
        // A title that a shell, a pattern or a report could spell otherwise is left alone.
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | ',' | ':');
        if name.trim().is_empty() || name != name.trim() || !name.chars().all(is_plain) {
            return None;
        }
        let end = match source.ending {
            CanaryEnding::Inverted => self.inverted(source).or_else(|| self.thrown(source)),
            CanaryEnding::Thrown => self.thrown(source),
        }?;
        Some(FoundTest {
            name: name.to_owned(),
            place: format!("{above}{name}"),
            end,
            start: statement.start_byte(),
            stop: statement.end_byte(),
            name_stop: self.title.end_byte() - 1,
            joint: " ",
        })
    }

    fn thrown(&self, source: &Source<'_>) -> Option<TextEdit> {
        let throw = format!("throw new Error('{}');", source.mark);
        if self.body.kind() != "statement_block" {
            let waits = if source.of(self.callback).starts_with("async") { "await " } else { "" };
            let text = format!("{{ {waits}({}); {throw} }}", source.of(self.body));
            return Some(instead(self.body, text));
        }
        match children(self.body).last() {
            Some(last) if last.kind() == "return_statement" => Some(at(
                last.start_byte(),
                format!("if ('{}'.length) {throw}\n{}", source.mark, source.indent(*last)),
            )),
            Some(last) if last.kind() == "throw_statement" => None,
            Some(last) => {
                let line = source.indent(*last);
                let indent = &line[..line.len() - line.trim_start().len()];
                Some(at(last.end_byte(), format!("\n{indent}{throw}")))
            }
            None => Some(at(self.body.start_byte() + 1, format!(" {throw} "))),
        }
    }

    fn inverted(&self, source: &Source<'_>) -> Option<TextEdit> {
        let mut last = self.body;
        if last.kind() == "statement_block" {
            let statement = *children(last).last()?;
            last = *children(statement)
                .first()
                .filter(|_| statement.kind() == "expression_statement")?;
        }
        if last.kind() == "await_expression" {
            last = *children(last).first()?;
        }
        let function =
            last.child_by_field_name("function").filter(|_| last.kind() == "call_expression")?;
        let arguments = children(last.child_by_field_name("arguments")?);
        let chain = source.of(function);
        let method = match function.kind() {
            "member_expression" => source.field(function, "property"),
            _ => chain,
        };
        match *arguments.as_slice() {
            _ if chain.contains(".not.") || chain.contains(".rejects") => None,
            [one, other, ..] if COMPARING.contains(&method) => {
                let asked = expected(one, other);
                Some(instead(asked, another(source, asked)))
            }
            [one] if COMPARING.contains(&method) && chain.contains('(') => {
                Some(instead(one, another(source, one)))
            }
            [asked, ..]
                if matches!(method, "assert" | "ok") && asked.kind() != "spread_element" =>
            {
                Some(instead(asked, format!("!({})", source.of(asked))))
            }
            _ => None,
        }
    }
}
