//! What a session looks up, recorded on this kernel: as root and as another user, with every way
//! of holding a session.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use nix::unistd::geteuid;
use spore_effects::session::{
    Confinement, ProcessIdentity, Recording, RecordingMethod, RecordingPlan, find_by_token,
    is_alive,
};
use spore_effects::{Ids, SystemClock};
use spore_model::SessionToken;

use crate::stage::{EXE, NOBODY, Stage, shim, support};

/// A checkout to look around in. `$C` in scripts.
fn furnished(user: u32) -> Stage {
    let stage = Stage::new(user);
    for dir in ["lib/deep", "bin", "empty"] {
        fs::create_dir_all(stage.path("checkout").join(dir)).unwrap();
    }
    for (file, text) in [
        ("a.txt", "a"),
        ("lib/b.txt", "b"),
        ("lib/deep/c.txt", "c"),
        ("lib/mod.py", "import json\n"),
        ("bin/tool", "#!/bin/sh\ncat ../a.txt\n"),
        ("bin/nested", "#!bin/tool\n"),
    ] {
        let path = stage.path("checkout").join(file);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink("lib/deep", stage.path("checkout/short")).unwrap();
    for dir in ["", "lib", "lib/deep", "bin", "empty"] {
        chown(stage.path("checkout").join(dir), Some(user), Some(user)).unwrap();
    }
    stage
}

/// What a record is asked for.
struct LookedAt {
    root: PathBuf,
    /// Another program than the shell that plays the script.
    program: Option<&'static str>,
    max_paths: usize,
}

impl LookedAt {
    fn checkout(stage: &Stage) -> Self {
        Self { root: stage.path("checkout"), program: None, max_paths: 10_000 }
    }
}

/// Starts a Spore of `user` that records `script`.
#[expect(clippy::disallowed_methods, reason = "a program of the test's own making")]
fn spore(
    looked: LookedAt,
    (stage, user): (&Stage, u32),
    script: &str,
    confinement: Option<Confinement>,
) -> (Child, BufReader<ChildStdout>, ProcessIdentity, SessionToken) {
    let token = Ids::random(Arc::new(SystemClock)).session_token();
    let mut plan = stage.plan(script, confinement, token.clone());
    plan.args[1] = format!("exec 2>&1\nC=$PWD\n{script}");
    if let Some(program) = looked.program {
        plan.program = program.into();
    }
    // The executable itself, for the wrapper of another user would leave Spore ours.
    let exe =
        if user == geteuid().as_raw() { EXE.into() } else { shim(user).with_file_name("shim") };
    let mut command = Command::new(exe);
    command.arg("record").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if user != geteuid().as_raw() {
        command.uid(user).gid(user);
    }
    let mut spore = command.spawn().unwrap();
    let wanted = RecordingPlan { root: looked.root, max_paths: looked.max_paths };
    let mut stdin = spore.stdin.take().unwrap();
    for line in [serde_json::to_string(&plan).unwrap(), serde_json::to_string(&wanted).unwrap()] {
        writeln!(stdin, "{line}").unwrap();
    }
    let mut stdout = BufReader::new(spore.stdout.take().unwrap());
    let mut identity = String::new();
    stdout.read_line(&mut identity).unwrap();
    (spore, stdout, serde_json::from_str(&identity).unwrap(), token)
}

/// Records `script` and returns the record with what the script printed.
fn record_at(
    looked: LookedAt,
    stage: (&Stage, u32),
    script: &str,
    confinement: Option<Confinement>,
) -> (Recording, String) {
    let (mut spore, mut stdout, _, token) = spore(looked, stage, script, confinement);
    let (mut said, mut told) = (String::new(), String::new());
    let mut stderr = spore.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        stderr.read_to_string(&mut said).unwrap();
        said
    });
    stdout.read_to_string(&mut told).unwrap();
    spore.wait().unwrap();
    assert_eq!(find_by_token(&token), Vec::<i32>::new());
    let said = reader.join().unwrap();
    let recording: Option<Recording> =
        serde_json::from_str(&told).unwrap_or_else(|_| panic!("no record but {told:?}, {said}"));
    (recording.unwrap(), said)
}

fn record(stage: (&Stage, u32), script: &str, held: Option<Confinement>) -> (Recording, String) {
    record_at(LookedAt::checkout(stage.0), stage, script, held)
}

