//! Where programs are on this machine.
//!
//! The one search of PATH, which is handed in: whose PATH counts, Spore's own or that of a
//! session, is the caller's to say. It finds what `execvp` would start
//! (<https://man7.org/linux/man-pages/man3/exec.3.html>), except that a part of PATH that is
//! relative or empty is passed over. To `execvp` such a part means the working directory, and
//! Spore calls git in checkouts: a file there that is called `git` is the agent's.
//!
//! What Spore runs by itself, outside of any sandbox, is held to one rule more: it never comes
//! from the project, its checkouts or its state ([`close_off`]), though PATH names a directory in
//! there by its whole path. Verified work lands in the project, and it may hold a `bin/git`.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where the C library looks when there is no PATH.
const WITHOUT_PATH: &str = "/usr/bin:/bin";

/// Places that [`own`] takes no program from.
static CLOSED: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Finds the program that `name` means: a file in one of the directories of `path`, or the file
/// at `name` itself if it has a slash, seen from `cwd`.
pub fn find(name: &str, path: &str, cwd: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(cwd.join(name)).filter(|file| is_program(file));
    }
    search(OsStr::new(name), OsStr::new(path), &[])
}

/// Returns PATH without its relative and empty parts; `None` if that leaves nothing. An empty
/// PATH is no answer, because to `execvp` it means the working directory.
pub fn without_relative_parts(path: &OsStr) -> Option<OsString> {
    let joined = std::env::join_paths(directories(path)).ok()?;
    (!joined.is_empty()).then_some(joined)
}

/// Says, once and before the first program is started, which places belong to the project.
/// Spore takes no program of its own from there.
pub fn close_off(places: impl IntoIterator<Item = PathBuf>) {
    let real = |place: PathBuf| place.canonicalize().unwrap_or(place);
    // A repository at the root of the file system would close off the whole machine.
    let is_part = |place: &PathBuf| place.parent().is_some();
    let _ = CLOSED.set(places.into_iter().map(real).filter(is_part).collect());
}

/// Returns the places around `dir` that an agent's work may come to lie in: the nearest git work
/// tree, the main one if that is a linked one, and the nearest directory with a `.spore`. Git is
/// not asked: which one is to be asked is the question.
pub fn project_around(dir: &Path) -> Vec<PathBuf> {
    let nearest = |mark: &str| dir.ancestors().find(|dir| dir.join(mark).exists());
    let work_tree = nearest(".git");
    let main = work_tree.and_then(|tree| {
        let link = std::fs::read_to_string(tree.join(".git")).ok()?;
        let git_dir = tree.join(link.strip_prefix("gitdir: ")?.trim_end());
        let main = git_dir.ancestors().find(|dir| dir.ends_with(".git"))?;
        main.parent().map(Path::to_owned)
    });
    let found = [work_tree, nearest(".spore")].into_iter().flatten().map(Path::to_owned);
    found.chain(main).collect()
}

/// Finds a program for Spore itself, on Spore's own PATH and outside of what is closed off. A
/// name is looked for once: what appears on PATH later on is not taken.
pub(crate) fn own(name: &OsStr) -> Option<PathBuf> {
    static FOUND: Mutex<Option<HashMap<OsString, PathBuf>>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    if let Some(program) = found.get(name) {
        return Some(program.clone());
    }
    let program = search(name, &own_path(), CLOSED.get().map_or(&[], Vec::as_slice))?;
    found.insert(name.to_owned(), program.clone());
    Some(program)
}

/// Returns Spore's own PATH without its relative parts.
#[expect(clippy::disallowed_methods, reason = "programs would inherit this variable")]
pub(crate) fn own_path() -> OsString {
    let path = std::env::var_os("PATH");
    path.and_then(|path| without_relative_parts(&path)).unwrap_or_else(|| WITHOUT_PATH.into())
}

/// Finds a program by its name, outside of `closed`: neither its directory nor the file that a
/// link leads to may lie in there.
fn search(name: &OsStr, path: &OsStr, closed: &[PathBuf]) -> Option<PathBuf> {
    let is_open = |file: &Path| {
        let real = |path: &Path| path.canonicalize().ok();
        let places = [file.parent().and_then(real), real(file)];
        closed.is_empty()
            || places.iter().flatten().all(|place| closed.iter().all(|one| !place.starts_with(one)))
    };
    let mut files = directories(path).map(|directory| directory.join(name));
    files.find(|file| is_program(file) && is_open(file))
}

/// Returns a file with all that leads to it, and the packages of Node that it is one of.
pub fn links_to(file: &Path) -> Vec<PathBuf> {
    let mut shown = Vec::new();
    let mut file = file.to_owned();
    // The kernel follows forty (<https://man7.org/linux/man-pages/man7/path_resolution.7.html>).
    for _ in 0..40 {
        shown.push(file.clone());
        let Ok(target) = file.read_link() else { break };
        file = file.parent().unwrap_or(&file).join(target);
    }
    if let Ok(real) = file.canonicalize() {
        shown.extend(
            real.ancestors().filter(|dir| dir.ends_with("node_modules")).last().map(Path::to_owned),
        );
        shown.push(real);
    }
    shown
}

