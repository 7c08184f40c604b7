//! Where the walk through the graph begins.

use spore_lexical::name_term;
use spore_model::NodeId;
use spore_store::CodeIndexError;

use super::views::item_of;
use super::{RankedTask, tidy};
use crate::compiled::{Anchor, ItemRef};
use crate::question::TaskQuestion;

/// Anchors of the ranking: what the task names, what its meaning is near to, and the best
/// functions of the best files.
pub(super) fn of_ranking(
    view: &RankedTask<'_>,
    task: &str,
    semantic: &[(NodeId, f64)],
) -> Result<Vec<Anchor>, CodeIndexError> {
    let mut anchors = named(view, task)?;
    add_semantic(view, &mut anchors, semantic)?;
    let best_files = view
        .ranking
        .order
        .iter()
        .take(view.options.anchor_files)
        .map(|source| view.ranker.file_of(*source));
    for place in best_files {
        let best = view.best_units(place).first().copied();
        add_unit(view, &mut anchors, place, best)?;
    }
    anchors.truncate(view.options.anchors);
    Ok(anchors)
}

/// The seed's anchors: near in meaning first, then the best matches of words, wherever.
pub(super) fn of_words(
    view: &RankedTask<'_>,
    semantic: &[(NodeId, f64)],
) -> Result<Vec<Anchor>, CodeIndexError> {
    let mut anchors = Vec::new();
    add_semantic(view, &mut anchors, semantic)?;
    for (place, unit, score) in best_everywhere(view, view.options.anchors) {
        add_unit(view, &mut anchors, place, Some((unit, score)))?;
    }
    anchors.truncate(view.options.anchors);
    Ok(anchors)
}

/// The best units of all files, as file, unit and score.
pub(super) fn best_everywhere(view: &RankedTask<'_>, most: usize) -> Vec<(u32, u32, f32)> {
    let code = &view.corpus.code;
    let documents = code.collection.documents();
    let mut best: Vec<(u32, f32)> = (0..)
        .zip(&view.ranking.units)
        .map(|(unit, score)| (unit, *score))
        .filter(|(_, score)| *score > 0.0)
        .collect();
    best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    best.into_iter()
        .map(|(unit, score)| {
            let document = code.collection.units()[unit as usize].document as usize;
            (code.places[document], unit - documents[document].units.start, score)
        })
        .filter(|(_, unit, _)| *unit > 0)
        .take(most)
        .collect()
}

fn named(view: &RankedTask<'_>, task: &str) -> Result<Vec<Anchor>, CodeIndexError> {
    let code = &view.corpus.code;
    let mut anchors = Vec::new();
    for (name, weight) in TaskQuestion::new(task).names {
        let term = name_term(&name);
        let matches = code.matches(view.corpus.index, &[&term])?;
        let postings = &matches[0].postings;
        if postings.is_empty() || postings.len() > view.options.namesakes {
            continue;
        }
        for posting in postings {
            let document = code.collection.units()[posting.unit as usize].document as usize;
            let first = code.collection.documents()[document].units.start;
            let place = code.places[document];
            let file = &view.corpus.files[place as usize];
            if let Some(item) = view.corpus.index.item_of_unit(file.no, posting.unit - first)? {
                let item = view.item_ref(&file.path, &item);
                push(&mut anchors, item, "named in the task", weight);
            }
        }
    }
    Ok(anchors)
}

fn add_semantic(
    view: &RankedTask<'_>,
    anchors: &mut Vec<Anchor>,
    semantic: &[(NodeId, f64)],
) -> Result<(), CodeIndexError> {
    for (id, score) in semantic.iter().take(view.options.anchors) {
        if let Some(item) = item_of(view, id)? {
            push(anchors, item, "semantic match", *score);
        }
    }
    Ok(())
}

fn add_unit(
    view: &RankedTask<'_>,
    anchors: &mut Vec<Anchor>,
    place: u32,
    unit: Option<(u32, f32)>,
) -> Result<(), CodeIndexError> {
    let Some((unit, score)) = unit else { return Ok(()) };
    let file = &view.corpus.files[place as usize];
    if let Some(item) = view.corpus.index.item_of_unit(file.no, unit)? {
        push(anchors, view.item_ref(&file.path, &item), "word match", score.into());
    }
    Ok(())
}

fn push(anchors: &mut Vec<Anchor>, item: ItemRef, source: &str, score: f64) {
    if anchors.iter().all(|known| known.item.id != item.id) {
        anchors.push(Anchor { item, source: source.to_owned(), score: tidy(score) });
    }
}
