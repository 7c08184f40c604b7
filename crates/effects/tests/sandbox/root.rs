//! A root made anew. The tricks are those that are tried on Landlock, and others that Landlock alone cannot
//! hold.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use crate::stage::{
    EXE, FOR_ROOT, NOBODY, Stage, TRICKS, Trick, changed, is_filtered, says_out, support,
};
use nix::unistd::geteuid;
use spore_effects::session::{Confinement, LayeredPlace, SandboxLayer};

const TRIES: u32 = 3;

/// Python that does `$1` and says OUT if that raised nothing.
macro_rules! python {
    ($does:literal) => {
        concat!("python3 - <<'END'\n", $does, "\nprint('OUT')\nEND\n")
    };
}

fn touched(stage: &Stage, said: &str) -> bool {
    let note = fs::metadata(stage.path("house/note"));
    let is_as_before = note.is_ok_and(|note| {
        note.permissions().mode() & 0o777 == 0o644
            && note.modified().unwrap().elapsed().is_ok_and(|age| age.as_secs() < 3600)
    });
    !is_as_before || changed(stage, said)
}

fn told(_: &Stage, said: &str) -> bool {
    said.contains("the user's") || said.contains("of another run")
}

/// What only a root made anew holds.
const MORE: [Trick; 24] = [
    Trick { name: "the mode of a file", script: "chmod 600 $T/house/note", worked: touched },
    Trick {
        name: "the times of a file",
        script: "touch -d 2001-01-01 $T/house/note",
        worked: touched,
    },
    Trick {
        name: "an attribute of a file",
        script: python!("import os\nos.setxattr(os.environ['T'] + '/repo/file', 'user.x', b'1')"),
        worked: says_out,
    },
    Trick { name: "reading the home", script: "cat $T/house/note; cat ~/note", worked: told },
    Trick {
        name: "reading the project",
        script: "cat $T/repo/file; cat $T/repo/.spore/*",
        worked: told,
    },
    Trick {
        name: "listing what is beside",
        script: "ls $T | grep -q state && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "a socket with a path",
        script: python!(
            "import os, socket\ns = socket.socket(socket.AF_UNIX)\ns.connect(os.environ['T'] + '/repo/socket')\nassert s.recv(2) == b'hi'"
        ),
        worked: says_out,
    },
    Trick {
        name: "a socket without a path",
        script: python!(
            "import os, socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + os.environ['T'])\nassert s.recv(2) == b'hi'"
        ),
        worked: says_out,
    },
    Trick {
        name: "a service on the loopback",
        script: python!(
            "import socket\ns = socket.create_connection(('127.0.0.1', int(open('port').read())))\nassert s.recv(2) == b'hi'"
        ),
        worked: says_out,
    },
    Trick {
        name: "a datagram out",
        script: python!(
            "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.connect(('192.0.2.1', 53))\ns.send(b'x')"
        ),
        worked: says_out,
    },
    Trick {
        name: "the limits of Spore",
        script: "prlimit --pid $SPORE_PID --nofile >/dev/null && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "the priority of Spore",
        script: "renice -n 5 -p $SPORE_PID && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "memory shared with others",
        script: "echo x > /dev/shm/spore-trick-$SPORE_PID",
        worked: |_, _| {
            let place = format!("/dev/shm/spore-trick-{}", std::process::id());
            fs::remove_file(place).is_ok()
        },
    },
    Trick {
        name: "a file for temporary files of others",
        script: "echo x > /tmp/spore-trick-$SPORE_PID",
        worked: |_, _| fs::remove_file(format!("/tmp/spore-trick-{}", std::process::id())).is_ok(),
    },
    Trick {
        name: "a message queue of others",
        script: python!(
            "import ctypes\nl = ctypes.CDLL(None)\nassert l.shmget(0x5903e, 0, 0) >= 0"
        ),
        worked: says_out,
    },
    Trick {
        name: "settings of the kernel",
        script: "exec 3>>/proc/sys/kernel/core_pattern && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "control groups",
        script: "ls /sys/fs/cgroup/* >/dev/null && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "the name of the machine",
        script: "hostname spore-trick && hostname \"$(cat old-name)\" && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "processes of others",
        script: "ls -d /proc/$SPORE_PID && echo OUT",
        worked: says_out,
    },
    Trick {
        name: "namespaces of its own, and what they uncover",
        script: "cat $T/house/note; unshare -Urm sh -c 'umount -l $T/house; umount -l /tmp; cat $T/house/note'",
        worked: told,
    },
    Trick {
        name: "a way through the first process",
        script: "cat /proc/1/root$T/house/note; cat /proc/1/cwd/../house/note; cat /proc/self/root$T/house/note",
        worked: told,
    },
    Trick {
        name: "a key of the kernel",
        script: python!(
            "import ctypes\nl = ctypes.CDLL(None)\nassert l.syscall(248, b'user', b'spore-trick', b'x', 1, -2) > 0"
        ),
        worked: says_out,
    },
    Trick {
        name: "a socket to the hypervisor",
        script: python!("import socket\nsocket.socket(40, socket.SOCK_STREAM)"),
        worked: says_out,
    },
    Trick {
        name: "a ring of the kernel's",
        script: python!(
            "import ctypes\nl = ctypes.CDLL(None)\nb = ctypes.create_string_buffer(120)\nassert l.syscall(425, 4, b) >= 0"
        ),
        worked: says_out,
    },
];

