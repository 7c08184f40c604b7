//! .NET solutions and projects.

use super::{ProjectFolder, quoted, words};
use crate::{Gate, GateKind, Parser};

pub(super) fn is_project(name: &str) -> bool {
    is_solution(name)
        || [".csproj", ".fsproj", ".vbproj"].iter().any(|ending| name.ends_with(ending))
}

fn is_solution(name: &str) -> bool {
    name.ends_with(".sln") || name.ends_with(".slnx")
}

pub(super) fn gates(folder: &ProjectFolder<'_>) -> Vec<Gate> {
    let mut candidates: Vec<&str> = folder.here().filter(|name| is_project(name)).collect();
    if candidates.iter().any(|name| is_solution(name)) {
        candidates.retain(|name| is_solution(name));
    }
    // Of several the tool itself would not know which is meant, and neither do we.
    let [target] = candidates.as_slice() else { return Vec::new() };
    let has_tests = folder
        .own()
        .filter(|path| path.ends_with("proj"))
        .any(|path| folder.text(path).is_some_and(|text| text.contains("Microsoft.NET.Test.Sdk")));
    let target = quoted(target);
    let mut gate = if has_tests {
        let command = format!("dotnet test {target} --nologo --logger 'console;verbosity=normal'");
        folder.gate("dotnet-test", command, GateKind::Test, Parser::Dotnet)
    } else {
        let command = format!("dotnet build {target} --nologo");
        folder.gate("dotnet-build", command, GateKind::Build, Parser::Plain)
    };
    gate.needs = words(&["dotnet"]);
    gate.guards = words(&["global.json", "**/*.runsettings"]);
    vec![gate]
}
