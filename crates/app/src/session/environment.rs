//! The variables that sessions and gates see. Neither inherits anything by itself.

use std::path::Path;

use spore_agent::EnvironmentFilter;
use spore_config::Config;
use spore_model::{RunId, TraceId};

use crate::Surroundings;
use crate::session::nesting::Nesting;

/// Returns what every program may see of the user's environment, and `more`.
pub(crate) fn environment(
    config: &Config,
    around: &Surroundings,
    more: &[String],
) -> Vec<(String, String)> {
    let allow = [config.environment.allow.as_slice(), more].concat();
    let mut variables =
        EnvironmentFilter::new(&allow, &config.environment.deny).filter(around.variables.clone());
    // In a checkout that lost its own repository, git must not find one further up.
    let ceiling = around.state_home.display().to_string();
    variables.push(("GIT_CEILING_DIRECTORIES".to_owned(), ceiling));
    variables
}

/// Returns what a session sees: the same for every kind, so that a `spore` that it starts finds
/// the project, counts its depth and knows what it belongs to.
pub(crate) fn session_environment(
    config: &Config,
    around: &Surroundings,
    root: &Path,
    nesting: Nesting,
    trace: &TraceId,
    session: RunId,
) -> Vec<(String, String)> {
    let mut variables = environment(config, around, &config.environment.agent);
    variables.push(("SPORE_ROOT".to_owned(), root.display().to_string()));
    nesting.tell(trace, session, &mut variables);
    variables
}
