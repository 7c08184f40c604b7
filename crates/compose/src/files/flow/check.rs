//! What the keys of all flow files name must be there, and phases must not wait in a circle.
//! What a text asks for is left by a stage or phase that is over by then.

use std::collections::{BTreeMap, BTreeSet};

use spore_config::ConfigError;

use super::{
    CoordinatorDefinition, FULL, Flows, ModifierStages, OrchestratorDefinition, Phase, RESOLVE,
};
use crate::files::flow_file::PlacedValue;
use crate::files::flow_stage::{BUILT_IN, ORCHESTRATE, PLANNED, SENTINEL, Stage, StageEach};
use crate::files::flow_text::{known, wrong};
use crate::wording::template;
use crate::wording::{DataHole, Datum};

impl Flows {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        for (name, orchestrator) in &self.orchestrators {
            self.check_orchestrator(&format!("orchestrators.{name}"), orchestrator)?;
        }
        for (name, coordinator) in &self.coordinators {
            self.check_coordinator(&format!("coordinators.{name}"), coordinator)?;
        }
        for (name, campaign) in &self.campaigns {
            self.check_campaign(&format!("campaigns.{name}"), campaign)?;
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
        for (name, orchestrator) in &self.orchestrators {
            let own = orchestrator.modifiers.iter().flat_map(|one| match &one.stages {
                ModifierStages::Own(stages) => stages.as_slice(),
                ModifierStages::Named(_) => &[],
            });
            for stage in orchestrator.stages.iter().chain(own) {
                let path = format!("orchestrators.{name}");
                self.check_tools(&path, stage, tool)?;
                check_judges(&path, stage, role)?;
            }
        }
        Ok(())
    }

