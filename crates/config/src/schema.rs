//! Which keys there are and what each holds.
//!
//! The closed part is read off the defaults. The open part is the tables whose members people
//! name themselves; what such a member holds is written down here.

use std::collections::{BTreeMap, BTreeSet};

use crate::distance::distance;
use crate::value::ValueKind;

/// A table whose members have names of the user's choice and these fields.
pub(crate) struct OpenTable {
    pub(crate) prefix: &'static str,
    pub(crate) fields: &'static [(&'static str, ValueKind)],
    /// Members may be called what a model is called: `gpt-5.1`, `vendor/model:free`.
    pub(crate) of_models: bool,
}

impl OpenTable {
    /// Splits what follows the prefix into a member and its field.
    fn split<'k>(&self, rest: &'k str) -> Option<(&'k str, &'k str)> {
        rest.rsplit_once('.').filter(|(member, _)| self.is_name(member))
    }

    /// A member's name may become a file's name, so it is as plain as a bare key of TOML;
    /// that of a model never does.
    fn is_name(&self, text: &str) -> bool {
        let fits = |b: u8| {
            b.is_ascii_alphanumeric()
                || matches!(b, b'-' | b'_')
                || self.of_models && matches!(b, b'.' | b'/' | b':' | b'@')
        };
        !text.is_empty() && text.bytes().all(fits)
    }
}

pub(crate) const OPEN_TABLES: &[OpenTable] = &[
    OpenTable {
        prefix: "gates.commands",
        fields: &[
            ("run", ValueKind::Text),
            ("kind", ValueKind::Text),
            ("parser", ValueKind::Text),
            ("timeout", ValueKind::Duration),
            ("dir", ValueKind::Text),
            ("reports", ValueKind::List),
            ("needs", ValueKind::List),
        ],
        of_models: false,
    },
    OpenTable {
        prefix: "tiers",
        fields: &[("low", ValueKind::Text), ("medium", ValueKind::Text), ("high", ValueKind::Text)],
        of_models: false,
    },
    OpenTable {
        prefix: "roles",
        fields: &[
            ("tier", ValueKind::Text),
            ("turns", ValueKind::Integer),
            ("tools", ValueKind::List),
            ("sandbox", ValueKind::Text),
            ("backend", ValueKind::Text),
            ("model", ValueKind::Text),
        ],
        of_models: false,
    },
    OpenTable { prefix: "acp", fields: &[("command", ValueKind::List)], of_models: false },
    OpenTable {
        prefix: "environment.agents",
        fields: &[("allow", ValueKind::List), ("providers", ValueKind::List)],
        of_models: false,
    },
    OpenTable {
        prefix: "environment.providers",
        fields: &[("allow", ValueKind::List)],
        of_models: false,
    },
    OpenTable {
        prefix: "sandbox.agents",
        fields: &[
            ("sign_in", ValueKind::List),
            ("access_token", ValueKind::Text),
            ("refresh_token", ValueKind::Text),
            ("expires", ValueKind::Text),
            ("renewed_with", ValueKind::List),
            ("renew", ValueKind::List),
            ("instead", ValueKind::List),
            ("write", ValueKind::List),
            ("network", ValueKind::List),
        ],
        of_models: false,
    },
    OpenTable {
        prefix: "prices",
        fields: &[
            ("input", ValueKind::Float),
            ("cached_input", ValueKind::Float),
            ("cache_write", ValueKind::Float),
            ("output", ValueKind::Float),
        ],
        of_models: true,
    },
];

pub(crate) enum KnownKey {
    Leaf(ValueKind),
    Table,
    Nothing,
}

#[derive(Default)]
pub(crate) struct Schema {
    leaves: BTreeMap<String, ValueKind>,
    tables: BTreeSet<String>,
}

impl Schema {
    pub(crate) fn new(leaves: BTreeMap<String, ValueKind>) -> Self {
        let mut tables: BTreeSet<String> =
            OPEN_TABLES.iter().map(|open| open.prefix.to_owned()).collect();
        for key in leaves.keys() {
            tables.extend(key.match_indices('.').map(|(end, _)| key[..end].to_owned()));
        }
        Self { leaves, tables }
    }

    pub(crate) fn look_up(&self, key: &str) -> KnownKey {
        if let Some(&kind) = self.leaves.get(key) {
            return KnownKey::Leaf(kind);
        }
        if self.tables.contains(key) {
            return KnownKey::Table;
        }
        for open in OPEN_TABLES {
            let Some(rest) = key.strip_prefix(open.prefix).and_then(|rest| rest.strip_prefix('.'))
            else {
                continue;
            };
            let field = open.split(rest).map(|(_, field)| field);
            let found = open.fields.iter().find(|(name, _)| Some(*name) == field);
            return match found {
                Some(&(_, kind)) => KnownKey::Leaf(kind),
                None if open.is_name(rest) => KnownKey::Table,
                None => KnownKey::Nothing,
            };
        }
        KnownKey::Nothing
    }

    pub(crate) fn kind(&self, key: &str) -> Option<ValueKind> {
        match self.look_up(key) {
            KnownKey::Leaf(kind) => Some(kind),
            KnownKey::Table | KnownKey::Nothing => None,
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.leaves.keys().map(String::as_str)
    }

    /// Returns the key that was probably meant, if one is near enough to be worth saying.
    pub(crate) fn nearest(&self, key: &str) -> Option<String> {
        let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
        let mut candidates: Vec<String> = self.leaves.keys().chain(&self.tables).cloned().collect();
        for open in OPEN_TABLES {
            let is_member = table
                .strip_prefix(open.prefix)
                .is_some_and(|rest| rest.strip_prefix('.').is_some_and(|name| open.is_name(name)));
            if is_member {
                candidates.extend(open.fields.iter().map(|(field, _)| format!("{table}.{field}")));
            }
        }
        let (far, nearest) = candidates
            .into_iter()
            .map(|candidate| {
                // The right name in the wrong table is near, too, and so is half a name.
                let own_name = candidate.rsplit_once('.').map_or(&*candidate, |(_, name)| name);
                let is_half = !table.is_empty() && candidate.starts_with(key);
                let far = distance(key, &candidate)
                    .min(distance(name, own_name) + 1)
                    .min(if is_half { 1 } else { usize::MAX });
                (far, candidate)
            })
            .min()?;
        (far <= (name.chars().count() / 3).max(2)).then_some(nearest)
    }
}

/// Returns whether people name the members of `table` themselves.
pub(crate) fn is_open(table: &str) -> bool {
    OPEN_TABLES.iter().any(|open| open.prefix == table)
}

/// Splits a key into the names of its tables and its own; a model's name is one of them,
/// dots and all.
pub(crate) fn parts(key: &str) -> Vec<&str> {
    for open in OPEN_TABLES.iter().filter(|open| open.of_models) {
        let rest = key.strip_prefix(open.prefix).and_then(|rest| rest.strip_prefix('.'));
        if let Some((member, field)) = rest.and_then(|rest| open.split(rest)) {
            return open.prefix.split('.').chain([member, field]).collect();
        }
    }
    key.split('.').collect()
}
