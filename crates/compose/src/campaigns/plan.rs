//! What exactly a campaign is to do, and the coordinators that its steps are.
//!
//! A campaign calls coordinators and nothing else: what is found out, planned, done and evaluated
//! are phases like any others, with sessions that are booked, checked and resumed like any others.
//! The stages of a phase that changes the product end with the project's checks, so what was not
//! seen to hold never gets onto the branch.

use serde::{Deserialize, Serialize};
use spore_model::Usd;

use crate::campaigns::answers::{Gaps, asks_for_decision, asks_for_evaluation, asks_for_judgement};
use crate::documents::{one_line, quotation};
use crate::files::mode::LayerMode;
use crate::late::{LateWords, MadeFor};
use crate::plan::{CoordinatorPlan, ExecPlan, OrchestratorPlan, PhasePlan, StagePlan, StageWork};

/// What a campaign ends with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CampaignGoal {
    Research,
    Plan,
    Evaluation,
}

/// What a campaign's own stages are tried with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CampaignTerms {
    pub stage_heals: u32,
    pub stage_retries: u32,
    pub max_attempts: u32,
    /// How often a phase that needs refinement or took too long is run again at once.
    pub retries: u32,
    /// How many rounds of healing there are.
    pub heals: u32,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CampaignPlan {
    pub campaign: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it is about, in the words of the person who asked.
    pub task: String,
    #[serde(default, skip_serializing_if = "LayerMode::is_tool")]
    pub mode: LayerMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub research: Option<ResearchPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning: Option<PlanningPlan>,
    /// The phases, where they are known from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<CoordinatorPlan>,
    /// Whether a person looks at the phases before they begin.
    pub review: bool,
    /// Who decides whether what failed is worth another round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decide: Option<ExecPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluator: Option<ExecPlan>,
    pub ends_with: CampaignGoal,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Usd>,
    pub terms: CampaignTerms,
}

/// How a campaign finds out what it needs to know.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResearchPlan {
    pub domains: Vec<DomainPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consolidator: Option<ExecPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<ExecPlan>,
    pub max_rounds: u32,
    pub max_parallel: u32,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DomainPlan {
    pub name: String,
    pub exec: ExecPlan,
}

/// How a campaign comes to its phases.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlanningPlan {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roadmap: Option<ExecPlan>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decomposer: Option<ExecPlan>,
    pub max_phases: u32,
}

/// Phases that a file names which is made on the way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PhasesWork {
    /// The file.
    pub plan: String,
    pub target: String,
    pub max_phases: u32,
}

/// Where a campaign's own files are, among those of the project.
pub(crate) fn notes(campaign: &str, file: &str) -> String {
    format!("notes/{campaign}/{file}")
}

/// The name of the phase whose session judges, evaluates or decides.
pub const EVALUATION: &str = "evaluation";
pub const DECISION: &str = "decision";
pub const JUDGEMENT: &str = "research-judge";

impl CampaignPlan {
    /// Every session that it plans by itself, for callers to fill in what the call says.
    pub fn execs_mut(&mut self) -> Vec<&mut ExecPlan> {
        let mut all = Vec::new();
        if let Some(research) = &mut self.research {
            all.extend(research.domains.iter_mut().map(|domain| &mut domain.exec));
            all.extend(&mut research.consolidator);
            all.extend(&mut research.judge);
        }
        if let Some(planning) = &mut self.planning {
            all.extend(&mut planning.roadmap);
            all.extend(&mut planning.decomposer);
        }
        all.extend(&mut self.decide);
        all.extend(&mut self.evaluator);
        all
    }

    pub fn execs(&self) -> Vec<&ExecPlan> {
        let mut all = Vec::new();
        if let Some(research) = &self.research {
            all.extend(research.domains.iter().map(|domain| &domain.exec));
            all.extend(&research.consolidator);
            all.extend(&research.judge);
        }
        if let Some(planning) = &self.planning {
            all.extend(&planning.roadmap);
            all.extend(&planning.decomposer);
        }
        all.extend(&self.decide);
        all.extend(&self.evaluator);
        all
    }

