//! Which variables a session may see.

use spore_model::Patterns;

/// A list of allowed variables, and one of denied ones that wins; a `*` stands for anything.
#[derive(Clone, Debug)]
pub struct EnvironmentFilter {
    allow: Patterns,
    deny: Patterns,
}

impl EnvironmentFilter {
    pub fn new(allow: &[String], deny: &[String]) -> Self {
        Self { allow: Patterns::of_names(allow), deny: Patterns::of_names(deny) }
    }

    /// Keeps what is allowed. The rest of the user's environment is none of an agent's
    /// business: tokens for other services live there.
    pub fn filter(
        &self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Vec<(String, String)> {
        variables
            .into_iter()
            .filter(|(name, _)| self.allow.cover(name) && !self.deny.cover(name))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(allow: &[&str], deny: &[&str], names: &[&str], expected: &[&str]) {
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let environment = EnvironmentFilter::new(&list(allow), &list(deny));
        let kept = environment.filter(names.iter().map(|&name| (name.to_owned(), String::new())));
        let kept: Vec<String> = kept.into_iter().map(|(name, _)| name).collect();
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_star_stands_for_anything_wherever_it_is() {
        let names = ["A_TOKEN_B", "A_TOKEN", "TOKEN_B", "a_token_b", "A_TOKEN_B/x"];
        check(&["A_*_B"], &[], &names, &["A_TOKEN_B"]);
        check(&["*TOKEN*"], &["*_B"], &names, &["A_TOKEN", "A_TOKEN_B/x"]);
        check(&["*"], &["*TOKEN*"], &names, &["a_token_b"]);
        check(&[""], &[], &["", "A"], &[""]);
        check(&[], &[], &names, &[]);
    }

    #[test]
    fn only_what_is_allowed_and_not_denied_passes() {
        let names =
            ["PATH", "PATHX", "LC_ALL", "http_proxy", "CLAUDECODE", "CLAUDE_CODE_X", "AWS_SECRET"];
        check(
            &["PATH", "LC_*", "*_proxy", "CLAUDE*"],
            &["CLAUDECODE"],
            &names,
            &["PATH", "LC_ALL", "http_proxy", "CLAUDE_CODE_X"],
        );
    }
}
