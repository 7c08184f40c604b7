//! Calls, constructions and elements: what is called, and what it is reached through.

use tree_sitter::Node;

use super::grammar::TypeScriptKind;
use super::{LocalValue, TextSpan, TypeScriptWalk, WalkStep};
use crate::{Access, ReferenceKind};

/// Functions and classes that every file knows. A file that brings in or defines one of these
/// names means its own.
const KNOWN: &[&str] = &[
    "Array",
    "ArrayBuffer",
    "BigInt",
    "Boolean",
    "Date",
    "Error",
    "Function",
    "Headers",
    "Map",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "RangeError",
    "RegExp",
    "Request",
    "Response",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TypeError",
    "URL",
    "URLSearchParams",
    "Uint8Array",
    "WeakMap",
    "WeakRef",
    "WeakSet",
    "afterAll",
    "afterEach",
    "alert",
    "beforeAll",
    "beforeEach",
    "clearInterval",
    "clearTimeout",
    "decodeURIComponent",
    "describe",
    "encodeURIComponent",
    "expect",
    "isFinite",
    "isNaN",
    "it",
    "parseFloat",
    "parseInt",
    "queueMicrotask",
    "require",
    "setImmediate",
    "setInterval",
    "setTimeout",
    "structuredClone",
    "test",
];
/// Objects that every file knows, whose methods are not the project's.
const KNOWN_OBJECTS: &[&str] = &[
    "Array",
    "Atomics",
    "BigInt",
    "Buffer",
    "Date",
    "Intl",
    "JSON",
    "Math",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "Reflect",
    "RegExp",
    "String",
    "Symbol",
    "URL",
    "console",
    "crypto",
    "describe",
    "document",
    "expect",
    "globalThis",
    "history",
    "it",
    "jest",
    "localStorage",
    "location",
    "navigator",
    "performance",
    "process",
    "sessionStorage",
    "test",
    "vi",
    "window",
];

/// How many words of a path are followed.
const MOST_WORDS: usize = 6;

impl TypeScriptWalk<'_, '_> {
    pub(super) fn call(&mut self, node: Node<'_>) -> WalkStep {
        if let Some(specifier) = self.specifier_of(node) {
            self.bring_in(specifier, None, None, node.start_byte());
            return WalkStep::Past;
        }
        if self.open_block(node) {
            return WalkStep::Within;
        }
        if let Some(function) = self.field(node, self.grammar.function) {
            self.call_by(function);
        }
        WalkStep::Children
    }

    pub(super) fn construction(&mut self, node: Node<'_>) {
        if let Some(class) = self.field(node, self.grammar.constructor) {
            self.call_by(class);
        }
    }

    /// Records an element that is a component: `<Row>` and `<table.Row>`, not `<div>`.
    pub(super) fn element(&mut self, node: Node<'_>) {
        let Some(name) = self.field(node, self.grammar.name) else { return };
        if self.is(name, TypeScriptKind::Member)
            || self.reader.of(name).starts_with(char::is_uppercase)
        {
            self.call_by(name);
        }
    }

    /// Records a call of what an expression names, if it names something.
    pub(super) fn call_by(&mut self, function: Node<'_>) {
        match self.grammar.kinds.of(function) {
            Some(TypeScriptKind::Identifier) => self.call_by_name(function),
            Some(TypeScriptKind::Member) => self.call_by_member(function),
            _ => {}
        }
    }

    fn call_by_name(&mut self, function: Node<'_>) {
        let name = self.reader.of(function);
        match self.local(function) {
            None if self.is_known(KNOWN, name) => return,
            None | Some(LocalValue::Function) => {}
            Some(_) => return,
        }
        self.reader.refer(ReferenceKind::Call, name, Access::Bare, function.start_byte());
    }

    fn is_known(&self, names: &[&str], name: &str) -> bool {
        names.binary_search(&name).is_ok() && !self.state.holders.contains(name)
    }

    fn call_by_member(&mut self, member: Node<'_>) {
        let (Some(object), Some(property)) =
            (self.field(member, self.grammar.object), self.field(member, self.grammar.property))
        else {
            return;
        };
        if let Some(access) = self.access_through(object) {
            let name = self.reader.of(property);
            self.reader.refer(ReferenceKind::Call, name, access, property.start_byte());
        }
    }

    /// Returns how a member is reached through an object; nothing if it is none of the
    /// project's.
    fn access_through(&mut self, object: Node<'_>) -> Option<Access> {
        match self.grammar.kinds.of(object) {
            Some(TypeScriptKind::This) => return Some(Access::Own),
            Some(TypeScriptKind::Leaf | TypeScriptKind::Literal) => return None,
            Some(TypeScriptKind::Identifier) if self.local(object).is_none() => {
                let name = self.reader.of(object);
                if self.is_known(KNOWN_OBJECTS, name) {
                    return None;
                }
                if !self.state.types.contains_key(name) && self.leads_on(name) {
                    return Some(Access::Path(name.to_owned()));
                }
            }
            Some(TypeScriptKind::Member) => {
                if let Some(path) = self.path_of(object) {
                    return Some(Access::Path(path));
                }
            }
            _ => {}
        }
        let type_name = self.type_of(object);
        Some(Access::Value(type_name.map(|name| name.path(self.reader.text))))
    }

    /// Returns whether a name before a dot leads to definitions: what is brought in, an object
    /// of the file, a class.
    fn leads_on(&self, name: &str) -> bool {
        self.state.holders.contains(name) || name.starts_with(char::is_uppercase)
    }

    /// Returns the words of `shop.cart`, if the first one leads to definitions.
    fn path_of(&mut self, member: Node<'_>) -> Option<String> {
        let mut first = member;
        for _ in 0..MOST_WORDS {
            if self.is(first, TypeScriptKind::Identifier) {
                let name = self.reader.of(first);
                let leads = self.local(first).is_none()
                    && self.leads_on(name)
                    && !self.state.types.contains_key(name)
                    && !self.is_known(KNOWN_OBJECTS, name);
                return leads.then(|| TextSpan::of(member).path(self.reader.text));
            }
            if !self.is(first, TypeScriptKind::Member) {
                return None;
            }
            first = self.field(first, self.grammar.object)?;
        }
        None
    }
}
