//! Names every durable effect, so that a test can kill the process right at it.
//!
//! Without the two variables below a probe is a null pointer check. With
//! `SPORE_EFFECTS_LOG=FILE` it appends the name of each point it passes; with
//! `SPORE_KILL_AT=NAME#N` it kills its own process, with SIGKILL, at the N-th pass of NAME.
//! The kill harness reads the first to know what to try with the second.
//!
//! A point has the same name in every run of the same task: ids in a name are written as
//! `RUN`, so the stores, refs and files that probe by themselves may name an effect by what it
//! touches.

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

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_armed() { "Probe(armed)" } else { "Probe(idle)" })
    }
}

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

    /// Returns whether a test listens: only then is a name worth working out.
    pub fn is_armed(&self) -> bool {
        self.0.is_some()
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
        let point = format!("{side}:{effect}:{}", without_ids(name));
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

/// Writes every id in a name as `RUN` and every character that would break the log's line as a
/// space. Ids are ULIDs: 26 characters of Crockford's base 32
/// (<https://github.com/ulid/spec>).
fn without_ids(name: &str) -> String {
    let is_id = |word: &str| {
        let mut bytes = word.bytes();
        word.len() == 26
            && bytes
                .all(|b| b.is_ascii_digit() || (b.is_ascii_uppercase() && !b"ILOU".contains(&b)))
    };
    let mut written = String::with_capacity(name.len());
    for piece in name.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        written.push_str(if is_id(word) { "RUN" } else { word });
        let rest = piece[word.len()..].chars();
        written.extend(rest.map(|c| if c.is_control() { ' ' } else { c }));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_the_same_name_in_every_run() {
        for (name, expected) in [
            ("begin coder/1", "begin coder/1"),
            ("refs/spore/01JD3ZK5E8Q4T7V9W2X6Y0ABCD/base", "refs/spore/RUN/base"),
            ("correction/01JD3ZK5E8Q4T7V9W2X6Y0ABCD", "correction/RUN"),
            ("01JD3ZK5E8Q4T7V9W2X6Y0ABCD", "RUN"),
            ("two\nlines\tand a tab", "two lines and a tab"),
            ("ein wörtchen mit ü", "ein wörtchen mit ü"),
        ] {
            assert_eq!(without_ids(name), expected);
        }
    }
}
