//! The listener of a session: reads its lines, watches the clock, and ends it in steps.

use std::borrow::Cow;
use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use spore_effects::Clock;
use spore_effects::session::Session;

use super::{Dialogue, EndedBy, LineMeaning, OnLine};
use crate::AgentWatch;

/// How often the caller is asked whether to go on.
pub(super) const HEARTBEAT: Duration = Duration::from_millis(50);

/// Room that is kept for the next line.
const USUAL_LINE: usize = 64 * 1024;

/// How far the end of a session has come.
enum StopState {
    Running,
    /// The program was asked to stop in its own protocol, and has until then.
    Asked {
        by: EndedBy,
        until: Instant,
    },
    /// The shim is ending the session.
    Stopped {
        by: EndedBy,
    },
}

pub(super) struct Listener<'a> {
    clock: &'a dyn Clock,
    dialogue: &'a Dialogue<'a>,
    /// The way to its stdin; dropped to close it.
    voice: Option<Sender<String>>,
    start: Instant,
    last_heard: Option<Instant>,
    /// Since when it should be on its way out.
    last_word: Option<Instant>,
    busy: bool,
    /// The line that asks the program to stop, as far as it is known.
    interrupt: Option<String>,
    stage: StopState,
}

impl<'a> Listener<'a> {
    pub(super) fn new(
        clock: &'a dyn Clock,
        dialogue: &'a Dialogue<'a>,
        voice: Sender<String>,
    ) -> Self {
        // The send fails only if the thread that writes stdin has ended.
        let _ = voice.send(dialogue.input.clone());
        Self {
            clock,
            dialogue,
            voice: dialogue.stay_open.then_some(voice),
            start: clock.monotonic(),
            last_heard: None,
            last_word: None,
            busy: false,
            interrupt: dialogue.interrupt.clone(),
            stage: StopState::Running,
        }
    }