/// Returns whether there is a file that its owner, its group or other users may start.
fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Returns the directories that PATH names by their whole paths, in its order.
fn directories(path: &OsStr) -> impl Iterator<Item = PathBuf> {
    std::env::split_paths(path).filter(|part| part.is_absolute())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Two directories with programs, and a working directory with one of its own.
    fn machine() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (file, mode) in [
            ("one/tool", 0o755),
            ("two/tool", 0o755),
            ("two/other", 0o700),
            ("two/group", 0o010),
            ("one/notes", 0o644),
            ("two/notes", 0o755),
            ("cwd/tool", 0o755),
            ("cwd/bin/tool", 0o755),
            ("cwd/bin/local", 0o755),
        ] {
            let file = dir.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(dir.path().join("one/other")).unwrap();
        symlink("../two/other", dir.path().join("one/link")).unwrap();
        symlink("nowhere", dir.path().join("one/broken")).unwrap();
        dir
    }

    /// Finds `name` with `$` in `path` standing for the machine, and tells where below it.
    fn found(name: &str, path: &str) -> Option<String> {
        let dir = machine();
        let root = dir.path().to_str().unwrap();
        let (name, path) = (name.replace('$', root), path.replace('$', root));
        let found = find(&name, &path, &dir.path().join("cwd"))?;
        assert!(found.is_absolute());
        Some(found.strip_prefix(root).unwrap().to_str().unwrap().to_owned())
    }

    #[track_caller]
    fn check(name: &str, path: &str, expected: Option<&str>) {
        assert_eq!(found(name, path).as_deref(), expected, "{name} on {path}");
    }

    #[test]
    fn the_first_directory_that_has_the_program_counts() {
        check("tool", "$/one:$/two", Some("one/tool"));
        check("tool", "$/two:$/one", Some("two/tool"));
        check("tool", "$/nowhere:$/two/tool:$/two", Some("two/tool"));
        check("tool", "$/nowhere", None);
        check("tool", "", None);
        check("absent", "$/one:$/two", None);
        check("", "$/one", None);
        check(".", "$/one", None);
        check("..", "$/one", None);
    }

    #[test]
    fn only_a_file_that_may_be_started_is_a_program() {
        check("other", "$/one:$/two", Some("two/other"));
        check("notes", "$/one:$/two", Some("two/notes"));
        check("notes", "$/one", None);
        check("group", "$/two", Some("two/group"));
        check("link", "$/one", Some("one/link"));
        check("broken", "$/one", None);
    }

    #[test]
    fn a_name_with_a_slash_is_a_path_and_is_not_looked_for() {
        check("$/two/tool", "$/one", Some("two/tool"));
        check("./tool", "$/one", Some("cwd/./tool"));
        check("bin/local", "$/one", Some("cwd/bin/local"));
        check("two/tool", "$", None);
        check("../one/notes", "$/one", None);
        check("/", "$/one", None);
    }

    #[test]
    fn an_empty_part_is_passed_over() {
        check("tool", ":", None);
        check("tool", "::$/two", Some("two/tool"));
        check("tool", ":$/two:", Some("two/tool"));
        check("local", "", None);
    }

    #[test]
    fn a_relative_part_is_passed_over() {
        check("tool", "bin:$/two", Some("two/tool"));
        check("local", "./bin", None);
        check("tool", ".", None);
        check("tool", "../two", None);
        check("tool", ".:../one:$/two:bin", Some("two/tool"));
    }

    #[test]
    fn a_path_is_left_with_its_absolute_parts_or_is_none() {
        let cleaned = |path: &str| without_relative_parts(OsStr::new(path));
        assert_eq!(cleaned(".:/a::./b:/c:").unwrap(), "/a:/c");
        assert_eq!(cleaned("/a:/b").unwrap(), "/a:/b");
        assert_eq!(cleaned("."), None);
        assert_eq!(cleaned(""), None);
    }

    #[test]
    fn what_is_closed_off_is_passed_over_and_so_is_a_link_into_it() {
        let dir = machine();
        let root = dir.path().canonicalize().unwrap();
        symlink(root.join("one/tool"), root.join("two/linked")).unwrap();
        symlink(root.join("one"), root.join("alias")).unwrap();
        let path = |parts: &[&str]| {
            std::env::join_paths(parts.iter().map(|part| root.join(part))).unwrap()
        };
        let found = |name: &str, parts: &[&str]| {
            let found = search(OsStr::new(name), &path(parts), &[root.join("one")]);
            found.map(|file| file.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
        };
        assert_eq!(found("tool", &["one", "alias", "two"]).as_deref(), Some("two/tool"));
        assert_eq!(found("tool", &["one", "alias"]), None);
        assert_eq!(found("linked", &["two"]), None);
    }

    #[test]
    fn a_project_is_its_work_tree_the_main_one_and_the_directory_with_spores_state() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["main/.git/worktrees/x", "main/.spore", "main/sub/.git", "linked/a"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let link = format!("gitdir: {}\n", root.join("main/.git/worktrees/x").display());
        fs::write(root.join("linked/.git"), link).unwrap();
        let around = |folder: &str| project_around(&root.join(folder));
        assert_eq!(around("main/sub"), [root.join("main/sub"), root.join("main")]);
        assert_eq!(around("linked/a"), [root.join("linked"), root.join("main")]);
    }
}
