//! Attempts of every kind, on machines that have all and on machines that lack something.
//!
//! Each attempt belongs to a promise. It is tried where nothing holds it, and must work there; then on a
//! machine with all layers and on machines that lack one, as root and as another user. What a
//! session says it holds, it must hold; what it does not hold, its list of gaps must say.
//!
//! The default run tries some of each kind; `SPORE_ATTEMPTS=all` tries all.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment and programs")]

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};

use nix::libc;
use nix::unistd::geteuid;
use spore_effects::session::{
    Confinement, Enforced, LayeredPlace, RootSupport, SessionError, Shim, find_by_token,
};
use spore_effects::{Ids, SystemClock};

use crate::stage::{EXE, NOBODY, Stage, is_filtered};
use table::Attempt;

/// What is promised, by what a session that does not hold it says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Promise {
    Outside,
    Metadata,
    Reading,
    State,
    Sockets,
    AbstractSockets,
    Tcp,
    Datagrams,
    Sharing,
    Signals,
    Memory,
    Sight,
    Processes,
    Calls,
    Machine,
    Caches,
}

impl Promise {
    /// What is said where it is not held; nothing where it is held by every sandbox.
    fn gap(self) -> Option<&'static str> {
        match self {
            Self::Outside | Self::State | Self::Memory | Self::Machine => None,
            Self::Metadata => Some("modes, owners and times of files outside of the checkout"),
            Self::Reading => Some("reading what is yours outside of the checkout"),
            Self::Sockets => Some("sockets and terminals of other programs"),
            Self::AbstractSockets => Some("abstract sockets of processes outside of the session"),
            Self::Tcp => Some("TCP connections"),
            Self::Datagrams => Some("datagrams and other traffic that is not TCP"),
            Self::Sharing => Some("memory and messages that programs share"),
            Self::Signals => Some("signals to processes outside of the session"),
            Self::Sight => Some("which other processes there are"),
            Self::Processes => Some("limits and priorities of other processes"),
            Self::Calls => Some("keys of the kernel and sockets to the hypervisor"),
            Self::Caches => Some("what is left in the caches of toolchains"),
        }
    }
}

/// What the machine lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lack {
    Nothing,
    /// A filter around Spore refuses them.
    Namespaces,
    /// The limit of user namespaces is zero.
    UserNamespaces,
    Landlock,
    Overlays,
    Filters,
    /// A part of `/proc` is covered.
    Proc,
}

impl Lack {
    const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Namespaces,
        Self::UserNamespaces,
        Self::Landlock,
        Self::Overlays,
        Self::Filters,
        Self::Proc,
    ];

    fn word(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Namespaces => Some("namespaces"),
            Self::UserNamespaces => Some("user-namespaces"),
            Self::Landlock => Some("landlock"),
            Self::Overlays => Some("overlays"),
            Self::Filters => Some("filters"),
            Self::Proc => Some("proc"),
        }
    }

    /// Whether only root can make such a machine.
    fn is_of_root(self) -> bool {
        matches!(self, Self::Overlays | Self::Proc)
    }

    fn has_root(self) -> bool {
        !matches!(self, Self::Namespaces | Self::UserNamespaces)
    }

    /// What a session there says that it does not hold.
    fn gaps(self) -> BTreeSet<&'static str> {
        let mut gaps = BTreeSet::new();
        if !self.has_root() {
            use Promise::{
                Caches, Datagrams, Metadata, Processes, Reading, Sharing, Sight, Sockets,
            };
            let all = [Reading, Metadata, Sockets, Caches, Sharing, Sight, Processes, Datagrams];
            gaps.extend(all.into_iter().filter_map(Promise::gap));
            gaps.insert("processes that outlive a shim that was killed");
        }
        if self == Self::Proc {
            gaps.extend([Promise::Sight, Promise::Processes].into_iter().filter_map(Promise::gap));
        }
        if self == Self::Filters {
            gaps.extend(Promise::Calls.gap());
        }
        gaps
    }
}

/// Where shims for machines that lack something are, and the place where layers go.
fn workshop() -> &'static Path {
    static PLACE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let place = PLACE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["stacked", "stacked/upper", "stacked/work"] {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::set_permissions(dir.path().join(name), fs::Permissions::from_mode(0o777)).unwrap();
        }
        // By another process: a file that we hold open for writing cannot be run by our children.
        let copied = Command::new("cp").arg(EXE).arg(dir.path().join("shim")).status();
        assert!(copied.unwrap().success());
        dir
    });
    place.path()
}

