//! What is known beside the code: lessons, memory lines, and the brief that carries them.

pub(crate) mod brief;
pub(crate) mod broadcast;
pub(crate) mod carried;
pub(crate) mod context;
pub(crate) mod lessons;
pub(crate) mod line_counts;
pub(crate) mod named_places;
pub(crate) mod run_keys;
