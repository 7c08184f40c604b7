//! What kind of thing a person says, where the words alone tell: a correction, a standing
//! instruction, a preference, or none of them.
//!
//! Phrases of several languages, each a sentence's beginning or a part of it, and nothing is
//! guessed: a sentence that fits no phrase says nothing here and is left to a judge. What is
//! quoted is another's and is not read. A report that something "always crashes" is no
//! instruction, so the words for always and never only count where they open a sentence and a
//! command follows.
//!
//! The list of phrases is data, [`PHRASES`]: another language is another set of rows.

/// What a person's words are, the strongest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum SpokenKind {
    /// What was done is not what was wanted.
    Correction,
    /// Something holds from now on.
    Instruction,
    Preference,
}

/// Where a phrase has to stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At the beginning of a sentence.
    First,
    /// Anywhere in it.
    Within,
}

struct Phrase {
    speech: SpokenKind,
    place: Place,
    /// All of them, in any order.
    parts: &'static [&'static str],
}

const fn phrase(speech: SpokenKind, place: Place, parts: &'static [&'static str]) -> Phrase {
    Phrase { speech, place, parts }
}

/// Rows of one speech and place.
macro_rules! rows {
    ($speech:ident, $place:ident: $([$($part:literal),+]),+ $(,)?) => {
        &[$(phrase(SpokenKind::$speech, Place::$place, &[$($part),+])),+]
    };
}

const PHRASES: &[&[Phrase]] = &[
    // English.
    rows!(Correction, Within:
        ["you forgot"], ["you should have"], ["you shouldn't have"], ["you should not have"],
        ["you were supposed to"], ["you were not supposed to"], ["you weren't supposed to"],
        ["i told you"], ["i asked you not"], ["i asked you to", "not"], ["not what i asked"], ["not what i wanted"],
        ["not what i meant"], ["i have said this"], ["i already said"], ["i keep having to"],
        ["how many times"], ["you ignored"], ["you broke"], ["you missed the"],
        ["you didn't follow"], ["you didn't use"], ["you didn't run"], ["you didn't ask"],
        ["you did not follow"], ["you did not use"], ["you did not run"], ["you did not ask"],
        ["revert that"], ["revert it"], ["revert this"], ["undo that"], ["undo it"],
        ["please redo"], ["redo it"], ["put it back"], ["put them back"], ["without asking"],
        ["that's wrong"], ["that is wrong"], ["not like this"], ["not like that"],
        ["why did you", "again"], ["you used", "again"], ["you again"], ["you took", "again"],
        ["you did", "again"], ["out of date", "you"]),
    rows!(Correction, First:
        ["wrong,"], ["wrong:"], ["wrong."], ["no, not"], ["no, use"], ["no, that"], ["no, you"],
        ["no, i wanted"], ["no, i meant"], ["undo."], ["undo,"], ["stop using"], ["stop adding"],
        ["stop doing"], ["stop writing"], ["stop changing"], ["you", "without running"],
        ["you", "without reading"], ["you committed", "without"], ["you changed", "without"],
        ["you pushed", "without"], ["you merged", "without"], ["you deleted", "without"]),
    rows!(Instruction, Within:
        ["from now on"], ["going forward"], ["for all future"], ["in future always"],
        ["as a rule,"], ["keep that in mind"], ["keep in mind that"], ["our convention is"],
        ["make sure you always"], ["make sure you never"], ["please always"], ["please never"],
        ["you must always"], ["you must never"], ["you should always"], ["you should never"],
        ["whenever you"], ["every time you"]),
    rows!(Instruction, First:
        ["next time"], ["remember:"], ["remember that"], ["do not ever"], ["don't ever"]),
    rows!(Preference, Within:
        ["i prefer"], ["i'd prefer"], ["i would prefer"], ["i'd rather have"],
        ["i would rather have"], ["i like it when"], ["i don't like it when"], ["we prefer"]),
    // German.
    rows!(Correction, Within:
        ["das ist falsch"], ["das war falsch"], ["so nicht"], ["du hast vergessen"],
        ["hast du vergessen"], ["du solltest doch"], ["du solltest nicht"], ["du hättest"],
        ["ich hatte gesagt"], ["ich habe dir gesagt"], ["ich hatte dich gebeten"],
        ["rückgängig"], ["du hast", "nicht benutzt"], ["du hast schon wieder"],
        ["nicht das, was ich"], ["das steht doch"]),
    rows!(Instruction, Within:
        ["ab jetzt"], ["ab sofort"], ["von nun an"], ["in zukunft"], ["künftig"],
        ["nie wieder"], ["grundsätzlich gilt"], ["merke dir"], ["merk dir"], ["denk daran"],
        ["beim nächsten mal"], ["nächstes mal"], ["immer wenn du"]),
    rows!(Preference, Within:
        ["ich bevorzuge"], ["ich hätte lieber"], ["mir ist", "lieber"], ["mir sind", "lieber"],
        ["ich mag es, wenn"]),
    // French.
    rows!(Correction, Within:
        ["ce n'est pas ça"], ["c'est faux"], ["tu as oublié"], ["vous avez oublié"],
        ["je t'avais dit"], ["je t'avais demandé"], ["ce n'est pas ce que"], ["annule ça"]),
    rows!(Instruction, Within:
        ["à partir de maintenant"], ["désormais"], ["dorénavant"], ["à l'avenir"],
        ["la prochaine fois"], ["souviens-toi"]),
    rows!(Preference, Within: ["je préfère"], ["j'aimerais mieux"], ["j'aime mieux"]),
    // Spanish.
    rows!(Correction, Within:
        ["eso está mal"], ["te pedí que no"], ["te dije"], ["te has olvidado"], ["olvidaste"],
        ["no es lo que"], ["no debías"]),
    rows!(Instruction, Within:
        ["a partir de ahora"], ["de ahora en adelante"], ["la próxima vez"], ["recuerda que"]),
    rows!(Instruction, First: ["siempre usa"], ["nunca uses"], ["siempre utiliza"]),
    rows!(Preference, Within: ["prefiero"], ["me gusta más"]),
    // Russian.
    rows!(Correction, Within:
        ["ты забыл"], ["ты снова"], ["ты опять"], ["я просил"], ["я же говорил"],
        ["не это имел"], ["не то, что я"], ["верни как было"], ["верни обратно"]),
    rows!(Correction, First: ["неправильно:"], ["неправильно,"], ["неверно,"], ["неверно:"]),
    rows!(Instruction, Within:
        ["впредь"], ["отныне"], ["с этого момента"], ["в следующий раз"], ["запомни"],
        ["больше никогда"]),
    rows!(Preference, Within: ["предпочитаю"], ["мне больше нравится"]),
    // Japanese.
    rows!(Correction, Within:
        ["そうではなく"], ["ではなく", "使ってください"], ["ではなく", "してください"],
        ["元に戻して"], ["言ったはず"], ["と言いました"], ["間違っています"]),
    rows!(Correction, First: ["違います"], ["違う、"], ["違う。"]),
    rows!(Instruction, Within:
        ["今後は"], ["これからは"], ["二度と"], ["覚えておいて"], ["次回からは"],
        ["必ず", "ください"], ["常に", "ください"]),
    rows!(Preference, Within: ["が好みです"], ["のほうが好"], ["方が好きです"]),
    // Chinese.
    rows!(Correction, Within:
        ["不是这样"], ["不是我要的"], ["我要的是", "不是"], ["你忘了"], ["你又"], ["改回去"],
        ["我说过"]),
    rows!(Correction, First: ["错了"], ["不对"]),
    rows!(Instruction, Within:
        ["今后"], ["从现在开始"], ["从今以后"], ["记住"], ["以后一律"], ["以后都"], ["以后请"],
        ["不要再"]),
    rows!(Preference, Within: ["我更喜欢"], ["我偏好"]),
];

