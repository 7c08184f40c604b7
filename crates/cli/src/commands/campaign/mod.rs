//! Campaigns: begun, gone on with, looked at and changed on the way.

mod change;
mod resume;
mod run;
mod status;

use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Lead a task from research to an evaluated result, in phases that are checked one by one
#[derive(clap::Subcommand)]
pub(crate) enum CampaignCommand {
    Run(run::CampaignRunArgs),
    Resume(resume::CampaignResumeArgs),
    Status(status::CampaignStatusArgs),
    Change(change::CampaignChangeArgs),
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, command: &CampaignCommand) -> Result<u8> {
    match command {
        CampaignCommand::Run(args) => run::run(ui, around, args),
        CampaignCommand::Resume(args) => resume::run(ui, around, args),
        CampaignCommand::Status(args) => status::run(ui, around, args),
        CampaignCommand::Change(args) => change::run(ui, around, args),
    }
}
