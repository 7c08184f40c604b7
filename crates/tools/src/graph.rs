//! The tools on the graph, as a model sees them: names, descriptions, schemas, and which group
//! each belongs to. Which role has which group is said by the configuration.
//!
//! Declared once for all that serve them: the MCP server, the broker of a run, the `api`
//! backend. What a call does is decided where the stores are. Those that write never do:
//! inside a run each is a proposal, and a coder has none, so that no agent can vouch for
//! its own work.

use serde_json::{Value, json};
use spore_model::{ToolGroup, ToolGroups};

use crate::declared::{Declared, bounded, declare, fraction, list_of, one_of, whole};

/// The least and the most tokens of one answer, as all tools estimate them.
pub const MIN_ANSWER_TOKENS: u64 = 256;
pub const MAX_ANSWER_TOKENS: u64 = 20_000;

/// The tool that finds code and notes by words.
pub const SEARCH: &str = "search";

/// The tool that has a command run outside of the session that asks for it.
pub const RUN_COMMAND: &str = "run_command";

/// Kinds of nodes that can be proposed.
pub const NODE_KINDS: [&str; 6] =
    ["note", "summary", "contradiction", "todo", "status", "decision"];

/// How bad something is that was flagged.
pub const SEVERITIES: [&str; 3] = ["info", "warning", "error"];

/// Returns the tools of a role that is granted `groups`, in the order in which a model sees
/// them.
pub fn declared_for(groups: &ToolGroups) -> Vec<Declared> {
    declared().into_iter().filter(|tool| groups.contains(&tool.group)).collect()
}

/// Returns all tools on the graph.
pub fn declared() -> Vec<Declared> {
    let mut all = search_tools();
    all.extend(walk_tools());
    all.extend(memory_tools());
    all.extend(command_tools());
    all.extend(proposal_tools());
    all
}

/// Performed by the process that runs the session, never in the session itself.
fn command_tools() -> Vec<Declared> {
    vec![declare(
        ToolGroup::Commands,
        RUN_COMMAND,
        "Run a command on the tree under review",
        "Runs a shell command in a clean checkout of exactly the tree under review, in the sandbox \
         of the project's checks, and answers with its exit code and the end of its output. \
         Nothing of one command is left for the next.",
        json!({ "command": text("what sh runs, from the project's root") }),
        &["command"],
    )]
}

fn search_tools() -> Vec<Declared> {
    vec![
        reads(
            "search",
            "Search the code",
            "Finds files, functions, types and sections by name, path or meaning. Use it instead \
             of grep to learn where something is. Each hit has its kind, name, file:line and id; what \
             was noted about it follows.",
            json!({
                "query": text("a symbol, a path, or a few words on what the code does"),
                "kinds": list("only these kinds: file, function, method, struct, class, trait, …"),
                "path": text("only below this directory, or matching this glob"),
                "limit": whole(1, 100, "hits at most"),
            }),
            &["query"],
        ),
        reads(
            "explore",
            "Explore the code",
            "Searches and shows what was found in one call: source, who calls it, what it calls. \
             The best first question about code you have not seen.",
            json!({
                "query": text("a symbol, or a few words on what the code does"),
                "limit": whole(1, 10, "places to show at most"),
                "max_lines": whole(5, 400, "lines of source for each at most"),
                "path": text("only below this directory, or matching this glob"),
            }),
            &["query"],
        ),
        reads(
            "context",
            "Compile a context",
            "Compiles what is worth knowing before work on a task: the likely files, their code, \
             how it hangs together, lessons of earlier runs.",
            json!({ "task": text("the task in a sentence or more") }),
            &["task"],
        ),
        reads(
            "read_content",
            "Read a node or a file",
            "Reads what a node says, or a file of the project, with line numbers.",
            json!({
                "target": text("a node's id or title, a path, path:line, or a qualified name"),
                "first_line": whole(1, u64::from(u32::MAX), "where to begin, for a file"),
                "last_line": whole(1, u64::from(u32::MAX), "where to end, for a file"),
            }),
            &["target"],
        ),
        reads(
            "code_show",
            "Show a piece of code",
            "Shows one function, type or file: its place, signature, documentation and source.",
            json!({ "node": node(), "max_lines": whole(5, 2000, "lines of source at most") }),
            &["node"],
        ),
    ]
}

