//! Vectors for the texts of an index: as many as time allows, the most wanted first.
//!
//! They are keyed by the hash of the text in `.spore/vectors`, so a text is embedded once,
//! however often its file changes. Whoever is killed on the way loses the last portion and
//! nothing else. Without the model nothing is made, which is said once for each index.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use spore_config::Config;
use spore_effects::Effect;
use spore_effects::files::{Lock, LockError};
use spore_embed::{EmbedError, EmbedLimits, Key, Model, TextKind, Vector, Vectors, VectorsError};
use spore_store::{CodeIndex, CodeIndexError, NodeNo, TextOf};

use crate::indexing::vectors::{EMBEDDED, TEXTS, text};
use crate::indexing::{Indexed, Reporter, Stage};
use crate::search::model_files;
use crate::{Error, Result, Surroundings, Workspace};

/// How many texts are embedded and written at a time: the most that a kill loses.
const PORTION: usize = 128;
/// Our texts are short; what is longer says nothing new.
const DOCUMENT_TOKENS: usize = 64;
/// When there are this many more vectors than texts, the old ones go.
const SLACK: usize = 20_000;

/// The key in the index's meta under which it is noted that the missing model was mentioned.
const SAID: &str = "said_no_model";
pub(crate) const NO_MODEL: &str = "There is no embedding model, so search goes by words and names alone. `spore setup` \
     installs it.";

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
    fn nothing(state: FillState) -> Self {
        Self { state, texts: 0, embedded: 0, missing: 0, millis: 0 }
    }
}

/// Makes vectors for the index of the work tree, for as long as `time` or the settings say.
pub fn embed(
    around: &Surroundings,
    indexed: &Indexed,
    time: Option<Duration>,
    reporter: &dyn Reporter,
) -> Result<Filled> {
    let Indexed { index, workspace, config, .. } = indexed;
    let filler = Filler { around, workspace, config, reporter };
    filler.fill(index, time.unwrap_or(config.index.embed_for))
}

/// Returns where the vectors of a project are.
pub(crate) fn vectors_file(workspace: &Workspace) -> PathBuf {
    workspace.spore_dir().join("vectors")
}

pub(crate) struct Filler<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) reporter: &'a dyn Reporter,
}

impl Filler<'_> {
    pub(crate) fn fill(&self, index: &CodeIndex, time: Duration) -> Result<Filled> {
        let begun = Instant::now();
        let model_dir = model_files::model_dir(self.around);
        if !model_files::is_installed(&model_dir) {
            self.say_once(index)?;
            return Ok(Filled::nothing(FillState::NoModel));
        }
        let path = vectors_file(self.workspace);
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
        let embedded = self.embed_all(index, &mut vectors, &model_dir, &missing, begun + time)?;
        let missing = missing.len() - embedded;
        if missing == 0 {
            self.note_complete(index)?;
        }
        Ok(Filled {
            state: if missing == 0 { FillState::Complete } else { FillState::Partial },
            texts: wanted.len() as u64,
            embedded: embedded as u64,
            missing: missing as u64,
            millis: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Embeds what is missing until it is done, the time is over or somebody says stop.
    fn embed_all(
        &self,
        index: &CodeIndex,
        vectors: &mut Vectors,
        model_dir: &Path,
        missing: &[TextOf],
        deadline: Instant,
    ) -> Result<usize> {
        let is_over = || Instant::now() >= deadline || self.around.interrupt.is_raised();
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
            threads: self.threads(),
            ..EmbedLimits::default()
        };
        let model = Model::load(model_dir).map_err(of_model)?.with_limits(limits);
        let mut done = 0;
        for portion in missing.chunks(PORTION) {
            self.reporter.progress(Stage::Embed, done as u64, total);
            let new = embed_some(index, &model, portion)?;
            self.around
                .probe
                .around(Effect::File, "vectors", || vectors.append(&new))
                .map_err(of_vectors)?;
            done += portion.len();
            if is_over() {
                break;
            }
        }
        Ok(done)
    }

    fn threads(&self) -> usize {
        match usize::try_from(self.config.index.threads) {
            Ok(0) | Err(_) => std::thread::available_parallelism().map_or(1, usize::from),
            Ok(threads) => threads,
        }
    }

    fn drop_old(&self, vectors: &mut Vectors, wanted: &HashSet<u128>) -> Result<()> {
        if vectors.len() > wanted.len() * 2 + SLACK {
            self.around
                .probe
                .around(Effect::File, "vectors-compact", || {
                    vectors.compact(|key| wanted.contains(&key.0))
                })
                .map_err(of_vectors)?;
        }
        Ok(())
    }

    fn note_complete(&self, index: &CodeIndex) -> Result<()> {
        if index.meta(TEXTS)?.as_deref() == Some(EMBEDDED) {
            return Ok(());
        }
        let kept: std::result::Result<(), CodeIndexError> =
            index.write(|writer| writer.set_meta(TEXTS, EMBEDDED));
        Ok(kept?)
    }

    /// Says that there is no model, the first time for this index.
    pub(crate) fn say_once(&self, index: &CodeIndex) -> Result<()> {
        if index.meta(SAID)?.is_none() {
            self.reporter.note(NO_MODEL);
            let kept: std::result::Result<(), CodeIndexError> =
                index.write(|writer| writer.set_meta(SAID, "yes"));
            kept?;
        }
        Ok(())
    }
}

/// Opens the file of vectors; one of another model is begun anew.
fn open(path: &Path) -> Result<Vectors> {
    match Vectors::open(path) {
        Err(VectorsError::Foreign { .. }) => Vectors::start_over(path).map_err(of_vectors),
        opened => opened.map_err(of_vectors),
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

pub(crate) fn of_model(error: EmbedError) -> Error {
    match error {
        EmbedError::Missing { .. } => {
            Error::new(spore_model::Fault::Missing, error.to_string()).hint("run `spore setup`")
        }
        EmbedError::Damaged { .. } => Error::new(spore_model::Fault::BadInput, error.to_string())
            .hint("run `spore setup`: it mends what is damaged"),
        EmbedError::Io { path, source } => {
            Error::io(format!("cannot read {}", path.display()), source)
        }
    }
}

pub(crate) fn of_vectors(error: VectorsError) -> Error {
    match error {
        VectorsError::Foreign { .. } => Error::new(spore_model::Fault::BadInput, error.to_string())
            .hint("run `spore index`: it makes them anew"),
        VectorsError::Io { path, source } => {
            Error::io(format!("cannot use {}", path.display()), source)
        }
    }
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
