//! Has interpreters note which lines of a change a gate reaches.
//!
//! Nothing is installed for it. Python loads a module of ours that follows the lines of the changed files; node has its
//! own record of what was run. A program that takes no such module, or whose files are made of others, says
//! nothing, and then nothing is known.

use std::path::PathBuf;

use spore_proof::ReachRecord;

use crate::base::files::create_dir;
use crate::session::sandbox::Scratch;
use crate::{Error, Result};

const COLLECTOR: &str = include_str!("reached/sitecustomize.py");
/// What is read of all records together.
const MOST_BYTES: u64 = 64 << 20;
const MOST_FILES: usize = 500;

/// Where one gate's programs leave what they reached.
pub(crate) struct ReachCollector {
    /// Outside, and as programs see it.
    dir: PathBuf,
    seen_at: PathBuf,
}

impl ReachCollector {
    pub(crate) fn place(scratch: &Scratch, paths: &[String]) -> Result<Self> {
        const NAME: &str = "reached";
        let (outside, inside) = scratch.places();
        let collector = Self { dir: outside.join(NAME), seen_at: inside.join(NAME) };
        let _ = std::fs::remove_dir_all(&collector.dir);
        create_dir(&collector.dir)?;
        let listed = paths.join("\0");
        for (name, text) in [("sitecustomize.py", COLLECTOR), ("paths", listed.as_str())] {
            let path = collector.dir.join(name);
            std::fs::write(&path, text).map_err(|source| {
                Error::io(format!("cannot write {}", spore_plain::path(&path)), source)
            })?;
        }
        Ok(collector)
    }

    pub(crate) fn tell(&self, variables: &mut Vec<(String, String)>) {
        let dir = self.seen_at.display().to_string();
        let path = match variables.iter().find(|(name, _)| name == "PYTHONPATH") {
            Some((_, path)) if !path.is_empty() => format!("{dir}:{path}"),
            _ => dir.clone(),
        };
        for (name, value) in [("PYTHONPATH", path), ("NODE_V8_COVERAGE", format!("{dir}/node"))] {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value));
        }
    }

    /// Returns what programs left. The change's own code ran beside it and may have written any of it.
    pub(crate) fn records(&self) -> Vec<ReachRecord> {
        let mut room = MOST_BYTES;
        let mut read = |path: PathBuf| {
            let size = std::fs::symlink_metadata(&path).ok().filter(|it| it.is_file())?.len();
            room = room.checked_sub(size)?;
            std::fs::read_to_string(path).ok()
        };
        let mut records: Vec<ReachRecord> =
            read(self.dir.join("lines")).map(ReachRecord::Lines).into_iter().collect();
        let listed = std::fs::read_dir(self.dir.join("node")).into_iter().flatten().flatten();
        let files: Vec<PathBuf> = listed.map(|entry| entry.path()).take(MOST_FILES + 1).collect();
        // Half of what ran would make the other half look unreached.
        let texts: Vec<Option<String>> = files.into_iter().map(&mut read).collect();
        if texts.len() <= MOST_FILES && texts.iter().all(Option::is_some) {
            records.extend(texts.into_iter().flatten().map(ReachRecord::Node));
        }
        records
    }
}
