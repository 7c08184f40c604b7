//! A place to play tricks in, and the tricks.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use nix::unistd::geteuid;
use spore_effects::session::{
    Confinement, Enforced, Grace, RootSupport, SandboxRoot, Shim, ShimPlan, StandIn, find_by_token,
};
use spore_effects::{Ids, SystemClock};
use spore_model::SessionToken;

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_effects-test-shim");

/// What programs need of a system.
pub(crate) const SYSTEM: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt"];
pub(crate) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// What this machine lets the shim of `user` do.
pub(crate) fn support(user: u32) -> RootSupport {
    let scratch = Stage::new(user);
    Shim::new(shim(user)).support(&scratch.path("tmp"))
}

/// Whether a filter holds this very process, as in a session of Spore's own.
pub(crate) fn is_filtered() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Seccomp:") && line.ends_with('2'))
}

/// A user that owns nothing but what a test gives to it.
pub(crate) const NOBODY: u32 = 65534;

/// A place with everything that an agent finds around it: its checkout, Spore's state beside
/// it, the user's own things. `$T` in scripts.
pub(crate) struct Stage {
    pub(crate) dir: tempfile::TempDir,
    user: u32,
}

impl Stage {
    pub(crate) fn new(user: u32) -> Self {
        let stage = Self { dir: tempfile::tempdir().unwrap(), user };
        for dir in ["checkout", "tmp", "state/other", "repo/.spore", "house", "private/tmp"] {
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

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn confinement(&self) -> Confinement {
        Confinement {
            write: vec![self.path("checkout"), self.path("tmp")],
            devices: vec!["/dev/null".into()],
            hide: vec![self.path("state"), self.path("repo/.spore"), "/dev".into()],
            no_tcp: true,
            ..Confinement::default()
        }
    }

    /// The same with a root made anew: the checkout, a home and a temporary directory of its own.
    pub(crate) fn rooted(&self) -> Confinement {
        let stand_in = |at: PathBuf, dir: &str| StandIn { at, dir: self.path(dir) };
        let root = SandboxRoot {
            show: SYSTEM.iter().map(PathBuf::from).collect(),
            stand_ins: vec![
                stand_in(self.path("house"), "private"),
                stand_in("/tmp".into(), "private/tmp"),
            ],
            layered: Vec::new(),
            project: None,
            empty: vec![self.path("repo")],
            own_network: true,
            reach: Vec::new(),
        };
        Confinement {
            write: vec![self.path("checkout"), self.path("tmp")],
            devices: DEVICES.iter().map(PathBuf::from).collect(),
            root: Some(root),
            ..Confinement::default()
        }
    }

    /// Returns what starts `script` in the checkout.
    pub(crate) fn plan(
        &self,
        script: &str,
        confinement: Option<Confinement>,
        token: SessionToken,
    ) -> ShimPlan {
        let env = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("T", self.dir.path().display().to_string()),
            ("TMPDIR", self.path("tmp").display().to_string()),
            ("HOME", self.path("house").display().to_string()),
            ("SPORE_PID", std::process::id().to_string()),
        ];
        ShimPlan {
            token,
            program: "sh".into(),
            args: vec!["-c".to_owned(), format!("exec 2>&1\n{script}")],
            cwd: self.path("checkout"),
            env: env.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            grace: Grace { interrupt_ms: 2000, terminate_ms: 2000 },
            stdin: false,
            confinement,
        }
    }

    /// Plays `script` in the checkout and returns what it printed, once nothing of it is left.
    pub(crate) fn play(
        &self,
        script: &str,
        confinement: Option<Confinement>,
    ) -> (String, Option<Enforced>) {
        let token = Ids::random(Arc::new(SystemClock)).session_token();
        let plan = self.plan(script, confinement, token);
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
pub(crate) fn shim(user: u32) -> PathBuf {
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
pub(crate) struct Trick {
    pub(crate) name: &'static str,
    pub(crate) script: &'static str,
    pub(crate) worked: fn(&Stage, &str) -> bool,
}

pub(crate) fn left(stage: &Stage, _: &str) -> bool {
    ["house/out", "repo/out", "state/out"].iter().any(|place| stage.path(place).exists())
}

pub(crate) fn changed(stage: &Stage, _: &str) -> bool {
    let text = |place| fs::read_to_string(stage.path(place)).unwrap_or_default();
    text("house/note") != "the user's" || text("repo/file") != "the user's"
}

pub(crate) fn secret(_: &Stage, said: &str) -> bool {
    said.contains("of another run") || said.contains("the journal")
}

pub(crate) fn says_out(_: &Stage, said: &str) -> bool {
    said.lines().any(|line| line == "OUT")
}

pub(crate) const TRICKS: [Trick; 19] = [
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
pub(crate) const FOR_ROOT: [&str; 2] =
    ["a device made or opened", "the memory and the environment of Spore"];
