//! Reads the sources of one crate into a [`Tree`].
//!
//! Only syntax is read: `syn` knows no types and expands no macros. The tokens inside of a macro
//! call are therefore searched for what looks like a path, and so are the strings of attributes
//! such as `#[serde(with = "...")]`. Code that only tests compile is left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

use super::tokens::{self, Found, Strings};
use super::tree::{Impl, Mention, MentionKind, Module, ModuleId, Tree};

/// The text of each source file, by its path.
pub(super) type Sources = BTreeMap<PathBuf, String>;

/// Reads the crate whose root is this file.
pub(super) fn read(sources: &Sources, root: &Path) -> Result<Tree, String> {
    let file = parsed(sources, root)?;
    let module = Module { file: root.to_owned(), ..Module::default() };
    let dir = root.parent().map(PathBuf::from).unwrap_or_default();
    let tree = Tree { modules: vec![module] };
    let mut reader = Reader { sources, tree, here: 0, dir, self_type: None, fault: None };
    reader.visit_file(&file);
    reader.fault.map_or(Ok(reader.tree), Err)
}

fn parsed(sources: &Sources, path: &Path) -> Result<syn::File, String> {
    let text = sources.get(path).ok_or_else(|| format!("{}: no such file", path.display()))?;
    syn::parse_file(text)
        .map_err(|error| format!("{}:{}: {error}", path.display(), error.span().start().line))
}

struct Reader<'a> {
    sources: &'a Sources,
    tree: Tree,
    /// The module whose code is being read.
    here: ModuleId,
    /// The directory in which the files of its children are.
    dir: PathBuf,
    /// The type of the `impl` block around the code, which `Self` and `self` stand for.
    self_type: Option<Vec<String>>,
    fault: Option<String>,
}

