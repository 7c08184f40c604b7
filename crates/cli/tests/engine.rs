//! Tasks of an engine, worked on by the runner of the product in a real project.
//!
//! The engine's own suite (`crates/engine`) plays its promises with scripts; here they are kept by real
//! runs. Workers are processes of their own, which is what the seam is for.

#![expect(
    clippy::disallowed_methods,
    reason = "a test has the machine's environment and processes"
)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use spore_app::{Credentials, Interrupt, ProjectRunner, Surroundings};
use spore_effects::{Clock, Ids, Probe, SystemClock};
use spore_engine::{EmbeddedEngine, Engine, EngineTask, EngineTerm, Submission, TaskState};
use spore_model::{CommitId, Outcome, Park, RunId, StepKey};
use spore_store::{Journal, JournalError, SqliteJournal, StepEntry};
use spore_testkit::TestEnv;

use crate::scenes;

/// An agent that any worker has by its own configuration: it does the task, or passes it. The first
/// time it waits for as long as it is let.
const AGENT: &str = r#"
p=$(cat)
nonce=$(printf %s "$p" | sed -n 's/.*<verdict>{"nonce": "\([^"]*\)".*/\1/p' | tail -n 1)
if [ -n "$nonce" ]; then
  echo "<verdict>{\"nonce\":\"$nonce\",\"verdict\":\"supports\",\"confidence\":0.9,\"reason\":\"42\"}</verdict>"
  exit
fi
if grep -q pause answer.txt; then sleep 2; fi
if grep -q slow answer.txt; then trap '' INT TERM; while :; do sleep 1; done; fi
echo 42 > answer.txt
echo done
"#;

/// The worker's own, which a test cannot hand over.
fn surroundings(dir: &Path, repo: &Path) -> Surroundings {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let home = dir.join("home");
    let path = std::env::var("PATH").unwrap();
    let variables =
        vec![("PATH".to_owned(), path), ("HOME".to_owned(), home.display().to_string())];
    Surroundings {
        ids: Ids::random(Arc::clone(&clock)),
        clock,
        probe: Probe::idle(),
        exe: env!("CARGO_BIN_EXE_spore").into(),
        cwd: repo.to_owned(),
        root: None,
        config_file: home.join(".config/spore/config.toml"),
        state_home: home.join(".local/state/spore"),
        credentials: Credentials::of(&variables, repo),
        variables,
        interrupt: Interrupt::default(),
        starter: None,
    }
}

fn scene(answer: &str) -> TestEnv {
    let env = scenes::small();
    env.write("answer.txt", answer);
    env.commit_all("as it is");
    let agent = env.dir().join("agent.sh");
    env.write_at(&agent, AGENT);
    env.write(
        ".spore/config.toml",
        &format!(
            "[gates.commands.check]\nrun = \"sh check.sh\"\n[command]\nprogram = \"sh\"\nargs = [\"-c\", '''{AGENT}''']\n"
        ),
    );
    let _ = env.spore(&["init"]);
    env
}

/// So often a task is begun at most.
const ATTEMPTS: u32 = 3;

fn journal(repo: &Path) -> Arc<SqliteJournal> {
    Arc::new(SqliteJournal::open(&repo.join(".spore/spore.db")).unwrap())
}

fn engine(repo: &Path) -> EmbeddedEngine {
    let (clock, leases) = (Arc::new(SystemClock), repo.join(".spore/leases"));
    EmbeddedEngine::new(journal(repo), clock, &leases, ATTEMPTS).unwrap()
}

/// Where a worker finds the project that it serves.
const PLACES: [&str; 2] = ["SPORE_TEST_WORKER_DIR", "SPORE_TEST_WORKER_REPO"];

/// Not a test by itself: what the workers of the others are.
#[test]
fn a_worker_serves_the_project_that_it_is_told_of() {
    let places = PLACES.map(std::env::var_os);
    let [Some(dir), Some(repo)] = places else { return };
    let (dir, repo) = (Path::new(&dir), Path::new(&repo));
    let runner = ProjectRunner::new(surroundings(dir, repo));
    engine(repo).serve(&runner, &|| false).unwrap();
}

/// A worker that is a process of its own. Dropped, it is killed.
struct Worker(Child);

impl Worker {
    fn start(env: &TestEnv) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "engine::a_worker_serves_the_project_that_it_is_told_of"]);
        command.env(PLACES[0], env.dir()).env(PLACES[1], env.repo());
        Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until this attempt at the coder's session has a program.
fn wait_for_coder(journal: &dyn Journal, run: RunId, attempt: u32) {
    scenes::wait_for("the coder", || {
        let step = journal.step(run, &StepKey::coder(1)).unwrap();
        step.is_some_and(|step| step.attempt == attempt)
            && journal.open_processes(run).unwrap().iter().any(|row| is_alive(row.pid))
    });
}

