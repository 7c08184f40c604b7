//! What the passes will ask, from what is known and from past runs, before anything is paid.

use std::collections::HashSet;

use spore_investigate::EntryKind;
use spore_investigate::passes::{
    InvestigationEstimate, PassEstimate, SHORT_TURNS, SYNTHESIS_TURNS, SessionNeed, SynthesisInput,
    groups, plan_prompt, synthesis_prompt,
};
use spore_model::{Outcome, RunId, RunKind, Usage};
use spore_store::{Journal, RunQuery};
use spore_tools::investigation::InvestigationPass;

use super::pass_run::{LoopShape, PassRun};
use super::short::{PLAN, SURVEY};
use crate::Result;
use crate::agents::prices::cost_so_far;
use crate::investigate::shared::named;

/// Past investigations that are looked at, and loops whose prompts are measured.
const PAST_RUNS: usize = 10;
const MEASURED: usize = 40;

/// Sessions of one kind that will be had.
struct PassAsked {
    pass: InvestigationPass,
    sessions: u64,
    perhaps: u64,
    turns_at_most: u64,
    /// Of one prompt, and the turns that one session may have.
    prompt: u64,
    turns: u32,
}

impl PassRun<'_> {
    /// Returns what will be asked as things stand.
    pub(crate) fn estimate(&self) -> Result<InvestigationEstimate> {
        let shape = self.known_shape()?;
        let loops = self.loops_asked(&shape);
        let mut asked = Vec::new();
        if loops.sessions > 0 && !self.is_small() {
            asked.extend(self.short_asked(&shape)?);
        }
        let is_any = loops.sessions > 0;
        asked.push(loops);
        asked.push(self.synthesis_asked(&shape, is_any)?);
        let passes: Vec<PassEstimate> =
            asked.into_iter().map(|one| self.priced(&one)).collect::<Result<_>>()?;
        let (backend, budget) = (&self.settings.backend, self.settings.budget);
        Ok(InvestigationEstimate::new(backend, passes, budget))
    }

    /// Directories that are looked at for sure, and those above them that may be: that depends on
    /// whether summaries change.
    fn loops_asked(&self, shape: &LoopShape) -> PassAsked {
        let dirs = &self.ground.tree.dirs;
        let mut is_reached = vec![false; dirs.len()];
        let (mut sessions, mut perhaps, mut turns_at_most, mut turns) = (0, 0, 0, 0);
        let (mut measured, mut bytes) = (0_u64, 0_u64);
        let now = self.investigation.around.clock.now();
        for at in (0..dirs.len()).rev() {
            let is_above = dirs[at].dirs.iter().any(|below| is_reached[*below]);
            match self.work(at, shape) {
                Some(work) => {
                    sessions += 1;
                    turns_at_most += u64::from(work.turns);
                    turns = turns.max(work.turns);
                    if measured < MEASURED as u64 {
                        let (_, prompt) = self.prepare(&work, shape, now);
                        (measured, bytes) = (measured + 1, bytes + prompt.len() as u64);
                    }
                    is_reached[at] = true;
                }
                None if is_above => {
                    (perhaps, is_reached[at]) = (perhaps + 1, true);
                    turns_at_most += u64::from(shape.plan.turns(&named(&dirs[at].path)));
                }
                None => {}
            }
        }
        self.note_counted(shape, sessions);
        let prompt = tokens(bytes.checked_div(measured).unwrap_or(0));
        let pass = InvestigationPass::Directory;
        PassAsked { pass, sessions, perhaps, turns_at_most, prompt, turns }
    }

    fn short_asked(&self, shape: &LoopShape) -> Result<Vec<PassAsked>> {
        let survey = self.survey_text();
        let plan = plan_prompt(&self.ground.tree, shape.survey.as_ref(), &[]);
        let one = |pass, is_known: bool, prompt: &str| PassAsked {
            pass,
            sessions: u64::from(!is_known),
            perhaps: 0,
            turns_at_most: u64::from(SHORT_TURNS) * u64::from(!is_known),
            prompt: tokens(prompt.len() as u64),
            turns: SHORT_TURNS,
        };
        let journal = &self.investigation.journal;
        let has_survey = journal.cached(SURVEY, &self.survey_key())?.is_some();
        let plan_key = self.plan_key(shape.survey.as_ref());
        let has_plan = has_survey && journal.cached(PLAN, &plan_key)?.is_some();
        Ok(vec![
            one(InvestigationPass::Survey, has_survey, &survey),
            one(InvestigationPass::Plan, has_plan, &plan),
        ])
    }

    /// One session, and in a tree that is too large for one as many as it has parts. What will be
    /// said is not known yet: what was said before, or a usual length, stands for it.
    fn synthesis_asked(&self, shape: &LoopShape, is_any: bool) -> Result<PassAsked> {
        const USUAL: usize = 600;
        let dirs = self.ground.tree.dirs.iter();
        let said: Vec<(String, String)> = dirs
            .map(|dir| {
                let path = super::ground::named(&dir.path);
                let known = self.ground.summaries.of(EntryKind::Directory, &path);
                let text = known.map_or_else(|| "x".repeat(USUAL), |node| node.content);
                (path, text)
            })
            .collect();
        let parts = groups(&said).len() as u64;
        let input = SynthesisInput::of(&said);
        let ask = synthesis_prompt(&named(&self.asked.base), &input, shape.survey.as_ref());
        let is_known = !is_any && self.knows_synthesis(shape, &self.directory_summaries(shape))?;
        let sessions = if is_known { 0 } else { 1 + parts };
        Ok(PassAsked {
            pass: InvestigationPass::Synthesis,
            sessions,
            perhaps: 0,
            turns_at_most: sessions * u64::from(SYNTHESIS_TURNS),
            prompt: tokens(ask.len() as u64),
            turns: 1,
        })
    }

    fn priced(&self, asked: &PassAsked) -> Result<PassEstimate> {
        let model = self.choice(asked.pass).model;
        let past = match asked.pass {
            InvestigationPass::Directory => self.past(model.as_deref())?,
            _ => Vec::new(),
        };
        let by_prompt = SessionNeed::of_prompt(asked.prompt, asked.turns.max(1));
        let need = SessionNeed::mean_of(&past).unwrap_or(by_prompt);
        let count = (asked.sessions + asked.perhaps) as f64;
        let (input_tokens, output_tokens) =
            ((need.input_tokens * count) as u64, (need.output_tokens * count) as u64);
        let config = self.investigation.config;
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        let cost = cost_so_far(config, &self.settings.backend, model.as_deref(), usage);
        Ok(PassEstimate {
            pass: asked.pass.as_str(),
            sessions: asked.sessions,
            perhaps: asked.perhaps,
            turns_at_most: asked.turns_at_most,
            input_tokens,
            output_tokens,
            cost_usd: cost.usd,
            known_from: past.len() as u64,
            model,
        })
    }

    /// What sessions of the same agent and model took that looked at directories before.
    fn past(&self, model: Option<&str>) -> Result<Vec<(u32, u64, u64)>> {
        let journal = &self.investigation.journal;
        let query =
            RunQuery { kind: Some(RunKind::Investigate), roots_only: true, ..RunQuery::default() };
        let runs = journal.runs(&query)?;
        let mut past = Vec::new();
        for run in runs.iter().filter(|run| run.outcome == Some(Outcome::Success)).take(PAST_RUNS) {
            let parts = journal.children(run.id)?.into_iter();
            let loops: HashSet<RunId> = parts
                .filter(|part| part.name.starts_with("look at "))
                .map(|part| part.id)
                .collect();
            for bill in journal.ledger(run.id)? {
                let is_same = bill.backend == self.settings.backend
                    && (model.is_none() || bill.model.as_deref() == model)
                    && !bill.interrupted;
                let parent = journal.run(bill.session)?.and_then(|session| session.parent);
                if is_same && parent.is_some_and(|parent| loops.contains(&parent)) {
                    past.push((bill.turns, bill.usage.read_tokens(), bill.usage.output_tokens));
                }
            }
        }
        Ok(past)
    }
}

/// Estimated as everywhere: four bytes each.
fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}
