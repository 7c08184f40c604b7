//! What a run leaves in the knowledge graph: its task, each implementation, what the verifier
//! said of it, and the escalation if there was one.
//!
//! Everything is keyed by the run and the step, and written before the step's result is on
//! record: a step that is done again after a crash finds its nodes there and adds nothing.
//! The run's rows stay the truth about the run; this is what later work is connected to.

use std::fmt::Write;

use serde_json::json;
use spore_git::{ChangedFile, Diff};
use spore_model::{
    CommitId, Edge, EdgeKind, Node, NodeClass, NodeId, Outcome, Ruling, StepKey, Ticket, TreeId,
    Verdict,
};
use spore_pipeline::{Done, SessionSummary, Step};
use spore_store::KnowledgeError;

use crate::Result;
use crate::base::title::title;
use crate::knowledge::line_counts::line_counts;
use crate::knowledge::run_keys::Keys;
use crate::run::context::RunContext;

const ORCHESTRATOR: &str = "spore:orchestrator";
const CODER: &str = "spore:coder";
const VERIFIER: &str = "spore:verifier";

/// How sure it is that an implementation is of the task, by how the coder's session ended.
const WHOLE: f64 = 0.9;
const PARTIAL: f64 = 0.5;

/// How sure it is that an implementation is about the code it touched.
const TOUCHED: f64 = 0.85;

/// How much of what an agent said at the end is kept; its transcript has the rest.
const SUMMARY_CAP: usize = 16 * 1024;
const LISTED_FILES: usize = 200;

