//! The index of a project, for the use cases that need one.
//!
//! How an index is made is known to the crate `indexer`. This module hands it what it needs of
//! the workspace and the configuration, and turns its errors into ours.

use std::path::PathBuf;

use spore_config::Config;
use spore_indexer::{IndexMode, IndexScope, IndexSettings, Indexer, IndexerError};
use spore_model::{CommitId, Fault};
use spore_store::CodeIndex;

use crate::{Error, Result, Surroundings, Workspace};

pub use spore_indexer::{IndexPhase, IndexReport, PhaseTime, Reporter, Silent};
pub(crate) use spore_indexer::{has_all_vectors, node_key, path_from_root};

/// Which tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IndexSource {
    WorkTree,
    /// A commit or a tree, as a person types it.
    Tree(String),
}

/// What to index, as typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexAsked {
    pub source: IndexSource,
    /// Only these; none is everything.
    pub paths: Vec<PathBuf>,
    pub languages: Vec<String>,
    /// Make it anew, whatever there is.
    pub full: bool,
}

impl IndexAsked {
    pub fn new(source: IndexSource) -> Self {
        Self { source, paths: Vec::new(), languages: Vec::new(), full: false }
    }

    fn mode(&self) -> IndexMode {
        if self.full { IndexMode::Full } else { IndexMode::Update }
    }
}

/// An index that is up to date, still open for the caller to go on with.
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
    let IndexedProject { workspace, config, scope } = prepare(around, asked, reporter)?;
    let begun = around.clock.monotonic();
    let site = IndexSite { around, workspace: &workspace, config: &config, reporter };
    let (index, mut report) = site.open(&asked.source, &scope, asked.mode())?;
    report.count(&index)?;
    report.took(begun.elapsed());
    Ok(Indexed { report, index, workspace, config })
}

/// Brings the index up to date after every change, until interrupted. `tell` hears of every
/// time something was done, the first time included.
pub fn watch(
    around: &Surroundings,
    asked: &IndexAsked,
    reporter: &dyn Reporter,
    tell: &mut dyn FnMut(&IndexReport),
) -> Result<()> {
    if asked.source != IndexSource::WorkTree {
        let message = "a revision does not change, so there is nothing to watch";
        return Err(Error::new(Fault::Usage, message).hint("leave out --rev or --watch"));
    }
    let IndexedProject { workspace, config, scope } = prepare(around, asked, reporter)?;
    let is_over = || around.interrupt.is_raised();
    let site = IndexSite { around, workspace: &workspace, config: &config, reporter };
    site.with_indexer(|indexer| indexer.watch(&scope, asked.mode(), &is_over, tell))
}

/// Opens the index of a tree, up to date.
pub fn open_for(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    source: &IndexSource,
    reporter: &dyn Reporter,
) -> Result<(CodeIndex, IndexReport)> {
    let site = IndexSite { around, workspace, config, reporter };
    site.open(source, &IndexScope::default(), IndexMode::Update)
}

/// Opens an index of a commit on top of `base`, whose index there has to be. It is made from
/// that one, seen by no other process, and gone when it is closed.
pub(crate) fn draft_of(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    base: &CommitId,
    commit: &CommitId,
    reporter: &dyn Reporter,
) -> Result<Option<CodeIndex>> {
    let repository = workspace.repository(around)?;
    let site = IndexSite { around, workspace, config, reporter };
    site.with_indexer(|indexer| indexer.draft(&repository, base, commit))
}

/// Opens the index of the work tree for a caller that waits: up to date if that takes at most
/// so many files, else as it is, and the report says how many files it is behind. Without an
/// index there is one made.
pub fn open_within(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    most: u64,
    reporter: &dyn Reporter,
) -> Result<(CodeIndex, IndexReport)> {
    let site = IndexSite { around, workspace, config, reporter };
    site.with_indexer(|indexer| indexer.work_tree_within(most))
}

/// Opens the index of the work tree as it is, if there is one that can be used.
pub fn open_as_is(workspace: &Workspace, config: &Config) -> Result<Option<CodeIndex>> {
    Ok(spore_indexer::open_as_is(&workspace.spore_dir(), config.store.busy_timeout)?)
}

/// Returns the index of the work tree as text; two that are equal were made of equal files.
pub fn dump(around: &Surroundings) -> Result<String> {
    let workspace = Workspace::find(around)?;
    let config = workspace.config(around, &[])?;
    match open_as_is(&workspace, &config)? {
        Some(index) => Ok(index.dump()?),
        None => Err(Error::new(Fault::Missing, "there is no index of the work tree")
            .hint("run `spore index`")),
    }
}

