//! A directory as it was seen: all its files and directories, with sums and hashes.
//!
//! Two passes: who is there, then one read a file, both on every core. What is kept of a file
//! is about 200 bytes and its name, whatever its size, so memory grows with the number of
//! files and with nothing else. Order is by path, never by who was read first.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use spore_model::Timestamp;
use tokei::{CodeStats, Config, LanguageType};

use crate::ScanError;
use crate::category::Category;
use crate::file_reader::{FileReader, FileReading, ScannedKind};
use crate::hash::{Child, Hash};
use crate::scope::{ScanLimits, ScanScope};
use crate::walk::{FoundDir, Walked, walk};

/// How far a scan is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanProgress {
    List,
    /// So many files of so many.
    Read {
        done: u64,
        total: u64,
    },
}

/// The caller's side of a running scan.
pub trait ScanWatch: Sync {
    fn pass(&self, pass: ScanProgress);

    /// Returns whether the scan is to stop.
    fn is_over(&self) -> bool;
}

/// One name that is no directory.
#[derive(Clone, Debug)]
pub struct File {
    pub dir: usize,
    pub name: OsString,
    pub kind: ScannedKind,
    pub hash: Hash,
    pub size: u64,
    /// What it takes on the disk; nothing for a second name of the same content.
    pub disk: u64,
    pub modified: Timestamp,
    pub category: Category,
    pub language: Option<LanguageType>,
    /// All lines, and those of code in its own language.
    pub lines: u32,
    pub code: u32,
    pub generated: bool,
    pub description: Option<&'static str>,
}

/// One directory.
#[derive(Clone, Debug)]
pub struct Dir {
    /// From the target; empty for the target itself.
    pub path: PathBuf,
    pub parent: Option<usize>,
    /// Where its own files are among all files.
    pub files: Range<usize>,
    /// Directories right in it, by name.
    pub dirs: Vec<usize>,
    /// Why its list could not be read.
    pub unreadable: Option<String>,
    pub hash: Hash,
    /// Of everything below it.
    pub sums: DirSums,
}

/// The sums over a directory and everything below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DirSums {
    pub files: u64,
    pub dirs: u64,
    pub bytes: u64,
    pub disk: u64,
    /// Files by category, in the order of [`Category::ALL`].
    pub categories: [u64; 7],
}

impl DirSums {
    fn add(&mut self, other: &Self) {
        self.files += other.files;
        self.dirs += other.dirs;
        self.bytes += other.bytes;
        self.disk += other.disk;
        for (sum, more) in self.categories.iter_mut().zip(other.categories) {
            *sum += more;
        }
    }

    /// The category that most files have; the first of those with as many.
    pub fn dominant(&self) -> Category {
        let most = self.categories.iter().max().copied().unwrap_or(0);
        let at = self.categories.iter().position(|count| *count == most);
        match at.filter(|_| most > 0) {
            Some(at) => Category::ALL[at],
            None => Category::Unknown,
        }
    }
}

/// The lines of one language, as tokei counts them.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    pub files: u64,
    pub stats: CodeStats,
}

/// A directory as it was seen.
#[derive(Clone, Debug)]
pub struct Tree {
    /// By path, each before what is in it; the target first.
    pub dirs: Vec<Dir>,
    /// By directory, then name.
    pub files: Vec<File>,
    pub languages: BTreeMap<LanguageType, Counted>,
    /// Directories of other file systems, which were not entered.
    pub elsewhere: Vec<PathBuf>,
}

impl Tree {
    /// Looks at everything below `root` that is in the scope.
    pub fn read(
        root: &Path,
        scope: &ScanScope,
        limits: &ScanLimits,
        watch: &dyn ScanWatch,
    ) -> Result<Self, ScanError> {
        watch.pass(ScanProgress::List);
        let walked = walk(root, scope, &|| watch.is_over())?;
        if let Some(reason) = walked.dirs.first().and_then(|top| top.unreadable.clone()) {
            let source = std::io::Error::other(reason);
            return Err(ScanError::Target { path: root.to_owned(), source });
        }
        let readings = read_all(root, &walked, limits, watch)?;
        Ok(Self::of(walked, readings))
    }

    fn of(walked: Walked, readings: Vec<FileReading>) -> Self {
        let languages = sum_languages(&readings);
        let (mut dirs, at) = directories(walked.dirs);
        let mut files: Vec<File> = Vec::with_capacity(readings.len());
        let mut met: HashSet<(u64, u64)> = HashSet::new();
        for ((path, _), reading) in walked.files.into_iter().zip(readings) {
            let above = path.parent().unwrap_or(Path::new(""));
            // The walk lists a directory before the files in it.
            let Some(&dir) = at.get(above) else { continue };
            let is_first_name = reading.shared.is_none_or(|content| met.insert(content));
            let name = path.file_name().unwrap_or_default().to_owned();
            files.push(file(dir, name, reading, is_first_name));
        }
        files.sort_by(|a, b| (a.dir, &a.name).cmp(&(b.dir, &b.name)));
        let mut start = 0;
        for (number, dir) in dirs.iter_mut().enumerate() {
            let end = start + files[start..].partition_point(|file| file.dir <= number);
            dir.files = start..end;
            start = end;
        }
        let mut tree = Self { dirs, files, languages, elsewhere: walked.elsewhere };
        tree.sum_up();
        tree
    }

