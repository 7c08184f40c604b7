//! What the keys of all flow files name must be there, and phases must not wait in a circle.

use std::collections::{BTreeMap, BTreeSet};

use spore_config::ConfigError;

use super::{
    BUILT_IN, CoordinatorDefinition, FULL, Flows, OrchestratorDefinition, Phase, RESOLVE, Stage,
};
use crate::flow_file::{PlacedValue, nearest};

impl Flows {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (name, orchestrator) in &self.orchestrators {
            self.check_orchestrator(&format!("orchestrators.{name}"), orchestrator)?;
        }
        for (name, coordinator) in &self.coordinators {
            self.check_coordinator(&format!("coordinators.{name}"), coordinator)?;
        }
        Ok(())
    }

    /// Refuses words that mean something outside of the files alone: roles, and tools of a backend
    /// where the executor names one. Both say what is wrong with a word, if anything is.
    pub fn check_words(
        &self,
        role: &dyn Fn(&str) -> Option<String>,
        tool: &dyn Fn(Option<&str>, &str) -> Option<String>,
    ) -> Result<(), ConfigError> {
        for (name, executor) in &self.executors {
            if let Some(problem) = role(&executor.role.value) {
                let key = format!("executors.{name}.role");
                return Err(wrong(&executor.role, &key, &format!("is wrong: {problem}")));
            }
            for word in &executor.allowed_tools {
                if let Some(problem) = tool(executor.backend.as_deref(), &word.value) {
                    let key = format!("executors.{name}.allowed_tools");
                    return Err(wrong(word, &key, &format!("is wrong: {problem}")));
                }
            }
        }
        Ok(())
    }

    fn check_orchestrator(
        &self,
        path: &str,
        one: &OrchestratorDefinition,
    ) -> Result<(), ConfigError> {
        let mut seen = BTreeSet::new();
        for stage in &one.stages {
            if !seen.insert(&stage.name.value) {
                return Err(wrong(&stage.name, &format!("{path}.stages"), &twice(&stage.name)));
            }
            self.check_executor(path, stage)?;
        }
        let stages: Vec<&str> = one.stages.iter().map(|stage| &*stage.name.value).collect();
        for (modifier, named) in &one.modifiers {
            let key = format!("{path}.modifiers.{}", modifier.value);
            let mut seen = BTreeSet::new();
            for stage in named {
                known(stage, &key, "stage", &stages)?;
                if !seen.insert(&stage.value) {
                    return Err(wrong(stage, &key, &twice(stage)));
                }
            }
        }
        Ok(())
    }

    fn check_executor(&self, path: &str, stage: &Stage) -> Result<(), ConfigError> {
        let key = format!("{path}.stages.{}", stage.name.value);
        let mut executors: Vec<&str> = self.executors.keys().map(String::as_str).collect();
        executors.extend(BUILT_IN);
        known(&stage.executor, &format!("{key}.executor"), "executor", &executors)?;
        let Some(executor) = self.executors.get(&stage.executor.value) else { return Ok(()) };
        let action = stage.action.as_ref().unwrap_or(&stage.name);
        if executor.actions.is_empty() {
            return Ok(());
        }
        let actions: Vec<&str> = executor.actions.iter().map(String::as_str).collect();
        known(action, &key, &format!("action of {}", stage.executor.value), &actions)
    }

    fn check_coordinator(
        &self,
        path: &str,
        one: &CoordinatorDefinition,
    ) -> Result<(), ConfigError> {
        let orchestrators: Vec<&str> = self.orchestrators.keys().map(String::as_str).collect();
        let phases: Vec<&str> = one.phases.iter().map(|phase| &*phase.name.value).collect();
        let mut seen = BTreeSet::new();
        for phase in &one.phases {
            let key = format!("{path}.phases.{}", phase.name.value);
            if !seen.insert(&phase.name.value) {
                return Err(wrong(&phase.name, &format!("{path}.phases"), &twice(&phase.name)));
            }
            known(&phase.orchestrator, &key, "orchestrator", &orchestrators)?;
            if let Some(modifier) = &phase.modifier {
                let mut there = vec![FULL];
                if let Some(one) = self.orchestrators.get(&phase.orchestrator.value) {
                    there.extend(one.modifiers.iter().map(|(name, _)| &*name.value));
                }
                let kind = format!("modifier of {}", phase.orchestrator.value);
                known(modifier, &key, &kind, &there)?;
            }
            for other in &phase.depends_on {
                known(other, &format!("{key}.depends_on"), "phase", &phases)?;
            }
        }
        if let Some(resolver) = &one.resolver {
            let key = format!("{path}.resolver");
            let executors: Vec<&str> = self.executors.keys().map(String::as_str).collect();
            known(resolver, &key, "executor", &executors)?;
            let actions = self.executors.get(&resolver.value).map(|one| &one.actions);
            if actions.is_some_and(|all| !all.is_empty() && !all.iter().any(|one| one == RESOLVE)) {
                let problem = format!("is wrong: {} has no action {RESOLVE}", resolver.value);
                return Err(wrong(resolver, &key, &problem));
            }
        }
        refuse_circle(path, &one.phases)
    }
}

/// Takes away what waits for nothing until nothing is left. What then still waits, waits for
/// itself.
fn refuse_circle(path: &str, phases: &[Phase]) -> Result<(), ConfigError> {
    let mut waiting: BTreeMap<&str, &Phase> =
        phases.iter().map(|phase| (&*phase.name.value, phase)).collect();
    loop {
        let free: Vec<&str> = waiting
            .iter()
            .filter(|(_, phase)| {
                !phase.depends_on.iter().any(|on| waiting.contains_key(&*on.value))
            })
            .map(|(name, _)| *name)
            .collect();
        if free.is_empty() {
            break;
        }
        waiting.retain(|name, _| !free.contains(name));
    }
    let Some(first) = phases.iter().find(|phase| waiting.contains_key(&*phase.name.value)) else {
        return Ok(());
    };
    let names: Vec<&str> = waiting.keys().copied().collect();
    let problem = format!("waits for itself: {}", names.join(", "));
    Err(wrong(&first.name, &format!("{path}.phases.{}", first.name.value), &problem))
}

fn known(
    spot: &PlacedValue<String>,
    key: &str,
    kind: &str,
    there: &[&str],
) -> Result<(), ConfigError> {
    if there.contains(&spot.value.as_str()) {
        return Ok(());
    }
    let meant = nearest(&spot.value, there).map(|name| format!("; did you mean {name}?"));
    let problem = format!("there is no {kind} {:?}{}", spot.value, meant.unwrap_or_default());
    Err(wrong(spot, key, &format!("is wrong: {problem}")))
}

fn twice(spot: &PlacedValue<String>) -> String {
    format!("has {:?} twice", spot.value)
}

fn wrong(spot: &PlacedValue<String>, key: &str, problem: &str) -> ConfigError {
    ConfigError::BadValue {
        place: spot.place.clone(),
        key: key.to_owned(),
        problem: problem.to_owned(),
    }
}
