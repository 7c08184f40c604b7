//! stdout is data, stderr is progress.
//!
//! Much of what is printed is foreign: names of files, words of agents, events. All text for
//! people leaves through [`shown`], here and nowhere else, so that no command can forget it; a
//! command only has to see to it that what should be one line is one. JSON is data for a
//! program and says what there was; [`shown_json`] only sees to its spelling. Neither
//! holds any of the user's credentials: what is printed ends up in logs of other programs.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};

use serde::Serialize;
use serde_json::json;
use spore_app::{Credentials, Progress, Update};
use spore_plain::{block, line};

use crate::commands::{Global, ProgressStyle};
use crate::error;
use crate::screen::Screen;

pub(crate) struct Ui {
    json: bool,
    quiet: bool,
    verbose: bool,
    style: ProgressStyle,
    credentials: Credentials,
    /// How text for people is written to each.
    stdout: Screen,
    stderr: Screen,
    /// Why a part of the answer could not be written.
    lost: Option<std::io::Error>,
}

impl Ui {
    pub(crate) fn new(global: &Global) -> Self {
        Self {
            json: global.json,
            // With `--json` a program listens: what it reads on stderr is an error or nothing,
            // unless it asked for progress.
            quiet: global.quiet
                || global.json
                    && global.progress == ProgressStyle::Auto
                    && !std::io::stderr().is_terminal(),
            verbose: global.verbose,
            style: global.progress,
            credentials: Credentials::default(),
            stdout: Screen::stdout(),
            stderr: Screen::stderr(),
            lost: None,
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
        let mut out = std::io::stdout();
        let written = writeln!(out, "{answer}").and_then(|()| out.flush());
        // A reader such as `head` may close the pipe early: that is no error of ours.
        self.lost = self.lost.take().or_else(|| {
            written.err().filter(|error| error.kind() != std::io::ErrorKind::BrokenPipe)
        });
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
            let text = self.stderr.render(&self.struck(&shown(text)));
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    pub(crate) fn fail(&mut self, error: &spore_app::Error) -> u8 {
        let text = if self.json {
            shown_json(&error::as_json(error).to_string())
        } else {
            error::within(&shown(&error::as_text(error))).into_owned()
        };
        let text = self.struck(&text);
        let text = if self.json { text.into_owned() } else { self.stderr.render(&text) };
        let _ = writeln!(std::io::stderr(), "{text}");
        error.exit_code()
    }

    /// Returns whether a person is looking.
    pub(crate) fn on_terminal(&self) -> bool {
        std::io::stderr().is_terminal()
    }
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
    fn update(&mut self, update: &Update) {
        if self.quiet || update.is_detail() && !self.verbose && self.style != ProgressStyle::Json {
            return;
        }
        let told = update.to_string();
        let told = line(&told);
        let line = match self.style {
            ProgressStyle::Json => shown_json(&json!({ "progress": update }).to_string()),
            _ if update.is_detail() => format!("  {told}"),
            _ => told.into_owned(),
        };
        let line = self.struck(&line);
        let line = match self.style {
            ProgressStyle::Json => line.into_owned(),
            _ if update.is_detail() => self.stderr.dim(&line),
            _ => self.stderr.render(&line),
        };
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
