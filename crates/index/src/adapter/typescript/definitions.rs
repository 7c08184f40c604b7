//! Functions, classes and their members, interfaces, types, enums and namespaces.

use tree_sitter::Node;

use super::grammar::TypeScriptKind;
use super::{LocalValue, TextSpan, TypeScriptWalk, WalkStep};
use crate::reader::ItemDefinition;
use crate::{ItemKind, Visibility};

impl<'t> TypeScriptWalk<'_, 't> {
    pub(super) fn function(&mut self, node: Node<'_>) -> WalkStep {
        let Some(name) = self.field(node, self.grammar.name) else { return WalkStep::Children };
        if self.in_function(node) {
            self.state.locals.bind(TextSpan::of(name), LocalValue::Function, 0);
        }
        let name = self.reader.of(name);
        let said = self.field(node, self.grammar.return_type);
        if let Some(type_name) = said.and_then(|said| self.name_in(said)) {
            self.state.types.insert(format!("{name}()"), type_name);
        }
        let body = self.field(node, self.grammar.body);
        let definition = self.definition(ItemKind::Function, name, node, body);
        self.open_over_overload(definition);
        self.state.locals.enter_function(node);
        WalkStep::Within
    }

    /// Reads a function without a body: declared for others, or one of several forms.
    pub(super) fn function_signature(&mut self, node: Node<'_>) -> WalkStep {
        self.state.locals.enter(node);
        let Some(name) = self.field(node, self.grammar.name) else { return WalkStep::Children };
        let name = self.reader.of(name);
        let definition = self.definition(ItemKind::Function, name, node, None);
        let place = self.open_over_overload(definition);
        self.state.overload = Some(place);
        WalkStep::Within
    }

    /// Opens an item in the place of the overload right before it, if that has its name: the
    /// forms of one function are one item, documented where the first form is.
    fn open_over_overload(&mut self, mut definition: ItemDefinition<'t>) -> u32 {
        let overload = self.state.overload.take();
        let qualified = self.reader.qualified(definition.name);
        let items = self.reader.items_mut();
        let is_last = |place: u32| place as usize + 1 == items.len();
        if let Some(place) = overload.filter(|place| is_last(*place))
            && items.get(place as usize).is_some_and(|item| item.qualified == qualified)
            && let Some(form) = items.pop()
        {
            definition.whole.start = (form.bytes.start as usize).min(definition.whole.start);
            if definition.doc.is_empty() {
                definition.doc = form.doc;
            }
            if form.visibility == Visibility::Public {
                definition.visibility = Visibility::Public;
            }
        }
        self.reader.open(definition)
    }

    /// Opens the scope of a function that is a value, and its item if it is the file's default.
    pub(super) fn function_value(&mut self, node: Node<'_>) -> WalkStep {
        let is_default = self.is_default(node);
        if is_default {
            let name = self.default_name();
            let body = self.field(node, self.grammar.body);
            let definition = self.definition(ItemKind::Function, name, node, body);
            self.reader.open(definition.visibility(Visibility::Public));
        }
        self.state.locals.enter_function(node);
        if let Some(name) = self.field(node, self.grammar.name) {
            self.state.locals.bind(TextSpan::of(name), LocalValue::Value, name.start_byte());
        }
        if let Some(parameter) = self.field(node, self.grammar.parameter) {
            self.bind_pattern(parameter, None, parameter.start_byte(), 0);
        }
        if is_default { WalkStep::Within } else { WalkStep::Children }
    }

    fn is_default(&mut self, node: Node<'_>) -> bool {
        let is_default = self.state.default_at == Some(node.start_byte());
        if is_default {
            self.state.default_at = None;
        }
        is_default
    }

    pub(super) fn class(&mut self, node: Node<'_>) -> WalkStep {
        self.named(ItemKind::Class, node)
    }

    /// Reads a class that is a value: the file's default, or what a constant was opened for.
    pub(super) fn class_value(&mut self, node: Node<'_>) -> WalkStep {
        if !self.is_default(node) {
            if let Some(name) = self.field(node, self.grammar.name) {
                self.state.taken.add(name);
            }
            return WalkStep::Children;
        }
        let said = self.field(node, self.grammar.name).map(|name| self.reader.of(name));
        let name = said.unwrap_or_else(|| self.default_name());
        let body = self.field(node, self.grammar.body);
        let definition = self.definition(ItemKind::Class, name, node, body);
        self.reader.open(definition.visibility(Visibility::Public));
        self.state.locals.enter(node);
        WalkStep::Within
    }

    /// Opens a class, interface or type by its name.
    pub(super) fn named(&mut self, kind: ItemKind, node: Node<'_>) -> WalkStep {
        let Some(name) = self.field(node, self.grammar.name) else { return WalkStep::Children };
        self.state.taken.add(name);
        let body = self.field(node, self.grammar.body);
        let start = self.start_with_decorators(node);
        let definition = self.definition(kind, self.reader.of(name), node, body);
        let earliest = definition.whole.start.min(start);
        self.reader.open(definition.starting_at(earliest));
        self.state.locals.enter(node);
        WalkStep::Within
    }

    pub(super) fn enumeration(&mut self, node: Node<'_>) -> WalkStep {
        let Some(name) = self.field(node, self.grammar.name) else { return WalkStep::Children };
        let name = self.reader.of(name);
        self.state.holders.insert(name.to_owned());
        let body = self.field(node, self.grammar.body);
        let definition = self.definition(ItemKind::Enum, name, node, body);
        self.reader.open(definition);
        WalkStep::Within
    }

    /// Opens a namespace, `A.B` or `'some-package'`.
    pub(super) fn module(&mut self, node: Node<'_>) -> WalkStep {
        let Some(name) = self.field(node, self.grammar.name) else { return WalkStep::Children };
        let path = self.reader.of(name).trim_matches(['"', '\'']);
        let is_text = self.is(name, TypeScriptKind::Leaf);
        let last = if is_text { path } else { path.rsplit('.').next().unwrap_or(path).trim() };
        let body = self.field(node, self.grammar.body);
        let definition = self.definition(ItemKind::Module, last, node, body);
        let words =
            if is_text { path.to_owned() } else { TextSpan::of(name).path(self.reader.text) };
        let qualified = self.reader.qualified(&words);
        self.state.holders.insert(last.to_owned());
        self.reader.open_as(definition, qualified.clone(), qualified);
        WalkStep::Within
    }

    pub(super) fn method(&mut self, node: Node<'_>) -> WalkStep {
        self.state.locals.enter_function(node);
        let Some(name) = self.member_name(node) else { return WalkStep::Children };
        let body = self.field(node, self.grammar.body);
        let kind = self.member_kind();
        let definition = self.member(kind, name, node, body);
        self.open_over_overload(definition);
        WalkStep::Within
    }

    /// Reads a method without a body: of an interface, abstract, or one of several forms.
    pub(super) fn method_signature(&mut self, node: Node<'_>) -> WalkStep {
        self.state.locals.enter(node);
        let holds = [ItemKind::Class, ItemKind::Interface, ItemKind::Type];
        let is_member = self.scope_kind().is_some_and(|kind| holds.contains(&kind));
        let Some(name) = self.member_name(node).filter(|_| is_member) else {
            return WalkStep::Children;
        };
        let definition = self.member(ItemKind::Method, name, node, None);
        let place = self.open_over_overload(definition);
        self.state.overload = Some(place);
        WalkStep::Within
    }

    /// Reads an interface's property: a method if it holds a function, else a field.
    pub(super) fn property_signature(&mut self, node: Node<'_>) -> WalkStep {
        let holder = self
            .reader
            .scope()
            .filter(|(_, item)| matches!(item.kind, ItemKind::Interface | ItemKind::Type));
        let Some(holder) = holder.map(|(_, item)| item.name.clone()) else {
            return WalkStep::Children;
        };
        let (Some(name), Some(said)) =
            (self.member_name(node), self.field(node, self.grammar.type_))
        else {
            return WalkStep::Children;
        };
        if said.named_child(0).is_some_and(|said| self.is(said, TypeScriptKind::FunctionType)) {
            let definition = self.member(ItemKind::Method, name, node, None);
            self.reader.open(definition);
            return WalkStep::Within;
        }
        if let Some(type_name) = self.name_in(said) {
            self.state.types.insert(format!("{holder}.{name}"), type_name);
        }
        WalkStep::Children
    }

    /// Reads a field of a class: a method if it holds a function.
    pub(super) fn class_field(&mut self, node: Node<'_>) -> WalkStep {
        let Some(name) = self.member_name(node) else { return WalkStep::Children };
        let value = self.field(node, self.grammar.value);
        if let Some(function) = value.filter(|value| self.is(*value, TypeScriptKind::FunctionValue))
        {
            let body = self.field(function, self.grammar.body);
            let definition = self.member(ItemKind::Method, name, node, body);
            self.reader.open(definition);
            return WalkStep::Within;
        }
        let said = self.field(node, self.grammar.type_).and_then(|said| self.name_in(said));
        if let Some(type_name) = said.or_else(|| self.type_of(value?)) {
            self.set_field_type(name, type_name);
        }
        WalkStep::Children
    }

    /// Reads a member of an object written out, where such members can be called by others.
    pub(super) fn pair(&mut self, node: Node<'_>) -> WalkStep {
        let is_given = node.start_byte() < self.state.given_until;
        let is_held = self.scope_kind() == Some(ItemKind::Const);
        if !(is_given || is_held) || self.in_function(node) {
            return WalkStep::Children;
        }
        let (Some(key), Some(value)) =
            (self.field(node, self.grammar.key), self.field(node, self.grammar.value))
        else {
            return WalkStep::Children;
        };
        let name = self.reader.of(key).trim_matches(['"', '\'']);
        if !self.is(value, TypeScriptKind::FunctionValue)
            || name.starts_with('[')
            || name.is_empty()
        {
            return WalkStep::Children;
        }
        let body = self.field(value, self.grammar.body);
        let definition = self.member(self.member_kind(), name, node, body);
        self.reader.open(definition);
        WalkStep::Within
    }

    /// Returns what a member's function is: a file that gives away an object gives away
    /// functions.
    fn member_kind(&self) -> ItemKind {
        if self.scope_kind().is_none() { ItemKind::Function } else { ItemKind::Method }
    }

    fn member(
        &mut self,
        kind: ItemKind,
        name: &'t str,
        node: Node<'_>,
        body: Option<Node<'_>>,
    ) -> ItemDefinition<'t> {
        let start = self.start_with_decorators(node);
        let access = self.grammar.child_of(node, TypeScriptKind::Accessibility);
        let visibility = match access.map(|access| self.reader.of(access)) {
            Some("private") => Visibility::Private,
            Some("protected") => Visibility::Restricted,
            _ if name.starts_with('#') => Visibility::Private,
            _ if name.starts_with('_') => Visibility::Restricted,
            _ => Visibility::Public,
        };
        let doc = self.state.comments.above(self.reader.text, start);
        let doc = if doc.is_empty() {
            self.state.comments.above(self.reader.text, node.start_byte())
        } else {
            doc
        };
        let definition = ItemDefinition::new(kind, name, node, body);
        definition.doc(doc).visibility(visibility).starting_at(start)
    }

    /// Returns a member's name; nothing for one that is computed.
    fn member_name(&self, node: Node<'_>) -> Option<&'t str> {
        let name = self.field(node, self.grammar.name);
        let name = name.or_else(|| self.field(node, self.grammar.property))?;
        let name = self.reader.of(name).trim_matches(['"', '\'']);
        (!name.is_empty() && !name.starts_with('[')).then_some(name)
    }

    fn start_with_decorators(&mut self, node: Node<'_>) -> usize {
        let start = node.start_byte();
        let Some((first, last)) = self.state.decorators.take() else { return start };
        let between = self.reader.text.get(last..start);
        let is_right_above = between.is_some_and(|text| text.trim().is_empty());
        if is_right_above { first } else { start }
    }

    /// Records a decorator as a call, and where the run of decorators begins.
    pub(super) fn decorator(&mut self, node: Node<'_>) {
        let before = self.state.decorators.take().filter(|(_, last)| {
            let between = self.reader.text.get(*last..node.start_byte());
            between.is_some_and(|text| text.trim().is_empty())
        });
        let first = before.map_or(node.start_byte(), |(first, _)| first);
        self.state.decorators = Some((first, node.end_byte()));
        if let Some(name) = node.named_child(0) {
            self.call_by(name);
        }
    }
}
