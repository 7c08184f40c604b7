//! `orchestrate --race`: one task, several coders at once.
//!
//! Each racer is an ordinary run of the task below the race, in a checkout of its own, judged by the
//! same gates and verifier as any other. The first whose work holds wins, and the others are ended;
//! or all of them finish, and where the work of several holds a verifier compares the diffs. What the
//! winner made is then brought where the person asked for it. Everything is booked, and the trees of
//! the others keep their refs.
//!
//! Which run each racer is stands in the settings of the race, so a race that was killed goes on with
//! the very same ones. It always holds that the winner is on record before another racer is ended for it.

mod active;
mod choice;
mod racers;
mod winner;

use serde_json::json;
use spore_model::{Fault, Run, RunId, RunKind, SourceKind, Usd};
use spore_runs::RunReport;

use active::{Race, RaceSettings, Racer};

use crate::agents::backends::backend;
use crate::agents::ready;
use crate::base::error::bug;
use crate::base::outbox;
use crate::base::run_lock::{HeldRun, claim, read_settings, reopen};
use crate::report;
use crate::run::request::Orchestrate;
use crate::run::start::refuse_empty;
use crate::session::nesting::Ancestry;
use crate::session::parent::refuse_inside;
use crate::{Error, Progress, Result, Surroundings, Update, Workspace};

pub use choice::{BadRace, RaceField};

/// Lets several coders work on a task at once.
pub fn race(
    around: &Surroundings,
    asked: &Orchestrate,
    field: &RaceField,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    refuse_empty(&asked.task)?;
    if asked.agent.is_some() || asked.in_place {
        let message = "a race is judged, and lands as `--apply` says";
        return Err(Error::new(Fault::Usage, message).hint("leave `--agent` and `--in-place` out"));
    }
    let workspace = Workspace::find_for_run(around)?;
    let mut config = workspace.config(around, &[])?;
    let ancestry = Ancestry::read(around, config.spawn.max_depth)?;
    refuse_inside(around, &workspace, None)?;
    ready::choose(around, &mut config, asked.backend.as_deref(), progress);
    let repository = workspace.repository(around)?;
    let base = match &asked.base {
        Some(revision) => repository.resolve(revision)?,
        None => repository.head()?,
    };
    if !workspace.database().exists() {
        crate::base::init::init(around)?;
        progress.update(&Update::Initialised);
    }
    let journal = workspace.journal(&config)?;
    let id = around.ids.run();
    let task = crate::base::secrets::without_keys(around, &asked.task, "the task", progress);
    let backends = field.backends();
    for name in backends.iter().flatten() {
        // A name that means nothing is told before the others are paid.
        backend(around, &config, name, asked.scenario.as_deref())?;
    }
    let racer = |backend| Racer { run: around.ids.run(), backend };
    let settings = RaceSettings {
        asked: Orchestrate { task, ..asked.clone() },
        base,
        best: field.best,
        budget: asked.budget.unwrap_or(config.orchestrate.budget_usd),
        racers: backends.into_iter().map(racer).collect(),
        comparison: around.ids.run(),
        nesting: ancestry.nesting,
    };
    let _lock = claim(&workspace, id)?;
    let race = Race {
        around,
        workspace: &workspace,
        config: &config,
        repository: &repository,
        journal: &journal,
        id,
        trace: ancestry.trace_of(id),
        depth: ancestry.nesting.depth,
        settings,
    };
    race.create(&ancestry)?;
    progress.update(&Update::Started { run: id, base: race.settings.base.to_string() });
    race.work(progress)
}

/// Goes on with a race that was killed or waits.
pub(crate) fn go_on(
    around: &Surroundings,
    workspace: &Workspace,
    run: &Run,
    more: Option<Usd>,
    progress: &mut dyn Progress,
) -> Result<RunReport> {
    let repository = workspace.project_repository()?;
    let held = HeldRun::take(around, workspace, run.id)?;
    let (config, journal) = (&held.config, &held.journal);
    let mut settings: RaceSettings = read_settings(run)?;
    settings.budget += more.unwrap_or_default();
    reopen(around, journal, run, run.kind.as_str(), &settings)?;
    progress.update(&Update::Resumed { run: run.id, reaped: 0 });
    let race = Race {
        around,
        workspace,
        config,
        repository: &repository,
        journal,
        id: run.id,
        trace: run.trace.clone(),
        depth: run.depth,
        settings,
    };
    race.work(progress)
}

impl Race<'_> {
    fn create(&self, ancestry: &Ancestry) -> Result<()> {
        let settings = &self.settings;
        let title = crate::base::title::title(&settings.asked.task);
        let run = Run {
            trace: self.trace.clone(),
            task: Some(settings.asked.task.clone()),
            depth: self.depth,
            base_commit: Some(settings.base.clone()),
            experiment: settings.asked.experiment.clone(),
            settings: serde_json::to_value(settings).map_err(bug)?,
            ..Run::begin(self.id, RunKind::Race, title, self.around.clock.now())
        };
        let payload = json!({
            "kind": "race",
            "task": settings.asked.task,
            "base": settings.base,
            "racers": settings.racers,
            "best": settings.best,
            "started_by": ancestry.started_by(self.journal)?,
        });
        let event = self.events().make(SourceKind::Runner, "race", "run.started", self.id, payload);
        Ok(self.journal.create_run(&run, &[event])?)
    }

    /// Lets them run, settles who has won, ends the others and brings the work where it belongs.
    fn work(&self, progress: &mut dyn Progress) -> Result<RunReport> {
        outbox::flush(self.around, self.workspace, self.journal)?;
        if self.winner_on_record()?.is_none() {
            self.run_all(progress)?;
        }
        if let Some((outcome, park, reason)) = self.waits()? {
            self.park(outcome, park, &reason)?;
        } else {
            let waits = match self.settle_winner(progress)? {
                Ok(winner) => self.wind_up(winner, progress)?,
                Err(wait) => Some(wait),
            };
            if let Some((outcome, park, reason)) = waits {
                self.park(outcome, park, &reason)?;
            }
        }
        outbox::flush(self.around, self.workspace, self.journal)?;
        report::report(self.workspace, self.journal, self.id)
    }

    /// Ends the race for a decision that is on record, unless something has to be waited for.
    fn wind_up(
        &self,
        winner: Option<RunId>,
        progress: &mut dyn Progress,
    ) -> Result<Option<winner::Wait>> {
        self.give_up_losers(winner)?;
        if let Some(winner) = winner
            && let Some(wait) = self.apply(winner, progress)?
        {
            return Ok(Some(wait));
        }
        self.finish(winner)?;
        Ok(None)
    }
}
