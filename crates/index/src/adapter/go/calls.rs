//! Calls in Go: what stands before the parenthesis, and what it is reached through.

use tree_sitter::Node;

use super::grammar::{GO, GoKind};
use super::types::PREDECLARED_TYPES;
use super::{GoWalk, LocalValue, WalkStep};
use crate::{Access, ReferenceKind};

/// Predeclared functions (<https://go.dev/ref/spec#Predeclared_identifiers>) that packages do not
/// redefine in practice. The others, like `max` and `print`, are recorded: if the package has one
/// of that name, it is meant.
const PREDECLARED: &[&str] = &[
    "append", "cap", "close", "complex", "copy", "delete", "imag", "len", "make", "new", "panic",
    "real", "recover",
];
impl GoWalk<'_, '_> {
    pub(super) fn call(&mut self, node: Node<'_>) -> WalkStep {
        let Some(function) = GO.field(node, GO.function).map(without_type_arguments) else {
            return WalkStep::Children;
        };
        match GO.kinds.of(function) {
            Some(GoKind::Identifier) => self.call_by_name(function),
            Some(GoKind::Selector) => self.call_by_selector(function),
            _ => {}
        }
        WalkStep::Children
    }

    fn call_by_name(&mut self, function: Node<'_>) {
        let name = self.reader.of(function);
        let is_known = PREDECLARED.binary_search(&name).is_ok()
            // A type's name in the place of a function's is a conversion.
            || PREDECLARED_TYPES.binary_search(&name).is_ok()
            || self.local(function).is_some();
        if !is_known {
            self.reader.refer(ReferenceKind::Call, name, Access::Bare, function.start_byte());
        }
    }

    fn call_by_selector(&mut self, selector: Node<'_>) {
        let (Some(operand), Some(field)) =
            (GO.field(selector, GO.operand), GO.field(selector, GO.field))
        else {
            return;
        };
        let access = self.access_through(operand);
        self.reader.refer(ReferenceKind::Call, self.reader.of(field), access, field.start_byte());
    }

    /// Returns how something is reached through what stands before the dot.
    fn access_through(&mut self, operand: Node<'_>) -> Access {
        if !GO.is(operand, GoKind::Identifier) {
            let type_name = self.type_of(operand);
            return Access::Value(type_name.map(|name| name.path(self.reader.text)));
        }
        match self.local(operand) {
            Some(LocalValue::Own(_)) => Access::Own,
            Some(local) => Access::Value(local.type_name().map(|name| name.path(self.reader.text))),
            None => self.access_through_package(self.reader.of(operand)),
        }
    }

    /// Returns how something is reached through a name of the file: a package, one of the
    /// package's own variables, or a type whose method is taken as a function.
    fn access_through_package(&self, name: &str) -> Access {
        if self.state.packages.iter().any(|package| package == name) {
            return Access::Path(name.to_owned());
        }
        if let Some(type_name) = self.state.types.get(name) {
            return Access::Value(Some(type_name.path(self.reader.text)));
        }
        if self.state.places.contains_key(name) {
            return Access::Path(name.to_owned());
        }
        Access::Value(None)
    }
}

/// Returns the function behind `Map[int, string](…)`.
fn without_type_arguments(function: Node<'_>) -> Node<'_> {
    if !GO.is(function, GoKind::Index) {
        return function;
    }
    GO.field(function, GO.operand).or_else(|| GO.field(function, GO.type_)).unwrap_or(function)
}
