//! Memory from the command line: what events prove about the lines that every agent is told.

mod crystallize;
mod exchange;
mod feedback;
mod inbox;
mod judge;
mod scan;
mod status;
mod text;
mod trial;
mod undo;
mod update;
mod weave;
mod why;

use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// See what memory's lines are worth, and change them by evidence alone
///
/// The lines are those of `.spore/memory/CLAUDE.md`, which every task file carries. A scan
/// turns events into evidence about single lines, a crystallization folds it into a ledger,
/// and an update removes the lines that the ledger has enough evidence against.
#[derive(clap::Subcommand)]
#[command(
    after_help = "Examples:\n  spore memory scan && spore memory crystallize && spore memory update\n  spore memory status                  how every line stands\n  spore memory why L3                  what that rests on\n  spore memory feedback L3 failed \"we use just now\"\n  spore memory undo                    take the last update back"
)]
pub(crate) enum MemoryCommand {
    Scan(scan::MemoryScanArgs),
    Judge(judge::JudgeArgs),
    Crystallize(crystallize::CrystallizeArgs),
    Update(update::UpdateArgs),
    Undo(undo::UndoArgs),
    Weave(weave::WeaveArgs),
    Serve(weave::ServeArgs),
    Status(status::MemoryStatusArgs),
    Why(why::WhyArgs),
    Feedback(feedback::FeedbackArgs),
    Trial(trial::TrialArgs),
    Export(exchange::ExportArgs),
    Import(exchange::ImportArgs),
    #[command(subcommand)]
    Inbox(inbox::InboxCommand),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &MemoryCommand) -> Result<u8> {
    match command {
        MemoryCommand::Scan(args) => scan::run(ui, around, args),
        MemoryCommand::Judge(args) => judge::run(ui, around, args),
        MemoryCommand::Crystallize(args) => crystallize::run(ui, around, args),
        MemoryCommand::Update(args) => update::run(ui, around, args),
        MemoryCommand::Weave(args) => weave::run(ui, around, args),
        MemoryCommand::Serve(args) => weave::serve(ui, around, args),
        MemoryCommand::Undo(args) => undo::run(ui, around, args),
        MemoryCommand::Status(args) => status::run(ui, around, args),
        MemoryCommand::Why(args) => why::run(ui, around, args),
        MemoryCommand::Feedback(args) => feedback::run(ui, around, args),
        MemoryCommand::Trial(args) => trial::run(ui, around, args),
        MemoryCommand::Export(args) => exchange::export(ui, around, args),
        MemoryCommand::Import(args) => exchange::import(ui, around, args),
        MemoryCommand::Inbox(command) => inbox::run(ui, around, command),
    }
}
