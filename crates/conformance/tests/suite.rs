//! The suite on the two backends that are part of Spore.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use spore_conformance::{CheckError, ConformanceTable, Expectations, Subject, check, names};

fn subject(name: &str) -> Subject {
    Subject {
        name: name.to_owned(),
        program: None,
        exe: env!("CARGO_BIN_EXE_conformance-test-shim").into(),
        path: std::env::var("PATH").unwrap(),
        stop: std::sync::Arc::default(),
    }
}

#[track_caller]
fn conforms(name: &str) -> ConformanceTable {
    let table = check(&subject(name), &[], &mut |_| {}).unwrap();
    assert_eq!(table.rows.len(), 19);
    assert!(table.as_expected, "{}", table.text(true));
    table
}

#[test]
fn replay_does_what_the_table_says() {
    let table = conforms("replay");
    // Whether a kernel can hold a session is not for a snapshot to say.
    if table.rows.iter().all(|row| row.as_expected.is_some()) {
        insta::assert_snapshot!(table.text(false));
    }
}

#[test]
fn api_does_what_the_table_says() {
    conforms("api");
}

#[test]
fn one_case_can_be_asked_for() {
    let mut told = Vec::new();
    let table = check(&subject("api"), &["tokens".to_owned()], &mut |cases| {
        told.push(cases.join(" "));
    });
    let rows = table.unwrap().rows;
    assert_eq!((rows.len(), rows[0].got.as_str(), told), (1, "exact", vec!["tokens".to_owned()]));
}

#[test]
fn what_is_not_there_is_told_apart() {
    let of = |subject: &Subject, case: &str| {
        let cases: Vec<String> =
            [case].into_iter().filter(|case| !case.is_empty()).map(str::to_owned).collect();
        check(subject, &cases, &mut |_| {}).unwrap_err()
    };
    assert!(matches!(of(&subject("goose"), ""), CheckError::NoSuite(_)));
    assert!(matches!(of(&subject("api"), "dance"), CheckError::NoSuchCase(_)));
    let missing = Subject { program: Some("/nowhere/claude".into()), ..subject("claude") };
    assert!(matches!(of(&missing, "edit"), CheckError::NotInstalled(_)));
    let stopped = Subject { stop: std::sync::Arc::new(true.into()), ..subject("replay") };
    assert!(matches!(of(&stopped, "edit"), CheckError::Interrupted));
}

#[test]
fn the_written_table_shows_every_case_of_every_agent_as_expected() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/conformance.md");
    let written = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Vec<&str>> = written
        .lines()
        .filter(|line| line.starts_with("| "))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let versions = ["case", "2.1.197", "0.166.0", "1.18.33", "0.61.0", "0.15.10", "api", "replay"];
    for (heading, version) in rows[0].iter().zip(versions) {
        assert!(heading.contains(version), "{heading}");
    }
    let cases = Expectations::read().unwrap().cases;
    assert_eq!(rows.len(), cases.len() + 1);
    for (row, case) in rows[1..].iter().zip(cases) {
        assert_eq!(row[0], format!("`{}`", case.name));
        for (written, name) in row[1..].iter().zip(names()) {
            let cell = &case.cells[name];
            let told = if cell.is_run() { format!(" ({})", cell.by) } else { cell.by.to_string() };
            let is_met = !cell.is_run() || written.starts_with(&cell.expected);
            assert!(is_met && written.ends_with(&told), "{} {name}: {written}", case.name);
        }
    }
}
