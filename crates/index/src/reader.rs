//! What all adapters share: the walk over a syntax tree, and the facts that grow on the way.
//!
//! The walk keeps its own stack, because a text can nest deeper than a thread's stack is
//! long. An adapter is asked about every node on the way down and says what it is; which item
//! everything belongs to follows from what is open at that point.

use std::collections::HashMap;
use std::ops::Range;

use tree_sitter::{Node, Tree};

use crate::parse::parse;
use crate::{
    Access, FileFacts, Import, Item, ItemKind, ItemLines, Language, Reference, ReferenceKind,
    Visibility,
};

/// A longer signature is cut: it is for a line of a table.
const MAX_SIGNATURE: usize = 300;
/// Longer documentation is cut: search needs its beginning.
const MAX_DOC: usize = 2_000;
/// More references than a person writes in a file; a generated table may have millions.
const MAX_REFERENCES: usize = 50_000;

/// How long the names before a name may be. A text that nests fifty thousand deep would be
/// gigabytes of them.
const MAX_PREFIX: usize = 240;
/// How far back a type that is named again is looked for.
const RECENT: usize = 24;
/// How many variables are told apart at one place.
const MAX_LOCALS: usize = 512;

/// How one language's tree is read.
pub(crate) trait Adapter {
    fn grammar(&self) -> tree_sitter::Language;

    /// Looks at a node on the way down and records what it says.
    fn visit(&self, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep;
}

/// Where the walk goes from a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalkStep {
    /// Into its children.
    Children,
    /// Into its children, which are inside of the item that was opened for it.
    Within,
    /// Into its children; the names that are bound there are forgotten after it.
    Scope,
    /// Past it: what is below says nothing, or has been looked at.
    Past,
}

/// An item as an adapter sees it.
pub(crate) struct ItemDefinition<'t> {
    pub(crate) kind: ItemKind,
    pub(crate) name: &'t str,
    /// From its first attribute or decorator to its end.
    pub(crate) whole: Range<usize>,
    /// The signature is what stands before this; the whole text if there is none.
    pub(crate) signature: Range<usize>,
    pub(crate) doc: String,
    pub(crate) visibility: Visibility,
}

impl<'t> ItemDefinition<'t> {
    /// Returns a definition that spans `node`, whose signature ends where `body` begins.
    pub(crate) fn new(
        kind: ItemKind,
        name: &'t str,
        node: Node<'_>,
        body: Option<Node<'_>>,
    ) -> Self {
        let end = body.map_or(node.end_byte(), |body| body.start_byte());
        Self {
            kind,
            name,
            whole: node.byte_range(),
            signature: node.start_byte()..end,
            doc: String::new(),
            visibility: Visibility::Private,
        }
    }

    pub(crate) fn doc(mut self, doc: String) -> Self {
        self.doc = doc;
        self
    }

    pub(crate) fn visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = visibility;
        self
    }

    /// Starts the item earlier than its node, at an attribute or decorator.
    pub(crate) fn starting_at(mut self, start: usize) -> Self {
        self.whole.start = start;
        self
    }
}

/// The facts of one file while they are read.
pub(crate) struct FactReader<'t> {
    pub(crate) path: &'t str,
    pub(crate) text: &'t str,
    facts: FileFacts,
    /// The items that are open, each with the words it puts before the names inside of it.
    open: Vec<(u32, String)>,
    lines: LineStarts,
    locals: Vec<LocalName<'t>>,
    /// By the type that has them: what its fields are.
    fields: HashMap<(String, &'t str), &'t str>,
    lead: Lead,
    /// By the place of what holds them: who may use the members that come next.
    member_visibility: HashMap<u32, Visibility>,
    tokens: Tokens<'t>,
    /// Where nodes begin that an adapter has dealt with before the walk reaches them.
    skipped: Vec<usize>,
    /// The modules that the file declares to be files of their own.
    declared_modules: Vec<&'t str>,
}

/// Where the walk is in text that the grammar gives only tokens of.
#[derive(Default)]
struct Tokens<'t> {
    end: usize,
    /// A function's name and where its head begins, until its body comes.
    function: Option<(&'t str, usize)>,
}

