//! A language as a table: what each kind of its tree's nodes is.
//!
//! The languages of the second tier differ in what their grammars call things, and hardly in
//! what there is to say: definitions with a name, a head and a body; calls; a list of what a
//! type builds on; a comment right above. So a language is a [`LanguageTable`], and what a table
//! cannot say is a small function beside it. Names are read from the text as they are spelled
//! ([`spelling`]), not from each grammar's own way to build a path out of nodes.
//!
//! Nothing here asks a node for its parent or its siblings: the tree finds these by walking
//! down from its root, and a deeply nested text would take forever.

pub(super) mod comment;
pub(super) mod spelling;

use std::sync::OnceLock;

use tree_sitter::Node;

use self::comment::CommentStyle;
use self::spelling::{Base, Spelled};
use crate::reader::{Adapter, FactReader, ItemDefinition, Kinds, WalkStep, cut};
use crate::{Access, ItemKind, ReferenceKind, Visibility};

/// A longer name is not one that a person gave.
const MAX_NAME: usize = 200;
/// How much of a definition's head is looked at for its modifiers.
const MAX_HEAD: usize = 2_000;

/// What is known about a language.
pub(super) struct LanguageTable {
    pub(super) grammar: fn() -> tree_sitter::Language,
    /// What the nodes are. The walk goes through those that are not named here.
    pub(super) nodes: &'static [(&'static str, NodeRole)],
    pub(super) comments: CommentStyle,
    pub(super) visibility: VisibilityRule,
    pub(super) tests: Tests,
}

/// What a kind of node is.
#[derive(Clone, Copy)]
pub(super) enum NodeRole {
    /// An item, called by the node's field `name`. A function in a type is a method.
    Item(ItemKind),
    /// An item of the kind that the function finds, or none.
    ItemBy(fn(&FactReader<'_>, Node<'_>) -> Option<ItemKind>),
    /// Constants, one for each child or grandchild of these kinds, where the function agrees
    /// to the words before the first.
    Constants(&'static [&'static str], fn(&FactReader<'_>, &HeadWords<'_>) -> bool),
    Call,
    /// A type's constructor is called.
    New,
    /// What the open item builds on.
    Bases(Bases),
    /// What the whole file belongs to.
    Package,
    Import(fn(&mut FactReader<'_>, Node<'_>)),
    Comment,
    Do(fn(&Tabled, &mut FactReader<'_>, Node<'_>) -> WalkStep),
}

/// Which of a list of types is the one that is extended.
#[derive(Clone, Copy)]
pub(super) enum Bases {
    Extended,
    Implemented,
    /// The first of a class, all of an interface.
    FirstExtended,
    /// The one whose constructor is called.
    CalledExtended,
    /// What is not called like an interface, `IDisposable`.
    NotCalledI,
}

/// Who may use an item.
#[derive(Clone, Copy)]
pub(super) enum VisibilityRule {
    /// By a word before its name; without one, this for a type's members and that for the rest.
    Words { members: Visibility, others: Visibility },
    /// By the latest word that stood alone among a type's members.
    Sections,
    /// Everywhere unless it is `static`.
    UnlessStatic,
    /// Everywhere unless its name begins with an underscore.
    UnlessUnderscore,
}

/// How a test is told.
pub(super) struct Tests {
    /// By an annotation or attribute of one of these names.
    pub(super) annotations: &'static [&'static str],
    /// By a name that begins with `test`.
    pub(super) prefix: TestPrefix,
    /// By a call with a title and a block: `it("waters every row") { … }`.
    pub(super) calls: &'static [&'static str],
    /// What holds such calls.
    pub(super) suites: &'static [&'static str],
}

impl Tests {
    pub(super) const NONE: Self =
        Self { annotations: &[], prefix: TestPrefix::MeansNothing, calls: &[], suites: &[] };
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TestPrefix {
    MeansNothing,
    OfMethods,
    OfFunctions,
}

/// The words of a definition's head, without what stands in quotes or parentheses.
pub(super) struct HeadWords<'t>(Vec<&'t str>);

impl<'t> HeadWords<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self(spelling::words_outside_parentheses(cut(text, MAX_HEAD)))
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }
}

/// A table at work.
pub(super) struct Tabled {
    table: LanguageTable,
    kinds: OnceLock<Kinds<NodeRole>>,
}

impl Adapter for Tabled {
    fn grammar(&self) -> tree_sitter::Language {
        (self.table.grammar)()
    }

