//! The thread that hears of every look-up, keeps what concerns it and lets the call go on.

use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, readlinkat};
use nix::libc;
use nix::sys::stat::{Mode, SFlag, fstatat};

use super::calls::{CallKind, RecordedCall, told_of};
use super::handover::receive;
use super::listener::{CallListener, descriptor_of, directory_of, flags_of_how, root_of, text_of};
use super::places::{FoundThere, PathUse, Places, interpreter};
use super::{Recording, RecordingPlan};

/// How long the thread may take to end when no process of the session is left.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Scripts may be interpreted by scripts, but not for ever.
const MOST_INTERPRETERS: usize = 4;

/// A record in the making. Dropped, it is not made; the thread ends with the session.
#[derive(Debug)]
pub(in crate::session) struct Recorder(Receiver<Recording>);

impl Recorder {
    /// Starts the thread. `socket` is Spore's end of the pair that the listener comes over,
    /// `program` the whole path of what will be started, as far as that is known.
    pub(in crate::session) fn start(
        plan: RecordingPlan,
        program: PathBuf,
        socket: UnixStream,
    ) -> Self {
        let (sender, recording) = channel();
        let thread = std::thread::Builder::new().name("recording".to_owned());
        // A thread that cannot be started closes the socket, and the program runs unrecorded.
        let _ = thread.spawn(move || {
            let recording = match receive(&socket) {
                Ok(listener) => {
                    drop(socket);
                    let mut session = WatchedSession::new(plan, program);
                    let listener = CallListener::new(listener);
                    let trouble = serve(&listener, &mut |call| session.take(&listener, call));
                    if let Some(trouble) = trouble {
                        session.places.blind(&trouble);
                    }
                    session.places.finish()
                }
                Err(why) => Recording::nothing(why),
            };
            let _ = sender.send(recording);
        });
        Self(recording)
    }

    /// Returns the record, when nothing is left of the session.
    pub(in crate::session) fn finish(self) -> Recording {
        let late = |_| Recording::nothing("the thread that records did not end");
        self.0.recv_timeout(END_WITHIN).unwrap_or_else(late)
    }
}

/// Shows every call that waits to `take`, and lets it go on. Returns what went wrong when no
/// process is left. A fault of ours costs the record and not the program: once `take` panicked,
/// calls are only let go.
fn serve(listener: &CallListener, take: &mut dyn FnMut(&libc::seccomp_notif)) -> Option<String> {
    let mut trouble = None;
    loop {
        match listener.next() {
            Ok(None) => return trouble,
            Ok(Some(call)) => {
                if trouble.is_none() && catch_unwind(AssertUnwindSafe(|| take(&call))).is_err() {
                    trouble = Some("Spore failed while it recorded".to_owned());
                }
                listener.go_on(&call);
            }
            Err(errno) => return Some(format!("the kernel stopped telling: {errno}")),
        }
    }
}

struct WatchedSession {
    places: Places,
    /// The session's root, to look things up from.
    root: Option<OwnedFd>,
    /// What is started first: a path, or a name that the shim finds outside.
    program: PathBuf,
}

impl WatchedSession {
    fn new(plan: RecordingPlan, program: PathBuf) -> Self {
        Self { places: Places::new(plan), root: None, program }
    }

    fn take(&mut self, listener: &CallListener, told: &libc::seccomp_notif) {
        let call = told_of(&told.data);
        let Some((purpose, follows)) = self.meaning(call, told) else { return };
        let path = match path_of(call, told) {
            Ok(Some(path)) => path,
            // A bad address, or a process that is gone: the call comes to nothing.
            Ok(None) | Err(Errno::EFAULT | Errno::ESRCH | Errno::ENOENT | Errno::EBADF) => return,
            // The program itself before its exec, still with the memory of the session's first
            // process, which may be closed to us. What it is, we know.
            Err(Errno::EPERM | Errno::EACCES) if self.root.is_none() && purpose == PathUse::Run => {
                return;
            }
            Err(errno) => return self.places.blind(&format!("a path cannot be read: {errno}")),
        };
        if self.root.is_none() {
            self.enter(told.pid);
        }
        if !self.places.concerns(&path) || !listener.is_waiting(told) {
            return;
        }
        let Some(root) = &self.root else {
            return self.places.blind("the session's root cannot be opened");
        };
        let look_up = |path: &Path| look_up(root, path);
        let mut found = self.places.take(&path, purpose, follows, &look_up);
        if purpose != PathUse::Run {
            return;
        }
        for _ in 0..MOST_INTERPRETERS {
            let Some(script) = found.and_then(|script| interpreter(&start_of(root, &script)?))
            else {
                return;
            };
            let Ok(dir) = directory_of(told.pid) else { return };
            found = self.places.take(&dir.join(script), PathUse::Run, true, &look_up);
        }
    }

    /// Opens the session's root, and takes in the program that was started in it.
    fn enter(&mut self, pid: u32) {
        let Ok(root) = root_of(pid) else { return };
        self.places.find_root(&|path| look_up(&root, path));
        if self.places.concerns(&self.program) {
            self.places.take(&self.program, PathUse::Run, true, &|path| look_up(&root, path));
        }
        self.root = Some(root);
    }

