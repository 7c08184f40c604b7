//! Whether a definition is where an import or a path says that something is.

use super::{CandidateItem, HANDED_ON, IMPORTED, ONLY_METHOD, ONLY_ONE, ReferenceSite};
use crate::Import;
use crate::language::Family;

/// Taken from the project by its name alone, which something outside may have as well.
const BY_NAME: f64 = 0.9;

/// The words of a path to what holds a definition.
#[derive(Clone, Debug)]
pub(super) struct HolderPath<'w> {
    pub(super) words: Vec<&'w str>,
    /// Whether they are a path from the root of the tree.
    pub(super) anchored: bool,
}

impl<'w> HolderPath<'w> {
    /// Returns what an import takes from, or takes whole.
    pub(super) fn of(import: &'w Import) -> Self {
        let words = import.segments.iter().map(String::as_str).collect();
        Self { words, anchored: import.anchored }
    }

    pub(super) fn with<'v>(&self, more: &[&'v str]) -> HolderPath<'v>
    where
        'w: 'v,
    {
        HolderPath {
            words: self.words.iter().chain(more).copied().collect(),
            anchored: self.anchored,
        }
    }

    /// Returns how the paths of all files begin that can be meant; none if that is not known.
    pub(super) fn prefix(&self) -> Option<String> {
        // The last word may be a type, and the one before it a module inside of a file.
        let certain = self.words.len().saturating_sub(2);
        self.anchored.then(|| self.words[..certain].join("/"))
    }

    /// Returns how sure it is that the candidate is in this place; nothing if it is not.
    pub(super) fn holds(
        &self,
        candidate: &CandidateItem<'_>,
        site: ReferenceSite<'_>,
    ) -> Option<f64> {
        let mut modules = self.words.as_slice();
        if !candidate.owner().is_empty() {
            for word in candidate.owner().rsplit("::") {
                let (last, before) = modules.split_last()?;
                if *last != word {
                    return None;
                }
                modules = before;
            }
        }
        if self.anchored {
            let module = module_of(candidate.path);
            return match_words(module, modules)
                .map(|is_exact| if is_exact { IMPORTED } else { HANDED_ON });
        }
        unanchored(modules, candidate.path, candidate.package, site)
    }
}

/// Returns whether the file is in the module that the words name from the root (true), below
/// it (false), or elsewhere (nothing).
fn match_words(module: &str, words: &[&str]) -> Option<bool> {
    let mut rest = module;
    for word in words {
        // Every candidate of every import comes here, and most differ in the first word: no
        // need to look where that ends.
        rest = rest.strip_prefix(word)?;
        rest = match rest.as_bytes() {
            _ if word.is_empty() || word.contains('/') => return None,
            [] => "",
            [b'/', ..] => &rest[1..],
            _ => return None,
        };
    }
    Some(rest.is_empty())
}

/// Returns the path of the module that a file is: without its ending, and without its name if
/// it stands for its directory.
pub(super) fn module_of(path: &str) -> &str {
    let (directory, file) = path.rsplit_once('/').unwrap_or(("", path));
    if stands_for_directory(file) {
        return directory;
    }
    let stem = file.split('.').next().unwrap_or(file);
    let stem = file.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    &path[..path.len() - file.len() + stem.len()]
}

pub(super) fn stands_for_directory(file: &str) -> bool {
    let (stem, ending) = file.rsplit_once('.').unwrap_or((file, ""));
    match ending {
        "rs" => matches!(stem, "mod" | "lib" | "main"),
        "py" | "pyi" => stem == "__init__",
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" => stem == "index",
        "go" => true,
        _ => false,
    }
}

/// Returns how sure it is that words without an anchor mean the module of a file.
pub(super) fn unanchored(
    words: &[&str],
    path: &str,
    package: Option<&str>,
    site: ReferenceSite<'_>,
) -> Option<f64> {
    let first = *words.first()?;
    let module = module_of(path);
    match site.facts.language.family() {
        Family::Rust => of_crate(first, &words[1..], module, site.path),
        Family::Python => of_python(words, module, site.path),
        Family::Go => of_go(words, module),
        Family::Jvm | Family::CSharp | Family::Php if package.is_some() => {
            let same = package?.split(['.', '\\']).eq(words.iter().copied());
            same.then_some(IMPORTED)
        }
        _ => by_end(words, module, site.path),
    }
}

