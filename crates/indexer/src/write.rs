//! Changes of files into rows and edges, in one transaction.
//!
//! The first index of a tree and the smallest change go the same way: files are read on all
//! cores and written by one thread; meanwhile the names whose definitions changed are noted;
//! then the changed files are resolved, and of all others exactly those names. That a new
//! index resolves everything follows from everything being new.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use spore_effects::Clock;
use spore_git::Repository;
use spore_store::{FileNo, FileStamp, KnownFile, NodeNo, SkippedFile, StoredItem, Writer};

use crate::error::Result;
use crate::identity::{import_hash, name_hash, node_key};
use crate::lean::{LeanFile, names_of};
use crate::plan::{IndexPlan, ReadJob};
use crate::progress::{IndexPhase, PhaseTimes, Reporter};
use crate::read::{self, ReadFile, ReadOutcome};
use crate::renames::Renames;
use crate::resolution::{self, KnownNames, ResolveOnly, ResolveTask};
use crate::sink::FileSink;

/// How many files wait for the writer at most.
const WAITING: usize = 64;
/// How many bytes of blobs are asked of git at once.
const PORTION: u64 = 8 << 20;

/// Where contents come from.
pub(crate) enum FileContents<'a> {
    Directory(&'a Path),
    Tree(&'a Repository),
}

/// Brings an index from one tree to another.
pub(crate) struct TreeWriter<'a> {
    pub(crate) contents: FileContents<'a>,
    pub(crate) threads: usize,
    pub(crate) max_file_bytes: u64,
    /// A file that was written later than this may be written again without looking different.
    pub(crate) trusted_before_ns: i64,
    pub(crate) sinks: &'a [&'a dyn FileSink],
    pub(crate) reporter: &'a dyn Reporter,
    pub(crate) clock: &'a dyn Clock,
    /// Whether the index holds nothing yet.
    pub(crate) fresh: bool,
}

/// How much was done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct WriteCounts {
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) removed: u64,
    /// Read and found to be the same.
    pub(crate) same: u64,
    /// Others whose names were looked up again.
    pub(crate) resolved_again: u64,
    pub(crate) files_changed: bool,
}

impl TreeWriter<'_> {
    /// Applies a plan.
    pub(crate) fn apply(
        &self,
        writer: &mut Writer<'_>,
        plan: IndexPlan,
        times: &mut PhaseTimes,
    ) -> Result<WriteCounts> {
        let begun = self.clock.monotonic();
        let mut work = WriteState::new(writer, self)?;
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
        times.add(IndexPhase::Read, begun.elapsed());
        let begun = self.clock.monotonic();
        if !self.fresh {
            work.renames.write(writer)?;
        }
        self.reporter.progress(IndexPhase::Resolve, 0, 0);
        let edges = self.resolve(writer, &mut work)?;
        times.add(IndexPhase::Resolve, begun.elapsed());
        let begun = self.clock.monotonic();
        self.reporter.progress(IndexPhase::Write, 0, 0);
        writer.add_edges(&edges)?;
        times.add(IndexPhase::Write, begun.elapsed());
        Ok(work.done)
    }

    /// Reads and parses on all cores, and writes what comes.
    fn read_all(
        &self,
        writer: &mut Writer<'_>,
        jobs: Vec<ReadJob>,
        work: &mut WriteState,
    ) -> Result<()> {
        let total = jobs.len() as u64;
        // A handful of files is done before the threads for them are up.
        let threads = self.threads.clamp(1, jobs.len().max(1));
        let jobs = Mutex::new(ReadQueue::new(jobs));
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
                        // The writer is gone: it failed, and says why itself.
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
                self.reporter.progress(IndexPhase::Read, done, total);
            }
            Ok(())
        })
    }

    fn next_job(&self, jobs: &Mutex<ReadQueue>) -> Option<Result<(ReadJob, Option<Vec<u8>>)>> {
        let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
        match self.contents {
            FileContents::Directory(_) => jobs.rest.pop_front().map(|job| Ok((job, None))),
            FileContents::Tree(repository) => jobs.next_of(repository).transpose(),
        }
    }

    fn outcome(&self, job: &ReadJob, bytes: Option<Vec<u8>>) -> ReadOutcome {
        let bytes = match (bytes, &self.contents) {
            (Some(bytes), _) => Ok(bytes),
            (None, FileContents::Directory(root)) => {
                read::content(root, &job.found, self.max_file_bytes)
            }
            (None, FileContents::Tree(_)) => Err(ReadOutcome::Gone),
        };
        let known = job.known.as_ref().map(|known| known.blob.as_slice());
        match bytes {
            Ok(bytes) => {
                read::read(&job.found, self.trusted(job.found.stamp), known, bytes, self.sinks)
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
        work: &mut WriteState,
    ) -> Result<Vec<spore_store::StoredEdge>> {
        let mut leans = std::mem::take(&mut work.leans);
        leans.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        if self.fresh {
            let known = KnownNames::of_all(&leans);
            let tasks = leans.into_iter().map(|lean| ResolveTask { lean, only: None }).collect();
            return Ok(resolution::resolve(&known, tasks, self.threads));
        }
        let (mut names, mut imports) = (HashSet::new(), HashSet::new());
        for lean in &leans {
            names_of(lean, &mut names, &mut imports);
        }
        let mut tasks: Vec<ResolveTask> =
            leans.into_iter().map(|lean| ResolveTask { lean, only: None }).collect();
        self.add_affected(writer, work, &mut tasks, &mut imports)?;
        names.extend(work.names.iter().cloned());
        imports.extend(work.imports.iter().cloned());
        let known = KnownNames::of_names(writer, &names, &imports)?;
        Ok(resolution::resolve(&known, tasks, self.threads))
    }

    /// Adds the unchanged files in which a name of changed meaning is used. What it was taken
    /// to mean is dropped, wherever it is used.
    fn add_affected(
        &self,
        writer: &mut Writer<'_>,
        work: &mut WriteState,
        tasks: &mut Vec<ResolveTask>,
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
            let lean = LeanFile::stored(file, &writer.items_of(no)?, writer.facts(no)?);
            let mut sought = HashSet::new();
            names_of(&lean, &mut HashSet::new(), &mut sought);
            let anew = sought.iter().any(|name| work.imports.contains(name));
            if anew {
                writer.drop_imports_of_file(no)?;
                imports.extend(sought);
            }
            let only = ResolveOnly { names: Arc::clone(&names), imports: anew };
            tasks.push(ResolveTask { lean, only: Some(only) });
            work.done.resolved_again += 1;
        }
        work.names = Arc::unwrap_or_clone(names);
        Ok(())
    }
}

