//! What agents and gates may reach, and whether the kernel holds them to it.
//!
//! Each has a checkout, a home and a temporary directory of its own; it sees the system, toolchains
//! and their caches, and nothing else of the machine. What it writes to a cache is thrown away
//! with it, so nothing that a change ran is read by the user or by a later check. The kernel holds
//! them to it (see [`spore_effects::session::Confinement`]). Where it cannot make a root anew,
//! they read everything but Spore's state, from which a verdict could be forged, and Landlock
//! holds what they write; where it cannot do that either, the run says so.
//!
//! A session in the person's own directory is held in the same way ([`OwnDirectory`]).

mod kept;
mod network;
mod new_root;
mod own_directory;
mod places;
mod scratch;
mod way;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use spore_agent::SessionSandbox;
use spore_agent::api::is_own_loop;
use spore_config::Config;
use spore_effects::session::{
    Confinement, Enforced, ProjectPlace, RootSupport, SandboxRoot, Shim, enforceable,
};
use spore_model::{CheckoutAccess, Fault, RunId, SessionToken};

use crate::base::files::create_private_dir;
use crate::{Error, Result, Surroundings, Workspace};
use kept::KeptLayers;
pub(crate) use network::NetworkVariables;
use new_root::{RootWanted, SessionHome, new_root};
pub(crate) use own_directory::OwnDirectory;
use places::SandboxPlaces;
pub(crate) use scratch::Scratch;

/// What a run is held to, as it is written down with the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Enforcement {
    /// The kernel holds agents and gates; each session's files say to what, right by right.
    pub(crate) held: bool,
    /// Their root is made anew.
    #[serde(default)]
    pub(crate) root: bool,
    /// What they write to caches of toolchains is kept apart.
    #[serde(default)]
    pub(crate) layers: bool,
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
    /// The home that outlives it, where one does.
    pub(crate) keeps_home: Option<&'a Path>,
    pub(crate) access: CheckoutAccess,
    /// Where what it says and is told is kept.
    pub(crate) files: &'a Path,
    /// What its agent is started with, and the socket that its tools are served at.
    pub(crate) starts_with: &'a [PathBuf],
    /// What it sees that says what is on the network.
    pub(crate) variables: &'a NetworkVariables,
}

/// What a session works on.
#[derive(Clone, Copy)]
pub(crate) enum SessionGround<'a> {
    /// A checkout of Spore's.
    Checkout(&'a Path),
    /// The person's own directory, and the home of the conversation that it goes on with or
    /// begins, where that is to be gone on with.
    Own(&'a OwnDirectory, Option<&'a Path>),
}

/// A session's sandbox, and what of it ends with the session.
pub(crate) struct SessionHold {
    pub(crate) sandbox: SessionSandbox,
    pub(crate) scratch: Option<Scratch>,
    /// Its own home, as we see it; nothing where it has the user's.
    pub(crate) home: Option<PathBuf>,
}

impl SessionHold {
    /// Nothing holds the session.
    pub(crate) const fn none() -> Self {
        Self { sandbox: SessionSandbox::None, scratch: None, home: None }
    }
}

impl Enforcement {
    /// Finds out what can be held for runs of `backend`. Refuses to go on where a sandbox is
    /// required and cannot be had.
    pub(crate) fn find(around: &Surroundings, config: &Config, backend: &str) -> Result<Self> {
        let own_network = !network::reaches_everything(config, backend);
        let root = SandboxRoot { own_network, ..SandboxRoot::default() };
        let no_tcp = denies_network(config);
        let wanted = Confinement { no_tcp, root: Some(root), ..Confinement::default() };
        let support = support(around, config);
        let mut found = judge(config, backend, enforceable(&wanted, &support), &wanted, &support);
        if found.root && own_network {
            found.notes.extend(NetworkVariables::among(&around.variables, |_| false).unusable());
        }
        if !found.held && config.sandbox.mode == "required" {
            return Err(Error::new(Fault::Missing, "a sandbox is required and cannot be enforced")
                .hint(
                    "use Linux 6.2 or later with Landlock, or set `[sandbox] mode = \"auto\"`; \
                     `spore doctor` tells what the kernel has",
                ));
        }
        if !found.root && config.sandbox.root == "required" {
            let why = support.refused.map_or_else(String::new, |refusal| format!(": {refusal}"));
            let message = format!("a root made anew is required and cannot be had{why}");
            return Err(Error::new(Fault::Missing, message)
                .hint("`spore doctor` tells what is missing; or set `[sandbox] root = \"auto\"`"));
        }
        Ok(found)
    }
}

