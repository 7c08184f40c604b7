//! A network of a session's own: what is listed is reached as if it were there, and nothing else is.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, ToSocketAddrs, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use spore_effects::session::{Confinement, Grace, Reached, SandboxLayer, Shim, find_by_token};
use spore_effects::{Ids, SystemClock};
use spore_model::NetAddress;

use crate::kills;
use crate::stage::{NOBODY, Stage, shim, support};

/// A service outside that says `hi` to each client, and counts them.
struct Service {
    port: u16,
    met: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    ip: IpAddr,
}

impl Service {
    fn start(ip: &str) -> Option<Self> {
        let listener = TcpListener::bind((ip, 0)).ok()?;
        let at = listener.local_addr().unwrap();
        let (met, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, is_over) = (Arc::clone(&met), Arc::clone(&over));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if is_over.load(Ordering::SeqCst) {
                    break;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                let _ = client.and_then(|mut client| client.write_all(b"hi"));
            }
        });
        Some(Self { port: at.port(), met, over, ip: at.ip() })
    }

    fn met(&self) -> usize {
        self.met.load(Ordering::SeqCst)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = std::net::TcpStream::connect((self.ip, self.port));
    }
}

fn users() -> Vec<u32> {
    let mut users = vec![geteuid().as_raw()];
    users.extend(geteuid().is_root().then_some(NOBODY));
    users.retain(|user| {
        let refused = support(*user).refused;
        if let Some(refusal) = &refused {
            println!("skipped: no root can be made anew for user {user}: {refusal}");
        }
        refused.is_none()
    });
    users
}

fn reaching(stage: &Stage, listed: &[NetAddress]) -> Confinement {
    let mut confinement = stage.rooted();
    let root = confinement.root.as_mut().unwrap();
    root.reach = listed.iter().cloned().map(Reached::plainly).collect();
    confinement
}

/// A script that says what the service at `host` and `port` says, or why it says nothing.
fn ask(host: &str, port: u16) -> String {
    format!(
        "python3 - <<'END'\nimport socket\ntry:\n    s = socket.create_connection(('{host}', {port}), 20)\n    print(s.recv(9).decode() or 'nothing')\nexcept OSError as e:\n    print(type(e).__name__)\nEND\n"
    )
}

/// A name that means the loopback outside, if the machine has one beside `localhost`.
fn own_name() -> Option<String> {
    let hosts = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let names = hosts.lines().filter(|line| line.starts_with("127."));
    let names = names.flat_map(|line| line.split_whitespace().skip(1));
    let is_loopback = |name: &&str| {
        let found = (*name, 1).to_socket_addrs();
        found.is_ok_and(|mut all| all.all(|at| at.ip().is_loopback()))
    };
    names.filter(|name| *name != "localhost").find(is_loopback).map(str::to_owned)
}

#[test]
fn what_is_listed_is_reached_under_its_own_name_and_nothing_else_is() {
    for user in users() {
        let (listed, other) =
            (Service::start("127.0.0.1").unwrap(), Service::start("127.0.0.1").unwrap());
        let check = |host: &str, asked: (&str, u16), expected: &str| {
            let stage = Stage::new(user);
            let address = NetAddress::new(host, listed.port);
            assert!(address.is_sound(), "{host}");
            let script = ask(asked.0, asked.1);
            let (said, enforced) = stage.play(&script, Some(reaching(&stage, &[address])));
            assert_eq!(said.trim(), expected, "{host} as user {user}, asked for {asked:?}");
            assert!(enforced.unwrap().has(SandboxLayer::Network));
        };
        for host in ["127.0.0.1", "localhost", "0.0.0.0"] {
            check(host, (host, listed.port), "hi");
            check(host, (host, other.port), "ConnectionRefusedError");
        }
        // Under another name it is not there.
        check("127.0.0.1", ("127.0.0.2", listed.port), "ConnectionRefusedError");
        check("127.0.0.1", ("192.0.2.1", listed.port), "OSError");
        check("127.0.0.1", ("a.example.org", listed.port), "gaierror");
        match own_name() {
            Some(name) => {
                check(&name, (&name, listed.port), "hi");
                check(&name, ("127.0.0.1", listed.port), "ConnectionRefusedError");
            }
            None => println!("no name beside localhost means the loopback here"),
        }
        assert_eq!(other.met(), 0);
    }
}

