//! What agents and gates may reach, and whether the kernel holds them to it.
//!
//! An agent writes in its checkout, in a temporary directory of its own and where it keeps its
//! own state; gates write in theirs and where toolchains keep their caches. Both read
//! everything but Spore's state, from which a verdict could be forged. The kernel holds them
//! to it (see [`spore_effects::session::Confinement`]); where it cannot, the run says so.
//!
//! `spore spawn` is not held: it works in the person's own directory, of which Spore's state
//! may be a part, and the sessions it starts may start sessions themselves.

mod places;
mod scratch;

use std::path::Path;

use serde::{Deserialize, Serialize};
use spore_agent::SessionSandbox;
use spore_config::Config;
use spore_effects::session::{Confinement, Enforced, enforceable};
use spore_model::{CheckoutAccess, Fault, RunId, SessionToken};

use crate::{Error, Result, Surroundings, Workspace};
use places::SandboxPlaces;
pub(crate) use scratch::Scratch;

/// What a run is held to, as it is written down with the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Enforcement {
    /// The kernel holds agents and gates; each session's files say to what, right by right.
    pub(crate) held: bool,
    /// What is not held, a sentence each, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// Makes the sandboxes of one project.
#[derive(Clone, Copy)]
pub(crate) struct Sandboxes<'a> {
    pub(crate) around: &'a Surroundings,
    pub(crate) workspace: &'a Workspace,
    pub(crate) config: &'a Config,
    pub(crate) run: RunId,
}

/// Where a session works.
#[derive(Clone, Copy)]
pub(crate) struct ConfinedPlace<'a> {
    /// Its checkout.
    pub(crate) dir: &'a Path,
    pub(crate) access: CheckoutAccess,
    /// Where what it says and is told is kept.
    pub(crate) files: &'a Path,
}

impl Enforcement {
    /// Finds out what can be held for runs of `backend`. Refuses to go on where a sandbox is
    /// required and cannot be had.
    pub(crate) fn find(config: &Config, backend: &str) -> Result<Self> {
        let wanted = Confinement { no_tcp: denies_network(config), ..Confinement::default() };
        let enforcement = judge(config, backend, enforceable(&wanted), &wanted);
        if !enforcement.held && config.sandbox.mode == "required" {
            return Err(Error::new(Fault::Missing, "a sandbox is required and cannot be enforced")
                .hint(
                    "use Linux 6.2 or later with Landlock, or set `[sandbox] mode = \"auto\"`; \
                     `spore doctor` tells what the kernel has",
                ));
        }
        Ok(enforcement)
    }
}

impl Sandboxes<'_> {
    /// The sandbox of an agent's session.
    pub(crate) fn of_session(
        &self,
        enforcement: &Enforcement,
        backend: &str,
        place: ConfinedPlace<'_>,
        token: &SessionToken,
    ) -> Result<(SessionSandbox, Option<Scratch>)> {
        if !enforcement.held {
            let sandbox =
                if backend == "codex" { SessionSandbox::Own } else { SessionSandbox::None };
            return Ok((sandbox, None));
        }
        let scratch = self.scratch(token)?;
        let places = SandboxPlaces::new(self.around);
        let ConfinedPlace { dir, access, files } = place;
        let mut confinement = self.base(&places, dir, &scratch);
        if access == CheckoutAccess::ReadOnly {
            confinement.write.retain(|path| path != dir);
            confinement.read.push(dir.to_owned());
        }
        confinement.write.extend(places.all_made(self.state_of(backend)));
        confinement.read.push(files.to_owned());
        // The commands of this backend are its only processes; the model is asked by us.
        confinement.no_tcp = backend == "api" && denies_network(self.config);
        Ok((SessionSandbox::Enforced(confinement), Some(scratch)))
    }

    /// The sandbox of one gate in `dir`, which needs these programs; nothing where none is
    /// enforced.
    pub(crate) fn of_gate(
        &self,
        enforcement: &Enforcement,
        needs: &[String],
        dir: &Path,
        token: &SessionToken,
    ) -> Result<Option<(Confinement, Scratch)>> {
        if !enforcement.held {
            return Ok(None);
        }
        let scratch = self.scratch(token)?;
        let places = SandboxPlaces::new(self.around);
        let mut confinement = self.base(&places, dir, &scratch);
        confinement.write.extend(places.caches(&self.config.sandbox.caches, needs));
        confinement.no_tcp = denies_network(self.config);
        Ok(Some((confinement, scratch)))
    }

    fn base(&self, places: &SandboxPlaces<'_>, dir: &Path, scratch: &Scratch) -> Confinement {
        let settings = &self.config.sandbox;
        let mut write = vec![dir.to_owned(), scratch.dir().to_owned()];
        write.extend(places.all_made(&settings.write));
        // Raw devices are doors past every rule about files.
        let mut hide =
            vec![self.workspace.spore_dir(), self.around.state_home.clone(), "/dev".into()];
        hide.extend(places.all(&settings.hide));
        let devices = places.all(&settings.devices);
        Confinement { write, devices, hide, read: vec!["/dev/shm".into()], no_tcp: false }
    }

    fn scratch(&self, token: &SessionToken) -> Result<Scratch> {
        Scratch::make(self.around, &self.workspace.run_state(self.run), token)
    }

    /// Removes what a killed process left of the run in temporary places.
    pub(crate) fn clean_up(&self) {
        Scratch::remove_left(self.around, &self.workspace.run_state(self.run));
    }

    fn state_of(&self, backend: &str) -> &[String] {
        self.config.sandbox.agents.get(backend).map_or(&[], Vec::as_slice)
    }
}

