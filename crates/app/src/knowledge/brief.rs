//! What a session of a run is told before its first action.
//!
//! A coder is told where the task's work is, seen from the base commit. A verifier is told
//! what the change reaches, seen from the trees before and after it, and nothing that the
//! coder said. Both are told the lessons that are about these files and what the project keeps
//! in mind.
//!
//! Nobody waits for a brief and no run fails for want of one: whatever goes wrong becomes a
//! warning, and the brief is smaller or empty. The index of a base is a file of its own that
//! is made once from the nearest one there is, and that of a change a draft on top of it that
//! is never written down, so a run never indexes everything again.

mod memory_lines;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Mutex;

use spore_config::Config;
use spore_context::impact::{self, ImpactLimits};
use spore_context::rank::Weights;
use spore_context::retrieve::{Limits, RankerKind, Sources, compile};
use spore_context::task_file::{self, Sections};
use spore_context::{Compiled, Corpus, LessonRules, choose_lessons};
use spore_git::Repository;
use spore_model::{CommitId, Lesson, NodeId, TreeId};
use spore_store::{CodeIndex, Knowledge};

use crate::indexing::{self, IndexPhase, IndexSource, Reporter};
use crate::knowledge::carried::Carried;
use crate::knowledge::lessons::standing_lessons;
use crate::search::by_meaning;
use crate::{Result, Surroundings, Workspace};
use memory_lines::KeptLine;

/// Compiles the briefs of one project's sessions.
pub(crate) struct Briefing<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) repository: &'a Repository,
    pub(crate) config: &'a Config,
    pub(crate) knowledge: &'a dyn Knowledge,
}

/// Who wants to know what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) task: &'a str,
    pub(crate) role: &'a str,
    /// Whose tree the brief is about: the base for a coder, the snapshot for a verifier.
    pub(crate) at: &'a CommitId,
    /// The paths that the change under judgement touches; for a verifier.
    pub(crate) changed: &'a [String],
    pub(crate) budget_tokens: usize,
}

/// What a session is told.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Brief {
    /// Sections of Markdown to follow the task; equal inputs give equal bytes.
    pub(crate) text: String,
    pub(crate) carried: Carried,
    /// What could not be found out, each a sentence without its full stop.
    pub(crate) warnings: Vec<String>,
    /// What was done on the way that a person may want to know.
    pub(crate) notes: Vec<String>,
}

