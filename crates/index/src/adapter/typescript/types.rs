//! Which type a piece of text names, and which one an expression shows that it has.

use tree_sitter::Node;

use super::grammar::{TypeScriptKind, children};
use super::{LocalValue, TextSpan, TypeScriptWalk, WalkStep};
use crate::{Access, ReferenceKind};

/// Types that the language and the browser bring.
const KNOWN: &[&str] = &[
    "Array",
    "ArrayBuffer",
    "AsyncGenerator",
    "AsyncIterable",
    "AsyncIterator",
    "Awaited",
    "BigInt",
    "Boolean",
    "Buffer",
    "Capitalize",
    "ConstructorParameters",
    "Date",
    "Error",
    "Exclude",
    "Extract",
    "Function",
    "Generator",
    "InstanceType",
    "Iterable",
    "IterableIterator",
    "Iterator",
    "Lowercase",
    "Map",
    "NoInfer",
    "NonNullable",
    "Number",
    "Object",
    "Omit",
    "Parameters",
    "Partial",
    "Pick",
    "Promise",
    "PromiseLike",
    "PropertyKey",
    "Proxy",
    "Readonly",
    "ReadonlyArray",
    "ReadonlyMap",
    "ReadonlySet",
    "Record",
    "RegExp",
    "Required",
    "ReturnType",
    "Set",
    "String",
    "Symbol",
    "ThisType",
    "TypeError",
    "URL",
    "Uint8Array",
    "Uncapitalize",
    "Uppercase",
    "WeakMap",
    "WeakRef",
    "WeakSet",
    "const",
];

/// How many layers of parentheses, casts and members are looked through.
const MOST_LAYERS: usize = 8;

impl TypeScriptWalk<'_, '_> {
    pub(super) fn type_name(&mut self, node: Node<'_>) {
        if !self.state.taken.has(node) {
            self.refer_type(ReferenceKind::Type, node);
        }
    }

    pub(super) fn nested_type(&mut self, node: Node<'_>) -> WalkStep {
        if !self.state.taken.has(node) {
            self.refer_type(ReferenceKind::Type, node);
        }
        WalkStep::Past
    }

    /// Records the use of a type by its name's node, `Order` or `shop.Order`.
    pub(super) fn refer_type(&mut self, kind: ReferenceKind, node: Node<'_>) {
        let text = self.reader.of(node);
        let at = node.start_byte();
        let (name, access) = match text.rsplit_once('.') {
            Some((_, name)) => {
                let path = TextSpan::of(node).path(self.reader.text);
                let holder = path.rsplit_once("::").map_or("", |(holder, _)| holder);
                (name.trim(), Access::Path(holder.to_owned()))
            }
            None if self.is_known_type(text) || self.local(node).is_some() => return,
            None => (text, Access::Bare),
        };
        if kind == ReferenceKind::Type {
            self.reader.refer_to_type(name, access, at);
        } else {
            self.reader.refer(kind, name, access, at);
        }
    }

    fn is_known_type(&self, name: &str) -> bool {
        KNOWN.binary_search(&name).is_ok() && !self.state.holders.contains(name)
    }

    /// Makes a parameter of a type known, so that its uses are not taken for a type's.
    pub(super) fn type_parameter(&mut self, node: Node<'_>) {
        let name = self.grammar.child_of(node, TypeScriptKind::TypeName);
        if let Some(name) = name {
            self.state.taken.add(name);
            self.state.locals.bind(TextSpan::of(name), LocalValue::Value, node.start_byte());
        }
    }

    /// Binds the names of a list of parameters, with their types.
    pub(super) fn parameters(&mut self, list: Node<'_>) {
        for parameter in children(list) {
            let pattern = self.field(parameter, self.grammar.pattern).unwrap_or(parameter);
            let type_name = self.field(parameter, self.grammar.type_).and_then(|a| self.name_in(a));
            self.bind_pattern(pattern, type_name, list.start_byte(), 0);
            if let Some(type_name) = type_name
                && self.grammar.child_of(parameter, TypeScriptKind::Accessibility).is_some()
            {
                // `constructor(private store: Store)` declares a field as well.
                self.set_field_type(self.reader.of(pattern), type_name);
            }
        }
    }

    /// Binds every name in a pattern. Only a whole value has the type that is said for it.
    pub(super) fn bind_pattern(
        &mut self,
        pattern: Node<'_>,
        type_name: Option<TextSpan>,
        begins: usize,
        layer: usize,
    ) {
        if layer > MOST_LAYERS {
            return;
        }
        match self.grammar.kinds.of(pattern) {
            Some(TypeScriptKind::Identifier | TypeScriptKind::ShorthandPattern) => {
                let local = LocalValue::maybe_of(type_name);
                self.state.locals.bind(TextSpan::of(pattern), local, begins);
            }
            Some(TypeScriptKind::AssignmentPattern) => {
                if let Some(left) = self.field(pattern, self.grammar.left) {
                    let right = self.field(pattern, self.grammar.right);
                    let shown = type_name.or_else(|| self.type_of(right?));
                    self.bind_pattern(left, shown, begins, layer + 1);
                }
            }
            Some(TypeScriptKind::PairPattern) => {
                if let Some(value) = self.field(pattern, self.grammar.value) {
                    self.bind_pattern(value, None, begins, layer + 1);
                }
            }
            Some(
                TypeScriptKind::ObjectPattern
                | TypeScriptKind::ArrayPattern
                | TypeScriptKind::RestPattern,
            ) => {
                for part in children(pattern) {
                    self.bind_pattern(part, None, begins, layer + 1);
                }
            }
            _ => {}
        }
    }

    pub(super) fn for_in(&mut self, node: Node<'_>) {
        self.state.locals.enter(node);
        if let Some(left) = self.field(node, self.grammar.left) {
            self.bind_pattern(left, None, left.start_byte(), 0);
        }
    }

