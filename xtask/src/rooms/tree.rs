//! The modules of one crate as data: who is inside of whom, what each one defines and imports,
//! and every path that its code mentions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The place of a module in its [`Tree`]. The crate's root has number 0.
pub(super) type ModuleId = usize;

pub(super) struct Tree {
    pub(super) modules: Vec<Module>,
}

#[derive(Default)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) parent: Option<ModuleId>,
    pub(super) file: PathBuf,
    pub(super) children: BTreeMap<String, ModuleId>,
    /// The names of child modules that only tests have.
    pub(super) tests: BTreeSet<String>,
    /// The names that this module's own file defines.
    pub(super) items: BTreeSet<String>,
    /// Each imported name, with the paths that it may stand for.
    pub(super) imports: BTreeMap<String, Vec<Vec<String>>>,
    pub(super) globs: Vec<Vec<String>>,
    pub(super) impls: Vec<Impl>,
    pub(super) mentions: Vec<Mention>,
}

/// The methods that a module gives to a type, which another module may define.
pub(super) struct Impl {
    pub(super) of: Vec<String>,
    pub(super) methods: Vec<String>,
}

/// One path in the code of a module.
pub(super) struct Mention {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
    pub(super) kind: MentionKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MentionKind {
    /// `use a::b;`
    Import,
    /// `pub use a::b;`
    Reexport,
    /// `use a::*;` or `pub use a::*;`
    Glob,
    /// `a::b` in code, in an attribute or in the tokens of a macro.
    Path,
    /// A single name, which means something of another module only by a glob or an import.
    Bare,
}

impl Tree {
    /// The path of a module for people: `crate::steps::coding`.
    pub(super) fn path(&self, module: ModuleId) -> String {
        match self.modules[module].parent {
            None => "crate".to_owned(),
            Some(parent) => format!("{}::{}", self.path(parent), self.modules[module].name),
        }
    }

    /// The module itself and everything around it, from the inside out.
    pub(super) fn ancestors(&self, module: ModuleId) -> Vec<ModuleId> {
        std::iter::successors(Some(module), |inner| self.modules[*inner].parent).collect()
    }

    pub(super) fn is_within(&self, module: ModuleId, outer: ModuleId) -> bool {
        self.ancestors(module).contains(&outer)
    }
}
