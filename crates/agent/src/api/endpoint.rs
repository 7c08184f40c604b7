//! The address of a model's server and the headers with its key. The only module that sees a key.

use super::{LocalServer, Protocol};

/// Variables that Spore reads and that commands of a session must not see.
const OURS: [&str; 6] = ["ANTHROPIC_", "CLAUDE_CODE_", "OPENAI_", "CODEX_", "GEMINI_", "GOOGLE_"];

const SECRET_ENDINGS: [&str; 5] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"];

/// A shorter text is no key, and hiding it would hide words.
const SHORTEST_SECRET: usize = 6;

/// Has no `Debug`, because it holds a key.
pub(super) struct Endpoint {
    pub(super) url: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) proxy: Option<String>,
    secrets: Vec<String>,
}

impl Endpoint {
    /// Finds it in the session's environment, or says what is missing there.
    pub(super) fn find(protocol: Protocol, env: &[(String, String)]) -> Result<Self, String> {
        let (base_name, key_name, vendor, path) = match protocol {
            Protocol::Messages => (
                "ANTHROPIC_BASE_URL",
                "ANTHROPIC_API_KEY",
                "https://api.anthropic.com",
                "/v1/messages",
            ),
            Protocol::Responses => {
                ("OPENAI_BASE_URL", "OPENAI_API_KEY", "https://api.openai.com/v1", "/responses")
            }
            Protocol::Chat => (
                "OPENAI_BASE_URL",
                "OPENAI_API_KEY",
                "https://api.openai.com/v1",
                "/chat/completions",
            ),
        };
        let base = variable(env, base_name);
        let key = variable(env, key_name);
        // A server that the user runs may want no key.
        if key.is_none() && base.is_none() {
            return Err(format!("{key_name} is not set"));
        }
        let url = format!("{}{path}", base.unwrap_or(vendor).trim_end_matches('/'));
        let mut headers = vec![("content-type", "application/json".to_owned())];
        if protocol == Protocol::Messages {
            headers.push(("anthropic-version", "2023-06-01".to_owned()));
        }
        match (key, protocol) {
            (Some(key), Protocol::Messages) => headers.push(("x-api-key", key.to_owned())),
            (Some(key), _) => headers.push(("authorization", format!("Bearer {key}"))),
            (None, _) => {}
        }
        let proxy = proxy(env, &url);
        Ok(Self { url, headers, proxy, secrets: secrets(env) })
    }

    /// A server on this machine: it has no key, and gets none.
    pub(super) fn local(server: &LocalServer, env: &[(String, String)]) -> Self {
        let url = format!("{}/chat/completions", server.base_url());
        let headers = vec![("content-type", "application/json".to_owned())];
        Self { url, headers, proxy: None, secrets: secrets(env) }
    }

    /// Replaces every key in `text`.
    pub(super) fn mask(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), "***") } else { text }
        })
    }
}

fn secrets(env: &[(String, String)]) -> Vec<String> {
    env.iter()
        .filter(|(name, value)| is_secret(name) && value.len() >= SHORTEST_SECRET)
        .map(|(_, value)| value.clone())
        .collect()
}

fn variable<'a>(env: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    let found = env.iter().find(|(name, value)| name == wanted && !value.trim().is_empty());
    found.map(|(_, value)| value.trim())
}

fn is_secret(name: &str) -> bool {
    SECRET_ENDINGS.iter().any(|ending| name.to_ascii_uppercase().ends_with(ending))
}

/// What a command of the session may see: a model that reads its own key could say it.
pub(super) fn without_keys(env: &[(String, String)]) -> Vec<(String, String)> {
    env.iter()
        .filter(|(name, _)| !is_secret(name) && !OURS.iter().any(|ours| name.starts_with(ours)))
        .cloned()
        .collect()
}

fn proxy(env: &[(String, String)], url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(literal) => literal.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let either = |upper: &str, lower: &str| variable(env, lower).or(variable(env, upper));
    let direct = either("NO_PROXY", "no_proxy").unwrap_or_default();
    let is_direct = matches!(host, "localhost" | "127.0.0.1" | "::1")
        || direct.split(',').map(|name| name.trim().trim_start_matches('.')).any(|name| {
            name == "*" || name == host || (!name.is_empty() && host.ends_with(&format!(".{name}")))
        });
    if is_direct {
        return None;
    }
    let named = match scheme {
        "https" => either("HTTPS_PROXY", "https_proxy"),
        _ => either("HTTP_PROXY", "http_proxy"),
    };
    named.or(either("ALL_PROXY", "all_proxy")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[track_caller]
    fn check(protocol: Protocol, pairs: &[(&str, &str)], expected: Result<&str, &str>) {
        let found = Endpoint::find(protocol, &env(pairs)).map(|endpoint| endpoint.url);
        assert_eq!(found.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn the_environment_says_where_the_model_is() {
        let key = ("OPENAI_API_KEY", "k");
        check(Protocol::Messages, &[], Err("ANTHROPIC_API_KEY is not set"));
        check(
            Protocol::Messages,
            &[("ANTHROPIC_API_KEY", "k")],
            Ok("https://api.anthropic.com/v1/messages"),
        );
        check(Protocol::Responses, &[key], Ok("https://api.openai.com/v1/responses"));
        check(
            Protocol::Chat,
            &[("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1/")],
            Ok("http://127.0.0.1:8080/v1/chat/completions"),
        );
    }

    #[test]
    fn keys_reach_neither_commands_nor_texts() {
        let env = env(&[
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "sk-secret"),
            ("OPENAI_BASE_URL", "http://x"),
            ("GH_TOKEN", "gho_secret"),
        ]);
        assert_eq!(without_keys(&env), [("PATH".to_owned(), "/bin".to_owned())]);
        let endpoint = Endpoint::find(Protocol::Chat, &env).unwrap();
        assert_eq!(endpoint.mask("a sk-secret and gho_secret"), "a *** and ***");
    }

    #[test]
    fn a_proxy_is_used_where_the_environment_names_one() {
        let with = |more: &[(&str, &str)], url: &str| {
            let mut pairs = vec![("HTTPS_PROXY", "http://proxy:1")];
            pairs.extend_from_slice(more);
            proxy(&env(&pairs), url)
        };
        assert_eq!(with(&[], "https://api.openai.com/v1").as_deref(), Some("http://proxy:1"));
        assert_eq!(with(&[], "http://api.openai.com/v1"), None);
        assert_eq!(with(&[], "https://127.0.0.1:9/v1"), None);
        assert_eq!(with(&[], "https://[::1]:9/v1"), None);
        assert_eq!(with(&[("no_proxy", "x, .openai.com")], "https://api.openai.com/v1"), None);
    }
}