    fn visit(&self, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
        let kinds = self.kinds.get_or_init(|| Kinds::new(&self.grammar(), self.table.nodes));
        let Some(role) = kinds.of(node) else { return WalkStep::Children };
        match role {
            NodeRole::Item(kind) => self.open_named(reader, node, kind),
            NodeRole::ItemBy(kind_of) => match kind_of(reader, node) {
                Some(kind) => self.open_named(reader, node, kind),
                None => WalkStep::Children,
            },
            NodeRole::Constants(declarators, agrees) => {
                self.constants(reader, node, declarators, agrees)
            }
            NodeRole::Call => self.call(reader, node),
            NodeRole::New => construct(reader, node),
            NodeRole::Bases(bases) => build_on(reader, node, bases),
            NodeRole::Package => self.package(reader, node),
            NodeRole::Import(import) => {
                import(reader, node);
                WalkStep::Past
            }
            NodeRole::Comment => {
                if super::comments::marks_generated(reader.text, node) {
                    reader.set_generated();
                }
                WalkStep::Past
            }
            NodeRole::Do(look) => look(self, reader, node),
        }
    }
}

/// What a definition's children say of it.
struct DefinitionParts {
    attributes_end: usize,
    body_start: usize,
}

impl Tabled {
    pub(super) const fn new(table: LanguageTable) -> Self {
        Self { table, kinds: OnceLock::new() }
    }

    fn open_named(&self, reader: &mut FactReader<'_>, node: Node<'_>, kind: ItemKind) -> WalkStep {
        match node.child_by_field_name("name") {
            Some(name) => self.open(reader, node, kind, name),
            None => WalkStep::Children,
        }
    }

    /// Opens an item that is called by one of its nodes.
    pub(super) fn open(
        &self,
        reader: &mut FactReader<'_>,
        node: Node<'_>,
        kind: ItemKind,
        name: Node<'_>,
    ) -> WalkStep {
        let Some(definition) = self.definition(reader, node, kind, name) else {
            return WalkStep::Children;
        };
        reader.open(definition);
        WalkStep::Within
    }

