//! From names to edges: what the references and imports of files lead to.
//!
//! What a name means is a pure function of the reference, its file, and those that carry the
//! name. So for a whole tree all definitions are brought together first, and after a change
//! only those of the names that matter; the rest of the way is the same, on all cores.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use spore_index::{
    Access, CandidateItem, FileFacts, Import, Item, ItemKind, Language, Namesakes, Reference,
    ReferenceKind, ReferenceSite, Visibility,
};
use spore_model::EdgeKind;
use spore_store::{
    FileNo, FileRow, NodeNo, StoredEdge, StoredFile, StoredItem, StoredVisibility, Writer,
};

use super::encoding;
use crate::Result;

/// As much of a file as it takes to resolve its names.
pub(super) struct Lean {
    pub(super) no: FileNo,
    pub(super) path: String,
    language: Option<Language>,
    package: Option<String>,
    pub(super) import_name: String,
    /// Without signatures and documentation.
    pub(super) items: Vec<Item>,
    /// The nodes of the items.
    pub(super) numbers: Vec<NodeNo>,
    /// References and imports, encoded.
    facts: Vec<u8>,
    generated: bool,
}

impl Lean {
    /// Returns what is needed of a file that was just read. Its numbers are still to come.
    pub(super) fn new(row: &FileRow, items: Vec<Item>) -> Self {
        Self {
            no: 0,
            path: row.path.clone(),
            language: language(&row.language),
            package: row.package.clone(),
            import_name: row.import_name.clone(),
            items,
            numbers: Vec::new(),
            facts: row.facts.clone(),
            generated: row.marks.generated,
        }
    }

    /// Brings back what is needed of a file that was read before.
    pub(super) fn stored(file: StoredFile, items: &[StoredItem], facts: Vec<u8>) -> Self {
        let places: HashMap<NodeNo, u32> =
            (0..).zip(items).map(|(place, item)| (item.no, place)).collect();
        Self {
            no: file.no,
            language: language(&file.language),
            package: file.package,
            import_name: String::new(),
            items: items.iter().filter_map(|item| item_of(item, &places)).collect(),
            numbers: items.iter().map(|item| item.no).collect(),
            facts,
            generated: file.marks.generated,
            path: file.path,
        }
    }

    fn into_facts(self) -> Option<(String, FileNo, Vec<NodeNo>, FileFacts)> {
        let (references, imports) = encoding::decode(&self.facts)?;
        let facts = FileFacts {
            language: self.language?,
            doc: String::new(),
            items: self.items,
            references,
            imports,
            package: self.package,
            syntax_errors: 0,
            generated: self.generated,
        };
        Some((self.path, self.no, self.numbers, facts))
    }
}

fn language(word: &str) -> Option<Language> {
    Language::ALL.iter().copied().find(|language| language.as_str() == word)
}

fn item_kind(word: &str) -> Option<ItemKind> {
    ItemKind::ALL.into_iter().find(|kind| kind.as_str() == word)
}

fn visibility(stored: StoredVisibility) -> Visibility {
    match stored {
        StoredVisibility::Public => Visibility::Public,
        StoredVisibility::Restricted => Visibility::Restricted,
        StoredVisibility::Private => Visibility::Private,
    }
}

fn item_of(item: &StoredItem, places: &HashMap<NodeNo, u32>) -> Option<Item> {
    Some(Item {
        kind: item_kind(&item.kind)?,
        name: item.name.clone(),
        qualified: item.qualified.clone(),
        parent: places.get(&item.parent).copied(),
        bytes: item.bytes.0..item.bytes.1,
        lines: spore_index::ItemLines { first: item.lines.0, last: item.lines.1 },
        signature: String::new(),
        doc: String::new(),
        visibility: visibility(item.visibility),
    })
}

/// Returns the name to look up for a reference: what was imported under another name is
/// defined under its own.
pub(super) fn sought<'a>(facts: &'a FileFacts, reference: &'a Reference) -> &'a str {
    if reference.access != Access::Bare {
        return &reference.name;
    }
    let renamed = |import: &&Import| import.alias.as_deref() == Some(&reference.name);
    let import = facts.imports.iter().find(renamed);
    import.and_then(|import| import.name.as_deref()).unwrap_or(&reference.name)
}

/// Returns the name that a test speaks of in its own.
pub(super) fn subject(item: &Item) -> Option<&str> {
    if item.kind == ItemKind::Test { spore_index::tested_name(&item.name) } else { None }
}

/// A definition, by its name.
struct Definition {
    no: NodeNo,
    file: usize,
    kind: ItemKind,
    qualified: String,
    visibility: Visibility,
}

/// Those that carry the names in question, and the files that go by the imports in question.
#[derive(Default)]
pub(super) struct Known {
    /// Path and package, once for all definitions of a file.
    files: Vec<(String, Option<String>)>,
    definitions: HashMap<String, Vec<Definition>>,
    imports: HashMap<String, Vec<(String, FileNo)>>,
}

