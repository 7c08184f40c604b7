//! How the commands of a run's checks are run: in which checkouts, with which variables, held by
//! what.

mod commands;

use spore_gates::{Gate, Runner};

use crate::base::checkouts::Checkouts;
use crate::checks::runner::GateRuns;
use crate::run::context::{RunContext, RunProject};
use crate::session::environment::gate_environment;
use crate::session::sandbox::{Enforcement, Sandboxes};
use crate::{Progress, Result};

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
        crate::agents::backends::grace(config),
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

impl RunContext<'_> {
    /// Runs `act` with the gates of the run and, apart from them, the progress.
    pub(crate) fn with_gates<T>(
        &mut self,
        act: impl FnOnce(&GateRuns<'_>, &mut dyn Progress) -> Result<T>,
    ) -> Result<T> {
        let gates = self.run.settings.gates.clone();
        self.with_these_gates(&gates, act)
    }

    /// The same with other gates.
    pub(crate) fn with_these_gates<T>(
        &mut self,
        gates: &[Gate],
        act: impl FnOnce(&GateRuns<'_>, &mut dyn Progress) -> Result<T>,
    ) -> Result<T> {
        let checkouts = Checkouts {
            around: self.project.around,
            workspace: self.project.workspace,
            repository: self.project.repository,
            run: self.run.id,
            settings: self.run.settings.checkout(),
        };
        let gates = gate_runs(self.project, &checkouts, gates, &self.run.enforcement);
        act(&gates, self.progress)
    }
}
