//! The step of a tester: tests that are written before the coder begins, and kept from it.
//!
//! Its session sees the task and the base, in a checkout and a home of its own that are thrown away.
//! What it leaves must be new test files and nothing else. They are kept as a commit in Spore's own
//! repository, which no session can read, and in no prompt, no answer of a tool and no line about a
//! check. Whatever goes wrong here leaves the run without them and is said.

use spore_context::task_file::{Before, RoleTurn};
use spore_git::Checkout;
use spore_model::{Outcome, ProofLevel, Ticket};
use spore_pipeline::{Done, SessionSummary, Step, WrittenTests};

use crate::base::checkouts::Snapshot;
use crate::base::run_refs;
use crate::base::secrets::secrets_in;
use crate::checks::review::{Review, ReviewSettings};
use crate::run::context::RunContext;
use crate::run::sessions::StepSession;
use crate::session::agent_choice::TESTER;
use crate::{Result, Update};

impl RunContext<'_> {
    pub(crate) fn hold_out(&mut self, step: &Step, ticket: &Ticket) -> Result<Done> {
        if self.run.settings.is_merge() {
            return self.handed_down_tests();
        }
        if let Some(stop) = self.out_of_budget() {
            return Ok(stop);
        }
        let checkout = self.checkouts().tester()?;
        let base = self.run.settings.base.clone();
        let findings = self.findings(TESTER, &base, &[]);
        let (turn, before) = (RoleTurn::Beforehand, Before::Nothing);
        let (mut prompt, brief) = self.task_file(ticket, TESTER, turn, before, findings)?;
        if let Some(specified) = &self.run.settings.specified {
            prompt.push_str(&format!("\n{specified}"));
        }
        let asked = StepSession {
            role: TESTER,
            bounce: 0,
            prompt,
            conversation: None,
            fresh: None,
            keeps_home: false,
            dir: checkout.dir().to_owned(),
            at: base,
            files: self.files().role(TESTER),
            brief,
            commands: None,
        };
        let (session, tests) = match self.run_session(step, ticket, asked) {
            Ok((session, _)) => {
                let tests = self.written_tests(ticket, &checkout, &session)?;
                (Some(session), tests)
            }
            Err(error) => (None, none_because(&error.to_string())),
        };
        self.checkouts().discard_tester()?;
        if let Some(session) = &session {
            self.book_waiting_tester(session, &tests)?;
        }
        if session.as_ref().is_some_and(|session| session.outcome == Outcome::Interrupted) {
            return Ok(Done::Tester { session, tests });
        }
        let note = match &tests.failure {
            Some(why) => format!("no held-out tests: {why}"),
            None => {
                let count = u32::try_from(tests.files.len()).unwrap_or(u32::MAX);
                format!("held-out tests are kept in {}", crate::counted(count, "file"))
            }
        };
        self.progress.update(&Update::GateEnded { line: note });
        Ok(Done::Tester { session, tests })
    }

    /// Books a session whose step will be done again, for which the machine parks the run.
    fn book_waiting_tester(
        &mut self,
        session: &SessionSummary,
        tests: &WrittenTests,
    ) -> Result<()> {
        let waits = [Outcome::Interrupted, Outcome::QuotaParked, Outcome::NeedsHuman];
        let is_required = self.run.settings.require >= ProofLevel::HeldOut;
        let is_missed = is_required && tests.failure.is_some();
        match waits.contains(&session.outcome)
            || (is_missed && session.outcome != Outcome::DepthExceeded)
        {
            true => self.book_stopped(TESTER, session),
            false => Ok(()),
        }
    }

    /// Takes what a tester left, if it can be used.
    fn written_tests(
        &mut self,
        ticket: &Ticket,
        checkout: &Checkout,
        session: &SessionSummary,
    ) -> Result<WrittenTests> {
        if session.outcome != Outcome::Success {
            let reason = session.reason.as_deref().unwrap_or("no reason given");
            return Ok(none_because(&format!("the tester's session did not end well: {reason}")));
        }
        let tree = match self.checkouts().snapshot(checkout)? {
            Snapshot::Taken(tree) => tree,
            Snapshot::Refused(why) => return Ok(none_because(&why)),
        };
        let repository = self.project.repository;
        let base_tree = repository.tree_of(&self.run.settings.base)?;
        let baseline =
            self.with_gates(|gates, _| gates.cached_baseline(&base_tree))?.unwrap_or_default();
        let settings = &self.run.settings;
        let known = self.project.around.secrets();
        let allow = &self.project.config.commit.allow_secrets;
        if !secrets_in(repository, &settings.base, &tree, &known, allow)?.is_empty() {
            return Ok(none_because("they hold what looks like a secret"));
        }
        let message = format!("held-out tests of run {}", self.run.id);
        let commit = self.commit_tree(&tree, &message, ticket)?;
        // What a person lets the change do is not for its tests to do.
        let strict = ReviewSettings { allow_test_changes: false, ..settings.review() };
        let review = Review::of(repository, strict, &baseline, &commit, &tree)?;
        if let Some(one) = review.tampering.first() {
            let path = spore_plain::code(&one.path, 200);
            return Ok(none_because(&format!(
                "the tester touched {path}, which is no new test file"
            )));
        }
        match spore_proof::held_out_files(&review.sorted) {
            Ok(files) => {
                self.set_ref(&run_refs::held_out(self.run.id), &commit)?;
                Ok(WrittenTests { commit: Some(commit), files, failure: None })
            }
            Err(why) => Ok(none_because(&why)),
        }
    }
}

fn none_because(why: &str) -> WrittenTests {
    WrittenTests { failure: Some(why.to_owned()), ..WrittenTests::default() }
}
