//! What sessions proposed to the graph, and what a finished run leaves there of itself.
//!
//! A session's proposals lie beside its transcript with its stamp. They are taken up together
//! with the result of the step they belong to: a session that was lost has proposed nothing,
//! and one that counts has proposed once, because ids follow from the run, the step and the
//! order of the proposals. Verdicts, summaries and lessons have doors of their own.

use serde_json::{Value, json};
use spore_model::{Cost, Edge, EdgeKind, LedgerEntry, Node, NodeClass, NodeId, Outcome, Ticket};
use spore_pipeline::{Conclusion, Done, SessionSummary, Step};

use crate::Result;
use crate::base::run_files::SessionFiles;
use crate::knowledge::run_keys::Keys;
use crate::run::context::RunContext;
use crate::session::broker::Proposals;

impl RunContext<'_> {
    /// Takes up what the session of `step` proposed.
    pub(crate) fn promote(&self, step: &Step, ticket: &Ticket, done: &Done) -> Result<()> {
        let (files, session) = match (step, done) {
            (Step::Verifier { bounce, attempt, .. }, Done::Verifier { session, .. }) => {
                (self.files().verifier(*bounce, *attempt), session)
            }
            (Step::Summarize { .. }, Done::Summarized { session: Some(session), .. }) => {
                (self.files().role("summarizer"), session)
            }
            (Step::Solo { role }, Done::Solo(session)) => (self.files().role(role), session),
            _ => return Ok(()),
        };
        let Some(proposals) = proposals_of(&files, session) else { return Ok(()) };
        let keys = self.keys(ticket)?;
        let about = self.subject(&keys, step.bounce())?;
        let step = step.key().to_string();
        let taken = Promotion { world: self, keys: &keys, step: &step, proposals: &proposals };
        let (nodes, edges) = taken.decide(about);
        if nodes.is_empty() && edges.is_empty() {
            return Ok(());
        }
        self.knowledge.add(&nodes, &edges)?;
        Ok(())
    }

    /// What a flag is about: the implementation it looked at, else the task; nothing where the
    /// run has no task in the graph.
    fn subject(&self, keys: &Keys, bounce: u32) -> Result<Option<NodeId>> {
        for id in [keys.implementation(bounce), keys.task()] {
            if self.knowledge.node(&id)?.is_some() {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Leaves the run in the graph, so that questions about runs can be asked there. The run's
    /// rows stay the truth; this is a copy of what they say at the end.
    pub(crate) fn project(&self, ticket: &Ticket, conclusion: &Conclusion) -> Result<()> {
        let keys = self.keys(ticket)?;
        let task = keys.task();
        if self.knowledge.node(&task)?.is_none() {
            return Ok(());
        }
        let ledger = self.project.journal.ledger(self.run.id)?;
        let edge = Edge {
            run: Some(self.run.id),
            agent: Some("spore:orchestrator".to_owned()),
            confidence: Some(1.0),
            reason: Some(conclusion.reason.clone()),
            metadata: self.account(&keys, conclusion, &ledger)?,
            ..Edge::new(keys.edge(&["run"]), task.clone(), task, EdgeKind::Tracks, keys.at())
        };
        self.knowledge.add(&[], std::slice::from_ref(&edge))?;
        Ok(())
    }

    /// Returns what the edge of a run says of it: status, agent, figures and label of the whole and
    /// of each of its sessions, under the same names.
    fn account(
        &self,
        keys: &Keys,
        conclusion: &Conclusion,
        ledger: &[LedgerEntry],
    ) -> Result<Value> {
        let run = self.project.journal.run(self.run.id)?;
        let took = run.map(|run| keys.at().since(run.started).as_millis());
        let cost: Cost = ledger.iter().map(|entry| entry.cost).sum();
        let status = match conclusion.outcome {
            Outcome::Success => "completed",
            _ => "failed",
        };
        let experiment = &self.run.settings.experiment;
        let session = |entry: &LedgerEntry| {
            json!({
                "run_id": entry.session,
                "status": match (entry.failure, entry.interrupted) {
                    (Some(failure), _) => failure.as_str(),
                    (None, true) => "interrupted",
                    (None, false) => "completed",
                },
                "agent": format!("spore:{}", entry.role),
                "backend": entry.backend,
                "model": entry.model,
                "num_turns": entry.turns,
                "duration_ms": entry.duration_ms,
                "cost_usd": entry.cost.usd,
                "cost_estimated": entry.cost.estimated,
                "experiment": experiment,
            })
        };
        let choice = self.run.settings.choice("coder");
        let used = ledger.iter().rfind(|entry| entry.role == "coder");
        Ok(json!({
            "run_id": self.run.id,
            "status": status,
            "outcome": conclusion.outcome,
            "exit_code": conclusion.outcome.exit_code(),
            "agent": "spore:orchestrator",
            "backend": choice.backend,
            "model": used.and_then(|entry| entry.model.clone()).or(choice.model),
            "num_turns": ledger.iter().map(|entry| u64::from(entry.turns)).sum::<u64>(),
            "duration_ms": took.and_then(|took| u64::try_from(took).ok()),
            "cost_usd": cost.usd,
            "cost_estimated": cost.estimated,
            "commit": conclusion.commit,
            "tree": conclusion.tree,
            "experiment": experiment,
            "retry_of": self.run.settings.retry_of,
            "sessions": ledger.iter().map(session).collect::<Vec<_>>(),
        }))
    }
}

/// Returns what is on record as proposed by this very session.
fn proposals_of(files: &SessionFiles, session: &SessionSummary) -> Option<Proposals> {
    let text = spore_effects::files::read(files.proposals()).ok()?;
    let proposals: Proposals = serde_json::from_slice(&text).ok()?;
    let is_its_own = proposals.by.as_ref().is_some_and(|by| by.session == session.run);
    is_its_own.then_some(proposals)
}

/// Turns proposals into nodes and edges of the run's own.
struct Promotion<'a, 'w> {
    world: &'a RunContext<'w>,
    keys: &'a Keys,
    step: &'a str,
    proposals: &'a Proposals,
}

impl Promotion<'_, '_> {
    fn decide(&self, about: Option<NodeId>) -> (Vec<Node>, Vec<Edge>) {
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for (number, flag) in self.proposals.flags.iter().enumerate() {
            let id = self.node_id("flag", number);
            let title = crate::base::title::title(&flag.message);
            nodes.push(Node {
                content: flag.message.clone(),
                metadata: json!({ "severity": flag.severity, "file": flag.file, "line": flag.line }),
                ..self.node(id.clone(), "flag", title)
            });
            if let Some(about) = &about {
                edges.push(self.edge("flag", number, &id, about, EdgeKind::Flags));
            }
        }
        for (number, proposed) in self.proposals.nodes.iter().enumerate() {
            let id = self.node_id("node", number);
            let node = self.node(id.clone(), &proposed.kind, proposed.title.clone());
            nodes.push(Node { content: proposed.content.clone(), ..node });
            for (to, target) in proposed.connects_to.iter().enumerate() {
                let name = format!("node {number}");
                edges.push(self.edge(&name, to, &id, target, proposed.edge_type));
            }
        }
        for (number, proposed) in self.proposals.edges.iter().enumerate() {
            let (from, to) = (&proposed.from, &proposed.to);
            edges.push(Edge {
                confidence: Some(proposed.confidence.clamp(0.0, 1.0)).filter(|it| !it.is_nan()),
                reason: Some(proposed.reason.clone()),
                ..self.edge("edge", number, from, to, proposed.edge_type)
            });
        }
        (nodes, edges)
    }

    fn role(&self) -> String {
        let role = self.proposals.by.as_ref().map_or("agent", |by| by.role.as_str());
        format!("spore:{role}")
    }

    fn node_id(&self, what: &str, number: usize) -> NodeId {
        self.keys.node(&["proposed", self.step, what, &number.to_string()])
    }

    fn node(&self, id: NodeId, kind: &str, title: String) -> Node {
        Node {
            run: Some(self.world.run.id),
            parent: Some(self.keys.task()),
            agent: Some(self.role()),
            ..Node::new(id, NodeClass::Meta, kind, title, self.keys.at())
        }
    }

    fn edge(
        &self,
        what: &str,
        number: usize,
        source: &NodeId,
        target: &NodeId,
        kind: EdgeKind,
    ) -> Edge {
        let id = self.keys.edge(&["proposed", self.step, what, &number.to_string()]);
        let edge = Edge::new(id, source.clone(), target.clone(), kind, self.keys.at());
        Edge { run: Some(self.world.run.id), agent: Some(self.role()), ..edge }
    }
}
