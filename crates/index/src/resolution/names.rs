//! Names that stand alone or at the end of a path.

use super::places::HolderPath;
use super::{
    FROM_ELSEWHERE, HANDED_ON, IMPORTED, Meaning, ONLY_ONE, ReferenceQuestion, SAME_FILE,
    SAME_PACKAGE,
};
use crate::language::Family;
use crate::places::RustPlace;
use crate::{Access, Import, ItemKind, ReferenceKind, Visibility};

impl<'q> ReferenceQuestion<'q> {
    /// Answers for `name`.
    pub(super) fn bare(&self) -> Vec<Meaning> {
        if self.language().family().reaches_own_members() {
            let own = self.own_members();
            if !own.is_empty() {
                return own;
            }
        }
        let here = self.in_scope();
        if !here.is_empty() {
            return here;
        }
        let name = &self.reference.name;
        let imports = || self.site.facts.imports.iter();
        if let Some(import) = imports().find(|import| import.called() == Some(name)) {
            return self.imported(import);
        }
        let globs = imports().filter(|import| import.glob);
        let from_glob = globs.map(|import| self.at(HolderPath::of(import), HANDED_ON));
        if let Some(meanings) = from_glob.into_iter().find(|found| !found.is_empty()) {
            return meanings;
        }
        let neighbours = self.in_package();
        if !neighbours.is_empty() {
            return neighbours;
        }
        self.only_one()
    }