    /// Passes lines on until nothing more can come. The session has ended then, or is about
    /// to.
    pub(super) fn listen(
        mut self,
        session: &mut Session,
        blocks: Receiver<Vec<u8>>,
        watch: &mut dyn AgentWatch,
        on_line: &mut OnLine<'_>,
    ) -> EndedBy {
        let mut lines = LineSplitter::new(self.dialogue.watchdog.line_cap);
        loop {
            match blocks.recv_timeout(HEARTBEAT) {
                Ok(block) => {
                    self.last_heard = Some(self.clock.monotonic());
                    lines.split(&block, &mut |line| self.obey(on_line(watch, line)));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    lines.finish(&mut |line| self.obey(on_line(watch, line)));
                    // A program that lives on without a voice is ended when the time to
                    // exit is over.
                    let now = self.clock.monotonic();
                    self.last_word.get_or_insert(now);
                    self.voice = None;
                    if !matches!(session.wait_until(now + HEARTBEAT), Ok(None)) {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(reason) = watch.worthless() {
                self.end(EndedBy::Abort(reason));
            }
            self.proceed(session, watch.cancelled());
        }
        match self.stage {
            StopState::Running => EndedBy::Itself,
            StopState::Asked { by, .. } | StopState::Stopped { by } => by,
        }
    }

    fn obey(&mut self, heard: LineMeaning) {
        match heard {
            LineMeaning::GoOn => self.busy = false,
            LineMeaning::Busy => self.busy = true,
            LineMeaning::Answer(line) => self.say(line),
            LineMeaning::Turn(turn) => {
                self.busy = turn.busy;
                turn.say.into_iter().for_each(|line| self.say(line));
                self.interrupt = turn.interrupt.or(self.interrupt.take());
            }
            LineMeaning::LastWord => {
                self.last_word.get_or_insert_with(|| self.clock.monotonic());
                self.voice = None;
            }
            LineMeaning::Abort(reason) => self.end(EndedBy::Abort(reason)),
        }
    }

    fn say(&self, mut line: String) {
        line.push('\n');
        if let Some(voice) = &self.voice {
            let _ = voice.send(line);
        }
    }

    /// Looks at the clock and takes the next step of an end, if one is due.
    fn proceed(&mut self, session: &Session, cancelled: bool) {
        if let Some(by) = self.overdue(cancelled) {
            self.end(by);
        }
        let due = |until: &Instant| self.clock.monotonic() >= *until;
        self.stage = match mem::replace(&mut self.stage, StopState::Running) {
            StopState::Asked { by, until } if due(&until) => {
                session.stop();
                StopState::Stopped { by }
            }
            stage => stage,
        };
    }

    /// Says why a running session must end now, if it must.
    fn overdue(&self, cancelled: bool) -> Option<EndedBy> {
        let watchdog = self.dialogue.watchdog;
        if !matches!(self.stage, StopState::Running) {
            return None;
        }
        let idle = self.dialogue.idle.filter(|_| !self.busy);
        let quiet = self.last_heard.map(|at| at.elapsed());
        let out_of_time = self.start.elapsed() > self.dialogue.request.limits.wall;
        if cancelled {
            Some(EndedBy::Cancel)
        } else if let Some(at) = self.last_word {
            (out_of_time || at.elapsed() > watchdog.exit).then_some(EndedBy::Lingering)
        } else if out_of_time {
            Some(EndedBy::WallClock)
        } else if let Some(quiet) = quiet {
            idle.is_some_and(|idle| quiet > idle).then_some(EndedBy::Idle)
        } else {
            (self.start.elapsed() > watchdog.first_output).then_some(EndedBy::Silence)
        }
    }

    /// Begins the end: with a word where the program understands one, with signals elsewhere.
    fn end(&mut self, by: EndedBy) {
        if !matches!(self.stage, StopState::Running) {
            return;
        }
        let grace = Duration::from_millis(self.dialogue.watchdog.grace.interrupt_ms);
        let patience = match &self.interrupt {
            Some(line) if self.voice.is_some() => {
                self.say(line.clone());
                grace
            }
            _ => Duration::ZERO,
        };
        self.stage = StopState::Asked { by, until: self.clock.monotonic() + patience };
    }
}

/// Cuts blocks into lines, with at most `cap` bytes of each.
struct LineSplitter {
    cap: usize,
    /// The beginning of a line whose end has not come.
    open: Vec<u8>,
    over: usize,
}

impl LineSplitter {
    fn new(cap: usize) -> Self {
        Self { cap, open: Vec::new(), over: 0 }
    }

    fn split(&mut self, block: &[u8], on_line: &mut dyn FnMut(&str)) {
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', block) {
            let text = &block[from..end];
            from = end + 1;
            if self.open.is_empty() && text.len() <= self.cap {
                on_line(&text_of(text));
            } else {
                self.add(text);
                self.finish_line(on_line);
            }
        }
        self.add(&block[from..]);
    }

    fn add(&mut self, text: &[u8]) {
        let room = self.cap.saturating_sub(self.open.len()).min(text.len());
        self.open.extend_from_slice(&text[..room]);
        self.over += text.len() - room;
    }

    /// A last line without an end is a line.
    fn finish(&mut self, on_line: &mut dyn FnMut(&str)) {
        if !self.open.is_empty() || self.over > 0 {
            self.finish_line(on_line);
        }
    }

    fn finish_line(&mut self, on_line: &mut dyn FnMut(&str)) {
        if self.over > 0 {
            let mark = format!(" … {} more bytes", self.over);
            self.open.extend_from_slice(mark.as_bytes());
        }
        on_line(&text_of(&self.open));
        self.over = 0;
        self.open.clear();
        // Frees the memory of one long line, which a long session would keep otherwise.
        self.open.shrink_to(USUAL_LINE);
    }
}

/// The check is many times faster than the repair, which is hardly ever needed.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(cap: usize, blocks: &[&[u8]], expected: &[&str]) {
        let mut lines = LineSplitter::new(cap);
        let mut heard = Vec::new();
        for block in blocks {
            lines.split(block, &mut |line| heard.push(line.to_owned()));
        }
        lines.finish(&mut |line| heard.push(line.to_owned()));
        assert_eq!(heard, expected);
    }

    #[test]
    fn lines_are_found_however_the_blocks_are_cut() {
        check(100, &[b"a\nb\n"], &["a", "b"]);
        check(100, &[b"a", b"b", b"\n", b"\nc"], &["ab", "", "c"]);
        check(100, &["gr\u{fc}n\n".as_bytes()], &["grün"]);
        check(100, &[&b"gr\xc3"[..], b"\xbcn\n"], &["grün"]);
        check(100, &[b"\xff\n"], &["\u{fffd}"]);
        check(100, &[], &[]);
    }

    #[test]
    fn a_line_over_the_cap_is_cut_and_says_so() {
        check(
            3,
            &[b"abc\nabcd\nabc", b"def\n"],
            &["abc", "abc … 1 more bytes", "abc … 3 more bytes"],
        );
        check(3, &[b"abcd"], &["abc … 1 more bytes"]);
    }
}