#[test]
fn an_address_that_is_not_the_loopbacks_is_reached_at_that_address() {
    // An address of this machine that is no loopback is found by asking which one would be used.
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let own = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    let Some(own) = own.ok().map(|at| at.ip()).filter(|ip| !ip.is_loopback()) else {
        println!("skipped: this machine has no address beside the loopback");
        return;
    };
    let service = Service::start(&own.to_string()).unwrap();
    for user in users() {
        let stage = Stage::new(user);
        let address = NetAddress::new(&own.to_string(), service.port);
        let script = ask(&own.to_string(), service.port);
        let (said, _) = stage.play(&script, Some(reaching(&stage, &[address])));
        assert_eq!(said.trim(), "hi");
        let (said, _) = stage.play(&script, Some(stage.rooted()));
        assert_eq!(said.trim(), "OSError");
    }
}

#[test]
fn an_ipv6_address_is_reached_if_it_is_listed() {
    let Some(service) = Service::start("::1") else {
        println!("skipped: no IPv6 here");
        return;
    };
    for user in users() {
        let stage = Stage::new(user);
        let script = ask("::1", service.port);
        // The second address is on no machine: a session starts with it all the same.
        let listed =
            [NetAddress::new("::1", service.port), NetAddress::new("2001:db8::7", service.port)];
        let (said, _) = stage.play(&script, Some(reaching(&stage, &listed)));
        assert_eq!(said.trim(), "hi");
        let (said, _) = stage.play(&script, Some(stage.rooted()));
        assert_eq!(said.trim(), "ConnectionRefusedError");
        let met = service.met();
        let name = NetAddress::new("localhost", service.port);
        let (said, _) = stage.play(&script, Some(reaching(&stage, &[name])));
        assert_eq!((said.trim(), service.met()), ("hi", met + 1));
    }
}

