//! Source text into facts: what a file defines, what it refers to, what it imports.
//!
//! No file, clock or store is touched here: a path and a text go in, [`FileFacts`] come out,
//! and the same text gives the same facts. Each language has an adapter that walks the tree
//! its grammar gives; what they have in common is in one place. A text that the grammar
//! cannot read in parts yields what could be read, and how many places could not.

mod adapter;
mod document;
mod facts;
mod language;
mod parse;
mod places;
mod reader;
mod remarks;
mod resolution;

pub use facts::{
    Access, FileFacts, Import, Item, ItemKind, ItemLines, Reference, ReferenceKind, Visibility,
};
pub use language::{Language, Tier};
pub use remarks::comments;
pub use resolution::{
    CandidateItem, Meaning, Namesakes, ReferenceSite, SURE, file_name, imported_file_names,
    resolve, resolve_import, subject_of_test, tested_name,
};

/// Reads one file. The path is from the root of the tree, with forward slashes.
pub fn read(path: &str, text: &str, language: Language) -> FileFacts {
    adapter::read(path, text, language)
}
