//! Finds the module that defines what a path names.
//!
//! An import is followed to what it stands for, so an item that the crate's root re-exports
//! counts as the module's that defines it. A name that a module is asked for by path and that it
//! neither defines nor imports is taken to be its own: a macro wrote the item.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{Mention, MentionKind, ModuleId, Tree};

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    Module(ModuleId),
    Item {
        module: ModuleId,
        name: String,
        /// The segment after the item: a variant, or a function of the type.
        member: Option<String>,
    },
}

pub(super) struct Resolver<'a> {
    tree: &'a Tree,
    /// The modules that give a type a method, by the type's module and name and the method.
    methods: BTreeMap<(ModuleId, String, String), BTreeSet<ModuleId>>,
}

/// The imports that are being followed, so that two which name each other come to an end.
type Following = Vec<(ModuleId, String)>;

impl<'a> Resolver<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        let mut resolver = Self { tree, methods: BTreeMap::new() };
        let mut methods = BTreeMap::<_, BTreeSet<_>>::new();
        for (module, found) in tree.modules.iter().enumerate() {
            for given in &found.impls {
                for target in resolver.targets(module, &given.of, &mut Vec::new()) {
                    let Target::Item { module: of, name, member: None } = target else { continue };
                    for method in &given.methods {
                        let key = (of, name.clone(), method.clone());
                        methods.entry(key).or_default().insert(module);
                    }
                }
            }
        }
        resolver.methods = methods;
        resolver
    }

    /// The modules whose code a mention depends on.
    pub(super) fn used(&self, from: ModuleId, mention: &Mention) -> BTreeSet<ModuleId> {
        let mut used = BTreeSet::new();
        for target in self.targets(from, &mention.segments, &mut Vec::new()) {
            match target {
                // A variable may have the name of a module; and to name a module around oneself
                // is only the way to somewhere else.
                Target::Module(_) if mention.kind == MentionKind::Bare => {}
                Target::Module(module) if self.tree.is_within(from, module) => {}
                Target::Module(module) => _ = used.insert(module),
                Target::Item { module, name, member } => {
                    used.insert(module);
                    let method = member.map(|member| (module, name, member));
                    used.extend(method.iter().flat_map(|key| self.methods.get(key)).flatten());
                }
            }
        }
        used.remove(&from);
        used
    }

    /// What a path means in the code of `from`; nothing if it leads out of the crate.
    fn targets(&self, from: ModuleId, path: &[String], following: &mut Following) -> Vec<Target> {
        let mut module = from;
        let mut rest = path;
        let mut is_anchored = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => module = 0,
                "self" => {}
                "super" => module = self.tree.modules[module].parent.unwrap_or(0),
                _ => break,
            }
            (rest, is_anchored) = (others, true);
        }
        self.walk(module, rest, is_anchored, following)
    }

    fn walk(
        &self,
        at: ModuleId,
        path: &[String],
        is_anchored: bool,
        following: &mut Following,
    ) -> Vec<Target> {
        let Some((name, rest)) = path.split_first() else { return vec![Target::Module(at)] };
        let module = &self.tree.modules[at];
        let own = || Target::Item { module: at, name: name.clone(), member: rest.first().cloned() };
        let mut found = Vec::new();
        if let Some(child) = module.children.get(name) {
            found.extend(self.walk(*child, rest, true, following));
            if !rest.is_empty() {
                return found;
            }
        }
        if module.items.contains(name) {
            found.push(own());
        }
        if let Some(imports) = module.imports.get(name) {
            found.extend(self.follow(at, name, imports, rest, following));
        } else if found.is_empty() && !module.tests.contains(name) {
            found.extend(self.through_globs(at, path, following));
            if found.is_empty() && is_anchored {
                found.push(own());
            }
        }
        found
    }

    fn follow(
        &self,
        at: ModuleId,
        name: &str,
        imports: &[Vec<String>],
        rest: &[String],
        following: &mut Following,
    ) -> Vec<Target> {
        let step = (at, name.to_owned());
        if following.contains(&step) {
            return Vec::new();
        }
        following.push(step);
        let mut found = Vec::new();
        for import in imports {
            for target in self.targets(at, import, following) {
                match target {
                    Target::Module(module) => {
                        found.extend(self.walk(module, rest, true, following));
                    }
                    Target::Item { module, name, member } => {
                        let member = member.or_else(|| rest.first().cloned());
                        found.push(Target::Item { module, name, member });
                    }
                }
            }
        }
        following.pop();
        found
    }

    fn through_globs(
        &self,
        at: ModuleId,
        path: &[String],
        following: &mut Following,
    ) -> Vec<Target> {
        let step = (at, "*".to_owned());
        if following.contains(&step) {
            return Vec::new();
        }
        following.push(step);
        let mut found = Vec::new();
        for glob in &self.tree.modules[at].globs {
            for target in self.targets(at, glob, following) {
                if let Target::Module(module) = target {
                    found.extend(self.walk(module, path, false, following));
                }
            }
        }
        following.pop();
        found
    }
}
