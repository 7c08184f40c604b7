//! L3: a coordinator's phases, those that owe each other nothing at the same time.
//!
//! One thread leads: it begins steps, feeds the machine and writes results. Each phase that is
//! under way has a thread of its own, and tells the leading one what is worth telling.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use spore_compose::{
    ChildEnd, CoordinatorPlan, OrchestratorPlan, Parked, PhaseNext, PhaseStep, Phases,
    PhasesEnding, attempt_dir, phase_dir,
};
use spore_model::{
    Begun, BudgetId, CommitId, EffectClass, Outcome, Park, RunKind, RunState, StepKey, Ticket, Usd,
};

use super::flow::{ActiveFlow, LayerEnding, LayerPlace, spent};
use super::stages::Orchestrator;
use crate::base::error::bug;
use crate::base::step::Intent;
use crate::{Error, Progress, Result, Update};

/// A coordinator at work.
pub(crate) struct Coordinator<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: LayerPlace,
    pub(crate) plan: CoordinatorPlan,
}

/// How far the phases came.
pub(crate) enum PhasesOver {
    Ended(PhasesEnding),
    Parked(Parked),
}

/// What a phase's thread has to say.
enum Said {
    Update(Update),
    Over { phase: usize, key: StepKey, ticket: Ticket, end: Result<ChildEnd> },
}

/// A phase's progress goes to the leading thread.
struct Caller(Sender<Said>);

impl Progress for Caller {
    fn update(&mut self, update: &Update) {
        // The receiver is gone only when the whole flow is being given up.
        let _ = self.0.send(Said::Update(update.clone()));
    }
}

