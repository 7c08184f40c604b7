//! The live report while a flow is at work: the lines of one run at a time.
//!
//! The report as a whole is made from all rows when a process begins with a flow. From then on this
//! process alone changes the rows, and what one of them gives rise to is added by itself: a flow of
//! two hundred stages costs each of them the same as one of ten.

use std::sync::PoisonError;

use spore_compose::live_lines;
use spore_model::RunId;

use crate::Result;
use crate::flows::flow::ActiveFlow;

impl ActiveFlow<'_> {
    /// Adds what the row of a run says that was opened or closed just now.
    pub(crate) fn report_run(&self, run: RunId) -> Result<()> {
        let Some(run) = self.journal.run(run)? else { return Ok(()) };
        let mut known = self.projecting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<String> = live_lines(&run).into_iter().flatten().collect();
        lines.retain(|line| !known.contains(line));
        if lines.is_empty() {
            return Ok(());
        }
        self.around.append_lines(&self.dir().join(".live-report"), &lines)?;
        known.extend(lines);
        Ok(())
    }
}
