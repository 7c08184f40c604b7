//! L3: a coordinator's phases, those that owe each other nothing at the same time.
//!
//! One thread leads: it begins steps, feeds the machine and writes results. Each phase that is
//! under way has a thread of its own, and tells the leading one what is worth telling.

mod resolver;
mod session_files;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use spore_compose::{
    ChildEnd, CoordinatorPlan, LedParts, LedRest, LedStep, OrchestratorPlan, Parked, PhaseNext,
    PhasePlan, PhaseReport, PhaseStep, Phases, PhasesEnding, attempt_dir, lead_key, lead_prompt,
    phase_dir, refinement,
};
use spore_model::{
    Begun, BudgetId, CommitId, EffectClass, Outcome, Park, Run, RunKind, RunState, StepKey, Ticket,
    Usd,
};

use spore_tools::layers::LedLayer;

use resolver::{PhaseResolver, Resolved};
use session_files::SessionWalk;

use super::flow::{ActiveFlow, LayerEnding, LayerPlace, spent};
use super::leading::{LayerLead, Led};
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

fn reports(machine: &Phases) -> Vec<(usize, PhaseReport)> {
    machine.settled().collect()
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
        let names: Vec<&str> = self.plan.phases.iter().map(|phase| &*phase.name).collect();
        let task = Some(format!("{}: {}", self.plan.coordinator, names.join(", ")));
        let details = Run { task, ..self.ground.blank(self.place.run, RunKind::Phase) };
        self.ground.open(&self.place, RunKind::Phase, &details)?;
        self.ground.recall_landings(&self.place, &names)?;
        let walk = SessionWalk::begin(self.ground, &self.place, &self.plan)?;
        if !self.plan.mode.is_tool() {
            return self.led(&walk, progress);
        }
        let mut machine = Phases::new(self.plan.clone());
        self.run_all(&mut machine, &walk, progress)?;
        match machine.rest() {
            PhaseNext::Park(parked) => Ok(PhasesOver::Parked(parked)),
            PhaseNext::Do(PhaseStep::Finish { ending }) | PhaseNext::End(ending) => {
                match self.ground.bring_home(&self.place, ending.outcome, progress)? {
                    Some(parked) => return Ok(PhasesOver::Parked(parked)),
                    None => self.finish(&ending, &walk)?,
                }
                Ok(PhasesOver::Ended(ending))
            }
            PhaseNext::Do(PhaseStep::Run { .. }) => {
                Err(Error::new(spore_model::Fault::Bug, "a phase is left over"))
            }
        }
    }

    fn run_all(
        &self,
        machine: &mut Phases,
        walk: &SessionWalk<'_>,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let mut running = Vec::new();
            let mut failed = None;
            loop {
                if failed.is_none()
                    && let Err(error) = self.start_due(machine, walk, scope, &sender, &mut running)
                {
                    failed = Some(error);
                }
                if running.is_empty() {
                    break;
                }
                if let Err(error) = self.listen(machine, walk, &receiver, &mut running, progress) {
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
        walk: &SessionWalk<'_>,
        scope: &'scope Scope<'scope, 'env>,
        sender: &Sender<Said>,
        running: &mut Vec<usize>,
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
                let mut intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
                if let Some(branch) = &ground.branch {
                    intent = intent.with("base", branch.tip().to_string());
                }
                match ground.steps(&self.place).begin(&key, EffectClass::Keyed, intent)? {
                    Begun::Done(end) if ground.has_lost(&self.place, &key, &end)? => {
                        let name = &self.plan.phases[phase].name;
                        let _ = sender.send(Said::Update(ground.told_lost(self.layer(), name)));
                        machine.lost(phase, &end);
                    }
                    Begun::Done(end) => {
                        let _ = machine.apply(phase, &end);
                        self.project(&reports(machine))?;
                        walk.settled(&reports(machine))?;
                    }
                    Begun::Do(ticket) if self.has_lost_ground(&key, &ticket)? => {
                        let name = &self.plan.phases[phase].name;
                        let _ = sender.send(Said::Update(ground.told_lost(self.layer(), name)));
                        let child = ticket.planned("child").map_err(bug)?;
                        machine.lost(phase, &ChildEnd::new(child, Outcome::Interrupted, None));
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
                                self.project(&reports(machine))?;
                                walk.settled(&reports(machine))?;
                                continue;
                            }
                        };
                        let place = self.child(phase, attempt, &ticket, running)?;
                        let Some(place) = place else {
                            let _ = machine.apply(phase, &self.broke(&ticket)?);
                            continue;
                        };
                        let start: Option<CommitId> = match &ground.branch {
                            Some(_) => Some(ticket.planned("base").map_err(bug)?),
                            None => None,
                        };
                        let sender = sender.clone();
                        running.push(phase);
                        walk.under_way()?;
                        scope.spawn(move || {
                            let end = self.run_phase(phase, place, orchestrator, start, &sender);
                            let _ = sender.send(Said::Over { phase, key, ticket, end });
                        });
                    }
                }
            }
        }
    }

    /// The word for what does a phase, and how deep that is.
    fn layer(&self) -> (&'static str, u32) {
        ("orch", self.place.depth + 1)
    }

    /// Returns whether a phase that began earlier has lost what it started from.
    fn has_lost_ground(&self, key: &StepKey, ticket: &Ticket) -> Result<bool> {
        let child = ticket.planned("child").map_err(bug)?;
        Ok(ticket.attempt > 1 && self.ground.has_lost_ground(&self.place, key, child)?)
    }

    fn child(
        &self,
        phase: usize,
        attempt: u32,
        ticket: &Ticket,
        running: &[usize],
    ) -> Result<Option<LayerPlace>> {
        let name = &self.plan.phases[phase].name;
        let dir = attempt_dir(phase, name, usize::try_from(attempt).unwrap_or(usize::MAX));
        let run = ticket.planned("child").map_err(bug)?;
        // One that is over and only not on record here costs nothing more.
        let over = self.ground.journal.run(run)?.is_some_and(|run| run.state == RunState::Ended);
        let budget = if over { Some(self.place.budget) } else { self.share(phase, running)? };
        let Some(budget) = budget else { return Ok(None) };
        Ok(Some(LayerPlace {
            run,
            parent: Some(self.place.run),
            attempt,
            name: name.clone(),
            dir: self.place.dir.join(dir),
            depth: self.place.depth + 1,
            budget,
        }))
    }

    /// Sets aside what a phase may cost: its own cap, else an equal share of what is left for
    /// all that may still run; those that are `running` have theirs. So phases that run at once can
    /// never promise away the same dollar twice.
    fn share(&self, phase: usize, running: &[usize]) -> Result<Option<BudgetId>> {
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
                let is_open = |&(at, one): &(usize, &PhasePlan)| {
                    let waits = !running.contains(&at) && !over(&one.name);
                    one.budget.is_none() && (at == phase || waits)
                };
                let open = self.plan.phases.iter().enumerate().filter(is_open).count();
                let left = ground.budget().left(self.place.budget).usd;
                let share = i64::try_from(open.max(1)).unwrap_or(1);
                left.map(|left| Usd::from_nanos(left.as_nanos() / share))
            }
        };
        Ok(ground.reserve(self.place.budget, wanted).ok())
    }

    /// Gives back what was set aside for a phase. One that was over before had nothing of its own.
    fn give_back(&self, budget: BudgetId) {
        if budget != self.place.budget {
            self.ground.settle(budget, Usd::ZERO);
        }
    }

    /// The end of a phase that had nothing to begin with.
    fn broke(&self, ticket: &Ticket) -> Result<ChildEnd> {
        let reason = Some("the budget is spent".to_owned());
        let end = ChildEnd::new(ticket.planned("child").map_err(bug)?, Outcome::NeedsHuman, reason);
        Ok(ChildEnd { park: Some(Park::Budget), budget_left: false, ..end })
    }

    fn run_phase(
        &self,
        phase: usize,
        place: LayerPlace,
        plan: OrchestratorPlan,
        start: Option<CommitId>,
        sender: &Sender<Said>,
    ) -> Result<ChildEnd> {
        let (ground, began) = (self.ground, self.ground.now());
        let mut progress = Caller(sender.clone());
        let (name, budget, attempt) = (place.name.clone(), place.budget, place.attempt);
        let word = spore_compose::started(attempt);
        progress.update(&ground.told_layer(self.layer(), &name, word, None, None));
        let (coordinator, phase) = (&self.place, &self.plan.phases[phase]);
        let resolver = PhaseResolver { ground, coordinator, phase };
        let resolution = match resolver.resolve(&place, &plan, start.as_ref(), &mut progress)? {
            Resolved::With(resolution) => resolution,
            Resolved::Parked(parked) => {
                self.give_back(budget);
                let end = ChildEnd::new(place.run, parked.outcome, Some(parked.reason));
                return Ok(ChildEnd { park: Some(parked.park), ..end });
            }
        };
        let plan = OrchestratorPlan { resolution, ..plan };
        let prefix = format!("{name}.");
        let orchestrator = Orchestrator { ground, place, plan, prefix, start };
        let over = orchestrator.work(&mut progress);
        let told = over.and_then(|over| orchestrator.told(&over));
        self.give_back(budget);
        let told = told.and_then(|end| {
            ground.land(&self.place, (&name, attempt), &orchestrator.plan, end, &mut progress)
        });
        let mut end = told?;
        end.budget_left = ground.has_left(self.place.budget);
        // Also of an attempt that is tried again, before its end is on record.
        if end.outcome == Outcome::NeedsRefinement && end.park.is_none() {
            self.keep_request_of(&name, &end, attempt)?;
        }
        let status = spore_compose::status(end.outcome);
        let why = end.reason.clone();
        progress.update(&ground.told_layer(self.layer(), &name, status, why, Some(began)));
        Ok(end)
    }

    fn listen(
        &self,
        machine: &mut Phases,
        walk: &SessionWalk<'_>,
        receiver: &Receiver<Said>,
        running: &mut Vec<usize>,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        match receiver.recv() {
            Ok(Said::Update(update)) => progress.update(&update),
            Ok(Said::Over { phase, key, ticket, end }) => {
                running.retain(|one| *one != phase);
                let end = end?;
                let before = machine.settled().count();
                if machine.apply(phase, &end) {
                    let steps = self.ground.steps(&self.place);
                    steps.finish(&key, &ticket, &steps.entry(&end)?)?;
                    self.project(&reports(machine))?;
                    match machine.settled().count() > before {
                        true => walk.settled(&reports(machine))?,
                        false => walk.refined()?,
                    }
                    if !running.is_empty() {
                        walk.under_way()?;
                    }
                }
            }
            Err(_) => {
                running.clear();
                return Err(Error::new(spore_model::Fault::Bug, "a phase went away silently"));
            }
        }
        Ok(())
    }

    /// Where its files are: the flow's own directory, or a part of it below a campaign.
    fn dir(&self) -> PathBuf {
        self.ground.dir().join(&self.place.dir)
    }

    fn finish(&self, ending: &PhasesEnding, walk: &SessionWalk<'_>) -> Result<()> {
        let ground = self.ground;
        walk.complete(ending)?;
        ground.write_json(&self.dir().join("manifest.json"), &ending.manifest)?;
        let path = ground.path_of(&self.place.dir.join("manifest.json"));
        let told = LayerEnding {
            outcome: ending.outcome,
            reason: Some(&ending.reason),
            points_at: Some(&path),
        };
        ground.end(&self.place, RunKind::Phase, &told, ending)
    }

    /// Writes what a phase asks of the layer above the coordinator, or of a person.
    fn keep_request(&self, at: usize, report: &PhaseReport) -> Result<()> {
        let attempts = u32::try_from(report.orchestrators.len()).unwrap_or(u32::MAX);
        let key = PhaseStep::key_of(&self.plan, at, attempts);
        let end: Option<ChildEnd> = self.ground.steps(&self.place).result(&key)?;
        let Some(end) = end else { return Ok(()) };
        self.keep_request_of(&report.phase, &end, attempts)
    }

    fn keep_request_of(&self, phase: &str, end: &ChildEnd, attempt: u32) -> Result<()> {
        let path = self.ground.dir().join(format!("refinements/orch-{phase}.md"));
        self.ground.write(&path, &refinement(phase, end, attempt))
    }

    /// Writes the report, manifest and signal file of each phase whose fate is decided.
    fn project(&self, reports: &[(usize, PhaseReport)]) -> Result<()> {
        let ground = self.ground;
        for (at, report) in reports {
            let at = *at;
            let Some(last) = report.orchestrators.last() else { continue };
            let dir = self.dir().join(phase_dir(at, &report.phase));
            ground.write_json(&dir.join("report.json"), &report)?;
            let manifest = self.dir().join(&last.manifest);
            if let Ok(text) = spore_effects::files::read_text(manifest) {
                ground.write(&dir.join("manifest.json"), &text)?;
            }
            if matches!(report.exit_code, Some(10 | 11)) {
                self.keep_request(at, report)?;
            }
            let path = ground.path_of(&self.place.dir.join(&last.manifest));
            ground.signal(last.run, &report.phase, &ground.pointer(&path))?;
        }
        Ok(())
    }
}