/// Returns a shim that runs as `user` on a machine that lacks something.
fn shim(user: u32, lacks: &[Lack]) -> PathBuf {
    let names: Vec<String> = lacks.iter().map(|lack| format!("{lack:?}")).collect();
    let wrapper = workshop().join(format!("{user}-{}", names.concat()));
    if !wrapper.exists() {
        let shim = workshop().join("shim").display().to_string();
        let stacked = workshop().join("stacked").display().to_string();
        let mut line = "#!/bin/sh\nexec".to_owned();
        if lacks.contains(&Lack::Proc) {
            line.push_str(&format!(" {shim} outer proc --"));
        }
        if lacks.contains(&Lack::Overlays) {
            line.push_str(&format!(" {shim} outer overlays={stacked} --"));
        }
        if user != geteuid().as_raw() {
            line.push_str(&format!(" setpriv --reuid={user} --regid={user} --clear-groups"));
        }
        let words = lacks.iter().filter(|lack| !lack.is_of_root()).filter_map(|lack| lack.word());
        let words: Vec<&str> = words.collect();
        if !words.is_empty() {
            line.push_str(&format!(" {shim} outer {} --", words.join(" ")));
        }
        line.push_str(&format!(" {shim} \"$@\"\n"));
        fs::write(&wrapper, line).unwrap();
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    }
    wrapper
}

/// A stage, with a neighbour whose processes and sockets a session must not reach.
struct Scene {
    stage: Stage,
    user: u32,
    neighbour: Child,
    told: Vec<(String, String)>,
}

impl Scene {
    fn new(user: u32) -> Self {
        let stage = Stage::new(user);
        for dir in ["cache/dir", "shown", "changes"] {
            fs::create_dir_all(stage.path(dir)).unwrap();
        }
        for (file, text) in [
            ("cache/crate", "of the cache"),
            ("cache/dir/file", "of the cache"),
            ("shown/thing", "shown"),
            ("strangers", "the user's"),
        ] {
            fs::write(stage.path(file), text).unwrap();
        }
        fs::copy("/bin/true", stage.path("house/program")).unwrap();
        for place in [
            "cache",
            "cache/dir",
            "cache/crate",
            "cache/dir/file",
            "shown",
            "shown/thing",
            "changes",
            "house/program",
        ] {
            chown(stage.path(place), Some(user), Some(user)).unwrap();
        }
        if geteuid().is_root() {
            chown(stage.path("strangers"), Some(12345), Some(12345)).unwrap();
            fs::set_permissions(stage.path("strangers"), fs::Permissions::from_mode(0o600))
                .unwrap();
        }
        let script = workshop().join("neighbour.pl");
        if !script.exists() {
            fs::write(&script, include_str!("attempts/neighbour.pl")).unwrap();
        }
        let (neighbour, told) = start_neighbour(&stage, user, &script);
        Self { stage, user, neighbour, told }
    }

    fn root(&self, layers: bool) -> Confinement {
        let mut confinement = self.stage.rooted();
        confinement.no_tcp = true;
        if let Some(root) = &mut confinement.root {
            root.show.push(self.stage.path("shown"));
            if layers {
                let at = self.stage.path("cache");
                let changes = self.stage.path("changes");
                root.layered.push(LayeredPlace { lowers: vec![at.clone()], at, changes });
            } else {
                root.show.push(self.stage.path("cache"));
            }
        }
        confinement
    }

    fn confinement(&self, lack: Lack) -> Confinement {
        if lack.has_root() { self.root(lack != Lack::Overlays) } else { self.stage.confinement() }
    }

    /// Plays a script on a machine that lacks something. Returns what it printed and what held it.
    fn play(
        &self,
        script: &str,
        lacks: &[Lack],
        confinement: Option<Confinement>,
    ) -> Result<(String, Option<Enforced>), SessionError> {
        let token = Ids::random(Arc::new(SystemClock)).session_token();
        let mut plan = self.stage.plan(&format!("{PRELUDE}{script}"), confinement, token);
        plan.env.extend(self.told.iter().cloned());
        let mut session = Shim::new(shim(self.user, lacks)).prepare(&plan)?.go()?;
        let enforced = session.enforced().cloned();
        let mut said = Vec::new();
        session.take_stdout().unwrap().read_to_end(&mut said).unwrap();
        session.wait()?;
        assert_eq!(find_by_token(&plan.token), Vec::<i32>::new());
        Ok((String::from_utf8_lossy(&said).into_owned(), enforced))
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // One that was traced is left stopped. The end of its input is the end of it.
        let pid = nix::unistd::Pid::from_raw(self.neighbour.id().cast_signed());
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGCONT);
        drop(self.neighbour.stdin.take());
        let _ = self.neighbour.wait();
    }
}

