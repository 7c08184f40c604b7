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
    /// Write flows to begin with to `.spore/flows/`: big-feature, iteration, debug-fix, chores,
    /// planning-only, research-only
    #[arg(long)]
    flows: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &InitArgs) -> Result<u8> {
    let mut made = spore_app::init(around)?;
    if args.agents {
        made.written.extend(spore_app::init_agents(around)?.written);
    }
    if args.flows {
        made.written.extend(spore_app::init_flows(around)?.written);
    }
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
