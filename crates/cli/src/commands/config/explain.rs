use spore_app::{Result, SettingExplained, Surroundings};

use crate::ui::Ui;

/// Say what a setting is for, and what it is now
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  spore config explain orchestrate.max_bounces\n  spore config explain gates.commands"
)]
pub(crate) struct ConfigExplainArgs {
    /// One setting, or a table of them
    key: String,
}

pub(crate) fn run(ui: &mut Ui, around: &Surroundings, args: &ConfigExplainArgs) -> Result<u8> {
    let explained = spore_app::explain_setting(around, &args.key)?;
    ui.answer(&explained, || told(&explained));
    Ok(0)
}

fn told(explained: &SettingExplained) -> String {
    let SettingExplained { key, text, settings, variable } = explained;
    let mut told = format!("{key}\n\n");
    for line in text.lines() {
        told.push_str(format!("  {line}").trim_end());
        told.push('\n');
    }
    told.push('\n');
    if settings.is_empty() {
        told.push_str("It is not set.\n");
    }
    for setting in settings {
        told.push_str(&format!("{} = {}  # {}\n", setting.key, setting.value, setting.origin));
    }
    if let Some(variable) = variable {
        told.push_str(&format!(
            "\nTo change it:\n  spore config set {key} VALUE [--user]\n  {variable}=VALUE spore ...\n"
        ));
    }
    told
}
