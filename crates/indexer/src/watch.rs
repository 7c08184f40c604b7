//! Keeps the index of the work tree up to date while people work.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher};
use spore_effects::Clock;

use crate::error::{IndexerError, Result};
use crate::file_list::relative;
use crate::indexer::{IndexMode, Indexer};
use crate::report::IndexReport;
use crate::scope::IndexScope;

/// More paths than this at once are a branch switch or the like: everything is looked at.
const MANY_PATHS: usize = 64;
/// How often the wait is broken to see whether to stop.
const LOOK_UP: Duration = Duration::from_millis(100);
/// A burst of changes that does not end is cut into parts, after so many times the debounce.
const LONGEST_BURST: u32 = 20;

impl Indexer<'_> {
    /// Brings the index up to date after every change, until `is_over`. `tell` hears of every
    /// time something was done, the first time included.
    pub fn watch(
        &self,
        scope: &IndexScope,
        mode: IndexMode,
        is_over: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&IndexReport),
    ) -> Result<()> {
        let (sender, events) = mpsc::channel();
        // Watched before it is indexed, so that no change falls between.
        let mut watcher = notify::recommended_watcher(move |event| {
            let _ = sender.send(event);
        })
        .map_err(IndexerError::Unwatchable)?;
        watcher.watch(self.root, RecursiveMode::Recursive).map_err(IndexerError::Unwatchable)?;
        let begun = self.clock.monotonic();
        let (index, mut report) = self.work_tree(scope, mode)?;
        report.count(&index)?;
        report.took(begun.elapsed());
        drop(index);
        tell(&report);
        let debounce = self.settings.debounce;
        while let Some(changes) = next_changes(self.clock, &events, self.root, is_over, debounce) {
            let changed = match changes {
                TreeChanges::Paths(paths) if scope.is_everything() => IndexScope::of_paths(paths),
                _ => scope.clone(),
            };
            let (index, mut report) = self.work_tree(&changed, IndexMode::Update)?;
            report.count(&index)?;
            if report.added + report.changed + report.removed > 0 {
                tell(&report);
            }
        }
        Ok(())
    }
}

/// What has to be looked at.
enum TreeChanges {
    Paths(Vec<String>),
    Everything,
}

/// Waits for changes, and for them to end; `None` when it is over.
fn next_changes(
    clock: &dyn Clock,
    events: &mpsc::Receiver<notify::Result<notify::Event>>,
    root: &Path,
    is_over: &dyn Fn() -> bool,
    debounce: Duration,
) -> Option<TreeChanges> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut everything = false;
    let mut since: Option<Instant> = None;
    loop {
        if is_over() {
            return None;
        }
        match events.recv_timeout(if since.is_some() { debounce } else { LOOK_UP }) {
            Ok(Ok(event)) => {
                let told = event.paths.iter().filter(|path| matters(root, path));
                let told: Vec<PathBuf> = told.cloned().collect();
                if told.is_empty() && !event.need_rescan() || event.kind.is_access() {
                    continue;
                }
                everything |= event.need_rescan() || told.iter().any(|path| is_rule(path));
                paths.extend(told);
                since.get_or_insert_with(|| clock.monotonic());
            }
            // It is not known what was missed.
            Ok(Err(_)) => {
                everything = true;
                since.get_or_insert_with(|| clock.monotonic());
            }
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if since.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if since.is_some_and(|since| since.elapsed() > debounce * LONGEST_BURST) {
            break;
        }
    }
    paths.sort_unstable();
    paths.dedup();
    let named: Option<Vec<String>> =
        paths.iter().map(|path| relative(root, path).map(str::to_owned)).collect();
    match named {
        Some(named)
            if !everything && named.len() <= MANY_PATHS && !named.iter().any(String::is_empty) =>
        {
            Some(TreeChanges::Paths(named))
        }
        _ => Some(TreeChanges::Everything),
    }
}

/// Our own files and git's do not count, except the one that says which branch it is.
fn matters(root: &Path, path: &Path) -> bool {
    let Ok(path) = path.strip_prefix(root) else { return false };
    match path.iter().next().and_then(|first| first.to_str()) {
        Some(".git") => path == Path::new(".git/HEAD"),
        Some(".spore") => false,
        _ => true,
    }
}

/// Whether a file decides about others.
fn is_rule(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    [".gitignore", ".sporeignore", ".ignore", "HEAD"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_and_our_own_files_do_not_count_but_the_branch_does() {
        let root = Path::new("/r");
        let counts = |path: &str| matters(root, &root.join(path));
        assert!(counts("src/a.rs") && counts(".gitignore") && counts(".git/HEAD"));
        assert!(
            !counts(".git/index") && !counts(".spore/index.db") && !matters(root, Path::new("/x"))
        );
    }
}
