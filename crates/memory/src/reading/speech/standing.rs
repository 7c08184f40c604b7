//! Standing instructions, where the words leave no doubt.
//!
//! A line that is added without a judge is told to every agent from then on. So a sentence is an
//! instruction only where it says that it holds from now on or always, gives a command, and is
//! about work: "we have forty crates now" states something, and "look at it when you have time"
//! asks for it once. What is left out here waits for a judge.

use super::sentences::stands_between;
use super::words::{
    ALWAYS, ANYTIME, BOUND, COMMANDING, DEALINGS, ENGLISH_VERBS, FOREIGN_VERBS, GERMAN_VERBS,
    LEADS, RESOLVES, RUSSIAN_COMMANDS, STATES, TAKEN_BACK, WANTS,
};
use super::work::{bare, is_about_work, names_artefact};

/// Whether a sentence is a standing instruction. Its own words begin at `opens`, and `phrase` is where
/// one of the standing phrases stands in it.
pub(super) fn instructs(sentence: &str, opens: usize, phrase: Option<(usize, usize)>) -> bool {
    let own = &sentence[opens..];
    let always = ALWAYS.iter().find_map(|words| own.strip_prefix(words));
    let commands = match (always, phrase) {
        // A saying begins like this as well, so it has to name what work is done on.
        (Some(rest), _) => {
            rest.split_whitespace().count() >= 2
                && rest.split_whitespace().any(names_artefact)
                && (begins_with_command(rest) || ends_with_command(own))
        }
        (None, Some(phrase)) => is_for_work(own) && is_commanded(sentence, opens, phrase),
        (None, None) => false,
    };
    commands && !is_bound(sentence) && !is_resolution(own) && !states(sentence)
}

/// Whether a sentence speaks of one piece of work, or of when it suits.
pub(super) fn is_bound(sentence: &str) -> bool {
    has_words(sentence, BOUND)
}

/// Whether a message takes back what it says, or says it in jest.
pub(super) fn is_taken_back(said: &str) -> bool {
    has_words(said, TAKEN_BACK)
}

/// Whether a command goes with a standing phrase: right behind it, behind the clause that it opens,
/// or before it in the same sentence.
fn is_commanded(sentence: &str, opens: usize, (at, end): (usize, usize)) -> bool {
    let rest = &sentence[end..];
    let anytime = ANYTIME.iter().any(|words| sentence[at..].starts_with(words));
    // "Whenever you have time" sets no condition of work.
    if anytime && !begins_with_command(rest) {
        return false;
    }
    // Behind the conditions that a sentence begins with, and behind no statement.
    let behind_clauses = || {
        let mut clauses = rest.split([',', ':', '—']);
        let first = clauses.next().unwrap_or_default();
        (anytime || !has_words(first, STATES))
            && clauses.take_while(|clause| !has_words(clause, STATES)).any(begins_with_command)
    };
    (!anytime && begins_with_command(rest))
        || behind_clauses()
        || (at > opens && begins_with_command(&sentence[opens..at]))
        || has_words(sentence, COMMANDING)
        || COMMANDING.iter().filter(|part| !part.is_ascii()).any(|part| sentence.contains(part))
        || ends_with_command(sentence)
}

/// Whether words begin with a command, behind what only leads to it. A word that is a noun as well
/// commands nothing where a verb that states something comes soon after it.
fn begins_with_command(words: &str) -> bool {
    let mut words = words
        .split(|c: char| c.is_whitespace() || c == ',')
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '…'))
        .filter(|word| !word.is_empty())
        .skip_while(|word| LEADS.contains(word));
    let Some(word) = words.next() else { return false };
    let commands = ENGLISH_VERBS.contains(&word)
        || GERMAN_VERBS.contains(&word)
        || FOREIGN_VERBS.contains(&word)
        || RUSSIAN_COMMANDS.iter().any(|ending| word.ends_with(ending));
    commands && !words.take(3).any(|word| STATES.contains(&word))
}

/// Whether a sentence ends with a German verb in its bare form and has none that states something.
fn ends_with_command(sentence: &str) -> bool {
    const GERMAN: [&str; 6] = ["immer ", "nie ", "niemals ", "ab jetzt ", "ab sofort ", "künftig "];
    let last = sentence.split_whitespace().next_back().map(bare).unwrap_or_default();
    last.len() > 3 && last.ends_with("en") && GERMAN.iter().any(|word| sentence.starts_with(word))
}

/// Whether a German or French sentence has a verb that states something; an English one may have
/// such a verb behind its command, and is looked at there.
fn states(sentence: &str) -> bool {
    const STATING: &[&str] = &[
        "ist",
        "sind",
        "war",
        "waren",
        "wird",
        "werden",
        "wurde",
        "haben wir",
        "hast du",
        "bist du",
        "kannst du",
        "darfst du",
        "gibt es",
        "est",
        "sont",
        "était",
        "está",
        "están",
        "são",
    ];
    has_words(sentence, STATING)
}

