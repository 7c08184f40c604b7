//! What a session of a run is told before its first action.
//!
//! A coder is told where the task's work is, seen from the base commit. A verifier is told
//! what the change reaches, seen from the trees before and after it, and nothing that the
//! coder said. Both are told the lessons that are about these files and what the project keeps
//! in mind.
//!
//! No run fails for want of a brief: whatever goes wrong becomes a warning, and the brief is
//! smaller or empty. The index of a base is a file of its own that
//! is made once from the nearest one there is, and that of a change a draft on top of it that
//! is never written down, so a run never indexes everything again.

mod memory_lines;
mod options;
#[cfg(test)]
pub(crate) mod tests;
mod ties;

use std::collections::HashMap;
use std::sync::Mutex;

use spore_config::Config;
use spore_context::impact::{self, ImpactLimits};
use spore_context::rank::RankWeights;
use spore_context::retrieve::{ContextSources, RankerKind, compile};
use spore_context::task_file::{self, Assignment, TaskFile};
use spore_context::{Compiled, Corpus, choose_lessons};
use spore_git::Repository;
use spore_memory::lines::{LineHash, ToldLine};
use spore_memory::trial::{LineTrial, read_trials};
use spore_model::{CommitId, Lesson, NodeId, RunId, TreeId};
use spore_runs::{FileSignals, Signal};
use spore_store::{CodeIndex, Knowledge};

use crate::base::files::read_text;
use crate::indexing::{self, IndexPhase, IndexSource, Reporter};
use crate::knowledge::carried::{Carried, CarriedRecord, trials_file};
use crate::knowledge::ledger::lessons_in_place;
use crate::knowledge::lessons::standing_lessons;
use crate::knowledge::places::ProjectPlaces;
use crate::search::by_meaning;
use crate::{Result, Surroundings, Workspace};
pub(crate) use memory_lines::KeptLine;
pub(crate) use options::lesson_rules;
pub use options::{context_options, task_file_limits};

/// Finds out what the sessions of one project are told beside their tasks.
pub(crate) struct Briefing<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) repository: &'a Repository,
    pub(crate) config: &'a Config,
    pub(crate) knowledge: &'a dyn Knowledge,
    /// The run whose sessions are told; a line on trial may be kept back from it.
    pub(crate) run: RunId,
}

/// A session that is to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BriefAsked<'a> {
    pub(crate) task: &'a str,
    pub(crate) role: &'a str,
    /// Whose tree the brief is about: the base for a coder, the snapshot for a verifier.
    pub(crate) at: &'a CommitId,
    /// The paths that the change under judgement touches; for a verifier.
    pub(crate) changed: &'a [String],
}

/// What was found for a session, before its task file is written.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Findings {
    compiled: Compiled,
    kept: Vec<KeptLine>,
    /// What the ledger knows the chosen lessons by.
    lesson_lines: Vec<(NodeId, LineHash)>,
    withheld: Withheld,
    tree: Option<TreeId>,
    pub(crate) warnings: Vec<String>,
    notes: Vec<String>,
}

/// The lines and lessons on trial that a run is not told, and what it would be told with them.
#[derive(Clone, PartialEq, Debug, Default)]
struct Withheld {
    lines: Vec<String>,
    lessons: Vec<(NodeId, LineHash)>,
    /// Only where there is any of them.
    whole: Option<Box<(Compiled, Vec<KeptLine>)>>,
}

impl Withheld {
    /// Returns the hashes of those that a task file would have carried: what has no room in it
    /// anyway is kept back by nothing.
    fn that_fit(&self, assignment: &Assignment<'_>) -> Vec<String> {
        let Some((compiled, kept)) = self.whole.as_deref() else { return Vec::new() };
        let whole = carried(&task_file::write(compiled, assignment), kept, Vec::new(), None);
        let lines = self.lines.iter().filter(|hash| whole.memory_lines.contains(hash)).cloned();
        let lessons = self.lessons.iter().filter(|(id, _)| whole.lessons.contains(id));
        lines.chain(lessons.map(|(_, hash)| hash.to_string())).collect()
    }
}

