//! What a file brings in and passes on: `import`, `export … from`, `require`, `import(…)`.

use std::collections::HashSet;

use tree_sitter::Node;

use super::grammar::{TypeScriptKind, children};
use super::{TypeScriptWalk, WalkStep};
use crate::Import;

/// Endings that a specifier may carry although the file it means has another: `./a.js` is
/// `./a.ts` before it is compiled.
const ENDINGS: &[&str] = &[".d.ts", ".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"];

impl<'t> TypeScriptWalk<'_, 't> {
    pub(super) fn import_statement(&mut self, node: Node<'_>) -> WalkStep {
        let clauses = children(node);
        let source = self.field(node, self.grammar.source);
        let source = source.or_else(|| self.field(*clauses.first()?, self.grammar.source));
        let Some(source) = source else { return WalkStep::Past };
        let specifier = self.unquoted(source);
        let at = node.start_byte();
        self.read_head(at);
        let mut is_bare = true;
        for clause in clauses.into_iter().filter(|clause| *clause != source) {
            for part in children(clause) {
                if self.is(part, TypeScriptKind::Identifier) {
                    is_bare = false;
                    // `import x = require('x')` brings in the whole.
                    let whole = clause.kind() == "import_require_clause";
                    let name = if whole { None } else { Some("default") };
                    self.bring_in(specifier, name, Some(self.reader.of(part)), at);
                } else if matches!(part.kind(), "named_imports" | "namespace_import") {
                    is_bare = false;
                    self.named_imports(part, specifier);
                }
            }
        }
        if is_bare {
            self.bring_in(specifier, None, None, at);
        }
        WalkStep::Past
    }

    /// Takes the documentation above a file's first import as the file's own.
    fn read_head(&mut self, at: usize) {
        if !std::mem::replace(&mut self.state.is_past_head, true) {
            let words = self.state.comments.head(self.reader.text, at);
            if !words.is_empty() {
                self.reader.add_inner_doc(&words);
            }
        }
    }

    fn named_imports(&mut self, part: Node<'_>, specifier: &str) {
        if part.kind() == "namespace_import" {
            let alias = part.named_child(0).map(|name| self.reader.of(name));
            self.bring_in(specifier, None, alias, part.start_byte());
            return;
        }
        for one in children(part) {
            let Some(name) = self.field(one, self.grammar.name) else { continue };
            let alias = self.field(one, self.grammar.alias).map(|alias| self.reader.of(alias));
            let name = self.unquoted(name);
            self.bring_in(specifier, Some(name), alias, one.start_byte());
        }
    }

    pub(super) fn export_statement(&mut self, node: Node<'_>) -> WalkStep {
        if let Some(source) = self.field(node, self.grammar.source) {
            self.pass_on(node, self.unquoted(source));
            return WalkStep::Past;
        }
        if self.field(node, self.grammar.declaration).is_some() {
            self.state.export = Some(node.start_byte());
            return WalkStep::Children;
        }
        let value = self.field(node, self.grammar.value);
        if let Some(value) = value {
            return self.export_default(node, value);
        }
        let clause = children(node).into_iter().find(|child| child.kind() == "export_clause");
        if let Some(clause) = clause {
            let names = children(clause).into_iter();
            let names = names.filter_map(|one| self.field(one, self.grammar.name));
            let names: HashSet<&str> = names.map(|name| self.reader.of(name)).collect();
            self.give_away(&names);
            return WalkStep::Past;
        }
        WalkStep::Children
    }

    fn export_default(&mut self, node: Node<'_>, value: Node<'_>) -> WalkStep {
        match self.grammar.kinds.of(value) {
            Some(TypeScriptKind::Identifier) => {
                let name = self.reader.of(value);
                self.give_away(&HashSet::from([name]));
            }
            Some(TypeScriptKind::FunctionValue | TypeScriptKind::ClassValue) => {
                self.state.default_at = Some(value.start_byte());
                self.state.export = Some(node.start_byte());
            }
            Some(TypeScriptKind::Object) => {
                self.state.given_until = value.end_byte();
                let names = self.names_in_object(value);
                self.give_away(&names);
            }
            _ => {}
        }
        WalkStep::Children
    }

    /// Records `export … from`: what is passed on is brought in as well, but not called by
    /// its name here.
    fn pass_on(&mut self, node: Node<'_>, specifier: &str) {
        let at = node.start_byte();
        let parts = children(node);
        let mut is_all = true;
        for part in parts {
            match part.kind() {
                "export_clause" => {
                    is_all = false;
                    for one in children(part) {
                        let Some(name) = self.field(one, self.grammar.name) else { continue };
                        let alias = self.field(one, self.grammar.alias);
                        let alias = alias.map(|alias| self.unquoted(alias));
                        let name = self.unquoted(name);
                        self.record(specifier, Some(name), alias, false, one.start_byte());
                    }
                }
                "namespace_export" => {
                    is_all = false;
                    let alias = part.named_child(0).map(|name| self.unquoted(name));
                    self.record(specifier, None, alias, false, at);
                }
                _ => {}
            }
        }
        if is_all {
            self.record(specifier, None, None, true, at);
        }
    }

    /// Reads `const x = require('y')` and its relatives; returns whether it was one.
    pub(super) fn import_into(&mut self, name: Node<'_>, value: Node<'_>) -> bool {
        let mut taken = None;
        let mut call = value;
        loop {
            call = match self.grammar.kinds.of(call) {
                Some(TypeScriptKind::Await | TypeScriptKind::Parenthesized) => {
                    match call.named_child(0) {
                        Some(inner) => inner,
                        None => return false,
                    }
                }
                Some(TypeScriptKind::Member) if taken.is_none() => {
                    taken = self.field(call, self.grammar.property);
                    match self.field(call, self.grammar.object) {
                        Some(object) => object,
                        None => return false,
                    }
                }
                _ => break,
            };
        }
        let Some(specifier) = self.specifier_of(call) else { return false };
        let at = value.start_byte();
        if self.is(name, TypeScriptKind::Identifier) {
            let taken = taken.map(|taken| self.reader.of(taken));
            self.bring_in(specifier, taken, Some(self.reader.of(name)), at);
            return true;
        }
        for part in children(name) {
            match self.grammar.kinds.of(part) {
                Some(TypeScriptKind::ShorthandPattern) => {
                    self.bring_in(specifier, Some(self.reader.of(part)), None, at);
                }
                Some(TypeScriptKind::PairPattern) => {
                    let key = self.field(part, self.grammar.key).map(|key| self.reader.of(key));
                    let alias = self.field(part, self.grammar.value);
                    let alias = alias.map(|alias| self.reader.of(alias));
                    self.bring_in(specifier, key, alias, at);
                }
                _ => {}
            }
        }
        true
    }

    /// Returns what a call of `require` or `import` asks for.
    pub(super) fn specifier_of(&self, call: Node<'_>) -> Option<&'t str> {
        if !self.is(call, TypeScriptKind::Call) {
            return None;
        }
        let function = self.field(call, self.grammar.function)?;
        let is_import = self.is(function, TypeScriptKind::DynamicImport)
            || self.is(function, TypeScriptKind::Identifier)
                && self.reader.of(function) == "require";
        let argument = self.field(call, self.grammar.arguments)?.named_child(0)?;
        (is_import && self.is(argument, TypeScriptKind::Leaf)).then(|| self.unquoted(argument))
    }

    /// Records an import whose name the file then uses.
    pub(super) fn bring_in(
        &mut self,
        specifier: &str,
        name: Option<&str>,
        alias: Option<&str>,
        at: usize,
    ) {
        if let Some(called) = alias.or(name) {
            self.state.holders.insert(called.to_owned());
        }
        self.record(specifier, name, alias, false, at);
    }

    fn record(
        &mut self,
        specifier: &str,
        name: Option<&str>,
        alias: Option<&str>,
        glob: bool,
        at: usize,
    ) {
        let (anchored, segments) = segments(self.reader.path, specifier);
        let alias = alias.filter(|alias| name != Some(*alias)).map(str::to_owned);
        let name = name.map(str::to_owned);
        self.reader.import(Import { segments, anchored, name, alias, glob, line: 0 }, at);
    }

    fn unquoted(&self, node: Node<'_>) -> &'t str {
        self.reader.of(node).trim_matches(['"', '\'', '`'])
    }
}

/// Returns the words that a specifier in a file means, and whether they are from the root.
fn segments(path: &str, specifier: &str) -> (bool, Vec<String>) {
    let specifier = specifier.split(['?', '#']).next().filter(|word| !word.is_empty());
    let specifier = specifier.unwrap_or("");
    let ending = ENDINGS.iter().find_map(|ending| specifier.strip_suffix(ending));
    let is_relative = specifier.starts_with('.') || specifier.starts_with('/');
    let words = if is_relative { ending.unwrap_or(specifier) } else { specifier };
    if !is_relative {
        // `@/x` and `~/x` are the project's own way to say "from the source directory".
        let own = words.strip_prefix("@/").or(words.strip_prefix("~/"));
        let words = own.map_or(words, |own| {
            ENDINGS.iter().find_map(|ending| own.strip_suffix(ending)).unwrap_or(own)
        });
        return (
            false,
            words.split('/').filter(|word| !word.is_empty()).map(str::to_owned).collect(),
        );
    }
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let from = if specifier.starts_with('/') { "" } else { directory };
    let mut segments: Vec<&str> = from.split('/').filter(|word| !word.is_empty()).collect();
    for word in words.split('/') {
        match word {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            word => segments.push(word),
        }
    }
    if segments.last() == Some(&"index") {
        segments.pop();
    }
    (true, segments.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::segments;

    #[test]
    fn a_specifier_means_a_path_without_ending_and_index() {
        let check = |specifier, anchored, expected: &str| {
            let (is_anchored, words) = segments("src/shop/cart.ts", specifier);
            assert_eq!((is_anchored, words.join("/").as_str()), (anchored, expected));
        };
        check("./price", true, "src/shop/price");
        check("./price.js", true, "src/shop/price");
        check("./index", true, "src/shop");
        check(".", true, "src/shop");
        check("../lib/index.ts", true, "src/lib");
        check("./logo.svg?raw", true, "src/shop/logo.svg");
        check("./cart.test", true, "src/shop/cart.test");
        check("@/lib/money", false, "lib/money");
        check("@scope/tools/fs", false, "@scope/tools/fs");
        check("lodash", false, "lodash");
        check("node:fs", false, "node:fs");
        check("", false, "");
    }
}
