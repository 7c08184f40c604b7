//! Why two nodes are joined, in one word, and what each reason is worth.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::DEFAULT_CONFIDENCE;

macro_rules! edge_kinds {
    ($($(#[$doc:meta])* $name:ident $word:literal $priority:literal,)*) => {
        /// Why two nodes are joined. A closed set: costs and queries depend on it.
        #[derive(
            Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize,
        )]
        pub enum EdgeKind {
            $($(#[$doc])* #[serde(rename = $word)] $name,)*
        }

        impl EdgeKind {
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// Returns how much an edge of this kind deserves a reader's attention, 0 to 1.
            pub const fn priority(self) -> f64 {
                match self {
                    $(Self::$name => $priority,)*
                }
            }
        }
    };
}

edge_kinds! {
    Contradicts "contradicts" 1.0,
    Flags "flags" 1.0,
    DerivesFrom "derives_from" 0.7,
    Summarizes "summarizes" 0.7,
    Resolves "resolves" 0.7,
    Supersedes "supersedes" 0.7,
    Supports "supports" 0.5,
    Questions "questions" 0.5,
    Prerequisite "prerequisite" 0.5,
    EvolvedFrom "evolved_from" 0.5,
    Calls "calls" 0.3,
    Related "related" 0.3,
    References "references" 0.3,
    DefinedIn "defined_in" 0.3,
    BelongsTo "belongs_to" 0.3,
    Contains "contains" 0.3,
    Sibling "sibling" 0.3,
    Imports "imports" 0.3,
    UsesType "uses_type" 0.3,
    Implements "implements" 0.3,
    Extends "extends" 0.3,
    Tests "tests" 0.3,
    Documents "documents" 0.3,
    /// The two were changed by the same commits.
    ChangedWith "changed_with" 0.3,
    /// A record of work on the target.
    Tracks "tracks" 0.3,
    RenamedTo "renamed_to" 0.3,
    About "about" 0.3,
    Clicked "clicked" 0.3,
    Backtracked "backtracked" 0.3,
    SessionItem "session_item" 0.3,
}

/// No edge is free: a path of certain edges still has a length.
const LEAST_COST: f64 = 0.001;
/// What an edge costs that only says where something stands. Without it everything in a file
/// would be next to everything else in it.
const STRUCTURAL_COST: f64 = 0.4;

impl EdgeKind {
    /// Edges that record what a person did in a browser. A search for context leaves them out.
    pub const BROWSING: [Self; 3] = [Self::Clicked, Self::Backtracked, Self::SessionItem];

    /// Returns whether an edge of this kind only says where something stands.
    pub const fn is_structural(self) -> bool {
        matches!(self, Self::DefinedIn | Self::BelongsTo | Self::Sibling | Self::Contains)
    }

    /// Returns how far apart an edge of this kind and confidence holds its ends: certain and
    /// important things are near.
    pub fn cost(self, confidence: Option<f64>) -> f64 {
        let doubt = 1.0 - certainty(confidence);
        let cost = (doubt * (1.0 - 0.5 * self.priority())).max(LEAST_COST);
        if self.is_structural() { cost.max(STRUCTURAL_COST) } else { cost }
    }
}

/// Returns a confidence from 0 to 1, whatever number the edge was written with.
pub(super) fn certainty(confidence: Option<f64>) -> f64 {
    let certainty = confidence.unwrap_or(DEFAULT_CONFIDENCE);
    if certainty.is_nan() { DEFAULT_CONFIDENCE } else { certainty.clamp(0.0, 1.0) }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A kind that is not on the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of edge")]
pub struct UnknownEdgeKind(String);

impl FromStr for EdgeKind {
    type Err = UnknownEdgeKind;

    fn from_str(text: &str) -> Result<Self, UnknownEdgeKind> {
        Self::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownEdgeKind(text.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_word_in_text_and_in_json() {
        for &kind in EdgeKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert!("likes".parse::<EdgeKind>().is_err());
    }

    #[track_caller]
    fn check(kind: EdgeKind, confidence: Option<f64>, cost: f64) {
        let found = kind.cost(confidence);
        assert!((found - cost).abs() < 1e-12, "{kind} {confidence:?} costs {found}");
    }

    #[test]
    fn certain_and_important_edges_are_short() {
        check(EdgeKind::Contradicts, Some(0.9), 0.05);
        check(EdgeKind::DerivesFrom, Some(0.9), 0.065);
        check(EdgeKind::Supports, Some(0.9), 0.075);
        check(EdgeKind::Calls, Some(0.9), 0.085);
        check(EdgeKind::Calls, None, 0.425);
        check(EdgeKind::Calls, Some(0.0), 0.85);
    }

    #[test]
    fn where_something_stands_never_brings_it_nearer_than_the_floor() {
        for kind in
            [EdgeKind::DefinedIn, EdgeKind::BelongsTo, EdgeKind::Sibling, EdgeKind::Contains]
        {
            check(kind, Some(0.9), 0.4);
            check(kind, Some(0.1), 0.765);
        }
    }

    #[test]
    fn no_confidence_makes_an_edge_free_or_worse_than_doubt() {
        check(EdgeKind::Flags, Some(1.0), 0.001);
        check(EdgeKind::Flags, Some(7.0), 0.001);
        check(EdgeKind::Flags, Some(-1.0), 0.5);
        check(EdgeKind::Flags, Some(f64::NAN), 0.25);
    }
}
