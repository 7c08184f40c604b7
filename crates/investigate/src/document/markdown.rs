//! The document in Markdown.

use std::fmt::Write;

use spore_plain::{code, inline, quoted};

use super::InvestigationAccount;
use crate::entry::EntryKind;
use crate::shown::number_text;

/// Directories and files whose summaries are told.
const PLACES: usize = 2_000;

pub(super) fn text(account: &InvestigationAccount<'_>) -> String {
    let mut text = format!("# {}\n", inline(account.target, 200));
    if !account.flags.is_empty() {
        text.push_str("\n## Flags\n\n");
        for flag in &account.flags {
            let _ = writeln!(
                text,
                "- **{}** {}: {}",
                inline(flag.severity, 20),
                code(flag.path, 300),
                inline(flag.finding, 2_000)
            );
        }
    }
    text.push_str("\n## In short\n\n");
    match account.said {
        Some(said) => {
            let _ = write!(text, "{}\n{}", quoted(&said.brief), detailed(&said.detailed));
        }
        None => {
            let _ = writeln!(text, "{}", inline(&account.scan.brief, 4_000));
        }
    }
    text.push_str(&languages(account));
    text.push_str(&places(account));
    text.push_str("\n## This investigation\n\n");
    for (name, value) in &account.facts {
        let _ = writeln!(text, "- {name}: {}", inline(value, 1_000));
    }
    for note in account.notes {
        let _ = writeln!(text, "- {}", inline(note, 1_000));
    }
    text
}

fn detailed(text: &str) -> String {
    if text.trim().is_empty() {
        String::new()
    } else {
        format!("\n## In detail\n\n{}", quoted(text))
    }
}

fn languages(account: &InvestigationAccount<'_>) -> String {
    let rows = &account.scan.languages;
    if rows.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("\n## Languages\n\n| language | files | lines of code |\n|---|--:|--:|\n");
    for row in rows.iter().take(30) {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            inline(&row.name, 60),
            number_text(row.files),
            number_text(row.code)
        );
    }
    text
}

fn places(account: &InvestigationAccount<'_>) -> String {
    if account.places.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n## Places\n\n");
    for ((kind, path), said) in account.places.iter().take(PLACES) {
        let slash = if *kind == EntryKind::Directory && path != "." { "/" } else { "" };
        let sure = said.confidence.map_or_else(String::new, |sure| format!(", {sure:.2}"));
        let _ = writeln!(
            text,
            "- {} ({}{sure}): {}",
            code(&format!("{path}{slash}"), 300),
            said.standing.as_str(),
            inline(&said.summary, 2_000)
        );
    }
    if let Some(more) = account.places.len().checked_sub(PLACES).filter(|more| *more > 0) {
        let _ = writeln!(text, "- and {} more", number_text(more as u64));
    }
    text
}
