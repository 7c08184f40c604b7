//! The index of a view, opened for searching and held open.
//!
//! Opening an index for a search takes longer than the search, so one thread opens it once and
//! answers every question of the toolbox. Between questions it looks whether the files changed,
//! not more often than once a second: a few changes are read in before the answer, many in the
//! background, and the answer says how many files it is behind. A commit's index never changes.
//!
//! No question waits for long: where the first index of a large project is still being made, the
//! answer says that and the question can be asked again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use spore_context::search::{NearNode, Searcher};
use spore_model::Fault;
use spore_store::CodeIndex;

use super::nearness::Nearness;
use super::view::ProjectView;
use crate::indexing::{self, IndexAsked, IndexSource, Silent};
use crate::{Error, Result, Surroundings, Workspace};

/// How old a look at the files may be.
const RECHECK: Duration = Duration::from_secs(1);
/// How long a question waits for the index.
const PATIENCE: Duration = Duration::from_secs(25);

/// An index that is open.
pub(super) struct Opened<'i> {
    pub(super) index: &'i CodeIndex,
    pub(super) searcher: &'i Searcher<'i>,
    /// Files that changed since and were too many to read first.
    pub(super) behind: u64,
    /// None for a commit's index: its texts have no vectors.
    nearness: Option<&'i Nearness>,
}

impl Opened<'_> {
    /// What a question is near to in meaning, where that can be told: the `most` nearest texts.
    pub(super) fn near(&self, around: &Surroundings, text: &str, most: u32) -> Vec<NearNode> {
        let near = |nearness: &Nearness| nearness.of(around, self.index, text, most);
        self.nearness.map(near).unwrap_or_default()
    }

    /// What to say about an answer that is not from the files as they are now.
    pub(super) fn note(&self) -> Option<String> {
        (self.behind > 0).then(|| {
            let files = crate::counted(u32::try_from(self.behind).unwrap_or(u32::MAX), "file");
            format!("the index is {files} behind and being brought up to date: ask again soon")
        })
    }
}

type Job = Box<dyn for<'a, 'i> FnOnce(std::result::Result<&'a Opened<'i>, Error>) + Send>;

/// The index of a view, and the thread that holds it open.
pub(super) struct HeldIndex {
    around: Arc<Surroundings>,
    view: ProjectView,
    /// Sends jobs to the thread, which is started by the first question.
    sender: Mutex<Option<Sender<Job>>>,
}

impl HeldIndex {
    pub(super) fn new(around: Arc<Surroundings>, view: ProjectView) -> Self {
        Self { around, view, sender: Mutex::new(None) }
    }

    /// Begins to open the index and does not wait for it.
    pub(super) fn warm_up(&self) {
        let _ = self.send(Box::new(|_| {}));
    }

    /// Asks the index something.
    pub(super) fn with<T: Send + 'static>(
        &self,
        ask: impl for<'a, 'i> FnOnce(&'a Opened<'i>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (tell, told) = channel();
        self.send(Box::new(move |opened| {
            // A caller whose question took too long no longer listens.
            let _ = tell.send(opened.and_then(ask));
        }))?;
        match told.recv_timeout(PATIENCE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                Err(Error::new(Fault::Missing, "the index is still being made")
                    .hint("ask again in a moment"))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(Error::new(Fault::Bug, "the index could not answer this question"))
            }
        }
    }

    /// Returns where the index is, up to date like any answer, and what to say if it is not.
    pub(super) fn place(&self) -> Result<(PathBuf, Option<String>)> {
        self.with(|opened| Ok((opened.index.path().to_owned(), opened.note())))
    }

    fn send(&self, job: Job) -> Result<()> {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let job = match sender.as_ref() {
            None => job,
            Some(way) => match way.send(job) {
                Ok(()) => return Ok(()),
                // Its thread is gone; another one takes over.
                Err(lost) => lost.0,
            },
        };
        let (way, jobs) = channel();
        // The thread that is about to start receives it.
        let _ = way.send(job);
        let thread = IndexThread {
            around: Arc::clone(&self.around),
            view: self.view.clone(),
            catching_up: Arc::new(AtomicBool::new(false)),
            nearness: Nearness::default(),
        };
        std::thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || thread.serve(&jobs))
            .map_err(|source| Error::io("cannot start a thread", source))?;
        *sender = Some(way);
        Ok(())
    }
}

/// The thread that holds the index.
struct IndexThread {
    around: Arc<Surroundings>,
    view: ProjectView,
    /// Whether the rest of the changes is being read in the background.
    catching_up: Arc<AtomicBool>,
    nearness: Nearness,
}

/// An index that was just opened, and how many files it is behind.
struct Fresh {
    index: CodeIndex,
    behind: u64,
    mark: Mark,
}