impl Coordinator<'_> {
    /// Leads the phases to their end, or to where they have to wait.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<PhasesOver> {
        let mut machine = Phases::new(self.plan.clone());
        let phases: Vec<&str> = self.plan.phases.iter().map(|phase| &*phase.name).collect();
        self.ground.recall_landings(&self.place, &phases)?;
        self.run_all(&mut machine, progress)?;
        match machine.rest() {
            PhaseNext::Park(parked) => Ok(PhasesOver::Parked(parked)),
            PhaseNext::Do(PhaseStep::Finish { ending }) | PhaseNext::End(ending) => {
                match self.ground.bring_home(&self.place, ending.outcome, progress)? {
                    Some(parked) => return Ok(PhasesOver::Parked(parked)),
                    None => self.finish(&ending)?,
                }
                Ok(PhasesOver::Ended(ending))
            }
            PhaseNext::Do(PhaseStep::Run { .. }) => {
                Err(Error::new(spore_model::Fault::Bug, "a phase is left over"))
            }
        }
    }

    fn run_all(&self, machine: &mut Phases, progress: &mut dyn Progress) -> Result<()> {
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let mut running = 0;
            let mut failed = None;
            loop {
                if failed.is_none()
                    && let Err(error) = self.start_due(machine, scope, &sender, &mut running)
                {
                    failed = Some(error);
                }
                if running == 0 {
                    break;
                }
                if let Err(error) = self.listen(machine, &receiver, &mut running, progress) {
                    failed.get_or_insert(error);
                }
            }
            failed.map_or(Ok(()), Err)
        })
    }

    /// Begins every phase that is due; those with a result on record are over at once.
    fn start_due<'scope, 'env>(
        &'env self,
        machine: &mut Phases,
        scope: &'scope Scope<'scope, 'env>,
        sender: &Sender<Said>,
        running: &mut usize,
    ) -> Result<()> {
        loop {
            let due = machine.due();
            if due.is_empty() {
                return Ok(());
            }
            for step in due {
                let key = step.key(&self.plan);
                let PhaseStep::Run { phase, attempt, orchestrator } = step else { continue };
                let ground = self.ground;
                self.keep_resolution(phase, &orchestrator)?;
                let mut intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
                if let Some(branch) = &ground.branch {
                    intent = intent.with("base", branch.tip().to_string());
                }
                match ground.steps(&self.place).begin(&key, EffectClass::Keyed, intent)? {
                    Begun::Done(end) if ground.has_lost(&self.place, &key, &end)? => {
                        machine.lost(phase, &end);
                    }
                    Begun::Done(end) => {
                        let _ = machine.apply(phase, &end);
                        self.project(machine)?;
                    }
                    Begun::Do(ticket) => {
                        let orchestrator = match orchestrator.knowing(&machine.data()) {
                            Ok(plan) => plan,
                            Err(missing) => {
                                let child = ticket.planned("child").map_err(bug)?;
                                let reason = Some(missing.to_string());
                                let end = ChildEnd::new(child, Outcome::Failure, reason);
                                let _ = machine.apply(phase, &end);
                                let steps = ground.steps(&self.place);
                                steps.finish(&key, &ticket, &steps.entry(&end)?)?;
                                continue;
                            }
                        };
                        let place = self.child(phase, attempt, &ticket)?;
                        let Some(place) = place else {
                            let _ = machine.apply(phase, &self.broke(&ticket)?);
                            continue;
                        };
                        let start: Option<CommitId> = match &ground.branch {
                            Some(_) => Some(ticket.planned("base").map_err(bug)?),
                            None => None,
                        };
                        let sender = sender.clone();
                        *running += 1;
                        scope.spawn(move || {
                            let end = self.run_phase(place, orchestrator, start, &sender);
                            let _ = sender.send(Said::Over { phase, key, ticket, end });
                        });
                    }
                }
            }
        }
    }

    /// Writes down what is said to a phase that is run again because it needs refinement.
    fn keep_resolution(&self, phase: usize, plan: &OrchestratorPlan) -> Result<()> {
        let Some(resolution) = &plan.resolution else { return Ok(()) };
        let name = &self.plan.phases[phase].name;
        let path = self.ground.dir().join(format!("resolutions/orch-{name}.md"));
        self.ground.write(&path, resolution)
    }

    fn child(&self, phase: usize, attempt: u32, ticket: &Ticket) -> Result<Option<LayerPlace>> {
        let name = &self.plan.phases[phase].name;
        let dir = attempt_dir(phase, name, usize::try_from(attempt).unwrap_or(usize::MAX));
        let run = ticket.planned("child").map_err(bug)?;
        // One that is over and only not on record here costs nothing more.
        let over = self.ground.journal.run(run)?.is_some_and(|run| run.state == RunState::Ended);
        let budget = if over { Some(self.place.budget) } else { self.share(phase)? };
        let Some(budget) = budget else { return Ok(None) };
        Ok(Some(LayerPlace {
            run,
            parent: Some(self.place.run),
            attempt,
            name: name.clone(),
            dir: dir.into(),
            depth: self.place.depth + 1,
            budget,
        }))
    }

    /// Sets aside what a phase may cost: its own cap, else an equal share of what is left for
    /// all that may still run. So phases that run at once can never promise away the same
    /// dollar twice.
    fn share(&self, phase: usize) -> Result<Option<BudgetId>> {
        let ground = self.ground;
        let children = ground.journal.children(self.place.run)?;
        let wanted = match self.plan.phases[phase].budget {
            Some(cap) => {
                let name = &self.plan.phases[phase].name;
                let own = children.iter().filter(|run| run.name == *name);
                let gone: Usd = own.map(|run| spent(ground.journal, run)).sum::<Result<Usd>>()?;
                let cap = cap + ground.raised;
                if gone >= cap {
                    return Ok(None);
                }
                Some(Usd::from_nanos(cap.as_nanos() - gone.as_nanos()))
            }
            None => {
                let over = |name: &str| {
                    let mut own = children.iter().filter(|run| run.name == name);
                    own.any(|run| run.outcome == Some(Outcome::Success))
                };
                let open = self.plan.phases.iter();
                let own = &self.plan.phases[phase].name;
                let open = open.filter(|one| one.budget.is_none());
                let open = open.filter(|one| one.name == *own || !over(&one.name)).count();
                let left = ground.budget().left(self.place.budget).usd;
                let share = i64::try_from(open.max(1)).unwrap_or(1);
                left.map(|left| Usd::from_nanos(left.as_nanos() / share))
            }
        };
        Ok(ground.reserve(self.place.budget, wanted).ok())
    }

    /// The end of a phase that had nothing to begin with.
    fn broke(&self, ticket: &Ticket) -> Result<ChildEnd> {
        let reason = Some("the budget is spent".to_owned());
        let end = ChildEnd::new(ticket.planned("child").map_err(bug)?, Outcome::NeedsHuman, reason);
        Ok(ChildEnd { park: Some(Park::Budget), budget_left: false, ..end })
    }

    fn run_phase(
        &self,
        place: LayerPlace,
        plan: OrchestratorPlan,
        start: Option<CommitId>,
        sender: &Sender<Said>,
    ) -> Result<ChildEnd> {
        let ground = self.ground;
        let mut progress = Caller(sender.clone());
        let (name, budget, attempt) = (place.name.clone(), place.budget, place.attempt);
        progress.update(&Update::layer("orch", &name, "STARTING".to_owned(), None));
        let prefix = format!("{name}.");
        let orchestrator = Orchestrator { ground, place, plan, prefix, start };
        let over = orchestrator.work(&mut progress);
        let told = over.and_then(|over| orchestrator.told(&over));
        ground.settle(budget, Usd::ZERO);
        let told = told.and_then(|end| {
            ground.land(&self.place, (&name, attempt), &orchestrator.plan, end, &mut progress)
        });
        let mut end = told?;
        end.budget_left = ground.has_left(self.place.budget);
        let status = spore_compose::status(end.outcome);
        progress.update(&Update::layer("orch", &name, status, end.reason.clone()));
        Ok(end)
    }

    fn listen(
        &self,
        machine: &mut Phases,
        receiver: &Receiver<Said>,
        running: &mut usize,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        match receiver.recv() {
            Ok(Said::Update(update)) => progress.update(&update),
            Ok(Said::Over { phase, key, ticket, end }) => {
                *running -= 1;
                let end = end?;
                if machine.apply(phase, &end) {
                    let steps = self.ground.steps(&self.place);
                    steps.finish(&key, &ticket, &steps.entry(&end)?)?;
                    self.project(machine)?;
                }
            }
            Err(_) => {
                *running = 0;
                return Err(Error::new(spore_model::Fault::Bug, "a phase went away silently"));
            }
        }
        Ok(())
    }

    fn finish(&self, ending: &PhasesEnding) -> Result<()> {
        let ground = self.ground;
        ground.write_json(&ground.dir().join("manifest.json"), &ending.manifest)?;
        let path = ground.path_of(Path::new("manifest.json"));
        let told = LayerEnding {
            outcome: ending.outcome,
            reason: Some(&ending.reason),
            points_at: Some(&path),
        };
        ground.end(&self.place, RunKind::Phase, &told, ending)
    }

    /// Writes the report, manifest and signal file of each phase whose fate is decided.
    fn project(&self, machine: &Phases) -> Result<()> {
        let ground = self.ground;
        for (at, report) in machine.settled() {
            let Some(last) = report.orchestrators.last() else { continue };
            let dir = ground.dir().join(phase_dir(at, &report.phase));
            ground.write_json(&dir.join("report.json"), &report)?;
            let manifest = ground.dir().join(&last.manifest);
            if let Ok(text) = spore_effects::files::read_text(manifest) {
                ground.write(&dir.join("manifest.json"), &text)?;
            }
            let path = ground.path_of(Path::new(&last.manifest));
            ground.signal(last.run, &report.phase, &ground.pointer(&path))?;
        }
        Ok(())
    }
}