impl Coordinator<'_> {
    /// Lets a session lead the phases.
    fn led(&self, walk: &SessionWalk<'_>, progress: &mut dyn Progress) -> Result<PhasesOver> {
        let ground = self.ground;
        let chosen = LedParts::phases(&self.plan);
        let mut led = LedPhases { own: self, walk, chosen, ran: Vec::new() };
        led.recall()?;
        let part = |phase: &PhasePlan| {
            let waits = match phase.depends_on.is_empty() {
                true => String::new(),
                false => format!("waits for {}", phase.depends_on.join(", ")),
            };
            (phase.name.clone(), waits)
        };
        let parts: Vec<(String, String)> = self.plan.phases.iter().map(part).collect();
        let about = self.plan.description.as_deref().unwrap_or_default();
        let lead = LayerLead {
            ground,
            place: &self.place,
            layer: LedLayer::Phases,
            key: lead_key(1),
            task: lead_prompt((&self.plan.coordinator, about), ("run_stage", "phase"), &parts),
        };
        let leader = match lead.work(&mut led, progress)? {
            Ok(leader) => leader,
            Err(parked) => return Ok(PhasesOver::Parked(parked)),
        };
        let (outcome, reason) = match led.chosen.rest() {
            LedRest::Park(parked) => return Ok(PhasesOver::Parked(parked)),
            LedRest::End(outcome, reason) => (outcome, leader.explains(outcome, reason)),
        };
        if let Some(parked) = ground.bring_home(&self.place, outcome, progress)? {
            return Ok(PhasesOver::Parked(parked));
        }
        let ending = led.chosen.phases_ending(&self.plan, outcome, reason);
        // What it might have had run again is over with its session.
        let reports = led.chosen.reports(&self.plan);
        self.project(&reports)?;
        walk.settled(&reports)?;
        self.finish(&ending, walk)?;
        Ok(PhasesOver::Ended(ending))
    }

    /// Runs one phase in a thread of its own, and passes on what it says meanwhile.
    fn run_alone(
        &self,
        phase: usize,
        place: LayerPlace,
        plan: OrchestratorPlan,
        start: Option<CommitId>,
        progress: &mut dyn Progress,
    ) -> Result<ChildEnd> {
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let running = scope.spawn(move || self.run_phase(phase, place, plan, start, &sender));
            while let Ok(said) = receiver.recv() {
                if let Said::Update(update) = said {
                    progress.update(&update);
                }
            }
            let silent = || Error::new(spore_model::Fault::Bug, "a phase went away silently");
            running.join().map_err(|_| silent())?
        })
    }
}

