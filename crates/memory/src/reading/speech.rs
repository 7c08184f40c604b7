//! What kind of thing a person says, where the words alone tell: a correction, a standing
//! instruction, a preference, or none of them.
//!
//! Phrases of many languages, each a sentence's beginning or a part of it, and nothing is
//! guessed: a sentence that fits no phrase says nothing here and is left to a judge. What is
//! quoted or reported is another's and is not read ([`voices`]). What becomes a line without a judge
//! must be a command behind a standing phrase ([`standing`]).
//!
//! Some phrases prove nothing alone: that something is missing is said of errors as well. Such a
//! *complaint* is a correction only where an agent worked in the session, or where it is about what
//! a line says; who listens decides that.

mod blame;
mod kind;
mod phrases;
mod reproach;
mod sentences;
mod standing;
mod voices;
mod words;
mod work;

pub(crate) use blame::blames;
pub(crate) use kind::SpokenKind;
pub(crate) use reproach::reproaches;
pub(crate) use voices::doubts;

use crate::reading::scripts::is_unspaced;
use sentences::{beginning, sentences, without_quotes};
use words::{DEEDS, ENGLISH_PAST, FORGIVEN, GOOD_DEEDS, NO_DEEDS, OPENERS, REQUESTS};
use work::{bare, is_about_work, is_of_work};

/// What a person's words come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct SpokenWords {
    /// What they are for certain.
    pub(crate) kind: Option<SpokenKind>,
    /// Whether they find fault with something that may be a deed of an agent's.
    pub(crate) complains: bool,
    /// Whether they only hint at it.
    pub(crate) hints: bool,
    /// Whether they only ask, and ask for nothing to be done.
    pub(crate) only_asks: bool,
}

/// Returns what a person's words are.
pub(crate) fn read(text: &str) -> SpokenWords {
    let said = without_quotes(beginning(text)).to_lowercase().replace('’', "'");
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    let mut speech = SpokenWords { only_asks: true, ..SpokenWords::default() };
    let mut hints = 0;
    for sentence in sentences(&said) {
        let opens = opening(sentence);
        let is_question = sentence.ends_with(['?', '？']);
        let found = phrases::find(sentence, opens, is_question);
        let own = &sentence[opens..];
        // What takes long to find out is asked last: most of what people say is nothing of all this.
        let instructs = !is_question
            && found.kind.is_none_or(|kind| kind == SpokenKind::Instruction)
            && standing::instructs(sentence, opens, found.standing)
            && !standing::is_taken_back(&said);
        let kind = match found.kind {
            _ if instructs => Some(SpokenKind::Instruction),
            Some(SpokenKind::Instruction) => None,
            Some(SpokenKind::Correction) if agrees(own) => None,
            Some(SpokenKind::Preference) if standing::is_bound(sentence) => None,
            None if !is_question && blames_the_doer(own, found) => Some(SpokenKind::Correction),
            kind => kind,
        };
        let complains = !is_question
            && (found.complains || tells_a_deed(sentence) || (opens > 0 && tells_a_deed(own)));
        let hinted = match is_question {
            true => 0,
            false => found.hints + u8::from(names_a_deed(sentence)),
        };
        // What another person said is not the speaker's.
        if (kind.is_some() || complains || hinted > 0) && !voices::is_reported(sentence) {
            speech.kind = [speech.kind, kind].into_iter().flatten().min();
            speech.complains |= complains;
            hints += hinted;
        }
        speech.only_asks &= is_question && !asks_for_work(sentence);
    }
    speech.hints = hints >= HINTS;
    // Who praises corrects nothing by a word of fault alone; who takes the fault or forgives it,
    // nothing at all.
    if voices::is_to_another(&said) {
        return SpokenWords { only_asks: speech.only_asks, ..SpokenWords::default() };
    }
    let faults = speech.complains || speech.hints || speech.is_correction();
    if faults && (voices::praises(&said) || says(FORGIVEN)) {
        (speech.complains, speech.hints) = (false, false);
        if speech.is_correction() && (says(FORGIVEN) || !voices::asks_back(&said)) {
            speech.kind = None;
        }
    }
    speech
}

/// Returns the sentences of a message that are standing instructions, as they were written.
pub(crate) fn standing_part(text: &str) -> Option<String> {
    let is_instruction = |text: &str| read(text).kind == Some(SpokenKind::Instruction);
    let is_quoting = text.lines().any(|line| line.trim_start().starts_with(['>', '`', '~']));
    if !is_instruction(text) || is_quoting && text.lines().count() > 1 {
        return None;
    }
    let own: Vec<&str> =
        sentences(beginning(text)).filter(|sentence| is_instruction(sentence)).collect();
    (!own.is_empty()).then(|| own.join(" "))
}

impl SpokenWords {
    /// Takes a complaint for a correction where an agent worked in the session.
    pub(crate) fn of_who_saw_work(mut self, acted: bool) -> Self {
        if self.kind.is_none() && self.complains && acted {
            self.kind = Some(SpokenKind::Correction);
        }
        self
    }

