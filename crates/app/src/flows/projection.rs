//! What others can watch while a flow runs: signals and the live report.
//!
//! Both are made from run rows and from nothing else, and both can be made again at any time.
//! The live report only ever grows, so that it can be followed; what a crash kept out of it is
//! added by the next one who projects.

mod reported;

use std::sync::PoisonError;

use spore_compose::{ArtifactMark, SignalPointer, live_lines, signal};
use spore_model::{Run, RunId, RunKind, Timestamp};

use super::flow::{ActiveFlow, LayerEnding, LayerPlace};
use crate::Result;

impl ActiveFlow<'_> {
    /// Writes the signal of a run whose fate is decided, and what it points at.
    pub(crate) fn signal(&self, run: RunId, name: &str, pointer: &SignalPointer) -> Result<()> {
        match self.journal.run(run)? {
            Some(run) => self.write_signal(&run, name, pointer),
            None => Ok(()),
        }
    }

    /// Tells the end of the flow as its row is about to have it.
    pub(crate) fn announce(
        &self,
        place: &LayerPlace,
        ending: &LayerEnding<'_>,
        pointer: &SignalPointer,
        at: Timestamp,
    ) -> Result<()> {
        let Some(run) = self.journal.run(place.run)? else { return Ok(()) };
        let run = Run {
            outcome: Some(ending.outcome),
            reason: ending.reason.map(str::to_owned),
            ended: Some(at),
            ..run
        };
        self.write_signal(&run, &place.name, pointer)?;
        self.report_with(Some(&run))
    }

    pub(crate) fn write_signal(
        &self,
        run: &Run,
        name: &str,
        pointer: &SignalPointer,
    ) -> Result<()> {
        let Some(signal) = signal(run, name, pointer) else { return Ok(()) };
        let path = self.dir().join(".signals").join(signal.file);
        self.write(&path, &signal.text)?;
        // One part has one end: what it asked before is no more.
        for other in ["done", "fail", "refine"].map(|status| path.with_extension(status)) {
            if other != path && other.exists() {
                self.around.remove_file(&other)?;
            }
        }
        Ok(())
    }

    /// Points at what a part left: by its mark, whatever lies at that path where a person works.
    pub(crate) fn points_at(
        &self,
        artifact: Option<&str>,
        mark: Option<&ArtifactMark>,
    ) -> SignalPointer {
        let Some(path) = artifact else { return SignalPointer::default() };
        let own = || self.own_file(path).map_or(0, |content| content.len() as u64);
        let bytes = mark.map_or_else(own, |mark| mark.bytes);
        SignalPointer { path: path.to_owned(), bytes }
    }

    /// Points at a file of the flow's own, below the project's root.
    pub(crate) fn pointer(&self, path: &str) -> SignalPointer {
        let file = self.workspace.root().join(path);
        let bytes = std::fs::metadata(file).map_or(0, |file| file.len());
        SignalPointer { path: path.to_owned(), bytes }
    }

    /// Adds to the live report what the rows say and it does not.
    pub(crate) fn live_report(&self) -> Result<()> {
        self.report_with(None)
    }

    /// The lines of the live report, as rows tell them now, for the report that a layer ends with: its
    /// own end is none of them, whether or not it is on record already.
    pub(crate) fn timeline(&self, run: &Run, lines: &mut Vec<String>) -> Result<()> {
        self.lines_of(&Run { outcome: None, ended: None, ..run.clone() }, lines)
    }

    fn report_with(&self, root: Option<&Run>) -> Result<()> {
        let mut known = self.projecting.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.dir().join(".live-report");
        let mut lines = Vec::new();
        let there = match root {
            Some(root) => Some(root.clone()),
            None => self.journal.run(self.root)?,
        };
        if let Some(root) = there {
            self.lines_of(&root, &mut lines)?;
        }
        self.around.append_missing_lines(&path, &lines)?;
        known.extend(lines);
        Ok(())
    }

    fn lines_of(&self, run: &Run, lines: &mut Vec<String>) -> Result<()> {
        let layers =
            [RunKind::Exec, RunKind::Stage, RunKind::Phase, RunKind::Campaign, RunKind::Sentinel];
        if !layers.contains(&run.kind) && run.kind != RunKind::Orchestrate {
            return Ok(());
        }
        let [starting, ending] = live_lines(run);
        lines.extend(starting);
        if layers.contains(&run.kind) {
            for child in self.journal.children(run.id)? {
                self.lines_of(&child, lines)?;
            }
        }
        lines.extend(ending);
        Ok(())
    }
}
