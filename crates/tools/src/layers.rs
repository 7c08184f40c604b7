//! The tools of a session that leads a layer: the layer below, and how far it is. There are no others.

use serde_json::json;
use spore_model::ToolGroup;

use crate::declared::{Declared, declare};

/// The layer that a session leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LedLayer {
    Stages,
    Phases,
    Campaign,
}

impl LedLayer {
    pub const ALL: [Self; 3] = [Self::Stages, Self::Phases, Self::Campaign];

    /// The tool that runs one part of it.
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Stages => "run_exec",
            Self::Phases => "run_stage",
            Self::Campaign => "run_phase",
        }
    }

    /// What one part is called.
    pub const fn part(self) -> &'static str {
        match self {
            Self::Stages => "stage",
            Self::Phases | Self::Campaign => "phase",
        }
    }
}

/// The tool that tells how far the layer is.
pub const STATUS: &str = "status";

/// Returns the tools of the session that leads a layer.
pub fn declared_for_layer(layer: LedLayer) -> Vec<Declared> {
    let part = layer.part();
    let name = json!({
        "type": "string", "maxLength": 80, "description": format!("the name of the {part}"),
    });
    let run = declare(
        ToolGroup::Layers,
        layer.tool(),
        &format!("Run a {part}"),
        &format!("Runs one {part} to its end and tells how it ended. This may take long."),
        json!({ "name": name }),
        &["name"],
    );
    let status = declare(
        ToolGroup::Layers,
        STATUS,
        "How far it is",
        &format!("Tells of every {part} how it stands."),
        json!({}),
        &[],
    );
    vec![run, status]
}

/// Returns the names of all these tools.
pub fn names() -> Vec<String> {
    let run = LedLayer::ALL.iter().map(|layer| layer.tool().to_owned());
    run.chain([STATUS.to_owned()]).collect()
}