/// Returns what this machine lets sessions have. It is asked once a process: that takes some
/// milliseconds, and does not change.
pub(crate) fn support(around: &Surroundings, config: &Config) -> RootSupport {
    static ASKED: OnceLock<RootSupport> = OnceLock::new();
    if config.sandbox.root == "off" || config.sandbox.mode == "off" {
        return RootSupport::not_wanted();
    }
    let ask = || match Scratch::make(around, &around.exe, &around.ids.session_token()) {
        Ok(scratch) => Shim::new(around.exe.clone()).support(scratch.dir()),
        // What comes next needs such a directory too, and says what is wrong with it.
        Err(_) => RootSupport::not_wanted(),
    };
    ASKED.get_or_init(ask).clone()
}

impl Sandboxes<'_> {
    /// The sandbox of an agent's session.
    pub(crate) fn of_session(
        &self,
        enforcement: &Enforcement,
        backend: &str,
        ground: SessionGround<'_>,
        place: ConfinedPlace<'_>,
        token: &SessionToken,
    ) -> Result<SessionHold> {
        if !enforcement.held {
            let sandbox =
                if backend == "codex" { SessionSandbox::Own } else { SessionSandbox::None };
            return Ok(SessionHold { sandbox, ..SessionHold::none() });
        }
        let scratch = self.scratch(token)?;
        if enforcement.root {
            return self.rooted_session(enforcement, backend, ground, place, scratch);
        }
        let places = SandboxPlaces::new(self.around);
        let ConfinedPlace { access, files, .. } = place;
        let mut confinement = self.base(&places, &scratch);
        match (ground, access) {
            (SessionGround::Own(own, _), access) => own.grant_in(&mut confinement, access),
            (SessionGround::Checkout(dir), CheckoutAccess::Write) => {
                confinement.write.push(dir.to_owned());
            }
            (SessionGround::Checkout(dir), CheckoutAccess::ReadOnly) => {
                confinement.read.push(dir.to_owned());
            }
        }
        confinement.write.extend(places.all_made(self.state_of(backend)));
        confinement.read.push(files.to_owned());
        // The commands of this backend are its only processes; the model is asked by us.
        confinement.no_tcp = is_own_loop(backend) && denies_network(self.config);
        let sandbox = SessionSandbox::Enforced(Box::new(confinement));
        Ok(SessionHold { sandbox, scratch: Some(scratch), home: None })
    }

    /// The sandbox of all gates of one check in `dir`, which need these programs; nothing where
    /// none is enforced. What gates of a base write outside of the checkout, checks of changes see.
    pub(crate) fn of_check(
        &self,
        enforcement: &Enforcement,
        needs: &[String],
        dir: &Path,
        is_base: bool,
    ) -> Result<Option<(Confinement, Scratch)>> {
        if !enforcement.held {
            return Ok(None);
        }
        let mut scratch = self.scratch(&self.around.ids.session_token())?;
        let no_tcp = denies_network(self.config);
        if enforcement.root {
            scratch.furnish()?;
            let layers = self.kept();
            // Those of an earlier base are not for this one.
            let kept = if is_base { layers.begin()? } else { layers.current() };
            let programs = needs.iter().filter_map(|need| need.split_whitespace().next());
            let programs = programs.filter_map(|name| self.around.find_program(name));
            let shown: Vec<PathBuf> =
                programs.flat_map(|file| spore_effects::programs::links_to(&file)).collect();
            let wanted = RootWanted {
                scratch: scratch.dir(),
                home: if is_base { SessionHome::Kept } else { SessionHome::OverKept },
                kept: &kept,
                shown: &shown,
                network: no_tcp.then(Vec::new),
                layers: enforcement.layers,
            };
            let mut confinement = self.rooted(&wanted);
            self.place_checkout(&mut confinement, dir, CheckoutAccess::Write);
            return Ok(Some((confinement, scratch)));
        }
        let places = SandboxPlaces::new(self.around);
        let mut confinement = self.base(&places, &scratch);
        confinement.write.push(dir.to_owned());
        confinement.write.extend(places.caches(&self.config.sandbox.caches, needs));
        confinement.no_tcp = no_tcp;
        Ok(Some((confinement, scratch)))
    }

    /// What gates of a base wrote outside of their checkout.
    pub(crate) fn kept(&self) -> KeptLayers<'_> {
        KeptLayers::of(self.around, self.workspace)
    }

    fn rooted_session(
        &self,
        enforcement: &Enforcement,
        backend: &str,
        ground: SessionGround<'_>,
        place: ConfinedPlace<'_>,
        mut scratch: Scratch,
    ) -> Result<SessionHold> {
        let mut home = scratch.furnish()?;
        let kept = match ground {
            // Its conversation is gone on with, in the next bounce or after a crash. No other role
            // sees it.
            SessionGround::Checkout(_) => place.keeps_home.map(Path::to_owned),
            SessionGround::Own(_, home) => home.map(Path::to_owned),
        };
        let is_kept = kept.is_some();
        if let Some(kept) = kept {
            create_private_dir(&kept)?;
            home = kept;
        }
        let shown = self.shown_to(&place);
        let given = self.signed_in_with(backend);
        let settings: Vec<PathBuf> = given.iter().map(|(file, _)| file.clone()).collect();
        let wanted = RootWanted {
            scratch: scratch.dir(),
            home: SessionHome::Own(&home),
            kept: &self.kept().current(),
            shown: &shown,
            network: network::reached(self.config, backend, place.variables, &settings),
            layers: enforcement.layers,
        };
        let mut confinement = self.rooted(&wanted);
        match (ground, place.access) {
            (SessionGround::Own(own, _), access) => own.place_in(&mut confinement, access),
            (SessionGround::Checkout(dir), access) => {
                self.place_checkout(&mut confinement, dir, access);
            }
        }
        confinement.read.push(place.files.to_owned());
        if let Some(of_user) = self.around.variable("HOME").filter(|_| is_kept) {
            way::make_way(&home, Path::new(of_user), &confinement, &given)?;
        }
        let sandbox = SessionSandbox::Enforced(Box::new(confinement));
        Ok(SessionHold { sandbox, scratch: Some(scratch), home: Some(home) })
    }

    /// Puts a checkout in its place, which is one for all roles of the project: what runs there cannot tell
    /// by it for whom it does. Commands that set a checkout up know it by its own name, and what they
    /// wrote may hold that.
    fn place_checkout(&self, confinement: &mut Confinement, dir: &Path, access: CheckoutAccess) {
        let read_only = access == CheckoutAccess::ReadOnly;
        let at = neutral_place(self.around, self.workspace);
        if at.is_none() || !self.config.checkout.setup.is_empty() {
            let places = if read_only { &mut confinement.read } else { &mut confinement.write };
            places.push(dir.to_owned());
        }
        if let (Some(at), Some(root)) = (at, &mut confinement.root) {
            root.project = Some(ProjectPlace { at, dir: dir.to_owned(), read_only });
        }
    }

    /// Returns what a session needs besides the system.
    fn shown_to(&self, place: &ConfinedPlace<'_>) -> Vec<PathBuf> {
        let found = |file: &PathBuf| match file.is_absolute() {
            true => Some(file.clone()),
            false => self.around.find_program(file.to_str()?),
        };
        let files = place.starts_with.iter().filter_map(found);
        files.flat_map(|file| spore_effects::programs::links_to(&file)).collect()
    }

    /// Returns the files that an agent of `backend` is signed in with, and their names in a home.
    pub(crate) fn signed_in_with(&self, backend: &str) -> Vec<(PathBuf, PathBuf)> {
        let Some(home) = self.around.variable("HOME") else { return Vec::new() };
        let files = self.config.sandbox.agents.get(backend);
        let files = files.map_or(&[][..], |state| &state.sign_in);
        let files = SandboxPlaces::new(self.around).all(files);
        let named = |file: PathBuf| Some((file.clone(), file.strip_prefix(home).ok()?.to_owned()));
        files.into_iter().filter_map(named).collect()
    }

    /// A root made anew, without the checkout.
    fn rooted(&self, wanted: &RootWanted<'_>) -> Confinement {
        let places = SandboxPlaces::new(self.around);
        let settings = &self.config.sandbox;
        let mut hide = vec![self.workspace.spore_dir()];
        hide.extend(places.all(&settings.hide));
        hide.extend(places.all(&settings.cover));
        Confinement {
            write: places.all_made(&settings.write),
            devices: places.all(&settings.devices),
            hide,
            no_tcp: wanted.network.as_ref().is_some_and(Vec::is_empty),
            root: Some(new_root(self.around, self.workspace, self.config, wanted)),
            ..Confinement::default()
        }
    }

    fn base(&self, places: &SandboxPlaces<'_>, scratch: &Scratch) -> Confinement {
        let settings = &self.config.sandbox;
        let mut write = vec![scratch.dir().to_owned(), "/dev/shm".into()];
        write.extend(places.all_made(&settings.write));
        // Raw devices are doors past every rule about files.
        let mut hide =
            vec![self.workspace.spore_dir(), self.around.state_home.clone(), "/dev".into()];
        hide.extend(places.all(&settings.hide));
        let devices = places.all(&settings.devices);
        let read = vec!["/dev/shm".into()];
        Confinement { write, devices, hide, read, ..Confinement::default() }
    }

    fn scratch(&self, token: &SessionToken) -> Result<Scratch> {
        Scratch::make(self.around, &self.workspace.run_state(self.run), token)
    }

    /// Removes what a killed process left of the run in temporary places.
    pub(crate) fn clean_up(&self) {
        Scratch::remove_left(self.around, &self.workspace.run_state(self.run));
    }

    fn state_of(&self, backend: &str) -> &[String] {
        self.config.sandbox.agents.get(backend).map_or(&[], |state| state.write.as_slice())
    }
}

