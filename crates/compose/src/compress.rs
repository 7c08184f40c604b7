//! Stages in one session, for where sessions may not be nested deeper.
//!
//! A session at the last level can start no other, so what it leaves unfinished no session below it
//! mends. Where a flow asks for it, all stages become the parts of one task. That is only the same
//! work where one agent would have done all of it: the same role, backend and model, at most one
//! file that is looked for, and nothing in between that is not a session.

use std::time::Duration;

use spore_model::Usd;

use crate::plan::{ExecPlan, OrchestratorPlan, StagePlan, StageWork};

impl OrchestratorPlan {
    /// Returns the plan with all stages as one, or why that would not be the same work.
    pub fn compressed(&self) -> Result<Self, String> {
        let mut parts = Vec::new();
        for stage in &self.stages {
            match &stage.work {
                StageWork::Exec(exec) => parts.push((stage, exec)),
                _ => return Err(format!("{} is no session", stage.name)),
            }
        }
        for (stage, _) in &parts {
            let more = [
                (!stage.late.is_empty(), "is told what is known only when its turn comes"),
                (stage.each.is_some(), "is done for several things"),
                (stage.rounds.is_some(), "is repeated"),
                (stage.makes.is_some(), "leaves what a later stage is made of"),
            ];
            if let Some((_, why)) = more.into_iter().find(|(is_so, _)| *is_so) {
                return Err(format!("{} {why}", stage.name));
            }
        }
        let [(first, begins), rest @ ..] = parts.as_slice() else {
            return Err("there is no stage".to_owned());
        };
        for (stage, exec) in rest {
            let same = |one: &ExecPlan| {
                (one.role.clone(), one.backend.clone(), one.scenario.clone(), one.model.clone())
            };
            if same(exec) != same(begins) {
                return Err(format!("{} is another agent's than {}", stage.name, first.name));
            }
        }
        let mut artifacts = parts.iter().filter_map(|(_, exec)| exec.artifact.clone());
        let artifact = artifacts.next();
        if artifacts.next().is_some() {
            return Err("more than one stage leaves a file".to_owned());
        }
        if parts.iter().any(|(_, exec)| exec.prompt.contains("{stage.")) {
            return Err("a stage is told what another one left".to_owned());
        }
        let names: Vec<&str> = parts.iter().map(|(stage, _)| stage.name.as_str()).collect();
        let work = StageWork::Exec(ExecPlan {
            action: names.join("_"),
            prompt: prompt(&parts),
            allowed_tools: tools(&parts),
            max_turns: sum(parts.iter().map(|(_, exec)| exec.max_turns), u32::saturating_add),
            timeout: sum(parts.iter().map(|(_, exec)| exec.timeout), Duration::saturating_add),
            artifact,
            ..(*begins).clone()
        });
        let mut one = (*first).clone();
        one.name = names.join("-");
        one.work = work;
        (one.heals, one.retries) = (0, 0);
        one.required = parts.iter().any(|(stage, _)| stage.required);
        one.idempotent = parts.iter().all(|(stage, _)| stage.idempotent);
        one.budget = sum(parts.iter().map(|(stage, _)| stage.budget), |a: Usd, b| a + b);
        Ok(Self { stages: vec![one], ..self.clone() })
    }
}

fn prompt(parts: &[(&StagePlan, &ExecPlan)]) -> String {
    let mut text =
        format!("This work has {} parts. Do them one after the other, all of them.\n", parts.len());
    for (at, (stage, exec)) in parts.iter().enumerate() {
        let words = exec.prompt.trim();
        text.push_str(&format!("\n## Part {}: {}\n\n{words}\n", at + 1, stage.name));
    }
    text
}

/// The tools of all; those of the role where one part names none.
fn tools(parts: &[(&StagePlan, &ExecPlan)]) -> Vec<String> {
    if parts.iter().any(|(_, exec)| exec.allowed_tools.is_empty()) {
        return Vec::new();
    }
    let mut all: Vec<String> =
        parts.iter().flat_map(|(_, exec)| exec.allowed_tools.iter().cloned()).collect();
    all.sort();
    all.dedup();
    all
}

/// The sum of all; nothing where one has no limit.
fn sum<T>(all: impl Iterator<Item = Option<T>>, add: impl Fn(T, T) -> T) -> Option<T> {
    let all: Option<Vec<T>> = all.collect();
    all?.into_iter().reduce(add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::late::{MadeFor, RoundsPlan};
    use crate::stages::tests::{plan, read_stage};

    fn of(names: &str, change: impl Fn(usize, &mut StagePlan)) -> Result<OrchestratorPlan, String> {
        let mut stages: Vec<StagePlan> = names.split_whitespace().map(read_stage).collect();
        stages.iter_mut().enumerate().for_each(|(at, stage)| change(at, stage));
        plan(stages).compressed()
    }

    fn exec(stage: &mut StagePlan) -> &mut ExecPlan {
        match &mut stage.work {
            StageWork::Exec(exec) => exec,
            _ => panic!("no exec"),
        }
    }

    #[test]
    fn stages_of_one_agent_become_the_parts_of_one_session() {
        let one = of("A B", |at, stage| {
            exec(stage).prompt = format!("do {at}");
            exec(stage).timeout = Some(Duration::from_secs(5));
            exec(stage).artifact = (at == 1).then(|| "out.md".to_owned());
        })
        .unwrap();
        let [stage] = one.stages.as_slice() else { panic!("{one:?}") };
        let StageWork::Exec(exec) = &stage.work else { panic!("{stage:?}") };
        assert_eq!((stage.name.as_str(), stage.heals, stage.retries), ("A-B", 0, 0));
        assert_eq!((exec.action.as_str(), exec.timeout), ("A_B", Some(Duration::from_secs(10))));
        assert_eq!(exec.artifact.as_deref(), Some("out.md"));
        assert_eq!(
            exec.prompt,
            "This work has 2 parts. Do them one after the other, all of them.\n\n\
             ## Part 1: A\n\ndo 0\n\n## Part 2: B\n\ndo 1\n"
        );
    }

    #[test]
    fn what_would_be_other_work_is_left_as_it_is() {
        type Change<'a> = &'a dyn Fn(usize, &mut StagePlan);
        let cases: [(Change<'_>, &str); 6] = [
            (&|at, stage| exec(stage).role = format!("r{at}"), "B is another agent's than A"),
            (&|_, stage| exec(stage).artifact = Some("x".into()), "more than one stage leaves"),
            (
                &|_, stage| {
                    stage.rounds = Some(RoundsPlan {
                        until: "ENOUGH".into(),
                        max_rounds: 2,
                        from: Default::default(),
                    })
                },
                "A is repeated",
            ),
            (
                &|at, stage| stage.makes = (at == 1).then_some(MadeFor::List { max_items: 3 }),
                "B leaves what a later stage is made of",
            ),
            (&|_, stage| exec(stage).prompt = "{stage.A.artifact}".into(), "is told what another"),
            (
                &|at, stage| {
                    if at == 1 {
                        stage.work = StageWork::Sentinel { judged: None }
                    }
                },
                "B is no session",
            ),
        ];
        for (change, why) in cases {
            let told = of("A B", change).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
    }
}
