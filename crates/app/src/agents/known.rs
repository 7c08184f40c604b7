//! What is known of each agent without looking.

use std::path::Path;

use spore_agent::acp::Preset;
use spore_config::Config;

use crate::Surroundings;

pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// Variables that hold a key, any of which will do.
    keys: &'static [&'static str],
    /// Files below the home that hold credentials.
    files: &'static [&'static str],
    /// Whether it takes tools from MCP servers.
    pub(crate) mcp: bool,
    pub(crate) install: &'static str,
    pub(crate) sign_in: &'static str,
}

const NOTHING: Known =
    Known { name: "", what: "", keys: &[], files: &[], mcp: true, install: "", sign_in: "" };

const CLAUDE_KEYS: &[&str] =
    &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
const CODEX_KEYS: &[&str] = &["OPENAI_API_KEY", "CODEX_API_KEY"];

pub(crate) const KNOWN: &[Known] = &[
    Known {
        name: "claude",
        what: "Claude Code",
        keys: CLAUDE_KEYS,
        files: &[".claude/.credentials.json"],
        install: "npm install -g @anthropic-ai/claude-code",
        sign_in: "run `claude` and sign in, or set ANTHROPIC_API_KEY",
        ..NOTHING
    },
    Known {
        name: "codex",
        what: "Codex CLI",
        keys: CODEX_KEYS,
        files: &[".codex/auth.json"],
        install: "npm install -g @openai/codex",
        sign_in: "run `codex login`, or set OPENAI_API_KEY",
        ..NOTHING
    },
    Known {
        name: "opencode",
        what: "opencode, over ACP",
        keys: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"],
        files: &[".local/share/opencode/auth.json"],
        install: "npm install -g opencode-ai",
        sign_in: "run `opencode auth login`",
        ..NOTHING
    },
    Known {
        name: "gemini",
        what: "Gemini CLI, over ACP",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        files: &[".gemini/oauth_creds.json"],
        install: "npm install -g @google/gemini-cli",
        sign_in: "run `gemini` and sign in, or set GEMINI_API_KEY",
        ..NOTHING
    },
    Known {
        name: "qwen",
        what: "Qwen Code, over ACP",
        keys: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
        files: &[".qwen/oauth_creds.json"],
        install: "npm install -g @qwen-code/qwen-code",
        sign_in: "run `qwen` and sign in, or set OPENAI_API_KEY",
        ..NOTHING
    },
    Known {
        name: "goose",
        what: "goose, over ACP",
        install: "see the goose project's own instructions, then run `goose configure`",
        ..NOTHING
    },
    Known {
        name: "claude-acp",
        what: "Claude Code behind its ACP adapter",
        keys: CLAUDE_KEYS,
        files: &[".claude/.credentials.json"],
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        sign_in: "run `claude` and sign in, or set ANTHROPIC_API_KEY",
        ..NOTHING
    },
    Known {
        name: "codex-acp",
        what: "Codex behind its ACP adapter",
        keys: CODEX_KEYS,
        files: &[".codex/auth.json"],
        install: "npm install -g @agentclientprotocol/codex-acp",
        sign_in: "run `codex login`, or set OPENAI_API_KEY",
        ..NOTHING
    },
    Known {
        name: "api",
        what: "a model's API, with Spore's own tools",
        mcp: false,
        sign_in: "set ANTHROPIC_API_KEY, or OPENAI_API_KEY with another `[api] protocol`",
        ..NOTHING
    },
    Known {
        name: "ollama",
        what: "models of Ollama on this machine, at no cost",
        mcp: false,
        install: "start it with `ollama serve`, and get a model with `ollama pull NAME`",
        ..NOTHING
    },
    Known {
        name: "llama-server",
        what: "a model in llama.cpp's server on this machine, at no cost",
        mcp: false,
        install: "start it with `llama-server -m MODEL.gguf --jinja`",
        ..NOTHING
    },
    Known {
        name: "lmstudio",
        what: "models of LM Studio on this machine, at no cost",
        mcp: false,
        install: "start it with `lms server start`, and load a model in LM Studio",
        ..NOTHING
    },
    Known {
        name: "command",
        what: "any program, as set in [command]",
        mcp: false,
        install: "set `[command] program`",
        ..NOTHING
    },
    Known { name: "replay", what: "plays a scenario, for demos and tests", mcp: false, ..NOTHING },
];

/// Returns what is known of the agent that `--backend` calls `name`.
pub(crate) fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name.strip_prefix("acp:").unwrap_or(name))
}

impl Known {
    /// Part of Spore itself.
    pub(crate) fn is_built_in(&self) -> bool {
        matches!(self.name, "api" | "replay")
    }

    /// A program that can be installed, and not one that a person names.
    pub(crate) fn has_program(&self) -> bool {
        !self.is_built_in() && self.name != "command"
    }

    pub(crate) fn program(&self, config: &Config) -> Option<String> {
        match self.name {
            "claude" => Some(config.claude.program.clone()),
            "codex" => Some(config.codex.program.clone()),
            "command" => Some(config.command.program.clone()).filter(|name| !name.is_empty()),
            name => Preset::named(name).map(|preset| preset.program.to_string_lossy().into_owned()),
        }
    }

    /// Whether there are credentials; `None` where their absence would mean nothing.
    pub(crate) fn signed_in(&self, around: &Surroundings, config: &Config) -> Option<bool> {
        let keys = match (self.name, config.api.protocol.as_str()) {
            ("api", "messages") => &CLAUDE_KEYS[..2],
            ("api", _) => &CODEX_KEYS[..1],
            _ => self.keys,
        };
        if keys.is_empty() && self.files.is_empty() {
            return None;
        }
        let value = |name: &str| around.variable(name).filter(|value| !value.is_empty());
        let home = value("HOME").map(Path::new);
        let has_file = |file: &&str| home.is_some_and(|home| home.join(file).is_file());
        Some(
            keys.iter().any(|key| value(key).is_some())
                || self.files.iter().any(has_file)
                || self.name.starts_with("claude") && claude_has_other_means(around, home),
        )
    }
}

/// Claude Code can go by a cloud's own credentials, by a program that prints its key, and keep
/// its files elsewhere.
fn claude_has_other_means(around: &Surroundings, home: Option<&Path>) -> bool {
    let value = |name: &str| around.variable(name).filter(|value| !value.is_empty());
    let clouds = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
    if clouds.iter().any(|name| value(name).is_some()) {
        return true;
    }
    let own = value("CLAUDE_CONFIG_DIR").map(Path::new);
    let Some(dir) = own.map(Path::to_owned).or_else(|| Some(home?.join(".claude"))) else {
        return false;
    };
    let settings = spore_effects::files::read_text(dir.join("settings.json")).unwrap_or_default();
    dir.join(".credentials.json").is_file() || settings.contains("\"apiKeyHelper\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_listed_once() {
        for name in Preset::names() {
            assert_eq!(KNOWN.iter().filter(|known| known.name == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn every_agent_says_how_to_get_it() {
        for known in KNOWN.iter().filter(|known| !known.is_built_in()) {
            assert!(!known.install.is_empty(), "{}", known.name);
            assert_eq!(known.keys.is_empty(), known.sign_in.is_empty(), "{}", known.name);
        }
    }
}
