//! What a session looks up by name: the files it reads, lists, runs, and those it does not find.
//!
//! A check says by this what it is made of, better than any list of conventions. Between fork and
//! exec the program takes on a filter that tells of every call with a path in it
//! (`SECCOMP_RET_USER_NOTIF`,
//! <https://docs.kernel.org/userspace-api/seccomp_filter.html#userspace-notification>), and a
//! thread of Spore's looks at the path and lets the call go on. Nothing is decided here: a program
//! that exchanges a path between our look and its use deceives the record of its own base, and
//! gets past nothing.
//!
//! The record never holds a program up for good: whatever goes wrong is answered with "go on" and
//! makes the record incomplete, which it says. Where the kernel has no such filter (before Linux
//! 5.19), or one of another program is around us, nothing is recorded and that is said too.
//!
//! Not seen are calls on open files, attributes (`getxattr`), watches (`inotify`), links that are
//! only read (`readlink`) and never passed through, what a path outside of the root of interest
//! leads to by a link, and a path handed over together with `AT_EMPTY_PATH`.

mod calls;
mod handover;
mod listener;
mod places;
mod serving;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(super) use handover::RecordedStart;
pub(super) use serving::Recorder;

/// Asks for a record.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordingPlan {
    /// Only what lies below is kept. As the session sees it.
    pub root: PathBuf,
    /// How many paths are kept; with more the record is incomplete.
    pub max_paths: usize,
}

/// How a record came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordingMethod {
    /// Not at all.
    #[default]
    Nothing,
    /// The kernel told of every look-up.
    Watched,
    /// What the command names was followed, without running it.
    Followed,
}

/// What was looked up below the root of interest. Every path is relative to it; the root itself
/// is the empty path. A link is named as such, and so is what it leads to; but a program may have
/// read a link without our hearing of it, so that a link that leads to one of these paths counts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Recording {
    pub method: RecordingMethod,
    /// Opened for reading, and links that were followed.
    pub read: BTreeSet<String>,
    /// Asked about and found, and neither read nor run.
    pub seen: BTreeSet<String>,
    /// Directories whose names were read: a new name there is noticed.
    pub listed: BTreeSet<String>,
    /// Looked for and not found, at one time at least. Directories on the way may be missing too,
    /// so a link in the place of one of them can bring such a path about.
    pub missed: BTreeSet<String>,
    /// Started as programs, and the interpreters of scripts.
    pub run: BTreeSet<String>,
    /// Whether this is all.
    pub complete: bool,
    /// Why it is not, a clause each.
    pub why: Vec<String>,
}

impl Recording {
    /// A record that could not be made.
    pub fn nothing(why: impl Into<String>) -> Self {
        Self { why: vec![why.into()], ..Self::default() }
    }
}