/// What a session was told beside its task.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Brief {
    pub(crate) carried: Carried,
    /// What spoke for each file that it names.
    pub(crate) signals: Vec<FileSignals>,
    /// What could not be found out, each a sentence without its full stop.
    pub(crate) warnings: Vec<String>,
    /// What was done on the way that a person may want to know.
    pub(crate) notes: Vec<String>,
}

impl Findings {
    /// Returns what is known of a task by itself.
    pub(crate) fn of_task(task: &str) -> Self {
        let compiled = Compiled { task: task.to_owned(), ..Compiled::default() };
        Self { compiled, ..Self::default() }
    }

    /// Writes the task file; equal findings and assignments give equal bytes.
    pub(crate) fn write(self, assignment: &Assignment<'_>) -> (String, Brief) {
        let file = task_file::write(&self.compiled, assignment);
        let withheld = self.withheld.that_fit(assignment);
        let mut carried = carried(&file, &self.kept, withheld, self.tree);
        let told = self.lesson_lines.iter().filter(|(id, _)| carried.lessons.contains(id));
        carried.lesson_lines = told.map(|(_, hash)| hash.to_string()).collect();
        let signals = signals(&self.compiled, &carried.files);
        (file.text, Brief { carried, signals, warnings: self.warnings, notes: self.notes })
    }
}

impl Brief {
    /// Returns what is kept of it beside the task file.
    pub(crate) fn kept(&self) -> CarriedRecord {
        CarriedRecord { carried: self.carried.clone(), signals: self.signals.clone() }
    }
}