/// Ways to reach something that is not listed, each of which says OUT where it works.
const WAYS: [(&str, &str); 9] = [
    (
        "a datagram to the loopback",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.settimeout(1)\ns.sendto(b'x', ('127.0.0.1', UDP))\ns.recv(2)",
    ),
    (
        "a datagram out",
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.connect(('192.0.2.1', 53))\ns.send(b'x')",
    ),
    (
        "a datagram out by IPv6",
        "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\ns.connect(('2001:db8::1', 53))\ns.send(b'x')",
    ),
    ("a raw socket", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    ("a packet socket", "socket.socket(17, socket.SOCK_RAW, 3)"),
    ("an abstract socket", "s = socket.socket(socket.AF_UNIX)\ns.connect('\\0' + os.environ['T'])"),
    ("a service on another port", "s = socket.create_connection(('127.0.0.1', OTHER), 5)"),
    (
        "an address that is added",
        "import subprocess\nassert subprocess.run(['ip', 'addr', 'add', '192.0.2.9/32', 'dev', 'lo'], capture_output=True).returncode == 0",
    ),
    ("a device that is made", "import fcntl\nfd = os.open('/dev/net/tun', os.O_RDWR)"),
];

#[test]
fn there_is_no_other_way_out_of_a_network_of_ones_own() {
    for user in users() {
        let (listed, other) =
            (Service::start("127.0.0.1").unwrap(), Service::start("127.0.0.1").unwrap());
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let stage = Stage::new(user);
        let name = SocketAddr::from_abstract_name(stage.dir.path().to_str().unwrap()).unwrap();
        let nameless = UnixListener::bind_addr(&name).unwrap();
        nameless.set_nonblocking(true).unwrap();
        for (what, way) in WAYS {
            let way = way
                .replace("UDP", &udp.local_addr().unwrap().port().to_string())
                .replace("OTHER", &other.port.to_string());
            let script = format!(
                "python3 - <<'END' 2>/dev/null\nimport os, socket\n{way}\nprint('OUT')\nEND\n"
            );
            let listed = [NetAddress::new("127.0.0.1", listed.port)];
            let (said, _) = stage.play(&script, Some(reaching(&stage, &listed)));
            assert_eq!(said, "", "{what} as user {user}");
        }
        assert!(udp.recv(&mut [0]).is_err() && nameless.accept().is_err());
        assert_eq!(other.met(), 0);
    }
}

/// How many threads and opened files this process has.
fn held() -> (usize, usize) {
    let count = |dir| fs::read_dir(dir).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

#[test]
fn the_forwarder_ends_with_its_session_and_leaves_nothing() {
    let Some(user) = users().first().copied() else { return };
    let service = Service::start("127.0.0.1").unwrap();
    let stage = Stage::new(user);
    let address = NetAddress::new("127.0.0.1", service.port);
    // Connections that are open when their program ends, and one that is killed with it.
    let script = format!(
        "python3 -c 'import socket\nc = [socket.create_connection((\"127.0.0.1\", {})) for _ in range(20)]\n[s.recv(2) for s in c]\nprint(\"met\", flush=True)\nimport time\ntime.sleep(600)' & sleep 0.2; wait",
        service.port
    );
    let before = held();
    for _ in 0..3 {
        let token = Ids::random(Arc::new(SystemClock)).session_token();
        let plan =
            stage.plan(&script, Some(reaching(&stage, std::slice::from_ref(&address))), token);
        let mut session = Shim::new(shim(user)).prepare(&plan).unwrap().go().unwrap();
        let mut said = [0; 4];
        session.take_stdout().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(&said, b"met\n");
        assert!(held().0 > before.0 + 10);
        session.stop();
        session.wait().unwrap();
        // The kernel removes a thread from the list a moment after it was joined.
        let until = Instant::now() + Duration::from_secs(5);
        while held().0 > before.0 && Instant::now() < until {
            std::thread::yield_now();
        }
        assert_eq!(held(), before);
    }
}

#[test]
fn a_killed_spore_leaves_no_connection_that_it_forwarded() {
    for user in users() {
        for number in 0..kills::times() {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let stage = Stage::new(user);
            // Both ends are silent while they are open, and nothing inside hears a signal.
            let script = format!(
                "trap '' TERM INT; python3 -c 'import socket, time\nc = [socket.create_connection((\"127.0.0.1\", {port})) for _ in range(8)]\ntime.sleep(600)' & wait; sleep 600"
            );
            let token = Ids::random(Arc::new(SystemClock)).session_token();
            let confinement = reaching(&stage, &[NetAddress::new("127.0.0.1", port)]);
            let mut plan = stage.plan(&script, Some(confinement), token);
            plan.grace = Grace { interrupt_ms: 20, terminate_ms: 20 };
            let (mut spore, shim) = kills::start_spore(user, &plan);
            let mut open: Vec<_> = (0..8).map(|_| listener.accept().unwrap().0).collect();
            spore.kill().unwrap();
            if number % 2 == 1 {
                // One whose Spore is gone may be gone, too.
                let _ = kill(Pid::from_raw(shim.pid), Signal::SIGKILL);
            }
            spore.wait().unwrap();
            for connection in &mut open {
                connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                let ended = connection.read(&mut [0]);
                let is_cut =
                    matches!(&ended, Err(error) if error.kind() == ErrorKind::ConnectionReset);
                assert!(is_cut || ended.as_ref().is_ok_and(|count| *count == 0), "{ended:?}");
            }
            let until = Instant::now() + Duration::from_secs(10);
            while !find_by_token(&plan.token).is_empty() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(find_by_token(&plan.token).len(), 0, "as user {user}");
        }
    }
}

#[test]
fn a_session_starts_as_fast_with_many_addresses() {
    let Some(user) = users().first().copied() else { return };
    let stage = Stage::new(user);
    let fastest = |listed: &[NetAddress]| {
        let confinement = reaching(&stage, listed);
        let starts = (0..10).map(|_| {
            let token = Ids::random(Arc::new(SystemClock)).session_token();
            let plan = stage.plan(":", Some(confinement.clone()), token);
            let waiting = Shim::new(shim(user)).prepare(&plan).unwrap();
            let before = Instant::now();
            let session = waiting.go().unwrap();
            let took = before.elapsed();
            session.wait().unwrap();
            took
        });
        starts.min().unwrap()
    };
    let none = fastest(&[]);
    let many: Vec<NetAddress> =
        (0..50).map(|number| NetAddress::new(&format!("host{number}.example.org"), 443)).collect();
    let many = fastest(&many);
    println!("start: {none:?} with nothing listed, {many:?} with 50 addresses");
    assert!(many < none + Duration::from_millis(20));
}
