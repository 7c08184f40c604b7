//! Much at once: all files of a tree, many blobs, many commits.
//!
//! For callers that read a whole tree, such as the indexer. Each call starts git once, whatever
//! the number of files or commits; the answers are held in memory, so a caller asks for
//! blobs in portions.

use std::sync::Arc;

use spore_model::{CommitId, Timestamp, TreeId};

use crate::command::records;
use crate::listing::TreeEntry;
use crate::partial::without_fetching;
use crate::repository::text;
use crate::{GitError, Repository};

/// How many blobs at once are a change, which a run reads again; more are a whole tree.
const MAX_ASKED_AGAIN: usize = 32;

/// A file of a tree; links and submodules are none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeFile {
    /// From the root. Bytes that are no text are replaced.
    pub path: String,
    pub blob: String,
}

/// A commit and the files it touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TouchingCommit {
    pub id: CommitId,
    pub time: Timestamp,
    pub message: String,
    /// As they are called afterwards; sorted.
    pub files: Vec<String>,
    /// What files were called before and after.
    pub renames: Vec<(String, String)>,
}

impl Repository {
    /// Returns the files of a tree, in git's order.
    pub fn tree_files(&self, tree: &TreeId) -> Result<Vec<TreeFile>, GitError> {
        let listing = self.tree_listing(tree)?;
        let files = listing.iter().filter(|(_, entry)| entry.is_file());
        let file = |(name, entry): (&[u8], TreeEntry<'_>)| TreeFile {
            path: text(name),
            blob: entry.object.to_owned(),
        };
        Ok(files.map(file).collect())
    }

    /// Returns the sizes of these blobs, in their order. One that a partial clone does not have
    /// counts as empty; only reading it shows that it is missing.
    pub fn blob_sizes(&self, blobs: &[&str]) -> Result<Vec<u64>, GitError> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        let known: Option<Vec<u64>> =
            self.kept(blobs).map(|kept| kept.iter().map(|blob| blob.len() as u64).collect());
        if let Some(sizes) = known {
            return Ok(sizes);
        }
        let action = "read the sizes of files of a tree";
        let call = self.git(action).args(["cat-file", "--batch-check=%(objectsize)"]);
        // Nothing is fetched only to see how large it is.
        let call = call.env("GIT_NO_LAZY_FETCH", "1");
        let answer = call.stdin(lines(blobs)).run()?;
        let sizes: Vec<u64> = answer.text().lines().map(|line| line.parse().unwrap_or(0)).collect();
        if sizes.len() == blobs.len() {
            Ok(sizes)
        } else {
            Err(GitError::unreadable(action, &answer.stdout))
        }
    }

    /// Returns these files' contents as the commit has them, in their order; `None` for what is
    /// no file of it.
    pub fn read_files(
        &self,
        commit: &CommitId,
        paths: &[&str],
    ) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        let listing = self.listing(commit)?;
        let blob = |path: &&str| {
            let entry = listing.get(path.as_bytes()).filter(|entry| entry.is_file())?;
            Some(entry.object)
        };
        let known: Vec<Option<&str>> = paths.iter().map(blob).collect();
        let blobs: Vec<&str> = known.iter().flatten().copied().collect();
        let mut contents = self.read_blobs(&blobs)?.into_iter();
        Ok(known.iter().map(|blob| blob.and_then(|_| contents.next().flatten())).collect())
    }

    /// Returns the contents of these blobs, in their order; `None` for one that is not there.
    pub fn read_blobs(&self, blobs: &[&str]) -> Result<Vec<Option<Vec<u8>>>, GitError> {
        if blobs.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(kept) = self.kept(blobs) {
            return Ok(kept.iter().map(|blob| Some(blob.to_vec())).collect());
        }
        let action = "read files of a tree";
        let answer = self.git(action).args(["cat-file", "--batch"]).stdin(lines(blobs)).run()?;
        let read = parse_blobs(&answer.stdout);
        let read = read.ok_or_else(|| GitError::unreadable(action, &answer.stdout))?;
        if blobs.len() <= MAX_ASKED_AGAIN {
            for (blob, content) in blobs.iter().zip(&read) {
                content.iter().for_each(|content| self.recall().blobs.keep(blob, content));
            }
        }
        Ok(read)
    }

    /// Returns the contents of these blobs, if all of them were read a short while ago.
    fn kept(&self, blobs: &[&str]) -> Option<Vec<Arc<[u8]>>> {
        if blobs.len() > MAX_ASKED_AGAIN {
            return None;
        }
        blobs.iter().map(|blob| self.recall().blobs.get(blob)).collect()
    }

    /// Returns the newest commits that can be reached from `tip`, merges left out.
    pub fn newest_commits(&self, tip: &CommitId, most: u32) -> Result<Vec<CommitId>, GitError> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let action = "read the history";
        let count = format!("--max-count={most}");
        let call = self.git(action).args(["rev-list", "--no-merges", &count, tip.as_str()]);
        let answer = call.run()?;
        let unreadable = || GitError::unreadable(action, &answer.stdout);
        answer.text().lines().map(|line| CommitId::new(line).map_err(|_| unreadable())).collect()
    }

    /// Returns when a commit was made.
    pub fn commit_time(&self, commit: &CommitId) -> Result<Timestamp, GitError> {
        let action = "read a commit";
        let call = self.git(action).args(["log", "-1", "-s", "--no-show-signature"]);
        let answer = call.args(["--format=tformat:%ct", commit.as_str()]).run()?;
        let seconds = answer.text().trim().parse::<i64>().ok();
        seconds
            .and_then(|seconds| seconds.checked_mul(1000))
            .map(Timestamp::from_millis)
            .ok_or_else(|| GitError::unreadable(action, &answer.stdout))
    }

    /// Returns these commits with the files that each touched, in no particular order.
    pub fn touching_commits(&self, commits: &[CommitId]) -> Result<Vec<TouchingCommit>, GitError> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        // At the edge of a shallow repository every file looks as if it were new.
        let edges = self.edges();
        let known: Vec<&CommitId> =
            commits.iter().filter(|commit| !edges.contains(commit.as_str())).collect();
        if known.is_empty() {
            return Ok(Vec::new());
        }
        // To compare contents takes blobs, which a partial clone would fetch one by one.
        if self.missing_history().is_partial {
            return self.touching(&known, "--find-renames=100%");
        }
        match self.touching(&known, "--find-renames") {
            Err(GitError::ObjectsGone { .. }) => self.touching(&known, "--find-renames=100%"),
            other => other,
        }
    }

    fn touching(
        &self,
        commits: &[&CommitId],
        renames: &str,
    ) -> Result<Vec<TouchingCommit>, GitError> {
        let answer = without_fetching(self.git("read the history"))
            .args(["log", "--no-walk=unsorted", "--stdin", "-z", "--name-status"])
            // Beyond so many files git pairs only those whose content is the same: comparing all
            // others takes time that grows with the square (`-l` in
            // <https://git-scm.com/docs/git-log>).
            .args([renames, "-l200"])
            .args(["--no-show-signature", "--no-color", "--encoding=UTF-8", "--no-ext-diff"])
            .args(["--format=tformat:%x01%H%n%ct%n%B%x02"])
            .stdin(lines(commits))
            .run()?;
        Ok(answer.stdout.split(|byte| *byte == 1).filter_map(parse_touching).collect())
    }
}