struct LedPhases<'o, 'a> {
    own: &'o Coordinator<'a>,
    walk: &'o SessionWalk<'a>,
    chosen: LedParts,
    ran: Vec<(String, u32)>,
}

impl LedPhases<'_, '_> {
    /// Takes what is on record.
    fn recall(&mut self) -> Result<()> {
        let own = self.own;
        loop {
            let mut is_fed = false;
            for phase in &own.plan.phases {
                let Ok(step) = self.chosen.choose(&phase.name) else { continue };
                let key = PhaseStep::key_of(&own.plan, step.part, step.attempt);
                let end: Option<ChildEnd> = own.ground.steps(&own.place).result(&key)?;
                let Some(end) = end else { continue };
                is_fed = true;
                if own.ground.has_lost(&own.place, &key, &end)? {
                    self.chosen.lost(step.part, &end);
                    continue;
                }
                self.chosen.apply(step.part, &end);
                self.announce(step.part, step.attempt, &end)?;
                self.ran.push((phase.name.clone(), step.attempt));
            }
            if !is_fed {
                return self.settled();
            }
        }
    }

    /// Writes the reports of all phases that are not run again.
    fn settled(&self) -> Result<()> {
        let reports = self.chosen.settled(&self.own.plan);
        self.own.project(&reports)?;
        self.walk.settled(&reports)
    }