/// Tricks that only root can play, sandbox or not.
const ROOTS_OWN: [&str; 4] = [
    "settings of the kernel",
    "the name of the machine",
    "the priority of Spore",
    "namespaces of its own, and what they uncover",
];

/// The servers that a session must not reach. Each answers once.
struct Servers;

impl Servers {
    fn start(stage: &Stage) -> Self {
        let path = UnixListener::bind(stage.path("repo/socket")).unwrap();
        fs::set_permissions(stage.path("repo/socket"), fs::Permissions::from_mode(0o777)).unwrap();
        let name = SocketAddr::from_abstract_name(stage.dir.path().to_str().unwrap()).unwrap();
        let nameless = UnixListener::bind_addr(&name).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        fs::write(stage.path("checkout/port"), tcp.local_addr().unwrap().port().to_string())
            .unwrap();
        let old = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        fs::write(stage.path("checkout/old-name"), old).unwrap();
        let _ = [
            std::thread::spawn(move || {
                drop(path.accept().map(|(mut peer, _)| peer.write_all(b"hi")))
            }),
            std::thread::spawn(move || {
                drop(nameless.accept().map(|(mut peer, _)| peer.write_all(b"hi")))
            }),
            std::thread::spawn(move || {
                drop(tcp.accept().map(|(mut peer, _)| peer.write_all(b"hi")))
            }),
        ];
        Self
    }
}

fn is_skipped(user: u32) -> bool {
    if user == NOBODY && (!geteuid().is_root() || !Path::new("/usr/bin/setpriv").exists()) {
        println!("skipped: needs root and setpriv");
        return true;
    }
    let refused = support(user).refused;
    if let Some(refusal) = &refused {
        println!("skipped: no root can be made anew: {refusal}");
    }
    refused.is_some()
}

fn play(
    trick: &Trick,
    user: u32,
    confinement: fn(&Stage) -> Option<Confinement>,
) -> Option<String> {
    let stage = Stage::new(user);
    let _servers = Servers::start(&stage);
    let (said, _) = stage.play(trick.script, confinement(&stage));
    (trick.worked)(&stage, &said).then_some(said)
}

fn check(user: u32) {
    if is_skipped(user) {
        return;
    }
    let (mut out, mut tries) = (Vec::new(), 0);
    // Inside of a root of root's a new one is refused a /proc of its own, and says so.
    let no_proc = support(user).no_proc;
    let played = TRICKS.iter().chain(&MORE);
    for trick in played.filter(|trick| !no_proc || trick.name != "processes of others") {
        for _ in 0..TRIES {
            tries += 1;
            let escaped = play(trick, user, |stage| Some(stage.rooted()));
            out.extend(escaped.map(|said| format!("{}: {said}", trick.name)));
        }
    }
    println!("as user {user}: {} escapes in {tries} tries", out.len());
    assert_eq!(out, Vec::<String>::new());
}

#[test]
fn nothing_gets_out_of_a_root_made_anew() {
    check(geteuid().as_raw());
}

#[test]
fn nothing_gets_out_of_a_root_made_anew_by_another_user() {
    check(NOBODY);
}

#[test]
fn every_trick_works_where_nothing_holds_it() {
    let is_root = geteuid().is_root();
    let played = MORE.iter().filter(|trick| is_root || !ROOTS_OWN.contains(&trick.name));
    for trick in played {
        // There may be none of it here: then nothing can be shown.
        let absent = match trick.name {
            "a message queue of others" | "control groups" | "a ring of the kernel's" => true,
            "a datagram out" => true,
            "a key of the kernel" | "a socket to the hypervisor" => is_filtered(),
            name => FOR_ROOT.contains(&name),
        };
        let worked = play(trick, geteuid().as_raw(), |_| None).is_some();
        assert!(worked || absent, "{}", trick.name);
    }
}