/// Every way of holding a session that this machine has, for both users. A session of another
/// user that nothing holds cannot be recorded.
fn everywhere(check: impl Fn((&Stage, u32), Option<Confinement>)) {
    for user in [geteuid().as_raw(), NOBODY] {
        let stage = furnished(user);
        if user == geteuid().as_raw() {
            check((&stage, user), None);
        }
        check((&stage, user), Some(stage.confinement()));
        if support(user).refused.is_none() {
            check((&stage, user), Some(stage.rooted()));
        }
    }
}

fn told(recording: &Recording) -> String {
    let sets = [
        ("read", &recording.read),
        ("seen", &recording.seen),
        ("listed", &recording.listed),
        ("missed", &recording.missed),
        ("run", &recording.run),
    ];
    let mut told = Vec::new();
    for (word, set) in sets {
        told.extend(set.iter().map(|path| format!("{word} {path:?}")));
    }
    told.extend(recording.why.iter().cloned());
    told.join(", ")
}

#[track_caller]
fn check(script: &str, expected: &str) {
    everywhere(|stage, held| {
        let (recording, said) = record(stage, script, held.clone());
        assert_eq!(told(&recording), expected, "{held:?} printed {said}");
        assert!(recording.complete && recording.method == RecordingMethod::Watched);
    });
}

const PYTHON: &str = "/usr/bin/python3 -S -I -c";

#[test]
fn a_shell_that_reads_lists_runs_and_misses_says_so() {
    check(
        "cat a.txt lib/../lib/b.txt > empty/out; ls empty > /dev/null; [ -e nowhere/x ]; \
         cd lib && cat ./deep/c.txt $C/short/c.txt > /dev/null",
        "read \"a.txt\", read \"lib/b.txt\", read \"lib/deep/c.txt\", read \"short\", \
         seen \"empty\", seen \"lib\", listed \"empty\", missed \"nowhere/x\"",
    );
}

#[test]
fn a_script_is_run_and_so_is_its_interpreter() {
    check(
        "bin/nested 2> /dev/null; cd bin && ./tool > /dev/null; \
         PATH=$C/empty:$C/bin:$PATH; tool > $C/out",
        "read \"a.txt\", read \"bin/tool\", seen \"\", seen \"bin\", missed \"bin/cat\", \
         missed \"empty/cat\", missed \"empty/tool\", run \"bin/nested\", run \"bin/tool\"",
    );
}

