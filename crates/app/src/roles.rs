//! What each role of a run may use, in the words of the agent that plays it.
//!
//! Until a sandbox holds an agent, its shell is limited to the gates' own commands, to the
//! letter: that is all a coder or a verifier needs to check its work.

use spore_agent::ToolPolicy;

/// Returns the tools of `role` on `backend`, with `commands` as the only ones it may run.
pub(crate) fn tools(backend: &str, role: &str, commands: &[String]) -> ToolPolicy {
    let (plain, denied, shell): (&[&str], &[&str], &str) = match (backend, role) {
        ("claude", "coder") => (&["Read", "Write", "Edit"], &["Grep", "Glob", "Task"], "Bash"),
        ("claude", _) => {
            (&["Read", "Grep", "Glob"], &["Write", "Edit", "NotebookEdit", "Task"], "Bash")
        }
        // The registry of our own tools knows the roles by itself.
        ("api", _) => (&[], &[], "run"),
        _ => return ToolPolicy::default(),
    };
    let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let mut allow = words(plain);
    allow.extend(commands.iter().map(|command| format!("{shell}({command})")));
    ToolPolicy { allow, deny: words(denied), skip_permissions: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_cannot_write_and_nobody_has_a_free_shell() {
        let gates = ["cargo test".to_owned()];
        for role in ["coder", "verifier", "summarizer"] {
            let policy = tools("claude", role, &gates);
            assert!(!policy.skip_permissions);
            assert!(policy.allow.contains(&"Bash(cargo test)".to_owned()));
            assert!(!policy.allow.contains(&"Bash".to_owned()));
            let writes = policy.allow.contains(&"Write".to_owned());
            assert_eq!(writes, role == "coder", "{role}");
        }
        assert_eq!(tools("api", "coder", &gates).allow, ["run(cargo test)"]);
    }
}
