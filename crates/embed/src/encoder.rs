//! The forward pass: token ids of some texts in, one vector a text out.
//!
//! The texts of a batch stand one after another without padding, so every matrix product is
//! one over all their tokens, and only attention looks at texts one by one. A batch is small
//! enough for most of its activations to stay in the processor's caches; twice as many tokens
//! at a time were no faster.

use crate::kernels::{self, LANES, Lane, Onto, Panels, Rows};
use crate::weights::{EncoderWeights, Linear, Norm};
use crate::{DIMENSIONS, Vector};

const HEADS: usize = 12;
const HEAD: usize = DIMENSIONS / HEADS;
/// Query, key and value side by side.
const QKV: usize = 3 * DIMENSIONS;
/// The width of the feed-forward part.
const INNER: usize = 4 * DIMENSIONS;

/// Works through batches; keeps its buffers from one to the next.
pub(crate) struct Encoder<'a> {
    weights: &'a EncoderWeights,
    states: Vec<f32>,
    qkv: Vec<f32>,
    attended: Vec<f32>,
    mixed: Vec<f32>,
    inner: Vec<f32>,
    head: HeadBuffers,
}

#[derive(Default)]
struct HeadBuffers {
    keys: Vec<Lane>,
    values: Vec<Lane>,
    scores: Vec<f32>,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(weights: &'a EncoderWeights) -> Self {
        Self {
            weights,
            states: Vec::new(),
            qkv: Vec::new(),
            attended: Vec::new(),
            mixed: Vec::new(),
            inner: Vec::new(),
            head: HeadBuffers::default(),
        }
    }

    /// Embeds each text of a batch. Texts have at least one token and none beyond the
    /// vocabulary: the tokenizer sees to both.
    pub(crate) fn encode(&mut self, texts: &[&[u32]]) -> Vec<Vector> {
        let tokens: usize = texts.iter().map(|text| text.len()).sum();
        self.states.resize(tokens * DIMENSIONS, 0.0);
        self.qkv.resize(tokens * QKV, 0.0);
        self.attended.resize(tokens * DIMENSIONS, 0.0);
        self.mixed.resize(tokens * DIMENSIONS, 0.0);
        self.inner.resize(tokens * INNER, 0.0);
        self.look_up(texts);
        for layer in 0..self.weights.layers.len() {
            self.layer(layer, texts);
        }
        pool(&self.states, texts)
    }

    /// The sum of word, place and kind of segment, normalised.
    fn look_up(&mut self, texts: &[&[u32]]) {
        let mut states = self.states.chunks_exact_mut(DIMENSIONS);
        for text in texts {
            for ((place, token), state) in text.iter().enumerate().zip(&mut states) {
                self.weights.word(*token, state);
                let places = &self.weights.places[place * DIMENSIONS..(place + 1) * DIMENSIONS];
                for (number, place) in state.iter_mut().zip(places) {
                    *number += place;
                }
                self.weights.first_norm.apply(state);
            }
        }
    }

    fn layer(&mut self, layer: usize, texts: &[&[u32]]) {
        let layer = &self.weights.layers[layer];
        self.qkv.chunks_exact_mut(QKV).for_each(|row| row.copy_from_slice(&layer.qkv.bias));
        multiply(&self.states, &layer.qkv, &mut self.qkv, Onto::Sum);
        let mut from = 0;
        for text in texts {
            let qkv = &self.qkv[from * QKV..(from + text.len()) * QKV];
            let out = &mut self.attended[from * DIMENSIONS..(from + text.len()) * DIMENSIONS];
            attend(qkv, text.len(), out, &mut self.head);
            from += text.len();
        }
        multiply(&self.attended, &layer.mix, &mut self.mixed, Onto::Nothing);
        self.settle(&layer.mix, &layer.mix_norm);
        multiply(&self.states, &layer.widen, &mut self.inner, Onto::Nothing);
        self.inner.chunks_exact_mut(INNER).for_each(|row| kernels::gelu(row, &layer.widen.bias));
        multiply(&self.inner, &layer.narrow, &mut self.mixed, Onto::Nothing);
        self.settle(&layer.narrow, &layer.narrow_norm);
    }

