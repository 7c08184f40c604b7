//! What a person's words are.

/// What a person's words are, the strongest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum SpokenKind {
    /// What was done is not what was wanted.
    Correction,
    /// Something holds from now on.
    Instruction,
    Preference,
}
