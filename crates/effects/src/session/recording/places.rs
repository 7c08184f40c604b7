//! Where a path leads, and what is kept of it.
//!
//! Paths are walked name by name as the kernel does it, from the session's own root, so that a
//! link counts as a thing that was read and not only what it leads to. Directories that were
//! once seen are not asked about again: what was a directory hardly becomes a link while a check
//! runs, and each question costs the program time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use super::{Recording, RecordingMethod, RecordingPlan};

/// What is found at a path whose directories hold no link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FoundThere {
    Directory,
    File,
    Link(PathBuf),
    Nothing,
}

/// Answers what is at an absolute path of the session.
pub(super) type LookUp<'a> = &'a dyn Fn(&Path) -> FoundThere;

/// What was done with a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum PathUse {
    Read,
    Look,
    List,
    Run,
}

const READ: u8 = 1;
const SEEN: u8 = 1 << 1;
const LISTED: u8 = 1 << 2;
const MISSED: u8 = 1 << 3;
const RUN: u8 = 1 << 4;

/// More links than this on one way are a circle, to the kernel as well.
const MOST_LINKS: usize = 40;

/// All that was looked up so far.
pub(super) struct Places {
    plan: RecordingPlan,
    /// The root of interest without links, once it is known.
    root: Option<PathBuf>,
    kept: HashMap<String, u8>,
    directories: HashSet<PathBuf>,
    /// Ways that were walked and led somewhere: they are not walked again.
    walked: HashSet<(PathUse, bool, PathBuf)>,
    why: Vec<String>,
}

impl Places {
    pub(super) fn new(plan: RecordingPlan) -> Self {
        Self {
            plan,
            root: None,
            kept: HashMap::new(),
            directories: HashSet::new(),
            walked: HashSet::new(),
            why: Vec::new(),
        }
    }

    /// Says that something was missed.
    pub(super) fn blind(&mut self, why: &str) {
        if !self.why.iter().any(|known| known == why) {
            self.why.push(why.to_owned());
        }
    }

    /// Finds the root of interest itself, which may be named by a link. Must come first.
    pub(super) fn find_root(&mut self, look_up: LookUp<'_>) {
        let root = self.plan.root.clone();
        match self.walk(&root, true, &mut Vec::new(), look_up) {
            (found, FoundThere::Directory) => self.root = Some(found),
            _ => self.blind("the root of interest is not in the session"),
        }
    }

    /// Returns whether `path`, which is absolute, can lead below the root of interest.
    pub(super) fn concerns(&self, path: &Path) -> bool {
        let path = lexically(path);
        path.starts_with(&self.plan.root)
            || self.root.as_ref().is_some_and(|root| path.starts_with(root))
    }

    /// Takes in that `path`, which is absolute, was used. With `follows` a link at its end is
    /// followed. Returns the path without links of a file that is below the root of interest.
    pub(super) fn take(
        &mut self,
        path: &Path,
        purpose: PathUse,
        follows: bool,
        look_up: LookUp<'_>,
    ) -> Option<PathBuf> {
        let key = (purpose, follows, path.to_owned());
        if self.walked.contains(&key) {
            return None;
        }
        let mut links = Vec::new();
        let (end, found) = self.walk(path, follows, &mut links, look_up);
        for link in links {
            self.keep(&link, READ);
        }
        let bits = match (purpose, &found) {
            (_, FoundThere::Nothing) => MISSED,
            (PathUse::Read, FoundThere::Directory) | (PathUse::Look, _) => SEEN,
            (PathUse::Read, _) => READ,
            (PathUse::List, _) => LISTED,
            (PathUse::Run, _) => RUN,
        };
        let is_below = self.keep(&end, bits);
        if bits != MISSED {
            self.walked.insert(key);
        }
        (is_below && found == FoundThere::File).then_some(end)
    }

    /// Returns where `path` leads and what is there; `links` gets those that were followed. Where
    /// a directory on the way is missing, the end is the whole path that would be there.
    fn walk(
        &mut self,
        path: &Path,
        follows: bool,
        links: &mut Vec<PathBuf>,
        look_up: LookUp<'_>,
    ) -> (PathBuf, FoundThere) {
        let mut at = PathBuf::from("/");
        let mut rest: VecDeque<OsString> = names(path).collect();
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                at.pop();
                continue;
            }
            at.push(&name);
            if self.directories.contains(&at) {
                continue;
            }
            match look_up(&at) {
                FoundThere::Directory => {
                    self.directories.insert(at.clone());
                }
                FoundThere::Link(target) if follows || !rest.is_empty() => {
                    if links.len() >= MOST_LINKS {
                        return (at, FoundThere::Nothing);
                    }
                    links.push(at.clone());
                    at.pop();
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
                        rest.push_front(name);
                    }
                }
                found @ (FoundThere::File | FoundThere::Link(_)) if rest.is_empty() => {
                    return (at, found);
                }
                _ => {
                    at.extend(rest);
                    return (lexically(&at), FoundThere::Nothing);
                }
            }
        }
        (at, FoundThere::Directory)
    }

    /// Keeps a path that is below the root of interest. Returns whether it is.
    fn keep(&mut self, path: &Path, bits: u8) -> bool {
        let Some(below) = self.root.as_ref().and_then(|root| path.strip_prefix(root).ok()) else {
            return false;
        };
        let Some(below) = below.to_str() else {
            self.blind("a path is no text");
            return false;
        };
        if let Some(kept) = self.kept.get_mut(below) {
            *kept |= bits;
        } else if self.kept.len() < self.plan.max_paths {
            self.kept.insert(below.to_owned(), bits);
        } else {
            self.blind("there were more paths than a record keeps");
        }
        true
    }

    /// Returns the record.
    pub(super) fn finish(self) -> Recording {
        let mut recording = Recording {
            method: RecordingMethod::Watched,
            complete: self.why.is_empty(),
            why: self.why,
            ..Recording::default()
        };
        for (path, bits) in self.kept {
            let sets = [
                (bits & READ != 0, &mut recording.read),
                (bits & SEEN != 0 && bits & (READ | RUN) == 0, &mut recording.seen),
                (bits & LISTED != 0, &mut recording.listed),
                (bits & MISSED != 0, &mut recording.missed),
                (bits & RUN != 0, &mut recording.run),
            ];
            for (_, set) in sets.into_iter().filter(|(is_in, _)| *is_in) {
                set.insert(path.clone());
            }
        }
        recording
    }
}

