//! The sentinel: the project's own commands on the files as they are now, cycle by cycle.
//!
//! By itself it mends nothing. After a cycle that found something the run waits, for a
//! person or an agent to mend it; going on with the run is the next cycle. With judges it asks
//! them, and has what they find mended in between.

mod judges;
mod site;

use std::path::PathBuf;

use spore_compose::{
    CheckFinding, CheckResult, ChildEnd, FailedAssertion, Grade, Parked, Sentinel, SentinelEnding,
    SentinelNext, SentinelRules, SentinelStep, SentinelSubject, Severity, Verification,
};
use spore_gates::{DiagnosticWeight, Gate, GateKind, GateResult, RanIn, Runner, Standing};
use spore_git::Repository;
use spore_model::{
    Begun, CommitId, EffectClass, Fault, Outcome, Park, Run, RunId, RunKind, RunState, SourceKind,
    StepKey, Ticket, TreeId,
};
use spore_store::RunChange;

pub(crate) use judges::SentinelJudges;
use judges::{ActiveJudges, FixAsked};
use site::SentinelSite;

use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use crate::base::error::bug;
use crate::base::run_refs;
use crate::base::step::Intent;
use crate::checks::against::{Against, Check, Checked};
use crate::checks::runner::GateRuns;
use crate::checks::{review, words};
use crate::run::request::Orchestrate;
use crate::run::settings::RunSettings;
use crate::session::sandbox::{Enforcement, Sandboxes};
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

/// The sentinel at work.
pub(crate) struct Checks<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: LayerPlace,
    pub(crate) max_cycles: u32,
    /// Which commands, and what of the files counts.
    pub(crate) settings: RunSettings,
    /// What is checked; nothing where that is the project's files as they are.
    pub(crate) at: Option<CommitId>,
    /// Who is asked about what the commands say; none where there are only checks.
    pub(crate) judges: Option<SentinelJudges>,
}

/// How far the cycles came.
pub(crate) struct ChecksOver {
    pub(crate) rest: ChecksRest,
    pub(crate) last: Option<Verification>,
    /// As far as it is known.
    pub(crate) grade: Option<Grade>,
    /// The commit that the last cycle was about, where something was mended.
    pub(crate) mended: Option<CommitId>,
}

pub(crate) enum ChecksRest {
    Ended(SentinelEnding),
    Parked(Parked),
}

/// Settles what a sentinel checks with.
pub(crate) fn settings(
    around: &Surroundings,
    workspace: &Workspace,
    config: &spore_config::Config,
    base: Option<&CommitId>,
) -> Result<RunSettings> {
    let repository = workspace.repository(around)?;
    let asked = Orchestrate { base: base.map(ToString::to_string), ..Orchestrate::default() };
    RunSettings::settle(workspace, &repository, config, &asked)
}

/// Runs a stage that is one cycle of checks, of `at` where the flow has a branch. The commands are
/// those of the branch's base, and never of what is checked.
pub(crate) fn run(
    ground: &ActiveFlow<'_>,
    place: &LayerPlace,
    at: Option<&CommitId>,
    progress: &mut dyn Progress,
) -> Result<ChildEnd> {
    // What it began with, where it began before.
    let settings = match ground.journal.run(place.run)? {
        Some(run) => serde_json::from_value(run.settings).map_err(bug)?,
        None => {
            let base = ground.branch.as_ref().map(|branch| &branch.base);
            settings(ground.around, ground.workspace, ground.config, base)?
        }
    };
    let at = at.cloned();
    let (own, judges) = (place.clone(), None);
    let checks = Checks { ground, place: own, max_cycles: 1, settings, at, judges };
    let over = checks.work(progress)?;
    let (outcome, reason, park) = match over.rest {
        ChecksRest::Ended(ending) => (ending.outcome, ending.reason, None),
        ChecksRest::Parked(parked) => (parked.outcome, parked.reason, Some(parked.park)),
    };
    let diagnosis = over.last.as_ref().map(|last| last.report(None)).unwrap_or_default();
    Ok(ChildEnd {
        park,
        diagnosis,
        budget_left: ground.has_left(place.budget),
        grade: over.grade,
        ..ChildEnd::new(place.run, outcome, Some(reason))
    })
}

