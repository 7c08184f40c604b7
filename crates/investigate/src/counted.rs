//! The entries that counting alone can write: one for each directory and each file.
//!
//! They say what is there and how much, and that no model has read it. A model's entry about
//! the same content is worth more, so these never replace one that is not stale.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use spore_model::Timestamp;
use tokei::LanguageType;

use crate::entry::{EntryKind, InvestigationEntry};
use crate::file_reader::ScannedKind;
use crate::shown::{many, path_text, size_text};
use crate::staleness::EntryPlace;
use crate::tree::{Dir, File, Tree};

/// Counting is never wrong and never knows what for.
const CONFIDENCE: f64 = 0.3;
const REASON: &str = "counted, not read";
/// How many languages a directory is said to have.
const NAMED: usize = 3;

/// Writes the entries of a tree.
pub struct Counting<'a> {
    tree: &'a Tree,
    /// Where the target is, from the project's root.
    base: &'a Path,
    scope: String,
    now: Timestamp,
    /// Files and lines of code by language, for each directory with all that is below it.
    languages: Vec<BTreeMap<LanguageType, (u64, u64)>>,
}

impl<'a> Counting<'a> {
    pub fn new(tree: &'a Tree, base: &'a Path, scope: String, now: Timestamp) -> Self {
        let mut languages: Vec<BTreeMap<LanguageType, (u64, u64)>> =
            vec![BTreeMap::new(); tree.dirs.len()];
        for file in &tree.files {
            let Some(language) = file.language else { continue };
            let mut at = Some(file.dir);
            while let Some(dir) = at {
                let (files, code) = languages[dir].entry(language).or_default();
                (*files, *code) = (*files + 1, *code + u64::from(file.code));
                at = tree.dirs[dir].parent;
            }
        }
        Self { tree, base, scope, now, languages }
    }

    /// The hash that each place has now.
    pub fn hashes(&self) -> BTreeMap<EntryPlace, String> {
        let dirs = self.tree.dirs.iter();
        let dirs = dirs.map(|dir| ((EntryKind::Directory, self.path(&dir.path)), dir.hash));
        let files = self.tree.files.iter().filter(|file| file.kind.is_file());
        let files =
            files.map(|file| ((EntryKind::File, self.path(&self.tree.path_of(file))), file.hash));
        dirs.chain(files).map(|(place, hash)| (place, hash.to_string())).collect()
    }

    /// All entries, directories first.
    pub fn entries(&self) -> impl Iterator<Item = (EntryKind, InvestigationEntry)> {
        let dirs = self.tree.dirs.iter().enumerate();
        let dirs = dirs.map(|(number, dir)| (EntryKind::Directory, self.directory(number, dir)));
        let files = self.tree.files.iter().filter(|file| file.kind.is_file());
        dirs.chain(files.map(|file| (EntryKind::File, self.file(file))))
    }

    /// From the project's root; `.` is the root itself.
    fn path(&self, below: &Path) -> String {
        named(&self.base.join(below))
    }

    fn directory(&self, number: usize, dir: &Dir) -> InvestigationEntry {
        InvestigationEntry {
            child_count: Some(dir.child_count() as u64),
            dominant_category: Some(dir.sums.dominant()),
            ..self.entry(&dir.path, self.directory_summary(number, dir), dir.hash.to_string())
        }
    }

    fn file(&self, file: &File) -> InvestigationEntry {
        let path = self.tree.path_of(file);
        InvestigationEntry {
            size_bytes: Some(file.size),
            category: Some(file.category),
            ..self.entry(&path, file_summary(file), file.hash.to_string())
        }
    }

    fn entry(&self, below: &Path, summary: String, hash: String) -> InvestigationEntry {
        InvestigationEntry {
            path: self.path(below),
            relative_path: named(below),
            size_bytes: None,
            category: None,
            child_count: None,
            dominant_category: None,
            summary,
            cached_at: self.now,
            hash,
            scope: self.scope.clone(),
            confidence: Some(CONFIDENCE),
            confidence_reason: Some(REASON.to_owned()),
            completeness: Some(0.0),
        }
    }

    fn directory_summary(&self, number: usize, dir: &Dir) -> String {
        if let Some(reason) = &dir.unreadable {
            return format!("A directory that could not be read: {reason}.");
        }
        let sums = &dir.sums;
        if sums.files == 0 {
            return "A directory without files.".to_owned();
        }
        let below = match sums.dirs {
            0 => String::new(),
            dirs => format!(" in {}", many(dirs + 1, "directory", "directories")),
        };
        let (files, kind) = (many(sums.files, "file", "files"), sums.dominant());
        let size = size_text(sums.bytes);
        format!("{files}{below}, {size}, mostly {kind}{}.", self.spoken(number))
    }

    /// The languages that most of a directory's code is in.
    fn spoken(&self, number: usize) -> String {
        let mut languages: Vec<(&LanguageType, &(u64, u64))> =
            self.languages[number].iter().filter(|(_, (_, code))| *code > 0).collect();
        languages.sort_by_key(|(_, (_, code))| std::cmp::Reverse(*code));
        let named: Vec<String> = languages
            .iter()
            .take(NAMED)
            .map(|(language, (files, code))| {
                let lines = many(*code, "line", "lines");
                format!("{} {lines} of code in {}", language.name(), many(*files, "file", "files"))
            })
            .collect();
        if named.is_empty() { String::new() } else { format!("; {}", named.join(", ")) }
    }
}

fn file_summary(file: &File) -> String {
    let what = match (&file.kind, file.language, file.description) {
        (ScannedKind::Unreadable(reason), ..) => {
            return format!("A file that could not be read: {reason}.");
        }
        (_, Some(language), _) => language.name().to_owned(),
        (_, None, Some(description)) => description.to_owned(),
        (_, None, None) => format!("{} file", file.category),
    };
    let size = size_text(file.size);
    let lines = match file.lines {
        0 => String::new(),
        lines => {
            format!(", {}, {} of code", many(u64::from(lines), "line", "lines"), file.code)
        }
    };
    let generated = if file.generated { "; written by a program" } else { "" };
    let whole = if file.kind == ScannedKind::Sampled { "; too large to be read whole" } else { "" };
    format!("{what}, {size}{lines}{generated}{whole}.")
}

fn named(path: &Path) -> String {
    let path: PathBuf = path.components().collect();
    if path.as_os_str().is_empty() { ".".to_owned() } else { path_text(&path) }
}
