//! Beside the reference: the tokens of its tokenizer and the vectors of sentence-transformers,
//! written down by `bench/embed_reference.py`.
//!
//! These need the weights. Where they are not installed the tests say so and pass;
//! `cargo xtask test` installs them.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

use serde_json::Value;
use spore_embed::{EmbedError, EmbedLimits, Model, TextKind, Vector, model_dir};

const LIMITS: EmbedLimits = EmbedLimits { document_tokens: 128, query_tokens: 64, threads: 1 };

fn model() -> Option<Model> {
    match Model::load(&model_dir(|name| std::env::var_os(name))) {
        Ok(model) => Some(model.with_limits(LIMITS)),
        Err(EmbedError::Missing { path }) => {
            eprintln!("skipped: the embedding model is not installed, no {}", path.display());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn lines(fixture: &str) -> Vec<Value> {
    fixture.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(line: &Value) -> &str {
    line["text"].as_str().unwrap()
}

/// Sixteen-bit floats in hexadecimal: exact to three places, which is what 0.999 needs.
fn vector(line: &Value) -> Vec<f32> {
    let hex = line["vector"].as_str().unwrap();
    let byte = |at: usize| u16::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(4).map(|at| half(byte(at) | byte(at + 2) << 8)).collect()
}

fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023) / 1024.0);
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-14),
        _ => (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn tokens_are_those_of_the_reference() {
    let Some(model) = model() else { return };
    for line in lines(include_str!("tokens.jsonl")) {
        let expected: Vec<u32> = serde_json::from_value(line["tokens"].clone()).unwrap();
        assert_eq!(model.tokens(text(&line), TextKind::Document), expected, "{:?}", text(&line));
    }
}

#[test]
fn vectors_are_those_of_sentence_transformers() {
    let Some(model) = model() else { return };
    let lines = lines(include_str!("vectors.jsonl"));
    let texts: Vec<&str> = lines.iter().map(text).collect();
    for threads in [1, 3] {
        let model = Model::load(&model_dir(|name| std::env::var_os(name))).unwrap();
        let found =
            model.with_limits(EmbedLimits { threads, ..LIMITS }).embed(&texts, TextKind::Document);
        for (line, found) in lines.iter().zip(&found) {
            let cosine = cosine(found, &vector(line));
            assert!(cosine > 0.9999, "{cosine} for {:?}", text(line));
        }
    }
    drop(model);
}

#[test]
fn a_text_has_the_same_vector_alone_and_among_others() {
    let Some(model) = model() else { return };
    let texts = ["one", "a longer text about parsing dates", "", "four"];
    let together = model.embed(&texts, TextKind::Document);
    for (text, among) in texts.iter().zip(&together) {
        let alone = model.embed(&[text], TextKind::Document);
        assert!(cosine(&alone[0], among) > 0.999_999, "{text:?}");
    }
    assert_eq!(model.embed(&[], TextKind::Document), Vec::<Vector>::new());
}

#[test]
fn queries_are_cut_at_their_own_length() {
    let Some(model) = model() else { return };
    let long = "word ".repeat(100_000);
    assert_eq!(model.tokens(&long, TextKind::Query).len(), 64);
    assert_eq!(model.tokens(&long, TextKind::Document).len(), 128);
    let cut = "word ".repeat(62);
    assert_eq!(model.embed(&[&long], TextKind::Query), model.embed(&[&cut], TextKind::Query));
}

#[test]
fn a_model_that_is_not_there_is_told_apart_from_a_broken_one() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("nowhere");
    assert!(matches!(Model::load(&nowhere), Err(EmbedError::Missing { .. })));
    std::fs::write(dir.path().join("vocab.txt"), "too\nfew\nwords\n").unwrap();
    assert!(matches!(Model::load(dir.path()), Err(EmbedError::Damaged { .. })));
}

#[test]
fn weights_that_are_cut_short_are_damaged() {
    let dir = model_dir(|name| std::env::var_os(name));
    if model().is_none() {
        return;
    }
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(dir.join("vocab.txt"), copy.path().join("vocab.txt")).unwrap();
    let weights = std::fs::read(dir.join("model.safetensors")).unwrap();
    for cut in [1, 8, 5000, 20_000, weights.len() - 600_000] {
        std::fs::write(copy.path().join("model.safetensors"), &weights[..cut]).unwrap();
        let loaded = Model::load(copy.path());
        assert!(matches!(loaded, Err(EmbedError::Damaged { .. })), "{cut}");
    }
}

#[test]
fn the_place_of_the_model_follows_the_environment() {
    let dir = |set: &[(&str, &str)]| {
        let found = model_dir(|name| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.into())
        });
        found.display().to_string()
    };
    let home = ("HOME", "/h");
    assert_eq!(dir(&[home]), "/h/.cache/spore/models/all-MiniLM-L6-v2");
    assert_eq!(dir(&[home, ("XDG_CACHE_HOME", "/c")]), "/c/spore/models/all-MiniLM-L6-v2");
    assert_eq!(dir(&[home, ("SPORE_MODEL_DIR", "/m")]), "/m");
    assert_eq!(dir(&[home, ("SPORE_MODEL_DIR", "")]), "/h/.cache/spore/models/all-MiniLM-L6-v2");
}
