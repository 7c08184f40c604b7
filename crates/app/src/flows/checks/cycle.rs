//! One cycle of a sentinel: the project's own commands on one commit, and what they found.

use std::path::PathBuf;

use spore_compose::{
    CheckFinding, CheckResult, FailedAssertion, Grade, SentinelStep, Severity, Verification,
};
use spore_gates::{
    DiagnosticWeight, Gate, GateKind, GateResult, RanIn, Runner, Standing, Tampering,
};
use spore_git::Repository;
use spore_model::{
    Begun, CommitId, EffectClass, Outcome, Run, RunId, RunKind, RunState, SourceKind, StepKey,
    Ticket, TreeId,
};
use spore_store::RunChange;

use super::site::SentinelSite;
use crate::base::error::bug;
use crate::base::run_refs;
use crate::base::step::Intent;
use crate::checks::against::{Against, Check, Checked};
use crate::checks::runner::GateRuns;
use crate::checks::{review, words};
use crate::session::sandbox::{Enforcement, Sandboxes};
use crate::{Progress, Result, Update};

/// How many complaints of one check are listed; all are counted.
const MOST_LISTED: usize = 100;
/// How much of what a failed check printed is kept beside its log.
const EXCERPT: usize = 2_000;

/// The cycles of one sentinel.
#[derive(Clone, Copy)]
pub(crate) struct Cycles<'a> {
    pub(crate) site: SentinelSite<'a>,
    /// What is checked; nothing where that is the project's files as they are.
    pub(crate) at: Option<&'a CommitId>,
}

