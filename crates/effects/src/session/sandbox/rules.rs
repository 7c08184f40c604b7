//! Turns what is meant into the kernel's rules.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;

use super::filter::CallFilters;
use super::kernel::{
    EXECUTE, Handled, IOCTL_DEV, MAKE_BLOCK, MAKE_CHAR, OF_FILES, READ_DIR, READ_FILE, Ruleset,
    WRITE_FILE,
};
use super::{Confinement, Enforced, SOUND_LANDLOCK, SandboxLayer};

const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
const DEVICE: u64 = READ_FILE | WRITE_FILE | READ_DIR | IOCTL_DEV;

/// Rules that are complete, for a program to take on.
pub(crate) struct SandboxRules {
    ruleset: Ruleset,
    /// Nothing where no filter is allowed.
    filters: Option<CallFilters>,
    pub(crate) enforced: Enforced,
}

impl SandboxRules {
    /// Makes the rules. An error means that nothing sound can be enforced.
    pub(crate) fn new(wanted: &Confinement) -> io::Result<Self> {
        let abi = crate::machine::landlock_abi()
            .filter(|abi| *abi >= SOUND_LANDLOCK)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))?;
        let handled = Handled::of(abi, wanted.no_tcp);
        let mut granter = Granter {
            ruleset: Ruleset::new(handled)?,
            handled: handled.files,
            hidden: real(&wanted.hide),
        };
        granter.grant_around(Path::new("/"), READ)?;
        for place in &wanted.read {
            granter.grant_around(place, READ)?;
        }
        for place in &wanted.list {
            granter.grant(place, READ_DIR)?;
        }
        for place in &wanted.devices {
            granter.grant(place, DEVICE)?;
        }
        granter.hidden.extend(real(&wanted.keep));
        for place in &wanted.write {
            // A device would be a door to any disk, for root.
            granter.grant_around(place, handled.files & !(MAKE_CHAR | MAKE_BLOCK))?;
        }
        let filters = CallFilters::where_allowed().map_err(io::Error::other)?;
        let layers = filters.iter().map(|_| SandboxLayer::Calls).collect();
        let enforced = Enforced { layers, ..handled.enforced(abi) };
        Ok(Self { ruleset: granter.ruleset, filters, enforced })
    }

    /// Binds this process; between fork and exec.
    pub(crate) fn take_on(&self) -> io::Result<()> {
        self.ruleset.take_on()?;
        let filters = self.filters.as_ref().map_or(Ok(()), CallFilters::take_on);
        filters.map_err(|_| io::Error::last_os_error())
    }
}

fn real(places: &[PathBuf]) -> Vec<PathBuf> {
    places.iter().filter_map(|path| path.canonicalize().ok()).collect()
}

struct Granter {
    ruleset: Ruleset,
    handled: u64,
    /// By their real paths: what the grants pass over.
    hidden: Vec<PathBuf>,
}

impl Granter {
    /// Grants `rights` to `place` and below, but to nothing hidden there. A place that itself
    /// lies inside of something hidden was named on purpose.
    fn grant_around(&self, place: &Path, rights: u64) -> io::Result<()> {
        place.canonicalize().map_or(Ok(()), |place| self.walk(&place, rights))
    }

    fn walk(&self, place: &Path, rights: u64) -> io::Result<()> {
        if self.hidden.iter().any(|hidden| hidden == place) {
            return Ok(());
        }
        if !self.hidden.iter().any(|hidden| hidden.starts_with(place)) {
            return self.grant(place, rights);
        }
        // What cannot be listed can be passed, and nothing in it is granted.
        let Ok(entries) = fs::read_dir(place) else { return Ok(()) };
        for entry in entries.flatten() {
            // Where a link leads is granted there, or is not.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.walk(&entry.path(), rights)?;
            }
        }
        Ok(())
    }

    fn grant(&self, place: &Path, rights: u64) -> io::Result<()> {
        let Some((place, is_directory)) = open(place) else { return Ok(()) };
        let fitting = if is_directory { rights } else { rights & OF_FILES };
        match self.ruleset.grant(place.as_fd(), fitting & self.handled) {
            // The kernel has no rules for places like a pipe or a socket's own file system.
            Err(error) if error.raw_os_error() == Some(libc::EBADFD) => Ok(()),
            other => other,
        }
    }
}

/// Opens a place only to name it. One that is gone, or that the shim may not even name, needs
/// no rule: no process of the session could use it.
fn open(place: &Path) -> Option<(OwnedFd, bool)> {
    let mut options = File::options();
    let file = options.read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC).open(place).ok()?;
    let is_directory = file.metadata().ok()?.is_dir();
    Some((file.into(), is_directory))
}
