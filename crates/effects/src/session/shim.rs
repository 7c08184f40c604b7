//! The shim: the one process between Spore and a foreign program.
//!
//! It has one thread and sleeps in one place, until a signal, an order or a deadline comes. It
//! is a subreaper: a process that loses its parent becomes its child, so the parent links
//! below it are all there ever was of the session, and "no children" means that all is over.
//!
//! The end of the control stream tells of Spore's death. `PR_SET_PDEATHSIG` would tell a child
//! of the death of a *thread*, and only the direct child: it serves where the shim, which has one
//! thread, has a first process in namespaces of its own (see [`super::first_process`]).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, dup2_stderr, dup2_stdin, dup2_stdout};

use super::client::SUPPORT_ARG;
use super::first_process::{FirstProcess, FirstReport, exit_code};
use super::processes::{descendants, signal};
use super::recording::RecordedStart;
use super::sandbox::{HandedFile, SandboxRules, support};
use super::wire::{Channel, Grace, Order, Received, ShimPlan, ShimReport, timeout_until};
use super::{Enforced, ProcessIdentity, SandboxRefusal, TOKEN_VAR};
use crate::clock::monotonic;

/// How long what a program left behind may take to end by itself: `build | tee log` is over
/// when the build is, but the last lines are still on their way.
const SETTLE: Duration = Duration::from_millis(200);

const KILL_AGAIN: Duration = Duration::from_millis(10);
const KILL_AGAIN_AT_MOST: Duration = Duration::from_millis(500);

/// Runs the shim; the second argument names the inherited socket. Returns the exit code: zero
/// when nothing of the session is left.
#[expect(clippy::disallowed_methods, reason = "the shim is a program of its own")]
pub fn shim_main() -> i32 {
    let mut args = std::env::args_os().skip(2);
    if args.next().is_some_and(|word| word == SUPPORT_ARG) {
        return tell_support(args.next().as_ref().map(Path::new));
    }
    let inherited = |at| std::env::args().nth(at).and_then(|fd| inherited(fd.parse().ok()?));
    let Some(channel) = inherited(2).map(Channel::new) else { return 64 };
    let recorded = inherited(3).map(|socket| RecordedStart::new(socket.into()));
    match attend(channel, recorded) {
        Ok(()) => 0,
        Err(_) => 70,
    }
}

/// Prints what this machine lets a session have.
fn tell_support(scratch: Option<&Path>) -> i32 {
    let told = scratch.and_then(|scratch| serde_json::to_vec(&support(scratch)).ok());
    let Some(told) = told else { return 64 };
    i32::from(io::Write::write_all(&mut io::stdout(), &told).is_err())
}

fn attend(mut channel: Channel, recorded: Option<RecordedStart>) -> io::Result<()> {
    keep_open_files_to_ourselves()?;
    nix::sys::prctl::set_child_subreaper(true)?;
    let signals = take_signals()?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let Some(plan) = wait_for::<ShimPlan>(&mut channel, &signals)? else { return Ok(()) };
    channel.send(&ShimReport::Ready(ProcessIdentity::of_this_process()?))?;
    if wait_for(&mut channel, &signals)? != Some(Order::Go) {
        return Ok(());
    }
    if let Err(error) = std::env::set_current_dir(&plan.cwd) {
        return channel.send(&ShimReport::NoDirectory { errno: errno_of(&error) });
    }
    let Started { program, first, enforced, handed } =
        match start_session(&plan, &null, &signals, recorded)? {
            Ok(started) => started,
            Err(refused) => return channel.send(&refused),
        };
    let mut watch = ShimWatch::new(program, first, plan.grace, channel, signals);
    // Only now are the pipes the program's alone, and close when it closes them.
    let _ = dup2_stdin(&null).and(dup2_stdout(&null)).and(dup2_stderr(&null));
    let (handed, files): (Vec<HandedFile>, Vec<OwnedFd>) = handed.into_iter().unzip();
    let lent: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
    watch.report_with(&ShimReport::Started { enforced, handed }, &lent);
    // They are Spore's alone, and closed when it closes them.
    drop(files);
    watch.run()
}

/// Takes a socket that Spore left open for us, if `fd` is one.
#[expect(unsafe_code, reason = "a number is all that is left of a descriptor after exec")]
fn inherited(fd: RawFd) -> Option<UnixStream> {
    let is_socket = fs::metadata(format!("/proc/self/fd/{fd}")).ok()?.file_type().is_socket();
    // SAFETY: it is open, above the three standard ones, and nothing else here knows of it.
    (fd > 2 && is_socket).then(|| unsafe { UnixStream::from_raw_fd(fd) })
}

