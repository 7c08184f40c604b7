//! The sentinel in checks-only mode: the project's own commands on the files as they are now,
//! cycle by cycle.
//!
//! The sentinel mends nothing itself. After a cycle that found something the run waits, for a
//! person or an agent to mend it; going on with the run is the next cycle.

use std::path::PathBuf;

use spore_compose::{
    CheckResult, ChildEnd, Grade, Parked, Sentinel, SentinelEnding, SentinelNext, SentinelStep,
    Severity, Verification,
};
use spore_gates::{GateKind, GateResult, Runner, Standing};
use spore_git::Repository;
use spore_model::{
    Begun, CommitId, EffectClass, Outcome, Park, Run, RunId, RunKind, RunState, SourceKind, Ticket,
    TreeId,
};
use spore_store::RunChange;

use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use crate::base::checkouts::Checkouts;
use crate::base::error::bug;
use crate::base::run_refs;
use crate::base::step::Intent;
use crate::checks::runner::{self, Against, Checked, GateRuns};
use crate::checks::words;
use crate::run::request::Orchestrate;
use crate::run::settings::RunSettings;
use crate::session::sandbox::{Enforcement, Sandboxes};
use crate::{Progress, Result, Surroundings, Update, Workspace};

/// The sentinel at work.
pub(crate) struct Checks<'a> {
    pub(crate) ground: &'a ActiveFlow<'a>,
    pub(crate) place: LayerPlace,
    pub(crate) max_cycles: u32,
    /// Which commands, and what of the files counts.
    pub(crate) settings: RunSettings,
}

/// How far the cycles came.
pub(crate) enum ChecksOver {
    Ended { ending: SentinelEnding, last: Option<Verification> },
    Parked { parked: Parked, last: Option<Verification> },
}

/// Settles what a sentinel checks with.
pub(crate) fn settings(
    around: &Surroundings,
    workspace: &Workspace,
    config: &spore_config::Config,
) -> Result<RunSettings> {
    let repository = workspace.repository(around)?;
    RunSettings::settle(workspace, &repository, config, &Orchestrate::default())
}

/// Runs a stage that is one cycle of checks.
pub(crate) fn run(
    ground: &ActiveFlow<'_>,
    place: &LayerPlace,
    progress: &mut dyn Progress,
) -> Result<ChildEnd> {
    // What it began with, where it began before.
    let settings = match ground.journal.run(place.run)? {
        Some(run) => serde_json::from_value(run.settings).map_err(bug)?,
        None => settings(ground.around, ground.workspace, ground.config)?,
    };
    let checks = Checks { ground, place: place.clone(), max_cycles: 1, settings };
    let (outcome, reason, park, last) = match checks.work(progress)? {
        ChecksOver::Ended { ending, last } => (ending.outcome, ending.reason, None, last),
        ChecksOver::Parked { parked, last } => {
            (parked.outcome, parked.reason, Some(parked.park), last)
        }
    };
    let diagnosis = last.as_ref().map(Verification::audit).unwrap_or_default();
    Ok(ChildEnd {
        park,
        diagnosis,
        budget_left: ground.has_left(place.budget),
        grade: last.map(|last| last.overall),
        ..ChildEnd::new(place.run, outcome, Some(reason))
    })
}