    /// Opens an item that is called by a word of the text, at the beginning of its node.
    pub(super) fn open_titled<'t>(
        &self,
        reader: &mut FactReader<'t>,
        node: Node<'_>,
        kind: ItemKind,
        title: &'t str,
    ) -> WalkStep {
        let mut definition = ItemDefinition::new(kind, title, node, None)
            .doc(self.doc(reader, node.start_byte()))
            .visibility(Visibility::Public);
        let text = reader.of(node);
        let end = text.find(['\n', '{']).unwrap_or(text.len());
        definition.signature = node.start_byte()..node.start_byte() + end;
        reader.open(definition);
        WalkStep::Within
    }

    /// Returns what is to be said of an item; nothing if its name cannot be one.
    pub(super) fn definition<'t>(
        &self,
        reader: &FactReader<'t>,
        node: Node<'_>,
        kind: ItemKind,
        name: Node<'_>,
    ) -> Option<ItemDefinition<'t>> {
        let called = reader.of(name).trim_matches('`');
        if called.is_empty() || called.len() > MAX_NAME {
            return None;
        }
        let parts = parts(node, name);
        let start = reader.start_with_attributes(node.start_byte());
        let attributes = reader.text.get(node.start_byte()..parts.attributes_end).unwrap_or("");
        let head = reader.text.get(start..name.start_byte()).unwrap_or("");
        let kind = self.settled(reader, kind, called, attributes);
        let mut definition = ItemDefinition::new(kind, called, node, None)
            .doc(self.doc(reader, start))
            .visibility(self.visibility(reader, start, head, called))
            .starting_at(start);
        let signature_start = if start < node.start_byte() { start } else { parts.attributes_end };
        definition.signature = trimmed(reader.text, signature_start..parts.body_start);
        Some(definition)
    }

    /// Returns the words of the comment above a byte.
    pub(super) fn doc(&self, reader: &FactReader<'_>, at: usize) -> String {
        comment::above(reader.text, at, &self.table.comments)
    }

    /// Returns whether a function is a method, and whether it is a test.
    fn settled(
        &self,
        reader: &FactReader<'_>,
        kind: ItemKind,
        name: &str,
        attributes: &str,
    ) -> ItemKind {
        if !matches!(kind, ItemKind::Function | ItemKind::Method) {
            return kind;
        }
        let tests = &self.table.tests;
        let is_member = reader.scope().is_some_and(|(_, item)| item.kind.holds_members());
        let by_name = match tests.prefix {
            TestPrefix::MeansNothing => false,
            TestPrefix::OfMethods => is_member && spelling::begins_like_a_test(name),
            TestPrefix::OfFunctions => spelling::begins_like_a_test(name),
        };
        let marked = !attributes.is_empty() && {
            let words = HeadWords::of(attributes);
            tests.annotations.iter().any(|annotation| words.has(annotation))
        };
        match kind {
            _ if by_name || marked => ItemKind::Test,
            ItemKind::Function if is_member => ItemKind::Method,
            _ => kind,
        }
    }

    fn visibility(
        &self,
        reader: &FactReader<'_>,
        start: usize,
        head: &str,
        name: &str,
    ) -> Visibility {
        let scope = reader.scope().map(|(_, item)| item);
        let word_before = word_before(reader.text.get(..start).unwrap_or(""));
        match self.table.visibility {
            VisibilityRule::Words { members, others } => by_words(head).unwrap_or(match scope {
                Some(item) if matches!(item.kind, ItemKind::Interface | ItemKind::Trait) => {
                    item.visibility
                }
                Some(item) if item.kind.holds_members() => members,
                _ => others,
            }),
            VisibilityRule::Sections if scope.is_some_and(|item| item.kind.holds_members()) => {
                word_before.unwrap_or_else(|| reader.member_visibility())
            }
            VisibilityRule::Sections if HeadWords::of(head).has("static") => Visibility::Private,
            VisibilityRule::Sections => word_before.unwrap_or_else(|| reader.member_visibility()),
            VisibilityRule::UnlessStatic if HeadWords::of(head).has("static") => {
                Visibility::Private
            }
            VisibilityRule::UnlessUnderscore if name.starts_with('_') => Visibility::Restricted,
            VisibilityRule::UnlessStatic | VisibilityRule::UnlessUnderscore => Visibility::Public,
        }
    }

    fn constants(
        &self,
        reader: &mut FactReader<'_>,
        node: Node<'_>,
        declarators: &[&str],
        agrees: fn(&FactReader<'_>, &HeadWords<'_>) -> bool,
    ) -> WalkStep {
        if is_in_code(reader) {
            return WalkStep::Children;
        }
        let names = names_of(node, declarators);
        let Some(first) = names.first() else { return WalkStep::Children };
        let head = reader.text.get(node.start_byte()..first.start_byte()).unwrap_or("");
        if agrees(reader, &HeadWords::of(head)) {
            for name in names {
                self.define_constant(reader, node, name);
            }
        }
        WalkStep::Children
    }

    /// Records a constant; what is in its value belongs to what is open.
    pub(super) fn define_constant(
        &self,
        reader: &mut FactReader<'_>,
        node: Node<'_>,
        name: Node<'_>,
    ) {
        if let Some(definition) = self.definition(reader, node, ItemKind::Const, name) {
            reader.define(definition);
        }
    }

    fn call(&self, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
        if let Some((kind, title)) = self.titled(reader.of(node)) {
            return self.open_titled(reader, node, kind, title);
        }
        let fields = ["function", "name", "method"];
        let callee = fields.iter().find_map(|field| node.child_by_field_name(field));
        if let Some(callee) = callee.or_else(|| node.named_child(0)) {
            let text = reader.text.get(node.start_byte()..callee.end_byte()).unwrap_or("");
            if let Some(Spelled { name, access }) = spelling::called(text) {
                reader.refer(ReferenceKind::Call, name, access, callee.end_byte());
            }
        }
        WalkStep::Children
    }

    /// Returns the title of a call that is a test or holds tests.
    pub(super) fn titled<'t>(&self, call: &'t str) -> Option<(ItemKind, &'t str)> {
        let tests = &self.table.tests;
        if !(call.ends_with('}') || call.ends_with("end")) {
            return None;
        }
        let suite = || Some((ItemKind::Module, spelling::title(call, tests.suites)?));
        spelling::title(call, tests.calls).map(|title| (ItemKind::Test, title)).or_else(suite)
    }

    /// The first names the file's package; a second in the same file is an item like any other.
    fn package(&self, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
        let name = node.child_by_field_name("name").or_else(|| node.named_child(0));
        let Some(name) = name else { return WalkStep::Children };
        if reader.package().is_some() {
            return self.open(reader, node, ItemKind::Module, name);
        }
        let package = reader.of(name).trim();
        reader.set_package(cut(package, MAX_NAME));
        WalkStep::Children
    }
}

/// Returns whether the open item is code, whose constants are of no use outside of it.
pub(super) fn is_in_code(reader: &FactReader<'_>) -> bool {
    reader.scope().is_some_and(|(_, item)| is_code(item.kind))
}

fn is_code(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::Function | ItemKind::Method | ItemKind::Test)
}

/// Returns whether nothing is open.
pub(super) fn is_at_top(reader: &FactReader<'_>) -> bool {
    reader.scope().is_none()
}

