//! What every engine has to do, tried out with real workers.
//!
//! A [`Bench`] is an engine with a journal and a way to start workers that are processes of their own
//! and run [`serve_scripts`]. [`check_all`] then holds it to its promises. The task's text is a script
//! for [`ScriptedRunner`], which does what any runner does: it records each step under its key, and
//! writes down what it did, so that what was done twice is seen.
//!
//! | line of a script | what it does |
//! |---|---|
//! | `steps N` | does N steps |
//! | `wait K` | waits in step K until there is a file `go` |
//! | `die K` | is killed in step K |
//! | `stubborn` | starts a program that ignores every polite signal, once, and only waits for that |
//! | `fail` | gives the attempt up |

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and processes")]

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use spore_effects::Clock;
use spore_effects::session::{ProcessIdentity, is_alive};
use spore_model::{
    CommitId, EffectClass, Outcome, Park, Run, RunId, RunKind, RunState, SessionToken, StepKey,
};
use spore_store::{Journal, JournalError, ProcessRow, RunChange, StepEntry};

use crate::{
    Engine, EngineError, EngineTask, Lease, RunnerError, Submission, TaskRunner, TaskState,
};

/// An engine to be tried out.
pub trait Bench: Sync {
    fn engine(&self) -> Arc<dyn Engine>;
    fn journal(&self) -> Arc<dyn Journal>;
    fn clock(&self) -> Arc<dyn Clock>;
    /// Where workers leave what they did.
    fn dir(&self) -> &Path;
    /// How often a task is begun at most.
    fn attempts(&self) -> u32;
    /// Starts a process that runs [`serve_scripts`] with this engine.
    fn start_worker(&self) -> Box<dyn WorkerProcess>;
}

/// A worker that is a process of its own. Dropped, it is ended.
pub trait WorkerProcess {
    /// Kills it, as a crash would.
    fn kill(&mut self);
    fn is_over(&mut self) -> bool;
}

/// The work of a worker: serves scripts until there is a file `stop`.
pub fn serve_scripts(bench: &dyn Bench) -> Result<(), EngineError> {
    let (journal, clock, dir) = (bench.journal(), bench.clock(), bench.dir().to_owned());
    let stop = dir.join("stop");
    let runner = ScriptedRunner { journal, clock, dir };
    bench.engine().serve(&runner, &|| stop.exists())
}

/// Holds an engine to all of its promises.
pub fn check_all(make: &dyn Fn() -> Box<dyn Bench>) {
    submitted_twice_is_one_run(&*make());
    a_killed_workers_task_goes_on_elsewhere_at_its_step(&*make());
    cancel_ends_the_group_in_two_seconds(&*make());
    attempts_are_capped(&*make());
    what_is_no_task_is_refused(&*make());
}

fn task(number: u128, script: &str) -> EngineTask {
    let run = RunId::from_parts(1, number);
    let base = "a".repeat(40);
    EngineTask {
        run,
        parent: None,
        trace: run.into(),
        base: CommitId::new(base).unwrap_or_else(|_| unreachable!("forty digits are a commit")),
        task: script.to_owned(),
        terms: std::collections::BTreeMap::new(),
    }
}

const PATIENCE: Duration = Duration::from_secs(30);

#[track_caller]
fn over(bench: &dyn Bench, run: RunId) {
    let state = bench.engine().wait(run, PATIENCE).unwrap();
    assert_eq!(state, TaskState::Over { outcome: Outcome::Success }, "{}", log(bench, run));
}

