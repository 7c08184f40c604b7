//! stdout is data, stderr is progress.
//!
//! Much of what is printed is foreign: names of files, words of agents, events. All text for
//! people leaves through [`shown`], here and nowhere else, so that no command can forget it; a
//! command only has to see to it that what should be one line is one. JSON is data for a
//! program and says what there was; [`shown_json`] only sees to its spelling. Neither
//! holds any of the user's credentials: what is printed ends up in logs of other programs.

mod live;
pub(crate) mod question;

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use spore_app::investigation::passes::InvestigationEstimate;
use spore_app::{Credentials, Interrupt, Live, LoopUpdate, Progress, Update};
use spore_plain::{block, line};

use crate::commands::{Global, ProgressStyle};
use crate::error;
use crate::screen::Screen;
use live::LiveLines;

pub(crate) struct Ui {
    json: bool,
    quiet: bool,
    verbose: bool,
    style: ProgressStyle,
    credentials: Credentials,
    /// What is going on, at the bottom of a terminal.
    live: Option<LiveLines>,
    /// How text for people is written to each.
    stdout: Screen,
    stderr: Screen,
    /// Why a part of the answer could not be written.
    lost: Option<std::io::Error>,
    /// A person is asked before anything is paid that was not named, and may interrupt instead.
    asks: Option<Interrupt>,
}

impl Ui {
    pub(crate) fn new(global: &Global) -> Self {
        let is_auto = global.progress == ProgressStyle::Auto;
        let on_terminal = std::io::stderr().is_terminal();
        // With `--json` a program listens: what it reads on stderr is an error or nothing,
        // unless it asked for progress.
        let quiet = global.quiet || global.json && is_auto && !on_terminal;
        Self {
            json: global.json,
            quiet,
            live: (is_auto && on_terminal && !quiet).then(LiveLines::new),
            verbose: global.verbose,
            style: global.progress,
            credentials: Credentials::default(),
            stdout: Screen::stdout(),
            stderr: Screen::stderr(),
            lost: None,
            asks: None,
        }
    }

    /// Keeps these out of everything that is printed from now on.
    pub(crate) fn strike(&mut self, credentials: &Credentials) {
        self.credentials = credentials.clone();
    }

