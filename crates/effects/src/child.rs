//! A program's start, without a copy of our own memory.
//!
//! `fork` copies the tables of all our pages, and each page that is written later is copied once
//! more: in a process of fifty megabytes that is more than a millisecond a start, while git is done in
//! two. Here the child borrows our memory until it becomes its program and we wait for that, as
//! `posix_spawn` does it. That call itself will not do: it cannot bind the child to our life.
//!
//! What runs in between is in our memory: it allocates nothing, makes system calls and no others,
//! and leaves behind no more than the number of its error.

use std::ffi::{CStr, CString, OsStr, OsString, c_char};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::libc;
use nix::sched::{CloneFlags, clone};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getpid, getppid, setsid};

/// What the child runs on until it has become its program, beside a copy of the list of its arguments: the
/// C library makes one for a script that names no interpreter.
const STACK: usize = 64 * 1024;

/// A program to start.
pub(crate) struct Program<'a> {
    /// The file. A relative one is looked for from `cwd`.
    pub(crate) file: &'a Path,
    pub(crate) args: Vec<OsString>,
    /// All that it sees.
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: Option<&'a Path>,
    /// Whether it is told anything.
    pub(crate) listens: bool,
    pub(crate) bond: Bond,
}

/// How a program's life hangs on ours.
pub(crate) enum Bond {
    /// It is told to end when the thread ends that started it.
    Tied(Signal),
    /// It has a session of its own, so that no Ctrl-C at our terminal is meant for it, and these files of
    /// ours.
    Apart(Vec<RawFd>),
}

/// A program that was started, and the pipes to it. Dropping it does nothing to the program.
#[derive(Debug)]
pub(crate) struct StartedChild {
    pid: Pid,
    /// The exit code, once it was asked for after the end: then its number may be another's.
    code: Option<i32>,
    pub(crate) stdin: Option<PipeWriter>,
    pub(crate) stdout: Option<PipeReader>,
    pub(crate) stderr: Option<PipeReader>,
}

impl Program<'_> {
    /// Starts it, its standard files on pipes of ours.
    pub(crate) fn start(&self) -> io::Result<StartedChild> {
        let (theirs, stdin) = if self.listens {
            let (reader, writer) = io::pipe()?;
            (OwnedFd::from(reader), Some(writer))
        } else {
            (OwnedFd::from(File::open("/dev/null")?), None)
        };
        let (stdout, told) = io::pipe()?;
        let (stderr, complained) = io::pipe()?;
        let files = [theirs.as_raw_fd(), told.as_raw_fd(), complained.as_raw_fd()];
        let pid = self.start_on(files)?;
        Ok(StartedChild { pid, code: None, stdin, stdout: Some(stdout), stderr: Some(stderr) })
    }

    #[expect(unsafe_code, reason = "the child shares our memory, as nix cannot know")]
    fn start_on(&self, files: [RawFd; 3]) -> io::Result<Pid> {
        let file = text(self.file.as_os_str())?;
        let args = [self.file.as_os_str()].into_iter().chain(self.args.iter().map(|arg| &**arg));
        let args = args.map(text).collect::<io::Result<Vec<_>>>()?;
        let variable = |(name, value): &(OsString, OsString)| {
            text(OsStr::from_bytes(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
        };
        let env = self.env.iter().map(variable);
        let env = env.collect::<io::Result<Vec<_>>>()?;
        let cwd = self.cwd.map(|cwd| text(cwd.as_os_str())).transpose()?;
        let (args_of, env_of) = (pointers(&args), pointers(&env));
        let errno = AtomicI32::new(0);
        let becoming = Becoming {
            file: &file,
            args: &args_of,
            env: &env_of,
            cwd: cwd.as_deref(),
            files,
            bond: &self.bond,
            parent: getpid(),
        };
        let mut stack = vec![0; STACK + size_of_val(&*args_of)];
        let child = Box::new(|| {
            errno.store(becoming.the_program() as i32, Ordering::Relaxed);
            127
        });
        // None of our handlers runs in the child, whose memory is ours.
        let ours = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK;
        // SAFETY: this thread stands still until the child has ended or become its program, so what
        // the child was given stays as it is, and the stack is its own. It calls what is safe after a fork and does
        // not return into our code.
        let pid = unsafe { clone(child, &mut stack, flags, Some(libc::SIGCHLD)) };
        ours.thread_set_mask()?;
        let pid = pid?;
        match errno.load(Ordering::Relaxed) {
            0 => Ok(pid),
            errno => {
                let _ = waitpid(pid, None);
                Err(io::Error::from_raw_os_error(errno))
            }
        }
    }
}

/// What a child needs to become its program. All of it was made before.
struct Becoming<'a> {
    file: &'a CString,
    args: &'a [*const c_char],
    env: &'a [*const c_char],
    cwd: Option<&'a CStr>,
    files: [RawFd; 3],
    bond: &'a Bond,
    parent: Pid,
}