    /// Returns the definitions of this file that are seen from where the reference stands, of
    /// the innermost level that has one.
    fn in_scope(&self) -> Vec<Meaning> {
        let scope = self.scope();
        let encloses = |owner: &str| {
            let rest = scope.strip_prefix(owner);
            owner.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let places = self.namesakes.below(self.site.path);
        let seen = |place: &usize| {
            let candidate = self.candidate(*place);
            candidate.path == self.site.path
                && candidate.kind != ItemKind::Method
                && encloses(candidate.owner())
                && self.may_mean(candidate)
        };
        let places: Vec<_> = places.into_iter().filter(seen).collect();
        let depth = |place: &usize| self.candidate(*place).owner().len();
        let innermost = places.iter().map(depth).max().unwrap_or(0);
        self.best(places, |candidate| (candidate.owner().len() == innermost).then_some(SAME_FILE))
    }

    /// Returns what an import brings in under the reference's name.
    fn imported(&self, import: &Import) -> Vec<Meaning> {
        let place = HolderPath::of(import);
        let found = self.at(place.clone(), IMPORTED);
        if !found.is_empty() || !place.anchored {
            // From elsewhere: a namesake in this tree is not meant.
            return found;
        }
        self.best(self.namesakes.few(), |candidate| {
            let is_free = candidate.owner().is_empty();
            (is_free && candidate.visibility != Visibility::Private).then_some(FROM_ELSEWHERE)
        })
    }

    /// Returns the definitions that are in a place, or below it if there is none.
    pub(super) fn at(&self, place: HolderPath<'_>, most: f64) -> Vec<Meaning> {
        let places = match place.prefix() {
            Some(prefix) => self.namesakes.below(&prefix),
            None => self.namesakes.reached_by(&place.words),
        };
        self.best(places, |candidate| {
            place.holds(candidate, self.site).map(|confidence| confidence.min(most))
        })
    }

    /// Returns what is in the same package, in the languages where that is enough.
    fn in_package(&self) -> Vec<Meaning> {
        let language = self.language();
        let directory = directory(self.site.path);
        let package = self.site.facts.package.as_deref();
        let places = match language.family() {
            Family::Go => self.namesakes.below(directory),
            Family::Jvm | Family::CSharp | Family::Php if package.is_some() => {
                self.namesakes.held_by("")
            }
            Family::C => self.namesakes.below(directory),
            _ => return Vec::new(),
        };
        self.best(places, |candidate| {
            let is_near = match language.family() {
                Family::Go => self::directory(candidate.path) == directory,
                Family::C => {
                    candidate.visibility != Visibility::Private
                        && self::directory(candidate.path) == directory
                }
                _ => candidate.package == package,
            };
            (is_near && candidate.owner().is_empty()).then_some(SAME_PACKAGE)
        })
    }

    /// Returns the only definition of the name, if nothing else in the language has it.
    fn only_one(&self) -> Vec<Meaning> {
        let family = self.language().family();
        if family == Family::Python && PYTHON_BUILTINS.contains(&self.reference.name.as_str()) {
            return Vec::new();
        }
        // A name of another package is never bare in Go, nor in a script that is a module: what
        // remains is the language's own.
        let is_module = !self.site.facts.imports.is_empty();
        if family == Family::Go || (family == Family::Script && is_module) {
            return Vec::new();
        }
        let confidence = match (family, self.reference.kind) {
            // A macro of the crate is seen without an import.
            (Family::Rust, ReferenceKind::Macro) => HANDED_ON,
            // One program has one function of a name.
            (Family::C, _) => HANDED_ON,
            _ => ONLY_ONE,
        };
        let found = self.best(self.namesakes.few(), |candidate| {
            let is_seen = candidate.visibility != Visibility::Private
                || self.reference.kind == ReferenceKind::Macro;
            (candidate.owner().is_empty() && is_seen).then_some(confidence)
        });
        if found.len() == 1 { found } else { Vec::new() }
    }

    /// Answers for `a::b::name`.
    pub(super) fn along(&self, path: &str) -> Vec<Meaning> {
        let words: Vec<&str> = path.split("::").filter(|word| !word.is_empty()).collect();
        let Some((first, rest)) = words.split_first() else { return self.bare() };
        if self.language().family() == Family::Rust && matches!(*first, "crate" | "self" | "super")
        {
            return self.rust_path(&words);
        }
        if *first == "super" {
            return self.inherited();
        }
        let here = self.in_file_along(&words);
        if !here.is_empty() {
            return here;
        }
        let mut is_imported = false;
        for (import, used) in self.imports_along(&words) {
            is_imported = true;
            let found = self.through(import, &words[used..]);
            if !found.is_empty() {
                return found;
            }
        }
        if is_imported {
            return Vec::new();
        }
        let unanchored = self.at(HolderPath { words: words.clone(), anchored: false }, IMPORTED);
        if !unanchored.is_empty() && !rest.is_empty() || self.is_crate(first) {
            return unanchored;
        }
        self.members_of(&words)
    }

    fn is_crate(&self, word: &str) -> bool {
        self.language().family() == Family::Rust && word.starts_with(char::is_lowercase)
    }

    /// Returns the imports that a path begins with, and how many of its words they are.
    fn imports_along(&self, words: &[&str]) -> Vec<(&'q Import, usize)> {
        let imports = self.site.facts.imports.iter().filter(|import| !import.glob);
        imports
            .filter_map(|import| {
                let is_whole = import.name.is_none() && import.alias.is_none();
                let count = import.segments.len();
                // Python's `import a.b` is used as `a.b.name`.
                if is_whole
                    && count > 1
                    && words.len() >= count
                    && words[..count] == *import.segments
                {
                    return Some((import, count));
                }
                (import.called() == words.first().copied() || self.is_versioned(import, words))
                    .then_some((import, 1))
            })
            .collect()
    }

    /// Go's `import ".../yaml/v3"` is used as `yaml.Name`.
    fn is_versioned(&self, import: &Import, words: &[&str]) -> bool {
        let is_version = |word: &String| {
            word.strip_prefix('v').is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        };
        self.language().family() == Family::Go
            && import.alias.is_none()
            && import.segments.last().is_some_and(is_version)
            && import.segments.iter().rev().nth(1).map(String::as_str) == words.first().copied()
    }

    /// Returns what the path from an import on leads to.
    fn through(&self, import: &'q Import, rest: &[&'q str]) -> Vec<Meaning> {
        let place = HolderPath::of(import);
        let real_name = import.name.as_deref().filter(|name| *name != "default");
        if let Some(name) = real_name.or(import.alias.as_deref().filter(|_| import.name.is_some()))
        {
            let found = self.at(place.with(&[name]).with(rest), IMPORTED);
            if !found.is_empty() {
                return found;
            }
            if real_name.is_none() && rest.is_empty() {
                // A default that is an object: its functions are the file's own.
                let mut found = self.at(place.clone(), IMPORTED);
                found.retain(|it| self.candidate(it.candidate).visibility != Visibility::Private);
                if !found.is_empty() {
                    return found;
                }
            }
            let is_alias = rest.is_empty() && import.name.as_ref() == Some(&self.reference.name);
            if is_alias {
                return self.imported(import);
            }
            if place.anchored && rest.is_empty() {
                return self.only_member(name, FROM_ELSEWHERE);
            }
            return Vec::new();
        }
        let found = self.at(place.with(rest), IMPORTED);
        if found.is_empty() && place.anchored && !rest.is_empty() {
            return self.only_member(rest[rest.len() - 1], FROM_ELSEWHERE);
        }
        found
    }

