use std::path::PathBuf;

use spore_app::memory::{export_memory, import_memory};
use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Write the lines into a file of the project, between markers
///
/// For agents that are started without Spore. What surrounds the block of lines stays as it is, to
/// the byte; exported again, the block is replaced.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory export AGENTS.md\n  spore memory export CLAUDE.md"
)]
pub(crate) struct ExportArgs {
    /// The file, from the project's root
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Take the lines of a file of the project into memory, between markers
///
/// They are told to every session and tested like any other line. Lines that Spore exported there
/// are left out. `spore memory undo` takes an import back.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore memory import AGENTS.md\n  spore memory import CLAUDE.md"
)]
pub(crate) struct ImportArgs {
    /// The file, from the project's root
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn export(ui: &mut Ui, around: &Surroundings, args: &ExportArgs) -> Result<u8> {
    let done = export_memory(around, &args.file)?;
    ui.answer(&done, || match done.changed {
        true => format!("{} has {} lines of memory now.", done.file, done.lines),
        false => format!("{} has them already: {} lines of memory.", done.file, done.lines),
    });
    Ok(0)
}

pub(crate) fn import(ui: &mut Ui, around: &Surroundings, args: &ImportArgs) -> Result<u8> {
    let done = import_memory(around, &args.file)?;
    ui.answer(&done, || format!("{}\n\n{}", done.ending.result, done.diff));
    Ok(done.ending.outcome().exit_code())
}
