//! What people say of a rule that agents are told: that it is wrong. People call a line of code a
//! line, too, and what a linter checks a rule, so it must be plain which one they mean.

use super::reproach::unmarked;
use super::sentences::sentences;
use super::standing::has_words;
use super::voices::is_reported;
use crate::reading::scripts::is_unspaced;

/// Words for what agents are told.
const RULES: &[&str] = &[
    "the rule",
    "your rule",
    "our rule",
    "this rule",
    "that rule",
    "the line",
    "your line",
    "the entry",
    "the instruction",
    "your instruction",
    "die regel",
    "eure regel",
    "unsere regel",
    "die zeile",
    "la règle",
    "notre règle",
    "la ligne",
    "la regla",
    "nuestra regla",
    "la línea",
    "правило",
    "ルール",
    "规则",
];

/// Where what agents are told stands. A line may also be one of code, and a rule a linter's.
const TOLD: &[&str] = &[
    "in claude.md",
    "in memory/claude.md",
    "in agents.md",
    "in memory",
    "in your memory",
    "in our memory",
    "in your instructions",
    "in your notes",
    "that you were told",
    "that you are told",
    "you were told",
    "aus der claude.md",
    "in der claude.md",
    "dans claude.md",
    "en claude.md",
    "в claude.md",
];

/// How people name what a rule is about.
const ABOUT: &[&str] = &[
    "about",
    "on",
    "that says",
    "that said",
    "which says",
    "saying",
    "to use",
    "to run",
    "with",
    "zu",
    "über",
    "mit",
    "sur",
    "à propos de",
    "sobre",
    "про",
    "о",
    "について",
    "の",
    "关于",
];

const WRONG: &[&str] = &[
    "is out of date",
    "is outdated",
    "is obsolete",
    "is wrong",
    "is no longer right",
    "is no longer true",
    "is no longer valid",
    "is not true any more",
    "no longer applies",
    "no longer holds",
    "ist veraltet",
    "ist falsch",
    "stimmt nicht mehr",
    "gilt nicht mehr",
    "est périmée",
    "est périmé",
    "est fausse",
    "está obsoleta",
    "es errónea",
    "устарело",
    "古いです",
    "が古い",
    "は古い",
    "过时了",
    "过时",
];

/// Whether a text says beyond doubt that what a line says is wrong: in one clause it names a rule,
/// says that it is wrong, and says that it is the one that agents are told, by what the line names
/// or by where it stands. What the line names has to be in the same sentence at least. `names`
/// are the words that are the line's own.
pub(crate) fn blames(text: &str, names: &[&str]) -> bool {
    let said = unmarked(text);
    let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let is_named = |part: &str| names.iter().any(|name| has_words(part, &[name.as_str()]));
    sentences(&said).any(|sentence| {
        let is_doubtful = sentence.ends_with(['?', '？']) || is_reported_blame(sentence);
        let mut clauses = sentence.split([',', ';', ':', '—', '、', '，']);
        !is_doubtful
            && is_named(sentence)
            && clauses.any(|clause| is_blame(clause, &names, is_named(clause)))
    })
}

/// Whether a clause is "the rule about X is out of date" or "the line in CLAUDE.md is wrong".
fn is_blame(clause: &str, names: &[String], is_named: bool) -> bool {
    let found = RULES.iter().find_map(|rule| clause.find(rule).map(|at| (at, at + rule.len())));
    let Some((at, end)) = found else { return false };
    // What stands before may be a denial, a doubt, or what is not the speaker's.
    const BEFORE: &[&str] = &[
        "", "and", "but", "because", "since", "as", "also", "now", "sorry", "denn", "weil", "und",
        "car", "porque",
    ];
    let before = clause[..at].split_whitespace().next_back().unwrap_or_default();
    let Some(wrong) = WRONG.iter().find_map(|words| clause[end..].find(words)) else {
        return false;
    };
    let subject = clause[end..end + wrong].trim();
    let is_told = TOLD.iter().any(|place| subject.contains(place));
    let is_about = ABOUT.iter().any(|about| subject.starts_with(about));
    // A line with no place of its own is more often one of code.
    let is_line =
        ["line", "zeile", "ligne", "línea"].iter().any(|word| clause[at..end].contains(word));
    let bare = TOLD.contains(&subject);
    let plain = names.iter().fold(subject.to_owned(), |subject, name| subject.replace(name, " "));
    let elsewhere = plain.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '.' && c != '/');
        !matches!(word, "claude.md" | "agents.md" | "memory/claude.md")
            && (word.contains('/') || word.trim_end_matches('.').contains('.'))
    });
    // Where words are not set apart what it is about stands in front.
    let is_unspaced = clause[at..end].chars().any(is_unspaced);
    (is_unspaced || BEFORE.contains(&before))
        && !elsewhere
        && !has_words(subject, DENIED)
        && (bare || is_named && (is_told || (is_about || is_unspaced) && !is_line))
}

/// What makes a blame none: it is denied, or it is of who did not go by the rule.
const DENIED: &[&str] = &[
    "not", "isn't", "never", "nobody", "if", "whether", "maybe", "perhaps", "might", "ignoring",
    "breaking", "breaks", "forgot", "skipping", "linter", "eslint", "clippy", "makefile", "nicht",
    "niemand", "pas", "no", "не",
];

fn is_reported_blame(sentence: &str) -> bool {
    has_words(sentence, &["if", "whether", "maybe", "perhaps", "might", "nobody", "no one"])
        || is_reported(&sentence.replace("that says", "").replace("which says", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_blamed_where_it_is_named_as_what_agents_are_told() {
        let names = ["make lint", "crates/store/"];
        for text in [
            "That is wrong: the rule about crates/store/ is out of date.",
            "Undo it, the rule about `make lint` is obsolete.",
            "Undo `make lint`: the line in CLAUDE.md is wrong.",
            "The rule that says make lint no longer applies.",
            "Revert that because the line about make lint in CLAUDE.md is outdated.",
            "Die Regel zu make lint ist veraltet.",
            "La règle sur make lint est périmée.",
            "make lint のルールは古いです。",
        ] {
            assert!(blames(text, &names), "{text}");
        }
        for text in [
            "Revert that: the line you added to parser.rs is wrong, `make lint` complains about it.",
            "You forgot `make lint`. And memory use is no longer a problem.",
            "You forgot `make lint`. The eslint rule no-shadow is obsolete.",
            "You forgot `make lint`. The line in CLAUDE.md about the deploy is outdated.",
            "The line that runs make lint in the Makefile is wrong.",
            "The line about make lint in ci.yml is wrong.",
            "The rule about make lint is not out of date.",
            "If the rule about make lint is wrong, tell me.",
            "Bob thinks the rule about make lint is wrong.",
            "Is it that the rule about make lint is outdated?",
            "Nobody says the rule about make lint is wrong.",
            "It is wrong to ignore the rule about make lint.",
            "You didn't follow the rule, and make lint is wrong.",
            "That is wrong: the rule is out of date.",
            "\"The rule about make lint is out of date\"",
            "The memory of the make lint job is no longer enough.",
        ] {
            assert!(!blames(text, &names), "{text}");
        }
    }
}
