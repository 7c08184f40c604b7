//! Maven and Gradle. A wrapper of the project's own comes before what is installed.

use super::{ProjectFolder, words};
use crate::{Gate, GateKind, Held, Parser};

/// A Java machine asks no variable where temporary files go, and the usual place may be out of
/// a gate's reach.
const SCRATCH: &str = r#"JAVA_TOOL_OPTIONS="-Djava.io.tmpdir=${TMPDIR:-/tmp}""#;

pub(super) fn gates(folder: &ProjectFolder<'_>) -> Vec<Gate> {
    const SCRIPTS: [&str; 4] =
        ["settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"];
    if folder.has("pom.xml") {
        vec![maven(folder)]
    } else if folder.first_of(&SCRIPTS).is_some() {
        vec![gradle(folder)]
    } else {
        Vec::new()
    }
}

fn maven(folder: &ProjectFolder<'_>) -> Gate {
    let (program, needs) = match folder.has("mvnw") {
        true => ("sh ./mvnw", words(&["java"])),
        false => ("mvn", words(&["java", "mvn"])),
    };
    let command = format!("{SCRATCH} {program} --batch-mode --fail-at-end test");
    let mut gate = folder.gate("maven-test", command, GateKind::Test, Parser::Junit);
    gate.needs = needs;
    gate.reports =
        words(&["**/target/surefire-reports/TEST-*.xml", "**/target/failsafe-reports/TEST-*.xml"]);
    gate.guards = words(&["mvnw", "mvnw.cmd", ".mvn/"]);
    let telling = words(&[
        "skipTests",
        "skipITs",
        "maven.test.skip",
        "testFailureIgnore",
        "test.failure.ignore",
        "surefire",
        "failsafe",
        "testSourceDirectory",
        "<groups>",
        "<excludedGroups>",
    ]);
    gate.held =
        vec![Held::Lines { file: "pom.xml".into(), keep: telling.clone(), refuse: telling }];
    gate
}

fn gradle(folder: &ProjectFolder<'_>) -> Gate {
    let (program, needs) = match folder.has("gradlew") {
        true => ("sh ./gradlew", words(&["java"])),
        false => ("gradle", words(&["java", "gradle"])),
    };
    // A daemon that runs already is the user's, outside of any sandbox.
    let command = format!("{SCRATCH} {program} --no-daemon --console=plain --continue test");
    let mut gate = folder.gate("gradle-test", command, GateKind::Test, Parser::Junit);
    gate.needs = needs;
    gate.reports = words(&["**/build/test-results/**/*.xml"]);
    gate.guards = words(&["gradlew", "gradlew.bat", "gradle/wrapper/", "gradle.properties"]);
    let refuse = words(&["ignoreFailures", "onlyIf", "excludeTestsMatching", "enabled = false"]);
    let keep = words(&["useJUnit", "useTestNG", "ignoreFailures", "includeTestsMatching"]);
    gate.held = ["build.gradle", "build.gradle.kts"]
        .into_iter()
        .filter(|file| folder.has(file))
        .map(|file| Held::Lines { file: file.into(), keep: keep.clone(), refuse: refuse.clone() })
        .collect();
    gate
}