#[track_caller]
fn until(what: &str, ready: impl Fn() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

fn log(bench: &dyn Bench, run: RunId) -> String {
    fs::read_to_string(log_of(bench.dir(), run)).unwrap_or_default()
}

fn log_of(dir: &Path, run: RunId) -> PathBuf {
    dir.join(format!("{run}.log"))
}

fn submitted_twice_is_one_run(bench: &dyn Bench) {
    let (engine, task) = (bench.engine(), task(1, "steps 2"));
    let fresh = thread::scope(|scope| {
        let submit = || engine.submit(&task).unwrap();
        let callers: Vec<_> = (0..4).map(|_| scope.spawn(submit)).collect();
        let said = callers.into_iter().map(|caller| caller.join().unwrap());
        said.filter(|said| *said == Submission::New).count()
    });
    assert!(fresh >= 1, "somebody was the first");
    let _workers = [bench.start_worker(), bench.start_worker()];
    over(bench, task.run);
    assert_eq!(log(bench, task.run), "step 1 of attempt 1\nstep 2 of attempt 1\n");
    assert_eq!(engine.submit(&task).unwrap(), Submission::Known, "one that is over is over");
    over(bench, task.run);
}

fn a_killed_workers_task_goes_on_elsewhere_at_its_step(bench: &dyn Bench) {
    let (engine, task) = (bench.engine(), task(2, "steps 3\nwait 2"));
    engine.submit(&task).unwrap();
    let mut first = bench.start_worker();
    until("the second step", || log(bench, task.run).contains("step 2"));
    first.kill();
    fs::write(bench.dir().join("go"), "").unwrap();
    let _second = bench.start_worker();
    over(bench, task.run);
    assert_eq!(
        log(bench, task.run),
        "step 1 of attempt 1\nstep 2 of attempt 1\nstep 2 of attempt 2\nstep 3 of attempt 2\n"
    );
    // What the first one says late is not believed.
    let late = bench.journal().finish_step(task.run, &key(2), 1, &entry(bench.clock(), "late"));
    assert!(matches!(late, Err(JournalError::Fenced { newest: 2, .. })), "{late:?}");
}

fn cancel_ends_the_group_in_two_seconds(bench: &dyn Bench) {
    let (engine, task) = (bench.engine(), task(3, "stubborn\nsteps 1"));
    engine.submit(&task).unwrap();
    let worker = bench.start_worker();
    let journal = bench.journal();
    until("the program", || !journal.open_processes(task.run).unwrap().is_empty());
    let row = journal.open_processes(task.run).unwrap().remove(0);
    let (pid, start_ticks, boot_id) = (row.pid, row.start_ticks, row.boot_id);
    let program = ProcessIdentity { pid, start_ticks, boot_id };
    assert!(is_alive(&program));
    let begun = Instant::now();
    engine.cancel(task.run).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "it took {:?}", begun.elapsed());
    assert!(!is_alive(&program), "the program is left");
    let state = engine.wait(task.run, Duration::ZERO).unwrap();
    assert!(matches!(state, TaskState::Waiting { park: Park::Interrupt, .. }), "{state:?}");
    engine.cancel(task.run).unwrap();
    assert_eq!(engine.submit(&task).unwrap(), Submission::Again);
    over(bench, task.run);
    engine.cancel(task.run).unwrap();
    over(bench, task.run);

    // One that no worker has is cancelled as well.
    fs::write(bench.dir().join("stop"), "").unwrap();
    drop(worker);
    let queued = self::task(4, "steps 1");
    engine.submit(&queued).unwrap();
    engine.cancel(queued.run).unwrap();
    let state = engine.wait(queued.run, Duration::ZERO).unwrap();
    assert!(matches!(state, TaskState::Waiting { .. }), "{state:?}");
}

fn attempts_are_capped(bench: &dyn Bench) {
    let (engine, most) = (bench.engine(), bench.attempts());
    let (dies, fails) = (task(5, "steps 2\ndie 2"), task(6, "fail"));
    for task in [&dies, &fails] {
        engine.submit(task).unwrap();
    }
    let is_given_up = |run: RunId| {
        let state = engine.wait(run, Duration::ZERO).unwrap();
        matches!(state, TaskState::Waiting { park: Park::Human, .. })
    };
    let mut started = 0;
    while !(is_given_up(dies.run) && is_given_up(fails.run)) {
        started += 1;
        assert!(started <= most + 2, "{}", log(bench, dies.run));
        let mut worker = bench.start_worker();
        let begun = Instant::now();
        while !(worker.is_over() || is_given_up(dies.run) && is_given_up(fails.run)) {
            assert!(begun.elapsed() < PATIENCE, "a worker waits: {}", log(bench, dies.run));
            thread::sleep(Duration::from_millis(5));
        }
    }
    let mut expected = String::from("step 1 of attempt 1\n");
    for attempt in 1..=most {
        let _ = writeln!(expected, "step 2 of attempt {attempt}");
    }
    assert_eq!(log(bench, dies.run), expected);
    let failed = log(bench, fails.run);
    assert_eq!(failed.lines().count(), usize::try_from(most).unwrap(), "{failed}");
}

fn what_is_no_task_is_refused(bench: &dyn Bench) {
    let (engine, run) = (bench.engine(), RunId::from_parts(1, 99));
    let refused = [engine.cancel(run), engine.wait(run, Duration::ZERO).map(|_| ())];
    for refused in refused {
        assert!(matches!(refused, Err(EngineError::NoSuchTask { .. })), "{refused:?}");
    }

    // A loop is at work in the same journal. Its steps are no tasks for a worker, which goes on.
    let (journal, now) = (bench.journal(), bench.clock().now());
    let list = RunId::from_parts(1, 98);
    journal.create_run(&Run::begin(list, RunKind::Loop, "tasks.txt", now), &[]).unwrap();
    for key in [StepKey::task("7", 1), StepKey::task("a", 1)] {
        journal.begin_step(list, &key, EffectClass::Keyed, &json!({}), now).unwrap();
    }
    assert!(matches!(engine.cancel(list), Err(EngineError::NotATask { .. })));
    let task = task(7, "steps 1");
    engine.submit(&task).unwrap();
    let _worker = bench.start_worker();
    over(bench, task.run);
    let state = journal.run(list).unwrap().map(|row| row.state);
    assert_eq!(state, Some(RunState::Running));
}

