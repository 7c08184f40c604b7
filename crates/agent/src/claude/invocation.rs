//! How Claude Code is called: its arguments, its first line, its environment and the files it
//! is pointed to.
//!
//! Arguments are for all to see, so the prompt, the role and the MCP servers with their
//! tokens are not among them. Lists are given as `--flag=a,b`: given as words they swallow
//! what follows.
//!
//! Of the settings only the project's are read, and no hooks at all. The user's own settings
//! hold hooks that would run unasked, and rules that allow tools which the role must not
//! have; a checkout is a place the user never called trusted, so the program itself ignores
//! the rules a project brings. The user stays signed in: the login is no setting.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use spore_model::Usd;

use crate::{McpServer, Request, ToolPolicy};

/// Asks the program to stop what it does and to say what came of it.
pub(super) const INTERRUPT: &str =
    r#"{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt"}}"#;

/// The smallest budget that the program understands: it takes zero for a mistake.
const LEAST_USD: f64 = 0.000_001;

/// What keeps the program to its task: no other version tomorrow, no calls but the model's.
const QUIET: [&str; 2] = ["DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"];

/// Set by Claude Code for its own children, and a reason for it not to start.
const INSIDE: &str = "CLAUDECODE";

pub(super) struct Invocation {
    pub(super) args: Vec<String>,
    pub(super) input: String,
    pub(super) env: Vec<(String, String)>,
}

impl Invocation {
    pub(super) fn new(request: &Request, files: &PrivateFiles) -> Self {
        Self { args: args(request, files), input: input(request), env: env(request) }
    }
}

/// Says no to a question of the program, which would wait for an answer otherwise. Nothing
/// that could ask is switched on; a later version may ask all the same.
pub(super) fn refusal(id: &str) -> String {
    json!({
        "type": "control_response",
        "response": { "subtype": "error", "request_id": id, "error": "nobody is here to answer" },
    })
    .to_string()
}

fn input(request: &Request) -> String {
    let prompt = request.resume.as_ref().map_or(&request.prompt, |earlier| &earlier.prompt);
    let line = json!({
        "type": "user",
        "message": { "role": "user", "content": [{ "type": "text", "text": prompt }] },
        "parent_tool_use_id": null,
        "session_id": "",
    });
    format!("{line}\n")
}

fn env(request: &Request) -> Vec<(String, String)> {
    let mut env: Vec<_> = request.env.iter().filter(|(name, _)| name != INSIDE).cloned().collect();
    for name in QUIET {
        if !env.iter().any(|(known, _)| known == name) {
            env.push((name.to_owned(), "1".to_owned()));
        }
    }
    env
}

fn args(request: &Request, files: &PrivateFiles) -> Vec<String> {
    let mut args: Vec<String> = [
        "-p",
        "--verbose",
        "--input-format=stream-json",
        "--output-format=stream-json",
        "--setting-sources=project",
        r#"--settings={"disableAllHooks":true}"#,
        "--strict-mcp-config",
    ]
    .map(str::to_owned)
    .into();
    let mut flag = |name: &str, value: &str| args.push(format!("--{name}={value}"));
    if let Some(model) = &request.model {
        flag("model", model);
    }
    flag("max-turns", &request.limits.turns.to_string());
    if let Some(usd) = request.limits.usd {
        flag("max-budget-usd", &budget(usd));
    }
    if let Some(schema) = &request.schema {
        flag("json-schema", &schema.to_string());
    }
    match (&request.resume, native_role(request), &files.role) {
        // A conversation keeps the native role it began with; the text of ours it does not.
        (Some(earlier), native, role) => {
            flag("resume", &earlier.session_id);
            if let (None, Some(role)) = (native, role) {
                flag("append-system-prompt-file", &role.to_string_lossy());
            }
        }
        (None, Some(native), _) => flag("agent", native),
        (None, None, Some(role)) => flag("append-system-prompt-file", &role.to_string_lossy()),
        (None, None, None) => {}
    }
    if let Some(servers) = &files.servers {
        flag("mcp-config", &servers.to_string_lossy());
    }
    limit_tools(&request.tools, &mut args);
    // Without the pieces of an answer a long one is a long silence, and what it used is not told
    // before the end of the session.
    args.push("--include-partial-messages".to_owned());
    args
}