fn denies_network(config: &Config) -> bool {
    config.sandbox.network == "deny"
}

/// Whether a coder may run any command without its agent asking for permission.
pub(crate) fn free_shell(config: &Config, sandbox: &SessionSandbox) -> bool {
    match config.sandbox.free_shell.as_str() {
        "always" => true,
        "sandboxed" => sandbox.is_enforced(),
        _ => false,
    }
}

/// Says what is held and what is not, from what the kernel can do.
fn judge(
    config: &Config,
    backend: &str,
    possible: Option<Enforced>,
    wanted: &Confinement,
) -> Enforcement {
    let enforced = possible.filter(|_| config.sandbox.mode != "off");
    let mut notes = Vec::new();
    match &enforced {
        None => {
            let why = match config.sandbox.mode.as_str() {
                "off" => "it is switched off",
                _ => "the kernel has no Landlock of version 3 or later",
            };
            notes.push(format!("No sandbox holds agents and gates: {why}."));
        }
        Some(enforced) => {
            let gaps = enforced.gaps(wanted);
            if !gaps.is_empty() {
                notes.push(format!("The sandbox does not hold here: {}.", gaps.join("; ")));
            }
        }
    }
    if wanted.no_tcp && backend != "api" {
        notes.push(format!("The network is denied to gates, but not to {backend} itself."));
    }
    Enforcement { held: enforced.is_some(), notes }
}

#[cfg(test)]
mod tests {
    use spore_config::{SettingsLayer, SettingsOrigin};

    use super::*;

    fn config(text: &str) -> Config {
        let layer =
            SettingsLayer { origin: SettingsOrigin::Flag("test".into()), text: text.to_owned() };
        Config::load(&[layer]).unwrap().config
    }

    fn kernel(rights: &[&str]) -> Option<Enforced> {
        Some(Enforced { abi: 3, rights: rights.iter().map(|&right| right.to_owned()).collect() })
    }

    #[track_caller]
    fn check(text: &str, backend: &str, possible: Option<Enforced>, held: bool, notes: &[&str]) {
        let config = config(text);
        let wanted = Confinement { no_tcp: text.contains("deny"), ..Confinement::default() };
        let enforcement = judge(&config, backend, possible, &wanted);
        assert_eq!(
            (enforcement.held, enforcement.notes),
            (held, notes.iter().map(|&note| note.to_owned()).collect())
        );
    }

    #[test]
    fn what_is_not_held_is_said() {
        let all = ["ioctl_dev", "signal", "abstract_unix_socket", "connect_tcp"];
        check("", "claude", kernel(&all), true, &[]);
        check(
            "",
            "claude",
            kernel(&["ioctl_dev"]),
            true,
            &[
                "The sandbox does not hold here: signals to processes outside of the session; abstract sockets of processes outside of the session.",
            ],
        );
        check(
            "",
            "claude",
            None,
            false,
            &[
                "No sandbox holds agents and gates: the kernel has no Landlock of version 3 or later.",
            ],
        );
        check(
            "sandbox.mode = \"off\"",
            "claude",
            kernel(&all),
            false,
            &["No sandbox holds agents and gates: it is switched off."],
        );
        let deny = "sandbox.network = \"deny\"";
        check(deny, "api", kernel(&all), true, &[]);
        check(
            deny,
            "claude",
            kernel(&all),
            true,
            &["The network is denied to gates, but not to claude itself."],
        );
        check(
            deny,
            "api",
            kernel(&all[..3]),
            true,
            &["The sandbox does not hold here: TCP connections."],
        );
    }

    #[test]
    fn a_shell_is_free_only_in_a_sandbox_or_where_somebody_said_so() {
        let inside = SessionSandbox::Enforced(Confinement::default());
        for (word, enforced, own) in
            [("sandboxed", true, false), ("always", true, true), ("never", false, false)]
        {
            let config = config(&format!("sandbox.free_shell = \"{word}\""));
            assert_eq!(free_shell(&config, &inside), enforced, "{word}");
            assert_eq!(free_shell(&config, &SessionSandbox::Own), own, "{word}");
            assert_eq!(free_shell(&config, &SessionSandbox::None), own, "{word}");
        }
    }
}
