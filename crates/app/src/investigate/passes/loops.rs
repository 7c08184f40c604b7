//! The loops over directories: each after its children, so many at once, under one budget.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, PoisonError};

use serde_json::{Value, json};
use spore_agent::api::is_own_loop;
use spore_investigate::passes::{
    ChildSummary, DirectoryBrief, DirectoryLook, LoopOrder, PlanTier, directory_key,
    directory_prompt, file_key, partial_summary, text_digest,
};
use spore_investigate::{EntryKind, path_text};
use spore_model::{Begun, BudgetId, Node, Outcome, StepKey, Usd};
use spore_tools::investigation::{InvestigationPass, declared_for_pass};

use super::ground::named;
use super::pass_run::{DirectoryCounts, LoopShape, PassRun, Stop};
use super::pass_tools::PassTools;
use super::sessions::{PassSession, waits};
use crate::base::error::bug;
use crate::investigate::shared::KeptNames;
use crate::{Progress, Result, Update};

/// An entry that is less sure is looked at again where that is asked for.
const SURE: f64 = 0.7;
/// So many loops in a row that a model did not answer are enough.
const SILENT: u32 = 3;

/// What came of all loops.
#[derive(Default)]
pub(super) struct LoopsDone {
    pub(super) counts: DirectoryCounts,
    pub(super) reports: Vec<DirectoryLook>,
    pub(super) stop: Option<Stop>,
    /// A directory was asked about and a model did not answer: the run has not done what it was for.
    pub(super) unanswered: Option<Stop>,
}

/// One directory to be looked at.
pub(super) struct LoopWork {
    at: usize,
    path: String,
    key: String,
    tier: PlanTier,
    pub(super) turns: u32,
    children: Vec<ChildSummary>,
    /// What was said of it and is to be made surer.
    before: Option<String>,
}

/// What came of one.
struct LoopEnd {
    report: Option<DirectoryLook>,
    is_partial: bool,
    stop: Option<Stop>,
    /// The model said nothing at all, and why.
    silent: Option<String>,
}

enum Message {
    Told(Box<Update>),
    Ended(usize, Box<Result<LoopEnd>>),
}

/// Brings what a loop's session has to say to the thread that tells it.
struct Relay(Sender<Message>);

impl Progress for Relay {
    fn update(&mut self, update: &Update) {
        // The receiver is gone only when all loops are over.
        let _ = self.0.send(Message::Told(Box::new(update.clone())));
    }
}

