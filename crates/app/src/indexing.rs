//! Code into graph: makes and keeps the index of a tree.
//!
//! Two kinds of trees. The work tree has one index, `.spore/index.db`, which each call brings
//! up to date; a tree of git has one of its own, `.spore/index/<tree>.db`, which never
//! changes once it is finished, so that a run sees the code of its base commit whatever
//! happens to the files meanwhile. It is made from the nearest index there is, by the same
//! steps as any other change.
//!
//! An index is derived and can be made anew at any time. What is made in one go is made
//! beside and moved into place; what is changed is changed in one transaction. So whoever is
//! killed leaves the index as it was. One process at a time works on an index; a second one
//! that wants the same waits and uses what the first one made.

mod applying;
mod classes;
mod cochange;
mod encoding;
mod identity;
mod listing;
mod places;
mod plan;
mod reading;
mod renames;
mod report;
mod resolving;
pub(crate) mod scope;
#[cfg(test)]
mod tests;
pub(crate) mod vectors;
mod watching;
mod words;

use std::any::Any;
use std::path::PathBuf;
use std::time::Instant;

use spore_config::Config;
use spore_effects::Effect;
use spore_effects::files::{Lock, LockError};
use spore_git::{GitError, Repository};
use spore_index::FileFacts;
use spore_model::{CommitId, Timestamp};
use spore_store::{
    CodeIndex, CodeIndexOpenError, FileNo, KnownState, KnownTree, KnownTreeFile, NodeNo, Writer,
};

use crate::{Error, Result, Surroundings, Workspace};
use applying::{Contents, Done, Engine};
use listing::Listing;
use places::Place;
use plan::{Comparison, Plan};
use report::Stages;
use scope::Scope;

pub(crate) use identity::node_key;
pub use report::{IndexReport, Silent, Stage, StageTime};
pub use watching::watch;

/// Raised when the same files give other rows than before: every index is made anew then.
const READER: &str = "2";

/// A file that was written in the last moments before it was read may be written again
/// without looking different.
const RACY_NS: i64 = 50_000_000;

/// Which tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    WorkTree,
    /// A commit or a tree, as a person types it.
    Tree(String),
}

/// What to index, as typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexAsked {
    pub source: Source,
    /// Only these; none is everything.
    pub paths: Vec<PathBuf>,
    pub languages: Vec<String>,
    /// Make it anew, whatever there is.
    pub full: bool,
}

impl IndexAsked {
    pub fn new(source: Source) -> Self {
        Self { source, paths: Vec::new(), languages: Vec::new(), full: false }
    }
}

/// Hears how far the work is.
pub trait Reporter: Sync {
    /// `total` is 0 where nobody knows.
    fn progress(&self, stage: Stage, done: u64, total: u64);

    /// Something worth a line of its own.
    fn note(&self, text: &str);
}

/// A file as it passes by.
pub struct Seen<'a> {
    pub path: &'a str,
    pub text: &'a str,
    /// None for plain text.
    pub facts: Option<&'a FileFacts>,
}

