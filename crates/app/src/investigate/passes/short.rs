//! Survey, plan and synthesis: short passes that hand in one thing. What they handed in is kept
//! by a digest of what they were told, so the same question is paid for once.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use spore_investigate::passes::{
    DirectoryPlan, PROMPT_VERSION, PassReport, SHORT_TURNS, SYNTHESIS_TURNS, Survey,
    SynthesisGroup, SynthesisInput, groups, is_small, mechanical, plan_prompt, survey_prompt,
    synthesis_prompt, text_digest,
};
use spore_investigate::{EntryKind, path_text};
use spore_model::{Begun, Outcome, StepKey};
use spore_store::Journal;
use spore_tools::investigation::{InvestigationPass, declared_for_pass};

use super::pass_run::{LoopShape, PassRun, Stop};
use super::pass_tools::PassTools;
use super::sessions::{PassSession, waits};
use crate::base::error::bug;
use crate::investigate::shared::named;
use crate::{Progress, Result};

pub(super) const SURVEY: &str = "investigation.survey";
pub(super) const PLAN: &str = "investigation.plan";
pub(super) const SYNTHESIS: &str = "investigation.synthesis";

/// How deep the tree is that a survey sees, and how many directories of it.
const PREVIEW_DEPTH: usize = 2;
const PREVIEW: usize = 300;

/// What is said of the whole, and by whom.
pub(super) enum Synthesis {
    OfModel(PassReport),
    /// Put together of the summaries, or of figures alone, because a model handed in nothing.
    Mechanical(PassReport),
    /// The same, because no model was asked: passes ended before.
    Unasked(PassReport),
}

/// Parts of a tree by name, with what was said of each.
type PartsTold = Vec<(String, String)>;

