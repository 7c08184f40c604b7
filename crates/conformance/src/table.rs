//! What was seen beside what was expected, for people and for machines.

use std::fmt::Write;

use serde::Serialize;

use crate::expectations::{ConformanceCase, Enforcer, NOTHING};
use crate::kits::Kit;
use crate::trials::{Observation, UNHELD};

/// One agent's cases.
#[derive(Clone, Debug, Serialize)]
pub struct ConformanceTable {
    pub agent: &'static str,
    pub title: &'static str,
    /// Nothing for an agent that is part of Spore, or that does not say.
    pub version: Option<String>,
    /// No case went another way.
    pub as_expected: bool,
    pub rows: Vec<CaseRow>,
}

#[derive(Clone, Debug, Serialize)]
pub struct CaseRow {
    pub case: String,
    pub shows: String,
    pub expected: String,
    pub got: String,
    pub by: Enforcer,
    /// `None` where this machine cannot show it.
    pub as_expected: Option<bool>,
    /// What the program printed last, where it went another way.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_words: String,
}

impl CaseRow {
    /// The row of `case`; nothing where the table does not know the backend.
    pub(crate) fn of(
        case: &ConformanceCase,
        backend: &str,
        seen: &[(Observation, String)],
    ) -> Option<Self> {
        let cell = case.cells.get(backend)?;
        let found = seen.iter().find(|(seen, _)| seen.case == case.name);
        let got = found.map_or(NOTHING, |(seen, _)| seen.got.as_str());
        let as_expected = (got != UNHELD).then(|| cell.is_met_by(got));
        let last_words = match (as_expected, found) {
            (Some(false), Some((_, words))) => words.clone(),
            _ => String::new(),
        };
        Some(Self {
            case: case.name.clone(),
            shows: case.shows.clone(),
            expected: cell.expected.clone(),
            got: got.to_owned(),
            by: cell.by,
            as_expected,
            last_words,
        })
    }

    fn went_another_way(&self) -> bool {
        self.as_expected == Some(false)
    }
}

impl ConformanceTable {
    pub(crate) fn new(kit: &dyn Kit, version: Option<String>, rows: Vec<CaseRow>) -> Self {
        let as_expected = !rows.iter().any(CaseRow::went_another_way);
        Self { agent: kit.name(), title: kit.title(), version, as_expected, rows }
    }

    /// The agent and its version.
    pub fn heading(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.title),
            None => self.title.to_owned(),
        }
    }

    /// For a terminal. `verbose` tells what each case shows, and what the program printed last
    /// where it went another way.
    pub fn text(&self, verbose: bool) -> String {
        let width = |name: &str, column: fn(&CaseRow) -> &str| {
            let widths = self.rows.iter().map(|row| column(row).chars().count());
            widths.chain([name.len()]).max().unwrap_or_default()
        };
        let case = width("CASE", |row| &row.case);
        let expected = width("EXPECTED", |row| &row.expected);
        let got = width("GOT", |row| &row.got);
        let mut text = format!(
            "{}\n\n  {:case$}  {:expected$}  {:got$}  BY\n",
            self.heading(),
            "CASE",
            "EXPECTED",
            "GOT"
        );
        for row in &self.rows {
            let mark = if row.went_another_way() { '!' } else { ' ' };
            let _ = writeln!(
                text,
                "{mark} {:case$}  {:expected$}  {:got$}  {}",
                row.case, row.expected, row.got, row.by
            );
            if verbose {
                let _ = writeln!(text, "  {:case$}  {}", "", row.shows);
                for line in row.last_words.lines() {
                    let _ = writeln!(text, "  {:case$}  | {line}", "");
                }
            }
        }
        let met = self.rows.iter().filter(|row| row.as_expected == Some(true)).count();
        let _ = writeln!(text, "\n{met} of {} as expected", self.rows.len());
        text
    }
}

/// Above the table.
const PREFACE: &str = "\
<!-- Written by `cargo xtask conformance` from real sessions; not by hand. -->

What a session of each agent showed, against a scripted model on 127.0.0.1, and in brackets
who sees to it: the agent, Spore, or nobody. A cell that says only \"not possible\" was not
played: the case has no meaning there.

";

/// All tables side by side: a row a case, a column an agent. Only what was seen is told.
pub fn markdown(tables: &[ConformanceTable]) -> String {
    let mut text = format!("{PREFACE}| case |");
    let mut rule = String::from("|---|");
    for table in tables {
        let heading = match &table.version {
            Some(_) => table.heading(),
            // Part of Spore, and of its version.
            None => format!("{} (Spore {})", table.title, env!("CARGO_PKG_VERSION")),
        };
        let _ = write!(text, " {heading} |");
        rule.push_str("---|");
    }
    let _ = writeln!(text, "\n{rule}");
    let Some(first) = tables.first() else { return String::new() };
    for case in &first.rows {
        let _ = write!(text, "| `{}` |", case.case);
        for table in tables {
            let row = table.rows.iter().find(|row| row.case == case.case);
            let _ = write!(text, " {} |", row.map(cell).unwrap_or_default());
        }
        text.push('\n');
    }
    text.push('\n');
    for case in &first.rows {
        let _ = writeln!(text, "- `{}`: {}", case.case, case.shows);
    }
    text
}

fn cell(row: &CaseRow) -> String {
    match (row.got.as_str(), row.by) {
        (NOTHING, by) => by.to_string(),
        (got, by) if row.went_another_way() => {
            format!("**{got}**, not {} ({by})", row.expected)
        }
        (got, by) => format!("{got} ({by})"),
    }
}