impl Known {
    /// Brings together all that these files define. They are the whole tree, by path.
    pub(super) fn of_all(leans: &[Lean]) -> Self {
        let mut known = Self::default();
        for lean in leans {
            let file = known.files.len();
            known.files.push((lean.path.clone(), lean.package.clone()));
            for (item, no) in lean.items.iter().zip(&lean.numbers) {
                let definition = Definition {
                    no: *no,
                    file,
                    kind: item.kind,
                    qualified: item.qualified.clone(),
                    visibility: item.visibility,
                };
                match known.definitions.get_mut(item.name.as_str()) {
                    Some(list) => list.push(definition),
                    None => {
                        known.definitions.insert(item.name.clone(), vec![definition]);
                    }
                }
            }
            let imported = known.imports.entry(lean.import_name.clone()).or_default();
            imported.push((lean.path.clone(), lean.no));
        }
        known
    }

    /// Looks up the names in question.
    pub(super) fn of_names(
        writer: &Writer<'_>,
        names: &HashSet<String>,
        imports: &HashSet<String>,
    ) -> Result<Self> {
        let mut known = Self::default();
        let mut places: HashMap<FileNo, usize> = HashMap::new();
        for name in names {
            let mut list = Vec::new();
            for namesake in writer.namesakes(name)? {
                let file = match places.get(&namesake.file) {
                    Some(place) => *place,
                    None => {
                        let Some(file) = writer.file(namesake.file)? else { continue };
                        known.files.push((file.path, file.package));
                        places.insert(namesake.file, known.files.len() - 1);
                        known.files.len() - 1
                    }
                };
                list.extend(item_kind(&namesake.kind).map(|kind| Definition {
                    no: namesake.no,
                    file,
                    kind,
                    qualified: namesake.qualified,
                    visibility: visibility(namesake.visibility),
                }));
            }
            if !list.is_empty() {
                known.definitions.insert(name.clone(), list);
            }
        }
        for name in imports {
            let files = writer.files_imported_as(name)?;
            let files = files.into_iter().map(|(no, path)| (path, no)).collect();
            known.imports.insert(name.clone(), files);
        }
        Ok(known)
    }
}

/// A file to resolve, and how much of it.
pub(super) struct Task {
    pub(super) lean: Lean,
    /// Only these names, and the imports or not; everything if there is none.
    pub(super) only: Option<Only>,
}

#[derive(Clone)]
pub(super) struct Only {
    pub(super) names: std::sync::Arc<HashSet<String>>,
    pub(super) imports: bool,
}

/// Adds the names that a file looks up to those in question.
pub(super) fn names_of(lean: &Lean, names: &mut HashSet<String>, imports: &mut HashSet<String>) {
    let Some((references, imported)) = encoding::decode(&lean.facts) else { return };
    let Some(language) = lean.language else { return };
    let facts = FileFacts {
        language,
        doc: String::new(),
        items: Vec::new(),
        references,
        imports: imported,
        package: None,
        syntax_errors: 0,
        generated: false,
    };
    let subjects = lean.items.iter().filter_map(subject);
    for name in facts.references.iter().map(|it| sought(&facts, it)).chain(subjects) {
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
    }
    for import in &facts.imports {
        for name in spore_index::imported_file_names(import) {
            if !imports.contains(name.as_ref()) {
                imports.insert(name.into_owned());
            }
        }
    }
}

/// Resolves all these files on this many threads.
pub(super) fn resolve(known: &Known, tasks: Vec<Task>, threads: usize) -> Vec<StoredEdge> {
    let ready = Ready::of(known);
    let tasks = Mutex::new(tasks.into_iter());
    let next = || tasks.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    let work = || {
        let mut edges = Vec::new();
        while let Some(task) = next() {
            ready.edges_of(task, &mut edges);
        }
        edges
    };
    let parts: Vec<Vec<StoredEdge>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    parts.concat()
}

/// What is known, in the resolver's own words.
struct Ready<'a> {
    names: HashMap<&'a str, (Namesakes<'a>, &'a [Definition])>,
    imports: &'a HashMap<String, Vec<(String, FileNo)>>,
}

impl<'a> Ready<'a> {
    fn of(known: &'a Known) -> Self {
        let names = known.definitions.iter().map(|(name, list)| {
            let candidates = list.iter().map(|definition| {
                let (path, package) = &known.files[definition.file];
                CandidateItem {
                    path,
                    package: package.as_deref(),
                    kind: definition.kind,
                    qualified: &definition.qualified,
                    visibility: definition.visibility,
                }
            });
            (name.as_str(), (Namesakes::new(candidates.collect()), list.as_slice()))
        });
        Self { names: names.collect(), imports: &known.imports }
    }

