//! The clients, and where each keeps its settings.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Serialize;
use spore_app::{Error, Result};
use spore_model::Fault;

/// A program that can use MCP servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpClient {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Cursor,
    Vscode,
}

/// Whose settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpScope {
    /// Of the project, for all who work on it.
    Project,
    /// Of the person, for all projects.
    User,
}

/// How an entry is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EntryShape {
    /// `command` and `args` below this key.
    Json(&'static str),
    /// The same with `"type": "stdio"`.
    TypedJson(&'static str),
    /// One list for program and arguments, `"type": "local"`.
    LocalJson(&'static str),
    /// A table of `mcp_servers`.
    Toml,
}

/// One file to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ClientFile {
    pub(super) client: McpClient,
    pub(super) scope: McpScope,
    pub(super) path: PathBuf,
    /// For people: from the project's root or from home.
    pub(super) shown: String,
    pub(super) shape: EntryShape,
}

impl McpClient {
    pub const ALL: [Self; 6] =
        [Self::Claude, Self::Codex, Self::Opencode, Self::Gemini, Self::Cursor, Self::Vscode];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
        }
    }

    pub(super) fn names() -> Vec<&'static str> {
        Self::ALL.map(Self::as_str).to_vec()
    }

    /// The settings of the project and of the person. Codex reads a project's only where the
    /// person trusts it, so there is none of that kind.
    const fn places(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::Claude => (Some(".mcp.json"), ".claude.json"),
            Self::Codex => (None, ".codex/config.toml"),
            Self::Opencode => (Some("opencode.json"), ".config/opencode/opencode.json"),
            Self::Gemini => (Some(".gemini/settings.json"), ".gemini/settings.json"),
            Self::Cursor => (Some(".cursor/mcp.json"), ".cursor/mcp.json"),
            Self::Vscode => (Some(".vscode/mcp.json"), ".config/Code/User/mcp.json"),
        }
    }

    const fn shape(self) -> EntryShape {
        match self {
            Self::Claude | Self::Gemini | Self::Cursor => EntryShape::Json("mcpServers"),
            Self::Vscode => EntryShape::TypedJson("servers"),
            Self::Opencode => EntryShape::LocalJson("mcp"),
            Self::Codex => EntryShape::Toml,
        }
    }

    /// Returns the clients that are in use here, by what they leave behind.
    pub(super) fn in_use(root: &Path, home: &Path) -> Vec<Self> {
        let leaves = |client: &Self| match client {
            Self::Claude => [root.join(".mcp.json"), root.join(".claude"), home.join(".claude")],
            Self::Codex => [root.join(".codex"), home.join(".codex"), home.join(".codex")],
            Self::Opencode => {
                [root.join("opencode.json"), root.join(".opencode"), home.join(".config/opencode")]
            }
            Self::Gemini => [root.join(".gemini"), home.join(".gemini"), home.join(".gemini")],
            Self::Cursor => [root.join(".cursor"), home.join(".cursor"), home.join(".cursor")],
            Self::Vscode => {
                [root.join(".vscode"), home.join(".config/Code"), home.join(".config/Code")]
            }
        };
        Self::ALL.into_iter().filter(|it| leaves(it).iter().any(|path| path.exists())).collect()
    }

    /// Returns the file to write: the project's where there is one, unless told otherwise.
    pub(super) fn target(
        self,
        scope: Option<McpScope>,
        root: &Path,
        home: &Path,
    ) -> Result<ClientFile> {
        let (project, user) = self.places();
        let (scope, base, name) = match (scope, project) {
            (Some(McpScope::Project), None) => {
                return Err(Error::new(
                    Fault::Usage,
                    format!("{self} has no settings of a project that it reads unasked"),
                )
                .hint(format!("spore mcp install --client {self} --scope user")));
            }
            (Some(McpScope::User), _) | (None, None) => (McpScope::User, home, user),
            (_, Some(project)) => (McpScope::Project, root, project),
        };
        let shown = match scope {
            McpScope::Project => name.to_owned(),
            McpScope::User => format!("~/{name}"),
        };
        Ok(ClientFile { client: self, scope, path: base.join(name), shown, shape: self.shape() })
    }
}

impl fmt::Display for McpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for McpClient {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let known = Self::ALL.into_iter().find(|client| client.as_str() == text);
        known.ok_or_else(|| format!("not one of {}", Self::names().join(", ")))
    }
}

impl FromStr for McpScope {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "project" => Ok(Self::Project),
            "user" => Ok(Self::User),
            _ => Err("not one of project, user".to_owned()),
        }
    }
}
