//! What a session with a network of its own reaches outside, and where it finds it inside. Pure.
//!
//! Programs find what they reach under the name and port that they know: a loopback address at
//! that very address, any other address on the loopback device, and a name at an address of the
//! loopback that stands for it alone and is written in the session's `/etc/hosts`. So no program
//! needs to know of a proxy, and what is encrypted stays so from end to end. There are no name
//! servers and no routes: what is not listed does not exist.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};
use spore_model::NetAddress;

/// Something outside that a session reaches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reached {
    pub address: NetAddress,
    /// Where it is a proxy: what it may be asked to tunnel to. Nothing else gets through to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnels: Option<Vec<NetAddress>>,
}

impl Reached {
    pub fn plainly(address: NetAddress) -> Self {
        Self { address, tunnels: None }
    }
}

/// Where the session finds something, inside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FoundAt {
    pub(super) at: SocketAddr,
    /// Its place in the list of what is reached.
    pub(super) reached: usize,
}

impl FoundAt {
    /// Returns whether the loopback device has the address only if it is given to it.
    pub(super) fn is_foreign(&self) -> bool {
        !self.at.ip().is_loopback()
    }
}

/// Says where everything is found. Of two at one place the first counts.
pub(super) fn places(reach: &[Reached]) -> Vec<FoundAt> {
    let names = addresses_of_names(reach);
    let mut found: Vec<FoundAt> = Vec::new();
    for (reached, Reached { address, .. }) in reach.iter().enumerate() {
        let ips: Vec<IpAddr> = match address.ip() {
            // To connect to "any" is to connect to the loopback.
            Some(IpAddr::V4(ip)) if ip.is_unspecified() => vec![Ipv4Addr::LOCALHOST.into()],
            Some(IpAddr::V6(ip)) if ip.is_unspecified() => vec![Ipv6Addr::LOCALHOST.into()],
            Some(ip) => vec![ip],
            None if address.host == "localhost" => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            None => names.get(address.host.as_str()).copied().map(IpAddr::V4).into_iter().collect(),
        };
        for at in ips.into_iter().map(|ip| SocketAddr::new(ip, address.port)) {
            if !found.iter().any(|known| known.at == at) {
                found.push(FoundAt { at, reached });
            }
        }
    }
    found
}

/// Returns the session's `/etc/hosts`. `machine` is the name that programs take for their own.
pub(super) fn hosts(reach: &[Reached], machine: &str) -> String {
    let names = addresses_of_names(reach);
    let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n".to_owned();
    let own = NetAddress::new(machine, 1);
    if own.is_sound() && own.host != "localhost" && !names.contains_key(own.host.as_str()) {
        let _ = writeln!(text, "127.0.0.1 {}", own.host);
    }
    for (name, address) in names {
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

/// Gives each name an address of the loopback that is not itself listed: 127.83.0.1 and on, in
/// their order.
fn addresses_of_names(reach: &[Reached]) -> BTreeMap<&str, Ipv4Addr> {
    let addresses = reach.iter().map(|reached| &reached.address);
    let names = addresses.filter(|address| address.ip().is_none() && address.host != "localhost");
    let names: std::collections::BTreeSet<&str> = names.map(|name| name.host.as_str()).collect();
    let addresses = (1_u16..).map(|number| {
        let [high, low] = number.to_be_bytes();
        Ipv4Addr::new(127, 83, high, low)
    });
    let is_listed =
        |ip: &Ipv4Addr| reach.iter().any(|reached| reached.address.ip() == Some(IpAddr::V4(*ip)));
    let addresses = addresses.filter(|ip| !is_listed(ip));
    names.into_iter().zip(addresses).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(texts: &[&str]) -> Vec<Reached> {
        texts.iter().map(|text| Reached::plainly(NetAddress::read(text).unwrap())).collect()
    }

    #[track_caller]
    fn check(listed: &[&str], places_of: &[(&str, usize)], names: &str) {
        let reach = reach(listed);
        let found = places(&reach);
        let found: Vec<(String, usize)> =
            found.iter().map(|found| (found.at.to_string(), found.reached)).collect();
        let expected: Vec<(String, usize)> =
            places_of.iter().map(|(at, reached)| ((*at).to_owned(), *reached)).collect();
        assert_eq!(found, expected);
        let common = "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n";
        assert_eq!(hosts(&reach, "box"), format!("{common}{names}"));
    }

    #[test]
    fn what_is_reached_is_found_where_programs_look_for_it() {
        check(&[], &[], "127.0.0.1 box\n");
        check(&["127.0.0.1:80"], &[("127.0.0.1:80", 0)], "127.0.0.1 box\n");
        check(&["localhost:80"], &[("127.0.0.1:80", 0), ("[::1]:80", 0)], "127.0.0.1 box\n");
        check(
            &["[::1]:80", "0.0.0.0:80"],
            &[("[::1]:80", 0), ("127.0.0.1:80", 1)],
            "127.0.0.1 box\n",
        );
        check(&["192.0.2.7:5432"], &[("192.0.2.7:5432", 0)], "127.0.0.1 box\n");
        check(
            &["B.example.org:443", "a.example.org:443", "b.example.org:80"],
            &[("127.83.0.2:443", 0), ("127.83.0.1:443", 1), ("127.83.0.2:80", 2)],
            "127.0.0.1 box\n127.83.0.1 a.example.org\n127.83.0.2 b.example.org\n",
        );
        // The machine's own name, where it is listed, is what is outside.
        check(&["box:80"], &[("127.83.0.1:80", 0)], "127.83.0.1 box\n");
        check(
            &["127.83.0.1:80", "a.example.org:80"],
            &[("127.83.0.1:80", 0), ("127.83.0.2:80", 1)],
            "127.0.0.1 box\n127.83.0.2 a.example.org\n",
        );
        // One place is one thing.
        check(
            &["127.0.0.1:80", "localhost:80"],
            &[("127.0.0.1:80", 0), ("[::1]:80", 1)],
            "127.0.0.1 box\n",
        );
    }
}