fn walk_tools() -> Vec<Declared> {
    vec![
        reads(
            "callers",
            "Who calls it",
            "Lists what calls or uses a piece of code, with file:line, the surest first.",
            json!({ "node": node(), "depth": whole(1, 4, "steps back, 1 if left out") }),
            &["node"],
        ),
        reads(
            "callees",
            "What it calls",
            "Lists what a piece of code calls and uses, with file:line, the surest first.",
            json!({ "node": node(), "depth": whole(1, 4, "steps on, 1 if left out") }),
            &["node"],
        ),
        reads(
            "impact",
            "What a change reaches",
            "Says what a change of these files or functions reaches through calls, types and \
             imports, and which tests to run. Without targets: what is changed now.",
            json!({
                "targets": list("paths or nodes that change"),
                "depth": whole(1, 6, "steps at most"),
            }),
            &[],
        ),
        reads(
            "nav_edges",
            "Edges of a node",
            "Lists the edges of one node: what it is connected to, how, and how surely.",
            json!({
                "node": node(),
                "edge_types": list("only these types: calls, supports, derives_from, …"),
                "direction": one_of(&["in", "out", "both"], "both if left out"),
            }),
            &["node"],
        ),
        reads(
            "query_edges",
            "Find edges",
            "Finds edges of what was learnt and judged, newest first, by type, author, \
             confidence and age.",
            json!({
                "edge_types": list("only these types"),
                "agent": text("only edges of this author, such as spore:verifier"),
                "target_agent": text("only edges to nodes of this author"),
                "confidence_min": fraction("only edges at least this sure"),
                "since": text("only newer ones: 2026-01-31, 7d, 12h"),
                "not_superseded": { "type": "boolean", "description": "leave out what was replaced" },
            }),
            &[],
        ),
        reads(
            "path_between",
            "How two nodes are connected",
            "Finds the ways from one node to another, shortest first.",
            json!({
                "from": node(),
                "to": node(),
                "max_hops": whole(1, 8, "edges at most"),
                "edge_types": list("walk only these types"),
            }),
            &["from", "to"],
        ),
    ]
}

fn memory_tools() -> Vec<Declared> {
    vec![
        reads(
            "lessons",
            "Lessons of earlier runs",
            "Lists what earlier runs learnt, those that fit the task first.",
            json!({ "task": text("what you are about to do; all lessons if left out") }),
            &[],
        ),
        reads(
            "run_show",
            "Show a run",
            "Shows how a run went: state, bounces, verdicts, cost. Inside a run: this one, if \
             none is named.",
            json!({ "run": text("the run's id, or its last characters") }),
            &[],
        ),
        reads(
            "memory",
            "What the project remembers",
            "Lists the lines that every session of this project is told.",
            json!({}),
            &[],
        ),
        reads(
            "dossier",
            "Open a page of the memory",
            "Opens the page that a line points to, written as [[entity-NAME]] or [[topic-NAME]]: \
             what is known there beyond the line.",
            json!({ "path": text("the pointer, such as [[entity-ada]]") }),
            &["path"],
        ),
    ]
}