/// `sys` does one system call: numbers are numbers, all else is text.
const PRELUDE: &str = r#"sys() { perl -e '$n = shift; @a = map { /^-?\d+$/ ? $_ + 0 : "$_" } @ARGV; exit(syscall($n + 0, @a) < 0)' "$@"; }
"#;

fn start_neighbour(stage: &Stage, user: u32, script: &Path) -> (Child, Vec<(String, String)>) {
    let mut command = Command::new(if user == geteuid().as_raw() { "perl" } else { "setpriv" });
    if user != geteuid().as_raw() {
        let ids = [format!("--reuid={user}"), format!("--regid={user}")];
        command.args(ids).args(["--clear-groups", "perl"]);
    }
    command.arg(script).arg(stage.dir.path()).arg(libc::SYS_mq_open.to_string());
    command.env("NEIGHBOUR", "a key").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut neighbour = command.spawn().unwrap();
    let mut told = numbers();
    for line in BufReader::new(neighbour.stdout.as_mut().unwrap()).lines() {
        let line = line.unwrap();
        let (name, value) = line.split_once('=').unwrap();
        if name == "READY" {
            break;
        }
        told.push((name.to_owned(), value.to_owned()));
    }
    for (name, file) in [("NOTE_INODE", "house/note"), ("SECRET_INODE", "state/other/secret")] {
        told.push((name.to_owned(), fs::metadata(stage.path(file)).unwrap().ino().to_string()));
    }
    let network = fs::read_link("/proc/self/ns/net").unwrap().display().to_string();
    told.push(("OUTER_NETWORK".to_owned(), network));
    (neighbour, told)
}

/// The numbers of the system calls that scripts name.
fn numbers() -> Vec<(String, String)> {
    let all = [
        ("ACCT", libc::SYS_acct),
        ("ADD_KEY", libc::SYS_add_key),
        ("ADJTIMEX", libc::SYS_adjtimex),
        ("BPF", libc::SYS_bpf),
        ("DELETE_MODULE", libc::SYS_delete_module),
        ("FANOTIFY_INIT", libc::SYS_fanotify_init),
        ("FCHMODAT2", 452),
        ("FSOPEN", libc::SYS_fsopen),
        ("INOTIFY_ADD_WATCH", libc::SYS_inotify_add_watch),
        ("INOTIFY_INIT1", libc::SYS_inotify_init1),
        ("IOPL", 172),
        ("IO_URING_SETUP", libc::SYS_io_uring_setup),
        ("KCMP", libc::SYS_kcmp),
        ("KEYCTL", libc::SYS_keyctl),
        ("LINKAT", libc::SYS_linkat),
        ("MIGRATE_PAGES", libc::SYS_migrate_pages),
        ("MOVE_MOUNT", libc::SYS_move_mount),
        ("MQ_OPEN", libc::SYS_mq_open),
        ("NAME_TO_HANDLE_AT", libc::SYS_name_to_handle_at),
        ("OPENAT", libc::SYS_openat),
        ("OPENAT2", libc::SYS_openat2),
        ("OPEN_BY_HANDLE_AT", libc::SYS_open_by_handle_at),
        ("OPEN_TREE", libc::SYS_open_tree),
        ("PERF_EVENT_OPEN", libc::SYS_perf_event_open),
        ("PIDFD_GETFD", libc::SYS_pidfd_getfd),
        ("PIDFD_OPEN", libc::SYS_pidfd_open),
        ("PIDFD_SEND_SIGNAL", libc::SYS_pidfd_send_signal),
        ("PROCESS_VM_READV", libc::SYS_process_vm_readv),
        ("PTRACE", libc::SYS_ptrace),
        ("REBOOT", libc::SYS_reboot),
        ("RENAMEAT2", libc::SYS_renameat2),
        ("REQUEST_KEY", libc::SYS_request_key),
        ("RT_SIGQUEUEINFO", libc::SYS_rt_sigqueueinfo),
        ("SENDFILE", libc::SYS_sendfile),
        ("SWAPON", libc::SYS_swapon),
        ("SYSLOG", libc::SYS_syslog),
        ("TGKILL", libc::SYS_tgkill),
        ("TKILL", libc::SYS_tkill),
        ("USERFAULTFD", libc::SYS_userfaultfd),
    ];
    all.map(|(name, number)| (format!("N_{name}"), number.to_string())).to_vec()
}

