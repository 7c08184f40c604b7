//! The entries that counting alone can write: one for each directory.
//!
//! They say what is there and how much, and that no model has read it. A model's entry about
//! the same content is worth more, so these never replace one that is not stale. A file has
//! none: all that counting could say of it the next scan says again, so its directory's entry
//! keeps its hash alone. A tree has ten files for a directory, and an entry for each made the
//! first investigation six times as long as the scan it follows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use spore_model::Timestamp;
use tokei::LanguageType;

use crate::entry::{EntryKind, InvestigationEntry};
use crate::shown::{many, path_text, size_text};
use crate::staleness::EntryPlace;
use crate::tree::{Dir, Tree};

/// Counting is never wrong and never knows what for.
const CONFIDENCE: f64 = 0.3;
const REASON: &str = "counted, not read";
/// How many languages a directory is said to have.
const NAMED: usize = 3;

/// What counting says of one directory.
pub struct CountedEntry {
    pub entry: InvestigationEntry,
    /// The hashes of the files right in it, by name.
    pub files: BTreeMap<String, String>,
}

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

    /// The entries of those directories whose paths are asked for.
    pub fn entries(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<CountedEntry> {
        let dirs = self.tree.dirs.iter().enumerate();
        let dirs = dirs.map(|(number, dir)| (number, dir, self.path(&dir.path)));
        dirs.filter(|(.., path)| is_wanted(path))
            .map(|(number, dir, path)| self.directory(number, dir, path))
            .collect()
    }

    /// From the project's root; `.` is the root itself.
    fn path(&self, below: &Path) -> String {
        named(&self.base.join(below))
    }

    fn directory(&self, number: usize, dir: &Dir, path: String) -> CountedEntry {
        let files = self.tree.files[dir.files.clone()].iter().filter(|file| file.kind.is_file());
        let files = files.map(|file| (path_text(file.name.as_ref()), file.hash.to_string()));
        let entry = InvestigationEntry {
            path,
            relative_path: named(&dir.path),
            size_bytes: None,
            category: None,
            child_count: Some(dir.child_count() as u64),
            dominant_category: Some(dir.sums.dominant()),
            summary: self.directory_summary(number, dir),
            cached_at: self.now,
            hash: dir.hash.to_string(),
            scope: self.scope.clone(),
            confidence: Some(CONFIDENCE),
            confidence_reason: Some(REASON.to_owned()),
            completeness: Some(0.0),
        };
        CountedEntry { entry, files: files.collect() }
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

fn named(path: &Path) -> String {
    let path: PathBuf = path.components().collect();
    if path.as_os_str().is_empty() { ".".to_owned() } else { path_text(&path) }
}
