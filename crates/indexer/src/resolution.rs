//! From names to edges: what the references and imports of files lead to.
//!
//! What a name means is a pure function of the reference, its file, and those that carry the
//! name. So for a whole tree all definitions are brought together first, and after a change
//! only those of the names that matter; the rest of the way is the same, on all cores.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use spore_index::{
    CandidateItem, Item, ItemKind, Namesakes, Reference, ReferenceKind, ReferenceSite, Visibility,
};
use spore_model::EdgeKind;
use spore_store::{FileNo, NodeNo, StoredEdge, Writer};

use crate::error::Result;
use crate::lean::{LeanFile, item_kind, sought, subject, visibility};

/// A definition, by its name.
struct NamedItem {
    no: NodeNo,
    file: usize,
    kind: ItemKind,
    qualified: String,
    visibility: Visibility,
}

/// Those that carry the names in question, and the files that go by the imports in question.
#[derive(Default)]
pub(crate) struct KnownNames {
    /// Path and package, once for all definitions of a file.
    files: Vec<(String, Option<String>)>,
    definitions: HashMap<String, Vec<NamedItem>>,
    imports: HashMap<String, Vec<(String, FileNo)>>,
}

impl KnownNames {
    /// Brings together all that these files define. They are the whole tree, by path.
    pub(crate) fn of_all(leans: &[LeanFile]) -> Self {
        let mut known = Self::default();
        for lean in leans {
            let file = known.files.len();
            known.files.push((lean.path.clone(), lean.package.clone()));
            for (item, no) in lean.items.iter().zip(&lean.numbers) {
                let definition = NamedItem {
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
    pub(crate) fn of_names(
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
                list.extend(item_kind(&namesake.kind).map(|kind| NamedItem {
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
pub(crate) struct ResolveTask {
    pub(crate) lean: LeanFile,
    /// ResolveOnly these names, and the imports or not; everything if there is none.
    pub(crate) only: Option<ResolveOnly>,
}

/// The part of an unchanged file that is resolved again.
#[derive(Clone)]
pub(crate) struct ResolveOnly {
    pub(crate) names: std::sync::Arc<HashSet<String>>,
    pub(crate) imports: bool,
}

/// Resolves all these files on this many threads.
pub(crate) fn resolve(
    known: &KnownNames,
    tasks: Vec<ResolveTask>,
    threads: usize,
) -> Vec<StoredEdge> {
    let ready = NameTable::of(known);
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

/// What is known of each name, as the resolver takes it.
struct NameTable<'a> {
    names: HashMap<&'a str, (Namesakes<'a>, &'a [NamedItem])>,
    imports: &'a HashMap<String, Vec<(String, FileNo)>>,
}

impl<'a> NameTable<'a> {
    fn of(known: &'a KnownNames) -> Self {
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

    fn edges_of(&self, task: ResolveTask, edges: &mut Vec<StoredEdge>) {
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
    (_, definitions): &(Namesakes<'_>, &[NamedItem]),
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

pub(crate) fn thousandths(confidence: f64) -> u16 {
    (confidence * 1000.0).round().clamp(1.0, 1000.0) as u16
}
