//! `spore context`: what an agent should know before its first action.
//!
//! The index is brought up to date first, so an answer is about the tree as it is; for a
//! revision it is about that revision, and its history ends there.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use serde::Serialize;
use spore_config::Config;
use spore_context::rank::{RankWeights, Ranker};
use spore_context::retrieve::{
    CompileStage, ContextSources, RankerKind, RetrieveError, compile, reasons,
};
use spore_context::task_file::{self, Assignment, Before, TaskFileBudget};
use spore_context::{Compiled, Corpus, MemoryLine, Reason};
use spore_effects::Clock;
use spore_git::Repository;
use spore_model::{CommitId, Fault, Lesson, NodeId};
use spore_store::CodeIndex;

use crate::base::stores::ProjectKnowledge;
use crate::indexing::{self, IndexReport, IndexSource, Reporter};
use crate::knowledge::brief::{
    KeptLine, context_options, near_in_meaning, task_file_limits, texts_at,
};
use crate::knowledge::ledger::lessons_in_place;
use crate::knowledge::places::ProjectPlaces;
use crate::search::by_meaning;
use crate::{Error, Result, Surroundings, Workspace};

/// What to compile, as typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextAsked {
    pub task: String,
    /// A revision instead of the work tree.
    pub rev: Option<String>,
    pub role: String,
    /// How long the task file may be, in estimated tokens. Without it, it is as long as the task
    /// file of a run is.
    pub max_tokens: Option<usize>,
    /// Rank as the seed describes it.
    pub seed_ranker: bool,
    /// Use vectors where there are any.
    pub embed: bool,
}

/// A task file of fewer tokens would hold its headings alone: a bound, not a choice.
pub const MIN_TOKENS: usize = 256;

/// What was compiled, and the task file it gives.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ContextAnswer {
    #[serde(flatten)]
    pub compiled: Compiled,
    /// Of the task file, estimated.
    pub tokens: usize,
    /// How many entries did not fit.
    pub left_out: usize,
    pub timings_ms: BTreeMap<&'static str, f64>,
    #[serde(skip)]
    pub text: String,
    /// How many files the index was behind the tree.
    #[serde(skip)]
    pub refreshed: u64,
}

/// Compiles the context of a task.
pub fn context(
    around: &Surroundings,
    asked: &ContextAsked,
    reporter: &dyn Reporter,
) -> Result<ContextAnswer> {
    check(asked)?;
    let mut clock = Stopwatch::new(around.clock.as_ref());
    let project = Project::open(around, asked, reporter)?;
    clock.lap("index");
    let corpus = Corpus::open(&project.index)?;
    clock.lap("load");
    let semantic = match asked.embed {
        true => project.near_in_meaning(around, &asked.task, reporter)?,
        false => Vec::new(),
    };
    clock.lap("embed");
    let lessons = project.lessons()?;
    // Where meaning cannot be asked, words answer.
    let near_lessons = match asked.embed {
        true => {
            let most = project.config.lessons.looked_at as usize;
            by_meaning::near_lessons(around, &asked.task, &lessons, most).unwrap_or_default()
        }
        false => HashMap::new(),
    };
    let memory = project.memory()?;
    let read = |paths: &[&str]| project.read(paths);
    let places = ProjectPlaces { knowledge: &project.knowledge, read: &read };
    let sources = ContextSources {
        knowledge: Some(&project.knowledge),
        lessons: &lessons,
        near_lessons: &near_lessons,
        memory: &memory,
        semantic: &semantic,
        read: &read,
        places: Some(&places),
    };
    let kind = match asked.seed_ranker {
        true => RankerKind::Seed,
        false => RankerKind::Fitted(RankWeights::built_in()),
    };
    let mut stage_done = |stage: CompileStage| {
        clock.lap(match stage {
            CompileStage::Open => "prepare",
            CompileStage::Rank => "rank",
            CompileStage::Expand => "expand",
            CompileStage::Read => "read",
        });
    };
    let options = context_options(&project.config);
    let compiled = compile(&corpus, &asked.task, &kind, &sources, &options, &mut stage_done)?;
    let assignment = Assignment {
        role: &asked.role,
        occasion: None,
        before: Before::Nothing,
        checks: &[],
        budget: asked.budget(&project.config),
        limits: task_file_limits(&project.config),
    };
    let file = task_file::write(&compiled, &assignment);
    clock.lap("write");
    Ok(ContextAnswer {
        compiled,
        tokens: file.tokens,
        left_out: file.left_out,
        timings_ms: clock.laps,
        text: file.text,
        refreshed: project.refreshed,
    })
}

/// Why a file is where it is in the ranking.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Explained {
    pub task: String,
    pub path: String,
    /// Counted from 1.
    pub rank: usize,
    pub of: usize,
    pub score: f64,
    /// Everything that spoke for it or against it, the strongest first.
    pub why: Vec<Reason>,
}

/// Explains the rank of one file.
pub fn explain_context(
    around: &Surroundings,
    asked: &ContextAsked,
    path: &str,
    reporter: &dyn Reporter,
) -> Result<Explained> {
    check(asked)?;
    let project = Project::open(around, asked, reporter)?;
    let corpus = Corpus::open(&project.index)?;
    let ranker = Ranker::new(&corpus);
    let weights = RankWeights::built_in();
    let ranking = ranker.rank(&asked.task, &weights)?;
    let wanted = path.trim_start_matches("./");
    let found = ranking.order.iter().position(|source| ranker.path(*source) == wanted);
    let Some(rank) = found else {
        return Err(Error::new(Fault::BadInput, format!("{path} is not among the ranked files"))
            .hint("name a source file by its path from the project's root"));
    };
    let source = ranking.order[rank];
    Ok(Explained {
        task: asked.task.clone(),
        path: wanted.to_owned(),
        rank: rank + 1,
        of: ranking.order.len(),
        score: ranking.scores[source as usize].into(),
        why: reasons(&ranking, source, &weights),
    })
}

