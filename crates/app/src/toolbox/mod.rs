//! The tools that read the graph, as agents and MCP clients call them.
//!
//! Each is a use case of the command line in other words: the arguments are a model's, already
//! held against the tool's schema, and the answer is text of a bounded size that cites file and
//! line. An answer that could not be given says why and what to try; no call fails.
//!
//! What is seen depends on the [`View`]. A person's own client sees the work tree, kept up to
//! date within a bound. A session of a run sees the code of one commit, whatever happens to the
//! user's files meanwhile, and reads files in its checkout. Nothing here writes: what a session
//! proposes is kept by the broker, what a person allows is in `writing`.

mod finding;
mod impact;
mod nearness;
mod page;
mod places;
mod reading;
mod remembering;
mod resources;
mod room;
mod token;
mod walking;
mod writing;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use spore_model::{CommitId, NodeId, RunId};
use spore_tools::ToolAnswer;

use crate::graph::Graph;
use crate::{Error, Result, Surroundings, Workspace};
use places::Places;
use room::Room;

pub use resources::RESOURCE_TEMPLATES;
pub use spore_tools::graph::{Declared, declared, declared_for};
pub use spore_tools::remote::{Ask, Contents, Remote, Resource, Told};
pub use spore_tools::{ToolAnswer as Answer, misfit};
pub use token::{HttpToken, http_token};
pub use writing::declared_writes;

/// Who looks, and from where.
#[derive(Clone, Debug)]
pub enum View {
    /// The user's own files, as they are now.
    WorkTree,
    /// One session of a run.
    Session {
        run: RunId,
        /// Its checkout.
        dir: PathBuf,
        /// The commit whose code it sees; the work tree where there is none.
        at: Option<CommitId>,
    },
}

/// The tools of one project, opened when they are first needed and held open after that.
pub struct Toolbox {
    around: Arc<Surroundings>,
    view: View,
    room: Room,
    places: OnceLock<Places>,
}

impl Toolbox {
    pub fn new(around: Arc<Surroundings>, view: View) -> Self {
        let room = Room::new(Arc::clone(&around), view.clone());
        Self { around, view, room, places: OnceLock::new() }
    }

    /// Opens the tools of the project around the current directory, for a client of the
    /// person's own. The index is opened meanwhile, so that the first question finds it ready.
    pub fn of_work_tree(around: &Surroundings) -> Result<Self> {
        let workspace = Workspace::find(around)?;
        let toolbox = Self::new(Arc::new(around.apart(workspace.root())), View::WorkTree);
        if workspace.is_initialised() {
            toolbox.room.warm_up();
        }
        Ok(toolbox)
    }

    /// Answers a call of a tool that reads. Its arguments fit the tool's schema.
    pub fn call(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let asked = Asked { tool, arguments };
        if tool == "context" {
            // A task file has its own sections and its own budget.
            return answer(self.context(&asked).map_err(Into::into));
        }
        let found = match tool {
            "search" => self.search(&asked),
            "explore" => self.explore(&asked),
            "read_content" => self.read_content(&asked),
            "code_show" => self.code_show(&asked),
            "callers" => self.callers(&asked),
            "callees" => self.callees(&asked),
            "impact" => self.impact(&asked),
            "nav_edges" => self.nav_edges(&asked),
            "query_edges" => self.query_edges(&asked),
            "path_between" => self.path_between(&asked),
            "lessons" => self.lessons(&asked),
            "run_show" => self.run_show(&asked),
            "memory" => self.memory(),
            _ => return ToolAnswer::error(format!("{tool} reads nothing")),
        };
        answer(found.map_err(Refusal::from).and_then(|found| found.page(&asked)))
    }

    /// Finds the one node that a text names.
    pub(crate) fn node_named(&self, typed: &str) -> std::result::Result<NodeId, String> {
        let found = self.graph().and_then(|(graph, _)| Ok(graph.find_node(typed)?.id));
        found.map_err(|error| Refusal::from(error).0)
    }

    fn workspace(&self) -> Result<Workspace> {
        Workspace::find(&self.around)
    }

    /// Opens the graph over the code that this view sees, with what to say if that is old.
    fn graph(&self) -> Result<(Graph<'_>, Option<String>)> {
        let (code, note) = self.room.place()?;
        Ok((Graph::over(&self.around, &code)?, note))
    }
}

/// A call, read as its tool means it.
struct Asked<'a> {
    tool: &'a str,
    arguments: &'a Value,
}

impl<'a> Asked<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    /// A text that the schema requires.
    fn word(&self, name: &str) -> &'a str {
        self.text(name).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Option<u32> {
        let number = self.arguments.get(name).and_then(Value::as_u64)?;
        Some(u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn list(&self, name: &str) -> Vec<String> {
        let items = self.arguments.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// A refusal repeats what was asked, which may be long.
const REFUSAL_BYTES: usize = 2_000;

/// Why a call was not answered, for the model.
#[derive(Debug)]
struct Refusal(String);

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        if let Some(hint) = error.hint_text() {
            text.push_str(&format!("\n{hint}"));
        }
        Self(text)
    }
}

fn answer(found: std::result::Result<String, Refusal>) -> ToolAnswer {
    match found {
        Ok(text) => ToolAnswer::ok(text),
        Err(Refusal(why)) => ToolAnswer::error(spore_plain::cut_with(&why, REFUSAL_BYTES, "…")),
    }
}

#[cfg(test)]
pub(crate) mod tests;
