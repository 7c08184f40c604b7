//! What a session may do when its agent asks first: the role's tools as words for kinds.
//!
//! Agents that ask name a kind of deed, not a tool of their own: `read`, `search`, `edit`
//! (with `delete` and `move`), `execute`, `fetch`, `think`, `other` (tools of MCP servers
//! among them). A [`ToolPolicy`] for such an agent is written in these words, a single command
//! as `execute(cargo test)`, to the letter. What is not allowed is not.

use crate::ToolPolicy;

/// Answers an agent's questions for permission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policy {
    tools: ToolPolicy,
}

impl Policy {
    pub(crate) fn new(tools: &ToolPolicy) -> Self {
        Self { tools: tools.clone() }
    }

    /// Tells whether the agent need not ask, not even for a deed outside of the checkout.
    pub(crate) fn is_free(&self) -> bool {
        self.tools.skip_permissions
    }

    /// Tells whether a deed of this kind may be done; `command` is what would be run.
    pub(crate) fn allows(&self, kind: &str, command: Option<&str>) -> bool {
        let kind = match kind {
            "delete" | "move" => "edit",
            kind => kind,
        };
        let exactly = command.map(|command| format!("execute({})", command.trim()));
        let listed = |list: &[String]| {
            list.iter().any(|word| word == kind || exactly.as_ref() == Some(word))
        };
        (self.tools.skip_permissions || listed(&self.tools.allow)) && !listed(&self.tools.deny)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(allow: &[&str], deny: &[&str], skip: bool, kind: &str, command: &str, expected: bool) {
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
        let tools = ToolPolicy { allow: words(allow), deny: words(deny), skip_permissions: skip };
        let command = Some(command).filter(|command| !command.is_empty());
        assert_eq!(Policy::new(&tools).allows(kind, command), expected, "{kind} {command:?}");
    }

    #[test]
    fn what_is_not_allowed_is_not() {
        let coder = ["read", "edit", "execute(cargo test)"];
        check(&coder, &[], false, "edit", "", true);
        check(&coder, &[], false, "delete", "", true);
        check(&coder, &[], false, "execute", "cargo test", true);
        check(&coder, &[], false, "execute", "cargo test; rm -rf .", false);
        check(&coder, &[], false, "execute", "", false);
        check(&coder, &[], false, "fetch", "", false);
        check(&[], &[], false, "read", "", false);
    }

    #[test]
    fn what_is_denied_is_denied_also_to_one_that_need_not_ask() {
        check(&[], &["edit"], true, "execute", "make", true);
        check(&[], &["edit"], true, "move", "", false);
        check(&["execute"], &["execute(rm x)"], true, "execute", "rm x", false);
    }
}