impl PassRun<'_> {
    /// What shapes the loops as far as it is known without asking.
    pub(super) fn known_shape(&self) -> Result<LoopShape> {
        if self.is_small() {
            return Ok(LoopShape::default());
        }
        let survey: Option<Survey> = self.cached(SURVEY, &self.survey_key())?;
        let plan: Option<DirectoryPlan> = self.cached(PLAN, &self.plan_key(survey.as_ref()))?;
        Ok(LoopShape { survey, plan: plan.unwrap_or_default() })
    }

    /// Has survey and plan made, unless they are known. Each may fail by itself.
    pub(super) fn shape(&self, progress: &mut dyn Progress) -> Result<(LoopShape, Option<Stop>)> {
        if self.is_small() {
            return Ok((LoopShape::default(), None));
        }
        let ask = self.survey_text();
        let asked = ShortAsk::named(InvestigationPass::Survey, SURVEY, self.survey_key());
        let (survey, stop) = self.hand_in(&asked, ask, SHORT_TURNS, progress)?;
        let survey = survey.as_ref().and_then(Survey::read);
        if stop.is_some() {
            return Ok((LoopShape { survey, ..LoopShape::default() }, stop));
        }
        let known: Vec<String> = self
            .ground
            .summaries
            .places()
            .into_iter()
            .filter(|(kind, path)| {
                *kind == EntryKind::Directory && self.ground.places.contains_key(path)
            })
            .map(|(_, path)| path)
            .collect();
        let ask = plan_prompt(&self.ground.tree, survey.as_ref(), &known);
        let key = self.plan_key(survey.as_ref());
        let asked = ShortAsk::named(InvestigationPass::Plan, PLAN, key);
        let (plan, stop) = self.hand_in(&asked, ask, SHORT_TURNS, progress)?;
        let plan = plan.as_ref().and_then(DirectoryPlan::read).unwrap_or_default();
        Ok((LoopShape { survey, plan }, stop))
    }

    /// Says what the whole is; by the summaries alone where no session can or need be had.
    pub(super) fn synthesis(
        &self,
        shape: &LoopShape,
        summaries: &[(String, String)],
        stop: Option<&Stop>,
        progress: &mut dyn Progress,
    ) -> Result<(Synthesis, Option<Stop>)> {
        if summaries.is_empty() {
            let report = PassReport { brief: self.scan.brief.clone(), detailed: String::new() };
            let is_over = stop.is_some();
            let report = match is_over {
                true => Synthesis::Unasked(report),
                false => Synthesis::Mechanical(report),
            };
            return Ok((report, None));
        }
        let mut tiers = summaries.to_vec();
        let mut stopped = stop.cloned();
        let mut known = BTreeSet::new();
        // Where one session has no room for all, parts are summed up first, until what was said of
        // them fits.
        loop {
            let parts = groups(&tiers);
            if parts.is_empty() || stopped.is_some() {
                break;
            }
            (tiers, stopped) = self.summed_up(&parts, shape, &mut known, progress)?;
        }
        let name = named(&self.asked.base);
        let (ask, key) = self.synthesis_ask(&name, &tiers, shape);
        if let Some(known) = self.cached(SYNTHESIS, &key)? {
            return Ok((Synthesis::OfModel(known), None));
        }
        if stopped.is_some() {
            let report = Synthesis::Unasked(mechanical(summaries));
            return Ok((report, stopped.filter(|_| stop.is_none())));
        }
        let asked = ShortAsk::synthesis(&name, key);
        let (report, stop) = self.hand_in(&asked, ask, SYNTHESIS_TURNS, progress)?;
        let report = report.as_ref().and_then(PassReport::read);
        let report = match (report, &stop) {
            (Some(report), _) => {
                let now = self.investigation.around.clock.now();
                self.ground.summaries.settle_synthesis(&known, now)?;
                Synthesis::OfModel(report)
            }
            (None, Some(_)) => Synthesis::Unasked(mechanical(summaries)),
            (None, None) => Synthesis::Mechanical(mechanical(summaries)),
        };
        Ok((report, stop))
    }

    /// Whether what would be said of the whole is known without a question, its parts included.
    pub(super) fn knows_synthesis(
        &self,
        shape: &LoopShape,
        summaries: &[(String, String)],
    ) -> Result<bool> {
        if summaries.is_empty() {
            return Ok(true);
        }
        let mut tiers = summaries.to_vec();
        loop {
            let parts = groups(&tiers);
            if parts.is_empty() {
                break;
            }
            tiers.clear();
            for part in &parts {
                let (_, key) = self.synthesis_ask(&part.name, &part.summaries, shape);
                let known: Option<Value> = self.cached(SYNTHESIS, &key)?;
                let Some(report) = known.as_ref().and_then(PassReport::read) else {
                    return Ok(false);
                };
                tiers.push(part_told(part, &report));
            }
        }
        let (_, key) = self.synthesis_ask(&named(&self.asked.base), &tiers, shape);
        Ok(self.cached::<Value>(SYNTHESIS, &key)?.is_some())
    }

    /// What a synthesis of these summaries is asked, and the key of its answer.
    fn synthesis_ask(
        &self,
        name: &str,
        summaries: &[(String, String)],
        shape: &LoopShape,
    ) -> (String, String) {
        let input = SynthesisInput::of(summaries);
        let ask = synthesis_prompt(name, &input, shape.survey.as_ref());
        let key = self.key(InvestigationPass::Synthesis, &ask);
        (ask, key)
    }

    /// Has each of these parts summed up; one that was not stands for itself, cut short. Notes those
    /// of which nothing new was handed in.
    fn summed_up(
        &self,
        parts: &[SynthesisGroup],
        shape: &LoopShape,
        known: &mut BTreeSet<String>,
        progress: &mut dyn Progress,
    ) -> Result<(PartsTold, Option<Stop>)> {
        let mut told = Vec::with_capacity(parts.len());
        let mut stopped = None;
        for part in parts {
            let (ask, key) = self.synthesis_ask(&part.name, &part.summaries, shape);
            let asked = ShortAsk::synthesis(&part.name, key.clone());
            let is_known = self.cached::<Value>(SYNTHESIS, &key)?.is_some();
            let report = match stopped {
                Some(_) => self.cached(SYNTHESIS, &key)?,
                None => {
                    let (report, stop) = self.hand_in(&asked, ask, SYNTHESIS_TURNS, progress)?;
                    stopped = stop;
                    report
                }
            };
            let report: Option<PassReport> = report.as_ref().and_then(PassReport::read);
            if is_known || report.is_none() {
                known.insert(part.name.clone());
            }
            let report = report.unwrap_or_else(|| mechanical(&part.summaries));
            told.push(part_told(part, &report));
        }
        Ok((told, stopped))
    }

    /// Has a pass hand in its one thing. Nothing where it failed; the caller goes on without.
    fn hand_in(
        &self,
        asked: &ShortAsk,
        prompt: String,
        turns: u32,
        progress: &mut dyn Progress,
    ) -> Result<(Option<Value>, Option<Stop>)> {
        if let Some(known) = self.cached::<Value>(asked.kind, &asked.key)? {
            return Ok((Some(known), None));
        }
        let step = asked.step.clone();
        let ticket = match self.begin::<Value>(&step)? {
            Begun::Done(Value::Null) => return Ok((None, None)),
            Begun::Done(done) => {
                let now = self.investigation.around.clock.now();
                self.investigation.journal.cache(asked.kind, &asked.key, &done, now)?;
                return Ok((Some(done), None));
            }
            Begun::Do(ticket) => ticket,
        };
        let Some((node, usd)) = self.reserve(1) else {
            return Ok((None, Some(self.out_of_budget())));
        };
        let at = ticket.time().map_err(bug)?;
        let tools = PassTools::new(&self.ground, asked.pass, self.writer(), at);
        let tools = Arc::new(PassTools { part: asked.part.clone(), ..tools });
        let session = PassSession {
            pass: asked.pass,
            name: format!("{} {}", asked.pass.as_str(), named(&self.asked.base)),
            place: format!("passes/{}", asked.place),
            prompt,
            tools: Arc::clone(&tools),
            turns,
        };
        let had = self.have(session, (&step, &ticket), usd, progress)?;
        self.settle(node, had.spent);
        let handed_in = tools.state().handed_in.take();
        if waits(had.report.outcome) && handed_in.is_none() {
            self.book_stopped(&had)?;
            return Ok((None, Some(Stop::of(&had.report))));
        }
        self.record((&step, &ticket), &had, &handed_in)?;
        // Only what is on record is known: else its session would never be booked.
        if let Some(value) = &handed_in {
            self.investigation.journal.cache(asked.kind, &asked.key, value, at)?;
        }
        Ok((handed_in, None))
    }

    pub(super) fn is_small(&self) -> bool {
        let totals = &self.scan.totals;
        is_small(totals.files, self.ground.tree.dirs.len() as u64)
    }

    pub(super) fn survey_text(&self) -> String {
        let tools = declared_for_pass(InvestigationPass::Directory);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let mut preview = String::new();
        let depth = self.asked.asked.scan.depth.map_or(PREVIEW_DEPTH, |depth| depth as usize);
        let dirs = self.ground.tree.dirs.iter().filter(|dir| dir.depth() <= depth);
        for dir in dirs.take(PREVIEW) {
            let path = named(&dir.path);
            let files = self.ground.tree.files[dir.files.clone()].iter().take(12);
            let files: Vec<String> = files.map(|file| path_text(Path::new(&file.name))).collect();
            preview.push_str(&format!("{path}/ {}\n", files.join(" ")));
        }
        survey_prompt(self.scan, &preview, &names)
    }

    /// A survey holds for as long as the directories are the same and mostly hold what they held: a
    /// file more or less, or how many levels a person wants to see, is nothing new to it.
    pub(super) fn survey_key(&self) -> String {
        self.key(InvestigationPass::Survey, &self.outlines())
    }

    pub(super) fn plan_key(&self, survey: Option<&Survey>) -> String {
        let survey = survey.map(Survey::block).unwrap_or_default();
        self.key(InvestigationPass::Plan, &format!("{}\n{survey}", self.outlines()))
    }

    /// Where the target is, what of it is looked at, its directories, and what most of its files are.
    fn outlines(&self) -> String {
        let tree = &self.ground.tree;
        let scope = self.asked.asked.scan.scope().word();
        let mut outlines =
            format!("{}\n{scope}\n{}\n", named(&self.asked.base), tree.top().sums.dominant());
        for dir in &tree.dirs {
            outlines.push_str(&named(&dir.path));
            outlines.push('\n');
        }
        outlines
    }

    /// What a pass was asked, by whom, and for which run where all is wanted anew.
    pub(super) fn key(&self, pass: InvestigationPass, prompt: &str) -> String {
        let choice = self.choice(pass);
        let fresh = self.asked.asked.fresh.then(|| self.run_id().to_string());
        let words = json!([pass.as_str(), PROMPT_VERSION, choice, prompt, fresh, self.cleared]);
        text_digest(&words.to_string())
    }
}

