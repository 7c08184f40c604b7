//! What is written down when a step is over: in one transaction with its result, the rows it
//! changed, the money it cost and the events it is told by.

use serde_json::{Value, json};
use spore_git::FileChange;
use spore_model::{
    ContextUse, Outcome, RunId, RunKind, RunState, SourceKind, StepKey, Ticket, TreeId, Verdict,
};
use spore_pipeline::{Conclusion, Done, GateSummary, SessionSummary, Step};
use spore_store::{RunChange, StepEntry};

use crate::Result;
use crate::base::error::bug;
use crate::base::totals;
use crate::checks::words;
use crate::knowledge::carried::Carried;
use crate::run::context::RunContext;
use crate::run::landing::apply::applied_of;
use crate::session::agent_choice::TESTER;

impl RunContext<'_> {
    /// Returns all that is to be recorded with the result of `step`.
    pub(crate) fn entry(&self, step: &Step, ticket: &Ticket, done: &Done) -> Result<StepEntry> {
        let mut entry = self.steps().entry(done)?;
        match (step, done) {
            (Step::Coder { .. }, Done::Coder(session)) => {
                self.enter_session(&mut entry, "coder", session)
            }
            (Step::Tester, Done::Tester { session: Some(session), .. }) => {
                self.enter_session(&mut entry, TESTER, session);
            }
            (Step::Verifier { .. }, Done::Verifier { session, .. }) => {
                self.enter_session(&mut entry, "verifier", session);
            }
            (_, Done::Baseline(gates) | Done::Gates(gates)) => {
                self.enter_gates(&mut entry, ticket.planned("gates").map_err(bug)?, gates);
            }
            (Step::Solo { role }, Done::Solo(session)) => {
                self.enter_session(&mut entry, role, session);
            }
            (Step::Summarize { .. }, Done::Summarized { session, note }) => {
                if let Some(session) = session {
                    self.enter_session(&mut entry, "summarizer", session);
                }
                let payload = json!({ "note": note });
                entry.events.push(self.event(
                    SourceKind::Runner,
                    "run.summarized",
                    self.run.id,
                    payload,
                ));
            }
            (
                Step::Snapshot { bounce },
                Done::Snapshot { tree, changed_files, secrets, refused, left_out },
            ) => {
                let run = match &self.run.settings.solo {
                    Some(_) => self.run.id,
                    None => self.existing_bounce(*bounce)?,
                };
                let settings = match &self.run.settings.solo {
                    Some(_) => None,
                    None => self.context_use(*bounce, tree),
                };
                let tree_hash = Some(tree.clone());
                entry.runs.push((run, RunChange { tree_hash, settings, ..RunChange::default() }));
                let mut payload =
                    json!({ "tree": tree, "files": changed_files, "secrets": secrets.len() });
                if let Some(refused) = refused {
                    payload["refused"] = json!(refused);
                }
                if !left_out.is_empty() {
                    payload["left_out"] = json!(left_out);
                }
                entry.events.push(self.event(SourceKind::Runner, "snapshot.taken", run, payload));
            }
            (Step::Rebase, Done::Rebased { tree, entries, overlap }) => {
                let run = self.existing_bounce(1)?;
                let change = RunChange { tree_hash: Some(tree.clone()), ..RunChange::default() };
                entry.runs.push((run, change));
                let payload = json!({ "tree": tree, "entries": entries, "overlap": overlap });
                entry.events.push(self.event(SourceKind::Git, "work.rebased", run, payload));
            }
            (Step::Close { bounce, outcome, verdict, reason }, _) => {
                self.enter_bounce(&mut entry, *bounce, *outcome, verdict.as_ref(), reason)?;
            }
            (Step::Commit { tree, .. }, Done::Committed { commit }) => {
                let change = RunChange { tree_hash: Some(tree.clone()), ..RunChange::default() };
                entry.runs.push((self.run.id, change));
                let payload = json!({ "commit": commit, "tree": tree });
                entry.events.push(self.event(
                    SourceKind::Git,
                    "commit.created",
                    self.run.id,
                    payload,
                ));
            }
            (Step::Apply { .. }, Done::Applied { record }) => {
                let payload = record.clone();
                entry.events.push(self.event(
                    SourceKind::Git,
                    "commit.applied",
                    self.run.id,
                    payload,
                ));
            }
            (Step::Escalate { reason, .. }, _) => {
                let payload = json!({ "reason": reason });
                entry.events.push(self.event(
                    SourceKind::Runner,
                    "run.escalated",
                    self.run.id,
                    payload,
                ));
            }
            (Step::Finish { conclusion }, _) => self.enter_conclusion(&mut entry, conclusion)?,
            _ => {}
        }
        Ok(entry)
    }

    fn enter_session(&self, entry: &mut StepEntry, role: &str, session: &SessionSummary) {
        self.booking(role, session).enter(&self.events(), entry);
    }

    /// Returns what the coder's task file was worth: which of the files that it changed were named
    /// there. It decides nothing, so that a record which cannot be made is left out.
    fn context_use(&self, bounce: u32, tree: &TreeId) -> Option<Value> {
        let carried = spore_effects::files::read(self.files().coder(bounce).carried()).ok();
        let carried = carried.and_then(|text| serde_json::from_slice::<Carried>(&text).ok());
        let diff = self.project.repository.diff(&self.run.settings.base, tree, 0).ok()?;
        let was_there = diff.files.into_iter().filter_map(|file| match file.status {
            FileChange::Added => None,
            FileChange::Renamed { from, .. } => Some(from),
            _ => Some(file.path),
        });
        let used = ContextUse::of(&carried.unwrap_or_default().files, was_there);
        serde_json::to_value(used).ok()
    }

    fn enter_gates(&self, entry: &mut StepEntry, run: RunId, gates: &GateSummary) {
        let outcome = if gates.green { Outcome::Success } else { Outcome::Failure };
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(outcome),
            reason: Some(gates.lines.join("\n")),
            ended: Some(entry.now),
            ..RunChange::default()
        };
        entry.runs.push((run, change));
        let payload = words::payload(&self.gate_results);
        entry.events.push(self.event(SourceKind::Check, "gates.finished", run, payload));
    }

    fn enter_bounce(
        &self,
        entry: &mut StepEntry,
        bounce: u32,
        outcome: Outcome,
        verdict: Option<&Verdict>,
        reason: &str,
    ) -> Result<()> {
        let run = self.existing_bounce(bounce)?;
        let sessions = self.project.journal.children(run)?;
        let change = RunChange {
            ended: Some(entry.now),
            ..totals::with_started(self.project.journal, &sessions)?
        };
        entry.runs.push((
            run,
            RunChange {
                state: Some(RunState::Ended),
                outcome: Some(outcome),
                reason: Some(reason.to_owned()),
                ..change
            },
        ));
        let (kind, what) = match verdict {
            Some(_) => (SourceKind::Verifier, "verdict.given"),
            None => (SourceKind::Runner, "bounce.closed"),
        };
        let payload =
            json!({ "bounce": bounce, "outcome": outcome, "reason": reason, "verdict": verdict });
        entry.events.push(self.event(kind, what, run, payload));
        Ok(())
    }

    fn enter_conclusion(&self, entry: &mut StepEntry, conclusion: &Conclusion) -> Result<()> {
        let ledger = self.project.bills(self.run.id)?;
        let applied = self.steps().result::<Done>(&StepKey::apply())?.map(applied_of);
        let reason = match applied.transpose()? {
            Some(applied) => applied.added_to(&conclusion.reason),
            None => conclusion.reason.clone(),
        };
        entry.runs.push((
            self.run.id,
            RunChange {
                state: Some(RunState::Ended),
                outcome: Some(conclusion.outcome),
                reason: Some(reason),
                ended: Some(entry.now),
                ..totals::of_ledger(ledger.iter())
            },
        ));
        // A coder that failed and changed nothing ends the run without a verdict on its bounce.
        let children = self.project.journal.children(self.run.id)?;
        for bounce in children.iter().filter(|run| run.kind == RunKind::Bounce && run.is_open()) {
            let change = RunChange {
                state: Some(RunState::Ended),
                outcome: Some(conclusion.outcome),
                reason: Some(conclusion.reason.clone()),
                ended: Some(entry.now),
                ..totals::with_started(
                    self.project.journal,
                    &self.project.journal.children(bounce.id)?,
                )?
            };
            entry.runs.push((bounce.id, change));
        }
        let payload = json!({ "outcome": conclusion.outcome, "reason": conclusion.reason });
        entry.events.push(self.event(SourceKind::Runner, "run.finished", self.run.id, payload));
        Ok(())
    }
}
