//! What planning needs, and what a call fills into a plan that its flow left open.

use std::path::{Path, PathBuf};
use std::time::Duration;

use spore_compose::{CoordinatorPlan, ExecPlan, Habits, LayerMode, OrchestratorPlan, StageWork};
use spore_config::Config;
use spore_model::Fault;

use super::asked::FlowOptions;
use crate::agents::leaders;
use crate::base::starts::StartBounds;
use crate::{Error, Result, Surroundings, Workspace};

/// How long the session of a stage may take where neither flow nor call says otherwise.
const STAGE_TIME: Duration = Duration::from_mins(10);

/// What planning needs.
pub(crate) struct Ready<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) options: &'a FlowOptions,
    /// What the session gives that asks for it, where one does.
    pub(crate) bounds: Option<&'a StartBounds>,
}

impl Ready<'_> {
    pub(super) fn habits(&self) -> Habits {
        let flows = &self.config.flows;
        Habits {
            heals: flows.heals,
            retries: flows.retries,
            max_attempts: flows.max_attempts,
            max_parallel: flows.max_parallel,
            max_items: flows.max_items,
            max_planned: flows.max_planned,
            max_rounds: flows.max_rounds,
            max_phases: flows.max_phases,
            campaign_heals: flows.campaign_heals,
            max_cycles: self.config.sentinel.max_cycles,
        }
    }

    /// The scenario of the call, where it can be found from anywhere.
    pub(crate) fn scenario(&self) -> Result<Option<PathBuf>> {
        let absolute = |path: &Path| {
            self.around.cwd.join(path).canonicalize().map_err(|source| {
                Error::new(Fault::Usage, format!("there is no {}", spore_plain::path(path)))
                    .because(source)
            })
        };
        self.options.scenario.as_deref().map(absolute).transpose()
    }

    /// Fills in what the call says; its extra context is for the caller to add.
    pub(super) fn fill_exec(&self, plan: &mut ExecPlan) -> Result<()> {
        plan.backend = plan.backend.take().or_else(|| self.options.backend.clone());
        plan.scenario = plan.scenario.take().or(self.scenario()?);
        plan.model = plan.model.take().or_else(|| self.options.model.clone());
        let timeout = plan.timeout.or(self.options.timeout);
        plan.timeout = Some(timeout.unwrap_or(STAGE_TIME));
        Ok(())
    }

    /// Says why no session can lead what was planned on the way, where one is to.
    pub(super) fn unled<'m>(
        &self,
        modes: impl IntoIterator<Item = &'m LayerMode>,
    ) -> Option<String> {
        let backend = self.options.backend.as_deref().unwrap_or(&self.config.orchestrate.backend);
        unled(backend, modes)
    }

    /// What the call adds to every task, as data.
    pub(super) fn extra_context(&self) -> String {
        let Some(text) = &self.options.extra_context else { return String::new() };
        let text = spore_secrets::strike_out(&self.around.secrets().strike(text));
        format!("\n\n## Extra context\n\n{}", spore_plain::fenced("text", text.trim_end()))
    }

    pub(super) fn fill_phases(&self, plan: &mut CoordinatorPlan) -> Result<()> {
        for phase in &mut plan.phases {
            self.fill(&mut phase.orchestrator)?;
            if let Some(resolver) = &mut phase.resolver {
                self.fill_exec(resolver)?;
            }
        }
        Ok(())
    }

    pub(super) fn fill(&self, plan: &mut OrchestratorPlan) -> Result<()> {
        for stage in &mut plan.stages {
            match &mut stage.work {
                StageWork::Exec(exec) => self.fill_exec(exec)?,
                StageWork::Orchestrate(task) => {
                    task.backend = task.backend.take().or_else(|| self.options.backend.clone());
                    task.scenario = task.scenario.take().or(self.scenario()?);
                    task.model = task.model.take().or_else(|| self.options.model.clone());
                    let timeout = task.timeout.or(self.options.timeout);
                    task.timeout = Some(timeout.unwrap_or(STAGE_TIME));
                }
                StageWork::Sentinel { judged: Some(judged) } => {
                    let judges = &mut judged.judges;
                    judges.backend = judges.backend.take().or_else(|| self.options.backend.clone());
                    judges.scenario = judges.scenario.take().or(self.scenario()?);
                    judges.model = judges.model.take().or_else(|| self.options.model.clone());
                }
                StageWork::Sentinel { judged: None } | StageWork::Planned(_) => {}
            }
            stage.add_to_task(&self.extra_context());
        }
        Ok(())
    }
}

fn unled<'m>(backend: &str, modes: impl IntoIterator<Item = &'m LayerMode>) -> Option<String> {
    let is_led = modes.into_iter().any(|mode| !mode.is_tool());
    let error = leaders::refuse_unless_leads(backend).err().filter(|_| is_led)?;
    Some(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_on_the_way_is_led_by_agents_that_keep_no_tools_alone() {
        let (tool, agent) = (LayerMode::Tool, LayerMode::Agent);
        assert_eq!(unled("codex", [&tool, &tool]), None);
        assert_eq!(unled("claude", [&tool, &agent]), None);
        let refused = unled("codex", [&tool, &agent]).unwrap();
        assert!(refused.starts_with("codex cannot lead a layer"), "{refused}");
    }
}
