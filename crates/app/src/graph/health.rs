//! How the graph is doing.

use std::collections::BTreeMap;

use serde::Serialize;
use spore_model::NodeClass;
use spore_model::graph::{Analysis, AnalysisOptions, GraphSurvey, Links, analyze};
use spore_store::{CodeCounts, CodeIndex, EdgeCounts, KindCount, Knowledge};

use super::Graph;
use crate::Result;

/// How much there is, and whether it agrees with itself.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Status {
    /// By class, then kind.
    pub nodes: Vec<KindCount>,
    /// Those of the class `meta` that are in force, by kind.
    pub meta_nodes: BTreeMap<String, u64>,
    pub edges: EdgeCounts,
    /// What the code index adds to them; nothing where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeCounts>,
    pub unresolved_contradictions: u64,
    /// The share of knowledge that a summary is about.
    pub coverage: f64,
    /// 1 minus the share of live edges that are unresolved contradictions.
    pub coherence: f64,
}

/// How closely to look, as typed.
#[derive(Clone, Debug)]
pub struct AnalysisAsked {
    pub region: Option<String>,
    pub top_n: u32,
    pub stale_days: u32,
    pub hub_threshold: u32,
}

impl Graph<'_> {
    /// Counts what there is.
    pub fn status(&self) -> Result<Status> {
        let counts = self.knowledge.counts(self.around.clock.now())?;
        let meta = counts.nodes.iter().filter(|count| count.class == NodeClass::Meta);
        Ok(Status {
            meta_nodes: meta.map(|count| (count.kind.clone(), count.live)).collect(),
            edges: counts.edges,
            code: self.code.as_ref().map(CodeIndex::counts).transpose()?,
            unresolved_contradictions: counts.unresolved_contradictions,
            coverage: counts.coverage(),
            coherence: counts.coherence(),
            nodes: counts.nodes,
        })
    }

    /// Looks at how the graph hangs together.
    pub fn analyze(&self, asked: &AnalysisAsked) -> Result<Analysis> {
        let region = asked.region.as_deref().map(|typed| self.find_node(typed)).transpose()?;
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let options = AnalysisOptions {
            now: self.around.clock.now(),
            region: region.map(|node| node.id),
            top_n: size(asked.top_n),
            stale_days: asked.stale_days,
            hub_threshold: size(asked.hub_threshold),
        };
        let mut survey = GraphSurvey::new();
        self.survey(&mut survey)?;
        Ok(analyze(&survey, &options))
    }
}
