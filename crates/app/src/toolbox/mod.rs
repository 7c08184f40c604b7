//! The tools that read the graph, as agents and MCP clients call them.
//!
//! Each is a use case of the command line in other words: the arguments are a model's, already
//! held against the tool's schema, and the answer is text of a bounded size that cites file and
//! line. An answer that could not be given says why and what to try; no call fails.
//!
//! What is seen depends on the [`ProjectView`]. A person's own client sees the work tree, kept up
//! to date within a bound. A session of a run sees the code of one commit, whatever happens to
//! the user's files meanwhile, and reads files in its checkout. Nothing here writes: what a
//! session proposes is kept by the broker, what a person allows is in `writing`.

mod calls;
mod file_text;
mod held_index;
mod hits;
pub(crate) mod impact;
mod nearness;
mod page;
mod places;
mod question;
mod records;
mod resources;
mod token;
mod view;
mod walks;
mod writing;

use std::sync::{Arc, OnceLock};

use spore_config::Config;
use spore_model::NodeId;

use crate::graph::Graph;
use crate::{Result, Surroundings, Workspace};
use held_index::HeldIndex;
use places::ViewedFiles;
use question::Refusal;

pub use resources::RESOURCE_TEMPLATES;
pub use spore_tools::Declared;
pub use spore_tools::graph::{declared, declared_for};
pub use spore_tools::remote::{Ask, Contents, Remote, Resource, Told};
pub use spore_tools::{ToolAnswer as Answer, misfit};
pub use token::{HttpToken, http_token};
pub use view::ProjectView;
pub use writing::declared_writes;

/// The tools of one project, opened when they are first needed and held open after that.
pub struct Toolbox {
    around: Arc<Surroundings>,
    view: ProjectView,
    held_index: HeldIndex,
    places: OnceLock<ViewedFiles>,
}

impl Toolbox {
    pub fn new(around: Arc<Surroundings>, view: ProjectView) -> Self {
        let held_index = HeldIndex::new(Arc::clone(&around), view.clone());
        Self { around, view, held_index, places: OnceLock::new() }
    }

    /// Opens the tools of the project around the current directory, for a client of the
    /// person's own. The index is opened meanwhile, so that the first question finds it ready.
    pub fn of_work_tree(around: &Surroundings) -> Result<Self> {
        let workspace = Workspace::find(around)?;
        let toolbox = Self::new(Arc::new(around.apart(workspace.root())), ProjectView::WorkTree);
        if workspace.is_initialised() {
            toolbox.held_index.warm_up();
        }
        Ok(toolbox)
    }

    /// Finds the one node that a text names.
    pub(crate) fn node_named(&self, typed: &str) -> std::result::Result<NodeId, String> {
        let found = self.graph().and_then(|(graph, _)| Ok(graph.find_node(typed)?.id));
        found.map_err(|error| Refusal::from(error).0)
    }

    fn workspace(&self) -> Result<Workspace> {
        Workspace::find(&self.around)
    }

    /// Reads the settings anew: a toolbox may be open for days.
    fn config(&self) -> Result<Config> {
        self.workspace()?.config(&self.around, &[])
    }

    fn places(&self) -> Result<&ViewedFiles> {
        if let Some(places) = self.places.get() {
            return Ok(places);
        }
        let places = ViewedFiles::open(&self.workspace()?, &self.around, &self.view)?;
        Ok(self.places.get_or_init(|| places))
    }

    /// Opens the graph over the code that this view sees, with what to say if that is old.
    fn graph(&self) -> Result<(Graph<'_>, Option<String>)> {
        let (code, note) = self.held_index.place()?;
        Ok((Graph::over(&self.around, &code)?, note))
    }
}

#[cfg(test)]
pub(crate) mod tests;
