//! The closing table.

use std::collections::BTreeMap;
use std::fmt::Write;

use spore_app::embedding::{FillState, Filled};
use spore_app::indexing::IndexReport;

/// Says what there is now, and what was done.
pub(crate) fn report(report: &IndexReport) -> String {
    let mut text = String::new();
    let counts = &report.counts;
    let files: u64 = counts.files.values().sum();
    let nodes: u64 = counts.nodes.values().sum();
    let edges: u64 = counts.edges.values().sum();
    let _ = writeln!(text, "{files} files, {nodes} nodes, {edges} edges: {}", what_changed(report));
    table(&mut text, "files", &counts.files);
    table(&mut text, "nodes", &counts.nodes);
    table(&mut text, "edges", &counts.edges);
    table(&mut text, "skipped", &counts.skipped);
    let notes = [
        (report.others, "of other kinds"),
        (counts.files_with_syntax_errors, "with places that could not be parsed"),
        (counts.generated, "generated"),
        (counts.vendored, "vendored"),
    ];
    let notes: Vec<String> = notes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !notes.is_empty() {
        let _ = writeln!(text, "{:<9}{}", "also", notes.join(", "));
    }
    let _ = writeln!(text, "{:<9}{}", "time", times(report));
    text
}

/// Says how far the vectors are; nothing where there is no model to make them.
pub(crate) fn vectors(filled: Option<&Filled>) -> String {
    let Some(filled) = filled else { return String::new() };
    let (texts, missing) = (filled.texts, filled.missing);
    let told = match filled.state {
        FillState::NoModel => return String::new(),
        FillState::Busy => "another process is making them".to_owned(),
        FillState::Complete if filled.embedded == 0 => format!("{texts} texts"),
        FillState::Complete => {
            format!("{texts} texts, {} new in {}", filled.embedded, seconds(filled.millis))
        }
        FillState::Partial => format!(
            "{} of {texts} texts, {} new in {}; `spore index` goes on",
            texts.saturating_sub(missing),
            filled.embedded,
            seconds(filled.millis)
        ),
    };
    format!("{:<9}{told}\n", "vectors")
}

/// Says what a change of the tree did, in one line.
pub(crate) fn change(report: &IndexReport) -> String {
    let again = match report.resolved_again {
        0 => String::new(),
        count => format!(", {count} looked at again"),
    };
    format!("{}{again} ({} ms)", what_changed(report), report.millis)
}

fn what_changed(report: &IndexReport) -> String {
    let parts = [
        (report.added, "added"),
        (report.changed, "changed"),
        (report.removed, "removed"),
        (report.unchanged, "unchanged"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if parts.is_empty() { "nothing to index".to_owned() } else { parts.join(", ") }
}

fn table(text: &mut String, name: &str, counts: &BTreeMap<String, u64>) {
    if counts.is_empty() {
        return;
    }
    let mut rows: Vec<(&String, &u64)> = counts.iter().collect();
    rows.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    let rows: Vec<String> = rows.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let _ = writeln!(text, "{name:<9}{}", rows.join(", "));
}

fn times(report: &IndexReport) -> String {
    let phases: Vec<String> = report
        .phases
        .iter()
        .filter(|time| time.millis > 0)
        .map(|time| format!("{} {}", time.phase.as_str(), seconds(time.millis)))
        .collect();
    let whole = seconds(report.millis);
    if phases.is_empty() { whole } else { format!("{whole}: {}", phases.join(", ")) }
}

fn seconds(millis: u64) -> String {
    if millis < 1000 {
        format!("{millis} ms")
    } else {
        format!("{}.{:02} s", millis / 1000, millis % 1000 / 10)
    }
}
