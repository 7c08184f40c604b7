//! Landlock's three system calls, and which rights each version of it knows.
//!
//! Raw calls instead of a library: the rules are made in the shim and taken on in its child
//! between fork and exec, where nothing may allocate, and what is reported must be the very
//! bits that were handed over.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::libc;

use super::Enforced;

pub(super) const EXECUTE: u64 = 1;
pub(super) const WRITE_FILE: u64 = 1 << 1;
pub(super) const READ_FILE: u64 = 1 << 2;
pub(super) const READ_DIR: u64 = 1 << 3;
pub(super) const MAKE_CHAR: u64 = 1 << 6;
pub(super) const MAKE_BLOCK: u64 = 1 << 11;
pub(super) const TRUNCATE: u64 = 1 << 14;
pub(super) const IOCTL_DEV: u64 = 1 << 15;

/// What applies to a file that is no directory; the kernel refuses the rest there.
pub(super) const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;

/// The rights to files in the order of their bits, with the version that brought each.
const FILES: [(&str, u32); 16] = [
    ("execute", 1),
    ("write_file", 1),
    ("read_file", 1),
    ("read_dir", 1),
    ("remove_dir", 1),
    ("remove_file", 1),
    ("make_char", 1),
    ("make_dir", 1),
    ("make_reg", 1),
    ("make_sock", 1),
    ("make_fifo", 1),
    ("make_block", 1),
    ("make_sym", 1),
    ("refer", 2),
    ("truncate", 3),
    ("ioctl_dev", 5),
];
const NETWORK: [(&str, u32); 2] = [("bind_tcp", 4), ("connect_tcp", 4)];
const SCOPES: [(&str, u32); 2] = [("abstract_unix_socket", 6), ("signal", 6)];

/// The rights that are taken away unless granted. The kernel's `landlock_ruleset_attr`: an
/// older one takes it too, as long as what it does not know is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(super) struct Handled {
    pub(super) files: u64,
    network: u64,
    scopes: u64,
}

impl Handled {
    /// Returns all that version `abi` can hold.
    pub(super) fn of(abi: u32, no_tcp: bool) -> Self {
        let network = if no_tcp { bits(&NETWORK, abi) } else { 0 };
        Self { files: bits(&FILES, abi), network, scopes: bits(&SCOPES, abi) }
    }

    /// Returns what version `abi` can hold beside files: those are the new root's.
    pub(super) fn scopes(abi: u32, no_tcp: bool) -> Self {
        Self { files: 0, ..Self::of(abi, no_tcp) }
    }

    pub(super) fn is_empty(self) -> bool {
        self.files | self.network | self.scopes == 0
    }

    pub(super) fn enforced(self, abi: u32) -> Enforced {
        let kinds = [(self.files, &FILES[..]), (self.network, &NETWORK), (self.scopes, &SCOPES)];
        let held = kinds.iter().flat_map(|(held, names)| {
            let named = names.iter().enumerate();
            named
                .filter(move |(bit, _)| held & (1 << bit) != 0)
                .map(|(_, (name, _))| (*name).to_owned())
        });
        Enforced { abi, rights: held.collect(), layers: Vec::new() }
    }
}

fn bits(known: &[(&str, u32)], abi: u32) -> u64 {
    let named = known.iter().enumerate().filter(|(_, (_, since))| *since <= abi);
    named.fold(0, |bits, (bit, _)| bits | 1 << bit)
}

/// The kernel's `landlock_path_beneath_attr`.
#[repr(C, packed)]
struct PathBeneath {
    rights: u64,
    place: RawFd,
}

/// A Landlock rule set that no thread is restricted by yet.
pub(super) struct Ruleset(OwnedFd);

