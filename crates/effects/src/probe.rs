//! Names every durable effect, so that a test can kill the process right at it.
//!
//! Without the two variables below a probe is a null pointer check. With
//! `SPORE_EFFECTS_LOG=FILE` it appends the name of each point it passes; with
//! `SPORE_KILL_AT=NAME#N` it kills its own process, with SIGKILL, at the N-th pass of NAME.
//! The kill harness reads the first to know what to try with the second.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The kinds of effect that outlive a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    Commit,
    Ref,
    /// A row of the journal: a step's intent or result, with its ledger rows and outbox.
    Row,
    File,
    Event,
    Process,
    Checkout,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commit => "commit",
            Self::Ref => "ref",
            Self::Row => "row",
            Self::File => "file",
            Self::Event => "event",
            Self::Process => "process",
            Self::Checkout => "checkout",
        })
    }
}

/// Cheap to clone; all clones count together.
#[derive(Clone, Default)]
pub struct Probe(Option<Arc<Mutex<Armed>>>);

struct Armed {
    log: Option<PathBuf>,
    kill_at: Option<(String, u32)>,
    passed: BTreeMap<String, u32>,
}

impl Probe {
    /// A probe that does nothing.
    pub fn idle() -> Self {
        Self(None)
    }

    /// Arms a probe with the values of the two variables, where set.
    pub fn armed(log: Option<PathBuf>, kill_at: Option<&str>) -> Self {
        if log.is_none() && kill_at.is_none() {
            return Self::idle();
        }
        let kill_at = kill_at.map(|point| match point.rsplit_once('#') {
            Some((name, count)) => (name.to_owned(), count.parse().unwrap_or(1)),
            None => (point.to_owned(), 1),
        });
        Self(Some(Arc::new(Mutex::new(Armed { log, kill_at, passed: BTreeMap::new() }))))
    }

    /// Performs `act` between the two points of an effect.
    pub fn around<T>(&self, effect: Effect, name: &str, act: impl FnOnce() -> T) -> T {
        self.pass("before", effect, name);
        let done = act();
        self.pass("after", effect, name);
        done
    }

    fn pass(&self, side: &str, effect: Effect, name: &str) {
        let Some(armed) = &self.0 else { return };
        let mut armed = armed.lock().unwrap_or_else(PoisonError::into_inner);
        let point = format!("{side}:{effect}:{name}");
        let count = armed.passed.entry(point.clone()).or_insert(0);
        *count += 1;
        let count = *count;
        if let Some(log) = &armed.log {
            let opened = std::fs::OpenOptions::new().append(true).create(true).open(log);
            let _ = opened.and_then(|mut file| writeln!(file, "{point}#{count}"));
        }
        if armed.kill_at.as_ref().is_some_and(|(at, n)| *at == point && *n == count) {
            let _ = kill(Pid::this(), Signal::SIGKILL);
        }
    }
}
