//! A call of a tool that reads, and the module that answers it.

use serde_json::Value;
use spore_tools::ToolAnswer;

use super::Toolbox;
use super::question::{Refusal, ToolRequest, answer};

impl Toolbox {
    /// Answers a call of a tool that reads. Its arguments fit the tool's schema.
    pub fn call(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let asked = ToolRequest { tool, arguments };
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
}