impl Becoming<'_> {
    /// Becomes the program, or says what stood in the way.
    fn the_program(&self) -> Errno {
        self.prepare().err().unwrap_or_else(|| self.execute())
    }

    #[expect(unsafe_code, reason = "descriptors are plain numbers here")]
    fn prepare(&self) -> nix::Result<()> {
        forget_handlers();
        match self.bond {
            Bond::Tied(signal) => {
                nix::sys::prctl::set_pdeathsig(*signal)?;
                // We may have died before the line above took effect.
                if getppid() != self.parent {
                    return Err(Errno::ESRCH);
                }
            }
            Bond::Apart(files) => {
                setsid()?;
                // Only in this child: programs that other threads start do not get them.
                for file in files {
                    // SAFETY: our caller holds it until the child has become its program.
                    let file = unsafe { BorrowedFd::borrow_raw(*file) };
                    fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
                }
            }
        }
        for (standard, file) in (0..).zip(self.files) {
            // SAFETY: two numbers.
            Errno::result(unsafe { libc::dup2(file, standard) })?;
        }
        if let Some(cwd) = self.cwd {
            nix::unistd::chdir(cwd)?;
        }
        // The program would inherit the mask, and hear of no signal.
        SigSet::empty().thread_set_mask()
    }

    #[expect(unsafe_code, reason = "nix makes the lists anew, and this allocates nothing")]
    fn execute(&self) -> Errno {
        // SAFETY: both lists end with a null, and what they point to lives as long as we are here.
        unsafe { libc::execvpe(self.file.as_ptr(), self.args.as_ptr(), self.env.as_ptr()) };
        Errno::last()
    }
}

/// Puts every signal that we handle back to what it does by itself; what we ignore stays ignored, but for
/// a closed pipe, which Rust's programs ignore and others live by.
#[expect(unsafe_code, reason = "nix has no wrapper that looks at a handler and leaves it")]
fn forget_handlers() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: a structure of ours is written and read; a number that is no signal is refused.
        unsafe {
            let mut handled = std::mem::zeroed::<libc::sigaction>();
            if libc::sigaction(signal, ptr::null(), &raw mut handled) != 0 {
                continue;
            }
            let is_ours = ![libc::SIG_DFL, libc::SIG_IGN].contains(&handled.sa_sigaction);
            if is_ours || signal == libc::SIGPIPE {
                handled.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const handled, ptr::null_mut());
            }
        }
    }
}

impl StartedChild {
    /// Kills it, unless it was heard to have ended.
    pub(crate) fn kill(&self) {
        if self.code.is_none() {
            let _ = kill(self.pid, Signal::SIGKILL);
        }
    }

    /// Waits for its end. Returns the exit code; 128 + n for death by signal n, as shells say it.
    pub(crate) fn wait(&mut self) -> io::Result<i32> {
        loop {
            if let Some(code) = self.look(0)? {
                return Ok(code);
            }
        }
    }

