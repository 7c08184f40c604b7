//! The pipeline's world: says which module performs each step of a run, and what is kept of it.
//!
//! A step's intent is on record before it is performed, and its result together with all that
//! follows from it. The steps themselves are in [`crate::run::steps`], what they share in
//! [`crate::run::context`].

use spore_model::{Begun, Outcome, Ticket};
use spore_pipeline::{Done, Step, World};

use crate::run::context::{RunContext, interrupted};
use crate::run::steps::coder::Talk;
use crate::{Error, Result, Update};

impl World for RunContext<'_> {
    type Error = Error;

    fn begin(&mut self, step: &Step) -> Result<Begun<Done>> {
        self.steps().begin(&step.key(), step.class(), self.intent(step))
    }

    fn perform(&mut self, step: &Step, ticket: &Ticket) -> Result<Done> {
        if self.project.around.interrupt.is_raised() {
            return Ok(interrupted());
        }
        match step {
            Step::Prepare => self.prepare(),
            Step::Baseline => self.check_baseline(ticket),
            Step::Tester => self.hold_out(step, ticket),
            Step::Coder { bounce, evidence, conversation } => {
                let conversation = conversation.as_deref();
                let talk = Talk { evidence: evidence.as_ref(), conversation };
                self.code(step, ticket, *bounce, talk)
            }
            Step::Snapshot { bounce } => self.snapshot(ticket, *bounce),
            Step::Rebase => self.rebase(ticket),
            Step::Gates { bounce, tree } => self.check(ticket, *bounce, tree),
            Step::Verifier { bounce, tree, attempt } => {
                self.verify(step, ticket, *bounce, tree, *attempt)
            }
            Step::Close { bounce, outcome, reason, .. } => {
                self.progress.update(&Update::Closed {
                    bounce: *bounce,
                    held: *outcome == Outcome::Success,
                    reason: reason.clone(),
                });
                Ok(Done::Closed)
            }
            Step::Commit { bounce, tree } => self.commit(ticket, *bounce, tree),
            Step::Apply { commit, .. } => self.apply(ticket, commit),
            Step::Escalate { bounce, reason } => self.escalate(*bounce, reason),
            Step::Summarize { bounce, conclusion } => {
                self.summarize(step, ticket, *bounce, conclusion)
            }
            Step::Solo { role } => self.play_alone(step, ticket, role),
            Step::Finish { conclusion } => self.close_up(ticket, conclusion),
        }
    }

    fn finish(&mut self, step: &Step, ticket: &Ticket, done: &Done) -> Result<()> {
        self.learn(step, ticket, done)?;
        self.promote(step, ticket, done)?;
        if let Step::Finish { conclusion } = step {
            self.project(ticket, conclusion)?;
        }
        let entry = self.entry(step, ticket, done)?;
        self.steps().finish(&step.key(), ticket, &entry)?;
        for booked in &entry.ledger {
            self.settle(booked);
        }
        Ok(())
    }
}
