//! The message of a commit that a run ends with.

use spore_model::{CommitId, ProofSummary, RunId, TreeId};

use super::account::checked_account;
use crate::base::title::title;

/// What a commit is made of, and what is said of it.
pub(crate) struct CommitStory<'a> {
    pub(crate) task: &'a str,
    /// What stands before the task in the subject.
    pub(crate) subject: &'a str,
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
    format!("{}{title}\n\n{body}{}", story.subject, trailers(story))
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

/// What is said of verified work that landed on another commit than it was made on.
pub(crate) struct RebasedStory<'a> {
    /// The message of the commit that was verified.
    pub(crate) original: &'a str,
    /// The run that checked the two together.
    pub(crate) merge: RunId,
    pub(crate) tree: &'a TreeId,
    /// The tree that the verifier's word is on, where that is another.
    pub(crate) judged: Option<&'a TreeId>,
    pub(crate) proof: Option<&'a ProofSummary>,
}

/// Returns the message of the commit that joins a branch of verified commits to another. They have
/// verdicts of their own; this one has one where a verifier judged the two together.
pub(crate) fn joining_message(said: &str, owner: RunId, is_judged: bool) -> String {
    let verdict = if is_judged { "Spore-Verdict: supports\n" } else { "" };
    format!("{}\n\nSpore-Run: {owner}\n{verdict}", said.trim_end())
}

/// Returns the message of work on another commit: as it was, with trailers of what landed.
pub(crate) fn rebased_message(story: &RebasedStory<'_>) -> String {
    let (said, trailers) = split_trailers(story.original);
    let kept = ["Spore-Run: ", "Spore-Verdict: "];
    let mut lines: Vec<String> = trailers
        .iter()
        .filter(|line| kept.iter().any(|name| line.starts_with(name)))
        .map(|line| (*line).to_owned())
        .collect();
    lines.extend(story.proof.map(|proof| format!("Spore-Proof: {}", proof.line)));
    lines.extend(story.judged.map(|tree| format!("Spore-Judged: {tree}")));
    lines.push(format!("Spore-Merge: {}", story.merge));
    lines.push(format!("Spore-Tree: {}", story.tree));
    format!("{said}\n\n{}\n", lines.join("\n"))
}

/// Parts a message of ours into what it says and its last lines, which name trees and runs.
fn split_trailers(message: &str) -> (&str, Vec<&str>) {
    let message = message.trim_end();
    let Some((said, last)) = message.rsplit_once("\n\n") else { return (message, Vec::new()) };
    let lines: Vec<&str> = last.lines().collect();
    match lines.iter().all(|line| line.starts_with("Spore-")) {
        true => (said, lines),
        false => (message, Vec::new()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_lands_on_another_commit_names_the_judged_and_the_landed_tree() {
        let tree = |digit: &str| TreeId::new(digit.repeat(40)).unwrap();
        let run = RunId::from_parts(0, 1);
        let story = CommitStory {
            task: "make the parser accept tabs",
            subject: "",
            run,
            tree: &tree("a"),
            said: "",
            changed: &["parser.rs".to_owned()],
            judged: CommitJudge::Verifier { proof: None },
        };
        let original = commit_message(&story);
        let (landed, judged) = (tree("b"), tree("a"));
        let rebased = RebasedStory {
            original: &original,
            merge: RunId::from_parts(0, 2),
            tree: &landed,
            judged: Some(&judged),
            proof: None,
        };
        let told = rebased_message(&rebased);
        let expected = format!(
            "make the parser accept tabs\n\nChanged:\n- parser.rs\n\nSpore-Run: {run}\n\
             Spore-Verdict: supports\nSpore-Judged: {judged}\nSpore-Merge: {}\n\
             Spore-Tree: {landed}\n",
            rebased.merge
        );
        assert_eq!(told, expected);
        // Brought on once more it says no more of the tree between.
        let again = RebasedStory { original: &told, ..rebased };
        assert_eq!(rebased_message(&again), expected);
        let foreign = RebasedStory { original: "by hand\n\nwords", judged: None, ..again };
        assert!(rebased_message(&foreign).starts_with("by hand\n\nwords\n\nSpore-Merge: "));
    }
}
