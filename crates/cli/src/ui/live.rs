//! The lines at the bottom of a terminal: one for each session and check that is going on, or for
//! each task of a list; then who is over its limit, for how long yet, and how far the whole is.
//!
//! They are drawn on stderr below everything else, and drawn anew when something changes and at
//! least every second, since time goes on while an agent is silent. Whatever else is written
//! goes above them: it is written while they are away.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use spore_app::{Live, time_in_words};
use spore_effects::{Clock as _, SystemClock};
use spore_model::RunId;

use crate::screen::Screen;

/// How often time is seen to go on.
const TICK: Duration = Duration::from_millis(500);
/// Lines of what goes on, by the height of the terminal: more would push the rest off the screen.
const FEWEST: usize = 2;
const MOST: usize = 16;

/// The lines, and the thread that keeps them up to date.
pub(crate) struct LiveLines {
    shared: Arc<Shared>,
    ticking: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    board: Mutex<Board>,
    is_over: AtomicBool,
}

#[derive(Default)]
struct Board {
    entries: Vec<LiveEntry>,
    /// Agents over their limit, and until when.
    limits: BTreeMap<String, Instant>,
    /// How far the whole is, below the rest.
    totals: Option<String>,
    /// Lines that are on the screen.
    drawn: Vec<String>,
}

struct LiveEntry {
    live: Live,
    /// When it began, by the clock of this process.
    since: Instant,
}

impl LiveLines {
    pub(crate) fn new() -> Self {
        Self { shared: Arc::default(), ticking: None }
    }

    /// Shows a line, in place of the one that the same thing had.
    pub(crate) fn set(&mut self, live: &Live, elapsed: Duration) {
        let now = SystemClock.monotonic();
        let since = now.checked_sub(elapsed).unwrap_or(now);
        let mut board = self.shared.board();
        match board.entries.iter_mut().find(|known| known.live.id == live.id) {
            // A check that follows another begins anew; a session that goes on does not.
            Some(known) if known.live.started == live.started => known.live = live.clone(),
            Some(known) => *known = LiveEntry { live: live.clone(), since },
            None => board.entries.push(LiveEntry { live: live.clone(), since }),
        }
        board.draw();
        drop(board);
        self.tick();
    }

    /// Shows how far the whole is, below the lines.
    pub(crate) fn total(&mut self, line: String) {
        let mut board = self.shared.board();
        board.totals = Some(line);
        board.draw();
    }

    /// Counts down until an agent's limit is over.
    pub(crate) fn limit(&mut self, agent: &str, left: Duration) {
        let until = SystemClock.monotonic() + left;
        let mut board = self.shared.board();
        let known = board.limits.entry(agent.to_owned()).or_insert(until);
        *known = until.max(*known);
        board.draw();
        drop(board);
        self.tick();
    }

    pub(crate) fn remove(&mut self, id: RunId) {
        let mut board = self.shared.board();
        board.entries.retain(|known| known.live.id != id);
        board.draw();
    }

    /// Leaves these alone.
    pub(crate) fn keep(&mut self, ids: &[RunId]) {
        let mut board = self.shared.board();
        board.entries.retain(|known| ids.contains(&known.live.id));
        board.draw();
    }

    /// Writes something else, above the lines.
    pub(crate) fn above(&self, write: impl FnOnce()) {
        let mut board = self.shared.board();
        board.erase();
        write();
        board.draw();
    }

    /// Keeps time while there is anything to show.
    fn tick(&mut self) {
        if self.ticking.is_some() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        self.ticking = Some(std::thread::spawn(move || {
            while !shared.is_over.load(Ordering::Acquire) {
                std::thread::park_timeout(TICK);
                shared.board().draw();
            }
        }));
    }
}

