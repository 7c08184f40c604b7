//! A stage that is done for several things: a part for each, some of them at the same time.
//!
//! Each part starts from where the stage is by then, and what it changed is joined to that, one
//! part after the other. A part that does not fit what others changed is run again on top of it.
//! Verified work is joined by the merge queue, with the project's checks; other work as it is, for
//! the stages after it to check.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use spore_compose::{
    ChildEnd, Diagnosis, FlowData, PartStep, Parts, PartsEnding, PartsNext, StagePlan, StageWork,
    WorkLine, read_items,
};
use spore_git::Merged;
use spore_model::{
    Begun, BudgetId, CommitId, EffectClass, Fault, Outcome, Park, Run, RunKind, StepKey, Ticket,
    Usd,
};

use super::turn::StageTurn;
use crate::base::error::bug;
use crate::base::run_refs;
use crate::flows::flow::{ActiveFlow, LayerEnding, LayerPlace};
use crate::flows::landing::{JoinAsked, planning_merges};
use crate::run::landing::apply::{CommitJudge, CommitStory, commit_message};
use crate::run::landing::merge::MergeEnd;
use crate::{Error, Progress, Result, Update};

/// A stage that is done for several things.
pub(crate) struct FanOut<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: LayerPlace,
    pub(crate) plan: &'a StagePlan,
    pub(crate) data: &'a FlowData,
    pub(crate) max_attempts: u32,
    pub(crate) resolution: Option<&'a str>,
    /// What an earlier round was not good enough for.
    pub(crate) diagnosis: Option<&'a Diagnosis>,
    /// What those before it left.
    pub(crate) start: Option<CommitId>,
}

/// The parts while they are under way.
struct PartsUnderWay {
    machine: Parts,
    plans: Vec<StagePlan>,
    items: Vec<String>,
    /// Where the stage is by now.
    tip: Option<CommitId>,
    /// What all of them may cost.
    budget: BudgetId,
    running: usize,
}

/// What a part's thread has to say.
enum PartSaid {
    Update(Update),
    Over { step: PartStep, ticket: Ticket, node: BudgetId, end: Box<Result<ChildEnd>> },
}

/// A part's progress goes to the leading thread.
struct PartCaller(Sender<PartSaid>);

impl Progress for PartCaller {
    fn update(&mut self, update: &Update) {
        // The receiver is gone only when the whole flow is being given up.
        let _ = self.0.send(PartSaid::Update(update.clone()));
    }
}