/// Returns where every checkout of a project is seen; nothing if there is no such place that is free.
pub(crate) fn neutral_place(around: &Surroundings, workspace: &Workspace) -> Option<PathBuf> {
    let name = workspace.root().file_name()?;
    let above = ["/project", "/projects", "/checkout"].map(Path::new);
    let own = [workspace.root(), around.state_home.as_path()];
    let is_free = |place: &&Path| !place.exists() && !own.iter().any(|own| own.starts_with(place));
    above.into_iter().find(is_free).map(|above| above.join(name))
}

/// Returns the home of a run's coders, which lives as long as the run.
pub(crate) fn coder_home(workspace: &Workspace, run: RunId) -> PathBuf {
    workspace.run_state(run).join("home")
}

fn denies_network(config: &Config) -> bool {
    config.sandbox.checks_network == "deny"
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
    support: &RootSupport,
) -> Enforcement {
    let enforced = possible.filter(|_| config.sandbox.mode != "off");
    let root = enforced.is_some() && support.refused.is_none();
    let mut notes = Vec::new();
    match &enforced {
        None => {
            let why = match config.sandbox.mode.as_str() {
                "off" => "it is switched off",
                _ => "the kernel has no Landlock of version 3 or later",
            };
            notes.push(format!("No sandbox holds agents and checks: {why}."));
        }
        Some(enforced) => {
            let gaps = enforced.gaps(wanted);
            if !gaps.is_empty() {
                notes.push(format!("The sandbox does not hold here: {}.", gaps.join("; ")));
            }
            if let Some(refusal) = support.no_layers.as_ref().filter(|_| root) {
                notes.push(format!("Caches of toolchains are read-only here: {refusal}."));
            }
        }
    }
    if enforced.is_some() && network::reaches_everything(config, backend) {
        let said =
            "The sandbox leaves the machine's network to agents, as `[sandbox] network` says.";
        notes.push(said.to_owned());
    }
    Enforcement {
        held: enforced.is_some(),
        root,
        layers: root && support.no_layers.is_none(),
        notes,
    }
}

