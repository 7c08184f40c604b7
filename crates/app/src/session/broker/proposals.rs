//! What a session proposed through its tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use spore_model::{EdgeKind, Finding, NodeId, Ruling, RunId, Verdict, VerdictSource};
use spore_tools::ToolAnswer;

/// Of each kind, in one session. More is a model that has lost its way.
const MOST: usize = 50;

/// Everything that one session proposed. It is data of a stranger, checked for its form alone.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Proposals {
    /// Who proposed it: set by the broker, never by the session.
    pub(crate) by: Option<Stamp>,
    /// What the ones that were handed in come to, and none where none was.
    pub(crate) verdicts: Vec<Verdict>,
    /// How many were handed in.
    pub(crate) verdicts_given: u32,
    pub(crate) summaries: Vec<HandedSummary>,
    pub(crate) lessons: Vec<HandedLesson>,
    pub(crate) flags: Vec<ProposedFlag>,
    pub(crate) nodes: Vec<ProposedNode>,
    pub(crate) edges: Vec<ProposedEdge>,
}

/// The session that a proposal came from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) session: RunId,
    pub(crate) run: RunId,
    pub(crate) role: String,
}

/// A summary as a session handed it in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct HandedSummary {
    pub(crate) title: String,
    pub(crate) content: String,
}

/// A lesson as a session handed it in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct HandedLesson {
    pub(crate) title: String,
    pub(crate) pattern: String,
    pub(crate) fix: String,
    #[serde(default)]
    pub(crate) scope: Vec<String>,
    pub(crate) evidence: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ProposedFlag {
    pub(crate) message: String,
    #[serde(default = "warning")]
    pub(crate) severity: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct ProposedNode {
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) content: String,
    pub(crate) connects_to: Vec<NodeId>,
    pub(crate) edge_type: EdgeKind,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct ProposedEdge {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) edge_type: EdgeKind,
    pub(crate) reason: String,
    pub(crate) confidence: f64,
}

/// One call of a tool that proposes.
pub(super) enum Proposal {
    Verdict(Verdict),
    Summary(HandedSummary),
    Lesson(HandedLesson),
    Flag(ProposedFlag),
    Node(ProposedNode),
    Edge(ProposedEdge),
}

/// Finds the node that a text names, or says why there is none.
type Resolve<'a> = &'a dyn Fn(&str) -> Result<NodeId, String>;

/// Reads a call whose arguments fit the tool's schema.
pub(super) fn read(
    tool: &str,
    arguments: &Value,
    resolve: Resolve<'_>,
) -> Result<Proposal, String> {
    match tool {
        "submit_verdict" => Ok(Proposal::Verdict(verdict(arguments))),
        "propose_summary" => Ok(Proposal::Summary(plain(arguments)?)),
        "propose_lesson" => Ok(Proposal::Lesson(plain(arguments)?)),
        "flag" => Ok(Proposal::Flag(plain(arguments)?)),
        "create_node" => Ok(Proposal::Node(node(arguments, resolve)?)),
        "create_edge" => Ok(Proposal::Edge(edge(arguments, resolve)?)),
        _ => Err(format!("{tool} proposes nothing")),
    }
}

impl Proposals {
    /// Returns whether the session proposed nothing.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { verdicts, summaries, lessons, flags, nodes, edges, .. } = self;
        verdicts.is_empty()
            && summaries.is_empty()
            && lessons.is_empty()
            && flags.is_empty()
            && nodes.is_empty()
            && edges.is_empty()
    }

    /// Returns the last summary and the lessons, in the terms of those who hold them to what
    /// may be kept; nothing where no summary was handed in.
    pub(crate) fn proposed(
        &self,
    ) -> Option<(spore_pipeline::ProposedSummary, Vec<spore_pipeline::ProposedLesson>)> {
        let summary = self.summaries.last()?;
        let summary = spore_pipeline::ProposedSummary {
            title: summary.title.clone(),
            text: summary.content.clone(),
        };
        let lessons = self.lessons.iter().map(|lesson| spore_pipeline::ProposedLesson {
            title: lesson.title.clone(),
            pattern: lesson.pattern.clone(),
            fix: lesson.fix.clone(),
            scope: lesson.scope.clone(),
            evidence: lesson.evidence.clone(),
            replaces: None,
        });
        Some((summary, lessons.collect()))
    }

    /// Keeps a proposal, unless there are too many of its kind.
    pub(super) fn take(&mut self, proposal: Proposal) -> ToolAnswer {
        let taken = match proposal {
            Proposal::Verdict(verdict) => {
                self.verdicts_given = self.verdicts_given.saturating_add(1);
                return self.take_verdict(verdict);
            }
            Proposal::Summary(summary) => push(&mut self.summaries, summary),
            Proposal::Lesson(lesson) => push(&mut self.lessons, lesson),
            Proposal::Flag(flag) => push(&mut self.flags, flag),
            Proposal::Node(node) => push(&mut self.nodes, node),
            Proposal::Edge(edge) => push(&mut self.edges, edge),
        };
        match taken {
            true => ToolAnswer::ok("Taken as a proposal."),
            false => ToolAnswer::error(format!("not taken: there are {MOST} of these already")),
        }
    }
}

