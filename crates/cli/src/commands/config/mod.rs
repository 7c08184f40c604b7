//! The settings from the command line.

mod explain;
mod set;
mod show;
mod unset;

use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// See the settings in force, and change them
#[derive(clap::Subcommand)]
#[command(
    after_help = "Examples:\n  spore config show --origin          every setting and where it comes from\n  spore config show gates\n  spore config explain orchestrate.max_bounces\n  spore config set orchestrate.max_bounces 5\n  spore config set orchestrate.budget_usd 10 --user"
)]
pub(crate) enum ConfigCommand {
    Show(show::ConfigShowArgs),
    Explain(explain::ConfigExplainArgs),
    Set(set::SetArgs),
    Unset(unset::UnsetArgs),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &ConfigCommand) -> Result<u8> {
    match command {
        ConfigCommand::Show(args) => show::run(ui, around, args),
        ConfigCommand::Explain(args) => explain::run(ui, around, args),
        ConfigCommand::Set(args) => set::run(ui, around, args),
        ConfigCommand::Unset(args) => unset::run(ui, around, args),
    }
}
