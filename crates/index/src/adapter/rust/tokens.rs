//! What can be seen where there is no syntax: in the arguments of macros, and in attributes.

use tree_sitter::Node;

use super::last_word;
use crate::reader::{FactReader, ItemDefinition, WalkStep};
use crate::{Access, ItemKind, ReferenceKind, Visibility};

/// Macros of the standard library, which no project defines.
pub(super) fn is_std_macro(name: &str) -> bool {
    const NAMES: [&str; 32] = [
        "assert",
        "assert_eq",
        "assert_ne",
        "cfg",
        "compile_error",
        "concat",
        "dbg",
        "debug_assert",
        "debug_assert_eq",
        "debug_assert_ne",
        "env",
        "eprint",
        "eprintln",
        "format",
        "format_args",
        "include",
        "include_bytes",
        "include_str",
        "line",
        "macro_rules",
        "matches",
        "panic",
        "print",
        "println",
        "stringify",
        "thread_local",
        "todo",
        "unimplemented",
        "unreachable",
        "vec",
        "write",
        "writeln",
    ];
    NAMES.contains(&name)
}

/// Returns whether an attribute of what begins at a byte makes it a test.
pub(super) fn is_test(reader: &FactReader<'_>, start: usize) -> bool {
    reader.attributes_before(start).any(makes_test)
}

fn makes_test(attribute: &str) -> bool {
    let inner = attribute.trim_start_matches(['#', '[', ' ']);
    let end = inner.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let name = last_word(&inner[..end.unwrap_or(inner.len())]);
    matches!(name, "test" | "rstest" | "test_case" | "proptest" | "quickcheck")
        || name.ends_with("_test")
}

/// Enters a macro's tokens. Some in braces may be the body of a function whose head was read
/// before, as in `proptest! { #[test] fn holds(x in 0..9) { … } }`.
pub(super) fn tree(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    reader.enter_tokens(node.end_byte());
    let is_body = reader.text.as_bytes().get(node.start_byte()) == Some(&b'{');
    let function = if is_body { reader.take_token_function() } else { None };
    let Some((name, start)) = function else { return WalkStep::Scope };
    let before = reader.text.get(..start).unwrap_or("").trim_end();
    let attribute = before.ends_with(']').then(|| before.rfind("#[")).flatten();
    let is_test = attribute.is_some_and(|at| makes_test(&before[at..]));
    let kind = if is_test { ItemKind::Test } else { ItemKind::Function };
    let mut definition = ItemDefinition::new(kind, name, node, None);
    definition.whole.start = attribute.unwrap_or(start);
    definition.signature = start..node.start_byte();
    reader.open(definition.visibility(Visibility::Private));
    WalkStep::Within
}

/// Looks at a name in a macro's tokens: it is a call if an argument list follows.
pub(super) fn name(reader: &mut FactReader<'_>, node: Node<'_>) {
    if !reader.in_tokens(node.start_byte()) {
        return;
    }
    let name = reader.of(node);
    let before = reader.text.get(..node.start_byte()).unwrap_or("").trim_end();
    let after = reader.text.as_bytes().get(node.end_byte()..).unwrap_or(&[]);
    if before.ends_with("fn") {
        reader.expect_token_function(name, before.len() - "fn".len());
        return;
    }
    match after {
        [b'(', ..] => call(reader, node, name, before),
        [b'!', b'(' | b'[' | b'{', ..] if !is_std_macro(name) => {
            let access = path_before(before).unwrap_or(Access::Bare);
            reader.refer(ReferenceKind::Macro, name, access, node.start_byte());
        }
        _ => {}
    }
}

fn call(reader: &mut FactReader<'_>, node: Node<'_>, name: &str, before: &str) {
    let at = node.start_byte();
    let access = if let Some(access) = path_before(before) {
        access
    } else if let Some(receiver) = before.strip_suffix('.') {
        receiver_access(reader, receiver, at)
    } else if matches!(name, "Some" | "Ok" | "Err") || reader.local(name, at).is_some() {
        return;
    } else {
        Access::Bare
    };
    reader.refer(ReferenceKind::Call, name, access, at);
}

fn path_before(before: &str) -> Option<Access> {
    let path = before.strip_suffix("::")?;
    let words = trailing(path, |c| c.is_alphanumeric() || c == '_' || c == ':');
    Some(match words.trim_start_matches("::") {
        "" => Access::Value(None),
        "Self" => Access::Own,
        words => Access::Path(words.to_owned()),
    })
}

/// Returns how a method is reached whose receiver ends the text.
fn receiver_access<'t>(reader: &FactReader<'t>, receiver: &'t str, at: usize) -> Access {
    let word = trailing(receiver, |c| c.is_alphanumeric() || c == '_');
    let before = receiver[..receiver.len() - word.len()].trim_end();
    if word == "self" {
        return Access::Own;
    }
    let of_type = if before.ends_with("self.") {
        reader.own_type().and_then(|owner| reader.field_type(owner, word))
    } else if word.is_empty() || before.ends_with(['.', ':']) {
        None
    } else {
        reader.local(word, at).flatten()
    };
    super::types::of_type(of_type)
}

fn trailing(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    let head = text.trim_end_matches(is_part);
    &text[head.len()..]
}

pub(super) fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}
