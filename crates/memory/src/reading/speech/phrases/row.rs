//! A phrase, and how many of one kind are written down.

use crate::reading::speech::kind::SpokenKind;

/// What a phrase says of the sentence that has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Kind(SpokenKind),
    /// Something is not as it should be; with a line that it is about it is a correction.
    Complaint,
    /// Two of these are a complaint.
    Hint,
}

/// Where a phrase has to stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// At the beginning of a sentence, or behind a word that only opens one.
    First,
    /// At the beginning of a sentence or of a part of it.
    Clause,
    /// Anywhere in it.
    Within,
}

pub(super) struct Phrase {
    pub(super) says: Says,
    pub(super) place: Place,
    /// All of them, in any order. The first is the one that has a place.
    pub(super) parts: &'static [&'static str],
}

pub(super) const fn phrase(says: Says, place: Place, parts: &'static [&'static str]) -> Phrase {
    Phrase { says, place, parts }
}

/// Rows of one kind and place.
macro_rules! rows {
    (Complaint, $place:ident: $([$($part:literal),+]),+ $(,)?) => {
        &[$(phrase(Says::Complaint, Place::$place, &[$($part),+])),+]
    };
    (Hint, $place:ident: $([$($part:literal),+]),+ $(,)?) => {
        &[$(phrase(Says::Hint, Place::$place, &[$($part),+])),+]
    };
    ($speech:ident, $place:ident: $([$($part:literal),+]),+ $(,)?) => {
        &[$(phrase(Says::Kind(SpokenKind::$speech), Place::$place, &[$($part),+])),+]
    };
}
