//! A scenario: what a replayed agent does, session by session.
//!
//! Sessions are found by role and bounce, not by order, so a run that was killed and resumed
//! plays the same part again.

use serde::Deserialize;
use spore_model::{Usage, Usd};

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    #[serde(default, rename = "session")]
    pub(crate) sessions: Vec<SessionScript>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionScript {
    pub(crate) role: String,
    /// Left out for a session that belongs to no bounce: a summarizer's.
    #[serde(default)]
    pub(crate) bounce: u32,
    /// Only for a prompt that has these words in it: one scenario can play several tasks.
    #[serde(default)]
    pub(crate) task: Option<String>,
    #[serde(default)]
    pub(crate) steps: Vec<RawScriptStep>,
    /// The final message; for a verifier, the one with the verdict.
    #[serde(default, rename = "final")]
    pub(crate) final_text: String,
    #[serde(default = "one")]
    pub(crate) turns: u32,
    #[serde(default)]
    pub(crate) usage: Usage,
    /// Left out, the session names no price, as some agents do.
    #[serde(default)]
    pub(crate) cost_usd: Option<f64>,
}

fn one() -> u32 {
    1
}

/// One table of a `steps` array as it is written; [`SessionScript::script`] says what it means.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RawScriptStep {
    say: Option<String>,
    expect: Option<String>,
    write: Option<String>,
    content: Option<String>,
    edit: Option<String>,
    find: Option<String>,
    replace: Option<String>,
    delete: Option<String>,
    run: Option<String>,
    call: Option<String>,
    arguments: Option<serde_json::Value>,
    answer: Option<String>,
    sleep_ms: Option<u64>,
    hang: Option<bool>,
    exit: Option<u8>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScriptStep {
    Say(String),
    /// The prompt must contain this, or the session fails: it shows what reached the agent.
    Expect(String),
    Write {
        path: String,
        content: String,
    },
    Edit {
        path: String,
        find: String,
        replace: String,
    },
    Delete(String),
    Run(String),
    /// Calls a tool that the session is served; the answer must contain the words, where there are
    /// any.
    Call {
        tool: String,
        arguments: serde_json::Value,
        answer: Option<String>,
    },
    Sleep(std::time::Duration),
    Hang,
    /// End at once with this code and no final message.
    Exit(u8),
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ScenarioError {
    #[error("the scenario is not valid: {0}")]
    Syntax(String),
    #[error("step {step} of the {role} session of bounce {bounce}: {what}")]
    Step { role: String, bounce: u32, step: usize, what: String },
    #[error("the scenario has no session for the {role} of bounce {bounce}")]
    NoSession { role: String, bounce: u32 },
}

impl Scenario {
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = toml_edit::de::from_str(text)
            .map_err(|error| ScenarioError::Syntax(error.to_string().trim_end().to_owned()))?;
        for part in &scenario.sessions {
            part.script()?;
        }
        Ok(scenario)
    }

    /// Returns whether the scenario has a session of `role`.
    pub fn has_role(&self, role: &str) -> bool {
        self.sessions.iter().any(|part| part.role == role)
    }

    /// Returns the session that is played to `prompt`: one that is for it before one that is for
    /// any.
    pub(crate) fn part(
        &self,
        role: &str,
        bounce: u32,
        prompt: &str,
    ) -> Result<&SessionScript, ScenarioError> {
        let fits = |part: &&SessionScript| part.role == role && part.bounce == bounce;
        let is_for = |part: &&SessionScript| {
            part.task.as_deref().is_some_and(|words| prompt.contains(words))
        };
        let mut parts = self.sessions.iter().filter(fits);
        let mut any = self.sessions.iter().filter(fits).filter(|part| part.task.is_none());
        parts
            .find(is_for)
            .or_else(|| any.next())
            .ok_or_else(|| ScenarioError::NoSession { role: role.to_owned(), bounce })
    }
}

