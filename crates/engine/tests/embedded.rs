//! The embedded engine, held to the suite with workers that are real processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(
    clippy::disallowed_methods,
    reason = "a test has the machine's environment and processes"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use spore_effects::{Clock, SystemClock};
use spore_engine::conformance::{Bench, WorkerProcess, check_all, serve_scripts};
use spore_engine::{EmbeddedEngine, Engine};
use spore_store::{Journal, SqliteJournal};
use tempfile::TempDir;

/// Where a worker finds the bench that it belongs to.
const PLACE: &str = "SPORE_TEST_ENGINE";

struct EmbeddedBench {
    dir: PathBuf,
    journal: Arc<dyn Journal>,
    /// The bench's own, where it was not handed down.
    _home: Option<TempDir>,
}

impl EmbeddedBench {
    fn open(dir: &Path, home: Option<TempDir>) -> Self {
        let journal = Arc::new(SqliteJournal::open(&dir.join("spore.db")).unwrap());
        Self { dir: dir.to_owned(), journal, _home: home }
    }
}

impl Bench for EmbeddedBench {
    fn engine(&self) -> Arc<dyn Engine> {
        let leases = self.dir.join("leases");
        let engine = EmbeddedEngine::new(self.journal(), self.clock(), &leases, self.attempts());
        Arc::new(engine.unwrap())
    }

    fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    fn dir(&self) -> &Path {
        &self.dir
    }

    fn attempts(&self) -> u32 {
        3
    }

    fn start_worker(&self) -> Box<dyn WorkerProcess> {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "a_worker_serves_where_it_is_told_to", "--nocapture"]);
        let child = command.env(PLACE, &self.dir).stdout(Stdio::null()).stderr(Stdio::null());
        Box::new(RealWorker(child.spawn().unwrap()))
    }
}

struct RealWorker(Child);

impl WorkerProcess for RealWorker {
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    fn is_over(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for RealWorker {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Not a test by itself: what the workers of the others are.
#[test]
fn a_worker_serves_where_it_is_told_to() {
    if let Some(dir) = std::env::var_os(PLACE) {
        serve_scripts(&EmbeddedBench::open(Path::new(&dir), None)).unwrap();
    }
}

#[test]
fn the_embedded_engine_keeps_every_promise() {
    check_all(&|| {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().to_owned();
        Box::new(EmbeddedBench::open(&dir, Some(home)))
    });
}