    /// Takes a complaint, or hints of one, for a correction where it is about what a line says.
    pub(crate) fn about_a_line(mut self) -> Self {
        if self.may_correct() {
            self.kind = Some(SpokenKind::Correction);
        }
        self
    }

    /// Whether it is a correction if it is about what a line says.
    pub(crate) fn may_correct(self) -> bool {
        self.kind.is_none() && (self.complains || self.hints)
    }

    /// What a person says who put right what was done.
    pub(crate) fn correction() -> Self {
        Self { kind: Some(SpokenKind::Correction), ..Self::default() }
    }

    pub(crate) fn is_correction(self) -> bool {
        self.kind == Some(SpokenKind::Correction)
    }
}

/// How many hints are a complaint.
const HINTS: u8 = 2;

/// Returns where a sentence begins behind its openers and whom it calls.
fn opening(sentence: &str) -> usize {
    let mut at = 0;
    for _ in 0..4 {
        let rest = &sentence[at..];
        let word = rest.split(char::is_whitespace).next().unwrap_or_default();
        let bare = word.trim_end_matches([',', ':', '!', '.', '…', '-', '–', '—']);
        let opens = OPENERS.contains(&bare) || (bare.starts_with('@') && bare.len() > 1);
        let behind = &rest[word.len()..];
        let next = behind.trim_start_matches([' ', '-', '–', '—', ',']);
        if !opens || next.is_empty() {
            break;
        }
        at = sentence.len() - next.len();
    }
    at
}

fn asks_for_work(sentence: &str) -> bool {
    REQUESTS.iter().any(|words| sentence.contains(words))
}

/// Whether a sentence tells the one who is spoken to what they did.
fn tells_a_deed(sentence: &str) -> bool {
    let is_question = sentence.ends_with(['?', '？']);
    let tells = |(words, endings): &(&str, &[&str])| {
        let Some(rest) = sentence.strip_prefix(words) else { return false };
        let word = rest.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_long = rest.chars().any(is_unspaced) || rest.split_whitespace().count() >= 3;
        let is_good = GOOD_DEEDS.contains(&word) || NO_DEEDS.contains(&word);
        is_long && !is_good && endings.iter().any(|ending| word.ends_with(ending))
    };
    !is_question && DEEDS.iter().any(tells)
}

/// Whether a sentence tells in passing what the one who is spoken to did: "the script you rewrote".
fn names_a_deed(sentence: &str) -> bool {
    sentence.match_indices("you ").any(|(at, you)| {
        let word = sentence[at + you.len()..].split_whitespace().next().unwrap_or_default();
        let starts = at == 0 || sentence[..at].ends_with(' ');
        let word = bare(word);
        let is_good = GOOD_DEEDS.contains(&word) || NO_DEEDS.contains(&word);
        starts && !is_good && ENGLISH_PAST.iter().any(|end| word.ends_with(end))
    })
}

/// Whether a sentence tells the one who is spoken to of their deed or their work, and that something
/// is wrong with it: "you pushed the fix straight to main again", "your migration still drops it".
fn blames_the_doer(sentence: &str, found: phrases::PhrasesFound) -> bool {
    const YOURS: [&str; 12] = [
        "your ",
        "dein ",
        "deine ",
        "ton ",
        "ta ",
        "tes ",
        "tu ",
        "tus ",
        "seu ",
        "sua ",
        "твой ",
        "твоя ",
    ];
    // The word for "you" or "your" at the beginning is one of the hints.
    let finds_fault = found.complains || found.hints >= 2;
    let work = YOURS.iter().find_map(|words| sentence.strip_prefix(words));
    let is_of_work = work.is_some_and(|rest| rest.split_whitespace().take(2).any(is_of_work));
    finds_fault && (is_of_work || tells_a_deed(sentence) && is_about_work(sentence))
}