fn check(asked: &ContextAsked) -> Result<()> {
    if asked.task.trim().is_empty() {
        return Err(Error::new(Fault::Usage, "the task is empty")
            .hint("say in a sentence what is to be done, or pipe it in with `-`"));
    }
    if let Some(tokens) = asked.max_tokens.filter(|tokens| *tokens < MIN_TOKENS) {
        let message = format!("a task file of {tokens} tokens would hold nothing");
        return Err(Error::new(Fault::Usage, message)
            .hint(format!("ask for {MIN_TOKENS} or more with --tokens")));
    }
    Ok(())
}

impl ContextAsked {
    fn budget(&self, config: &Config) -> TaskFileBudget {
        match self.max_tokens {
            Some(tokens) => TaskFileBudget { context: tokens, whole: Some(tokens) },
            None => TaskFileBudget { context: config.context.tokens as usize, whole: None },
        }
    }
}

/// A project, opened for one question.
struct Project {
    workspace: Workspace,
    config: Config,
    index: CodeIndex,
    knowledge: ProjectKnowledge,
    /// Where files are read from, if not from the work tree.
    tree: Option<(Repository, CommitId)>,
    refreshed: u64,
}

impl Project {
    fn open(around: &Surroundings, asked: &ContextAsked, reporter: &dyn Reporter) -> Result<Self> {
        let workspace = Workspace::find(around)?;
        if !workspace.is_initialised() {
            // A plain directory is not filled with Spore's files unasked.
            if around.root.is_none() && workspace.repository(around).is_err() {
                let message = format!("{} is not indexed", spore_plain::path(workspace.root()));
                return Err(Error::new(Fault::Missing, message)
                    .hint("`spore index` indexes this directory; its index is kept in .spore/"));
            }
            crate::base::init::init(around)?;
            reporter.note("Initialised .spore/, where the index is kept.");
        }
        let config: Config = workspace.config(around, &[])?;
        let source = asked.rev.clone().map_or(IndexSource::WorkTree, IndexSource::Tree);
        let tree = match &asked.rev {
            Some(rev) => {
                let repository = workspace.repository(around)?;
                let commit = repository.resolve(rev)?;
                Some((repository, commit))
            }
            None => None,
        };
        let is_new = asked.rev.is_none() && indexing::open_as_is(&workspace, &config)?.is_none();
        if is_new {
            reporter.note("Indexing this project for the first time.");
        }
        let (index, report) = indexing::open_for(around, &workspace, &config, &source, reporter)?;
        let refreshed = if is_new || asked.rev.is_some() { 0 } else { changed(&report) };
        if refreshed > 0 {
            reporter.note(&format!(
                "The index was {} behind the tree; refreshed.",
                crate::counted(u32::try_from(refreshed).unwrap_or(u32::MAX), "file")
            ));
        }
        let knowledge = workspace.knowledge(&config)?;
        Ok(Self { workspace, config, index, knowledge, tree, refreshed })
    }

    fn lessons(&self) -> Result<Vec<Lesson>> {
        lessons_in_place(&self.workspace, &self.knowledge, &self.config)
    }

    /// Anchors by meaning; none for a revision, whose texts have no vectors.
    fn near_in_meaning(
        &self,
        around: &Surroundings,
        task: &str,
        reporter: &dyn Reporter,
    ) -> Result<Vec<(NodeId, f64)>> {
        if self.tree.is_some() {
            return Ok(Vec::new());
        }
        let found = near_in_meaning(around, &self.workspace, &self.config, &self.index, task);
        Ok(found.unwrap_or_else(|error: Error| {
            reporter.note(&format!("Going by words and names alone: {error}."));
            Vec::new()
        }))
    }

    fn memory(&self) -> Result<Vec<MemoryLine>> {
        let kept = KeptLine::read(&self.workspace, &self.config)?;
        Ok(kept.iter().map(KeptLine::shown).collect())
    }

    fn read(&self, paths: &[&str]) -> Vec<Option<String>> {
        if let Some((repository, commit)) = &self.tree {
            return texts_at(repository, commit, paths);
        }
        let read = |path: &&str| std::fs::read(self.workspace.root().join(path)).ok();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        paths.iter().map(|path| read(path).map(text)).collect()
    }
}

fn changed(report: &IndexReport) -> u64 {
    report.added + report.changed + report.removed
}

impl From<RetrieveError> for Error {
    fn from(error: RetrieveError) -> Self {
        match error {
            RetrieveError::Index(error) => error.into(),
            RetrieveError::Knowledge(error) => error.into(),
        }
    }
}

/// How long each part took.
struct Stopwatch<'a> {
    clock: &'a dyn Clock,
    last: Instant,
    laps: BTreeMap<&'static str, f64>,
}

impl<'a> Stopwatch<'a> {
    fn new(clock: &'a dyn Clock) -> Self {
        Self { clock, last: clock.monotonic(), laps: BTreeMap::new() }
    }

    fn lap(&mut self, name: &'static str) {
        let now = self.clock.monotonic();
        let millis = (now - self.last).as_secs_f64() * 1000.0;
        *self.laps.entry(name).or_default() += (millis * 100.0).round() / 100.0;
        self.last = now;
    }
}