    /// Where the phases are written down that its decomposer made.
    pub fn phases_work(&self) -> Option<PhasesWork> {
        let planning = self.planning.as_ref()?;
        let plan = planning.decomposer.as_ref()?.artifact.clone()?;
        Some(PhasesWork { plan, target: self.task.clone(), max_phases: planning.max_phases })
    }

    /// Where its roadmap is.
    pub fn roadmap_path(&self) -> Option<&str> {
        self.planning.as_ref()?.roadmap.as_ref()?.artifact.as_deref()
    }

    /// One round of research: all domains, one account of them, and whether that is enough.
    pub(crate) fn research_round(&self, gaps: &Gaps) -> Option<CoordinatorPlan> {
        let research = self.research.as_ref()?;
        let mut phases = Vec::new();
        for domain in &research.domains {
            let exec = told(&domain.exec, &gaps.told());
            phases.push(self.phase_of(&format!("research-{}", domain.name), exec, &[], None));
        }
        let accounts: Vec<&str> =
            research.domains.iter().filter_map(|one| one.exec.artifact.as_deref()).collect();
        let mut before: Vec<String> = phases.iter().map(|phase| phase.name.clone()).collect();
        if let Some(consolidator) = &research.consolidator {
            let exec =
                told(consolidator, &format!("{}{}", files("The accounts", &accounts), gaps.told()));
            phases.push(self.phase_of("research-consolidate", exec, &before, None));
            before = vec!["research-consolidate".to_owned()];
        }
        if let Some(judge) = &research.judge {
            let account = research.consolidator.as_ref().and_then(|one| one.artifact.as_deref());
            let account = account.map_or(accounts, |account| vec![account]);
            let (account, asked) = (files("What was found out", &account), asks_for_judgement());
            let words = format!("{account}{}{asked}", gaps.told());
            phases.push(self.phase_of(JUDGEMENT, told(judge, &words), &before, None));
        }
        Some(self.coordinator_of("research", research.max_parallel, phases))
    }

    /// One version of the plan, by what a person said to the one before.
    pub(crate) fn planning_round(&self, feedback: Option<&str>) -> Option<CoordinatorPlan> {
        let planning = self.planning.as_ref()?;
        let found = self.found_out();
        let said = feedback.map_or_else(String::new, |feedback| {
            format!(
                "\n\n## What a person said to the version before\n\nTake up each point, or say why \
                 not:\n\n{}",
                quotation(feedback)
            )
        });
        let mut phases = Vec::new();
        let mut before = Vec::new();
        if let Some(roadmap) = &planning.roadmap {
            let words = format!("{}{said}", files("What was found out", &found));
            phases.push(self.phase_of("plan-roadmap", told(roadmap, &words), &[], None));
            before.push("plan-roadmap".to_owned());
        }
        if let Some(decomposer) = &planning.decomposer {
            let source = match self.roadmap_path() {
                Some(path) => files("The roadmap", &[path]),
                None => files("What was found out", &found),
            };
            let exec = told(decomposer, &format!("{source}{said}"));
            let (max_phases, target) = (planning.max_phases, self.task.clone());
            let makes = Some(MadeFor::Phases { max_phases, target });
            phases.push(self.phase_of("plan-decompose", exec, &before, makes));
        }
        Some(self.coordinator_of("plan", 1, phases))
    }

    /// One attempt at a phase. What is run again is told what went wrong, and every attempt ends
    /// with the project's checks.
    pub(crate) fn phase_run(&self, phase: &PhasePlan, resolution: Option<&str>) -> CoordinatorPlan {
        let mut phase = PhasePlan { depends_on: Vec::new(), ..phase.clone() };
        let stages = &mut phase.orchestrator.stages;
        if !matches!(stages.last().map(|stage| &stage.work), Some(StageWork::Sentinel { .. })) {
            let taken = |name: &String| stages.iter().any(|stage| stage.name == *name);
            let mut names =
                std::iter::successors(Some("SENTINEL".to_owned()), |last| Some(format!("{last}-")));
            let name = names.find(|name| !taken(name)).unwrap_or_default();
            stages.push(sentinel(&name));
        }
        if let Some(resolution) = resolution {
            phase.orchestrator.resolution = Some(resolution.to_owned());
        }
        let mode = self.coordinator.as_ref().map_or(LayerMode::Tool, |one| one.mode);
        let name = phase.name.clone();
        CoordinatorPlan { mode, ..self.coordinator_of(&name, 1, vec![phase]) }
    }

