//! What a client can put before its model by name: runs, the memory, nodes.

use spore_tools::remote::{Contents, Resource};

use super::Toolbox;
use super::view::ProjectView;
use crate::{Result, RunFilter};

const TEXT: &str = "text/plain";
const MARKDOWN: &str = "text/markdown";

/// Ways to name what is not listed, and what each is.
pub const RESOURCE_TEMPLATES: [(&str, &str, &str); 3] = [
    ("spore://node/{id}", "node", "A node of the graph: code, a lesson, a summary"),
    ("spore://run/{id}", "run", "How a run went"),
    ("spore://run/{id}/task", "task", "What a run was asked to do"),
];

impl Toolbox {
    /// Lists what is there to read. A session sees its own run alone.
    pub fn resources(&self) -> Vec<Resource> {
        let memory = Resource {
            uri: "spore://memory".to_owned(),
            name: "memory".to_owned(),
            description: "What every session of this project is told".to_owned(),
            mime: MARKDOWN.to_owned(),
        };
        let runs: Vec<(String, String)> = match &self.view {
            ProjectView::Session { run, .. } => vec![(run.to_string(), "this run".to_owned())],
            ProjectView::WorkTree => self.newest_runs().unwrap_or_default(),
        };
        let of_run = |(id, name): &(String, String)| {
            let resource = |tail: &str, what: &str| Resource {
                uri: format!("spore://run/{id}{tail}"),
                name: format!("{what} {}", &id[id.len().saturating_sub(8)..]),
                description: super::hits::one_line(name),
                mime: TEXT.to_owned(),
            };
            [resource("", "run"), resource("/task", "task")]
        };
        std::iter::once(memory).chain(runs.iter().flat_map(of_run)).collect()
    }

    /// The runs that are offered by themselves; any other is read by its id.
    fn newest_runs(&self) -> Result<Vec<(String, String)>> {
        let most = self.config()?.tools.runs;
        let runs =
            crate::list_runs(&self.around, &RunFilter::default(), Some(most))?.rows.into_iter();
        Ok(runs.map(|row| (row.run.id.to_string(), row.run.name)).collect())
    }

    /// Reads one by its name; nothing where there is none of this name.
    pub fn read(&self, uri: &str) -> Option<Contents> {
        let path = uri.strip_prefix("spore://")?;
        let parts: Vec<&str> = path.split('/').collect();
        let (text, mime) = match parts.as_slice() {
            ["memory"] => (self.memory_text(), MARKDOWN),
            ["run", id] if self.may_read(id) => (self.report(id), TEXT),
            ["run", id, "task"] if self.may_read(id) => (self.task_of(id), TEXT),
            ["node", id] => (self.node_text(id), TEXT),
            _ => return None,
        };
        let text = self.around.secrets().strike(&text.ok()?).into_owned();
        Some(Contents { mime: mime.to_owned(), text })
    }

    /// Whether a run is one that this view may see as a whole.
    fn may_read(&self, run: &str) -> bool {
        match &self.view {
            ProjectView::WorkTree => true,
            ProjectView::Session { run: own, .. } => own.to_string() == run,
        }
    }

    fn memory_text(&self) -> Result<String> {
        Ok(self.memory()?.entries.join("\n"))
    }

    fn node_text(&self, id: &str) -> Result<String> {
        let node = self.graph()?.0.find_node(id)?;
        let found = self.node_found(&node);
        Ok(format!("{}\n{}\n", found.heading, found.entries.join("\n")))
    }
}