impl Briefing<'_> {
    /// Tells what code, history, lessons and memory know about a task. Never fails.
    pub(crate) fn compile(&self, question: &Question<'_>) -> Brief {
        let heard = Heard::default();
        let mut warnings = Vec::new();
        let (mut compiled, tree) = match self.code(question, &heard) {
            Ok(Some((compiled, tree))) => (compiled, Some(tree)),
            Ok(None) => (Compiled::default(), None),
            Err(error) => {
                warnings.push(format!("the code was not looked at: {error}"));
                (Compiled::default(), None)
            }
        };
        compiled.lessons = match standing_lessons(self.knowledge) {
            Ok(lessons) => chosen(&lessons, question, &compiled),
            Err(error) => {
                warnings.push(format!("the lessons were not looked at: {error}"));
                Vec::new()
            }
        };
        let kept = memory_lines::read(self.workspace).unwrap_or_else(|error| {
            warnings.push(format!("the memory was not looked at: {error}"));
            Vec::new()
        });
        compiled.memory = kept.iter().map(KeptLine::shown).collect();
        let sections = task_file::sections(&compiled, question.budget_tokens);
        let carried = carried(&sections, &kept, tree);
        let Heard { notes, refused } = heard;
        warnings.extend(refused.into_inner().unwrap_or_default());
        let notes = notes.into_inner().unwrap_or_default();
        Brief { text: sections.text, carried, warnings, notes }
    }

    /// Returns whether there is nothing yet to make an index from: then the first brief takes
    /// as long as reading the whole tree, and whoever waits should be told before.
    pub(crate) fn is_first(&self) -> bool {
        let trees = self.workspace.spore_dir().join("index");
        let any_tree = std::fs::read_dir(trees).is_ok_and(|entries| {
            let is_index = |path: &std::path::Path| path.extension().is_some_and(|it| it == "db");
            entries.flatten().any(|entry| is_index(&entry.path()))
        });
        !any_tree && !matches!(indexing::open_as_is(self.workspace, self.config), Ok(Some(_)))
    }

    fn code(&self, question: &Question<'_>, heard: &Heard) -> Result<Option<(Compiled, TreeId)>> {
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
            let limits = ImpactLimits::default();
            compiled.impact = Some(impact::of(&index, before.as_ref(), question.changed, &limits)?);
        }
        Ok(Some((compiled, tree)))
    }

    /// Returns whether a tree may be indexed while a run waits; says so where it may not.
    fn is_small(&self, at: &CommitId, heard: &Heard) -> Result<bool> {
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

    fn index(&self, at: &CommitId, heard: &Heard) -> Result<CodeIndex> {
        let source = IndexSource::Tree(at.to_string());
        Ok(indexing::open_for(self.around, self.workspace, self.config, &source, heard)?.0)
    }

    /// Returns the index of a commit on top of another whose index there is.
    fn change(&self, base: &CommitId, at: &CommitId, heard: &Heard) -> Result<CodeIndex> {
        let (around, workspace, config) = (self.around, self.workspace, self.config);
        match indexing::draft_of(around, workspace, config, base, at, heard) {
            Ok(Some(index)) => Ok(index),
            // Somebody else drafts for longer than one waits, say.
            Ok(None) | Err(_) => self.index(at, heard),
        }
    }

    /// Returns the index of a run's commit, if that of its base was made before.
    pub(crate) fn seen(&self, at: &CommitId) -> Option<CodeIndex> {
        let base = self.repository.resolve(&format!("{at}^")).ok()?;
        self.made_before(&base)?;
        self.change(&base, at, &Heard::default()).ok()
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
        names.any(|name| is_of(&name)).then(|| self.index(at, &Heard::default()).ok()).flatten()
    }

    /// Returns the pieces of code that differ between a base and a commit on top of it, where
    /// the base is indexed.
    pub(crate) fn touched(&self, base: &CommitId, at: &CommitId, paths: &[String]) -> Vec<NodeId> {
        let Some(before) = self.made_before(base) else { return Vec::new() };
        let Ok(after) = self.change(base, at, &Heard::default()) else { return Vec::new() };
        let limits = ImpactLimits {
            touched: usize::MAX,
            users: 0,
            tests: 0,
            removed: 0,
            companions: 0,
            ..ImpactLimits::default()
        };
        let Ok(impact) = impact::of(&after, Some(&before), paths, &limits) else {
            return Vec::new();
        };
        let mut of_file: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
        let mut touched = Vec::new();
        for item in impact.touched.iter().map(|touched| &touched.item) {
            let count = of_file.entry(&item.path).or_default();
            *count += 1;
            if *count <= MAX_TOUCHED_OF_FILE {
                touched.push(item.id.clone());
            }
        }
        touched
    }

    /// Returns the index of the tree that a snapshot started from. Without it the brief says
    /// less, so a failure is only told.
    fn before(&self, base: &CommitId, heard: &Heard) -> Option<CodeIndex> {
        match self.index(base, heard) {
            Ok(index) => Some(index),
            Err(error) => {
                heard.refuse(format!("the code before the change was not looked at: {error}"));
                None
            }
        }
    }

    /// Returns the files that the task points at; for whoever is to work on them, what is in
    /// them and around them too.
    fn ranked(
        &self,
        index: &CodeIndex,
        question: &Question<'_>,
        judges: bool,
        heard: &Heard,
    ) -> Result<Compiled> {
        let corpus = Corpus::open(index)?;
        let semantic =
            if judges { Vec::new() } else { self.near_in_meaning(index, question.task, heard) };
        let read = |paths: &[&str]| texts_at(self.repository, question.at, paths);
        let sources = Sources {
            knowledge: Some(self.knowledge),
            lessons: &[],
            memory: &[],
            semantic: &semantic,
            read: &read,
        };
        let limits = if judges { of_a_judge() } else { Limits::default() };
        let kind = RankerKind::Fitted(Weights::built_in());
        Ok(compile(&corpus, question.task, &kind, &sources, &limits, &mut |_| {})?)
    }

    fn near_in_meaning(&self, index: &CodeIndex, task: &str, heard: &Heard) -> Vec<(NodeId, f64)> {
        let found =
            by_meaning::anchors(self.around, self.workspace, index, task, LEAST_LIKE, MAX_LIKE);
        found.unwrap_or_else(|error| {
            heard.refuse(format!("going by words and names alone: {error}"));
            Vec::new()
        })
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

/// How near in meaning an anchor is at least, and how many are looked at: the seed's figures.
const LEAST_LIKE: f32 = 0.3;
const MAX_LIKE: usize = 10;

/// How many pieces of one file an implementation is connected with: the seed's figure.
const MAX_TOUCHED_OF_FILE: usize = 10;

/// A judge is shown the change itself, so the code around the task is left out.
fn of_a_judge() -> Limits {
    Limits { files: 12, anchors: 0, snippets: 0, calls: 0, nodes: 0, ..Limits::default() }
}

/// Chooses the lessons about the files that were changed or that the task points at.
fn chosen(
    lessons: &[Lesson],
    question: &Question<'_>,
    compiled: &Compiled,
) -> Vec<spore_context::CarriedLesson> {
    let ranked = compiled.files.iter().map(|file| file.path.as_str());
    let paths: Vec<&str> = question.changed.iter().map(String::as_str).chain(ranked).collect();
    choose_lessons(lessons, question.task, &paths, &|_| None, LessonRules::default())
}

fn carried(sections: &Sections, kept: &[KeptLine], tree: Option<TreeId>) -> Carried {
    let told = &sections.told;
    let hash =
        |line: &u32| kept.iter().find(|kept| kept.line == *line).map(|kept| kept.hash.clone());
    Carried {
        files: told.files.clone(),
        symbols: told.symbols.clone(),
        lessons: told.lessons.clone(),
        memory_lines: told.memory.iter().filter_map(hash).collect(),
        tokens: sections.tokens,
        tree,
    }
}

/// Keeps what the indexer says, since a brief has nobody to tell it to yet.
#[derive(Default)]
struct Heard {
    notes: Mutex<Vec<String>>,
    refused: Mutex<Vec<String>>,
}

impl Heard {
    fn refuse(&self, text: String) {
        if let Ok(mut refused) = self.refused.lock() {
            refused.push(text);
        }
    }
}

impl Reporter for Heard {
    fn progress(&self, _: IndexPhase, _: u64, _: u64) {}

    fn note(&self, text: &str) {
        if let Ok(mut notes) = self.notes.lock() {
            notes.push(text.to_owned());
        }
    }
}
