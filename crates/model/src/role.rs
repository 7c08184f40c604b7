//! What a role may do, in words that no agent owns.
//!
//! The configuration grants a role groups of tools by these words. Each backend turns them into
//! names of its own agent's tools, the registry and the broker into theirs.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Tools that are granted together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolGroup {
    /// Reads the files that it is pointed at.
    Read,
    /// Looks through all files by itself: grep, glob.
    Search,
    /// Changes files of the checkout.
    Write,
    /// Runs the project's checks, to the letter, and nothing else.
    Checks,
    /// Runs any command where a sandbox holds the session or a person said so, and the
    /// project's checks otherwise.
    Shell,
    /// Has a command run by Spore on the tree that it judges, outside of its own session.
    Commands,
    /// Asks what Spore knows: code, runs, lessons, memory.
    Graph,
    /// Hands in a verdict.
    Verdict,
    /// Proposes a summary of the run.
    Summary,
    /// Proposes lessons for later runs.
    Lessons,
    /// Proposes nodes and edges of the graph.
    Nodes,
    /// Flags something for a person to look at.
    Flags,
    /// The tools of an investigation's passes, which each pass has its own of.
    Investigation,
    /// The tools of memory's own sessions, which each kind has its own of.
    Memory,
    /// Runs the parts of a layer that the session leads, and nothing else.
    Layers,
}

/// What one role may use.
pub type ToolGroups = BTreeSet<ToolGroup>;

impl ToolGroup {
    pub const ALL: [Self; 15] = [
        Self::Read,
        Self::Search,
        Self::Write,
        Self::Checks,
        Self::Shell,
        Self::Commands,
        Self::Graph,
        Self::Verdict,
        Self::Summary,
        Self::Lessons,
        Self::Nodes,
        Self::Flags,
        Self::Investigation,
        Self::Memory,
        Self::Layers,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Search => "search",
            Self::Write => "write",
            Self::Checks => "checks",
            Self::Shell => "shell",
            Self::Commands => "commands",
            Self::Graph => "graph",
            Self::Verdict => "verdict",
            Self::Summary => "summary",
            Self::Lessons => "lessons",
            Self::Nodes => "nodes",
            Self::Flags => "flags",
            Self::Investigation => "investigation",
            Self::Memory => "memory",
            Self::Layers => "layers",
        }
    }

    /// Returns the group that `word` stands for.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.as_str() == word)
    }

    /// Returns whether the broker of a run serves these tools, whatever agent asks.
    pub const fn is_served(self) -> bool {
        match self {
            Self::Read | Self::Search | Self::Write | Self::Checks | Self::Shell => false,
            Self::Commands
            | Self::Graph
            | Self::Verdict
            | Self::Summary
            | Self::Lessons
            | Self::Nodes
            | Self::Flags
            | Self::Investigation
            | Self::Memory
            | Self::Layers => true,
        }
    }
}

impl fmt::Display for ToolGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What the sandbox of a role's sessions lets them do to their checkout.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckoutAccess {
    /// Its files can be changed.
    #[default]
    Write,
    /// Its files can only be read, whatever the agent's own rules say.
    ReadOnly,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_is_found_by_its_word_and_written_with_it() {
        for group in ToolGroup::ALL {
            assert_eq!(ToolGroup::of_word(group.as_str()), Some(group));
            assert_eq!(serde_json::to_value(group).unwrap(), group.as_str());
        }
        assert_eq!(ToolGroup::of_word("everything"), None);
    }
}