impl RunContext<'_> {
    /// Writes down what is known now that `step` is done.
    pub(crate) fn learn(&self, step: &Step, ticket: &Ticket, done: &Done) -> Result<()> {
        // What a merge says of work is said of work that is known.
        if self.run.settings.is_merge() {
            return Ok(());
        }
        let keys = || self.keys(ticket);
        match (step, done) {
            (Step::Prepare, Done::Prepared { .. }) => self.learn_task(&keys()?),
            (Step::Snapshot { bounce }, Done::Snapshot { tree, changed_files: 1.., .. })
                if self.run.settings.solo.is_none() =>
            {
                self.learn_implementation(&keys()?, *bounce, tree)
            }
            (Step::Close { bounce, verdict, .. }, Done::Closed) => {
                let keys = keys()?;
                self.learn_touched(&keys, *bounce)?;
                verdict.as_ref().map_or(Ok(()), |one| self.learn_verdict(&keys, *bounce, one))
            }
            (Step::Escalate { bounce, reason }, Done::Escalated) => {
                self.learn_escalation(&keys()?, *bounce, reason)
            }
            _ => Ok(()),
        }
    }

    fn learn_task(&self, keys: &Keys) -> Result<()> {
        let task = Node {
            content: self.run.settings.task.clone(),
            agent: Some(ORCHESTRATOR.to_owned()),
            metadata: json!({ "base": self.run.settings.base, "backend": self.run.settings.backend }),
            ..self.new_node(keys, keys.task(), "task", self.title())
        };
        let before = self.tried_before(keys)?;
        self.keep(&[Node { parent: None, ..task }], before.as_slice())
    }

    /// Joins the task of a run that tries again to that of the run before.
    fn tried_before(&self, keys: &Keys) -> Result<Option<Edge>> {
        let Some(run) = self.run.settings.retry_of else { return Ok(None) };
        let Some(before) = self.project.journal.run(run)? else { return Ok(None) };
        let task = Keys::new(run, before.started, keys.at()).task();
        if self.knowledge.node(&task)?.is_none() {
            return Ok(None);
        }
        let edge = self.new_edge(keys, &["retry"], &keys.task(), &task, EdgeKind::DerivesFrom);
        Ok(Some(Edge {
            confidence: Some(1.0),
            agent: Some(ORCHESTRATOR.to_owned()),
            reason: Some("the same task, tried again".to_owned()),
            ..edge
        }))
    }

    fn learn_implementation(&self, keys: &Keys, bounce: u32, tree: &TreeId) -> Result<()> {
        let session = match self.steps().result(&StepKey::coder(bounce))? {
            Some(Done::Coder(session)) => Some(session),
            _ => None,
        };
        let whole = session.as_ref().is_some_and(|session| session.outcome == Outcome::Success);
        let (prefix, confidence) =
            if whole { ("Implemented", WHOLE) } else { ("Partial", PARTIAL) };
        let diff = self.project.repository.diff(&self.run.settings.base, tree, 0)?;
        let id = keys.implementation(bounce);
        let node = Node {
            content: account(&diff, session.as_ref()),
            agent: Some(CODER.to_owned()),
            metadata: figures(bounce, tree, &diff, session.as_ref()),
            ..self.new_node(
                keys,
                id.clone(),
                "implementation",
                format!("{prefix}: {} (bounce {bounce})", self.title()),
            )
        };
        let edge = Edge {
            confidence: Some(confidence),
            agent: Some(ORCHESTRATOR.to_owned()),
            ..self.new_edge(
                keys,
                &["derives", &bounce.to_string()],
                &id,
                &keys.task(),
                EdgeKind::DerivesFrom,
            )
        };
        self.keep(&[node], &[edge])
    }

    /// Connects an implementation with the code it touched, whether a verifier judged it or a
    /// check was red. Where the base is not indexed nothing is indexed for this.
    fn learn_touched(&self, keys: &Keys, bounce: u32) -> Result<()> {
        let implementation = keys.implementation(bounce);
        if self.knowledge.node(&implementation)?.is_none() {
            return Ok(());
        }
        let found = self.bounce_commit(bounce).and_then(|commit| {
            let paths = self.paths_of(&commit)?;
            Ok(self.briefing().touched(&self.run.settings.base, &commit, &paths))
        });
        // The verdict is what counts here: without these edges the graph only says less.
        let touched = found.unwrap_or_default();
        let number = bounce.to_string();
        let edges: Vec<Edge> = touched
            .iter()
            .map(|code| Edge {
                confidence: Some(TOUCHED),
                agent: Some(ORCHESTRATOR.to_owned()),
                ..self.new_edge(
                    keys,
                    &["related", &number, code.as_str()],
                    &implementation,
                    code,
                    EdgeKind::Related,
                )
            })
            .collect();
        if edges.is_empty() { Ok(()) } else { self.keep(&[], &edges) }
    }

    fn paths_of(&self, commit: &CommitId) -> Result<Vec<String>> {
        let base = self.project.repository.tree_of(&self.run.settings.base)?;
        let diff =
            self.project.repository.diff(&base, &self.project.repository.tree_of(commit)?, 0)?;
        Ok(diff.files.into_iter().map(|file| file.path).collect())
    }

    fn learn_verdict(&self, keys: &Keys, bounce: u32, verdict: &Verdict) -> Result<()> {
        // What counts is what the verdict is worth, not what it says it is.
        let (prefix, kind) = match verdict.weigh(self.run.settings.min_confidence) {
            Ruling::Supports => ("Verified", EdgeKind::Supports),
            Ruling::Contradicts => ("Verification failed", EdgeKind::Contradicts),
            Ruling::Unknown => ("Verification unclear", EdgeKind::Questions),
        };
        let confidence = Some(verdict.confidence.clamp(0.0, 1.0)).filter(|number| !number.is_nan());
        let id = keys.verdict(bounce);
        let node = Node {
            content: findings(verdict),
            agent: Some(VERIFIER.to_owned()),
            confidence,
            metadata: json!({ "bounce": bounce, "ruling": verdict.ruling, "source": verdict.source }),
            ..self.new_node(
                keys,
                id.clone(),
                "verdict",
                format!("{prefix}: {} (bounce {bounce})", self.title()),
            )
        };
        let edge = Edge {
            confidence,
            agent: Some(VERIFIER.to_owned()),
            reason: Some(verdict.reason.clone()),
            metadata: json!({ "bounce": bounce }),
            ..self.new_edge(
                keys,
                &["rules", &bounce.to_string()],
                &id,
                &keys.implementation(bounce),
                kind,
            )
        };
        self.keep(&[node], std::slice::from_ref(&edge))?;
        if kind == EdgeKind::Supports {
            self.settle_contradictions(keys, bounce, &edge)
        } else {
            Ok(())
        }
    }

    /// Puts the verdict that holds in the place of those that earlier bounces got.
    fn settle_contradictions(&self, keys: &Keys, bounce: u32, supports: &Edge) -> Result<()> {
        for earlier in 1..bounce {
            let id = keys.edge(&["rules", &earlier.to_string()]);
            let Some(old) = self.knowledge.edge(id)? else { continue };
            if old.kind != EdgeKind::Contradicts || old.superseded_by.is_some() {
                continue;
            }
            match self.knowledge.supersede_edge(id, supports) {
                // A person corrected it by hand in the meantime: that stands.
                Err(KnowledgeError::Superseded { .. }) => {}
                settled => settled?,
            }
        }
        Ok(())
    }

    fn learn_escalation(&self, keys: &Keys, bounce: u32, reason: &str) -> Result<()> {
        let id = keys.node(&["escalation"]);
        let after = crate::counted(bounce, "bounce");
        let node = Node {
            class: NodeClass::Meta,
            content: reason.to_owned(),
            agent: Some(ORCHESTRATOR.to_owned()),
            metadata: json!({ "bounces": bounce }),
            ..self.new_node(
                keys,
                id.clone(),
                "escalation",
                format!("Escalation: {} (after {after})", self.title()),
            )
        };
        let mut edges = vec![self.new_edge(keys, &["tracks"], &id, &keys.task(), EdgeKind::Tracks)];
        for earlier in (1..=bounce).rev() {
            let implementation = keys.implementation(earlier);
            if self.knowledge.node(&implementation)?.is_some() {
                edges.push(self.new_edge(keys, &["flags"], &id, &implementation, EdgeKind::Flags));
                break;
            }
        }
        for edge in &mut edges {
            edge.agent = Some(ORCHESTRATOR.to_owned());
            edge.confidence = Some(1.0);
        }
        self.keep(&[node], &edges)
    }

    fn keep(&self, nodes: &[Node], edges: &[Edge]) -> Result<()> {
        self.knowledge.add(nodes, edges)?;
        Ok(())
    }

    fn title(&self) -> String {
        title(&self.run.settings.task)
    }

    /// A node of this run, in the region of its task.
    fn new_node(&self, keys: &Keys, id: NodeId, kind: &str, title: String) -> Node {
        Node {
            run: Some(self.run.id),
            parent: Some(keys.task()),
            ..Node::new(id, NodeClass::Operational, kind, title, keys.at())
        }
    }

    fn new_edge(
        &self,
        keys: &Keys,
        words: &[&str],
        source: &NodeId,
        target: &NodeId,
        kind: EdgeKind,
    ) -> Edge {
        let id = keys.edge(words);
        Edge {
            run: Some(self.run.id),
            ..Edge::new(id, source.clone(), target.clone(), kind, keys.at())
        }
    }
}

