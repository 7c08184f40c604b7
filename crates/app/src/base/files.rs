//! The files that Spore writes, each of which is an effect by construction.
//!
//! An effect is named by the file: what stands below the run's directory, else the last two
//! names of its path. A test of `xtask` (`files_are_written_through_one_door`) finds any other
//! place of this crate that writes a file, so a new one cannot go past this door.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use spore_effects::{Effect, Probe, files};
use spore_model::Fault;

use super::error::bug;
use crate::{Error, Result, Surroundings};

/// Reads a text that may not be there.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>> {
    match files::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| {
            Error::new(Fault::BadInput, format!("{} is not UTF-8 text", spore_plain::path(path)))
                .hint("save it as UTF-8, then try again")
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(format!("cannot read {}", spore_plain::path(path)), error)),
    }
}

impl Surroundings {
    /// Writes a file whole, with the directories above it. What Spore keeps of runs, memory and
    /// the rest holds none of the user's secrets.
    pub fn write_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.write_exact_file(path, &self.kept(path, content))
    }

    /// Like [`Self::write_file`], for what is the user's own, byte for byte.
    pub(crate) fn write_exact_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        create_dir_above(path)?;
        effect(&self.probe, "", path, || files::write_atomic(path, content)).map_err(|source| {
            Error::io(format!("cannot write {}", spore_plain::path(path)), source)
        })
    }

    /// Like [`Self::write_file`], where only this user can look.
    pub fn write_private_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        path.parent().map_or(Ok(()), create_private_dir)?;
        self.write_file(path, content)
    }

    /// Writes a document as people read it.
    pub(crate) fn write_json(&self, path: &Path, value: &impl Serialize) -> Result<()> {
        self.write_file(path, pretty(value)?.as_bytes())
    }

    /// Writes a file unless it holds just this, so that a projection that did not change
    /// costs nothing.
    pub(crate) fn write_if_changed(&self, path: &Path, content: &[u8]) -> Result<()> {
        let content = self.kept(path, content);
        if files::read(path).is_ok_and(|there| there == *content) {
            return Ok(());
        }
        self.write_exact_file(path, &content)
    }

    /// Appends to a file that only grows, with the directories above it.
    pub(crate) fn append_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        create_dir_above(path)?;
        let content = self.kept(path, content);
        let append = || {
            let mut file = File::options().create(true).append(true).open(path)?;
            file.write_all(&content)
        };
        effect(&self.probe, "append ", path, append).map_err(|source| {
            Error::io(format!("cannot write {}", spore_plain::path(path)), source)
        })
    }

    /// Appends lines that are known not to be in the file yet.
    pub(crate) fn append_lines(&self, path: &Path, lines: &[String]) -> Result<()> {
        create_dir_above(path)?;
        let text: String =
            lines.iter().map(|line| format!("{}\n", self.secrets().strike(line))).collect();
        let append = || {
            let mut file = File::options().create(true).append(true).open(path)?;
            file.write_all(text.as_bytes())
        };
        effect(&self.probe, "append ", path, append).map_err(|source| {
            Error::io(format!("cannot write {}", spore_plain::path(path)), source)
        })
    }

    /// Appends the lines that are not in the file yet.
    pub(crate) fn append_missing_lines(&self, path: &Path, lines: &[String]) -> Result<()> {
        create_dir_above(path)?;
        let lines: Vec<String> =
            lines.iter().map(|line| self.secrets().strike(line).into_owned()).collect();
        effect(&self.probe, "append ", path, || append_missing(path, &lines)).map_err(|source| {
            Error::io(format!("cannot write {}", spore_plain::path(path)), source)
        })
    }

    /// Returns content as it is kept at `path`. The user's settings and what lies elsewhere,
    /// such as other programs' settings, are not for Spore to strike anything from.
    fn kept<'c>(&self, path: &Path, content: &'c [u8]) -> Cow<'c, [u8]> {
        let is_ours = path.iter().any(|name| name == ".spore");
        if is_ours && !path.ends_with("config.toml") {
            self.secrets().strike_bytes(content)
        } else {
            Cow::Borrowed(content)
        }
    }

    /// Writes what is of no use a moment later. No effect: a run is the same with it and without,
    /// and where it cannot be written nothing is lost.
    pub(crate) fn write_fleeting(&self, path: &Path, content: &[u8]) {
        if create_dir_above(path).is_ok() {
            let new = path.with_extension("new");
            let content = self.kept(path, content);
            let _ = fs::write(&new, content).and_then(|()| fs::rename(&new, path));
        }
    }

    pub(crate) fn remove_fleeting(&self, path: &Path) {
        let _ = fs::remove_file(path);
    }

    /// Removes a file; one that is gone is fine.
    pub fn remove_file(&self, path: &Path) -> Result<()> {
        let remove = || match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        effect(&self.probe, "remove ", path, remove).map_err(|source| {
            Error::io(format!("cannot remove {}", spore_plain::path(path)), source)
        })
    }

    /// Removes a directory with all that is in it; one that is gone is fine.
    pub(crate) fn remove_tree(&self, path: &Path) -> Result<()> {
        effect(&self.probe, "remove ", path, || files::remove_all(path)).map_err(|source| {
            Error::io(format!("cannot remove {}", spore_plain::path(path)), source)
        })
    }

    /// Gives a file or a directory another name.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        effect(&self.probe, "rename ", from, || fs::rename(from, to)).map_err(|source| {
            Error::io(format!("cannot rename {}", spore_plain::path(from)), source)
        })
    }

    /// Copies a file, with the directories above the copy.
    pub(crate) fn copy_file(&self, from: &Path, to: &Path) -> io::Result<()> {
        to.parent().map_or(Ok(()), fs::create_dir_all)?;
        effect(&self.probe, "copy ", to, || fs::copy(from, to)).map(|_| ())
    }
}

