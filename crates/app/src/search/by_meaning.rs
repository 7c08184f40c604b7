//! What is near in meaning: a question as a vector, and the nodes whose vectors are nearest.
//!
//! Without the model or without vectors there is no answer, which is never an error: words,
//! names and history answer without it.

use std::collections::HashMap;

use spore_context::search::NearNode;
use spore_embed::{Model, TextKind, Vector, Vectors, VectorsError};
use spore_model::{Lesson, NodeId};
use spore_store::CodeIndex;

use crate::search::model_files;
use crate::search::vectors::vectors_file;
use crate::{Result, Surroundings, Workspace};

/// From this many threads on a scan waits for memory.
const SCAN_THREADS: usize = 2;

/// A question as a vector, and how many milliseconds that took.
pub(crate) type Embedded = (Vector, f64);

/// Embeds a question; nothing where the model is not installed.
pub(crate) fn embed(around: &Surroundings, text: &str) -> Result<Option<Embedded>> {
    let dir = model_files::model_dir(around);
    if !model_files::is_installed(&dir) {
        return Ok(None);
    }
    let begun = around.clock.monotonic();
    let model = Model::load(&dir)?;
    let vector = model.embed(&[text], TextKind::Query).into_iter().next();
    let millis = (begun.elapsed().as_secs_f64() * 1e6).round() / 1e3;
    Ok(vector.map(|vector| (vector, millis)))
}

/// Returns how near each of the first `most` lessons is to a task in meaning; of none where the
/// model is not installed.
pub(crate) fn near_lessons(
    around: &Surroundings,
    task: &str,
    lessons: &[Lesson],
    most: usize,
) -> Result<HashMap<NodeId, f64>> {
    let dir = model_files::model_dir(around);
    if lessons.is_empty() || !model_files::is_installed(&dir) {
        return Ok(HashMap::new());
    }
    let model = Model::load(&dir)?;
    let Some(asked) = model.embed(&[task], TextKind::Query).into_iter().next() else {
        return Ok(HashMap::new());
    };
    let lessons = &lessons[..lessons.len().min(most)];
    let texts: Vec<String> =
        lessons.iter().map(|one| format!("{} {} {}", one.title, one.pattern, one.fix)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let near = model.embed(&texts, TextKind::Document).into_iter().map(|vector| {
        let score: f32 = vector.iter().zip(&asked).map(|(a, b)| a * b).sum();
        f64::from(score).clamp(0.0, 1.0)
    });
    Ok(lessons.iter().map(|one| one.id.clone()).zip(near).collect())
}

/// Returns the nodes whose texts are nearest; nothing where there are no vectors.
pub(crate) fn near(
    workspace: &Workspace,
    index: &CodeIndex,
    question: &Vector,
    many: usize,
) -> Result<Option<Vec<NearNode>>> {
    let vectors = match Vectors::open(&vectors_file(workspace)) {
        Ok(vectors) if vectors.is_empty() => return Ok(None),
        Ok(vectors) => vectors,
        // The next `spore index` begins them anew.
        Err(VectorsError::Foreign { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let near = vectors.nearest(question, many, SCAN_THREADS, |_| true);
    let hashes: Vec<u128> = near.iter().map(|near| near.key.0).collect();
    let nodes = index.nodes_of_texts(&hashes)?;
    let found = near.iter().zip(nodes).flat_map(|(near, nodes)| {
        nodes.into_iter().map(|node| NearNode { node, score: near.score })
    });
    Ok(Some(found.collect()))
}

/// Returns the nodes that are near a task in meaning, at least so near, the nearest first.
pub(crate) fn anchors(
    around: &Surroundings,
    workspace: &Workspace,
    index: &CodeIndex,
    task: &str,
    least: f32,
    many: usize,
) -> Result<Vec<(NodeId, f64)>> {
    if !vectors_file(workspace).exists() {
        return Ok(Vec::new());
    }
    let Some((vector, _)) = embed(around, task)? else { return Ok(Vec::new()) };
    let near = near(workspace, index, &vector, many)?.unwrap_or_default();
    let near: Vec<NearNode> = near.into_iter().filter(|near| near.score >= least).collect();
    let numbers: Vec<u32> = near.iter().map(|near| near.node).collect();
    let details = index.unit_details(&numbers)?;
    let anchors = near
        .iter()
        .zip(details)
        .filter_map(|(near, details)| Some((details?.key.id(), f64::from(near.score))));
    Ok(anchors.collect())
}
