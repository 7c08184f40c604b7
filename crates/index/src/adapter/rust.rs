//! Rust.
//!
//! A method is qualified by the type of its `impl`. Calls inside the token trees of macros
//! are seen by what stands around a name, because there is no syntax below them. What a
//! variable is follows from its annotation or from a constructor in its `let`.

mod tokens;
mod types;
mod uses;

use std::sync::LazyLock;

use tree_sitter::Node;

use crate::reader::{Adapter, FactReader, ItemDefinition, Kinds, WalkStep};
use crate::{Access, ItemKind, ReferenceKind, Visibility};

pub(crate) struct Rust;

#[derive(Clone, Copy, PartialEq, Eq)]
enum RustKind {
    Function,
    Type(ItemKind),
    Alias,
    Const,
    Impl,
    Module,
    Macro,
    Use,
    ExternCrate,
    Call,
    MacroCall,
    StructExpression,
    ScopedName,
    TypeName,
    ScopedTypeName,
    Field,
    Let,
    LetCondition,
    Parameter,
    ClosureParameters,
    For,
    MatchPattern,
    Scope,
    TypeParameter,
    WherePredicate,
    Attribute,
    Comment,
    TokenTree,
    Name,
    Leaf,
}

const NAMES: &[(&str, RustKind)] = &[
    ("function_item", RustKind::Function),
    ("function_signature_item", RustKind::Function),
    ("struct_item", RustKind::Type(ItemKind::Struct)),
    ("union_item", RustKind::Type(ItemKind::Struct)),
    ("enum_item", RustKind::Type(ItemKind::Enum)),
    ("trait_item", RustKind::Type(ItemKind::Trait)),
    ("type_item", RustKind::Alias),
    ("associated_type", RustKind::Alias),
    ("const_item", RustKind::Const),
    ("static_item", RustKind::Const),
    ("impl_item", RustKind::Impl),
    ("mod_item", RustKind::Module),
    ("macro_definition", RustKind::Macro),
    ("use_declaration", RustKind::Use),
    ("extern_crate_declaration", RustKind::ExternCrate),
    ("call_expression", RustKind::Call),
    ("macro_invocation", RustKind::MacroCall),
    ("struct_expression", RustKind::StructExpression),
    ("scoped_identifier", RustKind::ScopedName),
    ("type_identifier", RustKind::TypeName),
    ("scoped_type_identifier", RustKind::ScopedTypeName),
    ("field_declaration", RustKind::Field),
    ("let_declaration", RustKind::Let),
    ("let_condition", RustKind::LetCondition),
    ("parameter", RustKind::Parameter),
    ("closure_parameters", RustKind::ClosureParameters),
    ("for_expression", RustKind::For),
    ("match_pattern", RustKind::MatchPattern),
    ("block", RustKind::Scope),
    ("match_arm", RustKind::Scope),
    ("closure_expression", RustKind::Scope),
    ("if_expression", RustKind::Scope),
    ("while_expression", RustKind::Scope),
    ("type_parameter", RustKind::TypeParameter),
    ("where_predicate", RustKind::WherePredicate),
    ("attribute_item", RustKind::Attribute),
    ("inner_attribute_item", RustKind::Leaf),
    ("line_comment", RustKind::Comment),
    ("block_comment", RustKind::Comment),
    ("token_tree", RustKind::TokenTree),
    ("identifier", RustKind::Name),
    ("string_literal", RustKind::Leaf),
    ("raw_string_literal", RustKind::Leaf),
    ("char_literal", RustKind::Leaf),
    ("lifetime", RustKind::Leaf),
    ("visibility_modifier", RustKind::Leaf),
    ("token_tree_pattern", RustKind::Leaf),
];

static KINDS: LazyLock<Kinds<RustKind>> =
    LazyLock::new(|| Kinds::new(&tree_sitter_rust::LANGUAGE.into(), NAMES));

fn kind(node: Node<'_>) -> Option<RustKind> {
    KINDS.of(node)
}

impl Adapter for Rust {
    fn grammar(&self) -> tree_sitter::Language {
        tree_sitter_rust::LANGUAGE.into()
    }