    /// Adds what a part of a layer made, and its bias, to the states it was made from.
    fn settle(&mut self, linear: &Linear, norm: &Norm) {
        let mixed = self.mixed.chunks_exact(DIMENSIONS);
        for (state, mixed) in self.states.chunks_exact_mut(DIMENSIONS).zip(mixed) {
            add(state, mixed);
            add(state, &linear.bias);
            norm.apply(state);
        }
    }
}

fn multiply(input: &[f32], linear: &Linear, out: &mut [f32], onto: Onto) {
    let rows = input.len() / linear.depth;
    let left = Rows { data: input, stride: linear.depth, rows, columns: linear.depth };
    let right = Panels { lanes: &linear.lanes, depth: linear.depth };
    kernels::product(left, right, out, linear.bias.len(), onto);
}

fn add(numbers: &mut [f32], others: &[f32]) {
    for (number, other) in numbers.iter_mut().zip(others) {
        *number += other;
    }
}

/// Attention within one text. The scale is in the weights of the query already.
fn attend(qkv: &[f32], tokens: usize, out: &mut [f32], head: &mut HeadBuffers) {
    let padded = tokens.next_multiple_of(LANES);
    head.scores.resize(tokens * padded, 0.0);
    for first in (0..DIMENSIONS).step_by(HEAD) {
        pack_keys(&qkv[DIMENSIONS + first..], tokens, &mut head.keys);
        pack_values(&qkv[2 * DIMENSIONS + first..], tokens, &mut head.values);
        let queries = Rows { data: &qkv[first..], stride: QKV, rows: tokens, columns: HEAD };
        let keys = Panels { lanes: &head.keys, depth: HEAD };
        kernels::product(queries, keys, &mut head.scores, padded, Onto::Nothing);
        head.scores.chunks_exact_mut(padded).for_each(|row| kernels::softmax(&mut row[..tokens]));
        let scores = Rows { data: &head.scores, stride: padded, rows: tokens, columns: tokens };
        let values = Panels { lanes: &head.values, depth: tokens };
        kernels::product(scores, values, &mut out[first..], DIMENSIONS, Onto::Nothing);
    }
}

/// Keys become columns: a panel holds [`LANES`] tokens, the last one zeros where there are
/// fewer.
fn pack_keys(keys: &[f32], tokens: usize, panels: &mut Vec<Lane>) {
    panels.clear();
    panels.resize(tokens.div_ceil(LANES) * HEAD, Lane::ZERO);
    for token in 0..tokens {
        let key = &keys[token * QKV..token * QKV + HEAD];
        let panel = &mut panels[token / LANES * HEAD..][..HEAD];
        for (lane, number) in panel.iter_mut().zip(key) {
            lane.0[token % LANES] = *number;
        }
    }
}

/// Values are rows already: only their halves go to different panels.
fn pack_values(values: &[f32], tokens: usize, panels: &mut Vec<Lane>) {
    panels.clear();
    panels.resize(HEAD / LANES * tokens, Lane::ZERO);
    for token in 0..tokens {
        let value = &values[token * QKV..token * QKV + HEAD];
        for (panel, part) in value.as_chunks::<LANES>().0.iter().enumerate() {
            panels[panel * tokens + token].0 = *part;
        }
    }
}

/// The mean over a text's tokens, brought to length one.
fn pool(states: &[f32], texts: &[&[u32]]) -> Vec<Vector> {
    let mut states = states.chunks_exact(DIMENSIONS);
    let of_text = |text: &&[u32]| {
        let mut vector = [0.0; DIMENSIONS];
        for state in states.by_ref().take(text.len()) {
            add(&mut vector, state);
        }
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        vector.map(|number| number / length.max(f32::MIN_POSITIVE))
    };
    texts.iter().map(of_text).collect()
}
