//! What a person's own client may add to the graph, where the person allows it.
//!
//! The same use cases as `spore graph create-…`, stamped with the client's name. Verdicts,
//! summaries and lessons belong to runs: they are not made here.

use serde_json::Value;
use spore_model::Fault;
use spore_tools::Declared;
use spore_tools::ToolAnswer;
use spore_tools::graph::declared;

use super::Toolbox;
use super::question::{Refusal, ToolRequest, answer};
use crate::graph::{EdgeAsked, MetaAsked};
use crate::{Error, Result};

/// Who says what is written here.
const AGENT: &str = "mcp";

/// Returns the tools that write outside of a run.
pub fn declared_writes() -> Vec<Declared> {
    let all = declared().into_iter();
    all.filter(|tool| ["create_node", "create_edge", "flag"].contains(&tool.name.as_str()))
        .map(|mut tool| {
            // Inside of a run it is a proposal that the run decides on; here it is stored at once.
            tool.description = tool.description.replace("Proposes", "Adds");
            tool.title = tool.title.replace("Propose", "Add");
            tool
        })
        .collect()
}

impl Toolbox {
    /// Writes to the graph. The arguments fit the tool's schema.
    pub fn write(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let asked = ToolRequest { tool, arguments };
        let written = match tool {
            "create_node" => self.create_node(&asked),
            "create_edge" => self.create_edge(&asked),
            "flag" => self.flag(&asked),
            _ => Err(Error::new(Fault::Usage, format!("{tool} writes nothing"))),
        };
        let mut answer = answer(written.map_err(Refusal::from));
        self.around.secrets().strike_in(&mut answer.text);
        answer
    }

    fn create_node(&self, asked: &ToolRequest<'_>) -> Result<String> {
        let made = self.graph()?.0.create_meta(&MetaAsked {
            kind: asked.word("kind").to_owned(),
            title: asked.word("title").to_owned(),
            content: asked.word("content").to_owned(),
            agent: AGENT.to_owned(),
            connects_to: asked.list("connects_to"),
            edge_type: asked.text("edge_type").unwrap_or("related").to_owned(),
        })?;
        Ok(format!("Added {} {} [{}]", made.kind, made.title, made.id.short()))
    }

    fn create_edge(&self, asked: &ToolRequest<'_>) -> Result<String> {
        let made = self.graph()?.0.create_edge(&EdgeAsked {
            from: asked.word("from").to_owned(),
            to: asked.word("to").to_owned(),
            kind: asked.word("edge_type").to_owned(),
            content: None,
            reason: asked.text("reason").map(str::to_owned),
            agent: AGENT.to_owned(),
            confidence: asked.arguments.get("confidence").and_then(Value::as_f64).unwrap_or(1.0),
            supersedes: None,
            metadata: None,
        })?;
        Ok(format!("Added {} -{}-> {}", made.source.title, made.kind, made.target.title))
    }

    fn flag(&self, asked: &ToolRequest<'_>) -> Result<String> {
        let message = asked.word("message");
        let file = asked.text("file");
        let line = asked.number("line").map_or_else(String::new, |line| format!(":{line}"));
        let place = file.map_or_else(String::new, |file| format!("\n\n{file}{line}"));
        let severity = asked.text("severity").unwrap_or("warning");
        let made = self.graph()?.0.create_meta(&MetaAsked {
            kind: "flag".to_owned(),
            title: super::hits::one_line(message),
            content: format!("{severity}: {message}{place}"),
            agent: AGENT.to_owned(),
            connects_to: file.map(str::to_owned).into_iter().collect(),
            edge_type: "flags".to_owned(),
        })?;
        Ok(format!("Flagged [{}]", made.id.short()))
    }
}
