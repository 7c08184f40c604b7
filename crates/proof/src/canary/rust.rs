//! Functions with a test attribute, among code or in files of their own.

use tree_sitter::Node;

use super::edits::{CanaryEnding, FoundTest, TextEdit};
use super::syntax::{Source, at, children, instead};

pub(super) fn tests(source: &Source<'_>, root: Node<'_>) -> Vec<FoundTest> {
    let mut found = Vec::new();
    look(source, root, "", &mut found);
    found
}

fn look(source: &Source<'_>, items: Node<'_>, above: &str, found: &mut Vec<FoundTest>) {
    let mut attributes: Vec<Node<'_>> = Vec::new();
    for item in children(items) {
        match item.kind() {
            "attribute_item" => {
                attributes.push(item);
                continue;
            }
            "function_item" => found.extend(test(source, &attributes, item, above)),
            "mod_item" => {
                if let Some(body) = item.child_by_field_name("body") {
                    let above = format!("{above}{}::", source.field(item, "name"));
                    look(source, body, &above, found);
                }
            }
            _ => {}
        }
        attributes.clear();
    }
}

fn test(
    source: &Source<'_>,
    attributes: &[Node<'_>],
    function: Node<'_>,
    above: &str,
) -> Option<FoundTest> {
    let words: Vec<&str> = attributes.iter().map(|one| source.of(*one)).collect();
    let is_test = |text: &&str| {
        let name = text.trim_start_matches("#[").trim_end_matches(']').split('(').next();
        name.is_some_and(|name| name == "test" || name.ends_with("::test"))
    };
    let is_set_aside = |text: &&str| text.contains("ignore") || text.contains("should_panic");
    let has_parameters =
        function.child_by_field_name("parameters").is_none_or(|list| !children(list).is_empty());
    if !words.iter().any(is_test) || words.iter().any(is_set_aside) || has_parameters {
        return None;
    }
    let body = function.child_by_field_name("body")?;
    let end = match source.ending {
        CanaryEnding::Inverted => inverted(source, body).or_else(|| thrown(source, body)),
        CanaryEnding::Thrown => thrown(source, body),
    }?;
    let name = function.child_by_field_name("name")?;
    Some(FoundTest {
        name: source.of(name).to_owned(),
        place: format!("{above}{}", source.of(name)),
        end,
        start: attributes.first()?.start_byte(),
        stop: function.end_byte(),
        name_stop: name.end_byte(),
        joint: "_",
    })
}

/// Something that fails and of which the compiler does not say that nothing comes behind it.
fn thrown(source: &Source<'_>, body: Node<'_>) -> Option<TextEdit> {
    let fails = format!("assert!(\"{}\".is_empty());", source.mark);
    let last = children(body).last().copied();
    let Some(last) = last else { return Some(at(body.start_byte() + 1, format!(" {fails} "))) };
    if last.kind() == "expression_statement" && source.of(last).ends_with(';')
        || last.kind() == "let_declaration"
    {
        let line = source.indent(last);
        let indent = &line[..line.len() - line.trim_start().len()];
        return Some(at(last.end_byte(), format!("\n{indent}{fails}")));
    }
    // A value at the end, which has to stay there.
    Some(at(last.start_byte(), format!("{fails} ")))
}

fn inverted(source: &Source<'_>, body: Node<'_>) -> Option<TextEdit> {
    let mut last = *children(body).last()?;
    if last.kind() == "expression_statement" {
        last = *children(last).first()?;
    }
    if last.kind() != "macro_invocation" {
        return None;
    }
    let tokens = children(last).into_iter().find(|child| child.kind() == "token_tree")?;
    let inner = source.of(tokens);
    let inner = inner.get(1..inner.len().checked_sub(1)?)?;
    let parts = arguments(inner)?;
    let (asked, more) = match (source.field(last, "macro"), parts.as_slice()) {
        ("assert", [asked, more @ ..]) => (format!("!({asked})"), more),
        ("assert_eq", [one, other, more @ ..]) => {
            let asked = match (another(one, source.mark), another(other, source.mark)) {
                (_, Some(expected)) => format!("{one}, {expected}"),
                (Some(expected), None) => format!("{expected}, {other}"),
                // Of a type that is not known no other value can be written down.
                (None, None) => format!("({one}) == ({other}), false"),
            };
            (asked, more)
        }
        ("assert_ne", [one, other, more @ ..]) => (format!("({one}) == ({other}), false"), more),
        _ => return None,
    };
    let all: Vec<&str> = std::iter::once(asked.as_str()).chain(more.iter().copied()).collect();
    Some(instead(tokens, format!("({})", all.join(", "))))
}

/// Returns another value of the same type for a literal.
fn another(literal: &str, mark: &str) -> Option<String> {
    let digits = literal.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = literal.split_at(digits);
    match literal {
        "true" => Some("false".to_owned()),
        "false" => Some("true".to_owned()),
        _ if literal.len() > 1 && literal.starts_with('"') => {
            let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
            (!inner.contains('"')).then(|| format!("\"{mark}\""))
        }
        _ if suffix.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
            let number: u128 = number.parse().ok()?;
            let other = number.checked_sub(1).unwrap_or(1);
            Some(format!("{other}{suffix}"))
        }
        _ => None,
    }
}

/// Returns what commas part at the top; nothing where that cannot be told without reading types and
/// closures, or where there are comments.
fn arguments(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    let mut quoted = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '"' if before != '\\' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            '|' | '<' if depth == 0 => return None,
            '\'' | '#' => return None,
            '/' if before == '/' => return None,
            _ => {}
        }
        before = c;
    }
    let rest = text[start..].trim();
    if !rest.is_empty() {
        parts.push(rest);
    }
    Some(parts)
}