/// A name of a variable, and from where on it is one.
struct LocalName<'t> {
    name: &'t str,
    of_type: Option<&'t str>,
    from: usize,
}

/// The documentation and attributes that were met last. They belong to whatever begins right
/// behind them.
#[derive(Default)]
struct Lead {
    docs: Vec<Range<usize>>,
    attributes: Vec<Range<usize>>,
    end: usize,
}

impl<'t> FactReader<'t> {
    pub(crate) fn new(path: &'t str, text: &'t str, language: Language) -> Self {
        let facts = FileFacts {
            language,
            doc: String::new(),
            items: Vec::new(),
            references: Vec::new(),
            imports: Vec::new(),
            package: None,
            syntax_errors: 0,
            generated: false,
        };
        Self {
            path,
            text,
            facts,
            open: Vec::new(),
            lines: LineStarts::of(text),
            locals: Vec::new(),
            fields: HashMap::new(),
            lead: Lead::default(),
            member_visibility: HashMap::new(),
            tokens: Tokens::default(),
            skipped: Vec::new(),
            declared_modules: Vec::new(),
        }
    }

    pub(crate) fn finish(mut self) -> FileFacts {
        self.restore_names();
        self.facts
    }

    /// Records names that were imported under another one by their real name, reached through
    /// the alias: definitions are found by the names they carry.
    fn restore_names(&mut self) {
        let FileFacts { references, imports, .. } = &mut self.facts;
        let aliased = imports.iter().filter_map(|import| {
            let name = import.name.as_deref().filter(|name| *name != "default")?;
            Some((import.alias.as_deref()?, name))
        });
        let names: HashMap<_, _> = aliased.filter(|(alias, name)| alias != name).collect();
        if names.is_empty() {
            return;
        }
        for reference in references.iter_mut().filter(|it| it.access == Access::Bare) {
            if let Some(name) = names.get(reference.name.as_str()) {
                let alias = std::mem::replace(&mut reference.name, (*name).to_owned());
                reference.access = Access::Path(alias);
            }
        }
    }

    /// Returns the text of a node.
    pub(crate) fn of(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or("")
    }

    /// Returns the text of a node's field; nothing if it has none.
    pub(crate) fn field(&self, node: Node<'_>, name: &str) -> Option<&'t str> {
        node.child_by_field_name(name).map(|child| self.of(child))
    }

    /// Returns the innermost item that is open, with its place among the items.
    pub(crate) fn scope(&self) -> Option<(u32, &Item)> {
        let (place, _) = self.open.last()?;
        Some((*place, &self.facts.items[*place as usize]))
    }

    /// Returns the open items from the innermost outwards.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &Item> {
        self.open.iter().rev().map(|(place, _)| &self.facts.items[*place as usize])
    }

    pub(crate) fn items_mut(&mut self) -> &mut Vec<Item> {
        &mut self.facts.items
    }

    pub(crate) fn set_package(&mut self, package: &str) {
        self.facts.package = Some(package.to_owned());
    }

    pub(crate) fn package(&self) -> Option<&str> {
        self.facts.package.as_deref()
    }

    /// Notes who may use the open item's members from here on: `private:`.
    pub(crate) fn set_member_visibility(&mut self, visibility: Visibility) {
        if let Some((place, _)) = self.open.last() {
            self.member_visibility.insert(*place, visibility);
        }
    }

    /// Returns how far the next member of the open item can be seen; everywhere, if the file has
    /// not said otherwise.
    pub(crate) fn member_visibility(&self) -> Visibility {
        let noted = self.open.last().and_then(|(place, _)| self.member_visibility.get(place));
        noted.copied().unwrap_or(Visibility::Public)
    }

    pub(crate) fn set_generated(&mut self) {
        self.facts.generated = true;
    }

    /// Records an item; what is below it belongs to whatever was open before.
    pub(crate) fn define(&mut self, definition: ItemDefinition<'t>) -> u32 {
        let qualified = self.qualified(definition.name);
        self.push(definition, qualified)
    }