impl Cycles<'_> {
    /// Runs one cycle, or finds its recorded result. Returns nothing where it was interrupted.
    pub(crate) fn run(
        &self,
        repository: &Repository,
        step: &SentinelStep,
        (cycle, most): (u32, u32),
        tip: Option<&CommitId>,
        last: Option<&Verification>,
        progress: &mut dyn Progress,
    ) -> Result<Option<(Verification, bool)>> {
        let SentinelSite { ground, place, .. } = self.site;
        let key = step.key();
        let intent = Intent::at(ground.now()).plan("gates", ground.around.ids.run());
        let ticket = match ground.steps(place).begin(&key, EffectClass::Fenced, intent)? {
            Begun::Done(found) => return Ok(Some((found, false))),
            Begun::Do(ticket) => ticket,
        };
        let began = ground.now();
        progress.update(&Update::Gates { what: format!("cycle {cycle} of {most}") });
        let (commit, tree) = match tip {
            Some(tip) => (tip.clone(), repository.tree_of(tip)?),
            None => self.present(repository, cycle, &ticket)?,
        };
        let gates = self.open_gates(cycle, &ticket)?;
        let (results, found) = match self.tampered(repository, (&commit, &tree), cycle)? {
            // What decides by itself how it is checked is not even checked.
            Some(guard) => (Vec::new(), Verification::refuse(cycle, tree.clone(), guard, last)),
            None => {
                let what = (&commit, &tree);
                let which = (cycle, self.site.settings.gates.as_slice());
                let Checked::Done(results) =
                    self.check(repository, gates, what, which, progress)?
                else {
                    return Ok(None);
                };
                let Some(broken) = self.broken_lints(repository, gates, &results, progress)? else {
                    return Ok(None);
                };
                let judged = |result| self.judged(result, cycle, &broken);
                let checks = results.iter().map(judged).collect();
                (results, Verification::grade(cycle, tree.clone(), checks, last))
            }
        };
        let mut entry = ground.steps(place).entry(&found)?;
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(match found.overall {
                Grade::Fail => Outcome::Failure,
                Grade::Pass | Grade::Warn => Outcome::Success,
            }),
            reason: Some(format!("cycle {cycle}: {}", found.overall)),
            tree_hash: Some(found.tree.clone()),
            ended: Some(entry.now),
            ..RunChange::default()
        };
        entry.runs.push((gates, change));
        let payload = words::payload(&results);
        entry.events.push(ground.event(
            SourceKind::Check,
            "sentinel",
            "gates.finished",
            gates,
            payload,
        ));
        ground.steps(place).finish(&key, &ticket, &entry)?;
        let word = found.overall.to_string();
        let layer = ("sentinel", place.depth + 1);
        let name = format!("cycle {cycle}");
        progress.update(&ground.told_layer(layer, &name, word, None, Some(began)));
        Ok(Some((found, true)))
    }

    /// Pins what is checked: the files as they are now, as a commit that only Spore's own ref
    /// knows, unless a commit is named.
    fn present(
        &self,
        repository: &Repository,
        cycle: u32,
        ticket: &Ticket,
    ) -> Result<(CommitId, TreeId)> {
        let ground = self.site.ground;
        if let Some(commit) = self.at {
            return Ok((commit.clone(), repository.tree_of(commit)?));
        }
        let checkouts = self.site.checkouts(repository);
        let scratch = ground.workspace.run_state(ground.root).join("sentinel.index");
        let tree = repository.present(&scratch, &checkouts.exclusions())?;
        let at = ticket.time().map_err(bug)?;
        let message = format!("cycle {cycle} of {}", self.site.place.run);
        let head = repository.head()?;
        let commit = repository.commit_tree(&tree, &head, &message, at)?;
        repository.set_ref(&run_refs::sentinel(self.site.place.run, cycle), &commit)?;
        Ok((commit, tree))
    }

    /// Pins what the first cycle is about, once.
    pub(crate) fn pinned(&self, repository: &Repository) -> Result<CommitId> {
        let steps = self.site.ground.steps(self.site.place);
        steps.once(&StepKey::named("pin"), |ticket, _| Ok(self.present(repository, 1, ticket)?.0))
    }

    fn open_gates(&self, cycle: u32, ticket: &Ticket) -> Result<RunId> {
        let ground = self.site.ground;
        let id = ticket.planned("gates").map_err(bug)?;
        let run = Run {
            parent: Some(self.site.place.run),
            trace: ground.trace.clone(),
            depth: self.site.place.depth + 1,
            name: format!("cycle {cycle}"),
            ..ground.blank(id, RunKind::Gates)
        };
        ground.journal.create_run(&run, &[])?;
        Ok(id)
    }

    fn check(
        &self,
        repository: &Repository,
        run: RunId,
        what: (&CommitId, &TreeId),
        (cycle, commands): (u32, &[Gate]),
        progress: &mut dyn Progress,
    ) -> Result<Checked> {
        let ground = self.site.ground;
        let (around, workspace, config) = (ground.around, ground.workspace, ground.config);
        let enforcement = Enforcement::find(around, config, "")?;
        let gates = GateRuns {
            checkouts: &self.site.checkouts(repository),
            gates: commands,
            journal: ground.journal,
            sandboxes: Sandboxes { around, workspace, config, run: ground.root },
            enforcement: &enforcement,
            runner: Runner::new(
                spore_effects::session::Shim::new(around.exe.clone()),
                crate::session::environment::gate_environment(config, around),
                config.gates.log_cap_bytes,
                crate::agents::backends::grace(config),
            )
            .striking(around.secrets()),
            cache_cap: config.gates.cache_cap_bytes,
        };
        let logs = self.site.logs().join(format!("cycle-{cycle}"));
        let (commit, tree) = what;
        let against = Against::Nothing;
        let check = Check { session: run, commit, tree, logs: &logs, against };
        gates.run(&check, progress)
    }

    /// Returns the linters that are red and were green at the base of the flow's branch. By themselves
    /// linters warn; what a flow broke may not land. Nothing where it was interrupted.
    fn broken_lints(
        &self,
        repository: &Repository,
        run: RunId,
        results: &[GateResult],
        progress: &mut dyn Progress,
    ) -> Result<Option<Vec<String>>> {
        let branch = self.site.ground.branch.as_ref().filter(|_| self.at.is_some());
        let is_red = |gate: &&Gate| {
            let own = results.iter().find(|result| result.gate == gate.name);
            gate.kind == GateKind::Lint && own.is_some_and(|own| own.standing != Standing::Green)
        };
        let red: Vec<Gate> = self.site.settings.gates.iter().filter(is_red).cloned().collect();
        let Some(branch) = branch.filter(|_| !red.is_empty()) else { return Ok(Some(Vec::new())) };
        let what = (&branch.base, &repository.tree_of(&branch.base)?);
        // Cycles are counted from one: what the base says has its logs where no cycle has them.
        Ok(match self.check(repository, run, what, (0, &red), progress)? {
            Checked::Done(before) => {
                let green = before.into_iter().filter(|one| one.standing == Standing::Green);
                Some(green.map(|one| one.gate).collect())
            }
            _ => None,
        })
    }

    /// Returns whether a cycle would refuse its work.
    pub(crate) fn refuses(&self, repository: &Repository, commit: &CommitId) -> Result<bool> {
        Ok(!self.guarded(repository, (commit, &repository.tree_of(commit)?))?.is_empty())
    }

    fn guarded(
        &self,
        repository: &Repository,
        (commit, tree): (&CommitId, &TreeId),
    ) -> Result<Vec<Tampering>> {
        match self.at {
            Some(_) => review::tampered(repository, self.site.settings.review(), commit, tree),
            None => Ok(Vec::new()),
        }
    }

    /// What a flow's parts changed of what decides how their work is checked. A person's own files
    /// are the person's to change.
    fn tampered(
        &self,
        repository: &Repository,
        (commit, tree): (&CommitId, &TreeId),
        cycle: u32,
    ) -> Result<Option<CheckResult>> {
        let found = self.guarded(repository, (commit, tree))?;
        if found.is_empty() {
            return Ok(None);
        }
        let name = "guards".to_owned();
        let log = format!("sentinel/cycle-{cycle}/{name}.log");
        let (note, log) = (words::tampered(&found), self.site.place.dir.join(log));
        self.site.ground.write(&self.site.ground.run_dir().join(&log), &format!("{note}\n"))?;
        let failing = found.iter().map(|one| format!("{} {}", one.path, one.what));
        Ok(Some(CheckResult {
            name,
            tool: "what decides how the work is checked, against the flow's base".to_owned(),
            passed: false,
            errors: u32::try_from(found.len()).unwrap_or(u32::MAX),
            warnings: 0,
            severity: Severity::Blocking,
            exit_code: None,
            failing: failing.take(MOST_LISTED).collect(),
            assertions: Vec::new(),
            findings: Vec::new(),
            note: Some(note),
            output: String::new(),
            log: log.display().to_string(),
        }))
    }

    fn judged(&self, result: &GateResult, cycle: u32, broken: &[String]) -> CheckResult {
        let passed = result.standing == Standing::Green;
        let gate = self.site.settings.gates.iter().find(|gate| gate.name == result.gate);
        let warns =
            gate.is_some_and(|gate| gate.kind == GateKind::Lint) && !broken.contains(&result.gate);
        let log = result.log.file_name().map_or_else(PathBuf::new, PathBuf::from);
        let log = self.site.place.dir.join("sentinel").join(format!("cycle-{cycle}")).join(log);
        let printed = spore_effects::files::read(&result.log).unwrap_or_default();
        let findings = self.findings(gate, passed, &printed);
        let count = |severity| {
            let all = findings.iter().filter(|found| found.severity == severity).count();
            u32::try_from(all).unwrap_or(u32::MAX)
        };
        let (wrong, doubtful) = (count(Severity::Blocking), count(Severity::Warning));
        CheckResult {
            name: result.gate.clone(),
            tool: result.command.clone(),
            passed,
            errors: if passed { 0 } else { result.failed.max(wrong).max(1) },
            // What a command complains about and lets pass is no error of its.
            warnings: if passed { wrong + doubtful } else { doubtful },
            severity: if warns { Severity::Warning } else { Severity::Blocking },
            exit_code: result.exit,
            failing: result.failures.clone(),
            assertions: if passed { Vec::new() } else { assertions(gate, result, &printed) },
            findings: findings.into_iter().take(MOST_LISTED).collect(),
            note: result.note.clone(),
            output: if passed { String::new() } else { spore_gates::excerpt(&printed, EXCERPT) },
            log: log.display().to_string(),
        }
    }

    /// What a check complains about. A test that passes may print what it likes.
    fn findings(&self, gate: Option<&Gate>, passed: bool, printed: &[u8]) -> Vec<CheckFinding> {
        let Some(gate) = gate.filter(|gate| !passed || gate.kind != GateKind::Test) else {
            return Vec::new();
        };
        let root = self.site.ground.workspace.gates_state().join("checkout").display().to_string();
        let ran = RanIn { root: &root, dir: &gate.dir };
        let finding = |found: spore_gates::Diagnostic| CheckFinding {
            file: found.file,
            line: found.line,
            severity: match found.weight {
                DiagnosticWeight::Error => Severity::Blocking,
                DiagnosticWeight::Warning => Severity::Warning,
            },
            rule: found.rule,
            message: found.message,
        };
        spore_gates::diagnostics(printed, ran).into_iter().map(finding).collect()
    }
}

/// What the assertions said that tests failed by.
fn assertions(gate: Option<&Gate>, result: &GateResult, printed: &[u8]) -> Vec<FailedAssertion> {
    const MOST: usize = 20;
    let Some(gate) = gate else { return Vec::new() };
    let said = |test: &String| {
        let said = spore_gates::assertion(gate.parser, printed, test, &[])?;
        Some(FailedAssertion { test: test.clone(), said })
    };
    result.failures.iter().take(MOST).filter_map(said).collect()
}
