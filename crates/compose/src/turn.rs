//! A stage when its turn comes: its texts made whole by what those before it left.

use std::collections::BTreeMap;

use crate::files::mode::LayerMode;
use crate::late::LateWords;
use crate::plan::{OrchestratorPlan, StagePlan, StageWork, is_inside};
use crate::wording::{DataMissing, FlowData, Wording};

impl StagePlan {
    /// Returns whether anything of it is only known when its turn comes.
    pub fn asks(&self) -> bool {
        !self.late.is_empty() || self.each.is_some()
    }

    /// Returns the stage with every text whole.
    pub fn whole(&self, data: &FlowData) -> Result<Self, DataMissing> {
        let said = |late: &Option<Wording>, text: &mut String| -> Result<(), DataMissing> {
            if let Some(late) = late {
                *text = late.said(data)?;
            }
            Ok(())
        };
        let mut whole = self.clone();
        let late = std::mem::take(&mut whole.late);
        match &mut whole.work {
            StageWork::Exec(plan) => {
                said(&late.target, &mut plan.target)?;
                said(&late.prompt, &mut plan.prompt)?;
                if let Some(artifact) = &mut plan.artifact {
                    said(&late.artifact, artifact)?;
                    if !is_inside(artifact) {
                        return Err(DataMissing::Outside(artifact.clone()));
                    }
                }
            }
            StageWork::Orchestrate(plan) => said(&late.task, &mut plan.task)?,
            StageWork::Planned(work) => {
                said(&late.plan, &mut work.plan)?;
                said(&late.target, &mut work.target)?;
            }
            StageWork::Sentinel { judged } => {
                if let Some(judged) = judged {
                    said(&late.task, &mut judged.judges.task)?;
                }
            }
        }
        Ok(whole)
    }

    /// Returns the stage for one of the things that it is done for.
    pub fn for_item(&self, item: &str, data: &FlowData) -> Result<Self, DataMissing> {
        let one = Self { each: None, makes: None, budget: None, ..self.clone() };
        one.whole(&data.for_item(item))
    }

    /// Returns the path of the file that lists what it is done for, where one does.
    pub fn list_file(&self, data: &FlowData) -> Result<Option<String>, DataMissing> {
        let file = self.each.as_ref().and_then(|each| each.file.as_ref());
        file.map(|file| file.said(data)).transpose()
    }

    /// Adds to what it is told to do.
    pub fn add_to_task(&mut self, words: &str) {
        let late = match &mut self.work {
            StageWork::Exec(plan) => {
                plan.prompt.push_str(words);
                &mut self.late.prompt
            }
            StageWork::Orchestrate(plan) => {
                plan.task.push_str(words);
                &mut self.late.task
            }
            StageWork::Sentinel { judged: Some(judged) } => {
                judged.judges.task.push_str(words);
                &mut self.late.task
            }
            StageWork::Sentinel { judged: None } | StageWork::Planned(_) => return,
        };
        if let Some(late) = late {
            late.add(words);
        }
    }
}

impl OrchestratorPlan {
    /// A plan that is one stage and nothing else.
    pub fn of_one(stage: &StagePlan) -> Self {
        Self {
            orchestrator: stage.name.clone(),
            description: None,
            modifier: String::new(),
            target: String::new(),
            late_target: None,
            max_attempts: 1,
            stages: vec![stage.clone()],
            spent: BTreeMap::new(),
            passed: Vec::new(),
            line: None,
            resolution: None,
            mode: LayerMode::Tool,
        }
    }

    /// Returns the plan of a phase with what the phases that it waited for left.
    pub fn knowing(&self, data: &FlowData) -> Result<Self, DataMissing> {
        let mut plan = self.clone();
        let Some(target) = plan.late_target.take() else { return Ok(plan) };
        plan.target = target.said(data)?;
        for stage in &mut plan.stages {
            stage.late = stage.late.knowing(data);
            stage.show();
            if let Some(each) = &mut stage.each {
                each.file = each.file.as_ref().map(|file| file.knowing(data));
            }
        }
        Ok(plan)
    }
}

impl StagePlan {
    /// Lets the texts be shown as far as they are known by now; what is whole is late no more.
    fn show(&mut self) {
        let shown = |late: &mut Option<Wording>, text: &mut String| {
            if let Some(wording) = late {
                *text = wording.to_string();
                if wording.plain().is_some() {
                    *late = None;
                }
            }
        };
        let LateWords { target, prompt, artifact, task, plan } = &mut self.late;
        match &mut self.work {
            StageWork::Exec(exec) => {
                shown(target, &mut exec.target);
                shown(prompt, &mut exec.prompt);
                // It is looked at once more where it is used.
                if let (Some(path), Some(wording)) = (&mut exec.artifact, &artifact) {
                    *path = wording.to_string();
                }
            }
            StageWork::Orchestrate(one) => shown(task, &mut one.task),
            StageWork::Planned(work) => {
                shown(plan, &mut work.plan);
                shown(target, &mut work.target);
            }
            StageWork::Sentinel { judged: Some(judged) } => shown(task, &mut judged.judges.task),
            StageWork::Sentinel { judged: None } => {}
        }
    }
}