    /// Writes the signal of a phase that is over, also for a process that was killed before it could.
    fn announce(&self, phase: usize, attempt: u32, end: &ChildEnd) -> Result<()> {
        let (ground, name) = (self.own.ground, &self.own.plan.phases[phase].name);
        let times = usize::try_from(attempt).unwrap_or(usize::MAX);
        let dir = self.own.place.dir.join(attempt_dir(phase, name, times));
        let manifest = ground.path_of(&dir.join("manifest.json"));
        ground.signal(end.run, name, &ground.pointer(&manifest))
    }
}

impl Led for LedPhases<'_, '_> {
    fn run(
        &mut self,
        name: &str,
        progress: &mut dyn Progress,
    ) -> Result<std::result::Result<ChildEnd, String>> {
        let own = self.own;
        let step = match self.chosen.choose(name) {
            Ok(step) => step,
            Err(why) => return Ok(Err(why)),
        };
        let (ground, phase, attempt) = (own.ground, step.part, step.attempt);
        let (steps, key) = (ground.steps(&own.place), PhaseStep::key_of(&own.plan, phase, attempt));
        let mut intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        if let Some(branch) = &ground.branch {
            intent = intent.with("base", branch.tip().to_string());
        }
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(end) if ground.has_lost(&own.place, &key, &end)? => {
                self.chosen.lost(phase, &end);
                return self.run(name, progress);
            }
            Begun::Done(end) => {
                self.chosen.apply(phase, &end);
                return Ok(Ok(end));
            }
            Begun::Do(ticket) => ticket,
        };
        let planned = own.plan.phases[phase].orchestrator.knowing(&self.chosen.phase_data());
        let end = match planned {
            Err(missing) => {
                let child = ticket.planned("child").map_err(bug)?;
                ChildEnd::new(child, Outcome::Failure, Some(missing.to_string()))
            }
            Ok(plan) => {
                let resolution = step.resolution.or_else(|| plan.resolution.clone());
                // What its earlier attempts did is neither done nor counted anew.
                let LedStep { spent, passed, line, .. } = step;
                let plan = OrchestratorPlan { resolution, spent, passed, line, ..plan };
                let start = match &ground.branch {
                    Some(_) => Some(ticket.planned("base").map_err(bug)?),
                    None => None,
                };
                self.walk.under_way()?;
                match own.child(phase, attempt, &ticket, &[])? {
                    Some(place) => own.run_alone(phase, place, plan, start, progress)?,
                    None => own.broke(&ticket)?,
                }
            }
        };
        let before = self.chosen.settled(&own.plan).len();
        if self.chosen.apply(phase, &end) {
            steps.finish(&key, &ticket, &steps.entry(&end)?)?;
            self.ran.push((name.to_owned(), attempt));
            self.announce(phase, attempt, &end)?;
            match self.chosen.settled(&own.plan).len() > before {
                true => self.settled()?,
                false => self.walk.refined()?,
            }
        }
        Ok(Ok(end))
    }

    fn status(&self) -> String {
        self.chosen.status()
    }

    fn waits(&self) -> Option<Parked> {
        self.chosen.waits()
    }

    fn ran(&self) -> Vec<(String, u32)> {
        self.ran.clone()
    }
}
