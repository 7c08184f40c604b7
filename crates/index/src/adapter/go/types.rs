//! Which type a piece of Go text names, and which one an expression shows that it has.

use tree_sitter::Node;

use super::grammar::{GO, GoKind};
use super::{GoWalk, LocalValue, TextSpan};
use crate::{Access, ReferenceKind};

/// Types that every file knows.
pub(super) const PREDECLARED_TYPES: &[&str] = &[
    "any",
    "bool",
    "byte",
    "comparable",
    "complex128",
    "complex64",
    "error",
    "float32",
    "float64",
    "int",
    "int16",
    "int32",
    "int64",
    "int8",
    "rune",
    "string",
    "uint",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "uintptr",
];

/// How many layers of parentheses, pointers and selectors are looked through.
const MOST_LAYERS: usize = 8;

impl GoWalk<'_, '_> {
    pub(super) fn type_name(&mut self, node: Node<'_>) {
        if !self.state.taken.has(node) {
            self.refer_type(ReferenceKind::Type, node);
        }
    }

    pub(super) fn qualified_type(&mut self, node: Node<'_>) -> super::WalkStep {
        if !self.state.taken.has(node) {
            self.refer_type(ReferenceKind::Type, node);
        }
        super::WalkStep::Past
    }

    /// Records the use of a type by its name's node, `Rows` or `store.Rows`.
    pub(super) fn refer_type(&mut self, kind: ReferenceKind, node: Node<'_>) {
        let text = self.reader.of(node);
        if let Some((package, name)) = text.split_once('.') {
            let access = Access::Path(package.trim().to_owned());
            self.record_type(kind, name.trim(), access, node);
        } else if PREDECLARED_TYPES.binary_search(&text).is_err() && self.local(node).is_none() {
            self.record_type(kind, text, Access::Bare, node);
        }
    }

    fn record_type(&mut self, kind: ReferenceKind, name: &str, access: Access, node: Node<'_>) {
        let at = node.start_byte();
        if kind == ReferenceKind::Type {
            self.reader.refer_to_type(name, access, at);
        } else {
            self.reader.refer(kind, name, access, at);
        }
    }

    /// Returns the type that an expression has, where it can be seen.
    pub(super) fn type_of(&mut self, expression: Node<'_>) -> Option<TextSpan> {
        self.type_below(expression, 0)
    }

    fn type_below(&mut self, node: Node<'_>, layer: usize) -> Option<TextSpan> {
        if layer > MOST_LAYERS {
            return None;
        }
        match GO.kinds.of(node)? {
            GoKind::Composite | GoKind::Assertion => named(GO.field(node, GO.type_)?),
            GoKind::Unary if self.reader.of(node).starts_with('&') => {
                self.type_below(GO.field(node, GO.operand)?, layer + 1)
            }
            GoKind::Parenthesized => self.type_below(node.named_child(0)?, layer + 1),
            GoKind::Identifier => match self.local(node) {
                Some(local) => local.type_name(),
                None => self.state.types.get(self.reader.of(node)).copied(),
            },
            GoKind::Selector => {
                let holder = self.type_below(GO.field(node, GO.operand)?, layer + 1)?;
                let field = self.reader.of(GO.field(node, GO.field)?);
                let key = format!("{}.{field}", holder.text(self.reader.text));
                self.state.types.get(&key).copied()
            }
            GoKind::Call => self.type_of_call(node),
            _ => None,
        }
    }

    /// Returns what `new(T)` makes, or what a function of this file says it returns.
    fn type_of_call(&mut self, call: Node<'_>) -> Option<TextSpan> {
        let function = GO.field(call, GO.function)?;
        if !GO.is(function, GoKind::Identifier) || self.local(function).is_some() {
            return None;
        }
        let name = self.reader.of(function);
        if name == "new" {
            return named(GO.field(call, GO.arguments)?.named_child(0)?);
        }
        self.state.types.get(&format!("{name}()")).copied()
    }

    /// Binds the names of a list of parameters from a byte on.
    pub(super) fn bind_parameters(&mut self, list: Node<'_>, begins: usize) {
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor) {
            let type_name = GO.field(parameter, GO.type_).and_then(named);
            for name in GO.names(parameter) {
                self.state.locals.bind(TextSpan::of(name), LocalValue::maybe_of(type_name), begins);
            }
        }
    }
}

/// Returns the name in a type: `Rows` in `*Rows` and `Rows[int]`; nothing in a slice or map.
pub(super) fn named(node: Node<'_>) -> Option<TextSpan> {
    name_node(node).map(TextSpan::of)
}

/// Returns the node of the name in a type.
pub(super) fn name_node(node: Node<'_>) -> Option<Node<'_>> {
    let mut node = node;
    for _ in 0..MOST_LAYERS {
        node = match GO.kinds.of(node)? {
            GoKind::TypeName | GoKind::QualifiedType => return Some(node),
            GoKind::Pointer => node.named_child(0)?,
            GoKind::Generic => GO.field(node, GO.type_)?,
            _ => return None,
        };
    }
    None
}
