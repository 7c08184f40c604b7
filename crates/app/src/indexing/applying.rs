//! Changes of files into rows and edges, in one transaction.
//!
//! The first index of a tree and the smallest change go the same way: files are read on all
//! cores and written by one thread; meanwhile the names whose definitions changed are noted;
//! then the changed files are resolved, and of all others exactly those names. That a new
//! index resolves everything follows from everything being new.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Instant;

use spore_git::Repository;
use spore_store::{FileNo, FileStamp, KnownFile, NodeNo, SkippedFile, StoredItem, Writer};

use super::identity::{import_hash, name_hash, node_key};
use super::plan::{Job, Plan};
use super::reading::{self, Outcome, ReadFile};
use super::renames::Renames;
use super::resolving::{self, Known, Lean, Only, Task, names_of};
use super::{Reporter, Sink, Stage, Stages};
use crate::Result;

/// How many files wait for the writer at most.
const WAITING: usize = 64;
/// How many bytes of blobs are asked of git at once.
const PORTION: u64 = 8 << 20;

/// Where contents come from.
pub(super) enum Contents<'a> {
    Directory(&'a Path),
    Tree(&'a Repository),
}

pub(super) struct Engine<'a> {
    pub(super) contents: Contents<'a>,
    pub(super) threads: usize,
    pub(super) max_file_bytes: u64,
    /// A file that was written later than this may be written again without looking different.
    pub(super) trusted_before_ns: i64,
    pub(super) sinks: &'a [&'a dyn Sink],
    pub(super) reporter: &'a dyn Reporter,
    /// Whether the index holds nothing yet.
    pub(super) fresh: bool,
}

/// How much was done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Done {
    pub(super) added: u64,
    pub(super) changed: u64,
    pub(super) removed: u64,
    /// Read and found to be the same.
    pub(super) same: u64,
    /// Others whose names were looked up again.
    pub(super) resolved_again: u64,
    pub(super) files_changed: bool,
}

