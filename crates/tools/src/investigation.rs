//! The tools of an investigation's passes, as a model sees them: declared once, served to the
//! `api` loop and to every agent by the broker. What a call does is decided where the tree and the
//! stores are.
//!
//! None of them runs anything. Each pass has one that ends it.

use serde_json::{Value, json};
use spore_model::ToolGroup;

use crate::declared::{Declared, bounded, declare, fraction, list_of, loose, one_of, whole};

/// A pass of a model over a directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvestigationPass {
    Survey,
    Plan,
    Directory,
    Synthesis,
}

impl InvestigationPass {
    pub const ALL: [Self; 4] = [Self::Survey, Self::Plan, Self::Directory, Self::Synthesis];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Plan => "plan",
            Self::Directory => "directory",
            Self::Synthesis => "synthesis",
        }
    }
}

/// How much something matters that a pass flagged.
pub const FLAG_SEVERITIES: [&str; 3] = ["info", "concern", "critical"];

/// Returns the tools of one pass, in the order in which a model sees them.
pub fn declared_for_pass(pass: InvestigationPass) -> Vec<Declared> {
    match pass {
        InvestigationPass::Survey => vec![submit_survey()],
        InvestigationPass::Plan => vec![submit_plan()],
        InvestigationPass::Directory => {
            let mut tools = looking_tools();
            tools.extend([write_cache(), think(), checkpoint(), flag()]);
            tools.push(submit_report(
                "Hands in what this directory is and ends the look at it.",
                json!({
                    "summary": bounded(8_000, "what the directory is for and how it works"),
                    "completeness": fraction("how much of it was looked at, 0 to 1"),
                    "confidence": fraction("how sure the summary is, 0 to 1"),
                    "confidence_reason": bounded(1_000, "why, below 0.7"),
                }),
                &["summary", "completeness"],
            ));
            tools
        }
        InvestigationPass::Synthesis => vec![
            read_cache(),
            list_cache(),
            flag(),
            submit_report(
                "Hands in what the target is and ends the session.",
                json!({
                    "brief": bounded(4_000, "two to four sentences"),
                    "detailed": bounded(32_000, "the whole account, in Markdown"),
                }),
                &["brief", "detailed"],
            ),
        ],
    }
}

/// Returns the names of all tools of all passes.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for pass in InvestigationPass::ALL {
        for tool in declared_for_pass(pass) {
            if !names.contains(&tool.name) {
                names.push(tool.name);
            }
        }
    }
    names
}

fn looking_tools() -> Vec<Declared> {
    vec![
        tool(
            "read",
            "Read a file",
            "Reads a text file of the target. One line of the file per line, after its number and a \
             tab. Long files come in parts: read on with `from`.",
            json!({
                "path": path(),
                "from": whole(1, u64::from(u32::MAX), "first line, 1 if left out"),
                "lines": whole(1, 2_000, "how many lines"),
            }),
            &["path"],
        ),
        tool(
            "list",
            "List a directory",
            "Lists a directory of the target: names, sizes, kinds.",
            json!({ "path": path() }),
            &[],
        ),
        tool(
            "grep",
            "Search files",
            "Searches text files of the target for a regular expression, line by line.",
            json!({
                "pattern": bounded(1_000, "Rust regex syntax"),
                "path": path(),
                "ignore_case": { "type": "boolean" },
            }),
            &["pattern"],
        ),
        tool(
            "parse_structure",
            "Show the structure of a source file",
            "Lists a source file's functions, types and imports with their lines. It never replaces \
             reading: where structure and content differ, read the file.",
            json!({ "path": path() }),
            &["path"],
        ),
    ]
}

fn write_cache() -> Declared {
    tool(
        "write_cache",
        "Keep an entry",
        "Keeps a summary of one file of this directory, or of the directory itself. Summaries only: \
         never contents. Kept as soon as this is answered.",
        json!({
            "cache_type": one_of(&["file", "dir"], "what it is about"),
            "path": path(),
            "data": {
                "type": "object",
                "properties": {
                    "summary": bounded(8_000, "what it is for and how it works"),
                    "confidence": fraction("how sure that is, 0 to 1"),
                    "confidence_reason": bounded(1_000, "why, below 0.7"),
                    "notable": { "type": "boolean" },
                    "notable_reason": bounded(1_000, "why"),
                },
            },
        }),
        &["cache_type", "path", "data"],
    )
}

