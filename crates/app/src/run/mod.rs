//! A run of a task, from its text to a verdict and what becomes of the work.
//!
//! From outside, a run is started (`start`, `retry`), gone on with (`resume`), planned
//! (`dry_run`), taken back (`landing`) and tidied up (`retention`); its settings are read. `context`
//! is what all steps share, `steps` performs them, one module each, and `world` says which; no step
//! uses another. It always holds that a step's intent is on record before it is performed, and
//! that all that follows from its result is recorded together with it.

mod briefs;
mod budget;
mod check_runs;
mod context;
pub(crate) mod dry_run;
pub(crate) mod landing;
mod left;
mod record;
pub(crate) mod request;
pub(crate) mod resume;
pub(crate) mod retention;
pub(crate) mod retry;
mod rows;
mod sessions;
pub(crate) mod settings;
pub(crate) mod start;
mod steps;
mod trees;
mod work;
mod world;