fn is_alive(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_killed_workers_run_goes_on_elsewhere_at_its_step_and_the_old_attempt_is_shut_out() {
    let env = scene("pause\n");
    let (repo, task) = (env.repo(), task(&env));
    let (engine, journal) = (engine(&repo), journal(&repo));
    assert_eq!(engine.submit(&task).unwrap(), Submission::New);
    let first = Worker::start(&env);
    wait_for_coder(&*journal, task.run, 1);
    drop(first);
    let _second = Worker::start(&env);
    let state = engine.wait(task.run, Duration::from_secs(90)).unwrap();
    assert_eq!(state, TaskState::Over { outcome: Outcome::Success });
    assert_eq!(scenes::newest(&env)["status"], "verified");
    // What was done is not done again, what was cut off is, and what the first says late is refused.
    let attempt = |key: &StepKey| journal.step(task.run, key).unwrap().map(|step| step.attempt);
    assert_eq!((attempt(&StepKey::baseline()), attempt(&StepKey::coder(1))), (Some(1), Some(2)));
    let late = StepEntry {
        result: serde_json::json!("late"),
        runs: Vec::new(),
        new_runs: Vec::new(),
        ledger: Vec::new(),
        events: Vec::new(),
        now: SystemClock.now(),
    };
    let refused = journal.finish_step(task.run, &StepKey::coder(1), 1, &late);
    assert!(matches!(refused, Err(JournalError::Fenced { newest: 2, .. })), "{refused:?}");
}

#[test]
fn a_run_that_kills_every_worker_waits_for_a_person() {
    let env = scene("slow\n");
    let (repo, task) = (env.repo(), task(&env));
    let (engine, journal) = (engine(&repo), journal(&repo));
    engine.submit(&task).unwrap();
    for attempt in 1..=ATTEMPTS {
        let worker = Worker::start(&env);
        wait_for_coder(&*journal, task.run, attempt);
        drop(worker);
    }
    let _last = Worker::start(&env);
    scenes::wait_for("it to be given up", || {
        let state = engine.wait(task.run, Duration::ZERO).unwrap();
        matches!(state, TaskState::Waiting { park: Park::Human, .. })
    });
    let left = spore_testkit::wait_until_none(&env.dir().join("home"), Duration::from_secs(8));
    assert!(left.is_empty(), "{left:?}");
}

fn task(env: &TestEnv) -> EngineTask {
    let run = RunId::from_parts(7, 7);
    let terms = [
        ("backend", EngineTerm::word("command").unwrap()),
        ("summarize", EngineTerm::Flag(false)),
        ("apply", EngineTerm::word("branch").unwrap()),
    ];
    EngineTask {
        run,
        parent: None,
        trace: run.into(),
        base: CommitId::new(env.git(&["rev-parse", "HEAD"])).unwrap(),
        task: "write the answer".to_owned(),
        terms: terms.map(|(name, term)| (name.to_owned(), term)).into(),
    }
}

#[test]
fn a_submitted_task_is_a_run_like_any_other_and_can_be_cancelled() {
    for (answer, cancelled) in [("41\n", false), ("slow\n", true)] {
        let env = scene(answer);
        let (engine, task) = (engine(&env.repo()), task(&env));
        assert_eq!(engine.submit(&task).unwrap(), Submission::New);
        assert_eq!(engine.submit(&task).unwrap(), Submission::Known);
        assert_eq!(scenes::newest(&env)["status"], "queued");
        let stop = AtomicBool::new(false);
        let runner = ProjectRunner::new(surroundings(env.dir(), &env.repo()));
        std::thread::scope(|scope| {
            scope.spawn(|| engine.serve(&runner, &|| stop.load(Ordering::Relaxed)).unwrap());
            if cancelled {
                let transcript = env
                    .repo()
                    .join(format!(".spore/runs/{}/bounce-1/coder/sandbox.json", task.run));
                scenes::wait_for("the coder", || transcript.exists());
                let begun = Instant::now();
                engine.cancel(task.run).unwrap();
                assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
                let left = spore_testkit::wait_until_none(&env.dir().join("home"), Duration::ZERO);
                assert!(left.is_empty(), "{left:?}");
            }
            let state = engine.wait(task.run, Duration::from_secs(60)).unwrap();
            stop.store(true, Ordering::Relaxed);
            match cancelled {
                true => assert!(
                    matches!(state, TaskState::Waiting { park: Park::Interrupt, .. }),
                    "{state:?}"
                ),
                false => assert_eq!(state, TaskState::Over { outcome: Outcome::Success }),
            }
        });
        let run = scenes::newest(&env);
        assert_eq!(run["status"], if cancelled { "interrupted" } else { "verified" }, "{run}");
    }
}
