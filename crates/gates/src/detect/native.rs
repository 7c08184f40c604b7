//! CMake, and Make where nothing else is known.

use super::{ProjectFolder, file_name, words};
use crate::{Gate, GateKind, Held, Parser};

/// A folder of our own, beside the one that the person builds in.
const BUILD: &str = "cmake-build-spore";

pub(super) fn cmake(folder: &ProjectFolder<'_>) -> Vec<Gate> {
    // Where another tool drives the build, CMake is a part of it.
    let driven = ["Cargo.toml", "pyproject.toml", "setup.py", "package.json"];
    if !folder.has("CMakeLists.txt") || folder.first_of(&driven).is_some() {
        return Vec::new();
    }
    let lists: Vec<&str> =
        folder.own().filter(|path| file_name(path) == "CMakeLists.txt").collect();
    let command = format!("cmake -S . -B {BUILD} && cmake --build {BUILD} --parallel");
    let mut gates = vec![folder.gate("cmake-build", command, GateKind::Build, Parser::Plain)];
    let tests = |path: &&str| {
        let text = folder.text(path).unwrap_or_default().to_ascii_lowercase();
        text.contains("enable_testing") || text.contains("include(ctest)")
    };
    if lists.iter().any(tests) {
        let command = format!("cd {BUILD} && ctest --output-on-failure");
        gates.push(folder.gate("ctest", command, GateKind::Test, Parser::Ctest));
    }
    let keep = words(&["add_test", "enable_testing", "discover_tests", "include(CTest)"]);
    let refuse = words(&["set_tests_properties", "WILL_FAIL", "SKIP_RE", "DISABLED", "CTEST_"]);
    for gate in &mut gates {
        gate.needs = words(&["cmake"]);
        gate.guards = words(&["CTestCustom.cmake", "CTestConfig.cmake", "CMakePresets.json"]);
        gate.held = lists
            .iter()
            .map(|file| Held::Lines {
                file: (*file).to_owned(),
                keep: keep.clone(),
                refuse: refuse.clone(),
            })
            .collect();
    }
    gates
}

pub(super) fn make(folder: &ProjectFolder<'_>) -> Vec<Gate> {
    let Some(file) = folder.first_of(&["GNUmakefile", "makefile", "Makefile"]) else {
        return Vec::new();
    };
    let text = folder.text(file).unwrap_or_default();
    let Some(target) = ["test", "check"].into_iter().find(|target| has_target(&text, target))
    else {
        return Vec::new();
    };
    let name = format!("make-{target}");
    let mut gate = folder.gate(&name, format!("make {target}"), GateKind::Test, Parser::Auto);
    gate.needs = words(&["make"]);
    // A recipe is a program that decides what is run; there is no telling its parts apart.
    gate.guards = words(&["GNUmakefile", "makefile", "Makefile", "**/*.mk"]);
    vec![gate]
}

/// Returns whether a rule makes `target`, alone or with others.
fn has_target(text: &str, target: &str) -> bool {
    text.lines().any(|line| {
        let Some((targets, rest)) = line.split_once(':') else { return false };
        let is_assignment = rest.starts_with('=') || rest.starts_with(":=");
        !line.starts_with(['\t', ' ', '#', '.'])
            && !is_assignment
            && targets.split_whitespace().any(|one| one == target)
    })
}
