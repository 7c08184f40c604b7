//! The sentinel: the project's own commands on the files as they are now, cycle by cycle.
//!
//! By itself it mends nothing. After a cycle that found something the run waits, for a
//! person or an agent to mend it; going on with the run is the next cycle. With judges it asks
//! them, and has what they find mended in between.

mod cycle;
mod judges;
mod site;

use std::path::PathBuf;

use spore_compose::{
    ChildEnd, Grade, JudgedWork, Parked, Sentinel, SentinelEnding, SentinelNext, SentinelRules,
    SentinelStep, SentinelSubject, Verification, WorkLine,
};
use spore_git::Repository;
use spore_model::{BudgetId, CommitId, Fault, Outcome, Park, Run, RunKind, Usd};

use cycle::Cycles;
use judges::{ActiveJudges, FixAsked};
pub(crate) use judges::{SentinelJudges, judges_of};
use site::SentinelSite;

use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use crate::base::error::bug;
use crate::run::request::Orchestrate;
use crate::run::settings::RunSettings;
use crate::{Error, Progress, Result, Surroundings, Workspace};

/// The sentinel at work.
pub(crate) struct Checks<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: LayerPlace,
    pub(crate) max_cycles: u32,
    /// Which commands, and what of the files counts.
    pub(crate) settings: RunSettings,
    /// What is checked; nothing where that is the project's files as they are.
    pub(crate) at: Option<CommitId>,
    /// Who is asked about what the commands say; none where there are only checks.
    pub(crate) judges: Option<SentinelJudges>,
    /// What they are paid from; nothing where their cap is spent.
    pub(crate) purse: Option<BudgetId>,
}

/// How far the cycles came.
pub(crate) struct ChecksOver {
    pub(crate) rest: ChecksRest,
    pub(crate) last: Option<Verification>,
    /// What the newest cycle found, for the attempt that is to do better.
    pub(crate) report: String,
    /// As far as it is known.
    pub(crate) grade: Option<Grade>,
    /// The commit that the last cycle was about, where something was mended.
    pub(crate) mended: Option<CommitId>,
}

pub(crate) enum ChecksRest {
    Ended(SentinelEnding),
    Parked(Parked),
}

/// Settles what a sentinel checks with.
pub(crate) fn settings(
    around: &Surroundings,
    workspace: &Workspace,
    config: &spore_config::Config,
    base: Option<&CommitId>,
) -> Result<RunSettings> {
    let repository = workspace.repository(around)?;
    let asked = Orchestrate { base: base.map(ToString::to_string), ..Orchestrate::default() };
    RunSettings::settle(workspace, &repository, config, &asked)
}

/// What a stage that is a sentinel asks for.
#[derive(Clone, Copy)]
pub(crate) struct StageChecks<'a> {
    /// What is checked, where the flow has a branch.
    pub(crate) at: Option<&'a CommitId>,
    /// What the stages began from that it judges.
    pub(crate) since: Option<&'a CommitId>,
    pub(crate) judged: Option<&'a JudgedWork>,
    /// What its roles may cost, over all its attempts.
    pub(crate) budget: Option<Usd>,
}

