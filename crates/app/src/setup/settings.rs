//! `spore config`: the settings in force, where each comes from, and how to change one.

use std::path::{Path, PathBuf};

use serde::Serialize;
use spore_config::{SettingEntry, SettingsLayer, SettingsOrigin, Value};
use spore_model::Fault;

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

/// Changes one setting in a file, which is made if it is not there. Nothing is written unless
/// the file can be used afterwards, and all that people wrote into it stays.
pub fn change_setting(
    around: &Surroundings,
    file: SettingsFile,
    key: &str,
    typed: &str,
) -> Result<SettingChanged> {
    let workspace = Workspace::find(around)?;
    let (path, origin): (PathBuf, fn(PathBuf) -> SettingsOrigin) = match file {
        SettingsFile::Project => {
            workspace.check_initialised()?;
            (workspace.config_file(), SettingsOrigin::Project)
        }
        SettingsFile::User => (around.config_file.clone(), SettingsOrigin::User),
    };
    let text = read(&path)?;
    let edited =
        spore_config::set(&SettingsLayer { origin: origin(path.clone()), text }, key, typed)?;
    // A mistake in another file must not keep the user from mending this one.
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
