//! Foreign text as data: file contents, lessons and tasks stand in a prompt so that nothing
//! in them can pass for a heading, a fence or an instruction of ours.

pub use spore_plain::{fenced, inline, quoted};
