//! Many sessions at once. Alone in its executable, because it counts what its process holds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::io::Read;
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::wait::{WaitPidFlag, waitpid};
use spore_effects::session::{Grace, SessionEnd, Shim, ShimPlan, find_by_token};
use spore_effects::{Ids, SystemClock};
use spore_model::SessionToken;

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Runs one session of the given kind to its end.
fn run(number: usize, token: SessionToken) {
    let (script, stop, expected) = match number % 3 {
        0 => ("echo up", false, SessionEnd { code: 0, stopped: false, swept: 0 }),
        1 => (
            "(setsid sleep 600 &); echo up",
            false,
            SessionEnd { code: 0, stopped: false, swept: 1 },
        ),
        _ => ("echo up; exec sleep 600", true, SessionEnd { code: 130, stopped: true, swept: 0 }),
    };
    let plan = ShimPlan {
        confinement: None,
        token,
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), script.to_owned()],
        cwd: "/".into(),
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        grace: Grace { interrupt_ms: 100, terminate_ms: 10_000 },
        stdin: true,
    };
    let shim = Shim::new(env!("CARGO_BIN_EXE_effects-test-shim").into());
    let mut session = shim.prepare(&plan).unwrap().go().unwrap();
    let mut up = [0; 3];
    session.take_stdout().unwrap().read_exact(&mut up).unwrap();
    if stop {
        session.stop();
    }
    let end = session.wait().unwrap();
    assert_eq!((&up, end), (b"up\n", expected), "{script}");
}

#[test]
fn fifty_sessions_at_once_leave_no_process_and_no_file_behind() {
    let ids = Ids::random(Arc::new(SystemClock));
    let tokens: Vec<SessionToken> = (0..50).map(|_| ids.session_token()).collect();
    let before = open_files();
    std::thread::scope(|scope| {
        for (number, token) in tokens.iter().cloned().enumerate() {
            scope.spawn(move || run(number, token));
        }
    });
    assert_eq!(open_files(), before);
    assert_eq!(waitpid(None, Some(WaitPidFlag::WNOHANG)), Err(Errno::ECHILD));
    for token in &tokens {
        assert!(find_by_token(token).is_empty());
    }
}
