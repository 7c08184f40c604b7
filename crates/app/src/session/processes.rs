//! The processes that sessions and gates left on record.

use std::time::Duration;

use spore_config::Config;
use spore_effects::session::{self, ProcessIdentity};
use spore_model::RunId;
use spore_store::Journal;

use crate::{Result, Surroundings};

/// Ends what a killed process left running, before anything is done again.
pub(crate) fn reap(
    config: &Config,
    journal: &dyn Journal,
    run: RunId,
    around: &Surroundings,
) -> Result<u32> {
    let patience =
        config.session.interrupt_grace + config.session.terminate_grace + Duration::from_secs(2);
    let mut killed = 0;
    for row in journal.open_processes(run)? {
        let identity =
            ProcessIdentity { pid: row.pid, start_ticks: row.start_ticks, boot_id: row.boot_id };
        killed += session::reap(&identity, &row.token, patience);
        journal.process_ended(&row.token, around.clock.now())?;
    }
    Ok(killed)
}