#[cfg(test)]
mod tests {
    use spore_config::{SettingsLayer, SettingsOrigin};
    use spore_effects::session::SandboxLayer;

    use super::*;

    fn config(text: &str) -> Config {
        let layer =
            SettingsLayer { origin: SettingsOrigin::Flag("test".into()), text: text.to_owned() };
        Config::load(&[layer]).unwrap().config
    }

    const LANDLOCK: [&str; 4] = ["ioctl_dev", "signal", "abstract_unix_socket", "connect_tcp"];

    fn kernel(rights: &[&str], layers: &[SandboxLayer]) -> Option<Enforced> {
        let rights = rights.iter().map(|&right| right.to_owned()).collect();
        Some(Enforced { abi: 3, rights, layers: layers.to_vec() })
    }

    #[track_caller]
    fn check(text: &str, backend: &str, possible: Option<Enforced>, notes: &[&str]) {
        let config = config(text);
        let own_network = !text.contains('*');
        let root = SandboxRoot { own_network, ..SandboxRoot::default() };
        let no_tcp = text.contains("deny");
        let wanted = Confinement { no_tcp, root: Some(root), ..Confinement::default() };
        let has_root = possible.as_ref().is_some_and(|found| found.has(SandboxLayer::Root));
        let support = if has_root { RootSupport::default() } else { RootSupport::not_wanted() };
        let found = judge(&config, backend, possible, &wanted, &support);
        assert_eq!(found.notes, notes.to_vec());
        assert_eq!(found.held, !notes.iter().any(|note| note.starts_with("No sandbox")));
        assert_eq!(found.root, has_root && found.held);
    }

