//! Members of types: of the own one, of one that is known, of one that is not.

use super::places::HolderPath;
use super::{
    HANDED_ON, IMPORTED, INHERITED, Meaning, ONLY_MEMBER, ONLY_METHOD, ONLY_ONE, ReferenceQuestion,
    SAME_FILE, SAME_PACKAGE, last_word,
};
use crate::language::Family;
use crate::{Access, Import, Item, ItemKind, ReferenceKind, Visibility};

/// How far up a chain of classes in one file is followed.
const MAX_BASES: usize = 8;

impl<'q> ReferenceQuestion<'q> {
    /// Answers for `self.name`.
    pub(super) fn own(&self) -> Vec<Meaning> {
        let found = self.own_members();
        if !found.is_empty() {
            return found;
        }
        let found = self.inherited();
        if !found.is_empty() {
            return found;
        }
        self.weakly(self.of_unknown())
    }

    /// Returns the members of the type that the reference's scope belongs to.
    pub(super) fn own_members(&self) -> Vec<Meaning> {
        let Some(own) = self.own_type() else { return Vec::new() };
        let directory = self.site.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        self.best(self.namesakes.held_by(own), |candidate| {
            if candidate.owner() == own && candidate.path == self.site.path {
                return Some(SAME_FILE);
            }
            let is_near = candidate.path.starts_with(directory);
            let is_own = is_near && last_word(candidate.owner()) == last_word(own);
            is_own.then_some(HANDED_ON)
        })
    }

    /// Returns the members of what the own type builds on.
    pub(super) fn inherited(&self) -> Vec<Meaning> {
        let Some(own) = self.own_type() else { return Vec::new() };
        self.of_bases(own)
    }

    /// Returns the type that the reference's scope belongs to.
    fn own_type(&self) -> Option<&'q str> {
        let items = &self.site.facts.items;
        let item_at = |place: u32| items.get(place as usize);
        let mut item = item_at(self.reference.scope?)?;
        if item.kind.holds_members() && item.kind != ItemKind::Impl {
            return Some(&item.qualified);
        }
        loop {
            let parent = item.parent.and_then(item_at);
            let in_type = parent.is_some_and(|parent| parent.kind.holds_members());
            let is_member = matches!(item.kind, ItemKind::Method | ItemKind::Test);
            if in_type || (parent.is_none() && is_member) {
                return item.qualified.rsplit_once("::").map(|(own, _)| own);
            }
            item = parent?;
        }
    }

    /// Returns the members of what a type of this file builds on, as far as the file says it.
    fn of_bases(&self, of_type: &str) -> Vec<Meaning> {
        let mut known = vec![of_type.to_owned()];
        let mut next = 0;
        while next < known.len() && known.len() <= MAX_BASES {
            for (name, access) in self.bases(&known[next]) {
                let path = match access {
                    Access::Path(path) => format!("{path}::{name}"),
                    _ => name.to_owned(),
                };
                if known.contains(&path) {
                    continue;
                }
                let words: Vec<_> = path.split("::").collect();
                let mut found = self.members_of(&words);
                if !found.is_empty() {
                    let most = INHERITED / found.len() as f64;
                    found.iter_mut().for_each(|it| it.confidence = it.confidence.min(most));
                    return found;
                }
                known.push(path);
            }
            next += 1;
        }
        Vec::new()
    }

    fn bases(&self, of_type: &str) -> Vec<(&'q str, &'q Access)> {
        let items = &self.site.facts.items;
        let is_of = |item: &Item| match item.kind {
            ItemKind::Impl => item.name == last_word(of_type),
            kind => kind.holds_members() && item.qualified == of_type,
        };
        let references = self.site.facts.references.iter();
        references
            .filter(|it| matches!(it.kind, ReferenceKind::Extends | ReferenceKind::Implements))
            .filter(|it| it.scope.and_then(|at| items.get(at as usize)).is_some_and(is_of))
            .map(|it| (it.name.as_str(), &it.access))
            .collect()
    }

    /// Answers for a member of a value whose type the text shows.
    pub(super) fn of_type(&self, of_type: &str) -> Vec<Meaning> {
        let words: Vec<&str> = of_type.split("::").filter(|word| !word.is_empty()).collect();
        let Some(last) = words.last() else { return self.of_unknown() };
        let found = self.members_of(&words);
        if !found.is_empty() {
            return found;
        }
        if self.defines_type(last) {
            let inherited = self.of_bases(of_type);
            if !inherited.is_empty() {
                return inherited;
            }
        }
        let is_ours =
            self.defines_type(last) || self.imports_of(words[0]).any(|import| import.anchored);
        if is_ours { self.weakly(self.of_unknown()) } else { Vec::new() }
    }

    fn defines_type(&self, name: &str) -> bool {
        let mut items = self.site.facts.items.iter();
        items.any(|item| item.kind.holds_members() && item.name == name)
    }

    fn imports_of(&self, name: &str) -> impl Iterator<Item = &'q Import> {
        let imports = self.site.facts.imports.iter();
        imports.filter(move |import| import.called() == Some(name))
    }

    /// Returns the members of a type that is named as it would be in this file.
    pub(super) fn members_of(&self, words: &[&str]) -> Vec<Meaning> {
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return Vec::new() };
        let in_file = words.len() == 1 && self.defines_type(last);
        if in_file {
            let here = self.members_in_file(last);
            if !here.is_empty() {
                return here;
            }
        }
        let mut is_imported = false;
        for import in self.imports_of(first) {
            is_imported = true;
            let place = HolderPath::of(import);
            let name = import.name.as_deref().filter(|name| *name != "default");
            let name = name.or(import.alias.as_deref().filter(|_| import.name.is_some()));
            let place = place.with(name.as_slice()).with(&words[1..]);
            let found = self.at(place.clone(), IMPORTED);
            if !found.is_empty() {
                return found;
            }
            if place.anchored {
                let name = place.words.last().copied().unwrap_or("");
                return self.only_member(name, super::FROM_ELSEWHERE);
            }
        }
        if is_imported {
            return Vec::new();
        }
        let globs = self.site.facts.imports.iter().filter(|import| import.glob);
        for import in globs {
            let found = self.at(HolderPath::of(import).with(words), HANDED_ON);
            if !found.is_empty() {
                return found;
            }
        }
        let neighbours = self.members_in_package(last);
        if !neighbours.is_empty() {
            return neighbours;
        }
        let explicit = self.language().family().needs_imports();
        // Of a type that this file defines, the member is in an `impl` elsewhere.
        let sure = if in_file || !explicit { ONLY_MEMBER } else { ONLY_ONE };
        self.only_member(last, sure)
    }

    fn members_in_file(&self, of_type: &str) -> Vec<Meaning> {
        self.best(self.namesakes.held_by(of_type), |candidate| {
            let is_held = last_word(candidate.owner()) == of_type;
            (is_held && candidate.path == self.site.path).then_some(SAME_FILE)
        })
    }

    fn members_in_package(&self, of_type: &str) -> Vec<Meaning> {
        let family = self.language().family();
        let directory =
            |path: &'q str| path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let package = self.site.facts.package.as_deref();
        self.best(self.namesakes.held_by(of_type), |candidate| {
            let is_near = match family {
                Family::Go => directory(candidate.path) == directory(self.site.path),
                Family::Jvm | Family::CSharp | Family::Php => {
                    package.is_some() && candidate.package == package
                }
                _ => false,
            };
            (is_near && last_word(candidate.owner()) == of_type).then_some(SAME_PACKAGE)
        })
    }

    /// Returns the member of the only type of a name in the tree that has such a member.
    pub(super) fn only_member(&self, of_type: &str, confidence: f64) -> Vec<Meaning> {
        self.best(self.namesakes.held_by(of_type), |candidate| {
            let is_seen = candidate.visibility != Visibility::Private;
            (is_seen && last_word(candidate.owner()) == of_type).then_some(confidence)
        })
    }

    /// Answers for a method of a value that nothing is known of.
    pub(super) fn of_unknown(&self) -> Vec<Meaning> {
        if COMMON_METHODS.contains(&self.reference.name.as_str()) {
            return Vec::new();
        }
        self.best(self.namesakes.few(), |candidate| {
            let is_here = candidate.path == self.site.path;
            let is_seen = is_here || candidate.visibility != Visibility::Private;
            (candidate.kind == ItemKind::Method && is_seen).then_some(ONLY_METHOD)
        })
    }

    fn weakly(&self, mut meanings: Vec<Meaning>) -> Vec<Meaning> {
        meanings.iter_mut().for_each(|it| it.confidence = it.confidence.min(ONLY_ONE));
        meanings
    }
}

