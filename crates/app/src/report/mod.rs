//! What people read about runs, as data: the read model of `spore_runs` on the stores of a project.
//!
//! Every room that works on runs ends with a report from here. It always holds that a report is
//! read off the journal and what live processes wrote down: nothing here writes, but for a document
//! to the place that a person names, and nothing here knows how a run is performed.

pub(crate) mod diff;
pub(crate) mod distill;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod figures;
pub(crate) mod lessons;
mod watch;

use spore_model::{Fault, Run, RunId, RunKind, RunStatus};
use spore_runs::{Applied, Live, Presence, RunFilter, RunList, RunReport};
use spore_store::{Journal, RunQuery};

use crate::base::outbox;
use crate::base::run_lock::is_claimed;
use crate::base::run_refs;
use crate::{Error, Result, Surroundings, Workspace};

pub use watch::watch_run;

/// The runs of this machine: who works on them is told by locks, and what they do by files.
pub(crate) struct LocalRuns<'a>(pub(crate) &'a Workspace);

impl Presence for LocalRuns<'_> {
    fn is_alive(&self, run: RunId) -> bool {
        is_claimed(self.0, run)
    }

    fn live(&self, root: RunId) -> Vec<Live> {
        let Ok(files) = std::fs::read_dir(self.0.run_files(root).live_dir()) else {
            return Vec::new();
        };
        let paths = files.flatten().map(|file| file.path());
        let whole = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
        whole.filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok()).collect()
    }

    fn is_settled(&self, work: &Applied) -> bool {
        let Some(branch) = &work.branch else { return false };
        let settled = || -> Result<bool> {
            let repository = self.0.project_repository()?;
            match repository.ref_target(&run_refs::branch_ref(branch))? {
                Some(tip) => Ok(repository.is_ancestor(&tip, &repository.head()?)?),
                None => Ok(true),
            }
        };
        settled().unwrap_or(false)
    }

    fn left(&self, root: RunId) -> Vec<String> {
        if !self.0.work_dir().exists() {
            return Vec::new();
        }
        let refs = self.0.project_repository().and_then(|found| {
            // Where git cannot be asked the rest of the report is as good as ever.
            found.refs_under(&run_refs::all_left(root))
        });
        refs.unwrap_or_default().into_iter().map(|(name, _)| name).collect()
    }
}

/// Lists runs, newest first. Without a limit of its own the filter has the configured one.
pub fn list_runs(around: &Surroundings, filter: &RunFilter, limit: Option<u32>) -> Result<RunList> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    let filter = RunFilter { limit: limit.unwrap_or(config.show.limit), ..filter.clone() };
    let now = around.clock.now();
    Ok(spore_runs::list_runs(&journal, &LocalRuns(&workspace), &filter, now)?)
}

/// Shows one run, named by any unique part of its id; the newest if none is named.
pub fn show_run(around: &Surroundings, typed: Option<&str>) -> Result<RunReport> {
    let workspace = Workspace::find_with_runs(around)?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    outbox::catch_up(around, &workspace, &journal);
    let run = named_or_newest(&journal, typed)?;
    report(&workspace, &journal, run.id)
}

/// Finds the run that a person names, or the newest where none is named.
pub(crate) fn named_or_newest(journal: &dyn Journal, typed: Option<&str>) -> Result<Run> {
    if let Some(typed) = typed {
        return find_run(journal, typed);
    }
    let query = RunQuery { roots_only: true, limit: Some(1), ..RunQuery::default() };
    journal.runs(&query)?.into_iter().next().ok_or_else(|| {
        Error::new(Fault::BadInput, "there are no runs yet")
            .hint("`spore orchestrate TASK` starts one")
    })
}

