//! The user's git configuration, as git itself puts it together from its files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::GitError;
use crate::command::{Git, records};

/// Values by key, the last one wins, as for git. A key is in lower case but for the part
/// between its first and last dot.
#[derive(Debug)]
pub(crate) struct GitSettings(BTreeMap<Vec<u8>, Vec<u8>>);

impl GitSettings {
    /// Asks git, by a call that is made for the right repository.
    pub(crate) fn read(call: Git) -> Result<Self, GitError> {
        Ok(Self::parse(&call.args(["config", "-z", "--list"]).run()?.stdout))
    }

    fn parse(answer: &[u8]) -> Self {
        let pair = |record: &[u8]| match record.iter().position(|byte| *byte == b'\n') {
            Some(end) => (record[..end].to_vec(), record[end + 1..].to_vec()),
            // A key without a value is a switch that is on.
            None => (record.to_vec(), b"true".to_vec()),
        };
        Self(records(answer).map(pair).collect())
    }

    pub(crate) fn get(&self, key: &str) -> Option<String> {
        let value = String::from_utf8_lossy(self.0.get(key.as_bytes())?);
        Some(value.into_owned()).filter(|value| !value.trim().is_empty())
    }

    /// Returns all keys that start with `family`, with their values, as text.
    pub(crate) fn all_of(&self, family: &[u8]) -> Vec<u8> {
        let of_family = self.0.iter().filter(|(key, _)| key.starts_with(family));
        of_family.flat_map(|(key, value)| [key, &b"="[..], value, b"\n"].concat()).collect()
    }

    /// Returns who commits: the user, as git knows them.
    pub(crate) fn identity(&self) -> (String, String) {
        let name = self.get("user.name").unwrap_or_else(|| "Spore".to_owned());
        let email = self.get("user.email").unwrap_or_else(|| "spore@localhost".to_owned());
        (name, email)
    }

    /// Returns the names of the configured filters, but for Git LFS, whose program is never
    /// one of the work tree.
    pub(crate) fn filter_drivers(&self) -> Vec<OsString> {
        let mut drivers = self.drivers(b"filter.", b"");
        drivers.retain(|name| name != "lfs");
        drivers
    }

    /// Returns the names of the merge drivers that are programs.
    pub(crate) fn merge_drivers(&self) -> Vec<OsString> {
        self.drivers(b"merge.", b"driver")
    }

    /// Returns the names of the remotes.
    pub(crate) fn remotes(&self) -> Vec<String> {
        let names = self.drivers(b"remote.", b"url").into_iter();
        names.filter_map(|name| name.into_string().ok()).collect()
    }

    /// Returns what is named between `family` and a last part, which `variable` is, if given.
    fn drivers(&self, family: &[u8], variable: &[u8]) -> Vec<OsString> {
        let driver = |key: &Vec<u8>| {
            let key = key.strip_prefix(family)?;
            let dot = key.iter().rposition(|byte| *byte == b'.')?;
            let wanted = variable.is_empty() || &key[dot + 1..] == variable;
            wanted.then(|| OsStr::from_bytes(&key[..dot]).to_owned())
        };
        let mut drivers: Vec<OsString> = self.0.keys().filter_map(driver).collect();
        drivers.dedup();
        drivers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_wins_and_filters_are_named_without_lfs() {
        let settings = GitSettings::parse(
            b"user.name\nOne\0user.name\nTwo\0filter.lfs.clean\nx\0filter.a.b=c.clean\ny\0\
              filter.a.b=c.smudge\nz\0core.bare\0merge.ours.driver\ntrue\0merge.ours.name\nn\0\
              merge.conflictstyle\ndiff3\0",
        );
        assert_eq!(settings.identity(), ("Two".to_owned(), "spore@localhost".to_owned()));
        assert_eq!(settings.filter_drivers(), ["a.b=c"]);
        assert_eq!(settings.merge_drivers(), ["ours"]);
        assert_eq!(settings.get("core.bare").as_deref(), Some("true"));
    }
}
