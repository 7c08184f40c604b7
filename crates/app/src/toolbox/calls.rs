//! A call of a tool that reads, and the module that answers it.

use serde_json::Value;
use spore_tools::ToolAnswer;

use super::Toolbox;
use super::page::ToolFindings;
use super::question::{Refusal, ToolRequest, answer};

impl Toolbox {
    /// Answers a call of a tool that reads. Its arguments fit the tool's schema. No answer holds
    /// any of the user's secrets: it goes to a model.
    pub fn call(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let mut answer = self.answer(tool, arguments);
        self.around.secrets().strike_in(&mut answer.text);
        answer
    }

    fn answer(&self, tool: &str, arguments: &Value) -> ToolAnswer {
        let asked = ToolRequest { tool, arguments };
        let config = match self.config() {
            Ok(config) => config,
            Err(error) => return answer(Err(error.into())),
        };
        if tool == "context" {
            // A task file has its own sections and its own budget.
            return answer(self.context(&asked, &config.tools).map_err(Into::into));
        }
        let found = match tool {
            "search" => self.search(&asked, &config),
            "explore" => self.explore(&asked, &config),
            "read_content" => self.read_content(&asked),
            "code_show" => self.code_show(&asked, &config.tools),
            "callers" => self.callers(&asked, &config.tools),
            "callees" => self.callees(&asked, &config.tools),
            "impact" => self.impact(&asked, &config),
            "nav_edges" => self.nav_edges(&asked, &config.tools),
            "query_edges" => self.query_edges(&asked, &config.tools),
            "path_between" => self.path_between(&asked, &config.tools),
            "lessons" => self.lessons(&asked, &config),
            "run_show" => self.run_show(&asked),
            "memory" => self.memory(),
            "dossier" => self.dossier(&asked),
            _ => return ToolAnswer::error(format!("{tool} reads nothing")),
        };
        let page = |found: ToolFindings| found.page(&asked, &config.tools);
        answer(found.map_err(Refusal::from).and_then(page))
    }
}
