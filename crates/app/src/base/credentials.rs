//! The user's own credentials: values that must be in nothing that Spore writes, shows to a
//! model or lets into a commit.
//!
//! They come from the environment and from the files in which agents, registries and clouds keep
//! theirs. Everything is read when it is first needed, once: a command that writes nothing pays
//! for nothing. What counts as a credential is said by the crate `secrets`, which also strikes.
//!
//! Agents renew their tokens, so the files are looked at again when a session begins and ends; what
//! was known stays known. A token that is new to a session is struck from what is written after it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use spore_git::Repository;
use spore_secrets::credentials::{self, CredentialFormat};
use spore_secrets::{KnownSecrets, KnownValue};

use CredentialFormat::{Addresses, Json, Lines, Netrc};

/// A larger file holds more than credentials.
const MOST_BYTES: u64 = 1 << 20;

/// A file that may hold credentials: what they are called, a variable that says where it is
/// and the name below that, its place below the home, and how it is written.
struct CredentialFile {
    label: &'static str,
    moved: Option<(&'static str, &'static str)>,
    at_home: &'static str,
    format: CredentialFormat,
}

const fn at(
    label: &'static str,
    at_home: &'static str,
    format: CredentialFormat,
) -> CredentialFile {
    CredentialFile { label, moved: None, at_home, format }
}

const fn moved_by(
    variable: &'static str,
    name: &'static str,
    file: CredentialFile,
) -> CredentialFile {
    CredentialFile { moved: Some((variable, name)), ..file }
}

const FILES: [CredentialFile; 19] = [
    moved_by(
        "CLAUDE_CONFIG_DIR",
        ".credentials.json",
        at("claude sign-in", ".claude/.credentials.json", Json),
    ),
    moved_by("CODEX_HOME", "auth.json", at("codex sign-in", ".codex/auth.json", Json)),
    moved_by(
        "XDG_DATA_HOME",
        "opencode/auth.json",
        at("opencode sign-in", ".local/share/opencode/auth.json", Json),
    ),
    at("gemini sign-in", ".gemini/oauth_creds.json", Json),
    at("qwen sign-in", ".qwen/oauth_creds.json", Json),
    at("goose secrets", ".config/goose/secrets.yaml", Lines),
    moved_by("NETRC", "", at("netrc", ".netrc", Netrc)),
    moved_by("NPM_CONFIG_USERCONFIG", "", at("npmrc", ".npmrc", Lines)),
    moved_by(
        "CARGO_HOME",
        "credentials.toml",
        at("cargo credentials", ".cargo/credentials.toml", Lines),
    ),
    moved_by("CARGO_HOME", "credentials", at("cargo credentials", ".cargo/credentials", Lines)),
    moved_by("GH_CONFIG_DIR", "hosts.yml", at("gh sign-in", ".config/gh/hosts.yml", Lines)),
    moved_by("AWS_SHARED_CREDENTIALS_FILE", "", at("aws credentials", ".aws/credentials", Lines)),
    moved_by("DOCKER_CONFIG", "config.json", at("docker sign-in", ".docker/config.json", Json)),
    moved_by("KUBECONFIG", "", at("kube config", ".kube/config", Lines)),
    at("git credentials", ".git-credentials", Addresses),
    at("git credentials", ".config/git/credentials", Addresses),
    at("pypirc", ".pypirc", Lines),
    moved_by("PIP_CONFIG_FILE", "", at("pip config", ".config/pip/pip.conf", Lines)),
    at("pip config", ".pip/pip.conf", Lines),
];

/// The user's credentials, read when they are first asked for. Clones share what was read.
#[derive(Clone, Default)]
pub struct Credentials {
    known: Arc<Mutex<Option<KnownSecrets>>>,
    sources: Arc<CredentialSources>,
}

#[derive(Default)]
struct CredentialSources {
    variables: Vec<(String, String)>,
    /// Whose base says what is public.
    project: PathBuf,
}

impl Credentials {
    /// Those of a user with this environment, who works on the project around `project`.
    pub fn of(variables: &[(String, String)], project: &Path) -> Self {
        let sources =
            CredentialSources { variables: variables.to_vec(), project: project.to_owned() };
        Self { known: Arc::default(), sources: Arc::new(sources) }
    }

    /// Returns their values.
    pub fn known(&self) -> KnownSecrets {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || {
            let project = self.sources.project.clone();
            KnownSecrets::unless(self.sources.read(), move |value| is_in_base(&project, value))
        };
        known.get_or_insert_with(read).clone()
    }

    /// Takes up what the files hold by now, besides what they held.
    pub(crate) fn look_again(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_mut() {
            *known = known.with(self.sources.read());
        }
    }
}

impl CredentialSources {
    fn read(&self) -> Vec<KnownValue> {
        let mut values = credentials::in_variables(&self.variables);
        for file in FILES {
            let Some(text) = self.place(&file).and_then(|path| read_bounded(&path)) else {
                continue;
            };
            values.extend(credentials::in_file(file.label, file.format, &text));
        }
        values
    }

    fn place(&self, file: &CredentialFile) -> Option<PathBuf> {
        let moved = file.moved.and_then(|(variable, name)| {
            let dir = PathBuf::from(self.variable(variable)?);
            Some(if name.is_empty() { dir } else { dir.join(name) })
        });
        moved.or_else(|| Some(Path::new(self.variable("HOME")?).join(file.at_home)))
    }

    fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// Reads a file that is there, is a file and is not large. One that cannot be read is passed over:
/// what the user cannot read no agent of the user's prints.
fn read_bounded(path: &Path) -> Option<String> {
    // A pipe would wait for a writer.
    let is_fit = path.metadata().is_ok_and(|data| data.is_file() && data.len() <= MOST_BYTES);
    let file = is_fit.then(|| File::open(path).ok())??;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

/// Returns whether the commit that the user is on holds a value: then it is no secret.
fn is_in_base(project: &Path, value: &str) -> bool {
    let held = Repository::discover(project)
        .and_then(|repository| repository.holds(&repository.head()?, value));
    held.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_found_in_variables_and_files_and_large_files_are_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = home.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(".netrc", "machine a login b password made-up-netrc-1\n");
        write(".npmrc", "//r.example.org/:_authToken=made-up-npmrc-2\n");
        write("elsewhere/auth.json", r#"{"tokens":{"access_token":"made-up-codex-3"}}"#);
        write(".codex/auth.json", r#"{"tokens":{"access_token":"made-up-other-4"}}"#);
        let large = format!("password = made-up-large-5\n{}", "#\n".repeat(1 << 20));
        write(".pypirc", &large);
        let variables = [
            ("HOME", home.path().display().to_string()),
            ("CODEX_HOME", home.path().join("elsewhere").display().to_string()),
            ("DEPLOY_TOKEN", "made-up-variable-6".to_owned()),
        ];
        let variables: Vec<_> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let known = Credentials::of(&variables, home.path());
        let text = "made-up-netrc-1 made-up-npmrc-2 made-up-codex-3 made-up-other-4 \
                    made-up-large-5 made-up-variable-6";
        assert_eq!(
            known.known().strike(text),
            "[secret netrc] [secret npmrc] [secret codex sign-in] made-up-other-4 \
             made-up-large-5 [secret DEPLOY_TOKEN]"
        );
        write("elsewhere/auth.json", r#"{"tokens":{"access_token":"made-up-renewed-7"}}"#);
        known.look_again();
        let sign_in = "[secret codex sign-in] [secret codex sign-in]";
        assert_eq!(known.known().strike("made-up-codex-3 made-up-renewed-7"), sign_in);
    }
}
