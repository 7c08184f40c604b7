//! The message of a commit that a run ends with.

use spore_model::{CommitId, ProofSummary, RunId, TreeId};

use super::account::checked_account;
use crate::base::title::title;

/// What a commit is made of, and what is said of it.
pub(crate) struct CommitStory<'a> {
    pub(crate) task: &'a str,
    pub(crate) run: RunId,
    pub(crate) tree: &'a TreeId,
    /// What the coder said at the end.
    pub(crate) said: &'a str,
    /// The files that are changed.
    pub(crate) changed: &'a [String],
    pub(crate) judged: CommitJudge<'a>,
}

/// Who stands behind a commit.
pub(crate) enum CommitJudge<'a> {
    /// A verifier, and what the checks prove.
    Verifier { proof: Option<&'a ProofSummary> },
    /// No verifier: a role worked alone.
    Unjudged { role: &'a str },
}

/// Names of files that a body lists.
const LISTED: usize = 12;

/// Returns the message: the task in a line, what changed, and below it trailers that git itself
/// can read. The whole task is on record with the run.
///
/// All of it can be any text. What git would take for the end of the message (`---` alone on
/// a line) is set in by a space, and what would act on a reader's terminal is left out.
pub(crate) fn commit_message(story: &CommitStory<'_>) -> String {
    let title = title(&spore_plain::block(story.task));
    // A first line of dashes would end the message before it began.
    let title = title.trim_start_matches(['-', ' ']);
    let title = if title.is_empty() { "verified work" } else { title };
    let account = checked_account(&spore_secrets::strike_out(story.said), story.changed);
    let body = if account.is_empty() { listed_files(story.changed) } else { account };
    let body = if body.is_empty() { body } else { format!("{body}\n\n") };
    format!("{title}\n\n{body}{}", trailers(story))
}

/// Where the coder said nothing that holds, the files say it.
fn listed_files(changed: &[String]) -> String {
    let names = changed.iter().take(LISTED);
    let mut lines: Vec<String> =
        names.map(|path| format!("- {}", spore_plain::line_within(path, 200))).collect();
    if let Some(more) = changed.len().checked_sub(LISTED).filter(|more| *more > 0) {
        lines.push(format!("- and {more} more"));
    }
    if lines.is_empty() { String::new() } else { format!("Changed:\n{}", lines.join("\n")) }
}

fn trailers(story: &CommitStory<'_>) -> String {
    let CommitStory { run, tree, .. } = story;
    let judged = match &story.judged {
        CommitJudge::Verifier { proof } => {
            let proof = proof.map(|proof| format!("Spore-Proof: {}\n", proof.line));
            format!("Spore-Verdict: supports\n{}", proof.unwrap_or_default())
        }
        CommitJudge::Unjudged { role } => {
            format!("Spore-Verdict: none, by {} alone\n", spore_plain::word(role, 40))
        }
    };
    format!("Spore-Run: {run}\n{judged}Spore-Tree: {tree}\n")
}

/// Returns the message of the commit that takes a run's work out of a branch again. It names
/// the commit as `git revert` does, so that a search for reverts finds it.
pub(crate) fn revert_message(
    title: &str,
    landed: &CommitId,
    before: &CommitId,
    run: RunId,
) -> String {
    format!(
        "Revert {title:?}\n\nThis reverts commit {landed}, reversing\nchanges made to {before}.\n\n\
         Spore-Rollback: {run}\n"
    )
}
