//! What one file says by itself, before its names are resolved against other files.

use std::fmt;
use std::ops::Range;

use crate::Language;

/// Everything that was read out of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileFacts {
    pub language: Language,
    /// What the file says about itself at its top: `//!`, a module's docstring.
    pub doc: String,
    /// By position; what holds another comes before it.
    pub items: Vec<Item>,
    pub references: Vec<Reference>,
    pub imports: Vec<Import>,
    /// What the file says it belongs to, where the language has it: `package` in Go, Java,
    /// Kotlin and Scala, `namespace` in C# and PHP.
    pub package: Option<String>,
    /// How many places the grammar could not read. Everything around them is still here.
    pub syntax_errors: u32,
    /// Whether the file says of itself that a program wrote it.
    pub generated: bool,
}

/// Something that has a name and a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    pub kind: ItemKind,
    pub name: String,
    /// The name behind the names of what holds it, joined by `::` in every language:
    /// `Searcher::search_path`. A method of a Rust `impl` is qualified by the type.
    pub qualified: String,
    /// Which of the file's items holds it.
    pub parent: Option<u32>,
    /// Of the definition with its attributes and decorators, without its documentation.
    pub bytes: Range<u32>,
    /// Counted from 1, both included.
    pub lines: ItemLines,
    /// On one line, without the body.
    pub signature: String,
    /// The documentation's own words, without comment marks.
    pub doc: String,
    pub visibility: Visibility,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ItemLines {
    pub first: u32,
    pub last: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ItemKind {
    Module,
    Function,
    Method,
    Struct,
    Class,
    Enum,
    Trait,
    Interface,
    Impl,
    Type,
    Const,
    Macro,
    Test,
    /// Of a document: a heading and the text up to the next one of its rank.
    Section,
}

impl ItemKind {
    pub const ALL: [Self; 14] = [
        Self::Module,
        Self::Function,
        Self::Method,
        Self::Struct,
        Self::Class,
        Self::Enum,
        Self::Trait,
        Self::Interface,
        Self::Impl,
        Self::Type,
        Self::Const,
        Self::Macro,
        Self::Test,
        Self::Section,
    ];

    /// Returns whether what is in it are the members of a type.
    pub const fn holds_members(self) -> bool {
        matches!(
            self,
            Self::Struct | Self::Class | Self::Enum | Self::Trait | Self::Interface | Self::Impl
        )
    }

    /// Returns the word that is the kind of the item's node.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Function => "function",
            Self::Method => "method",
            Self::Struct => "struct",
            Self::Class => "class",
            Self::Enum => "enum",
            Self::Trait => "trait",
            Self::Interface => "interface",
            Self::Impl => "impl",
            Self::Type => "type",
            Self::Const => "const",
            Self::Macro => "macro",
            Self::Test => "test",
            Self::Section => "section",
        }
    }
}

impl fmt::Display for ItemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Visibility {
    Public,
    /// For some: `pub(crate)`, `protected`, `internal`, a leading underscore.
    Restricted,
    Private,
}

/// A name that is used for something defined elsewhere, as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reference {
    pub kind: ReferenceKind,
    /// The last word: `search` of `self.searcher.search(…)`.
    pub name: String,
    pub access: Access,
    /// The innermost item that the reference is in; none for the file's own level.
    pub scope: Option<u32>,
    pub line: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ReferenceKind {
    Call,
    /// A macro that is called, which is a call as well, but only of a macro: `write!(…)` never
    /// means a function called `write`.
    Macro,
    /// A type that is named.
    Type,
    /// A trait or interface that the scope implements.
    Implements,
    /// A class or trait that the scope builds on.
    Extends,
    /// A name in a document's or comment's code marks.
    Mention,
}

/// How a name is reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// `search(…)`
    Bare,
    /// `Searcher::search(…)`, `searcher.Search(…)` of a package: the words before the name, as
    /// far as they are plain names, joined by `::`. A name that was imported under an alias is
    /// recorded as its real name behind the alias.
    Path(String),
    /// `self.search(…)`, `this.search(…)`: of the type that the scope belongs to.
    Own,
    /// `x.search(…)`: of a value. The type where the text shows it (a parameter's annotation,
    /// a constructor right before), else nothing.
    Value(Option<String>),
}

/// Names that the file brings in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The words of the path to what the name is in, `["crate", "search"]` or
    /// `["lib", "search"]`. Where the import is relative or from the project's own root
    /// (`anchored`) these are the segments of a path from the root of the tree, without the
    /// file's ending.
    pub segments: Vec<String>,
    pub anchored: bool,
    /// What is taken of it; none when it is taken whole (`import os`) or all of it
    /// (`glob`).
    pub name: Option<String>,
    /// What it is called here, if it is called otherwise.
    pub alias: Option<String>,
    /// Whether everything in it is brought in.
    pub glob: bool,
    pub line: u32,
}

impl Import {
    /// Returns the word by which the file calls what it brings in; none for a glob.
    pub fn called(&self) -> Option<&str> {
        if self.glob {
            return None;
        }
        self.alias.as_deref().or(self.name.as_deref()).or(self.segments.last().map(String::as_str))
    }
}