fn names(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

/// Takes `.` and `..` out of a path by its text alone.
fn lexically(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            _ => {}
        }
    }
    plain
}

/// Returns the interpreter that the first line of a script names.
pub(super) fn interpreter(start: &[u8]) -> Option<PathBuf> {
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let name = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty())?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tree` has a path a line, a directory ending in `/`, a link with ` -> ` and its target.
    /// Each use is a word of how and the path.
    #[track_caller]
    fn check(tree: &str, uses: &[&str], expected: &str) {
        let tree: HashMap<PathBuf, FoundThere> = tree
            .split_whitespace()
            .map(|line| match line.split_once("->") {
                Some((path, target)) => (path, FoundThere::Link(target.into())),
                None if line.ends_with('/') => (line.trim_end_matches('/'), FoundThere::Directory),
                None => (line, FoundThere::File),
            })
            .map(|(path, found)| (PathBuf::from(path), found))
            .collect();
        let look_up = |path: &Path| tree.get(path).cloned().unwrap_or(FoundThere::Nothing);
        let plan = RecordingPlan { root: "/link/co".into(), max_paths: 6 };
        let mut places = Places::new(plan);
        places.find_root(&look_up);
        for line in uses {
            let (how, path) = line.split_once(' ').unwrap();
            let (purpose, follows) = match how {
                "read" => (PathUse::Read, true),
                "look" => (PathUse::Look, true),
                "look-at-link" => (PathUse::Look, false),
                "list" => (PathUse::List, true),
                _ => (PathUse::Run, true),
            };
            places.take(Path::new(path), purpose, follows, &look_up);
        }
        let Recording { read, seen, listed, missed, run, why, .. } = places.finish();
        let mut told = String::new();
        for (word, set) in
            [("read", read), ("seen", seen), ("listed", listed), ("missed", missed), ("run", run)]
        {
            for path in set {
                told.push_str(&format!("{word} {path}, "));
            }
        }
        told.extend(why);
        assert_eq!(told.trim_end_matches(", "), expected);
    }

    const TREE: &str = "/link->/real /real/ /real/co/ /real/co/a /real/co/dir/ /real/co/dir/b \
        /real/co/to-dir->dir /real/co/to-out->/etc /etc/ /etc/passwd /real/co/to-b->./to-dir/b \
        /real/co/loop->loop /real/co/lost->dir/none";

    #[test]
    fn what_is_used_is_kept_by_how() {
        check(TREE, &["read /real/co/a", "look /link/co/dir/b"], "read a, seen dir/b");
        check(TREE, &["look /real/co/a", "read /link/co/a", "list /real/co"], "read a, listed ");
        check(TREE, &["run /real/co/a", "look /real/co/a", "read /real/co/dir"], "seen dir, run a");
    }

    #[test]
    fn what_is_not_there_is_kept_as_it_was_looked_for() {
        check(TREE, &["look /real/co/x/../y", "read /real/co/u/v"], "missed u/v, missed y");
        check(TREE, &["look /real/co/a/in-a-file"], "missed a/in-a-file");
    }

    #[test]
    fn links_are_read_themselves_and_followed() {
        check(TREE, &["read /real/co/to-dir/b"], "read dir/b, read to-dir");
        check(TREE, &["read /real/co/to-b"], "read dir/b, read to-b, read to-dir");
        check(TREE, &["read /real/co/to-dir/../a"], "read a, read to-dir");
        check(TREE, &["look-at-link /real/co/to-b"], "seen to-b");
        check(TREE, &["read /real/co/lost"], "read lost, missed dir/none");
        check(TREE, &["read /real/co/loop"], "read loop, missed loop");
    }

    #[test]
    fn what_lies_outside_is_not_kept() {
        check(TREE, &["read /real/co/to-out/passwd"], "read to-out");
        check(TREE, &["read /etc/passwd", "look /real/co/../x"], "");
    }

    #[test]
    fn a_record_that_is_full_says_so() {
        let uses: Vec<String> = (0..9).map(|number| format!("look /real/co/{number}")).collect();
        let uses: Vec<&str> = uses.iter().map(String::as_str).collect();
        check(
            TREE,
            &uses,
            "missed 0, missed 1, missed 2, missed 3, missed 4, missed 5, \
             there were more paths than a record keeps",
        );
    }

    #[test]
    fn a_script_names_its_interpreter() {
        assert_eq!(interpreter(b"#! bin/run -x\nrest"), Some("bin/run".into()));
        assert_eq!(interpreter(b"#!\n"), None);
        assert_eq!(interpreter(b"\x7fELF"), None);
    }
}
