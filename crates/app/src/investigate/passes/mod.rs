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
mod standing;
mod summaries;

use spore_investigate::Tree;
use spore_investigate::artefacts::{PLAN, PLAN_EVALUATION};
use spore_investigate::passes::{DirectoryLook, PassReport, PlanEvaluation};
use spore_model::{Outcome, Timestamp};
use spore_store::Journal;

use super::shared::{InvestigationRun, InvestigationSettings, named};
use crate::base::files::pretty;
use crate::{Progress, Result};
use pass_run::LoopShape;
pub use pass_run::{DirectoryCounts, PassesReport};
pub(super) use pass_run::{PassRun, Stop};
use short::Synthesis;
pub(super) use standing::StandingOf;
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
        let mut done = match stop {
            Some(_) => self.none_looked_at(&shape),
            None => self.look_at_all(&shape, progress)?,
        };
        stop = stop.or(done.stop.take());
        self.mark_stale(at)?;
        let summaries = self.directory_summaries(&shape);
        let (synthesis, stopped) = self.synthesis(&shape, &summaries, stop.as_ref(), progress)?;
        let stop = stop.or(stopped).or(done.unanswered);
        let report = self.brief(synthesis, at)?;
        self.write_files(&shape, done.reports, &report, at)?;
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

    /// Keeps what is said of the whole. Where no synthesis was asked, because passes ended before,
    /// what a model said last stands, and says that it is older.
    fn brief(&self, synthesis: Synthesis, at: Timestamp) -> Result<PassReport> {
        let summaries = &self.ground.summaries;
        let (report, is_mechanical) = match synthesis {
            Synthesis::OfModel(report) => (report, false),
            Synthesis::Mechanical(report) => (report, true),
            Synthesis::Unasked(report) => match summaries.brief_of_model()? {
                Some(known) => return Ok(known.of_before()),
                None => (report, true),
            },
        };
        summaries.brief(&report, is_mechanical, at)?;
        Ok(report)
    }

    /// Marks what is said of places that changed and were not looked at again, and what is gone.
    fn mark_stale(&self, at: Timestamp) -> Result<u64> {
        let standing = StandingOf::new(&self.ground.tree, &self.ground.summaries);
        self.ground.summaries.mark_stale(
            |kind, path, node| standing.holds(kind, path, node),
            |path| standing.is_there(path),
            at,
        )
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
    summaries.mark_stale(
        |kind, path, node| standing.holds(kind, path, node),
        |path| standing.is_there(path),
        at,
    )
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
