//! The kernel's side of a record: calls that wait, and what can be learned of those who made them.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Where calls wait for an answer.
pub(super) struct CallListener(OwnedFd);

impl CallListener {
    pub(super) fn new(listener: OwnedFd) -> Self {
        /// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`: the one who asks and the one who answers are
        /// never awake together, so the kernel need not look for another processor.
        const ONE_AT_A_TIME: usize = 1;
        let listener = Self(listener);
        let flags = std::ptr::without_provenance_mut(ONE_AT_A_TIME);
        // A kernel before 6.6 does not know it, and is slower.
        let _ = listener.control(libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
        listener
    }

    #[expect(unsafe_code, reason = "nix has no wrapper for these calls")]
    fn control(&self, request: libc::Ioctl, argument: *mut libc::c_void) -> Result<(), Errno> {
        // SAFETY: only called with what the request wants: a number, or a pointer to a structure
        // of its size that outlives the call.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) };
        Errno::result(done).map(drop)
    }

    /// Returns the next call that waits; nothing when no process is left that could make one.
    #[expect(unsafe_code, reason = "the kernel wants a structure of zeroes")]
    pub(super) fn next(&self) -> Result<Option<libc::seccomp_notif>, Errno> {
        loop {
            let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::NONE) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno),
            }
            let events = fds[0].revents().unwrap_or(PollFlags::POLLERR);
            if !events.contains(PollFlags::POLLIN) {
                return Ok(None);
            }
            // SAFETY: numbers only, for which zero is a value.
            let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            match self.control(libc::SECCOMP_IOCTL_NOTIF_RECV, (&raw mut call).cast()) {
                Ok(()) => return Ok(Some(call)),
                // Who made the call was killed before we looked.
                Err(Errno::EINTR | Errno::ENOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
    }

    /// Returns whether the call still waits: what was learned of its process is of that process.
    pub(super) fn is_waiting(&self, call: &libc::seccomp_notif) -> bool {
        self.control(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, (&raw const call.id).cast_mut().cast())
            .is_ok()
    }

    /// Lets the call go on. One who does not wait any more needs no answer.
    pub(super) fn go_on(&self, call: &libc::seccomp_notif) {
        let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or_default();
        let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags };
        while self.control(libc::SECCOMP_IOCTL_NOTIF_SEND, (&raw mut answer).cast())
            == Err(Errno::EINTR)
        {}
    }
}

/// Reads a text that ends with a zero from a process's memory.
pub(super) fn text_of(pid: u32, address: u64) -> Result<Vec<u8>, Errno> {
    const LONGEST: usize = libc::PATH_MAX as usize;
    const PAGE: usize = 4096;
    /// Most paths are shorter, and the next page may not be there.
    const CHUNK: usize = 256;
    let mut text = Vec::with_capacity(CHUNK);
    let mut at = usize::try_from(address).map_err(|_| Errno::EFAULT)?;
    while text.len() < LONGEST {
        let mut chunk = [0; CHUNK];
        let room = CHUNK.min(PAGE - at % PAGE);
        let count = read_memory(pid, at, &mut chunk[..room])?;
        if let Some(end) = chunk[..count].iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&chunk[..end]);
            return Ok(text);
        }
        text.extend_from_slice(&chunk[..count]);
        at = at.checked_add(count).filter(|_| count > 0).ok_or(Errno::EFAULT)?;
    }
    Err(Errno::ENAMETOOLONG)
}

/// Reads the flags of `openat2` from its structure.
pub(super) fn flags_of_how(pid: u32, address: u64) -> Result<u64, Errno> {
    let mut flags = [0; 8];
    read_memory(pid, usize::try_from(address).map_err(|_| Errno::EFAULT)?, &mut flags)?;
    Ok(u64::from_ne_bytes(flags))
}

#[expect(unsafe_code, reason = "process_vm_readv: cheaper than a file of /proc for each call")]
fn read_memory(pid: u32, address: usize, into: &mut [u8]) -> Result<usize, Errno> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| Errno::ESRCH)?;
    let ours = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let theirs = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: the kernel writes no more than our slice holds; the other address is theirs.
    let count = unsafe { libc::process_vm_readv(pid, &raw const ours, 1, &raw const theirs, 1, 0) };
    Errno::result(count).map(|count| usize::try_from(count).unwrap_or_default())
}

/// Where a process works, as it sees it itself.
pub(super) fn directory_of(pid: u32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd"))
}

/// What a descriptor of a process stands for.
pub(super) fn descriptor_of(pid: u32, fd: i32) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/{pid}/fd/{fd}"))
}

/// Opens the root of a process, only to start look-ups from it.
pub(super) fn root_of(pid: u32) -> io::Result<OwnedFd> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let root =
        fs::File::options().read(true).custom_flags(flags).open(format!("/proc/{pid}/root"))?;
    Ok(root.into())
}
