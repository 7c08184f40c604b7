//! What a scan tells, as plain data. The names are those of the seed's report.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use spore_model::Timestamp;

use crate::brief::brief;
use crate::category::Category;
use crate::file_reader::ScannedKind;
use crate::hash::Hash;
use crate::outline::{Branch, outline, rendered};
use crate::scope::{ScanLimits, ScanScope};
use crate::shown::{age_text, path_text};
use crate::signals::SurveySignals;
use crate::tree::{Counted, Dir, File, Tree};

/// How deep disk use is told.
const DISK_DEPTH: usize = 2;

/// What was seen of one directory, for people, machines and, later, a survey.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ScanReport {
    pub target: String,
    pub scanned_at: Timestamp,
    pub scope: ScanScope,
    /// Of all that was seen: two scans with the same hash and scope saw the same.
    pub hash: Hash,
    pub brief: String,
    pub totals: ScanTotals,
    pub tree: Branch,
    pub tree_rendered: String,
    /// Files by category.
    pub file_categories: BTreeMap<Category, u64>,
    /// Most code first.
    pub languages: Vec<LanguageRow>,
    /// Lines of code by language.
    pub lines_of_code: BTreeMap<String, u64>,
    /// Largest first.
    pub large_files: Vec<LargeFile>,
    /// Largest first.
    pub generated_files: Vec<PlainFile>,
    /// Newest first.
    pub recent_files: Vec<RecentFile>,
    /// The target and two levels below it, by path.
    pub disk_usage: Vec<DiskUse>,
    /// What takes most room on the disk.
    pub top_directories: Vec<DiskUse>,
    pub survey_signals: SurveySignals,
    pub unreadable: Vec<Unreadable>,
    /// Directories of other file systems, which were not entered.
    pub other_file_systems: Vec<String>,
    /// Every file, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classified_files: Option<Vec<ClassifiedFile>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct ScanTotals {
    pub files: u64,
    /// Below the target, which is not counted.
    pub directories: u64,
    pub links: u64,
    /// Pipes, sockets and devices.
    pub special: u64,
    /// What the files say.
    pub bytes: u64,
    /// What they take on the disk, directories included and shared contents counted once.
    pub disk_bytes: u64,
    pub lines: u64,
    pub code: u64,
    pub large_files: u64,
    pub generated_files: u64,
    /// Over the limit: told by size alone.
    pub not_read_whole: u64,
    pub unreadable_files: u64,
    pub unreadable_directories: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LanguageRow {
    pub name: String,
    pub files: u64,
    pub lines: u64,
    pub code: u64,
    pub comments: u64,
    pub blanks: u64,
    /// Other languages in its files, such as examples in comments. Not part of the numbers
    /// above.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub embedded: BTreeMap<String, LineCounts>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct LineCounts {
    pub code: u64,
    pub comments: u64,
    pub blanks: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LargeFile {
    pub path: String,
    pub name: String,
    pub size: u64,
    pub lines: u32,
    pub reasons: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct PlainFile {
    pub path: String,
    pub name: String,
    pub size: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RecentFile {
    pub path: String,
    pub name: String,
    pub modified: Timestamp,
    pub modified_human: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DiskUse {
    /// Empty for the target itself.
    pub path: String,
    pub bytes: u64,
    pub disk_bytes: u64,
    pub files: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Unreadable {
    pub path: String,
    pub is_directory: bool,
    pub reason: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ClassifiedFile {
    pub path: String,
    pub name: String,
    pub category: Category,
    pub size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    pub lines: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<&'static str>,
    pub hash: Hash,
}

/// What there is to say about a tree beyond what is in it.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    pub target: &'a Path,
    pub scope: &'a ScanScope,
    pub limits: &'a ScanLimits,
    pub now: Timestamp,
    /// Name every file.
    pub every_file: bool,
}

impl ScanReport {
    pub fn of(tree: &Tree, told: &ReportInput<'_>) -> Self {
        let limits = told.limits;
        let view = TreeView { tree, limits };
        let large = view.large();
        let generated = view.generated();
        let branch = outline(tree, told.target, limits);
        let languages = languages(tree);
        let totals = ScanTotals {
            large_files: large.len() as u64,
            generated_files: generated.len() as u64,
            ..totals(tree, &languages)
        };
        Self {
            brief: brief(tree, told.target, &languages, &totals),
            target: path_text(told.target),
            scanned_at: told.now,
            scope: told.scope.clone(),
            hash: tree.top().hash,
            totals,
            tree_rendered: rendered(&branch),
            tree: branch,
            file_categories: categories(tree.top()),
            lines_of_code: languages.iter().map(|row| (row.name.clone(), row.code)).collect(),
            languages,
            large_files: large
                .iter()
                .take(limits.listed as usize)
                .map(|file| view.large_file(file))
                .collect(),
            generated_files: view.plain(&generated),
            recent_files: view.recent(told.now),
            disk_usage: view.disk_usage(),
            top_directories: view.top_directories(),
            survey_signals: SurveySignals::of(tree),
            unreadable: view.unreadable(),
            other_file_systems: tree.elsewhere.iter().map(|path| path_text(path)).collect(),
            classified_files: told.every_file.then(|| view.classified()),
        }
    }
}

/// Looks for what is worth a name.
struct TreeView<'a> {
    tree: &'a Tree,
    limits: &'a ScanLimits,
}

impl TreeView<'_> {
    fn regular(&self) -> impl Iterator<Item = &File> {
        self.tree.files.iter().filter(|file| file.kind.is_file())
    }

    fn reasons(&self, file: &File) -> Vec<String> {
        let mut reasons = Vec::new();
        if file.category == Category::Source && file.lines > self.limits.large_lines {
            reasons.push(format!("more than {} lines", self.limits.large_lines));
        }
        if file.size > self.limits.large_bytes {
            reasons.push(format!("more than {}", crate::size_text(self.limits.large_bytes)));
        }
        reasons
    }

    fn large(&self) -> Vec<&File> {
        let is_large = |file: &&File| {
            file.size > self.limits.large_bytes
                || file.category == Category::Source && file.lines > self.limits.large_lines
        };
        largest_first(self.regular().filter(is_large).collect())
    }

    fn large_file(&self, file: &File) -> LargeFile {
        LargeFile {
            path: self.path(file),
            name: self.name(file),
            size: file.size,
            lines: file.lines,
            reasons: self.reasons(file),
        }
    }

    fn generated(&self) -> Vec<&File> {
        largest_first(self.regular().filter(|file| file.generated).collect())
    }

    fn plain(&self, files: &[&File]) -> Vec<PlainFile> {
        let some = files.iter().take(self.limits.listed as usize);
        some.map(|file| PlainFile { path: self.path(file), name: self.name(file), size: file.size })
            .collect()
    }

    fn recent(&self, now: Timestamp) -> Vec<RecentFile> {
        let most = self.limits.recent as usize;
        let mut files: Vec<&File> = self.regular().collect();
        // Files are by path already, and the sort keeps the order of equals.
        files.sort_by_key(|file| Reverse(file.modified));
        let newest = files.into_iter().take(most);
        newest
            .map(|file| RecentFile {
                path: self.path(file),
                name: self.name(file),
                modified: file.modified,
                modified_human: age_text(file.modified, now),
            })
            .collect()
    }

    fn disk_usage(&self) -> Vec<DiskUse> {
        let shallow = self.tree.dirs.iter().filter(|dir| dir.depth() <= DISK_DEPTH);
        shallow.map(disk_use).collect()
    }

    fn top_directories(&self) -> Vec<DiskUse> {
        let mut below: Vec<&Dir> =
            self.tree.dirs.iter().filter(|dir| (1..=DISK_DEPTH).contains(&dir.depth())).collect();
        below.sort_by_key(|dir| Reverse((dir.sums.disk, dir.sums.bytes)));
        below.into_iter().take(self.limits.top_directories as usize).map(disk_use).collect()
    }

    fn unreadable(&self) -> Vec<Unreadable> {
        let dirs = self.tree.dirs.iter().filter_map(|dir| {
            let reason = dir.unreadable.clone()?;
            Some(Unreadable { path: path_text(&dir.path), is_directory: true, reason })
        });
        let files = self.tree.files.iter().filter_map(|file| match &file.kind {
            ScannedKind::Unreadable(reason) => Some(Unreadable {
                path: self.path(file),
                is_directory: false,
                reason: reason.clone(),
            }),
            _ => None,
        });
        dirs.chain(files).take(self.limits.listed as usize).collect()
    }

    fn classified(&self) -> Vec<ClassifiedFile> {
        self.regular()
            .map(|file| ClassifiedFile {
                path: self.path(file),
                name: self.name(file),
                category: file.category,
                size: file.size,
                language: file.language.map(|language| language.name().to_owned()),
                lines: file.lines,
                description: file.description,
                hash: file.hash,
            })
            .collect()
    }

    fn path(&self, file: &File) -> String {
        path_text(&self.tree.path_of(file))
    }

    fn name(&self, file: &File) -> String {
        path_text(Path::new(&file.name))
    }
}

fn largest_first(mut files: Vec<&File>) -> Vec<&File> {
    files.sort_by_key(|file| Reverse(file.size));
    files
}

fn disk_use(dir: &Dir) -> DiskUse {
    DiskUse {
        path: path_text(&dir.path),
        bytes: dir.sums.bytes,
        disk_bytes: dir.sums.disk,
        files: dir.sums.files,
    }
}

fn categories(dir: &Dir) -> BTreeMap<Category, u64> {
    let counts = Category::ALL.into_iter().zip(dir.sums.categories);
    counts.filter(|(_, count)| *count > 0).collect()
}

fn languages(tree: &Tree) -> Vec<LanguageRow> {
    let mut rows: Vec<LanguageRow> =
        tree.languages.iter().map(|(language, counted)| row(language.name(), counted)).collect();
    rows.sort_by(|a, b| {
        (b.code, b.lines).cmp(&(a.code, a.lines)).then_with(|| a.name.cmp(&b.name))
    });
    rows
}

fn row(name: &str, counted: &Counted) -> LanguageRow {
    let stats = &counted.stats;
    let embedded = stats.blobs.iter().map(|(language, blob)| {
        let blob = blob.summarise();
        let lines = LineCounts {
            code: blob.code as u64,
            comments: blob.comments as u64,
            blanks: blob.blanks as u64,
        };
        (language.name().to_owned(), lines)
    });
    LanguageRow {
        name: name.to_owned(),
        files: counted.files,
        lines: stats.lines() as u64,
        code: stats.code as u64,
        comments: stats.comments as u64,
        blanks: stats.blanks as u64,
        embedded: embedded.collect(),
    }
}

fn totals(tree: &Tree, languages: &[LanguageRow]) -> ScanTotals {
    let top = tree.top();
    let count = |test: fn(&ScannedKind) -> bool| -> u64 {
        tree.files.iter().filter(|file| test(&file.kind)).count() as u64
    };
    ScanTotals {
        files: top.sums.files,
        directories: top.sums.dirs,
        links: count(|kind| *kind == ScannedKind::Link),
        special: count(|kind| *kind == ScannedKind::Special),
        bytes: top.sums.bytes,
        disk_bytes: top.sums.disk,
        lines: languages.iter().map(|row| row.lines).sum(),
        code: languages.iter().map(|row| row.code).sum(),
        not_read_whole: count(|kind| *kind == ScannedKind::Sampled),
        unreadable_files: count(|kind| matches!(kind, ScannedKind::Unreadable(_))),
        unreadable_directories: tree.dirs.iter().filter(|dir| dir.unreadable.is_some()).count()
            as u64,
        ..ScanTotals::default()
    }
}
