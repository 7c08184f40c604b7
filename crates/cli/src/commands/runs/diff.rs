use spore_app::{Result, Surroundings};

use crate::ui::Ui;

/// Show what a run changed, as git writes it
///
/// The change of the last attempt that handed one in, verified or not; nothing that looked like
/// a secret is in it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs diff\n  spore runs diff 7QX2 --bounce 1\n  spore runs diff 7QX2 | git apply --check"
)]
pub(crate) struct RunsDiffArgs {
    /// Any unique part of the run's id as it is shown; the newest run if left out
    run: Option<String>,
    /// Of this attempt
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    bounce: Option<u32>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsDiffArgs) -> Result<u8> {
    let diff = spore_app::diff_run(around, args.run.as_deref(), args.bounce)?;
    ui.note(&format!("Run {}, attempt {}, {}", diff.run.short(), diff.bounce, diff.status));
    ui.answer_as_is(&diff, || diff.diff.clone());
    Ok(0)
}