    /// The same where it has ended by now.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<i32>> {
        self.look(libc::WNOHANG)
    }

    #[expect(unsafe_code, reason = "nix knows no death by a signal without a name")]
    fn look(&mut self, how: libc::c_int) -> io::Result<Option<i32>> {
        if self.code.is_none() {
            let mut status = 0;
            // SAFETY: a number of ours is written.
            match Errno::result(unsafe { libc::waitpid(self.pid.as_raw(), &raw mut status, how) }) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => {
                    let status = ExitStatus::from_raw(status);
                    self.code = status.code().or_else(|| Some(128 + status.signal()?));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.code)
    }
}

fn text(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::from)
}

/// The list of texts as the kernel wants it, with a null at its end.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn program<'a>(file: &'a Path, args: &[&str]) -> Program<'a> {
        Program {
            file,
            args: args.iter().map(|arg| (*arg).into()).collect(),
            env: vec![("WORD".into(), "said".into())],
            cwd: Some(Path::new("/")),
            listens: false,
            bond: Bond::Tied(Signal::SIGTERM),
        }
    }

    fn sh(script: &str) -> Program<'static> {
        program(Path::new("/bin/sh"), &["-c", script])
    }

    fn answer(program: &Program<'_>) -> (i32, String) {
        let mut child = program.start().unwrap();
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        (child.wait().unwrap(), said)
    }

    #[test]
    fn a_program_sees_what_it_is_given_and_nothing_else() {
        assert_eq!(answer(&sh("echo $WORD $HOME in $PWD; exit 7")), (7, "said in /\n".to_owned()));
        assert_eq!(answer(&sh("kill -9 $$")).0, 137);
        // One that we have no name for.
        assert_eq!(answer(&sh("kill -40 $$")).0, 168);
    }

    #[test]
    fn what_cannot_be_started_says_why_and_leaves_no_process() {
        let errno = |program: &Program<'_>| program.start().unwrap_err().raw_os_error();
        assert_eq!(errno(&program(Path::new("/no/such/file"), &[])), Some(libc::ENOENT));
        assert_eq!(errno(&program(Path::new("/etc/passwd"), &[])), Some(libc::EACCES));
        let nowhere = Program { cwd: Some(Path::new("/no/such/place")), ..sh("true") };
        assert_eq!(errno(&nowhere), Some(libc::ENOENT));
        assert!(program(Path::new("/bin/sh"), &["a\0b"]).start().is_err());
    }

    #[test]
    fn a_script_that_names_no_interpreter_is_run_by_a_shell() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("script");
        std::fs::write(&file, "echo $1\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(answer(&program(&file, &["heard"])), (0, "heard\n".to_owned()));
    }

    /// Our own mask and handlers are none of the program's.
    #[test]
    fn a_program_hears_every_signal_as_if_it_were_alone() {
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK).unwrap();
        let (code, said) = answer(&sh("exec cat /proc/self/status"));
        before.thread_set_mask().unwrap();
        let mask = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap()
        };
        let pipe = 1 << (libc::SIGPIPE - 1);
        assert_eq!((code, mask("SigBlk:"), mask("SigIgn:") & pipe), (0, 0, 0), "{said}");
        // This thread is as it was.
        assert_eq!(SigSet::thread_get_mask().unwrap(), before);
    }

    #[test]
    fn a_program_apart_leads_a_session_and_has_the_files_that_it_is_given() {
        let (mut reader, writer) = io::pipe().unwrap();
        let file = writer.as_raw_fd();
        let said = format!(
            "echo heard >&{file}; read -r _ _ _ _ _ session _ < /proc/$$/stat; echo $session $$"
        );
        let (code, said) = answer(&Program { bond: Bond::Apart(vec![file]), ..sh(&said) });
        assert_eq!(code, 0);
        let (session, own) = said.trim().split_once(' ').unwrap();
        assert_eq!(session, own);
        // No other process got it: our own end was the last.
        drop(writer);
        let mut heard = String::new();
        reader.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "heard\n");
    }

    #[test]
    fn threads_that_start_programs_at_once_disturb_each_other_in_nothing() {
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    for round in 0..20 {
                        let word = format!("{thread}-{round}");
                        let program = program(Path::new("/bin/sh"), &["-c", "echo $0", &word]);
                        assert_eq!(answer(&program), (0, format!("{word}\n")));
                    }
                });
            }
        });
    }
}