/// What the judges are asked about.
struct Judged<'a> {
    judges: ActiveJudges<'a>,
    /// What the next cycle checks.
    tip: CommitId,
    told: SentinelSubject,
}

impl Checks<'_> {
    /// Checks until there is a grade, or until something has to be mended.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<ChecksOver> {
        let ground = self.ground;
        let details = Run {
            settings: serde_json::to_value(&self.settings).map_err(bug)?,
            base_commit: self.at.clone(),
            ..ground.blank(self.place.run, RunKind::Sentinel)
        };
        ground.open(&self.place, RunKind::Sentinel, &details)?;
        let repository = ground.workspace.repository(ground.around)?;
        let mut subject = None;
        if let Some(judges) = &self.judges {
            let judges = ActiveJudges { site: self.site(), judges };
            let tip = self.pinned(&repository)?;
            let told = judges.subject(&repository, &tip)?;
            subject = Some(Judged { judges, tip, told });
        }
        let mut machine = Sentinel::new(SentinelRules {
            max_cycles: self.max_cycles,
            stuck_cycles: ground.config.sentinel.stuck_cycles,
            judged: subject.is_some(),
        });
        let first = subject.as_ref().map(|subject| subject.tip.clone());
        let rest = self.lead(&repository, &mut machine, &mut subject, progress)?;
        let tip = subject.map(|subject| subject.tip);
        Ok(ChecksOver {
            rest,
            grade: machine.grade(),
            last: machine.last().cloned(),
            mended: tip.filter(|tip| Some(tip) != first.as_ref()),
        })
    }

    fn lead(
        &self,
        repository: &Repository,
        machine: &mut Sentinel,
        subject: &mut Option<Judged<'_>>,
        progress: &mut dyn Progress,
    ) -> Result<ChecksRest> {
        let mut next = machine.start();
        // Whether the last cycle was run just now: then nothing can have been mended since.
        let mut fresh = false;
        loop {
            next = match next {
                SentinelNext::Do(SentinelStep::Finish { ending }) => {
                    self.finish(&ending, machine.last())?;
                    SentinelNext::End(ending)
                }
                SentinelNext::Do(step @ SentinelStep::Check { cycle }) => {
                    let tip = subject.as_ref().map(|subject| &subject.tip);
                    let Some((found, new)) =
                        self.cycle(repository, &step, cycle, tip, machine, progress)?
                    else {
                        return Ok(ChecksRest::Parked(stopped()));
                    };
                    fresh = new;
                    machine.checked(found)
                }
                SentinelNext::Do(step) => match subject {
                    Some(subject) => self.judge(&step, machine, subject, progress)?,
                    None => {
                        return Err(Error::new(Fault::Bug, "a sentinel without judges asks one"));
                    }
                },
                SentinelNext::Mend { reason, .. } if fresh => {
                    let (outcome, park) = (Outcome::NeedsRefinement, Park::Human);
                    return Ok(ChecksRest::Parked(Parked { outcome, park, reason }));
                }
                SentinelNext::Mend { then, .. } => SentinelNext::Do(then),
                SentinelNext::Park(parked) => return Ok(ChecksRest::Parked(parked)),
                SentinelNext::End(ending) => return Ok(ChecksRest::Ended(ending)),
            };
            self.project(machine)?;
        }
    }

    fn site(&self) -> SentinelSite<'_> {
        SentinelSite { ground: self.ground, place: &self.place, settings: &self.settings }
    }

    /// Takes a step that is not ours but a role's.
    fn judge(
        &self,
        step: &SentinelStep,
        machine: &mut Sentinel,
        subject: &mut Judged<'_>,
        progress: &mut dyn Progress,
    ) -> Result<SentinelNext> {
        let Some(question) = machine.question(step, &subject.told) else {
            let task = machine.fix_task(&subject.told);
            let red =
                machine.last().is_some_and(|found| found.checks.iter().any(|one| !one.passed));
            let asked = FixAsked { task, specified: machine.tester_task(), red };
            let end = subject.judges.fix(step, asked, &subject.tip, progress)?;
            if let Some(commit) = &end.commit {
                let repository = self.ground.workspace.repository(self.ground.around)?;
                subject.tip.clone_from(commit);
                subject.told = subject.judges.subject(&repository, commit)?;
            }
            return Ok(machine.fixed(&end));
        };
        let answer = subject.judges.ask(step, &question, &subject.tip, progress)?;
        Ok(machine.answered(step, &answer))
    }

    /// Runs one cycle, or finds its recorded result. Returns nothing where it was interrupted.
    fn cycle(
        &self,
        repository: &Repository,
        step: &SentinelStep,
        cycle: u32,
        tip: Option<&CommitId>,
        machine: &Sentinel,
        progress: &mut dyn Progress,
    ) -> Result<Option<(Verification, bool)>> {
        let ground = self.ground;
        let key = step.key();
        let intent = Intent::at(ground.now()).plan("gates", ground.around.ids.run());
        let ticket = match ground.steps(&self.place).begin(&key, EffectClass::Fenced, intent)? {
            Begun::Done(found) => return Ok(Some((found, false))),
            Begun::Do(ticket) => ticket,
        };
        progress.update(&Update::Gates { what: format!("cycle {cycle} of {}", self.max_cycles) });
        let (commit, tree) = match tip {
            Some(tip) => (tip.clone(), repository.tree_of(tip)?),
            None => self.present(repository, cycle, &ticket)?,
        };
        let gates = self.open_gates(cycle, &ticket)?;
        let (results, checks) = match self.tampered(repository, (&commit, &tree), cycle)? {
            // What decides by itself how it is checked is not even checked.
            Some(refused) => (Vec::new(), vec![refused]),
            None => {
                let what = (&commit, &tree);
                let which = (cycle, self.settings.gates.as_slice());
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
                (results, checks)
            }
        };
        let found = Verification::grade(cycle, tree, checks, machine.last());
        let mut entry = ground.steps(&self.place).entry(&found)?;
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
        ground.steps(&self.place).finish(&key, &ticket, &entry)?;
        let word = found.overall.to_string();
        progress.update(&self.ground.told_layer(
            "sentinel",
            &format!("cycle {cycle}"),
            word,
            None,
            None,
        ));
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
        let ground = self.ground;
        if let Some(commit) = &self.at {
            return Ok((commit.clone(), repository.tree_of(commit)?));
        }
        let checkouts = self.site().checkouts(repository);
        let scratch = ground.workspace.run_state(ground.root).join("sentinel.index");
        let tree = repository.present(&scratch, &checkouts.exclusions())?;
        let at = ticket.time().map_err(bug)?;
        let message = format!("cycle {cycle} of {}", self.place.run);
        let head = repository.head()?;
        let commit = repository.commit_tree(&tree, &head, &message, at)?;
        repository.set_ref(&run_refs::sentinel(self.place.run, cycle), &commit)?;
        Ok((commit, tree))
    }

    /// Pins what the first cycle is about, once.
    fn pinned(&self, repository: &Repository) -> Result<CommitId> {
        let steps = self.ground.steps(&self.place);
        steps.once(&StepKey::named("pin"), |ticket, _| Ok(self.present(repository, 1, ticket)?.0))
    }

    fn open_gates(&self, cycle: u32, ticket: &Ticket) -> Result<RunId> {
        let ground = self.ground;
        let id = ticket.planned("gates").map_err(bug)?;
        let run = Run {
            parent: Some(self.place.run),
            trace: ground.trace.clone(),
            depth: self.place.depth + 1,
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
        let ground = self.ground;
        let (around, workspace, config) = (ground.around, ground.workspace, ground.config);
        let enforcement = Enforcement::find(around, config, "")?;
        let gates = GateRuns {
            checkouts: &self.site().checkouts(repository),
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
        let logs = self.site().logs().join(format!("cycle-{cycle}"));
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
        let branch = self.ground.branch.as_ref().filter(|_| self.at.is_some());
        let is_red = |gate: &&Gate| {
            let own = results.iter().find(|result| result.gate == gate.name);
            gate.kind == GateKind::Lint && own.is_some_and(|own| own.standing != Standing::Green)
        };
        let red: Vec<Gate> = self.settings.gates.iter().filter(is_red).cloned().collect();
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

    /// What a flow's parts changed of what decides how their work is checked. A person's own files
    /// are the person's to change.
    fn tampered(
        &self,
        repository: &Repository,
        (commit, tree): (&CommitId, &TreeId),
        cycle: u32,
    ) -> Result<Option<CheckResult>> {
        if self.at.is_none() {
            return Ok(None);
        }
        let found = review::tampered(repository, self.settings.review(), commit, tree)?;
        if found.is_empty() {
            return Ok(None);
        }
        let name = "guards".to_owned();
        let log = format!("sentinel/cycle-{cycle}/{name}.log");
        let (note, log) = (words::tampered(&found), self.place.dir.join(log));
        self.ground.write(&self.ground.run_dir().join(&log), &format!("{note}\n"))?;
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
        let gate = self.settings.gates.iter().find(|gate| gate.name == result.gate);
        let warns =
            gate.is_some_and(|gate| gate.kind == GateKind::Lint) && !broken.contains(&result.gate);
        let log = result.log.file_name().map_or_else(PathBuf::new, PathBuf::from);
        let log = self.place.dir.join("sentinel").join(format!("cycle-{cycle}")).join(log);
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
        let root = self.ground.workspace.gates_state().join("checkout").display().to_string();
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

    fn dir(&self) -> PathBuf {
        self.ground.dir().join(&self.place.dir).join("sentinel")
    }

    /// Writes what a cycle found, for the person or agent that mends it.
    fn project(&self, machine: &Sentinel) -> Result<()> {
        let (ground, dir) = (self.ground, self.dir());
        let cycle_dir = |cycle: u32| dir.join(format!("cycle-{cycle}"));
        if let Some(spec) = machine.spec() {
            let cycle = machine.last().map_or(1, |last| last.cycle);
            ground.write(&cycle_dir(cycle).join("test-spec.md"), &spec.report())?;
        }
        let Some(last) = machine.last() else { return Ok(()) };
        let cycle = cycle_dir(last.cycle);
        ground.write_json(&cycle.join("verification-results.json"), last)?;
        ground.write_json(&cycle.join("fix-list.json"), machine.fixes())?;
        ground.write(&cycle.join("audit-report.md"), &last.report(machine.spec()))?;
        if let Some(grade) = machine.grade() {
            ground.write(&dir.join("grade.txt"), &format!("{grade}\n"))?;
        }
        ground.write_json(&dir.join("summary.json"), &machine.summary())
    }

    fn finish(&self, ending: &SentinelEnding, last: Option<&Verification>) -> Result<()> {
        let path = last.map(|last| results_path(self.ground, &self.place, last));
        let told = LayerEnding {
            outcome: ending.outcome,
            reason: Some(&ending.reason),
            points_at: path.as_deref(),
        };
        self.ground.end(&self.place, RunKind::Sentinel, &told, ending)
    }
}

/// How many complaints of one check are listed; all are counted.
const MOST_LISTED: usize = 100;
/// How much of what a failed check printed is kept beside its log.
const EXCERPT: usize = 2_000;

fn stopped() -> Parked {
    let (outcome, park) = (Outcome::Interrupted, Park::Interrupt);
    Parked { outcome, park, reason: "interrupted".to_owned() }
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

/// Where the results of a cycle are, below the project's root.
pub(crate) fn results_path(
    ground: &ActiveFlow<'_>,
    place: &LayerPlace,
    last: &Verification,
) -> String {
    let file = format!("sentinel/cycle-{}/verification-results.json", last.cycle);
    ground.path_of(&place.dir.join(file))
}
