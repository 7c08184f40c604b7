//! The lines at the bottom of a terminal: one for each session and check that is going on.
//!
//! They are drawn on stderr below everything else, and drawn anew when something changes and at
//! least every second, since time goes on while an agent is silent. Whatever else is written
//! goes above them: it is written while they are away.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use spore_app::Live;
use spore_effects::{Clock as _, SystemClock};
use spore_model::RunId;

use crate::screen::Screen;

/// How often time is seen to go on.
const TICK: Duration = Duration::from_millis(500);
/// More lines than this would push the rest off the screen.
const MOST: usize = 6;

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
        let width = terminal_width();
        let lines = self.lines(width);
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

    fn lines(&self, width: usize) -> Vec<String> {
        let line = |entry: &LiveEntry| {
            let text = entry.live.line(entry.since.elapsed());
            // One column stays free: a full line would wrap on some terminals.
            within(&text, width.saturating_sub(1).max(20))
        };
        let totals = self.totals.iter().map(|line| within(line, width.saturating_sub(1).max(20)));
        self.entries.iter().take(MOST).map(line).chain(totals).collect()
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

/// Returns the columns of the terminal behind stderr.
fn terminal_width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    size.map_or(80, |(terminal_size::Width(width), _)| usize::from(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_never_takes_more_columns_than_there_are() {
        assert_eq!(within("coder: 3 s", 20), "coder: 3 s");
        assert_eq!(within("abcdefghij", 5), "abcd…");
        assert_eq!(within("日本語を書く", 7), "日本語…");
        assert_eq!(within("日本語", 6), "日本語");
    }
}
