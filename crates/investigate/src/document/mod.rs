//! An investigation as one document that stands by itself.
//!
//! Pure: what was seen and said in, text out. A page needs nothing from elsewhere and runs no
//! script: colours are chosen and summaries shown by the style sheet alone, so nothing that a file
//! is called or a model says can act in it. The same input gives the same bytes.

mod html;
mod markdown;
mod treemap;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::entry::EntryKind;
use crate::passes::PassReport;
use crate::report::ScanReport;
use crate::tree::Tree;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentFormat {
    Html,
    Markdown,
}

/// Whether what is said of a place is about what is there now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryStanding {
    Holds,
    /// It holds, and its loop ended early.
    Partial,
    Stale,
}

impl EntryStanding {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "up to date",
            Self::Partial => "in part",
            Self::Stale => "stale",
        }
    }
}

/// What is said of one place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SaidOfPlace {
    pub summary: String,
    pub confidence: Option<f64>,
    pub confidence_reason: Option<String>,
    pub standing: EntryStanding,
}

/// What a person should know, by what a model flagged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocumentFlag<'a> {
    pub severity: &'a str,
    pub path: &'a str,
    pub finding: &'a str,
}

/// Everything that a document tells.
pub struct InvestigationAccount<'a> {
    /// What was investigated, as people call it.
    pub target: &'a str,
    pub tree: &'a Tree,
    pub scan: &'a ScanReport,
    /// What a model said of the whole; nothing where none was asked.
    pub said: Option<&'a PassReport>,
    /// Worst first.
    pub flags: Vec<DocumentFlag<'a>>,
    /// By kind and path from the target.
    pub places: &'a BTreeMap<(EntryKind, String), SaidOfPlace>,
    /// The result of the investigation, line by line.
    pub facts: Vec<(&'static str, String)>,
    pub notes: &'a [String],
}

impl InvestigationAccount<'_> {
    /// Writes the document.
    pub fn document(&self, format: DocumentFormat) -> String {
        match format {
            DocumentFormat::Html => html::page(self),
            DocumentFormat::Markdown => markdown::text(self),
        }
    }

    fn said_of(&self, kind: EntryKind, path: &str) -> Option<&SaidOfPlace> {
        self.places.get(&(kind, path.to_owned()))
    }
}