    /// Records an item and opens it: answer with [`WalkStep::Within`].
    pub(crate) fn open(&mut self, definition: ItemDefinition<'t>) -> u32 {
        let qualified = self.qualified(definition.name);
        self.open_as(definition, qualified.clone(), qualified)
    }

    /// Records and opens an item that is called otherwise than its contents' names begin: a
    /// Rust `impl Display for Point` is called that, and holds `Point::fmt`.
    pub(crate) fn open_as(
        &mut self,
        definition: ItemDefinition<'t>,
        qualified: String,
        prefix: String,
    ) -> u32 {
        let place = self.push(definition, qualified);
        self.open.push((place, prefix));
        place
    }

    /// Closes the item that was opened last, where no walk does it.
    pub(crate) fn close(&mut self) {
        self.open.pop();
    }

    /// Returns a name behind the names of what is open.
    pub(crate) fn qualified(&self, name: &str) -> String {
        match self.open.last() {
            Some((_, prefix)) if !prefix.is_empty() => {
                format!("{}::{name}", cut(prefix, MAX_PREFIX))
            }
            _ => name.to_owned(),
        }
    }

    fn push(&mut self, definition: ItemDefinition<'t>, mut qualified: String) -> u32 {
        let ItemDefinition { kind, mut name, whole, signature, doc, visibility } = definition;
        // Where the syntax is broken, the grammar may have put a name in that is not there.
        if name.trim().is_empty() {
            name = "_";
            qualified.push('_');
        }
        let place = to_u32(self.facts.items.len());
        let last_byte = whole.end.saturating_sub(1).max(whole.start);
        let lines = ItemLines {
            first: self.lines.line_of(whole.start),
            last: self.lines.line_of(last_byte),
        };
        self.facts.items.push(Item {
            kind,
            name: name.to_owned(),
            qualified,
            parent: self.open.last().map(|(place, _)| *place),
            bytes: to_u32(whole.start)..to_u32(whole.end),
            lines,
            signature: one_line(self.text.get(signature).unwrap_or(""), MAX_SIGNATURE),
            doc: cut(doc.trim(), MAX_DOC).to_owned(),
            visibility,
        });
        place
    }

    /// Records that the open item uses a name.
    pub(crate) fn refer(&mut self, kind: ReferenceKind, name: &str, access: Access, at: usize) {
        if name.is_empty() || self.facts.references.len() >= MAX_REFERENCES {
            return;
        }
        self.facts.references.push(Reference {
            kind,
            name: name.to_owned(),
            access,
            scope: self.open.last().map(|(place, _)| *place),
            line: self.lines.line_of(at),
        });
    }

    /// Records a type that the open item names; once, however often it does.
    pub(crate) fn refer_to_type(&mut self, name: &str, access: Access, at: usize) {
        let scope = self.open.last().map(|(place, _)| *place);
        let known = self.facts.references.iter().rev().take(RECENT).any(|other| {
            other.kind == ReferenceKind::Type
                && other.scope == scope
                && other.name == name
                && other.access == access
        });
        if !known {
            self.refer(ReferenceKind::Type, name, access, at);
        }
    }

    pub(crate) fn import(&mut self, mut import: Import, at: usize) {
        let mut words = import.segments.iter().chain(&import.name).chain(&import.alias);
        // Where the syntax is broken, a word may be half of the next statement.
        if words.any(|word| word.contains(['\n', '\r'])) {
            return;
        }
        import.line = self.lines.line_of(at);
        self.facts.imports.push(import);
    }

    /// Returns the name of the type that the open items belong to, as its members' qualified
    /// names begin.
    pub(crate) fn own_type(&self) -> Option<&str> {
        let holds = |place: &u32| self.facts.items[*place as usize].kind.holds_members();
        self.open.iter().rev().find(|(place, _)| holds(place)).map(|(_, prefix)| prefix.as_str())
    }

