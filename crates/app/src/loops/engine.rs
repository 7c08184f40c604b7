//! Leads a loop: asks the machine what is next, performs it, and tells the machine what came of
//! it.
//!
//! One thread leads: it begins steps, feeds the machine and writes results. Each task that is
//! worked on has a thread of its own, and so has a landing.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

use serde_json::json;
use spore_model::{
    Begun, EffectClass, Fault, Outcome, Park, RunId, RunState, SourceKind, StepKey, Ticket,
    Timestamp, Usd,
};
use spore_pipeline::{LoopMove, LoopStop, LoopView, TaskLanding, TaskLoop, TaskStanding};
use spore_store::RunChange;

use super::active::ActiveLoop;
use super::caller::TaskCaller;
use super::landing::{LandingRest, LandingRun};
use super::record::{LoopRecord, TaskNews};
use super::tasks::{TaskRest, TaskRun, evidence_of};
use crate::base::error::bug;
use crate::base::run_refs;
use crate::base::step::Intent;
use crate::{Error, LoopUpdate, Progress, Result, Update};

/// How long the leading thread sleeps at most: Ctrl-C is seen then.
const TICK: Duration = Duration::from_millis(50);

/// What a thread has to say.
enum LoopNews {
    Update(Update),
    Rested { task: usize, key: StepKey, ticket: Ticket, rest: Result<TaskRest> },
    Landed { task: usize, key: StepKey, ticket: Ticket, rest: Result<LandingRest> },
}

/// A loop being led.
pub(crate) struct LoopLead<'a> {
    pub(crate) ground: &'a ActiveLoop<'a>,
    pub(crate) machine: TaskLoop,
    pub(crate) record: LoopRecord,
    /// Threads that are at work.
    open: usize,
    /// What all tasks have cost, as of the last that began or stopped.
    spent: Usd,
    /// The row says that the loop waits for a limit to be over.
    limited: bool,
    /// The branch has work that the record does not have yet.
    pub(crate) is_half_landed: bool,
}

impl<'a> LoopLead<'a> {
    /// Takes a loop up where its record ends.
    pub(crate) fn new(ground: &'a ActiveLoop<'a>) -> Result<Self> {
        let settings = ground.settings;
        let record = LoopRecord::read(ground.journal, ground.root, &settings.tasks)?;
        let before = &settings.before;
        let mut machine = TaskLoop::new(settings.rules.clone(), settings.tasks.clone(), &|task| {
            before.has_verified(task)
        })
        .with_agents(&|task| settings.agents(task, ground.config));
        // Long enough ago for every place to be cool.
        record.replay(&mut machine, settings, Timestamp::from_millis(0));
        let half_landed = half_landed(ground, &record, &machine)?;
        if let Some(task) = half_landed {
            machine.lands_first(task);
        }
        let is_half_landed = half_landed.is_some();
        let spent = settings.before.total_cost + ground.spent()?;
        Ok(Self { ground, machine, record, open: 0, spent, limited: false, is_half_landed })
    }