    /// The checks on the whole, and an evaluator who holds it to what was promised.
    pub(crate) fn evaluation(&self, phases: &[String]) -> Option<CoordinatorPlan> {
        let evaluator = self.evaluator.as_ref()?;
        let promised = match self.roadmap_path() {
            Some(path) => files("The criteria are those of the roadmap", &[path]),
            None => "\n\nThe criteria are those of the task itself.\n".to_owned(),
        };
        let words = format!("{promised}{}", asks_for_evaluation(phases));
        let exec = told(evaluator, &words);
        let mut phase = self.phase_of(EVALUATION, exec, &[], None);
        phase.orchestrator.stages.insert(0, sentinel("CHECK"));
        // What is red now is red again when it is asked again.
        phase.resolves = 0;
        Some(self.coordinator_of(EVALUATION, 1, vec![phase]))
    }

    /// One decision: what of that which failed is worth another round.
    pub(crate) fn decision(&self, failed: &[(String, String)]) -> Option<CoordinatorPlan> {
        let exec = told(self.decide.as_ref()?, &asks_for_decision(failed));
        Some(self.coordinator_of(DECISION, 1, vec![self.phase_of(DECISION, exec, &[], None)]))
    }

    fn found_out(&self) -> Vec<&str> {
        let Some(research) = &self.research else { return Vec::new() };
        match research.consolidator.as_ref().and_then(|one| one.artifact.as_deref()) {
            Some(path) => vec![path],
            None => {
                research.domains.iter().filter_map(|one| one.exec.artifact.as_deref()).collect()
            }
        }
    }

    fn coordinator_of(
        &self,
        name: &str,
        max_parallel: u32,
        phases: Vec<PhasePlan>,
    ) -> CoordinatorPlan {
        CoordinatorPlan {
            coordinator: name.to_owned(),
            description: None,
            max_parallel,
            budget: None,
            phases,
            mode: LayerMode::Tool,
        }
    }

    /// A phase that is one session.
    fn phase_of(
        &self,
        name: &str,
        exec: ExecPlan,
        before: &[String],
        makes: Option<MadeFor>,
    ) -> PhasePlan {
        let stage = StagePlan {
            name: exec.action.clone(),
            heals: self.terms.stage_heals,
            retries: self.terms.stage_retries,
            makes,
            ..blank(StageWork::Exec(exec))
        };
        PhasePlan {
            name: name.to_owned(),
            orchestrator: OrchestratorPlan {
                max_attempts: self.terms.max_attempts,
                target: one_line(&self.task),
                ..OrchestratorPlan::of_one(&stage)
            },
            depends_on: before.to_vec(),
            retries: 0,
            resolves: 1,
            required: true,
            budget: None,
            resolver: None,
        }
    }
}

/// A stage of the project's checks.
fn sentinel(name: &str) -> StagePlan {
    StagePlan { name: name.to_owned(), ..blank(StageWork::Sentinel { judged: None }) }
}

fn blank(work: StageWork) -> StagePlan {
    StagePlan {
        name: String::new(),
        work,
        heals: 0,
        retries: 0,
        required: true,
        idempotent: true,
        budget: None,
        late: LateWords::default(),
        each: None,
        rounds: None,
        makes: None,
    }
}

fn told(exec: &ExecPlan, words: &str) -> ExecPlan {
    let mut exec = exec.clone();
    exec.prompt.push_str(words);
    exec
}

fn files(what: &str, paths: &[&str]) -> String {
    let list: Vec<String> = paths.iter().map(|path| spore_plain::code(path, 200)).collect();
    match list.is_empty() {
        true => String::new(),
        false => format!("\n\n{what}: {}.\n", list.join(", ")),
    }
}
