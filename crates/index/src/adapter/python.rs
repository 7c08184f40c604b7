//! Python.
//!
//! A decorated definition is one item with its decorators, which it calls. What a variable is
//! follows from its annotation or from a class that is called right before; a name in capitals
//! is taken for a class.

mod docstring;
mod imports;
mod types;

use std::sync::LazyLock;

use tree_sitter::Node;

use crate::reader::{Adapter, FactReader, ItemDefinition, Kinds, WalkStep};
use crate::{Access, ItemKind, ReferenceKind, Visibility};

pub(crate) struct Python;

#[derive(Clone, Copy, PartialEq, Eq)]
enum PythonKind {
    Module,
    Decorated,
    Function,
    Class,
    Decorator,
    Import,
    ImportFrom,
    Call,
    Assignment,
    Parameters,
    Lambda,
    For,
    AsPattern,
    Except,
    Annotation,
    Alias,
    Comment,
    Leaf,
}

const NAMES: &[(&str, PythonKind)] = &[
    ("module", PythonKind::Module),
    ("decorated_definition", PythonKind::Decorated),
    ("function_definition", PythonKind::Function),
    ("class_definition", PythonKind::Class),
    ("decorator", PythonKind::Decorator),
    ("import_statement", PythonKind::Import),
    ("import_from_statement", PythonKind::ImportFrom),
    ("future_import_statement", PythonKind::Leaf),
    ("call", PythonKind::Call),
    ("assignment", PythonKind::Assignment),
    ("named_expression", PythonKind::Assignment),
    ("parameters", PythonKind::Parameters),
    ("lambda", PythonKind::Lambda),
    ("lambda_parameters", PythonKind::Parameters),
    ("for_statement", PythonKind::For),
    ("as_pattern", PythonKind::AsPattern),
    ("except_clause", PythonKind::Except),
    ("type", PythonKind::Annotation),
    ("type_alias_statement", PythonKind::Alias),
    ("comment", PythonKind::Comment),
    ("string_content", PythonKind::Leaf),
    ("string_start", PythonKind::Leaf),
    ("integer", PythonKind::Leaf),
    ("identifier", PythonKind::Leaf),
];

static KINDS: LazyLock<Kinds<PythonKind>> =
    LazyLock::new(|| Kinds::new(&tree_sitter_python::LANGUAGE.into(), NAMES));

impl Adapter for Python {
    fn grammar(&self) -> tree_sitter::Language {
        tree_sitter_python::LANGUAGE.into()
    }

    fn visit(&self, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
        let Some(kind) = KINDS.of(node) else { return WalkStep::Children };
        match kind {
            PythonKind::Module => {
                let doc = docstring::of_body(reader, node);
                reader.add_inner_doc(&doc);
            }
            PythonKind::Decorated => return decorated(reader, node),
            PythonKind::Function if !reader.skips(node.start_byte()) => {
                return function(reader, node, node);
            }
            PythonKind::Class if !reader.skips(node.start_byte()) => {
                return class(reader, node, node);
            }
            PythonKind::Function | PythonKind::Class => {}
            PythonKind::Decorator => decorator(reader, node),
            PythonKind::Import => {
                imports::plain(reader, node);
                return WalkStep::Past;
            }
            PythonKind::ImportFrom => {
                imports::from(reader, node);
                return WalkStep::Past;
            }
            PythonKind::Call => call(reader, node),
            PythonKind::Assignment => return assignment(reader, node),
            PythonKind::Parameters => parameters(reader, node),
            PythonKind::Lambda => return WalkStep::Scope,
            PythonKind::For => {
                let left = node.child_by_field_name("left");
                left.into_iter().for_each(|left| types::bind_names(reader, left));
            }
            PythonKind::AsPattern => as_pattern(reader, node),
            PythonKind::Except => {
                let caught = node.child_by_field_name("value");
                caught.into_iter().for_each(|caught| types::caught(reader, caught));
            }
            PythonKind::Annotation => {
                if !reader.skips(node.start_byte()) {
                    types::named_in(reader, node);
                }
                return WalkStep::Past;
            }
            PythonKind::Alias => return alias(reader, node),
            PythonKind::Comment => comment(reader, node),
            PythonKind::Leaf => return WalkStep::Past,
        }
        WalkStep::Children
    }
}

fn decorated(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(definition) = node.child_by_field_name("definition") else {
        return WalkStep::Children;
    };
    reader.skip(definition.start_byte());
    match KINDS.of(definition) {
        Some(PythonKind::Function) => function(reader, node, definition),
        Some(PythonKind::Class) => class(reader, node, definition),
        _ => WalkStep::Children,
    }
}