    fn visit(&self, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
        let Some(kind) = kind(node) else { return WalkStep::Children };
        match kind {
            RustKind::Function => return function(reader, node),
            RustKind::Type(kind) => return type_definition(reader, node, kind),
            RustKind::Alias => return alias(reader, node),
            RustKind::Const => return constant(reader, node),
            RustKind::Impl => return implementation(reader, node),
            RustKind::Module => return module(reader, node),
            RustKind::Macro => return macro_definition(reader, node),
            RustKind::Call => call(reader, node),
            RustKind::MacroCall => macro_call(reader, node),
            RustKind::StructExpression => struct_expression(reader, node),
            RustKind::ScopedName => scoped_name(reader, node),
            RustKind::TypeName => types::name_used(reader, node),
            RustKind::ScopedTypeName => return types::path_used(reader, node),
            RustKind::Field => field(reader, node),
            RustKind::Let => bind_let(reader, node, node.end_byte()),
            RustKind::LetCondition => bind_let(reader, node, node.end_byte()),
            RustKind::Parameter => bind_let(reader, node, node.start_byte()),
            RustKind::ClosureParameters | RustKind::MatchPattern => bind_names(reader, node, 0),
            RustKind::For => {
                let pattern = node.child_by_field_name("pattern");
                let body = node.child_by_field_name("body").map_or(0, |body| body.start_byte());
                pattern.into_iter().for_each(|pattern| bind_names(reader, pattern, body));
                return WalkStep::Scope;
            }
            RustKind::Scope => return WalkStep::Scope,
            RustKind::TypeParameter => types::bind_parameter(reader, node, "name"),
            RustKind::WherePredicate => types::bind_parameter(reader, node, "left"),
            RustKind::TokenTree => return tokens::tree(reader, node),
            RustKind::Name => tokens::name(reader, node),
            RustKind::Comment => comment(reader, node),
            RustKind::Attribute => {
                reader.lead_attribute(node.byte_range());
                return WalkStep::Past;
            }
            RustKind::Use => {
                uses::declaration(reader, node);
                return WalkStep::Past;
            }
            RustKind::ExternCrate => {
                uses::extern_crate(reader, node);
                return WalkStep::Past;
            }
            RustKind::Leaf => return WalkStep::Past,
        }
        WalkStep::Children
    }
}

fn function(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = reader.field(node, "name") else { return WalkStep::Children };
    let of_type = reader.scope().is_some_and(|(_, item)| item.kind.holds_members());
    let kind = if tokens::is_test(reader, node.start_byte()) {
        ItemKind::Test
    } else if of_type {
        ItemKind::Method
    } else {
        ItemKind::Function
    };
    let body = node.child_by_field_name("body");
    let definition = documented(reader, ItemDefinition::new(kind, name, node, body));
    let seen = if of_type { member_visibility(reader, node) } else { visibility(reader, node) };
    reader.open(definition.visibility(seen));
    WalkStep::Within
}

fn type_definition(reader: &mut FactReader<'_>, node: Node<'_>, kind: ItemKind) -> WalkStep {
    let Some(name) = node.child_by_field_name("name") else { return WalkStep::Children };
    let body = node.child_by_field_name("body");
    let definition = documented(reader, ItemDefinition::new(kind, reader.of(name), node, body));
    let visibility = visibility(reader, node);
    reader.open(definition.visibility(visibility));
    reader.skip(name.start_byte());
    if let Some(bounds) = node.child_by_field_name("bounds") {
        types::extends(reader, bounds);
    }
    WalkStep::Within
}

fn alias(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = node.child_by_field_name("name") else { return WalkStep::Children };
    let definition =
        documented(reader, ItemDefinition::new(ItemKind::Type, reader.of(name), node, None));
    let visibility = visibility(reader, node);
    reader.open(definition.visibility(visibility));
    reader.skip(name.start_byte());
    WalkStep::Within
}

fn constant(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = reader.field(node, "name") else { return WalkStep::Children };
    let value = node.child_by_field_name("value");
    let mut definition = ItemDefinition::new(ItemKind::Const, name, node, value);
    let head = reader.text.get(definition.signature.clone()).unwrap_or("");
    definition.signature.end -= head.len() - head.trim_end_matches([' ', '=', '\n']).len();
    let definition = documented(reader, definition);
    let visibility = visibility(reader, node);
    reader.open(definition.visibility(visibility));
    WalkStep::Within
}