/// What was changed, and what the coder said of it.
fn account(diff: &Diff, session: Option<&SessionSummary>) -> String {
    let mut text = String::from("## Files changed\n\n");
    for file in diff.files.iter().take(LISTED_FILES) {
        let _ = writeln!(text, "- {}{}", file.path, line_counts(file));
    }
    if let Some(more) = diff.files.len().checked_sub(LISTED_FILES).filter(|more| *more > 0) {
        let _ = writeln!(text, "- … and {more} more");
    }
    if let Some(session) = session {
        if let Some(reason) = &session.reason {
            let _ = write!(text, "\n## Session\n\n{reason}\n");
        }
        let _ = write!(text, "\n## Summary\n\n{}\n", capped(session.final_text.trim()));
    }
    text
}

fn figures(
    bounce: u32,
    tree: &TreeId,
    diff: &Diff,
    session: Option<&SessionSummary>,
) -> serde_json::Value {
    let sum = |of: fn(&ChangedFile) -> Option<u32>| -> u64 {
        diff.files.iter().filter_map(of).map(u64::from).sum()
    };
    json!({
        "bounce": bounce,
        "tree": tree,
        "files": diff.files.len(),
        "lines_added": sum(|file| file.added),
        "lines_removed": sum(|file| file.removed),
        "outcome": session.map(|session| session.outcome),
        "turns": session.map(|session| session.turns),
        "usage": session.map(|session| session.usage),
        "cost": session.map(|session| session.cost),
        "duration_ms": session.map(|session| session.duration_ms),
        "exit_code": session.and_then(|session| session.exit_code),
    })
}

fn findings(verdict: &Verdict) -> String {
    let mut text = verdict.reason.clone();
    for finding in &verdict.findings {
        let _ = write!(text, "\n- {finding}");
    }
    text
}

fn capped(text: &str) -> String {
    const MARK: &str = "\n… cut; the transcript has the rest";
    spore_plain::cut_with(text, SUMMARY_CAP, MARK).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_summary_is_cut_between_characters_and_says_so() {
        assert_eq!(capped("done"), "done");
        let long = capped(&"ä".repeat(SUMMARY_CAP));
        assert!(long.len() <= SUMMARY_CAP && long.ends_with("the transcript has the rest"));
    }
}
