//! What each role of a run may use, in the words of the agent that plays it.
//!
//! A coder's shell is free only inside a sandbox that is enforced, or where a person said so.
//! Otherwise, and for everybody else always, it is limited to the gates' own commands, to the
//! letter: that is all a coder or a verifier needs to check its work.

use std::path::Path;

use spore_agent::ToolPolicy;
use spore_agent::acp::Preset;
use spore_config::Config;
use spore_model::Fault;

use crate::base::role_prompts;
use crate::{Error, Result};

/// Claude's name for all tools of our own server.
const GRAPH: &str = "mcp__spore";

/// Who the agent is and how it works.
pub(crate) struct Role {
    pub(crate) text: String,
    /// The agent has a file of its own for the role, which it reads by itself.
    pub(crate) native: Option<String>,
}

/// Looks `role` up: the project's own file, then the agent's native one in `dir`, then ours.
/// A role that nobody has described gets no instructions.
pub(crate) fn prompt(root: &Path, dir: &Path, backend: &str, role: &str) -> Role {
    let plain = role.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let file = format!("{role}.md");
    if plain && let Ok(text) = std::fs::read_to_string(root.join(".spore/agents").join(&file)) {
        return Role { text, native: None };
    }
    if plain && backend == "claude" && dir.join(".claude/agents").join(&file).is_file() {
        return Role { text: String::new(), native: Some(role.to_owned()) };
    }
    let built_in = role_prompts::BUILT_IN.iter().find(|(name, _)| *name == role);
    Role { text: built_in.map_or("", |(_, text)| text).to_owned(), native: None }
}

/// Refuses a role that nobody has written anything about: it is a slip of the hand.
pub(crate) fn require(root: &Path, config: &Config, role: &str) -> Result<()> {
    let file = format!("{role}.md");
    let is_written = [".spore/agents", ".claude/agents"]
        .iter()
        .any(|folder| root.join(folder).join(&file).is_file());
    let mut known: Vec<&str> = role_prompts::BUILT_IN.iter().map(|(name, _)| *name).collect();
    known.extend(config.roles.keys().map(String::as_str));
    known.sort_unstable();
    known.dedup();
    if is_written || known.contains(&role) {
        return Ok(());
    }
    let known = known.join(", ");
    Err(Error::new(Fault::Usage, format!("there is no role {role:?}"))
        .hint(format!("known are {known}; write another one into .spore/agents/{role}.md")))
}

/// Returns the tools of `role` on `backend`, with `commands` as the only ones it may run
/// unless its shell is `free`, which only that of a role that writes can be.
pub(crate) fn tools(backend: &str, role: &str, commands: &[String], free: bool) -> ToolPolicy {
    let writes = matches!(role, "coder" | "operator");
    let free = free && writes;
    let (plain, denied, shell): (&[&str], &[&str], &str) = match (backend, role) {
        ("claude", "coder") => {
            (&["Read", "Write", "Edit", GRAPH], &["Grep", "Glob", "Task"], "Bash")
        }
        ("claude", "operator") => {
            (&["Read", "Write", "Edit", "Grep", "Glob", GRAPH], &["Task"], "Bash")
        }
        ("claude", _) => {
            (&["Read", "Grep", "Glob", GRAPH], &["Write", "Edit", "NotebookEdit", "Task"], "Bash")
        }
        // Agents that ask before they act are answered by the kind of the deed.
        (name, "coder") if asks_by_kind(name) => {
            (&["read", "think", "edit", "other"], &["search"], "execute")
        }
        (name, "operator") if asks_by_kind(name) => {
            (&["read", "search", "think", "edit", "other"], &[], "execute")
        }
        (name, _) if asks_by_kind(name) => {
            (&["read", "search", "think", "other"], &["edit"], "execute")
        }
        // The registry of our own tools knows the roles by itself.
        ("api", _) => (&[], &[], "run"),
        _ => return ToolPolicy::default(),
    };
    let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let mut allow = words(plain);
    match (free, allow.is_empty()) {
        (false, _) => allow.extend(commands.iter().map(|command| format!("{shell}({command})"))),
        (true, false) => allow.push(shell.to_owned()),
        // An empty list leaves the tools to the role, and commands to the model.
        (true, true) => {}
    }
    ToolPolicy { allow, deny: words(denied), skip_permissions: free }
}

fn asks_by_kind(backend: &str) -> bool {
    backend == "codex" || backend.starts_with("acp:") || Preset::named(backend).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_the_projects_then_the_agents_then_ours() {
        let dir = tempfile::tempdir().unwrap();
        let looked_up = |backend: &str| {
            let role = prompt(dir.path(), dir.path(), backend, "coder");
            (role.text, role.native)
        };
        assert_eq!(looked_up("claude"), (role_prompts::CODER.to_owned(), None));
        std::fs::create_dir_all(dir.path().join(".claude/agents")).unwrap();
        std::fs::write(dir.path().join(".claude/agents/coder.md"), "native").unwrap();
        assert_eq!(looked_up("claude"), (String::new(), Some("coder".to_owned())));
        assert_eq!(looked_up("api"), (role_prompts::CODER.to_owned(), None));
        std::fs::create_dir_all(dir.path().join(".spore/agents")).unwrap();
        std::fs::write(dir.path().join(".spore/agents/coder.md"), "ours").unwrap();
        assert_eq!(looked_up("claude"), ("ours".to_owned(), None));
        let escape = prompt(dir.path(), dir.path(), "claude", "../../etc/passwd");
        assert_eq!((escape.text, escape.native), (String::new(), None));
    }

    #[test]
    fn a_verifier_cannot_write_and_nobody_has_a_free_shell() {
        let gates = ["cargo test".to_owned()];
        for role in ["coder", "verifier", "summarizer"] {
            let policy = tools("claude", role, &gates, false);
            assert!(!policy.skip_permissions);
            assert!(policy.allow.contains(&"Bash(cargo test)".to_owned()));
            assert!(!policy.allow.contains(&"Bash".to_owned()));
            let writes = policy.allow.contains(&"Write".to_owned());
            assert_eq!(writes, role == "coder", "{role}");
        }
        assert_eq!(tools("api", "coder", &gates, false).allow, ["run(cargo test)"]);
        for backend in ["codex", "opencode", "gemini", "acp:mine"] {
            let verifier = tools(backend, "verifier", &gates, false);
            assert!(verifier.allow.contains(&"execute(cargo test)".to_owned()), "{backend}");
            assert!(!verifier.allow.contains(&"edit".to_owned()), "{backend}");
            assert!(tools(backend, "coder", &gates, false).allow.contains(&"edit".to_owned()));
        }
    }

    #[test]
    fn only_a_coder_has_a_free_shell_and_only_if_it_is_held() {
        let gates = ["cargo test".to_owned()];
        let coder = tools("claude", "coder", &gates, true);
        assert_eq!(coder.allow, ["Read", "Write", "Edit", GRAPH, "Bash"]);
        assert!(coder.skip_permissions && coder.deny.contains(&"Grep".to_owned()));
        let api = tools("api", "coder", &gates, true);
        assert!(api.allow.is_empty() && api.skip_permissions);
        for backend in ["claude", "api"] {
            let verifier = tools(backend, "verifier", &gates, true);
            assert_eq!(verifier, tools(backend, "verifier", &gates, false));
            assert!(!verifier.skip_permissions);
        }
    }
}
