//! What no program of a session asks the kernel for: a filter on system calls.
//!
//! A list of what is refused, not of what is allowed: programs of a project may use new calls, and
//! the namespaces hold files, processes and the network. Refused is what no namespace holds (keys,
//! virtual sockets to the hypervisor, the machine's clock and modules), what goes past Landlock (TCP
//! over several paths, sending that connects) and what goes past this filter (io_uring makes sockets by
//! itself, other instruction sets have other numbers).
//!
//! io_uring: <https://github.com/moby/moby/issues/46762>, AF_VSOCK: <https://github.com/moby/moby/issues/44562>.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// The filters in the order in which they are taken on.
pub(super) struct CallFilters(Vec<BpfProgram>);

#[cfg(target_arch = "x86_64")]
const ARCH: TargetArch = TargetArch::x86_64;
#[cfg(target_arch = "aarch64")]
const ARCH: TargetArch = TargetArch::aarch64;

/// The kernel's number of this instruction set: `AUDIT_ARCH_*` of linux/audit.h.
#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;

/// Refused as not permitted: the kernel itself, its keys, and other programs' memory.
const NOT_PERMITTED: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Refused as if the kernel had none: libraries have another way then.
const NOT_THERE: &[libc::c_long] =
    &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// The kinds of sockets that a namespace of the network or of files holds, or that are private.
const SOCKET_FAMILIES: &[libc::c_int] =
    &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// `IPPROTO_MPTCP`: to Landlock it is no TCP (<https://docs.kernel.org/userspace-api/landlock.html>).
const SEVERAL_PATHS: u64 = 262;

/// `MSG_FASTOPEN`: sending connects, and Landlock is not asked. By call, and where its flags are.
const CONNECTS: u64 = 0x2000_0000;
const SENDS: [(libc::c_long, u8); 3] =
    [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];

/// Types into a terminal, or does what only a console may: `ioctl` of a terminal that is shared.
const TERMINAL_CONTROLS: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */];

impl CallFilters {
    /// Makes the filters. They are made before the program is forked: this allocates.
    fn new() -> Result<Self, seccompiler::BackendError> {
        let plain = |calls: &[libc::c_long]| {
            calls.iter().map(|call| (*call, Vec::new())).collect::<BTreeMap<_, _>>()
        };
        let mut not_permitted = plain(NOT_PERMITTED);
        let controls = TERMINAL_CONTROLS.map(|control| {
            // The kernel looks at the low half alone.
            let is = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, control);
            SeccompRule::new(vec![is?])
        });
        not_permitted.insert(libc::SYS_ioctl, controls.into_iter().collect::<Result<_, _>>()?);
        let others = SOCKET_FAMILIES.iter().map(|family| {
            let family = u64::from(family.unsigned_abs());
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
        });
        let others = SeccompRule::new(others.collect::<Result<_, _>>()?)?;
        let sockets = BTreeMap::from([
            (libc::SYS_socket, vec![others.clone()]),
            (libc::SYS_socketpair, vec![others]),
        ]);
        // Programs that are refused these connect in the plain way.
        let several_paths =
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, SEVERAL_PATHS)?;
        let several_paths = SeccompRule::new(vec![several_paths])?;
        let several_paths = BTreeMap::from([(libc::SYS_socket, vec![several_paths])]);
        let sends = SENDS.map(|(call, flags)| {
            let is = SeccompCmpOp::MaskedEq(CONNECTS);
            let is = SeccompCondition::new(flags, SeccompCmpArgLen::Dword, is, CONNECTS)?;
            Ok((call, vec![SeccompRule::new(vec![is])?]))
        });
        let sends = sends.into_iter().collect::<Result<_, seccompiler::BackendError>>()?;
        let mut programs = vec![
            program(several_paths, libc::EPROTONOSUPPORT)?,
            program(sends, libc::EOPNOTSUPP)?,
            program(sockets, libc::EAFNOSUPPORT)?,
            program(not_permitted, libc::EPERM)?,
            program(plain(NOT_THERE), libc::ENOSYS)?,
        ];
        for program in &mut programs {
            let own = std::mem::take(program);
            *program = foreign_calls().into_iter().chain(own).collect();
        }
        Ok(Self(programs))
    }

    /// Makes the filters where a session can be filtered at all: what is around it, a container or
    /// a filter of its own, may refuse that.
    pub(super) fn where_allowed() -> Result<Option<Self>, seccompiler::BackendError> {
        is_allowed().then(Self::new).transpose()
    }

    /// Binds this process and all that it will start. System calls only, so that it can be done
    /// between fork and exec.
    pub(super) fn take_on(&self) -> Result<(), seccompiler::Error> {
        self.0.iter().try_for_each(|program| seccompiler::apply_filter(program))
    }
}

/// Asks the kernel for a filter's way to refuse, which changes nothing.
#[expect(unsafe_code, reason = "nix has no wrapper for this call")]
pub(super) fn is_allowed() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the kernel reads one integer, which outlives the call.
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action)
    };
    answer == 0
}

fn program(
    rules: BTreeMap<libc::c_long, Vec<SeccompRule>>,
    errno: libc::c_int,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let refuse = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, ARCH)?.try_into()
}

/// Refuses the calls of other instruction sets, whose numbers mean something else. The library
/// would end the program there, and does not know the second set of x86-64, x32.
fn foreign_calls() -> Vec<seccompiler::sock_filter> {
    const LOAD: u16 = 0x20;
    const IS: u16 = 0x15;
    const IS_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const NOT_THERE: u32 = 0x0005_0000 | libc::ENOSYS.unsigned_abs();
    /// The bit that numbers of x32 have.
    const X32: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 4),
        step(IS, 1, 0, AUDIT_ARCH),
        step(RETURN, 0, 0, NOT_THERE),
        step(LOAD, 0, 0, 0),
        step(IS_AT_LEAST, 0, 1, X32),
        step(RETURN, 0, 0, NOT_THERE),
    ]
}
