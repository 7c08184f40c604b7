//! The message of a commit that a run ends with.

use spore_model::{CommitId, ProofSummary, RunId, TreeId};

use crate::base::title::title;

/// Returns the message: the task, and below it trailers that git itself can read.
///
/// The task can be any text. What git would take for the end of the message (`---` alone on
/// a line) is set in by a space, and what would act on a reader's terminal is left out.
pub(crate) fn commit_message(
    task: &str,
    run: RunId,
    tree: &TreeId,
    proof: Option<&ProofSummary>,
) -> String {
    let plain = spore_plain::block(task);
    let lines = plain.lines().map(|line| {
        let line = line.trim_end();
        if line.starts_with("---") { format!(" {line}") } else { line.to_owned() }
    });
    let task = lines.collect::<Vec<_>>().join("\n");
    let task = task.trim_matches('\n').trim_end();
    let title = title(task);
    // A first line of dashes would end the message before it began.
    let title = title.trim_start_matches(['-', ' ']);
    let title = if title.is_empty() { "verified work" } else { title };
    let body = if title == task { String::new() } else { format!("{task}\n\n") };
    format!("{title}\n\n{body}{}", trailers(run, tree, proof))
}

fn trailers(run: RunId, tree: &TreeId, proof: Option<&ProofSummary>) -> String {
    let proof = proof.map_or_else(String::new, |proof| format!("Spore-Proof: {}\n", proof.line));
    format!("Spore-Run: {run}\nSpore-Verdict: supports\n{proof}Spore-Tree: {tree}\n")
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
