//! The list of tools, and the one way to call them.

use std::sync::Arc;

use serde_json::Value;
use spore_effects::session::ProcessIdentity;
use spore_model::{ToolGroup, ToolGroups};

use crate::view::{CallView, FileView};
use crate::{CommandRunner, Root, SchemaError, change, files, graph, grep, run, schema, written};

pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// No answer is longer, whatever a tool does.
const ANSWER_BYTES: usize = 128 << 10;

/// What a tool does to the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Reads what it is pointed at.
    Read,
    /// Goes looking by itself.
    Search,
    /// Changes files.
    Write,
    /// Starts programs.
    Run,
    /// Hands in a result; changes nothing.
    Submit,
    /// Hands in something for others to decide on. Who may is for them to say.
    Propose,
}

/// Returns the names of a group's tools, those of the checkout and those on the graph.
pub fn names_of(group: ToolGroup) -> Vec<String> {
    let names: &[&str] = match group {
        ToolGroup::Read => &["read", "list"],
        ToolGroup::Search => &["grep"],
        ToolGroup::Write => &["edit", "write", "delete"],
        ToolGroup::Checks | ToolGroup::Shell => &["run"],
        ToolGroup::Investigation => return crate::investigation::names(),
        ToolGroup::Memory => return crate::memory::names(),
        ToolGroup::Layers => return crate::layers::names(),
        served => {
            let tools = graph::declared_for(&ToolGroups::from([served]));
            return tools.into_iter().map(|tool| tool.name).collect();
        }
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

/// What a model hears back.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct ToolAnswer {
    pub text: String,
    /// The call did not do what it was for; the text says why.
    pub is_error: bool,
    /// The caller may not do that: there is no such tool for it, or not for this.
    pub is_refused: bool,
}

impl ToolAnswer {
    pub fn ok(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false, is_refused: false }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, is_refused: false }
    }

    /// Answers a call that the caller may not make.
    pub fn refused(text: impl Into<String>) -> Self {
        Self { is_refused: true, ..Self::error(text) }
    }
}

/// The side that made the call.
pub trait ToolCaller {
    /// Called with the process that is about to start. It starts only after this returns
    /// `Ok`: by then its identity must be on record.
    fn starting(&mut self, process: &ProcessIdentity) -> Result<(), BoxError>;

    /// Asked several times a second by every tool that takes time; true ends it.
    fn cancelled(&self) -> bool;
}

type Handler = Box<dyn Fn(&Value, &mut dyn ToolCaller) -> ToolAnswer + Send + Sync>;

pub struct ModelTool {
    pub name: String,
    /// What it is for, to the model.
    pub description: String,
    /// What its arguments must look like.
    pub schema: Value,
    pub reach: Reach,
    handler: Handler,
}

impl ModelTool {
    pub fn new(
        name: &str,
        description: &str,
        reach: Reach,
        schema: Value,
        handler: impl Fn(&Value, &mut dyn ToolCaller) -> ToolAnswer + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
            reach,
            handler: Box::new(handler),
        }
    }

    /// A tool whose arguments are the result: the session loop takes them once the call was
    /// answered without an error.
    pub fn submit(name: &str, description: &str, schema: Value) -> Self {
        Self::new(name, description, Reach::Submit, schema, |_, _| ToolAnswer::ok("taken"))
    }
}

/// Why a tool cannot be registered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the tool {tool:?} cannot be used: {source}")]
pub struct UnusableTool {
    pub tool: String,
    #[source]
    pub source: SchemaError,
}

/// Tools by name. Their order is the order in which a model sees them.
#[derive(Default)]
pub struct Registry {
    tools: Vec<ModelTool>,
}

impl Registry {
    /// The tools that every checkout has: read, list, grep, edit, write, delete, and run
    /// where commands may be run.
    pub fn of_checkout(root: &Arc<Root>, runner: Option<CommandRunner>) -> Self {
        let mut tools = files::tools(root, &CallView::default());
        tools.push(grep::tool(root, CallView::default()));
        tools.extend(change::tools(root));
        tools.extend(runner.and_then(run::tool));
        Self { tools }
    }

    /// The tools that read files, for a caller that may not see all of them: read and grep.
    pub fn of_view(root: &Arc<Root>, view: Arc<dyn FileView>) -> Self {
        let view = CallView(Some(view));
        let mut tools = files::tools(root, &view);
        tools.retain(|tool| tool.name == "read");
        tools.push(grep::tool(root, view));
        Self { tools }
    }

    /// Adds a tool, in place of one that has the same name. One whose arguments could not be
    /// checked to the last word of its schema is refused.
    pub fn add(&mut self, tool: ModelTool) -> Result<(), UnusableTool> {
        schema::check_schema(&tool.schema)
            .map_err(|source| UnusableTool { tool: tool.name.clone(), source })?;
        self.tools.retain(|known| known.name != tool.name);
        self.tools.push(tool);
        Ok(())
    }

    pub fn retain(&mut self, keep: impl FnMut(&ModelTool) -> bool) {
        self.tools.retain(keep);
    }

    /// Leaves of each description its first sentence, and of each schema what restricts: for
    /// models that can read little at once.
    pub fn shorten(&mut self) {
        for tool in &mut self.tools {
            tool.description = written::sentence(tool).to_owned();
            tool.schema = written::short_schema(&tool.schema);
        }
    }

    pub fn tools(&self) -> &[ModelTool] {
        &self.tools
    }

    pub fn get(&self, name: &str) -> Option<&ModelTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Calls a tool by its name. There is an answer to every call.
    pub fn call(&self, name: &str, arguments: &Value, caller: &mut dyn ToolCaller) -> ToolAnswer {
        let Some(tool) = self.get(name) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            let (name, names) = (spore_plain::cut(name, 80), names.join(", "));
            return ToolAnswer::refused(format!("there is no tool {name:?} here, only {names}"));
        };
        if let Some(misfit) = schema::misfit(&tool.schema, arguments) {
            return ToolAnswer::error(format!("{name} was not called: {misfit}"));
        }
        let mut answer = (tool.handler)(arguments, caller);
        if answer.text.len() > ANSWER_BYTES {
            answer.text = spore_plain::cut(&answer.text, ANSWER_BYTES).into_owned();
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_a_checkout_is_in_the_group_of_its_reach() {
        let dir = tempfile::tempdir().unwrap();
        let root = Arc::new(Root::open(dir.path()).unwrap());
        for tool in Registry::of_checkout(&root, None).tools() {
            let group = match tool.reach {
                Reach::Read => ToolGroup::Read,
                Reach::Search => ToolGroup::Search,
                Reach::Write => ToolGroup::Write,
                Reach::Run => ToolGroup::Shell,
                Reach::Submit | Reach::Propose => panic!("{}", tool.name),
            };
            assert!(names_of(group).contains(&tool.name), "{}", tool.name);
        }
    }
}
