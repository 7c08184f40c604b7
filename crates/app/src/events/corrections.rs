//! What a commit message, a task and a patch say about a run's work: the pure part of
//! `collect`.

use std::collections::{BTreeMap, HashMap, HashSet};

use spore_git::{Commit, Patch};
use spore_model::{CommitId, EventId, RunId, Timestamp};

/// What a person did about a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
pub enum CorrectionKind {
    /// Changed or removed lines that the run wrote.
    #[serde(rename = "correction.edited")]
    Edited,
    /// Took the run's whole change back.
    #[serde(rename = "correction.reverted")]
    Reverted,
    /// Asked for the same thing again.
    #[serde(rename = "task.reopened")]
    Reopened,
}

impl CorrectionKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Edited => "correction.edited",
            Self::Reverted => "correction.reverted",
            Self::Reopened => "task.reopened",
        }
    }
}

/// Returns the one id that a correction has, however often and by whichever command it is found:
/// from what it is, what did it (a commit or a run) and the run it corrects.
pub(crate) fn event_id(kind: CorrectionKind, by: &str, run: RunId, when: Timestamp) -> EventId {
    let key = format!("{} {by} {run}", kind.as_str());
    // FNV-1a with 128 bits, folded into the 80 that an id has room for.
    let hash = key.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    let random = (hash ^ (hash >> 80)) & ((1 << 80) - 1);
    EventId::from_parts(u64::try_from(when.as_millis()).unwrap_or(0), random)
}

/// Returns the runs that a message names with a `Spore-Run` trailer. A squash sets the
/// messages it takes in below its own, so the line may stand anywhere, and may be set in.
pub(crate) fn runs_named(message: &str) -> Vec<RunId> {
    let named = message.lines().filter_map(|line| line.trim().strip_prefix("Spore-Run:"));
    let mut runs: Vec<RunId> = named.filter_map(|id| id.trim().parse().ok()).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// Returns the beginnings of the ids of commits that a message says it reverts.
pub(crate) fn reverts_named(message: &str) -> Vec<&str> {
    let named = message.split("This reverts commit ").skip(1);
    let hex = |rest: &str| rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    named.map(|rest| &rest[..hex(rest)]).filter(|id| id.len() >= 7).collect()
}

/// Returns a task without what does not change its meaning: two are the same if this is.
pub(crate) fn same_task(task: &str) -> String {
    task.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where the work of runs is in the user's history: under its own commit, or under another
/// one that carries it on.
pub(crate) type Landed = BTreeMap<CommitId, Vec<RunId>>;

/// Adds to `landed` what `commits` bring of runs. `own` has the commits that runs ended with.
pub(crate) fn land(landed: &mut Landed, commits: &[Commit], own: &HashMap<CommitId, RunId>) {
    let known: HashSet<RunId> = own.values().copied().collect();
    // A merge brings nothing of its own; what it merges has been looked at.
    for commit in commits.iter().filter(|commit| commit.parents.len() <= 1) {
        let mut runs = runs_named(&commit.message);
        runs.retain(|run| known.contains(run));
        runs.extend(own.get(&commit.id));
        runs.sort_unstable();
        runs.dedup();
        if !runs.is_empty() {
            landed.insert(commit.id.clone(), runs);
        }
    }
}

/// Returns the commits of a person's that have a run's work behind them. Of what lies before
/// `commits`, which have the parents first, it is not known, so it is taken for granted.
pub(crate) fn followers<'a>(commits: &'a [Commit], landed: &Landed) -> Vec<&'a Commit> {
    let here: HashSet<&CommitId> = commits.iter().map(|commit| &commit.id).collect();
    let before = landed.keys().any(|commit| !here.contains(commit));
    let mut behind: HashSet<&CommitId> = HashSet::new();
    let mut found = Vec::new();
    for commit in commits {
        let follows = commit.parents.iter().any(|parent| {
            behind.contains(parent)
                || landed.contains_key(parent)
                || before && !here.contains(parent)
        });
        if follows {
            behind.insert(&commit.id);
        }
        if follows && commit.parents.len() == 1 && !landed.contains_key(&commit.id) {
            found.push(commit);
        }
    }
    found
}