/// Somebody else who keeps something about files, in the same transaction: words, vectors.
///
/// Every file that is new or changed passes here once, and every one that is changed or gone
/// is announced before. Both come from the thread that writes; only `prepare` is called on
/// many threads at once, and is the place for what takes time.
pub trait Sink: Sync {
    fn prepare(&self, seen: &Seen<'_>) -> Box<dyn Any + Send>;

    /// Keeps what was prepared. `items` are the nodes of the facts' items, in their order.
    fn store(
        &self,
        writer: &mut Writer<'_>,
        file: FileNo,
        items: &[NodeNo],
        prepared: Box<dyn Any + Send>,
    ) -> Result<()>;

    fn forget(&self, writer: &mut Writer<'_>, file: FileNo) -> Result<()>;

    /// All files have passed: what is held for them can be written and let go, before names
    /// are resolved and memory is wanted for that.
    fn settle(&self, writer: &mut Writer<'_>) -> Result<()>;

    /// Comes last, when all files have passed and the history is known.
    fn finish(&self, writer: &mut Writer<'_>) -> Result<()>;
}

/// An index that is up to date, still open for whoever goes on with it.
pub struct Indexed {
    pub report: IndexReport,
    pub(crate) index: CodeIndex,
    pub(crate) workspace: Workspace,
    pub(crate) config: Config,
}

/// Brings an index up to date and says what was done.
pub fn index(
    around: &Surroundings,
    asked: &IndexAsked,
    reporter: &dyn Reporter,
) -> Result<Indexed> {
    let workspace = Workspace::find(around)?;
    if !workspace.is_initialised() {
        crate::base::init::init(around)?;
        reporter.note("Initialised .spore/, where the index is kept.");
    }
    let config = workspace.config(around, &[])?;
    let scope = Scope::typed(workspace.root(), &around.cwd, &asked.paths, &asked.languages)?;
    let indexer = Indexer { around, workspace: &workspace, config: &config, reporter, most: None };
    let begun = Instant::now();
    let (index, mut report) = indexer.run(&asked.source, &scope, asked.full)?;
    report.count(&index)?;
    report.took(begun.elapsed());
    Ok(Indexed { report, index, workspace, config })
}

/// Opens the index of a tree, up to date.
pub fn open_for(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    source: &Source,
    reporter: &dyn Reporter,
) -> Result<(CodeIndex, IndexReport)> {
    let indexer = Indexer { around, workspace, config, reporter, most: None };
    indexer.run(source, &Scope::default(), false)
}

/// Opens an index of a commit on top of `base`, whose index there has to be. It is made from
/// that one, seen by nobody else, and gone when it is closed.
pub(crate) fn draft_of(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    base: &CommitId,
    commit: &CommitId,
    reporter: &dyn Reporter,
) -> Result<Option<CodeIndex>> {
    Indexer { around, workspace, config, reporter, most: None }.draft(base, commit)
}

/// Opens the index of the work tree for somebody who waits: up to date if that takes at most
/// so many files, else as it is, and the report says how many files it is behind. Without an
/// index there is one made.
pub fn open_within(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    most: u64,
    reporter: &dyn Reporter,
) -> Result<(CodeIndex, IndexReport)> {
    let indexer = Indexer { around, workspace, config, reporter, most: Some(most) };
    let place = Place::work_tree(workspace);
    let is_held = matches!(Lock::try_take(&place.lock()), Err(LockError::Held { .. }));
    if is_held && let Some(index) = indexer.open(&place)? {
        reporter.note("Another process changes the index: answering from what is there.");
        let report = IndexReport::unchanged(&index, 0);
        return Ok((index, report));
    }
    indexer.run(&Source::WorkTree, &Scope::default(), false)
}

/// Opens the index of the work tree as it is, if there is one that can be used.
pub fn open_as_is(workspace: &Workspace, config: &Config) -> Result<Option<CodeIndex>> {
    match CodeIndex::open(&Place::work_tree(workspace).file, config.store.busy_timeout) {
        Ok(index) => Ok(Some(index)),
        Err(CodeIndexOpenError::Missing { .. } | CodeIndexOpenError::Unusable { .. }) => Ok(None),
        Err(CodeIndexOpenError::Failed(error)) => Err(error.into()),
    }
}

/// Returns the index of the work tree as text; two that are equal were made of equal files.
pub fn dump(around: &Surroundings) -> Result<String> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    match open_as_is(&workspace, &config)? {
        Some(index) => Ok(index.dump()?),
        None => Err(Error::new(spore_model::Fault::Missing, "there is no index of the work tree")
            .hint("run `spore index`")),
    }
}

struct Indexer<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    config: &'a Config,
    reporter: &'a dyn Reporter,
    /// An index that is there and behind by more files than this is used as it is.
    most: Option<u64>,
}

impl Indexer<'_> {
    fn run(&self, source: &Source, scope: &Scope, full: bool) -> Result<(CodeIndex, IndexReport)> {
        match source {
            Source::WorkTree => self.work_tree(scope, full),
            Source::Tree(revision) => self.tree(revision, scope, full),
        }
    }

    fn work_tree(&self, scope: &Scope, full: bool) -> Result<(CodeIndex, IndexReport)> {
        let begun = Instant::now();
        let place = Place::work_tree(self.workspace);
        place.prepare()?;
        let _lock = self.lock(&place)?;
        let mut existing = if full { None } else { self.open(&place)? };
        let mut stages = Stages::default();
        self.reporter.progress(Stage::Walk, 0, 0);
        let root = self.workspace.root();
        // HEAD is read before the files: a branch switch meanwhile is seen the next time.
        let head = self.head()?;
        let known = self.known(&mut existing)?;
        let comparison = Comparison::with(&known, self.config.index.max_file_bytes);
        let listing = listing::of_directory(root, scope, &comparison, self.threads());
        self.check_paths(scope, &listing, &known)?;
        stages.add(Stage::Walk, begun.elapsed());
        let others = listing.others;
        let plan = stages.time(Stage::Compare, || Plan::of(listing, &comparison, scope));
        let contents = Contents::Directory(root);
        let step = Step { place: &place, contents, plan, others, head, existing };
        let (index, mut report) = self.step(step, stages)?;
        report.root = root.display().to_string();
        report.source = "work tree".to_owned();
        report.took(begun.elapsed());
        Ok((index, report))
    }

    fn tree(&self, revision: &str, scope: &Scope, full: bool) -> Result<(CodeIndex, IndexReport)> {
        let begun = Instant::now();
        if !scope.is_everything() {
            let message = "an index of a revision is always that of all its files";
            return Err(Error::new(spore_model::Fault::Usage, message)
                .hint("leave out the paths and --languages, or --rev"));
        }
        let repository = self.workspace.repository(self.around)?;
        let tree = repository.resolve_tree(revision)?;
        let commit = repository.resolve(revision).ok();
        let place = Place::tree(self.workspace, &tree);
        place.prepare()?;
        let _lock = self.lock(&place)?;
        let mut stages = Stages::default();
        let finished = if full { None } else { self.open(&place)? };
        let (index, mut report) = match finished {
            Some(index) => {
                let report = IndexReport::unchanged(&index, 0);
                (index, report)
            }
            None => {
                self.reporter.progress(Stage::Walk, 0, 0);
                let listing = listing::of_tree(&repository, &tree, scope)?;
                stages.add(Stage::Walk, begun.elapsed());
                let contents = Contents::Tree(&repository);
                let mut existing = if full { None } else { self.nearest(&place, &listing)? };
                let known = self.known(&mut existing)?;
                let comparison = Comparison::with(&known, self.config.index.max_file_bytes);
                let others = listing.others;
                let plan = stages.time(Stage::Compare, || Plan::of(listing, &comparison, scope));
                let step = Step { place: &place, contents, plan, others, head: commit, existing };
                self.step(step, stages)?
            }
        };
        place.keep_newest(self.config.index.keep_trees)?;
        report.root = self.workspace.root().display().to_string();
        report.source = tree.to_string();
        report.took(begun.elapsed());
        Ok((index, report))
    }

    /// Waits for whoever works on the same index.
    fn lock(&self, place: &Place) -> Result<Lock> {
        let path = place.lock();
        if let Ok(lock) = Lock::try_take(&path) {
            return Ok(lock);
        }
        self.reporter.note("Waiting for another process that makes this index.");
        Ok(Lock::take(&path)?)
    }

    /// Opens the index if it can be used; says so if it cannot.
    fn open(&self, place: &Place) -> Result<Option<CodeIndex>> {
        let index = match CodeIndex::open(&place.file, self.config.store.busy_timeout) {
            Ok(index) => index,
            Err(CodeIndexOpenError::Missing { .. }) => return Ok(None),
            Err(error @ CodeIndexOpenError::Unusable { .. }) => {
                self.reporter.note(&format!("{error}: making it anew."));
                return Ok(None);
            }
            Err(CodeIndexOpenError::Failed(error)) => return Err(error.into()),
        };
        match index.meta("reader") {
            Ok(Some(reader)) if reader == READER => Ok(Some(index)),
            Ok(_) => {
                self.reporter.note("The index was made by another version: making it anew.");
                Ok(None)
            }
            Err(spore_store::CodeIndexError::Damaged { .. }) => {
                self.reporter.note("The index is damaged: making it anew.");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what an index knows of files. One that cannot say so is of no use.
    fn known(&self, existing: &mut Option<CodeIndex>) -> Result<KnownTree> {
        let Some(index) = existing else { return Ok(KnownTree::default()) };
        match index.known_tree() {
            Ok(known) => Ok(known),
            Err(spore_store::CodeIndexError::Damaged { .. }) => {
                self.reporter.note("The index is damaged: making it anew.");
                *existing = None;
                Ok(KnownTree::default())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Copies the index that has most files in common with a tree to the place of its own.
    fn nearest(&self, place: &Place, listing: &Listing) -> Result<Option<CodeIndex>> {
        let patience = self.config.store.busy_timeout;
        let mut best: Option<(usize, CodeIndex)> = None;
        for path in place.others(self.workspace) {
            let Ok(index) = CodeIndex::open(&path, patience) else { continue };
            let usable = index.meta("reader").ok().flatten().as_deref() == Some(READER);
            let common = if usable { in_common(&index, listing)? } else { 0 };
            if common > best.as_ref().map_or(0, |(most, _)| *most) {
                best = Some((common, index));
            }
        }
        let Some((_, nearest)) = best else { return Ok(None) };
        place.clear_scratch()?;
        let scratch = place.scratch();
        nearest.duplicate(&scratch, patience)?;
        Ok(Some(CodeIndex::open_alone(&scratch)?))
    }

    /// Changes the index of `base` into that of a commit on top of it, for this process and for
    /// as long as it is open. None where the base has no index. The past is the base's: what
    /// somebody is working on is no history yet.
    fn draft(&self, base: &CommitId, commit: &CommitId) -> Result<Option<CodeIndex>> {
        let repository = self.workspace.repository(self.around)?;
        let place = Place::tree(self.workspace, &repository.tree_of(base)?);
        let Some(index) = self.open(&place)? else { return Ok(None) };
        let paths = changed_paths(&repository, base, commit)?;
        if paths.is_empty() {
            return Ok(Some(index));
        }
        let scope = listing::scope_of_change(paths);
        let found = listing::of_tree(&repository, &repository.tree_of(commit)?, &scope)?;
        let known = index.known_tree()?;
        let comparison = Comparison::with(&known, self.config.index.max_file_bytes);
        let plan = Plan::of(found, &comparison, &scope);
        let (words, texts) = (words::WordSink::default(), vectors::TextSink::default());
        let sinks: [&dyn Sink; 2] = [&words, &texts];
        let engine = self.engine(Contents::Tree(&repository), &sinks, false);
        let draft = index.draft(|writer| {
            engine.apply(writer, plan, &mut Stages::default())?;
            sinks.iter().try_for_each(|sink| sink.finish(writer))
        });
        draft.map(Some)
    }

    fn engine<'e>(
        &'e self,
        contents: Contents<'e>,
        sinks: &'e [&'e dyn Sink],
        fresh: bool,
    ) -> Engine<'e> {
        Engine {
            contents,
            threads: self.threads(),
            max_file_bytes: self.config.index.max_file_bytes,
            trusted_before_ns: nanoseconds(self.around.clock.now()) - RACY_NS,
            sinks,
            reporter: self.reporter,
            fresh,
        }
    }

    fn threads(&self) -> usize {
        match usize::try_from(self.config.index.threads) {
            Ok(0) | Err(_) => std::thread::available_parallelism().map_or(1, usize::from),
            Ok(threads) => threads,
        }
    }

    /// Returns the commit behind the work tree; a project need not have one. Asking git takes
    /// longer than seeing that nothing changed, so it is asked where nothing else helps.
    fn head(&self) -> Result<Option<CommitId>> {
        let root = self.workspace.root();
        if let Some(head) = spore_git::head_at_a_glance(root) {
            return Ok(Some(head));
        }
        match Repository::discover(root).and_then(|repository| repository.head()) {
            Ok(head) => Ok(Some(head)),
            // A project without git has an index all the same.
            Err(
                GitError::NoCommits { .. }
                | GitError::NotARepository { .. }
                | GitError::NotInstalled
                | GitError::Bare { .. },
            ) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses a path that nobody has ever heard of.
    fn check_paths(&self, scope: &Scope, listing: &Listing, known: &KnownTree) -> Result<()> {
        for path in scope.paths() {
            let part = Scope::of_paths(vec![path.clone()]);
            let known = self.workspace.root().join(path).symlink_metadata().is_ok()
                || listing.files.iter().any(|found| part.holds_path(&found.path))
                || known.iter().any(|file| part.holds_path(file.path));
            if !known {
                let message = format!("there is no file or directory {path}");
                return Err(Error::new(spore_model::Fault::BadInput, message)
                    .hint("name paths as seen from here, or none for everything"));
            }
        }
        Ok(())
    }
}

/// One index on its way to one tree.
struct Step<'a> {
    place: &'a Place,
    contents: Contents<'a>,
    plan: Plan,
    /// Files that no index is for.
    others: u64,
    head: Option<CommitId>,
    existing: Option<CodeIndex>,
}

impl Indexer<'_> {
    fn step(&self, step: Step<'_>, mut stages: Stages) -> Result<(CodeIndex, IndexReport)> {
        let Step { place, contents, plan, others, head, existing } = step;
        let unchanged = plan.unchanged;
        if let (Some(most), Some(index)) = (self.most, &existing)
            && (plan.is_empty() || plan.files() > most)
        {
            let mut report = IndexReport::unchanged(index, unchanged);
            report.behind = plan.files();
            return match existing {
                Some(index) => Ok((index, report)),
                None => Ok((self.reopen(place)?, report)),
            };
        }
        if let Some(index) = &existing
            && plan.is_empty()
            && !place.is_scratch(index)
            && index.meta("past")? == Some(self.past_of(head.as_ref()))
        {
            let mut report = IndexReport::unchanged(index, unchanged);
            report.others = others;
            report.stages = stages.times();
            return match existing {
                Some(index) => Ok((index, report)),
                None => Ok((self.reopen(place)?, report)),
            };
        }
        let fresh = existing.is_none();
        let index = match existing {
            Some(index) => index,
            None => place.create()?,
        };
        let words = words::WordSink::default();
        let texts = vectors::TextSink::default();
        let sinks: [&dyn Sink; 2] = [&words, &texts];
        let engine = self.engine(contents, &sinks, fresh);
        let done = self.change(&engine, &index, plan, head.as_ref(), &mut stages)?;
        let index = self.settle(place, index, fresh, &mut stages)?;
        let mut report = IndexReport::of(&index, &done, unchanged);
        report.others = others;
        report.commit = head.map(|head| head.to_string());
        report.stages = stages.times();
        Ok((index, report))
    }

    fn change(
        &self,
        engine: &Engine<'_>,
        index: &CodeIndex,
        plan: Plan,
        head: Option<&CommitId>,
        stages: &mut Stages,
    ) -> Result<Done> {
        self.around.probe.around(Effect::Row, "index", || {
            index.write(|writer| {
                let done = engine.apply(writer, plan, stages)?;
                self.history(writer, head, engine.fresh || done.files_changed, stages)?;
                engine.sinks.iter().try_for_each(|sink| sink.finish(writer))?;
                writer.set_meta("reader", READER)?;
                IndexReport::forget_counts(writer)?;
                Ok(done)
            })
        })
    }

    fn history(
        &self,
        writer: &mut Writer<'_>,
        head: Option<&CommitId>,
        files_changed: bool,
        stages: &mut Stages,
    ) -> Result<()> {
        let past = self.past_of(head);
        let settings = &self.config.index;
        let moved = writer.meta("past")?.as_deref() != Some(&past);
        if !moved && !files_changed {
            return Ok(());
        }
        let begun = Instant::now();
        self.reporter.progress(Stage::History, 0, 0);
        let repository: Option<(Repository, &CommitId)> = head
            .map(|head| Ok::<_, Error>((self.workspace.project_repository()?, head)))
            .transpose()?;
        if moved {
            cochange::refresh(writer, repository.as_ref(), settings)?;
        }
        let time = repository.map(|(repository, head)| repository.commit_time(head));
        let time: Option<Timestamp> = time.transpose()?;
        cochange::connect(writer, time, settings)?;
        writer.set_meta("past", &past)?;
        stages.add(Stage::History, begun.elapsed());
        Ok(())
    }

    /// What the edges between files that changed together follow from, in one line.
    fn past_of(&self, head: Option<&CommitId>) -> String {
        let settings = &self.config.index;
        format!(
            "{} {} {} {}",
            head.map_or("none", CommitId::as_str),
            settings.history,
            settings.max_commit_files,
            settings.half_life.as_secs()
        )
    }

    /// Puts what was made beside into its place.
    fn settle(
        &self,
        place: &Place,
        index: CodeIndex,
        fresh: bool,
        stages: &mut Stages,
    ) -> Result<CodeIndex> {
        if !fresh && !place.is_scratch(&index) {
            return Ok(index);
        }
        let begun = Instant::now();
        self.reporter.progress(Stage::Write, 0, 0);
        index.add_lookups()?;
        index.finish()?;
        let patience = self.config.store.busy_timeout;
        self.around.probe.around(Effect::File, "index", || place.install(patience))?;
        stages.add(Stage::Write, begun.elapsed());
        self.reopen(place)
    }

    fn reopen(&self, place: &Place) -> Result<CodeIndex> {
        match CodeIndex::open(&place.file, self.config.store.busy_timeout) {
            Ok(index) => Ok(index),
            Err(CodeIndexOpenError::Failed(error)) => Err(error.into()),
            Err(error) => Err(Error::new(spore_model::Fault::Io, error.to_string())
                .hint("another program has changed .spore/: try again")),
        }
    }
}

fn nanoseconds(time: Timestamp) -> i64 {
    time.as_millis().saturating_mul(1_000_000)
}

fn is_read(file: &KnownTreeFile<'_>) -> bool {
    matches!(file.state, KnownState::Read { .. })
}

/// Returns the paths, old and new, that differ between two commits.
fn changed_paths(
    repository: &Repository,
    base: &CommitId,
    commit: &CommitId,
) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for file in repository.diff(base, commit, 0)?.files {
        if let spore_git::FileChange::Renamed { from } = file.status {
            paths.push(from);
        }
        paths.push(file.path);
    }
    Ok(paths)
}

/// Counts the files of a tree that an index has with the same content.
fn in_common(index: &CodeIndex, listing: &Listing) -> Result<usize> {
    let known = index.known_tree()?;
    let known: std::collections::HashMap<&str, &[u8]> =
        known.iter().filter(is_read).map(|file| (file.path, file.blob)).collect();
    let same = |found: &&listing::Found| {
        let object = found.object.as_ref().map(|(_, bytes)| bytes.as_slice());
        object.is_some() && known.get(found.path.as_str()).copied() == object
    };
    Ok(listing.files.iter().filter(same).count())
}
