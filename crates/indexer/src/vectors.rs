//! Vectors for the texts of an index: as many as time allows, the most wanted first.
//!
//! They are keyed by the hash of the text in one file for the project, so a text is embedded
//! once, however often its source file changes. A process that is killed on the way loses the
//! last portion and nothing else.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use spore_effects::files::{Lock, LockError};
use spore_effects::{Clock, Effect, Probe};
use spore_embed::{EmbedLimits, Key, Model, TextKind, Vector, Vectors, VectorsError};
use spore_store::{CodeIndex, NodeNo, TextOf};

use crate::error::Result;
use crate::progress::{IndexPhase, Reporter, millis};
use crate::settings::thread_count;
use crate::texts::{note_all_vectors, text};

/// How many texts are embedded and written at a time: the most that a kill loses.
const PORTION: usize = 128;
/// Our texts are short; what is longer says nothing new.
const DOCUMENT_TOKENS: usize = 64;
/// When there are this many more vectors than texts, the old ones go.
const SLACK: usize = 20_000;

/// How far the vectors of an index are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FillState {
    /// Every text has one.
    Complete,
    /// The rest follows the next time.
    Partial,
    NoModel,
    /// Another process is making them.
    Busy,
}

/// What was done about vectors.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Filled {
    pub state: FillState,
    /// How many different texts the index has.
    pub texts: u64,
    /// How many of them were embedded now.
    pub embedded: u64,
    /// How many have no vector yet.
    pub missing: u64,
    pub millis: u64,
}

impl Filled {
    /// Nothing was done, for this reason.
    pub fn nothing(state: FillState) -> Self {
        Self { state, texts: 0, embedded: 0, missing: 0, millis: 0 }
    }
}

/// Returns where the vectors of a project are, below the directory that its indexes are in.
pub fn vectors_file(dir: &Path) -> PathBuf {
    dir.join("vectors")
}

/// Makes vectors for the texts of an index that have none.
pub struct VectorFiller<'a> {
    /// The directory that indexes and vectors are kept in.
    pub dir: &'a Path,
    /// The directory of the model, which has to be there.
    pub model_dir: &'a Path,
    /// Threads that embed; 0 is one for each core.
    pub threads: u32,
    pub clock: &'a dyn Clock,
    pub probe: &'a Probe,
    /// Says whether to leave the rest for the next time.
    pub is_over: &'a dyn Fn() -> bool,
    pub reporter: &'a dyn Reporter,
}