/// What is outside of the checkout: what is there with its content, and when anything of it was last
/// changed, by the kernel's own time that no program can set.
#[derive(PartialEq, Eq, Debug)]
struct Outsides {
    content: BTreeMap<PathBuf, Vec<u8>>,
    changed: BTreeMap<PathBuf, (i64, i64)>,
}

impl Outsides {
    fn of(stage: &Stage, places: &[&str]) -> Self {
        let mut outsides = Self { content: BTreeMap::new(), changed: BTreeMap::new() };
        let mut open: Vec<PathBuf> = places.iter().map(|place| stage.path(place)).collect();
        while let Some(path) = open.pop() {
            let Ok(found) = path.symlink_metadata() else { continue };
            let mut content = vec![u8::try_from(found.mode() >> 12).unwrap()];
            if found.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if found.is_file() {
                content.extend(fs::read(&path).unwrap());
            }
            outsides.changed.insert(path.clone(), (found.ctime(), found.ctime_nsec()));
            outsides.content.insert(path, content);
        }
        outsides
    }
}

const OUTSIDE: [&str; 4] = ["house", "repo", "state", "shown"];

/// Tries one thing. Returns whether it worked, what was printed, and what held it.
fn play(
    attempt: &Attempt,
    user: u32,
    lacks: &[Lack],
    confinement: impl Fn(&Scene) -> Option<Confinement>,
) -> (bool, String, Option<Enforced>) {
    println!("{:?}: {}", attempt.promise, attempt.name);
    let scene = Scene::new(user);
    let before = Outsides::of(&scene.stage, &OUTSIDE);
    let cache = Outsides::of(&scene.stage, &["cache"]);
    let (mut said, enforced) = scene.play(attempt.script, lacks, confinement(&scene)).unwrap();
    if let Some(later) = attempt.later {
        // What is not started cannot do anything either.
        let later = scene.play(later, lacks, confinement(&scene));
        said.extend(later.map(|(said, _)| said));
    }
    let after = Outsides::of(&scene.stage, &OUTSIDE);
    let is_told = said.lines().any(|line| line == "OUT");
    let worked = match attempt.promise {
        Promise::Outside => before.content != after.content,
        Promise::Metadata => before.changed != after.changed,
        Promise::Reading => said.contains("the user's"),
        Promise::State => {
            let is_read = said.contains("of another run") || said.contains("the journal");
            is_read || before.content != after.content
        }
        Promise::Caches => {
            before.content != after.content || cache != Outsides::of(&scene.stage, &["cache"])
        }
        _ => false,
    };
    (worked || is_told, said, enforced)
}

fn is_skipped(user: u32) -> bool {
    if user == NOBODY && (!geteuid().is_root() || !Path::new("/usr/bin/setpriv").exists()) {
        println!("skipped: needs root and setpriv");
        return true;
    }
    let support = crate::stage::support(user);
    let is_whole = support == RootSupport::default() && !is_filtered();
    if !is_whole {
        println!("skipped: this machine itself lacks something: {support:?}");
    }
    !is_whole
}

/// Returns what a run tries: one in some, another one for each `number`, or all.
fn chosen(number: usize, of: usize) -> Vec<&'static Attempt> {
    if std::env::var("SPORE_ATTEMPTS").is_ok_and(|asked| asked == "all") {
        return table::all().collect();
    }
    table::all().skip(number).step_by(of).collect()
}

/// Says whether a machine that lacks something is known as one.
fn is_known(user: u32, lack: Lack, support: &RootSupport) -> bool {
    let is_layered = lack != Lack::Overlays;
    println!("as user {user} on a machine that lacks {lack:?}: {support:?}");
    support.refused.is_none() == lack.has_root()
        && support.no_proc == (lack == Lack::Proc)
        && (!lack.has_root() || support.no_layers.is_none() == is_layered)
}

fn check(number: usize, lack: Lack) {
    let me = geteuid().as_raw();
    // Either half of the numbers is one user's.
    let user = if number < Lack::ALL.len() { me } else { NOBODY };
    if is_skipped(user) || lack.is_of_root() && !geteuid().is_root() {
        return;
    }
    let scene = Scene::new(user);
    let scratch = if lack == Lack::Overlays {
        workshop().join("stacked/upper")
    } else {
        scene.stage.path("tmp")
    };
    let support = Shim::new(shim(user, &[lack])).support(&scratch);
    assert!(is_known(user, lack, &support));
    let (mut held, mut open, mut escaped) = (0, Vec::new(), Vec::new());
    for attempt in chosen(number, Lack::ALL.len() * 2) {
        let wanted = scene.confinement(lack);
        let (worked, said, enforced) =
            play(attempt, user, &[lack], |scene| Some(scene.confinement(lack)));
        let gaps: BTreeSet<&str> = enforced.unwrap().gaps(&wanted).into_iter().collect();
        assert_eq!(gaps, lack.gaps(), "{lack:?}");
        match (worked, attempt.promise.gap().filter(|gap| gaps.contains(gap))) {
            (false, _) => held += 1,
            (true, Some(_)) => open.push(attempt.name),
            (true, None) => escaped.push(format!("{}: {said}", attempt.name)),
        }
    }
    println!(
        "as user {user} on a machine that lacks {lack:?}: {held} held, {} not held and said so ({}), {} escapes",
        open.len(),
        open.join(", "),
        escaped.len()
    );
    assert_eq!(escaped, Vec::<String>::new());
}