/// Marks every file beyond the standard three as not for the program: the control socket, and
/// whatever Spore itself was started with.
#[expect(unsafe_code, reason = "descriptors of unknown owners are plain numbers")]
fn keep_open_files_to_ourselves() -> io::Result<()> {
    let names = fs::read_dir("/proc/self/fd")?.flatten().map(|entry| entry.file_name());
    let open: Vec<RawFd> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    for fd in open.into_iter().filter(|fd| *fd > 2) {
        // SAFETY: sets a flag, closes nothing; a number that is not open any more is EBADF.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}

/// Turns the signals that concern us into something to read, and undoes what was inherited: a
/// program that ignores SIGINT because Spore was started with `&` could not be interrupted.
#[expect(unsafe_code, reason = "sigaction")]
fn take_signals() -> io::Result<SignalFd> {
    let ours =
        SigSet::from_iter([Signal::SIGCHLD, Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
    ours.thread_set_mask()?;
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator() {
        // Two that cannot be changed and three that the Rust runtime has set for itself.
        let keep = matches!(
            signal,
            Signal::SIGKILL | Signal::SIGSTOP | Signal::SIGPIPE | Signal::SIGSEGV | Signal::SIGBUS
        );
        if !keep {
            // SAFETY: the default action runs no code of ours.
            unsafe { sigaction(signal, &default) }?;
        }
    }
    Ok(SignalFd::with_flags(&ours, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// Waits for a message before there is anything to watch. `None` means that the shim ends
/// without having started anything: Spore is gone, or the shim was sent a signal to end.
fn wait_for<M: serde::de::DeserializeOwned>(
    channel: &mut Channel,
    signals: &SignalFd,
) -> io::Result<Option<M>> {
    loop {
        match channel.receive(Some(monotonic()))? {
            Received::Message(message) => return Ok(Some(message)),
            Received::Closed => return Ok(None),
            Received::Late => {}
        }
        if signals.read_signal()?.is_some() {
            return Ok(None);
        }
        sleep(signals, [&*channel], None)?;
    }
}

/// A program that runs, and what it runs in.
struct Started {
    /// Its id, or that of the session's first process where there is one.
    program: i32,
    first: Option<Channel>,
    enforced: Option<Enforced>,
    /// Opened files from inside, for Spore.
    handed: Vec<(HandedFile, OwnedFd)>,
}

impl Started {
    /// A program in the machine's own root.
    fn plain(program: i32, enforced: Option<Enforced>) -> Self {
        Self { program, first: None, enforced, handed: Vec::new() }
    }
}

/// Starts the program as the plan wants it held. The inner error is what Spore is told.
fn start_session(
    plan: &ShimPlan,
    null: &File,
    signals: &SignalFd,
    recorded: Option<RecordedStart>,
) -> io::Result<Result<Started, ShimReport>> {
    let not_started = |errno| ShimReport::NotStarted { errno };
    let Some(confinement) = &plan.confinement else {
        let started = start(plan, recorded, || Ok(()));
        let started = started.map(|program| Started::plain(program, None));
        return Ok(started.map_err(|error| not_started(errno_of(&error))));
    };
    let Some(root) = &confinement.root else {
        let rules = match SandboxRules::new(confinement) {
            Ok(rules) => rules,
            Err(error) => {
                let step = "take on Landlock's rules".to_owned();
                let refusal = SandboxRefusal { step, errno: errno_of(&error) };
                return Ok(Err(ShimReport::NotConfined { refusal }));
            }
        };
        let enforced = Some(rules.enforced.clone());
        let started = start(plan, recorded, move || rules.take_on());
        let started = started.map(|program| Started::plain(program, enforced));
        return Ok(started.map_err(|error| not_started(errno_of(&error))));
    };
    let first = FirstProcess::start(plan, (confinement, root), null, |plan, rules| {
        start(plan, recorded, move || rules.take_on())
    });
    let FirstProcess { pid, mut channel } = match first {
        Ok(first) => first,
        Err(refusal) => return Ok(Err(ShimReport::NotConfined { refusal })),
    };
    Ok(match wait_for(&mut channel, signals)? {
        Some(FirstReport::Started { enforced, handed }) => {
            let files = channel.take_files(handed.len())?;
            let handed = handed.into_iter().zip(files).collect();
            Ok(Started { program: pid, first: Some(channel), enforced: Some(enforced), handed })
        }
        Some(FirstReport::NotStarted { errno }) => Err(not_started(errno)),
        Some(FirstReport::NotConfined { refusal }) => Err(ShimReport::NotConfined { refusal }),
        Some(FirstReport::Exited { .. }) | None => {
            let step = "start the session's first process".to_owned();
            Err(ShimReport::NotConfined { refusal: SandboxRefusal { step, errno: libc::EPIPE } })
        }
    })
}

/// Starts the program on our standard files. It leads a process group, because scripts end
/// with `kill 0` and that must not be us. `take_on` binds it to what holds it, by system calls
/// alone; what it looks up is recorded from then on.
#[expect(clippy::disallowed_methods, reason = "the other door to other programs, inner half")]
#[expect(unsafe_code, reason = "pre_exec: async-signal-safe system calls")]
fn start(
    plan: &ShimPlan,
    recorded: Option<RecordedStart>,
    take_on: impl Fn() -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<i32> {
    let mut command = Command::new(&plan.program);
    command
        .args(&plan.args)
        .env_clear()
        .envs(plan.env.iter().map(|(name, value)| (name, value)))
        .env(TOKEN_VAR, plan.token.as_str())
        .process_group(0);
    // SAFETY: between fork and exec only sigprocmask, prctl, landlock_restrict_self, seccomp,
    // sendmsg and close are called, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            // The program would inherit the mask, and hear of no signal that we block.
            SigSet::empty().thread_set_mask()?;
            // In the program and not in us: it must not be able to signal or trace the shim.
            take_on()?;
            if let Some(recorded) = &recorded {
                recorded.take_on();
            }
            Ok(())
        });
    }
    let child = command.spawn()?;
    i32::try_from(child.id()).map_err(io::Error::other)
}

fn sleep<'a>(
    signals: &SignalFd,
    channels: impl IntoIterator<Item = &'a Channel>,
    deadline: Option<Instant>,
) -> io::Result<()> {
    let mut fds = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    let channels = channels.into_iter();
    fds.extend(channels.map(|channel| PollFd::new(channel.as_fd(), PollFlags::POLLIN)));
    match poll(&mut fds, timeout_until(deadline)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn errno_of(error: &io::Error) -> i32 {
    // An argument with a zero byte fails before any system call.
    error.raw_os_error().unwrap_or(libc::EINVAL)
}

/// The signals of an end, in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rung {
    Interrupt,
    Terminate,
    Kill,
}

/// A running session, from the start of the program until nothing is left.
struct ShimWatch {
    /// The program, or the first process that started it.
    program: i32,
    /// What the first process says, where there is one; nothing once it is gone.
    first: Option<Channel>,
    /// The first process was killed by us, with all that it had.
    first_killed: bool,
    has_first: bool,
    grace: Grace,
    /// `None` once Spore is gone.
    channel: Option<Channel>,
    signals: SignalFd,
    /// What to send next and when; nothing while the program may run.
    next: Option<(Rung, Instant)>,
    kill_again: Duration,
    exited: bool,
    stopped: bool,
    /// Who was sent a signal after the program had ended.
    swept: BTreeSet<i32>,
}

impl ShimWatch {
    fn new(
        program: i32,
        first: Option<Channel>,
        grace: Grace,
        channel: Channel,
        signals: SignalFd,
    ) -> Self {
        Self {
            program,
            has_first: first.is_some(),
            first,
            first_killed: false,
            grace,
            channel: Some(channel),
            signals,
            next: None,
            kill_again: KILL_AGAIN,
            exited: false,
            stopped: false,
            swept: BTreeSet::new(),
        }
    }

    fn run(mut self) -> io::Result<()> {
        loop {
            self.read_orders();
            self.read_signals();
            let is_left = self.reap_children();
            self.read_first();
            if !is_left {
                break;
            }
            self.climb();
            let deadline = self.next.map(|(_, at)| at);
            sleep(&self.signals, self.channel.iter().chain(&self.first), deadline)?;
        }
        if self.first_killed && !self.exited {
            self.program_exited(128 + Signal::SIGKILL as i32);
        }
        let swept = u32::try_from(self.swept.len()).unwrap_or(u32::MAX);
        self.report(&ShimReport::Gone { stopped: self.stopped, swept });
        Ok(())
    }

    /// Sends a report to Spore. That Spore is gone shows at the next read, so a failure is ignored.
    fn report(&mut self, report: &ShimReport) {
        self.report_with(report, &[]);
    }

    fn report_with(&mut self, report: &ShimReport, files: &[BorrowedFd<'_>]) {
        if let Some(channel) = &self.channel {
            let _ = channel.send_with(report, files);
        }
    }

    fn read_orders(&mut self) {
        while let Some(channel) = &mut self.channel {
            match channel.receive(Some(monotonic())) {
                Ok(Received::Message(Order::Go)) => {}
                Ok(Received::Message(Order::Stop)) => {
                    self.stopped |= !self.exited;
                    self.end_now();
                }
                Ok(Received::Late) => return,
                Ok(Received::Closed) | Err(_) => {
                    self.channel = None;
                    self.end_now();
                }
            }
        }
    }

    /// Hears how the program ended from the process that is its parent.
    fn read_first(&mut self) {
        while let Some(first) = &mut self.first {
            match first.receive(Some(monotonic())) {
                Ok(Received::Message(FirstReport::Exited { code })) => self.program_exited(code),
                Ok(Received::Message(_)) => {}
                Ok(Received::Late) => return,
                Ok(Received::Closed) | Err(_) => self.first = None,
            }
        }
    }

    fn read_signals(&mut self) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            // The loop reaps children anyway; every other signal in the set asks the shim to end.
            if signal.ssi_signo != Signal::SIGCHLD as u32 {
                self.end_now();
            }
        }
    }

    fn end_now(&mut self) {
        if self.next.is_none_or(|(rung, _)| rung == Rung::Interrupt) {
            self.next = Some((Rung::Interrupt, monotonic()));
        }
    }

    /// Takes in every child that has ended. Returns whether any is left.
    #[expect(unsafe_code, reason = "waitpid of nix does not know real-time signals")]
    fn reap_children(&mut self) -> bool {
        loop {
            let mut status = 0;
            // SAFETY: the kernel writes one integer, which outlives the call.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                0 => return true,
                -1 if Errno::last() == Errno::EINTR => {}
                -1 => return false,
                pid if pid == self.program && !self.has_first => {
                    self.program_exited(exit_code(ExitStatus::from_raw(status)));
                }
                _ => {}
            }
        }
    }

    fn program_exited(&mut self, code: i32) {
        self.exited = true;
        self.report(&ShimReport::Exited { code });
        self.next.get_or_insert_with(|| (Rung::Interrupt, monotonic() + SETTLE));
    }

    /// Sends the signal that is due, if one is.
    fn climb(&mut self) {
        let now = monotonic();
        let Some((rung, _)) = self.next.filter(|(_, at)| *at <= now) else { return };
        let first = Some(self.program).filter(|_| self.has_first);
        for pid in descendants(Pid::this().as_raw()) {
            if first == Some(pid) {
                continue;
            }
            let sent = match rung {
                Rung::Interrupt => signal(pid, Signal::SIGINT),
                // A stopped process acts on a signal only when it is woken up.
                Rung::Terminate => signal(pid, Signal::SIGTERM) && signal(pid, Signal::SIGCONT),
                Rung::Kill => signal(pid, Signal::SIGKILL),
            };
            if sent && self.exited {
                self.swept.insert(pid);
            }
        }
        // The first process tells how the program ended, so it goes last: when what was killed
        // comes back, it takes everything along.
        if let Some(first) = first.filter(|_| rung == Rung::Kill && self.kill_again > KILL_AGAIN) {
            self.first_killed |= signal(first, Signal::SIGKILL);
        }
        self.next = Some(match rung {
            Rung::Interrupt => (Rung::Terminate, now + millis(self.grace.interrupt_ms)),
            Rung::Terminate => (Rung::Kill, now + millis(self.grace.terminate_ms)),
            Rung::Kill => {
                let again = now + self.kill_again;
                // A process was forked meanwhile, or the kernel has not removed it yet.
                self.kill_again = KILL_AGAIN_AT_MOST.min(self.kill_again * 2);
                (Rung::Kill, again)
            }
        });
    }
}

/// Capped: an instant too far away cannot be computed.
fn millis(count: u64) -> Duration {
    Duration::from_millis(count).min(Duration::from_secs(24 * 60 * 60))
}
