//! TypeScript, TSX and JavaScript: one reading over three grammars.
//!
//! What a file gives away is said in many places: before a definition, in a list at the end,
//! in `module.exports`. All of them make the item public. A test runner's blocks are items as
//! well, because that is where a test's calls come from.

mod blocks;
mod calls;
mod definitions;
mod grammar;
mod imports;
mod types;
mod values;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use tree_sitter::Node;

use self::grammar::{JAVASCRIPT, TSX, TYPESCRIPT, TypeScriptGrammar, TypeScriptKind};
use super::comments::{Comments, marks_generated};
use super::locals::{LocalValue, Locals, TakenNames, TextSpan};
use crate::reader::{Adapter, FactReader, ItemDefinition, WalkStep};
use crate::{ItemKind, Language, Visibility};

/// How far out the class of a `this` is looked for.
const MOST_SCOPES: usize = 16;

/// The reading of one file.
pub(crate) struct TypeScript {
    grammar: &'static TypeScriptGrammar,
    state: RefCell<TypeScriptState>,
}

#[derive(Default)]
struct TypeScriptState {
    locals: Locals,
    comments: Comments,
    taken: TakenNames,
    /// What the file brings in, and its own objects: a name before a dot that is one of them
    /// leads to a definition.
    holders: HashSet<String>,
    /// Whether the first import was met.
    is_past_head: bool,
    /// Names that a list gives away before their definition comes.
    exported: HashSet<String>,
    /// Types of the file's own constants by `name`, of fields by `Class.field`, and of base
    /// classes by `Class.super`: as far as the text has shown them.
    types: HashMap<String, TextSpan>,
    /// Where the `export` begins that the next definition stands behind.
    export: Option<usize>,
    /// The variable declarations that are open.
    declarations: Vec<Declaration>,
    /// The decorators right above a member, from the first to the last.
    decorators: Option<(usize, usize)>,
    /// Where the object ends whose members the file gives away.
    given_until: usize,
    /// Where the value begins that is the file's default.
    default_at: Option<usize>,
    /// The signature without a body that was read last: an overload, if the same name follows.
    overload: Option<u32>,
}

struct Declaration {
    start: usize,
    is_exported: bool,
    ends: usize,
}

impl TypeScript {
    /// Returns the reading of a language of this family.
    pub(crate) fn new(language: Language) -> Self {
        let grammar = match language {
            Language::Tsx => &*TSX,
            Language::JavaScript => &*JAVASCRIPT,
            _ => &*TYPESCRIPT,
        };
        Self { grammar, state: RefCell::default() }
    }
}

impl Adapter for TypeScript {
    fn grammar(&self) -> tree_sitter::Language {
        self.grammar.language.clone()
    }

    fn visit(&self, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
        let Some(kind) = self.grammar.kinds.of(node) else { return WalkStep::Children };
        TypeScriptWalk { grammar: self.grammar, state: &mut self.state.borrow_mut(), reader }
            .visit(kind, node)
    }
}

/// One step of the walk: what is known so far, and where the facts go.
struct TypeScriptWalk<'a, 't> {
    grammar: &'static TypeScriptGrammar,
    state: &'a mut TypeScriptState,
    reader: &'a mut FactReader<'t>,
}

