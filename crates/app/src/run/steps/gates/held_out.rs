//! Runs the tests that the coder never saw, on the product of a change with the base's own tests.
//!
//! What they say at the base is found out once a run, when the first change is green without them. Of one that
//! rejects the coder is told what its assertion says: no name, no place, no source.

use std::path::Path;

use spore_gates::{GateResult, Parser, TouchedFile};
use spore_git::TreeMixture;
use spore_model::{CommitId, StepKey, Ticket, TreeId};
use spore_pipeline::{Done, GateSummary, WrittenTests};
use spore_proof::{HeldOutReport, HeldOutRuns};

use super::ground::{CheckedChange, Proving};
use super::new_tests::NewTestGates;
use crate::base::error::bug;
use crate::checks::against::Against;
use crate::run::context::RunContext;
use crate::{Result, Update};

/// So many messages are told to a coder.
const TOLD: usize = 10;
/// So many files are asked each by itself, where all together say nothing.
const MOST_ALONE: usize = 8;

/// What the held-out tests say of a change.
pub(super) enum HeldOutAnswer {
    /// There were to be none.
    Off,
    Given(HeldOutReport),
    Interrupted,
}

impl RunContext<'_> {
    /// Runs the held-out tests on the product of a change; `kept` is what the checks say of it without
    /// them.
    pub(super) fn check_held_out(
        &mut self,
        ticket: &Ticket,
        proving: &Proving<'_>,
        place: &CheckedChange<'_>,
        kept: &[GateResult],
    ) -> Result<HeldOutAnswer> {
        if !self.run.settings.hold_out {
            return Ok(HeldOutAnswer::Off);
        }
        let tests = match self.steps().result(&StepKey::tester())? {
            Some(Done::Tester { tests, .. }) => tests,
            _ => WrittenTests::default(),
        };
        let Some(commit) = tests.commit.clone() else {
            let why = tests.failure.as_deref().unwrap_or("there was no tester");
            return Ok(HeldOutAnswer::Given(HeldOutReport::without_tests(why)));
        };
        self.progress.update(&Update::Gates { what: "tests that the coder has not seen".into() });
        let own: Vec<&TouchedFile> = proving.review.sorted.tests.iter().collect();
        let under = match self.run.settings.allow_test_changes {
            true => place.tree.clone(),
            false => self.kept_tree(proving, place, &own)?,
        };
        let asked = HeldOutQuestion { ticket, proving, place, under: &under, kept };
        let all = TestsLaidIn { commit: &commit, files: &tests.files, at_base: false };
        let Some(mut report) = self.ask_held_out(&asked, all)? else {
            return Ok(HeldOutAnswer::Interrupted);
        };
        if report.nothing.is_some() && tests.files.len() > 1 {
            // One that does not load may keep the others from being run.
            report = HeldOutReport::default();
            for file in tests.files.iter().take(MOST_ALONE) {
                let alone = TestsLaidIn { files: std::slice::from_ref(file), ..all };
                let Some(said) = self.ask_held_out(&asked, alone)? else {
                    return Ok(HeldOutAnswer::Interrupted);
                };
                report.join(file, said);
            }
        }
        report.exposed = !self.run.enforcement.root;
        Ok(HeldOutAnswer::Given(report))
    }

    /// Asks some of the tests; nothing if that was interrupted.
    fn ask_held_out(
        &mut self,
        asked: &HeldOutQuestion<'_>,
        tests: TestsLaidIn<'_>,
    ) -> Result<Option<HeldOutReport>> {
        let all = NewTestGates::all(&self.run.settings.gates);
        let Some(change_with) = self.run_with_tests(asked, asked.under, tests, &all)? else {
            return Ok(None);
        };
        // No product of a change is there to see that few tests are asked.
        let commits = [tests.commit, &self.run.settings.base];
        let alone = self.new_test_gates(commits, tests.files, &change_with, asked.kept)?;
        let at_base = TestsLaidIn { at_base: true, ..tests };
        let Some(base_with) = self.base_with_tests(asked, at_base, &alone)? else {
            return Ok(None);
        };
        let sources = self.sources(tests.commit, tests.files)?;
        let gates = &self.run.settings.gates;
        let assertion = |result: &GateResult, name: &str| {
            let gate = gates.iter().find(|gate| gate.name == result.gate);
            let log = spore_effects::files::read(&result.log).unwrap_or_default();
            let parser = gate.map_or(Parser::Auto, |gate| gate.parser);
            spore_gates::assertion(parser, &log, name, &sources)
        };
        let runs =
            HeldOutRuns { change: asked.kept, change_with: &change_with, base_with: &base_with };
        Ok(Some(spore_proof::judge_held_out(&runs, &assertion)))
    }

    /// Returns what the coder and the verifier are told of a change that held-out tests reject. Which
    /// they are stands in the run's own files.
    pub(super) fn rejected_by_tests(
        &mut self,
        logs: &Path,
        report: &HeldOutReport,
        summary: GateSummary,
    ) -> Result<GateSummary> {
        self.project.around.write_json(&logs.join("held-out.json"), report)?;
        let line = report.line();
        self.progress.update(&Update::GateEnded { line: line.clone() });
        let mut evidence =
            "Tests that were written for this task before you began, and that are not \
                            shown to you, reject the change. Their assertions say:\n"
                .to_owned();
        for one in report.rejecting.iter().take(TOLD) {
            evidence.push_str(&format!("- {}\n", one.message.replace('\n', "\n  ")));
        }
        let room = usize::try_from(self.project.config.gates.evidence_bytes).unwrap_or(4096);
        let evidence = spore_plain::cut(&evidence, room).into_owned();
        let lines = summary.lines.into_iter().chain([line]).collect();
        Ok(GateSummary { green: false, lines, evidence, proof: None, ..summary })
    }

    /// Runs the checks on a tree with the held-out tests laid in; nothing if that was interrupted.
    fn run_with_tests(
        &mut self,
        asked: &HeldOutQuestion<'_>,
        under: &TreeId,
        tests: TestsLaidIn<'_>,
        gates: &NewTestGates,
    ) -> Result<Option<Vec<GateResult>>> {
        let mixture = TreeMixture {
            from: tests.commit,
            bring_back: tests.files,
            leave_out: &[],
            rewrite: &[],
        };
        let tree = self.mixed(under, &mixture)?;
        let commit = self.commit_for_checks(&tree, asked.ticket)?;
        let against = Against::HeldOut { at_base: tests.at_base };
        let check = asked.place.check(&commit, &tree, against);
        self.run_new_tests(&check, gates)
    }

    /// Runs them on the base, or says what is known of that from an earlier bounce.
    fn base_with_tests(
        &mut self,
        asked: &HeldOutQuestion<'_>,
        tests: TestsLaidIn<'_>,
        gates: &NewTestGates,
    ) -> Result<Option<Vec<GateResult>>> {
        const KIND: &str = "held-out";
        let (files, asked_of) = (tests.files.join("\n"), gates.words());
        let key = format!("{} {} {files}\n{asked_of}", self.run.id, tests.commit);
        let known = self.project.journal.cached(KIND, &key)?;
        if let Some(known) = known.and_then(|value| serde_json::from_value(value).ok()) {
            return Ok(Some(known));
        }
        let base = asked.proving.base_tree.clone();
        let Some(results) = self.run_with_tests(asked, &base, tests, gates)? else {
            return Ok(None);
        };
        let value = serde_json::to_value(&results).map_err(bug)?;
        let now = self.project.around.clock.now();
        self.project.journal.cache(KIND, &key, &value, now)?;
        Ok(Some(results))
    }

    fn sources(&self, commit: &CommitId, files: &[String]) -> Result<Vec<String>> {
        let paths: Vec<&str> = files.iter().map(String::as_str).collect();
        let read = self.project.repository.read_files(commit, &paths)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(read.into_iter().flatten().map(text).collect())
    }
}

/// The change that held-out tests are asked about.
struct HeldOutQuestion<'a> {
    ticket: &'a Ticket,
    proving: &'a Proving<'a>,
    place: &'a CheckedChange<'a>,
    /// Its product with the base's own tests.
    under: &'a TreeId,
    /// What the checks say of that.
    kept: &'a [GateResult],
}

/// Tests that are laid into a tree.
#[derive(Clone, Copy)]
struct TestsLaidIn<'a> {
    /// Has them.
    commit: &'a CommitId,
    files: &'a [String],
    at_base: bool,
}