/// Runs a stage that is a sentinel. The commands are those of the branch's base, and never of what is
/// checked. What its judges had mended is what it leaves, where it passes.
pub(crate) fn run(
    ground: &ActiveFlow<'_>,
    place: &LayerPlace,
    asked: StageChecks<'_>,
    progress: &mut dyn Progress,
) -> Result<ChildEnd> {
    // What it began with, where it began before.
    let settings = match ground.journal.run(place.run)? {
        Some(run) => serde_json::from_value(run.settings).map_err(bug)?,
        None => {
            let base = ground.branch.as_ref().map(|branch| &branch.base);
            settings(ground.around, ground.workspace, ground.config, base)?
        }
    };
    let judges = match (asked.judged, asked.at, asked.since) {
        (None, ..) => None,
        (Some(judged), Some(_), Some(since)) => {
            Some(SentinelJudges { asked: judged.judges.clone(), since: since.clone() })
        }
        (Some(_), ..) => return Err(Error::new(Fault::Bug, "judges without a commit to judge")),
    };
    let max_cycles = asked.judged.map_or(1, |judged| judged.max_cycles);
    let cap = asked.budget.filter(|_| judges.is_some());
    let purse = match ground.left_of_cap(place, cap)? {
        None => Some(place.budget),
        // What is on record is taken up although the cap is spent; only what is new has to wait.
        left => ground.set_aside(place.budget, left),
    };
    let (own, at) = (place.clone(), asked.at.cloned());
    let checks = Checks { ground, place: own, max_cycles, settings, at, judges, purse };
    let over = checks.work(progress);
    if let Some(share) = purse.filter(|purse| *purse != place.budget) {
        ground.settle(share, Usd::ZERO);
    }
    let over = over?;
    let (outcome, reason, park) = match over.rest {
        ChecksRest::Ended(ending) => (ending.outcome, ending.reason, None),
        ChecksRest::Parked(parked) => (parked.outcome, parked.reason, Some(parked.park)),
    };
    let line = match (asked.at, over.mended) {
        (Some(base), Some(tip)) if outcome == Outcome::Success => {
            Some(WorkLine { base: base.clone(), tip })
        }
        _ => None,
    };
    Ok(ChildEnd {
        park,
        line,
        diagnosis: over.report,
        budget_left: ground.has_left(place.budget),
        grade: over.grade,
        ..ChildEnd::new(place.run, outcome, Some(reason))
    })
}

/// What the judges are asked about.
struct Judged<'a> {
    judges: ActiveJudges<'a>,
    /// What the next cycle checks.
    tip: CommitId,
    told: SentinelSubject,
}

