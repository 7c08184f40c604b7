//! What a confined session cannot do, tried for real on this kernel.
//!
//! Each trick is a shell script that is played many times, as root and as another user, and
//! leaves a trace where it must not be able to. The traces are counted and the count is told.
//! Each also runs once without a sandbox: a trick that does not work anyway proves nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stdout, reason = "the count is a figure that people quote")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use nix::unistd::geteuid;
use spore_effects::session::{
    Confinement, Enforced, Grace, Shim, ShimPlan, enforceable, find_by_token,
};
use spore_effects::{Ids, SystemClock};

const EXE: &str = env!("CARGO_BIN_EXE_effects-test-shim");

const TRIES: u32 = 20;

/// A user that owns nothing but what a test gives to it.
const NOBODY: u32 = 65534;

/// A place with everything that an agent finds around it: its checkout, Spore's state beside
/// it, the user's own things. `$T` in scripts.
struct Stage {
    dir: tempfile::TempDir,
    user: u32,
}

impl Stage {
    fn new(user: u32) -> Self {
        let stage = Self { dir: tempfile::tempdir().unwrap(), user };
        for dir in ["checkout", "tmp", "state/other", "repo/.spore", "house"] {
            fs::create_dir_all(stage.path(dir)).unwrap();
        }
        for (file, text) in [
            ("state/other/secret", "of another run"),
            ("repo/.spore/spore.db", "the journal"),
            ("repo/file", "the user's"),
            ("house/note", "the user's"),
            ("checkout/own", "the agent's"),
        ] {
            fs::write(stage.path(file), text).unwrap();
        }
        let mut open = vec![stage.dir.path().to_owned()];
        while let Some(place) = open.pop() {
            chown(&place, Some(user), Some(user)).unwrap();
            if place.is_dir() {
                open.extend(fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        fs::set_permissions(stage.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn confinement(&self) -> Confinement {
        Confinement {
            write: vec![self.path("checkout"), self.path("tmp")],
            devices: vec!["/dev/null".into()],
            hide: vec![self.path("state"), self.path("repo/.spore"), "/dev".into()],
            read: Vec::new(),
            no_tcp: true,
        }
    }

    /// Plays `script` in the checkout and returns what it printed, once nothing of it is left.
    fn play(&self, script: &str, confinement: Option<Confinement>) -> (String, Option<Enforced>) {
        let env = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("T", self.dir.path().display().to_string()),
            ("TMPDIR", self.path("tmp").display().to_string()),
            ("HOME", self.path("house").display().to_string()),
            ("SPORE_PID", std::process::id().to_string()),
        ];
        let plan = ShimPlan {
            token: Ids::random(Arc::new(SystemClock)).session_token(),
            program: "sh".into(),
            args: vec!["-c".to_owned(), format!("exec 2>&1\n{script}")],
            cwd: self.path("checkout"),
            env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            grace: Grace { interrupt_ms: 2000, terminate_ms: 2000 },
            stdin: false,
            confinement,
        };
        let mut session = Shim::new(shim(self.user)).prepare(&plan).unwrap().go().unwrap();
        let enforced = session.enforced().cloned();
        let mut said = String::new();
        session.take_stdout().unwrap().read_to_string(&mut said).unwrap();
        session.wait().unwrap();
        assert_eq!(find_by_token(&plan.token), Vec::<i32>::new());
        (said, enforced)
    }
}

/// Returns a shim that runs as `user`, as it would if that user ran Spore.
#[expect(clippy::disallowed_methods, reason = "a program of the test's own making")]
fn shim(user: u32) -> PathBuf {
    static OF_NOBODY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    if user == geteuid().as_raw() {
        return EXE.into();
    }
    let (_, wrapper) = OF_NOBODY.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // By another process: a file that one of our threads holds open for writing while
        // another forks cannot be run.
        let make = r#"cp "$1" "$2/shim" && printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups "%s" "$@"\n' "$2/shim" > "$2/wrapper" && chmod 755 "$2/shim" "$2/wrapper""#;
        let done = Command::new("sh").args(["-c", make, "make", EXE]).arg(dir.path()).status();
        assert!(done.unwrap().success());
        let wrapper = dir.path().join("wrapper");
        (dir, wrapper)
    });
    wrapper.clone()
}

/// One way out: what is tried, and how its success shows.
struct Trick {
    name: &'static str,
    script: &'static str,
    worked: fn(&Stage, &str) -> bool,
}

fn left(stage: &Stage, _: &str) -> bool {
    ["house/out", "repo/out", "state/out"].iter().any(|place| stage.path(place).exists())
}

fn changed(stage: &Stage, _: &str) -> bool {
    let text = |place| fs::read_to_string(stage.path(place)).unwrap_or_default();
    text("house/note") != "the user's" || text("repo/file") != "the user's"
}

fn secret(_: &Stage, said: &str) -> bool {
    said.contains("of another run") || said.contains("the journal")
}

fn says_out(_: &Stage, said: &str) -> bool {
    said.lines().any(|line| line == "OUT")
}

const TRICKS: [Trick; 19] = [
    Trick { name: "a shell that writes outside", script: "echo x > $T/house/out", worked: left },
    Trick {
        name: "a file that is appended to or emptied",
        script: "echo x >> $T/house/note; : > $T/repo/file; truncate -s 1 $T/house/note",
        worked: changed,
    },
    Trick {
        name: "a symbolic link out",
        script: "ln -sfn $T/house link; echo x > link/out; ln -sf $T/house/note f; echo x > f",
        worked: |stage, said| left(stage, said) || changed(stage, said),
    },
    Trick {
        name: "a file renamed out",
        script: "echo x > out; mv out $T/house/out; echo x > out; mv -f out $T/house/note",
        worked: |stage, said| left(stage, said) || changed(stage, said),
    },
    Trick {
        name: "a directory renamed in and out",
        script: "mv $T/house inside && echo x > inside/out; mv inside $T/house",
        worked: left,
    },
    Trick { name: "a hard link out", script: "ln own $T/house/out", worked: left },
    Trick {
        name: "a hard link in",
        script: "ln $T/house/note linked && echo x > linked",
        worked: changed,
    },
    Trick { name: "a file removed", script: "rm -f $T/house/note $T/repo/file", worked: changed },
    Trick {
        name: "things of every kind made outside",
        script: "mkdir $T/house/out; mkfifo $T/repo/out; ln -s x $T/state/out",
        worked: |stage, _| {
            ["house/out", "repo/out", "state/out"]
                .iter()
                .any(|place| stage.path(place).symlink_metadata().is_ok())
        },
    },
    Trick {
        name: "a daemon that writes later",
        // It is given time: the session ends with what it started, so it must be quicker.
        script: "(setsid sh -c 'sleep 0.05; echo x > $T/house/out' </dev/null >/dev/null 2>&1 &) ; sleep 0.2",
        worked: left,
    },
    Trick {
        name: "a daemon that lost its parents and its directory",
        script: "(cd /; setsid nohup sh -c 'echo x > $T/repo/out' & ) ; sleep 0.1",
        worked: left,
    },
    Trick {
        name: "reading the state directory",
        script: "cat $T/state/other/secret $T/repo/.spore/spore.db; cp -r $T/state s; cat s/*/*",
        worked: secret,
    },
    Trick {
        name: "listing the state directory",
        script: "ls $T/state $T/state/other $T/repo/.spore | grep -q 'other\\|secret\\|spore.db' && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "reading the state through a link or a door of the kernel's",
        script: "ln -sfn $T/state st; cat st/other/secret; cat /proc/$SPORE_PID/root$T/state/other/secret; cat /proc/$PPID/root$T/state/other/secret",
        worked: secret,
    },
    Trick {
        name: "running something from the state directory",
        script: "cp /bin/echo tmp-echo; cp tmp-echo $T/state/other/run 2>/dev/null && $T/state/other/run OUT",
        worked: says_out,
    },
    Trick {
        name: "a signal to Spore",
        script: "kill -0 $SPORE_PID && echo OUT; kill -URG $SPORE_PID && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "a signal to the shim",
        script: "kill -0 $PPID && echo OUT; kill -CONT $PPID && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "the memory and the environment of Spore",
        script: "cat /proc/$SPORE_PID/environ >/dev/null && echo OUT; : <> /proc/$SPORE_PID/mem && echo OUT; ls /proc/$SPORE_PID/fd >/dev/null && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "a device made or opened",
        script: "mknod dev b 7 0 && echo OUT; for d in /dev/loop0 /dev/mem /dev/kmsg /dev/vda; do test -e $d && head -c1 $d >/dev/null && echo OUT; done; mount -t tmpfs none . && echo OUT",
        worked: says_out,
    },
];

/// Tricks that the kernel lets only root play, sandbox or not.
const FOR_ROOT: [&str; 2] = ["a device made or opened", "the memory and the environment of Spore"];

fn is_skipped() -> bool {
    let sound = enforceable(&Confinement::default()).is_some();
    if !sound {
        println!("skipped: this kernel has no Landlock of version 3 or later");
    }
    !sound
}

/// Plays every trick as `user`, and returns how many got out of how many.
fn escapes(user: u32) -> (u32, u32) {
    let (mut out, mut tries) = (0, 0);
    for trick in &TRICKS {
        let mut succeeded = 0;
        for _ in 0..TRIES {
            let stage = Stage::new(user);
            let (said, _) = stage.play(trick.script, Some(stage.confinement()));
            if (trick.worked)(&stage, &said) {
                println!("escaped by {}: {said}", trick.name);
                succeeded += 1;
            }
            tries += 1;
        }
        out += succeeded;
        println!("{:60} {succeeded} of {TRIES}", trick.name);
    }
    (out, tries)
}

#[test]
fn every_trick_works_where_nothing_holds_it() {
    let is_root = geteuid().is_root();
    for trick in TRICKS.iter().filter(|trick| is_root || !FOR_ROOT.contains(&trick.name)) {
        let stage = Stage::new(geteuid().as_raw());
        let (said, enforced) = stage.play(trick.script, None);
        assert!((trick.worked)(&stage, &said), "{}: {said}", trick.name);
        assert_eq!(enforced, None);
    }
}

#[test]
fn nothing_gets_out_of_the_sandbox() {
    if is_skipped() {
        return;
    }
    let me = geteuid().as_raw();
    let (out, tries) = escapes(me);
    println!("as user {me}: {out} escapes in {tries} tries");
    assert_eq!(out, 0);
}

#[test]
fn nothing_gets_out_of_the_sandbox_of_another_user() {
    if is_skipped() {
        return;
    }
    if !geteuid().is_root() || !Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: needs root and setpriv");
        return;
    }
    let (out, tries) = escapes(NOBODY);
    println!("as user {NOBODY}: {out} escapes in {tries} tries");
    assert_eq!(out, 0);
}

/// Plays `script` confined and returns what it printed.
#[track_caller]
fn check(script: &str, expected: &str) {
    let stage = Stage::new(geteuid().as_raw());
    let (said, _) = stage.play(script, Some(stage.confinement()));
    assert_eq!(said, expected);
}

#[test]
fn an_agent_can_work_in_its_checkout() {
    if is_skipped() {
        return;
    }
    check(
        "mkdir -p a/b && echo hi > a/b/f && mv a/b/f a/g && ln a/g a/h && ln -s g a/s && cat a/s",
        "hi\n",
    );
    check("echo x > $TMPDIR/t && mv $TMPDIR/t here && cat here && rm here", "x\n");
    check("mkfifo p && (echo through > p &) && cat p", "through\n");
    check("cat $T/repo/file; echo; cat $T/house/note", "the user's\nthe user's");
    check("cp /bin/echo e && ./e run; echo x > /dev/null; : < /dev/stdin", "run\n");
    check("python3 -c 'print(6 * 7)' 2>/dev/null || echo 42", "42\n");
    check("sleep 60 & kill $! && wait $! 2>/dev/null; echo ended", "ended\n");
    check("ls $T/checkout", "own\n");
}

#[test]
fn tcp_is_denied_where_it_is_asked_for() {
    let script = "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); print(\"OPEN\")' 2>&1 | tail -1";
    let stage = Stage::new(geteuid().as_raw());
    let wanted = stage.confinement();
    let Some(possible) = enforceable(&wanted).filter(|it| it.holds("bind_tcp")) else {
        println!("skipped: this kernel cannot deny TCP");
        return;
    };
    let (said, enforced) = stage.play(script, Some(wanted.clone()));
    assert!(said.contains("Permission denied") || said.contains("not found"), "{said}");
    assert_eq!(enforced, Some(possible));
    let (said, enforced) = stage.play(script, Some(Confinement { no_tcp: false, ..wanted }));
    assert!(said.contains("OPEN") || said.contains("not found"), "{said}");
    assert!(!enforced.unwrap().holds("bind_tcp"));
}

#[test]
fn what_is_said_to_be_held_is_what_was_asked_of_this_kernel() {
    if is_skipped() {
        return;
    }
    let stage = Stage::new(geteuid().as_raw());
    let (_, enforced) = stage.play("true", Some(stage.confinement()));
    let enforced = enforced.unwrap();
    for right in ["write_file", "read_file", "make_reg", "refer", "truncate"] {
        assert!(enforced.holds(right), "{right}: {enforced:?}");
    }
    assert_eq!(Some(enforced), enforceable(&stage.confinement()));
}

#[test]
fn what_is_hidden_below_something_writable_stays_hidden() {
    if is_skipped() {
        return;
    }
    let stage = Stage::new(geteuid().as_raw());
    let wide = Confinement { write: vec![stage.dir.path().to_owned()], ..stage.confinement() };
    let script = "echo x >> $T/house/note; echo x > $T/house/new; cat $T/state/other/secret; echo x > $T/repo/.spore/spore.db; cat $T/house/new";
    let (said, _) = stage.play(script, Some(wide));
    assert!(!said.contains("of another run") && said.ends_with("x\n"), "{said}");
    assert_eq!(fs::read_to_string(stage.path("house/note")).unwrap(), "the user'sx\n");
    assert_eq!(fs::read_to_string(stage.path("repo/.spore/spore.db")).unwrap(), "the journal");
}
