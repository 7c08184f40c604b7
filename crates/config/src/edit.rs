//! Changes one setting in a file and leaves everything else as its owner wrote it.

use toml_edit::{DocumentMut, Item, Table, TableLike};

use crate::error::{ConfigError, SettingPlace};
use crate::schema::{KnownKey, Schema, parts};
use crate::value;
use crate::{Config, SettingsLayer, SettingsOrigin};

/// Returns the text of `file` with `key` set to `typed`, which needs no quotes. Comments and
/// order stay. What comes out can be loaded, or this is an error.
pub fn set(file: &SettingsLayer, key: &str, typed: &str) -> Result<String, ConfigError> {
    let SettingsLayer { origin: file, text } = file;
    let argument = SettingsOrigin::Flag(format!("set {key}"));
    let here = || SettingPlace { origin: argument.clone(), position: None };
    let schema = Schema::of_defaults()?;
    let kind = match schema.look_up(key) {
        KnownKey::Leaf(kind) => kind,
        KnownKey::Table => {
            return Err(ConfigError::BadValue {
                place: here(),
                key: key.to_owned(),
                problem: "is a table; set one of the settings in it".to_owned(),
            });
        }
        KnownKey::Nothing => {
            let nearest = schema.nearest(key);
            return Err(ConfigError::UnknownKey { place: here(), key: key.to_owned(), nearest });
        }
    };
    let mut document = read(file, text)?;
    let edited = if belongs_at_the_end(&document, key) {
        let mut fresh = DocumentMut::new();
        let _ = put(fresh.as_table_mut(), key, kind.literal(typed));
        format!("{}\n\n{fresh}", text.trim_end())
    } else {
        put(document.as_table_mut(), key, kind.literal(typed)).map_err(|(key, found)| {
            let place = SettingPlace { origin: file.clone(), position: None };
            ConfigError::WrongType { place, key, expected: "a table", found }
        })?;
        document.to_string()
    };
    match Config::load(&[SettingsLayer { origin: file.clone(), text: edited.clone() }]) {
        Ok(_) => Ok(edited),
        // There is no such line in the file yet: the mistake is in what was typed.
        Err(error) if error.key() == Some(key) => Err(error.moved_to(argument)),
        Err(error) => Err(error),
    }
}

/// Reads the text of `file`, to be written again as it stands but for one setting.
fn read(file: &SettingsOrigin, text: &str) -> Result<DocumentMut, ConfigError> {
    text.parse().map_err(|source: toml_edit::TomlError| {
        let offset = source.span().map(|span| span.start);
        ConfigError::Syntax {
            place: SettingPlace::new(file, text, offset),
            source: Box::new(source),
        }
    })
}

/// Returns the text of `file` without its own line for `key`, a setting or a whole table;
/// nothing where it has none. Tables that are empty afterwards go with it.
pub fn unset(file: &SettingsLayer, key: &str) -> Result<Option<String>, ConfigError> {
    let SettingsLayer { origin: file, text } = file;
    let schema = Schema::of_defaults()?;
    if let KnownKey::Nothing = schema.look_up(key) {
        let place =
            SettingPlace { origin: SettingsOrigin::Flag(format!("unset {key}")), position: None };
        let nearest = schema.nearest(key);
        return Err(ConfigError::UnknownKey { place, key: key.to_owned(), nearest });
    }
    let mut document = read(file, text)?;
    if !take(document.as_table_mut(), &parts(key)) {
        return Ok(None);
    }
    let edited = document.to_string();
    Config::load(&[SettingsLayer { origin: file.clone(), text: edited.clone() }])?;
    Ok(Some(edited))
}

/// Removes what `path` leads to; says whether there was anything.
fn take(table: &mut dyn TableLike, path: &[&str]) -> bool {
    match path {
        [] => false,
        [name] => table.remove(name).is_some(),
        [name, rest @ ..] => {
            let Some(below) = table.get_mut(name).and_then(Item::as_table_like_mut) else {
                return false;
            };
            let taken = take(below, rest);
            let is_empty = below.is_empty();
            if taken && is_empty && !table.get(name).is_some_and(has_comment) {
                table.remove(name);
            }
            taken
        }
    }
}

/// Returns whether the owner of the file wrote something above the head of a table or beside it.
fn has_comment(item: &Item) -> bool {
    let Item::Table(table) = item else { return false };
    let (above, beside) = (table.decor().prefix(), table.decor().suffix());
    [above, beside]
        .into_iter()
        .flatten()
        .any(|raw| raw.as_str().is_none_or(|text| text.contains('#')))
}

/// Returns whether `key` needs a new table in a file that ends in a comment. The comment is
/// not about the new table and must not stand below it afterwards.
fn belongs_at_the_end(document: &DocumentMut, key: &str) -> bool {
    if document.trailing().as_str().is_none_or(|text| text.trim().is_empty()) {
        return false;
    }
    let mut table = document.as_table();
    let parts = parts(key);
    for part in &parts[..parts.len() - 1] {
        match table.get(part) {
            None => return true,
            Some(Item::Table(next)) if !next.is_dotted() => table = next,
            Some(_) => return false,
        }
    }
    false
}

