//! Which types a text names, and which one a value has as far as the text shows it.

use tree_sitter::Node;

use super::{last_word, tokens};
use crate::reader::{FactReader, WalkStep};
use crate::{Access, ReferenceKind};

/// How deep a chain like `(&x.y?).z` is followed.
const MAX_CHAIN: u32 = 6;

/// Pointers whose methods are in practice those of what they point at.
const POINTERS: [&str; 4] = ["Box", "Rc", "Arc", "Pin"];

/// Types that every text names and no project defines.
fn is_prelude(name: &str) -> bool {
    matches!(name, "Self" | "String" | "Vec" | "Option" | "Box" | "Some" | "Ok" | "Err" | "None")
}

/// Records a type that is named in the place of a type.
pub(super) fn name_used(reader: &mut FactReader<'_>, node: Node<'_>) {
    let name = reader.of(node);
    let at = node.start_byte();
    if !is_prelude(name) && !reader.skips(at) && reader.local(name, at).is_none() {
        reader.refer_to_type(name, Access::Bare, at);
    }
}

/// Records the `Outcome` of `Outcome::Passed`.
pub(super) fn word_used(reader: &mut FactReader<'_>, node: Node<'_>) {
    if starts_upper(reader.of(node)) {
        name_used(reader, node);
    }
}

/// Records the `Outcome` of `model::Outcome::Passed`.
pub(super) fn path_word_used(reader: &mut FactReader<'_>, path: Node<'_>) {
    let text = reader.of(path);
    let name = last_word(text);
    if starts_upper(name) && is_plain_path(text) {
        let access = words_access(reader, text, path.start_byte());
        reader.refer_to_type(name, access, path.start_byte());
    }
}

/// Records a type that is named with its path.
pub(super) fn path_used(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let text = reader.of(node);
    if !is_plain_path(text) {
        return WalkStep::Children;
    }
    let at = node.start_byte();
    if !text.starts_with("Self::") && !reader.skips(at) {
        let access = words_access(reader, text, at);
        reader.refer_to_type(last_word(text), access, at);
    }
    WalkStep::Past
}

/// Records the trait of an `impl`.
pub(super) fn refer(reader: &mut FactReader<'_>, node: Node<'_>, kind: ReferenceKind) {
    let Some(path) = base_name(reader, node) else { return };
    let at = node.start_byte();
    let access = words_access(reader, path, at);
    reader.refer(kind, last_word(path), access, at);
    reader.skip(at);
}

/// Records the traits that a trait builds on.
pub(super) fn extends(reader: &mut FactReader<'_>, bounds: Node<'_>) {
    let mut cursor = bounds.walk();
    for bound in bounds.named_children(&mut cursor) {
        if bound.kind() != "lifetime" {
            refer(reader, bound, ReferenceKind::Extends);
        }
    }
}

/// Remembers what a type parameter stands for: the first trait that bounds it.
pub(super) fn bind_parameter(reader: &mut FactReader<'_>, node: Node<'_>, field: &str) {
    let Some(name) = node.child_by_field_name(field) else { return };
    if name.kind() != "type_identifier" {
        return;
    }
    let bounds = node.child_by_field_name("bounds");
    let first = bounds.and_then(|bounds| {
        let mut cursor = bounds.walk();
        bounds.named_children(&mut cursor).find(|bound| bound.kind() != "lifetime")
    });
    let bound = first.and_then(|bound| base_name(reader, bound));
    reader.bind(reader.of(name), bound, node.start_byte());
}

/// Returns the path of a type without what it is filled with: `search::Hits` of
/// `&mut search::Hits<'a, T>`.
pub(super) fn base_name<'t>(reader: &FactReader<'t>, node: Node<'_>) -> Option<&'t str> {
    let mut node = node;
    for _ in 0..MAX_CHAIN {
        node = match node.kind() {
            "type_identifier" | "identifier" | "scoped_identifier" | "scoped_type_identifier" => {
                return Some(reader.of(node)).filter(|text| is_plain_path(text));
            }
            "generic_type" | "reference_type" | "generic_type_with_turbofish" => {
                node.child_by_field_name("type")?
            }
            "dynamic_type" | "abstract_type" => node.child_by_field_name("trait")?,
            "bounded_type" => node.named_child(0)?,
            "higher_ranked_trait_bound" => node.child_by_field_name("type")?,
            _ => return None,
        };
    }
    None
}

/// Returns the type whose methods a value of a type has.
pub(super) fn value_type<'t>(reader: &FactReader<'t>, node: Node<'_>) -> Option<&'t str> {
    let mut node = node;
    for _ in 0..MAX_CHAIN {
        if node.kind() == "reference_type" {
            node = node.child_by_field_name("type")?;
            continue;
        }
        let name = base_name(reader, node)?;
        let is_pointer = POINTERS.contains(&last_word(name)) && node.kind() == "generic_type";
        if !is_pointer {
            // A type parameter has the methods of its bound, or none that could be known.
            return reader.local(name, node.start_byte()).unwrap_or(Some(name));
        }
        node = node.child_by_field_name("type_arguments")?.named_child(0)?;
    }
    None
}

