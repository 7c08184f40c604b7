use spore_app::{Result, SettingRemoved, SettingsFile, Surroundings};

use crate::ui::Ui;

/// Take a setting out of this project's file, or out of your own
///
/// What lies below counts again: your own file, then the defaults. A whole table can be taken
/// out, such as one check.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore config unset orchestrate.budget_usd\n  spore config unset gates.commands.test\n  spore config unset orchestrate.backend --user"
)]
pub(crate) struct UnsetArgs {
    /// The setting, or a table
    key: String,
    /// Change your own settings, for all projects
    #[arg(long)]
    user: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &UnsetArgs) -> Result<u8> {
    let file = if args.user { SettingsFile::User } else { SettingsFile::Project };
    let removed = spore_app::remove_setting(around, file, &args.key)?;
    ui.answer(&removed, || told(&removed));
    Ok(0)
}

fn told(removed: &SettingRemoved) -> String {
    let SettingRemoved { key, file, removed, now } = removed;
    let mut told = match removed {
        true => format!("{key} is no longer set in {file}"),
        false => format!("{key} is not set in {file}: nothing was changed"),
    };
    match now.as_slice() {
        [] => told.push_str("; it is set nowhere now\n"),
        settings => {
            told.push_str("; in force now:\n");
            for setting in settings {
                told.push_str(&format!(
                    "  {} = {}  # {}\n",
                    setting.key, setting.value, setting.origin
                ));
            }
        }
    }
    told
}
