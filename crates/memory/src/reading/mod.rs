//! What events say, before any rule judges it: the words of people, what a line asks for and whether
//! a trace shows it, the turns of a session, and what memory itself had told.

mod deeds;
pub(crate) mod glosses;
pub(crate) mod hashed;
pub mod matcher;
pub(crate) mod rare_words;
pub mod recalled;
pub(crate) mod scripts;
pub(crate) mod speech;
pub mod turns;
