//! The user's history: which commits there are, what each changed, who wrote a line.
//!
//! For finding out what became of a run's work after it was handed over. Everything here only
//! reads, and asks for many commits at once: one call of git for a log, one for a batch of
//! patches, one for the lines of a file.

use std::num::NonZeroU32;

use spore_model::{CommitId, Timestamp};

use crate::command::records;
use crate::patch::{self, Patch};
use crate::{GitError, Repository};

/// What a log says about one commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Commit {
    pub id: CommitId,
    pub parents: Vec<CommitId>,
    /// When it was committed, which a rebase renews.
    pub time: Timestamp,
    pub message: String,
}

/// Which way round a patch is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatchDirection {
    Forward,
    /// The patch that would undo the commit.
    Reverse,
}

/// Lines of a file, counted from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineRange {
    pub first: NonZeroU32,
    pub count: NonZeroU32,
}

impl Repository {
    /// Returns where the user's own branches stand, and HEAD; the branches of runs are not
    /// the user's.
    pub fn branches(&self) -> Result<Vec<CommitId>, GitError> {
        let refs = self.refs_under("refs/heads")?;
        let own = refs.into_iter().filter(|(name, _)| !name.starts_with("refs/heads/spore/"));
        let mut tips: Vec<CommitId> = own.map(|(_, commit)| commit).collect();
        // A HEAD on a branch is that branch; only a detached one is a place of its own.
        if self.head_name()?.is_none() {
            tips.push(self.head()?);
        }
        tips.sort_unstable();
        tips.dedup();
        Ok(tips)
    }

    /// Returns the commits that can be reached from `tips` and not from `seen`, parents
    /// first. What is gone from the repository by now hides nothing.
    pub fn log(&self, tips: &[CommitId], seen: &[CommitId]) -> Result<Vec<Commit>, GitError> {
        // Without a tip git would take HEAD for one.
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = tips.iter().map(|tip| format!("{tip}\n"));
        let hidden = seen.iter().map(|tip| format!("^{tip}\n"));
        let question: String = wanted.chain(hidden).collect();
        let action = "read the history";
        let answer = self
            .git(action)
            .args(["log", "-z", "-s", "--topo-order", "--reverse", "--ignore-missing"])
            .args(["--no-show-signature", "--no-color", "--encoding=UTF-8"])
            .args(["--format=tformat:%H%n%P%n%ct%n%B", "--stdin"])
            .stdin(question)
            .run()?;
        let parse =
            |record| parse_commit(record).ok_or_else(|| GitError::unreadable(action, record));
        records(&answer.stdout).map(parse).collect()
    }

    /// Returns what each of `commits` changed against its parent, in their order, without
    /// context lines. A merge has no patch; a renamed file has only what changed in it.
    pub fn patches(
        &self,
        commits: &[CommitId],
        direction: PatchDirection,
    ) -> Result<Vec<Patch>, GitError> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let question: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let action = "read what commits changed";
        let call = self
            .git(action)
            .args(["-c", "core.bigFileThreshold=4m", "-c", "core.quotePath=false"])
            .args(["diff-tree", "--stdin", "--root", "-r", "-p", "-U0", "-M", "--full-index"])
            .args(["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"])
            .stdin(question);
        let call = match direction {
            PatchDirection::Forward => call.args(["--src-prefix=a/", "--dst-prefix=b/"]),
            // git swaps the prefixes with the sides.
            PatchDirection::Reverse => call.args(["-R", "--src-prefix=b/", "--dst-prefix=a/"]),
        };
        let answer = call.run()?;
        patch::parse(&answer.stdout).ok_or_else(|| GitError::unreadable(action, &answer.stdout))
    }

    /// Returns for each line of `ranges` which commit it comes from, looking back from `at`.
    pub fn blame(
        &self,
        at: &CommitId,
        path: &str,
        ranges: &[LineRange],
    ) -> Result<Vec<CommitId>, GitError> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        let ranges = ranges.iter().map(|lines| format!("-L{},+{}", lines.first, lines.count));
        let action = "find out who wrote a line";
        // In the work tree: a list of commits to pass over is named relative to it.
        let call = self.at_home(action).env("GIT_LITERAL_PATHSPECS", "1");
        let call = call.args(["blame", "--porcelain", "--no-textconv", "--no-progress"]);
        let answer = call.args(ranges).args([at.as_str(), "--", path]).run()?;
        parse_blame(&answer.stdout).ok_or_else(|| GitError::unreadable(action, &answer.stdout))
    }
}

fn parse_commit(record: &[u8]) -> Option<Commit> {
    let text = String::from_utf8_lossy(record);
    let mut parts = text.splitn(4, '\n');
    let id = CommitId::new(parts.next()?).ok()?;
    let parents = parts.next()?.split_whitespace().map(|parent| CommitId::new(parent).ok());
    let parents = parents.collect::<Option<_>>()?;
    let seconds: i64 = parts.next()?.parse().ok()?;
    let message = parts.next().unwrap_or_default().trim_end().to_owned();
    Some(Commit { id, parents, time: Timestamp::from_millis(seconds.checked_mul(1000)?), message })
}

/// Reads `--porcelain`: before each line of the file, which begins with a tab, stands a header
/// whose first word is the commit; other facts about a commit come between, once.
fn parse_blame(answer: &[u8]) -> Option<Vec<CommitId>> {
    let mut commits = Vec::new();
    let mut current = None;
    for line in answer.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        if line[0] == b'\t' {
            commits.push(current.take()?);
        } else if current.is_none() {
            let word = line.split(|byte| *byte == b' ').next()?;
            current = Some(CommitId::new(std::str::from_utf8(word).ok()?).ok()?);
        }
    }
    Some(commits)
}
