//! The tools of one pass, performed here for whatever agent calls them. What a model is told and what it
//! hands in has its secrets struck.

use serde_json::Value;
use spore_investigate::artefacts::{LOG, LogLine};
use spore_tools::investigation::{InvestigationPass, declared_for_pass};
use spore_tools::{Declared, ToolAnswer};

use super::pass_tools::PassTools;
use super::summaries::below;
use crate::session::broker::SessionCommands;

/// Entries that one answer lists.
const LISTED: usize = 200;

impl PassTools {
    fn perform(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        if self.own_tools().iter().all(|declared| declared.name != tool) {
            return ToolAnswer::refused(format!("there is no tool {tool:?} here"));
        }
        if self.state().handed_in.is_some() {
            return ToolAnswer::error("the result is handed in: end the session now");
        }
        match tool {
            "read" | "grep" => self.look(tool, arguments),
            "list" => self.list(arguments),
            "parse_structure" => self.structure(arguments),
            "write_cache" => self.write_cache(arguments),
            "think" | "checkpoint" => ToolAnswer::ok("ok"),
            "flag" => self.flag(arguments),
            "read_cache" => self.read_cache(arguments),
            "list_cache" => self.list_cache(arguments),
            "submit_report" if self.pass == InvestigationPass::Directory => self.report(arguments),
            "submit_report" | "submit_survey" | "submit_plan" => self.take(arguments),
            _ => ToolAnswer::refused(format!("there is no tool {tool:?} here")),
        }
    }

    fn read_cache(&self, arguments: &Value) -> ToolAnswer {
        let typed = arguments["path"].as_str().unwrap_or_default();
        let Some((path, kind, _)) = self.place(typed) else { return Self::no_place(typed) };
        match self.ground.summaries.of(kind, &path) {
            Some(node) => ToolAnswer::ok(format!("{path}: {}", node.content)),
            None => ToolAnswer::error(format!("nothing is known of {path}")),
        }
    }

    fn list_cache(&self, arguments: &Value) -> ToolAnswer {
        let from =
            arguments["from"].as_u64().and_then(|from| usize::try_from(from).ok()).unwrap_or(0);
        let above = arguments["path"].as_str().unwrap_or(".");
        let above = self.place(above).map_or_else(|| above.to_owned(), |(path, ..)| path);
        let places = self.ground.summaries.places();
        let is_below = |path: &&str| below(&above, path).is_some();
        // What was said of places that are gone is kept, and of no use here.
        let is_there = |path: &&str| self.ground.places.contains_key(*path);
        let paths: Vec<&str> = places
            .iter()
            .map(|(_, path)| path.as_str())
            .filter(is_below)
            .filter(is_there)
            .collect();
        let shown: Vec<&str> = paths.iter().copied().skip(from).take(LISTED).collect();
        let more = paths.len().saturating_sub(from + shown.len());
        let more = if more > 0 {
            format!("\nand {more} more: from={}", from + shown.len())
        } else {
            String::new()
        };
        ToolAnswer::ok(format!("{} entries\n{}{more}", paths.len(), shown.join("\n")))
    }
}

impl SessionCommands for PassTools {
    fn run(&self, _command: &str) -> ToolAnswer {
        ToolAnswer::refused("no command can be run here")
    }

    fn own_tools(&self) -> Vec<Declared> {
        let all = declared_for_pass(self.pass).into_iter();
        all.filter(|tool| !self.left_out.contains(&tool.name)).collect()
    }

    fn call(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let mut answer = self.perform(tool, arguments);
        answer.text = self.ground.struck(&answer.text);
        let turn = {
            let mut state = self.state();
            state.calls += 1;
            state.calls
        };
        let mut args = arguments.clone();
        if let Some(fields) = args.as_object_mut() {
            // What is said stands in the entry, not in the log.
            ["data", "summary", "brief", "detailed"].iter().for_each(|name| {
                fields.remove(*name);
            });
        }
        let line = LogLine {
            directory: self.dir.clone(),
            turn,
            timestamp: self.ground.around.clock.now(),
            tool: tool.to_owned(),
            args,
            result_length: answer.text.len() as u64,
        };
        match self.ground.append(LOG, &line) {
            Ok(()) => answer,
            Err(error) => ToolAnswer::error(format!("the log cannot be written: {error}")),
        }
    }
}
