//! The model's weights, laid out for the products that read them.
//!
//! Matrices are turned into panels once, at load. The table of words is half of the file and
//! a text uses a few rows of it, so it stays mapped.

use std::path::Path;

use crate::kernels::{self, LANES, Lane};
use crate::safetensors::Tensors;
use crate::{DIMENSIONS, EmbedError};

const LAYERS: usize = 6;
const HEAD: f32 = 32.0;
const INNER: usize = 4 * DIMENSIONS;
/// The longest text the model knows places for.
pub(crate) const PLACES: usize = 512;
pub(crate) const WORDS: usize = 30522;

pub(crate) struct EncoderWeights {
    tensors: Tensors,
    words: usize,
    /// What each place adds; the kind of segment, always the first, is added in.
    pub(crate) places: Vec<f32>,
    pub(crate) first_norm: Norm,
    pub(crate) layers: Vec<EncoderLayer>,
}

pub(crate) struct EncoderLayer {
    pub(crate) qkv: Linear,
    pub(crate) mix: Linear,
    pub(crate) mix_norm: Norm,
    pub(crate) widen: Linear,
    pub(crate) narrow: Linear,
    pub(crate) narrow_norm: Norm,
}

/// A matrix as panels, with its bias.
pub(crate) struct Linear {
    pub(crate) lanes: Vec<Lane>,
    pub(crate) depth: usize,
    pub(crate) bias: Vec<f32>,
}

pub(crate) struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

impl Norm {
    fn read(tensors: &Tensors, name: &str) -> Result<Self, EmbedError> {
        Ok(Self {
            scale: tensors.read(&format!("{name}.weight"), &[DIMENSIONS])?,
            shift: tensors.read(&format!("{name}.bias"), &[DIMENSIONS])?,
        })
    }

    pub(crate) fn apply(&self, row: &mut [f32]) {
        kernels::normalise(row, &self.scale, &self.shift);
    }
}

impl Linear {
    fn with_room(depth: usize, width: usize) -> Self {
        let lanes = Vec::with_capacity(depth * width / LANES);
        Self { lanes, depth, bias: Vec::with_capacity(width) }
    }

    fn read(tensors: &Tensors, name: &str, depth: usize, width: usize) -> Result<Self, EmbedError> {
        let mut linear = Self::with_room(depth, width);
        linear.append(tensors, name, width, 1.0)?;
        Ok(linear)
    }

    /// Adds columns: the file has them as rows, one an output.
    fn append(
        &mut self,
        tensors: &Tensors,
        name: &str,
        width: usize,
        factor: f32,
    ) -> Result<(), EmbedError> {
        let start = tensors.range(&format!("{name}.weight"), &[width, self.depth])?.start;
        let mut rows = vec![0.0; LANES * self.depth];
        for panel in 0..width / LANES {
            tensors.copy(start + panel * rows.len() * 4, &mut rows);
            self.lanes.extend((0..self.depth).map(|at| {
                Lane(std::array::from_fn(|column| rows[column * self.depth + at] * factor))
            }));
        }
        let bias = tensors.read(&format!("{name}.bias"), &[width])?;
        self.bias.extend(bias.iter().map(|number| number * factor));
        Ok(())
    }
}

impl EncoderLayer {
    fn read(tensors: &Tensors, layer: usize) -> Result<Self, EmbedError> {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        let mut qkv = Linear::with_room(DIMENSIONS, 3 * DIMENSIONS);
        // Scores are divided by the root of a head's width: done here, once.
        for (part, factor) in [("query", 1.0 / HEAD.sqrt()), ("key", 1.0), ("value", 1.0)] {
            qkv.append(tensors, &name(&format!("attention.self.{part}")), DIMENSIONS, factor)?;
        }
        let linear = |part: &str, depth, width| Linear::read(tensors, &name(part), depth, width);
        Ok(Self {
            qkv,
            mix: linear("attention.output.dense", DIMENSIONS, DIMENSIONS)?,
            mix_norm: Norm::read(tensors, &name("attention.output.LayerNorm"))?,
            widen: linear("intermediate.dense", DIMENSIONS, INNER)?,
            narrow: linear("output.dense", INNER, DIMENSIONS)?,
            narrow_norm: Norm::read(tensors, &name("output.LayerNorm"))?,
        })
    }
}

impl EncoderWeights {
    pub(crate) fn read(path: &Path) -> Result<Self, EmbedError> {
        let tensors = Tensors::open(path)?;
        let words = "embeddings.word_embeddings.weight";
        let words = tensors.range(words, &[WORDS, DIMENSIONS])?.start;
        let mut places =
            tensors.read("embeddings.position_embeddings.weight", &[PLACES, DIMENSIONS])?;
        let segments = tensors.read("embeddings.token_type_embeddings.weight", &[2, DIMENSIONS])?;
        for place in places.chunks_exact_mut(DIMENSIONS) {
            for (number, segment) in place.iter_mut().zip(&segments) {
                *number += segment;
            }
        }
        let first_norm = Norm::read(&tensors, "embeddings.LayerNorm")?;
        // On one core this takes several times as long as a query does.
        let layers = std::thread::scope(|scope| {
            let tensors = &tensors;
            let read: Vec<_> = (0..LAYERS)
                .map(|layer| scope.spawn(move || EncoderLayer::read(tensors, layer)))
                .collect();
            read.into_iter()
                .map(|layer| layer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<Vec<_>, _>>()
        })?;
        // All but the words was copied, and a word is looked up a row at a time.
        tensors.let_go();
        Ok(Self { words, places, first_norm, layers, tensors })
    }

    /// Copies a word's row out.
    pub(crate) fn word(&self, token: u32, into: &mut [f32]) {
        let row = (token as usize).min(WORDS - 1);
        self.tensors.copy(self.words + row * DIMENSIONS * 4, into);
    }
}
