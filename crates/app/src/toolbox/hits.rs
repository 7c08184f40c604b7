//! Finding code: `search`, `explore`, `context`.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use spore_config::{Config, ToolConfig};
use spore_context::search::Hit;
use spore_model::{Fault, Node, NodeClass, NodeId};
use spore_store::{CodeIndex, Knowledge, NodeQuery};

use super::Toolbox;
use super::held_index::Opened;
use super::page::{ToolFindings, bytes};
use super::places::lines_of;
use super::question::ToolRequest;
use super::view::ProjectView;
use crate::indexing::Silent;
use crate::search::{SearchQuery, search_held};
use crate::{ContextAsked, Error, MIN_TOKENS, Result};

/// How long a task file may take to compile.
const PATIENCE: Duration = Duration::from_secs(45);

impl Toolbox {
    pub(super) fn search(&self, asked: &ToolRequest<'_>, config: &Config) -> Result<ToolFindings> {
        let query = query(asked, asked.number("limit").unwrap_or(config.tools.hits));
        let heading = format!("Hits for {:?}, best first:", one_line(&query.text));
        let noted = if query.kinds.is_empty() && query.path.is_none() {
            self.noted(&query.text, config)?
        } else {
            Vec::new()
        };
        let (hits, note) = self.find(query, config)?;
        let hits = (1..).zip(&hits).map(|(rank, hit)| hit_entry(rank, hit));
        Ok(ToolFindings::new(heading, hits.chain(noted).collect())
            .or("Nothing. Try the name of a symbol, part of a path, or other words.")
            .note(note))
    }

    pub(super) fn explore(&self, asked: &ToolRequest<'_>, config: &Config) -> Result<ToolFindings> {
        let query = query(asked, asked.number("limit").unwrap_or(config.tools.places));
        let heading = format!("What {:?} may mean, best first:", one_line(&query.text));
        let most = asked.number("max_lines").unwrap_or(config.tools.lines_of_place);
        let (near_texts, neighbours) = (config.search.near, config.tools.neighbours);
        let around = Arc::clone(&self.around);
        let (hits, note) = self.held_index.with(move |opened| {
            let near = opened.near(&around, &query.text, near_texts);
            let hits = search_held(&around, opened.searcher, &query, &near)?;
            let looked_at = hits.into_iter().map(|hit| {
                let near = Neighbours::of(opened.index, &hit.id, neighbours)?;
                Ok((hit, near))
            });
            Ok((looked_at.collect::<Result<Vec<_>>>()?, opened.note()))
        })?;
        let mut entries = Vec::new();
        for (rank, (hit, near)) in (1..).zip(&hits) {
            let source = self.source_of(&hit.path, hit.first_line, hit.last_line, most);
            entries.push(format!("{}\n{source}\n{}", hit_entry(rank, hit), near.text()));
        }
        Ok(ToolFindings::new(heading, entries)
            .or("Nothing. Try the name of a symbol, part of a path, or other words.")
            .note(note))
    }

    /// Compiles a task file; its own budget is that of the answer.
    pub(super) fn context(&self, asked: &ToolRequest<'_>, limits: &ToolConfig) -> Result<String> {
        // Where the first index is still being made, the call fails with that instead of waiting.
        self.held_index.place()?;
        let rev = match &self.view {
            ProjectView::Session { at: Some(commit), .. } => Some(commit.to_string()),
            _ => None,
        };
        let budget = bytes(asked, limits) / 4;
        let question = ContextAsked {
            task: asked.word("task").to_owned(),
            rev,
            role: "coder".to_owned(),
            max_tokens: Some(budget.max(MIN_TOKENS)),
            seed_ranker: false,
            embed: true,
        };
        let around = Arc::clone(&self.around);
        let (tell, told) = channel();
        let compile = move || {
            let _ = tell.send(crate::context(&around, &question, &Silent));
        };
        std::thread::Builder::new()
            .name("context".to_owned())
            .spawn(compile)
            .map_err(|source| Error::io("cannot start a thread", source))?;
        match told.recv_timeout(PATIENCE) {
            Ok(compiled) => Ok(compiled?.text),
            Err(_) => Err(Error::new(Fault::Missing, "the context is still being compiled")
                .hint("ask again in a moment")),
        }
    }

