//! Sessions with real processes and real signals, through the public API.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use spore_effects::session::{
    Grace, ProcessIdentity, Session, SessionEnd, SessionError, Shim, ShimPlan, TOKEN_VAR, Waiting,
    find_by_token, is_alive, reap,
};
use spore_effects::{Ids, SystemClock};

const EXE: &str = env!("CARGO_BIN_EXE_effects-test-shim");

/// Short, for programs that will not go by themselves.
const GRACE: Grace = Grace { interrupt_ms: 100, terminate_ms: 100 };

/// Long, for programs that must go before it is over.
const PATIENT: Grace = Grace { interrupt_ms: 20_000, terminate_ms: 20_000 };

const SOON: Duration = Duration::from_secs(20);

fn plan(program: &str, args: &[&str]) -> ShimPlan {
    ShimPlan {
        confinement: None,
        token: Ids::random(Arc::new(SystemClock)).session_token(),
        program: program.into(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        cwd: "/".into(),
        env: vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())],
        grace: GRACE,
        stdin: false,
    }
}

fn sh(script: &str) -> ShimPlan {
    plan("sh", &["-c", script])
}

fn prepare(plan: &ShimPlan) -> Waiting {
    Shim::new(EXE.into()).prepare(plan).unwrap()
}

fn start(plan: &ShimPlan) -> Session {
    prepare(plan).go().unwrap()
}

fn read_all(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.unwrap().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the next line, and no byte of the one after it.
fn read_line(pipe: &mut impl Read) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while pipe.read(&mut byte).unwrap() > 0 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

#[track_caller]
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !holds() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn assert_nothing_left(plan: &ShimPlan) {
    assert_eq!(find_by_token(&plan.token), Vec::<i32>::new());
}

fn state_of(pid: &str) -> Option<char> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("State:\t"))?.chars().next()
}

/// Runs a program to its end and compares how it ended and what it said.
#[track_caller]
fn check(plan: &ShimPlan, expected: (SessionEnd, &str)) {
    let mut session = start(plan);
    let stdout = session.take_stdout();
    let reader = std::thread::spawn(move || read_all(stdout).unwrap());
    let end = session.wait().unwrap();
    let said = String::from_utf8(reader.join().unwrap()).unwrap();
    assert_eq!((end, said.as_str()), expected);
    assert_nothing_left(plan);
}

fn ended(code: i32) -> SessionEnd {
    SessionEnd { code, stopped: false, swept: 0 }
}

#[test]
fn output_and_exit_code_come_back() {
    check(&sh("echo hello; exit 3"), (ended(3), "hello\n"));
    check(&sh("kill -9 $$"), (ended(137), ""));
    // A real-time signal: no name, but a death like any other.
    check(&sh("kill -40 $$"), (ended(168), ""));
}

#[test]
fn the_program_works_where_the_plan_says() {
    let dir = tempfile::tempdir().unwrap();
    let cwd = dir.path().canonicalize().unwrap();
    let expected = format!("{}\n", cwd.display());
    check(&ShimPlan { cwd, ..sh("pwd") }, (ended(0), &expected));
}

#[test]
fn the_environment_is_the_plans_and_the_token() {
    let mut plan = plan("env", &[]);
    plan.env.push(("KEY".to_owned(), "two\nlines = 'x'".to_owned()));
    let expected = format!(
        "KEY=two\nlines = 'x'\nPATH=/usr/local/bin:/usr/bin:/bin\n{TOKEN_VAR}={}\n",
        plan.token
    );
    check(&plan, (ended(0), &expected));
}

#[test]
fn the_program_has_the_three_standard_files_and_no_other() {
    // The fourth is the listing itself.
    check(&plan("ls", &["/proc/self/fd"]), (ended(0), "0\n1\n2\n3\n"));
}

