//! Plans a campaign: every executor looked up, every prompt written, every cap settled.

use spore_config::ConfigError;

use crate::campaigns::plan::{
    CampaignGoal, CampaignPlan, CampaignTerms, DomainPlan, PhasesWork, PlanningPlan, ResearchPlan,
    notes,
};
use crate::documents::one_line;
use crate::files::flow::{FULL, Flows, MadeLimits};
use crate::files::flow_campaign::{
    CONSOLIDATE, CampaignDefinition, DECIDE, DECOMPOSE, Domain, EVALUATE, JUDGE, RESEARCH, ROADMAP,
};
use crate::files::flow_file::FlowFile;
use crate::files::flow_stage::{ORCHESTRATE, SENTINEL};
use crate::files::mode::LayerMode;
use crate::late::LateWords;
use crate::plan::{
    CoordinatorPlan, ExecPlan, ExecTexts, Habits, PlanError, exec_plan, is_inside, unknown,
};
use crate::wording::Wording;

/// Reads a file that a flow names, by its path below the project's root.
type ReadPrompt<'a> = &'a dyn Fn(&str) -> Result<String, String>;

impl Flows {
    /// Plans the campaign `name` for `task`.
    pub fn campaign(
        &self,
        name: &str,
        task: Option<&str>,
        habits: &Habits,
        read: ReadPrompt<'_>,
    ) -> Result<CampaignPlan, PlanError> {
        let one = self
            .campaigns
            .get(name)
            .ok_or_else(|| unknown("campaign", name, self.campaigns.keys()))?;
        let task = task.map(str::trim).filter(|task| !task.is_empty());
        if task.is_none()
            && (!one.domains.is_empty() || one.roadmap.is_some() || one.decomposer.is_some())
        {
            return Err(PlanError::NoTask { campaign: name.to_owned() });
        }
        let asked = CampaignCall { name, task: task.unwrap_or_default() };
        let silent = |executor: &Option<_>, action| self.judging(&asked, executor, action);
        let coordinator = one.coordinator.as_ref();
        let coordinator = coordinator.map(|known| self.phases(&known.value, task, habits));
        Ok(CampaignPlan {
            campaign: name.to_owned(),
            description: one.description.clone(),
            task: asked.task.to_owned(),
            mode: one.mode,
            research: self.research(&asked, one, habits, read)?,
            planning: self.planning(&asked, one, habits)?,
            review: one.review.unwrap_or(one.decomposer.is_some()),
            decide: silent(&one.decide, DECIDE)?,
            evaluator: silent(&one.evaluator, EVALUATE)?,
            ends_with: match one.ends_with() {
                "research" => CampaignGoal::Research,
                "plan" => CampaignGoal::Plan,
                _ => CampaignGoal::Evaluation,
            },
            budget: one.budget.or(coordinator.as_ref().and_then(|plan| plan.as_ref().ok()?.budget)),
            coordinator: coordinator.transpose()?,
            terms: CampaignTerms {
                stage_heals: habits.heals,
                stage_retries: habits.retries,
                max_attempts: habits.max_attempts,
                retries: habits.retries,
                heals: one.heal.unwrap_or(habits.campaign_heals),
            },
        })
    }

    fn research(
        &self,
        asked: &CampaignCall<'_>,
        one: &CampaignDefinition,
        habits: &Habits,
        read: ReadPrompt<'_>,
    ) -> Result<Option<ResearchPlan>, PlanError> {
        if one.domains.is_empty() {
            return Ok(None);
        }
        let domains = one.domains.iter().map(|domain| self.domain(asked, domain, read));
        let file = notes(asked.name, "research.md");
        Ok(Some(ResearchPlan {
            domains: domains.collect::<Result<_, _>>()?,
            consolidator: match &one.consolidator {
                Some(name) => {
                    Some(self.session(asked, (&name.value, CONSOLIDATE), None, Some(file))?)
                }
                None => None,
            },
            judge: self.judging(asked, &one.judge, JUDGE)?,
            max_rounds: one.max_rounds.unwrap_or(habits.max_rounds),
            max_parallel: one.max_parallel.unwrap_or(habits.max_parallel).max(1),
        }))
    }

    fn domain(
        &self,
        asked: &CampaignCall<'_>,
        domain: &Domain,
        read: ReadPrompt<'_>,
    ) -> Result<DomainPlan, PlanError> {
        let name = domain.name.value.clone();
        let prompt = match &domain.prompt_file {
            None => None,
            Some(file) => {
                let text = match is_inside(&file.value) {
                    true => read(&file.value),
                    false => Err(format!("{} is outside of the project", one_line(&file.value))),
                };
                let unread = |problem| PlanError::NoPrompt { domain: name.clone(), problem };
                Some(text.map_err(unread)?)
            }
        };
        let action = domain.action.as_ref().map_or(RESEARCH, |action| &action.value);
        let file = notes(asked.name, &format!("research-{name}.md"));
        let exec = self.session(asked, (&domain.executor.value, action), prompt, Some(file))?;
        Ok(DomainPlan { name, exec })
    }

