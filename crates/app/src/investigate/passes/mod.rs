//! The passes of a model: survey, plan, directory loops, synthesis, as recorded steps.
//!
//! Each session is a step of the run, and what it says about places is in the graph before it is
//! told so: a run that is killed goes on with what is there. Whether a directory is looked at is
//! decided by the key of its entry alone, when all its children are settled, so nothing that
//! still holds is paid for again, and an edit ends where no summary changes.

mod estimate;
mod ground;
mod keeping;
mod looking;
mod loops;
mod pass_run;
mod pass_tools;
mod served;
mod sessions;
mod short;
mod summaries;

use std::collections::BTreeMap;

use spore_investigate::artefacts::{PLAN, PLAN_EVALUATION};
use spore_investigate::passes::{
    ChildSummary, DirectoryLook, PROMPT_VERSION, PassReport, PlanEvaluation, SummaryWriter,
    directory_key, file_key,
};
use spore_investigate::{EntryKind, Tree};
use spore_model::{Node, Outcome, Timestamp};
use spore_store::Journal;

use super::shared::{InvestigationRun, InvestigationSettings, named};
use crate::base::files::pretty;
use crate::{Progress, Result};
use ground::Ground;
use pass_run::LoopShape;
pub use pass_run::{DirectoryCounts, PassesReport};
pub(super) use pass_run::{PassRun, Stop};
pub(super) use summaries::{BRIEF, Summaries, below};

impl PassRun<'_> {
    /// Does what is missing, and says what is known then.
    pub(super) fn run(
        &self,
        at: Timestamp,
        progress: &mut dyn Progress,
    ) -> Result<(PassesReport, Option<Stop>)> {
        let mut shape = self.known_shape()?;
        let mut stop = None;
        if self.is_anything_stale(&shape) {
            (shape, stop) = self.shape(progress)?;
        }
        let mut done = loops::LoopsDone::default();
        if stop.is_none() {
            done = self.look_at_all(&shape, progress)?;
            stop = done.stop.take();
        }
        let summaries = self.directory_summaries(&shape);
        let (report, stopped) = self.synthesis(&shape, &summaries, stop.as_ref(), progress)?;
        let stop = stop.or(stopped);
        self.write_files(&shape, done.reports, &report, at)?;
        self.ground.summaries.brief(&report.brief, &report.detailed, at)?;
        let ledger = self.investigation.journal.ledger(self.investigation.run)?;
        let told = PassesReport {
            brief: report.brief,
            detailed: report.detailed,
            flags: self.ground.summaries.flags(),
            survey: shape.survey,
            directories: done.counts,
            sessions: ledger.len() as u64,
            turns: ledger.iter().fold(0, |sum, one| sum.saturating_add(one.turns)),
            cost_usd: ledger.iter().map(|one| one.cost.usd).sum(),
            stopped: stop.as_ref().map(|stop| stop.why.clone()),
            outcome: stop.as_ref().map_or(Outcome::Success, |stop| stop.outcome),
        };
        Ok((told, stop))
    }

    fn write_files(
        &self,
        shape: &LoopShape,
        loops: Vec<DirectoryLook>,
        report: &PassReport,
        at: Timestamp,
    ) -> Result<()> {
        let evaluation = PlanEvaluation::of(&shape.plan.investigation_order, loops, at);
        let file = |name: &str| self.ground.files.file(name);
        let around = self.investigation.around;
        around.write_file(&file(PLAN), pretty(&shape.plan)?.as_bytes())?;
        around.write_file(&file(PLAN_EVALUATION), pretty(&evaluation)?.as_bytes())?;
        let text = format!("{}\n\n{}\n", report.brief, report.detailed);
        around.write_file(&file(spore_investigate::artefacts::BRIEF), text.as_bytes())
    }
}

/// Marks what models said of places that have changed since: it is kept, and known to be old.
pub(super) fn mark_stale(
    investigation: &InvestigationRun<'_>,
    settings: &InvestigationSettings,
    tree: &Tree,
    at: Timestamp,
) -> Result<u64> {
    let summaries = summaries_of(investigation, settings)?;
    let standing = StandingOf::new(tree, &summaries);
    summaries.mark_stale(|kind, path, node| standing.holds(kind, path, node), at)
}

/// What is known of the places of a target.
pub(super) fn summaries_of(
    investigation: &InvestigationRun<'_>,
    settings: &InvestigationSettings,
) -> Result<Summaries> {
    let InvestigationRun { workspace, config, run, .. } = *investigation;
    let scope = settings.asked.scan.scope().word();
    Summaries::open(workspace.knowledge(config)?, run, named(&settings.base), scope)
}

/// Says of entries whether they are about a tree as it is.
pub(super) struct StandingOf<'a> {
    tree: &'a Tree,
    places: BTreeMap<String, (EntryKind, usize)>,
    /// Of directories.
    said: BTreeMap<String, String>,
}

impl<'a> StandingOf<'a> {
    pub(super) fn new(tree: &'a Tree, summaries: &Summaries) -> Self {
        let dirs = summaries.all().into_iter();
        let said = dirs
            .filter(|((kind, _), _)| *kind == EntryKind::Directory)
            .map(|((_, path), node)| (path, node.content))
            .collect();
        Self { tree, places: Ground::places_of(tree), said }
    }

    pub(super) fn holds(&self, kind: EntryKind, path: &str, node: &Node) -> bool {
        let Some(&(found, at)) = self.places.get(path) else { return false };
        let text = |name: &str| node.metadata[name].as_str().unwrap_or_default().to_owned();
        let writer = SummaryWriter { backend: text("writer"), model: text("model") };
        if found != kind || text("prompt_version") != PROMPT_VERSION {
            return false;
        }
        let tree = self.tree;
        let key = match kind {
            EntryKind::File => file_key(&tree.files[at], path, &writer),
            EntryKind::Directory => {
                let dir = &tree.dirs[at];
                let below = dir.dirs.iter().map(|below| &tree.dirs[*below]);
                let children: Vec<ChildSummary> = below
                    .map(|dir| ChildSummary {
                        name: spore_investigate::path_text(dir.name().as_ref()),
                        summary: self.said.get(&ground::named(&dir.path)).cloned(),
                    })
                    .collect();
                directory_key(tree, dir, path, &children, &writer)
            }
        };
        text("key") == key
    }
}
