//! Everything Spore does with git, through the git program.
//!
//! A [`Repository`] is the user's. A [`Checkout`] is a work tree that an agent or a gate may
//! do anything to. What a checkout holds becomes a tree by [`Checkout::snapshot`]: until it is
//! verified it lives in a bare repository of Spore's own ([`Repository::keeping_work_in`]), and
//! the results in the user's, as objects and as refs under `refs/spore/` and
//! `refs/heads/spore/`. Nothing else of the user's is ever written: no file, no index, no
//! stash, no config, no other ref. The one exception is what the user asks for: then
//! [`Repository::move_branch`] moves the branch they are on, and [`Repository::turn`] lets
//! their files follow, both only if nothing of theirs is in the way.
//!
//! The one decision: Spore never runs git *inside* a repository that an agent can write,
//! because `.git/config` can name programs to run. A checkout has a `.git` of its own, made
//! for the agent; Spore never reads it back. It looks at the same work tree through the
//! user's git directory and an index file beside the checkout, so only configuration the
//! user wrote counts, and a snapshot costs one `lstat` a file. Attributes are those of the base
//! ([`Repository::with_attributes_of`]), for they choose conversions and filters.
//!
//! Two consequences. Filter programs of the user's configuration do not run on a checkout
//! (they may name a script of the work tree), except those of Git LFS, on the files that the base
//! names: others are checked out as they are stored. And a repository inside the checkout is just a directory
//! with files: its `.git` is left out, its files are kept, no submodule comes from it.
//!
//! Not done here: fetching, deciding what is worth keeping, and keeping two runs
//! out of one checkout at the same time.

mod additions;
mod answers;
mod bulk;
mod checkout;
mod clone;
mod command;
mod diff;
mod error;
mod exclusions;
mod head;
mod history;
mod landing;
mod listing;
mod mail;
mod merge;
mod mixed_tree;
mod partial;
mod patch;
mod ref_files;
mod refs;
mod repository;
mod rights;
mod settings;
mod snapshot;
mod spares;
mod survey;
mod unverified;
mod work_files;

pub use additions::Additions;
pub use bulk::{TouchingCommit, TreeFile};
pub use checkout::Checkout;
pub use command::{OLDEST_GIT, SOUND_GIT};
pub use diff::{ChangedFile, Diff, FileChange, Treeish};
pub use error::GitError;
pub use exclusions::Exclusions;
pub use head::{BranchTip, HeadState};
pub use history::{Commit, LineRange, PatchDirection};
pub use landing::Obstacle;
pub use merge::Merged;
pub use mixed_tree::TreeMixture;
pub use patch::{FilePatch, Hunk, Patch};
pub use ref_files::head_at_a_glance;
pub use repository::Repository;
pub use snapshot::ChangeCaps;