/// A crate is known by its directory, whose name is often the last part of the crate's.
fn of_crate(name: &str, rest: &[&str], module: &str, site: &str) -> Option<f64> {
    if matches!(name, "std" | "core" | "alloc") {
        return None;
    }
    let (directory, inside) = match module.rsplit_once("/src/") {
        Some(parts) => parts,
        None => match module.strip_suffix("/src").or(module.strip_suffix("src")) {
            Some(directory) => (directory, ""),
            None => ("", module.strip_prefix("src/")?),
        },
    };
    let own = directory.rsplit('/').next().unwrap_or("");
    let is_exact = match_words(inside, rest)?;
    if own.is_empty() {
        // The crate of the root; only its own tests, examples and programs name it.
        let is_beside =
            !site.starts_with("src/") || site == "src/main.rs" || site.starts_with("src/bin/");
        return is_beside.then_some(if is_exact && !rest.is_empty() {
            HANDED_ON
        } else {
            ONLY_METHOD
        });
    }
    let same = |a: char, b: char| a == b || (a == '_' && b == '-');
    let ends_alike = |name: &str| {
        name.chars().count() == own.chars().count()
            && name.chars().zip(own.chars()).all(|(a, b)| same(a, b))
    };
    let mut tails = name.match_indices('_').map(|(at, _)| &name[at + 1..]);
    if ends_alike(name) {
        Some(if is_exact { BY_NAME } else { HANDED_ON })
    } else if tails.any(ends_alike) {
        Some(if is_exact { HANDED_ON } else { HANDED_ON - 0.01 })
    } else {
        None
    }
}

/// Python looks modules up from a few directories: the root, `src`, or one above the file.
fn of_python(words: &[&str], module: &str, site: &str) -> Option<f64> {
    let (above, is_exact) = find_words(words, module)?;
    let is_root = above.is_empty() || matches!(above, "src" | "lib" | "python");
    let is_above_site = site.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
    if words.len() == 1 && PYTHON_STANDARD.contains(&words[0]) {
        return None;
    }
    let sure = if is_root || is_above_site {
        BY_NAME
    } else if words.len() > 1 {
        HANDED_ON
    } else {
        ONLY_METHOD
    };
    Some(if is_exact { sure } else { sure.min(HANDED_ON) })
}

/// Go names a package by the module's name and the directory.
fn of_go(words: &[&str], directory: &str) -> Option<f64> {
    if !words[0].contains('.') && GO_STANDARD.contains(&words[0]) {
        return None;
    }
    if directory.is_empty() {
        return (words.len() <= 3).then_some(ONLY_ONE);
    }
    let common = directory.rsplit('/').zip(words.iter().rev()).take_while(|(a, b)| a == *b).count();
    let whole = directory.split('/').count();
    if common == whole && words.len() > common {
        Some(BY_NAME)
    } else if common >= 2 {
        Some(HANDED_ON)
    } else {
        (common == 1).then_some(ONLY_ONE)
    }
}

/// Elsewhere the words are the end of the path, or in it.
fn by_end(words: &[&str], module: &str, site: &str) -> Option<f64> {
    let (above, is_exact) = find_words(words, module)?;
    let is_beside = site.rsplit_once('/').map_or("", |(directory, _)| directory) == above;
    if !is_exact {
        Some(ONLY_METHOD)
    } else if words.len() > 1 || is_beside {
        Some(HANDED_ON)
    } else {
        Some(ONLY_METHOD)
    }
}

/// Returns what stands before the words in a module's path, and whether nothing follows.
fn find_words<'m>(words: &[&str], module: &'m str) -> Option<(&'m str, bool)> {
    let mut start = 0;
    loop {
        if let Some(is_exact) = match_words(&module[start..], words) {
            return Some((module[..start].trim_end_matches('/'), is_exact));
        }
        start += module[start..].find('/')? + 1;
    }
}

const PYTHON_STANDARD: [&str; 60] = [
    "abc",
    "argparse",
    "array",
    "ast",
    "asyncio",
    "base64",
    "bisect",
    "calendar",
    "cmd",
    "code",
    "codecs",
    "collections",
    "concurrent",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "errno",
    "functools",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "html",
    "http",
    "inspect",
    "io",
    "itertools",
    "json",
    "logging",
    "math",
    "operator",
    "os",
    "pathlib",
    "pickle",
    "platform",
    "queue",
    "random",
    "re",
    "select",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "string",
    "struct",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "types",
    "typing",
    "unittest",
    "uuid",
];

const GO_STANDARD: [&str; 46] = [
    "archive",
    "bufio",
    "builtin",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "image",
    "index",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "plugin",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "unsafe",
];