    /// Works until nothing more is to be started and all that was is at rest.
    pub(crate) fn work(&mut self, progress: &mut dyn Progress) -> Result<LoopStop> {
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let mut failed: Option<Error> = None;
            loop {
                let wait = match &failed {
                    Some(_) => None,
                    None => match self.advance(scope, &sender, progress) {
                        Ok(Advanced::Stop(stop)) => return Ok(stop),
                        Ok(Advanced::On) => continue,
                        Ok(Advanced::Wait(until)) => until,
                        Err(error) => {
                            failed = Some(error);
                            None
                        }
                    },
                };
                if self.open == 0
                    && let Some(error) = failed.take()
                {
                    return Err(error);
                }
                if let Err(error) = self.listen(&receiver, wait, progress) {
                    failed.get_or_insert(error);
                }
            }
        })
    }

    fn advance<'scope, 'env: 'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        sender: &Sender<LoopNews>,
        progress: &mut dyn Progress,
    ) -> Result<Advanced>
    where
        'a: 'scope,
    {
        let ground = self.ground;
        let view = LoopView {
            now: ground.now(),
            spent: self.spent,
            funded: ground.has_funds(),
            interrupted: ground.around.interrupt.is_raised(),
        };
        match self.machine.next(view) {
            LoopMove::Start { task, attempt } => {
                self.row_runs()?;
                self.start(task, attempt, scope, sender, progress)?;
            }
            LoopMove::Land { task, attempt } => {
                self.row_runs()?;
                self.land(task, attempt, scope, sender)?;
                self.tell_totals(progress);
            }
            LoopMove::Wait { until, limited } => {
                if let (Some(until), Some(backend)) = (until, limited) {
                    self.row_waits(&backend, until, progress)?;
                }
                return Ok(Advanced::Wait(until));
            }
            LoopMove::Stop(stop) => return Ok(Advanced::Stop(stop)),
        }
        Ok(Advanced::On)
    }

    fn start<'scope, 'env: 'scope>(
        &mut self,
        task: usize,
        attempt: u32,
        scope: &'scope Scope<'scope, 'env>,
        sender: &Sender<LoopNews>,
        progress: &mut dyn Progress,
    ) -> Result<()>
    where
        'a: 'scope,
    {
        let ground = self.ground;
        let known = &ground.settings.tasks[task];
        let key = StepKey::task(&known.key(known.edition), attempt);
        let intent = Intent::at(ground.around.clock.now())
            .plan("child", ground.around.ids.run())
            .with("base", self.record.tip(ground.settings).to_string());
        let ticket = match ground.steps().begin(&key, EffectClass::Keyed, intent)? {
            Begun::Do(ticket) => ticket,
            Begun::Done(result) => {
                self.machine.begun(task);
                let _ = self.machine.ended(task, &result, ground.now());
                self.record.news.push((task, TaskNews::Ended(result)));
                return Ok(());
            }
        };
        let child = ticket.planned("child").map_err(bug)?;
        let gone = ground.cost_of(child)?;
        let is_new = self.machine.standing(task) == &TaskStanding::Waiting;
        // Of several at once, a part is left for the verifiers of what lands.
        let landings = usize::from(ground.settings.rules.parallel > 1);
        let sharers = self.machine.sharers() + landings;
        self.machine.begun(task);
        self.record.waits.remove(&task);
        let Some(funds) = ground.fund(known, gone, sharers) else {
            let now = ground.now();
            self.machine.parked(task, Park::Budget, None, now);
            return Ok(());
        };
        if is_new {
            progress.update(&Update::Loop(LoopUpdate::TaskStarted {
                task: ground.label(task),
                title: crate::base::title::title(&known.text),
                attempt,
            }));
        }
        let base = ticket.planned("base").map_err(bug)?;
        let evidence = evidence_of(self.record.landing(task));
        let run = TaskRun { task, child, base, evidence, funds };
        let sender = sender.clone();
        let mut caller = self.caller(task, child, "begins", &sender);
        self.open += 1;
        scope.spawn(move || {
            let rest = ground.run_task(&run, &mut caller);
            drop(caller);
            let _ = sender.send(LoopNews::Rested { task, key, ticket, rest });
        });
        self.tell_totals(progress);
        Ok(())
    }

    /// What passes on what a task says.
    fn caller(
        &self,
        task: usize,
        run: RunId,
        phase: &str,
        sender: &Sender<LoopNews>,
    ) -> TaskCaller<LoopNews> {
        let (label, now) = (self.ground.label(task), self.ground.now());
        TaskCaller::new(label, run, phase, now, (sender.clone(), LoopNews::Update))
    }

    fn land<'scope, 'env: 'scope>(
        &mut self,
        task: usize,
        attempt: u32,
        scope: &'scope Scope<'scope, 'env>,
        sender: &Sender<LoopNews>,
    ) -> Result<()>
    where
        'a: 'scope,
    {
        let ground = self.ground;
        let known = &ground.settings.tasks[task];
        let id = known.key(known.edition);
        let key = StepKey::task_landing(&id, attempt);
        let tip = self.record.tip(ground.settings);
        let intent = Intent::at(ground.around.clock.now())
            .plan("merge", ground.around.ids.run())
            .with("tip", tip.to_string());
        self.machine.landing(task);
        self.record.waits.remove(&task);
        let ticket = match ground.steps().begin(&key, EffectClass::Keyed, intent)? {
            Begun::Do(ticket) => ticket,
            Begun::Done(landing) => {
                self.over(task, &landing);
                self.record.news.push((task, TaskNews::Landed(landing)));
                return Ok(());
            }
        };
        let result = self
            .record
            .result(task)
            .cloned()
            .ok_or_else(|| Error::new(Fault::Bug, "a task lands that was not worked on"))?;
        let merge = ground.turn((&id, attempt), &ticket, &tip)?;
        let run = LandingRun { result, tip, merge };
        let sender = sender.clone();
        let mut caller = self.caller(task, run.merge, "lands", &sender);
        self.open += 1;
        scope.spawn(move || {
            let rest = ground.land(&run, &mut caller);
            drop(caller);
            let _ = sender.send(LoopNews::Landed { task, key, ticket, rest });
        });
        Ok(())
    }

    fn listen(
        &mut self,
        receiver: &Receiver<LoopNews>,
        until: Option<Timestamp>,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let left = until.map_or(TICK, |until| until.since(self.ground.now()).min(TICK));
        let news = match receiver.recv_timeout(left.max(Duration::from_millis(1))) {
            Ok(news) => news,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(()),
        };
        match news {
            LoopNews::Update(update) => {
                progress.update(&update);
                Ok(())
            }
            LoopNews::Rested { task, key, ticket, rest } => {
                self.open -= 1;
                self.count()?;
                self.rested(task, &key, &ticket, rest?, progress)
            }
            LoopNews::Landed { task, key, ticket, rest } => {
                self.open -= 1;
                self.count()?;
                match rest? {
                    LandingRest::Over(landing) => {
                        self.landed(task, &key, &ticket, landing, progress)
                    }
                    LandingRest::Waits { park, until, limited, reason } => {
                        let until = self.until(park, until);
                        self.machine.landing_parked(task, park, until);
                        self.record.waits.insert(task, reason.clone());
                        self.meet_limit(task, park, until, limited, progress);
                        let task = self.ground.label(task);
                        progress.update(&Update::Loop(LoopUpdate::TaskWaits {
                            task,
                            park,
                            until,
                            reason,
                        }));
                        Ok(())
                    }
                }
            }
        }
    }

    fn rested(
        &mut self,
        task: usize,
        key: &StepKey,
        ticket: &Ticket,
        rest: TaskRest,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let ground = self.ground;
        let label = ground.label(task);
        match rest {
            TaskRest::Parked { park, until, limited, reason } => {
                let until = self.until(park, until);
                self.machine.parked(task, park, until, ground.now());
                self.meet_limit(task, park, until, limited, progress);
                let goes_on = park == Park::Budget && until.is_some();
                if park != Park::Interrupt && !goes_on {
                    progress.update(&Update::Loop(LoopUpdate::TaskWaits {
                        task: label,
                        park,
                        until,
                        reason,
                    }));
                }
            }
            TaskRest::Hindered { reason } => {
                let park = Park::Human;
                self.machine.parked(task, park, None, ground.now());
                self.record.waits.insert(task, reason.clone());
                progress.update(&Update::Loop(LoopUpdate::TaskWaits {
                    task: label,
                    park,
                    until: None,
                    reason,
                }));
            }
            TaskRest::Ended(mut result) => {
                result.number = self.machine.next_number();
                let steps = ground.steps();
                steps.finish(key, ticket, &steps.entry(&result)?)?;
                let odd = self.machine.ended(task, &result, ground.now());
                if result.outcome != Outcome::Success {
                    progress.update(&Update::Loop(LoopUpdate::TaskEnded {
                        task: label.clone(),
                        status: super::record::status_word(&result).to_owned(),
                        cost: result.cost,
                        reason: result.reason.clone().unwrap_or_default(),
                    }));
                }
                if let Some(odd) = odd {
                    progress.update(&Update::Loop(LoopUpdate::CostAnomaly {
                        task: label,
                        cost: odd.cost,
                        mean: odd.mean,
                    }));
                }
                self.record.news.push((task, TaskNews::Ended(result)));
                self.project()?;
            }
        }
        self.tell_totals(progress);
        Ok(())
    }

    fn count(&mut self) -> Result<()> {
        self.spent = self.ground.settings.before.total_cost + self.ground.spent()?;
        Ok(())
    }

    /// When a limit is over; where the agent does not say so, after a while.
    fn until(&self, park: Park, told: Option<Timestamp>) -> Option<Timestamp> {
        let pause = self.ground.config.task_loop.quota_pause;
        told.or_else(|| (park == Park::Quota).then(|| later(self.ground.now(), pause)))
    }

    fn landed(
        &mut self,
        task: usize,
        key: &StepKey,
        ticket: &Ticket,
        landing: TaskLanding,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let ground = self.ground;
        let landing = landing.numbered(self.machine.next_number());
        let steps = ground.steps();
        let mut entry = steps.entry(&landing)?;
        let label = ground.label(task);
        match &landing {
            TaskLanding::Landed { commit, .. } => {
                let branch = &ground.settings.branch;
                let id = &ground.settings.tasks[task].id;
                let payload = json!({ "branch": branch, "commit": commit, "task": id });
                let result = self.record.result(task);
                let run = result.map_or(ground.root, |result| result.run);
                entry.events.push(ground.event_of(run, SourceKind::Git, "commit.landed", payload));
                let cost = result.map(|result| result.cost).unwrap_or_default();
                progress.update(&Update::Loop(LoopUpdate::TaskLanded {
                    task: label,
                    commit: commit.to_string(),
                    branch: branch.clone(),
                    cost,
                }));
            }
            TaskLanding::Back { evidence, .. } => {
                progress.update(&Update::Loop(LoopUpdate::TaskBack {
                    task: label,
                    why: evidence.clone(),
                }));
            }
        }
        steps.finish(key, ticket, &entry)?;
        self.over(task, &landing);
        self.record.news.push((task, TaskNews::Landed(landing)));
        self.project()?;
        self.tell_totals(progress);
        Ok(())
    }

    /// A landing is over. Work that came back is not done again where the person took the task out.
    fn over(&mut self, task: usize, landing: &TaskLanding) {
        self.machine.landed(task, landing);
        if self.ground.settings.tasks[task].removed {
            self.machine.taken_out(task);
        }
    }

    /// The row says that the loop waits for a limit to be over, for those who look on.
    fn row_waits(
        &mut self,
        backend: &str,
        until: Timestamp,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        if self.limited {
            return Ok(());
        }
        self.limited = true;
        let reason = format!("{backend} is over its limit until {until}");
        let change = RunChange {
            state: Some(RunState::Parked),
            outcome: Some(Outcome::QuotaParked),
            park: Some(Some(Park::Quota)),
            reason: Some(reason.clone()),
            ..RunChange::default()
        };
        let payload = json!({ "park": Park::Quota, "reason": reason, "until": until });
        let event = self.ground.event(SourceKind::Runner, "run.parked", payload);
        self.ground.journal.update_run(self.ground.root, &change, &[event])?;
        progress
            .update(&Update::Loop(LoopUpdate::LoopWaits { backend: backend.to_owned(), until }));
        Ok(())
    }

    /// And that it waits no longer.
    fn row_runs(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.limited) {
            return Ok(());
        }
        let change =
            RunChange { state: Some(RunState::Running), park: Some(None), ..RunChange::default() };
        let event = self.ground.event(SourceKind::Runner, "run.resumed", json!({}));
        Ok(self.ground.journal.update_run(self.ground.root, &change, &[event])?)
    }

    /// Holds back what needs an agent that is over its limit, and tells those who look on for how
    /// long. `agent` is who met it; where no record says, it is the one that works on the task.
    fn meet_limit(
        &mut self,
        task: usize,
        park: Park,
        until: Option<Timestamp>,
        agent: Option<String>,
        progress: &mut dyn Progress,
    ) {
        if let (Park::Quota, Some(until)) = (park, until) {
            let backend = agent.unwrap_or_else(|| self.machine.backend(task).to_owned());
            self.machine.limited(&backend, until);
            let left = until.since(self.ground.now()).as_millis();
            progress.update(&Update::Loop(LoopUpdate::AgentLimited {
                backend,
                left_ms: u64::try_from(left).unwrap_or(u64::MAX),
            }));
        }
    }

    /// Tells how far the loop is.
    pub(crate) fn tell_totals(&self, progress: &mut dyn Progress) {
        let settings = self.ground.settings;
        let count = |which: fn(&TaskStanding) -> bool| {
            let all = (0..settings.tasks.len()).filter(|task| which(self.machine.standing(*task)));
            u32::try_from(all.count()).unwrap_or(u32::MAX)
        };
        progress.update(&Update::Loop(LoopUpdate::LoopTotals {
            verified: count(|s| matches!(s, TaskStanding::Landed | TaskStanding::Settled)),
            running: count(|s| matches!(s, TaskStanding::Running | TaskStanding::Landing)),
            fell_short: count(|s| matches!(s, TaskStanding::FellShort(_) | TaskStanding::Blocked)),
            of: u32::try_from(settings.tasks.len()).unwrap_or(u32::MAX),
            cost: self.spent,
            budget: settings.rules.budget,
        }));
    }

    fn project(&self) -> Result<()> {
        super::projection::project(self.ground, &self.record)
    }
}

/// Finds the task whose work the branch has although the record does not say so: the process that
/// brought it there was killed before it could write that down.
fn half_landed(
    ground: &ActiveLoop<'_>,
    record: &LoopRecord,
    machine: &TaskLoop,
) -> Result<Option<usize>> {
    let settings = ground.settings;
    let there = ground.repository.ref_target(&run_refs::branch_ref(&settings.branch))?;
    let Some(there) = there.filter(|there| *there != record.tip(settings)) else { return Ok(None) };
    for (at, task) in settings.tasks.iter().enumerate() {
        if let (TaskStanding::Verified, Some(result)) = (machine.standing(at), record.result(at))
            && ground.is_at(task, result, machine.attempt(at), &there)?
        {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// What came of asking the machine.
enum Advanced {
    /// Something was started.
    On,
    Wait(Option<Timestamp>),
    Stop(LoopStop),
}

fn later(now: Timestamp, pause: Duration) -> Timestamp {
    let millis = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_add(millis))
}