impl Briefing<'_> {
    /// Finds out what code, history, lessons and memory know about a task. Never fails.
    pub(crate) fn find(&self, question: &BriefAsked<'_>) -> Findings {
        let heard = IndexerNotes::default();
        let mut warnings = Vec::new();
        let (mut compiled, tree) = match self.code(question, &heard) {
            Ok(Some((compiled, tree))) => (compiled, Some(tree)),
            Ok(None) => (Compiled::default(), None),
            Err(error) => {
                warnings.push(format!("the code was not looked at: {error}"));
                (Compiled::default(), None)
            }
        };
        question.task.clone_into(&mut compiled.task);
        let is_withheld = self.withheld();
        let lessons = self.lessons(&mut warnings);
        compiled.lessons = self.chosen(&lessons, question, &compiled);
        let lesson_lines = lesson_lines(&lessons, &compiled);
        let (withheld_lessons, lesson_lines): (Vec<_>, Vec<_>) =
            lesson_lines.into_iter().partition(|(_, hash)| is_withheld(hash.as_str()));
        let kept = KeptLine::read(self.workspace, self.config).unwrap_or_else(|error| {
            warnings.push(format!("the memory was not looked at: {error}"));
            Vec::new()
        });
        compiled.memory = kept.iter().map(KeptLine::shown).collect();
        let on_trial = kept.iter().filter(|line| is_withheld(&line.hash));
        let lines: Vec<String> = on_trial.map(|line| line.hash.clone()).collect();
        let mut withheld = Withheld { lines, lessons: withheld_lessons, whole: None };
        if !(withheld.lines.is_empty() && withheld.lessons.is_empty()) {
            withheld.whole = Some(Box::new((compiled.clone(), kept.clone())));
        }
        let kept: Vec<KeptLine> =
            kept.into_iter().filter(|line| !withheld.lines.contains(&line.hash)).collect();
        compiled.memory = kept.iter().map(KeptLine::shown).collect();
        compiled.lessons.retain(|told| withheld.lessons.iter().all(|(id, _)| *id != told.id));
        let IndexerNotes { notes, refused } = heard;
        warnings.extend(refused.into_inner().unwrap_or_default());
        let notes = notes.into_inner().unwrap_or_default();
        Findings { compiled, kept, lesson_lines, withheld, tree, warnings, notes }
    }

    /// Returns the lessons that have their place. Where the ledger cannot be read all are told,
    /// and none has a record.
    fn lessons(&self, warnings: &mut Vec<String>) -> Vec<Lesson> {
        let in_place = lessons_in_place(self.workspace, self.knowledge, self.config);
        let lessons = in_place.or_else(|error| {
            warnings.push(format!("lessons are told whatever became of them: {error}"));
            standing_lessons(self.knowledge)
        });
        lessons.unwrap_or_else(|error| {
            warnings.push(format!("the lessons were not looked at: {error}"));
            Vec::new()
        })
    }

    /// Says which lines and lessons are on trial and kept back from this run, by their hashes.
    fn withheld(&self) -> impl Fn(&str) -> bool + use<> {
        let text = read_text(&trials_file(self.workspace)).ok().flatten().unwrap_or_default();
        let (trials, run) = (read_trials(&text), self.run.to_string());
        move |hash| {
            let concerns = |trial: &LineTrial| trial.line.as_str() == hash;
            trials.iter().any(|trial| concerns(trial) && trial.withholds(&run))
        }
    }

    /// Returns whether a brief is the first of its project.
    pub(crate) fn is_first(&self) -> bool {
        has_no_index(self.workspace, self.config)
    }

    fn code(
        &self,
        question: &BriefAsked<'_>,
        heard: &IndexerNotes,
    ) -> Result<Option<(Compiled, TreeId)>> {
        if self.is_first() && !self.is_small(question.at, heard)? {
            return Ok(None);
        }
        let judges = question.role == VERIFIER;
        let base =
            if judges { self.repository.resolve(&format!("{}^", question.at)).ok() } else { None };
        let before = base.as_ref().and_then(|base| self.before(base, heard));
        let index = match base.filter(|_| before.is_some()) {
            Some(base) => self.change(&base, question.at, heard)?,
            None => self.index(question.at, heard)?,
        };
        let tree = self.repository.tree_of(question.at)?;
        let mut compiled = self.ranked(&index, question, judges, heard)?;
        if judges {
            let limits = options::impact_limits(self.config);
            compiled.impact = Some(impact::of(&index, before.as_ref(), question.changed, &limits)?);
        }
        Ok(Some((compiled, tree)))
    }

    /// Returns whether a tree may be indexed while a run waits; says so where it may not.
    fn is_small(&self, at: &CommitId, heard: &IndexerNotes) -> Result<bool> {
        let files = self.repository.list_files(at)?.len();
        let most = self.config.context.first_index_files as usize;
        if files > most {
            heard.refuse(format!(
                "the code was not looked at: its {files} files are not indexed, and a run \
                 indexes {most} at most (context.first_index_files); `spore index` does it once"
            ));
        }
        Ok(files <= most)
    }

    fn index(&self, at: &CommitId, heard: &IndexerNotes) -> Result<CodeIndex> {
        let source = IndexSource::Tree(at.to_string());
        Ok(indexing::open_for(self.around, self.workspace, self.config, &source, heard)?.0)
    }

    /// Returns the index of a commit on top of another whose index there is.
    fn change(&self, base: &CommitId, at: &CommitId, heard: &IndexerNotes) -> Result<CodeIndex> {
        let (around, workspace, config) = (self.around, self.workspace, self.config);
        match indexing::draft_of(around, workspace, config, base, at, heard) {
            Ok(Some(index)) => Ok(index),
            // Another process drafts for longer than this one waits, say.
            Ok(None) | Err(_) => self.index(at, heard),
        }
    }

    /// Returns the index of a run's commit, if that of its base was made before.
    pub(crate) fn seen(&self, at: &CommitId) -> Option<CodeIndex> {
        let base = self.repository.resolve(&format!("{at}^")).ok()?;
        self.made_before(&base)?;
        self.change(&base, at, &IndexerNotes::default()).ok()
    }

    /// Returns the index of a commit's tree if it was made before; nothing is made for it.
    fn made_before(&self, at: &CommitId) -> Option<CodeIndex> {
        let tree = self.repository.tree_of(at).ok()?;
        let trees = self.workspace.spore_dir().join("index");
        let is_of = |name: &str| {
            name.strip_suffix(".db").is_some_and(|short| tree.as_str().starts_with(short))
        };
        let entries = std::fs::read_dir(trees).ok()?;
        let mut names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        names
            .any(|name| is_of(&name))
            .then(|| self.index(at, &IndexerNotes::default()).ok())
            .flatten()
    }

    /// Returns the pieces of code that differ between a base and a commit on top of it, where
    /// the base is indexed.
    pub(crate) fn touched(&self, base: &CommitId, at: &CommitId, paths: &[String]) -> Vec<NodeId> {
        let Some(before) = self.made_before(base) else { return Vec::new() };
        let Ok(after) = self.change(base, at, &IndexerNotes::default()) else { return Vec::new() };
        let limits = ImpactLimits {
            touched: usize::MAX,
            users: 0,
            tests: 0,
            removed: 0,
            companions: 0,
            ..options::impact_limits(self.config)
        };
        let Ok(impact) = impact::of(&after, Some(&before), paths, &limits) else {
            return Vec::new();
        };
        let most = self.config.impact.connected_of_file as usize;
        let mut of_file: HashMap<&str, usize> = HashMap::new();
        let mut touched = Vec::new();
        for item in impact.touched.iter().map(|touched| &touched.item) {
            let count = of_file.entry(&item.path).or_default();
            *count += 1;
            if *count <= most {
                touched.push(item.id.clone());
            }
        }
        touched
    }

    /// Returns the index of the tree that a snapshot started from. Without it the brief says
    /// less, so a failure is only told.
    fn before(&self, base: &CommitId, heard: &IndexerNotes) -> Option<CodeIndex> {
        match self.index(base, heard) {
            Ok(index) => Some(index),
            Err(error) => {
                heard.refuse(format!("the code before the change was not looked at: {error}"));
                None
            }
        }
    }

    /// Returns the files that the task points at; for a role that works on them, what is in them
    /// and around them too.
    fn ranked(
        &self,
        index: &CodeIndex,
        question: &BriefAsked<'_>,
        judges: bool,
        heard: &IndexerNotes,
    ) -> Result<Compiled> {
        let corpus = Corpus::open(index)?;
        let semantic =
            if judges { Vec::new() } else { self.near_in_meaning(index, question.task, heard) };
        let read = |paths: &[&str]| texts_at(self.repository, question.at, paths);
        let places = ProjectPlaces { knowledge: self.knowledge, read: &read };
        let sources = ContextSources {
            knowledge: Some(self.knowledge),
            near_lessons: &HashMap::new(),
            lessons: &[],
            memory: &[],
            semantic: &semantic,
            read: &read,
            // A judge goes by the change and the code, not by what others made of it.
            places: if judges { None } else { Some(&places) },
        };
        let mut options = context_options(self.config);
        if judges {
            options = options.of_a_judge(self.config.impact.pointed_at as usize);
        }
        let kind = RankerKind::Fitted(RankWeights::built_in());
        Ok(compile(&corpus, question.task, &kind, &sources, &options, &mut |_| {})?)
    }

    fn near_in_meaning(
        &self,
        index: &CodeIndex,
        task: &str,
        heard: &IndexerNotes,
    ) -> Vec<(NodeId, f64)> {
        let found = near_in_meaning(self.around, self.workspace, self.config, index, task);
        found.unwrap_or_else(|error| {
            heard.refuse(format!("going by words and names alone: {error}"));
            Vec::new()
        })
    }

    /// Chooses the lessons about the files that were changed or that the task points at.
    fn chosen(
        &self,
        lessons: &[Lesson],
        question: &BriefAsked<'_>,
        compiled: &Compiled,
    ) -> Vec<spore_context::CarriedLesson> {
        let ranked = compiled.files.iter().map(|file| file.path.as_str());
        let paths: Vec<&str> = question.changed.iter().map(String::as_str).chain(ranked).collect();
        // Where meaning cannot be asked, words answer.
        let most = self.config.lessons.looked_at as usize;
        let near = by_meaning::near_lessons(self.around, question.task, lessons, most);
        let near = near.unwrap_or_default();
        let nearness = |id: &NodeId| near.get(id).copied();
        choose_lessons(lessons, question.task, &paths, &nearness, lesson_rules(self.config))
    }
}

