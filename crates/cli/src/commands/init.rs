use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Make this directory a Spore project
///
/// Writes `.spore/` with a configuration to commit and an ignore file for what is local.
/// What is already there stays as it is.
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// Write the prompts of all roles to `.spore/agents/`, for editing
    #[arg(long)]
    agents: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &InitArgs) -> Result<u8> {
    let made = if args.agents { spore_app::init_agents(around)? } else { spore_app::init(around)? };
    ui.answer(&made, || {
        let mut text = if made.written.is_empty() {
            format!("{} is a Spore project already.\n", made.root)
        } else {
            format!("{} is a Spore project now: {}.\n", made.root, made.written.join(", "))
        };
        if !made.git {
            text.push_str(
                "It is not a git repository yet, and tasks need one: git init, then commit.\n",
            );
        }
        text
    });
    Ok(0)
}
