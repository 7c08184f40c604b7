use std::path::PathBuf;

use spore_app::{ChangeAsked, PhaseEdit, Result, Surroundings};

use crate::commands::flow::read_file;
use crate::commands::text::to_do;
use crate::ui::Ui;

/// Change the phases of a campaign that were not begun yet
///
/// The campaign waits meanwhile, or was interrupted: what is under way or over stays as it is. A
/// file that adds phases has them as `[[phases]]` with `name`, `orchestrator` (or `stages`), `target`
/// and what they wait for in `depends_on`.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore campaign change 7QX2 --drop docs\n  spore campaign change 7QX2 --add more.toml\n  spore campaign change 7QX2 --order tests,docs,ship"
)]
pub(crate) struct CampaignChangeArgs {
    /// Any unique part of the run's id as it is shown; the only open campaign if left out
    run: Option<String>,
    /// Take this phase out
    #[arg(long, value_name = "PHASE", group = "edit", required_unless_present_any = ["add", "order"])]
    drop: Option<String>,
    /// Add the phases of this file
    #[arg(long, value_name = "FILE", group = "edit")]
    add: Option<PathBuf>,
    /// Every phase that was not begun, in the order in which they are to be
    #[arg(long, value_name = "A,B,C", group = "edit", value_delimiter = ',')]
    order: Option<Vec<String>>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &CampaignChangeArgs) -> Result<u8> {
    let edit = match (&args.drop, &args.add, &args.order) {
        (Some(phase), ..) => PhaseEdit::Drop(phase.clone()),
        (None, Some(path), _) => {
            let (file, text) = (spore_plain::path(path), read_file(around, path)?);
            PhaseEdit::Add { file, text }
        }
        (None, None, order) => PhaseEdit::Order(order.clone().unwrap_or_default()),
    };
    let changed = spore_app::change_campaign(around, &ChangeAsked { run: args.run.clone(), edit })?;
    ui.answer(&changed, || {
        let phases = changed.phases.join(", ");
        let next = changed.next.as_ref().map(|next| format!("\n{}", to_do(next)));
        let next = next.unwrap_or_default();
        format!("{}.\nThe phases are now: {phases}{next}", changed.changed)
    });
    Ok(0)
}
