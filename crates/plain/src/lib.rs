//! Foreign text, made safe to show and to quote.
//!
//! File names, commit messages, what agents and gates print, events, tasks, lines of the memory:
//! Spore wrote none of them and shows all of them. Printed as they are they could clear a
//! screen, set a title, turn the order of letters round, pose as further lines of a table or
//! open a section of a prompt. There is one rule for all of it, and one function a purpose.
//!
//! # What a reader never gets
//!
//! - **Escape sequences**, whole: colours, titles, links and every other order to a terminal,
//!   in the 7-bit and in the 8-bit form ([`without_escapes`]).
//! - **Control characters**, but for the white space among them.
//! - **Characters that nothing is drawn for**: those that set the direction of text, zero-width
//!   ones, tags, variation selectors and the rest of what Unicode calls default ignorable, and
//!   the code points that mean nothing by agreement (private use, noncharacters).
//!
//! In *prose* they are left out: what a person needs are the words ([`line()`], [`line_within`],
//! [`headline`], [`ends_within`], [`block`]). In a *name* they are spelled out as `\u{202e}`,
//! because two names that differ must not look alike ([`name`], [`path`]). Leaving them out
//! costs joined emoji their joiner and some scripts a ligature; the JSON of every command holds
//! the text as it was, with the same characters in JSON's own spelling ([`json()`]).
//!
//! # What is told about a cut
//!
//! A bound holds with its mark: no result is longer than what was asked for. A line that was
//! cut has `…` where something is missing; longer texts say how many bytes that was
//! ([`cut()`]). [`head`] alone cuts without a mark, for limits on what Spore itself reads.
//!
//! # What a prompt or a document gets
//!
//! Quoted text is data and stays as it is, to the byte where it stands in a fence. It only
//! cannot end the quote ([`fenced`], [`quoted`], [`code`], [`inline`]).
//!
//! Pure, and without tables of Unicode: every character counts as one column, so a line of
//! wide letters is wider than its number says, and never unsafe.

mod cut;
mod escapes;
mod json;
mod letters;
mod markdown;
mod names;
pub mod page;
mod prose;

pub use cut::{cut, cut_with, head};
pub use escapes::without_escapes;
pub use json::json;
pub use markdown::{code, fenced, inline, quoted};
pub use names::{name, path, word};
pub use prose::{block, ends_within, headline, line, line_within};
