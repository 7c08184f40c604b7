//! Paths that no commit takes: nothing that works in a checkout can leave its artifact there.

use spore_compose::ExecPlan;
use spore_config::Config;
use spore_git::Exclusions;

/// What never enters a commit, and so is the artifact of nothing that works in a checkout.
pub(crate) struct LeftOut(Exclusions);

impl LeftOut {
    pub(crate) fn of(config: &Config) -> Self {
        Self(Exclusions::new(&config.commit.exclude, &config.commit.allow))
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        let is_git = |part: &str| part.eq_ignore_ascii_case(".git");
        path.split('/').any(is_git) || self.0.excludes(path)
    }

    /// Says which of these execs can never leave its artifact.
    pub(crate) fn problem<'e>(
        &self,
        execs: impl IntoIterator<Item = &'e ExecPlan>,
    ) -> Option<String> {
        let artifacts = execs.into_iter().filter_map(|exec| exec.artifact.as_deref());
        let path = artifacts.into_iter().find(|path| self.has(path))?;
        Some(format!("the artifact {path:?} is a path that never enters a commit"))
    }
}
