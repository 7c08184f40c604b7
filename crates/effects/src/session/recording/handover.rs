//! How the filter is taken on, and how its listener comes to Spore.
//!
//! The program itself sends the listener, over a socket that the shim got for this alone. It
//! cannot be the shim or the session's first process that sends it: they wait for the program's
//! `execve`, which waits for Spore's answer. The program keeps no copy. When Spore is gone the
//! kernel has none either, and answers every call that waits with `ENOSYS`: nothing hangs.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::libc;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use seccompiler::sock_filter;

use super::calls;

/// What a program takes on last before it starts.
pub(in crate::session) struct RecordedStart {
    filter: Vec<sock_filter>,
    socket: OwnedFd,
}

impl RecordedStart {
    /// `socket` is the shim's end of the pair. Made before the fork: this allocates.
    pub(in crate::session) fn new(socket: OwnedFd) -> Self {
        Self { filter: calls::filter(), socket }
    }

    /// Binds this process and all that it will start, and sends the listener. System calls only,
    /// so that it can be done between fork and exec. A program that cannot be recorded starts all
    /// the same, and Spore is told why. This does not forbid new privileges, which the kernel
    /// wants of all but root: what confines the session has, and else nothing is to change.
    pub(in crate::session) fn take_on(&self) {
        match self.listen() {
            Ok(listener) => {
                send(self.socket.as_raw_fd(), 0, Some(listener));
                // SAFETY (of the descriptor): made above, and nothing else has it.
                close(listener);
            }
            Err(errno) => send(self.socket.as_raw_fd(), errno, None),
        }
    }

    #[expect(unsafe_code, reason = "nix has no wrapper for this call")]
    fn listen(&self) -> Result<RawFd, i32> {
        let mut sizes =
            libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
        let len = libc::c_ushort::try_from(self.filter.len()).unwrap_or_default();
        // The library's instructions are the kernel's `sock_filter`, which is not to be written.
        let filter = self.filter.as_ptr().cast_mut().cast::<libc::sock_filter>();
        let program = libc::sock_fprog { len, filter };
        // The second flag keeps signals from interrupting calls that wait for us. A kernel that
        // has it also has all else that is used here.
        let flags =
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
        // SAFETY: the kernel writes one structure and reads another, with as many instructions
        // as it says; all outlive the calls.
        let fd = unsafe {
            let asked =
                libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, &raw mut sizes);
            // A kernel with larger structures would write past ours.
            if asked < 0
                || usize::from(sizes.seccomp_notif) != size_of::<libc::seccomp_notif>()
                || usize::from(sizes.seccomp_notif_resp) != size_of::<libc::seccomp_notif_resp>()
            {
                return Err(libc::EOPNOTSUPP);
            }
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                flags,
                &raw const program,
            )
        };
        RawFd::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(nix::errno::Errno::last_raw)
    }
}

#[expect(unsafe_code, reason = "between fork and exec there is no owner")]
fn close(fd: RawFd) {
    // SAFETY: our caller has just made it.
    unsafe { libc::close(fd) };
}

/// Sends four bytes and perhaps a descriptor. Where Spore does not hear us any more it has
/// nothing to record.
#[expect(unsafe_code, reason = "nix's sendmsg allocates")]
fn send(socket: RawFd, errno: i32, listener: Option<RawFd>) {
    /// Room for one control message with one descriptor, as aligned as the kernel wants it.
    #[repr(C, align(8))]
    struct Control([u8; 24]);
    let mut bytes = errno.to_ne_bytes();
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = Control([0; 24]);
    // SAFETY: every pointer leads to a value of ours that outlives the call, and the room for
    // the control message is as large as CMSG_SPACE says for one descriptor.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if let Some(listener) = listener {
            let size = size_of::<RawFd>() as u32;
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(size) as _;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size) as _;
            libc::CMSG_DATA(header).cast::<RawFd>().write_unaligned(listener);
        }
        libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL);
    }
}

/// Waits for the listener, in Spore. The error says why there is none.
#[expect(unsafe_code, reason = "a number is all that a control message has of a descriptor")]
pub(super) fn receive(socket: &UnixStream) -> Result<OwnedFd, String> {
    let mut bytes = [0; 4];
    let mut control = nix::cmsg_space!([RawFd; 1]);
    let (heard, listener) = loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        match recvmsg::<()>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags) {
            Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(format!("the listener did not come: {errno}")),
            Ok(message) => {
                let rights = message.cmsgs().into_iter().flatten().find_map(|part| match part {
                    ControlMessageOwned::ScmRights(fds) => fds.first().copied(),
                    _ => None,
                });
                // SAFETY: the kernel has just made it for us alone.
                break (message.bytes, rights.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
    };
    match (heard, listener) {
        (4, Some(listener)) => Ok(listener),
        (4, None) => {
            let refused = io::Error::from_raw_os_error(i32::from_ne_bytes(bytes));
            Err(format!("the kernel does not tell of look-ups here: {refused}"))
        }
        _ => Err("the program was never started".to_owned()),
    }
}
