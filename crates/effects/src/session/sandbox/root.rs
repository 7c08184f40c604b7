//! A root made anew: a tree of mounts that holds what the session is shown, and nothing else.
//!
//! The order matters. Sources are opened before anything is covered. The new root is entered
//! before anything is placed in it, and the old one is gone by then: a link that an earlier session
//! left in a writable directory leads nowhere but into the new root. Only `/proc` is mounted
//! while the old root is there, because the kernel gives a new one only to those who can see one
//! (`mount_too_revealing` in the kernel's fs/namespace.c).

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::libc;
use serde::{Deserialize, Serialize};

use super::Confinement;
use super::ids::PLAIN_ID;
use super::mounts::{
    Made, NO_DEVICES, NO_SUID, READ_ONLY, SandboxRefusal, attach, detach, make_private, mount,
    open_tree, pivot_root, restrict, restrict_alone,
};
use super::reach::{Reached, hosts};

/// What a new root holds beside what a [`Confinement`] names, which is there too: what may be
/// written, what may be read, and the devices.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SandboxRoot {
    /// Shown read-only at their own paths. What is not there is passed over; a link stays a link.
    pub show: Vec<PathBuf>,
    /// Directories that stand in for others and may be written.
    pub stand_ins: Vec<StandIn>,
    /// The directory that the session works in, where it is seen under another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectPlace>,
    /// Directories that are shown as they are; what is written there goes elsewhere.
    pub layered: Vec<LayeredPlace>,
    /// Directories that are there, empty and not to be written, but for what else is placed in
    /// them: a program that writes to the user's own files is told so.
    pub empty: Vec<PathBuf>,
    /// Whether it has a network of its own, with nothing but a loopback.
    pub own_network: bool,
    /// What it reaches outside of a network of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reach: Vec<Reached>,
}

/// What a session works in, under a name that tells nothing of the session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProjectPlace {
    /// Where it is seen.
    pub at: PathBuf,
    /// What it is.
    pub dir: PathBuf,
    pub read_only: bool,
}

impl ProjectPlace {
    /// Returns a path as it is called inside.
    fn inside(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.dir).ok().map(|rest| joined(&self.at, rest))
    }

    /// Returns a path that the session has named as it is called outside.
    pub fn outside(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.at).ok().map(|rest| joined(&self.dir, rest))
    }
}

/// An empty rest adds no slash.
fn joined(place: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { place.to_owned() } else { place.join(rest) }
}

impl SandboxRoot {
    /// Returns a path as the session calls it.
    pub fn inside(&self, path: &Path) -> PathBuf {
        let project = self.project.as_ref().and_then(|project| project.inside(path));
        project.unwrap_or_else(|| path.to_owned())
    }
}

/// A directory that is seen in the place of another one. It is made where it is missing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StandIn {
    pub at: PathBuf,
    pub dir: PathBuf,
}

/// A directory whose changes are kept apart.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LayeredPlace {
    pub at: PathBuf,
    /// What is seen there, the uppermost first.
    pub lowers: Vec<PathBuf>,
    /// Where changes go. Two directories are made in it, on one file system.
    pub changes: PathBuf,
}

/// One thing in the new root. Of two at the same place the later kind covers the earlier.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum PlacedKind {
    Link(PathBuf),
    /// Nothing is seen there but what else is placed below.
    Cover,
    /// The same, and it is there in any case.
    Empty,
    ReadOnly,
    Layered(usize),
    Writable,
}

struct Placed {
    at: PathBuf,
    kind: PlacedKind,
    /// The opened source, where there is one.
    trees: Vec<OwnedFd>,
}

const OLD_ROOT: &str = "/.old";
const LAYERS: &str = "/.layers";
/// Room for what programs share in memory. Pages are taken only as they are used.
const SHARED_MEMORY: &str = "mode=1777,size=2g";

