//! Gates as real processes, through a real shim.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time and environment")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use spore_effects::Tool;
use spore_effects::session::{self, Confinement, Grace, ProcessIdentity, Shim};
use spore_gates::{Gate, GateError, GateKind, GateResult, Parser, Runner, Standing};
use spore_model::{SessionToken, TreeId};

const GRACE: Grace = Grace { interrupt_ms: 50, terminate_ms: 50 };

struct Bench {
    dir: tempfile::TempDir,
    shim: Shim,
    token: SessionToken,
    output_cap: u64,
    timeout: Duration,
    parser: Parser,
}

impl Bench {
    fn new(token: &str) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            shim: Shim::new(env!("CARGO_BIN_EXE_gates-test-shim").into()),
            token: SessionToken::new(format!("{token:0<16}{}", std::process::id())).unwrap(),
            output_cap: 1 << 20,
            timeout: Duration::from_secs(60),
            parser: Parser::Plain,
        }
    }

    fn try_run(
        &self,
        command: &str,
        on_start: &mut dyn FnMut(&ProcessIdentity) -> Result<(), String>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<GateResult, GateError> {
        let gate = Gate::new("check", command, GateKind::Test, self.parser, self.timeout);
        let env = vec![("PATH".into(), std::env::var("PATH").unwrap())];
        let runner = Runner::new(self.shim.clone(), env, self.output_cap, GRACE);
        let tree = TreeId::new("0".repeat(40)).unwrap();
        let log = self.dir.path().join("check.log");
        runner.run(&gate, &tree, self.dir.path(), &log, self.token.clone(), on_start, cancel)
    }

    fn run(&self, command: &str) -> GateResult {
        self.try_run(command, &mut |_| Ok(()), &|| false).unwrap()
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("check.log")).unwrap()
    }

    #[track_caller]
    fn assert_nothing_is_left(&self) {
        assert_eq!(session::find_by_token(&self.token), Vec::<i32>::new());
    }
}

