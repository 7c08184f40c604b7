//! The session directory of a coordinator: its state, its checkpoints, its last report.
//!
//! All of it is a projection of the journal, written for people and for other programs. A process
//! that goes on reads the newest checkpoint before anything else: it says how far the session was,
//! and the states go on from there. What it says must be on record, too: where the two differ the
//! journal is right, and the checkpoint is made anew.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use spore_compose::{
    CHECKPOINT_VERSION, Checkpoint, ChildEnd, CompletedPhase, CoordinatorPlan, PhaseReport,
    PhaseStep, PhasesEnding, SessionRecord, SessionState, execution_report,
};
use spore_effects::files::{paths_in, read_text};
use spore_model::{Fault, RunId, Timestamp};

use crate::base::error::bug;
use crate::flows::flow::{ActiveFlow, LayerPlace};
use crate::{Error, Result};

/// How far a session is.
pub(crate) struct SessionWalk<'a> {
    ground: &'a ActiveFlow<'a>,
    run: RunId,
    /// Where the coordinator's files are, below the flow's.
    dir: PathBuf,
    total: u32,
    names: Vec<String>,
    started: Timestamp,
    at: Mutex<WalkedTo>,
}

struct WalkedTo {
    state: SessionState,
    /// The phases that are over and have a checkpoint.
    passed: u32,
    last: Option<String>,
}

impl<'a> SessionWalk<'a> {
    /// Begins a session, or finds out how far it was.
    pub(crate) fn begin(
        ground: &'a ActiveFlow<'a>,
        place: &LayerPlace,
        plan: &CoordinatorPlan,
    ) -> Result<Self> {
        let started =
            ground.journal.run(place.run)?.map_or_else(|| ground.now(), |run| run.started);
        let mut at = WalkedTo { state: SessionState::Init, passed: 0, last: None };
        if let Some((file, checkpoint)) = newest(ground, place, plan)? {
            at.passed = u32::try_from(checkpoint.completed_phases.len()).map_err(bug)?;
            at.state = SessionState::Checkpoint(at.passed);
            at.last = Some(format!("checkpoints/{file}"));
        }
        let total = u32::try_from(plan.phases.len()).map_err(bug)?;
        let dir = place.dir.clone();
        let names = plan.phases.iter().map(|phase| phase.name.clone()).collect();
        let (run, at) = (place.run, Mutex::new(at));
        let walk = Self { ground, run, dir, total, names, started, at };
        walk.write(&walk.at())?;
        Ok(walk)
    }

    /// A phase is at work.
    pub(crate) fn under_way(&self) -> Result<()> {
        let mut at = self.at();
        match at.state {
            SessionState::Init | SessionState::Checkpoint(_) => {
                let next = SessionState::Phase(at.passed + 1);
                self.go(&mut at, next)
            }
            _ => Ok(()),
        }
    }

    /// An attempt at a phase is over and not its last: the phase is run again.
    pub(crate) fn refined(&self) -> Result<()> {
        self.under_way()?;
        let mut at = self.at();
        let number = at.passed + 1;
        for next in [
            SessionState::Verify(number),
            SessionState::Refinement(number),
            SessionState::Phase(number),
        ] {
            self.go(&mut at, next)?;
        }
        Ok(())
    }

    /// Takes note of all phases that are over by now. Each gets its checkpoint, once.
    pub(crate) fn settled(&self, reports: &[(usize, PhaseReport)]) -> Result<()> {
        let reports: Vec<&PhaseReport> = reports.iter().map(|(_, report)| report).collect();
        let count = u32::try_from(reports.len()).map_err(bug)?;
        while self.at().passed < count {
            self.under_way()?;
            let mut at = self.at();
            let number = at.passed + 1;
            self.go(&mut at, SessionState::Verify(number))?;
            // Of several that are over at once, the last tells of all.
            let checkpoint = self.checkpoint(&reports, number as usize)?;
            let file = format!("checkpoints/{}", checkpoint.file());
            self.ground.write_json(&self.path(&file), &checkpoint)?;
            (at.last, at.passed) = (Some(file), number);
            self.go(&mut at, SessionState::Checkpoint(number))?;
        }
        Ok(())
    }

