//! stdout is data, stderr is progress.

use std::io::{IsTerminal, Write};

use serde::Serialize;
use serde_json::json;
use spore_app::{Progress, Update};

use crate::commands::{Global, ProgressStyle};
use crate::error;

pub(crate) struct Ui {
    json: bool,
    quiet: bool,
    verbose: bool,
    style: ProgressStyle,
}

impl Ui {
    pub(crate) fn new(global: &Global) -> Self {
        Self {
            json: global.json,
            quiet: global.quiet,
            verbose: global.verbose,
            style: global.progress,
        }
    }

    /// Prints the answer: one JSON document, or `text`.
    pub(crate) fn answer(&mut self, data: &impl Serialize, text: impl FnOnce() -> String) {
        let answer = if self.json {
            serde_json::to_string_pretty(data).unwrap_or_default()
        } else {
            text().trim_end().to_owned()
        };
        // Whoever reads may have enough and go away; that is not our error.
        let _ = writeln!(std::io::stdout(), "{answer}");
    }

    pub(crate) fn fail(&mut self, error: &spore_app::Error) -> u8 {
        let text =
            if self.json { error::as_json(error).to_string() } else { error::as_text(error) };
        let _ = writeln!(std::io::stderr(), "{text}");
        error.fault.exit_code()
    }

    /// Returns whether a person is looking.
    pub(crate) fn on_terminal(&self) -> bool {
        std::io::stderr().is_terminal()
    }
}

impl Progress for Ui {
    fn update(&mut self, update: &Update) {
        if self.quiet || update.is_detail() && !self.verbose && self.style != ProgressStyle::Json {
            return;
        }
        let line = match self.style {
            ProgressStyle::Json => json!({ "progress": update }).to_string(),
            _ if self.on_terminal() && update.is_detail() => format!("\x1b[2m  {update}\x1b[0m"),
            _ if update.is_detail() => format!("  {update}"),
            _ => update.to_string(),
        };
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