    /// Returns the definitions of this file that the words lead to.
    fn in_file_along(&self, words: &[&str]) -> Vec<Meaning> {
        let owner = words.join("::");
        let scope = self.scope();
        self.best(self.namesakes.below(self.site.path), |candidate| {
            let held = candidate.owner();
            let before = held.strip_suffix(owner.as_str())?;
            let before = before.strip_suffix("::").unwrap_or(before);
            let is_seen = before.is_empty() || scope.starts_with(before);
            (candidate.path == self.site.path && is_seen).then_some(SAME_FILE)
        })
    }

    /// Answers for a path of Rust that begins at the crate or at the own module.
    fn rust_path(&self, words: &[&str]) -> Vec<Meaning> {
        let inline = self.inline_modules();
        let Some(segments) = RustPlace::of(self.site.path).resolve(&inline, words) else {
            let rest: Vec<_> = words.iter().copied().filter(|word| *word != "crate").collect();
            return self.only_member(rest.last().copied().unwrap_or(""), ONLY_ONE);
        };
        let words = segments.iter().map(String::as_str).collect();
        let found = self.at(HolderPath { words, anchored: true }, IMPORTED);
        if !found.is_empty() {
            return found;
        }
        self.only_member(segments.last().map_or("", String::as_str), FROM_ELSEWHERE)
    }

    fn inline_modules(&self) -> Vec<String> {
        let items = &self.site.facts.items;
        let mut modules = Vec::new();
        let mut scope = self.reference.scope;
        while let Some(item) = scope.and_then(|place| items.get(place as usize)) {
            if item.kind == ItemKind::Module {
                modules.push(item.name.clone());
            }
            scope = item.parent;
        }
        modules.reverse();
        modules
    }

    /// Answers for a name that a document mentions.
    pub(super) fn mentioned(&self) -> Vec<Meaning> {
        let owner = match &self.reference.access {
            Access::Path(path) => Some(super::last_word(path)),
            _ => None,
        };
        let places = match owner {
            Some(owner) => self.namesakes.held_by(owner),
            None => self.namesakes.few(),
        };
        let meant = |place: &usize| {
            let candidate = self.candidate(*place);
            let is_held = owner.is_none_or(|owner| super::last_word(candidate.owner()) == owner);
            is_held && super::fits(ReferenceKind::Mention, candidate.kind, Family::Rust)
        };
        let meanings = places.into_iter().filter(meant);
        let confidence = if owner.is_some() { SAME_PACKAGE } else { super::ONLY_MEMBER };
        self.shared(meanings.map(|candidate| Meaning { candidate, confidence }).collect())
    }
}

fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Functions that are everywhere; a namesake in another file is not meant.
const PYTHON_BUILTINS: [&str; 58] = [
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
    "bool",
    "breakpoint",
    "bytearray",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "compile",
    "complex",
    "delattr",
    "dict",
    "dir",
    "divmod",
    "enumerate",
    "eval",
    "exec",
    "exit",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "globals",
    "hasattr",
    "hash",
    "help",
    "hex",
    "id",
    "input",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "locals",
    "map",
    "max",
    "memoryview",
    "min",
    "next",
    "object",
    "open",
    "ord",
    "pow",
    "print",
    "property",
    "range",
    "repr",
    "set",
    "sorted",
    "sum",
    "zip",
];