impl Engine<'_> {
    /// Applies a plan.
    pub(super) fn apply(
        &self,
        writer: &mut Writer<'_>,
        plan: Plan,
        stages: &mut Stages,
    ) -> Result<Done> {
        let begun = Instant::now();
        let mut work = Work::new(writer, self)?;
        for file in &plan.removed {
            work.remove(writer, self, file)?;
        }
        for skipped in &plan.skipped {
            writer.put_skipped(skipped)?;
        }
        for path in &plan.unskipped {
            writer.remove_skipped(path)?;
        }
        self.read_all(writer, plan.jobs, &mut work)?;
        self.sinks.iter().try_for_each(|sink| sink.settle(writer))?;
        work.clear_directories(writer)?;
        stages.add(Stage::Read, begun.elapsed());
        let begun = Instant::now();
        if !self.fresh {
            work.renames.write(writer)?;
        }
        self.reporter.progress(Stage::Resolve, 0, 0);
        let edges = self.resolve(writer, &mut work)?;
        stages.add(Stage::Resolve, begun.elapsed());
        let begun = Instant::now();
        self.reporter.progress(Stage::Write, 0, 0);
        writer.add_edges(&edges)?;
        stages.add(Stage::Write, begun.elapsed());
        Ok(work.done)
    }

    /// Reads and parses on all cores, and writes what comes.
    fn read_all(&self, writer: &mut Writer<'_>, jobs: Vec<Job>, work: &mut Work) -> Result<()> {
        let total = jobs.len() as u64;
        // A handful of files is done before the threads for them are up.
        let threads = self.threads.clamp(1, jobs.len().max(1));
        let jobs = Mutex::new(Jobs::new(jobs));
        let (sender, outcomes) = mpsc::sync_channel(WAITING);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                let (sender, jobs) = (sender.clone(), &jobs);
                scope.spawn(move || {
                    while let Some(next) = self.next_job(jobs) {
                        let outcome = next.map(|(job, bytes)| {
                            let outcome = self.outcome(&job, bytes);
                            (job, outcome)
                        });
                        // Nobody listens any more: something went wrong there.
                        if sender.send(outcome).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (done, outcome) in (1..).zip(outcomes) {
                let (job, outcome) = outcome?;
                work.take(writer, self, job, outcome)?;
                self.reporter.progress(Stage::Read, done, total);
            }
            Ok(())
        })
    }

    fn next_job(&self, jobs: &Mutex<Jobs>) -> Option<Result<(Job, Option<Vec<u8>>)>> {
        let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
        match self.contents {
            Contents::Directory(_) => jobs.rest.pop_front().map(|job| Ok((job, None))),
            Contents::Tree(repository) => jobs.next_of(repository).transpose(),
        }
    }

    fn outcome(&self, job: &Job, bytes: Option<Vec<u8>>) -> Outcome {
        let bytes = match (bytes, &self.contents) {
            (Some(bytes), _) => Ok(bytes),
            (None, Contents::Directory(root)) => {
                reading::content(root, &job.found, self.max_file_bytes)
            }
            (None, Contents::Tree(_)) => Err(Outcome::Gone),
        };
        let known = job.known.as_ref().map(|known| known.blob.as_slice());
        match bytes {
            Ok(bytes) => {
                reading::read(&job.found, self.trusted(job.found.stamp), known, bytes, self.sinks)
            }
            Err(outcome) => outcome,
        }
    }

    fn trusted(&self, stamp: FileStamp) -> FileStamp {
        let is_settled = stamp.mtime_ns < self.trusted_before_ns;
        FileStamp { mtime_ns: if is_settled { stamp.mtime_ns } else { 0 }, ..stamp }
    }

    fn resolve(
        &self,
        writer: &mut Writer<'_>,
        work: &mut Work,
    ) -> Result<Vec<spore_store::StoredEdge>> {
        let mut leans = std::mem::take(&mut work.leans);
        leans.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        if self.fresh {
            let known = Known::of_all(&leans);
            let tasks = leans.into_iter().map(|lean| Task { lean, only: None }).collect();
            return Ok(resolving::resolve(&known, tasks, self.threads));
        }
        let (mut names, mut imports) = (HashSet::new(), HashSet::new());
        for lean in &leans {
            names_of(lean, &mut names, &mut imports);
        }
        let mut tasks: Vec<Task> =
            leans.into_iter().map(|lean| Task { lean, only: None }).collect();
        self.add_affected(writer, work, &mut tasks, &mut imports)?;
        names.extend(work.names.iter().cloned());
        imports.extend(work.imports.iter().cloned());
        let known = Known::of_names(writer, &names, &imports)?;
        Ok(resolving::resolve(&known, tasks, self.threads))
    }

    /// Adds the unchanged files in which a name of changed meaning is used. What it was taken
    /// to mean is dropped, wherever it is used.
    fn add_affected(
        &self,
        writer: &mut Writer<'_>,
        work: &mut Work,
        tasks: &mut Vec<Task>,
        imports: &mut HashSet<String>,
    ) -> Result<()> {
        if work.names.is_empty() && work.imports.is_empty() {
            return Ok(());
        }
        for name in &work.names {
            writer.drop_edges_to_name(name)?;
        }
        let imported: HashSet<u32> = work.imports.iter().map(|name| import_hash(name)).collect();
        let mut hashes: Vec<u32> = work.names.iter().map(|name| name_hash(name)).collect();
        hashes.extend(&imported);
        hashes.sort_unstable();
        hashes.dedup();
        let changed: HashSet<FileNo> = tasks.iter().map(|task| task.lean.no).collect();
        let names = Arc::new(std::mem::take(&mut work.names));
        for no in writer.mentioning(&hashes)?.into_iter().filter(|no| !changed.contains(no)) {
            let Some(file) = writer.file(no)? else { continue };
            let lean = Lean::stored(file, &writer.items_of(no)?, writer.facts(no)?);
            let mut sought = HashSet::new();
            names_of(&lean, &mut HashSet::new(), &mut sought);
            let anew = sought.iter().any(|name| work.imports.contains(name));
            if anew {
                writer.drop_imports_of_file(no)?;
                imports.extend(sought);
            }
            let only = Only { names: Arc::clone(&names), imports: anew };
            tasks.push(Task { lean, only: Some(only) });
            work.done.resolved_again += 1;
        }
        work.names = Arc::unwrap_or_clone(names);
        Ok(())
    }
}

