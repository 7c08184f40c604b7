//! `spore memory inbox`: tasks for memory, one file each.

use std::fs;
use std::io::ErrorKind;

use serde::Serialize;
use spore_effects::files;
use spore_memory::inbox::{Packet, is_ack_name};
use spore_model::Fault;

use super::places::MemoryPlaces;
use crate::session::within::refuse_within;
use crate::{Error, Result, Surroundings, Workspace};

/// A longer task is a document: its place is a file that the task names.
const MOST_BYTES: usize = 64 << 10;

/// A task that waits.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct InboxTask {
    #[serde(flatten)]
    pub packet: Packet,
    /// Why its file cannot be read; it is unclear then, and stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

/// Adds a task and returns it. Under a name that is taken nothing is written.
pub fn add_inbox_task(around: &Surroundings, body: &str, name: Option<&str>) -> Result<InboxTask> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    refuse_within(around, &workspace.journal(&config)?, "give memory a task")?;
    if body.trim().is_empty() || body.len() > MOST_BYTES {
        return Err(Error::new(Fault::Usage, "a task has between one byte and 64 KiB").hint(
            "say what memory should look at: spore memory inbox add \"scan recent events\"",
        ));
    }
    let name = match name {
        Some(name) => checked(name)?.to_owned(),
        None => format!("{}.md", around.ids.event().to_string().to_lowercase()),
    };
    let body = &*around.secrets().strike(body);
    let dir = MemoryPlaces::of(&workspace).inbox();
    let path = dir.join(&name);
    let failed = |source| Error::io(format!("cannot write {}", spore_plain::path(&path)), source);
    fs::create_dir_all(&dir).map_err(failed)?;
    let written = around.probe.around(spore_effects::Effect::File, "inbox task", || {
        files::create_atomic(&path, body.as_bytes())
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Error::new(Fault::BadInput, format!("there is a task {name} already"))
                .hint("choose another name, or leave it out")
        }
        _ => failed(error),
    })?;
    Ok(InboxTask { packet: Packet::new(&name, body), unreadable: None })
}

/// Lists the tasks that wait, by name.
pub fn list_inbox(around: &Surroundings) -> Result<Vec<InboxTask>> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let names = MemoryPlaces::of(&workspace).inbox_names()?;
    let task = |name: &String| {
        let task = packet(&workspace, name).map(|packet| InboxTask { packet, unreadable: None });
        // One that cannot be read hides no other.
        task.unwrap_or_else(|error| InboxTask {
            packet: Packet::new(name, ""),
            unreadable: Some(error.to_string()),
        })
    };
    Ok(names.iter().map(task).collect())
}

/// Shows one task.
pub fn show_inbox_task(around: &Surroundings, name: &str) -> Result<InboxTask> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    Ok(InboxTask { packet: packet(&workspace, name)?, unreadable: None })
}

/// Reads a task of the inbox.
pub(super) fn packet(workspace: &Workspace, name: &str) -> Result<Packet> {
    let places = MemoryPlaces::of(workspace);
    let body = places.read(&places.inbox().join(checked(name)?))?;
    let body = body.ok_or_else(|| {
        Error::new(Fault::BadInput, format!("the inbox has no task {name}"))
            .hint("`spore memory inbox list` shows what is there")
    })?;
    Ok(Packet::new(name, &body))
}

fn checked(name: &str) -> Result<&str> {
    if is_ack_name(name) {
        return Ok(name);
    }
    let shown: String = name.chars().take(80).collect();
    Err(Error::new(Fault::Usage, format!("{shown:?} cannot be the name of a task"))
        .hint("letters, digits, `-`, `_` and `.`, at most 100, and not a dot in front"))
}