fn function(reader: &mut FactReader<'_>, whole: Node<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = reader.field(node, "name") else { return WalkStep::Children };
    let in_class = reader.scope().is_some_and(|(_, item)| item.kind.holds_members());
    let kind = if is_test(reader, name, in_class) {
        ItemKind::Test
    } else if in_class {
        ItemKind::Method
    } else {
        ItemKind::Function
    };
    let body = node.child_by_field_name("body");
    open(reader, kind, name, whole, node, body);
    WalkStep::Within
}

fn class(reader: &mut FactReader<'_>, whole: Node<'_>, node: Node<'_>) -> WalkStep {
    let Some(name) = reader.field(node, "name") else { return WalkStep::Children };
    let body = node.child_by_field_name("body");
    let place = open(reader, ItemKind::Class, name, whole, node, body);
    let Some(bases) = node.child_by_field_name("superclasses") else { return WalkStep::Within };
    let mut cursor = bases.walk();
    for base in bases.named_children(&mut cursor) {
        let Some((path, at)) = types::class_path(reader, base) else { continue };
        let (name, access) = types::split(path);
        match name {
            "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag" => {
                reader.items_mut()[place as usize].kind = ItemKind::Enum;
            }
            "Protocol" => reader.items_mut()[place as usize].kind = ItemKind::Interface,
            _ => {}
        }
        reader.refer(ReferenceKind::Extends, name, access, at);
    }
    WalkStep::Within
}

fn open<'t>(
    reader: &mut FactReader<'t>,
    kind: ItemKind,
    name: &'t str,
    whole: Node<'_>,
    node: Node<'_>,
    body: Option<Node<'_>>,
) -> u32 {
    let mut definition = ItemDefinition::new(kind, name, node, body);
    let head = reader.text.get(definition.signature.clone()).unwrap_or("");
    let kept = head.trim_end().trim_end_matches(':').len();
    definition.signature.end = definition.signature.start + kept;
    let doc = body.map(|body| docstring::of_body(reader, body)).unwrap_or_default();
    let definition =
        definition.doc(doc).visibility(visibility(name)).starting_at(whole.start_byte());
    reader.open(definition)
}

fn visibility(name: &str) -> Visibility {
    if name.starts_with("__") && !name.ends_with("__") {
        Visibility::Private
    } else if name.starts_with('_') && !name.ends_with("__") {
        Visibility::Restricted
    } else {
        Visibility::Public
    }
}

/// What pytest and unittest collect.
fn is_test(reader: &FactReader<'_>, name: &str, in_class: bool) -> bool {
    if !name.starts_with("test") {
        return false;
    }
    let class = reader.scope().map(|(_, item)| item);
    let in_case = in_class && class.is_some_and(|item| item.signature.contains("TestCase"));
    let in_test_class = !in_class || class.is_some_and(|item| item.name.starts_with("Test"));
    in_case || (name.starts_with("test_") && in_test_class && is_test_file(reader.path))
}

