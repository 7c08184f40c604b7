//! What an agent reaches over the network: its model, by the settings for its backend and by the
//! base URLs that the user gave it, and what the settings list for all agents.
//!
//! Which base URLs count: those in the variables that only this agent sees, and in the user's own
//! settings files of which its home gets a copy. The copies are not looked at: an agent writes them.

use std::io::Read;
use std::path::{Path, PathBuf};

use spore_agent::api::is_own_loop;
use spore_config::{Config, ReachList};
use spore_effects::session::Reached;
use spore_model::NetAddress;

/// More than a person writes into settings by hand.
const LONGEST_SETTINGS: u64 = 1 << 20;

/// The variables of a session that say what is on the network.
#[derive(Default)]
pub(crate) struct NetworkVariables {
    /// Those that only this agent sees, among them the address of its model.
    own: Vec<(String, String)>,
    /// The ways through the user's proxies.
    proxies: Vec<(String, String)>,
}

impl NetworkVariables {
    /// Finds them among the variables that a session sees.
    pub(crate) fn among(seen: &[(String, String)], is_own: impl Fn(&str) -> bool) -> Self {
        const PROXIES: [&str; 3] = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"];
        let is_proxy = |name: &str| PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy));
        let (proxies, others): (Vec<_>, Vec<_>) =
            seen.iter().cloned().partition(|(name, _)| is_proxy(name));
        Self { own: others.into_iter().filter(|(name, _)| is_own(name)).collect(), proxies }
    }

    /// Says which proxies agents cannot use, a sentence each.
    pub(super) fn unusable(&self) -> Vec<String> {
        let refused = self.proxies.iter().filter(|(_, value)| proxy(value).is_err());
        let say = |name: &String| {
            format!(
                "Agents do not reach the proxy in {name}: only one with http:// can be held to a list."
            )
        };
        refused.map(|(name, _)| say(name)).collect()
    }
}

/// Returns what a session of `backend` reaches; nothing where it is the machine's own network.
pub(super) fn reached(
    config: &Config,
    backend: &str,
    variables: &NetworkVariables,
    settings: &[PathBuf],
) -> Option<Vec<Reached>> {
    if reaches_everything(config, backend) {
        return None;
    }
    let mut addresses = config.sandbox.network.addresses.clone();
    // The commands of this backend are its only processes; the model is asked by us.
    if !is_own_loop(backend) {
        addresses.extend(own(config, backend).into_iter().flat_map(|own| own.addresses.clone()));
        addresses.extend(variables.own.iter().flat_map(|(_, value)| in_variable(value)));
        addresses.extend(settings.iter().flat_map(|file| in_settings(&read(file))));
    }
    addresses.sort();
    addresses.dedup();
    // What is local to the proxy is not what is local here.
    let tunnels: Vec<NetAddress> =
        addresses.iter().filter(|address| !address.is_local()).cloned().collect();
    let proxies = variables.proxies.iter().filter_map(|(_, value)| proxy(value).ok().flatten());
    // Before the others: what is a proxy is not reached for anything else.
    let proxies = proxies.map(|address| Reached { address, tunnels: Some(tunnels.clone()) });
    Some(proxies.chain(addresses.into_iter().map(Reached::plainly)).collect())
}

/// Returns whether agents of `backend` have the machine's own network, by what the settings say.
pub(super) fn reaches_everything(config: &Config, backend: &str) -> bool {
    config.sandbox.network.everything || own(config, backend).is_some_and(|own| own.everything)
}

fn own<'a>(config: &'a Config, backend: &str) -> Option<&'a ReachList> {
    let name = backend.strip_prefix("acp:").unwrap_or(backend);
    config.sandbox.agents.get(name).map(|agent| &agent.network)
}

/// Returns the address of a proxy; an error where it speaks something that cannot be looked into.
fn proxy(value: &str) -> Result<Option<NetAddress>, ()> {
    let value = value.trim();
    match value.split_once("://") {
        _ if value.is_empty() => Ok(None),
        // Programs take a bare host for one that speaks HTTP.
        None => Ok(address_in(&format!("http://{value}"))),
        Some((scheme, _)) if scheme.eq_ignore_ascii_case("http") => Ok(address_in(value)),
        Some(_) => Err(()),
    }
}

/// Returns the addresses in the value of a variable, which is a URL or settings as text.
fn in_variable(value: &str) -> Vec<NetAddress> {
    match address_in(value.trim()) {
        Some(address) => vec![address],
        None => in_settings(value),
    }
}

/// Returns the addresses of base URLs in settings, in any of the forms that settings have: the last
/// word before a URL is its name.
fn in_settings(text: &str) -> Vec<NetAddress> {
    let is_wordy = |char: char| char.is_ascii_alphanumeric() || "_-$".contains(char);
    let starts = text.match_indices("://").filter_map(|(at, _)| {
        let before = &text[..at];
        let scheme = before.rfind(|char: char| !char.is_ascii_alphabetic()).map_or(0, |at| at + 1);
        // What is between a name and its value: quotes, a colon or an equals sign.
        let name = before[..scheme].trim_end_matches(['"', '\'', ' ', ':', '=', '\t']);
        let word = name.rfind(|char: char| !is_wordy(char)).map_or(0, |at| at + 1);
        let end = text[at..].find(['"', '\'', ' ', ',', '\n', '\r', '\t', '}', '<', '>']);
        let url = &text[scheme..end.map_or(text.len(), |end| at + end)];
        names_a_base(name.get(word..)?).then_some(url)
    });
    starts.filter_map(address_in).collect()
}