    /// Notes that from a byte on a name is that of a variable, with its type if the text shows
    /// it. It is forgotten at the end of the innermost [`WalkStep::Scope`] or [`WalkStep::Within`].
    pub(crate) fn bind(&mut self, name: &'t str, of_type: Option<&'t str>, from: usize) {
        if self.locals.len() < MAX_LOCALS {
            self.locals.push(LocalName { name, of_type, from });
        }
    }

    /// Returns the type of a variable as it is known; the outer nothing if there is no such
    /// variable at that byte.
    pub(crate) fn local(&self, name: &str, at: usize) -> Option<Option<&'t str>> {
        let found = self.locals.iter().rev().find(|local| local.name == name && local.from <= at);
        found.map(|local| local.of_type)
    }

    /// Notes the type of a field.
    pub(crate) fn bind_field(&mut self, owner: String, name: &'t str, of_type: &'t str) {
        self.fields.entry((owner, name)).or_insert(of_type);
    }

    pub(crate) fn field_type(&self, owner: &str, name: &'t str) -> Option<&'t str> {
        self.fields.get(&(owner.to_owned(), name)).copied()
    }

    /// Notes a comment that documents what follows.
    pub(crate) fn lead_doc(&mut self, range: Range<usize>) {
        self.extend_lead(&range);
        self.lead.docs.push(range);
    }

    /// Notes an attribute of what follows.
    pub(crate) fn lead_attribute(&mut self, range: Range<usize>) {
        self.extend_lead(&range);
        self.lead.attributes.push(range);
    }

    /// Notes a plain comment, which parts nothing from its documentation.
    pub(crate) fn lead_comment(&mut self, range: Range<usize>) {
        self.extend_lead(&range);
    }

    fn extend_lead(&mut self, range: &Range<usize>) {
        if !self.leads_to(range.start) {
            self.lead.docs.clear();
            self.lead.attributes.clear();
        }
        self.lead.end = range.end;
    }

    fn leads_to(&self, start: usize) -> bool {
        let between = self.text.get(self.lead.end..start);
        between.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_whitespace()))
    }

    /// Returns the comments that document what begins at a byte.
    pub(crate) fn docs_before(&self, start: usize) -> impl Iterator<Item = &'t str> {
        let docs = if self.leads_to(start) { self.lead.docs.as_slice() } else { &[] };
        docs.iter().filter_map(|range| self.text.get(range.clone()))
    }

    /// Returns the attributes of what begins at a byte.
    pub(crate) fn attributes_before(&self, start: usize) -> impl Iterator<Item = &'t str> {
        let attributes = if self.leads_to(start) { self.lead.attributes.as_slice() } else { &[] };
        attributes.iter().filter_map(|range| self.text.get(range.clone()))
    }

    /// Returns where what begins at a byte begins with its attributes.
    pub(crate) fn start_with_attributes(&self, start: usize) -> usize {
        let first = self.lead.attributes.first().filter(|_| self.leads_to(start));
        first.map_or(start, |range| range.start)
    }

    /// Notes that up to a byte the grammar gives tokens only.
    pub(crate) fn enter_tokens(&mut self, end: usize) {
        self.tokens.end = self.tokens.end.max(end);
    }

    pub(crate) fn in_tokens(&self, at: usize) -> bool {
        at < self.tokens.end
    }

    /// Notes a function's head among tokens; the next tokens in braces are its body.
    pub(crate) fn expect_token_function(&mut self, name: &'t str, start: usize) {
        self.tokens.function = Some((name, start));
    }

    pub(crate) fn take_token_function(&mut self) -> Option<(&'t str, usize)> {
        self.tokens.function.take()
    }

    /// Notes that the node at a byte has been dealt with.
    pub(crate) fn skip(&mut self, at: usize) {
        self.skipped.push(at);
    }

    pub(crate) fn skips(&self, at: usize) -> bool {
        self.skipped.iter().rev().take_while(|skipped| **skipped >= at).any(|it| *it == at)
    }

    pub(crate) fn declare_module(&mut self, name: &'t str) {
        self.declared_modules.push(name);
    }

    pub(crate) fn declares_module(&self, name: &str) -> bool {
        self.declared_modules.contains(&name)
    }

    /// Adds words to the documentation of the open item, or of the file.
    pub(crate) fn add_inner_doc(&mut self, words: &str) {
        let doc = match self.open.last() {
            Some((place, _)) => &mut self.facts.items[*place as usize].doc,
            None => &mut self.facts.doc,
        };
        if !doc.is_empty() {
            doc.push('\n');
        }
        doc.push_str(words);
        doc.truncate(cut(doc, MAX_DOC).len());
    }
}

