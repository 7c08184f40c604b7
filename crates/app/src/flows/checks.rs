//! The sentinel: the project's own commands on the files as they are now, cycle by cycle.
//!
//! By itself it mends nothing. After a cycle that found something the run waits, for a
//! person or an agent to mend it; going on with the run is the next cycle. With judges it asks
//! them, and has what they find mended in between.

use super::flow::ActiveFlow;
use super::flow::LayerEnding;
use super::flow::LayerPlace;
use super::flow::spent;
use super::judges::SentinelJudges;
use crate::Error;
use crate::Progress;
use crate::Result;
use crate::Surroundings;
use crate::Update;
use crate::Workspace;
use crate::agents::backends::backend;
use crate::agents::roles::RoleTerms;
use crate::base::checkouts::Checkouts;
use crate::base::error::bug;
use crate::base::files::remove_empty_dir;
use crate::base::run_files::SessionFiles;
use crate::base::run_refs;
use crate::base::step::Intent;
use crate::checks::against::Against;
use crate::checks::against::Check;
use crate::checks::against::Checked;
use crate::checks::runner::GateRuns;
use crate::checks::words;
use crate::run::request::Orchestrate;
use crate::run::settings::RunSettings;
use crate::run::start::Under;
use crate::run::start::within;
use crate::session::agent_choice::AgentChoice;
use crate::session::agent_choice::Wishes;
use crate::session::confinement::SessionConfinement;
use crate::session::open::EndedSession;
use crate::session::open::SessionOpener;
use crate::session::plan::SessionPlan;
use crate::session::plan::SessionPosition;
use crate::session::plan::SessionTools;
use crate::session::sandbox::Enforcement;
use crate::session::sandbox::Sandboxes;
use spore_compose::CheckFinding;
use spore_compose::CheckResult;
use spore_compose::ChildEnd;
use spore_compose::FailedAssertion;
use spore_compose::FixEnd;
use spore_compose::Grade;
use spore_compose::Parked;
use spore_compose::RoleAnswer;
use spore_compose::RoleQuestion;
use spore_compose::Sentinel;
use spore_compose::SentinelEnding;
use spore_compose::SentinelNext;
use spore_compose::SentinelRules;
use spore_compose::SentinelStep;
use spore_compose::SentinelSubject;
use spore_compose::Severity;
use spore_compose::Verification;
use spore_gates::DiagnosticWeight;
use spore_gates::Gate;
use spore_gates::GateKind;
use spore_gates::GateResult;
use spore_gates::RanIn;
use spore_gates::Runner;
use spore_gates::Standing;
use spore_git::Repository;
use spore_model::Begun;
use spore_model::BudgetId;
use spore_model::CommitId;
use spore_model::EffectClass;
use spore_model::Fault;
use spore_model::Outcome;
use spore_model::Park;
use spore_model::Run;
use spore_model::RunId;
use spore_model::RunKind;
use spore_model::RunState;
use spore_model::SourceKind;
use spore_model::StepKey;
use spore_model::Ticket;
use spore_model::TreeId;
use spore_model::Usd;
use spore_store::RunChange;
use std::path::PathBuf;

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
    judges: &'a SentinelJudges,
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
            let tip = self.pinned(&repository)?;
            let told = self.subject(&repository, judges, &tip)?;
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
            let end = self.fix(subject.judges, step, task, &subject.tip, progress)?;
            if let Some(commit) = &end.commit {
                let repository = self.ground.workspace.repository(self.ground.around)?;
                subject.tip.clone_from(commit);
                subject.told = self.subject(&repository, subject.judges, commit)?;
            }
            return Ok(machine.fixed(&end));
        };
        let answer = self.ask(subject.judges, step, &question, &subject.tip, progress)?;
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
        let Checked::Done(results) =
            self.check(repository, gates, (&commit, &tree), cycle, progress)?
        else {
            return Ok(None);
        };
        let checks = results.iter().map(|result| self.judged(result, cycle)).collect();
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
    pub(super) fn present(
        &self,
        repository: &Repository,
        cycle: u32,
        ticket: &Ticket,
    ) -> Result<(CommitId, TreeId)> {
        let ground = self.ground;
        if let Some(commit) = &self.at {
            return Ok((commit.clone(), repository.tree_of(commit)?));
        }
        let checkouts = self.checkouts(repository);
        let scratch = ground.workspace.run_state(ground.root).join("sentinel.index");
        let tree = repository.present(&scratch, &checkouts.exclusions())?;
        let at = ticket.time().map_err(bug)?;
        let message = format!("cycle {cycle} of {}", self.place.run);
        let head = repository.head()?;
        let commit = repository.commit_tree(&tree, &head, &message, at)?;
        repository.set_ref(&run_refs::sentinel(self.place.run, cycle), &commit)?;
        Ok((commit, tree))
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
        cycle: u32,
        progress: &mut dyn Progress,
    ) -> Result<Checked> {
        let ground = self.ground;
        let (around, workspace, config) = (ground.around, ground.workspace, ground.config);
        let enforcement = Enforcement::find(around, config, "")?;
        let gates = GateRuns {
            checkouts: &self.checkouts(repository),
            gates: &self.settings.gates,
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
        let logs = self.logs().join(format!("cycle-{cycle}"));
        let (commit, tree) = what;
        let against = Against::Nothing;
        let check = Check { session: run, commit, tree, logs: &logs, against };
        gates.run(&check, progress)
    }

    pub(super) fn checkouts<'c>(&'c self, repository: &'c Repository) -> Checkouts<'c> {
        Checkouts {
            around: self.ground.around,
            workspace: self.ground.workspace,
            repository,
            run: self.place.run,
            settings: self.settings.checkout(),
        }
    }

    fn judged(&self, result: &GateResult, cycle: u32) -> CheckResult {
        let passed = result.standing == Standing::Green;
        let gate = self.settings.gates.iter().find(|gate| gate.name == result.gate);
        let warns = gate.is_some_and(|gate| gate.kind == GateKind::Lint);
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

    pub(super) fn dir(&self) -> PathBuf {
        self.ground.dir().join(&self.place.dir).join("sentinel")
    }

    /// Where logs and transcripts of the cycles are.
    fn logs(&self) -> PathBuf {
        self.ground.run_dir().join(&self.place.dir).join("sentinel")
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

impl Checks<'_> {
    /// Pins what the first cycle is about, once.
    pub(super) fn pinned(&self, repository: &Repository) -> Result<CommitId> {
        let steps = self.ground.steps(&self.place);
        steps.once(&StepKey::named("pin"), |ticket, _| Ok(self.present(repository, 1, ticket)?.0))
    }

    /// What writer and auditor are told of the work at `commit`.
    pub(super) fn subject(
        &self,
        repository: &Repository,
        judges: &SentinelJudges,
        commit: &CommitId,
    ) -> Result<SentinelSubject> {
        const DIFF_BYTES: usize = 24_000;
        let (from, to) = (repository.tree_of(&judges.since)?, repository.tree_of(commit)?);
        let diff = repository.diff(&from, &to, DIFF_BYTES)?;
        let text = self.ground.around.secrets().strike(&diff.text).into_owned();
        Ok(SentinelSubject {
            task: judges.task.clone(),
            files: diff.files.into_iter().map(|file| file.path).collect(),
            diff: text,
        })
    }

    /// Asks a role, or finds what it said.
    pub(super) fn ask(
        &self,
        judges: &SentinelJudges,
        step: &SentinelStep,
        question: &RoleQuestion,
        commit: &CommitId,
        progress: &mut dyn Progress,
    ) -> Result<RoleAnswer> {
        let ground = self.ground;
        let (steps, key) = (ground.steps(&self.place), step.key());
        let intent = Intent::at(ground.now()).plan("session", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Paid, intent)? {
            Begun::Done(answer) => return Ok(answer),
            Begun::Do(ticket) => ticket,
        };
        if ground.around.interrupt.is_raised() {
            return Ok(waiting(Outcome::Interrupted, Park::Interrupt, "interrupted"));
        }
        let Ok(node) = ground.reserve(self.place.budget, None) else {
            return Ok(waiting(Outcome::NeedsHuman, Park::Budget, "the budget is spent"));
        };
        let what = format!("{} {}", question.role, key);
        progress.update(&ground.told_layer("sentinel", &what, "STARTING".to_owned(), None, None));
        let session = self.session(judges, step, question, commit, &ticket, node, progress);
        let cost = session.as_ref().map_or(Usd::ZERO, EndedSession::cost);
        let over = ground.settle(node, cost);
        if over > Usd::ZERO {
            progress.update(&Update::OverBudget { usd: over });
        }
        let EndedSession { booking, report, .. } = session?;
        let answer = RoleAnswer {
            outcome: report.outcome,
            reason: report.reason,
            park: None,
            text: report.final_text,
        };
        let waits = [Outcome::Interrupted, Outcome::QuotaParked, Outcome::NeedsHuman];
        if waits.contains(&answer.outcome) {
            booking.book_stopped(ground.journal, &ground.events(), answer.outcome)?;
            return Ok(answer);
        }
        let mut entry = steps.entry(&answer)?;
        booking.enter(&ground.events(), &mut entry);
        steps.finish(&key, &ticket, &entry)?;
        let status = spore_compose::status(answer.outcome);
        let why = answer.reason.clone();
        progress.update(&ground.told_layer("sentinel", &what, status, why, None));
        Ok(answer)
    }

    #[expect(clippy::too_many_arguments, reason = "all that one session is made of")]
    fn session(
        &self,
        judges: &SentinelJudges,
        step: &SentinelStep,
        question: &RoleQuestion,
        commit: &CommitId,
        ticket: &Ticket,
        node: BudgetId,
        progress: &mut dyn Progress,
    ) -> Result<EndedSession> {
        let ground = self.ground;
        let (config, role) = (ground.config, question.role);
        let wishes = Wishes {
            backend: judges.backend.as_deref(),
            model: judges.model.as_deref(),
            coder_model: None,
        };
        let choice = AgentChoice::settle(config, role, wishes);
        let agent = backend(ground.around, config, &choice.backend, judges.scenario.as_deref())?;
        let enforcement = Enforcement::find(ground.around, config, &choice.backend)?;
        let repository = ground.workspace.repository(ground.around)?;
        let checkouts = self.checkouts(&repository);
        let checkout = checkouts.verifier(1, commit)?;
        let (cycle, turn) = position(step);
        let name = format!("cycle-{cycle}/{role}-{turn}");
        let plan = SessionPlan {
            role: role.to_owned(),
            name: role.to_owned(),
            choice,
            agent,
            prompt: question.prompt.clone(),
            conversation: None,
            fresh: None,
            keeps_home: None,
            keeps_turns: false,
            system_prompt: None,
            dir: checkout.dir().to_owned(),
            files: SessionFiles::new(self.logs().join(name)),
            terms: RoleTerms::settle(config, role, None, None),
            usd: ground.budget().left(node).usd,
            tools: SessionTools::OfRole { commands: Vec::new() },
            brief: None,
            graph_at: Some(commit.clone()),
            commands: None,
            nesting: ground.nesting,
            row: SessionPosition {
                id: SessionPosition::id_for(ground.around, ticket)?,
                root: ground.payer,
                attempt: ticket.attempt,
                bounce: turn,
                depth: self.place.depth + 1,
                experiment: None,
                parent: self.place.run,
                run: self.place.run,
                key: step.key(),
            },
            confinement: SessionConfinement::Checkout(enforcement),
        };
        let opener = SessionOpener {
            around: ground.around,
            workspace: ground.workspace,
            config,
            journal: ground.journal,
            broker: &ground.broker,
            trace: &ground.trace,
        };
        let ended = opener.run(&plan, progress);
        checkouts.retire_verifiers()?;
        remove_empty_dir(&ground.workspace.run_state(self.place.run));
        ended
    }

    /// Has mended what the newest cycle found, or finds how that ended.
    pub(super) fn fix(
        &self,
        judges: &SentinelJudges,
        step: &SentinelStep,
        task: String,
        commit: &CommitId,
        progress: &mut dyn Progress,
    ) -> Result<FixEnd> {
        let ground = self.ground;
        let (steps, key) = (ground.steps(&self.place), step.key());
        let intent = Intent::at(ground.now()).plan("child", ground.around.ids.run());
        let ticket = match steps.begin(&key, EffectClass::Keyed, intent)? {
            Begun::Done(end) => return Ok(end),
            Begun::Do(ticket) => ticket,
        };
        let child = ticket.planned("child").map_err(bug)?;
        let end = self.mend(judges, child, task, commit, progress)?;
        if end.park.is_none() && end.outcome != Outcome::Interrupted {
            steps.finish(&key, &ticket, &steps.entry(&end)?)?;
        }
        let status = spore_compose::status(end.outcome);
        let why = end.reason.clone();
        progress.update(&ground.told_layer("sentinel", key.as_str(), status, why, None));
        Ok(end)
    }

    fn mend(
        &self,
        judges: &SentinelJudges,
        child: RunId,
        task: String,
        commit: &CommitId,
        progress: &mut dyn Progress,
    ) -> Result<FixEnd> {
        let ground = self.ground;
        if let Some(end) = self.mended(child)? {
            return Ok(end);
        }
        let before = self.cost_of(child)?;
        let Ok(node) = ground.reserve(self.place.budget, None) else {
            let reason = Some("the budget is spent".to_owned());
            let (outcome, park) = (Outcome::NeedsHuman, Some(Park::Budget));
            return Ok(FixEnd { run: child, outcome, reason, park, commit: None });
        };
        let left = ground.budget().left(node).usd.unwrap_or(ground.config.orchestrate.budget_usd);
        let asked = Orchestrate {
            task,
            base: Some(commit.to_string()),
            backend: judges.backend.clone(),
            scenario: judges.scenario.clone(),
            model: judges.model.clone(),
            // In all, of which some may be gone already.
            budget: Some(left + before),
            fix_red: true,
            hold_out: judges.hold_out,
            subject: Some("fix(sentinel): ".to_owned()),
            ..Orchestrate::default()
        };
        let under = Under {
            id: child,
            parent: self.place.run,
            trace: ground.trace.clone(),
            depth: self.place.depth + 1,
            nesting: ground.nesting,
        };
        let ran = within(ground.around, &asked, &under, progress);
        let more = self.cost_of(child)?.as_nanos().saturating_sub(before.as_nanos());
        ground.settle(node, Usd::from_nanos(more));
        ground.live_report()?;
        ran?;
        match (self.mended(child)?, ground.journal.run(child)?) {
            (Some(end), _) => Ok(end),
            (None, run) => Ok(FixEnd {
                run: child,
                outcome: run.as_ref().and_then(|run| run.outcome).unwrap_or(Outcome::Interrupted),
                park: run.as_ref().and_then(|run| run.park).or(Some(Park::Interrupt)),
                reason: run.and_then(|run| run.reason),
                commit: None,
            }),
        }
    }

    /// Returns how a run that mends ended; nothing while it has not.
    fn mended(&self, child: RunId) -> Result<Option<FixEnd>> {
        let ground = self.ground;
        let run = ground.journal.run(child)?.filter(|run| run.state == RunState::Ended);
        let Some(run) = run else { return Ok(None) };
        let repository = ground.workspace.repository(ground.around)?;
        let outcome = run.outcome.unwrap_or(Outcome::Failure);
        let commit = match outcome {
            Outcome::Success => repository.ref_target(&run_refs::own(child, "result"))?,
            _ => None,
        };
        Ok(Some(FixEnd { run: child, outcome, reason: run.reason, park: None, commit }))
    }

    fn cost_of(&self, child: RunId) -> Result<Usd> {
        let run = self.ground.journal.run(child)?;
        run.map_or(Ok(Usd::ZERO), |run| spent(self.ground.journal, &run))
    }
}

/// The cycle that a question belongs to, and its number among all that the role is asked.
fn position(step: &SentinelStep) -> (u32, u32) {
    match *step {
        SentinelStep::Write { attempt } => (1, attempt),
        SentinelStep::Audit { cycle, attempt } => (cycle, (cycle - 1) * 2 + attempt),
        SentinelStep::Consolidate { cycle }
        | SentinelStep::Check { cycle }
        | SentinelStep::Fix { cycle } => (cycle, cycle),
        SentinelStep::Finish { .. } => (0, 0),
    }
}

/// Nothing was asked: another process will.
fn waiting(outcome: Outcome, park: Park, reason: &str) -> RoleAnswer {
    let (park, reason) = (Some(park), Some(reason.to_owned()));
    RoleAnswer { outcome, reason, park, text: String::new() }
}