impl PassRun<'_> {
    /// Returns whether any directory would be looked at, going by what is known now.
    pub(super) fn is_anything_stale(&self, shape: &LoopShape) -> bool {
        self.count_stale(shape) > 0
    }

    /// How many directories would be looked at, going by what is known now. Nothing is looked at
    /// between two questions, so it is counted once for a shape.
    fn count_stale(&self, shape: &LoopShape) -> u64 {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, count)) = counted.filter(|(of, _)| of == shape) {
            return count;
        }
        let dirs = 0..self.ground.tree.dirs.len();
        let count = dirs.filter(|at| self.work(*at, shape).is_some()).count() as u64;
        self.note_counted(shape, count);
        count
    }

    /// Notes how many directories are to be looked at.
    pub(super) fn note_counted(&self, shape: &LoopShape, count: u64) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        *counted = Some((shape.clone(), count));
    }

    /// What holds of the directories, by path.
    pub(super) fn directory_summaries(&self, shape: &LoopShape) -> Vec<(String, String)> {
        let dirs = self.ground.tree.dirs.iter().map(|dir| named(&dir.path));
        dirs.filter(|path| shape.plan.tier(path) != PlanTier::Skip)
            .filter_map(|path| {
                let node = self.ground.summaries.of(EntryKind::Directory, &path)?;
                Some((path, node.content))
            })
            .collect()
    }

    fn children(&self, at: usize, shape: &LoopShape) -> Vec<ChildSummary> {
        let tree = &self.ground.tree;
        tree.dirs[at]
            .dirs
            .iter()
            .map(|below| {
                let dir = &tree.dirs[*below];
                let path = named(&dir.path);
                let is_skipped = shape.plan.tier(&path) == PlanTier::Skip;
                let known = self.ground.summaries.of(EntryKind::Directory, &path);
                let summary = known.filter(|_| !is_skipped).map(|node| node.content);
                ChildSummary { name: path_text(dir.name().as_ref()), summary }
            })
            .collect()
    }

    /// Returns what is to be done about a directory whose children are settled; nothing where
    /// what is known of it holds.
    pub(super) fn work(&self, at: usize, shape: &LoopShape) -> Option<LoopWork> {
        let dir = &self.ground.tree.dirs[at];
        let path = named(&dir.path);
        let tier = shape.plan.tier(&path);
        let is_skipped = tier == PlanTier::Skip || self.ground.unspoken.contains(&at);
        if is_skipped || dir.child_count() == 0 || dir.unreadable.is_some() {
            return None;
        }
        let children = self.children(at, shape);
        let title = self.ground.summaries.title(&path);
        let key = directory_key(&self.ground.tree, dir, &title, &children, &self.writer());
        let known = self.ground.summaries.holding(EntryKind::Directory, &path, &key);
        let asked = &self.asked.asked;
        let is_own = known.as_ref().is_some_and(|node| node.run == Some(self.run_id()));
        // What a session said whose end is not on record is not all it had to say.
        let is_open = is_own && self.recorded(&path, &key).is_none();
        let is_wanted = |node: &Node| {
            let again = node.metadata["again"] == true && !is_own;
            let fresh = asked.fresh && !is_own;
            let is_refined = || asked.refine && !is_own && self.is_doubtful_at(at);
            is_open || again || fresh || is_refined()
        };
        if known.as_ref().is_some_and(|node| !is_wanted(node)) {
            return None;
        }
        let before = known.filter(is_doubtful).map(|node| node.content);
        let turns = shape.plan.turns(&path);
        Some(LoopWork { at, path, key, tier, turns, children, before })
    }

    /// Whether what is said of a directory or of a file right in it is doubtful.
    fn is_doubtful_at(&self, at: usize) -> bool {
        let path = named(&self.ground.tree.dirs[at].path);
        let dir = self.ground.summaries.of(EntryKind::Directory, &path);
        dir.is_some_and(|node| is_doubtful(&node)) || !self.described(at, is_doubtful).is_empty()
    }

    /// Looks at every directory whose entry does not hold.
    pub(super) fn look_at_all(
        &self,
        shape: &LoopShape,
        progress: &mut dyn Progress,
    ) -> Result<LoopsDone> {
        let tree = &self.ground.tree;
        let tiers: Vec<(Option<usize>, PlanTier)> =
            tree.dirs.iter().map(|dir| (dir.parent, shape.plan.tier(&named(&dir.path)))).collect();
        let is_refined = self.asked.asked.refine;
        let mut order =
            LoopOrder::doubtful_first(&tiers, |at| is_refined && self.is_doubtful_at(at));
        let mut done = LoopsDone::default();
        let jobs = self.settings.jobs.max(1);
        let (mut active, mut silent, mut failed) = (0, 0, None);
        let total = self.count_stale(shape);
        let told = |done: &LoopsDone| Update::Looking {
            done: done.counts.looked_at,
            total: total.max(done.counts.looked_at),
            spent: self.spent(),
            budget: self.settings.budget,
        };
        std::thread::scope(|scope| {
            let (send, receive) = channel();
            loop {
                while active < jobs && done.stop.is_none() && failed.is_none() {
                    let Some(at) = order.next_ready() else { break };
                    let Some(work) = self.work(at, shape) else {
                        self.count_settled(at, tiers[at].1, &mut done);
                        order.settle(at);
                        continue;
                    };
                    let Some(share) = self.reserve(jobs - active) else {
                        order.give_back(at);
                        if active == 0 {
                            done.stop = Some(self.out_of_budget());
                        }
                        // Those that are at work may leave something of their shares.
                        break;
                    };
                    active += 1;
                    let send = send.clone();
                    scope.spawn(move || {
                        let ended = self.look_at(&work, shape, share, &mut Relay(send.clone()));
                        let _ = send.send(Message::Ended(work.at, Box::new(ended)));
                    });
                }
                if active == 0 {
                    break;
                }
                match receive.recv() {
                    Ok(Message::Told(update)) => progress.update(&update),
                    Ok(Message::Ended(at, ended)) => {
                        active -= 1;
                        order.settle(at);
                        match *ended {
                            Ok(end) => {
                                self.count_ended(end, &mut done, &mut silent);
                                progress.update(&told(&done));
                            }
                            Err(error) => failed = Some(error),
                        }
                    }
                    Err(_) => break,
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        // None of the last ones was answered: there is no use in one more question.
        if silent > 0 && done.stop.is_none() {
            done.stop = done.unanswered.clone();
        }
        let counts = &mut done.counts;
        let seen = counts.looked_at + counts.held + counts.skipped;
        counts.left = (tree.dirs.len() as u64).saturating_sub(seen);
        Ok(done)
    }

    /// Counts the directories where passes ended before any was looked at.
    pub(super) fn none_looked_at(&self, shape: &LoopShape) -> LoopsDone {
        let mut done = LoopsDone::default();
        for (at, dir) in self.ground.tree.dirs.iter().enumerate() {
            match self.work(at, shape) {
                Some(_) => done.counts.left += 1,
                None => self.count_settled(at, shape.plan.tier(&named(&dir.path)), &mut done),
            }
        }
        done
    }

    /// Counts a directory that needs no look: one that this run looked at before it was cut short
    /// counts as looked at.
    fn count_settled(&self, at: usize, tier: PlanTier, done: &mut LoopsDone) {
        let dir = &self.ground.tree.dirs[at];
        let path = named(&dir.path);
        let known = self.ground.summaries.of(EntryKind::Directory, &path);
        let own = known.filter(|node| node.run == Some(self.run_id()));
        let is_skipped = tier == PlanTier::Skip || self.ground.unspoken.contains(&at);
        if is_skipped || dir.child_count() == 0 {
            done.counts.skipped += 1;
        } else if let Some((node, report)) = own.and_then(|node| {
            let report = self.recorded(&path, node.metadata["key"].as_str()?)?;
            Some((node, report))
        }) {
            done.counts.looked_at += 1;
            done.counts.partial += u64::from(node.metadata["partial"] == true);
            done.reports.push(report);
        } else {
            done.counts.held += 1;
        }
    }

    /// The result of the loop over a directory, where this run has one on record.
    fn recorded(&self, path: &str, key: &str) -> Option<DirectoryLook> {
        self.investigation.steps().result(&step_of(path, key)).ok().flatten()
    }

    fn count_ended(&self, end: LoopEnd, done: &mut LoopsDone, silent: &mut u32) {
        if let Some(report) = end.report {
            done.counts.looked_at += 1;
            done.counts.partial += u64::from(end.is_partial);
            done.reports.push(report);
        }
        *silent = if end.silent.is_some() { *silent + 1 } else { 0 };
        if done.stop.is_none() {
            done.stop = end.stop;
        }
        if let Some(why) = end.silent {
            done.unanswered = Some(Stop { why, park: None, outcome: Outcome::Partial });
        }
        if *silent >= SILENT && done.stop.is_none() {
            done.stop = done.unanswered.clone();
        }
    }

    /// Looks at one directory.
    fn look_at(
        &self,
        work: &LoopWork,
        shape: &LoopShape,
        (node, usd): (BudgetId, Usd),
        progress: &mut dyn Progress,
    ) -> Result<LoopEnd> {
        let step = step_of(&work.path, &work.key);
        let ticket = match self.begin::<DirectoryLook>(&step)? {
            Begun::Done(report) => {
                self.settle(node, Usd::ZERO);
                let report = Some(report);
                return Ok(LoopEnd { report, is_partial: false, stop: None, silent: None });
            }
            Begun::Do(ticket) => ticket,
        };
        let (tools, prompt) = self.prepare(work, shape, ticket.time().map_err(bug)?);
        let session = PassSession {
            pass: InvestigationPass::Directory,
            name: format!("look at {}", work.path),
            place: format!("passes/{}", look_digest(&work.path, &work.key)),
            prompt,
            tools: Arc::clone(&tools),
            turns: work.turns,
        };
        let had = match self.have(session, (&step, &ticket), usd, progress) {
            Ok(had) => had,
            Err(error) => {
                self.settle(node, Usd::ZERO);
                self.flush(work, &tools, &error.to_string(), true)?;
                return Err(error);
            }
        };
        self.settle(node, had.spent);
        let handed_in = tools.state().handed_in.take();
        let is_stopped = waits(had.report.outcome) && handed_in.is_none();
        let is_spent = handed_in.is_none() && had.spent >= usd;
        let is_silent = handed_in.is_none() && had.turns == 0;
        if handed_in.is_none() {
            let why = had.report.reason.as_deref().unwrap_or("it ended without a report");
            self.flush(work, &tools, why, is_stopped || is_spent || is_silent)?;
        }
        if is_stopped {
            self.book_stopped(&had)?;
            let stop = Some(Stop::of(&had.report));
            return Ok(LoopEnd { report: None, is_partial: true, stop, silent: None });
        }
        let known = self.ground.summaries.of(EntryKind::Directory, &work.path);
        let field = |name: &str| known.as_ref().and_then(|node| node.metadata[name].as_f64());
        let turns = (work.turns, had.turns);
        let report = DirectoryLook::new(
            &work.path,
            work.tier,
            turns,
            field("completeness"),
            field("confidence"),
        );
        if handed_in.is_some() {
            let at = ticket.time().map_err(bug)?;
            self.ground.summaries.settle_flags(&work.path, &self.unread(work), at)?;
        }
        self.record((&step, &ticket), &had, &report)?;
        let silent = is_silent.then(|| had.report.reason.clone().unwrap_or_default());
        let is_partial = handed_in.is_none();
        Ok(LoopEnd { report: Some(report), is_partial, stop: None, silent })
    }

    pub(super) fn prepare(
        &self,
        work: &LoopWork,
        shape: &LoopShape,
        at: spore_model::Timestamp,
    ) -> (Arc<PassTools>, String) {
        let names = KeptNames::new(self.investigation.around);
        let children: BTreeMap<&str, Value> = work
            .children
            .iter()
            .filter(|child| names.path(&child.name) == child.name)
            .map(|child| (child.name.as_str(), json!(child.summary.as_deref().map(text_digest))))
            .collect();
        let left_out = declared_for_pass(InvestigationPass::Directory)
            .into_iter()
            .map(|tool| tool.name)
            .filter(|tool| shape.survey.as_ref().is_some_and(|survey| survey.leaves_out(tool)))
            .collect();
        let tools = PassTools {
            dir: work.path.clone(),
            key: work.key.clone(),
            children: json!(children),
            left_out,
            ..PassTools::new(&self.ground, InvestigationPass::Directory, self.writer(), at)
        };
        // What this very loop wrote before it was cut off it knows, where it can go on.
        let goes_on = is_own_loop(&self.settings.backend) || self.agent.capabilities().resume;
        let is_refined = self.asked.asked.refine;
        let described = self.described(work.at, |node| {
            let is_told = !goes_on || node.run != Some(self.run_id());
            is_told && !(is_refined && is_doubtful(node))
        });
        let prompt = directory_prompt(&DirectoryBrief {
            tree: &self.ground.tree,
            dir: &self.ground.tree.dirs[work.at],
            path: &work.path,
            turns: work.turns,
            children: &work.children,
            survey: shape.survey.as_ref(),
            notes: &shape.plan.notes,
            described: if work.before.is_some() || self.asked.asked.fresh {
                &[]
            } else {
                &described
            },
            refine: work.before.as_deref(),
        });
        (Arc::new(tools), self.ground.struck(&prompt))
    }

    /// The files right in a directory whose entries hold, with what is said of them.
    fn described(&self, at: usize, is_told: impl Fn(&Node) -> bool) -> Vec<(String, String)> {
        let tree = &self.ground.tree;
        let files = tree.files[tree.dirs[at].files.clone()].iter();
        files
            .filter_map(|file| {
                let path = named(&tree.path_of(file));
                let title = self.ground.summaries.title(&path);
                let key = file_key(file, &title, &self.writer());
                let node = self.ground.summaries.holding(EntryKind::File, &path, &key);
                let node = node.filter(&is_told)?;
                Some((path_text(file.name.as_ref()), node.content))
            })
            .collect()
    }

    /// The files of a directory that a look at it was told of as described, and did not describe anew.
    fn unread(&self, work: &LoopWork) -> Vec<String> {
        if work.before.is_some() || self.asked.asked.fresh {
            return Vec::new();
        }
        let is_refined = self.asked.asked.refine;
        let is_unread =
            |node: &Node| node.run != Some(self.run_id()) && !(is_refined && is_doubtful(node));
        let names = self.described(work.at, is_unread).into_iter().map(|(name, _)| name);
        names
            .map(|name| match work.path.as_str() {
                "." => name,
                dir => format!("{dir}/{name}"),
            })
            .collect()
    }

    /// Keeps what a loop that ended early has found. `again` says whether the next run looks at
    /// the directory again.
    fn flush(&self, work: &LoopWork, tools: &PassTools, why: &str, again: bool) -> Result<()> {
        let tree = &self.ground.tree;
        let dir = &tree.dirs[work.at];
        let described = self.described(work.at, |_| true);
        let known = self.ground.summaries.of(EntryKind::Directory, &work.path);
        let is_own = known.as_ref().is_some_and(|node| node.run == Some(self.run_id()));
        let written = known.as_ref().filter(|node| node.metadata["key"] == work.key);
        // What an earlier run said is worth more than that this one said nothing. It is marked where
        // it is old, and looked at again because its key is another one.
        if known.is_some() && !is_own && (described.is_empty() || written.is_some()) {
            return Ok(());
        }
        let (summary, confidence) = match written {
            Some(node) => {
                (node.content.clone(), node.metadata["confidence"].as_f64().unwrap_or(0.3))
            }
            None => (partial_summary(&described, dir.files.len()), 0.3),
        };
        let read = described.len() as f64 / (dir.files.len().max(1)) as f64;
        let entry = json!({
            "summary": summary,
            "path": work.path,
            "relative_path": work.path,
            "child_count": dir.child_count(),
            "dominant_category": dir.sums.dominant(),
            "hash": dir.hash.to_string(),
            "cached_at": tools.at.to_string(),
            "confidence": confidence,
            "confidence_reason": "its loop ended early",
            "completeness": read.min(1.0),
            "partial": true,
            "partial_reason": self.ground.struck(why),
            "again": again,
        });
        tools.write(EntryKind::Directory, &work.path, &work.key, entry)
    }
}

/// A directory with other files than before is another thing to look at, also in a run that goes on.
fn step_of(path: &str, key: &str) -> StepKey {
    StepKey::directory(&look_digest(path, key))
}

fn look_digest(path: &str, key: &str) -> String {
    let mut digest = text_digest(&format!("{path}\n{key}"));
    digest.truncate(16);
    digest
}

fn is_doubtful(node: &Node) -> bool {
    let confidence = node.metadata["confidence"].as_f64().unwrap_or(0.0);
    node.metadata["partial"] == true || confidence < SURE
}
