//! The turn of one stage: its work, and whether what it left is what later stages take it for.

use spore_compose::{
    ChildEnd, Diagnosis, Grade, JudgedWork, MadeFor, PhasesWork, PlannedWork, RoundsPlan,
    StagePlan, StageWork, read_items,
};
use spore_model::{CommitId, Fault, Outcome};

use crate::flows::checks::{self, StageChecks};
use crate::flows::execs::{Exec, tail};
use crate::flows::flow::{ActiveFlow, LayerPlace};
use crate::flows::verified::{self, Verified};
use crate::{Error, Progress, Result};

/// One stage, or one part of one, whose texts are whole.
#[derive(Clone, Copy)]
pub(crate) struct StageTurn<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) plan: &'a StagePlan,
    pub(crate) resolution: Option<&'a str>,
    pub(crate) diagnosis: Option<&'a Diagnosis>,
    /// What those before it left.
    pub(crate) tip: Option<&'a CommitId>,
    /// What the first of them began from.
    pub(crate) since: Option<&'a CommitId>,
}

impl StageTurn<'_> {
    /// Does the work of the stage. A plan's stages are for the orchestrator.
    pub(crate) fn work(&self, place: LayerPlace, progress: &mut dyn Progress) -> Result<ChildEnd> {
        let Self { ground, plan, resolution, diagnosis, tip, since } = *self;
        let budget = plan.budget;
        let end = match &plan.work {
            StageWork::Exec(exec) => {
                let start = tip.cloned();
                let exec = Exec { ground, place, plan: exec, diagnosis, resolution, budget, start };
                exec.work(progress)?.end
            }
            StageWork::Orchestrate(task) => {
                let asked = Verified { plan: task, budget, diagnosis, resolution, start: tip };
                verified::run(ground, &place, &asked, progress)?
            }
            StageWork::Sentinel { judged } => {
                let told = judged.as_deref().map(|judged| self.told_judges(judged));
                let judged = told.as_ref();
                let asked = StageChecks { at: tip, since, judged, budget };
                checks::run(ground, &place, asked, progress)?
            }
            StageWork::Planned(_) => {
                return Err(Error::new(Fault::Bug, "the stages of a plan are no turn of one"));
            }
        };
        let end = self.held_to_use(end)?;
        match &plan.rounds {
            Some(rounds) => self.says(rounds, end),
            None => Ok(end),
        }
    }

    /// The judges of a sentinel, with what they are to know of an earlier attempt beside their task.
    fn told_judges(&self, judged: &JudgedWork) -> JudgedWork {
        let mut told = judged.clone();
        told.judges.task =
            verified::with_words(&judged.judges.task, self.diagnosis, self.capped().as_deref());
        told
    }

    fn capped(&self) -> Option<String> {
        let cap = usize::try_from(self.ground.config.flows.diagnosis_bytes).unwrap_or(usize::MAX);
        self.resolution.map(|words| tail(words, cap))
    }

    /// Fails a stage that left a list or a plan which cannot be used, so that it is told why while
    /// it can still mend it.
    fn held_to_use(&self, end: ChildEnd) -> Result<ChildEnd> {
        let (Some(made), Some(path)) = (&self.plan.makes, &end.artifact) else { return Ok(end) };
        if end.outcome != Outcome::Success {
            return Ok(end);
        }
        let text = self.artifact(&end)?.unwrap_or_default();
        let problem = match made {
            MadeFor::List { max_items } => read_items(path, &text, *max_items).err(),
            MadeFor::Plan { stage, max_stages } => {
                let target = self.plan.name.clone();
                let work = PlannedWork { plan: path.clone(), target, max_stages: *max_stages };
                (self.ground.planner)((stage, &work), text)?.err()
            }
            MadeFor::Phases { max_phases, target } => {
                let (plan, target) = (path.clone(), target.clone());
                let work = PhasesWork { plan, target, max_phases: *max_phases };
                (self.ground.phase_planner)(&work, text)?.err()
            }
        };
        Ok(match problem {
            None => end,
            Some(problem) => {
                let reason = Some(format!("what it left cannot be used: {problem}"));
                ChildEnd { outcome: Outcome::Failure, reason, ..end }
            }
        })
    }

    /// Looks whether a stage that is repeated says that it is enough.
    fn says(&self, rounds: &RoundsPlan, end: ChildEnd) -> Result<ChildEnd> {
        if let StageWork::Sentinel { .. } = self.plan.work {
            let enough = if rounds.until == "WARN" { Grade::Warn } else { Grade::Pass };
            let says_until = end.grade.map(|grade| grade <= enough);
            return Ok(ChildEnd { says_until, ..end });
        }
        if end.outcome != Outcome::Success {
            return Ok(end);
        }
        let text = self.artifact(&end)?.unwrap_or_default();
        let says = rounds.is_said(&text);
        let cap = usize::try_from(self.ground.config.flows.diagnosis_bytes).unwrap_or(usize::MAX);
        // What it wrote is what the next round has to go by.
        let diagnosis = if says { end.diagnosis.clone() } else { tail(&text, cap) };
        Ok(ChildEnd { says_until: Some(says), diagnosis, ..end })
    }

    fn artifact(&self, end: &ChildEnd) -> Result<Option<String>> {
        let Some(path) = &end.artifact else { return Ok(None) };
        let at = end.artifact_mark.as_ref().map(|mark| &mark.commit);
        self.ground.text_at(at, path)
    }
}

impl ActiveFlow<'_> {
    /// Reads a file of the flow's work: in a commit, or where a flow without a branch works.
    pub(crate) fn text_at(&self, at: Option<&CommitId>, path: &str) -> Result<Option<String>> {
        let content = match (&self.branch, at) {
            (Some(branch), Some(at)) => branch.repository.read_file(at, path)?,
            _ => self.own_file(path),
        };
        Ok(content.map(|content| String::from_utf8_lossy(&content).into_owned()))
    }
}