#[test]
fn programs_work_in_a_root_made_anew() {
    for user in [geteuid().as_raw(), NOBODY] {
        if is_skipped(user) {
            continue;
        }
        let check = |script: &str, expected: &str| {
            let stage = Stage::new(user);
            let (said, enforced) = stage.play(script, Some(stage.rooted()));
            assert_eq!(said, expected, "{script}");
            let enforced = enforced.unwrap();
            assert!(enforced.has(SandboxLayer::Root) && enforced.has(SandboxLayer::Calls));
        };
        check("mkdir -p a/b && echo hi > a/b/f && mv a/b/f a/g && ln a/g a/h && cat a/h", "hi\n");
        check("echo x > $TMPDIR/t && mv $TMPDIR/t here && cat here", "x\n");
        check("echo x > ~/kept; cat ~/kept; echo y > /tmp/y; cat /tmp/y", "x\ny\n");
        check("cp /bin/echo e && ./e run; echo x > /dev/null; : < /dev/stdin", "run\n");
        check("sleep 60 & kill $! && wait $! 2>/dev/null; echo ended", "ended\n");
        check(
            "git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --oneline | wc -l",
            "1\n",
        );
        check(
            "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen(); c = socket.create_connection(s.getsockname()); print(\"met\")'",
            "met\n",
        );
        check("script -qec 'echo from a terminal' /dev/null | tr -d '\\r'", "from a terminal\n");
        check("echo $$ > /dev/shm/x; test -s /dev/shm/x && echo shared", "shared\n");
        if !support(user).no_proc {
            check("ls /proc | grep -c '^[0-9]' | xargs test 9 -gt && echo few", "few\n");
        }
        check("exit 3", "");
    }
}

#[test]
fn what_is_layered_is_seen_and_never_written() {
    for user in [geteuid().as_raw(), NOBODY] {
        if is_skipped(user) || support(user).no_layers.is_some() {
            continue;
        }
        let stage = Stage::new(user);
        let mut confinement = stage.rooted();
        let layered = LayeredPlace {
            at: stage.path("house/cache"),
            lowers: vec![stage.path("repo"), stage.path("state")],
            changes: stage.path("tmp/changes"),
        };
        fs::create_dir(stage.path("tmp/changes")).unwrap();
        std::os::unix::fs::chown(stage.path("tmp/changes"), Some(user), Some(user)).unwrap();
        confinement.write.retain(|place| !place.ends_with("tmp"));
        confinement.root.as_mut().unwrap().layered.push(layered);
        let script = "cd ~/cache; cat file other/secret; echo new > file; rm -r other; echo x > out; ls; cat file";
        let (said, _) = stage.play(script, Some(confinement));
        assert_eq!(said, "the user'sof another runfile\nout\nnew\n");
        assert_eq!(fs::read_to_string(stage.path("repo/file")).unwrap(), "the user's");
        assert!(stage.path("state/other/secret").exists() && !stage.path("repo/out").exists());
    }
}

/// Root has the id of a plain user inside, and is root to the kernel: what is root's is its own.
#[test]
fn root_is_a_plain_user_inside_and_owns_what_it_owned() {
    if !geteuid().is_root() || is_skipped(0) {
        return;
    }
    let check = |script: &str, expected: &str| {
        let stage = Stage::new(0);
        fs::set_permissions(stage.path("checkout/own"), fs::Permissions::from_mode(0o600)).unwrap();
        let (said, _) = stage.play(script, Some(stage.rooted()));
        assert_eq!(said, expected, "{script}");
    };
    check("id -u; id -g; whoami; id -gn; eval echo ~spore", "1000\n1000\nspore\nspore\n/root\n");
    check("cat own; stat -c '%u %g' own .", "the agent's1000 1000\n1000 1000\n");
    check("touch new; chmod 600 new; chown spore:spore new && stat -c %U new", "spore\n");
    // Without an owner's rights an archive of root's is unpacked all the same.
    check(
        "tar -cf a.tar --owner=0 --group=0 own; mkdir d; tar -xf a.tar -C d; cat d/own",
        "the agent's",
    );
    check("git init -q r && git -C r status --porcelain && echo mine", "mine\n");
    // Namespaces of its own, as tests of a project may make them.
    check(
        "unshare -Ur id -u; unshare -Urm sh -c 'mount -t tmpfs none /tmp && echo mounted'",
        "0\nmounted\n",
    );
    check("unshare -Urpf sh -c 'echo $$'; unshare -Urn true && echo network", "1\nnetwork\n");
    // But no /proc of their own: parts of ours are covered, and the kernel uncovers nothing.
    check("unshare -Urmpf --mount-proc true 2>/dev/null || echo covered", "covered\n");
    check("echo x 2>/dev/null > /proc/sys/kernel/core_pattern || echo refused", "refused\n");
}

/// A project whose own tests make namespaces can be checked: ours is one.
#[test]
#[expect(clippy::disallowed_methods, reason = "these very tests are what is run")]
fn tests_that_make_roots_run_inside_of_a_root() {
    for user in [geteuid().as_raw(), NOBODY] {
        if is_skipped(user) {
            continue;
        }
        let stage = Stage::new(user);
        let tests = std::env::current_exe().unwrap();
        // A hard link where it can be had: the file is large.
        let copy = stage.path("checkout/tests");
        fs::hard_link(&tests, &copy).or_else(|_| fs::copy(&tests, &copy).map(drop)).unwrap();
        let mut confinement = stage.rooted();
        let built = Path::new(EXE).parent().unwrap().to_owned();
        confinement.root.as_mut().unwrap().show.push(built);
        let script =
            "./tests root::programs root::what_is_layered | grep -o '^test result: ok. 2 passed'";
        let (said, _) = stage.play(script, Some(confinement));
        assert_eq!(said, "test result: ok. 2 passed\n");
    }
}