    #[test]
    fn what_is_not_held_is_said() {
        use SandboxLayer::{Calls, Network, Processes, Root, Sight};
        let anew = [Root, Processes, Sight, Calls, Network];
        check("", "claude", kernel(&LANDLOCK, &anew), &[]);
        let left = "The sandbox does not hold here: reading what is yours outside of the checkout; \
                    modes, owners and times of files outside of the checkout; \
                    sockets and terminals of other programs; \
                    what is left in the caches of toolchains; \
                    memory and messages that programs share; \
                    which other processes there are; \
                    limits and priorities of other processes; \
                    processes that outlive a shim that was killed; \
                    keys of the kernel and sockets to the hypervisor";
        let agents = "what agents reach over the network";
        check("", "claude", kernel(&LANDLOCK, &[]), &[&format!("{left}; {agents}.")]);
        let less = format!(
            "{left}; signals to processes outside of the session; \
             abstract sockets of processes outside of the session; {agents}."
        );
        check("", "claude", kernel(&["ioctl_dev"], &[]), &[&less]);
        let none =
            "No sandbox holds agents and checks: the kernel has no Landlock of version 3 or later.";
        check("", "claude", None, &[none]);
        let off = "No sandbox holds agents and checks: it is switched off.";
        check("sandbox.mode = \"off\"", "claude", kernel(&LANDLOCK, &anew), &[off]);
        let deny = "sandbox.checks_network = \"deny\"";
        check(deny, "claude", kernel(&LANDLOCK, &anew), &[]);
        let open = "The sandbox does not hold here: TCP connections; \
                    datagrams and other traffic that is not TCP; \
                    what agents reach over the network.";
        check(deny, "api", kernel(&LANDLOCK[..3], &anew[..4]), &[open]);
        let all =
            "The sandbox leaves the machine's network to agents, as `[sandbox] network` says.";
        check("sandbox.network = [\"*\"]", "claude", kernel(&LANDLOCK, &anew[..4]), &[all]);
    }

    #[test]
    fn a_shell_is_free_only_in_a_sandbox_or_where_somebody_said_so() {
        let inside = SessionSandbox::Enforced(Box::default());
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