impl Proposals {
    /// Keeps a verdict. Another one than before is no correction: whatever asked for the second
    /// may have been the change, so the two together are a contradiction.
    fn take_verdict(&mut self, verdict: Verdict) -> ToolAnswer {
        let before = self.verdicts.pop();
        let differs = before.as_ref().is_some_and(|before| before.ruling != verdict.ruling);
        let answer = match (&before, differs) {
            (None, _) => "Taken. Your work is done: end here.",
            (Some(_), false) => "Taken, in place of your verdict before.",
            (Some(_), true) => {
                "Taken. It differs from your verdict before: the two count as a contradiction."
            }
        };
        let kept = match before.filter(|_| differs) {
            None => verdict,
            Some(before) => Verdict {
                ruling: Ruling::Contradicts,
                reason: format!(
                    "two different verdicts were handed in; the first: {}; the second: {}",
                    before.reason, verdict.reason
                ),
                findings: [before.findings, verdict.findings].concat(),
                ..verdict
            },
        };
        self.verdicts.push(kept);
        ToolAnswer::ok(answer)
    }
}

fn push<T>(list: &mut Vec<T>, item: T) -> bool {
    let fits = list.len() < MOST;
    if fits {
        list.push(item);
    }
    fits
}

fn warning() -> String {
    "warning".to_owned()
}

/// The schema has made sure of everything; what still does not fit is told.
fn plain<T: serde::de::DeserializeOwned>(arguments: &Value) -> Result<T, String> {
    serde_json::from_value(arguments.clone()).map_err(|error| format!("not taken: {error}"))
}

fn verdict(arguments: &Value) -> Verdict {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let findings: Option<Vec<Finding>> = arguments
        .get("findings")
        .and_then(|findings| serde_json::from_value(findings.clone()).ok());
    Verdict {
        ruling: match text("verdict") {
            "supports" => Ruling::Supports,
            "contradicts" => Ruling::Contradicts,
            _ => Ruling::Unknown,
        },
        reason: text("reason").to_owned(),
        confidence: arguments.get("confidence").and_then(Value::as_f64).unwrap_or(0.0),
        source: VerdictSource::Tool,
        findings: findings.unwrap_or_default(),
    }
}

fn node(arguments: &Value, resolve: Resolve<'_>) -> Result<ProposedNode, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let connects_to = arguments.get("connects_to").and_then(Value::as_array);
    let connects_to = connects_to.into_iter().flatten().filter_map(Value::as_str).map(resolve);
    Ok(ProposedNode {
        kind: text("kind").unwrap_or_default().to_owned(),
        title: text("title").unwrap_or_default().to_owned(),
        content: text("content").unwrap_or_default().to_owned(),
        connects_to: connects_to.collect::<Result<_, _>>()?,
        edge_type: text("edge_type").map_or(Ok(EdgeKind::Related), edge_type)?,
    })
}

fn edge(arguments: &Value, resolve: Resolve<'_>) -> Result<ProposedEdge, String> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let (from, to) = (resolve(text("from"))?, resolve(text("to"))?);
    if from == to {
        return Err("not taken: both ends are the same node".to_owned());
    }
    Ok(ProposedEdge {
        from,
        to,
        edge_type: edge_type(text("edge_type"))?,
        reason: text("reason").to_owned(),
        confidence: arguments.get("confidence").and_then(Value::as_f64).unwrap_or(1.0),
    })
}

fn edge_type(typed: &str) -> Result<EdgeKind, String> {
    crate::graph::edge_kind(typed).map_err(|error| {
        let hint = error.hint_text().unwrap_or_default();
        format!("not taken: {error}; {hint}")
    })
}