    /// Returns what the call does with the path, and whether it follows a link at its end;
    /// nothing where it reads nothing.
    fn meaning(
        &mut self,
        call: &RecordedCall,
        told: &libc::seccomp_notif,
    ) -> Option<(PathUse, bool)> {
        let has = |flags: usize, flag: libc::c_int| {
            told.data.args[flags] & u64::from(flag.unsigned_abs()) != 0
        };
        match call.kind {
            CallKind::Open { flags } => opening(told.data.args[flags]),
            CallKind::OpenHow { how } => {
                opening(flags_of_how(told.pid, told.data.args[how]).unwrap_or_default())
            }
            CallKind::Look { flags } => {
                Some((PathUse::Look, !has(flags, libc::AT_SYMLINK_NOFOLLOW)))
            }
            CallKind::LookFollowing => Some((PathUse::Look, true)),
            CallKind::LookAtLink => Some((PathUse::Look, false)),
            CallKind::SecondName => Some((PathUse::Read, false)),
            CallKind::Run { flags } => {
                let follows = !flags.is_some_and(|flags| has(flags, libc::AT_SYMLINK_NOFOLLOW));
                Some((PathUse::Run, follows))
            }
            CallKind::List => Some((PathUse::List, true)),
            CallKind::Blinds(why) => {
                self.places.blind(why);
                None
            }
        }
    }
}

/// What opening with these flags means. A file that is made anew is not read, and names of
/// temporary files are no one's to look for.
fn opening(flags: u64) -> Option<(PathUse, bool)> {
    let has = |flag: libc::c_int| {
        let flag = u64::from(flag.unsigned_abs());
        flags & flag == flag
    };
    let follows = !has(libc::O_NOFOLLOW);
    if has(libc::O_PATH) {
        return Some((PathUse::Look, follows));
    }
    let only_writes = flags & u64::from(libc::O_ACCMODE.unsigned_abs())
        == u64::from(libc::O_WRONLY.unsigned_abs());
    let makes = has(libc::O_TRUNC) || has(libc::O_CREAT | libc::O_EXCL) || has(libc::O_TMPFILE);
    (!only_writes && !makes).then_some((PathUse::Read, follows))
}

/// Returns the whole path that a call names; nothing where it names none.
fn path_of(call: &RecordedCall, told: &libc::seccomp_notif) -> Result<Option<PathBuf>, Errno> {
    let errno = |error: std::io::Error| Errno::from_raw(error.raw_os_error().unwrap_or_default());
    let descriptor = |argument: usize| {
        // The kernel looks at the low half alone.
        let fd = told.data.args[argument] as u32 as i32;
        if fd == libc::AT_FDCWD { directory_of(told.pid) } else { descriptor_of(told.pid, fd) }
    };
    if call.kind == CallKind::List {
        return descriptor(0).map(Some).map_err(errno);
    }
    let text = text_of(told.pid, told.data.args[call.path])?;
    let path = Path::new(std::ffi::OsStr::from_bytes(&text));
    if path.is_absolute() {
        return Ok(Some(path.to_owned()));
    }
    let dir = match call.dir {
        Some(argument) => descriptor(argument).map_err(errno)?,
        None => directory_of(told.pid).map_err(errno)?,
    };
    if text.is_empty() {
        // Only a call on an open file names something by it.
        return Ok(matches!(call.kind, CallKind::Run { flags: Some(_) }).then_some(dir));
    }
    Ok(Some(dir.join(path)))
}

/// Turns an absolute path of the session into one below its root.
fn below(path: &Path) -> &Path {
    match path.strip_prefix("/") {
        Ok(path) if !path.as_os_str().is_empty() => path,
        _ => Path::new("."),
    }
}

/// No directory on the way is a link, so the path cannot leave the session's root.
fn look_up(root: &OwnedFd, path: &Path) -> FoundThere {
    let path = below(path);
    let Ok(found) = fstatat(root, path, AtFlags::AT_SYMLINK_NOFOLLOW) else {
        return FoundThere::Nothing;
    };
    match SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFDIR => FoundThere::Directory,
        SFlag::S_IFLNK => readlinkat(root, path)
            .map_or(FoundThere::Nothing, |target| FoundThere::Link(target.into())),
        _ => FoundThere::File,
    }
}

/// Reads as much of a file as the kernel does to find out how it is run.
fn start_of(root: &OwnedFd, path: &Path) -> Option<Vec<u8>> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = openat(root, below(path), flags, Mode::empty()).ok()?;
    let mut start = Vec::new();
    std::fs::File::from(file).take(256).read_to_end(&mut start).ok()?;
    Some(start)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::super::handover::RecordedStart;
    use super::*;

    /// Runs a shell that looks for a file and tells by its code whether it found it, with `serve`
    /// as the one who hears of it.
    #[expect(clippy::disallowed_methods, reason = "a program of the test's own making")]
    #[expect(unsafe_code, reason = "pre_exec, as in the shim")]
    fn code_of_shell(serve: impl FnOnce(OwnedFd) + Send) -> Option<i32> {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || serve(receive(&ours).unwrap()));
            let start = RecordedStart::new(theirs.into());
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "test -d /proc/self"]);
            // SAFETY: only system calls.
            unsafe {
                command.pre_exec(move || {
                    nix::sys::prctl::set_no_new_privs()?;
                    start.take_on();
                    Ok(())
                });
            }
            command.status().ok().and_then(|status| status.code())
        })
    }

    #[test]
    fn a_fault_of_ours_costs_the_record_and_not_the_program() {
        let code = code_of_shell(|listener| {
            let mut heard = 0;
            let trouble = serve(&CallListener::new(listener), &mut |_| {
                heard += 1;
                assert!(heard < 3, "a fault that is meant");
            });
            assert_eq!((heard, trouble), (3, Some("Spore failed while it recorded".to_owned())));
        });
        assert_eq!(code, Some(0));
    }

    #[test]
    fn a_program_whose_listener_is_gone_is_refused_and_does_not_hang() {
        assert_eq!(code_of_shell(drop), None);
        let code = code_of_shell(|listener| {
            let listener = CallListener::new(listener);
            // The start of the shell; nothing after it is heard.
            listener.go_on(&listener.next().unwrap().unwrap());
        });
        assert_ne!(code, Some(0));
    }
}