fn is_test_file(path: &str) -> bool {
    let (directories, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.split('.').next().unwrap_or(file);
    stem.starts_with("test_")
        || stem.ends_with("_test")
        || stem == "tests"
        || directories.split('/').any(|word| matches!(word, "tests" | "test"))
}

/// A decorator without arguments is called as well.
fn decorator(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(expression) = node.named_child(0) else { return };
    if expression.kind() != "call" {
        callee(reader, expression);
    }
}

fn call(reader: &mut FactReader<'_>, node: Node<'_>) {
    if let Some(function) = node.child_by_field_name("function") {
        callee(reader, function);
    }
}

fn callee(reader: &mut FactReader<'_>, function: Node<'_>) {
    let at = function.start_byte();
    match function.kind() {
        "identifier" => {
            let name = reader.of(function);
            if name == "cls" {
                let own = reader.own_type().map(|own| own.rsplit("::").next().unwrap_or(own));
                let own = own.unwrap_or("").to_owned();
                reader.refer(ReferenceKind::Call, &own, Access::Bare, at);
            } else if name != "super" && reader.local(name, at).is_none() {
                reader.refer(ReferenceKind::Call, name, Access::Bare, at);
            }
        }
        "attribute" => {
            let Some(object) = function.child_by_field_name("object") else { return };
            let Some(name) = function.child_by_field_name("attribute") else { return };
            let access = types::access(reader, object);
            reader.refer(ReferenceKind::Call, reader.of(name), access, name.start_byte());
        }
        _ => {}
    }
}

/// Notes what a variable or field is. At the level of the file it is an item as well.
fn assignment(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let target = node.child_by_field_name("left").or_else(|| node.child_by_field_name("name"));
    let Some(target) = target else { return WalkStep::Children };
    let value = node.child_by_field_name("right").or_else(|| node.child_by_field_name("value"));
    let annotation = node.child_by_field_name("type");
    let of_type = match annotation {
        Some(annotation) => types::annotated(reader, annotation),
        None => value.and_then(|value| types::made(reader, value)),
    };
    let name = reader.of(target);
    match target.kind() {
        "identifier" => match reader.scope().map(|(_, item)| item.kind) {
            None => return file_variable(reader, node, name, value, of_type),
            Some(kind) if kind.holds_members() => class_variable(reader, node, name, of_type),
            Some(_) => reader.bind(name, of_type, node.end_byte()),
        },
        "attribute" => {
            let field = reader.field(target, "attribute");
            let is_own = reader.field(target, "object") == Some("self");
            if let (true, Some(field), Some(of_type), Some(own)) =
                (is_own, field, of_type, reader.own_type().map(str::to_owned))
            {
                reader.bind_field(own, field, of_type);
            }
        }
        _ => types::bind_names(reader, target),
    }
    WalkStep::Children
}

fn file_variable<'t>(
    reader: &mut FactReader<'t>,
    node: Node<'_>,
    name: &'t str,
    value: Option<Node<'_>>,
    of_type: Option<&'t str>,
) -> WalkStep {
    if reader.local(name, usize::MAX).is_some() {
        return WalkStep::Children;
    }
    let is_lambda = value.is_some_and(|value| value.kind() == "lambda");
    if is_lambda {
        let body = value.and_then(|value| value.child_by_field_name("body"));
        let definition = ItemDefinition::new(ItemKind::Function, name, node, body);
        reader.open(definition.visibility(visibility(name)));
        return WalkStep::Within;
    }
    let definition = ItemDefinition::new(ItemKind::Const, name, node, None);
    reader.define(definition.visibility(visibility(name)));
    reader.bind(name, of_type, node.end_byte());
    WalkStep::Children
}

fn class_variable<'t>(
    reader: &mut FactReader<'t>,
    node: Node<'_>,
    name: &'t str,
    of_type: Option<&'t str>,
) {
    let own = reader.own_type().map(str::to_owned);
    if let (Some(own), Some(of_type)) = (own, of_type) {
        reader.bind_field(own, name, of_type);
    }
    if types::is_constant(name) {
        let definition = ItemDefinition::new(ItemKind::Const, name, node, None);
        reader.define(definition.visibility(visibility(name)));
    }
}

fn alias(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let Some(left) = node.child_by_field_name("left") else { return WalkStep::Children };
    reader.skip(left.start_byte());
    let name = reader.of(left);
    let name = name.split('[').next().unwrap_or(name).trim();
    let definition = ItemDefinition::new(ItemKind::Type, name, node, None);
    reader.open(definition.visibility(visibility(name)));
    WalkStep::Within
}

fn parameters(reader: &mut FactReader<'_>, node: Node<'_>) {
    let mut cursor = node.walk();
    for parameter in node.named_children(&mut cursor) {
        match parameter.kind() {
            "identifier" => reader.bind(reader.of(parameter), None, 0),
            "typed_parameter" => {
                let annotation = parameter.child_by_field_name("type");
                let of_type = annotation.and_then(|it| types::annotated(reader, it));
                let name = parameter.named_child(0);
                name.into_iter().for_each(|name| reader.bind(reader.of(name), of_type, 0));
            }
            "typed_default_parameter" | "default_parameter" => {
                let Some(name) = reader.field(parameter, "name") else { continue };
                let annotation = parameter.child_by_field_name("type");
                let of_type = annotation.and_then(|it| types::annotated(reader, it));
                reader.bind(name, of_type, 0);
            }
            _ => types::bind_names(reader, parameter),
        }
    }
}

/// `with Store() as store`, `except Error as error`.
fn as_pattern(reader: &mut FactReader<'_>, node: Node<'_>) {
    let Some(alias) = node.child_by_field_name("alias") else { return };
    let of_type = node.named_child(0).and_then(|value| types::made(reader, value));
    match alias.named_child(0) {
        Some(name) if name.kind() == "identifier" => {
            reader.bind(reader.of(name), of_type, node.end_byte());
        }
        _ => types::bind_names(reader, alias),
    }
}

fn comment(reader: &mut FactReader<'_>, node: Node<'_>) {
    const TOP: usize = 500;
    if node.start_byte() < TOP && crate::reader::says_generated(reader.of(node)) {
        reader.set_generated();
    }
}