    fn struck<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.credentials.known().strike(text)
    }

    /// Writes to stdout. What is for people is set for the terminal last: a credential that was
    /// broken into two lines would not be found.
    fn put(&mut self, answer: &str, set: fn(Screen, &str) -> String) {
        let answer = self.struck(answer);
        let answer = if self.json { answer.into_owned() } else { set(self.stdout, &answer) };
        let mut written = Ok(());
        self.above(|| {
            let mut out = std::io::stdout();
            written = writeln!(out, "{answer}").and_then(|()| out.flush());
        });
        // A reader such as `head` may close the pipe early: that is no error of ours.
        self.lost = self.lost.take().or_else(|| {
            written.err().filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe)
        });
    }

    /// Writes something while the lines of what is going on are away.
    fn above(&self, write: impl FnOnce()) {
        match &self.live {
            Some(live) => live.above(write),
            None => write(),
        }
    }

    /// Does without lines that are written over: this terminal cannot.
    pub(crate) fn on_plain_terminal(&mut self) {
        self.live = None;
    }

    /// Shows just these as going on, each with how long it has been.
    pub(crate) fn show_live<'l>(&mut self, now: impl Iterator<Item = (&'l Live, Duration)>) {
        let now: Vec<(Live, Duration)> =
            now.map(|(live, elapsed)| (self.struck_live(live), elapsed)).collect();
        let Some(lines) = &mut self.live else { return };
        lines.keep(&now.iter().map(|(live, _)| live.id).collect::<Vec<_>>());
        for (live, elapsed) in &now {
            lines.set(live, *elapsed);
        }
    }

    fn struck_live(&self, live: &Live) -> Live {
        let doing = live.doing.as_deref().map(|doing| self.struck(doing).into_owned());
        Live { doing, ..live.clone() }
    }

    /// Returns the exit code: an answer that could not be written is no success.
    pub(crate) fn end(&mut self, code: u8) -> u8 {
        match self.lost.take() {
            Some(error) if code == 0 => {
                self.fail(&spore_app::Error::io("the answer could not be written", error))
            }
            _ => code,
        }
    }

    /// Prints the answer: one JSON document, or `text`.
    pub(crate) fn answer(&mut self, data: &impl Serialize, text: impl FnOnce() -> String) {
        let answer = if self.json {
            shown_json(&serde_json::to_string_pretty(data).unwrap_or_default())
        } else {
            shown(&text())
        };
        self.put(&answer, Screen::render);
    }

    /// Prints an answer whose lines are as other programs read them.
    pub(crate) fn answer_as_is(&mut self, data: &impl Serialize, text: impl FnOnce() -> String) {
        let answer = if self.json {
            shown_json(&serde_json::to_string_pretty(data).unwrap_or_default())
        } else {
            shown(&text())
        };
        self.put(&answer, Screen::render_diff);
    }

    /// Draws a text over the whole terminal, from its upper left corner on.
    pub(crate) fn draw_over(&mut self, text: &str) {
        // Its size may have changed since the last drawing.
        self.stdout = Screen::stdout();
        let shown = self.stdout.render(&self.struck(&shown(text)));
        let height = terminal_size::terminal_size_of(std::io::stdout());
        let most = height.map_or(usize::MAX, |(_, height)| usize::from(height.0));
        let lines = shown.lines().take(most).map(|line| format!("{line}\x1b[K"));
        let mut out = std::io::stdout();
        let drawn = lines.collect::<Vec<_>>().join("\r\n");
        let _ = write!(out, "\x1b[H{drawn}\x1b[J").and_then(|()| out.flush());
    }

    /// Returns whether a program reads the answer.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns whether more is wanted than what matters most.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Prints one of many answers: a line of JSON, or `text`.
    pub(crate) fn line(&mut self, data: &impl Serialize, text: impl FnOnce() -> String) {
        let line = if self.json {
            shown_json(&serde_json::to_string(data).unwrap_or_default())
        } else {
            shown(&text())
        };
        self.put(&line, Screen::render);
    }

    /// Returns whether progress is not to be shown.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Returns whether progress is to be whole lines even on a terminal.
    pub(crate) fn is_plain(&self) -> bool {
        self.style == ProgressStyle::Plain
    }

    /// Returns whether a program reads the progress.
    pub(crate) fn progress_in_json(&self) -> bool {
        self.style == ProgressStyle::Json
    }

    /// Asks a person before an investigation is paid for, where one is there to answer.
    pub(crate) fn ask_before_paying(&mut self, interrupt: &Interrupt) {
        let is_there = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        self.asks = (is_there && !self.json && !self.quiet).then(|| interrupt.clone());
    }

    /// Answers in JSON from now on, whatever the flags said.
    pub(crate) fn answer_in_json(&mut self) {
        self.json = true;
    }

    /// Shows what agents do also without `-v`: the session is all there is to see.
    pub(crate) fn show_details(&mut self) {
        self.verbose = true;
    }

    /// Tells a person something that is not the answer.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.tell(&shown(text), Screen::render);
        }
    }

    pub(crate) fn fail(&mut self, error: &spore_app::Error) -> u8 {
        let text = if self.json {
            shown_json(&error::as_json(error).to_string())
        } else {
            error::within(&shown(&error::as_text(error))).into_owned()
        };
        self.tell(&text, if self.json { as_it_is } else { Screen::render });
        error.exit_code()
    }

    /// Writes to stderr, set for the terminal last: see [`Self::put`].
    fn tell(&self, line: &str, set: fn(Screen, &str) -> String) {
        let line = set(self.stderr, &self.struck(line));
        self.above(|| {
            let _ = writeln!(std::io::stderr(), "{line}");
        });
    }

    /// Shows how far a loop is, and how long it waits: to a program, and at the bottom of a terminal.
    fn of_loop(&mut self, update: &Update, told: &LoopUpdate) {
        if self.style == ProgressStyle::Json && !self.quiet {
            let told = shown_json(&json!({ "progress": update }).to_string());
            self.tell(&told, as_it_is);
        }
        let line = self.struck(&update.to_string()).into_owned();
        let Some(lines) = &mut self.live else { return };
        match told {
            LoopUpdate::AgentLimited { backend, left_ms } => {
                lines.limit(backend, Duration::from_millis(*left_ms));
            }
            _ => lines.total(line),
        }
    }

    /// Shows how far an investigation is: to a program, and at the bottom of a terminal.
    fn of_looking(&mut self, update: &Update) {
        if self.style == ProgressStyle::Json && !self.quiet {
            let told = shown_json(&json!({ "progress": update }).to_string());
            self.tell(&told, as_it_is);
        }
        let line = self.struck(&update.to_string()).into_owned();
        self.live.iter_mut().for_each(|lines| lines.total(line.clone()));
    }

    /// Returns whether a person is looking.
    pub(crate) fn on_terminal(&self) -> bool {
        std::io::stderr().is_terminal()
    }
}

/// What a program reads is not set for a terminal.
fn as_it_is(_: Screen, text: &str) -> String {
    text.to_owned()
}

/// Returns text for people as it may be printed: nothing in it acts on the terminal.
pub(crate) fn shown(text: &str) -> String {
    block(text.trim_end()).into_owned()
}

/// Returns a JSON document as it may be printed, even where the program that was to read it is
/// a terminal.
pub(crate) fn shown_json(document: &str) -> String {
    spore_plain::json(document).into_owned()
}

impl Progress for Ui {
    fn consents(&mut self, estimate: &InvestigationEstimate) -> bool {
        self.note(&estimate.to_string());
        let Some(interrupt) = self.asks.clone() else { return true };
        let mut is_agreed = false;
        self.above(|| is_agreed = question::agrees(&interrupt));
        is_agreed
    }

    fn update(&mut self, update: &Update) {
        match update {
            Update::Live { live } => {
                let live = self.struck_live(live);
                let elapsed = live.updated.since(live.started);
                return self.live.iter_mut().for_each(|lines| lines.set(&live, elapsed));
            }
            Update::Loop(
                told @ (LoopUpdate::LoopTotals { .. } | LoopUpdate::AgentLimited { .. }),
            ) => return self.of_loop(update, told),
            Update::Looking { .. } => return self.of_looking(update),
            Update::LiveEnded { id } => {
                return self.live.iter_mut().for_each(|lines| lines.remove(*id));
            }
            _ => {}
        }
        if self.quiet || update.is_talk() && !self.verbose && self.style != ProgressStyle::Json {
            return;
        }
        let told = update.to_string();
        let told = line(&told);
        let line = match self.style {
            ProgressStyle::Json => shown_json(&json!({ "progress": update }).to_string()),
            _ if update.is_detail() => format!("  {told}"),
            _ => told.into_owned(),
        };
        let set = match self.style {
            ProgressStyle::Json => as_it_is,
            _ if update.is_detail() => Screen::dim,
            _ => Screen::render,
        };
        self.tell(&line, set);
    }
}
