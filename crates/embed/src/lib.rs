//! Text into 384 numbers, in this process and without a network, and the file that keeps them.
//!
//! [`Model`] is all-MiniLM-L6-v2 with mean pooling: the forward pass is ours, on weights that
//! `spore setup` installs. Without them nothing here works and everything else of Spore does,
//! so [`EmbedError::Missing`] is an answer and not a failure. [`Vectors`] is a memory-mapped
//! file of what was embedded, keyed by a hash of the text, with an exact search that is fast
//! enough up to a million rows.
//!
//! Everything is `f32` on the processor. Where it has AVX2 the loops are compiled for it a
//! second time, see `kernels`; a release binary runs on any x86-64.

mod encoder;
mod kernels;
mod mapping;
mod model;
mod safetensors;
mod tokenizer;
mod vectors;
mod weights;

pub use model::{EmbedError, EmbedLimits, Model, TextKind, model_dir};
pub use vectors::{Key, Near, Vectors, VectorsError};

/// The model's name, as it stands in a vectors file and in the cache.
pub const MODEL_NAME: &str = "all-MiniLM-L6-v2";

/// How many numbers stand for a text.
pub const DIMENSIONS: usize = 384;

/// What a text becomes: of length one, so that a dot product is a cosine.
pub type Vector = [f32; DIMENSIONS];