/// Whether a sentence agrees with what another person said: "yes, take it out", or says no to something
/// and agrees all the same: "no, that's fine".
fn agrees(sentence: &str) -> bool {
    const YES: [&str; 13] =
        ["yes", "yep", "yeah", "yup", "ja", "jo", "oui", "sí", "sim", "да", "はい", "对", "네"];
    const NO: [&str; 8] = ["no", "nope", "nein", "non", "não", "нет", "nee", "nie"];
    const FINE: [&str; 17] = [
        "fine",
        "ok",
        "okay",
        "good",
        "correct",
        "right",
        "works",
        "passt",
        "gut",
        "richtig",
        "stimmt",
        "bien",
        "bon",
        "correcto",
        "certo",
        "хорошо",
        "нормально",
    ];
    let mut words = sentence.split(|c: char| !c.is_alphanumeric());
    let first = words.next().unwrap_or_default();
    YES.contains(&first) || NO.contains(&first) && words.any(|word| FINE.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<SpokenKind>) {
        assert_eq!(read(text).kind, expected, "{text}");
    }

    #[test]
    fn people_correct_instruct_and_prefer_in_their_own_language() {
        let [correction, instruction, preference] =
            [SpokenKind::Correction, SpokenKind::Instruction, SpokenKind::Preference].map(Some);
        check("You forgot the header.", correction);
        check("Du hast vergessen, den Kopf zu setzen.", correction);
        check("Tu as oublié l'en-tête.", correction);
        check("Ты забыл заголовок.", correction);
        check("違います。元に戻してください。", correction);
        check("不对,改回去。", correction);
        check("From now on sign every commit.", instruction);
        check("Please always sign your commits.", instruction);
        check("Ab sofort bitte jeden Commit signieren.", instruction);
        check("Désormais, signe chaque commit.", instruction);
        check("Отныне подписывай каждый коммит.", instruction);
        check("今後は署名してください。", instruction);
        check("I prefer tabs.", preference);
        check("Я предпочитаю табуляцию.", preference);
    }

    #[test]
    fn an_instruction_is_about_work_and_for_somebody_else() {
        let instruction = Some(SpokenKind::Instruction);
        check("Always run the linter before you hand it over.", instruction);
        check("Apartir de agora, responda em português, por favor.", None);
        check("A partir de agora, responda em português, por favor.", instruction);
        check("앞으로는 커밋에 번호를 적어 주세요.", instruction);
        check("من الآن فصاعدا يرجى كتابة اختبار", instruction);
        check("अब से हर फ़ाइल में टेस्ट लिखो, कृपया", instruction);
        for text in [
            "Never push your luck with the dentist.",
            "Always look on the bright side.",
            "Reminder: lunch is at one.",
            "From now on I only drink tea.",
            "Starting Monday I am on holiday.",
            "Every customer must see the balance.",
            "No, that's fine.",
            "Nein, das passt so.",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn an_instruction_that_names_a_fault_is_no_correction_of_one() {
        check("From now on you never push without asking.", Some(SpokenKind::Instruction));
        check("You pushed without asking, from now on ask.", Some(SpokenKind::Correction));
    }

    #[test]
    fn who_only_asks_is_told_from_who_asks_for_work() {
        for (text, expected) in [
            ("Was the schema rebuilt?", true),
            ("А схема точно пересобрана?", true),
            ("Can you rebuild the schema?", false),
            ("Is it old? Rebuild it.", false),
        ] {
            assert_eq!(read(text).only_asks, expected, "{text}");
        }
    }

    #[test]
    fn a_report_a_question_and_a_quote_are_none_of_it() {
        for text in [
            "It always crashes.",
            "Always crashes on start.",
            "Should I always sign commits from now on?",
            "The docs say \"you must never call this twice\".",
            "Translate 'From now on it is free.'",
            "> You forgot the tests.\n\nIs that so?",
            "```\nfrom now on\n```",
            "Never mind, you forgot nothing.",
            "That was my mistake, you should have no trouble.",
            "Der Fehler tritt immer auf.",
            "",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn who_tells_an_agent_its_own_deed_complains_unless_they_praise_or_ask() {
        #[track_caller]
        fn check(text: &str, acted: bool, expected: Option<SpokenKind>) {
            assert_eq!(read(text).of_who_saw_work(acted).kind, expected, "{text}");
        }
        for text in [
            "You renamed half of the module.",
            "And you put the key into the log.",
            "Du hast die Tabelle neu angelegt.",
            "Tu as modifié le schéma de la page.",
            "Has borrado la tabla de ejemplo.",
            "Ты удалил таблицу с примерами.",
        ] {
            check(text, true, Some(SpokenKind::Correction));
            check(text, false, None);
        }
        for text in [
            "You renamed half of the module?",
            "You renamed it as I hoped, thanks.",
            "You fixed the flaky test.",
            "You can rename half of the module.",
            "Du hast recht mit dem Index.",
        ] {
            check(text, true, None);
        }
    }

    #[test]
    fn fault_that_is_found_with_somebodys_work_needs_no_trace_of_it() {
        check("Du hast die Tabelle ohne Index angelegt.", Some(SpokenKind::Correction));
        check("Your migration still drops the old column.", Some(SpokenKind::Correction));
        check("You left your mug in the sink.", None);
        check("Your branch works, thanks, still great.", None);
    }

    #[test]
    fn a_message_of_any_length_is_read_in_bounded_time() {
        // Each would take minutes if what is found were held against all that is found.
        for text in ["you forgot revert that ", "again still without ", "always please never "] {
            let _ = read(&text.repeat(50_000));
        }
        assert!(!reproaches(&"you should not have run make sweep ".repeat(50_000), "make swoop"));
        let pasted = format!("{} You forgot the header.", "at main.rs:12\n".repeat(50_000));
        assert_eq!(read(&pasted).kind, None);
        check(&format!("You forgot the header.\n{pasted}"), Some(SpokenKind::Correction));
    }
}
