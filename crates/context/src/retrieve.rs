//! From a task to everything that its task file may say.
//!
//! Files come first: the ranking says which ones the task is about. The functions that spoke
//! loudest in them, and those that the task names, are the anchors; the graph around them,
//! their text and who calls them follow from there. Expansion adds to what is said, it never
//! changes the order of files.

mod anchors;
mod graph;
mod seed;
mod views;

use std::collections::HashMap;

use serde::Serialize;
use spore_model::graph::{Both, Links, expand};
use spore_model::{Lesson, NodeId};
use spore_store::{CodeIndexError, KnowledgeError, StoredItem};

use crate::compiled::{Anchor, Compiled, ContextNode, ItemRef, MemoryLine, RankedFile, Reason};
use crate::corpus::Corpus;
use crate::items::stored_ref;
use crate::lessons::choose;
use crate::options::ContextOptions;
use crate::places::{self, PlaceSummaries};
use crate::rank::{RankSignal, RankWeights, Ranker, Ranking};
use graph::Translated;

pub use graph::RetrieveError;

/// Who ranks the files.
#[derive(Clone, PartialEq, Debug)]
pub enum RankerKind {
    /// Weighted signals.
    Fitted(RankWeights),
    /// The seed's plain algorithm: files by how many nodes the anchors lead to.
    Seed,
}

impl RankerKind {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Fitted(_) => "fitted",
            Self::Seed => "seed",
        }
    }
}

/// Returns the texts of these files of the tree, in their order.
pub type ReadFiles<'a> = dyn Fn(&[&str]) -> Vec<Option<String>> + 'a;

/// What a task file is compiled from, besides the index.
pub struct ContextSources<'a> {
    /// What is known beside the code.
    pub knowledge: Option<&'a dyn Links<Error = KnowledgeError>>,
    pub lessons: &'a [Lesson],
    /// How near lessons are in meaning, where vectors know it.
    pub near_lessons: &'a HashMap<NodeId, f64>,
    pub memory: &'a [MemoryLine],
    /// Items whose meaning is near the task's, best first; from vectors.
    pub semantic: &'a [(NodeId, f64)],
    pub read: &'a ReadFiles<'a>,
    /// What investigations said of files and directories.
    pub places: Option<&'a dyn PlaceSummaries>,
}

/// A part of the work, for a caller that measures how long each takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum CompileStage {
    Open,
    Rank,
    Expand,
    Read,
}

/// Compiles what is known about a task. `done` is told when a stage ends.
pub fn compile(
    corpus: &Corpus<'_>,
    task: &str,
    kind: &RankerKind,
    sources: &ContextSources<'_>,
    options: &ContextOptions,
    done: &mut dyn FnMut(CompileStage),
) -> Result<Compiled, RetrieveError> {
    let said = match sources.places {
        Some(places) => places.matching(task)?,
        None => Vec::new(),
    };
    let ranker = Ranker::new(corpus).knowing(&said);
    done(CompileStage::Open);
    // The seed's ranking looks at what the words gave each function and at no weight.
    let weights = match kind {
        RankerKind::Fitted(weights) => weights.clone(),
        RankerKind::Seed => RankWeights::none(),
    };
    let ranking = ranker.rank(task, &weights)?;
    done(CompileStage::Rank);
    let view = RankedTask { corpus, ranker: &ranker, ranking: &ranking, options };
    let anchors = match kind {
        RankerKind::Fitted(_) => anchors::of_ranking(&view, task, sources.semantic)?,
        RankerKind::Seed => anchors::of_words(&view, sources.semantic)?,
    };
    let nodes = expanded(&view, &anchors, sources)?;
    let files = match kind {
        RankerKind::Fitted(_) => ranked_files(&view, &weights)?,
        RankerKind::Seed => seed::files(&view, &anchors, &nodes)?,
    };
    done(CompileStage::Expand);
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let near = |id: &NodeId| sources.near_lessons.get(id).copied();
    let lessons = choose(sources.lessons, task, &paths, &near, options.lessons);
    let (snippets, calls) = (
        views::snippets(&view, &anchors, &files, sources.read)?,
        views::calls(&view, &anchors, &files)?,
    );
    let places = match sources.places.filter(|_| options.places > 0) {
        Some(known) => places::of_ranked(known, &files, options.places)?,
        None => Vec::new(),
    };
    done(CompileStage::Read);
    Ok(Compiled {
        task: task.to_owned(),
        ranker: kind.as_str().to_owned(),
        files,
        anchors,
        nodes,
        snippets,
        calls,
        places,
        lessons,
        memory: sources.memory.to_vec(),
        impact: None,
    })
}

