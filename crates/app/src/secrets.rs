//! Looks for secrets in what changes between two trees of the repository.
//!
//! What a secret looks like is known to the crate `secrets`; git is asked for the lines here.

use spore_git::{Additions, Exclusions, Repository, Treeish};
use spore_secrets::{ChangedLines, SecretFinding};

use crate::Result;

/// Returns what looks like a secret in what changes between two trees or commits. `allow` has
/// patterns of paths, in the manner of `[commit] exclude`, where secrets are meant to be.
pub(crate) fn secrets_in(
    repository: &Repository,
    from: &impl Treeish,
    to: &impl Treeish,
    allow: &[String],
) -> Result<Vec<SecretFinding>> {
    Ok(secrets_among(repository.additions(from, to)?, allow))
}

fn secrets_among(files: Vec<Additions>, allow: &[String]) -> Vec<SecretFinding> {
    let allowed = Exclusions::new(allow, &[]);
    let changes: Vec<ChangedLines> = files
        .into_iter()
        .map(|file| ChangedLines { path: file.path, added: file.added, removed: file.removed })
        .collect();
    spore_secrets::find_secrets(&changes, |path| allowed.excludes(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_where_a_person_allowed_one_is_not_reported() {
        // Put together at run time, so that no scanner stops at this file.
        let key = format!("AK{}Q7ZK2LMX4VB6TR5W", "IA");
        let found = |allow: &[&str]| {
            let added = vec![(1, key.clone().into_bytes())];
            let file = Additions { path: "new/place.rs".into(), added, removed: Vec::new() };
            let allow: Vec<String> = allow.iter().map(ToString::to_string).collect();
            secrets_among(vec![file], &allow).len()
        };
        assert_eq!((found(&[]), found(&["new/"]), found(&["*.py"])), (1, 0, 1));
    }
}