impl Checks<'_> {
    /// Checks until there is a grade, or until something has to be mended.
    pub(crate) fn work(&self, progress: &mut dyn Progress) -> Result<ChecksOver> {
        let ground = self.ground;
        let details = Run {
            settings: serde_json::to_value(&self.settings).map_err(bug)?,
            ..ground.blank(self.place.run, RunKind::Sentinel)
        };
        ground.open(&self.place, RunKind::Sentinel, &details)?;
        let mut machine = Sentinel::new(self.max_cycles, ground.config.sentinel.stuck_cycles);
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
                    let Some((found, new)) = self.cycle(&step, cycle, &machine, progress)? else {
                        return Ok(self.stopped(machine));
                    };
                    fresh = new;
                    let next = machine.checked(found);
                    self.project(&machine)?;
                    next
                }
                SentinelNext::Mend { reason, .. } if fresh => {
                    let (outcome, park) = (Outcome::NeedsRefinement, Park::Human);
                    let parked = Parked { outcome, park, reason };
                    return Ok(ChecksOver::Parked { parked, last: machine.last().cloned() });
                }
                SentinelNext::Mend { then, .. } => SentinelNext::Do(then),
                SentinelNext::End(ending) => {
                    return Ok(ChecksOver::Ended { ending, last: machine.last().cloned() });
                }
            };
        }
    }

    fn stopped(&self, machine: Sentinel) -> ChecksOver {
        let (outcome, park) = (Outcome::Interrupted, Park::Interrupt);
        let parked = Parked { outcome, park, reason: "interrupted".to_owned() };
        ChecksOver::Parked { parked, last: machine.last().cloned() }
    }

    /// Runs one cycle, or finds its recorded result. Returns nothing where it was interrupted.
    fn cycle(
        &self,
        step: &SentinelStep,
        cycle: u32,
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
        let repository = ground.workspace.repository(ground.around)?;
        let (commit, tree) = self.present(&repository, cycle, &ticket)?;
        let gates = self.open_gates(cycle, &ticket)?;
        let Checked::Done(results) =
            self.check(&repository, gates, (&commit, &tree), cycle, progress)?
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
        progress.update(&Update::layer("sentinel", &format!("cycle {cycle}"), word, None));
        Ok(Some((found, true)))
    }

    /// Pins the files as they are now, as a commit that only Spore's own ref knows.
    fn present(
        &self,
        repository: &Repository,
        cycle: u32,
        ticket: &Ticket,
    ) -> Result<(CommitId, TreeId)> {
        let ground = self.ground;
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
        let logs = self.dir().join(format!("cycle-{cycle}"));
        let (commit, tree) = what;
        let against = Against::Nothing;
        let check = runner::Check { session: run, commit, tree, logs: &logs, against };
        gates.run(&check, progress)
    }

    fn checkouts<'c>(&'c self, repository: &'c Repository) -> Checkouts<'c> {
        Checkouts {
            around: self.ground.around,
            workspace: self.ground.workspace,
            repository,
            run: self.ground.root,
            settings: self.settings.checkout(),
        }
    }

    fn judged(&self, result: &GateResult, cycle: u32) -> CheckResult {
        let passed = result.standing == Standing::Green;
        let gate = self.settings.gates.iter().find(|gate| gate.name == result.gate);
        let warns = gate.is_some_and(|gate| gate.kind == GateKind::Lint);
        let log = result.log.file_name().map_or_else(PathBuf::new, PathBuf::from);
        let log = self.place.dir.join("sentinel").join(format!("cycle-{cycle}")).join(log);
        CheckResult {
            name: result.gate.clone(),
            tool: result.command.clone(),
            passed,
            errors: if passed { 0 } else { result.failed.max(1) },
            severity: if warns { Severity::Warning } else { Severity::Blocking },
            exit_code: result.exit,
            failing: result.failures.clone(),
            note: result.note.clone(),
            output: if passed { String::new() } else { last_of(&result.log) },
            log: log.display().to_string(),
        }
    }

    fn dir(&self) -> PathBuf {
        self.ground.dir().join(&self.place.dir).join("sentinel")
    }

    /// Writes what a cycle found, for the person or agent that mends it.
    fn project(&self, machine: &Sentinel) -> Result<()> {
        let Some(last) = machine.last() else { return Ok(()) };
        let (ground, dir) = (self.ground, self.dir());
        let cycle = dir.join(format!("cycle-{}", last.cycle));
        ground.write_json(&cycle.join("verification-results.json"), last)?;
        ground.write_json(&cycle.join("fix-list.json"), &last.fix_list())?;
        ground.write(&cycle.join("audit-report.md"), &last.audit())?;
        ground.write(&dir.join("grade.txt"), &format!("{}\n", last.overall))?;
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

/// Returns the last of what a check printed.
fn last_of(log: &std::path::Path) -> String {
    const ROOM: usize = 2_000;
    let text = spore_effects::files::read(log).unwrap_or_default();
    spore_gates::excerpt(&text, ROOM)
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