fn implementation(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(of_type) = node.child_by_field_name("type") else { return WalkStep::Children };
    let name = types::base_name(reader, of_type).unwrap_or_else(|| reader.of(of_type));
    let interface = node.child_by_field_name("trait");
    let title = match interface.and_then(|it| types::base_name(reader, it)) {
        Some(interface) => format!("impl {} for {}", last_word(interface), last_word(name)),
        None => format!("impl {}", last_word(name)),
    };
    let body = node.child_by_field_name("body");
    let definition =
        documented(reader, ItemDefinition::new(ItemKind::Impl, last_word(name), node, body));
    let (title, prefix) = (reader.qualified(&title), reader.qualified(last_word(name)));
    reader.open_as(definition.visibility(Visibility::Public), title, prefix);
    if let Some(interface) = interface {
        types::refer(reader, interface, ReferenceKind::Implements);
    }
    WalkStep::Within
}

fn module(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = reader.field(node, "name") else { return WalkStep::Children };
    let Some(body) = node.child_by_field_name("body") else {
        uses::module_file(reader, node, name);
        return WalkStep::Past;
    };
    let definition =
        documented(reader, ItemDefinition::new(ItemKind::Module, name, node, Some(body)));
    let visibility = visibility(reader, node);
    reader.open(definition.visibility(visibility));
    WalkStep::Within
}

fn macro_definition(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = node.child_by_field_name("name") else { return WalkStep::Children };
    let exported =
        reader.attributes_before(node.start_byte()).any(|text| text.contains("macro_export"));
    let mut definition = ItemDefinition::new(ItemKind::Macro, reader.of(name), node, None);
    definition.signature.end = name.end_byte();
    let definition = documented(reader, definition);
    let visibility = if exported { Visibility::Public } else { Visibility::Private };
    reader.open(definition.visibility(visibility));
    WalkStep::Within
}

/// Adds what stands before the definition: its attributes and documentation.
fn documented<'t>(reader: &FactReader<'t>, definition: ItemDefinition<'t>) -> ItemDefinition<'t> {
    let start = definition.whole.start;
    let mut doc = String::new();
    for comment in reader.docs_before(start) {
        if !doc.is_empty() {
            doc.push('\n');
        }
        push_comment_words(&mut doc, comment);
    }
    definition.doc(doc).starting_at(reader.start_with_attributes(start))
}

fn visibility(reader: &FactReader<'_>, node: Node<'_>) -> Visibility {
    let text = reader.of(node);
    match text.strip_prefix("pub").map(|rest| rest.trim_start().starts_with('(')) {
        Some(true) => Visibility::Restricted,
        Some(false) if !text.starts_with(|c: char| c.is_uppercase()) => Visibility::Public,
        _ => Visibility::Private,
    }
}

/// A trait's method is as visible as the trait, and one that a trait asks for is public.
fn member_visibility(reader: &FactReader<'_>, node: Node<'_>) -> Visibility {
    match reader.scope() {
        Some((_, item)) if item.kind == ItemKind::Trait => item.visibility,
        Some((_, item)) if item.qualified.contains(" for ") => Visibility::Public,
        _ => visibility(reader, node),
    }
}

fn comment(reader: &mut FactReader<'_>, node: Node<'_>) {
    let text = reader.of(node);
    let is_inner = text.starts_with("//!") || text.starts_with("/*!");
    let is_outer = (text.starts_with("///") && !text.starts_with("////"))
        || (text.starts_with("/**") && !text.starts_with("/***") && !text.starts_with("/**/"));
    if is_inner {
        let mut words = String::new();
        push_comment_words(&mut words, text);
        reader.add_inner_doc(&words);
    } else if is_outer {
        reader.lead_doc(node.byte_range());
    } else {
        if node.start_byte() < 500 && crate::reader::says_generated(text) {
            reader.set_generated();
        }
        reader.lead_comment(node.byte_range());
    }
}

fn push_comment_words(doc: &mut String, comment: &str) {
    let comment = comment.trim_end();
    if let Some(line) = comment.strip_prefix("//") {
        let line = line.trim_start_matches(['/', '!']);
        doc.push_str(line.strip_prefix(' ').unwrap_or(line).trim_end());
        return;
    }
    let inner = comment.trim_start_matches(['/', '*', '!']).trim_end_matches(['*', '/']);
    for (number, line) in inner.trim().lines().enumerate() {
        if number > 0 {
            doc.push('\n');
        }
        let line = line.trim();
        let line = line.strip_prefix('*').unwrap_or(line);
        doc.push_str(line.strip_prefix(' ').unwrap_or(line));
    }
}