/// Returns the landed commits that `commit` takes back, by its own word or by its patch.
pub(crate) fn reverted<'a>(
    commit: &Commit,
    patch: Option<&Patch>,
    undoing: &'a [Patch],
) -> Vec<(&'a CommitId, &'static str)> {
    let named = reverts_named(&commit.message);
    let is_named = |id: &CommitId| named.iter().any(|start| id.as_str().starts_with(start));
    let is_undone = |undo: &Patch| patch.is_some_and(|patch| patch.includes(undo));
    undoing
        .iter()
        .filter_map(|undo| {
            let by = if is_named(&undo.commit) {
                "message"
            } else if is_undone(undo) {
                "patch"
            } else {
                return None;
            };
            Some((&undo.commit, by))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "01KDZZZZZZ0000000000000001";

    fn id(letter: char) -> CommitId {
        CommitId::new(letter.to_string().repeat(40)).unwrap()
    }

    /// `b:a` is a commit b whose parent is a; `b:a!` brings the run's work.
    fn history(text: &str) -> Vec<Commit> {
        let parse = |word: &str| {
            let (name, parents) = word.split_once(':').unwrap();
            let message = if parents.ends_with('!') {
                format!("x\n\nSpore-Run: {RUN}")
            } else {
                String::new()
            };
            Commit {
                id: id(name.chars().next().unwrap()),
                parents: parents.trim_end_matches('!').chars().map(id).collect(),
                time: Timestamp::from_millis(0),
                message,
            }
        };
        text.split_whitespace().map(parse).collect()
    }

    #[track_caller]
    fn check_followers(before: &str, text: &str, expected: &str) {
        let own = HashMap::from([(id('9'), RUN.parse().unwrap())]);
        let mut landed = Landed::new();
        land(&mut landed, &history(before), &own);
        let commits = history(text);
        land(&mut landed, &commits, &own);
        let found = followers(&commits, &landed);
        let names: String = found.iter().map(|commit| &commit.id.as_str()[..1]).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn only_what_comes_after_a_runs_work_can_correct_it() {
        check_followers("", "a: b:a c:b! d:c e:d", "de");
        check_followers("", "a: b:a c:b", "");
        check_followers("", "a: c:a! b:a d:b", "");
        check_followers("", "a: 9:a d:9", "d");
    }

    #[test]
    fn merges_and_other_runs_are_no_corrections() {
        check_followers("", "a: c:a! d:a e:cd f:e", "f");
        check_followers("", "a: c:a! d:c! e:d", "e");
    }

    #[test]
    fn what_lies_before_may_have_a_runs_work_behind_it() {
        check_followers("a: b:a!", "c:b d:c", "cd");
        check_followers("a: b:a!", "c:f d:c", "cd");
        check_followers("", "c:f d:c", "");
    }

    #[test]
    fn a_trailer_names_a_run_also_inside_a_squash() {
        let one: RunId = RUN.parse().unwrap();
        for (message, expected) in [
            (format!("fix\n\nSpore-Run: {RUN}\n"), vec![one]),
            (
                format!("Squashed commit\n\n    fix\n\n    Spore-Run: {RUN}\n    Spore-Run: {RUN}"),
                vec![one],
            ),
            (format!("see Spore-Run: {RUN}"), vec![]),
            ("Spore-Run: nonsense".to_owned(), vec![]),
        ] {
            assert_eq!(runs_named(&message), expected, "{message}");
        }
    }

    #[test]
    fn a_revert_names_what_it_takes_back() {
        for (message, expected) in [
            ("Revert \"x\"\n\nThis reverts commit 0123456789abcdef.", vec!["0123456789abcdef"]),
            (
                "This reverts commit 0123456, and\nThis reverts commit abcdef0",
                vec!["0123456", "abcdef0"],
            ),
            ("This reverts commit 01.", vec![]),
            ("This reverts commit", vec![]),
        ] {
            assert_eq!(reverts_named(message), expected, "{message}");
        }
    }

    #[test]
    fn a_correction_has_one_id_and_no_other_has_it() {
        let run: RunId = RUN.parse().unwrap();
        let when = Timestamp::from_millis(1_767_225_600_000);
        let make = |kind, by: &str| event_id(kind, by, run, when);
        let one = make(CorrectionKind::Edited, "a");
        assert_eq!(one, make(CorrectionKind::Edited, "a"));
        assert_ne!(one, make(CorrectionKind::Edited, "b"));
        assert_ne!(one, make(CorrectionKind::Reverted, "a"));
        assert_eq!(one.to_string().len(), 26);
    }

    #[test]
    fn white_space_does_not_make_another_task() {
        assert_eq!(same_task(" fix  the\nparser "), same_task("fix the parser"));
        assert_ne!(same_task("fix the parser"), same_task("fix the parsers"));
    }
}