/// Does what a task's text says.
pub struct ScriptedRunner {
    pub journal: Arc<dyn Journal>,
    pub clock: Arc<dyn Clock>,
    pub dir: PathBuf,
}

fn key(step: u32) -> StepKey {
    StepKey::snapshot(step)
}

fn entry(clock: Arc<dyn Clock>, result: &str) -> StepEntry {
    StepEntry {
        result: json!(result),
        runs: Vec::new(),
        new_runs: Vec::new(),
        ledger: Vec::new(),
        events: Vec::new(),
        now: clock.now(),
    }
}

impl TaskRunner for ScriptedRunner {
    fn run(&self, task: &EngineTask, lease: &dyn Lease) -> Result<(), RunnerError> {
        let number = |word: &str| -> u32 {
            let mut lines = task.task.lines().filter_map(|line| line.strip_prefix(word));
            lines.next().and_then(|count| count.trim().parse().ok()).unwrap_or(0)
        };
        let says = |word: &str| task.task.lines().any(|line| line == word);
        if says("fail") {
            self.note(task.run, &format!("failed attempt {}", lease.attempt()))?;
            return Err(RunnerError("as it was told".to_owned()));
        }
        if says("stubborn") && !self.dir.join("stubborn").exists() {
            self.wait_for_a_stubborn_program(task.run)?;
        }
        for step in 1..=number("steps") {
            let begun = self
                .journal
                .begin_step(task.run, &key(step), EffectClass::Fenced, &json!({}), self.clock.now())
                .map_err(told)?;
            if begun.result.is_some() {
                continue;
            }
            self.note(task.run, &format!("step {step} of attempt {}", lease.attempt()))?;
            if number("die") == step {
                std::process::abort();
            }
            while number("wait") == step && !self.dir.join("go").exists() {
                stop_if_lost(lease)?;
                thread::sleep(Duration::from_millis(5));
            }
            stop_if_lost(lease)?;
            let done = entry(Arc::clone(&self.clock), "done");
            let (run, attempt) = (task.run, begun.attempt);
            self.journal.finish_step(run, &key(step), attempt, &done).map_err(told)?;
        }
        stop_if_lost(lease)?;
        let change = RunChange {
            state: Some(RunState::Ended),
            outcome: Some(Outcome::Success),
            ended: Some(self.clock.now()),
            ..RunChange::default()
        };
        self.journal.update_run(task.run, &change, &[]).map_err(told)
    }
}

impl ScriptedRunner {
    fn note(&self, run: RunId, line: &str) -> Result<(), RunnerError> {
        let mut options = fs::OpenOptions::new();
        let file = options.create(true).append(true).open(log_of(&self.dir, run));
        file.and_then(|mut file| writeln!(file, "{line}")).map_err(told)
    }

    /// Looks at nothing but its program, which looks at no signal.
    fn wait_for_a_stubborn_program(&self, run: RunId) -> Result<(), RunnerError> {
        fs::write(self.dir.join("stubborn"), "").map_err(told)?;
        let script = "sh -c \"trap '' INT TERM HUP; while :; do sleep 1; done\" & wait";
        let mut child = Command::new("sh").args(["-c", script]).spawn().map_err(told)?;
        let pid = i32::try_from(child.id()).map_err(told)?;
        let ProcessIdentity { pid, start_ticks, boot_id } =
            ProcessIdentity::of(pid).map_err(told)?;
        let token = SessionToken::new("00000000000000ff").map_err(told)?;
        let started = self.clock.now();
        let row = ProcessRow { token, root: run, session: run, pid, start_ticks, boot_id, started };
        self.journal.process_started(&row).map_err(told)?;
        child.wait().map_err(told)?;
        Err(RunnerError("its program was ended".to_owned()))
    }
}

fn stop_if_lost(lease: &dyn Lease) -> Result<(), RunnerError> {
    match lease.is_lost() {
        true => Err(RunnerError("the lease is lost".to_owned())),
        false => Ok(()),
    }
}

fn told(error: impl std::fmt::Display) -> RunnerError {
    RunnerError(error.to_string())
}