/// Says which tools the session has and which of them run; a call of any other is refused
/// without a question.
fn limit_tools(tools: &ToolPolicy, args: &mut Vec<String>) {
    if !tools.allow.is_empty() {
        args.push(format!("--tools={}", offered(&tools.allow)));
    }
    if tools.skip_permissions {
        args.push("--dangerously-skip-permissions".to_owned());
    } else if !tools.allow.is_empty() {
        args.push("--permission-mode=dontAsk".to_owned());
        args.push(format!("--allowedTools={}", tools.allow.join(",")));
    }
    // The settings of the next session are not for this one to write.
    let denied = tools.deny.iter().map(String::as_str).chain(["Edit(.claude/**)"]);
    args.push(format!("--disallowedTools={}", denied.collect::<Vec<_>>().join(",")));
}

/// The names of the built-in tools that a list speaks of: `Bash(git *)` is `Bash`. MCP tools
/// are not built in, and are offered by their servers.
fn offered(allow: &[String]) -> String {
    let mut names: Vec<&str> = allow
        .iter()
        .map(|tool| tool.split('(').next().unwrap_or(tool).trim())
        .filter(|name| !name.is_empty() && !name.starts_with("mcp__"))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(",")
}

/// Returns the native role if its file is there: `--agent` with a name that has no file would
/// not give the session its role.
fn native_role(request: &Request) -> Option<&str> {
    let role = request.native_role.as_deref()?;
    let file = request.dir.join(".claude/agents").join(format!("{role}.md"));
    file.is_file().then_some(role)
}

fn budget(usd: Usd) -> String {
    format!("{:.6}", usd.as_dollars().max(LEAST_USD))
}

/// Files beside the transcript that only we and the session may read. Dropping removes them.
#[derive(Debug, Default)]
pub(super) struct PrivateFiles {
    servers: Option<PathBuf>,
    role: Option<PathBuf>,
}

impl PrivateFiles {
    pub(super) fn write(request: &Request) -> Result<Self, (PathBuf, io::Error)> {
        let mut files = Self::default();
        if !request.mcp_servers.is_empty() {
            let content = servers(&request.mcp_servers).to_string();
            files.servers = Some(write_private(request, "mcp.json", &content)?);
        }
        if !request.system_prompt.is_empty() {
            files.role = Some(write_private(request, "role.md", &request.system_prompt)?);
        }
        Ok(files)
    }
}

impl Drop for PrivateFiles {
    fn drop(&mut self) {
        for file in self.servers.iter().chain(&self.role) {
            let _ = std::fs::remove_file(file);
        }
    }
}

fn servers(servers: &[McpServer]) -> Value {
    let strings = |pairs: &[(String, String)]| -> Map<String, Value> {
        pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
    };
    let list: Map<String, Value> = servers
        .iter()
        .map(|server| {
            let entry = json!({
                "type": "stdio",
                "command": server.command.to_string_lossy(),
                "args": server.args,
                "env": strings(&server.env),
                // Waits for it. Otherwise a server that takes more than two seconds is
                // `pending` when the session begins, and its tools are missing.
                "alwaysLoad": true,
            });
            (server.name.clone(), entry)
        })
        .collect();
    json!({ "mcpServers": list })
}

fn write_private(
    request: &Request,
    name: &str,
    content: &str,
) -> Result<PathBuf, (PathBuf, io::Error)> {
    let path = absolute(&request.transcript.with_file_name(name));
    let write = |path: &Path| -> io::Result<()> {
        crate::control::ensure_parent(path)?;
        // A file that a killed session left may be readable by others, and would keep its mode.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(content.as_bytes())
    };
    match write(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err((path, source)),
    }
}

/// The session has a working directory of its own.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests;
