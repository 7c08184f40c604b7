//! Where programs are on this machine.
//!
//! The one search of PATH, which is handed in: whose PATH counts, Spore's own or that of a
//! session, is the caller's to say. It finds what `execvp` would start
//! (<https://man7.org/linux/man-pages/man3/exec.3.html>), except that an empty part of PATH is
//! passed over. To a shell it means the working directory, which hardly ever is meant, and
//! which in a checkout is the agent's.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Finds the program that `name` means: a file in one of the directories of `path`, or the file
/// at `name` itself if it has a slash. What is relative is taken from `cwd`.
pub fn find(name: &str, path: &str, cwd: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(cwd.join(name)).filter(|file| is_program(file));
    }
    directories(path, cwd).map(|directory| directory.join(name)).find(|file| is_program(file))
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

/// Returns the directories that PATH names, in its order.
fn directories<'a>(path: &'a str, cwd: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    std::env::split_paths(path)
        .filter(|part| !part.as_os_str().is_empty())
        .map(|part| relative_part(&part, cwd))
}

/// The rule for a part of PATH such as `bin` or `.`: it counts, from the working directory.
fn relative_part(part: &Path, cwd: &Path) -> PathBuf {
    cwd.join(part)
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
    fn a_relative_part_counts_from_the_working_directory() {
        check("tool", "bin:$/two", Some("cwd/bin/tool"));
        check("local", "./bin", Some("cwd/./bin/local"));
        check("tool", ".", Some("cwd/./tool"));
        check("tool", "../two", Some("cwd/../two/tool"));
        check("absent", "bin:.", None);
    }
}