/// Creates a directory and those above it. No effect by itself: an empty directory means
/// nothing to a run that goes on.
pub(crate) fn create_dir(path: &Path) -> Result<()> {
    fs::create_dir_all(path)
        .map_err(|source| Error::io(format!("cannot create {}", spore_plain::path(path)), source))
}

/// Like [`create_dir`], readable by the owner alone.
pub(crate) fn create_private_dir(path: &Path) -> Result<()> {
    files::create_private_dir(path)
        .map_err(|source| Error::io(format!("cannot create {}", spore_plain::path(path)), source))
}

/// Removes a directory that is empty; any other stays.
pub(crate) fn remove_empty_dir(path: &Path) {
    let _ = fs::remove_dir(path);
}

fn create_dir_above(path: &Path) -> Result<()> {
    path.parent().map_or(Ok(()), create_dir)
}

fn effect<T>(probe: &Probe, deed: &str, path: &Path, act: impl FnOnce() -> T) -> T {
    if probe.is_armed() {
        probe.around(Effect::File, &format!("{deed}{}", label(path)), act)
    } else {
        act()
    }
}

/// What a file is called in the name of an effect: the same in every run.
fn label(path: &Path) -> String {
    let names: Vec<Cow<'_, str>> = path.iter().map(|name| name.to_string_lossy()).collect();
    let below_run = names.iter().rposition(|name| name == "runs").map(|at| at + 2);
    let from =
        below_run.filter(|from| *from < names.len()).unwrap_or(names.len().saturating_sub(2));
    names[from..].join("/")
}

/// Appends the lines that are not there yet. Half a line at the end, from a process that was
/// killed while it wrote, is taken back first.
fn append_missing(path: &Path, lines: &[String]) -> io::Result<()> {
    let there = files::read_text(path).unwrap_or_default();
    let whole = there.rfind('\n').map_or(0, |end| end + 1);
    let known: BTreeSet<&str> = there[..whole].lines().collect();
    let missing: Vec<&str> =
        lines.iter().map(String::as_str).filter(|line| !known.contains(line)).collect();
    if missing.is_empty() && whole == there.len() {
        return Ok(());
    }
    let mut file = File::options().create(true).append(true).open(path)?;
    if whole < there.len() {
        file.set_len(whole as u64)?;
    }
    let text: String = missing.iter().map(|line| format!("{line}\n")).collect();
    file.write_all(text.as_bytes())
}

/// Returns a document as people read it, with the end of its last line.
pub(crate) fn pretty(value: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value).map_err(bug)?;
    text.push('\n');
    Ok(text)
}

/// Returns the path of a file beside `path`, of the same name with `suffix` behind it.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_by_its_place_in_the_run() {
        for (path, expected) in [
            (
                "/p/.spore/runs/01JD3ZK5E8Q4T7V9W2X6Y0ABCD/bounce-1/coder/task.md",
                "bounce-1/coder/task.md",
            ),
            ("/p/.spore/runs/01JD3ZK5E8Q4T7V9W2X6Y0ABCD/report.json", "report.json"),
            ("/p/.spore/memory/CLAUDE.md", "memory/CLAUDE.md"),
            ("alone", "alone"),
        ] {
            assert_eq!(label(Path::new(path)), expected);
        }
    }

    #[test]
    fn a_report_grows_by_what_is_missing_and_mends_half_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".live-report");
        let lines = |all: &[&str]| all.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
        append_missing(&path, &lines(&["a", "b"])).unwrap();
        append_missing(&path, &lines(&["a", "b"])).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\n");
        fs::write(&path, "a\nb\nhal").unwrap();
        append_missing(&path, &lines(&["a", "b", "half", "c"])).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\nhalf\nc\n");
    }
}