/// Parts of `/proc` that tell or change something of the whole machine.
const PROC_READ_ONLY: &[&str] = &["sys", "irq", "bus", "fs", "acpi", "scsi", "driver"];
const PROC_EMPTY: &[&str] =
    &["kcore", "keys", "kmsg", "sysrq-trigger", "timer_list", "latency_stats", "mtrr"];

/// Makes the root and enters it. Called in a new mount namespace, by its first process. Returns whether
/// `/proc` tells of the session's processes alone.
pub(super) fn enter(confinement: &Confinement, root: &SandboxRoot, cwd: &Path) -> Made<bool> {
    make_private()?;
    let placed = open_sources(confinement, root)?;
    let devices = open_devices(&confinement.devices);
    let proc_outside = open_tree(Path::new("/proc"));
    // Any directory will do; this one is known to be there.
    mount("tmpfs", cwd, libc::MS_NOSUID | libc::MS_NODEV, "mode=755,size=16m")?;
    change_dir(cwd)?;
    for dir in [OLD_ROOT, LAYERS, "/proc", "/dev", "/sys", "/tmp"] {
        make_dirs(Path::new(dir.trim_start_matches('/')))?;
    }
    pivot_root(Path::new(OLD_ROOT.trim_start_matches('/')))?;
    change_dir(Path::new("/"))?;
    let is_own_proc = mount_proc(proc_outside)?;
    detach(Path::new(OLD_ROOT))?;
    make_devices(devices)?;
    let mut sealed = vec![open_place(Path::new("/"))?, open_place(Path::new("/dev"))?];
    // For all layers at once: the kernel takes a millisecond to detach anything.
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    mount("tmpfs", Path::new(LAYERS), flags, "mode=700,size=1m")?;
    for placed in placed {
        sealed.extend(place(root, placed)?);
    }
    name_plain_user()?;
    if root.own_network {
        place_hosts(&root.reach)?;
    }
    detach(Path::new(LAYERS))?;
    for dir in [OLD_ROOT, LAYERS] {
        let _ = fs::remove_dir(dir);
    }
    for place in &sealed {
        restrict_alone(place, READ_ONLY)?;
    }
    change_dir(&root.inside(cwd))?;
    Ok(is_own_proc)
}

/// Opens everything that is shown, in the order in which it is placed: what contains before what
/// is contained.
fn open_sources(confinement: &Confinement, root: &SandboxRoot) -> Made<Vec<Placed>> {
    let mut placed = Vec::new();
    let mut add = |at: &Path, kind: PlacedKind, sources: &[&Path]| -> Made<()> {
        let trees = sources.iter().map(|source| open_tree(source)).collect::<Made<Vec<_>>>()?;
        placed.push(Placed { at: at.to_owned(), kind, trees });
        Ok(())
    };
    for at in &root.show {
        match at.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                if let Ok(target) = at.read_link() {
                    add(at, PlacedKind::Link(target), &[])?;
                }
            }
            Ok(_) => add(at, PlacedKind::ReadOnly, &[at])?,
            Err(_) => {}
        }
    }
    for at in confinement.hide.iter().filter(|at| at.exists()) {
        add(at, PlacedKind::Cover, &[])?;
    }
    for at in &root.empty {
        add(at, PlacedKind::Empty, &[])?;
    }
    for at in confinement.read.iter().chain(&confinement.keep).filter(|at| at.exists()) {
        add(at, PlacedKind::ReadOnly, &[at])?;
    }
    for (number, layered) in root.layered.iter().enumerate() {
        for dir in ["upper", "work"] {
            make_dirs(&layered.changes.join(dir))?;
        }
        let sources: Vec<&Path> = std::iter::once(layered.changes.as_path())
            .chain(layered.lowers.iter().map(PathBuf::as_path))
            .collect();
        add(&layered.at, PlacedKind::Layered(number), &sources)?;
    }
    for stand_in in &root.stand_ins {
        make_dirs(&stand_in.dir)?;
        add(&stand_in.at, PlacedKind::Writable, &[&stand_in.dir])?;
    }
    if let Some(ProjectPlace { at, dir, read_only }) = &root.project {
        let kind = if *read_only { PlacedKind::ReadOnly } else { PlacedKind::Writable };
        add(at, kind, &[dir])?;
    }
    for at in confinement.write.iter().filter(|at| at.exists()) {
        add(at, PlacedKind::Writable, &[at])?;
    }
    placed.sort_by(|one, other| (&one.at, &one.kind).cmp(&(&other.at, &other.kind)));
    Ok(placed)
}