#[test]
fn python_that_starts_from_open_directories_is_followed() {
    let script = format!(
        "{PYTHON} '
import os, threading
lib = os.open(\"lib\", os.O_RDONLY | os.O_DIRECTORY)
os.close(os.open(\"b.txt\", os.O_RDONLY, dir_fd=lib))
os.listdir(lib)
os.chdir(\"lib\")
def look(): 
    try: open(\"deep/none\")
    except FileNotFoundError: pass
threads = [threading.Thread(target=look) for _ in range(8)]
[one.start() for one in threads]; [one.join() for one in threads]
if os.fork() == 0:
    os.chdir(\"deep\")
    open(\"c.txt\").read()
    os.execv(\"../../bin/tool\", [\"tool\"])
os.wait()
open(\"new\", \"w\").write(\"x\"); open(\"new\").read(); os.stat(\"b.txt\")
'"
    );
    check(
        &script,
        "read \"bin/tool\", read \"lib/b.txt\", read \"lib/deep/c.txt\", read \"lib/new\", seen \"\", seen \"lib\", \
         seen \"lib/deep\", listed \"lib\", missed \"lib/a.txt\", missed \"lib/deep/none\", \
         run \"bin/tool\"",
    );
}

#[test]
fn twenty_thousand_opens_are_all_heard_and_many_threads_wait_for_none() {
    let script = format!(
        "{PYTHON} '
import os, threading
def look(at):
    for number in range(at, 20000, 4):
        try: os.close(os.open(f\"none{{number}}\", os.O_RDONLY))
        except FileNotFoundError: pass
        os.close(os.open(\"a.txt\", os.O_RDONLY))
threads = [threading.Thread(target=look, args=(at,)) for at in range(4)]
[one.start() for one in threads]; [one.join() for one in threads]
'"
    );
    let user = geteuid().as_raw();
    let stage = furnished(user);
    let up_to = |max_paths| LookedAt { max_paths, ..LookedAt::checkout(&stage) };
    let (recording, said) =
        record_at(up_to(30_000), (&stage, user), &script, Some(stage.confinement()));
    assert_eq!((recording.missed.len(), recording.complete), (20_000, true), "{said}");
    assert!(recording.read.contains("a.txt"));

    let (recording, _) = record_at(up_to(100), (&stage, user), &script, Some(stage.confinement()));
    assert_eq!(recording.why, ["there were more paths than a record keeps"]);
    assert!(!recording.complete && recording.missed.len() <= 100);
}

#[test]
fn a_program_that_is_killed_leaves_what_it_had_looked_up() {
    check("cat a.txt > /dev/null; kill -9 $$; cat lib/b.txt", "read \"a.txt\"");
}

#[test]
fn signals_do_not_interrupt_what_waits_to_be_recorded() {
    let script = format!(
        "{PYTHON} '
import os, signal
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
for number in range(3000): os.close(os.open(\"a.txt\", os.O_RDONLY))
signal.setitimer(signal.ITIMER_REAL, 0)
open(\"lib/b.txt\")
'"
    );
    check(&script, "read \"a.txt\", read \"lib/b.txt\"");
}

#[test]
fn a_program_that_changes_its_root_makes_the_record_incomplete() {
    let user = geteuid().as_raw();
    let stage = furnished(user);
    let script = format!("cat a.txt; {PYTHON} 'import os; os.chroot(\"lib\"); open(\"/b.txt\")'");
    let (recording, said) = record((&stage, user), &script, None);
    assert_eq!(recording.why, ["a program changed its root"], "{said}");
    assert!(!recording.complete && recording.read.contains("a.txt"), "{recording:?}");
}

#[test]
fn the_checkout_may_be_named_by_a_link() {
    everywhere(|(stage, user), held| {
        let real = stage.path("checkout");
        let link = stage.path("tmp/link");
        let _ = symlink(&real, &link);
        let script = format!("cat a.txt {}/lib/b.txt > /dev/null", link.display());
        let looked = LookedAt { root: link, ..LookedAt::checkout(stage) };
        let (recording, said) = record_at(looked, (stage, user), &script, held);
        assert_eq!(told(&recording), "read \"a.txt\", read \"lib/b.txt\"", "{said}");
    });
}

#[test]
fn the_program_itself_is_run() {
    everywhere(|(stage, user), held| {
        let looked = LookedAt { program: Some("./bin/tool"), ..LookedAt::checkout(stage) };
        let (recording, said) = record_at(looked, (stage, user), "", held);
        assert!(recording.run.contains("bin/tool"), "{recording:?} {said}");
    });
}

#[test]
fn a_session_that_nothing_holds_is_not_changed_to_be_recorded() {
    let stage = furnished(NOBODY);
    let (recording, said) = record((&stage, NOBODY), "cat a.txt", None);
    let why = "the kernel does not tell of look-ups here: Permission denied (os error 13)";
    assert_eq!((recording, said), (Recording::nothing(why), "a".to_owned()));
}

#[test]
fn a_record_inside_of_a_record_says_that_it_is_none() {
    let user = geteuid().as_raw();
    let stage = furnished(user);
    let token = Ids::random(Arc::new(SystemClock)).session_token();
    let inner = stage.plan("cat a.txt", None, token);
    let wanted = RecordingPlan { root: stage.path("checkout"), max_paths: 10 };
    let input = [serde_json::to_string(&inner).unwrap(), serde_json::to_string(&wanted).unwrap()];
    fs::write(stage.path("checkout/input"), input.join("\n")).unwrap();
    let (recording, said) = record((&stage, user), &format!("{EXE} record < input"), None);
    assert!(recording.complete && recording.read.contains("a.txt"), "{recording:?}");
    assert!(said.contains("the kernel does not tell of look-ups here"), "{said}");
}

#[test]
fn nothing_is_left_when_spore_dies_while_a_program_waits_for_it() {
    everywhere(|(stage, user), held| {
        let script = "echo on; while :; do [ -e none ]; done";
        let (mut spore, _stdout, shim, token) =
            spore(LookedAt::checkout(stage), (stage, user), script, held);
        let mut on = [0; 3];
        spore.stderr.take().unwrap().read_exact(&mut on).unwrap();
        spore.kill().unwrap();
        spore.wait().unwrap();
        while is_alive(&shim) || !find_by_token(&token).is_empty() {
            std::thread::yield_now();
        }
    });
}
