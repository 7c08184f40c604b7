//! What a setting is for, in the words of `defaults.toml`.
//!
//! The comment above a setting is about it, and about those that follow it until the next
//! comment or an empty line: settings that belong together are explained together.

use crate::DEFAULTS;
use crate::error::{ConfigError, SettingPlace};
use crate::layer::SettingsOrigin;
use crate::schema::{KnownKey, OPEN_TABLES, Schema};

/// Returns what `defaults.toml` says of the setting or the table `key`; a member of a table that
/// people fill themselves is explained with its table.
pub fn explain(key: &str) -> Result<String, ConfigError> {
    let schema = Schema::of_defaults()?;
    if let KnownKey::Nothing = schema.look_up(key) {
        let place =
            SettingPlace { origin: SettingsOrigin::Flag(format!("explain {key}")), position: None };
        let nearest = schema.nearest(key);
        return Err(ConfigError::UnknownKey { place, key: key.to_owned(), nearest });
    }
    let sections = sections();
    let of_setting = key.rsplit_once('.').and_then(|(table, name)| {
        let section = sections.iter().find(|section| section.table == table)?;
        section.comment_of(name).filter(|comment| !comment.is_empty())
    });
    let of_table = |table: &str| {
        let found = sections.iter().find(|section| section.table == table)?;
        (!found.comment.is_empty()).then(|| found.comment.clone())
    };
    let open = OPEN_TABLES.iter().find(|open| {
        key.strip_prefix(open.prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    let said = of_setting
        .or_else(|| of_table(key))
        .or_else(|| of_table(open?.prefix))
        .or_else(|| of_members(&sections, open?.prefix))
        .or_else(|| of_members(&sections, key))
        .or_else(|| {
            above(key).find_map(|one| of_table(one).or_else(|| of_members(&sections, one)))
        });
    Ok(said.unwrap_or_default())
}

/// Returns the tables that `key` is in, the nearest first.
fn above(key: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(key.rsplit_once('.'), |(table, _)| table.rsplit_once('.'))
        .map(|(table, _)| table)
}

/// One table of the text: the comment above its head, and its lines.
struct TextSection {
    table: String,
    comment: String,
    lines: Vec<&'static str>,
}

impl TextSection {
    /// Returns the comment on the setting `name`; `None` where there is no such setting.
    fn comment_of(&self, name: &str) -> Option<String> {
        let is_it = |line: &&str| line.split_once('=').is_some_and(|(left, _)| left.trim() == name);
        let at = self.lines.iter().position(is_it)?;
        let mut comment: Vec<&str> = Vec::new();
        for line in self.lines[..at].iter().rev() {
            if let Some(text) = line.strip_prefix('#') {
                comment.push(text.strip_prefix(' ').unwrap_or(text));
            } else if line.is_empty() || !comment.is_empty() {
                break;
            }
        }
        comment.reverse();
        Some(comment.join("\n"))
    }
}

/// Returns the comment above the first table below `table` that has one: tables of one kind are
/// explained once.
fn of_members(sections: &[TextSection], table: &str) -> Option<String> {
    let below = format!("{table}.");
    let members = sections.iter().filter(|section| section.table.starts_with(&below));
    members.map(|section| section.comment.clone()).find(|comment| !comment.is_empty())
}

fn sections() -> Vec<TextSection> {
    let mut sections: Vec<TextSection> = Vec::new();
    let mut above: Vec<&'static str> = Vec::new();
    for line in DEFAULTS.lines() {
        let head = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let Some(table) = head {
            let uncommented =
                above.iter().map(|line| line.trim_start_matches('#')).collect::<Vec<_>>();
            let comment = uncommented.join("\n");
            let comment = comment.strip_prefix(' ').unwrap_or(&comment).replace("\n ", "\n");
            sections.push(TextSection { table: table.to_owned(), comment, lines: Vec::new() });
            above.clear();
            continue;
        }
        match line.starts_with('#') {
            true => above.push(line),
            false => above.clear(),
        }
        if let Some(section) = sections.last_mut() {
            section.lines.push(line);
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, expected: &str) {
        let said = explain(key).unwrap();
        assert!(said.contains(expected), "{key}: {said}");
    }

    #[test]
    fn a_setting_is_explained_by_the_comment_above_it() {
        check("orchestrate.max_bounces", "Attempts at one task");
        check("orchestrate.min_time", "How long one session may take.");
        check("session.terminate_grace", "A session is ended with INT");
        check("gates.commands.test.run", "run = \"make test\"");
        check("gates.commands", "[gates.commands.test]");
        check("acp.mine.command", "Agents that speak ACP");
        check("environment.agents.claude.allow", "On a cloud's own service");
        check("environment.agents.codex.allow", "What one agent may see besides");
        check("roles.coder.turns", "What each role works with");
        check("environment.agents.other.allow", "What one agent may see besides");
        let unknown = explain("orchestrate.max_bounce").unwrap_err().to_string();
        assert!(unknown.contains("did you mean orchestrate.max_bounces?"), "{unknown}");
    }

    #[test]
    fn no_setting_is_without_an_explanation() {
        let schema = Schema::of_defaults().unwrap();
        let silent: Vec<&str> =
            schema.keys().filter(|key| explain(key).unwrap().trim().is_empty()).collect();
        assert_eq!(silent, [] as [&str; 0]);
    }
}
