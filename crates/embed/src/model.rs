//! Loads the model and embeds texts with it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::encoder::Encoder;
use crate::tokenizer::Tokenizer;
use crate::weights::{EncoderWeights, PLACES};
use crate::{MODEL_NAME, Vector};

const WEIGHTS: &str = "model.safetensors";
const VOCABULARY: &str = "vocab.txt";

/// How many tokens are worked on at a time; a text is never cut for it.
const BATCH_TOKENS: usize = 256;

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// It was never installed: go on without, and say how to get it.
    #[error("the embedding model is not installed: there is no {path}", path = spore_plain::path(.path))]
    Missing { path: PathBuf },
    /// Installing it again mends this.
    #[error("{path} is damaged: {what}", path = spore_plain::path(.path))]
    Damaged { path: PathBuf, what: String },
    #[error("cannot read {path}", path = spore_plain::path(.path))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl EmbedError {
    pub(crate) fn of_file(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing { path },
            _ => Self::Io { path, source },
        }
    }
}

/// What a text is for; the two are cut at different lengths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextKind {
    Document,
    Query,
}

/// How long a text may be, in tokens, and how many threads may work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EmbedLimits {
    pub document_tokens: usize,
    pub query_tokens: usize,
    pub threads: usize,
}

impl Default for EmbedLimits {
    fn default() -> Self {
        Self { document_tokens: 128, query_tokens: 64, threads: 1 }
    }
}

/// all-MiniLM-L6-v2, ready to embed.
pub struct Model {
    weights: EncoderWeights,
    tokenizer: Tokenizer,
    limits: EmbedLimits,
}

impl Model {
    /// The files of a model directory that are needed.
    pub const FILES: [&str; 2] = [WEIGHTS, VOCABULARY];

    /// Loads the model from its directory, see [`model_dir`].
    pub fn load(dir: &Path) -> Result<Self, EmbedError> {
        let tokenizer = Tokenizer::read(&dir.join(VOCABULARY))?;
        let weights = EncoderWeights::read(&dir.join(WEIGHTS))?;
        Ok(Self { weights, tokenizer, limits: EmbedLimits::default() })
    }

    /// Sets how much of a text counts and how many threads work on many.
    #[must_use]
    pub fn with_limits(mut self, limits: EmbedLimits) -> Self {
        let tokens = |count: usize| count.clamp(3, PLACES);
        self.limits = EmbedLimits {
            document_tokens: tokens(limits.document_tokens),
            query_tokens: tokens(limits.query_tokens),
            threads: limits.threads.max(1),
        };
        self
    }

    /// Returns one vector a text, in their order. A text without a word has one, too.
    pub fn embed(&self, texts: &[&str], kind: TextKind) -> Vec<Vector> {
        let limit = match kind {
            TextKind::Document => self.limits.document_tokens,
            TextKind::Query => self.limits.query_tokens,
        };
        let tokens: Vec<Vec<u32>> =
            texts.iter().map(|text| self.tokenizer.tokens(text, limit)).collect();
        let tokens: Vec<&[u32]> = tokens.iter().map(Vec::as_slice).collect();
        let batches = batches(&tokens);
        let threads = self.limits.threads.min(batches.len());
        if threads <= 1 {
            let mut encoder = Encoder::new(&self.weights);
            return batches.iter().flat_map(|batch| encoder.encode(batch)).collect();
        }
        self.embed_on(threads, &batches)
    }

    /// Every thread takes the next batch that no other has taken.
    fn embed_on(&self, threads: usize, batches: &[&[&[u32]]]) -> Vec<Vector> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut encoder = Encoder::new(&self.weights);
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = batches.get(at) else { return done };
                done.push((at, encoder.encode(batch)));
            }
        };
        let mut done: Vec<(usize, Vec<Vector>)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<(usize, Vec<Vector>)>>| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            workers.into_iter().flat_map(join).collect()
        });
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().flat_map(|(_, vectors)| vectors).collect()
    }

    /// Returns the tokens a text is embedded by.
    pub fn tokens(&self, text: &str, kind: TextKind) -> Vec<u32> {
        match kind {
            TextKind::Document => self.tokenizer.tokens(text, self.limits.document_tokens),
            TextKind::Query => self.tokenizer.tokens(text, self.limits.query_tokens),
        }
    }
}

/// Cuts texts into runs that are worked on together.
fn batches<'a, 'b>(texts: &'b [&'a [u32]]) -> Vec<&'b [&'a [u32]]> {
    let mut batches = Vec::new();
    let (mut from, mut tokens) = (0, 0);
    for (at, text) in texts.iter().enumerate() {
        if tokens > 0 && tokens + text.len() > BATCH_TOKENS {
            batches.push(&texts[from..at]);
            (from, tokens) = (at, 0);
        }
        tokens += text.len();
    }
    if from < texts.len() {
        batches.push(&texts[from..]);
    }
    batches
}

/// Returns the model's directory, for `spore setup` to install it in and for searches to load it
/// from: `SPORE_MODEL_DIR`, or the user's cache.
pub fn model_dir(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("SPORE_MODEL_DIR").unwrap_or_else(|| {
        let home = set("HOME").unwrap_or_default();
        let cache = set("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache"));
        cache.join("spore/models").join(MODEL_NAME)
    })
}