    fn edges_of(&self, task: Task, edges: &mut Vec<StoredEdge>) {
        let Some((path, no, numbers, facts)) = task.lean.into_facts() else { return };
        let site = ReferenceSite { path: &path, facts: &facts };
        let in_question =
            |name: &str| task.only.as_ref().is_none_or(|only| only.names.contains(name));
        for reference in &facts.references {
            let name = sought(&facts, reference);
            let Some(ready) = self.names.get(name).filter(|_| in_question(name)) else { continue };
            let scope = reference.scope.and_then(|scope| numbers.get(scope as usize));
            let source = scope.copied().unwrap_or(no);
            let kind = edge_kind(reference.kind, reference.scope, &facts.items);
            let test = test_around(reference, &facts.items);
            let test = test.and_then(|test| numbers.get(test as usize)).copied();
            for meaning in spore_index::resolve(site, reference, &ready.0) {
                add_meaning(edges, ready, meaning, source, kind);
                if let Some(test) = test {
                    add_meaning(edges, ready, meaning, test, EdgeKind::Tests);
                }
            }
        }
        for (item, number) in facts.items.iter().zip(&numbers) {
            let name = subject(item).filter(|name| in_question(name));
            let Some(ready) = name.and_then(|name| self.names.get(name)) else { continue };
            for meaning in spore_index::subject_of_test(site, item, &ready.0) {
                add_meaning(edges, ready, meaning, *number, EdgeKind::Tests);
            }
        }
        if task.only.is_none_or(|only| only.imports) {
            self.imports_of(site, no, edges);
        }
    }

    fn imports_of(&self, site: ReferenceSite<'_>, no: FileNo, edges: &mut Vec<StoredEdge>) {
        let mut files: Vec<(&str, FileNo)> = Vec::new();
        let mut paths: Vec<&str> = Vec::new();
        for import in &site.facts.imports {
            let names = spore_index::imported_file_names(import);
            files.clear();
            for list in names.iter().filter_map(|name| self.imports.get(name.as_ref())) {
                files.extend(list.iter().map(|(path, no)| (path.as_str(), *no)));
            }
            // Each list is sorted, and mostly there is one.
            if !files.is_sorted() {
                files.sort_unstable();
            }
            files.dedup();
            paths.clear();
            paths.extend(files.iter().map(|(path, _)| path));
            for meaning in spore_index::resolve_import(site, import, &paths) {
                if let Some((_, target)) = files.get(meaning.candidate) {
                    let confidence = thousandths(meaning.confidence);
                    let kind = EdgeKind::Imports;
                    push(edges, StoredEdge { source: no, kind, target: *target, confidence });
                }
            }
        }
    }
}

fn add_meaning(
    edges: &mut Vec<StoredEdge>,
    (_, definitions): &(Namesakes<'_>, &[Definition]),
    meaning: spore_index::Meaning,
    source: NodeNo,
    kind: EdgeKind,
) {
    let Some(target) = definitions.get(meaning.candidate) else { return };
    // A test that calls another is no test of it.
    if kind != EdgeKind::Tests || target.kind != ItemKind::Test {
        let confidence = thousandths(meaning.confidence);
        push(edges, StoredEdge { source, kind, target: target.no, confidence });
    }
}

/// What leads back to where it starts says nothing.
fn push(edges: &mut Vec<StoredEdge>, edge: StoredEdge) {
    if edge.source != edge.target {
        edges.push(edge);
    }
}

fn edge_kind(kind: ReferenceKind, scope: Option<u32>, items: &[Item]) -> EdgeKind {
    match kind {
        ReferenceKind::Call | ReferenceKind::Macro => EdgeKind::Calls,
        ReferenceKind::Type => EdgeKind::UsesType,
        ReferenceKind::Implements => EdgeKind::Implements,
        ReferenceKind::Extends => EdgeKind::Extends,
        ReferenceKind::Mention => {
            let scope = scope.and_then(|scope| items.get(scope as usize));
            let in_code = scope.is_some_and(|item| item.kind != ItemKind::Section);
            if in_code { EdgeKind::References } else { EdgeKind::Documents }
        }
    }
}

/// Returns the test that a call is made in.
fn test_around(reference: &Reference, items: &[Item]) -> Option<u32> {
    if !matches!(reference.kind, ReferenceKind::Call | ReferenceKind::Macro) {
        return None;
    }
    let mut scope = reference.scope;
    while let Some(place) = scope {
        let item = items.get(place as usize)?;
        if item.kind == ItemKind::Test {
            return Some(place);
        }
        scope = item.parent.filter(|parent| *parent < place);
    }
    None
}

pub(super) fn thousandths(confidence: f64) -> u16 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 1000")]
    let number = (confidence * 1000.0).round().clamp(1.0, 1000.0) as u16;
    number
}