/// Everything about one question.
struct RankedTask<'v> {
    corpus: &'v Corpus<'v>,
    ranker: &'v Ranker<'v>,
    ranking: &'v Ranking,
    options: &'v ContextOptions,
}

impl RankedTask<'_> {
    fn item_ref(&self, path: &str, item: &StoredItem) -> ItemRef {
        stored_ref(path, item)
    }

    /// Returns the units of a file that the words spoke for, best first.
    fn best_units(&self, place: u32) -> Vec<(u32, f32)> {
        let code = &self.corpus.code;
        let Some(document) = code.documents[place as usize] else { return Vec::new() };
        let units = &code.collection.documents()[document as usize].units;
        let mut scored: Vec<(u32, f32)> = (units.clone())
            .map(|unit| (unit - units.start, self.ranking.units[unit as usize]))
            .filter(|(unit, score)| *unit > 0 && *score > 0.0)
            .collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        scored
    }

    /// Returns the best items of a file.
    fn best_items(&self, place: u32, most: usize) -> Result<Vec<ItemRef>, CodeIndexError> {
        let file = &self.corpus.files[place as usize];
        let mut items = Vec::new();
        for (unit, _) in self.best_units(place).into_iter().take(most) {
            if let Some(item) = self.corpus.index.item_of_unit(file.no, unit)? {
                items.push(self.item_ref(&file.path, &item));
            }
        }
        Ok(items)
    }
}

fn ranked_files(
    view: &RankedTask<'_>,
    weights: &RankWeights,
) -> Result<Vec<RankedFile>, CodeIndexError> {
    let best = view.ranking.order.iter().take(view.options.files);
    best.map(|source| {
        let place = view.ranker.file_of(*source);
        Ok(RankedFile {
            path: view.ranker.path(*source).to_owned(),
            score: tidy(view.ranking.scores[*source as usize].into()),
            why: reasons(view.ranking, *source, weights)
                .into_iter()
                .take(view.options.reasons)
                .collect(),
            nodes: view.best_items(place, view.options.items_of_file)?,
        })
    })
    .collect()
}

/// Returns what every signal gave a file, the strongest first.
pub fn reasons(ranking: &Ranking, source: u32, weights: &RankWeights) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = RankSignal::ALL
        .iter()
        .map(|signal| Reason {
            signal: signal.as_str().to_owned(),
            share: tidy(
                (weights.of(*signal) * ranking.signals.value(*signal, source as usize)).into(),
            ),
        })
        .filter(|reason| reason.share != 0.0)
        .collect();
    reasons.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()).then(a.signal.cmp(&b.signal)));
    reasons
}

fn tidy(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

fn expanded(
    view: &RankedTask<'_>,
    anchors: &[Anchor],
    sources: &ContextSources<'_>,
) -> Result<Vec<ContextNode>, RetrieveError> {
    let code = Translated(view.corpus.index as &dyn Links<Error = CodeIndexError>);
    let knowledge = sources.knowledge.map(Translated);
    let graph: Box<dyn Links<Error = RetrieveError>> = match &knowledge {
        Some(knowledge) => Box::new(Both(&code, knowledge)),
        None => Box::new(code),
    };
    let mut nodes: Vec<ContextNode> = Vec::new();
    for anchor in anchors {
        for reached in expand(&*graph, &anchor.item.id, &view.options.walk)? {
            let via = views::via(&anchor.item.name, &reached.path);
            let node = ContextNode {
                id: reached.node.id.clone(),
                kind: reached.node.kind.clone(),
                title: reached.node.title.clone(),
                relevance: tidy(reached.relevance),
                via,
            };
            match nodes.iter_mut().find(|known| known.id == node.id) {
                Some(known) if known.relevance >= node.relevance => {}
                Some(known) => *known = node,
                None => nodes.push(node),
            }
        }
    }
    nodes.retain(|node| anchors.iter().all(|anchor| anchor.item.id != node.id));
    nodes.sort_by(|a, b| b.relevance.total_cmp(&a.relevance).then_with(|| a.id.cmp(&b.id)));
    nodes.truncate(view.options.nodes);
    Ok(nodes)
}

#[cfg(test)]
mod tests;
