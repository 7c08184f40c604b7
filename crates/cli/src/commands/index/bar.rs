//! How far the work is: one line that is written over on a terminal, a line a stage elsewhere.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use spore_app::indexing::{IndexPhase, Reporter};
use spore_effects::{Clock as _, SystemClock};

use crate::ui::{Ui, shown};

/// How often the line is written at most.
const PAUSE: Duration = Duration::from_millis(80);
const WIDTH: u64 = 24;

pub(crate) struct Bar {
    /// Says nothing of its stages.
    silent: bool,
    /// Says what is worth a line.
    notes: bool,
    on_terminal: bool,
    json: bool,
    state: Mutex<BarState>,
}

#[derive(Default)]
struct BarState {
    stage: Option<IndexPhase>,
    written: Option<Instant>,
    is_dirty: bool,
}

impl Bar {
    pub(crate) fn new(ui: &Ui) -> Self {
        Self {
            silent: ui.is_quiet(),
            notes: !ui.is_quiet(),
            on_terminal: ui.on_terminal() && !ui.is_plain(),
            json: ui.progress_in_json(),
            state: Mutex::default(),
        }
    }

    /// Makes one that tells of its stages on a terminal alone: for a command whose answer is
    /// not the index.
    pub(crate) fn aside(ui: &Ui) -> Self {
        let mut bar = Self::new(ui);
        bar.silent |= !(bar.on_terminal || bar.json);
        bar
    }

    /// Takes the line away: something else is to be written.
    pub(crate) fn clear(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut state.is_dirty) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Whatever comes next, an error included, begins on a line of its own.
impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Reporter for Bar {
    fn progress(&self, stage: IndexPhase, done: u64, total: u64) {
        if self.silent {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = state.stage != Some(stage);
        state.stage = Some(stage);
        let mut error = std::io::stderr();
        if self.json {
            if is_new {
                let line = serde_json::json!({ "progress": { "update": "index", "stage": stage } });
                let _ = writeln!(error, "{line}");
            }
        } else if self.on_terminal {
            let is_due = state.written.is_none_or(|last| last.elapsed() > PAUSE);
            if is_new || is_due {
                let _ = write!(error, "\r\x1b[K{}", line(stage, done, total));
                let _ = error.flush();
                state.written = Some(SystemClock.monotonic());
                state.is_dirty = true;
            }
        } else if is_new {
            let _ = writeln!(error, "index: {}", stage.as_str());
        }
    }

    fn rest(&self) {
        self.clear();
    }

    fn note(&self, text: &str) {
        self.clear();
        if self.notes {
            let _ = writeln!(std::io::stderr(), "{}", shown(text));
        }
    }
}

fn line(stage: IndexPhase, done: u64, total: u64) -> String {
    if total == 0 {
        return format!("{} …", stage.as_str());
    }
    let filled = usize::try_from(done * WIDTH / total).unwrap_or_default();
    let rest = usize::try_from(WIDTH).unwrap_or_default().saturating_sub(filled);
    let what = if stage == IndexPhase::Embed { "texts" } else { "files" };
    let bar = format!("{}{}", "=".repeat(filled), " ".repeat(rest));
    format!("{} [{bar}] {done}/{total} {what}", stage.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_up() {
        assert_eq!(line(IndexPhase::Read, 5, 10), "read [============            ] 5/10 files");
        assert_eq!(line(IndexPhase::Walk, 0, 0), "walk …");
    }
}