/// Methods that values of the languages' own libraries have: on a value that nothing is known
/// of, the project's namesake is hardly ever meant.
const COMMON_METHODS: [&str; 130] = [
    "add",
    "all",
    "and_then",
    "any",
    "append",
    "apply",
    "as_bytes",
    "as_mut",
    "as_ref",
    "as_str",
    "bind",
    "borrow",
    "bytes",
    "call",
    "catch",
    "chain",
    "chars",
    "clear",
    "clone",
    "close",
    "collect",
    "concat",
    "connect",
    "contains",
    "copy",
    "count",
    "debug",
    "decode",
    "default",
    "display",
    "drain",
    "emit",
    "encode",
    "entries",
    "entry",
    "enumerate",
    "equals",
    "err",
    "error",
    "exec",
    "execute",
    "exists",
    "expect",
    "extend",
    "fetch",
    "filter",
    "find",
    "first",
    "flush",
    "fmt",
    "fold",
    "forEach",
    "format",
    "from",
    "get",
    "group",
    "has",
    "hash",
    "id",
    "includes",
    "index",
    "indexOf",
    "info",
    "insert",
    "into",
    "into_iter",
    "is_empty",
    "is_none",
    "is_some",
    "items",
    "iter",
    "iter_mut",
    "join",
    "key",
    "keys",
    "kind",
    "last",
    "len",
    "length",
    "lines",
    "list",
    "load",
    "lock",
    "log",
    "lower",
    "map",
    "map_err",
    "match",
    "max",
    "min",
    "name",
    "new",
    "next",
    "nth",
    "ok",
    "on",
    "open",
    "or_insert",
    "parse",
    "path",
    "pop",
    "print",
    "push",
    "push_str",
    "put",
    "read",
    "recv",
    "reduce",
    "remove",
    "replace",
    "reset",
    "reverse",
    "run",
    "save",
    "send",
    "set",
    "size",
    "slice",
    "sort",
    "split",
    "start",
    "stop",
    "strip",
    "take",
    "test",
    "then",
    "toString",
    "to_owned",
    "to_string",
    "trim",
];