impl Ruleset {
    #[expect(unsafe_code, reason = "nix has no wrapper for this call")]
    pub(super) fn new(handled: Handled) -> io::Result<Self> {
        // SAFETY: the kernel reads as many bytes of the structure as it is told there are.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_landlock_create_ruleset,
                &raw const handled,
                size_of::<Handled>(),
                0 as libc::c_uint,
            )
        };
        let fd = RawFd::try_from(checked(fd)?).map_err(io::Error::other)?;
        // SAFETY: the kernel has just made it for us alone, closed on exec.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Grants `rights` at `place` and below.
    #[expect(unsafe_code, reason = "nix has no wrapper for this call")]
    pub(super) fn grant(&self, place: BorrowedFd<'_>, rights: u64) -> io::Result<()> {
        const PATH_BENEATH: libc::c_int = 1;
        let rule = PathBeneath { rights, place: place.as_raw_fd() };
        // SAFETY: the kernel reads one structure of this kind, which outlives the call.
        let done = unsafe {
            libc::syscall(
                libc::SYS_landlock_add_rule,
                self.0.as_raw_fd(),
                PATH_BENEATH,
                &raw const rule,
                0 as libc::c_uint,
            )
        };
        checked(done).map(drop)
    }

    /// Binds this process and all that it will start. System calls only, so that it can be
    /// done between fork and exec.
    pub(super) fn take_on(&self) -> io::Result<()> {
        // Without it the kernel takes the rules only from root: a program with more rights
        // than ours must not be confused by them.
        nix::sys::prctl::set_no_new_privs()?;
        drop_capabilities();
        self.restrict()
    }

    /// The same for a process that has given up its privileges already.
    #[expect(unsafe_code, reason = "nix has no wrapper for this call")]
    pub(super) fn restrict(&self) -> io::Result<()> {
        // SAFETY: numbers only.
        let done = unsafe {
            libc::syscall(libc::SYS_landlock_restrict_self, self.0.as_raw_fd(), 0 as libc::c_uint)
        };
        checked(done).map(drop)
    }
}

/// What root may keep: the rights that work on files and on processes of its own, which the
/// rules hold. Everything else (disks, the kernel's memory, modules, devices) goes past them.
const KEPT_CAPABILITIES: [libc::c_ulong; 12] = [
    0,  // chown
    1,  // dac_override
    3,  // fowner
    4,  // fsetid
    5,  // kill
    6,  // setgid
    7,  // setuid
    8,  // setpcap
    10, // net_bind_service
    13, // net_raw
    18, // sys_chroot
    31, // setfcap
];

/// Drops the rest for all programs started from here on. Only root can, and only root has to.
#[expect(unsafe_code, reason = "nix has no wrapper for this call")]
fn drop_capabilities() {
    /// More than any kernel knows; it refuses what it does not.
    const HIGHEST: libc::c_ulong = 63;
    for capability in (0..=HIGHEST).filter(|number| !KEPT_CAPABILITIES.contains(number)) {
        // SAFETY: numbers only.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

fn checked(answer: libc::c_long) -> io::Result<libc::c_long> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(abi: u32, no_tcp: bool, expected: &str) {
        let rights = Handled::of(abi, no_tcp).enforced(abi).rights;
        let beyond_the_first: Vec<&str> =
            rights.iter().map(String::as_str).filter(|right| !of_the_first(right)).collect();
        assert_eq!(beyond_the_first.join(" "), expected);
        assert_eq!(rights.iter().filter(|right| of_the_first(right)).count(), 13);
    }

    fn of_the_first(right: &str) -> bool {
        FILES.iter().any(|(name, since)| *name == right && *since == 1)
    }

    #[test]
    fn what_is_said_to_be_held_is_what_the_version_can_hold() {
        check(1, true, "");
        check(2, true, "refer");
        check(3, true, "refer truncate");
        check(4, true, "refer truncate bind_tcp connect_tcp");
        check(4, false, "refer truncate");
        check(5, false, "refer truncate ioctl_dev");
        check(7, true, "refer truncate ioctl_dev bind_tcp connect_tcp abstract_unix_socket signal");
    }
}
