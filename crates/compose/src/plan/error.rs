//! Why a call cannot be planned, and what it may have meant.

use crate::files::flow_file::nearest;

/// Why the call names nothing that could be done.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    #[error("there is no {kind} {name:?}{}", meant(nearest.as_deref()))]
    Unknown { kind: String, name: String, nearest: Option<String>, known: Vec<String> },
    #[error("there is no {asked} {name:?}; {name} is {}", found.with_article())]
    OtherLayer { asked: FlowLayer, name: String, found: FlowLayer },
    #[error("the artifact {path:?} is not inside the project")]
    Outside { path: String },
    #[error("an action is at most 80 letters, digits, - and _, and {action:?} is not")]
    BadAction { action: String },
    #[error("the phases of {coordinator} need a target, and none is given")]
    NoTarget { coordinator: String },
    #[error("the campaign {campaign} needs a task, and none is given")]
    NoTask { campaign: String },
    #[error("cannot read the prompt of the domain {domain}: {problem}")]
    NoPrompt { domain: String, problem: String },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// The layers that flow files define.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowLayer {
    Executor,
    Orchestrator,
    Coordinator,
}

impl FlowLayer {
    fn with_article(self) -> String {
        let article = if self == Self::Coordinator { "a" } else { "an" };
        format!("{article} {self}")
    }
}

impl std::fmt::Display for FlowLayer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Executor => "executor",
            Self::Orchestrator => "orchestrator",
            Self::Coordinator => "coordinator",
        })
    }
}

pub(crate) fn unknown<'k>(
    kind: &str,
    name: &str,
    known: impl Iterator<Item = &'k String>,
) -> PlanError {
    let known: Vec<&str> = known.map(String::as_str).collect();
    PlanError::Unknown {
        kind: kind.to_owned(),
        name: name.to_owned(),
        nearest: nearest(name, &known).map(str::to_owned),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}
