//! As much of a file as it takes to resolve its names.

use std::collections::{HashMap, HashSet};

use spore_index::{Access, FileFacts, Import, Item, ItemKind, Language, Reference, Visibility};
use spore_store::{FileNo, FileRow, NodeNo, StoredFile, StoredItem, StoredVisibility};

use crate::encoding;

/// As much of a file as it takes to resolve its names.
pub(crate) struct LeanFile {
    pub(crate) no: FileNo,
    pub(crate) path: String,
    language: Option<Language>,
    pub(crate) package: Option<String>,
    pub(crate) import_name: String,
    /// Without signatures and documentation.
    pub(crate) items: Vec<Item>,
    /// The nodes of the items.
    pub(crate) numbers: Vec<NodeNo>,
    /// References and imports, encoded.
    facts: Vec<u8>,
    generated: bool,
}

impl LeanFile {
    /// Returns what is needed of a file that was just read. Its numbers are still to come.
    pub(crate) fn new(row: &FileRow, items: Vec<Item>) -> Self {
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
    pub(crate) fn stored(file: StoredFile, items: &[StoredItem], facts: Vec<u8>) -> Self {
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

    pub(crate) fn into_facts(self) -> Option<(String, FileNo, Vec<NodeNo>, FileFacts)> {
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

pub(crate) fn item_kind(word: &str) -> Option<ItemKind> {
    ItemKind::ALL.into_iter().find(|kind| kind.as_str() == word)
}

pub(crate) fn visibility(stored: StoredVisibility) -> Visibility {
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
pub(crate) fn sought<'a>(facts: &'a FileFacts, reference: &'a Reference) -> &'a str {
    if reference.access != Access::Bare {
        return &reference.name;
    }
    let renamed = |import: &&Import| import.alias.as_deref() == Some(&reference.name);
    let import = facts.imports.iter().find(renamed);
    import.and_then(|import| import.name.as_deref()).unwrap_or(&reference.name)
}

/// Returns the name that a test speaks of in its own.
pub(crate) fn subject(item: &Item) -> Option<&str> {
    if item.kind == ItemKind::Test { spore_index::tested_name(&item.name) } else { None }
}

/// Adds the names that a file looks up to those in question.
pub(crate) fn names_of(
    lean: &LeanFile,
    names: &mut HashSet<String>,
    imports: &mut HashSet<String>,
) {
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