    /// Refuses artifacts that no commit takes: `left_out` says which those are. A path that is not whole
    /// yet is looked at as far as it is written.
    pub fn check_artifacts(&self, left_out: &dyn Fn(&str) -> bool) -> Result<(), ConfigError> {
        let refuse = |key: String, spot: &PlacedValue<String>| match left_out(&spot.value) {
            true => Err(wrong(spot, &key, "is a path that never enters a commit")),
            false => Ok(()),
        };
        for (name, executor) in &self.executors {
            if let Some(artifact) = &executor.artifact {
                refuse(format!("executors.{name}.artifact"), artifact)?;
            }
        }
        for (name, orchestrator) in &self.orchestrators {
            let own = orchestrator.modifiers.iter().flat_map(|one| match &one.stages {
                ModifierStages::Own(stages) => stages.as_slice(),
                ModifierStages::Named(_) => &[],
            });
            for stage in orchestrator.stages.iter().chain(own) {
                if let Some(artifact) = &stage.artifact {
                    let key = format!("orchestrators.{name}.stages.{}.artifact", stage.name.value);
                    refuse(key, artifact)?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a stage that runs an executor with a backend of its own that lacks one of its tools.
    fn check_tools(
        &self,
        path: &str,
        stage: &Stage,
        tool: &dyn Fn(Option<&str>, &str) -> Option<String>,
    ) -> Result<(), ConfigError> {
        let executor = self.executors.get(&stage.executor.value);
        let (Some(backend), Some(executor)) = (stage.backend.as_deref(), executor) else {
            return Ok(());
        };
        for word in &executor.allowed_tools {
            if let Some(problem) = tool(Some(backend), &word.value) {
                let key = format!("{path}.stages.{}", stage.name.value);
                let name = &stage.executor.value;
                let problem = format!("runs {name} with a tool that is wrong there: {problem}");
                return Err(wrong(&stage.executor, &key, &problem));
            }
        }
        Ok(())
    }

    fn check_orchestrator(
        &self,
        path: &str,
        one: &OrchestratorDefinition,
    ) -> Result<(), ConfigError> {
        let all: Vec<&Stage> = one.stages.iter().collect();
        self.check_stages(path, &all)?;
        let names: Vec<&str> = one.stages.iter().map(|stage| &*stage.name.value).collect();
        for modifier in &one.modifiers {
            let key = format!("{path}.modifiers.{}", modifier.name.value);
            let named = match &modifier.stages {
                ModifierStages::Own(stages) => {
                    self.check_stages(&key, &stages.iter().collect::<Vec<_>>())?;
                    continue;
                }
                ModifierStages::Named(named) => named,
            };
            let mut seen = BTreeSet::new();
            for stage in named {
                known(stage, &key, "stage", &names)?;
                if !seen.insert(&stage.value) {
                    return Err(wrong(stage, &key, &twice(stage)));
                }
            }
            let find = |name: &PlacedValue<String>| {
                one.stages.iter().find(|stage| stage.name.value == name.value)
            };
            self.check_data(&key, &named.iter().filter_map(find).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Checks stages that are run in this order.
    pub(crate) fn check_stages(&self, path: &str, stages: &[&Stage]) -> Result<(), ConfigError> {
        let mut seen = BTreeSet::new();
        for stage in stages {
            if !seen.insert(&stage.name.value) {
                return Err(wrong(&stage.name, &format!("{path}.stages"), &twice(&stage.name)));
            }
            self.check_executor(path, stage)?;
        }
        self.check_data(path, stages)
    }

    /// Refuses a stage that asks for what is not there by then.
    fn check_data(&self, path: &str, stages: &[&Stage]) -> Result<(), ConfigError> {
        for (at, stage) in stages.iter().enumerate() {
            let key = format!("{path}.stages.{}", stage.name.value);
            for spot in texts_of(stage) {
                for hole in data_in(spot) {
                    let DataHole::Stage { name, datum } = &hole else { continue };
                    let Some(other) = stages[..at].iter().find(|one| one.name.value == *name)
                    else {
                        let problem = format!("has {hole}, and no stage {name} is before it");
                        return Err(wrong(spot, &key, &problem));
                    };
                    self.gives(other, *datum).map_err(|problem| {
                        wrong(spot, &key, &format!("has {hole}, and {problem}"))
                    })?;
                }
            }
            if let Some(from) = &stage.from {
                let before: Vec<&str> = stages[..=at].iter().map(|one| &*one.name.value).collect();
                known(from, &format!("{key}.from"), "stage up to this one", &before)?;
            }
            self.check_rounds(&key, stage)?;
        }
        Ok(())
    }

    /// What is repeated has to say something that can be looked at.
    fn check_rounds(&self, key: &str, stage: &Stage) -> Result<(), ConfigError> {
        let stray = [
            stage.from.as_ref().map(|spot| ("from", spot)).filter(|_| stage.until.is_none()),
            stage.until.as_ref().map(|spot| ("until", spot)).filter(|_| stage.each.is_some()),
        ];
        if let Some((word, spot)) = stray.into_iter().flatten().next() {
            let problem = match word {
                "from" => "is without `until`: nothing says when another round is needed",
                _ => "and `each` do not go together: put the list into an earlier stage",
            };
            return Err(wrong(spot, &format!("{key}.{word}"), problem));
        }
        let Some(until) = &stage.until else { return Ok(()) };
        let key = format!("{key}.until");
        match stage.executor.value == SENTINEL {
            true => known(until, &key, "grade", &["PASS", "WARN"]),
            false if self.artifact_of(stage).is_none() => Err(wrong(
                until,
                &key,
                "needs an `artifact`, of which a line says it when it is enough",
            )),
            false if until.value.trim().is_empty() || until.value.contains('\n') => {
                Err(wrong(until, &key, "must be a line"))
            }
            false => Ok(()),
        }
    }

    fn artifact_of<'s>(&'s self, stage: &'s Stage) -> Option<&'s str> {
        let own = stage.artifact.as_ref().map(|artifact| artifact.value.as_str());
        own.or_else(|| Some(&self.executors.get(&stage.executor.value)?.artifact.as_ref()?.value))
    }

    /// Returns whether a stage can leave what is asked for, or why it cannot.
    fn gives(&self, stage: &Stage, datum: Datum) -> Result<(), String> {
        let (name, executor) = (&stage.name.value, stage.executor.value.as_str());
        match datum {
            Datum::Status => Ok(()),
            Datum::Grade if executor == SENTINEL => Ok(()),
            Datum::Grade => Err(format!("{name} is no sentinel")),
            Datum::Commit if executor == SENTINEL && stage.judges.is_none() => {
                Err(format!("{name} changes nothing"))
            }
            Datum::Commit => Ok(()),
            Datum::Artifact if [ORCHESTRATE, SENTINEL, PLANNED].contains(&executor) => {
                Err(format!("{name} is {executor}, which has none"))
            }
            Datum::Artifact if self.artifact_of(stage).is_none() => {
                Err(format!("{name} has no `artifact`"))
            }
            Datum::Artifact => Ok(()),
        }
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
        self.check_phases(path, &one.phases)
    }

    /// Checks phases that wait for each other and for no others.
    pub(crate) fn check_phases(&self, path: &str, all: &[Phase]) -> Result<(), ConfigError> {
        let orchestrators: Vec<&str> = self.orchestrators.keys().map(String::as_str).collect();
        let phases: Vec<&str> = all.iter().map(|phase| &*phase.name.value).collect();
        let mut seen = BTreeSet::new();
        for phase in all {
            let key = format!("{path}.phases.{}", phase.name.value);
            if !seen.insert(&phase.name.value) {
                return Err(wrong(&phase.name, &format!("{path}.phases"), &twice(&phase.name)));
            }
            known(&phase.orchestrator, &key, "orchestrator", &orchestrators)?;
            if let Some(modifier) = &phase.modifier {
                let mut there = vec![FULL];
                if let Some(one) = self.orchestrators.get(&phase.orchestrator.value) {
                    there.extend(one.modifiers.iter().map(|one| &*one.name.value));
                }
                let kind = format!("modifier of {}", phase.orchestrator.value);
                known(modifier, &key, &kind, &there)?;
            }
            for other in &phase.depends_on {
                known(other, &format!("{key}.depends_on"), "phase", &phases)?;
            }
        }
        refuse_circle(path, all)?;
        all.iter().try_for_each(|phase| self.check_phase_data(path, all, phase))
    }

    /// Refuses a phase that asks for what another has not left when it begins.
    fn check_phase_data(
        &self,
        path: &str,
        phases: &[Phase],
        phase: &Phase,
    ) -> Result<(), ConfigError> {
        let key = format!("{path}.phases.{}.target", phase.name.value);
        let before = waited_for(phases, phase);
        for hole in data_in(&phase.target) {
            let DataHole::Phase { name, stage, datum } = &hole else { continue };
            let refuse = |problem: String| {
                Err(wrong(&phase.target, &key, &format!("has {hole}, and {problem}")))
            };
            let Some(other) = before.iter().find(|other| other.name.value == *name) else {
                return refuse(format!("it does not wait for a phase {name}"));
            };
            let stages = self.stages_of(other);
            match stage {
                None => {
                    let mut given = stages.iter().map(|stage| self.gives(stage, *datum));
                    if !given.any(|given| given.is_ok()) {
                        return refuse(format!("no stage of {name} leaves one"));
                    }
                }
                Some(stage) => match stages.iter().find(|one| one.name.value == *stage) {
                    None => return refuse(format!("{name} has no stage {stage}")),
                    Some(one) => self.gives(one, *datum).or_else(refuse)?,
                },
            }
        }
        Ok(())
    }

    /// The stages that a phase runs.
    fn stages_of(&self, phase: &Phase) -> Vec<&Stage> {
        let Some(one) = self.orchestrators.get(&phase.orchestrator.value) else {
            return Vec::new();
        };
        let word = phase.modifier.as_ref().map_or(FULL, |modifier| &modifier.value);
        one.chosen(word).unwrap_or_default()
    }
}

/// Refuses a role that a sentinel's stage names and no file describes.
fn check_judges(
    path: &str,
    stage: &Stage,
    role: &dyn Fn(&str) -> Option<String>,
) -> Result<(), ConfigError> {
    let Some(judges) = &stage.judges else { return Ok(()) };
    let named = [
        ("writer", &judges.writer),
        ("auditor", &judges.auditor),
        ("consolidator", &judges.consolidator),
    ];
    for (key, word) in named {
        if let Some(word) = word
            && let Some(problem) = role(&word.value)
        {
            let key = format!("{path}.stages.{}.{key}", stage.name.value);
            return Err(wrong(word, &key, &format!("is wrong: {problem}")));
        }
    }
    Ok(())
}

/// The texts of a stage that may ask for data.
fn texts_of(stage: &Stage) -> impl Iterator<Item = &PlacedValue<String>> {
    let list = match &stage.each {
        Some(StageEach::File(file)) => Some(file),
        Some(StageEach::Items(_)) | None => None,
    };
    let own = [&stage.target, &stage.prompt, &stage.task, &stage.artifact, &stage.plan];
    own.into_iter().flatten().chain(list)
}

fn data_in(spot: &PlacedValue<String>) -> impl Iterator<Item = DataHole> {
    template::holes(&spot.value).filter_map(|hole| DataHole::read(hole)?.ok())
}

/// The phases that are over when one begins.
fn waited_for<'p>(phases: &'p [Phase], phase: &'p Phase) -> Vec<&'p Phase> {
    let mut found: Vec<&Phase> = Vec::new();
    let mut due: Vec<&Phase> = vec![phase];
    while let Some(one) = due.pop() {
        for on in &one.depends_on {
            let next = phases.iter().find(|other| other.name.value == on.value);
            if let Some(next) = next.filter(|next| !found.iter().any(|one| one.name == next.name)) {
                found.push(next);
                due.push(next);
            }
        }
    }
    found
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

fn twice(spot: &PlacedValue<String>) -> String {
    format!("has {:?} twice", spot.value)
}
