//! Ruby.

use tree_sitter::Node;

use super::table::comment::CommentStyle;
use super::table::{
    Bases, LanguageTable, NodeRole, Tabled, TestPrefix, Tests, VisibilityRule, bare_or_path,
    build_on, is_in_code, spelling,
};
use crate::ItemKind::{self, Class, Function, Method, Module};
use crate::Visibility::{Private, Public, Restricted};
use crate::reader::{FactReader, WalkStep};
use crate::{Access, Import, ReferenceKind};

pub(super) static RUBY: Tabled = Tabled::new(LanguageTable {
    grammar: || tree_sitter_ruby::LANGUAGE.into(),
    nodes: &[
        ("module", NodeRole::Do(module)),
        ("class", NodeRole::Do(module)),
        ("method", NodeRole::ItemBy(method_kind)),
        ("singleton_method", NodeRole::ItemBy(method_kind)),
        ("assignment", NodeRole::Do(assignment)),
        ("identifier", NodeRole::Do(section)),
        ("call", NodeRole::Do(call)),
        ("superclass", NodeRole::Bases(Bases::Extended)),
        ("comment", NodeRole::Comment),
    ],
    comments: CommentStyle::HASH,
    visibility: VisibilityRule::Sections,
    tests: Tests {
        annotations: &[],
        prefix: TestPrefix::OfMethods,
        calls: &["it", "test", "specify", "scenario", "example"],
        suites: &["describe", "context", "feature"],
    },
});

/// `class Tools::Rake` is called `Rake` and stands in `Tools`.
fn module(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let kind = if node.kind() == "class" { Class } else { Module };
    let Some(name) = node.child_by_field_name("name") else { return WalkStep::Children };
    let Some(mut definition) = table.definition(reader, node, kind, name) else {
        return WalkStep::Children;
    };
    let qualified = reader.qualified(definition.name.trim_start_matches(':'));
    definition.name = definition.name.rsplit("::").next().unwrap_or(definition.name);
    reader.open_as(definition, qualified.clone(), qualified);
    WalkStep::Within
}

fn method_kind(reader: &FactReader<'_>, _: Node<'_>) -> Option<ItemKind> {
    let is_member = reader.scope().is_some_and(|(_, item)| item.kind == Module);
    Some(if is_member { Method } else { Function })
}

/// `Row = Struct.new(:count)` is a class, every other name with a capital a constant.
fn assignment(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let name = node.child_by_field_name("left").filter(|left| left.kind() == "constant");
    let Some(name) = name.filter(|_| !is_in_code(reader)) else { return WalkStep::Children };
    let value = reader.field(node, "right").unwrap_or("");
    let makers = ["Struct.new", "Class.new", "Data.define", "Module.new"];
    if makers.iter().any(|maker| value.starts_with(maker)) {
        return table.open(reader, node, Class, name);
    }
    table.define_constant(reader, node, name);
    WalkStep::Children
}

/// A word alone on its line is for the members behind it; `private def` is for that one.
fn section(_: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let visibility = match reader.of(node) {
        "private" => Private,
        "protected" => Restricted,
        "public" => Public,
        _ => return WalkStep::Past,
    };
    let behind = reader.text.get(node.end_byte()..).unwrap_or("");
    let is_alone = behind.trim_start_matches([' ', '\t']).starts_with(['\n', '\r', '#', ';']);
    if is_alone && !is_in_code(reader) {
        reader.set_member_visibility(visibility);
    }
    WalkStep::Past
}

fn call(table: &Tabled, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    if let Some((kind, title)) = table.titled(reader.of(node)) {
        return table.open_titled(reader, node, kind, title);
    }
    let Some(method) = node.child_by_field_name("method") else { return WalkStep::Children };
    let name = reader.of(method);
    let at = method.start_byte();
    let before = reader.text.get(node.start_byte()..at).unwrap_or("");
    let access = if before.len() > 240 { Access::Value(None) } else { spelling::reach(before) };
    match (name, access) {
        ("require" | "require_relative" | "load", Access::Bare) => require(reader, node, name),
        ("include" | "extend" | "prepend", Access::Bare) if !is_in_code(reader) => {
            if let Some(arguments) = node.child_by_field_name("arguments") {
                build_on(reader, arguments, Bases::Implemented);
            }
        }
        ("private" | "protected" | "public" | "super", _) => {}
        ("new", Access::Path(class)) => {
            let (space, class) = class.rsplit_once("::").unwrap_or(("", &class));
            reader.refer(ReferenceKind::Call, class, bare_or_path(space.to_owned()), at);
        }
        (name, access) => reader.refer(ReferenceKind::Call, name, access, at),
    }
    WalkStep::Children
}

/// `require "garden/tools"`, `require_relative "../plot"`
fn require(reader: &mut FactReader<'_>, node: Node<'_>, how: &str) {
    let written = reader.field(node, "arguments").unwrap_or("");
    let Some(path) = written.split(['"', '\'']).nth(1) else { return };
    let import = if how == "require_relative" {
        Some(beside(reader.path, path))
    } else {
        spelling::import_file(path)
    };
    if let Some(import) = import {
        reader.import(import, node.start_byte());
    }
}

/// Returns the import of a file by its path from the one that names it.
fn beside(file: &str, path: &str) -> Import {
    let mut segments: Vec<String> = file.split('/').map(str::to_owned).collect();
    segments.pop();
    for word in path.trim_end_matches(".rb").split('/') {
        match word {
            "" | "." => {}
            ".." => drop(segments.pop()),
            word => segments.push(word.to_owned()),
        }
    }
    Import { segments, anchored: true, name: None, alias: None, glob: true, line: 0 }
}