fn proposal_tools() -> Vec<Declared> {
    let findings = json!({
        "type": "array",
        "maxItems": 20,
        "description": "what you found, each with its place",
        "items": {
            "type": "object",
            "properties": {
                "file": short("from the project's root"),
                "line": whole(1, u64::from(u32::MAX), "in that file"),
                "message": bounded(2_000, "what is wrong there"),
            },
            "required": ["message"],
            "additionalProperties": false,
        },
    });
    let confidence = fraction("how sure you are, from 0 to 1");
    vec![
        proposes(
            ToolGroup::Verdict,
            "submit_verdict",
            "Hand in the verdict",
            "Hands in your verdict on the work under review. Call it once, at the end: two \
             different verdicts count as a contradiction.",
            json!({
                "verdict": one_of(&["supports", "contradicts", "unknown"],
                    "supports: it does what was asked; contradicts: it does not"),
                "confidence": confidence,
                "reason": bounded(2_000, "why, in a few sentences"),
                "findings": findings,
            }),
            &["verdict", "confidence", "reason"],
        ),
        proposes(
            ToolGroup::Summary,
            "propose_summary",
            "Propose a summary",
            "Proposes a summary of what this run did and why.",
            json!({ "title": title(), "content": bounded(16_000, "the summary, in Markdown") }),
            &["title", "content"],
        ),
        proposes(
            ToolGroup::Lessons,
            "propose_lesson",
            "Propose a lesson",
            "Proposes a lesson for later runs: a situation, what to do in it, and what proves it. \
             Only what this run showed, and nothing that the code says by itself.",
            json!({
                "title": title(),
                "pattern": bounded(4_000, "the situation in which it applies"),
                "fix": bounded(4_000, "what to do then"),
                "scope": list("paths it is about; everywhere if left out"),
                "evidence": bounded(2_000, "what in this run shows it"),
            }),
            &["title", "pattern", "fix", "evidence"],
        ),
        proposes(
            ToolGroup::Nodes,
            "create_node",
            "Propose a node",
            "Proposes a node for the graph: a note, a summary, a contradiction, a todo, a status \
             or a decision about what it connects to.",
            json!({
                "kind": one_of(&NODE_KINDS, "what it is"),
                "title": title(),
                "content": bounded(16_000, "what it says, in Markdown"),
                "connects_to": list("ids, titles or paths of what it is about"),
                "edge_type": short("how it is connected; related if left out"),
            }),
            &["kind", "title", "content"],
        ),
        proposes(
            ToolGroup::Nodes,
            "create_edge",
            "Propose an edge",
            "Proposes an edge between two nodes.",
            json!({
                "from": node(),
                "to": node(),
                "edge_type": short("supports, contradicts, derives_from, related, …"),
                "reason": bounded(2_000, "why they are connected"),
                "confidence": confidence,
            }),
            &["from", "to", "edge_type", "reason"],
        ),
        proposes(
            ToolGroup::Flags,
            "flag",
            "Flag something",
            "Flags something that a person should look at.",
            json!({
                "message": bounded(2_000, "what is wrong, and why it matters"),
                "severity": one_of(&SEVERITIES, "warning if left out"),
                "file": short("where, from the project's root"),
                "line": whole(1, u64::from(u32::MAX), "in that file"),
            }),
            &["message"],
        ),
    ]
}

/// A tool that reads; its answers have a size and can be read on.
fn reads(
    name: &str,
    title: &str,
    description: &str,
    mut fields: Value,
    required: &[&str],
) -> Declared {
    fields["max_tokens"] =
        whole(MIN_ANSWER_TOKENS, MAX_ANSWER_TOKENS, "how long the answer may be, estimated");
    if name != "context" {
        fields["cursor"] = short("from the end of an answer: goes on after it");
    }
    declare(ToolGroup::Graph, name, title, description, fields, required)
}

fn proposes(
    group: ToolGroup,
    name: &str,
    title: &str,
    description: &str,
    fields: Value,
    required: &[&str],
) -> Declared {
    declare(group, name, title, description, fields, required)
}

fn text(description: &str) -> Value {
    bounded(8_000, description)
}

fn short(description: &str) -> Value {
    bounded(1_000, description)
}

fn title() -> Value {
    bounded(200, "one line")
}

fn node() -> Value {
    short("a node's id or part of it, a path, path:line, or a name")
}

fn list(description: &str) -> Value {
    list_of(1_000, description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(groups: &[ToolGroup], expected: &str) {
        let tools = declared_for(&groups.iter().copied().collect());
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names.join(" "), expected, "{groups:?}");
    }

    #[test]
    fn a_group_is_the_tools_that_it_names() {
        let graph = "search explore context read_content code_show callers callees impact \
                     nav_edges query_edges path_between lessons run_show memory dossier";
        check(&[ToolGroup::Graph], graph);
        check(&[ToolGroup::Verdict, ToolGroup::Flags], "submit_verdict flag");
        check(&[ToolGroup::Summary, ToolGroup::Lessons], "propose_summary propose_lesson");
        check(&[ToolGroup::Nodes], "create_node create_edge");
        check(&[ToolGroup::Commands], "run_command");
        check(&[ToolGroup::Read, ToolGroup::Search, ToolGroup::Write, ToolGroup::Shell], "");
    }

    #[test]
    fn every_tool_is_in_a_group_that_the_broker_serves() {
        assert!(declared().iter().all(|tool| tool.group.is_served()));
        let all: ToolGroups = ToolGroup::ALL.into_iter().collect();
        assert_eq!(declared_for(&all), declared());
    }

    #[test]
    fn names_are_words_that_every_client_takes_and_no_two_alike() {
        let all = declared();
        for tool in &all {
            assert!(tool.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
            assert_eq!(all.iter().filter(|other| other.name == tool.name).count(), 1);
            assert_eq!(tool.schema["type"], "object", "{}", tool.name);
            assert_eq!(crate::check_schema(&tool.schema), Ok(()), "{}", tool.name);
        }
    }
}
