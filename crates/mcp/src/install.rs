//! `spore mcp install`: writes Spore into a client's own settings, and takes it out again.
//!
//! The settings belong to the client and its user: comments, order and spelling of everything
//! around our entry stay as they are, a file that cannot be read is refused with its line and
//! left alone, and what was there before is kept, so that undoing gives the very same bytes
//! back. Where the file was edited in between, only our entry is taken out.

mod clients;
mod entry;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use spore_app::{Error, Result, Surroundings, Workspace};
use spore_model::Fault;

use clients::ClientFile;
pub use clients::{McpClient, McpScope};

/// What to write where.
#[derive(Clone, Debug, Default)]
pub struct InstallAsked {
    /// The one client that is meant; all that are in use where missing.
    pub client: Option<McpClient>,
    pub scope: Option<McpScope>,
    /// Take the entry out again.
    pub undo: bool,
    /// Only tell what would be written.
    pub dry_run: bool,
}

/// What became of one client's settings.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InstalledEntry {
    pub client: McpClient,
    pub scope: McpScope,
    pub file: String,
    pub state: InstallState,
    /// What changes, as people know it; empty if nothing does.
    pub diff: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InstallState {
    Written,
    /// It is there already, word for word.
    Unchanged,
    Removed,
    /// There was nothing to take out.
    Absent,
    /// Nothing was written: it was only asked.
    Planned,
}

/// What a file was before we wrote, and what we made of it.
#[derive(Serialize, Deserialize)]
struct SettingsRecord {
    before: Option<String>,
    after: String,
}

/// Writes or removes the entry, client by client. Nothing is written before all files were
/// read and understood.
pub fn install_mcp(around: &Surroundings, asked: &InstallAsked) -> Result<Vec<InstalledEntry>> {
    let workspace = Workspace::find(around)?;
    let home = home(around)?;
    let clients = match asked.client {
        Some(client) => vec![client],
        None => McpClient::in_use(workspace.root(), &home),
    };
    if clients.is_empty() {
        return Err(Error::new(Fault::Missing, "no client's settings were found here").hint(
            format!("name one: `spore mcp install --client {}`", McpClient::names().join("|")),
        ));
    }
    let program = program(around);
    let mut changes = Vec::new();
    for client in clients {
        let target = client.target(asked.scope, workspace.root(), &home)?;
        changes.push(SettingsChange::of(&workspace, target, &program, asked.undo)?);
    }
    changes.into_iter().map(|change| change.carry_out(around, asked)).collect()
}

/// What becomes of one settings file.
struct SettingsChange {
    target: ClientFile,
    record: PathBuf,
    before: Option<String>,
    after: Option<String>,
}

impl SettingsChange {
    fn of(workspace: &Workspace, target: ClientFile, program: &str, undo: bool) -> Result<Self> {
        let record = workspace.record_of("mcp", &target.path);
        let before = read(&target.path)?;
        let after = if undo {
            without(&target, &record, before.as_deref())?
        } else {
            Some(entry::with_entry(&target, before.as_deref().unwrap_or(""), program)?)
        };
        Ok(Self { target, record, before, after })
    }

    fn carry_out(self, around: &Surroundings, asked: &InstallAsked) -> Result<InstalledEntry> {
        let Self { target, record, before, after } = self;
        let diff = diff(&target.shown, before.as_deref(), after.as_deref());
        let changes = before != after;
        let state = match (asked.undo, changes) {
            (false, false) => InstallState::Unchanged,
            (true, false) => InstallState::Absent,
            _ if asked.dry_run => InstallState::Planned,
            (false, true) => InstallState::Written,
            (true, true) => InstallState::Removed,
        };
        if changes && !asked.dry_run {
            write(around, &target.path, after.as_deref())?;
            keep_record(around, &record, asked.undo, before, after)?;
        }
        let ClientFile { client, scope, shown, .. } = target;
        Ok(InstalledEntry { client, scope, file: shown, state, diff })
    }
}

/// Returns what the file is without our entry: what it was before, if it is still as we left
/// it; nothing, if there was no file.
fn without(target: &ClientFile, record: &Path, now: Option<&str>) -> Result<Option<String>> {
    let Some(now) = now else { return Ok(None) };
    let kept = std::fs::read(record).ok();
    let kept = kept.and_then(|text| serde_json::from_slice::<SettingsRecord>(&text).ok());
    match kept {
        Some(record) if record.after == now => Ok(record.before),
        _ => entry::without_entry(target, now).map(Some),
    }
}

fn keep_record(
    around: &Surroundings,
    path: &Path,
    undo: bool,
    before: Option<String>,
    after: Option<String>,
) -> Result<()> {
    let failed = |source| Error::io(format!("cannot write {}", spore_plain::path(path)), source);
    if undo {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        };
    }
    // Written over a file that has an older entry of ours: what was before that one counts.
    let earlier = std::fs::read(path).ok();
    let earlier = earlier.and_then(|text| serde_json::from_slice::<SettingsRecord>(&text).ok());
    let before = match earlier {
        Some(earlier) if Some(&earlier.after) == before.as_ref() => earlier.before,
        _ => before,
    };
    let record = SettingsRecord { before, after: after.unwrap_or_default() };
    let text = serde_json::to_vec_pretty(&record).map_err(|error| {
        Error::new(Fault::Bug, "the record of what was there cannot be written").because(error)
    })?;
    around.write_private_file(path, &text)
}

fn read(path: &Path) -> Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(format!("cannot read {}", spore_plain::path(path)), error)),
    }
}

fn write(around: &Surroundings, path: &Path, text: Option<&str>) -> Result<()> {
    match text {
        Some(text) => around.write_file(path, text.as_bytes()),
        None => around.remove_file(path),
    }
}

fn diff(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let header = |text: Option<&str>, side: &str| match text {
        Some(_) => format!("{side}/{name}"),
        None => "/dev/null".to_owned(),
    };
    similar::TextDiff::from_lines(before.unwrap_or(""), after.unwrap_or(""))
        .unified_diff()
        .context_radius(3)
        .header(&header(before, "a"), &header(after, "b"))
        .to_string()
}

/// How a client finds us: by name where that leads here, since settings are shared.
fn program(around: &Surroundings) -> String {
    let named = around.find_program("spore").and_then(|path| path.canonicalize().ok());
    match named.is_some() && named == around.exe.canonicalize().ok() {
        true => "spore".to_owned(),
        false => around.exe.display().to_string(),
    }
}

fn home(around: &Surroundings) -> Result<PathBuf> {
    let home = around.variable("HOME").filter(|home| !home.is_empty());
    home.map(PathBuf::from).ok_or_else(|| {
        Error::new(Fault::Missing, "HOME is not set, so no client's settings can be found")
    })
}
