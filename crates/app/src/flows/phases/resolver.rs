//! A resolver: one decision about a phase that needs refinement, made by an executor.
//!
//! It is told a bounded summary of what went wrong and nothing else, and what it says reaches the
//! phase's next attempt as extra context. It decides nothing by itself: where it has no good answer,
//! the phase is told what it asked for itself, as without one.

use spore_compose::{ExecPlan, OrchestratorPlan, Parked, PhasePlan, summary_of};
use spore_model::{Begun, CommitId, EffectClass, Outcome, StepKey};

use crate::base::error::bug;
use crate::base::step::Intent;
use crate::flows::execs::{Exec, tail};
use crate::flows::flow::{ActiveFlow, LayerPlace};
use crate::flows::questions::is_question;
use crate::{Progress, Result};

/// What a phase is run with, or what it waits for.
pub(crate) enum Resolved {
    With(Option<String>),
    Parked(Parked),
}

/// Who finds a resolution for one phase of a coordinator.
pub(crate) struct PhaseResolver<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    /// The coordinator.
    pub(crate) coordinator: &'a LayerPlace,
    pub(crate) phase: &'a PhasePlan,
}

impl PhaseResolver<'_> {
    /// Finds a resolution for a phase that is run again because it needs refinement, once.
    pub(crate) fn resolve(
        &self,
        place: &LayerPlace,
        plan: &OrchestratorPlan,
        start: Option<&CommitId>,
        progress: &mut dyn Progress,
    ) -> Result<Resolved> {
        let Some(own) = plan.resolution.clone() else { return Ok(Resolved::With(None)) };
        let name = &self.phase.name;
        let resolution = match &self.phase.resolver {
            None => own,
            Some(resolver) => match self.ask_resolver(resolver, place, &own, start, progress)? {
                Resolved::With(said) => said.unwrap_or(own),
                parked @ Resolved::Parked(_) => return Ok(parked),
            },
        };
        let path = self.ground.dir().join(format!("resolutions/orch-{name}.md"));
        self.ground.write(&path, &resolution)?;
        Ok(Resolved::With(Some(resolution)))
    }

    fn ask_resolver(
        &self,
        resolver: &ExecPlan,
        place: &LayerPlace,
        own: &str,
        start: Option<&CommitId>,
        progress: &mut dyn Progress,
    ) -> Result<Resolved> {
        let ground = self.ground;
        let key = StepKey::new(format!("resolve/{}/{}", place.name, place.attempt)).map_err(bug)?;
        let steps = ground.steps(self.coordinator);
        let intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(said) => return Ok(Resolved::With(said)),
            Begun::Do(ticket) => ticket,
        };
        let cap = usize::try_from(ground.config.flows.diagnosis_bytes).unwrap_or(usize::MAX);
        let mut plan = resolver.clone();
        plan.prompt.push_str(&summary_of(&place.name, &tail(own, cap)));
        let resolving = LayerPlace {
            run: ticket.planned("child").map_err(bug)?,
            parent: Some(self.coordinator.run),
            name: format!("{}.resolve", place.name),
            dir: place.dir.join("resolver"),
            ..place.clone()
        };
        let told = resolving.name.clone();
        let (layer, began) = (("exec", resolving.depth), ground.now());
        progress.update(&ground.told_layer(layer, &told, "STARTING".to_owned(), None, None));
        let exec = Exec {
            ground,
            place: resolving,
            plan: &plan,
            diagnosis: None,
            resolution: None,
            budget: None,
            start: start.cloned(),
        };
        let done = exec.work(progress)?;
        let status = spore_compose::status(done.end.outcome);
        let why = done.end.reason.clone();
        progress.update(&ground.told_layer(layer, &told, status, why, Some(began)));
        if let Some(parked) = waiting(&told, &done.end) {
            return Ok(Resolved::Parked(parked));
        }
        let said =
            (done.end.outcome == Outcome::Success).then(|| said(&done.result, cap)).flatten();
        steps.finish(&key, &ticket, &steps.entry(&said)?)?;
        Ok(Resolved::With(said))
    }
}

/// What a resolver that has no result waits for.
fn waiting(name: &str, end: &spore_compose::ChildEnd) -> Option<Parked> {
    let stops = matches!(end.outcome, Outcome::Interrupted | Outcome::QuotaParked);
    (stops || is_question(end.outcome)).then(|| Parked::because(name, end.outcome, end))
}

/// Its words, without the line that says that it is done.
fn said(result: &str, cap: usize) -> Option<String> {
    let words = result.trim_end();
    let words = words.rsplit_once('\n').map_or("", |(words, _)| words).trim();
    (!words.is_empty()).then(|| format!("{}\n", tail(words, cap)))
}
