//! What counting alone can say about a directory, in a few sentences.
//!
//! No model has read anything when this is written, and nothing in it pretends otherwise: it
//! names sizes, languages, manifests and places, never a purpose.

use std::path::Path;

use crate::report::{LanguageRow, ScanTotals};
use crate::shown::{many, number_text, path_text, size_text};
use crate::tree::{Dir, Tree};

/// How many languages and places are named.
const NAMED: usize = 4;

/// Files whose presence says how a project is built.
const MANIFESTS: [&str; 18] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "CMakeLists.txt",
    "Makefile",
    "meson.build",
    "Gemfile",
    "composer.json",
    "mix.exs",
    "Package.swift",
    "build.zig",
    "Dockerfile",
    "flake.nix",
];

pub(crate) fn brief(
    tree: &Tree,
    target: &Path,
    languages: &[LanguageRow],
    totals: &ScanTotals,
) -> String {
    let name = target.file_name().unwrap_or(target.as_os_str());
    let mut said = vec![size(&path_text(Path::new(name)), totals)];
    said.extend(code(languages, totals));
    said.extend(manifests(tree));
    said.extend(places(tree));
    said.extend(peculiar(totals, tree));
    said.join(" ")
}

fn size(name: &str, totals: &ScanTotals) -> String {
    let name = spore_plain::name(name);
    if totals.files == 0 {
        return format!("{name} holds no files.");
    }
    format!(
        "{name} holds {} in {}, {} in all.",
        many(totals.files, "file", "files"),
        many(totals.directories + 1, "directory", "directories"),
        size_text(totals.bytes)
    )
}

fn code(languages: &[LanguageRow], totals: &ScanTotals) -> Option<String> {
    let named: Vec<String> = languages
        .iter()
        .filter(|row| row.code > 0)
        .take(NAMED)
        .map(|row| {
            let share = (row.code * 100).checked_div(totals.code).unwrap_or(0);
            format!("{} {share} %", row.name)
        })
        .collect();
    if named.is_empty() {
        return None;
    }
    let more = languages.iter().filter(|row| row.code > 0).count() - named.len();
    let more =
        if more > 0 { format!(" and {} more", number_text(more as u64)) } else { String::new() };
    Some(format!("{} of code: {}{more}.", many(totals.code, "line", "lines"), named.join(", ")))
}

fn manifests(tree: &Tree) -> Option<String> {
    let own = &tree.files[tree.top().files.clone()];
    let found: Vec<&str> = MANIFESTS
        .into_iter()
        .filter(|manifest| own.iter().any(|file| file.name.to_str() == Some(manifest)))
        .collect();
    (!found.is_empty()).then(|| format!("At its top: {}.", found.join(", ")))
}

fn places(tree: &Tree) -> Option<String> {
    let mut below: Vec<&Dir> = tree.top().dirs.iter().map(|dir| &tree.dirs[*dir]).collect();
    below.retain(|dir| dir.sums.files > 0);
    below.sort_by_key(|dir| std::cmp::Reverse(dir.sums.files));
    let named: Vec<String> = below
        .iter()
        .take(NAMED)
        .map(|dir| {
            let name = spore_plain::path(Path::new(dir.name()));
            let files = many(dir.sums.files, "file", "files");
            format!("{name}/ ({files}, mostly {})", dir.sums.dominant())
        })
        .collect();
    (!named.is_empty()).then(|| format!("Most of it is in {}.", named.join(", ")))
}

/// Warns of what makes the other sentences doubtful: generated, large and unread files.
fn peculiar(totals: &ScanTotals, tree: &Tree) -> Option<String> {
    let unread = totals.unreadable_files + totals.unreadable_directories;
    let notes = [
        (totals.generated_files, "generated"),
        (totals.large_files, "unusually large"),
        (totals.not_read_whole, "too large to be read whole"),
        (unread, "not readable"),
        (tree.elsewhere.len() as u64, "on other file systems and not entered"),
    ];
    let notes: Vec<String> = notes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", number_text(*count)))
        .collect();
    (!notes.is_empty()).then(|| format!("Of all that: {}.", notes.join(", ")))
}