/// Returns whether a setting of this name says where a model is: `base_url`, `baseURL`,
/// `OPENAI_HOST`, `endpoint`.
fn names_a_base(name: &str) -> bool {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    name.contains("baseurl") || name.contains("endpoint") || name.ends_with("host")
}

/// Returns the host and port of a URL.
fn address_in(url: &str) -> Option<NetAddress> {
    let (scheme, rest) = url.split_once("://")?;
    let port = match scheme.to_ascii_lowercase().as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(address) = NetAddress::read(host) {
        return Some(address);
    }
    let host = host.strip_suffix(':').unwrap_or(host);
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    Some(NetAddress::new(bare, port)).filter(NetAddress::is_sound)
}

/// Reads the user's settings file; one that cannot be read says nothing.
fn read(file: &Path) -> String {
    let mut text = Vec::new();
    let opened = std::fs::File::open(file).ok();
    let _ = opened.map(|file| file.take(LONGEST_SETTINGS).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
impl NetworkVariables {
    /// The names of both kinds.
    pub(crate) fn names(&self) -> [String; 2] {
        [&self.own, &self.proxies]
            .map(|kind| kind.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use spore_config::{SettingsLayer, SettingsOrigin};

    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// Writes what is reached as text, a proxy with what it is for.
    fn told(reach: Option<Vec<Reached>>) -> String {
        let Some(reach) = reach else { return "*".to_owned() };
        let one = |reached: Reached| match reached.tunnels {
            None => reached.address.to_string(),
            Some(tunnels) => {
                let tunnels: Vec<String> = tunnels.iter().map(ToString::to_string).collect();
                format!("{}({})", reached.address, tunnels.join(" "))
            }
        };
        reach.into_iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(
        settings: &str,
        backend: &str,
        own: &[(&str, &str)],
        proxies: &[&str],
        expected: &str,
    ) {
        let layer =
            SettingsLayer { origin: SettingsOrigin::Flag("test".into()), text: settings.into() };
        let config = Config::load(&[layer]).unwrap().config;
        let proxies = proxies.iter().map(|value| ("HTTPS_PROXY", *value)).collect::<Vec<_>>();
        let variables = NetworkVariables { own: pairs(own), proxies: pairs(&proxies) };
        assert_eq!(told(reached(&config, backend, &variables, &[])), expected);
    }

    const CLAUDE: &str = "api.anthropic.com:443 platform.claude.com:443";

    #[test]
    fn an_agent_reaches_its_model_and_what_is_listed() {
        check("", "claude", &[], &[], CLAUDE);
        check("", "acp:mine", &[], &[], "");
        let mine = "sandbox.agents.mine.network = [\"m.example.org:1\"]";
        check(mine, "acp:mine", &[], &[], "m.example.org:1");
        check(mine, "mine", &[], &[], "m.example.org:1");
        let listed = "sandbox.network = [\"a.example.org\", \"127.0.0.1:5432\"]";
        let both = "127.0.0.1:5432 a.example.org:80 a.example.org:443";
        check(listed, "command", &[], &[], both);
        check(listed, "api", &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")], &[], both);
        check(listed, "llama-server", &[("OPENAI_BASE_URL", "http://127.0.0.1:9")], &[], both);
        check("sandbox.network = [\"*\"]", "claude", &[], &[], "*");
        check("sandbox.agents.mine.network = [\"*\"]", "acp:mine", &[], &[], "*");
    }

    #[test]
    fn the_base_urls_of_an_agent_are_reached() {
        for (value, expected) in [
            ("http://127.0.0.1:8080/v1/", "127.0.0.1:8080"),
            ("https://gate.example.org", "gate.example.org:443"),
            ("http://me:secret@Gate.example.org:81/x?y#z", "gate.example.org:81"),
            (" http://[::1]:8080 ", "[::1]:8080"),
            ("http://[::1]/", "[::1]:80"),
            ("HTTP://localhost", "localhost:80"),
            ("postgres://db.example.org:5432", ""),
            ("sk-key", ""),
            ("http://", ""),
            ("http://a b", ""),
            (
                r#"{"$schema": "https://x.example.org/s.json", "p": {"baseURL": "http://127.0.0.1:7/v1"}}"#,
                "127.0.0.1:7",
            ),
            (
                "base_url = 'https://one.example.org/v1'\nmcp_url = \"https://two.example.org\"\n",
                "one.example.org:443",
            ),
            ("OPENAI_HOST: https://goose.example.org\n", "goose.example.org:443"),
            ("see https://docs.example.org for the endpoint", ""),
        ] {
            check("", "command", &[("X_URL", value)], &[], expected);
        }
    }

    #[test]
    fn a_proxy_is_for_what_is_listed_and_is_elsewhere() {
        let settings = "sandbox.network = [\"a.example.org:443\", \"127.0.0.1:5432\"]";
        let expected =
            |proxy: &str| format!("{proxy}(a.example.org:443) 127.0.0.1:5432 a.example.org:443");
        for proxy in ["http://me:secret@proxy.example.org:3128", "proxy.example.org:3128"] {
            check(settings, "api", &[], &[proxy], &expected("proxy.example.org:3128"));
        }
        for proxy in ["", "socks5://127.0.0.1:1080", "https://proxy.example.org"] {
            check(settings, "api", &[], &[proxy], "127.0.0.1:5432 a.example.org:443");
        }
        let proxies = pairs(&[("ALL_PROXY", "socks5://x"), ("HTTP_PROXY", "http://x"), ("no", "")]);
        let said = NetworkVariables { own: Vec::new(), proxies }.unusable();
        assert_eq!(
            said,
            [
                "Agents do not reach the proxy in ALL_PROXY: only one with http:// can be held to a list."
            ]
        );
    }
}
