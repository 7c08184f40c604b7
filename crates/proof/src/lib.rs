//! What green checks prove about a change, without trust in the agent or its verifier.
//!
//! A check is evidence only as far as the change had no hand in it. So a change is taken apart:
//! [`sort`] says which of its files are the product, which are tests, and which are read by the
//! checks themselves. Two more trees are then checked beside the change as it is. On the *kept* one
//! everything but the product is the base's: tests that passed before pass with the new product. On
//! the *new* one only tests are the change's: those that it adds fail without the product's change,
//! or prove nothing. Files that hold both are exchanged item by item ([`exchange()`]). Then the parts of
//! the product's change are taken back one at a time ([`Hunks`]): one that no check misses is unseen.
//!
//! Because the product runs in the process that judges it, tests that must fail are put among the
//! base's on the kept tree ([`place`]): a report in which they do not is not about these tests.
//!
//! [`ChangeProof::weigh`] sums up how far that goes. *Refused* and *not proved* differ: a red check
//! and tampering refuse, and are decided elsewhere; doubt only lowers the level, and is named.
//!
//! Pure: files are handed in by name, with a way to read them.

mod asked;
mod canary;
mod documents;
mod examples;
mod exchange;
mod flaky;
mod held_out;
mod hunks;
mod manifest;
mod new_tests;
mod probes;
mod reached;
mod signs;
mod sorting;
mod weighing;

pub use asked::{TestFileVersions, altered_tests, asked_alone, new_names, written_names};
pub use canary::{
    CanaryAnswerKind, CanaryEnding, CanaryTest, GateCanary, PlacedCanaries, may_hold_tests, place,
    shuffled, suitable,
};
pub use exchange::{Exchanged, exchange};
pub use flaky::{doubtful_gates, flaky_tests};
pub use held_out::{
    AssertionOf, HeldOutReport, HeldOutRuns, RejectingTest, held_out_files, judge_held_out,
};
pub use hunks::{ChangeHunk, CommentsOf, FileVersions, HunkPlace, Hunks, TakenBack};
pub use new_tests::{NewTests, compare, is_same};
pub use probes::{HunkReport, Noticed, ProbedHunk, notice};
pub use reached::{ReachRecord, ReachedLines};
pub use signs::ProductSign;
pub use sorting::{BaseChecks, HeldFile, HeldReason, SortedChange, sort};
pub use weighing::{ChangeProof, KeptTests, Weighing};