/// Returns the type of a value as its expression shows it.
pub(super) fn made_type<'t>(reader: &FactReader<'t>, node: Node<'_>) -> Option<&'t str> {
    made(reader, node, MAX_CHAIN)
}

fn made<'t>(reader: &FactReader<'t>, node: Node<'_>, left: u32) -> Option<&'t str> {
    let left = left.checked_sub(1)?;
    match node.kind() {
        "identifier" => match reader.local(reader.of(node), node.start_byte()) {
            Some(of_type) => of_type,
            // A struct without fields is its own value; a constant is of any type.
            None => Some(reader.of(node)).filter(|it| starts_upper(it) && !is_capitals(it)),
        },
        // `Season::Spring` is a value of the type before it.
        "scoped_identifier" => {
            let path = base_name(reader, node.child_by_field_name("path")?)?;
            let name = reader.field(node, "name")?;
            Some(path).filter(|path| starts_upper(last_word(path)) && starts_upper(name))
        }
        "struct_expression" => base_name(reader, node.child_by_field_name("name")?),
        "reference_expression" => made(reader, node.child_by_field_name("value")?, left),
        "try_expression" | "await_expression" | "parenthesized_expression" => {
            made(reader, node.named_child(0)?, left)
        }
        "field_expression" => {
            let name = reader.field(node, "field")?;
            let value = node.child_by_field_name("value")?;
            if value.kind() == "self" {
                return reader.field_type(reader.own_type()?, name);
            }
            match made(reader, value, left)? {
                "Self" => reader.field_type(reader.own_type()?, name),
                owner => reader.field_type(owner, name),
            }
        }
        "call_expression" => called(reader, node, left),
        _ => None,
    }
}

/// Returns the type of what a call gives, if it is a constructor or hands its receiver on.
fn called<'t>(reader: &FactReader<'t>, call: Node<'_>, left: u32) -> Option<&'t str> {
    let function = call.child_by_field_name("function")?;
    match function.kind() {
        "identifier" => Some(reader.of(function)).filter(|name| starts_upper(name)),
        "scoped_identifier" => {
            let path = base_name(reader, function.child_by_field_name("path")?)?;
            if POINTERS.contains(&path) {
                let held = call.child_by_field_name("arguments")?.named_child(0)?;
                return made(reader, held, left);
            }
            Some(path).filter(|path| starts_upper(last_word(path)))
        }
        "field_expression" => {
            let name = reader.field(function, "field")?;
            let hands_on = matches!(name, "unwrap" | "expect" | "clone" | "unwrap_or_default");
            made(reader, function.child_by_field_name("value").filter(|_| hands_on)?, left)
        }
        _ => None,
    }
}

/// Returns how the name at the end of a path is reached.
pub(super) fn path_access(reader: &FactReader<'_>, scoped: Node<'_>) -> Access {
    let Some(path) = scoped.child_by_field_name("path") else { return Access::Bare };
    let words = match path.kind() {
        "self" | "super" | "crate" => Some(reader.of(path)),
        // `<T as Trait>::name`
        "bracketed_type" => path.named_child(0).and_then(|qualified| {
            let of = qualified.child_by_field_name("alias");
            base_name(reader, of.or(qualified.child_by_field_name("type")).unwrap_or(qualified))
        }),
        _ => base_name(reader, path),
    };
    words.map_or(Access::Value(None), |words| access(reader, words, path.start_byte()))
}

/// Returns how the last word of a whole path is reached.
pub(super) fn words_access(reader: &FactReader<'_>, words: &str, at: usize) -> Access {
    match words.rsplit_once("::") {
        None => Access::Bare,
        Some((before, _)) => access(reader, before.trim(), at),
    }
}

fn access(reader: &FactReader<'_>, words: &str, at: usize) -> Access {
    if words == "Self" {
        return Access::Own;
    }
    match reader.local(words, at) {
        // `T::default()` of a type parameter.
        Some(bound) => Access::Value(bound.map(str::to_owned)),
        None => Access::Path(tokens::without_blanks(words)),
    }
}

/// Returns how a method of a value is reached.
pub(super) fn value_access(reader: &FactReader<'_>, value: Node<'_>) -> Access {
    if value.kind() == "self" {
        return Access::Own;
    }
    of_type(made_type(reader, value))
}

/// Returns how a method of a value of a type is reached.
pub(super) fn of_type(name: Option<&str>) -> Access {
    match name {
        Some("Self") => Access::Own,
        name => Access::Value(name.map(tokens::without_blanks)),
    }
}

fn is_plain_path(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ':' | ' '))
}

fn is_capitals(name: &str) -> bool {
    name.len() > 1 && !name.chars().any(char::is_lowercase)
}

fn starts_upper(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}