impl<'t> TypeScriptWalk<'_, 't> {
    fn visit(&mut self, kind: TypeScriptKind, node: Node<'_>) -> WalkStep {
        match kind {
            TypeScriptKind::Leaf => return WalkStep::Past,
            TypeScriptKind::Comment => self.comment(node),
            TypeScriptKind::Import => return self.import_statement(node),
            TypeScriptKind::Export => return self.export_statement(node),
            TypeScriptKind::Ambient => {
                self.state.export.get_or_insert(node.start_byte());
            }
            TypeScriptKind::Function => return self.function(node),
            TypeScriptKind::FunctionSignature => return self.function_signature(node),
            TypeScriptKind::FunctionValue => return self.function_value(node),
            TypeScriptKind::FunctionType | TypeScriptKind::Scope => self.state.locals.enter(node),
            TypeScriptKind::Class => return self.class(node),
            TypeScriptKind::ClassValue => return self.class_value(node),
            TypeScriptKind::Method => return self.method(node),
            TypeScriptKind::MethodSignature => return self.method_signature(node),
            TypeScriptKind::PropertySignature => return self.property_signature(node),
            TypeScriptKind::Field => return self.class_field(node),
            TypeScriptKind::Interface => return self.named(ItemKind::Interface, node),
            TypeScriptKind::TypeAlias => return self.named(ItemKind::Type, node),
            TypeScriptKind::Enum => return self.enumeration(node),
            TypeScriptKind::Module => return self.module(node),
            TypeScriptKind::Declaration => self.declaration(node),
            TypeScriptKind::Declarator => return self.declarator(node),
            TypeScriptKind::Assignment => return self.assignment(node),
            TypeScriptKind::Pair => return self.pair(node),
            TypeScriptKind::Parameters => self.parameters(node),
            TypeScriptKind::ForIn => self.for_in(node),
            TypeScriptKind::Catch => self.catch(node),
            TypeScriptKind::Call => return self.call(node),
            TypeScriptKind::New => self.construction(node),
            TypeScriptKind::Jsx => self.element(node),
            TypeScriptKind::Decorator => self.decorator(node),
            TypeScriptKind::Extends | TypeScriptKind::Heritage => self.extends(node),
            TypeScriptKind::Implements => self.implements(node),
            TypeScriptKind::InterfaceExtends => self.interface_extends(node),
            TypeScriptKind::TypeName => self.type_name(node),
            TypeScriptKind::NestedType => return self.nested_type(node),
            TypeScriptKind::TypeParameter
            | TypeScriptKind::InferType
            | TypeScriptKind::MappedType => self.type_parameter(node),
            _ => {}
        }
        WalkStep::Children
    }

    fn comment(&mut self, node: Node<'_>) {
        if marks_generated(self.reader.text, node) {
            self.reader.set_generated();
        }
        self.state.comments.see(self.reader.text, node);
    }

    fn field<'n>(&self, node: Node<'n>, field: u16) -> Option<Node<'n>> {
        self.grammar.field(node, field)
    }

    fn is(&self, node: Node<'_>, kind: TypeScriptKind) -> bool {
        self.grammar.is(node, kind)
    }

    /// Returns what a name means where a node stands, if it is a variable of a function.
    fn local(&mut self, node: Node<'_>) -> Option<LocalValue> {
        let name = self.reader.of(node);
        self.state.locals.find(self.reader.text, name, node.start_byte())
    }

    fn in_function(&mut self, node: Node<'_>) -> bool {
        self.state.locals.in_function(node.start_byte())
    }

    fn scope_kind(&self) -> Option<ItemKind> {
        self.reader.scope().map(|(_, item)| item.kind)
    }

    /// Returns the name of the class that is open.
    fn own_class(&self) -> Option<&str> {
        let mut nearest = self.reader.scopes().take(MOST_SCOPES);
        let class = nearest.find(|item| item.kind == ItemKind::Class);
        class.map(|item| item.name.as_str())
    }

    /// Returns a definition of the file's own level, behind its `export` if it has one.
    fn definition(
        &mut self,
        kind: ItemKind,
        name: &'t str,
        node: Node<'_>,
        body: Option<Node<'_>>,
    ) -> ItemDefinition<'t> {
        let export = self.state.export.take();
        let start = export.unwrap_or(node.start_byte());
        let visibility = self.visibility(name, export.is_some());
        self.definition_from(start, kind, name, node, body).visibility(visibility)
    }

    fn definition_from(
        &self,
        start: usize,
        kind: ItemKind,
        name: &'t str,
        node: Node<'_>,
        body: Option<Node<'_>>,
    ) -> ItemDefinition<'t> {
        let doc = self.state.comments.above(self.reader.text, start);
        let mut definition =
            ItemDefinition::new(kind, name, node, body).doc(doc).starting_at(start);
        definition.signature.start = start.min(definition.signature.end);
        definition
    }

    fn visibility(&self, name: &str, is_exported: bool) -> Visibility {
        match is_exported || self.state.exported.contains(name) {
            true if name.starts_with('_') => Visibility::Restricted,
            true => Visibility::Public,
            false => Visibility::Private,
        }
    }

    /// Makes items of the file's own level public, the ones that come later too.
    fn give_away(&mut self, names: &HashSet<&str>) {
        for item in self.reader.items_mut() {
            let is_given = item.parent.is_none() && names.contains(item.name.as_str());
            if is_given && item.visibility == Visibility::Private {
                item.visibility = Visibility::Public;
            }
        }
        self.state.exported.extend(names.iter().map(|name| (*name).to_owned()));
    }

    /// Returns a name for the file's nameless default export: that of the file, which is what
    /// importing files mostly call it.
    fn default_name(&self) -> &'t str {
        let path = self.reader.path;
        let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
        match file.split('.').next().unwrap_or(file) {
            "index" if !directory.is_empty() => directory.rsplit('/').next().unwrap_or(directory),
            stem => stem,
        }
    }
}