impl VectorFiller<'_> {
    /// Makes vectors for as long as `time` says.
    pub fn fill(&self, index: &CodeIndex, time: Duration) -> Result<Filled> {
        let begun = self.clock.monotonic();
        let path = vectors_file(self.dir);
        let _lock = match Lock::try_take(&path.with_extension("lock")) {
            Ok(lock) => lock,
            Err(LockError::Held { .. }) => {
                self.reporter.note("Another process makes vectors of this project.");
                return Ok(Filled::nothing(FillState::Busy));
            }
            Err(error) => return Err(error.into()),
        };
        let mut vectors = open(&path)?;
        let texts = index.texts()?;
        let wanted: HashSet<u128> = texts.iter().map(|text| text.hash).collect();
        self.drop_old(&mut vectors, &wanted)?;
        let missing = missing(texts, &mut vectors);
        let embedded = self.embed_all(index, &mut vectors, &missing, begun + time)?;
        let missing = missing.len() - embedded;
        if missing == 0 {
            note_all_vectors(index)?;
        }
        Ok(Filled {
            state: if missing == 0 { FillState::Complete } else { FillState::Partial },
            texts: wanted.len() as u64,
            embedded: embedded as u64,
            missing: missing as u64,
            millis: millis(begun.elapsed()),
        })
    }

    /// Embeds what is missing until it is done, the time is over or the caller says stop.
    fn embed_all(
        &self,
        index: &CodeIndex,
        vectors: &mut Vectors,
        missing: &[TextOf],
        deadline: Instant,
    ) -> Result<usize> {
        let is_over = || self.clock.monotonic() >= deadline || (self.is_over)();
        if missing.is_empty() || is_over() {
            return Ok(0);
        }
        let total = missing.len() as u64;
        let plural = if total == 1 { "text" } else { "texts" };
        self.reporter.note(&format!(
            "The index is ready to be used. Making vectors for {total} {plural}; Ctrl-C leaves the rest for the next time."
        ));
        let limits = EmbedLimits {
            document_tokens: DOCUMENT_TOKENS,
            threads: thread_count(self.threads),
            ..EmbedLimits::default()
        };
        let model = Model::load(self.model_dir)?.with_limits(limits);
        let mut done = 0;
        for portion in missing.chunks(PORTION) {
            self.reporter.progress(IndexPhase::Embed, done as u64, total);
            let new = embed_some(index, &model, portion)?;
            self.probe.around(Effect::File, "vectors", || vectors.append(&new))?;
            done += portion.len();
            if is_over() {
                break;
            }
        }
        Ok(done)
    }

    fn drop_old(&self, vectors: &mut Vectors, wanted: &HashSet<u128>) -> Result<()> {
        if vectors.len() > wanted.len() * 2 + SLACK {
            self.probe.around(Effect::File, "vectors-compact", || {
                vectors.compact(|key| wanted.contains(&key.0))
            })?;
        }
        Ok(())
    }
}

/// Opens the file of vectors; one of another model is begun anew.
fn open(path: &Path) -> Result<Vectors> {
    match Vectors::open(path) {
        Err(VectorsError::Foreign { .. }) => Ok(Vectors::start_over(path)?),
        opened => Ok(opened?),
    }
}

/// Returns one node for each text without a vector, the most wanted first.
fn missing(texts: Vec<TextOf>, vectors: &mut Vectors) -> Vec<TextOf> {
    let mut seen = HashSet::new();
    let mut missing: Vec<TextOf> = texts
        .into_iter()
        .filter(|text| !vectors.contains(Key(text.hash)) && seen.insert(text.hash))
        .collect();
    missing.sort_by_key(|text| (unwanted(text), text.node));
    missing
}

/// Says how well a search gets on without the meaning of a text.
fn unwanted(text: &TextOf) -> u8 {
    let marks = text.marks;
    match text.kind.as_str() {
        _ if marks.generated || marks.vendored => 4,
        "test" => 3,
        _ if marks.test => 3,
        "const" | "module" => 2,
        "section" | "type" | "macro" => 1,
        _ => 0,
    }
}

fn embed_some(index: &CodeIndex, model: &Model, portion: &[TextOf]) -> Result<Vec<(Key, Vector)>> {
    let nodes: Vec<NodeNo> = portion.iter().map(|text| text.node).collect();
    let parts = index.text_parts(&nodes)?;
    let texts: Vec<String> = nodes.iter().filter_map(|no| text(parts.get(no)?)).collect();
    let shown: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = model.embed(&shown, TextKind::Document);
    Ok(texts.iter().map(|text| Key::of(text)).zip(vectors).collect())
}

#[cfg(test)]
mod tests {
    use spore_store::FileMarks;

    use super::*;

    fn text_of(kind: &str, marks: FileMarks) -> TextOf {
        TextOf { hash: 0, node: 0, kind: kind.to_owned(), marks }
    }

    #[test]
    fn functions_come_before_constants_and_both_before_tests_and_generated_code() {
        let plain = FileMarks::default();
        let test = FileMarks { test: true, ..plain };
        let generated = FileMarks { generated: true, ..plain };
        let order = [
            text_of("function", plain),
            text_of("const", plain),
            text_of("function", test),
            text_of("function", generated),
        ];
        assert!(order.windows(2).all(|pair| unwanted(&pair[0]) < unwanted(&pair[1])));
    }
}