impl FanOut<'_> {
    /// Leads the parts to their end, or to where they have to wait.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<ChildEnd> {
        let task = Some(format!("{} for each", self.plan.name));
        let base_commit = self.start.clone();
        let details =
            Run { task, base_commit, ..self.ground.blank(self.place.run, RunKind::Stage) };
        self.ground.open(&self.place, RunKind::Stage, &details)?;
        let items = self.items()?;
        let planned = items.and_then(|items| {
            let plans = items.iter().map(|item| self.plan.for_item(item, self.data));
            let plans: std::result::Result<Vec<_>, _> = plans.collect();
            Ok((plans.map_err(|missing| missing.to_string())?, items))
        });
        let (plans, items) = match planned {
            Ok(planned) => planned,
            Err(reason) => return self.refused(reason),
        };
        let Some(budget) = self.share_of_stage()? else { return Ok(self.broke()) };
        let mut way = PartsUnderWay {
            machine: Parts::new(self.plan, &items, self.max_attempts),
            tip: self.recalled(items.len())?,
            plans,
            items,
            budget,
            running: 0,
        };
        let led = self.run_all(&mut way, progress);
        self.ground.settle(budget, Usd::ZERO);
        led?;
        let over = |outcome, reason| ChildEnd {
            budget_left: self.ground.has_left(self.place.budget),
            ..ChildEnd::new(self.place.run, outcome, Some(reason))
        };
        match way.machine.rest() {
            PartsNext::Park(parked) => {
                Ok(ChildEnd { park: Some(parked.park), ..over(parked.outcome, parked.reason) })
            }
            PartsNext::End(ending) => {
                self.close(&ending)?;
                let line = match (&self.start, &way.tip) {
                    (Some(base), Some(tip)) if base != tip => {
                        Some(WorkLine { base: base.clone(), tip: tip.clone() })
                    }
                    _ => None,
                };
                let (outcome, reason, parts) = (ending.outcome, ending.reason, ending.parts);
                // What holds stays, although other parts fail.
                let line = line.filter(|_| matches!(outcome, Outcome::Success | Outcome::Partial));
                let first = parts.iter().find_map(|part| part.artifact.clone());
                let artifact = first.filter(|_| outcome == Outcome::Success);
                Ok(ChildEnd { parts, line, artifact, ..over(outcome, reason) })
            }
        }
    }

    /// What it is done for, settled once.
    fn items(&self) -> Result<std::result::Result<Vec<String>, String>> {
        let Some(each) = &self.plan.each else {
            return Err(Error::new(Fault::Bug, "a stage is done for nothing"));
        };
        let path = match self.plan.list_file(self.data) {
            Ok(None) => return Ok(Ok(each.items.clone())),
            Ok(Some(path)) => path,
            Err(missing) => return Ok(Err(missing.to_string())),
        };
        let key = StepKey::new("items".to_owned()).map_err(bug)?;
        self.ground.steps(&self.place).once(&key, |_, _| {
            let text = self.ground.text_at(self.start.as_ref(), &path)?;
            Ok(match text {
                None => Err(format!("there is no {path} that lists what it is done for")),
                Some(text) => read_items(&path, &text, each.max_items),
            })
        })
    }

    /// Where the parts that are over have brought the stage, by the record.
    fn recalled(&self, count: usize) -> Result<Option<CommitId>> {
        let Some(start) = &self.start else { return Ok(None) };
        let steps = self.ground.steps(&self.place);
        let mut lines: Vec<WorkLine> = Vec::new();
        for part in 0..count {
            for attempt in 1.. {
                let key = PartStep { part, attempt, diagnosis: None }.key();
                let Some(end) = steps.result::<ChildEnd>(&key)? else {
                    // One that was given up has no result, and others follow it.
                    match self.ground.journal.step(self.place.run, &key)? {
                        Some(_) => continue,
                        None => break,
                    }
                };
                let holds = end.outcome == Outcome::Success
                    && !self.ground.has_lost(&self.place, &key, &end)?;
                lines.extend(end.line.filter(|_| holds));
            }
        }
        let mut tip = start.clone();
        while let Some(next) = lines.iter().find(|line| line.base == tip) {
            tip = next.tip.clone();
        }
        Ok(Some(tip))
    }

    fn run_all(&self, way: &mut PartsUnderWay, progress: &mut dyn Progress) -> Result<()> {
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            let mut failed = None;
            loop {
                if failed.is_none()
                    && let Err(error) = self.start_due(way, scope, &sender)
                {
                    failed = Some(error);
                }
                if way.running == 0 {
                    break;
                }
                if let Err(error) = self.listen(way, &receiver, progress) {
                    failed.get_or_insert(error);
                }
            }
            failed.map_or(Ok(()), Err)
        })
    }

    /// Begins every part that is due; those with a result on record are over at once.
    fn start_due<'scope, 'env>(
        &'env self,
        way: &mut PartsUnderWay,
        scope: &'scope Scope<'scope, 'env>,
        sender: &Sender<PartSaid>,
    ) -> Result<()> {
        loop {
            let due = way.machine.due();
            if due.is_empty() {
                return Ok(());
            }
            for step in due {
                let mut intent =
                    planning_merges(self.ground).plan("child", self.ground.around.ids.run());
                if let Some(tip) = &way.tip {
                    intent = intent.with("base", tip.to_string());
                }
                let steps = self.ground.steps(&self.place);
                let ticket = match steps.begin(&step.key(), EffectClass::Keyed, intent)? {
                    Begun::Done(end) if self.ground.has_lost(&self.place, &step.key(), &end)? => {
                        let told = self
                            .ground
                            .told_lost(("exec", self.place.depth + 1), &self.name(step.part));
                        let _ = sender.send(PartSaid::Update(told));
                        way.machine.lost(&step);
                        continue;
                    }
                    Begun::Done(end) => {
                        let _ = way.machine.apply(&step, &end);
                        self.signal(step.part, &end)?;
                        continue;
                    }
                    Begun::Do(ticket) => ticket,
                };
                if self.has_lost_ground(&step, &ticket)? {
                    let told = self
                        .ground
                        .told_lost(("exec", self.place.depth + 1), &self.name(step.part));
                    let _ = sender.send(PartSaid::Update(told));
                    way.machine.lost(&step);
                    continue;
                }
                let Some(node) = self.share_of_part(way) else {
                    let _ = way.machine.apply(&step, &self.broke());
                    continue;
                };
                let place = self.child(&step, &ticket, node)?;
                let base: Option<CommitId> = match &self.start {
                    Some(_) => Some(ticket.planned("base").map_err(bug)?),
                    None => None,
                };
                let (plan, item) = (way.plans[step.part].clone(), way.items[step.part].clone());
                let sender = sender.clone();
                way.running += 1;
                scope.spawn(move || {
                    let mut progress = PartCaller(sender.clone());
                    let end =
                        self.run_part(&plan, (place, &item), &step, base.as_ref(), &mut progress);
                    let _ = sender.send(PartSaid::Over { step, ticket, node, end: Box::new(end) });
                });
            }
        }
    }

    /// Returns whether a part that began earlier has lost what it started from.
    fn has_lost_ground(&self, step: &PartStep, ticket: &Ticket) -> Result<bool> {
        let child = ticket.planned("child").map_err(bug)?;
        let key = step.key();
        Ok(ticket.attempt > 1 && self.ground.has_lost_ground(&self.place, &key, child)?)
    }

    fn run_part(
        &self,
        plan: &StagePlan,
        (place, item): (LayerPlace, &str),
        step: &PartStep,
        tip: Option<&CommitId>,
        progress: &mut dyn Progress,
    ) -> Result<ChildEnd> {
        let (name, layer) = (place.name.clone(), ("exec", place.depth));
        let word = spore_compose::started(step.attempt);
        let told = self.ground.told_layer(layer, &name, word, Some(item.to_owned()), None);
        progress.update(&told);
        let began = self.ground.now();
        let diagnosis = step.diagnosis.as_ref().or(self.diagnosis);
        let (ground, resolution) = (self.ground, self.resolution);
        let turn = StageTurn { ground, plan, resolution, diagnosis, tip, since: None };
        let asking = place.clone();
        let end = ground.answered(&asking, turn.work(place, progress)?)?;
        let status = spore_compose::status(end.outcome);
        let why = end.reason.clone();
        progress.update(&ground.told_layer(layer, &name, status, why, Some(began)));
        Ok(end)
    }

    fn listen(
        &self,
        way: &mut PartsUnderWay,
        receiver: &Receiver<PartSaid>,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        match receiver.recv() {
            Ok(PartSaid::Update(update)) => progress.update(&update),
            Ok(PartSaid::Over { step, ticket, node, end }) => {
                way.running -= 1;
                self.ground.settle(node, Usd::ZERO);
                let end = self.join(way, &step, &ticket, (*end)?, progress)?;
                let budget_left = self.ground.has_left(way.budget);
                let end = ChildEnd { budget_left, ..end };
                if way.machine.apply(&step, &end) {
                    let steps = self.ground.steps(&self.place);
                    steps.finish(&step.key(), &ticket, &steps.entry(&end)?)?;
                    if let (Some(line), Outcome::Success) = (&end.line, end.outcome) {
                        way.tip = Some(line.tip.clone());
                    }
                    self.signal(step.part, &end)?;
                }
            }
            Err(_) => {
                way.running = 0;
                return Err(Error::new(Fault::Bug, "a part went away silently"));
            }
        }
        Ok(())
    }

    /// Brings what a part changed to where the stage is by now.
    fn join(
        &self,
        way: &PartsUnderWay,
        step: &PartStep,
        ticket: &Ticket,
        end: ChildEnd,
        progress: &mut dyn Progress,
    ) -> Result<ChildEnd> {
        let line = end.line.clone().filter(|_| end.outcome == Outcome::Success);
        let (Some(line), Some(tip), Some(branch)) = (line, &way.tip, &self.ground.branch) else {
            return Ok(end);
        };
        if line.base == *tip {
            return Ok(end);
        }
        let does_not_fit = |why: String, diagnosis: String| ChildEnd {
            outcome: Outcome::NeedsRefinement,
            reason: Some(format!("it does not fit what others of them changed: {why}")),
            diagnosis,
            line: None,
            ..end.clone()
        };
        let words = format!("{} {}", self.plan.name, way.items[step.part]);
        if let StageWork::Orchestrate(_) = self.plan.work {
            let asked = JoinAsked {
                place: &self.place,
                owner: end.run,
                words: &words,
                line: &line,
                onto: tip,
                stage: &way.plans[step.part],
            };
            return Ok(match self.ground.joined(ticket, &asked, progress)? {
                MergeEnd::Landed(work) => {
                    let line = WorkLine { base: tip.clone(), tip: work.commit };
                    ChildEnd { line: Some(line), ..end }
                }
                MergeEnd::Conflict { evidence, .. } | MergeEnd::Red { evidence } => {
                    does_not_fit(evidence.reason.clone(), evidence.to_markdown())
                }
                MergeEnd::Apart { reason } | MergeEnd::Blocked { reason } => {
                    does_not_fit(reason, String::new())
                }
                MergeEnd::Waits { outcome, park, reason } => {
                    let end = ChildEnd { outcome, reason: Some(reason), ..end };
                    ChildEnd { park: Some(park), ..end }
                }
            });
        }
        let repository = &branch.repository;
        let tree = match repository.transplant(&line.base, &line.tip, tip)? {
            Merged::Clean(tree) => tree,
            Merged::Conflicts { files, .. } => {
                return Ok(does_not_fit(files.join(", "), String::new()));
            }
        };
        if tree == repository.tree_of(tip)? {
            return Ok(ChildEnd { line: None, ..end });
        }
        let diff = repository.diff(&repository.tree_of(tip)?, &tree, 0)?;
        let changed: Vec<String> = diff.files.into_iter().map(|file| file.path).collect();
        let message = commit_message(&CommitStory {
            task: &words,
            subject: "flow: ",
            run: end.run,
            tree: &tree,
            said: "",
            changed: &changed,
            judged: CommitJudge::Unjudged { role: "flow" },
        });
        let message = self.ground.around.secrets().strike(&message).into_owned();
        let commit = repository.commit_tree(&tree, tip, &message, ticket.time().map_err(bug)?)?;
        repository.set_ref(&run_refs::own(end.run, "joined"), &commit)?;
        let line = WorkLine { base: tip.clone(), tip: commit };
        Ok(ChildEnd { line: Some(line), ..end })
    }

    fn name(&self, part: usize) -> String {
        format!("{}.{}", self.place.name, part + 1)
    }

    fn child(&self, step: &PartStep, ticket: &Ticket, budget: BudgetId) -> Result<LayerPlace> {
        let dir: PathBuf = format!("parts/{:03}/attempt-{}", step.part + 1, step.attempt).into();
        Ok(LayerPlace {
            run: ticket.planned("child").map_err(bug)?,
            parent: Some(self.place.run),
            attempt: step.attempt,
            name: self.name(step.part),
            dir: self.place.dir.join(dir),
            depth: self.place.depth + 1,
            budget,
        })
    }

    fn signal(&self, part: usize, end: &ChildEnd) -> Result<()> {
        let pointer = self.ground.points_at(end.artifact.as_deref(), end.artifact_mark.as_ref());
        self.ground.signal(end.run, &self.name(part), &pointer)
    }

    /// Sets aside what all parts together may cost: the cap of the stage, else all that is left.
    fn share_of_stage(&self) -> Result<Option<BudgetId>> {
        let ground = self.ground;
        let wanted = match self.plan.budget {
            None => None,
            Some(cap) => {
                let gone = ground.cost_of(self.place.run)?;
                let cap = cap + ground.raised;
                if gone >= cap {
                    return Ok(None);
                }
                Some(Usd::from_nanos(cap.as_nanos() - gone.as_nanos()))
            }
        };
        Ok(ground.reserve(self.place.budget, wanted).ok())
    }

    /// An equal share for each part that may still cost something, so that parts which run at once
    /// never promise away the same dollar twice.
    fn share_of_part(&self, way: &PartsUnderWay) -> Option<BudgetId> {
        let left = self.ground.budget().left(way.budget).usd;
        let open = i64::try_from((way.machine.open() - way.running).max(1)).unwrap_or(1);
        let wanted = left.map(|left| Usd::from_nanos(left.as_nanos() / open));
        self.ground.reserve(way.budget, wanted).ok()
    }

    /// The end of a stage that has nothing to begin with.
    fn broke(&self) -> ChildEnd {
        let reason = Some("the budget is spent".to_owned());
        let end = ChildEnd::new(self.place.run, Outcome::NeedsHuman, reason);
        ChildEnd { park: Some(Park::Budget), budget_left: false, ..end }
    }

    /// Ends a stage whose list cannot be used.
    fn refused(&self, reason: String) -> Result<ChildEnd> {
        let outcome = Outcome::Failure;
        self.close(&PartsEnding { outcome, reason: reason.clone(), parts: Vec::new() })?;
        Ok(ChildEnd::new(self.place.run, outcome, Some(reason)))
    }

    fn close(&self, ending: &PartsEnding) -> Result<()> {
        let told =
            LayerEnding { outcome: ending.outcome, reason: Some(&ending.reason), points_at: None };
        self.ground.end(&self.place, RunKind::Stage, &told, ending)
    }
}
