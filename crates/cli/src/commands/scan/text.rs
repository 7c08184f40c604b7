//! A scan as people read it.

use std::fmt::Write;

use spore_app::investigation::{DiskUse, LanguageRow, ScanReport, number_text, size_text};
use spore_plain::name;

/// How many languages are named; the rest is summed up.
const LANGUAGES: usize = 12;
/// The longest bar of a category.
const BAR: u64 = 40;

pub(crate) fn report(scan: &ScanReport) -> String {
    let mut text = format!("{}\n\n{}\n", name(&scan.target), scan.brief);
    section(&mut text, "Tree", &scan.tree_rendered);
    section(&mut text, "Kinds of files", &categories(scan));
    section(&mut text, "Languages", &languages(&scan.languages));
    section(&mut text, "Unusually large", &large(scan));
    section(&mut text, "Written by programs", &generated(scan));
    section(&mut text, "Newest", &recent(scan));
    section(&mut text, "Largest directories", &disk(&scan.top_directories));
    section(&mut text, "Could not be read", &unreadable(scan));
    let _ = write!(text, "\n{}\n", closing(scan));
    text
}

fn section(text: &mut String, name: &str, body: &str) {
    if !body.is_empty() {
        let _ = write!(text, "\n{name}\n\n{body}");
    }
}

fn categories(scan: &ScanReport) -> String {
    let most = scan.file_categories.values().max().copied().unwrap_or(1).max(1);
    let mut text = String::new();
    for (category, count) in &scan.file_categories {
        let bar = "#".repeat(usize::try_from((count * BAR / most).max(1)).unwrap_or_default());
        let _ = writeln!(text, "  {category:9} {:>9}  {bar}", number_text(*count));
    }
    text
}

fn languages(rows: &[LanguageRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text =
        format!("  {:20} {:>8} {:>11} {:>11} {:>11}\n", "", "files", "code", "comments", "blank");
    for row in rows.iter().take(LANGUAGES) {
        language(&mut text, row);
    }
    let rest = rows.get(LANGUAGES..).unwrap_or_default();
    if !rest.is_empty() {
        language(&mut text, &total(&format!("{} more", rest.len()), rest));
    }
    language(&mut text, &total("all", rows));
    text
}

fn language(text: &mut String, row: &LanguageRow) {
    let _ = writeln!(
        text,
        "  {:20} {:>8} {:>11} {:>11} {:>11}",
        row.name,
        number_text(row.files),
        number_text(row.code),
        number_text(row.comments),
        number_text(row.blanks)
    );
}

fn total(name: &str, rows: &[LanguageRow]) -> LanguageRow {
    let sum = |of: fn(&LanguageRow) -> u64| rows.iter().map(of).sum();
    LanguageRow {
        name: name.to_owned(),
        files: sum(|row| row.files),
        lines: sum(|row| row.lines),
        code: sum(|row| row.code),
        comments: sum(|row| row.comments),
        blanks: sum(|row| row.blanks),
        embedded: std::collections::BTreeMap::new(),
    }
}

fn large(scan: &ScanReport) -> String {
    let mut text = String::new();
    for file in &scan.large_files {
        let lines = match file.lines {
            0 => String::new(),
            lines => format!(", {} lines", number_text(u64::from(lines))),
        };
        let _ = writeln!(text, "  {}  {}{lines}", path(&file.path), size_text(file.size));
    }
    more(&mut text, scan.totals.large_files, scan.large_files.len());
    text
}

fn generated(scan: &ScanReport) -> String {
    let mut text = String::new();
    for file in &scan.generated_files {
        let _ = writeln!(text, "  {}  {}", path(&file.path), size_text(file.size));
    }
    more(&mut text, scan.totals.generated_files, scan.generated_files.len());
    text
}

fn more(text: &mut String, all: u64, shown: usize) {
    let rest = all.saturating_sub(shown as u64);
    if rest > 0 {
        let _ = writeln!(text, "  … {} more", number_text(rest));
    }
}

fn recent(scan: &ScanReport) -> String {
    let mut text = String::new();
    for file in &scan.recent_files {
        let _ = writeln!(text, "  {:14}  {}", file.modified_human, path(&file.path));
    }
    text
}

/// A path in a table: its ends tell it from others.
fn path(path: &str) -> String {
    spore_plain::ends_within(&name(path), 80)
}

fn disk(rows: &[DiskUse]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(
            text,
            "  {:>9}  {}  ({}, {})",
            size_text(row.disk_bytes),
            path(&row.path),
            files(row.files),
            size_text(row.bytes)
        );
    }
    text
}

fn unreadable(scan: &ScanReport) -> String {
    let mut text = String::new();
    for trouble in &scan.unreadable {
        let slash = if trouble.is_directory { "/" } else { "" };
        let _ = writeln!(text, "  {}{slash}  {}", name(&trouble.path), trouble.reason);
    }
    let all = scan.totals.unreadable_files + scan.totals.unreadable_directories;
    more(&mut text, all, scan.unreadable.len());
    for path in &scan.other_file_systems {
        let _ = writeln!(text, "  {}/  on another file system, not entered", name(path));
    }
    text
}

fn files(count: u64) -> String {
    format!("{} {}", number_text(count), if count == 1 { "file" } else { "files" })
}

fn directories(count: u64) -> String {
    format!("{} {}", number_text(count), if count == 1 { "directory" } else { "directories" })
}

fn closing(scan: &ScanReport) -> String {
    let totals = &scan.totals;
    let links = match totals.links + totals.special {
        0 => String::new(),
        others => format!(", {} links and special files", number_text(others)),
    };
    let left_out =
        if scan.scope.all { "" } else { " Hidden and ignored files are left out: -a shows them." };
    format!(
        "{}, {} below{links}; {} in files, {} on the disk. Hash {}.{left_out}",
        files(totals.files),
        directories(totals.directories),
        size_text(totals.bytes),
        size_text(totals.disk_bytes),
        &scan.hash.to_string()[..12]
    )
}
