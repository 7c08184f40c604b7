//! What an entry names must be there.
//!
//! A model that describes code it has not read names things that do not exist. Names are what
//! stands in backquotes, and words that look like paths; whether one is there is for the caller
//! to say, who has the tree and the index.

/// The most that an entry is worth whose names are not all known.
pub const DOUBTFUL: f64 = 0.49;

/// Names of one text that are looked up at most.
const MOST: usize = 200;

/// Returns what a text names, each once, in order.
pub fn names_in(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        let name = name.trim_matches(|c: char| ".,;:()[]{}'\"!?*".contains(c)).trim();
        if is_name(name) && !found.iter().any(|known| known == name) && found.len() < MOST {
            found.push(name.to_owned());
        }
    };
    for (at, part) in text.split('`').enumerate() {
        if at % 2 == 1 {
            add(part.trim_end_matches("()"));
        } else {
            part.split_whitespace().filter(|word| is_path(word)).for_each(&mut add);
        }
    }
    found
}

/// Returns what a text names that `is_known` does not know.
pub fn unknown_names(text: &str, is_known: impl Fn(&str) -> bool) -> Vec<String> {
    names_in(text).into_iter().filter(|name| !is_known(name)).collect()
}

/// One word that could be a symbol or a path; commands, types with spaces and the like are
/// prose.
fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || "_-./:#$@\\".contains(c);
    text.len() > 1
        && text.len() <= 200
        && text.chars().any(char::is_alphabetic)
        && text.chars().all(is_letter)
        && !text.starts_with('-')
        && !text.contains("//")
}

/// A word of prose is a path where it has a slash inside and an ending, or a directory before.
fn is_path(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let Some((_, last)) = word.rsplit_once('/') else { return false };
    last.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && !ending.is_empty() && ending.chars().all(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(names_in(text), expected, "{text}");
    }

    #[test]
    fn names_stand_in_backquotes_or_look_like_paths() {
        check("The loop in `drive()` feeds `Bounce`.", &["drive", "Bounce"]);
        check("Read src/main.rs, then (lib/a_b.py).", &["src/main.rs", "lib/a_b.py"]);
        check("Either/or is prose, and so is 1/2 and and/or.", &[]);
        check(
            "`spore_model::graph::Both` twice: `spore_model::graph::Both`",
            &["spore_model::graph::Both"],
        );
        check("`cargo test --all` is a command, `-x` a flag, `8` a number", &[]);
        check("see `https://example.org/x`", &[]);
    }

    #[test]
    fn what_is_not_there_is_told_by_its_name() {
        let is_known = |name: &str| name == "drive";
        assert_eq!(unknown_names("`drive` and `fly`, `walk`", is_known), ["fly", "walk"]);
    }
}
