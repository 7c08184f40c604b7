//! Which variables a session may see.

/// An allow-list with `*` at either end of a name, and a deny-list that wins.
#[derive(Clone, Debug)]
pub struct EnvironmentFilter {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl EnvironmentFilter {
    pub fn new(allow: &[String], deny: &[String]) -> Self {
        Self { allow: allow.to_vec(), deny: deny.to_vec() }
    }

    /// Keeps what is allowed. The rest of the user's environment is none of an agent's
    /// business: tokens for other services live there.
    pub fn filter(
        &self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<(String, String)> {
        let listed =
            |list: &[String], name: &str| list.iter().any(|pattern| matches(pattern, name));
        variables
            .into_iter()
            .filter(|(name, _)| listed(&self.allow, name) && !listed(&self.deny, name))
            .collect()
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_allowed_and_not_denied_passes() {
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let environment = EnvironmentFilter::new(
            &list(&["PATH", "LC_*", "*_proxy", "CLAUDE*"]),
            &list(&["CLAUDECODE"]),
        );
        let names =
            ["PATH", "PATHX", "LC_ALL", "http_proxy", "CLAUDECODE", "CLAUDE_CODE_X", "AWS_SECRET"];
        let kept: Vec<String> = environment
            .filter(names.map(|name| (name.to_owned(), String::new())))
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(kept, ["PATH", "LC_ALL", "http_proxy", "CLAUDE_CODE_X"]);
    }
}
