//! Settings that come as variables: `SPORE_ORCHESTRATE_MAX_BOUNCES=5`.

use crate::schema::{OPEN_TABLES, Schema};
use crate::{SettingsLayer, SettingsOrigin};

const PREFIX: &str = "SPORE_";

/// Variables that begin like settings and are none: they tell a process where and what it is,
/// or hold it still for a test.
pub const RESERVED: &[&str] = &[
    "SPORE_ROOT",
    "SPORE_SESSION",
    "SPORE_EFFECTS_LOG",
    "SPORE_KILL_AT",
    "SPORE_TEST_CLOCK",
    "SPORE_TEST_SEED",
    "SPORE_SPAWN_DEPTH",
    "SPORE_TRACE_ID",
    "SPORE_SESSION_RUN",
    "SPORE_STARTS",
    "SPORE_STARTS_TOKEN",
    "SPORE_MODEL_DIR",
];

/// Returns one layer for every variable that is a setting or looks like one, sorted by name.
/// One that only looks like it is an error when it is loaded: a limit that is misspelt is a
/// limit that does not hold.
pub fn env_layers(variables: &[(String, String)]) -> Vec<SettingsLayer> {
    let Ok(schema) = Schema::of_defaults() else { return Vec::new() };
    let mut settings: Vec<&(String, String)> = variables
        .iter()
        .filter(|(name, _)| name.starts_with(PREFIX) && !RESERVED.contains(&name.as_str()))
        .collect();
    settings.sort_unstable();
    settings
        .into_iter()
        .map(|(name, value)| {
            SettingsLayer::single(SettingsOrigin::Env(name.clone()), &key(schema, name), value)
        })
        .collect()
}

/// Returns the variable for `key`.
pub fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "_").to_ascii_uppercase())
}

/// Returns the key for the variable `name`. An underscore may stand for a dot, so only the
/// known keys can tell; where none fits, the first underscore is taken for the dot.
fn key(schema: &Schema, name: &str) -> String {
    if let Some(key) = schema.keys().find(|key| variable(key) == name) {
        return key.to_owned();
    }
    for open in OPEN_TABLES {
        let start = format!("{}_", variable(open.prefix));
        for (field, _) in open.fields {
            let end = format!("_{}", field.to_ascii_uppercase());
            let member = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(&end));
            if let Some(member) = member.filter(|member| !member.is_empty()) {
                return format!("{}.{}.{field}", open.prefix, member.to_ascii_lowercase());
            }
        }
    }
    name.trim_start_matches(PREFIX).to_ascii_lowercase().replacen('_', ".", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    #[track_caller]
    fn check(name: &str, value: &str, expected: &str) {
        let layers = env_layers(&[(name.to_owned(), value.to_owned())]);
        let texts: Vec<&str> = layers.iter().map(|layer| layer.text.trim_end()).collect();
        assert_eq!(texts.join("\n"), expected);
    }

    #[test]
    fn a_variable_is_the_key_in_capitals() {
        check("SPORE_ORCHESTRATE_MAX_BOUNCES", "5", "orchestrate.max_bounces = 5");
        check("SPORE_GATES_ALLOW_RED", "true", "gates.allow_red = true");
        check("SPORE_VERDICT_MIN_CONFIDENCE", " 0.9 ", "verdict.min_confidence = 0.9");
        check("SPORE_SESSION_FIRST_OUTPUT", "5s", "session.first_output = \"5s\"");
        check("SPORE_ORCHESTRATE_BACKEND", "7", "orchestrate.backend = \"7\"");
    }

    #[test]
    fn a_list_has_commas_or_brackets() {
        check("SPORE_COMMIT_ALLOW", "a, b,", "commit.allow = [\"a\", \"b\"]");
        check("SPORE_COMMIT_ALLOW", "['a,b']", "commit.allow = ['a,b']");
        check("SPORE_COMMIT_ALLOW", "", "commit.allow = []");
    }

    #[test]
    fn members_of_open_tables_can_be_set() {
        check("SPORE_GATES_COMMANDS_TEST_RUN", "make", "gates.commands.test.run = \"make\"");
        check("SPORE_TIERS_CLAUDE_LOW", "haiku", "tiers.claude.low = \"haiku\"");
    }

    #[test]
    fn what_is_reserved_or_not_ours_is_no_setting() {
        for name in RESERVED.iter().chain(&["PATH", "SPOREX", "spore_show_limit"]) {
            check(name, "1", "");
        }
    }

    #[test]
    fn no_two_keys_share_a_variable_and_none_is_reserved() {
        let schema = Schema::of_defaults().unwrap();
        for wanted in schema.keys() {
            assert_eq!(key(schema, &variable(wanted)), wanted);
            assert!(!RESERVED.contains(&variable(wanted).as_str()), "{wanted}");
        }
    }

    #[test]
    fn a_bad_variable_is_named_as_it_is_spelled() {
        for (name, value, expected) in [
            (
                "SPORE_ORCHESTRATE_MAX_BOUNCE",
                "5",
                "SPORE_ORCHESTRATE_MAX_BOUNCE is not a setting; did you mean SPORE_ORCHESTRATE_MAX_BOUNCES?",
            ),
            ("SPORE_ZEBRA", "5", "SPORE_ZEBRA is not a setting"),
            (
                "SPORE_SHOW_LIMIT",
                "many",
                "SPORE_SHOW_LIMIT: show.limit must be a whole number, not text",
            ),
        ] {
            let layers = env_layers(&[(name.to_owned(), value.to_owned())]);
            assert_eq!(Config::load(&layers).unwrap_err().to_string(), expected);
        }
    }
}
