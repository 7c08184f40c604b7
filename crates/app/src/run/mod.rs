//! A run of a task, from its text to a verdict and what becomes of the work.

pub(crate) mod apply;
pub(crate) mod briefs;
pub(crate) mod budget;
pub(crate) mod context;
pub(crate) mod dry_run;
pub(crate) mod prompts;
pub(crate) mod prune;
pub(crate) mod record;
pub(crate) mod request;
pub(crate) mod resume;
pub(crate) mod retry;
pub(crate) mod rollback;
pub(crate) mod rows;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod start;
pub(crate) mod steps;
pub(crate) mod trees;
pub(crate) mod work;
pub(crate) mod world;
