//! The effectiveness ledger: all evidence about every line and every lesson, by its hash.
//!
//! It is the only thing the broadcast file is ever changed from. It is a Markdown file that
//! people read and commit, so it must stand on its own: fragments stay on the machine that
//! found them, a row of the ledger travels. A row names its fragment, which names its event,
//! so the same evidence is one row however often and on however many machines it is folded
//! in: folding is a union, in any order.
//!
//! The one decision: each line of the file stands for itself. A row says whose it is by its
//! fragment's name, and a link of two hashes and a line's words by themselves; headings are for
//! people. So whatever a merge of two ledgers puts where, and twice, is the ledger of both (test:
//! `any_union_of_two_ledgers_is_the_ledger_of_both`).
//!
//! A row ends with a sum over what it says. A ledger that holds anything else than what we write
//! is not read at all: whatever was folded into half of it would lose the other half. The sum
//! finds a hand that slipped, not one that forges: people who commit to the repository can
//! write evidence into it, as they can write the lines.

mod book;
mod row;
#[cfg(test)]
mod tests;
mod text;

pub use book::{BadLedger, EvidenceTally, Ledger, LineLink, LineRecord};
pub use row::{LedgerRow, RowProof};

/// What the file is called in reports.
pub const LEDGER: &str = "memory/effectiveness/CLAUDE-md-effectiveness.md";