    fn planning(
        &self,
        asked: &CampaignCall<'_>,
        one: &CampaignDefinition,
        habits: &Habits,
    ) -> Result<Option<PlanningPlan>, PlanError> {
        if one.roadmap.is_none() && one.decomposer.is_none() {
            return Ok(None);
        }
        let file = |name: &str| Some(notes(asked.name, name));
        let roadmap = one
            .roadmap
            .as_ref()
            .map(|name| self.session(asked, (&name.value, ROADMAP), None, file("roadmap.md")));
        let decomposer = one
            .decomposer
            .as_ref()
            .map(|name| self.session(asked, (&name.value, DECOMPOSE), None, file("phases.toml")));
        let mut decomposer = decomposer.transpose()?;
        let max_phases = one.max_phases.unwrap_or(habits.max_phases);
        if let Some(exec) = &mut decomposer {
            exec.prompt.push_str(&self.vocabulary(max_phases));
        }
        Ok(Some(PlanningPlan { roadmap: roadmap.transpose()?, decomposer, max_phases }))
    }

    /// One session of a campaign's own.
    fn session(
        &self,
        asked: &CampaignCall<'_>,
        (name, action): (&str, &str),
        prompt: Option<String>,
        artifact: Option<String>,
    ) -> Result<ExecPlan, PlanError> {
        let executor = self
            .executors
            .get(name)
            .ok_or_else(|| unknown("executor", name, self.executors.keys()))?;
        // Its files have their places: what a task is called is no part of a path.
        let texts =
            ExecTexts { prompt: prompt.unwrap_or_else(|| executor.prompt.clone()), artifact: None };
        let target = Wording::from(asked.task);
        let plan = exec_plan(name, executor, (action, &target), &texts, &mut LateWords::default())?;
        // What it finds out and plans is brought to the branch without checks of the product, so it
        // changes nothing of it.
        let writes_below = artifact.is_some().then(|| notes(asked.name, ""));
        Ok(ExecPlan { artifact, writes_below, ..plan })
    }

    /// A session that says something and changes nothing.
    fn judging(
        &self,
        asked: &CampaignCall<'_>,
        executor: &Option<crate::files::flow_file::PlacedValue<String>>,
        action: &str,
    ) -> Result<Option<ExecPlan>, PlanError> {
        let Some(name) = executor else { return Ok(None) };
        let plan = self.session(asked, (&name.value, action), None, None)?;
        Ok(Some(ExecPlan { reads_only: true, ..plan }))
    }

    /// What a decomposer may name, and how it is written down.
    fn vocabulary(&self, max_phases: u32) -> String {
        let mut text = format!(
            "\n\n## How the phases are written\n\nAt most {max_phases} phases, in TOML:\n\n```toml\n\
             [[phases]]\nname = \"letters-digits-dashes\"\norchestrator = \"one of those below\"\n\
             modifier = \"full\"\ntarget = \"what exactly it is to do\"\ndepends_on = [\"an earlier phase\"]\n\
             ```\n\nIn place of `orchestrator` and `modifier` a phase may have `stages = [{{ name = \"A\", \
             executor = \"NAME\", target = \"...\" }}]`.\n\nOrchestrators:\n\n"
        );
        for (name, one) in &self.orchestrators {
            let modifiers = one.modifiers.iter().map(|one| one.name.value.as_str());
            let modifiers: Vec<&str> = [FULL].into_iter().chain(modifiers).collect();
            let about = one.description.as_deref().map(|about| format!(": {about}"));
            text.push_str(&format!(
                "- {name} ({}){}\n",
                modifiers.join(", "),
                about.unwrap_or_default()
            ));
        }
        text.push_str("\nExecutors of stages:\n\n");
        text.push_str(&format!(
            "- {ORCHESTRATE}: one task, done and verified as a whole; `task` says what\n\
             - {SENTINEL}: the project's checks\n"
        ));
        for (name, one) in &self.executors {
            let actions = match one.actions.is_empty() {
                true => String::new(),
                false => format!(" ({})", one.actions.join(", ")),
            };
            text.push_str(&format!("- {name}{actions}\n"));
        }
        text
    }

    /// Plans phases that were made on the way, for a campaign with those of `there`. What is wrong
    /// with them is told with its line.
    pub fn made_phases(
        &self,
        work: &PhasesWork,
        text: String,
        there: &[String],
        habits: &Habits,
    ) -> Result<CoordinatorPlan, ConfigError> {
        let file = FlowFile { path: work.plan.clone().into(), text };
        let limits = MadeLimits { phases: work.max_phases, stages: habits.max_planned };
        let (flows, phases) = self.read_made_phases(&file, limits, there)?;
        let target = Wording::from(work.target.as_str());
        let mut planned = Vec::new();
        for phase in &phases {
            let one = flows.phase(phase, (&target, None), habits);
            planned.push(one.map_err(|error| ConfigError::BadValue {
                place: phase.name.place.clone(),
                key: format!("phases.{}", phase.name.value),
                problem: format!("is wrong: {error}"),
            })?);
        }
        Ok(CoordinatorPlan {
            coordinator: "phases".to_owned(),
            description: None,
            max_parallel: 1,
            budget: None,
            phases: planned,
            mode: LayerMode::Tool,
        })
    }
}

/// What is asked of a campaign.
struct CampaignCall<'a> {
    name: &'a str,
    task: &'a str,
}
