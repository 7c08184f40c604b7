//! Whose words they are, and in what mood: what other people said, praise, and doubt.

use super::sentences::{beginning, sentences, without_quotes};
use super::standing::has_words;
use super::words::{ASKS_BACK, DOUBTS, PRAISE, REPORTS, SPEAKERS};

/// Whether a message praises or thanks.
pub(super) fn praises(said: &str) -> bool {
    has_words(said, PRAISE)
}

/// Whether a message asks outright for what was done to be taken back.
pub(super) fn asks_back(said: &str) -> bool {
    ASKS_BACK.iter().any(|words| said.contains(words))
}

/// Whether a sentence tells what another person said or thinks: "the reviewer wrote that you should
/// have asked". Rules and tickets say things as well, and who cites those speaks for themselves.
pub(super) fn is_reported(sentence: &str) -> bool {
    REPORTS.iter().any(|verb| {
        sentence.match_indices(verb).any(|(at, _)| {
            let before = sentence[..at].split_whitespace().next_back().unwrap_or_default();
            let who = before.trim_matches(|c: char| !c.is_alphanumeric());
            let stands = sentence[..at].ends_with(' ')
                && sentence[at + verb.len()..].chars().next().is_none_or(|c| !c.is_alphanumeric());
            stands && !who.is_empty() && !SPEAKERS.contains(&who)
        })
    })
}

/// Whether a message calls a person who is no agent, as far as the name tells.
pub(super) fn is_to_another(said: &str) -> bool {
    const AGENTS: [&str; 9] =
        ["bot", "agent", "spore", "ai", "claude", "codex", "gemini", "goose", "assistant"];
    let Some(called) = said.trim_start().strip_prefix('@') else { return false };
    let name = called.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default();
    !name.split(['-', '_', '.', ':']).any(|part| AGENTS.contains(&part))
}

/// Whether a person doubts what is done, or wants it left out: then it has helped no person.
pub(crate) fn doubts(text: &str) -> bool {
    let said = without_quotes(beginning(text)).to_lowercase().replace('’', "'");
    sentences(&said).any(|sentence| has_words(sentence, DOUBTS))
}

#[cfg(test)]
mod tests {
    use super::doubts;
    use crate::reading::speech::read;

    #[track_caller]
    fn check(text: &str, corrects: bool) {
        let speech = read(text).of_who_saw_work(true);
        assert_eq!(speech.is_correction(), corrects, "{text}");
        assert!(corrects || !speech.may_correct(), "{text}");
    }

    #[test]
    fn praise_is_no_correction_unless_it_asks_for_the_work_back() {
        for text in [
            "You used `make lint` again, nice.",
            "What I love: you ran `make lint` without asking.",
            "We agreed that you'd run make lint and you did.",
            "You ran make lint again. That saved me a review round, well done.",
            "You pushed straight to main again? No, you asked first. Good job.",
            "Du hast wieder make lint benutzt, super.",
            "Tu as encore lancé make lint, bravo.",
        ] {
            check(text, false);
        }
        for text in [
            "Nice try, but revert that.",
            "Thanks, but undo it, please.",
            "Danke, aber mach das rückgängig.",
            "You forgot make lint.",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn what_somebody_else_said_corrects_nothing() {
        for text in [
            "The reviewer wrote that you should have used uv add, but she is wrong.",
            "Bob thinks that you should have asked.",
            "Ada said you forgot the header.",
            "Der Kollege meint, du hättest fragen sollen.",
        ] {
            check(text, false);
        }
        for text in [
            "I said you should have asked.",
            "As I wrote, you forgot the header.",
            "You should have asked, the docs say so.",
        ] {
            check(text, true);
        }
    }

    #[test]
    fn what_is_said_to_a_colleague_or_agrees_corrects_nothing() {
        for text in ["@jonas you pushed to main again.", "Ja, raus damit.", "Yes, undo it."] {
            check(text, false);
        }
        check("@spore you forgot the header.", true);
        check("@build-bot: you forgot the header.", true);
    }

    #[test]
    fn who_doubts_has_not_been_helped() {
        for text in [
            "I am not sure that we need `make lint` before committing.",
            "Do we really need this?",
            "Skip it for now.",
            "Muss das wirklich sein?",
            "C'est vraiment nécessaire ?",
        ] {
            assert!(doubts(text), "{text}");
        }
        for text in ["Commit the parser.", "Fine, commit it.", "Is the build green?"] {
            assert!(!doubts(text), "{text}");
        }
    }
}
