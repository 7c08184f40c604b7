//! The passes of a model: survey, plan, directory loops, synthesis, as recorded steps.
//!
//! Each session is a step of the run, and what it says about places is in the graph before it is
//! told so: a run that is killed goes on with what is there. Whether a directory is looked at is
//! decided by the key of its entry alone, when all its children are settled, so nothing that
//! still holds is paid for again, and an edit ends where no summary changes.

mod loops;
mod pass_run;
mod served;
mod sessions;
mod short;
mod summaries;

use std::collections::BTreeMap;

use spore_investigate::artefacts::{FLAGS, PLAN, PLAN_EVALUATION};
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
use pass_run::LoopShape;
pub use pass_run::{DirectoryCounts, PassesReport, RaisedFlag};
pub(super) use pass_run::{PassRun, Stop};
use served::Ground;
use summaries::Summaries;

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
            flags: self.flags()?,
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

    /// The flags of this run, each once, worst first.
    fn flags(&self) -> Result<Vec<RaisedFlag>> {
        let text = crate::base::files::read_text(&self.ground.files.file(FLAGS))?;
        let mut flags: Vec<RaisedFlag> = Vec::new();
        for line in text.unwrap_or_default().lines() {
            let Ok(flag) = serde_json::from_str::<RaisedFlag>(line) else { continue };
            if !flags.contains(&flag) {
                flags.push(flag);
            }
        }
        let rank = |flag: &RaisedFlag| match flag.severity.as_str() {
            "critical" => 0,
            "concern" => 1,
            _ => 2,
        };
        flags.sort_by_key(|flag| (rank(flag), flag.path.clone()));
        Ok(flags)
    }
}

/// Marks what models said of places that have changed since: it is kept, and known to be old.
pub(super) fn mark_stale(
    investigation: &InvestigationRun<'_>,
    settings: &InvestigationSettings,
    tree: &Tree,
    at: Timestamp,
) -> Result<u64> {
    let InvestigationRun { workspace, config, run, .. } = *investigation;
    let scope = settings.asked.scan.scope().word();
    let base = named(&settings.base);
    let summaries = Summaries::open(workspace.knowledge(config)?, run, base, scope)?;
    let places = Ground::places_of(tree);
    let said: BTreeMap<String, String> = summaries
        .places()
        .into_iter()
        .filter(|(kind, _)| *kind == EntryKind::Directory)
        .filter_map(|(kind, path)| Some((path.clone(), summaries.of(kind, &path)?.content)))
        .collect();
    let holds = |kind: EntryKind, path: &str, node: &Node| {
        let Some(&(found, at)) = places.get(path) else { return false };
        let text = |name: &str| node.metadata[name].as_str().unwrap_or_default().to_owned();
        let writer = SummaryWriter { backend: text("writer"), model: text("model") };
        if found != kind || text("prompt_version") != PROMPT_VERSION {
            return false;
        }
        let key = match kind {
            EntryKind::File => file_key(&tree.files[at], path, &writer),
            EntryKind::Directory => {
                let dir = &tree.dirs[at];
                let below = dir.dirs.iter().map(|below| &tree.dirs[*below]);
                let children: Vec<ChildSummary> = below
                    .map(|dir| ChildSummary {
                        name: spore_investigate::path_text(dir.name().as_ref()),
                        summary: said.get(&served::named(&dir.path)).cloned(),
                    })
                    .collect();
                directory_key(tree, dir, path, &children, &writer)
            }
        };
        text("key") == key
    };
    summaries.mark_stale(holds, at)
}