    pub(super) fn catch(&mut self, node: Node<'_>) {
        self.state.locals.enter(node);
        if let Some(parameter) = self.field(node, self.grammar.parameter) {
            self.bind_pattern(parameter, None, parameter.start_byte(), 0);
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
        match self.grammar.kinds.of(node)? {
            TypeScriptKind::New => {
                let class = self.field(node, self.grammar.constructor)?;
                self.is_plain(class).then(|| TextSpan::of(class))
            }
            TypeScriptKind::Cast => children(node).get(1).and_then(|said| self.name_in(*said)),
            TypeScriptKind::Parenthesized => self.type_below(node.named_child(0)?, layer + 1),
            TypeScriptKind::Identifier => match self.local(node) {
                Some(local) => local.type_name(),
                None => self.state.types.get(self.reader.of(node)).copied(),
            },
            TypeScriptKind::Super => {
                let key = format!("{}.super", self.own_class()?);
                self.state.types.get(&key).copied()
            }
            TypeScriptKind::Member => self.type_of_member(node, layer),
            TypeScriptKind::Call => {
                let function = self.field(node, self.grammar.function)?;
                let is_own = self.is(function, TypeScriptKind::Identifier);
                let key = format!("{}()", self.reader.of(function));
                self.state.types.get(&key).copied().filter(|_| is_own)
            }
            _ => None,
        }
    }

    fn type_of_member(&mut self, member: Node<'_>, layer: usize) -> Option<TextSpan> {
        let object = self.field(member, self.grammar.object)?;
        let property = self.reader.of(self.field(member, self.grammar.property)?);
        let holder = if self.is(object, TypeScriptKind::This) {
            self.own_class()?.to_owned()
        } else {
            self.type_below(object, layer + 1)?.text(self.reader.text).to_owned()
        };
        self.field_type(holder, property)
    }

    /// Returns the type of a field of a class or of what that builds on, as this file shows it.
    fn field_type(&self, class: String, field: &str) -> Option<TextSpan> {
        let types = &self.state.types;
        let mut class = class;
        for _ in 0..MOST_LAYERS {
            if let Some(found) = types.get(&format!("{class}.{field}")) {
                return Some(*found);
            }
            class = types.get(&format!("{class}.super"))?.text(self.reader.text).to_owned();
        }
        None
    }

    /// Takes note of the type of a field of the class that is open.
    pub(super) fn set_field_type(&mut self, field: &str, type_name: TextSpan) {
        let Some(class) = self.own_class() else { return };
        let key = format!("{class}.{field}");
        self.state.types.insert(key, type_name);
    }

    /// Returns the name in a type: `Order` in `: Order<T> | null`; nothing in a list or tuple.
    pub(super) fn name_in(&self, node: Node<'_>) -> Option<TextSpan> {
        self.name_node(node).map(TextSpan::of)
    }

    /// Returns the node of the name in a type.
    pub(super) fn name_node<'n>(&self, node: Node<'n>) -> Option<Node<'n>> {
        let mut node = node;
        for _ in 0..MOST_LAYERS {
            node = match self.grammar.kinds.of(node)? {
                TypeScriptKind::TypeName
                | TypeScriptKind::NestedType
                | TypeScriptKind::Identifier
                | TypeScriptKind::Member => {
                    let is_known = KNOWN.binary_search(&self.reader.of(node)).is_ok();
                    return (!is_known).then_some(node);
                }
                TypeScriptKind::GenericType => self.field(node, self.grammar.name)?,
                TypeScriptKind::Annotation | TypeScriptKind::ParenthesizedType => {
                    node.named_child(0)?
                }
                TypeScriptKind::UnionType => self.only_name(node)?,
                _ => return None,
            };
        }
        None
    }

    /// Returns the one part of a union that is not `null` or `undefined`.
    fn only_name<'n>(&self, union: Node<'n>) -> Option<Node<'n>> {
        let parts = children(union);
        let mut named = parts
            .iter()
            .filter(|part| !matches!(self.reader.of(**part), "null" | "undefined" | "void"));
        match (named.next(), named.next()) {
            (Some(only), None) => Some(*only),
            _ => None,
        }
    }

    /// Records what a class builds on. In JavaScript the clause is the expression itself.
    pub(super) fn extends(&mut self, node: Node<'_>) {
        let value = self.field(node, self.grammar.value).or_else(|| {
            node.named_child(0).filter(|first| !self.is(*first, TypeScriptKind::Extends))
        });
        let Some(value) = value.filter(|value| self.is_plain(*value)) else { return };
        if let Some(class) = self.own_class() {
            let key = format!("{class}.super");
            self.state.types.insert(key, TextSpan::of(value));
        }
        self.refer_type(ReferenceKind::Extends, value);
    }

    /// Returns whether an expression is a name or names joined by dots.
    fn is_plain(&self, node: Node<'_>) -> bool {
        let is_name = |mark: char| mark.is_alphanumeric() || matches!(mark, '_' | '$' | '.');
        self.is(node, TypeScriptKind::Identifier)
            || self.is(node, TypeScriptKind::Member) && self.reader.of(node).chars().all(is_name)
    }

    pub(super) fn implements(&mut self, node: Node<'_>) {
        self.refer_clause(ReferenceKind::Implements, node);
    }

    pub(super) fn interface_extends(&mut self, node: Node<'_>) {
        self.refer_clause(ReferenceKind::Extends, node);
    }

    fn refer_clause(&mut self, kind: ReferenceKind, clause: Node<'_>) {
        for named in children(clause) {
            if let Some(name) = self.name_node(named) {
                self.state.taken.add(name);
                self.refer_type(kind, name);
            }
        }
    }
}