/// Whether people speak of what they themselves will do.
fn is_resolution(sentence: &str) -> bool {
    has_words(sentence, RESOLVES) && !has_words(sentence, WANTS)
}

/// Whether a sentence is about what an agent does: what the coffee costs from now on is not.
fn is_for_work(sentence: &str) -> bool {
    is_about_work(sentence) || DEALINGS.iter().any(|part| sentence.contains(part))
}

/// Whether one of the words stands in a text, as words of their own.
pub(super) fn has_words(text: &str, words: &[&str]) -> bool {
    let stands = |part: &&str| {
        text.match_indices(*part).any(|(at, _)| stands_between(text, at, at + part.len()))
    };
    // Most words are in no text, and to be sure of that is much quicker than to begin a search.
    words.iter().any(|part| text.contains(*part) && stands(part))
}

#[cfg(test)]
mod tests {
    use crate::reading::speech::{SpokenKind, read, standing_part};

    #[track_caller]
    fn check(text: &str, expected: bool) {
        let is_instruction = read(text).kind == Some(SpokenKind::Instruction);
        assert_eq!(is_instruction, expected, "{text}");
        assert_eq!(standing_part(text).is_some(), expected, "{text}");
    }

    #[test]
    fn a_command_behind_a_standing_phrase_is_an_instruction() {
        for text in [
            "From now on, sign every commit.",
            "Please sign your commits from now on.",
            "From now on never push to main.",
            "From now on you must run the linter.",
            "Never commit a file that is larger than a megabyte.",
            "Whenever you touch the parser, run the fuzz target.",
            "For all future tasks: run the formatter first.",
            "Make sure you always pin the version of a dependency.",
            "Ab sofort bitte jede Migration mit Rückweg.",
            "Ab jetzt schreibst du jede Commit-Nachricht auf Englisch.",
            "Niemals direkt auf main pushen.",
            "Désormais, signe chaque commit.",
            "De ahora en adelante, usa siempre pnpm en el repositorio.",
            "Отныне подписывай каждый коммит.",
            "今後は必ずテストを書いてください。",
            "以后一律不要用 `npm`。",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn what_is_stated_asked_for_once_or_taken_back_is_none() {
        for text in [
            "In this repository we have about 40 crates.",
            "As of now the release branch is still red.",
            "As of today the release branch is frozen.",
            "From now on the release is built on the new machine.",
            "From now on test coverage is at ninety percent.",
            "Whenever you have time, look at the flaky test.",
            "Whenever you get to it, update the readme.",
            "We only have one database for tests.",
            "We always have two reviewers for a migration.",
            "All tests should pass now.",
            "Every file has to be renamed in this PR.",
            "Every new module is in this branch already.",
            "No test fails any more.",
            "Popup test is flaky since last week, never mind that one.",
            "Never mind the failing build.",
            "Never commit that one, please, it is not done.",
            "Always rename the file in this PR.",
            "From now on sign every commit. Just kidding.",
            "From now on I sign my commits.",
            "Make sure all tests pass.",
            "Keep in mind that the build is slow.",
            "Remember that the release is on Friday.",
            "Reminder: the branch is frozen until Friday.",
            "Fix the typo in this repo.",
            "Here we use one database.",
            "The rule is that nobody knows the rule.",
            "Always a pleasure to review your code.",
            "Ab sofort ist der Build wieder grün.",
            "Ab sofort wird der Server jede Nacht gewartet.",
            "Ab jetzt hast du Zugriff auf das Repo.",
            "In diesem Projekt haben wir vierzig Module.",
            "Dans ce projet, la base de données est lente.",
            "Désormais la branche est rouge.",
            "En este repo hay tres tablas.",
            "Отныне ветки защищены.",
            "今後はリリースが毎週あります。",
            "今后版本每周发布。",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn only_the_instruction_of_a_message_becomes_a_line() {
        for (text, expected) in [
            (
                "The build took an hour again. From now on, run only the changed tests.",
                Some("From now on, run only the changed tests."),
            ),
            ("```\nFrom now on sign every commit.\n```", None),
            ("> From now on sign every commit.\n\nIs that so?", None),
            ("From now on run `cargo x. y` first.", Some("From now on run `cargo x. y` first.")),
        ] {
            let part = standing_part(text);
            // A point inside of a quote ends a sentence for this purpose: then nothing is taken.
            if expected.is_some_and(|expected| expected.contains("x. y")) {
                assert!(part.is_none_or(|part| expected == Some(&part)), "{text}");
                continue;
            }
            assert_eq!(part.as_deref(), expected, "{text}");
        }
    }
}
