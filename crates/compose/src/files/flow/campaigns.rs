//! What a campaign names must be there: executors with the actions that they are asked for, and the
//! coordinator whose phases it has.

use std::collections::BTreeSet;

use spore_config::ConfigError;

use super::Flows;
use crate::files::flow_campaign::{
    CONSOLIDATE, CampaignDefinition, DECIDE, DECOMPOSE, EVALUATE, JUDGE, RESEARCH, ROADMAP,
    refuse_own_name,
};
use crate::files::flow_file::PlacedValue;
use crate::files::flow_text::{known, wrong};

impl Flows {
    pub(super) fn check_campaign(
        &self,
        path: &str,
        one: &CampaignDefinition,
    ) -> Result<(), ConfigError> {
        let mut seen = BTreeSet::new();
        for domain in &one.domains {
            let key = format!("{path}.domains.{}", domain.name.value);
            if !seen.insert(&domain.name.value)
                || ["consolidate", "judge"].contains(&domain.name.value.as_str())
            {
                return Err(wrong(&domain.name, &key, "is a name that is taken already"));
            }
            let action = domain.action.as_ref().map_or(RESEARCH, |action| &action.value);
            self.has_action(&domain.executor, action, &format!("{key}.executor"))?;
        }
        let asked = [
            ("consolidator", &one.consolidator, CONSOLIDATE),
            ("judge", &one.judge, JUDGE),
            ("roadmap", &one.roadmap, ROADMAP),
            ("decomposer", &one.decomposer, DECOMPOSE),
            ("decide", &one.decide, DECIDE),
            ("evaluator", &one.evaluator, EVALUATE),
        ];
        for (word, executor, action) in asked {
            if let Some(executor) = executor {
                self.has_action(executor, action, &format!("{path}.{word}"))?;
            }
        }
        let Some(coordinator) = &one.coordinator else { return Ok(()) };
        let key = format!("{path}.coordinator");
        let there: Vec<&str> = self.coordinators.keys().map(String::as_str).collect();
        known(coordinator, &key, "coordinator", &there)?;
        let phases = self.coordinators.get(&coordinator.value).map(|one| &one.phases);
        for phase in phases.into_iter().flatten() {
            refuse_own_name(&phase.name, &format!("coordinators.{}.phases", coordinator.value))?;
        }
        Ok(())
    }

    /// Refuses an executor that is not there or has no such action.
    fn has_action(
        &self,
        executor: &PlacedValue<String>,
        action: &str,
        key: &str,
    ) -> Result<(), ConfigError> {
        let executors: Vec<&str> = self.executors.keys().map(String::as_str).collect();
        known(executor, key, "executor", &executors)?;
        let actions = self.executors.get(&executor.value).map(|one| &one.actions);
        match actions {
            Some(all) if !all.is_empty() && !all.iter().any(|one| one == action) => {
                let problem = format!("is wrong: {} has no action {action}", executor.value);
                Err(wrong(executor, key, &problem))
            }
            _ => Ok(()),
        }
    }
}