    /// From the leaves to the target: sums and hashes.
    fn sum_up(&mut self) {
        for number in (0..self.dirs.len()).rev() {
            let dir = &self.dirs[number];
            let mut sums = dir.sums;
            for file in &self.files[dir.files.clone()] {
                sums.add(&sums_of(file));
            }
            for below in &dir.dirs {
                sums.add(&self.dirs[*below].sums);
                sums.dirs += 1;
            }
            let hash = self.hash_of(dir);
            (self.dirs[number].sums, self.dirs[number].hash) = (sums, hash);
        }
    }

    fn hash_of(&self, dir: &Dir) -> Hash {
        if let Some(reason) = &dir.unreadable {
            return Hash::of_parts("unreadable directory", &[reason.as_bytes()]);
        }
        let files = self.files[dir.files.clone()].iter();
        let files = files.map(|file| Child {
            name: file.name.as_bytes(),
            tag: file.kind.tag(),
            hash: file.hash,
        });
        let dirs = dir.dirs.iter().map(|below| &self.dirs[*below]);
        let dirs = dirs.map(|dir| Child { name: dir.name().as_bytes(), tag: b'd', hash: dir.hash });
        let mut children: Vec<Child<'_>> = files.chain(dirs).collect();
        children.sort_unstable_by_key(|child| child.name);
        Hash::of_directory(children.into_iter())
    }

    /// The target's own directory.
    pub fn top(&self) -> &Dir {
        &self.dirs[0]
    }

    /// A file's path from the target.
    pub fn path_of(&self, file: &File) -> PathBuf {
        self.dirs[file.dir].path.join(&file.name)
    }
}

impl Dir {
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    /// How many names are right in it.
    pub fn child_count(&self) -> usize {
        self.files.len() + self.dirs.len()
    }

    /// How far below the target it is.
    pub fn depth(&self) -> usize {
        self.path.components().count()
    }
}

fn read_all(
    root: &Path,
    walked: &Walked,
    limits: &ScanLimits,
    watch: &dyn ScanWatch,
) -> Result<Vec<FileReading>, ScanError> {
    let counting = Config::default();
    let reader = FileReader { root, whole_bytes: limits.whole_bytes, counting: &counting };
    let (done, total) = (AtomicU64::new(0), walked.files.len() as u64);
    let readings: Option<Vec<FileReading>> = walked
        .files
        .par_iter()
        .map_init(Vec::new, |buffer, (path, found)| {
            let done = done.fetch_add(1, Ordering::Relaxed);
            if done.is_multiple_of(256) {
                watch.pass(ScanProgress::Read { done, total });
                if watch.is_over() {
                    return None;
                }
            }
            Some(reader.read(path, *found, buffer))
        })
        .collect();
    readings.filter(|_| !watch.is_over()).ok_or(ScanError::Stopped)
}

/// The directories, and where each one is by its path.
fn directories(found: Vec<FoundDir>) -> (Vec<Dir>, HashMap<PathBuf, usize>) {
    let mut dirs: Vec<Dir> = Vec::with_capacity(found.len());
    let mut at: HashMap<PathBuf, usize> = HashMap::with_capacity(found.len());
    for one in found {
        let number = dirs.len();
        let parent = one.path.parent().and_then(|above| at.get(above)).copied();
        if let Some(parent) = parent {
            dirs[parent].dirs.push(number);
        }
        at.insert(one.path.clone(), number);
        dirs.push(Dir {
            path: one.path,
            parent,
            files: 0..0,
            dirs: Vec::new(),
            unreadable: one.unreadable,
            hash: Hash::of_parts("", &[]),
            sums: DirSums { disk: one.disk, ..DirSums::default() },
        });
    }
    (dirs, at)
}

fn file(dir: usize, name: OsString, reading: FileReading, is_first_name: bool) -> File {
    File {
        dir,
        name,
        lines: reading.lines(),
        code: u32::try_from(reading.stats.code).unwrap_or(u32::MAX),
        kind: reading.kind,
        hash: reading.hash,
        size: reading.size,
        disk: if is_first_name { reading.disk } else { 0 },
        modified: reading.modified,
        category: reading.category,
        language: reading.language,
        generated: reading.generated,
        description: reading.description,
    }
}

fn sums_of(file: &File) -> DirSums {
    let mut sums = DirSums { disk: file.disk, ..DirSums::default() };
    if file.kind.is_file() {
        sums.files = 1;
        sums.bytes = file.size;
        sums.categories[file.category as usize] = 1;
    }
    sums
}

fn sum_languages(readings: &[FileReading]) -> BTreeMap<LanguageType, Counted> {
    let mut languages: BTreeMap<LanguageType, Counted> = BTreeMap::new();
    for reading in readings {
        if let Some(language) = reading.language {
            let counted = languages.entry(language).or_default();
            counted.files += 1;
            counted.stats += &reading.stats;
        }
    }
    languages
}
