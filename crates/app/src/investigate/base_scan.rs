//! `spore scan`: what a directory holds, without a model and without writing anything.
//!
//! Works in any directory, with or without git and `.spore/`. Only the settings come from the
//! project around the caller, if there is one.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spore_config::Config;
use spore_investigate::{
    ReportInput, ScanError, ScanLimits, ScanProgress, ScanReport, ScanScope, ScanWatch, Tree,
};
use spore_model::Fault;

use crate::indexing::{IndexPhase, Reporter};
use crate::{Error, Interrupt, Result, Surroundings, Workspace};

/// What to look at, as typed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ScanAsked {
    pub dir: PathBuf,
    /// How many levels of the tree to show.
    pub depth: Option<u32>,
    /// Hidden and ignored files too.
    pub all: bool,
    /// Names and patterns to leave out.
    pub exclude: Vec<String>,
    /// Name every file in the answer.
    pub every_file: bool,
}

impl ScanAsked {
    pub(crate) fn scope(&self) -> ScanScope {
        ScanScope::new(self.all, self.exclude.clone())
    }

    pub(crate) fn limits(&self, config: &Config) -> ScanLimits {
        let scan = &config.scan;
        ScanLimits {
            depth: self.depth.unwrap_or(scan.depth),
            width: scan.width,
            whole_bytes: scan.whole_file_bytes,
            large_bytes: scan.large_bytes,
            large_lines: scan.large_lines,
            recent: scan.recent,
            top_directories: scan.top_directories,
            listed: scan.listed,
        }
    }
}

/// Looks at a directory.
pub fn scan(
    around: &Surroundings,
    asked: &ScanAsked,
    reporter: &dyn Reporter,
) -> Result<ScanReport> {
    let config = Workspace::find(around)?.config(around, &[])?;
    let target = target(around, &asked.dir)?;
    let tree = read(around, &config, &target, asked, reporter)?;
    Ok(told(around, &config, &target, asked, &tree))
}

/// Returns the directory that was named, by its real path.
pub(crate) fn target(around: &Surroundings, dir: &Path) -> Result<PathBuf> {
    let named = around.cwd.join(dir);
    let real = named.canonicalize().map_err(|source| {
        let what = format!("there is no directory {}", spore_plain::path(dir));
        let hint = "name a directory as seen from here, or none for this one";
        Error::new(Fault::BadInput, what).hint(hint).because(source)
    })?;
    if real.is_dir() {
        return Ok(real);
    }
    let message = format!("{} is not a directory", spore_plain::path(dir));
    Err(Error::new(Fault::BadInput, message).hint("name the directory that it is in"))
}

pub(crate) fn read(
    around: &Surroundings,
    config: &Config,
    target: &Path,
    asked: &ScanAsked,
    reporter: &dyn Reporter,
) -> Result<Tree> {
    let watch = Watching { reporter, interrupt: &around.interrupt };
    Ok(Tree::read(target, &asked.scope(), &asked.limits(config), &watch)?)
}

pub(crate) fn told(
    around: &Surroundings,
    config: &Config,
    target: &Path,
    asked: &ScanAsked,
    tree: &Tree,
) -> ScanReport {
    let told = ReportInput {
        target,
        scope: &asked.scope(),
        limits: &asked.limits(config),
        now: around.clock.now(),
        every_file: asked.every_file,
    };
    ScanReport::of(tree, &told)
}

struct Watching<'a> {
    reporter: &'a dyn Reporter,
    interrupt: &'a Interrupt,
}

impl ScanWatch for Watching<'_> {
    fn pass(&self, pass: ScanProgress) {
        match pass {
            ScanProgress::List => self.reporter.progress(IndexPhase::Walk, 0, 0),
            ScanProgress::Read { done, total } => {
                self.reporter.progress(IndexPhase::Read, done, total)
            }
        }
    }

    fn is_over(&self) -> bool {
        self.interrupt.is_raised()
    }
}

impl From<ScanError> for Error {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Target { path, source } => {
                let message = format!("{} cannot be read", spore_plain::path(&path));
                Self::new(Fault::BadInput, message)
                    .hint("name a directory that this user may list")
                    .because(source)
            }
            error @ ScanError::Pattern { .. } => Self::new(Fault::Usage, error.to_string())
                .hint("name files or directories, or use patterns as in a .gitignore: -x '*.log'"),
            ScanError::Stopped => Self::interrupted("the scan was stopped"),
        }
    }
}
