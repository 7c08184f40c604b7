//! Functions, methods, types, constants and variables of a Go file, and what its statements
//! make known.

use tree_sitter::Node;

use super::grammar::{GO, GoKind};
use super::types::{name_node, named};
use super::{GoWalk, LocalValue, TextSpan, WalkStep};
use crate::reader::ItemDefinition;
use crate::{ItemKind, ReferenceKind, Visibility};

impl<'t> GoWalk<'_, 't> {
    /// Learns what the file's functions return before their calls are read: Go's definitions
    /// come in any order.
    pub(super) fn look_ahead(&mut self, file: Node<'_>) {
        let mut cursor = file.walk();
        for node in file.named_children(&mut cursor) {
            if GO.is(node, GoKind::Function)
                && let Some(name) = GO.field(node, GO.name)
                && let Some(result) = GO.field(node, GO.result).and_then(first_result)
            {
                self.state.types.insert(format!("{}()", self.reader.of(name)), result);
            }
        }
    }

    pub(super) fn function(&mut self, node: Node<'_>) -> WalkStep {
        let Some(name) = GO.field(node, GO.name) else { return WalkStep::Children };
        let name = self.reader.of(name);
        let is_test = self.is_in_test_file() && is_test_name(name) && self.takes_a_test(node, name);
        let kind = if is_test { ItemKind::Test } else { ItemKind::Function };
        let definition = self.definition(kind, name, node, GO.field(node, GO.body));
        self.reader.open(definition);
        self.state.locals.enter_function(node);
        self.bind_signature(node);
        WalkStep::Within
    }

    pub(super) fn method(&mut self, node: Node<'_>) -> WalkStep {
        let Some(name) = GO.field(node, GO.name) else { return WalkStep::Children };
        let name = self.reader.of(name);
        let receiver = GO.field(node, GO.receiver).and_then(|list| list.named_child(0));
        let holder = receiver.and_then(|one| GO.field(one, GO.type_)).and_then(name_node);
        // A suite's methods are tests that take their suite instead of a parameter.
        let is_test = self.is_in_test_file() && is_test_name(name) && name.starts_with("Test");
        let kind = if is_test { ItemKind::Test } else { ItemKind::Method };
        let definition = self.definition(kind, name, node, GO.field(node, GO.body));
        let holder_name = holder.map_or("", |holder| self.reader.of(holder));
        let qualified = format!("{holder_name}::{name}");
        let place = self.reader.open_as(definition, qualified.clone(), qualified);
        if let Some(parent) = self.state.places.get(holder_name)
            && let Some(item) = self.reader.items_mut().get_mut(place as usize)
        {
            item.parent = Some(*parent);
        }
        self.state.locals.enter_function(node);
        if let (Some(receiver), Some(holder)) = (receiver, holder) {
            self.bind_receiver(receiver, holder);
        }
        self.bind_signature(node);
        WalkStep::Within
    }

    /// Binds the receiver, and its type's parameters: `func (l *List[T]) Push(item T)`.
    fn bind_receiver(&mut self, receiver: Node<'_>, holder: Node<'_>) {
        let begins = receiver.end_byte();
        for name in GO.names(receiver) {
            self.state.locals.bind(
                TextSpan::of(name),
                LocalValue::Own(TextSpan::of(holder)),
                begins,
            );
        }
        // The method's name says whose it is; the receiver would only say it again.
        self.state.taken.add(holder);
        let mut node = GO.field(receiver, GO.type_);
        while let Some(layer) = node.filter(|layer| GO.is(*layer, GoKind::Pointer)) {
            node = layer.named_child(0);
        }
        if let Some(generic) = node.filter(|node| GO.is(*node, GoKind::Generic)) {
            self.bind_type_arguments(generic);
        }
    }

    fn bind_type_arguments(&mut self, generic: Node<'_>) {
        let mut cursor = generic.walk();
        for arguments in generic.named_children(&mut cursor).skip(1) {
            let mut elements = arguments.walk();
            for element in arguments.named_children(&mut elements) {
                let name = element.named_child(0).unwrap_or(element);
                self.state.locals.bind(TextSpan::of(name), LocalValue::Value, name.start_byte());
            }
        }
    }

    fn bind_signature(&mut self, node: Node<'_>) {
        let begins = GO.field(node, GO.body).map_or(node.end_byte(), |body| body.start_byte());
        for field in [GO.parameters, GO.result] {
            if let Some(list) = GO.field(node, field) {
                self.bind_parameters(list, begins);
            }
        }
    }

    pub(super) fn function_literal(&mut self, node: Node<'_>) {
        self.state.locals.enter_function(node);
        self.bind_signature(node);
    }

    /// Takes note of where a lone spec's declaration begins; specs in parentheses stand for
    /// themselves.
    pub(super) fn declaration(&mut self, node: Node<'_>) {
        let second = node.child(1);
        let is_group = second.is_none_or(|child| matches!(child.kind(), "(" | "var_spec_list"));
        self.state.declaration = (!is_group).then(|| node.start_byte());
    }

    pub(super) fn type_spec(&mut self, node: Node<'_>) -> WalkStep {
        let start = self.state.declaration.take().unwrap_or(node.start_byte());
        let Some(name) = GO.field(node, GO.name) else { return WalkStep::Children };
        self.state.taken.add(name);
        let name = self.reader.of(name);
        let meaning = GO.field(node, GO.type_);
        let (kind, body) = match meaning.and_then(|meaning| GO.kinds.of(meaning)) {
            Some(GoKind::Struct) => {
                (ItemKind::Struct, meaning.and_then(|meaning| meaning.child(1)))
            }
            Some(GoKind::Interface) => {
                (ItemKind::Interface, meaning.and_then(|meaning| meaning.child(1)))
            }
            _ => (ItemKind::Type, None),
        };
        let definition = self.definition_from(start, kind, name, node, body);
        let place = self.reader.open(definition);
        self.state.places.insert(name.to_owned(), place);
        self.state.locals.enter(node);
        WalkStep::Within
    }

    pub(super) fn value_spec(&mut self, node: Node<'_>) -> WalkStep {
        let start = self.state.declaration.take().unwrap_or(node.start_byte());
        let type_name = self.type_of_spec(node);
        let names = GO.names(node);
        if self.state.locals.in_function(node.start_byte()) {
            for name in names {
                let local = LocalValue::maybe_of(type_name);
                self.state.locals.bind(TextSpan::of(name), local, node.end_byte());
            }
            return WalkStep::Children;
        }
        for name in &names {
            if let Some(type_name) = type_name {
                self.state.types.insert(self.reader.of(*name).to_owned(), type_name);
            }
        }
        match names.as_slice() {
            [name] if self.reader.of(*name) != "_" => {
                let name = self.reader.of(*name);
                let definition = self.definition_from(start, ItemKind::Const, name, node, None);
                self.reader.open(definition);
                WalkStep::Within
            }
            names => {
                for name in names {
                    let name = self.reader.of(*name);
                    if name != "_" {
                        let kind = ItemKind::Const;
                        let definition = self.definition_from(start, kind, name, node, None);
                        self.reader.define(definition);
                    }
                }
                WalkStep::Children
            }
        }
    }

    fn type_of_spec(&mut self, spec: Node<'_>) -> Option<TextSpan> {
        if let Some(said) = GO.field(spec, GO.type_) {
            return named(said);
        }
        let value = GO.field(spec, GO.value)?;
        if value.named_child_count() != 1 {
            return None;
        }
        self.type_of(value.named_child(0)?)
    }

    pub(super) fn interface_method(&mut self, node: Node<'_>) -> WalkStep {
        self.state.locals.enter(node);
        let is_item = self.reader.scope().is_some_and(|(_, item)| item.kind == ItemKind::Interface);
        let Some(name) = GO.field(node, GO.name).filter(|_| is_item) else {
            return WalkStep::Children;
        };
        let definition = self.definition(ItemKind::Method, self.reader.of(name), node, None);
        self.reader.open(definition);
        WalkStep::Within
    }

    /// Reads a struct's field: a type without a name is built upon.
    pub(super) fn field(&mut self, node: Node<'_>) {
        let Some(type_node) = GO.field(node, GO.type_) else { return };
        let Some(type_name) = name_node(type_node) else { return };
        let holder = self.reader.scope().filter(|(_, item)| item.kind == ItemKind::Struct);
        let holder = holder.map(|(_, item)| item.name.clone());
        if GO.field(node, GO.name).is_none() {
            self.state.taken.add(type_name);
            self.refer_type(ReferenceKind::Extends, type_name);
        }
        let Some(holder) = holder else { return };
        let mut cursor = node.walk();
        for field in node.children_by_field_name("name", &mut cursor) {
            let key = format!("{holder}.{}", self.reader.of(field));
            self.state.types.insert(key, TextSpan::of(type_name));
        }
        if GO.field(node, GO.name).is_none() {
            let last = self.reader.of(type_name).rsplit('.').next().unwrap_or("");
            self.state.types.insert(format!("{holder}.{last}"), TextSpan::of(type_name));
        }
    }

    /// Reads a line of an interface: one type alone is built upon, a union names types.
    pub(super) fn type_element(&mut self, node: Node<'_>) {
        let is_alone = node.named_child_count() == 1;
        let scope = self.reader.scope().map(|(_, item)| item.kind);
        if scope == Some(ItemKind::Interface)
            && is_alone
            && let Some(name) = node.named_child(0).and_then(name_node)
            && self.local(name).is_none()
            && !self.state.taken.has(name)
        {
            self.state.taken.add(name);
            self.refer_type(ReferenceKind::Extends, name);
        }
    }

    pub(super) fn type_parameter(&mut self, node: Node<'_>) {
        for name in GO.names(node) {
            self.state.locals.bind(TextSpan::of(name), LocalValue::Value, node.start_byte());
        }
    }

    pub(super) fn short_var(&mut self, node: Node<'_>) {
        let (Some(left), Some(right)) = (GO.field(node, GO.left), GO.field(node, GO.right)) else {
            return;
        };
        let mut names = left.walk();
        let mut values = right.walk();
        let mut values = right.named_children(&mut values);
        for name in left.named_children(&mut names) {
            // `row, ok := value.(Row)`: the second name has no value of its own.
            let type_name = values.next().and_then(|value| self.type_of(value));
            self.bind_name(name, LocalValue::maybe_of(type_name), node.end_byte());
        }
    }

    /// Binds the names at the left of `range` or `<-`.
    pub(super) fn bind_left(&mut self, node: Node<'_>) {
        let Some(left) = GO.field(node, GO.left) else { return };
        let mut names = left.walk();
        for name in left.named_children(&mut names) {
            self.bind_name(name, LocalValue::Value, node.end_byte());
        }
    }

    fn bind_name(&mut self, name: Node<'_>, local: LocalValue, begins: usize) {
        if GO.is(name, GoKind::Identifier) {
            self.state.locals.bind(TextSpan::of(name), local, begins);
        }
    }

    pub(super) fn type_switch(&mut self, node: Node<'_>) {
        self.state.locals.enter(node);
        if let Some(name) = GO.field(node, GO.alias).and_then(|list| list.named_child(0)) {
            self.state.switched.push((TextSpan::of(name), node.end_byte()));
        }
    }

    /// Binds the switch's variable to the type of its case, if that is one.
    pub(super) fn type_case(&mut self, node: Node<'_>) {
        self.state.locals.enter(node);
        let at = node.start_byte();
        while self.state.switched.last().is_some_and(|(_, ends)| *ends <= at) {
            self.state.switched.pop();
        }
        let Some((name, _)) = self.state.switched.last().copied() else { return };
        let mut cursor = node.walk();
        let types: Vec<_> = node.children_by_field_name("type", &mut cursor).collect();
        let type_name = match types.as_slice() {
            [only] => named(*only),
            _ => None,
        };
        self.state.locals.bind_here(name, LocalValue::maybe_of(type_name), at);
    }

    fn definition(
        &self,
        kind: ItemKind,
        name: &'t str,
        node: Node<'_>,
        body: Option<Node<'_>>,
    ) -> ItemDefinition<'t> {
        self.definition_from(node.start_byte(), kind, name, node, body)
    }

    fn definition_from(
        &self,
        start: usize,
        kind: ItemKind,
        name: &'t str,
        node: Node<'_>,
        body: Option<Node<'_>>,
    ) -> ItemDefinition<'t> {
        let is_exported = name.chars().next().is_some_and(char::is_uppercase);
        let visibility = if is_exported { Visibility::Public } else { Visibility::Restricted };
        let doc = self.state.comments.above(self.reader.text, start);
        let mut definition = ItemDefinition::new(kind, name, node, body)
            .doc(doc)
            .visibility(visibility)
            .starting_at(start);
        definition.signature.start = start;
        definition
    }

    fn is_in_test_file(&self) -> bool {
        self.reader.path.ends_with("_test.go")
    }

    /// Returns whether a function takes what the test runner hands it; an example takes
    /// nothing.
    fn takes_a_test(&self, node: Node<'_>, name: &str) -> bool {
        let parameters = GO.field(node, GO.parameters).map_or("", |list| self.reader.of(list));
        name.starts_with("Example") || parameters.contains("testing.")
    }
}

/// Returns whether the test runner would take a function of this name.
fn is_test_name(name: &str) -> bool {
    let prefixes = ["Test", "Benchmark", "Example", "Fuzz"];
    let rest = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
    rest.is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

/// Returns the type that a function's first result has.
fn first_result(result: Node<'_>) -> Option<TextSpan> {
    if let Some(name) = named(result) {
        return Some(name);
    }
    GO.field(result.named_child(0)?, GO.type_).and_then(named)
}
