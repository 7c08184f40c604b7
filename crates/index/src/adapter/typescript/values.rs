//! Constants and variables, and what is assigned to `module.exports`, `exports` and a
//! prototype.

use std::collections::HashSet;

use tree_sitter::Node;

use super::grammar::{TypeScriptKind, children};
use super::{Declaration, LocalValue, TextSpan, TypeScriptWalk, WalkStep};
use crate::reader::ItemDefinition;
use crate::{ItemKind, Visibility};

/// How many layers of parentheses and casts are looked through.
const MOST_LAYERS: usize = 4;

impl<'t> TypeScriptWalk<'_, 't> {
    /// Takes note of where a declaration begins and whether it is exported: its names follow.
    pub(super) fn declaration(&mut self, node: Node<'_>) {
        let at = node.start_byte();
        while self.state.declarations.last().is_some_and(|last| last.ends <= at) {
            self.state.declarations.pop();
        }
        let export = self.state.export.take();
        let start = export.unwrap_or(at);
        let ends = node.end_byte();
        self.state.declarations.push(Declaration { start, is_exported: export.is_some(), ends });
    }

    pub(super) fn declarator(&mut self, node: Node<'_>) -> WalkStep {
        let Some(name) = self.field(node, self.grammar.name) else { return WalkStep::Children };
        let value = self.field(node, self.grammar.value);
        if let Some(value) = value
            && self.import_into(name, value)
        {
            return WalkStep::Past;
        }
        if !self.is(name, TypeScriptKind::Identifier) {
            return self.unpacking(node, name);
        }
        let shown = self.type_of_declarator(node, value);
        let function = value.and_then(|value| self.function_in(self.reader.of(name), value));
        let is_local = self.in_function(node);
        match (function, is_local) {
            (Some((kind, body)), _) => {
                if is_local {
                    self.state.locals.bind(TextSpan::of(name), LocalValue::Function, 0);
                }
                self.open_variable(kind, node, name, body)
            }
            (None, true) => {
                let local = LocalValue::maybe_of(shown);
                self.state.locals.bind(TextSpan::of(name), local, node.end_byte());
                WalkStep::Children
            }
            (None, false) => {
                let text = self.reader.of(name).to_owned();
                let object = value.filter(|value| self.is_object(*value));
                if let Some(shown) = shown {
                    self.state.types.insert(text, shown);
                } else if object.is_some() {
                    self.state.holders.insert(text);
                }
                self.open_variable(ItemKind::Const, node, name, object)
            }
        }
    }

    /// Reads `const { a, b } = …`: variables in a function, constants at the file's level.
    fn unpacking(&mut self, node: Node<'_>, pattern: Node<'_>) -> WalkStep {
        if self.in_function(node) {
            self.bind_pattern(pattern, None, node.end_byte(), 0);
            return WalkStep::Children;
        }
        for part in children(pattern) {
            let name = self.field(part, self.grammar.value).unwrap_or(part);
            if self.is(name, TypeScriptKind::Identifier)
                || self.is(name, TypeScriptKind::ShorthandPattern)
            {
                let definition = self.variable(ItemKind::Const, node, name, None);
                self.reader.define(definition);
            }
        }
        WalkStep::Children
    }

    fn type_of_declarator(&mut self, node: Node<'_>, value: Option<Node<'_>>) -> Option<TextSpan> {
        let said = self.field(node, self.grammar.type_);
        match said {
            Some(said) => self.name_in(said),
            None => self.type_of(value?),
        }
    }

    /// Returns what a variable that holds a function or class is, and the body; also where a
    /// component's function is wrapped: `const Row = memo((props) => …)`.
    fn function_in<'n>(&self, name: &str, value: Node<'n>) -> Option<(ItemKind, Option<Node<'n>>)> {
        let value = self.unwrapped(value);
        match self.grammar.kinds.of(value)? {
            TypeScriptKind::FunctionValue => {
                Some((ItemKind::Function, self.field(value, self.grammar.body)))
            }
            TypeScriptKind::ClassValue => {
                Some((ItemKind::Class, self.field(value, self.grammar.body)))
            }
            TypeScriptKind::Call if name.starts_with(char::is_uppercase) => {
                let arguments = self.field(value, self.grammar.arguments)?;
                let function = self.grammar.child_of(arguments, TypeScriptKind::FunctionValue)?;
                Some((ItemKind::Function, self.field(function, self.grammar.body)))
            }
            _ => None,
        }
    }

    fn is_object(&self, value: Node<'_>) -> bool {
        self.is(self.unwrapped(value), TypeScriptKind::Object)
    }

    /// Returns what is in a few layers of parentheses and casts.
    fn unwrapped<'n>(&self, value: Node<'n>) -> Node<'n> {
        let mut value = value;
        for _ in 0..MOST_LAYERS {
            match self.grammar.kinds.of(value) {
                Some(TypeScriptKind::Parenthesized | TypeScriptKind::Cast) => {
                    value = value.named_child(0).unwrap_or(value);
                }
                _ => break,
            }
        }
        value
    }

    fn open_variable(
        &mut self,
        kind: ItemKind,
        node: Node<'_>,
        name: Node<'_>,
        body: Option<Node<'_>>,
    ) -> WalkStep {
        let definition = self.variable(kind, node, name, body);
        self.reader.open(definition);
        WalkStep::Within
    }

    fn variable(
        &mut self,
        kind: ItemKind,
        node: Node<'_>,
        name: Node<'_>,
        body: Option<Node<'_>>,
    ) -> ItemDefinition<'t> {
        let name = self.reader.of(name);
        let at = node.start_byte();
        let declarations = self.state.declarations.iter().rev();
        let declaration = declarations.clone().find(|declaration| at < declaration.ends);
        let is_exported = declaration.is_some_and(|declaration| declaration.is_exported);
        // Only the first name of a declaration begins with it.
        let start = declaration.map_or(at, |declaration| declaration.start);
        let is_first =
            self.reader.text.get(start..at).is_some_and(|text| !text.contains(['=', ',']));
        let start = if is_first { start } else { at };
        let visibility = self.visibility(name, is_exported);
        self.definition_from(start, kind, name, node, body).visibility(visibility)
    }

    pub(super) fn assignment(&mut self, node: Node<'_>) -> WalkStep {
        let (Some(left), Some(right)) =
            (self.field(node, self.grammar.left), self.field(node, self.grammar.right))
        else {
            return WalkStep::Children;
        };
        if !self.is(left, TypeScriptKind::Member) {
            return WalkStep::Children;
        }
        let (Some(object), Some(property)) =
            (self.field(left, self.grammar.object), self.field(left, self.grammar.property))
        else {
            return WalkStep::Children;
        };
        let property = self.reader.of(property);
        if self.is(object, TypeScriptKind::This) {
            if let Some(type_name) = self.type_of(right) {
                self.set_field_type(property, type_name);
            }
            return WalkStep::Children;
        }
        if self.in_function(node) {
            return WalkStep::Children;
        }
        match self.reader.of(object) {
            "module" if property == "exports" => self.give_away_whole(right),
            "exports" | "module.exports" => self.give_away_one(node, property, right),
            holder => self.assign_member(node, holder, property, right),
        }
    }

    /// Reads `module.exports = …`.
    fn give_away_whole(&mut self, value: Node<'_>) -> WalkStep {
        match self.grammar.kinds.of(value) {
            Some(TypeScriptKind::Object) => {
                self.state.given_until = value.end_byte();
                let names = self.names_in_object(value);
                self.give_away(&names);
            }
            Some(TypeScriptKind::Identifier) => {
                let name = self.reader.of(value);
                self.give_away(&HashSet::from([name]));
            }
            Some(TypeScriptKind::FunctionValue | TypeScriptKind::ClassValue) => {
                self.state.default_at = Some(value.start_byte());
            }
            _ => {}
        }
        WalkStep::Children
    }

    /// Returns the names of the file's own that an object hands on: `{ open, shut: close }`.
    pub(super) fn names_in_object(&self, object: Node<'_>) -> HashSet<&'t str> {
        let names =
            children(object).into_iter().filter_map(|part| match self.grammar.kinds.of(part) {
                Some(TypeScriptKind::ShorthandName) => Some(self.reader.of(part)),
                Some(TypeScriptKind::Pair) => {
                    let value = self.field(part, self.grammar.value)?;
                    self.is(value, TypeScriptKind::Identifier).then(|| self.reader.of(value))
                }
                _ => None,
            });
        names.collect()
    }

    /// Reads `exports.name = …`.
    fn give_away_one(&mut self, node: Node<'_>, name: &'t str, value: Node<'_>) -> WalkStep {
        if self.is(value, TypeScriptKind::Identifier) {
            let value = self.reader.of(value);
            self.give_away(&HashSet::from([value]));
            return WalkStep::Children;
        }
        if self.reader.of(value) == "void 0" {
            return WalkStep::Past;
        }
        let found = self.function_in("", value);
        let (kind, body) = found.unwrap_or((ItemKind::Const, None));
        let start = node.start_byte();
        let definition = self.definition_from(start, kind, name, node, body);
        self.reader.open(definition.visibility(Visibility::Public));
        WalkStep::Within
    }

    /// Reads `Queue.prototype.push = function …` and `Queue.of = function …`.
    fn assign_member(
        &mut self,
        node: Node<'_>,
        holder: &'t str,
        name: &'t str,
        value: Node<'_>,
    ) -> WalkStep {
        let (owner, kind) = match holder.strip_suffix(".prototype") {
            Some(owner) => (owner, ItemKind::Method),
            None => (holder, ItemKind::Function),
        };
        let is_plain = owner.chars().all(|mark| mark.is_alphanumeric() || mark == '_');
        if !is_plain || !self.is(value, TypeScriptKind::FunctionValue) {
            return WalkStep::Children;
        }
        let body = self.field(value, self.grammar.body);
        let definition = self.definition_from(node.start_byte(), kind, name, node, body);
        let visibility = self.visibility(owner, false);
        let qualified = self.reader.qualified(&format!("{owner}::{name}"));
        self.reader.open_as(definition.visibility(visibility), qualified.clone(), qualified);
        WalkStep::Within
    }
}
