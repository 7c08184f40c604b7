//! Who answers: the project itself, or the broker of the run that this session belongs to.

use std::io;

use spore_app::toolbox::{Answer, Ask, Declared, Remote, Told, Toolbox};
use spore_app::toolbox::{declared, declared_writes, misfit};
use spore_model::ToolGroup;

/// Answers what a client asks. Called on threads that may wait.
pub trait ToolHost: Send + Sync + 'static {
    fn ask(&self, ask: Ask) -> io::Result<Told>;
}

/// A project, for a client of the person's own: it reads, and writes where the person said so.
pub struct ProjectHost {
    toolbox: Toolbox,
    writes: bool,
}

impl ProjectHost {
    pub fn new(toolbox: Toolbox, writes: bool) -> Self {
        Self { toolbox, writes }
    }

    fn tools(&self) -> Vec<Declared> {
        let mut tools: Vec<Declared> =
            declared().into_iter().filter(|tool| tool.group == ToolGroup::Graph).collect();
        if self.writes {
            tools.extend(declared_writes());
        }
        tools
    }

    fn call(&self, name: &str, arguments: &serde_json::Value) -> Answer {
        let tools = self.tools();
        let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
            let name = spore_plain::head(name, 80);
            return Answer::error(format!("there is no tool {name:?} here"));
        };
        if let Some(misfit) = misfit(&tool.schema, arguments) {
            return Answer::error(format!("{name} was not called: {misfit}"));
        }
        match tool.proposes() {
            true => self.toolbox.write(name, arguments),
            false => self.toolbox.call(name, arguments),
        }
    }
}

impl ToolHost for ProjectHost {
    fn ask(&self, ask: Ask) -> io::Result<Told> {
        Ok(match ask {
            Ask::Tools => Told::Tools(self.tools()),
            Ask::Call { tool, arguments } => Told::Answer(self.call(&tool, &arguments)),
            Ask::Resources => Told::Resources(self.toolbox.resources()),
            Ask::Read { uri } => Told::Contents(self.toolbox.read(&uri)),
            // No client of a server is a session.
            Ask::Start(_) => Told::Refused,
        })
    }
}

impl ToolHost for Remote {
    fn ask(&self, ask: Ask) -> io::Result<Told> {
        Self::ask(self, &ask, &|| false)
    }
}
