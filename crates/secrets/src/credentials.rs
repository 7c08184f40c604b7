//! Which values are credentials, in the user's environment and in files that hold them.
//!
//! A variable is one by its name (`DEPLOY_TOKEN`), by the shape of its value, or in part: the
//! password of an address, the `password=` of a connection string, the `Bearer` of a header. A
//! wrong alarm turns a good change down, so what could be anything is left out: paths, plain
//! words, switches, short numbers, the user's own name.
//!
//! Pure: the caller reads the environment and the files.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::known::{KnownValue, SHORTEST_VALUE};
use crate::shapes::{self, Shapes};

/// How a file of credentials is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CredentialFormat {
    /// Any JSON: the texts under names of secrets.
    Json,
    /// Lines of `name = value` or `name: value`, as in INI, TOML, YAML and `.npmrc`.
    Lines,
    /// `machine … login … password …`.
    Netrc,
    /// `address with user and password`, one a line, as git keeps them.
    Addresses,
}

/// Returns the credentials among the variables of an environment.
pub fn in_variables(variables: &[(String, String)]) -> Vec<KnownValue> {
    let mut found = FoundCredentials::new(harmless_values(variables));
    for (name, value) in variables {
        found.variable(name, value);
    }
    found.all
}

/// Returns the credentials in a file; `label` is what they are called where they are struck.
pub fn in_file(label: &str, format: CredentialFormat, text: &str) -> Vec<KnownValue> {
    let mut found = FoundCredentials::new(BTreeSet::new());
    match format {
        CredentialFormat::Json => {
            if let Ok(document) = serde_json::from_str(text) {
                found.document(label, "", &document);
            }
        }
        CredentialFormat::Lines => text.lines().for_each(|line| found.line(label, line)),
        CredentialFormat::Netrc => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let passwords = words.windows(2).filter(|pair| pair[0] == "password");
            passwords.for_each(|pair| found.value(label, pair[1], Certainty::Password));
        }
        CredentialFormat::Addresses => text.lines().for_each(|line| found.address(label, line)),
    }
    found.all
}

/// How sure a name makes it that its value is a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Certainty {
    /// `SERVICE_KEY`: unless it is a word or two.
    Named,
    /// `DB_PASSWORD`: also if it is a word.
    Password,
}

const PASSWORDS: [&str; 8] =
    ["password", "passwd", "passphrase", "pwd", "pass", "secret", "secrets", "pgpassword"];
const SECRETS: [&str; 20] = [
    "key",
    "keys",
    "apikey",
    "token",
    "tokens",
    "authtoken",
    "auth",
    "authorization",
    "credential",
    "credentials",
    "cookie",
    "cookies",
    "bearer",
    "jwt",
    "pat",
    "dsn",
    "signature",
    "sig",
    "access",
    "refresh",
];
/// Words that say that a value is something about a secret and not the secret.
const HARMLESS: [&str; 26] = [
    "public",
    "path",
    "file",
    "dir",
    "sock",
    "socket",
    "type",
    "kind",
    "method",
    "mode",
    "provider",
    "name",
    "user",
    "username",
    "host",
    "port",
    "url",
    "uri",
    "endpoint",
    "expires",
    "expiry",
    "timeout",
    "ttl",
    "agent",
    "algorithm",
    "scope",
];
/// Variables that hold no secret, whatever their words say.
const NO_SECRETS: [&str; 4] = ["PWD", "OLDPWD", "SSH_AUTH_SOCK", "GPG_KEY"];

fn certainty(name: &str) -> Option<Certainty> {
    if NO_SECRETS.contains(&name) {
        return None;
    }
    let words = shapes::words(name.as_bytes());
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if has(&HARMLESS) {
        None
    } else if has(&PASSWORDS) {
        Some(Certainty::Password)
    } else {
        has(&SECRETS).then_some(Certainty::Named)
    }
}

/// The user's and the machine's names, which stand everywhere.
fn harmless_values(variables: &[(String, String)]) -> BTreeSet<String> {
    const NAMES: [&str; 8] =
        ["USER", "LOGNAME", "USERNAME", "HOSTNAME", "HOST", "NAME", "HOME", "SHELL"];
    let named = variables.iter().filter(|(name, _)| NAMES.contains(&name.as_str()));
    named.map(|(_, value)| value.clone()).collect()
}

struct FoundCredentials {
    harmless: BTreeSet<String>,
    all: Vec<KnownValue>,
}

impl FoundCredentials {
    fn new(harmless: BTreeSet<String>) -> Self {
        Self { harmless, all: Vec::new() }
    }