/// Puts one thing in its place. Returns what has to be sealed when everything is there.
fn place(root: &SandboxRoot, placed: Placed) -> Made<Option<OwnedFd>> {
    let Placed { at, kind, trees } = placed;
    match (kind, trees.as_slice()) {
        (PlacedKind::Link(target), _) => {
            make_parent(&at)?;
            match std::os::unix::fs::symlink(target, &at) {
                // Something that contains it is shown already.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(SandboxRefusal::new(format!("link {}", at.display()), &error));
                }
                _ => {}
            }
        }
        (PlacedKind::Cover, _) => return cover(&at),
        (PlacedKind::Empty, _) => {
            make_dirs(&at)?;
            return cover(&at);
        }
        (PlacedKind::ReadOnly, [tree]) => bind(tree, &at, READ_ONLY)?,
        (PlacedKind::Writable, [tree]) => bind(tree, &at, 0)?,
        (PlacedKind::Layered(number), [changes, lowers @ ..]) => {
            if let Some(layered) = root.layered.get(number) {
                overlay(&layered.at, number, changes, lowers)?;
            }
        }
        _ => {}
    }
    Ok(None)
}

fn bind(tree: &OwnedFd, at: &Path, more: u64) -> Made<()> {
    restrict(tree, NO_SUID | NO_DEVICES | more)?;
    make_mount_point(at, is_dir(tree))?;
    attach(tree, at)
}

/// Hides what is at `at`. Something may be placed below a directory yet, so it is sealed later.
fn cover(at: &Path) -> Made<Option<OwnedFd>> {
    match at.symlink_metadata() {
        Ok(found) if found.is_dir() => {
            mount("tmpfs", at, libc::MS_NOSUID | libc::MS_NODEV, "mode=755,size=1m")?;
            open_place(at).map(Some)
        }
        Ok(_) => bind_null(at).map(|()| None),
        // It is not in the new root.
        Err(_) => Ok(None),
    }
}

fn bind_null(at: &Path) -> Made<()> {
    let null = open_tree(Path::new("/dev/null"))?;
    attach(&null, at)
}

/// Mounts the lower directories with changes going to `changes`. The layers are attached for a
/// moment only: an overlay of trees that are attached nowhere is refused before Linux 6.15.
fn overlay(at: &Path, number: usize, changes: &OwnedFd, lowers: &[OwnedFd]) -> Made<()> {
    let layers = Path::new(LAYERS).join(number.to_string());
    let mut names = Vec::new();
    for (number, tree) in lowers.iter().enumerate() {
        let name = layers.join(number.to_string());
        make_dirs(&name)?;
        attach(tree, &name)?;
        names.push(name.display().to_string());
    }
    let own = layers.join("changes");
    make_dirs(&own)?;
    attach(changes, &own)?;
    make_mount_point(at, true)?;
    let (lowers, own) = (names.join(":"), own.display());
    let data = format!("lowerdir={lowers},upperdir={own}/upper,workdir={own}/work,userxattr");
    mount("overlay", at, libc::MS_NOSUID | libc::MS_NODEV, &data)
}

