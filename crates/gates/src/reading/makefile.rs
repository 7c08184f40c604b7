//! What a makefile includes and runs. Variables that are set plainly are filled in.

use std::collections::HashMap;

/// The parts of a makefile that lead elsewhere.
pub(super) struct MakefileParts {
    /// The words behind `include`.
    pub(super) includes: Vec<String>,
    /// The lines of all recipes, each of which is a shell of its own.
    pub(super) recipes: Vec<String>,
}

/// How often variables are filled in: one may name another.
const ROUNDS: usize = 4;
const LONGEST_LINE: usize = 1 << 14;

pub(super) fn parts(text: &str) -> MakefileParts {
    let text = text.replace("\\\n", " ");
    let mut variables = HashMap::from([
        ("MAKE".to_owned(), "make".to_owned()),
        ("SHELL".to_owned(), "sh".to_owned()),
    ]);
    for line in text.lines().filter(|line| !line.starts_with('\t')) {
        if let Some((name, value)) = assignment(line) {
            variables.insert(name.to_owned(), value.to_owned());
        }
    }
    let mut parts = MakefileParts { includes: Vec::new(), recipes: Vec::new() };
    for line in text.lines() {
        // A recipe may also follow its target in the same line.
        let recipe =
            line.strip_prefix('\t').or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
        if let Some(recipe) = recipe {
            let filled = fill_in(recipe, &variables);
            parts.recipes.push(filled.trim_start_matches(['@', '-', '+', ' ']).to_owned());
            continue;
        }
        let mut words = line.split_whitespace();
        if words.next().is_some_and(|word| ["include", "-include", "sinclude"].contains(&word)) {
            let rest: Vec<&str> = words.take_while(|word| !word.starts_with('#')).collect();
            let filled = fill_in(&rest.join(" "), &variables);
            let plain = left_open(&filled.replace("$(wildcard ", " "));
            let words = plain.split(|c: char| c.is_whitespace() || c == ')');
            let words = words.filter(|word| !word.is_empty());
            parts.includes.extend(words.map(str::to_owned));
        }
    }
    parts
}

fn assignment(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', '!']).trim();
    let name = name.strip_prefix("export ").unwrap_or(name).trim();
    let is_name =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    is_name.then(|| (name, value.split(" #").next().unwrap_or(value).trim()))
}

/// Fills in what is known; the rest stays as it is, for a shell to leave open.
fn fill_in(text: &str, variables: &HashMap<String, String>) -> String {
    let mut text = text.to_owned();
    for _ in 0..ROUNDS {
        for (name, value) in variables {
            for spelled in [format!("$({name})"), format!("${{{name}}}")] {
                if text.contains(&spelled) && text.len() < LONGEST_LINE {
                    text = text.replace(&spelled, value);
                }
            }
        }
    }
    // `$$` is the shell's own.
    text.replace("$$", "$")
}

/// Puts a single `$` in the place of every variable that is not known.
fn left_open(text: &str) -> String {
    let mut parts = text.split('$');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push('$');
        let rest = match part.chars().next() {
            Some('(') => part.split_once(')').map_or("", |(_, rest)| rest),
            Some('{') => part.split_once('}').map_or("", |(_, rest)| rest),
            _ => part.get(1..).unwrap_or_default(),
        };
        plain.push_str(rest);
    }
    plain
}
