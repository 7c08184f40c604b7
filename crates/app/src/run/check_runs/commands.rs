//! Commands that a verifier has run.
//!
//! A verifier runs nothing of the change in its own session, where its tools' token is and where it
//! says its verdict. It asks the broker, and the command runs like one of the project's checks: in
//! the gates' checkout, on exactly the tree under judgement, in a check's sandbox. It runs on a
//! thread of the broker's, so everything here is its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use spore_config::Config;
use spore_gates::{Gate, GateKind, GateResult, Parser};
use spore_model::{CommitId, RunId, TreeId};
use spore_tools::ToolAnswer;

use crate::base::checkouts::Checkouts;
use crate::checks::against::{Against, Check, Checked};
use crate::run::check_runs::gate_runs;
use crate::run::context::{RunContext, RunProject};
use crate::run::settings::RunSettings;
use crate::session::broker::SessionCommands;
use crate::session::sandbox::Enforcement;
use crate::{Progress, Result, Surroundings, Update, Workspace};

/// Runs the commands of one verifier.
struct VerifierCommands {
    around: Arc<Surroundings>,
    config: Config,
    settings: RunSettings,
    enforcement: Enforcement,
    run: RunId,
    /// The row that the processes belong to.
    bounce: RunId,
    commit: CommitId,
    tree: TreeId,
    /// Where their logs are kept.
    logs: PathBuf,
    given: AtomicU32,
}

impl RunContext<'_> {
    /// Prepares to run commands of the verifier of `bounce` on `tree`, which `commit` holds.
    pub(crate) fn verifier_commands(
        &self,
        bounce: u32,
        commit: &CommitId,
        tree: &TreeId,
    ) -> Result<Arc<dyn SessionCommands>> {
        let RunProject { around, workspace, config, .. } = self.project;
        Ok(Arc::new(VerifierCommands {
            around: Arc::new(around.apart(workspace.root())),
            config: config.clone(),
            settings: self.run.settings.clone(),
            enforcement: self.run.enforcement.clone(),
            run: self.run.id,
            bounce: self.existing_bounce(bounce)?,
            commit: commit.clone(),
            tree: tree.clone(),
            logs: self.files().verifier_commands(bounce),
            given: AtomicU32::new(0),
        }))
    }
}

impl SessionCommands for VerifierCommands {
    fn run(&self, command: &str) -> ToolAnswer {
        match self.checked(command) {
            Ok(Some(result)) => self.told(&result),
            Ok(None) => ToolAnswer::error("the command was interrupted"),
            Err(error) => ToolAnswer::error(format!("the command could not be run: {error}")),
        }
    }
}

impl VerifierCommands {
    fn checked(&self, command: &str) -> Result<Option<GateResult>> {
        let around = &*self.around;
        let workspace = &Workspace::find(around)?;
        let journal = &workspace.journal(&self.config)?;
        let repository = &workspace.project_repository()?;
        let project = RunProject { around, workspace, repository, config: &self.config, journal };
        let settings = self.settings.checkout();
        let checkouts = Checkouts { around, workspace, repository, run: self.run, settings };
        let number = self.given.fetch_add(1, Ordering::Relaxed) + 1;
        let gate = Gate::new(
            format!("command-{number}"),
            command,
            GateKind::Test,
            Parser::Plain,
            self.config.gates.timeout,
        );
        let gates = gate_runs(project, &checkouts, std::slice::from_ref(&gate), &self.enforcement);
        let check = Check {
            session: self.bounce,
            commit: &self.commit,
            tree: &self.tree,
            logs: &self.logs,
            against: Against::Nothing,
        };
        Ok(match gates.run(&check, &mut Unheard)? {
            Checked::Done(mut results) => results.pop(),
            Checked::Interrupted => None,
        })
    }

    fn told(&self, result: &GateResult) -> ToolAnswer {
        let how = result.exit.map_or("timed out".to_owned(), |code| format!("exit {code}"));
        let log = spore_effects::files::read(&result.log).unwrap_or_default();
        let room = usize::try_from(self.config.api.command_output_bytes).unwrap_or(usize::MAX);
        ToolAnswer::ok(format!("{how}\n{}", spore_gates::excerpt(&log, room)))
    }
}

/// The session that asked is told; the person sees the session.
struct Unheard;

impl Progress for Unheard {
    fn update(&mut self, _update: &Update) {}
}
