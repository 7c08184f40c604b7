use spore_app::{CampaignAsked, Error, Result, Surroundings};

use crate::commands::flow::{self, FlowArgs};
use crate::surroundings::listen_for_signals;
use crate::ui::Ui;

/// Begin a campaign
///
/// A campaign is a table `[campaigns.NAME]` in `.spore/flows/*.toml`: what is found out first, who
/// plans, whether a person looks at the plan, and who holds the result to what was promised.
/// Each phase ends with the project's checks, and what fails them never gets onto the branch.
/// With `--json` what became of all phases is printed.
///
/// Exit codes: 0 every phase passed and the evaluation did, 2 nested too deep, 3 a person is
/// needed, 10 not enough is found out or the evaluation is not passed, 11 given up and left to a
/// person, 12 not every phase passed, 20 interrupted, 21 timed out, 75 parked for quota.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore campaign run feature \"the parser accepts tabs\"\n  spore campaign run ./tabs.toml \"the parser accepts tabs\" --budget 20\n  spore resolve 7QX2 --approve          the plan is good\n  spore campaign status"
)]
pub(crate) struct CampaignRunArgs {
    /// The campaign, or a file that defines one
    #[arg(value_name = "NAME|FILE")]
    name: String,
    /// What it is about
    task: Option<String>,
    #[command(flatten)]
    flow: FlowArgs,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CampaignRunArgs) -> Result<u8> {
    let around = &args.flow.surroundings(around)?;
    let mut options = args.flow.options(around)?;
    if [".toml", ".json"].iter().any(|end| args.name.ends_with(end)) {
        let file = around.cwd.join(&args.name).canonicalize().map_err(|source| {
            let name = spore_plain::path(args.name.as_ref());
            Error::io(format!("cannot read {name}"), source)
        })?;
        options.flow_file = Some(file);
    }
    let asked = CampaignAsked { name: args.name.clone(), task: args.task.clone(), options };
    listen_for_signals(&around.interrupt)?;
    let report = spore_app::campaign(around, &asked, ui)?;
    ui.answer(&report, || flow::ending(&report));
    Ok(report.exit_code)
}
