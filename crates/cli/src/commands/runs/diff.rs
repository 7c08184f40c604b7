use spore_app::{DiffAsked, Result, Surroundings};

use crate::ui::Ui;

/// Show what a run changed, as git writes it
///
/// Over all its attempts: from its base to the last tree that was handed in, verified or not; of a list to
/// the tip of its branch, of a race to the work of the winner. With
/// --bounce what one attempt changed of what the one before it left, with --up-to everything from
/// the base to the end of one attempt. Nothing that looked like a secret is in it.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore runs diff\n  spore runs diff 7QX2 --bounce 2\n  spore runs diff 7QX2 --up-to 1\n  spore runs diff 7QX2 | git apply --check"
)]
pub(crate) struct RunsDiffArgs {
    /// Any unique part of the run's id as it is shown; the newest run if left out
    run: Option<String>,
    /// What this attempt alone changed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    bounce: Option<u32>,
    /// All that was changed from the base to the end of this attempt
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "bounce",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    up_to: Option<u32>,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &RunsDiffArgs) -> Result<u8> {
    let asked = match (args.bounce, args.up_to) {
        (Some(bounce), _) => DiffAsked::Only(bounce),
        (None, Some(bounce)) => DiffAsked::UpTo(bounce),
        (None, None) => DiffAsked::Whole,
    };
    let diff = spore_app::diff_run(around, args.run.as_deref(), asked)?;
    let to = match (diff.bounce, &diff.commit) {
        (Some(bounce), _) => format!("attempt {bounce}"),
        (None, Some(commit)) => commit.as_str()[..12].to_owned(),
        (None, None) => "its end".to_owned(),
    };
    let from = match diff.from_bounce {
        Some(from) => format!("from attempt {from} to {to}"),
        None => format!("from the base to {to}"),
    };
    ui.note(&format!("Run {}, {from}, {}", diff.run.short(), diff.status));
    ui.answer_as_is(&diff, || diff.diff.clone());
    Ok(0)
}