impl Reader<'_> {
    fn module(&mut self) -> &mut Module {
        &mut self.tree.modules[self.here]
    }

    /// Notes a path that the code mentions; `Self` is read as the type that it stands for.
    fn mention(&mut self, mut segments: Vec<String>, line: usize, kind: MentionKind) {
        if segments.first().is_some_and(|first| first == "Self") {
            let Some(of) = self.self_type.clone() else { return };
            segments.splice(..1, of);
        }
        self.module().mentions.push(Mention { segments, line, kind });
    }

    /// Notes a single name if it could be that of an item: a type, or a function that is called.
    fn bare(&mut self, name: String, line: usize, is_called: bool) {
        let is_item = is_called || name.starts_with(|first: char| first.is_uppercase());
        if is_item && name != "Self" {
            self.mention(vec![name], line, MentionKind::Bare);
        }
    }

    /// Notes `self.method()` as the path `Type::method`.
    fn method_of_self(&mut self, method: String, line: usize) {
        if self.self_type.is_some() {
            self.mention(vec!["Self".to_owned(), method], line, MentionKind::Path);
        }
    }

    fn found(&mut self, found: Vec<Found>) {
        for found in found {
            match found {
                Found::Path(segments, line) => self.mention(segments, line, MentionKind::Path),
                Found::Name(name, line) => self.bare(name, line, false),
                Found::Called(name, line) => self.bare(name, line, true),
                Found::MethodOfSelf(method, line) => self.method_of_self(method, line),
            }
        }
    }

    fn import(&mut self, tree: &syn::UseTree, prefix: &[String], is_reexport: bool) {
        let line = line_of(tree);
        let kind = if is_reexport { MentionKind::Reexport } else { MentionKind::Import };
        let joined = |ident: &syn::Ident| {
            let mut path = prefix.to_vec();
            if ident != "self" || path.is_empty() {
                path.push(plain(ident));
            }
            path
        };
        match tree {
            syn::UseTree::Path(path) => {
                self.import(&path.tree, &joined(&path.ident), is_reexport);
            }
            syn::UseTree::Group(group) => {
                for part in &group.items {
                    self.import(part, prefix, is_reexport);
                }
            }
            syn::UseTree::Glob(_) => {
                self.module().globs.push(prefix.to_vec());
                self.mention(prefix.to_vec(), line, MentionKind::Glob);
            }
            syn::UseTree::Name(name) => {
                let path = joined(&name.ident);
                if let Some(name) = path.last().cloned() {
                    self.module().imports.entry(name).or_default().push(path.clone());
                    self.mention(path, line, kind);
                }
            }
            syn::UseTree::Rename(name) => {
                let path = joined(&name.ident);
                let entry = self.module().imports.entry(plain(&name.rename)).or_default();
                entry.push(path.clone());
                self.mention(path, line, kind);
            }
        }
    }

    /// Reads the file of a module that is declared with `mod name;`.
    fn file_module(&mut self, item: &syn::ItemMod, name: String) -> Result<(), String> {
        let placed = item.attrs.iter().find_map(string_of_path);
        let file = match &placed {
            Some(placed) => {
                let beside = self.module().file.parent().map(PathBuf::from).unwrap_or_default();
                beside.join(placed)
            }
            None => {
                let plain = self.dir.join(format!("{name}.rs"));
                let folder = self.dir.join(&name).join("mod.rs");
                if self.sources.contains_key(&folder) { folder } else { plain }
            }
        };
        let parsed = parsed(self.sources, &file)?;
        if parsed.attrs.iter().any(is_for_tests) {
            self.module().tests.insert(name);
            return Ok(());
        }
        let dir = match placed {
            Some(_) => file.with_extension(""),
            None => self.dir.join(&name),
        };
        self.within(name, file, dir, |reader| reader.visit_file(&parsed));
        Ok(())
    }

    /// Reads the code of a child module.
    fn within(&mut self, name: String, file: PathBuf, dir: PathBuf, read: impl FnOnce(&mut Self)) {
        let child = self.tree.modules.len();
        self.module().children.insert(name.clone(), child);
        let parent = Some(self.here);
        self.tree.modules.push(Module { name, parent, file, ..Module::default() });
        let outer = (self.here, std::mem::replace(&mut self.dir, dir), self.self_type.take());
        self.here = child;
        read(self);
        (self.here, self.dir, self.self_type) = outer;
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(is_for_tests) {
            if let syn::Item::Mod(module) = item {
                self.module().tests.insert(plain(&module.ident));
            }
            return;
        }
        if let Some(name) = defined(item) {
            self.module().items.insert(name);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = plain(&item.ident);
        if name == "tests" {
            self.module().tests.insert(name);
        } else if let Some((_, items)) = &item.content {
            let (file, dir) = (self.module().file.clone(), self.dir.join(&name));
            self.within(name, file, dir, |reader| {
                items.iter().for_each(|item| reader.visit_item(item));
            });
        } else if let Err(error) = self.file_module(item, name) {
            self.fault.get_or_insert(error);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_reexport = !matches!(item.vis, syn::Visibility::Inherited);
        if item.leading_colon.is_none() {
            self.import(&item.tree, &[], is_reexport);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = match &*item.self_ty {
            syn::Type::Path(path) if path.qself.is_none() => Some(segments(&path.path)),
            _ => None,
        };
        if let (Some(of), None) = (&of, &item.trait_) {
            let methods = item.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(function) => Some(plain(&function.sig.ident)),
                _ => None,
            });
            let methods = methods.collect();
            self.module().impls.push(Impl { of: of.clone(), methods });
        }
        let outer = std::mem::replace(&mut self.self_type, of);
        visit::visit_item_impl(self, item);
        self.self_type = outer;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let line = path.segments.first().map_or(0, |first| first.ident.span().start().line);
        let mut segments = segments(path);
        if path.leading_colon.is_none() {
            if segments.len() > 1 {
                self.mention(segments, line, MentionKind::Path);
            } else if let Some(name) = segments.pop() {
                self.bare(name, line, false);
            }
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if let syn::Expr::Path(function) = &*call.func
            && let Some(name) = function.path.get_ident()
        {
            self.bare(plain(name), name.span().start().line, true);
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if let syn::Expr::Path(receiver) = &*call.receiver
            && receiver.path.is_ident("self")
        {
            self.method_of_self(plain(&call.method), call.method.span().start().line);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(name) = call.path.get_ident() {
            self.bare(plain(name), name.span().start().line, true);
        }
        visit::visit_macro(self, call);
        self.found(tokens::search(call.tokens.clone(), Strings::AreText));
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        const WITHOUT_CODE: [&str; 7] = ["allow", "cfg", "deny", "doc", "expect", "path", "warn"];
        if WITHOUT_CODE.iter().any(|name| attribute.path().is_ident(name)) {
            return;
        }
        visit::visit_attribute(self, attribute);
        if let syn::Meta::List(list) = &attribute.meta {
            self.found(tokens::search(list.tokens.clone(), Strings::MayBePaths));
        }
    }

    /// `pub(in crate::a)` and `pub(super)` say who may use an item; they use nothing themselves.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

/// A name without the `r#` that makes a keyword a name.
fn plain(ident: &syn::Ident) -> String {
    let name = ident.to_string();
    name.strip_prefix("r#").map(str::to_owned).unwrap_or(name)
}

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| plain(&segment.ident)).collect()
}

fn line_of(tree: &syn::UseTree) -> usize {
    let span = match tree {
        syn::UseTree::Path(path) => path.ident.span(),
        syn::UseTree::Name(name) => name.ident.span(),
        syn::UseTree::Rename(name) => name.ident.span(),
        syn::UseTree::Glob(glob) => glob.star_token.spans[0],
        syn::UseTree::Group(group) => group.brace_token.span.open(),
    };
    span.start().line
}

/// The value of `#[path = "..."]`.
fn string_of_path(attribute: &syn::Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })
            if pair.path.is_ident("path") =>
        {
            Some(text.value())
        }
        _ => None,
    }
}

/// `#[test]`, `#[cfg(test)]` and `#[cfg(all(test, ...))]`.
fn is_for_tests(attribute: &syn::Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return attribute.path().is_ident("test") };
    let condition = list.tokens.to_string();
    let condition = condition.trim_start_matches("all (").trim();
    let is_test = |part: &str| part.trim().trim_end_matches(')').trim() == "test";
    list.path.is_ident("cfg") && !condition.starts_with("any") && condition.split(',').any(is_test)
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::ExternCrate(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::ForeignMod(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::TraitAlias(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Union(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item defines in its module.
fn defined(item: &syn::Item) -> Option<String> {
    let ident = match item {
        syn::Item::Const(item) => &item.ident,
        syn::Item::Enum(item) => &item.ident,
        syn::Item::Fn(item) => &item.sig.ident,
        syn::Item::Macro(item) => item.ident.as_ref()?,
        syn::Item::Static(item) => &item.ident,
        syn::Item::Struct(item) => &item.ident,
        syn::Item::Trait(item) => &item.ident,
        syn::Item::TraitAlias(item) => &item.ident,
        syn::Item::Type(item) => &item.ident,
        syn::Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(plain(ident))
}
