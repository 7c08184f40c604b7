//! The environment of sessions and gates.

use spore_agent::EnvironmentFilter;
use spore_config::Config;

use crate::Surroundings;

/// Returns what every session and gate may see of the user's environment, and `more`.
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
