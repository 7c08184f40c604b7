//! The things that happen in a turn of Codex, and what they are called.

use serde::Deserialize;
use serde_json::Value;

use crate::AgentEvent;
use crate::health::one_line;

/// One flat shape, each field optional: Codex adds kinds with every release.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TurnItem {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    summary: Vec<String>,
    command: Option<String>,
    #[serde(default)]
    changes: Vec<CodexFileChange>,
    server: Option<String>,
    tool: Option<String>,
    query: Option<String>,
    arguments: Option<Value>,
    status: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct CodexFileChange {
    path: String,
}

/// A call of a tool: its name and what it is told by, once for every file it changes.
pub(super) struct CodexCall {
    pub(super) tool: String,
    pub(super) told: Vec<AgentEvent>,
}

impl TurnItem {
    /// What a model thought aloud.
    pub(super) fn thought(&self) -> String {
        self.summary.join("\n")
    }

    /// Reads the call of a tool, where it is one.
    pub(super) fn call(&self, dir: &str) -> Option<CodexCall> {
        let (tool, summary) = match self.kind.as_str() {
            "commandExecution" => {
                ("shell".to_owned(), unwrapped(self.command.as_deref().unwrap_or_default()))
            }
            "fileChange" => return Some(self.change(dir)),
            "mcpToolCall" => {
                let word = |word: &Option<String>| word.clone().unwrap_or_default();
                let given = self.arguments.as_ref().map(Value::to_string).unwrap_or_default();
                (format!("mcp__{}__{}", word(&self.server), word(&self.tool)), given)
            }
            "webSearch" => ("web_search".to_owned(), self.query.clone().unwrap_or_default()),
            _ => return None,
        };
        let told = vec![AgentEvent::ToolUse {
            tool: tool.clone(),
            summary: one_line(&summary),
            path: None,
        }];
        Some(CodexCall { tool, told })
    }

    fn change(&self, dir: &str) -> CodexCall {
        let tool = "apply_patch".to_owned();
        let inside = |path: &str| {
            path.strip_prefix(dir)
                .and_then(|path| path.strip_prefix('/'))
                .unwrap_or(path)
                .to_owned()
        };
        let told = self.changes.iter().map(|change| {
            let path = inside(&change.path);
            AgentEvent::ToolUse { tool: tool.clone(), summary: path.clone(), path: Some(path) }
        });
        CodexCall { told: told.collect(), tool }
    }

    pub(super) fn went_well(&self) -> bool {
        matches!(self.status.as_deref(), Some("completed") | None)
    }
}

/// Shells that Codex puts around a command by itself. A model may name another one, which
/// could be anything: its call is left as it is.
const SHELLS: [&str; 6] =
    ["/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh", "/bin/zsh", "/usr/bin/zsh"];

/// `/bin/bash -lc 'cargo test'` is how Codex runs `cargo test`.
pub(super) fn unwrapped(command: &str) -> String {
    let inner = command
        .split_once(" -lc ")
        .filter(|(shell, _)| SHELLS.contains(shell))
        .and_then(|(_, word)| unquoted(word));
    inner.unwrap_or_else(|| command.to_owned())
}

/// Reads one word of a shell; `None` where it is more than one, or would be expanded.
fn unquoted(word: &str) -> Option<String> {
    let mut plain = String::new();
    let mut letters = word.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => loop {
                match letters.next()? {
                    '\'' => break,
                    inside => plain.push(inside),
                }
            },
            '"' => loop {
                match letters.next()? {
                    '"' => break,
                    '\\' => plain.push(letters.next()?),
                    '$' | '`' => return None,
                    inside => plain.push(inside),
                }
            },
            '\\' => plain.push(letters.next()?),
            letter if letter.is_alphanumeric() || "-_./=:,@%+".contains(letter) => {
                plain.push(letter);
            }
            _ => return None,
        }
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_told_without_the_shell_around_it() {
        let check = |command: &str, expected: &str| assert_eq!(unwrapped(command), expected);
        check("/bin/bash -lc 'exit 7'", "exit 7");
        check(r"/bin/bash -lc 'echo '\''a'\'''", "echo 'a'");
        check(r#"/bin/sh -lc "echo \"a\" 'b'""#, r#"echo "a" 'b'"#);
        check("/bin/bash -lc ls", "ls");
        check("cargo test", "cargo test");
    }

    #[test]
    fn what_only_looks_like_a_shell_is_told_as_it_is() {
        let check = |command: &str| assert_eq!(unwrapped(command), command);
        check("./bash -lc 'cargo test'");
        check("evil -lc 'cargo test'");
        check("/bin/bash -lc 'cargo test' more");
        check(r#"/bin/bash -lc "$(cat x)""#);
    }
}