/// Files that wait to be read; contents of a tree are fetched in portions.
struct ReadQueue {
    rest: VecDeque<ReadJob>,
    fetched: VecDeque<(ReadJob, Option<Vec<u8>>)>,
}

impl ReadQueue {
    fn new(jobs: Vec<ReadJob>) -> Self {
        Self { rest: jobs.into(), fetched: VecDeque::new() }
    }

    fn next_of(&mut self, repository: &Repository) -> Result<Option<(ReadJob, Option<Vec<u8>>)>> {
        if self.fetched.is_empty() {
            let mut portion = Vec::new();
            let mut size = 0;
            while size < PORTION
                && let Some(job) = self.rest.pop_front()
            {
                size += job.found.stamp.size;
                portion.push(job);
            }
            let blob = |job: &ReadJob| job.found.object.as_ref().map(|(name, _)| name.clone());
            let names: Vec<String> = portion.iter().filter_map(blob).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let contents = repository.read_blobs(&names)?;
            self.fetched = portion.into_iter().zip(contents).collect();
        }
        Ok(self.fetched.pop_front())
    }
}

/// What is remembered on the way.
struct WriteState {
    done: WriteCounts,
    /// Names whose definitions changed.
    names: HashSet<String>,
    /// Names of files that came or went.
    imports: HashSet<String>,
    leans: Vec<LeanFile>,
    directories: HashMap<String, NodeNo>,
    renames: Renames,
}

impl WriteState {
    fn new(writer: &mut Writer<'_>, tree_writer: &TreeWriter<'_>) -> Result<Self> {
        let directories = if tree_writer.fresh { HashMap::new() } else { writer.directories()? };
        let mut work = Self {
            done: WriteCounts::default(),
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
        tree_writer: &TreeWriter<'_>,
        job: ReadJob,
        outcome: ReadOutcome,
    ) -> Result<()> {
        let ReadJob { found, known, was_skipped } = job;
        if was_skipped && !matches!(outcome, ReadOutcome::Skipped { .. }) {
            writer.remove_skipped(&found.path)?;
        }
        match (outcome, known) {
            (ReadOutcome::Read(read), known) => self.put(writer, tree_writer, *read, known),
            (ReadOutcome::Same, Some(known)) => {
                self.done.same += 1;
                let stamp = tree_writer.trusted(found.stamp);
                Ok(writer.restamp(&KnownFile { stamp, ..known })?)
            }
            (ReadOutcome::Skipped { reason, blob }, known) => {
                let (path, reason) = (found.path.clone(), reason.to_owned());
                let stamp = tree_writer.trusted(found.stamp);
                writer.put_skipped(&SkippedFile { path, reason, stamp, blob })?;
                known.map_or(Ok(()), |known| self.remove(writer, tree_writer, &known))
            }
            (ReadOutcome::Gone, Some(known)) => self.remove(writer, tree_writer, &known),
            (ReadOutcome::Gone | ReadOutcome::Same, None) => Ok(()),
        }
    }

    fn put(
        &mut self,
        writer: &mut Writer<'_>,
        tree_writer: &TreeWriter<'_>,
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
        if !tree_writer.fresh {
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
            tree_writer.sinks.iter().try_for_each(|sink| sink.forget(writer, known.no))?;
            self.done.changed += 1;
        } else {
            self.imports.insert(row.import_name.clone());
            self.done.added += 1;
            self.done.files_changed = true;
        }
        lean.no = writer.put_file(known.as_ref().map(|known| known.no), parent, &row)?;
        lean.numbers = writer.put_items(lean.no, &old, &items)?;
        for (sink, prepared) in tree_writer.sinks.iter().zip(prepared) {
            sink.store(writer, lean.no, &lean.numbers, prepared)?;
        }
        self.leans.push(lean);
        Ok(())
    }

    fn remove(
        &mut self,
        writer: &mut Writer<'_>,
        tree_writer: &TreeWriter<'_>,
        known: &KnownFile,
    ) -> Result<()> {
        tree_writer.sinks.iter().try_for_each(|sink| sink.forget(writer, known.no))?;
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
        type DefinitionKey<'a> = (&'a str, &'a str, spore_store::StoredVisibility);
        let mut before: BTreeMap<&str, Vec<DefinitionKey<'_>>> = BTreeMap::new();
        for item in old {
            let told = (item.kind.as_str(), item.qualified.as_str(), item.visibility);
            before.entry(&item.name).or_default().push(told);
        }
        let mut after: BTreeMap<&str, Vec<DefinitionKey<'_>>> = BTreeMap::new();
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