fn lines(words: &[impl std::fmt::Display]) -> String {
    words.iter().map(|word| format!("{word}\n")).collect()
}

/// Reads `object type size<LF>content<LF>`, or `object missing<LF>`, any number of times.
fn parse_blobs(mut rest: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let mut blobs = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let head = std::str::from_utf8(&rest[..end]).ok()?;
        rest = &rest[end + 1..];
        let Some(size) = head.split(' ').nth(2) else {
            blobs.push(None);
            continue;
        };
        let size: usize = size.parse().ok()?;
        blobs.push(Some(rest.get(..size)?.to_vec()));
        rest = rest.get(size + 1..)?;
    }
    Some(blobs)
}

fn parse_touching(record: &[u8]) -> Option<TouchingCommit> {
    let end = record.iter().position(|byte| *byte == 2)?;
    let head = String::from_utf8_lossy(&record[..end]);
    let mut parts = head.splitn(3, '\n');
    let id = CommitId::new(parts.next()?).ok()?;
    let seconds: i64 = parts.next()?.parse().ok()?;
    let message = parts.next().unwrap_or_default().trim_end().to_owned();
    let time = Timestamp::from_millis(seconds.checked_mul(1000)?);
    let mut commit = TouchingCommit { id, time, message, files: Vec::new(), renames: Vec::new() };
    let mut words = records(&record[end + 1..])
        .map(|word| text(word.strip_prefix(b"\n").unwrap_or(word)))
        .filter(|word| !word.is_empty());
    while let Some(status) = words.next() {
        let Some(path) = words.next() else { break };
        if status.starts_with(['R', 'C']) {
            let Some(after) = words.next() else { break };
            if status.starts_with('R') {
                commit.renames.push((path, after.clone()));
            }
            commit.files.push(after);
        } else {
            commit.files.push(path);
        }
    }
    commit.files.sort_unstable();
    commit.files.dedup();
    Some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_come_back_with_any_bytes_and_missing_ones_are_said_to_be() {
        let answer = b"aa blob 3\n\n\0x\nbb missing\ncc blob 0\n\n";
        assert_eq!(
            parse_blobs(answer),
            Some(vec![Some(b"\n\0x".to_vec()), None, Some(Vec::new())])
        );
        assert_eq!(parse_blobs(b"aa blob 9\nshort"), None);
    }

    #[test]
    fn a_commit_tells_what_it_touched_and_what_it_renamed() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let record = format!(
            "{id}\n1700000000\na message\n\nand more\n\x02\0\nM\0b.rs\0R097\0old.rs\0new.rs\0D\0a.rs\0"
        );
        let commit = parse_touching(record.as_bytes()).unwrap();
        assert_eq!(commit.files, ["a.rs", "b.rs", "new.rs"]);
        assert_eq!(commit.renames, [("old.rs".to_owned(), "new.rs".to_owned())]);
        assert_eq!(commit.message, "a message\n\nand more");
    }
}