    /// What people and runs noted in these words; what Spore did itself is not part of it.
    fn noted(&self, text: &str, config: &Config) -> Result<Vec<String>> {
        let knowledge = self.workspace()?.knowledge(config)?;
        let most = config.tools.notes;
        let mut noted = Vec::new();
        for class in [NodeClass::Meta, NodeClass::Knowledge] {
            let query = NodeQuery { class: Some(class), ..NodeQuery::default() };
            noted.extend(knowledge.search(text, most, &query)?);
        }
        noted.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let entry = |(node, _): &(Node, f64)| {
            let (title, text) = (one_line(&node.title), one_line(&node.content));
            format!("noted: {} {title}  [{}]\n   {text}", node.kind, node.id.short())
        };
        Ok(noted.iter().take(most as usize).map(entry).collect())
    }

    fn find(&self, query: SearchQuery, config: &Config) -> Result<(Vec<Hit>, Option<String>)> {
        let around = Arc::clone(&self.around);
        let near_texts = config.search.near;
        self.held_index.with(move |opened: &Opened<'_>| {
            let near = opened.near(&around, &query.text, near_texts);
            let hits = search_held(&around, opened.searcher, &query, &near)?;
            Ok((hits, opened.note()))
        })
    }

    /// The lines of a piece of code as the index saw them, or why there are none.
    pub(super) fn source_of(&self, path: &str, first: u32, last: u32, most: u32) -> String {
        let read = self.places().and_then(|places| Ok((places, places.indexed(path)?)));
        let (places, text) = match read {
            Ok(read) => read,
            Err(error) => return format!("({error})"),
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let part = lines_of(&text, first, last.max(first), most);
        let mut source = part.numbered().join("\n");
        if part.more > 0 {
            source.push_str(&format!("\n… {} more lines", part.more));
        }
        if places.is_changed(path, &text) {
            source.push_str("\n(as it was before your changes to this file)");
        }
        source
    }
}

fn query(asked: &ToolRequest<'_>, limit: u32) -> SearchQuery {
    SearchQuery {
        text: asked.word("query").to_owned(),
        kinds: asked.list("kinds"),
        path: asked.text("path").map(str::to_owned),
        limit: Some(limit),
        no_embed: false,
    }
}

fn hit_entry(rank: u32, hit: &Hit) -> String {
    let mut entry = format!(
        "{rank}. {} {}  {}:{}  [{}]",
        hit.kind,
        hit.qualified,
        hit.path,
        hit.first_line.max(1),
        hit.id.short()
    );
    for line in [&hit.signature, &hit.doc] {
        let line = one_line(line);
        if !line.is_empty() && hit.kind != "file" {
            entry.push_str(&format!("\n   {line}"));
        }
    }
    entry
}

/// What is nearest to a piece of code in the call graph.
#[derive(Default)]
pub(super) struct Neighbours {
    called_by: Vec<String>,
    calls: Vec<String>,
    more: (usize, usize),
}

impl Neighbours {
    /// Finds them, at most `most` callers and as many callees.
    pub(super) fn of(index: &CodeIndex, id: &NodeId, most: u32) -> Result<Self> {
        let most = most as usize;
        let (callers, callees) = (index.callers(id)?, index.callees(id)?);
        let named = |edges: &[spore_store::CodeEdge]| -> Result<Vec<String>> {
            edges.iter().take(most).map(|edge| place_of(index, &edge.far.id)).collect()
        };
        Ok(Self {
            called_by: named(&callers)?,
            calls: named(&callees)?,
            more: (callers.len().saturating_sub(most), callees.len().saturating_sub(most)),
        })
    }

    pub(super) fn text(&self) -> String {
        let line = |word: &str, names: &[String], more: usize| {
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            (!names.is_empty()).then(|| format!("{word}: {}{more}\n", names.join(", ")))
        };
        let lines = [
            line("called by", &self.called_by, self.more.0),
            line("calls", &self.calls, self.more.1),
        ];
        lines.into_iter().flatten().collect()
    }
}

/// A node's name and where it stands.
pub(super) fn place_of(index: &CodeIndex, id: &NodeId) -> Result<String> {
    let Some(node) = index.node(id)? else { return Ok(id.short().to_owned()) };
    let text = |key: &str| node.metadata.get(key).cloned().unwrap_or_default();
    let (path, line) = (text("path"), text("first_line"));
    Ok(match (path.as_str(), line.as_u64()) {
        (Some(path), Some(line)) => format!("{} {path}:{line}", node.title),
        (Some(path), None) if path != node.title => format!("{} {path}", node.title),
        _ => node.title,
    })
}

/// The first line of a text, not too long.
pub(super) fn one_line(text: &str) -> String {
    const MOST: usize = 160;
    let text = spore_plain::block(text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    spore_plain::cut_with(line, MOST, "…").into_owned()
}
