//! What the names of a function's own variables mean while its body is read.
//!
//! A walk goes forward through the text, so a scope is the byte where it ends, and a variable
//! is known from the byte after its declaration to the end of its scope. Names and types are
//! kept as places in the text: nothing is copied for a variable that is never called.

use tree_sitter::Node;

/// How many of the latest variables are looked at: a minified bundle has tens of thousands in
/// one function.
const MOST_LOOKED_AT: usize = 256;

/// A piece of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TextSpan {
    start: usize,
    end: usize,
}

impl TextSpan {
    pub(crate) fn of(node: Node<'_>) -> Self {
        Self { start: node.start_byte(), end: node.end_byte() }
    }

    pub(crate) fn text(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }

    /// Returns the text with its words joined as all paths are: `store.Rows` as `store::Rows`.
    pub(crate) fn path(self, text: &str) -> String {
        let words: Vec<&str> = self.text(text).split('.').map(str::trim).collect();
        words.join("::")
    }
}

/// What is known of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LocalValue {
    /// That it is one.
    Value,
    /// Its type.
    Of(TextSpan),
    /// That it is what the method belongs to, and of which type.
    Own(TextSpan),
    /// That it is a function with an item of its own.
    Function,
}

impl LocalValue {
    /// Returns a variable of a type, if the text shows one.
    pub(crate) fn maybe_of(type_name: Option<TextSpan>) -> Self {
        type_name.map_or(Self::Value, Self::Of)
    }

    pub(crate) fn type_name(self) -> Option<TextSpan> {
        match self {
            Self::Of(span) | Self::Own(span) => Some(span),
            Self::Value | Self::Function => None,
        }
    }
}

struct LocalScope {
    ends: usize,
    /// Whether it is a function or in one.
    in_function: bool,
}

struct Binding {
    name: TextSpan,
    local: LocalValue,
    begins: usize,
    ends: usize,
}

/// The variables of everything that is open.
#[derive(Default)]
pub(crate) struct Locals {
    scopes: Vec<LocalScope>,
    bindings: Vec<Binding>,
}

impl Locals {
    /// Opens a scope that ends with the node.
    pub(crate) fn enter(&mut self, node: Node<'_>) {
        let in_function = self.in_function(node.start_byte());
        self.scopes.push(LocalScope { ends: node.end_byte(), in_function });
    }

    /// Opens the scope of a function.
    pub(crate) fn enter_function(&mut self, node: Node<'_>) {
        self.leave_until(node.start_byte());
        self.scopes.push(LocalScope { ends: node.end_byte(), in_function: true });
    }

    /// Returns whether a byte is in a function.
    pub(crate) fn in_function(&mut self, at: usize) -> bool {
        self.leave_until(at);
        self.scopes.last().is_some_and(|scope| scope.in_function)
    }

    /// Makes a name known in the innermost scope from a byte on.
    pub(crate) fn bind(&mut self, name: TextSpan, local: LocalValue, begins: usize) {
        self.leave_until(name.start);
        self.push(name, local, begins);
    }

    /// Makes a name that was written earlier known in the innermost scope from a byte on.
    pub(crate) fn bind_here(&mut self, name: TextSpan, local: LocalValue, begins: usize) {
        self.leave_until(begins);
        self.push(name, local, begins);
    }

    fn push(&mut self, name: TextSpan, local: LocalValue, begins: usize) {
        let ends = self.scopes.last().map_or(usize::MAX, |scope| scope.ends);
        self.bindings.push(Binding { name, local, begins, ends });
    }

    /// Returns what a name means at a byte, if it is a variable.
    pub(crate) fn find(&mut self, text: &str, name: &str, at: usize) -> Option<LocalValue> {
        while self.bindings.last().is_some_and(|binding| binding.ends <= at) {
            self.bindings.pop();
        }
        let latest = self.bindings.iter().rev().take(MOST_LOOKED_AT);
        let mut live = latest.filter(|binding| binding.begins <= at && at < binding.ends);
        live.find(|binding| binding.name.text(text) == name).map(|binding| binding.local)
    }

    fn leave_until(&mut self, at: usize) {
        while self.scopes.last().is_some_and(|scope| scope.ends <= at) {
            self.scopes.pop();
        }
    }
}

/// The places of names that a rule has read already, so that the walk does not read them
/// again when it reaches them. They are added in the order of the text.
#[derive(Default)]
pub(crate) struct TakenNames(std::collections::VecDeque<usize>);

impl TakenNames {
    pub(crate) fn add(&mut self, node: Node<'_>) {
        self.0.push_back(node.start_byte());
    }

    pub(crate) fn has(&mut self, node: Node<'_>) -> bool {
        let at = node.start_byte();
        while self.0.front().is_some_and(|taken| *taken < at) {
            self.0.pop_front();
        }
        self.0.contains(&at)
    }
}
