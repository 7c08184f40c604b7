//! Keeping the index of the work tree up to date while people work.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher};
use spore_model::Fault;

use super::listing::relative;
use super::scope::Scope;
use super::{IndexAsked, IndexReport, Indexer, Reporter, Source};
use crate::{Error, Result, Surroundings, Workspace};

/// More paths than this at once are a branch switch or the like: everything is looked at.
const STORM: usize = 64;
/// How often somebody who waits looks whether to stop.
const LOOK_UP: Duration = Duration::from_millis(100);
/// A storm that does not end is cut into parts.
const LONGEST_STORM: u32 = 20;

/// Brings the index up to date after every change, until interrupted. `tell` hears of every
/// time something was done, the first time included.
pub fn watch(
    around: &Surroundings,
    asked: &IndexAsked,
    reporter: &dyn Reporter,
    tell: &mut dyn FnMut(&IndexReport),
) -> Result<()> {
    if asked.source != Source::WorkTree {
        let message = "a revision does not change, so there is nothing to watch";
        return Err(Error::new(Fault::Usage, message).hint("leave out --rev or --watch"));
    }
    let workspace = Workspace::find(around)?;
    let (sender, events) = mpsc::channel();
    let failed = |source| {
        Error::new(Fault::Io, "the work tree cannot be watched")
            .hint("raise fs.inotify.max_user_watches, or run `spore index` from time to time")
            .because(source)
    };
    // Watched before it is indexed, so that no change falls between.
    let mut watcher = notify::recommended_watcher(move |event| {
        let _ = sender.send(event);
    })
    .map_err(failed)?;
    watcher.watch(workspace.root(), RecursiveMode::Recursive).map_err(failed)?;
    tell(&super::index(around, asked, reporter)?.report);
    let config = workspace.config(around, &[])?;
    let indexer = Indexer { around, workspace: &workspace, config: &config, reporter, most: None };
    let asked = Scope::typed(workspace.root(), &around.cwd, &asked.paths, &asked.languages)?;
    while let Some(storm) = next_storm(&events, around, &workspace, config.index.debounce) {
        let scope = match storm {
            Storm::Paths(paths) if asked.is_everything() => Scope::of_paths(paths),
            _ => asked.clone(),
        };
        let (index, mut report) = indexer.run(&Source::WorkTree, &scope, false)?;
        report.count(&index)?;
        if report.added + report.changed + report.removed > 0 {
            tell(&report);
        }
    }
    Ok(())
}

/// What has to be looked at.
enum Storm {
    Paths(Vec<String>),
    Everything,
}

/// Waits for changes, and for them to end; `None` when interrupted.
fn next_storm(
    events: &mpsc::Receiver<notify::Result<notify::Event>>,
    around: &Surroundings,
    workspace: &Workspace,
    debounce: Duration,
) -> Option<Storm> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut everything = false;
    let mut since: Option<Instant> = None;
    loop {
        if around.interrupt.is_raised() {
            return None;
        }
        match events.recv_timeout(if since.is_some() { debounce } else { LOOK_UP }) {
            Ok(Ok(event)) => {
                let told = event.paths.iter().filter(|path| matters(workspace.root(), path));
                let told: Vec<PathBuf> = told.cloned().collect();
                if told.is_empty() && !event.need_rescan() || event.kind.is_access() {
                    continue;
                }
                everything |= event.need_rescan() || told.iter().any(|path| is_rule(path));
                paths.extend(told);
                since.get_or_insert_with(Instant::now);
            }
            // What was missed nobody knows.
            Ok(Err(_)) => {
                everything = true;
                since.get_or_insert_with(Instant::now);
            }
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if since.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if since.is_some_and(|since| since.elapsed() > debounce * LONGEST_STORM) {
            break;
        }
    }
    paths.sort_unstable();
    paths.dedup();
    let named: Option<Vec<String>> =
        paths.iter().map(|path| relative(workspace.root(), path).map(str::to_owned)).collect();
    match named {
        Some(named)
            if !everything && named.len() <= STORM && !named.iter().any(String::is_empty) =>
        {
            Some(Storm::Paths(named))
        }
        _ => Some(Storm::Everything),
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
