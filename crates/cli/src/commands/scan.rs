//! `spore scan`: what a directory holds.

mod text;

use std::path::{Path, PathBuf};

use serde::Serialize;
use spore_app::{Error, Result, ScanAsked, Surroundings};

use super::index::Bar;
use crate::surroundings::listen_for_signals;
use crate::ui::{Ui, shown};

pub(super) use text::report;

/// Show what is in a directory: tree, kinds of files, languages, sizes
///
/// Needs no model, no git and no project, and writes nothing. Lines are counted as tokei
/// counts them. What is ignored by git, by .sporeignore or by being hidden is left out; links
/// are listed and not followed; other file systems are not entered.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore scan                        the current directory\n  spore scan ~/src/linux -d 1       another one, one level of its tree\n  spore scan -a -x node_modules     hidden and ignored files too, but not these\n  spore scan --files --json         every file, in JSON"
)]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    pub(super) what: What,
    /// Name every file in the JSON answer
    #[arg(long)]
    files: bool,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// What to look at.
#[derive(clap::Args)]
pub(crate) struct What {
    /// The directory
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Show so many levels of the tree
    #[arg(short, long, value_name = "N")]
    depth: Option<u32>,
    /// Look at hidden and ignored files too
    #[arg(short, long)]
    all: bool,
    /// Leave out what has this name, or fits this pattern of an ignore file; may be repeated
    #[arg(short = 'x', long = "exclude", value_name = "NAME")]
    exclude: Vec<String>,
}

impl What {
    pub(super) fn asked(&self) -> ScanAsked {
        ScanAsked {
            dir: self.dir.clone(),
            depth: self.depth,
            all: self.all,
            exclude: self.exclude.clone(),
            every_file: false,
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Write the answer to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutputArgs {
    pub(super) fn file(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Prints a document, or writes it where it was asked for, to the letter.
    pub(super) fn document(&self, ui: &mut Ui, around: &Surroundings, text: &str) -> Result<()> {
        let Some(file) = &self.output else {
            ui.answer_as_is(&text, || text.to_owned());
            return Ok(());
        };
        let credentials = around.credentials.known();
        write(&around.cwd.join(file), credentials.strike(text).trim_end())?;
        ui.note(&format!("Written to {}.", spore_plain::path(file)));
        Ok(())
    }

    /// Prints the answer, or writes it where it was asked for.
    pub(super) fn answer(
        &self,
        ui: &mut Ui,
        around: &Surroundings,
        data: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<()> {
        let Some(file) = &self.output else {
            ui.answer(data, text);
            return Ok(());
        };
        let content = if ui.is_json() {
            serde_json::to_string_pretty(data).unwrap_or_default()
        } else {
            shown(&text())
        };
        write(&around.cwd.join(file), &content)?;
        ui.note(&format!("Written to {}.", spore_plain::path(file)));
        Ok(())
    }
}

fn write(path: &Path, content: &str) -> Result<()> {
    std::fs::write(path, format!("{content}\n"))
        .map_err(|source| Error::io(format!("cannot write {}", spore_plain::path(path)), source))
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ScanArgs) -> Result<u8> {
    let asked = ScanAsked { every_file: args.files, ..args.what.asked() };
    listen_for_signals(&around.interrupt)?;
    let bar = Bar::aside(ui);
    let scanned = spore_app::scan(around, &asked, &bar);
    bar.clear();
    let scanned = scanned?;
    args.output.answer(ui, around, &scanned, || report(&scanned))?;
    Ok(0)
}