impl IndexThread {
    /// Answers until the sender of the jobs is dropped.
    fn serve(&self, jobs: &Receiver<Job>) {
        let mut waiting = jobs.recv().ok();
        let mut next: Option<Fresh> = None;
        while let Some(job) = waiting.take() {
            let opened = match next.take() {
                Some(fresh) => Ok(fresh),
                None => self.open(),
            };
            match opened {
                Ok(fresh) => (waiting, next) = self.hold(fresh, job, jobs),
                Err(error) => {
                    job(Err(error));
                    waiting = jobs.recv().ok();
                }
            }
        }
    }

    /// Answers from one opening, until another one is needed.
    fn hold(&self, fresh: Fresh, first: Job, jobs: &Receiver<Job>) -> (Option<Job>, Option<Fresh>) {
        let Fresh { index, mut behind, mark } = fresh;
        let searcher = match Searcher::open(&index) {
            Ok(searcher) => searcher,
            Err(error) => {
                first(Err(error.into()));
                return (jobs.recv().ok(), None);
            }
        };
        let mut looked = self.around.clock.monotonic();
        let mut job = first;
        loop {
            if self.may_change() && looked.elapsed() >= RECHECK {
                match self.look_again(&mark) {
                    Ok(Look::Same { behind: now }) => behind = now,
                    Ok(Look::Changed(fresh)) => return (Some(job), Some(fresh)),
                    Err(error) => {
                        job(Err(error));
                        return (jobs.recv().ok(), None);
                    }
                }
                looked = self.around.clock.monotonic();
            } else if !index.path().exists() {
                return (Some(job), None);
            }
            let nearness = self.may_change().then_some(&self.nearness);
            job(Ok(&Opened { index: &index, searcher: &searcher, behind, nearness }));
            job = match jobs.recv() {
                Ok(job) => job,
                Err(_) => return (None, None),
            };
        }
    }

    fn may_change(&self) -> bool {
        !matches!(self.view, ProjectView::Session { at: Some(_), .. })
    }

    fn open(&self) -> Result<Fresh> {
        let around = self.around.as_ref();
        let workspace = Workspace::find(around)?;
        let ProjectView::Session { at: Some(commit), .. } = &self.view else {
            return self.open_work_tree(&workspace);
        };
        let config = workspace.config(around, &[])?;
        let source = IndexSource::Tree(commit.to_string());
        let (index, _) = indexing::open_for(around, &workspace, &config, &source, &Silent)?;
        let mark = Mark::of(index.path());
        Ok(Fresh { index, behind: 0, mark })
    }

    fn open_work_tree(&self, workspace: &Workspace) -> Result<Fresh> {
        let around = self.around.as_ref();
        // A directory of the user's that is no repository is not filled with our files unasked.
        if !workspace.is_initialised() && workspace.repository(around).is_ok() {
            crate::base::init::init(around)?;
        }
        workspace.check_initialised()?;
        let config = workspace.config(around, &[])?;
        let most = u64::from(config.search.refresh_files);
        let (index, report) = indexing::open_within(around, workspace, &config, most, &Silent)?;
        if report.behind > 0 {
            self.catch_up();
        }
        let mark = Mark::of(index.path());
        Ok(Fresh { index, behind: report.behind, mark })
    }

    /// Looks whether the files changed, or another process wrote to the index.
    fn look_again(&self, held: &Mark) -> Result<Look> {
        let workspace = Workspace::find(&self.around)?;
        let fresh = self.open_work_tree(&workspace)?;
        if fresh.mark == *held {
            return Ok(Look::Same { behind: fresh.behind });
        }
        Ok(Look::Changed(fresh))
    }

    /// Reads all changes in the background; one such thread at a time.
    fn catch_up(&self) {
        if self.catching_up.swap(true, Ordering::Relaxed) {
            return;
        }
        let (around, done) = (Arc::clone(&self.around), Arc::clone(&self.catching_up));
        let work = move || {
            // What goes wrong here goes wrong again at the next question, whose answer tells it.
            let _ = indexing::index(&around, &IndexAsked::new(IndexSource::WorkTree), &Silent);
            done.store(false, Ordering::Relaxed);
        };
        if std::thread::Builder::new().name("catch-up".to_owned()).spawn(work).is_err() {
            self.catching_up.store(false, Ordering::Relaxed);
        }
    }
}

enum Look {
    Same { behind: u64 },
    Changed(Fresh),
}

/// By which an index is known to be the one that was opened: a write to it, by this process or
/// another, changes one of its two files.
#[derive(PartialEq, Eq)]
struct Mark([Option<(u64, SystemTime)>; 2]);

impl Mark {
    fn of(index: &Path) -> Self {
        let mut log = index.as_os_str().to_owned();
        log.push("-wal");
        let mark = |path: &Path| {
            let found = path.metadata().ok().filter(|found| found.len() > 0)?;
            Some((found.len(), found.modified().ok()?))
        };
        Self([mark(index), mark(Path::new(&log))])
    }
}