#[test]
fn on_a_machine_that_has_all() {
    check(0, Lack::Nothing);
}

#[test]
fn on_a_machine_whose_filter_refuses_namespaces() {
    check(1, Lack::Namespaces);
}

#[test]
fn on_a_machine_that_allows_no_user_namespaces() {
    check(2, Lack::UserNamespaces);
}

#[test]
fn on_a_machine_without_landlock() {
    check(3, Lack::Landlock);
}

#[test]
fn on_a_machine_where_overlays_cannot_stack() {
    check(4, Lack::Overlays);
}

#[test]
fn on_a_machine_that_allows_no_filters() {
    check(5, Lack::Filters);
}

#[test]
fn as_another_user_on_a_machine_that_has_all() {
    check(7, Lack::Nothing);
}

#[test]
fn as_another_user_on_a_machine_whose_filter_refuses_namespaces() {
    check(8, Lack::Namespaces);
}

#[test]
fn as_another_user_on_a_machine_that_allows_no_user_namespaces() {
    check(9, Lack::UserNamespaces);
}

#[test]
fn as_another_user_on_a_machine_without_landlock() {
    check(10, Lack::Landlock);
}

#[test]
fn as_another_user_on_a_machine_where_overlays_cannot_stack() {
    check(11, Lack::Overlays);
}

#[test]
fn as_another_user_on_a_machine_that_allows_no_filters() {
    check(12, Lack::Filters);
}

#[test]
fn on_a_machine_that_covers_a_part_of_proc() {
    check(6, Lack::Proc);
}

#[test]
fn as_another_user_on_a_machine_that_covers_a_part_of_proc() {
    check(13, Lack::Proc);
}

/// Where neither can be had, a session that is to be held does not start at all.
#[test]
fn on_a_machine_without_namespaces_and_landlock_nothing_is_started() {
    for user in [geteuid().as_raw(), NOBODY] {
        if is_skipped(user) {
            continue;
        }
        for lacks in [[Lack::Namespaces, Lack::Landlock], [Lack::UserNamespaces, Lack::Landlock]] {
            let scene = Scene::new(user);
            for lack in [Lack::Nothing, Lack::Namespaces] {
                let refused = scene.play("echo ran", &lacks, Some(scene.confinement(lack)));
                assert!(matches!(refused, Err(SessionError::NotConfined { .. })), "{lacks:?}");
            }
        }
    }
}

fn check_unheld(user: u32, number: usize) {
    if is_skipped(user) {
        return;
    }
    let is_root = user == 0;
    let (mut worked, mut absent, mut failed) = (0, Vec::new(), Vec::new());
    let tried = chosen(number, 8).into_iter().filter(|attempt| is_root || !attempt.is_for_root);
    for attempt in tried {
        match play(attempt, user, &[], |_| None) {
            (true, ..) => worked += 1,
            (false, ..) if attempt.absent.is_some() => absent.push(attempt.name),
            (false, said, _) => failed.push(format!("{}: {said}", attempt.name)),
        }
    }
    println!("as user {user}: {worked} work where nothing holds them, not shown: {absent:?}");
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn every_attempt_works_where_nothing_holds_it() {
    check_unheld(geteuid().as_raw(), 0);
}

#[test]
fn every_attempt_of_another_user_works_where_nothing_holds_it() {
    check_unheld(NOBODY, 4);
}

#[test]
fn there_are_many_attempts_of_each_kind_and_no_two_have_one_name() {
    let kinds: BTreeSet<Promise> = table::all().map(|attempt| attempt.promise).collect();
    let names: BTreeSet<(Promise, &str)> =
        table::all().map(|attempt| (attempt.promise, attempt.name)).collect();
    assert_eq!(names.len(), table::all().count());
    println!("{} attempts at {} promises", names.len(), kinds.len());
    assert!(names.len() >= 150 && kinds.len() == 16, "{}", names.len());
}
