//! Tasks of an engine, worked on by the runner of the product in a real project.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use spore_app::{Credentials, Interrupt, ProjectRunner, Surroundings};
use spore_effects::{Clock, Ids, Probe, SystemClock};
use spore_engine::{EmbeddedEngine, Engine, EngineTask, EngineTerm, Submission, TaskState};
use spore_model::{CommitId, Outcome, Park, RunId};
use spore_store::SqliteJournal;
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
if grep -q slow answer.txt; then trap '' INT TERM; while :; do sleep 1; done; fi
echo 42 > answer.txt
echo done
"#;

fn surroundings(env: &TestEnv) -> Surroundings {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let home = env.dir().join("home");
    let path = std::env::var("PATH").unwrap();
    let variables =
        vec![("PATH".to_owned(), path), ("HOME".to_owned(), home.display().to_string())];
    Surroundings {
        ids: Ids::random(Arc::clone(&clock)),
        clock,
        probe: Probe::idle(),
        exe: env.exe().to_owned(),
        cwd: env.repo(),
        root: None,
        config_file: home.join(".config/spore/config.toml"),
        state_home: home.join(".local/state/spore"),
        credentials: Credentials::of(&variables, &env.repo()),
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

fn engine(env: &TestEnv) -> EmbeddedEngine {
    let journal = Arc::new(SqliteJournal::open(&env.repo().join(".spore/spore.db")).unwrap());
    EmbeddedEngine::new(journal, Arc::new(SystemClock), &env.repo().join(".spore/leases"), 3)
        .unwrap()
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
        let (engine, task) = (engine(&env), task(&env));
        assert_eq!(engine.submit(&task).unwrap(), Submission::New);
        assert_eq!(engine.submit(&task).unwrap(), Submission::Known);
        assert_eq!(scenes::newest(&env)["status"], "queued");
        let stop = AtomicBool::new(false);
        let runner = ProjectRunner::new(surroundings(&env));
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