/// Reads a text with a grammar and walks its tree.
pub(crate) fn read_with(
    adapter: &dyn Adapter,
    path: &str,
    text: &str,
    language: Language,
) -> FileFacts {
    let mut reader = FactReader::new(path, text, language);
    if let Some(tree) = parse(adapter, text, language) {
        walk(adapter, &mut reader, &tree);
    } else {
        reader.facts.syntax_errors = 1;
    }
    reader.finish()
}

fn walk(adapter: &dyn Adapter, reader: &mut FactReader<'_>, tree: &Tree) {
    let mut cursor = tree.walk();
    let broken = tree.root_node().has_error();
    // For every node on the way from the root, how it was entered and which names were known.
    let mut entered = Vec::new();
    loop {
        let node = cursor.node();
        if broken && (node.is_error() || node.is_missing()) {
            reader.facts.syntax_errors += 1;
        }
        let known = reader.locals.len();
        let visit = adapter.visit(reader, node);
        if visit != WalkStep::Past && cursor.goto_first_child() {
            entered.push((visit, known));
            continue;
        }
        leave(reader, visit, known);
        while !cursor.goto_next_sibling() {
            let Some((visit, known)) = entered.pop() else { return };
            cursor.goto_parent();
            leave(reader, visit, known);
        }
    }
}

fn leave(reader: &mut FactReader<'_>, visit: WalkStep, known: usize) {
    match visit {
        WalkStep::Within => {
            reader.open.pop();
            reader.locals.truncate(known);
        }
        WalkStep::Scope => reader.locals.truncate(known),
        WalkStep::Children | WalkStep::Past => {}
    }
}

/// Where each line of a text begins.
struct LineStarts(Vec<u32>);

impl LineStarts {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self(std::iter::once(0).chain(breaks.map(|(at, _)| to_u32(at + 1))).collect())
    }

    /// Returns the line of a byte, counted from 1.
    fn line_of(&self, byte: usize) -> u32 {
        to_u32(self.0.partition_point(|start| *start as usize <= byte))
    }
}

/// Returns the text with every run of white space as one blank, cut at a length.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most {
            break;
        }
    }
    cut(&line, most).to_owned()
}

/// Returns whether a comment says that a program wrote the file.
pub(crate) fn says_generated(comment: &str) -> bool {
    let lower = comment.to_ascii_lowercase();
    let marks = ["@generated", "do not edit", "automatically generated", "autogenerated"];
    marks.iter().any(|mark| lower.contains(mark))
}

/// Returns as much of a text as fits, in whole characters.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Which of an adapter's own kinds a node is, found by the grammar's number for it: comparing
/// numbers is far cheaper than comparing names, and a walk does it for every node.
pub(crate) struct Kinds<K>(Vec<Option<K>>);

impl<K: Copy> Kinds<K> {
    /// Builds the table from the grammar's names of named nodes. A name that the grammar does
    /// not have is left out; the golden test of the language would miss what it stands for.
    pub(crate) fn new(grammar: &tree_sitter::Language, names: &[(&str, K)]) -> Self {
        let mut table = vec![None; grammar.node_kind_count()];
        for (id, slot) in table.iter_mut().enumerate() {
            let Ok(id) = u16::try_from(id) else { break };
            if grammar.node_kind_is_named(id) {
                let name = grammar.node_kind_for_id(id).unwrap_or("");
                *slot = names.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
            }
        }
        Self(table)
    }

    /// Returns what a node is; nothing for a node that no rule is about.
    pub(crate) fn of(&self, node: Node<'_>) -> Option<K> {
        *self.0.get(usize::from(node.kind_id()))?
    }
}
