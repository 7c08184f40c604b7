//! Servers of models that people run on their own machine: llama.cpp, Ollama, LM Studio.
//!
//! They speak Chat Completions on the loopback address, need no key and cost nothing. Which
//! models they have is asked for at `/v1/models`, which all of them know.

use std::io::Read;
use std::time::Duration;

use serde_json::Value;

/// More than any list of models.
const LIST_BYTES: u64 = 4 << 20;

/// How many models of a server are told.
const MODELS: usize = 200;

/// A known kind of server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LocalPreset {
    /// What `--backend` takes.
    pub name: &'static str,
    /// How it is started.
    pub start: &'static str,
    /// What a request names where the user chose none: a server of one model does not look at it.
    pub model: Option<&'static str>,
}

pub const LOCAL_PRESETS: [LocalPreset; 3] = [
    LocalPreset {
        name: "ollama",
        start: "start it with `ollama serve`, and get a model with `ollama pull NAME`",
        model: None,
    },
    LocalPreset {
        name: "llama-server",
        start: "start it with `llama-server -m MODEL.gguf --jinja`",
        model: Some("default"),
    },
    LocalPreset {
        name: "lmstudio",
        start: "start it with `lms server start`, and load a model in LM Studio",
        model: None,
    },
];

impl LocalPreset {
    pub fn named(name: &str) -> Option<Self> {
        LOCAL_PRESETS.into_iter().find(|preset| preset.name == name)
    }
}

/// Returns whether sessions of `backend` run in Spore's own process, with Spore's own tools.
pub fn is_own_loop(backend: &str) -> bool {
    backend == "api" || LocalPreset::named(backend).is_some()
}

/// A preset, and where its server is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalServer {
    pub preset: LocalPreset,
    /// With its scheme and without a path: `http://127.0.0.1:8080`.
    pub address: String,
}

impl LocalServer {
    /// Returns where its protocol is spoken.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.address.trim_end_matches('/'))
    }

    /// Asks for the models that it has, or says why there is no answer.
    pub fn models(&self, patience: Duration) -> Result<Vec<String>, String> {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(patience))
            .max_redirects(0)
            .proxy(None)
            .user_agent("spore")
            .build();
        let url = format!("{}/models", self.base_url());
        let response = ureq::Agent::new_with_config(config)
            .get(&url)
            .call()
            .map_err(|error| error.to_string())?;
        let mut text = String::new();
        let read = response.into_body().into_reader().take(LIST_BYTES).read_to_string(&mut text);
        read.map_err(|error| error.to_string())?;
        models_in(&text).ok_or_else(|| "what it answers is no list of models".to_owned())
    }

    /// Says that the server does not answer, and what to do.
    pub(super) fn silence(&self, why: &str) -> String {
        let Self { preset, address } = self;
        format!("no answer from {} at {address} ({why}): {}", preset.name, preset.start)
    }
}

fn models_in(text: &str) -> Option<Vec<String>> {
    let answer: Value = serde_json::from_str(text).ok()?;
    let listed = answer.get("data")?.as_array()?;
    let names = listed.iter().filter_map(|model| model.get("id").and_then(Value::as_str));
    Some(names.take(MODELS).map(|name| spore_plain::line_within(name, 200)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_of_a_server_are_read_from_its_list() {
        let list = r#"{"object": "list", "data": [{"id": "a:1b"}, {"id": "b\u001b[31m"}, {}]}"#;
        assert_eq!(models_in(list).unwrap(), ["a:1b", "b"]);
        assert_eq!(models_in(r#"{"data": []}"#).unwrap(), Vec::<String>::new());
        assert_eq!(models_in("{}"), None);
        assert_eq!(models_in("hello"), None);
    }
}
