//! `import` and `from … import`, also relative ones.

use tree_sitter::Node;

use crate::Import;
use crate::reader::FactReader;

/// Records `import a.b, c as d`.
pub(super) fn plain(reader: &mut FactReader<'_>, node: Node<'_>) {
    let mut cursor = node.walk();
    for name in node.children_by_field_name("name", &mut cursor) {
        let (path, alias) = named(reader, name);
        let import = Import {
            segments: words(path),
            anchored: false,
            name: None,
            alias: alias.map(str::to_owned),
            glob: false,
            line: 0,
        };
        reader.import(import, name.start_byte());
    }
}

/// Records `from a.b import c as d` and `from .x import *`.
pub(super) fn from(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(module) = reader.field(node, "module_name") else { return };
    let (segments, anchored) = place(reader.path, module);
    let whole = Import { segments, anchored, name: None, alias: None, glob: false, line: 0 };
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor).skip(1) {
        let import = if child.kind() == "wildcard_import" {
            Import { glob: true, ..whole.clone() }
        } else {
            let (name, alias) = named(reader, child);
            Import { name: Some(name.to_owned()), alias: alias.map(str::to_owned), ..whole.clone() }
        };
        if child.kind() != "comment" {
            reader.import(import, child.start_byte());
        }
    }
}

fn named<'t>(reader: &FactReader<'t>, node: Node<'_>) -> (&'t str, Option<&'t str>) {
    if node.kind() == "aliased_import" {
        return (reader.field(node, "name").unwrap_or(""), reader.field(node, "alias"));
    }
    (reader.of(node), None)
}

/// Returns the words of a module's path, from the root of the tree if it is relative.
fn place(path: &str, module: &str) -> (Vec<String>, bool) {
    let name = module.trim_start_matches('.');
    let dots = module.len() - name.len();
    if dots == 0 {
        return (words(module), false);
    }
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut segments: Vec<_> = directory.split('/').filter(|word| !word.is_empty()).collect();
    // One dot is the file's own package.
    segments.truncate((segments.len() + 1).saturating_sub(dots));
    let from_root = segments.into_iter().map(str::to_owned);
    (from_root.chain(words(name)).collect(), true)
}

fn words(path: &str) -> Vec<String> {
    path.split('.').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}
