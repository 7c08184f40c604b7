//! What a flow does where sessions may not be nested deeper: give up, ask for more, or do with one
//! session what several would have done.

use spore_config::Config;
use spore_model::Outcome;

use crate::flows::requests::Planned;
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