    fn variable(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if value.len() < SHORTEST_VALUE {
            return;
        }
        if value.starts_with('{')
            && let Ok(document) = serde_json::from_str(value)
        {
            // A service account, whole.
            return self.document(name, name, &document);
        }
        self.shaped(name, value);
        self.parts(name, value);
        let is_whole =
            !value.contains("://") && self.all.last().is_none_or(|last| last.name != name);
        if let Some(certainty) = certainty(name).filter(|_| is_whole) {
            self.value(name, value, certainty);
        }
    }

    /// Takes what has a form of its own.
    fn shaped(&mut self, label: &str, text: &str) {
        // Putting the forms together takes longer than all the rest.
        if !shapes::may_have_form(text) {
            return;
        }
        for (_, span) in Shapes::get().fixed(text.as_bytes()) {
            self.value(label, &text[span], Certainty::Password);
        }
    }

    /// Takes the secret parts of a longer text: an address, a connection string, a header.
    fn parts(&mut self, label: &str, text: &str) {
        for word in
            text.split([' ', '\n', '\t', ',', '"', '\'']).filter(|word| word.contains("://"))
        {
            self.address(label, word);
        }
        for part in text.split(['\n', ';', '&', '?']) {
            // Without a name of a few letters the sign is a part of the value.
            let named = |(name, _): &(&str, &str)| is_name(name.trim());
            let pair = part.split_once('=').filter(named);
            let pair = pair.or_else(|| part.split_once(": ").filter(named));
            let Some((name, value)) = pair else { continue };
            if let Some(certainty) = certainty(name.trim()) {
                self.value(label, after_scheme(value.trim()), certainty);
            }
        }
        // libpq's own way: `host=db password=…`.
        for word in text.split_whitespace().filter(|_| text.contains(' ')) {
            if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name))
                && let Some(certainty) = certainty(name)
            {
                self.value(label, value, certainty);
            }
        }
    }

    /// Takes the user and password of an address.
    fn address(&mut self, label: &str, text: &str) {
        let Some((_, rest)) = text.trim().split_once("://") else { return };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let Some((user_info, host)) = authority.rsplit_once('@') else { return };
        match user_info.split_once(':') {
            Some((user, password)) if !password.is_empty() => {
                let decoded = decoded(password);
                for password in [password, &decoded] {
                    self.value(label, password, Certainty::Password);
                }
                // A password that is short by itself is not, together with its surroundings.
                self.value(label, user_info, Certainty::Password);
                self.value(label, &format!(":{password}@{host}"), Certainty::Password);
                // A token is often given in the place of the user.
                if password == "x-oauth-basic" || shapes::looks_random(user.as_bytes()) {
                    self.value(label, user, Certainty::Named);
                }
            }
            _ => self.value(label, user_info.trim_end_matches(':'), Certainty::Named),
        }
    }

    fn line(&mut self, label: &str, line: &str) {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            return;
        }
        self.parts(label, line);
        // `//registry.npmjs.org/:_authToken=…`, `oauth_token: …`, `token = "…"`
        let Some(at) = line.find(['=']).or_else(|| line.find(": ")) else { return };
        let name = line[..at].rsplit([':', '/', '.', ' ']).find(|word| !word.trim().is_empty());
        let value = line[at + 1..].trim().trim_matches(['"', '\'']);
        if let Some(certainty) = name.and_then(certainty) {
            // `${NAME}` is where it comes from, not what it is.
            if !value.starts_with("${") {
                self.value(label, after_scheme(value), certainty);
            }
        }
    }

    /// Takes the texts of a document whose names are those of secrets; in `auths` of Docker and
    /// in sign-ins of agents the name may be that of an object around them.
    fn document(&mut self, label: &str, name: &str, document: &Value) {
        match document {
            Value::String(text) => {
                self.shaped(label, text);
                self.parts(label, text);
                if let Some(certainty) = certainty(name) {
                    self.value(label, text, certainty);
                }
            }
            Value::Array(all) => all.iter().for_each(|one| self.document(label, name, one)),
            Value::Object(fields) => {
                for (field, one) in fields {
                    self.document(label, field, one);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn value(&mut self, label: &str, value: &str, certainty: Certainty) {
        // Lines of a key are printed one by one, and a variable may have them in one line.
        let lines: Vec<&str> = value.split("\\n").flat_map(str::lines).collect();
        if lines.len() > 1 {
            let inner = lines.iter().filter(|line| !line.contains("-----"));
            inner.for_each(|line| self.value(label, line.trim(), Certainty::Password));
            return;
        }
        let value = value.trim().trim_matches(['"', '\'']);
        if value.len() < SHORTEST_VALUE
            || value.len() > LONGEST_VALUE
            || self.harmless.contains(value)
            || is_ordinary(value, certainty)
        {
            return;
        }
        let known = KnownValue::new(label, value);
        if !self.all.iter().any(|one| one.value == known.value) {
            self.all.push(known);
        }
    }
}

/// Beyond this a value is a document, whose parts are taken one by one.
const LONGEST_VALUE: usize = 16 << 10;

fn is_name(text: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(letter)
}

/// Returns what follows `Bearer`, `Basic` or `token` in a header.
fn after_scheme(value: &str) -> &str {
    match value.split_once(' ') {
        Some((scheme, rest))
            if ["bearer", "basic", "token"].contains(&scheme.to_ascii_lowercase().as_str()) =>
        {
            rest.trim()
        }
        _ => value,
    }
}

/// Undoes the encoding of a password in an address.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()).filter(|_| first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns whether a value is one that stands in many places by itself.
fn is_ordinary(value: &str, certainty: Certainty) -> bool {
    let bytes = value.as_bytes();
    let distinct = bytes.iter().collect::<BTreeSet<_>>().len();
    let is_number = bytes.iter().all(u8::is_ascii_digit);
    // Times, versions and addresses of machines.
    let is_figures = bytes.iter().all(|byte| byte.is_ascii_digit() || b".-+_:TZ ".contains(byte));
    distinct < 4
        || is_path(value)
        || value.starts_with("${")
        || is_figures && (!is_number || value.len() < 16)
        || certainty == Certainty::Named && is_words(value)
}

/// Returns whether a value is a path. A key may begin with a slash as well, but what follows
/// has no short names with slashes between them.
fn is_path(value: &str) -> bool {
    let begins = ["/", "~/", "./", "../", "file:"].iter().any(|start| value.starts_with(start));
    let is_list = value.contains(":/");
    let short = value.split('/').all(|name| name.len() < 20);
    let inner = value.trim_start_matches(['/', '.', '~']);
    (begins || is_list) && (short || is_list || !shapes::looks_random(inner.as_bytes()))
}

/// Returns whether a value is one or two words of one case.
fn is_words(value: &str) -> bool {
    let words: Vec<&str> = value.split(['-', '_', '.', ' ']).collect();
    let is_word = |word: &&str| {
        let tail = word.get(1..).unwrap_or_default();
        word.bytes().all(|byte| byte.is_ascii_uppercase())
            || word.bytes().all(|byte| byte.is_ascii_alphabetic())
                && tail.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    words.len() <= 2 && words.iter().all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value here is made up.
    #[track_caller]
    fn check(name: &str, value: &str, expected: &[&str]) {
        let variables = [("USER", "somebody-with-a-name"), (name, value)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found: Vec<String> =
            in_variables(&variables).into_iter().map(|known| known.value).collect();
        assert_eq!(found, expected, "{name}={value}");
    }

    #[test]
    fn a_variable_is_a_credential_by_its_name() {
        for name in [
            "DEPLOY_KEY",
            "ci_token",
            "npm_config__authToken",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "SESSION_COOKIE",
            "X_AUTH",
            "GoogleCredentials",
        ] {
            check(name, "umbrella-17-quartz", &["umbrella-17-quartz"]);
        }
        check("DB_PASSWORD", "correcthorsebattery", &["correcthorsebattery"]);
        check("BOT_TOKEN", "correct-horse-battery-staple", &["correct-horse-battery-staple"]);
        check(
            "X_KEY",
            "/q7Zk2LmX9vB4tR8wY1nC5pD3s+F6gH0jKaUeIo",
            &["/q7Zk2LmX9vB4tR8wY1nC5pD3s+F6gH0jKaUeIo"],
        );
    }

    #[test]
    fn what_could_be_anything_is_none() {
        for (name, value) in [
            ("KEYBOARD_LAYOUT", "umbrella-17-quartz"),
            ("MONKEY", "umbrella-17-quartz"),
            ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh"),
            ("KEY_FILE", "umbrella-17-quartz"),
            ("X_KEY", "/srv/keys/.ssh/id_ed25519"),
            ("X_TOKEN", "kubernetes-oidc"),
            ("X_TOKEN", "20261117101500"),
            ("LAST_REFRESH", "2026-11-17T10:15:00.123456Z"),
            ("X_TOKEN", "somebody-with-a-name"),
            ("X_TOKEN", "xxxxxxxxxxxxxxxx"),
            ("X_TOKEN", "${OTHER_TOKEN_OF_MINE}"),
            ("X_TOKEN", "short-value"),
            ("PWD", "/srv/some-place-or-other"),
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("AUTH_URL", "https://login.example.org/auth?client=spore"),
            ("HTTPS_PROXY", "http://proxy.example.org:3128"),
        ] {
            check(name, value, &[]);
        }
    }

    #[test]
    fn the_password_of_an_address_is_a_credential_and_the_address_is_not() {
        check(
            "PIP_INDEX_URL",
            "https://me:umbrella-17@pypi.example.org/simple",
            &["me:umbrella-17", ":umbrella-17@pypi.example.org"],
        );
        check(
            "DATABASE_URL",
            "postgres://app:umbrella%2F17-quartz@db:5432/x?sslmode=require",
            &[
                "umbrella%2F17-quartz",
                "umbrella/17-quartz",
                "app:umbrella%2F17-quartz",
                ":umbrella%2F17-quartz@db:5432",
            ],
        );
        check("https_proxy", "http://u:p1w2@10.0.0.1:3128", &[":p1w2@10.0.0.1:3128"]);
        check(
            "GIT_REMOTE",
            "https://umbrella-17-quartz@git.example.org/a.git",
            &["umbrella-17-quartz"],
        );
        check(
            "FEED",
            "https://a.example.org/x?token=umbrella-17-quartz&b=1",
            &["umbrella-17-quartz"],
        );
    }

    #[test]
    fn parts_of_strings_and_headers_are_credentials() {
        check("CONNECTION", "Server=db;Uid=app;Pwd=umbrella-17-quartz;", &["umbrella-17-quartz"]);
        check("PG", "host=db user=app password=umbrella-17-quartz", &["umbrella-17-quartz"]);
        check(
            "ANTHROPIC_CUSTOM_HEADERS",
            "X-Api-Key: umbrella-17-quartz\nX-Team: a",
            &["umbrella-17-quartz"],
        );
        check("GIT_CONFIG_VALUE_0", "AUTHORIZATION: basic dW1icmVsbGEtMTc=", &["dW1icmVsbGEtMTc="]);
        let account = r#"{"type":"service_account","private_key":"-----BEGIN X-----\numbrella-17-quartz\nlamp-34-granite-9\n-----END X-----\n","client_id":"123456789012345"}"#;
        check("ACCOUNT", account, &["umbrella-17-quartz", "lamp-34-granite-9"]);
    }

    #[track_caller]
    fn check_file(format: CredentialFormat, text: &str, expected: &[&str]) {
        let found: Vec<String> =
            in_file("x", format, text).into_iter().map(|known| known.value).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn files_of_credentials_are_read_as_their_programs_write_them() {
        use CredentialFormat::{Addresses, Json, Lines, Netrc};
        check_file(
            Json,
            r#"{"claudeAiOauth":{"accessToken":"umbrella-17-quartz","refreshToken":"lamp-34-granite",
                "expiresAt":1763373600000,"scopes":["user:inference"],"subscriptionType":"max"}}"#,
            &["umbrella-17-quartz", "lamp-34-granite"],
        );
        check_file(
            Json,
            r#"{"auths":{"r.example.org":{"auth":"dW1icmVsbGEtMTc="}},"credsStore":"desktop"}"#,
            &["dW1icmVsbGEtMTc="],
        );
        check_file(
            Json,
            r#"{"anthropic":{"type":"oauth","refresh":"umbrella-17-quartz","access":"lamp-34-granite"}}"#,
            &["lamp-34-granite", "umbrella-17-quartz"],
        );
        check_file(
            Netrc,
            "machine a login me password umbrella-17-quartz",
            &["umbrella-17-quartz"],
        );
        check_file(
            Lines,
            "registry=https://r.example.org/\n//r.example.org/:_authToken=umbrella-17-quartz\n\
             //other/:_authToken=${NPM_TOKEN}\n; token = lamp-34-granite-9\n",
            &["umbrella-17-quartz"],
        );
        check_file(
            Lines,
            "[default]\naws_access_key_id = UMBRELLA17QUARTZ\naws_secret_access_key = lamp/34+granite9\n",
            &["UMBRELLA17QUARTZ", "lamp/34+granite9"],
        );
        check_file(
            Lines,
            "github.com:\n    user: somebody\n    oauth_token: umbrella-17-quartz\n",
            &["umbrella-17-quartz"],
        );
        check_file(Lines, "[registry]\ntoken = \"umbrella-17-quartz\"\n", &["umbrella-17-quartz"]);
        check_file(
            Addresses,
            "https://me:umbrella-17-quartz@git.example.org\n",
            &["umbrella-17-quartz", "me:umbrella-17-quartz", ":umbrella-17-quartz@git.example.org"],
        );
    }
}