fn call(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(mut function) = node.child_by_field_name("function") else { return };
    if function.kind() == "generic_function" {
        let Some(inner) = function.child_by_field_name("function") else { return };
        function = inner;
    }
    match function.kind() {
        "identifier" => {
            let name = reader.of(function);
            let is_variant = matches!(name, "Some" | "Ok" | "Err");
            if !is_variant && reader.local(name, function.start_byte()).is_none() {
                reader.refer(ReferenceKind::Call, name, Access::Bare, function.start_byte());
            }
        }
        "scoped_identifier" => {
            let Some(name) = function.child_by_field_name("name") else { return };
            let access = types::path_access(reader, function);
            reader.refer(ReferenceKind::Call, reader.of(name), access, name.start_byte());
        }
        "field_expression" => {
            let Some(value) = function.child_by_field_name("value") else { return };
            let Some(name) = function.child_by_field_name("field") else { return };
            if name.kind() == "field_identifier" {
                let access = types::value_access(reader, value);
                reader.refer(ReferenceKind::Call, reader.of(name), access, name.start_byte());
            }
        }
        _ => {}
    }
}

fn macro_call(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("macro") else { return };
    if name.kind() == "scoped_identifier" {
        let Some(last) = name.child_by_field_name("name") else { return };
        let access = types::path_access(reader, name);
        reader.refer(ReferenceKind::Macro, reader.of(last), access, last.start_byte());
    } else if !tokens::is_std_macro(reader.of(name)) {
        reader.refer(ReferenceKind::Macro, reader.of(name), Access::Bare, name.start_byte());
    }
}

/// `Point { x, y }` makes a point like a call of a constructor does.
fn struct_expression(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(name) = node.child_by_field_name("name") else { return };
    match types::base_name(reader, name) {
        None | Some("Self") => {}
        Some(path) => {
            let access = types::words_access(reader, path, name.start_byte());
            let at = name.start_byte();
            reader.refer(ReferenceKind::Call, last_word(path), access, at);
        }
    }
}

/// `Outcome::Passed` names the type that it is of.
fn scoped_name(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(path) = node.child_by_field_name("path") else { return };
    if kind(path) == Some(RustKind::Name) {
        types::word_used(reader, path);
    } else if kind(path) == Some(RustKind::ScopedName) {
        types::path_word_used(reader, path);
    }
}

fn field(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(name) = reader.field(node, "name") else { return };
    let Some(of_type) = node.child_by_field_name("type") else { return };
    let Some(of_type) = types::value_type(reader, of_type) else { return };
    if let Some(owner) = reader.own_type() {
        reader.bind_field(owner.to_owned(), name, of_type);
    }
}

fn bind_let(reader: &mut FactReader<'_>, node: Node<'_>, from: usize) {
    let Some(pattern) = node.child_by_field_name("pattern") else { return };
    if kind(pattern) != Some(RustKind::Name) {
        bind_names(reader, pattern, from);
        return;
    }
    let of_type = match node.child_by_field_name("type") {
        Some(annotation) => types::value_type(reader, annotation),
        None => {
            let value = node.child_by_field_name("value");
            value.and_then(|value| types::made_type(reader, value))
        }
    };
    reader.bind(reader.of(pattern), of_type, from);
}

/// Binds every variable of a pattern, without types.
fn bind_names(reader: &mut FactReader<'_>, pattern: Node<'_>, from: usize) {
    /// A pattern of more nodes is not written by hand.
    const MOST: usize = 200;
    let mut cursor = pattern.walk();
    let mut depth = 0_u32;
    for _ in 0..MOST {
        let node = cursor.node();
        let name = reader.of(node);
        let is_variable = matches!(node.kind(), "identifier" | "shorthand_field_identifier");
        if is_variable && name.starts_with(|c: char| c.is_lowercase() || c == '_') {
            reader.bind(name, None, from.max(node.start_byte()));
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if depth == 0 || !cursor.goto_parent() {
                return;
            }
            depth -= 1;
            if depth == 0 {
                return;
            }
        }
    }
}

fn last_word(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}
