//! Looks for secrets in what changes between two trees of the repository.
//!
//! What a secret looks like is known to the crate `secrets`; git is asked for the lines here.

use spore_git::{Additions, Exclusions, Repository, Treeish};
use spore_secrets::{ChangedLines, KnownSecrets, SecretFinding};

use crate::{Progress, Result, Surroundings, Update};

/// Returns a person's own words as they may be kept and told to an agent. A key among them is
/// struck, and the person is told: `what` says which words they are.
pub(crate) fn without_keys(
    around: &Surroundings,
    words: &str,
    what: &str,
    progress: &mut dyn Progress,
) -> String {
    let struck = spore_secrets::strike_out(&around.secrets().strike(words));
    if struck != words {
        progress.update(&Update::Struck { what: what.to_owned() });
    }
    struck
}

/// Returns what looks like a secret, or is `known` to be one, in what changes between two trees
/// or commits. Names of files are as they are, secrets included. `allow` has
/// patterns of paths, in the manner of `[commit] exclude`, where secrets are meant to be.
pub(crate) fn secrets_in(
    repository: &Repository,
    from: &impl Treeish,
    to: &impl Treeish,
    known: &KnownSecrets,
    allow: &[String],
) -> Result<Vec<SecretFinding>> {
    Ok(secrets_among(repository.additions(from, to)?, known, allow))
}

fn secrets_among(
    files: Vec<Additions>,
    known: &KnownSecrets,
    allow: &[String],
) -> Vec<SecretFinding> {
    let allowed = Exclusions::new(allow, &[]);
    let changes: Vec<ChangedLines> = files
        .into_iter()
        .map(|Additions { path, is_new_name, added, removed }| ChangedLines {
            path,
            is_new_name,
            added,
            removed,
        })
        .collect();
    spore_secrets::find_secrets(&changes, known, |path| allowed.excludes(path))
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
            let file = Additions { path: "new/place.rs".into(), added, ..Additions::default() };
            let allow: Vec<String> = allow.iter().map(ToString::to_string).collect();
            secrets_among(vec![file], &KnownSecrets::default(), &allow).len()
        };
        assert_eq!((found(&[]), found(&["new/"]), found(&["*.py"])), (1, 0, 1));
    }
}
