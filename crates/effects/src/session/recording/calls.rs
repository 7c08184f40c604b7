//! The calls that look a file up by name, the filter that tells of them, and what each means.
//!
//! Calls that cannot read are let through without a word: an open for writing alone, and a
//! question about an open file, which C libraries ask as a path that is empty. So is `readlink`:
//! C libraries ask it of every directory on the way to a path, which makes up two thirds of what a
//! compiler looks up (20,000 of 30,000 calls for 21 files), and the answer is mostly that it is no
//! link. A link that is passed through or asked about otherwise is seen all the same.

use nix::libc;
use seccompiler::sock_filter;

/// What a call does with what it names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallKind {
    /// Opens it, with flags in this argument.
    Open {
        flags: usize,
    },
    /// Opens it, with flags in a structure that this argument points to.
    OpenHow {
        how: usize,
    },
    /// Asks about it, following a link at its end or not by the flags in this argument.
    Look {
        flags: usize,
    },
    LookFollowing,
    /// Takes the name itself, be it a link: `lstat`, and the source of `rename`.
    LookAtLink,
    /// Gives what is there a second name, by which it may be read.
    SecondName,
    /// Starts it as a program.
    Run {
        flags: Option<usize>,
    },
    /// Lists the open directory of the first argument.
    List,
    /// From here on the record is not the whole truth.
    Blinds(&'static str),
}

/// One call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RecordedCall {
    number: libc::c_long,
    pub(super) kind: CallKind,
    /// The argument that holds the directory a relative path starts from, if the call has one.
    pub(super) dir: Option<usize>,
    /// The argument that points to the path.
    pub(super) path: usize,
    /// Let through if this argument, under this mask, has this value.
    silent: Option<(usize, u32, u32)>,
}

const WRITES_ONLY: (u32, u32) = (libc::O_ACCMODE.unsigned_abs(), libc::O_WRONLY.unsigned_abs());
const OPEN_FILE: (u32, u32) =
    (libc::AT_EMPTY_PATH.unsigned_abs(), libc::AT_EMPTY_PATH.unsigned_abs());

const fn call(number: libc::c_long, kind: CallKind) -> RecordedCall {
    RecordedCall { number, kind, dir: None, path: 0, silent: None }
}

/// A call whose first argument is a directory and whose second is the path.
const fn call_at(number: libc::c_long, kind: CallKind) -> RecordedCall {
    RecordedCall { number, kind, dir: Some(0), path: 1, silent: None }
}

const fn unless(call: RecordedCall, argument: usize, (mask, value): (u32, u32)) -> RecordedCall {
    RecordedCall { silent: Some((argument, mask, value)), ..call }
}

const BY_URING: CallKind =
    CallKind::Blinds("a program set up io_uring, which opens files by itself");
const OTHER_ROOT: CallKind = CallKind::Blinds("a program changed its root");

static CALLS: &[RecordedCall] = &[
    unless(call_at(libc::SYS_openat, CallKind::Open { flags: 2 }), 2, WRITES_ONLY),
    unless(call_at(libc::SYS_newfstatat, CallKind::Look { flags: 3 }), 3, OPEN_FILE),
    unless(call_at(libc::SYS_statx, CallKind::Look { flags: 2 }), 2, OPEN_FILE),
    call(libc::SYS_getdents64, CallKind::List),
    call_at(libc::SYS_faccessat, CallKind::LookFollowing),
    unless(call_at(libc::SYS_faccessat2, CallKind::Look { flags: 3 }), 3, OPEN_FILE),
    call_at(libc::SYS_openat2, CallKind::OpenHow { how: 2 }),
    call(libc::SYS_execve, CallKind::Run { flags: None }),
    call_at(libc::SYS_execveat, CallKind::Run { flags: Some(4) }),
    call(libc::SYS_chdir, CallKind::LookFollowing),
    call_at(libc::SYS_linkat, CallKind::SecondName),
    call_at(libc::SYS_renameat2, CallKind::LookAtLink),
    call(libc::SYS_io_uring_setup, BY_URING),
    call(libc::SYS_chroot, OTHER_ROOT),
    call(libc::SYS_pivot_root, OTHER_ROOT),
    #[cfg(target_arch = "x86_64")]
    unless(call(libc::SYS_open, CallKind::Open { flags: 1 }), 1, WRITES_ONLY),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_stat, CallKind::LookFollowing),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_lstat, CallKind::LookAtLink),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_access, CallKind::LookFollowing),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_getdents, CallKind::List),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, CallKind::SecondName),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, CallKind::LookAtLink),
    #[cfg(target_arch = "x86_64")]
    call_at(libc::SYS_renameat, CallKind::LookAtLink),
];

static FOREIGN: RecordedCall =
    call(-1, CallKind::Blinds("a program spoke to the kernel in another instruction set"));

/// The kernel's number of this instruction set: `AUDIT_ARCH_*` of linux/audit.h.
#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;

/// The bit that numbers of x32 have, the second instruction set of x86-64.
const X32: u32 = 0x4000_0000;

/// Returns what a call is that the filter told of.
pub(super) fn told_of(data: &libc::seccomp_data) -> &'static RecordedCall {
    if data.arch != AUDIT_ARCH {
        return &FOREIGN;
    }
    CALLS.iter().find(|call| call.number == libc::c_long::from(data.nr)).unwrap_or(&FOREIGN)
}

/// Makes the filter. Calls of other instruction sets are told of, because a filter that refuses
/// them is another's duty and may not be there.
pub(super) fn filter() -> Vec<sock_filter> {
    const LOAD: u16 = 0x20;
    const AND: u16 = 0x54;
    const IS: u16 = 0x15;
    const IS_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    /// Where `seccomp_data` has its parts.
    const NUMBER: u32 = 0;
    const ARCH: u32 = 4;
    const ARGUMENTS: u32 = 16;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let tell = step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF);
    let allow = step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW);
    let mut steps = vec![
        step(LOAD, 0, 0, ARCH),
        step(IS, 1, 0, AUDIT_ARCH),
        tell.clone(),
        step(LOAD, 0, 0, NUMBER),
        step(IS_AT_LEAST, 0, 1, X32),
        tell.clone(),
    ];
    for call in CALLS {
        let number = u32::try_from(call.number).unwrap_or(u32::MAX);
        let Some((argument, mask, value)) = call.silent else {
            steps.extend([step(IS, 0, 1, number), tell.clone()]);
            continue;
        };
        // The low half of the argument, on machines that are little-endian: all flags are there.
        let argument = ARGUMENTS + 8 * u32::try_from(argument).unwrap_or_default();
        steps.extend([
            step(IS, 0, 5, number),
            step(LOAD, 0, 0, argument),
            step(AND, 0, 0, mask),
            step(IS, 0, 1, value),
            allow.clone(),
            tell.clone(),
        ]);
    }
    steps.push(allow);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_is_told_of_once_and_known_again() {
        for call in CALLS {
            let data = libc::seccomp_data {
                nr: i32::try_from(call.number).unwrap(),
                arch: AUDIT_ARCH,
                instruction_pointer: 0,
                args: [0; 6],
            };
            assert_eq!(told_of(&data), call);
            assert_eq!(told_of(&libc::seccomp_data { arch: 3, ..data }), &FOREIGN);
        }
    }
}
