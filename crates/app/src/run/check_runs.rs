//! How the commands of a run's checks are run: in which checkouts, with which variables, held by
//! what.

mod commands;

use spore_gates::{Gate, Runner};

use crate::base::checkouts::Checkouts;
use crate::checks::runner::GateRuns;
use crate::run::context::RunProject;
use crate::session::environment::gate_environment;
use crate::session::sandbox::{Enforcement, Sandboxes};

/// Prepares to run `gates` in the checkouts of a run.
pub(crate) fn gate_runs<'a>(
    project: RunProject<'a>,
    checkouts: &'a Checkouts<'a>,
    gates: &'a [Gate],
    enforcement: &'a Enforcement,
) -> GateRuns<'a> {
    let RunProject { around, workspace, config, journal, .. } = project;
    let runner = Runner::new(
        spore_effects::session::Shim::new(around.exe.clone()),
        gate_environment(config, around),
        config.gates.log_cap_bytes,
        crate::session::backends::grace(config),
    );
    GateRuns {
        checkouts,
        gates,
        journal,
        sandboxes: Sandboxes { around, workspace, config, run: checkouts.run },
        enforcement,
        runner: runner.striking(around.secrets()),
        cache_cap: config.gates.cache_cap_bytes,
    }
}
