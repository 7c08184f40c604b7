//! Words of code and prose: how text is cut into terms, which units hold them, and what a
//! match is worth.
//!
//! A *document* is a file or a commit message; its *units* are the functions, types and
//! sections in it, and what is left between them. Every word belongs to exactly one unit, so
//! what a document holds is the sum of what its units hold, and one list of postings answers
//! for both.
//!
//! Documents come in *segments*: the first index of a tree is one, and every later change
//! another one beside it. A document that was written again is dead in its old segment and
//! alive in the new one. Nothing is ever rewritten for a change, and because figures such as
//! how many documents hold a term are counted over the living alone, the answers do not
//! depend on how many segments there are.
//!
//! Pure: bytes go in and out, and the store's `code_index` keeps them. SQLite's own full-text
//! index (<https://www.sqlite.org/fts5.html>) was the other choice. It ranks a whole row at a
//! time, cannot say which function of a file matched or tell a name from a comment, and takes
//! tens of milliseconds for a sentence of common words over 100,000 rows.

mod bytes;
mod collection;
mod score;
mod segment;
mod terms;

pub use collection::{Collection, Document, Posting, TermMatches, Unit};
pub use score::{Bm25, inverse_frequency};
pub use segment::{DocumentTerms, Merge, Segment, SegmentBuilder, TermField};
pub use terms::{
    compound_term, for_each_term, for_each_word, is_common, name_term, plain_name, terms,
};