impl Drop for LiveLines {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(ticking) = self.ticking.take() {
            ticking.thread().unpark();
            let _ = ticking.join();
        }
        let mut board = self.shared.board();
        board.entries.clear();
        board.limits.clear();
        board.totals = None;
        board.draw();
    }
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Board {
    /// Draws what has changed since it was drawn last.
    fn draw(&mut self) {
        let lines = self.lines(terminal_size(), SystemClock.monotonic());
        if lines != self.drawn {
            self.erase();
            let (mut out, screen) = (std::io::stderr(), Screen::stderr());
            for line in &lines {
                let _ = writeln!(out, "{}", screen.dim(line));
            }
            let _ = out.flush();
            self.drawn = lines;
        }
    }

    fn lines(&self, (width, height): (usize, usize), now: Instant) -> Vec<String> {
        let most = (height / 2).clamp(FEWEST, MOST);
        let shown = self.entries.iter().take(most);
        let mut lines: Vec<String> = shown
            .map(|entry| entry.live.line(now.saturating_duration_since(entry.since)))
            .collect();
        if let more @ 1.. = self.entries.len().saturating_sub(most) {
            lines.push(format!("and {more} more"));
        }
        for (agent, until) in self.limits.iter().filter(|(_, until)| **until > now) {
            let left = until.saturating_duration_since(now) + Duration::from_millis(999);
            lines.push(format!("{agent} is over its limit: goes on in {}", time_in_words(left)));
        }
        lines.extend(self.totals.clone());
        // One column stays free: a full line would wrap on some terminals.
        lines.iter().map(|line| within(line, width.saturating_sub(1).max(20))).collect()
    }

    fn erase(&mut self) {
        let lines = std::mem::take(&mut self.drawn).len();
        if lines > 0 {
            let _ = write!(std::io::stderr(), "\x1b[{lines}A\r\x1b[J");
        }
    }
}

/// Returns a line in at most so many columns. A line that wraps could not be taken away again.
fn within(text: &str, columns: usize) -> String {
    let line = spore_plain::line(text);
    let width = |c: char| 1 + usize::from(is_wide(c));
    if line.chars().map(width).sum::<usize>() <= columns {
        return line.into_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let taken = width(*c);
        let fits = taken <= left;
        left = left.saturating_sub(taken);
        fits
    };
    let cut: String = line.chars().take_while(fits).collect();
    format!("{}…", cut.trim_end())
}

/// Returns whether terminals draw a character over two columns: the scripts of East Asia and the
/// pictures.
fn is_wide(c: char) -> bool {
    matches!(
        u32::from(c),
        0x1100..=0x115f
            | 0x2e80..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0xffe0..=0xffe6
            | 0x1f000..=0x1faff
            | 0x20000..=0x3fffd
    )
}

/// Returns the columns and rows of the terminal behind stderr.
fn terminal_size() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)))
}

#[cfg(test)]
mod tests {
    use spore_app::LiveKind;
    use spore_model::Timestamp;

    use super::*;

    #[test]
    fn tasks_limits_and_totals_stand_below_each_other() {
        let now = SystemClock.monotonic();
        let at = |seconds| now + Duration::from_secs(seconds);
        let entry = |number: u32| {
            let id = RunId::from_parts(0, number.into());
            let started = Timestamp::from_millis(0);
            let live = Live::new(id, LiveKind::Session, &format!("[{number}] coder"), started);
            LiveEntry { live, since: now }
        };
        let board = Board {
            entries: (1..=6).map(entry).collect(),
            limits: [("claude".to_owned(), at(70)), ("codex".to_owned(), at(3))].into(),
            totals: Some("1 of 6 tasks verified".to_owned()),
            drawn: Vec::new(),
        };
        let line = |number, seconds| format!("[{number}] coder: {seconds} s · 0 turns · $0.00");
        let two = |seconds| [line(1, seconds), line(2, seconds), "and 4 more".to_owned()];
        let total = || "1 of 6 tasks verified".to_owned();
        let mut expected = two(0).to_vec();
        expected.push("claude is over its limit: goes on in 1 min 10 s".to_owned());
        expected.push("codex is over its limit: goes on in 3 s".to_owned());
        expected.push(total());
        assert_eq!(board.lines((80, 4), now), expected);
        // One that is over is not told.
        let mut expected = two(5).to_vec();
        expected.push("claude is over its limit: goes on in 1 min 05 s".to_owned());
        expected.push(total());
        assert_eq!(board.lines((80, 4), at(5)), expected);
        assert_eq!(board.lines((80, 24), at(70)).len(), 7);
        assert!(board.lines((30, 24), now).iter().all(|line| line.chars().count() < 30));
    }

    #[test]
    fn a_line_never_takes_more_columns_than_there_are() {
        assert_eq!(within("coder: 3 s", 20), "coder: 3 s");
        assert_eq!(within("abcdefghij", 5), "abcd…");
        assert_eq!(within("日本語を書く", 7), "日本語…");
        assert_eq!(within("日本語", 6), "日本語");
    }
}