/// The speaker is at fault, or no one is: no correction, whatever else is said.
const FORGIVEN: [&str; 12] = [
    "i was wrong",
    "my mistake",
    "my fault",
    "no need to",
    "you were right",
    "never mind",
    "did it right",
    "mein fehler",
    "c'est ma faute",
    "mi error",
    "моя ошибка",
    "私のミス",
];

/// Words for always and never that open a command, and how a word that commands ends.
const STANDING: [(&str, Command); 8] = [
    ("always ", Command::English),
    ("never ", Command::English),
    ("immer ", Command::German),
    ("niemals ", Command::German),
    ("nie ", Command::German),
    ("всегда ", Command::Russian),
    ("никогда не ", Command::Russian),
    ("никогда ", Command::Russian),
];

#[derive(Clone, Copy)]
enum Command {
    English,
    German,
    Russian,
}

impl Command {
    /// Whether a word may be that of a command, by its ending; a report's is not.
    fn is_given_by(self, word: &str) -> bool {
        let no_verb =
            ["the", "a", "an", "it", "this", "that", "mind", "had", "seen", "been", "in", "on"];
        match self {
            Self::English => {
                let ends = word.ends_with('s') || word.ends_with("ed") || word.ends_with("ing");
                word.len() >= 2 && (!ends || word.ends_with("ss")) && !no_verb.contains(&word)
            }
            Self::German => word.ends_with("en"),
            Self::Russian => {
                ["й", "йте", "и", "ите", "ь", "ьте"].iter().any(|ending| word.ends_with(ending))
            }
        }
    }
}

/// Returns what a person's words are, and whether they say that the rule itself is wrong.
pub(crate) fn read(text: &str) -> Option<(SpokenKind, bool)> {
    let said = without_quotes(text).to_lowercase().replace('’', "'");
    let mut found: Option<SpokenKind> = None;
    let mut forgiven = false;
    for sentence in sentences(&said) {
        forgiven |= FORGIVEN.iter().any(|words| sentence.contains(words));
        if let Some(speech) = of_sentence(sentence) {
            found = Some(found.map_or(speech, |known| known.min(speech)));
        }
    }
    let found = found.filter(|speech| !(forgiven && *speech == SpokenKind::Correction));
    found.map(|speech| (speech, speech == SpokenKind::Correction && blames_the_rule(&said)))
}

