//! The numbers that stand for kinds of edges in the file. A number is never given to another
//! kind.

use spore_model::EdgeKind;

const NUMBERS: [(EdgeKind, i64); 9] = [
    (EdgeKind::Calls, 1),
    (EdgeKind::UsesType, 2),
    (EdgeKind::Implements, 3),
    (EdgeKind::Extends, 4),
    (EdgeKind::Tests, 5),
    (EdgeKind::Documents, 6),
    (EdgeKind::References, 7),
    (EdgeKind::Imports, 8),
    (EdgeKind::ChangedWith, 9),
];

/// Kinds with numbers up to this one follow from what a name means.
pub(super) const LAST_RESOLVED: i64 = 7;
pub(super) const IMPORTS: i64 = 8;
pub(super) const CHANGED_WITH: i64 = 9;

/// Returns the number of a kind that is kept; `None` for those that are made up or not ours.
pub(super) fn number(kind: EdgeKind) -> Option<i64> {
    NUMBERS.iter().find(|(known, _)| *known == kind).map(|(_, number)| *number)
}

pub(super) fn kind(number: i64) -> Option<EdgeKind> {
    NUMBERS.iter().find(|(_, known)| *known == number).map(|(kind, _)| *kind)
}
