//! Works on tasks that an engine hands over. Knows no engine: a task and a lease are all it sees.
//!
//! The run that a task is has a row before it has settings. The first worker settles them and begins;
//! every later one finds them on record and goes on at the first step without a result. While a run
//! works the lease is watched: when it is lost the run parks, as on Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use spore_engine::{EngineTask, EngineTerm, Lease, RunnerError, TaskRunner};
use spore_model::{Run, Usd};
use spore_store::Journal;

use crate::base::surroundings::Interrupt;
use crate::run::request::Orchestrate;
use crate::run::{resume, start};
use crate::{Progress, Result, Surroundings, Update, Workspace};

/// How often a lease is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Works on tasks of the project that its surroundings are in.
pub struct ProjectRunner {
    around: Surroundings,
}

impl ProjectRunner {
    pub fn new(around: Surroundings) -> Self {
        Self { around }
    }

    fn work(&self, around: &Surroundings, task: &EngineTask) -> Result<()> {
        let workspace = Workspace::find(around)?;
        let config = workspace.config(around, &[])?;
        let row = workspace.journal(&config)?.run(task.run)?;
        let mut progress = NoAudience;
        match row {
            Some(run) if !run.settings.is_null() => {
                resume::go_on(around, &workspace, &run, None, &mut progress)?;
            }
            row => {
                let begun = row.unwrap_or_else(|| self.unknown(task));
                start::begin(around, &asked(task), &begun, &mut progress)?;
            }
        }
        Ok(())
    }

    /// An engine of another kind may have no row for a task yet.
    fn unknown(&self, task: &EngineTask) -> Run {
        let now = self.around.clock.now();
        let begun = Run::begin(task.run, spore_model::RunKind::Orchestrate, "", now);
        Run { parent: task.parent, trace: task.trace.clone(), ..begun }
    }
}

impl TaskRunner for ProjectRunner {
    fn run(&self, task: &EngineTask, lease: &dyn Lease) -> std::result::Result<(), RunnerError> {
        let interrupt = Interrupt::default();
        let around = self.around.interruptible(interrupt.clone());
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if lease.is_lost() {
                        interrupt.raise();
                        return;
                    }
                    thread::sleep(LOOK_AGAIN);
                }
            });
            let worked = self.work(&around, task);
            over.store(true, Ordering::Relaxed);
            worked.map_err(|error| RunnerError(error.to_string()))
        })
    }
}

/// Returns what a task asks for. A term that means nothing here is left to whom it means something.
fn asked(task: &EngineTask) -> Orchestrate {
    let term = |name: &str| task.terms.get(name);
    let word = |name: &str| match term(name) {
        Some(EngineTerm::Word(word)) => Some(word.clone()),
        _ => None,
    };
    let count = |name: &str| match term(name) {
        Some(EngineTerm::Count(count)) => u32::try_from(*count).ok(),
        _ => None,
    };
    let flag = |name: &str| term(name) == Some(&EngineTerm::Flag(true));
    let amount = |name: &str| match term(name) {
        Some(EngineTerm::Amount(usd)) => Usd::from_dollars(*usd),
        Some(EngineTerm::Count(usd)) => {
            u32::try_from(*usd).ok().map(f64::from).and_then(Usd::from_dollars)
        }
        _ => None,
    };
    Orchestrate {
        task: task.task.clone(),
        base: Some(task.base.to_string()),
        backend: word("backend"),
        model: word("model"),
        coder_model: word("coder_model"),
        max_bounces: count("max_bounces"),
        max_turns: count("max_turns"),
        budget: amount("budget"),
        allow_red: flag("allow_red"),
        fix_red: flag("fix_red"),
        allow_test_changes: flag("allow_test_changes"),
        require_seen: flag("require_seen"),
        hold_out: flag("hold_out"),
        summarize: term("summarize").map(|wanted| *wanted == EngineTerm::Flag(true)),
        apply: word("apply").and_then(|how| how.parse().ok()),
        experiment: word("experiment"),
        ..Orchestrate::default()
    }
}

/// A worker has no person before it: what is to be known is on record.
struct NoAudience;

impl Progress for NoAudience {
    fn update(&mut self, _update: &Update) {}
}