impl Checks<'_> {
    /// Checks until there is a grade, or until something has to be mended.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<ChecksOver> {
        let ground = self.ground;
        let details = Run {
            settings: serde_json::to_value(&self.settings).map_err(bug)?,
            base_commit: self.at.clone(),
            ..ground.blank(self.place.run, RunKind::Sentinel)
        };
        ground.open(&self.place, RunKind::Sentinel, &details)?;
        let repository = ground.workspace.repository(ground.around)?;
        let mut subject = None;
        if let Some(judges) = &self.judges {
            let judges = ActiveJudges { site: self.site(), judges };
            let tip = self.cycles().pinned(&repository)?;
            let told = judges.subject(&repository, &tip)?;
            subject = Some(Judged { judges, tip, told });
        }
        let mut machine = Sentinel::new(SentinelRules {
            max_cycles: self.max_cycles,
            stuck_cycles: ground.config.sentinel.stuck_cycles,
            judged: subject.is_some(),
        });
        let first = subject.as_ref().map(|subject| subject.tip.clone());
        let rest = self.lead(&repository, &mut machine, &mut subject, progress)?;
        let tip = subject.map(|subject| subject.tip);
        Ok(ChecksOver {
            rest,
            grade: machine.grade(),
            report: machine.last().map(|last| last.report(machine.spec())).unwrap_or_default(),
            last: machine.last().cloned(),
            mended: tip.filter(|tip| Some(tip) != first.as_ref()),
        })
    }

    fn lead(
        &self,
        repository: &Repository,
        machine: &mut Sentinel,
        subject: &mut Option<Judged<'_>>,
        progress: &mut dyn Progress,
    ) -> Result<ChecksRest> {
        let tip = subject.as_ref().map(|subject| &subject.tip);
        let is_refused = tip.map(|tip| self.cycles().refuses(repository, tip)).transpose()?;
        let mut next = match is_refused {
            // No writer is paid for work that is not even checked.
            Some(true) => SentinelNext::Do(SentinelStep::Check { cycle: 1 }),
            _ => machine.start(),
        };
        // Whether the last cycle was run just now: then nothing can have been mended since.
        let mut fresh = false;
        loop {
            next = match next {
                SentinelNext::Do(SentinelStep::Finish { ending }) => {
                    self.finish(&ending, machine.last())?;
                    SentinelNext::End(ending)
                }
                SentinelNext::Do(step @ SentinelStep::Check { cycle }) => {
                    let tip = subject.as_ref().map(|subject| &subject.tip);
                    let (which, last) = ((cycle, self.max_cycles), machine.last());
                    let Some((found, new)) =
                        self.cycles().run(repository, &step, which, tip, last, progress)?
                    else {
                        return Ok(ChecksRest::Parked(stopped()));
                    };
                    fresh = new;
                    machine.checked(found)
                }
                SentinelNext::Do(step) => match subject {
                    Some(subject) => self.judge(&step, machine, subject, progress)?,
                    None => {
                        return Err(Error::new(Fault::Bug, "a sentinel without judges asks one"));
                    }
                },
                SentinelNext::Mend { reason, .. } if fresh => {
                    let (outcome, park) = (Outcome::NeedsRefinement, Park::Human);
                    return Ok(ChecksRest::Parked(Parked { outcome, park, reason }));
                }
                SentinelNext::Mend { then, .. } => SentinelNext::Do(then),
                SentinelNext::Park(parked) => return Ok(ChecksRest::Parked(parked)),
                SentinelNext::End(ending) => return Ok(ChecksRest::Ended(ending)),
            };
            self.project(machine)?;
        }
    }

    fn site(&self) -> SentinelSite<'_> {
        let Self { ground, place, settings, purse, .. } = self;
        SentinelSite { ground, place, settings, purse: *purse }
    }

    fn cycles(&self) -> Cycles<'_> {
        Cycles { site: self.site(), at: self.at.as_ref() }
    }

    /// Takes a step that is not ours but a role's.
    fn judge(
        &self,
        step: &SentinelStep,
        machine: &mut Sentinel,
        subject: &mut Judged<'_>,
        progress: &mut dyn Progress,
    ) -> Result<SentinelNext> {
        let Some(question) = machine.question(step, &subject.told) else {
            let task = machine.fix_task(&subject.told);
            let red =
                machine.last().is_some_and(|found| found.checks.iter().any(|one| !one.passed));
            let asked = FixAsked { task, specified: machine.tester_task(), red };
            let end = subject.judges.fix(step, asked, &subject.tip, progress)?;
            if let Some(commit) = &end.commit {
                let repository = self.ground.workspace.repository(self.ground.around)?;
                subject.tip.clone_from(commit);
                subject.told = subject.judges.subject(&repository, commit)?;
            }
            return Ok(machine.fixed(&end));
        };
        let answer = subject.judges.ask(step, &question, &subject.tip, progress)?;
        Ok(machine.answered(step, &answer))
    }

    fn dir(&self) -> PathBuf {
        self.ground.dir().join(&self.place.dir).join("sentinel")
    }

    /// Writes what a cycle found, for the person or agent that mends it.
    fn project(&self, machine: &Sentinel) -> Result<()> {
        let (ground, dir) = (self.ground, self.dir());
        let cycle_dir = |cycle: u32| dir.join(format!("cycle-{cycle}"));
        if let Some(spec) = machine.spec() {
            let cycle = machine.last().map_or(1, |last| last.cycle);
            ground.write(&cycle_dir(cycle).join("test-spec.md"), &spec.report())?;
        }
        let Some(last) = machine.last() else { return Ok(()) };
        let cycle = cycle_dir(last.cycle);
        ground.write_json(&cycle.join("verification-results.json"), last)?;
        ground.write_json(&cycle.join("fix-list.json"), machine.fixes())?;
        ground.write(&cycle.join("audit-report.md"), &last.report(machine.spec()))?;
        if let Some(grade) = machine.grade() {
            ground.write(&dir.join("grade.txt"), &format!("{grade}\n"))?;
        }
        ground.write_json(&dir.join("summary.json"), &machine.summary())
    }

    fn finish(&self, ending: &SentinelEnding, last: Option<&Verification>) -> Result<()> {
        let path = last.map(|last| results_path(self.ground, &self.place, last));
        let told = LayerEnding {
            outcome: ending.outcome,
            reason: Some(&ending.reason),
            points_at: path.as_deref(),
        };
        self.ground.end(&self.place, RunKind::Sentinel, &told, ending)
    }
}

fn stopped() -> Parked {
    let (outcome, park) = (Outcome::Interrupted, Park::Interrupt);
    Parked { outcome, park, reason: "interrupted".to_owned() }
}

/// Where the results of a cycle are, below the project's root.
pub(crate) fn results_path(
    ground: &ActiveFlow<'_>,
    place: &LayerPlace,
    last: &Verification,
) -> String {
    let file = format!("sentinel/cycle-{}/verification-results.json", last.cycle);
    ground.path_of(&place.dir.join(file))
}
