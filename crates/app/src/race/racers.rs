//! The racers at work: each a run of its own on a thread of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use spore_effects::session::{self, ProcessIdentity};
use spore_model::{Outcome, Park, Run, RunState, RunStatus, Usd};
use spore_runs::{Apply, RunReport};

use super::active::{Race, Racer};
use crate::base::surroundings::Interrupt;
use crate::run::request::Orchestrate;
use crate::run::start::{Under, within};
use crate::{Progress, Result, Surroundings, Update};

/// How long racers that lost may take to park, before their processes are killed.
const POLITE: Duration = Duration::from_millis(900);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What a racer's thread says.
enum Heard {
    Update(Update),
    Over { racer: usize, end: Box<Result<RunReport>> },
}

/// Hands on what a racer has to say, under its name.
struct Heralded {
    sender: Sender<Heard>,
    name: String,
}

impl Progress for Heralded {
    fn update(&mut self, update: &Update) {
        let told = match update.is_live() {
            true => update.clone(),
            false if update.is_talk() => return,
            false => Update::Relayed { line: format!("{}: {update}", self.name) },
        };
        let _ = self.sender.send(Heard::Update(told));
    }
}

impl Race<'_> {
    /// Runs all racers that are not over, until one has won or none is left.
    pub(super) fn run_all(&self, progress: &mut dyn Progress) -> Result<()> {
        let (sender, receiver) = channel();
        let share = self.share()?;
        let mut around: Vec<Surroundings> = Vec::new();
        for _ in &self.settings.racers {
            around.push(self.around.interruptible(Interrupt::default()));
        }
        thread::scope(|scope| {
            let mut running = Vec::new();
            for (at, racer) in self.settings.racers.iter().enumerate() {
                let known = self.journal.run(racer.run)?;
                if known.is_some_and(|run| run.state == RunState::Ended) {
                    continue;
                }
                let (around, sender) = (&around[at], sender.clone());
                running.push(at);
                scope.spawn(move || {
                    let name = self.name_of(at);
                    let mut progress = Heralded { sender: sender.clone(), name };
                    let end = Box::new(self.run_one(around, racer, share, &mut progress));
                    let _ = sender.send(Heard::Over { racer: at, end });
                });
            }
            self.listen(&around, running, &receiver, progress)
        })
    }

    /// Listens until all threads are over. The first that holds ends the others; so does a person.
    fn listen(
        &self,
        around: &[Surroundings],
        mut running: Vec<usize>,
        receiver: &Receiver<Heard>,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let clock = &self.around.clock;
        let (mut failed, mut stopped_at) = (None, None);
        while !running.is_empty() {
            match receiver.recv_timeout(LOOK_AGAIN) {
                Ok(Heard::Update(update)) => progress.update(&update),
                Ok(Heard::Over { racer, end }) => {
                    running.retain(|at| *at != racer);
                    match *end {
                        Ok(report) if report.status == RunStatus::Verified => {
                            if !self.settings.best {
                                self.record_winner(report.run.id)?;
                                stop(around, &running, &mut stopped_at, clock.monotonic());
                            }
                        }
                        Ok(_) => {}
                        Err(error) => failed = Some(error),
                    }
                }
                Err(_) => {}
            }
            if self.around.interrupt.is_raised() {
                stop(around, &running, &mut stopped_at, clock.monotonic());
            }
            let is_late = stopped_at.is_some_and(|at| clock.monotonic() >= at + POLITE);
            if is_late {
                self.kill_processes(&running)?;
            }
        }
        // One that could not even begin is no reason to lose what another made.
        let none_began = self.rows()?.is_empty();
        match failed {
            Some(error) if none_began => Err(error),
            Some(error) => {
                progress.update(&Update::Relayed { line: format!("a racer failed: {error}") });
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn run_one(
        &self,
        around: &Surroundings,
        racer: &Racer,
        share: Usd,
        progress: &mut dyn Progress,
    ) -> Result<RunReport> {
        let spent = match self.journal.run(racer.run)? {
            Some(run) => self.spent(&run)?,
            None => Usd::ZERO,
        };
        let asked = &self.settings.asked;
        let asked = Orchestrate {
            base: Some(self.settings.base.to_string()),
            backend: racer.backend.clone().or_else(|| asked.backend.clone()),
            // In all, of which some may be gone already.
            budget: Some(share + spent),
            apply: Some(Apply::None),
            summarize: Some(false),
            ..asked.clone()
        };
        let under = Under {
            id: racer.run,
            parent: self.id,
            trace: self.trace.clone(),
            depth: self.depth + 1,
            nesting: self.settings.nesting,
        };
        within(around, &asked, &under, progress)
    }

    /// Returns what each racer that is not over may still spend: equal shares of what is left.
    fn share(&self) -> Result<Usd> {
        let rows = self.rows()?;
        let spent: Usd = rows.iter().map(|run| self.spent(run)).sum::<Result<Usd>>()?;
        let over = rows.iter().filter(|run| run.state == RunState::Ended).count();
        let open = i64::try_from(self.settings.racers.len() - over).unwrap_or(1).max(1);
        let left = self.settings.budget.as_nanos().saturating_sub(spent.as_nanos()).max(0);
        Ok(Usd::from_nanos(left / open))
    }

    fn spent(&self, run: &Run) -> Result<Usd> {
        Ok(self.journal.ledger(run.id)?.iter().map(|entry| entry.cost.usd).sum())
    }

    /// Ends what sessions and checks of these racers have running, whatever it ignores.
    fn kill_processes(&self, racers: &[usize]) -> Result<()> {
        for at in racers {
            for row in self.journal.open_processes(self.settings.racers[*at].run)? {
                let (pid, start_ticks, boot_id) = (row.pid, row.start_ticks, row.boot_id);
                let identity = ProcessIdentity { pid, start_ticks, boot_id };
                session::reap(&identity, &row.token, Duration::ZERO);
            }
        }
        Ok(())
    }

    /// Says what the race waits for, if no racer holds and one of them waits.
    pub(super) fn waits(&self) -> Result<Option<(Outcome, Park, String)>> {
        if self.winner_on_record()?.is_some() {
            return Ok(None);
        }
        let rows = self.rows()?;
        let holds = |run: &Run| run.status(false) == RunStatus::Verified;
        if rows.iter().any(holds) && !self.settings.best {
            return Ok(None);
        }
        let interrupted = self.around.interrupt.is_raised();
        let waiting = rows.iter().find(|run| run.is_open());
        Ok(match waiting {
            Some(run) => {
                let reason = run.reason.clone().unwrap_or_else(|| "interrupted".to_owned());
                let outcome = run.outcome.unwrap_or(Outcome::Interrupted);
                Some((outcome, run.park.unwrap_or(Park::Interrupt), reason))
            }
            None if interrupted && rows.len() < self.settings.racers.len() => {
                Some((Outcome::Interrupted, Park::Interrupt, "interrupted".to_owned()))
            }
            None => None,
        })
    }
}

fn stop(
    around: &[Surroundings],
    running: &[usize],
    stopped_at: &mut Option<std::time::Instant>,
    now: std::time::Instant,
) {
    for at in running {
        around[*at].interrupt.raise();
    }
    stopped_at.get_or_insert(now);
}
