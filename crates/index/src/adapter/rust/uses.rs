//! What a Rust file brings in: `use`, `mod x;`, `extern crate`.

use tree_sitter::Node;

use crate::places::RustPlace;
use crate::reader::FactReader;
use crate::{Import, ItemKind};

/// Deeper groups of groups are not written by hand.
const MAX_DEPTH: u32 = 16;

/// Records a `use` with all that its tree names.
pub(super) fn declaration(reader: &mut FactReader<'_>, node: Node<'_>) {
    if let Some(argument) = node.child_by_field_name("argument") {
        tree(reader, argument, &[], MAX_DEPTH);
    }
}

/// Records `mod name;`, which brings in a file.
pub(super) fn module_file<'t>(reader: &mut FactReader<'t>, node: Node<'_>, name: &'t str) {
    let place = RustPlace::of(reader.path);
    let explicit = reader.attributes_before(node.start_byte()).find_map(path_attribute);
    let import = match explicit {
        Some(file) => Import { alias: Some(name.to_owned()), ..whole(place.beside(file), true) },
        None => {
            let module = place.module(&inline_modules(reader));
            Import { name: Some(name.to_owned()), ..whole(module, true) }
        }
    };
    reader.declare_module(name);
    reader.import(import, node.start_byte());
}

pub(super) fn extern_crate(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(name) = reader.field(node, "name") else { return };
    let alias = reader.field(node, "alias").map(str::to_owned);
    let import = Import { alias, ..whole(vec![name.to_owned()], false) };
    reader.import(import, node.start_byte());
}

fn path_attribute(attribute: &str) -> Option<&str> {
    attribute.strip_prefix("#[path")?.split('"').nth(1)
}

/// Returns the modules of this file that the walk is in, the outermost first.
fn inline_modules(reader: &FactReader<'_>) -> Vec<String> {
    let modules = reader.scopes().filter(|item| item.kind == ItemKind::Module);
    let mut names: Vec<_> = modules.map(|item| item.name.clone()).collect();
    names.reverse();
    names
}

fn tree(reader: &mut FactReader<'_>, node: Node<'_>, before: &[&str], left: u32) {
    let Some(left) = left.checked_sub(1) else { return };
    match node.kind() {
        "use_list" => {
            let mut cursor = node.walk();
            for child in node.named_children(&mut cursor) {
                tree(reader, child, before, left);
            }
        }
        "scoped_use_list" => {
            let words = joined(before, reader.field(node, "path"));
            if let Some(list) = node.child_by_field_name("list") {
                tree(reader, list, &words, left);
            }
        }
        "use_as_clause" => {
            let words = joined(before, reader.field(node, "path"));
            let alias = reader.field(node, "alias");
            one(reader, node, &words, alias);
        }
        "use_wildcard" => {
            let words = joined(before, node.named_child(0).map(|path| reader.of(path)));
            let (segments, anchored) = anchor(reader, &words);
            let import = Import { glob: true, ..whole(segments, anchored) };
            reader.import(import, node.start_byte());
        }
        "identifier" | "scoped_identifier" | "self" | "crate" | "super" => {
            let words = joined(before, Some(reader.of(node)));
            one(reader, node, &words, None);
        }
        _ => {}
    }
}

/// Records one name: the last word, or the one before it if that is `self`.
fn one(reader: &mut FactReader<'_>, node: Node<'_>, words: &[&str], alias: Option<&str>) {
    let words = match words {
        [head @ .., "self"] if !head.is_empty() => head,
        words => words,
    };
    let Some((last, head)) = words.split_last() else { return };
    let stands_alone = head.is_empty() || matches!(*last, "crate" | "super");
    let (segments, anchored) = anchor(reader, if stands_alone { words } else { head });
    let import = Import {
        name: (!stands_alone).then(|| (*last).to_owned()),
        alias: alias.map(str::to_owned),
        ..whole(segments, anchored)
    };
    reader.import(import, node.start_byte());
}

/// Returns the words as a path from the tree's root, if they begin at a place in this crate.
fn anchor(reader: &FactReader<'_>, words: &[&str]) -> (Vec<String>, bool) {
    let place = RustPlace::of(reader.path);
    let inline = inline_modules(reader);
    if let Some(segments) = place.resolve(&inline, words) {
        return (segments, true);
    }
    let owned = words.iter().map(|word| (*word).to_owned());
    let first = words.first().copied().unwrap_or("");
    if inline.is_empty() && reader.declares_module(first) {
        return (place.module(&[]).into_iter().chain(owned).collect(), true);
    }
    (owned.collect(), false)
}

fn joined<'t>(before: &[&'t str], path: Option<&'t str>) -> Vec<&'t str> {
    let words = path.unwrap_or("").split("::").map(str::trim).filter(|word| !word.is_empty());
    before.iter().copied().chain(words).collect()
}

fn whole(segments: Vec<String>, anchored: bool) -> Import {
    Import { segments, anchored, name: None, alias: None, glob: false, line: 0 }
}
