//! Reading one thing: `read_content`, `code_show`.

use spore_config::ToolConfig;
use spore_model::Node;

use super::Toolbox;
use super::hits::{Neighbours, one_line};
use super::page::ToolFindings;
use super::places::lines_of;
use super::question::ToolRequest;
use crate::Result;

/// Where a piece of code stands.
struct Spot<'n> {
    path: &'n str,
    first: u32,
    last: u32,
}

impl Toolbox {
    /// Reads a node, or a file by its path. What is a path of a file is taken for that: a file
    /// may be newer than the index, or none of its business.
    pub(super) fn read_content(&self, asked: &ToolRequest<'_>) -> Result<ToolFindings> {
        let typed = asked.word("target").trim();
        let from_line = asked.number("first_line");
        let looks_like_a_path = typed.contains('/') || typed.contains('.') || from_line.is_some();
        let path = typed.strip_prefix("./").unwrap_or(typed);
        if looks_like_a_path && !path.contains("::") {
            match self.places()?.file(path) {
                Ok((text, shown)) => return Ok(file_found(asked, &shown, &text)),
                Err(error) if self.is_no_name(typed) => return Err(error),
                Err(_) => {}
            }
        }
        let (graph, note) = self.graph()?;
        let node = graph.find_node(typed)?;
        Ok(self.node_found(&node).note(note))
    }

    /// Whether a text can only be a path: it leaves the directory, or begins at the root.
    fn is_no_name(&self, typed: &str) -> bool {
        typed.starts_with('/') || typed.split('/').any(|part| part == "..")
    }

    pub(super) fn node_found(&self, node: &Node) -> ToolFindings {
        let heading = heading(node);
        match spot(node) {
            Some(spot) => {
                let source = self.source_of(spot.path, spot.first, spot.last, u32::MAX);
                ToolFindings::new(heading, source.lines().map(str::to_owned).collect())
            }
            None => {
                let entries = node.content.lines().map(str::to_owned).collect();
                ToolFindings::new(heading, entries).or("It has no text.")
            }
        }
    }

    pub(super) fn code_show(
        &self,
        asked: &ToolRequest<'_>,
        limits: &ToolConfig,
    ) -> Result<ToolFindings> {
        let (graph, note) = self.graph()?;
        let node = graph.find_node(asked.word("node"))?;
        let Some(spot) = spot(&node) else { return Ok(self.node_found(&node).note(note)) };
        let most = asked.number("max_lines").unwrap_or(limits.lines_of_code);
        let (id, neighbours) = (node.id.clone(), limits.neighbours);
        let near =
            self.held_index.with(move |opened| Neighbours::of(opened.index, &id, neighbours))?;
        let mut entries: Vec<String> = node.content.lines().map(str::to_owned).collect();
        entries.push(String::new());
        let source = self.source_of(spot.path, spot.first, spot.last, most);
        entries.extend(source.lines().map(str::to_owned));
        entries.extend(near.text().lines().map(str::to_owned));
        Ok(ToolFindings::new(heading(&node), entries).note(note))
    }
}

fn file_found(asked: &ToolRequest<'_>, shown: &str, text: &str) -> ToolFindings {
    let first = asked.number("first_line").unwrap_or(1);
    let last = asked.number("last_line").unwrap_or(u32::MAX);
    let part = lines_of(text, first, last, usize::MAX);
    let total = text.lines().count();
    let entries = part.numbered();
    ToolFindings::new(format!("{shown}, {total} lines:"), entries).or("It has no such lines.")
}

fn heading(node: &Node) -> String {
    let place = spot(node).map_or_else(String::new, |spot| match spot.last {
        u32::MAX => format!("  {}", spot.path),
        last => format!("  {}:{}-{last}", spot.path, spot.first),
    });
    let by = node.agent.as_deref().map_or_else(String::new, |agent| format!("  by {agent}"));
    format!("{} {}{place}  [{}]{by}", node.kind, one_line(&node.title), node.id.short())
}

fn spot(node: &Node) -> Option<Spot<'_>> {
    let line = |key: &str| {
        let number = node.metadata.get(key)?.as_u64()?;
        u32::try_from(number).ok()
    };
    let path = node.metadata.get("path")?.as_str().filter(|_| node.id.is_hash())?;
    Some(Spot {
        path,
        first: line("first_line").unwrap_or(1),
        last: line("last_line").unwrap_or(u32::MAX),
    })
}