/// Files that wait to be read; contents of a tree are fetched in portions.
struct Jobs {
    rest: VecDeque<Job>,
    fetched: VecDeque<(Job, Option<Vec<u8>>)>,
}

impl Jobs {
    fn new(jobs: Vec<Job>) -> Self {
        Self { rest: jobs.into(), fetched: VecDeque::new() }
    }

    fn next_of(&mut self, repository: &Repository) -> Result<Option<(Job, Option<Vec<u8>>)>> {
        if self.fetched.is_empty() {
            let mut portion = Vec::new();
            let mut size = 0;
            while size < PORTION
                && let Some(job) = self.rest.pop_front()
            {
                size += job.found.stamp.size;
                portion.push(job);
            }
            let blob = |job: &Job| job.found.object.as_ref().map(|(name, _)| name.clone());
            let names: Vec<String> = portion.iter().filter_map(blob).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let contents = repository.read_blobs(&names)?;
            self.fetched = portion.into_iter().zip(contents).collect();
        }
        Ok(self.fetched.pop_front())
    }
}

/// What is remembered on the way.
struct Work {
    done: Done,
    /// Names whose definitions changed.
    names: HashSet<String>,
    /// Names of files that came or went.
    imports: HashSet<String>,
    leans: Vec<Lean>,
    directories: HashMap<String, NodeNo>,
    renames: Renames,
}

impl Work {
    fn new(writer: &mut Writer<'_>, engine: &Engine<'_>) -> Result<Self> {
        let directories = if engine.fresh { HashMap::new() } else { writer.directories()? };
        let mut work = Self {
            done: Done::default(),
            names: HashSet::new(),
            imports: HashSet::new(),
            leans: Vec::new(),
            directories,
            renames: Renames::default(),
        };
        work.directory(writer, "")?;
        Ok(work)
    }

    fn take(
        &mut self,
        writer: &mut Writer<'_>,
        engine: &Engine<'_>,
        job: Job,
        outcome: Outcome,
    ) -> Result<()> {
        let Job { found, known, was_skipped } = job;
        if was_skipped && !matches!(outcome, Outcome::Skipped { .. }) {
            writer.remove_skipped(&found.path)?;
        }
        match (outcome, known) {
            (Outcome::Read(read), known) => self.put(writer, engine, *read, known),
            (Outcome::Same, Some(known)) => {
                self.done.same += 1;
                let stamp = engine.trusted(found.stamp);
                Ok(writer.restamp(&KnownFile { stamp, ..known })?)
            }
            (Outcome::Skipped { reason, blob }, known) => {
                let (path, reason) = (found.path.clone(), reason.to_owned());
                let stamp = engine.trusted(found.stamp);
                writer.put_skipped(&SkippedFile { path, reason, stamp, blob })?;
                known.map_or(Ok(()), |known| self.remove(writer, engine, &known))
            }
            (Outcome::Gone, Some(known)) => self.remove(writer, engine, &known),
            (Outcome::Gone | Outcome::Same, None) => Ok(()),
        }
    }

