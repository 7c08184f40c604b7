//! What a flow does where sessions may not be nested deeper: give up, ask for more, or do with one
//! session what several would have done.

use spore_compose::CoordinatorPlan;
use spore_config::Config;
use spore_model::Outcome;

use super::planned::Planned;
use crate::session::nesting::{Ancestry, Nesting};
use crate::{Progress, Result, Surroundings, Update};

/// Reads how deep this process is. At the limit nothing is started.
pub(crate) fn within_limit(around: &Surroundings, config: &Config, limit: u32) -> Result<Ancestry> {
    Ancestry::read(around, limit).map_err(|error| {
        let is_too_deep = error.exit_code() == Outcome::DepthExceeded.exit_code();
        match is_too_deep && config.flows.at_depth == "escalate" {
            true => error.asking_for_depth(),
            false => error,
        }
    })
}

/// Says why phases that were made on the way do not fit into the levels that are left: those that a
/// session leads are one level more, unless the flow has it set aside.
pub(crate) fn too_deep(
    planned: &Planned,
    made: &CoordinatorPlan,
    nesting: Nesting,
) -> Option<String> {
    let set_aside = match planned {
        Planned::Campaign { plan } => plan.coordinator.as_ref().map_or(0, CoordinatorPlan::led),
        _ => 0,
    };
    let more = made.led().saturating_sub(set_aside);
    (nesting.left() <= more).then(|| {
        let limit = nesting.limit;
        format!(
            "a session that leads a phase is one level of sessions more, and the limit is {limit}"
        )
    })
}

/// Fits a plan to the levels that are left.
pub(crate) fn fitted(
    mut planned: Planned,
    config: &Config,
    nesting: Nesting,
    progress: &mut dyn Progress,
) -> Planned {
    if nesting.left() > 1 || config.flows.at_depth != "compress" {
        return planned;
    }
    let plans = match &mut planned {
        Planned::Stage { plan } => vec![plan],
        Planned::Phase { plan } => {
            plan.phases.iter_mut().map(|phase| &mut phase.orchestrator).collect()
        }
        Planned::Campaign { plan } => {
            let known = plan.coordinator.iter_mut().flat_map(|known| &mut known.phases);
            known.map(|phase| &mut phase.orchestrator).collect()
        }
        Planned::Exec { .. } | Planned::Sentinel { .. } => Vec::new(),
    };
    for plan in plans {
        let compressed = plan.compressed();
        let name = plan.orchestrator.clone();
        let why = compressed.as_ref().err().cloned();
        progress.update(&Update::Compressed { name, why });
        if let Ok(compressed) = compressed {
            *plan = compressed;
        }
    }
    planned
}

#[cfg(test)]
mod tests {
    use spore_compose::LayerMode;

    use super::*;

    #[test]
    fn made_phases_that_a_session_leads_need_a_level_of_their_own() {
        let made = |mode| CoordinatorPlan {
            coordinator: "made".to_owned(),
            description: None,
            max_parallel: 1,
            budget: None,
            phases: Vec::new(),
            mode,
        };
        let (tool, led) = (made(LayerMode::Tool), made(LayerMode::Agent));
        let planned = Planned::Phase { plan: tool.clone() };
        let left = |left: u32| Nesting { depth: 1, limit: 1 + left };
        assert_eq!(too_deep(&planned, &tool, left(1)), None);
        assert!(too_deep(&planned, &led, left(1)).unwrap().contains("the limit is 2"));
        assert_eq!(too_deep(&planned, &led, left(2)), None);
    }
}