    /// The session is over: its state, and a report of all of it.
    pub(crate) fn complete(&self, ending: &PhasesEnding) -> Result<()> {
        let ground = self.ground;
        let Some(run) = ground.journal.run(self.run)? else { return Ok(()) };
        let mut timeline = Vec::new();
        ground.timeline(&run, &mut timeline)?;
        let report = execution_report(&run, ending, &timeline);
        ground.write(&self.path("execution-report.md"), &report)?;
        let mut at = self.at();
        match at.state {
            SessionState::Complete => Ok(()),
            // A session that led may have had no phase run.
            SessionState::Init => {
                self.go(&mut at, SessionState::Phase(1))?;
                self.go(&mut at, SessionState::Complete)
            }
            _ => self.go(&mut at, SessionState::Complete),
        }
    }

    fn checkpoint(&self, reports: &[&PhaseReport], number: usize) -> Result<Checkpoint> {
        let ground = self.ground;
        let over = &reports[..number.min(reports.len())];
        let mut created_at = self.started;
        for run in over.iter().filter_map(|report| report.orchestrators.last()) {
            let ended = ground.journal.run(run.run)?.and_then(|run| run.ended);
            created_at = created_at.max(ended.unwrap_or(created_at));
        }
        let all = self.names.iter().cloned();
        let is_over = |name: &String| over.iter().any(|report| report.phase == *name);
        Ok(Checkpoint {
            checkpoint_version: CHECKPOINT_VERSION,
            created_at,
            session_dir: ground.path_of(&self.dir).trim_end_matches('/').to_owned(),
            trace_id: ground.trace.clone(),
            completed_phases: over.iter().map(|report| CompletedPhase::from(*report)).collect(),
            pending_phases: all.filter(|name| !is_over(name)).collect(),
            depth_used: ground.nesting.depth + 1,
            depth_max: ground.nesting.limit,
        })
    }

    fn go(&self, at: &mut WalkedTo, next: SessionState) -> Result<()> {
        at.state = at.state.go(next).map_err(bug)?;
        self.write(at)
    }

    fn write(&self, at: &WalkedTo) -> Result<()> {
        let nesting = self.ground.nesting;
        let record = SessionRecord {
            state: at.state,
            current_phase: (at.passed + 1).min(self.total),
            total_phases: self.total,
            started_at: self.started,
            last_checkpoint: at.last.clone(),
            depth_used: nesting.depth + 1,
            depth_max: nesting.limit,
        };
        self.ground.write(&self.path(".session-state"), &record.text())
    }

    fn path(&self, file: &str) -> PathBuf {
        self.ground.dir().join(&self.dir).join(file)
    }

    fn at(&self) -> MutexGuard<'_, WalkedTo> {
        self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the newest checkpoint that the journal agrees with; those after it are removed.
fn newest(
    ground: &ActiveFlow<'_>,
    place: &LayerPlace,
    plan: &CoordinatorPlan,
) -> Result<Option<(String, Checkpoint)>> {
    let mut files: Vec<PathBuf> =
        paths_in(&ground.dir().join(&place.dir).join("checkpoints")).unwrap_or_default();
    files.sort_by_key(|path| number_of(path));
    while let Some(path) = files.pop() {
        let read =
            read_text(&path).ok().and_then(|text| serde_json::from_str::<Checkpoint>(&text).ok());
        let Some(checkpoint) = read else {
            ground.around.remove_file(&path)?;
            continue;
        };
        if checkpoint.checkpoint_version > CHECKPOINT_VERSION {
            let message = format!("{} is of a later version of Spore", spore_plain::path(&path));
            return Err(Error::new(Fault::BadInput, message).hint("go on with that version"));
        }
        if checkpoint.trace_id != ground.trace || !is_on_record(ground, place, plan, &checkpoint)? {
            ground.around.remove_file(&path)?;
            continue;
        }
        let file = path.file_name().map(|name| name.to_string_lossy().into_owned());
        return Ok(file.map(|file| (file, checkpoint)));
    }
    Ok(None)
}

/// The number at the end of a checkpoint's name.
fn number_of(path: &std::path::Path) -> u32 {
    let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns whether each phase that is over there is over in the journal, in the same way.
fn is_on_record(
    ground: &ActiveFlow<'_>,
    place: &LayerPlace,
    plan: &CoordinatorPlan,
    checkpoint: &Checkpoint,
) -> Result<bool> {
    let steps = ground.steps(place);
    for phase in &checkpoint.completed_phases {
        let Some(at) = plan.phases.iter().position(|one| one.name == phase.name) else {
            return Ok(false);
        };
        let mut last = None;
        for attempt in 1.. {
            match steps.result::<ChildEnd>(&PhaseStep::key_of(plan, at, attempt))? {
                Some(end) => last = Some(end.outcome.exit_code()),
                None => break,
            }
        }
        if last != Some(phase.exit_code) {
            return Ok(false);
        }
    }
    Ok(true)
}
