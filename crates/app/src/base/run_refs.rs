//! The refs of a run in the user's repository, each under one name that is made here alone.

use spore_git::{GitError, Repository};
use spore_model::{CommitId, RunId};

/// Characters of the task in the name of a branch.
const SLUG_CHARS: usize = 40;

/// Returns the branch that the work of a run ends on, as people type it.
pub(crate) fn branch(run: RunId, task: &str) -> String {
    named(&run.short(), task)
}

/// Returns a branch as a ref.
pub(crate) fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// Returns the branch to bring `commit` to: that of the run, or one with its whole id where that
/// name is taken.
pub(crate) fn free_branch(
    repository: &Repository,
    run: RunId,
    task: &str,
    commit: &CommitId,
) -> Result<String, GitError> {
    for name in [branch(run, task), named(&run.to_string(), task)] {
        let there = repository.ref_target(&branch_ref(&name))?;
        if there.is_none_or(|there| there == *commit) {
            return Ok(name);
        }
    }
    Ok(by_id(run))
}

/// Returns the branch that a run's work was brought to: one that still has its commit, else one
/// that is there. Runs of earlier versions have their whole id for a name.
pub(crate) fn branch_of(
    repository: &Repository,
    run: RunId,
    task: &str,
    commit: Option<&CommitId>,
) -> Result<String, GitError> {
    let names = [branch(run, task), named(&run.to_string(), task), by_id(run)];
    let mut there = Vec::new();
    for name in &names {
        match repository.ref_target(&branch_ref(name))? {
            Some(tip) if Some(&tip) == commit => return Ok(name.clone()),
            Some(_) => there.push(name.clone()),
            None => {}
        }
    }
    Ok(there.into_iter().next().unwrap_or_else(|| branch(run, task)))
}

fn by_id(run: RunId) -> String {
    format!("spore/{run}")
}

/// The beginning of a task in words that every file system, shell and rule of git takes, then
/// what makes the name one run's own.
fn named(id: &str, task: &str) -> String {
    let first = task.trim().lines().next().unwrap_or_default().to_ascii_lowercase();
    let words = first.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        if slug.len() + word.len() >= SLUG_CHARS {
            break;
        }
        slug.push_str(word);
        slug.push('-');
    }
    format!("spore/{slug}{id}")
}

/// Returns the prefix of all refs by which a run keeps commits.
pub(crate) fn prefix(run: RunId) -> String {
    format!("refs/spore/{run}")
}

/// The name of the ref that keeps what was taken back.
pub(crate) const ROLLED_BACK: &str = "rolled-back";

/// Returns one of them: `base`, `result`, `rolled-back`.
pub(crate) fn own(run: RunId, name: &str) -> String {
    format!("{}/{name}", prefix(run))
}

/// Returns the ref of the tree that a bounce's coder left.
pub(crate) fn bounce(run: RunId, bounce: u32) -> String {
    own(run, &format!("bounce/{bounce}"))
}

/// Returns the ref of what a session left that was cut short in its `attempt`.
pub(crate) fn left(run: RunId, bounce: u32, attempt: u32) -> String {
    format!("{}/{bounce}-{attempt}", all_left(run))
}

/// Returns the prefix of all refs of that kind.
pub(crate) fn all_left(run: RunId) -> String {
    own(run, "left")
}

/// Returns the ref of the tests that are kept from the coder.
pub(crate) fn held_out(run: RunId) -> String {
    own(run, "held-out")
}

/// Returns the ref of the files that a cycle of a sentinel checked.
pub(crate) fn sentinel(run: RunId, cycle: u32) -> String {
    own(run, &format!("sentinel/{cycle}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_named_by_its_task_in_words_that_git_takes() {
        let run = RunId::from_parts(0, 1);
        for (task, expected) in [
            ("Make the parser accept tabs", "spore/make-the-parser-accept-tabs-00000001"),
            ("fix: a..b@{1} ~^:?*[\\ .lock/", "spore/fix-a-b-1-lock-00000001"),
            ("  -x\nsecond line", "spore/x-00000001"),
            ("", "spore/00000001"),
            ("ärger über öl", "spore/rger-ber-l-00000001"),
            ("日本語", "spore/00000001"),
        ] {
            assert_eq!(branch(run, task), expected);
        }
        let long = branch(run, &"word ".repeat(30));
        assert!(long.len() <= "spore/".len() + SLUG_CHARS + 9, "{long}");
        assert!(branch(run, &"x".repeat(200)).ends_with("spore/00000001"));
    }
}