pub(crate) fn find_run(journal: &dyn Journal, typed: &str) -> Result<Run> {
    let mut found = journal.find_runs(typed)?;
    // A child answers to its id too; where both are possible, the root is meant.
    if found.iter().any(|run| run.parent.is_none()) {
        found.retain(|run| run.parent.is_none());
    }
    // Of the parts of a short form its beginning is what people type.
    let typed_first = typed.to_ascii_uppercase();
    let begins = |run: &Run| run.id.short().starts_with(&typed_first);
    if found.iter().any(begins) {
        found.retain(begins);
    }
    match found.as_slice() {
        [run] => Ok(run.clone()),
        [] => Err(Error::new(Fault::BadInput, format!("there is no run {typed:?}"))
            .hint("`spore runs list` shows the ids")),
        several => {
            let ids: Vec<String> =
                several.iter().take(8).map(|run| format!("  {}  {}", run.id, run.name)).collect();
            Err(Error::new(
                Fault::BadInput,
                format!("{typed:?} could be any of {} runs", several.len()),
            )
            .hint(format!("type more of the id:\n{}", ids.join("\n"))))
        }
    }
}

pub(crate) fn report(workspace: &Workspace, journal: &dyn Journal, id: RunId) -> Result<RunReport> {
    let mut report = spore_runs::report_run(journal, &LocalRuns(workspace), id)?
        .ok_or_else(|| Error::new(Fault::BadInput, format!("there is no run {id}")))?;
    // From where the person is, it is not below a project.
    if workspace.is_of_stranger() {
        report.directory = spore_plain::path(&workspace.root().join(&report.directory));
    }
    fill_in_rolled_back(workspace, &mut report);
    Ok(report)
}

/// Names the refs that keep what phases made and did not bring onto the branch. Where git cannot be
/// asked the rest of the report is as good as ever.
fn fill_in_rolled_back(workspace: &Workspace, report: &mut RunReport) {
    if !matches!(report.run.kind, RunKind::Phase | RunKind::Campaign) {
        return;
    }
    let found = workspace.project_repository().and_then(|found| found.refs_under("refs/spore"));
    let names: Vec<String> = found.unwrap_or_default().into_iter().map(|(name, _)| name).collect();
    for part in &mut report.parts {
        let kept = run_refs::own(part.id, run_refs::ROLLED_BACK);
        part.rolled_back = Some(kept).filter(|kept| names.contains(kept));
    }
}

/// Says that nothing more can be done with a run.
pub(crate) fn is_over(run: &Run) -> Error {
    let (id, status) = (run.id.short(), run.status(false));
    let error = Error::new(Fault::BadInput, format!("run {id} is over: {status}"));
    match (status, run.kind) {
        (RunStatus::Verified, _) => {
            error.hint(format!("`spore runs show {id}` tells where its work is"))
        }
        (_, RunKind::Orchestrate) => error.hint(format!(
            "`spore runs show {id}` tells why; `spore retry {id}` starts the task anew"
        )),
        _ => error.hint(format!("`spore runs show {id}` tells why")),
    }
}

/// Returns the run that answers for a part: an attempt and a session are told with their task, and a task
/// of a list, a race or a flow by itself.
pub(crate) fn task_of(journal: &dyn Journal, mut run: Run) -> Result<Run> {
    while let (RunKind::Bounce | RunKind::Session | RunKind::Gates, Some(parent)) =
        (run.kind, run.parent)
    {
        run = parent_of(journal, &run, parent)?;
    }
    Ok(run)
}

/// Returns the run that everything above belongs to: it is the one that can be resumed.
pub(crate) fn root_of(journal: &dyn Journal, mut run: Run) -> Result<Run> {
    while let Some(parent) = run.parent {
        run = parent_of(journal, &run, parent)?;
    }
    Ok(run)
}

fn parent_of(journal: &dyn Journal, run: &Run, parent: RunId) -> Result<Run> {
    journal.run(parent)?.ok_or_else(|| {
        let message = format!("run {parent}, which {} belongs to, is gone", run.id);
        Error::new(Fault::BadInput, message)
    })
}
