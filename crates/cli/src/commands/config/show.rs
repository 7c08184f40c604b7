use spore_app::{Result, Setting, Surroundings};

use crate::ui::Ui;

/// Show the settings in force
///
/// As lines of TOML, which may be copied into a settings file. A later layer wins: defaults,
/// your file, the project's file, the environment.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore config show\n  spore config show orchestrate.max_bounces --origin\n  spore config show gates"
)]
pub(crate) struct ConfigShowArgs {
    /// One setting, or a table of them; all if left out
    key: Option<String>,
    /// Say where each value comes from
    #[arg(long)]
    origin: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ConfigShowArgs) -> Result<u8> {
    let settings = spore_app::show_settings(around, args.key.as_deref())?;
    ui.answer_as_is(&settings, || match &args.key {
        Some(key) if settings.is_empty() => format!("# {key} is not set"),
        _ => settings.iter().map(|setting| line(setting, args.origin)).collect(),
    });
    Ok(0)
}

fn line(setting: &Setting, origin: bool) -> String {
    let Setting { key, value, .. } = setting;
    if origin {
        format!("{key} = {value}  # {}\n", setting.origin)
    } else {
        format!("{key} = {value}\n")
    }
}
