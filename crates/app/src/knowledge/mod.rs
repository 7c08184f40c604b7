//! What is known beside the code: lessons, memory lines, and the brief that carries them.

pub(crate) mod brief;
pub(crate) mod context;
pub(crate) mod lessons;
