//! Whole files, good and bad. A bad one has the message beside it that a person would read.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::path::{Path, PathBuf};

use spore_config::{Config, SettingsLayer, SettingsOrigin};

fn samples(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(folder);
    let mut samples: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    samples.sort();
    assert!(!samples.is_empty());
    samples
}

fn layer(sample: &Path) -> SettingsLayer {
    let text = std::fs::read_to_string(sample).unwrap();
    SettingsLayer { origin: SettingsOrigin::Project("config.toml".into()), text }
}

#[test]
fn good_files_load() {
    for sample in samples("valid") {
        let loaded = Config::load(&[layer(&sample)]);
        assert!(loaded.is_ok(), "{}: {loaded:?}", sample.display());
    }
}

#[test]
fn bad_files_are_refused_with_the_expected_words() {
    let mut wrong = Vec::new();
    for sample in samples("invalid") {
        let message = match Config::load(&[layer(&sample)]) {
            Ok(_) => "(loaded)".to_owned(),
            Err(error) => error.to_string(),
        };
        let expected = std::fs::read_to_string(sample.with_extension("expected"));
        if expected.unwrap_or_default().trim_end() != message {
            wrong.push(format!("{}: {message}", sample.file_stem().unwrap().display()));
        }
    }
    assert!(wrong.is_empty(), "unexpected messages:\n{}", wrong.join("\n"));
}