/// Gives the plain user that root is inside a name, with root's own home and shell: many programs do
/// not run for a user that nothing knows.
fn name_plain_user() -> Made<()> {
    let ids = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_exchanged = ids.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words == [PLAIN_ID.to_string().as_str(), "0", "1"]
    });
    for (place, of_root) in [("/etc/passwd", "root:x:0:0:root:/root:/bin/sh"), ("/etc/group", "")] {
        let is_file = fs::symlink_metadata(place).is_ok_and(|found| found.is_file());
        let (true, Ok(known)) = (is_exchanged && is_file, fs::read_to_string(place)) else {
            continue;
        };
        let source = Path::new(LAYERS).join(place.trim_start_matches("/etc/"));
        fs::write(&source, with_plain_user(&known, of_root))
            .map_err(|error| SandboxRefusal::new(format!("write {place}"), &error))?;
        bind(&open_tree(&source)?, Path::new(place), READ_ONLY)?;
    }
    Ok(())
}

/// Adds a line for the plain user to a file of users or groups, in the place of any that has its id.
/// A user has what follows root's ids, for which `of_root` stands in where root has no line.
fn with_plain_user(known: &str, of_root: &str) -> String {
    let plain = PLAIN_ID.to_string();
    let id = |line: &str| line.split(':').nth(2).unwrap_or_default().to_owned();
    let rest = |line: &str| line.splitn(5, ':').nth(4).unwrap_or_default().to_owned();
    let line = if of_root.is_empty() {
        format!("spore:x:{plain}:")
    } else {
        let root = known.lines().find(|line| id(line) == "0").unwrap_or(of_root);
        format!("spore:x:{plain}:{plain}:{}", rest(root))
    };
    let others = known.lines().filter(|line| id(line) != plain);
    others.chain([line.as_str()]).map(|line| format!("{line}\n")).collect()
}

/// Mounts a `/proc` that knows the session's processes alone. Where that is refused the one
/// outside is shown, in which other processes can be seen but not touched. Returns which it is.
fn mount_proc(outside: Made<OwnedFd>) -> Made<bool> {
    let proc = Path::new("/proc");
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let is_own = mount("proc", proc, flags, "").is_ok();
    if !is_own {
        bind(&outside?, proc, 0)?;
    }
    // The machine's own root may write there without any capability, from inside of any
    // namespace. It is asked for, because no map of ids tells whether that is us. Covering it
    // for other users would cost them namespaces of their own.
    let core_pattern = proc.join("sys/kernel/core_pattern");
    if fs::File::options().write(true).open(core_pattern).is_err() {
        return Ok(is_own);
    }
    // A control group namespace of its own would let it mount the machine's control groups, which are
    // root's. The limit is that of the session's users, which have one already.
    let limit = proc.join("sys/user/max_cgroup_namespaces");
    if limit.exists() {
        fs::write(&limit, "1").map_err(|error| SandboxRefusal::new("limit namespaces", &error))?;
    }
    for part in PROC_READ_ONLY.iter().map(|part| proc.join(part)).filter(|part| part.exists()) {
        bind(&open_tree(&part)?, &part, READ_ONLY)?;
    }
    // The new /dev is not there yet.
    let null = Path::new(OLD_ROOT).join("dev/null");
    for part in PROC_EMPTY.iter().map(|part| proc.join(part)).filter(|part| part.exists()) {
        attach(&open_tree(&null)?, &part)?;
    }
    Ok(is_own)
}

/// Opens the devices that are asked for by name; the directories among them are made anew.
fn open_devices(wanted: &[PathBuf]) -> Vec<(PathBuf, OwnedFd)> {
    let devices = wanted.iter().filter(|path| !path.is_dir() && !path.ends_with("ptmx"));
    devices.filter_map(|path| Some((path.clone(), open_tree(path).ok()?))).collect()
}

