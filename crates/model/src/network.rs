//! Addresses on the network, as programs and settings say them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// A host and a port, as programs say them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct NetAddress {
    /// A name in lower case, or an IP address without brackets.
    pub host: String,
    pub port: u16,
}

impl NetAddress {
    /// Spells the host as every other spelling of it is spelt here.
    pub fn new(host: &str, port: u16) -> Self {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        // One address has one spelling.
        let host = host.parse().map_or(host, |ip: IpAddr| ip.to_canonical().to_string());
        Self { host, port }
    }

    /// Reads `host:port` or `[address]:port`.
    pub fn read(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let host = match host.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').filter(|inner| is_v6(inner))?,
            None => Some(host).filter(|host| !is_v6(host))?,
        };
        let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| is_number && *port != 0)?;
        let address = Self::new(host, port);
        address.is_sound().then_some(address)
    }

    /// Returns whether this is a name or an address, and not something that could be taken for more
    /// in a file or a request.
    pub fn is_sound(&self) -> bool {
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let is_name = self.host.len() <= 253 && self.host.split('.').all(is_label);
        self.port != 0
            && match self.ip() {
                Some(IpAddr::V4(ip)) => !ip.is_multicast() && ip != Ipv4Addr::BROADCAST,
                // One that is local to a link means nothing without the name of the link.
                Some(IpAddr::V6(ip)) => !ip.is_multicast() && !ip.is_unicast_link_local(),
                None => is_name,
            }
    }

    /// Returns the address, where the host is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }

    /// Returns whether it is on the machine of the program that says it.
    pub fn is_local(&self) -> bool {
        match self.ip() {
            Some(ip) => ip.is_loopback() || ip.is_unspecified(),
            None => self.host == "localhost" || self.host.ends_with(".localhost"),
        }
    }
}

fn is_v6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

impl std::fmt::Display for NetAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match is_v6(&self.host) {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_with_a_port_is_an_address() {
        for (text, expected) in [
            ("a.example.org:443", Some("a.example.org:443")),
            ("A.Example.ORG.:443", Some("a.example.org:443")),
            ("[0:0::1]:1", Some("[::1]:1")),
            ("[::ffff:127.0.0.1]:1", Some("127.0.0.1:1")),
            ("[fe80::1]:1", None),
            ("[ff02::1]:1", None),
            ("10.0.0.1:65535", Some("10.0.0.1:65535")),
            ("a", None),
            ("a:", None),
            ("a:0", None),
            ("a:+1", None),
            ("a:65536", None),
            (":1", None),
            ("::1:1", None),
            ("[::1]", None),
            ("[a]:1", None),
            ("a b:1", None),
            ("a\n127.0.0.1 b:1", None),
            ("a#b:1", None),
            ("-a:1", None),
            ("a..b:1", None),
            ("*:1", None),
            ("ünïcode:1", None),
            ("255.255.255.255:1", None),
            ("224.0.0.1:1", None),
        ] {
            let read = NetAddress::read(text).map(|address| address.to_string());
            assert_eq!(read.as_deref(), expected, "{text:?}");
        }
    }
}
