//! The agents we know, as data. Another one is a name and a command in the configuration.

use std::path::PathBuf;

use crate::Request;

/// How a program that speaks ACP is started, and what it can be relied on for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Preset {
    pub name: String,
    pub program: PathBuf,
    pub args: Vec<String>,
    /// The flag that names the model; where there is none it is chosen over the protocol.
    pub model_flag: Option<String>,
    /// Variables that keep the program to its task, unless the session has them already.
    pub env: Vec<(String, String)>,
    /// The agent can resume an earlier conversation.
    pub resumes: bool,
    /// The agent reports the cost.
    pub names_cost: bool,
    /// The agent reports the tokens it used.
    pub counts: bool,
    /// The usage that the agent reports for a turn is that of its last call alone.
    pub counts_last_call_only: bool,
    /// The agent starts its servers of tools before it asks its model; seen in the conformance
    /// suite, not promised by the protocol.
    pub starts_servers: bool,
}

struct KnownPreset {
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    model_flag: Option<&'static str>,
    resumes: bool,
    env: &'static [(&'static str, &'static str)],
    names_cost: bool,
    counts: bool,
    counts_last_call_only: bool,
    starts_servers: bool,
}

/// Without these opencode would look for other versions, models and language servers, and
/// would run what it likes: the last makes it ask.
const OPENCODE: &[(&str, &str)] = &[
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_SHARE", "1"),
    (
        "OPENCODE_PERMISSION",
        r#"{"edit":"ask","bash":"ask","webfetch":"ask","websearch":"ask","external_directory":"ask","doom_loop":"deny"}"#,
    ),
];

const PLAIN: KnownPreset = KnownPreset {
    name: "",
    program: "",
    args: &[],
    model_flag: None,
    resumes: true,
    env: &[],
    names_cost: false,
    counts: false,
    counts_last_call_only: false,
    starts_servers: false,
};

const KNOWN: &[KnownPreset] = &[
    KnownPreset {
        name: "opencode",
        program: "opencode",
        args: &["acp"],
        env: OPENCODE,
        names_cost: true,
        counts: true,
        counts_last_call_only: true,
        starts_servers: true,
        ..PLAIN
    },
    KnownPreset {
        name: "gemini",
        program: "gemini",
        args: &["--acp", "--skip-trust"],
        model_flag: Some("-m"),
        // Gemini CLI would start itself once more, with more memory and another pid.
        env: &[("GEMINI_CLI_NO_RELAUNCH", "1")],
        // 0.61.0 empties the conversation that it is asked to load, and then does not find it.
        resumes: false,
        counts: true,
        starts_servers: true,
        ..PLAIN
    },
    KnownPreset {
        name: "qwen",
        program: "qwen",
        args: &["--acp"],
        model_flag: Some("-m"),
        env: &[("QWEN_CODE_NO_RELAUNCH", "1")],
        // 0.15.10 forgets its own answers, and takes an id that it does not know for a new one:
        // a conversation that was lost would not be told from one that goes on.
        resumes: false,
        counts: true,
        starts_servers: true,
        ..PLAIN
    },
    KnownPreset { name: "goose", program: "goose", args: &["acp"], ..PLAIN },
    KnownPreset { name: "claude-acp", program: "claude-agent-acp", ..PLAIN },
    KnownPreset { name: "codex-acp", program: "codex-acp", ..PLAIN },
];

impl Preset {
    /// Returns the preset of this name.
    pub fn named(name: &str) -> Option<Self> {
        let known = KNOWN.iter().find(|known| known.name == name)?;
        let pairs = known.env.iter();
        Some(Self {
            name: known.name.to_owned(),
            program: known.program.into(),
            args: known.args.iter().map(|&arg| arg.to_owned()).collect(),
            model_flag: known.model_flag.map(str::to_owned),
            env: pairs.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
            resumes: known.resumes,
            names_cost: known.names_cost,
            counts: known.counts,
            counts_last_call_only: known.counts_last_call_only,
            starts_servers: known.starts_servers,
        })
    }

    /// An agent that is known by its command only.
    pub fn of_command(name: &str, program: PathBuf, args: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            program,
            args,
            model_flag: None,
            env: Vec::new(),
            resumes: true,
            names_cost: false,
            counts: false,
            counts_last_call_only: false,
            starts_servers: false,
        }
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|known| known.name)
    }

    pub(super) fn arguments(&self, request: &Request) -> Vec<String> {
        let model = self.model_flag.iter().zip(&request.model);
        let model = model.flat_map(|(flag, model)| [flag.clone(), model.clone()]);
        self.args.iter().cloned().chain(model).collect()
    }

    pub(super) fn environment(&self, request: &Request) -> Vec<(String, String)> {
        let mut env = request.env.clone();
        for (name, value) in &self.env {
            if !env.iter().any(|(known, _)| known == name) {
                env.push((name.clone(), value.clone()));
            }
        }
        env
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_had_by_its_name() {
        for name in Preset::names() {
            let preset = Preset::named(name).unwrap();
            assert_eq!(preset.name, name);
            assert!(!preset.program.as_os_str().is_empty(), "{name}");
        }
        assert_eq!(Preset::named("nobody"), None);
    }
}
