//! The knowledge graph as people and agents use it: ask, add, look after.
//!
//! Every use case takes what the user or an agent typed: part of an id, a title, the name of an
//! edge type, an age. Reading that is the work of this module. A text that names several nodes is
//! a question back, never a guess, and words that only occur in a node do not name it.
//!
//! The answers are plain data in the words of the model. How a walk through the graph is done
//! is the model's, how it is kept the store's.

mod at_node;
mod code;
mod edges;
mod garbage;
mod health;
mod nodes;
mod rows;
mod typed;
mod walks;
mod writes;

use serde::Serialize;
use spore_config::GraphConfig;
use spore_model::graph::NodeName;
use spore_model::{Edge, Node};
use spore_store::CodeIndex;

use crate::base::stores::ProjectKnowledge;
use crate::{Result, Surroundings, Workspace};

pub use edges::{AdjacentEdge, EdgesAsked, ExplainedEdge, RankedEdge};
pub use garbage::{Garbage, GarbageAsked, GarbageRow};
pub use health::{AnalysisAsked, Status};
pub use nodes::{Content, Freshness, NodeView, RegionAsked, RegionRow, SummaryEnd};
pub(crate) use typed::edge_kind;
pub use walks::{Context, ContextRow, NodeContextAsked, PathsAsked, Ways};
pub use writes::{
    CONTENT_CAP, CreatedEdge, CreatedMeta, EdgeAsked, MetaAsked, MetaChange, NewEdge, UpdatedMeta,
};

/// The graph of one project, opened for one command.
pub struct Graph<'a> {
    around: &'a Surroundings,
    workspace: Workspace,
    knowledge: ProjectKnowledge,
    /// None where the code was never indexed.
    code: Option<CodeIndex>,
    /// How many edges are shown.
    limits: GraphConfig,
}

/// An edge with the names of its ends. A node that another store holds has no name here.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct EdgeRow {
    #[serde(flatten)]
    pub edge: Edge,
    pub source_title: Option<String>,
    pub target_title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_content: Option<String>,
}

impl<'a> Graph<'a> {
    /// Opens the graph of an initialised project.
    pub fn open(around: &'a Surroundings) -> Result<Self> {
        let workspace = Workspace::find_with_runs(around)?;
        let config = workspace.config(around, &[])?;
        let knowledge = workspace.knowledge(&config)?;
        let code = crate::indexing::open_as_is(&workspace, &config)?;
        Ok(Self { around, workspace, knowledge, code, limits: config.graph })
    }

    /// Opens the graph of a project over an index that is not, or not only, that of the work
    /// tree.
    pub(crate) fn over(around: &'a Surroundings, index: &std::path::Path) -> Result<Self> {
        let workspace = Workspace::find_with_runs(around)?;
        let config = workspace.config(around, &[])?;
        let knowledge = workspace.knowledge(&config)?;
        let code = CodeIndex::open(index, config.store.busy_timeout).ok();
        Ok(Self { around, workspace, knowledge, code, limits: config.graph })
    }
}

/// Takes off what adding up leaves behind the sixth decimal, so that 0.1 + 0.2 is shown as 0.3.
fn tidy(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

fn name_of(node: &Node) -> NodeName {
    NodeName { id: node.id.clone(), title: node.title.clone() }
}