impl SessionScript {
    pub(crate) fn script(&self) -> Result<Vec<ScriptStep>, ScenarioError> {
        let fault = |index: usize, what: &str| ScenarioError::Step {
            role: self.role.clone(),
            bounce: self.bounce,
            step: index + 1,
            what: what.to_owned(),
        };
        self.steps
            .iter()
            .enumerate()
            .map(|(index, raw)| raw.clone().read().map_err(|what| fault(index, what)))
            .collect()
    }

    pub(crate) fn cost(&self) -> Option<Usd> {
        self.cost_usd.and_then(Usd::from_dollars)
    }
}

impl RawScriptStep {
    fn read(self) -> Result<ScriptStep, &'static str> {
        let step = match self {
            Self { say: Some(text), .. } => ScriptStep::Say(text),
            Self { expect: Some(text), .. } => ScriptStep::Expect(text),
            Self { write: Some(path), content: Some(content), .. } => {
                ScriptStep::Write { path: inside(path)?, content }
            }
            Self { edit: Some(path), find: Some(find), replace: Some(replace), .. } => {
                ScriptStep::Edit { path: inside(path)?, find, replace }
            }
            Self { delete: Some(path), .. } => ScriptStep::Delete(inside(path)?),
            Self { run: Some(command), .. } => ScriptStep::Run(command),
            Self { call: Some(tool), arguments, answer, .. } => {
                let none = || serde_json::Value::Object(serde_json::Map::new());
                ScriptStep::Call { tool, arguments: arguments.unwrap_or_else(none), answer }
            }
            Self { sleep_ms: Some(millis), .. } => {
                ScriptStep::Sleep(std::time::Duration::from_millis(millis))
            }
            Self { hang: Some(true), .. } => ScriptStep::Hang,
            Self { exit: Some(code), .. } => ScriptStep::Exit(code),
            Self { write: Some(_), .. } => return Err("write needs content"),
            Self { edit: Some(_), .. } => return Err("edit needs find and replace"),
            _ => {
                return Err("nothing to do: one of say, expect, write, edit, delete, run, \
                            call, sleep_ms, hang, exit is needed");
            }
        };
        Ok(step)
    }
}

/// A scenario speaks of files in the checkout, nowhere else.
fn inside(path: String) -> Result<String, &'static str> {
    use std::path::{Component, Path};
    let plain = Path::new(&path).components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !path.is_empty() { Ok(path) } else { Err("the path must lead into the checkout") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(step: &str, what: &str) {
        let text = format!("[[session]]\nrole = \"coder\"\nbounce = 1\nsteps = [{step}]\n");
        let error = Scenario::parse(&text).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }

    #[test]
    fn steps_are_read_by_their_verb() {
        let text = r#"
            [[session]]
            role = "coder"
            bounce = 2
            final = "done"
            cost_usd = 0.25
            usage = { input_tokens = 10 }
            steps = [
              { say = "hello" },
              { edit = "src/a.py", find = "x", replace = "y" },
              { run = "true" },
            ]
        "#;
        let scenario = Scenario::parse(text).unwrap();
        let part = scenario.part("coder", 2, "").unwrap();
        assert_eq!(
            part.script().unwrap(),
            [
                ScriptStep::Say("hello".into()),
                ScriptStep::Edit { path: "src/a.py".into(), find: "x".into(), replace: "y".into() },
                ScriptStep::Run("true".into()),
            ]
        );
        assert_eq!(part.cost(), Usd::from_dollars(0.25));
        assert!(matches!(scenario.part("coder", 1, ""), Err(ScenarioError::NoSession { .. })));
    }

    #[test]
    fn a_step_that_makes_no_sense_is_named() {
        refused(
            "{ write = \"a\" }",
            "step 1 of the coder session of bounce 1: write needs content",
        );
        refused("{ write = \"../a\", content = \"\" }", "into the checkout");
        refused("{ delete = \"/etc/passwd\" }", "into the checkout");
        refused("{}", "nothing to do");
        refused("{ dance = 1 }", "unknown field");
    }
}