    fn put(
        &mut self,
        writer: &mut Writer<'_>,
        engine: &Engine<'_>,
        read: ReadFile,
        known: Option<KnownFile>,
    ) -> Result<()> {
        let ReadFile { row, items, mut lean, prepared } = read;
        let directory = row.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let parent = self.directory(writer, directory)?;
        let old = match &known {
            Some(known) => writer.items_of(known.no)?,
            None => Vec::new(),
        };
        if !engine.fresh {
            let package = match &known {
                Some(known) => writer.file(known.no)?.and_then(|file| file.package),
                None => None,
            };
            self.note_names(&old, &items, known.is_some() && package == row.package);
            self.renames.appeared(&row, &items, &old, known.is_none());
            self.renames.vanished(&row.path, &old, &items);
        }
        if let Some(known) = &known {
            writer.drop_edges_of_file(known.no)?;
            engine.sinks.iter().try_for_each(|sink| sink.forget(writer, known.no))?;
            self.done.changed += 1;
        } else {
            self.imports.insert(row.import_name.clone());
            self.done.added += 1;
            self.done.files_changed = true;
        }
        lean.no = writer.put_file(known.as_ref().map(|known| known.no), parent, &row)?;
        lean.numbers = writer.put_items(lean.no, &old, &items)?;
        for (sink, prepared) in engine.sinks.iter().zip(prepared) {
            sink.store(writer, lean.no, &lean.numbers, prepared)?;
        }
        self.leans.push(lean);
        Ok(())
    }

    fn remove(
        &mut self,
        writer: &mut Writer<'_>,
        engine: &Engine<'_>,
        known: &KnownFile,
    ) -> Result<()> {
        engine.sinks.iter().try_for_each(|sink| sink.forget(writer, known.no))?;
        let old = writer.items_of(known.no)?;
        self.note_names(&old, &[], true);
        self.renames.lost(known, &old);
        self.imports.insert(spore_index::file_name(&known.path).into_owned());
        writer.remove_file(known.no)?;
        self.done.removed += 1;
        self.done.files_changed = true;
        Ok(())
    }

    /// Notes the names that mean something else now: those whose definitions in this file are
    /// others than before, or in another order.
    fn note_names(&mut self, old: &[StoredItem], new: &[spore_store::ItemRow], same_package: bool) {
        type Told<'a> = (&'a str, &'a str, spore_store::StoredVisibility);
        let mut before: BTreeMap<&str, Vec<Told<'_>>> = BTreeMap::new();
        for item in old {
            let told = (item.kind.as_str(), item.qualified.as_str(), item.visibility);
            before.entry(&item.name).or_default().push(told);
        }
        let mut after: BTreeMap<&str, Vec<Told<'_>>> = BTreeMap::new();
        for item in new {
            let told = (item.kind, item.qualified.as_str(), item.visibility);
            after.entry(&item.name).or_default().push(told);
        }
        let names = before.keys().chain(after.keys());
        let changed = names.filter(|name| !same_package || before.get(*name) != after.get(*name));
        self.names.extend(changed.map(|name| (*name).to_owned()));
    }

    /// Returns the node of a directory; makes it, and those above it, if it is new.
    fn directory(&mut self, writer: &mut Writer<'_>, path: &str) -> Result<NodeNo> {
        if let Some(no) = self.directories.get(path) {
            return Ok(*no);
        }
        let parent = match path.rsplit_once('/') {
            _ if path.is_empty() => None,
            Some((above, _)) => Some(self.directory(writer, above)?),
            None => Some(self.directory(writer, "")?),
        };
        let no = writer.add_directory(node_key("directory", path, "", 0), path, parent)?;
        self.directories.insert(path.to_owned(), no);
        Ok(no)
    }

    /// Removes the directories that hold nothing any more.
    fn clear_directories(&mut self, writer: &mut Writer<'_>) -> Result<()> {
        if self.done.removed == 0 {
            return Ok(());
        }
        let mut held: HashSet<String> = HashSet::from([String::new()]);
        for path in writer.paths()?.into_keys() {
            let mut rest = path.as_str();
            while let Some((above, _)) = rest.rsplit_once('/') {
                if !held.insert(above.to_owned()) {
                    break;
                }
                rest = above;
            }
        }
        let empty = self.directories.iter().filter(|(path, _)| !held.contains(*path));
        for no in empty.map(|(_, no)| *no) {
            writer.remove_directory(no)?;
        }
        Ok(())
    }
}
