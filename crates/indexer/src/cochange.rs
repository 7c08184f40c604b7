//! What changed together: edges between files from the commits that touched both.
//!
//! Older commits count less, measured from the commit that is indexed and never from the
//! clock, so that the same tree gives the same edges tomorrow.

use std::collections::{BTreeMap, HashMap};

use spore_git::Repository;
use spore_model::{CommitId, EdgeKind, Timestamp};
use spore_store::{CommitRow, FileNo, LoggedCommit, StoredEdge, Writer};

use crate::error::Result;
use crate::resolution::thousandths;
use crate::settings::IndexSettings;

/// Longer messages are cut: search needs their beginning.
const MAX_MESSAGE: usize = 2_000;
/// How many commits are asked for at once.
const PORTION: usize = 500;

/// Brings the commits of the index to those behind `head`; returns whether any changed.
pub(crate) fn refresh(
    writer: &mut Writer<'_>,
    repository: Option<&(Repository, &CommitId)>,
    history: u32,
) -> Result<bool> {
    let ids = match repository {
        Some((repository, head)) => repository.newest_commits(head, history)?,
        None => Vec::new(),
    };
    let known = writer.commit_ids()?;
    let missing: Vec<CommitId> =
        ids.iter().filter(|id| !known.contains(id.as_str())).cloned().collect();
    if missing.is_empty() && known.len() == ids.len() {
        return Ok(false);
    }
    if let Some((repository, _)) = repository {
        for portion in missing.chunks(PORTION) {
            let commits = repository.touching_commits(portion)?;
            let rows: Vec<LoggedCommit> = commits
                .into_iter()
                .map(|commit| LoggedCommit {
                    id: commit.id.to_string(),
                    time: commit.time,
                    message: spore_plain::head(&commit.message, MAX_MESSAGE).to_owned(),
                    files: commit.files,
                    renames: commit.renames,
                })
                .collect();
            writer.add_commits(&rows)?;
        }
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    writer.keep_commits(&ids)?;
    Ok(true)
}

/// Makes the edges anew from the commits there are.
pub(crate) fn connect(
    writer: &mut Writer<'_>,
    head_time: Option<Timestamp>,
    settings: &IndexSettings,
) -> Result<()> {
    let commits = writer.commits()?;
    let paths = writer.paths()?;
    let edges = edges(&commits, &paths, head_time, settings);
    Ok(writer.set_changed_with(&edges)?)
}

fn edges(
    commits: &[CommitRow],
    paths: &HashMap<String, FileNo>,
    head_time: Option<Timestamp>,
    settings: &IndexSettings,
) -> Vec<StoredEdge> {
    let Some(now) = head_time else { return Vec::new() };
    let half_life = settings.half_life.as_secs_f64().max(1.0);
    let mut alone: HashMap<&str, f64> = HashMap::new();
    let mut together: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for commit in commits {
        let size = commit.files.len();
        if size > usize::try_from(settings.max_commit_files).unwrap_or(usize::MAX) {
            continue;
        }
        let age = (now.as_seconds() - commit.time.as_seconds()).max(0);
        let weight = 0.5_f64.powf(age as f64 / half_life);
        let files: Vec<&str> = commit
            .files
            .iter()
            .map(String::as_str)
            .filter(|path| paths.contains_key(*path))
            .collect();
        for (place, file) in files.iter().enumerate() {
            *alone.entry(file).or_default() += weight;
            for other in &files[place + 1..] {
                *together.entry((file, other)).or_default() += weight;
            }
        }
    }
    let sure = |(one, other): (&str, &str), weight: f64| {
        let least = alone.get(one).copied().unwrap_or_default();
        let least = least.min(alone.get(other).copied().unwrap_or_default());
        // One more that changed alone: once together is not always together.
        weight / (least + 1.0)
    };
    let pairs = together.iter().map(|(pair, weight)| (*pair, sure(*pair, *weight)));
    let pairs: Vec<Pair<'_>> = pairs.filter(|(_, sure)| *sure >= settings.least_together).collect();
    best(pairs, settings.companions)
        .into_iter()
        .filter_map(|((one, other), sure)| {
            Some(StoredEdge {
                source: *paths.get(one)?,
                kind: EdgeKind::ChangedWith,
                target: *paths.get(other)?,
                confidence: thousandths(sure.min(0.999)),
            })
        })
        .collect()
}

type Pair<'a> = ((&'a str, &'a str), f64);

/// Keeps a pair if it is among the `most` surest of one of its files.
fn best(mut pairs: Vec<Pair<'_>>, most: u32) -> Vec<Pair<'_>> {
    pairs.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut counts: HashMap<&str, u32> = HashMap::new();
    pairs
        .into_iter()
        .filter(|((one, other), _)| {
            let mut room = false;
            for file in [*one, *other] {
                let count = counts.entry(file).or_default();
                room |= *count < most;
                *count += 1;
            }
            room
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(age_days: i64, files: &[&str]) -> CommitRow {
        CommitRow {
            id: format!("{age_days}"),
            time: Timestamp::from_millis((10_000 - age_days) * 86_400_000),
            message: String::new(),
            files: files.iter().map(ToString::to_string).collect(),
        }
    }

    fn check(commits: &[CommitRow], expected: &[(u32, u32, u16)]) {
        check_with(&crate::tests::settings(), commits, expected);
    }

    fn check_with(settings: &IndexSettings, commits: &[CommitRow], expected: &[(u32, u32, u16)]) {
        let names = ["a", "b", "c"];
        let paths = names.iter().zip(1..).map(|(name, no)| ((*name).to_owned(), no)).collect();
        let now = Timestamp::from_millis(10_000 * 86_400_000);
        let found = edges(commits, &paths, Some(now), settings);
        let mut found: Vec<_> =
            found.iter().map(|edge| (edge.source, edge.target, edge.confidence)).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_changes_together_often_and_lately_is_surely_connected() {
        check(&[commit(0, &["a", "b"])], &[(1, 2, 500)]);
        check(&[commit(180, &["a", "b"])], &[(1, 2, 333)]);
        check(&[commit(0, &["a", "b"]), commit(0, &["a", "b"])], &[(1, 2, 667)]);
        check(&[commit(3000, &["a", "b"])], &[]);
    }

    #[test]
    fn the_settings_say_how_many_companions_there_are_and_how_sure() {
        let settings = crate::tests::settings;
        let often = [commit(0, &["a", "b"]), commit(0, &["a", "b"]), commit(0, &["a", "c"])];
        check(&often, &[(1, 2, 667), (1, 3, 500)]);
        let sure = IndexSettings { least_together: 0.6, ..settings() };
        check_with(&sure, &often, &[(1, 2, 667)]);
        let none = IndexSettings { companions: 0, ..settings() };
        check_with(&none, &often, &[]);
        let chain = [commit(0, &["a", "b"]), commit(0, &["a", "b"]), commit(0, &["a", "b", "c"])];
        let one = IndexSettings { companions: 1, ..settings() };
        check_with(&one, &chain, &[(1, 2, 750), (1, 3, 500)]);
    }

    #[test]
    fn a_file_that_is_gone_and_a_commit_of_everything_say_nothing() {
        check(&[commit(0, &["a", "gone"])], &[]);
        let many: Vec<String> = (0..40).map(|number| format!("f{number}")).collect();
        let many: Vec<&str> =
            ["a", "b"].into_iter().chain(many.iter().map(String::as_str)).collect();
        check(&[commit(0, &many)], &[]);
    }
}