/// Records the names of a list of types.
pub(super) fn build_on(reader: &mut FactReader<'_>, node: Node<'_>, bases: Bases) -> WalkStep {
    let of_interface = reader
        .scope()
        .is_some_and(|(_, item)| matches!(item.kind, ItemKind::Interface | ItemKind::Trait));
    for (place, Base { spelled, is_called }) in
        spelling::bases(reader.of(node)).into_iter().enumerate()
    {
        let extended = match bases {
            Bases::Extended => true,
            Bases::Implemented => false,
            Bases::FirstExtended => place == 0 || of_interface,
            Bases::CalledExtended => is_called || of_interface,
            Bases::NotCalledI => of_interface || !spelling::is_called_i(spelled.name),
        };
        let kind = if extended { ReferenceKind::Extends } else { ReferenceKind::Implements };
        reader.refer(kind, spelled.name, spelled.access, node.start_byte());
    }
    WalkStep::Children
}

fn construct(reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
    let named = node.child_by_field_name("type").or_else(|| node.named_child(0));
    if let Some(Spelled { name, access }) = named.and_then(|of| spelling::path(reader.of(of))) {
        reader.refer(ReferenceKind::Call, name, access, node.start_byte());
    }
    WalkStep::Children
}

/// Returns what Ruby's `private def` says: the word stands outside of the definition.
fn word_before(text: &str) -> Option<Visibility> {
    let words = [
        ("private ", Visibility::Private),
        ("protected ", Visibility::Restricted),
        ("public ", Visibility::Public),
    ];
    words.iter().find(|(word, _)| text.ends_with(word)).map(|(_, visibility)| *visibility)
}

/// Returns the words that say who may use an item, as a visibility.
fn by_words(head: &str) -> Option<Visibility> {
    let words = HeadWords::of(head);
    let any = |known: &[&str]| known.iter().any(|word| words.has(word));
    if any(&["protected", "internal", "package"]) || head.contains("private[") {
        Some(Visibility::Restricted)
    } else if any(&["private", "fileprivate"]) {
        Some(Visibility::Private)
    } else if any(&["public", "open"]) {
        Some(Visibility::Public)
    } else {
        None
    }
}

fn parts(node: Node<'_>, name: Node<'_>) -> DefinitionParts {
    const ATTRIBUTES: [&str; 5] =
        ["annotation", "marker_annotation", "attribute", "attribute_list", "attribute_declaration"];
    const BODIES: [&str; 8] = [
        "accessor_list",
        "class_body",
        "computed_property",
        "enum_class_body",
        "field_initializer_list",
        "function_body",
        "getter",
        "arrow_expression_clause",
    ];
    let mut parts =
        DefinitionParts { attributes_end: node.start_byte(), body_start: node.end_byte() };
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    while more {
        let child = cursor.node();
        if child.start_byte() < name.start_byte() {
            if ATTRIBUTES.contains(&child.kind()) {
                parts.attributes_end = child.end_byte();
            } else if child.kind() == "modifiers" {
                let mut inner = child.walk();
                let last = child.children(&mut inner).filter(|of| ATTRIBUTES.contains(&of.kind()));
                parts.attributes_end = last.last().map_or(parts.attributes_end, |of| of.end_byte());
            }
        } else if cursor.field_name() == Some("body") || BODIES.contains(&child.kind()) {
            parts.body_start = child.start_byte();
            break;
        }
        more = cursor.goto_next_sibling();
    }
    parts
}

/// Returns a signature's range without the mark that opens the body.
fn trimmed(text: &str, range: std::ops::Range<usize>) -> std::ops::Range<usize> {
    let signature = text.get(range.clone()).unwrap_or("").trim_end();
    let marks = ["=>", "=", "{", ";"];
    let signature = marks.iter().find_map(|mark| signature.strip_suffix(mark)).unwrap_or(signature);
    range.start..range.start + signature.trim_end().len()
}

/// Returns the names in the declarators below a node.
fn names_of<'n>(node: Node<'n>, declarators: &[&str]) -> Vec<Node<'n>> {
    let mut names = Vec::new();
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        if declarators.contains(&child.kind()) {
            names.push(name_of(child));
        } else {
            let mut inner = child.walk();
            let below = child.named_children(&mut inner);
            names.extend(below.filter(|of| declarators.contains(&of.kind())).map(name_of));
        }
    }
    names
}

fn name_of(declarator: Node<'_>) -> Node<'_> {
    let fields = ["name", "bound_identifier"];
    let named = fields.iter().find_map(|field| declarator.child_by_field_name(field));
    named.or_else(|| declarator.named_child(0)).unwrap_or(declarator)
}

/// Returns the access of a name that belongs to the type itself or to nothing.
pub(super) fn bare_or_path(path: String) -> Access {
    if path.is_empty() { Access::Bare } else { Access::Path(path) }
}