#[test]
fn both_streams_are_in_the_log_in_the_order_of_writing() {
    let bench = Bench::new("order");
    let result = bench.run("for i in 1 2 3; do echo out $i; echo err $i >&2; done");
    assert_eq!((result.exit, result.standing), (Some(0), Standing::Green));
    assert_eq!(bench.log(), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
    assert_eq!(result.log_bytes, 36);
    bench.assert_nothing_is_left();
}

#[test]
fn a_gate_tells_what_it_looked_up_beside_its_result() {
    let bench = Bench::new("record");
    std::fs::create_dir(bench.dir.path().join("sub")).unwrap();
    std::fs::write(bench.dir.path().join("sub/data"), "told").unwrap();
    let mut gate =
        Gate::new("check", "cat data; cat ../none", GateKind::Test, bench.parser, bench.timeout);
    gate.dir = "sub".to_owned();
    let env = vec![("PATH".into(), std::env::var("PATH").unwrap())];
    // Landlock holds it: nothing else forbids new privileges here, which recording asks for.
    let held = Confinement { write: vec!["/".into()], ..Confinement::default() };
    let runner = Runner::new(bench.shim.clone(), env, bench.output_cap, GRACE)
        .confined(Some(held))
        .recording_up_to(100);
    let tree = TreeId::new("0".repeat(40)).unwrap();
    let log = bench.dir.path().join("check.log");
    let (dir, token) = (bench.dir.path(), bench.token.clone());
    let on_start = &mut |_: &ProcessIdentity| Ok::<(), String>(());
    let (result, record) =
        runner.run_recorded(&gate, &tree, dir, &log, token, on_start, &|| false).unwrap();
    assert_eq!((result.exit, record.gate.as_str()), (Some(1), "check"));
    assert!(record.recording.complete, "{record:?}");
    assert_eq!(record.recording.read.iter().collect::<Vec<_>>(), ["sub/data"]);
    assert_eq!(record.recording.missed.iter().collect::<Vec<_>>(), ["none"]);
    bench.assert_nothing_is_left();
}

#[test]
fn the_gate_runs_in_the_checkout_with_its_own_environment_only() {
    let bench = Bench::new("environment");
    let result = bench.run(r#"echo "$HOME|$(pwd -P)"; exit 3"#);
    assert_eq!((result.exit, result.standing), (Some(3), Standing::Red));
    let dir = std::fs::canonicalize(bench.dir.path()).unwrap();
    assert_eq!(bench.log(), format!("|{}\n", dir.display()));
}

#[test]
fn a_gate_out_of_time_is_ended_and_has_no_exit_code() {
    let mut bench = Bench::new("time");
    bench.timeout = Duration::from_millis(150);
    let started = Instant::now();
    let result = bench.run("trap '' INT TERM; echo begun; sleep 60; sleep 60");
    assert_eq!((result.exit, result.standing), (None, Standing::Red));
    assert!(result.duration_ms >= 150 && started.elapsed() < Duration::from_secs(20));
    assert_eq!(bench.log(), "begun\n");
    bench.assert_nothing_is_left();
}

#[test]
fn a_daemon_neither_holds_up_the_gate_nor_survives_it() {
    let bench = Bench::new("daemon");
    let started = Instant::now();
    let result = bench.run(
        "(setsid sh -c 'echo up; touch up; sleep 60' &)
         until [ -e up ]; do sleep 0.01; done
         echo done",
    );
    assert_eq!((result.exit, bench.log().as_str()), (Some(0), "up\ndone\n"));
    assert!(started.elapsed() < Duration::from_secs(20));
    bench.assert_nothing_is_left();
}

#[test]
fn fifty_megabytes_of_output_keep_their_beginning_and_their_end() {
    let mut bench = Bench::new("megabytes");
    bench.output_cap = 10_000;
    bench.parser = Parser::Unittest;
    let result = bench.run(
        "echo first; head -c 50000000 /dev/zero | tr '\\0' x; \
         printf '\\nRan 3 tests in 0.1s\\n\\nOK\\n'",
    );
    let log = bench.log();
    assert!(log.starts_with("first\nxxx") && log.ends_with("xx\nRan 3 tests in 0.1s\n\nOK\n"));
    assert!(log.contains("bytes left out") && log.len() < 10_200);
    // Enough is left to count, not enough to be sure.
    assert_eq!((result.passed, result.recognised), (3, false));
}

#[test]
fn nothing_starts_unless_the_start_is_recorded() {
    let bench = Bench::new("record");
    let refused =
        bench.try_run("touch started", &mut |_| Err("the disk is full".into()), &|| false);
    assert!(matches!(refused, Err(GateError::NotRecorded { source, .. })
        if source.to_string() == "the disk is full"));
    assert!(!bench.dir.path().join("started").exists());

    let seen = Cell::new(false);
    let mut record = |identity: &ProcessIdentity| {
        seen.set(session::is_alive(identity) && !bench.dir.path().join("started").exists());
        Ok(())
    };
    bench.try_run("touch started", &mut record, &|| false).unwrap();
    assert!(seen.get() && bench.dir.path().join("started").exists());
}

#[test]
fn a_cancelled_gate_has_no_result() {
    let bench = Bench::new("cancel");
    let begun = bench.dir.path().join("begun");
    let cancel = || Path::exists(&begun);
    let cancelled = bench.try_run("touch begun; sleep 60", &mut |_| Ok(()), &cancel);
    assert!(matches!(cancelled, Err(GateError::Cancelled { .. })));
    bench.assert_nothing_is_left();
}

#[test]
fn a_real_test_run_is_read() {
    let mut bench = Bench::new("real");
    bench.parser = Parser::Unittest;
    let test = "import unittest\nclass T(unittest.TestCase):\n    \
                def test_good(self): print('hm')\n    def test_bad(self): self.fail()\n";
    std::fs::write(bench.dir.path().join("test_a.py"), test).unwrap();
    if Tool::new("python3").arg("--version").output().is_err() {
        return;
    }
    let result = bench.run("python3 -B -m unittest discover -v");
    assert_eq!((result.passed, result.failed, result.recognised), (1, 1, true), "{}", bench.log());
    assert!(result.failures[0].starts_with("test_bad (test_a.T"));
    assert_eq!(result.new_failures, result.failures);
}

#[test]
fn a_checkout_that_is_gone_is_an_error_and_not_a_red() {
    let bench = Bench::new("gone");
    let away = bench.dir.path().join("away");
    let gate = Gate::new("check", "true", GateKind::Build, Parser::Plain, bench.timeout);
    let runner = Runner::new(bench.shim.clone(), Vec::new(), 100, GRACE);
    let tree = TreeId::new("0".repeat(40)).unwrap();
    let mut on_start = |_: &ProcessIdentity| Ok::<(), String>(());
    let log = bench.dir.path().join("check.log");
    let error = runner.run(&gate, &tree, &away, &log, bench.token, &mut on_start, &|| false);
    assert!(matches!(error, Err(GateError::Session { .. })));
}