/// Returns the texts of files as a commit has them. One that cannot be read is only not shown.
pub(crate) fn texts_at(
    repository: &Repository,
    at: &CommitId,
    paths: &[&str],
) -> Vec<Option<String>> {
    let read = repository.read_files(at, paths).unwrap_or_else(|_| {
        let one = |path: &&str| repository.read_file(at, path).ok().flatten();
        paths.iter().map(one).collect()
    });
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    read.into_iter().map(|file| file.map(text)).collect()
}

/// The role that judges; every other one works.
const VERIFIER: &str = "verifier";

/// Returns the pieces of code whose meaning is near a task's, as near and as many as the settings
/// say.
pub(crate) fn near_in_meaning(
    around: &Surroundings,
    workspace: &Workspace,
    config: &Config,
    index: &CodeIndex,
    task: &str,
) -> Result<Vec<(NodeId, f64)>> {
    let (least, most) = (config.context.least_nearness as f32, config.context.near as usize);
    by_meaning::anchors(around, workspace, index, task, least, most)
}

/// Returns what the ledger knows the chosen ones of `lessons` by.
fn lesson_lines(lessons: &[Lesson], compiled: &Compiled) -> Vec<(NodeId, LineHash)> {
    let is_chosen = |lesson: &&Lesson| compiled.lessons.iter().any(|told| told.id == lesson.id);
    let line = |lesson: &Lesson| (lesson.id.clone(), ToldLine::of_lesson(lesson).hash);
    lessons.iter().filter(is_chosen).map(line).collect()
}