#[test]
fn no_secret_is_an_argument_of_the_shim() {
    let mut plan = sh("true");
    plan.env.push(("KEY".to_owned(), "hunter2".to_owned()));
    let waiting = prepare(&plan);
    for file in ["cmdline", "environ"] {
        let path = format!("/proc/{}/{file}", waiting.identity().pid);
        let text = String::from_utf8(fs::read(path).unwrap()).unwrap();
        assert!(!text.is_empty() && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn what_is_written_to_the_program_reaches_it() {
    let mut session = start(&ShimPlan { stdin: true, ..sh("cat; echo end") });
    let mut stdin = session.take_stdin().unwrap();
    let mut stdout = session.take_stdout().unwrap();
    stdin.write_all(b"one\n").unwrap();
    assert_eq!(read_line(&mut stdout), "one");
    drop(stdin);
    assert_eq!(read_line(&mut stdout), "end");
    assert_eq!(session.wait().unwrap(), ended(0));
}

#[test]
fn an_input_that_nobody_took_is_empty() {
    check(&ShimPlan { stdin: true, ..sh("cat; echo end") }, (ended(0), "end\n"));
    check(&ShimPlan { stdin: false, ..sh("cat; echo end") }, (ended(0), "end\n"));
}

#[test]
fn ten_megabytes_of_complaint_come_through() {
    let mut session = start(&sh("head -c 10000000 /dev/zero >&2; echo done"));
    let errors = read_all(session.take_stderr()).unwrap();
    assert_eq!(
        (errors.len(), read_all(session.take_stdout()).unwrap()),
        (10_000_000, b"done\n".into())
    );
    assert_eq!(session.wait().unwrap(), ended(0));
}

#[test]
fn the_output_ends_when_the_program_closes_it() {
    let mut session = start(&sh("exec >/dev/null 2>&1; kill -STOP $$"));
    assert_eq!(read_all(session.take_stdout()).unwrap(), b"");
    assert_eq!(read_all(session.take_stderr()).unwrap(), b"");
    assert_eq!(session.wait_until(Instant::now()).unwrap(), None);
}

#[test]
fn a_program_that_cannot_be_started_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode: u32| -> PathBuf {
        let path = dir.path().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        path
    };
    let check = |plan: ShimPlan, expected: &str| {
        let error = prepare(&plan).go().unwrap_err();
        let found = match &error {
            SessionError::NotInstalled { program } => format!("not installed: {}", name(program)),
            SessionError::NoDirectory { cwd, source } => {
                format!("no directory: {}, {:?}", name(cwd), source.kind())
            }
            SessionError::Start { program, source } => {
                format!("start: {}, {:?}", name(program), source.kind())
            }
            SessionError::NotConfined { refusal } => format!("not confined: {refusal}"),
            SessionError::Shim { detail, .. } => format!("shim: {detail}"),
        };
        assert_eq!(found, expected);
        assert_nothing_left(&plan);
    };
    let at = |program: PathBuf| ShimPlan { program, ..sh("") };
    check(plan("no-such-program-here", &[]), "not installed: no-such-program-here");
    check(at(dir.path().join("gone")), "not installed: gone");
    let orphan = file("orphan", "#!/no/such/interpreter\n", 0o755);
    check(at(orphan), "start: orphan, NotFound");
    check(at(file("text", "echo hello\n", 0o644)), "start: text, PermissionDenied");
    let cwd = dir.path().join("nowhere");
    check(ShimPlan { cwd, ..sh("true") }, "no directory: nowhere, NotFound");
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn an_executable_that_is_no_shim_is_an_error() {
    for exe in ["/bin/true", "/no/such/shim"] {
        let error = Shim::new(exe.into()).prepare(&sh("true")).unwrap_err();
        assert!(matches!(error, SessionError::Shim { .. }), "{error}");
    }
}

#[test]
fn a_session_that_was_only_prepared_starts_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ShimPlan { cwd: dir.path().to_owned(), ..sh("touch started") };
    let waiting = prepare(&plan);
    let identity = waiting.identity().clone();
    assert!(is_alive(&identity));
    assert_eq!(find_by_token(&plan.token), [identity.pid]);
    drop(waiting);
    assert!(!is_alive(&identity));
    assert_nothing_left(&plan);
    assert!(!dir.path().join("started").exists());
}

#[test]
fn a_program_that_ignores_interrupt_and_terminate_is_killed() {
    let plan = sh("trap '' INT TERM; echo up; while :; do sleep 1; done");
    let mut session = start(&plan);
    read_line(session.take_stdout().as_mut().unwrap());
    let asked = Instant::now();
    session.stop();
    let end = session.wait().unwrap();
    assert_eq!((end.code, end.stopped), (137, true));
    assert!(asked.elapsed() >= Duration::from_millis(200), "no signal without its grace");
    assert_nothing_left(&plan);
}

#[test]
fn each_signal_comes_in_its_turn() {
    let check = |trap: &str, code: i32| {
        // The shell runs its trap when the builtin that it waits in is interrupted.
        let mut session = start(&ShimPlan {
            stdin: true,
            grace: Grace { interrupt_ms: 100, ..PATIENT },
            ..sh(&format!("{trap}; echo up; read line; wait"))
        });
        read_line(session.take_stdout().as_mut().unwrap());
        let stopper = session.stopper();
        std::thread::spawn(move || stopper.stop()).join().unwrap();
        let end = session.wait_until(Instant::now() + SOON).unwrap();
        assert_eq!(end, Some(SessionEnd { code, stopped: true, swept: 0 }), "{trap}");
        assert_eq!(session.wait_until(Instant::now()).unwrap(), end, "the end stays the end");
    };
    check("trap 'exit 7' INT", 7);
    check("trap '' INT; trap 'exit 8' TERM", 8);
    check("true", 130);
}

#[test]
fn a_program_that_is_stopped_is_woken_to_end() {
    let grace = Grace { interrupt_ms: 100, ..PATIENT };
    let mut session = start(&ShimPlan { grace, ..sh("echo $$; kill -STOP $$") });
    let pid = read_line(session.take_stdout().as_mut().unwrap());
    eventually("the program stops", || state_of(&pid) == Some('T'));
    session.stop();
    let end = session.wait_until(Instant::now() + SOON).unwrap().unwrap();
    assert!(matches!(end.code, 130 | 143), "{end:?}");
}

#[test]
fn a_daemon_is_swept_when_the_program_has_ended() {
    // It keeps standard output open, which must not hold up the reader of the session.
    let plan = sh("(setsid sleep 600 &); echo done");
    check(&plan, (SessionEnd { swept: 1, ..ended(0) }, "done\n"));
}

#[test]
fn a_daemon_that_left_the_environment_behind_is_swept_too() {
    let mut session = start(&sh("(env -i setsid sh -c 'echo $$; exec sleep 600' &)"));
    let pid = read_line(session.take_stdout().as_mut().unwrap());
    assert_eq!(session.wait().unwrap(), SessionEnd { swept: 1, ..ended(0) });
    assert_eq!(state_of(&pid), None);
}

#[test]
fn what_ends_by_itself_right_after_the_program_is_left_to() {
    check(&sh("(sleep 0.01; echo late) & echo done"), (ended(0), "done\nlate\n"));
}

#[test]
fn a_script_that_kills_its_process_group_kills_itself_only() {
    check(&sh("echo done; kill -9 0"), (ended(137), "done\n"));
}

#[test]
fn a_dropped_session_is_ended() {
    let plan = sh("(setsid sleep 600 &); echo up; sleep 600");
    let mut session = start(&plan);
    read_line(session.take_stdout().as_mut().unwrap());
    let stopper = session.stopper();
    drop(session);
    assert_nothing_left(&plan);
    stopper.stop();
}

#[test]
fn a_shim_that_is_killed_takes_nobody_out_of_reach() {
    let plan = sh("(setsid sleep 600 &); echo up; sleep 600");
    let waiting = prepare(&plan);
    let shim = waiting.identity().pid;
    let mut session = waiting.go().unwrap();
    read_line(session.take_stdout().as_mut().unwrap());
    kill(Pid::from_raw(shim), Signal::SIGKILL).unwrap();
    assert!(matches!(session.wait(), Err(SessionError::Shim { .. })));
    assert_nothing_left(&plan);
}

#[test]
fn a_shim_that_is_asked_to_end_ends_the_session() {
    let plan = sh("echo up; sleep 600");
    let waiting = prepare(&plan);
    let shim = waiting.identity().pid;
    let mut session = waiting.go().unwrap();
    read_line(session.take_stdout().as_mut().unwrap());
    kill(Pid::from_raw(shim), Signal::SIGTERM).unwrap();
    assert!(!session.wait().unwrap().stopped);
    assert_nothing_left(&plan);
}

/// A Spore of its own, in the given mode of the test executable.
#[expect(clippy::disallowed_methods, reason = "a process that the test can kill")]
fn spore(mode: &str, plan: &ShimPlan) -> (Child, ProcessIdentity) {
    // What a shell without job control does to what it starts in the background.
    let script = format!("trap '' INT QUIT HUP; exec \"$0\" {mode}");
    let mut spore = Command::new("sh")
        .args(["-c", &script, EXE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = spore.stdin.as_mut().unwrap();
    writeln!(stdin, "{}", serde_json::to_string(plan).unwrap()).unwrap();
    let mut line = String::new();
    BufReader::new(spore.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let identity = serde_json::from_str(&line).unwrap();
    (spore, identity)
}

#[test]
fn a_spore_killed_before_it_said_go_has_started_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ShimPlan { cwd: dir.path().to_owned(), ..sh("touch started") };
    let (mut spore, identity) = spore("prepare", &plan);
    assert!(is_alive(&identity));
    spore.kill().unwrap();
    spore.wait().unwrap();
    eventually("the shim goes", || !is_alive(&identity));
    assert_nothing_left(&plan);
    assert!(!dir.path().join("started").exists());
}

#[test]
fn nothing_outlives_a_spore_that_was_killed() {
    let dir = tempfile::tempdir().unwrap();
    let plan = ShimPlan {
        cwd: dir.path().to_owned(),
        ..sh("trap '' INT TERM; (setsid sh -c 'echo $$ >daemon; mv daemon up; exec sleep 600' &)
              while :; do sleep 600; done")
    };
    let (mut spore, identity) = spore("go", &plan);
    eventually("the daemon is up", || dir.path().join("up").exists());
    spore.kill().unwrap();
    spore.wait().unwrap();
    let killed = Instant::now();
    eventually("all are gone", || find_by_token(&plan.token).is_empty());
    let most = Duration::from_millis(GRACE.interrupt_ms + GRACE.terminate_ms + 2000);
    assert!(killed.elapsed() < most, "{:?}", killed.elapsed());
    assert!(!is_alive(&identity));
    assert_eq!(reap(&identity, &plan.token, Duration::ZERO), 0);
}

#[test]
fn the_program_hears_every_signal_whatever_spore_ignores() {
    let dir = tempfile::tempdir().unwrap();
    // Not through a shell, which would unblock signals for us.
    let plan = plan("cp", &["/proc/self/status", "status"]);
    let plan = ShimPlan { cwd: dir.path().to_owned(), ..plan };
    let (mut spore, _) = spore("go", &plan);
    assert!(spore.wait().unwrap().success());
    let status = fs::read_to_string(dir.path().join("status")).unwrap();
    for name in ["SigBlk:\t", "SigIgn:\t"] {
        let signals = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let signals = u64::from_str_radix(signals, 16).unwrap();
        // Above 31 are those that have no name, two of which are the C library's own.
        assert_eq!(signals & 0x7fff_ffff, 0, "{name}");
    }
}

#[test]
fn reaping_waits_for_the_shim_to_finish() {
    let (mut spore, identity, plan) = crashed(Signal::SIGCONT);
    spore.wait().unwrap();
    assert_eq!(reap(&identity, &plan.token, SOON), 0);
    assert_nothing_left(&plan);
}

#[test]
fn reaping_kills_what_a_dead_shim_left() {
    let (mut spore, identity, plan) = crashed(Signal::SIGKILL);
    spore.wait().unwrap();
    assert_eq!(reap(&identity, &plan.token, SOON), 3);
    assert_nothing_left(&plan);
}

#[test]
fn reaping_loses_patience_with_a_shim_that_hangs() {
    let (mut spore, identity, plan) = crashed(Signal::SIGSTOP);
    spore.wait().unwrap();
    assert_eq!(reap(&identity, &plan.token, Duration::from_millis(50)), 4);
    assert!(!is_alive(&identity));
    assert_nothing_left(&plan);
}

/// A Spore that was killed in the middle of a session, just after its shim was sent `signal`.
fn crashed(signal: Signal) -> (Child, ProcessIdentity, ShimPlan) {
    let plan = sh("trap '' INT TERM; (setsid sleep 600 &); sleep 600; :");
    let (mut spore, identity) = spore("go", &plan);
    // The shim, the script and its two programs.
    eventually("all are up", || find_by_token(&plan.token).len() == 4);
    // It must not live to see what happens to the shim, and clear up itself.
    kill(Pid::from_raw(i32::try_from(spore.id()).unwrap()), Signal::SIGSTOP).unwrap();
    kill(Pid::from_raw(identity.pid), signal).unwrap();
    spore.kill().unwrap();
    (spore, identity, plan)
}
