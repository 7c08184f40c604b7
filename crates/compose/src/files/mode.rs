//! Who leads a layer: the machine of its kind, or a session that can do nothing but call the layer
//! below.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerMode {
    /// What is next is said by the machine.
    #[default]
    Tool,
    /// What is next is said by a session, within what the machine lets it do.
    Agent,
}

impl LayerMode {
    pub const WORDS: [&str; 2] = ["tool", "agent"];

    pub fn named(word: &str) -> Option<Self> {
        match word {
            "tool" => Some(Self::Tool),
            "agent" => Some(Self::Agent),
            _ => None,
        }
    }

    pub fn is_tool(&self) -> bool {
        *self == Self::Tool
    }
}