fn think() -> Declared {
    tool(
        "think",
        "Think",
        "Notes what you make of it when a direction must be chosen. Nothing is kept but that.",
        json!({
            "observation": bounded(2_000, "what you see"),
            "hypothesis": bounded(2_000, "what it may mean"),
            "next_action": bounded(2_000, "what you do next"),
        }),
        &["observation"],
    )
}

fn checkpoint() -> Declared {
    tool(
        "checkpoint",
        "Take stock",
        "Notes what is known and what is not, once or twice at the most.",
        json!({
            "learned": bounded(4_000, "what is known"),
            "still_unknown": bounded(4_000, "what is not"),
            "next_phase": bounded(2_000, "what comes next"),
        }),
        &["learned"],
    )
}

fn flag() -> Declared {
    tool(
        "flag",
        "Flag something",
        "Flags something a person should know, at once when it is found.",
        json!({
            "path": path(),
            "finding": bounded(2_000, "what it is and why it matters"),
            "severity": one_of(&FLAG_SEVERITIES, "how much it matters"),
        }),
        &["finding", "severity"],
    )
}

fn read_cache() -> Declared {
    tool(
        "read_cache",
        "Read an entry",
        "Reads what is known of one file or directory of the target.",
        json!({ "path": path() }),
        &["path"],
    )
}

fn list_cache() -> Declared {
    tool(
        "list_cache",
        "List entries",
        "Lists the files and directories of which something is known.",
        json!({ "path": path(), "from": whole(0, 1_000_000, "how many to pass over") }),
        &[],
    )
}

fn submit_survey() -> Declared {
    ending(tool(
        "submit_survey",
        "Hand in the survey",
        "Hands in the survey and ends the session.",
        json!({
            "description": bounded(4_000, "what the target is, in plain words"),
            "approach": bounded(4_000, "how those who look at its parts should do it"),
            "relevant_tools": list_of(100, "tools to lean on"),
            "skip_tools": list_of(100, "tools whose answers would be wrong here"),
            "domain_notes": loose(4_000, "anything unusual"),
            "confidence": fraction("how sure this is, 0 to 1"),
        }),
        &["description", "approach", "confidence"],
    ))
}

fn submit_plan() -> Declared {
    let listed = |more: Value| {
        let mut fields = json!({ "path": path(), "reason": loose(1_000, "why") });
        if let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) {
            fields.extend(more.clone());
        }
        json!({
            "type": "array",
            "maxItems": 2_000,
            "items": { "type": "object", "properties": fields, "required": ["path"] },
        })
    };
    ending(tool(
        "submit_plan",
        "Hand in the plan",
        "Hands in where to look closer and where not, and ends the session.",
        json!({
            "priority_dirs": listed(json!({ "suggested_turns": whole(1, 100, "15 to 20") })),
            "shallow_dirs": listed(json!({})),
            "skip_dirs": listed(json!({})),
            "investigation_order": one_of(&["leaf-first", "priority-first"], "which come first among those that are ready"),
            "notes": loose(4_000, "what all who look should know"),
        }),
        &[],
    ))
}

fn submit_report(description: &str, fields: Value, required: &[&str]) -> Declared {
    ending(tool("submit_report", "Hand in the report", description, fields, required))
}

fn ending(tool: Declared) -> Declared {
    Declared { ends: true, ..tool }
}

fn tool(name: &str, title: &str, description: &str, fields: Value, required: &[&str]) -> Declared {
    declare(ToolGroup::Investigation, name, title, description, fields, required)
}

fn path() -> Value {
    json!({ "type": "string", "maxLength": 4_000, "description": "from the target's root" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pass: InvestigationPass, expected: &str) {
        let tools = declared_for_pass(pass);
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{pass:?}");
    }

    #[test]
    fn each_pass_has_the_tools_of_its_work() {
        check(InvestigationPass::Survey, "submit_survey");
        check(InvestigationPass::Plan, "submit_plan");
        check(
            InvestigationPass::Directory,
            "read list grep parse_structure write_cache think checkpoint flag submit_report",
        );
        check(InvestigationPass::Synthesis, "read_cache list_cache flag submit_report");
    }

    #[test]
    fn every_pass_has_one_tool_that_ends_it_and_its_schemas_can_be_checked() {
        for pass in InvestigationPass::ALL {
            let tools = declared_for_pass(pass);
            assert_eq!(tools.iter().filter(|tool| tool.ends).count(), 1, "{pass:?}");
            for tool in tools {
                assert_eq!(crate::check_schema(&tool.schema), Ok(()), "{}", tool.name);
                assert!(!tool.description.contains("command"), "{}", tool.name);
            }
        }
    }
}