fn carried(
    file: &TaskFile,
    kept: &[KeptLine],
    withheld: Vec<String>,
    tree: Option<TreeId>,
) -> Carried {
    let told = &file.mentions;
    let hash =
        |line: &u32| kept.iter().find(|kept| kept.line == *line).map(|kept| kept.hash.clone());
    Carried {
        files: told.files.clone(),
        symbols: told.symbols.clone(),
        lessons: told.lessons.clone(),
        lesson_lines: Vec::new(),
        memory_lines: told.memory.iter().filter_map(hash).collect(),
        withheld,
        tokens: file.context_tokens,
        tree,
    }
}

/// Returns what spoke for each of these files, as the ranking had it.
fn signals(compiled: &Compiled, named: &[String]) -> Vec<FileSignals> {
    const MOST_SIGNALS: usize = 8;
    let rounded = |number: f64| (number * 10_000.0).round() / 10_000.0;
    let ranked = (1..).zip(&compiled.files).filter(|(_, file)| named.contains(&file.path));
    ranked
        .map(|(rank, file)| FileSignals {
            path: file.path.clone(),
            rank,
            score: rounded(file.score),
            why: file
                .why
                .iter()
                .take(MOST_SIGNALS)
                .map(|why| Signal { name: why.signal.clone(), share: rounded(why.share) })
                .collect(),
        })
        .collect()
}

/// Keeps what the indexer says until the brief is there to carry it.
#[derive(Default)]
struct IndexerNotes {
    notes: Mutex<Vec<String>>,
    refused: Mutex<Vec<String>>,
}

impl IndexerNotes {
    fn refuse(&self, text: String) {
        if let Ok(mut refused) = self.refused.lock() {
            refused.push(text);
        }
    }
}

impl Reporter for IndexerNotes {
    fn progress(&self, _: IndexPhase, _: u64, _: u64) {}

    fn note(&self, text: &str) {
        if let Ok(mut notes) = self.notes.lock() {
            notes.push(text.to_owned());
        }
    }
}

/// Returns whether there is nothing yet to make an index from: then the first brief takes as long as
/// reading the whole tree, and the person who waits is told before.
pub(crate) fn has_no_index(workspace: &Workspace, config: &Config) -> bool {
    let trees = workspace.spore_dir().join("index");
    let any_tree = std::fs::read_dir(trees).is_ok_and(|entries| {
        let is_index = |path: &std::path::Path| path.extension().is_some_and(|it| it == "db");
        entries.flatten().any(|entry| is_index(&entry.path()))
    });
    !any_tree && !matches!(indexing::open_as_is(workspace, config), Ok(Some(_)))
}
