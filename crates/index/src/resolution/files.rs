//! Which file an import means.

use std::borrow::Cow;

use super::places::{module_of, stands_for_directory, unanchored};
use super::{HANDED_ON, IMPORTED, Meaning, ReferenceSite, SURE};
use crate::{Import, Language};

/// A package of more files is not brought in one by one.
const MAX_FILES: usize = 32;

/// Returns the name that imports know a file by: its stem, or that of its directory for
/// `mod.rs`, `__init__.py`, `index.ts` and for every file of a Go package. The root of a crate
/// is known by the crate's directory. Hyphens count as underscores.
pub fn file_name(path: &str) -> Cow<'_, str> {
    let file = path.rsplit('/').next().unwrap_or(path);
    if !stands_for_directory(file) {
        let stem = file.split('.').next().unwrap_or(file);
        return normal(stem);
    }
    let name = directory_name(module_of(path).split('/').collect());
    if name.is_empty() { normal(file.split('.').next().unwrap_or(file)) } else { normal(name) }
}

/// Returns the names under which files must be looked up to find out which one an import
/// means, see [`file_name`].
pub fn imported_file_names(import: &Import) -> Vec<Cow<'_, str>> {
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    let mut add = |name: &'_ str| {
        let name = normal_owned(name);
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    };
    let words: Vec<&str> = import.segments.iter().map(String::as_str).collect();
    import.name.iter().for_each(|name| add(stem(name)));
    add(stem(directory_name(words.clone())));
    // The last word may be a type or a module inside of the file.
    if let [before @ .., _] = words.as_slice() {
        add(directory_name(before.to_vec()));
    }
    if let (false, Some(first)) = (import.anchored, words.first()) {
        // A crate's directory often has only the last part of its name.
        add(first);
        first.match_indices('_').for_each(|(at, _)| add(&first[at + 1..]));
    }
    names
}

/// Returns which of the files with the right name an import means. The paths are sorted.
pub fn resolve_import(site: ReferenceSite<'_>, import: &Import, paths: &[&str]) -> Vec<Meaning> {
    let words: Vec<&str> = import.segments.iter().map(String::as_str).collect();
    let mut named = words.clone();
    named.extend(import.name.as_deref());
    let mut readings = vec![(named.as_slice(), IMPORTED)];
    if import.name.is_some() {
        readings.push((words.as_slice(), IMPORTED));
    }
    if words.len() > 1 {
        readings.push((&words[..words.len() - 1], HANDED_ON));
    }
    for (words, most) in readings {
        let found = if import.anchored {
            anchored_files(site, words, paths, most)
        } else {
            unanchored_files(site, words, paths, most)
        };
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

fn anchored_files(
    site: ReferenceSite<'_>,
    words: &[&str],
    paths: &[&str],
    most: f64,
) -> Vec<Meaning> {
    let module = words.join("/");
    let first = paths.partition_point(|path| *path < module.as_str());
    let files = paths.iter().enumerate().skip(first);
    let files = files.take_while(|(_, path)| path.starts_with(&module));
    let exact = files.filter(|(_, path)| module_of(path) == module);
    chosen(site, exact.map(|(place, path)| (place, *path, most)))
}

fn unanchored_files(
    site: ReferenceSite<'_>,
    words: &[&str],
    paths: &[&str],
    most: f64,
) -> Vec<Meaning> {
    if words.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(usize, &str, f64)> = Vec::new();
    let mut lead = 0.0;
    let may_end = |path: &str| {
        site.facts.language == Language::Rust
            || words.last().is_some_and(|word| ends_with(module_of(path), word))
    };
    for (place, path) in paths.iter().enumerate().filter(|(_, path)| may_end(path)) {
        let Some(sure) = unanchored(words, path, None, site) else { continue };
        if sure > lead {
            found.clear();
            lead = sure;
        }
        if sure >= lead {
            found.push((place, path, sure.min(most)));
        }
    }
    chosen(site, found.into_iter())
}

/// Returns the files of the same language but for the importing one. Several are all meant if
/// they are a package, else they share the confidence.
fn chosen<'p>(
    site: ReferenceSite<'_>,
    files: impl Iterator<Item = (usize, &'p str, f64)>,
) -> Vec<Meaning> {
    let language = site.facts.language;
    let is_other = |path: &str| {
        let family = Language::of_path(path).map(Language::family);
        path != site.path && family == Some(language.family())
    };
    let files: Vec<_> = files.filter(|(_, path, _)| is_other(path)).collect();
    if language == Language::Go {
        let packaged = files.iter().filter(|(_, path, _)| !path.ends_with("_test.go"));
        let meanings = packaged.map(|(candidate, _, confidence)| Meaning {
            candidate: *candidate,
            confidence: *confidence,
        });
        return meanings.take(MAX_FILES).collect();
    }
    let library = files.iter().find(|(_, path, _)| path.ends_with("/lib.rs"));
    let files = library.map_or(files.as_slice(), std::slice::from_ref);
    if files.len() > super::MAX_MEANINGS {
        return Vec::new();
    }
    let share = files.len() as f64;
    let confidence = |sure: f64| if share > 1.0 { sure.min(SURE) / share } else { sure };
    let meanings = files.iter().map(|(candidate, _, sure)| Meaning {
        candidate: *candidate,
        confidence: confidence(*sure),
    });
    meanings.collect()
}

/// Returns the last word that says something: of `crates/shop/src` it is `shop`.
fn directory_name(words: Vec<&str>) -> &str {
    match words.as_slice() {
        [.., before, "src"] => before,
        [.., last] => last,
        [] => "",
    }
}

fn ends_with(module: &str, word: &str) -> bool {
    let before = module.strip_suffix(word);
    before.is_some_and(|before| before.is_empty() || before.ends_with('/')) && !word.contains('/')
}

fn stem(word: &str) -> &str {
    word.split('.').next().unwrap_or(word)
}

pub(super) fn normal(name: &str) -> Cow<'_, str> {
    if name.contains('-') { Cow::Owned(name.replace('-', "_")) } else { Cow::Borrowed(name) }
}

fn normal_owned<'a>(name: &str) -> Cow<'a, str> {
    Cow::Owned(name.replace('-', "_"))
}
