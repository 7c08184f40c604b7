use spore_app::{Result, SettingChanged, SettingsFile, Surroundings};

use crate::ui::Ui;

/// Change a setting of this project, or one of your own
///
/// Writes it into `.spore/config.toml`, or with --user into your own settings file. Comments
/// stay. A value needs no quotes of TOML; a list is written with commas.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore config set gates.commands.test.run \"make test\"\n  spore config set commit.allow fixtures/a.db,fixtures/b.db\n  spore config set orchestrate.budget_usd 10 --user"
)]
pub(crate) struct SetArgs {
    /// The setting; `spore config show` lists them
    key: String,
    /// What it is to be
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Change your own settings, for all projects
    #[arg(long)]
    user: bool,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &SetArgs) -> Result<u8> {
    let file = if args.user { SettingsFile::User } else { SettingsFile::Project };
    let changed = spore_app::change_setting(around, file, &args.key, &args.value)?;
    ui.answer(&changed, || told(&changed));
    Ok(0)
}

fn told(changed: &SettingChanged) -> String {
    let SettingChanged { key, file, before, now, overridden } = changed;
    if *overridden {
        return format!(
            "{key} is set in {file}, but {} overrides it: {} is in force.",
            now.origin, now.value
        );
    }
    match before {
        Some(before) if *before != now.value => {
            format!("{key} = {} (was {before}), in {file}", now.value)
        }
        _ => format!("{key} = {}, in {file}", now.value),
    }
}
