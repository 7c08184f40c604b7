//! Where traces of runs are sent.

use std::time::Duration;

use crate::SettingsOrigin;
use crate::entries::Entries;
use crate::error::ConfigError;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TelemetryConfig {
    /// Nothing: they are not.
    pub endpoint: Option<String>,
    /// Names of headers, each with the variable that holds its value.
    pub headers: Vec<(String, String)>,
    pub timeout: Duration,
}

impl Entries<'_> {
    pub(crate) fn telemetry(self) -> Result<TelemetryConfig, ConfigError> {
        let endpoint = self.text("telemetry.endpoint")?;
        let is_address = ["http://", "https://"].iter().any(|scheme| endpoint.starts_with(scheme));
        if !endpoint.is_empty() && !is_address {
            let problem = "must be an address that begins with http:// or https://, or empty";
            return Err(self.bad("telemetry.endpoint", problem));
        }
        Ok(TelemetryConfig {
            endpoint: Some(endpoint).filter(|endpoint| !endpoint.is_empty()),
            headers: self.telemetry_headers()?,
            timeout: self.time("telemetry.timeout")?,
        })
    }

    fn telemetry_headers(self) -> Result<Vec<(String, String)>, ConfigError> {
        const KEY: &str = "telemetry.headers";
        let listed = self.list(KEY)?;
        let by_project = self
            .0
            .get(KEY)
            .is_some_and(|entry| matches!(entry.place.origin, SettingsOrigin::Project(_)));
        if by_project && !listed.is_empty() {
            let problem = "names variables of your environment: only your own settings may, not a \
                           project's";
            return Err(self.bad(KEY, problem));
        }
        let is_token = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let is_variable = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        listed
            .iter()
            .map(|one| match one.split_once('=') {
                Some((name, variable)) if is_token(name) && is_variable(variable) => {
                    Ok((name.to_owned(), variable.to_owned()))
                }
                _ => Err(self.bad(KEY, format!("{one:?} is not like \"header=VARIABLE\""))),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, SettingsLayer};

    fn read(text: &str, origin: SettingsOrigin) -> Result<TelemetryConfig, String> {
        let layer = SettingsLayer { origin, text: text.to_owned() };
        match Config::load(&[layer]) {
            Ok(loaded) => Ok(loaded.config.telemetry),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn nothing_is_sent_unless_a_person_says_where() {
        let user = || SettingsOrigin::User("config.toml".into());
        let none = read("", user()).unwrap();
        assert_eq!((none.endpoint, none.headers.len()), (None, 0));
        let set = "telemetry.endpoint = \"http://127.0.0.1:4318\"\n\
                   telemetry.headers = [\"authorization=OTLP_TOKEN\"]";
        let some = read(set, user()).unwrap();
        assert_eq!(some.endpoint.as_deref(), Some("http://127.0.0.1:4318"));
        assert_eq!(some.headers, [("authorization".to_owned(), "OTLP_TOKEN".to_owned())]);
        let refused = |text: &str, origin| read(text, origin).unwrap_err();
        assert!(refused("telemetry.endpoint = \"collector\"", user()).contains("http://"));
        assert!(refused("telemetry.headers = [\"a: b\"]", user()).contains("header=VARIABLE"));
        let project = SettingsOrigin::Project(".spore/config.toml".into());
        assert!(refused(set, project).contains("only your own settings"));
    }
}