fn of_sentence(sentence: &str) -> Option<SpokenKind> {
    let is_question = sentence.ends_with(['?', '？']);
    let fits = |phrase: &&Phrase| {
        let first = phrase.parts.first().copied().unwrap_or_default();
        let place = match phrase.place {
            Place::First => sentence.starts_with(first),
            Place::Within => true,
        };
        place
            && phrase.parts.iter().all(|part| stands_in(sentence, part))
            && !(is_question && phrase.speech != SpokenKind::Correction)
    };
    let phrases = PHRASES.iter().copied().flatten().filter(fits).map(|phrase| phrase.speech).min();
    phrases.or_else(|| {
        let commands = !is_question && is_standing(sentence);
        commands.then_some(SpokenKind::Instruction)
    })
}

/// Whether a sentence opens with always or never, and a command follows.
fn is_standing(sentence: &str) -> bool {
    let sentence = sentence.strip_prefix("please ").or_else(|| sentence.strip_prefix("bitte "));
    let given = |sentence: &str| {
        STANDING.iter().any(|(words, command)| {
            let rest = sentence.strip_prefix(words).unwrap_or_default();
            let mut words = rest.split_whitespace();
            let is_command = match command {
                // The verb is the last word.
                Command::German => rest.split_whitespace().last(),
                _ => words.next(),
            };
            let trimmed = |word: &str| {
                let word = word.trim_matches(|c: char| !c.is_alphanumeric());
                command.is_given_by(word)
            };
            rest.split_whitespace().count() >= 2 && is_command.is_some_and(trimmed)
        })
    };
    sentence.is_some_and(given)
}

/// Whether the words say that a rule is wrong or out of date, and not only what was done.
fn blames_the_rule(said: &str) -> bool {
    const RULES: [&str; 9] =
        ["rule", "the line", "memory", "regel", "règle", "regla", "правило", "ルール", "规则"];
    const WRONG: [&str; 13] = [
        "out of date",
        "outdated",
        "obsolete",
        "no longer",
        "is wrong",
        "veraltet",
        "stimmt nicht mehr",
        "périmé",
        "obsoleta",
        "устарел",
        "古い",
        "过时",
        "falsch",
    ];
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    has(&RULES) && has(&WRONG)
}

/// Whether a phrase stands in a text, with no word going on over either end. Where words are
/// not set apart, it only has to be there.
fn stands_in(text: &str, part: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    let mut from = 0;
    while let Some(at) = text[from..].find(part) {
        let (start, end) = (from + at, from + at + part.len());
        let before = text[..start].chars().next_back().is_some_and(is_word);
        let after = text[end..].chars().next().is_some_and(is_word);
        let opens = part.chars().next().is_some_and(is_word);
        let closes = part.chars().next_back().is_some_and(is_word);
        if !(opens && before || closes && after) {
            return true;
        }
        from = end;
    }
    false
}

/// Scripts that put no spaces between words.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3000}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    // The mark that ends a sentence belongs to it, and a point inside of a word ends none.
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '\n');
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut chars = rest.char_indices().peekable();
        let mut end = rest.len();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            let apart = next.is_none_or(char::is_whitespace) || is_unspaced(c) || c == '\n';
            if ends(c) && apart {
                end = at + c.len_utf8();
                break;
            }
        }
        let (sentence, left) = rest.split_at(end);
        rest = left;
        Some(sentence.trim())
    })
    .filter(|sentence| !sentence.is_empty())
}

/// The text without what it quotes: what stands in marks, in code and behind `>`.
fn without_quotes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut fenced = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !trimmed.starts_with('>') {
            unquoted(line, &mut kept);
        }
        kept.push('\n');
    }
    kept
}

fn unquoted(line: &str, kept: &mut String) {
    let mut rest = line;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let close = match c {
            '`' => Some('`'),
            '"' => Some('"'),
            '“' | '„' => Some(if c == '“' { '”' } else { '“' }),
            '«' => Some('»'),
            '「' => Some('」'),
            '\'' if !before.is_alphanumeric() => Some('\''),
            _ => None,
        };
        let inner = close.and_then(|close| after.find(close).map(|at| at + close.len_utf8()));
        match inner {
            Some(length) => {
                kept.push('…');
                rest = &after[length..];
                before = '…';
            }
            None => {
                kept.push(c);
                rest = after;
                before = c;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<SpokenKind>) {
        assert_eq!(read(text).map(|(speech, _)| speech), expected, "{text}");
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
        check("Ab sofort wird jeder Commit signiert.", instruction);
        check("Désormais, signe chaque commit.", instruction);
        check("Отныне подписывай каждый коммит.", instruction);
        check("今後は署名してください。", instruction);
        check("I prefer tabs.", preference);
        check("Я предпочитаю табуляцию.", preference);
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
    fn a_person_may_say_that_the_rule_is_to_blame() {
        assert_eq!(
            read("That is wrong: the rule is out of date."),
            Some((SpokenKind::Correction, true))
        );
        assert_eq!(read("That is wrong, use the other."), Some((SpokenKind::Correction, false)));
        assert_eq!(read("The rule is out of date, I think."), None);
    }
}