fn part_told(part: &SynthesisGroup, report: &PassReport) -> (String, String) {
    (part.name.clone(), format!("{} {}", report.brief, report.detailed))
}

/// What is asked of a short pass.
struct ShortAsk {
    pass: InvestigationPass,
    /// Where what it hands in is kept, and under which key.
    kind: &'static str,
    key: String,
    step: StepKey,
    /// Where its files are, below those of all passes.
    place: String,
    /// What a synthesis sums up.
    part: Option<String>,
}

impl ShortAsk {
    fn named(pass: InvestigationPass, kind: &'static str, key: String) -> Self {
        // A run that goes on after an edit asks another question.
        let step = StepKey::short_pass(pass.as_str(), &key[..16]);
        let place = format!("{}-{}", pass.as_str(), &key[..16]);
        Self { pass, kind, key, step, place, part: None }
    }

    fn synthesis(part: &str, key: String) -> Self {
        let part = Some(part.to_owned());
        Self { part, ..Self::named(InvestigationPass::Synthesis, SYNTHESIS, key) }
    }
}

impl Stop {
    /// What a session that waits for something has stopped.
    pub(super) fn of(report: &spore_agent::SessionReport) -> Self {
        use spore_model::Park;
        let park = match report.outcome {
            Outcome::QuotaParked => Park::Quota,
            Outcome::NeedsHuman => Park::Human,
            _ => Park::Interrupt,
        };
        let why = report.reason.clone().unwrap_or_else(|| "a session was stopped".to_owned());
        Self { why, park: Some(park), outcome: report.outcome }
    }
}
