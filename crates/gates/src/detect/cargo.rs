//! Rust projects.

use super::{ProjectFolder, words};
use crate::{Gate, GateKind, Held, Parser};

pub(super) fn gates(folder: &ProjectFolder<'_>) -> Vec<Gate> {
    if !folder.has("Cargo.toml") {
        return Vec::new();
    }
    let whole = if folder.has_line("Cargo.toml", "[workspace") { " --workspace" } else { "" };
    // Cargo's own way is to stop at the first red test binary. The binaries behind it would
    // then be missing from the baseline, or from the comparison with it.
    let command = format!("cargo test{whole} --no-fail-fast");
    let mut gate = folder.gate("cargo-test", command, GateKind::Test, Parser::Cargo);
    gate.needs = words(&["cargo"]);
    // A runner, a wrapper for the compiler, flags; and which compiler it is.
    gate.guards =
        words(&[".cargo/config.toml", ".cargo/config", "rust-toolchain", "rust-toolchain.toml"]);
    // Tests are built like the dev profile. What else a manifest can do to tests makes them
    // disappear, and that is seen.
    gate.held = ["profile.test", "profile.dev"]
        .map(|key| Held::Key { file: "Cargo.toml".into(), key: key.into() })
        .to_vec();
    vec![gate]
}
