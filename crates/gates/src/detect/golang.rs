//! Go modules.

use super::{ProjectFolder, words};
use crate::{Gate, GateKind, Parser};

pub(super) fn gates(folder: &ProjectFolder<'_>) -> Vec<Gate> {
    if !folder.has("go.mod") {
        return Vec::new();
    }
    // Testing builds only what has tests. Into nowhere: a lone program would otherwise be
    // written into the tree.
    let build = "go build -o /dev/null ./...";
    let mut gates = vec![folder.gate("go-build", build, GateKind::Build, Parser::Plain)];
    if folder.own().any(|path| path.ends_with("_test.go")) {
        // -count=1: a cached result is an answer from another day.
        let test = "go test -count=1 -v ./...";
        gates.push(folder.gate("go-test", test, GateKind::Test, Parser::Go));
    }
    for gate in &mut gates {
        gate.needs = words(&["go"]);
    }
    gates
}
