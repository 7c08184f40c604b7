//! Go.
//!
//! A method is qualified by its receiver's type. What a selector like `x.Close()` goes through
//! is decided here, where the text is: a variable of the function, the receiver, a package.
//! Go says nowhere that a type implements an interface, so nothing here does.

mod calls;
mod definitions;
mod grammar;
mod types;

use std::cell::RefCell;
use std::collections::HashMap;

use tree_sitter::Node;

use self::grammar::{GO, GoKind};
use super::comments::{Comments, marks_generated};
use super::locals::{LocalValue, Locals, TakenNames, TextSpan};
use crate::Import;
use crate::reader::{Adapter, FactReader, WalkStep};

/// The reading of one file.
#[derive(Default)]
pub(crate) struct Go(RefCell<GoState>);

#[derive(Default)]
struct GoState {
    locals: Locals,
    comments: Comments,
    taken: TakenNames,
    /// What the file calls the packages it imports.
    packages: Vec<String>,
    /// Types of the package's own variables by `name`, of fields by `Type.field`, and of what
    /// functions return by `name()`: as far as this file has shown them.
    types: HashMap<String, TextSpan>,
    /// The types that the file has defined so far, by their place among the items.
    places: HashMap<String, u32>,
    /// Where the declaration begins that holds only the spec that comes next.
    declaration: Option<usize>,
    /// The variables of type switches that are open, and where each ends.
    switched: Vec<(TextSpan, usize)>,
}

impl Adapter for Go {
    fn grammar(&self) -> tree_sitter::Language {
        GO.language.clone()
    }

    fn visit(&self, reader: &mut FactReader<'_>, node: Node<'_>) -> WalkStep {
        let Some(kind) = GO.kinds.of(node) else { return WalkStep::Children };
        GoWalk { state: &mut self.0.borrow_mut(), reader }.visit(kind, node)
    }
}

/// One step of the walk: what is known so far, and where the facts go.
struct GoWalk<'a, 't> {
    state: &'a mut GoState,
    reader: &'a mut FactReader<'t>,
}

impl<'t> GoWalk<'_, 't> {
    fn visit(&mut self, kind: GoKind, node: Node<'_>) -> WalkStep {
        match kind {
            GoKind::Leaf => return WalkStep::Past,
            GoKind::Comment => self.comment(node),
            GoKind::SourceFile => self.look_ahead(node),
            GoKind::PackageClause => return self.package(node),
            GoKind::ImportSpec => return self.import(node),
            GoKind::Function => return self.function(node),
            GoKind::Method => return self.method(node),
            GoKind::ConstDeclaration | GoKind::VarDeclaration | GoKind::TypeDeclaration => {
                self.declaration(node);
            }
            GoKind::TypeSpec => return self.type_spec(node),
            GoKind::ValueSpec => return self.value_spec(node),
            GoKind::InterfaceMethod => return self.interface_method(node),
            GoKind::Field => self.field(node),
            GoKind::TypeElement => self.type_element(node),
            GoKind::TypeParameter => self.type_parameter(node),
            GoKind::FunctionLiteral => self.function_literal(node),
            GoKind::Scope => self.state.locals.enter(node),
            GoKind::TypeSwitch => self.type_switch(node),
            GoKind::TypeCase => self.type_case(node),
            GoKind::ShortVar => self.short_var(node),
            GoKind::Range | GoKind::Receive => self.bind_left(node),
            GoKind::Call => return self.call(node),
            GoKind::TypeName => self.type_name(node),
            GoKind::QualifiedType => return self.qualified_type(node),
            GoKind::FunctionType => {
                // Its parameters have names but are no variables of any code.
                self.state.locals.enter(node);
            }
            GoKind::Identifier
            | GoKind::Selector
            | GoKind::Composite
            | GoKind::Unary
            | GoKind::Parenthesized
            | GoKind::Assertion
            | GoKind::Index
            | GoKind::Pointer
            | GoKind::Generic
            | GoKind::Struct
            | GoKind::Interface => {}
        }
        WalkStep::Children
    }

    fn comment(&mut self, node: Node<'_>) {
        if marks_generated(self.reader.text, node) {
            self.reader.set_generated();
        }
        self.state.comments.see(self.reader.text, node);
    }

    fn package(&mut self, node: Node<'_>) -> WalkStep {
        let doc = self.state.comments.above(self.reader.text, node.start_byte());
        if !doc.is_empty() {
            self.reader.add_inner_doc(&doc);
        }
        if let Some(name) = node.named_child(0) {
            let name = self.reader.of(name);
            self.reader.set_package(name);
        }
        WalkStep::Past
    }

    fn import(&mut self, node: Node<'_>) -> WalkStep {
        let Some(path) = GO.field(node, GO.path) else { return WalkStep::Past };
        let path = self.reader.of(path).trim_matches(['"', '`']);
        let said = GO.field(node, GO.name).map(|name| self.reader.of(name));
        let (anchored, segments) = self.segments(path);
        let usual = usual_name(path);
        let is_last = segments.last().is_some_and(|last| last == usual);
        let alias = match said {
            Some(".") => None,
            Some(name) => Some(name.to_owned()),
            None => (!is_last).then(|| usual.to_owned()),
        };
        if !matches!(said, Some("." | "_")) {
            self.state.packages.push(said.unwrap_or(usual).to_owned());
        }
        let glob = said == Some(".");
        let import = Import { segments, anchored, name: None, alias, glob, line: 0 };
        self.reader.import(import, node.start_byte());
        WalkStep::Past
    }

    /// Returns the words of an import's path, and whether they are from the tree's root.
    fn segments(&self, path: &str) -> (bool, Vec<String>) {
        if !path.starts_with("./") && !path.starts_with("../") {
            return (false, path.split('/').map(str::to_owned).collect());
        }
        let directory = self.reader.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let mut segments: Vec<&str> =
            directory.split('/').filter(|word| !word.is_empty()).collect();
        for word in path.split('/') {
            match word {
                "" | "." => {}
                ".." => {
                    segments.pop();
                }
                word => segments.push(word),
            }
        }
        (true, segments.into_iter().map(str::to_owned).collect())
    }

    /// Returns what a name means where a node stands, if it is a variable of the function.
    fn local(&mut self, node: Node<'_>) -> Option<LocalValue> {
        let name = self.reader.of(node);
        self.state.locals.find(self.reader.text, name, node.start_byte())
    }
}

/// Returns the name that a package most likely gives itself: the last word of its path without
/// a version and without the `go` that repositories put around it.
fn usual_name(path: &str) -> &str {
    let mut words = path.rsplit('/');
    let last = words.next().unwrap_or(path);
    let last = if is_version(last) { words.next().unwrap_or(last) } else { last };
    let last = match last.rsplit_once('.') {
        Some((name, version)) if is_version(version) => name,
        _ => last,
    };
    let last = last.strip_prefix("go-").unwrap_or(last);
    last.strip_suffix("-go").or(last.strip_suffix(".go")).unwrap_or(last)
}

fn is_version(word: &str) -> bool {
    let digits = word.strip_prefix('v').unwrap_or("");
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::usual_name;

    #[test]
    fn a_package_is_called_by_its_path_without_version_and_marks() {
        let paths = [
            ("net/http", "http"),
            ("example.com/shop/v2", "shop"),
            ("gopkg.in/yaml.v3", "yaml"),
            ("github.com/someone/go-colour", "colour"),
            ("github.com/someone/colour-go", "colour"),
            ("v8", "v8"),
        ];
        for (path, name) in paths {
            assert_eq!(usual_name(path), name, "{path}");
        }
    }
}