/// Puts `value` where `key` leads; tells the part of `key` that leads nowhere, and what is
/// there.
fn put(
    mut table: &mut dyn TableLike,
    key: &str,
    value: toml_edit::Value,
) -> Result<(), (String, &'static str)> {
    let mut path = parts(key);
    let name = path.pop().unwrap_or(key);
    let mut walked = String::new();
    for part in path {
        walked = if walked.is_empty() { part.to_owned() } else { format!("{walked}.{part}") };
        let item = table.entry(part).or_insert_with(|| {
            let mut fresh = Table::new();
            // Only the last table of a path needs a line of its own.
            fresh.set_implicit(true);
            Item::Table(fresh)
        });
        let found = value::describe(item);
        table = item.as_table_like_mut().ok_or((walked.clone(), found))?;
    }
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => {
            table.insert(name, Item::Value(value));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(text: &str) -> SettingsLayer {
        SettingsLayer {
            origin: SettingsOrigin::Project(".spore/config.toml".into()),
            text: text.to_owned(),
        }
    }

    #[track_caller]
    fn check(text: &str, key: &str, typed: &str, expected: &str) {
        assert_eq!(set(&project(text), key, typed).unwrap(), expected);
    }

    #[track_caller]
    fn check_refused(text: &str, key: &str, typed: &str, expected: &str) {
        assert_eq!(set(&project(text), key, typed).unwrap_err().to_string(), expected);
    }

    #[test]
    fn comments_and_order_stay() {
        check(
            "# ours\n\n[show] # lists\nlimit   =  5   # few\n\n# more to come\n[orchestrate]\nmax_turns = 9\n",
            "show.limit",
            "50",
            "# ours\n\n[show] # lists\nlimit   =  50   # few\n\n# more to come\n[orchestrate]\nmax_turns = 9\n",
        );
    }

    #[test]
    fn what_is_missing_is_added_where_it_belongs() {
        check("", "show.limit", "5", "[show]\nlimit = 5\n");
        check(
            "[show]\nlimit = 5\n",
            "gates.commands.test.run",
            "make test",
            "[show]\nlimit = 5\n\n[gates.commands.test]\nrun = \"make test\"\n",
        );
        check(
            "[gates.commands]\ntest = { run = \"make\" } # all\n",
            "gates.commands.test.timeout",
            "5m",
            "[gates.commands]\ntest = { run = \"make\" , timeout = \"5m\" } # all\n",
        );
        check("show.limit = 5 # few\n", "show.limit", "6", "show.limit = 6 # few\n");
        check("", "commit.allow", "a.db,b.db", "[commit]\nallow = [\"a.db\", \"b.db\"]\n");
    }

    #[test]
    fn a_comment_at_the_end_stays_above_what_is_added() {
        check("# ours\n", "show.limit", "5", "# ours\n\n[show]\nlimit = 5\n");
        check(
            "[gates]\nallow_red = true\n\n# later\n",
            "gates.commands.test.run",
            "make",
            "[gates]\nallow_red = true\n\n# later\n\n[gates.commands.test]\nrun = \"make\"\n",
        );
        check(
            "show.limit = 5\n# end\n",
            "diff.cap_bytes",
            "9",
            "show.limit = 5\n# end\n\n[diff]\ncap_bytes = 9\n",
        );
        check("show.limit = 5\n# end\n", "show.limit", "6", "show.limit = 6\n# end\n");
    }

    #[track_caller]
    fn check_unset(text: &str, key: &str, expected: Option<&str>) {
        assert_eq!(unset(&project(text), key).unwrap().as_deref(), expected);
    }

    #[test]
    fn a_setting_is_taken_out_and_the_rest_stays() {
        let text = "# ours\n[show]\nlimit = 5 # few\n\n[gates]\nallow_red = true\ntests = []\n";
        check_unset(
            text,
            "show.limit",
            Some("# ours\n[show]\n\n[gates]\nallow_red = true\ntests = []\n"),
        );
        let less = "# ours\n[show]\nlimit = 5 # few\n\n[gates]\nallow_red = true\n";
        check_unset(text, "gates.tests", Some(less));
        check_unset(text, "gates.timeout", None);
        let gate = "[gates.commands.test]\nrun = \"make\"\n";
        check_unset(gate, "gates.commands.test", Some(""));
        check_unset(gate, "gates.commands.test.run", Some(""));
        check_unset("", "show.limit", None);
        let unknown = unset(&project(""), "show.limt").unwrap_err().to_string();
        assert!(unknown.contains("did you mean show.limit?"), "{unknown}");
    }

    #[test]
    fn what_would_not_load_is_refused() {
        check_refused(
            "",
            "show.limt",
            "5",
            "set show.limt: there is no setting show.limt; did you mean show.limit?",
        );
        check_refused("", "show", "5", "set show: show is a table; set one of the settings in it");
        check_refused(
            "",
            "show.limit",
            "few",
            "set show.limit: show.limit must be a whole number, not text",
        );
        check_refused(
            "",
            "verdict.min_confidence",
            "2",
            "set verdict.min_confidence: verdict.min_confidence must be from 0 to 1",
        );
        check_refused(
            "show = 5",
            "show.limit",
            "5",
            ".spore/config.toml: show must be a table, not a whole number",
        );
        check_refused(
            "[diff]\ncap = 1\n",
            "show.limit",
            "5",
            ".spore/config.toml:2:1: there is no setting diff.cap; did you mean diff.cap_bytes?",
        );
    }
}
