//! `spore config`: the settings in force, where each comes from, and how to change one.

use std::path::{Path, PathBuf};

use serde::Serialize;
use spore_config::{SettingEntry, SettingsLayer, SettingsOrigin, Value};
use spore_model::Fault;

use crate::setup::names;
use crate::{Error, Result, Surroundings, Workspace};

/// One setting in force.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Setting {
    pub key: String,
    pub value: Value,
    /// `defaults`, `user`, `project`, `environment` or `flag`.
    pub layer: &'static str,
    /// The file with line and column, or the name of the variable.
    pub origin: String,
}

/// Which file a setting goes into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingsFile {
    Project,
    User,
}

/// A setting that was changed: its values before and after.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SettingChanged {
    pub key: String,
    pub file: String,
    /// What was in force before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is in force now.
    pub now: Setting,
    /// Whether that comes from a stronger layer, and not from what was just written.
    pub overridden: bool,
}

/// Returns the settings in force: all, those of a table, or one.
pub fn show_settings(around: &Surroundings, key: Option<&str>) -> Result<Vec<Setting>> {
    let loaded = Workspace::find(around)?.settings(around, &[])?;
    let found = match key {
        None => loaded.entries().collect(),
        Some(key) => loaded.find(key, SettingsOrigin::Flag(format!("show {key}")))?,
    };
    Ok(found.into_iter().map(|(key, entry)| setting(key, entry)).collect())
}

/// A setting, what it is for, and what is in force.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SettingExplained {
    pub key: String,
    /// In the words of `defaults.toml`.
    pub text: String,
    /// The setting itself, or those of the table.
    pub settings: Vec<Setting>,
    /// The variable that sets it for one command; a table has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

/// Says what a setting is for. Works with settings that cannot be read: they are left out then.
pub fn explain_setting(around: &Surroundings, key: &str) -> Result<SettingExplained> {
    let text = spore_config::explain(key)?;
    let settings = show_settings(around, Some(key)).unwrap_or_default();
    let is_one = matches!(settings.as_slice(), [one] if one.key == key);
    Ok(SettingExplained {
        key: key.to_owned(),
        text,
        settings,
        variable: is_one.then(|| spore_config::variable(key)),
    })
}

/// A setting that was taken out of a file: what was in force, and what is now.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SettingRemoved {
    pub key: String,
    pub file: String,
    /// Whether the file had it.
    pub removed: bool,
    pub now: Vec<Setting>,
}

/// Takes a setting or a whole table out of a file, so that what lies below counts again.
pub fn remove_setting(
    around: &Surroundings,
    file: SettingsFile,
    key: &str,
) -> Result<SettingRemoved> {
    let workspace = Workspace::find(around)?;
    let (path, origin) = place(around, &workspace, file)?;
    let text = read(&path)?;
    let edited = spore_config::unset(&SettingsLayer { origin, text }, key)?;
    if let Some(edited) = &edited {
        write(around, &path, edited)?;
    }
    Ok(SettingRemoved {
        key: key.to_owned(),
        file: path.display().to_string(),
        removed: edited.is_some(),
        now: show_settings(around, Some(key)).unwrap_or_default(),
    })
}

fn place(
    around: &Surroundings,
    workspace: &Workspace,
    file: SettingsFile,
) -> Result<(PathBuf, SettingsOrigin)> {
    let (path, origin): (PathBuf, fn(PathBuf) -> SettingsOrigin) = match file {
        SettingsFile::Project => {
            workspace.check_initialised()?;
            (workspace.config_file(), SettingsOrigin::Project)
        }
        SettingsFile::User => (around.config_file.clone(), SettingsOrigin::User),
    };
    Ok((path.clone(), origin(path)))
}

/// Changes one setting in a file, which is made if it is not there. Nothing is written unless
/// the file can be used afterwards, and all that people wrote into it stays.
pub fn change_setting(
    around: &Surroundings,
    file: SettingsFile,
    key: &str,
    typed: &str,
) -> Result<SettingChanged> {
    let workspace = Workspace::find(around)?;
    let (path, origin) = place(around, &workspace, file)?;
    let text = read(&path)?;
    let edited = spore_config::set(&SettingsLayer { origin, text }, key, typed)?;
    // A mistake in another file must not keep the user from mending this one.
    let wanted = SettingsLayer::single(SettingsOrigin::Flag(format!("set {key}")), key, typed);
    if let Ok(loaded) = workspace.settings(around, &[wanted])
        && let Some((_, entry)) = loaded.entries().find(|(name, _)| *name == key)
    {
        names::check(workspace.root(), &loaded, key, &entry.value)?;
    }
    let before = one(around, &workspace, key).ok();
    write(around, &path, &edited)?;
    let now = one(around, &workspace, key)?
        .ok_or_else(|| Error::new(Fault::Bug, format!("{key} was set and is not there")))?;
    let layer = match file {
        SettingsFile::Project => "project",
        SettingsFile::User => "user",
    };
    Ok(SettingChanged {
        key: key.to_owned(),
        file: path.display().to_string(),
        before: before.flatten().map(|setting| setting.value),
        overridden: now.layer != layer,
        now,
    })
}

fn one(around: &Surroundings, workspace: &Workspace, key: &str) -> Result<Option<Setting>> {
    let loaded = workspace.settings(around, &[])?;
    let found = loaded.entries().find(|(name, _)| *name == key);
    Ok(found.map(|(key, entry)| setting(key, entry)))
}

fn setting(key: &str, entry: &SettingEntry) -> Setting {
    let layer = match &entry.place.origin {
        SettingsOrigin::Defaults => "defaults",
        SettingsOrigin::User(_) => "user",
        SettingsOrigin::Project(_) => "project",
        SettingsOrigin::Env(_) => "environment",
        SettingsOrigin::Flag(_) => "flag",
    };
    Setting {
        key: key.to_owned(),
        value: entry.value.clone(),
        layer,
        origin: entry.place.to_string(),
    }
}

fn read(path: &Path) -> Result<String> {
    match spore_effects::files::read_text(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(source) => Err(Error::io(format!("cannot read {}", spore_plain::path(path)), source)),
    }
}

fn write(around: &Surroundings, path: &Path, text: &str) -> Result<()> {
    // People keep their settings elsewhere and link to them; the link is to stay.
    let place: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    around.write_file(&place, text.as_bytes())
}
