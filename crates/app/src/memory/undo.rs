//! `spore memory undo`: the broadcast file as it was before the newest update.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spore_memory::edit::diff;
use spore_memory::inbox::Terminal;
use spore_memory::lines::{BROADCAST, LineHash, LineMap};
use spore_model::{Fault, Outcome, Run, RunId, RunKind, RunState};
use spore_store::RunQuery;

use super::passes::{Pass, PassEnding, Report};
use super::requests::{PassSettings, UndoSettings};
use super::update::kept;
use crate::session::within::refuse_within;
use crate::{Error, Result, Surroundings, Workspace};

/// What was taken back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MemoryUndone {
    #[serde(flatten)]
    pub ending: PassEnding,
    /// The update that was taken back.
    pub update: RunId,
    /// The lines that are there again.
    pub restored: Vec<LineHash>,
    pub diff: String,
}

impl Report for MemoryUndone {
    fn ending(&mut self) -> &mut PassEnding {
        &mut self.ending
    }

    fn told(&self) -> (&'static str, Value) {
        ("memory.undone", json!({ "update": self.update, "restored": self.restored }))
    }

    /// Else the next update would change them again for the same reasons.
    fn restored(&self) -> Vec<Value> {
        let of_line = |hash: &LineHash| json!({ "line": hash, "update": self.update });
        self.restored.iter().map(of_line).collect()
    }
}

/// Takes back the newest update that has not been taken back.
pub fn undo_memory(around: &Surroundings) -> Result<MemoryUndone> {
    let workspace = Workspace::find(around)?;
    workspace.check_initialised()?;
    let config = workspace.config(around, &[])?;
    let journal = workspace.journal(&config)?;
    refuse_within(around, &journal, "change what every session is told")?;
    let update = newest_update(&journal)?;
    let settings = UndoSettings { update };
    let tagged = PassSettings::Undo(settings.clone());
    let pass = Pass::begin(around, &workspace, &config, "memory undo", &tagged)?;
    perform_undo(&pass, &settings)
}

pub(super) fn perform_undo(pass: &Pass<'_>, settings: &UndoSettings) -> Result<MemoryUndone> {
    pass.perform(None, None, || {
        let text = |name| -> Result<String> {
            let path = kept(pass.workspace, settings.update, name);
            pass.places.read(&path)?.ok_or_else(|| {
                let id = settings.update.short();
                Error::new(Fault::BadInput, format!("what update {id} changed is no longer kept"))
                    .hint("git may have the file as it was: it is shared")
            })
        };
        let (before, after) = (text("before.md")?, text("after.md")?);
        let _: bool = pass.step("write", || {
            pass.places.replace_broadcast(pass.around, &after, &before).map_err(|error| {
                let path = kept(pass.workspace, settings.update, "before.md");
                error.hint(format!(
                    "the file as it was before the update: {}",
                    spore_plain::path(&path)
                ))
            })?;
            Ok(true)
        })?;
        let id = settings.update.short();
        Ok(MemoryUndone {
            ending: PassEnding {
                run: Some(pass.run),
                terminal: Terminal::Updated,
                result: format!("UPDATED: {BROADCAST} is as it was before update {id}."),
                acked: None,
                pending_task: None,
            },
            update: settings.update,
            restored: restored(&before, &after),
            diff: diff(&after, &before),
        })
    })
}

/// The lines that `before` has and `after` has not.
fn restored(before: &str, after: &str) -> Vec<LineHash> {
    let left = LineMap::read(after);
    let map = LineMap::read(before);
    let gone = map.lines().iter().filter(|line| left.by_hash(&line.hash).is_none());
    let mut hashes: Vec<LineHash> = gone.map(|line| line.hash.clone()).collect();
    hashes.dedup();
    hashes
}

/// The newest update that changed something and still stands.
fn newest_update(journal: &dyn spore_store::Journal) -> Result<RunId> {
    // An update that was woven is a run below the weaving.
    let runs = journal.runs(&RunQuery { kind: Some(RunKind::Memory), ..RunQuery::default() })?;
    let mut undone = Vec::new();
    for run in runs.iter().filter(|run| is_done(run)) {
        match serde_json::from_value(run.settings.clone()) {
            Ok(PassSettings::Undo(settings)) => undone.push(settings.update),
            Ok(PassSettings::Update(_) | PassSettings::Import(_))
                if !undone.contains(&run.id) && changed(journal, run)? =>
            {
                return Ok(run.id);
            }
            _ => {}
        }
    }
    Err(Error::new(Fault::BadInput, format!("no update of {BROADCAST} is left to be undone"))
        .hint("`spore runs list` shows what memory did"))
}

fn is_done(run: &Run) -> bool {
    run.kind == RunKind::Memory
        && run.state == RunState::Ended
        && matches!(run.outcome, Some(Outcome::Success | Outcome::Partial))
}

fn changed(journal: &dyn spore_store::Journal, run: &Run) -> Result<bool> {
    let step = journal.step(run.id, &spore_model::StepKey::named("write"))?;
    Ok(step.and_then(|step| step.result) == Some(Value::Bool(true)))
}
