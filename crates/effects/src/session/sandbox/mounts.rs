//! The system calls that a new root is made with. Thin: each does what its name says and says
//! which one failed.
//!
//! Sources are opened as detached trees (`open_tree`) while the old root is still there, and
//! attached (`move_mount`) in the new one, so no path is ever looked up in the old root on behalf
//! of the new (<https://man7.org/linux/man-pages/man2/open_tree.2.html>, Linux 5.12 and later).

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::libc;

/// What failed while a sandbox was made, and with which error of the kernel.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct SandboxRefusal {
    pub step: String,
    pub errno: i32,
}

impl SandboxRefusal {
    pub(super) fn new(step: impl Into<String>, error: &io::Error) -> Self {
        Self { step: step.into(), errno: error.raw_os_error().unwrap_or(libc::EINVAL) }
    }

    pub(super) fn last(step: impl Into<String>) -> Self {
        Self::new(step, &io::Error::last_os_error())
    }
}

impl std::fmt::Display for SandboxRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.step, io::Error::from_raw_os_error(self.errno))
    }
}

pub(super) type Made<T> = Result<T, SandboxRefusal>;

pub(super) const READ_ONLY: u64 = 1;
pub(super) const NO_SUID: u64 = 2;
pub(super) const NO_DEVICES: u64 = 4;

const AT_RECURSIVE: libc::c_int = 0x8000;
const OPEN_TREE_CLONE: libc::c_int = 1;
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;

/// The kernel's `mount_attr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns: u64,
}

fn c_path(path: &Path) -> CString {
    // A path with a zero byte cannot come from the kernel; an empty one fails where it is used.
    CString::new(path.as_os_str().as_bytes()).unwrap_or_default()
}

fn checked(answer: libc::c_long, step: impl FnOnce() -> String) -> Made<libc::c_long> {
    if answer < 0 { Err(SandboxRefusal::last(step())) } else { Ok(answer) }
}

/// Opens a copy of the mount tree at `path`, attached nowhere.
#[expect(unsafe_code, reason = "nix has no wrapper for this call")]
pub(super) fn open_tree(path: &Path) -> Made<OwnedFd> {
    let name = c_path(path);
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | AT_RECURSIVE;
    // SAFETY: the name outlives the call.
    let fd = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, name.as_ptr(), flags) };
    let fd = checked(fd, || format!("open {}", path.display()))?;
    // SAFETY: the kernel has just made it for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Sets attributes on an opened tree and everything mounted below.
pub(super) fn restrict(tree: &OwnedFd, set: u64) -> Made<()> {
    set_attributes(tree, set, AT_RECURSIVE)
}

/// Sets attributes on an opened mount and on nothing that is mounted below.
pub(super) fn restrict_alone(place: &OwnedFd, set: u64) -> Made<()> {
    set_attributes(place, set, 0)
}

#[expect(unsafe_code, reason = "nix has no wrapper for this call")]
fn set_attributes(tree: &OwnedFd, set: u64, flags: libc::c_int) -> Made<()> {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, userns: 0 };
    let flags = libc::AT_EMPTY_PATH | flags;
    // SAFETY: the structure and the empty name outlive the call; the size is the structure's.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    checked(done, || "restrict a mount".to_owned()).map(drop)
}

/// Attaches an opened tree at `path`, which must be there.
#[expect(unsafe_code, reason = "nix has no wrapper for this call")]
pub(super) fn attach(tree: &OwnedFd, path: &Path) -> Made<()> {
    let name = c_path(path);
    // SAFETY: both names outlive the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            name.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    checked(done, || format!("mount at {}", path.display())).map(drop)
}

/// Mounts a file system of the kernel's own kinds.
#[expect(unsafe_code, reason = "mount(2) with strings of our own")]
pub(super) fn mount(kind: &str, path: &Path, flags: libc::c_ulong, data: &str) -> Made<()> {
    let (name, target) = (CString::new(kind).unwrap_or_default(), c_path(path));
    let data = CString::new(data).unwrap_or_default();
    // SAFETY: all strings outlive the call.
    let done = unsafe {
        libc::mount(name.as_ptr(), target.as_ptr(), name.as_ptr(), flags, data.as_ptr().cast())
    };
    checked(done.into(), || format!("mount {kind} at {}", path.display())).map(drop)
}

/// Keeps every mount from here on to this mount namespace.
#[expect(unsafe_code, reason = "mount(2) with strings of our own")]
pub(super) fn make_private() -> Made<()> {
    // SAFETY: the names outlive the call, and the other pointers may be null for this operation.
    let done = unsafe {
        libc::mount(
            c"none".as_ptr(),
            c"/".as_ptr(),
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        )
    };
    checked(done.into(), || "make mounts private".to_owned()).map(drop)
}

/// Makes the current directory the root, with the old one below it at `old`.
#[expect(unsafe_code, reason = "nix has no wrapper that takes a relative name")]
pub(super) fn pivot_root(old: &Path) -> Made<()> {
    let old = c_path(old);
    // SAFETY: both names outlive the call.
    let done = unsafe { libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), old.as_ptr()) };
    checked(done, || "pivot_root".to_owned()).map(drop)
}

/// Detaches what is mounted at `path`, with all below.
pub(super) fn detach(path: &Path) -> Made<()> {
    nix::mount::umount2(path, nix::mount::MntFlags::MNT_DETACH)
        .map_err(|error| SandboxRefusal::new(format!("detach {}", path.display()), &error.into()))
}