fn make_devices(devices: Vec<(PathBuf, OwnedFd)>) -> Made<()> {
    let dev = Path::new("/dev");
    let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
    mount("tmpfs", dev, flags, "mode=755,size=64k")?;
    for (path, tree) in devices {
        make_mount_point(&path, false)?;
        restrict(&tree, NO_SUID)?;
        attach(&tree, &path)?;
    }
    for dir in ["pts", "shm", "mqueue"] {
        make_dirs(&dev.join(dir))?;
    }
    mount("devpts", &dev.join("pts"), flags, "newinstance,ptmxmode=0666,mode=620")?;
    mount("tmpfs", &dev.join("shm"), libc::MS_NOSUID | libc::MS_NODEV, SHARED_MEMORY)?;
    // A kernel may have none.
    let _ = mount("mqueue", &dev.join("mqueue"), flags | libc::MS_NODEV, "");
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        std::os::unix::fs::symlink(target, dev.join(name))
            .map_err(|error| SandboxRefusal::new(format!("link /dev/{name}"), &error))?;
    }
    Ok(())
}

/// Puts the session's own list of names in the place of the machine's, which may be a link. Where
/// the machine has none there may be no room for ours: then names are not found.
fn place_hosts(reach: &[Reached]) -> Made<()> {
    // Not removed, but detached with the layers: nothing can be mounted on a file that was removed,
    // and a root inside of this one has a list of its own.
    let own = Path::new(LAYERS).join("hosts");
    let at = Path::new("/etc/hosts");
    let (at, is_there) = at.canonicalize().map_or((at.to_owned(), false), |at| (at, true));
    let machine = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    fs::write(&own, hosts(reach, machine.trim()))
        .map_err(|error| SandboxRefusal::new("write the list of names", &error))?;
    let placed = bind(&open_tree(&own)?, &at, READ_ONLY);
    placed.or_else(|refusal| if is_there { Err(refusal) } else { Ok(()) })
}

/// Opens what is mounted at `path` now, whatever is mounted there later.
fn open_place(path: &Path) -> Made<OwnedFd> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    let opened = fs::File::options().read(true).custom_flags(flags).open(path);
    opened
        .map(OwnedFd::from)
        .map_err(|error| SandboxRefusal::new(format!("open {}", path.display()), &error))
}

fn is_dir(tree: &OwnedFd) -> bool {
    use nix::sys::stat::{SFlag, fstat};
    fstat(tree).is_ok_and(|found| found.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFDIR.bits())
}

fn make_mount_point(at: &Path, is_dir: bool) -> Made<()> {
    if is_dir {
        return make_dirs(at);
    }
    make_parent(at)?;
    match fs::File::options().append(true).create_new(true).open(at) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(SandboxRefusal::new(format!("create {}", at.display()), &error))
        }
        _ => Ok(()),
    }
}

fn make_parent(at: &Path) -> Made<()> {
    at.parent().map_or(Ok(()), make_dirs)
}

fn make_dirs(path: &Path) -> Made<()> {
    fs::create_dir_all(path)
        .map_err(|error| SandboxRefusal::new(format!("create {}", path.display()), &error))
}

fn change_dir(path: &Path) -> Made<()> {
    std::env::set_current_dir(path)
        .map_err(|error| SandboxRefusal::new(format!("enter {}", path.display()), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_user_has_what_root_has_and_stands_for_any_other_of_its_id() {
        let known =
            "root:x:0:0:Root:/root:/bin/bash\nann:x:1000:1000::/h/ann:/bin/sh\nbob:x:1:1::/b:/s\n";
        assert_eq!(
            with_plain_user(known, "root:x:0:0:root:/root:/bin/sh"),
            "root:x:0:0:Root:/root:/bin/bash\nbob:x:1:1::/b:/s\nspore:x:1000:1000:Root:/root:/bin/bash\n"
        );
        assert_eq!(with_plain_user("", "root:x:0:0:r:/r:/s"), "spore:x:1000:1000:r:/r:/s\n");
        assert_eq!(with_plain_user("a:x:7:b\nc:x:1000:\n", ""), "a:x:7:b\nspore:x:1000:\n");
    }
}