/// The project that is indexed, and how much of it.
struct IndexedProject {
    workspace: Workspace,
    config: Config,
    scope: IndexScope,
}

fn prepare(
    around: &Surroundings,
    asked: &IndexAsked,
    reporter: &dyn Reporter,
) -> Result<IndexedProject> {
    let workspace = Workspace::find(around)?;
    if !workspace.is_initialised() {
        crate::init(around)?;
        reporter.note("Initialised .spore/, where the index is kept.");
    }
    let config = workspace.config(around, &[])?;
    let scope = IndexScope::typed(workspace.root(), &around.cwd, &asked.paths, &asked.languages)?;
    Ok(IndexedProject { workspace, config, scope })
}

/// What an index is made of and where it is told.
struct IndexSite<'a> {
    around: &'a Surroundings,
    workspace: &'a Workspace,
    config: &'a Config,
    reporter: &'a dyn Reporter,
}

impl IndexSite<'_> {
    fn open(
        &self,
        source: &IndexSource,
        scope: &IndexScope,
        mode: IndexMode,
    ) -> Result<(CodeIndex, IndexReport)> {
        match source {
            IndexSource::WorkTree => self.with_indexer(|indexer| indexer.work_tree(scope, mode)),
            IndexSource::Tree(_) if !scope.is_everything() => {
                let message = "an index of a revision is always that of all its files";
                Err(Error::new(Fault::Usage, message)
                    .hint("leave out the paths and --languages, or --rev"))
            }
            IndexSource::Tree(revision) => {
                let repository = self.workspace.repository(self.around)?;
                self.with_indexer(|indexer| indexer.tree(&repository, revision, mode))
            }
        }
    }

    fn with_indexer<T>(
        &self,
        work: impl FnOnce(&Indexer<'_>) -> std::result::Result<T, IndexerError>,
    ) -> Result<T> {
        let index = &self.config.index;
        let settings = IndexSettings {
            threads: index.threads,
            max_file_bytes: index.max_file_bytes,
            history: index.history,
            max_commit_files: index.max_commit_files,
            half_life: index.half_life,
            companions: index.companions,
            least_together: index.least_together,
            keep_trees: index.keep_trees,
            debounce: index.debounce,
            busy_timeout: self.config.store.busy_timeout,
        };
        Ok(work(&Indexer {
            root: self.workspace.root(),
            dir: &self.workspace.spore_dir(),
            settings: &settings,
            project: &|| self.workspace.project_repository(),
            clock: self.around.clock.as_ref(),
            probe: &self.around.probe,
            reporter: self.reporter,
        })?)
    }
}

impl From<IndexerError> for Error {
    fn from(error: IndexerError) -> Self {
        let (fault, hint): (Fault, String) = match error {
            IndexerError::Git(error) => return error.into(),
            IndexerError::Store(error) => return error.into(),
            IndexerError::Lock(error) => return error.into(),
            IndexerError::Model(error) => return error.into(),
            IndexerError::Vectors(error) => return error.into(),
            IndexerError::Write { path, source } => {
                return Self::io(format!("cannot write {}", spore_plain::path(&path)), source);
            }
            IndexerError::Remove { path, source } => {
                return Self::io(format!("cannot remove {}", spore_plain::path(&path)), source);
            }
            IndexerError::IgnoreFile { path, source } => {
                let message = format!("{path} cannot be understood");
                return Self::new(Fault::BadInput, message).because(source);
            }
            IndexerError::Unwatchable(source) => {
                return Self::new(Fault::Io, "the work tree cannot be watched")
                    .hint(
                        "raise fs.inotify.max_user_watches, or run `spore index` from time to time",
                    )
                    .because(source);
            }
            IndexerError::Outside { .. } => {
                (Fault::Usage, "name paths of the project, or another project with --root".into())
            }
            IndexerError::NotText { .. } => (
                Fault::Usage,
                "rename it: the index knows files by names that can be written down".into(),
            ),
            IndexerError::UnknownLanguage { ref typed, ref known } => {
                (Fault::Usage, language_hint(typed, known))
            }
            IndexerError::NoSuchPath { .. } => {
                (Fault::BadInput, "name paths as seen from here, or none for everything".into())
            }
            IndexerError::Replaced(_) => {
                (Fault::Io, "another program has changed .spore/: try again".into())
            }
        };
        Self::new(fault, error.to_string()).hint(hint)
    }
}

fn language_hint(typed: &str, known: &[&str]) -> String {
    let word = typed.trim().to_ascii_lowercase();
    let nearest = known.iter().min_by_key(|known| spore_config::distance(&word, known));
    format!("did you mean {}? There are: {}", nearest.unwrap_or(&""), known.join(", "))
}
