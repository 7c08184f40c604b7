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

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

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
        ["you did", "again"], ["out of date", "you"],
        ["nobody asked"], ["i never asked"], ["i never mentioned"], ["i did not ask you"],
        ["i didn't ask you"], ["without a word"], ["not how we"], ["we agreed on this"], ["as we agreed", "not"], ["you keep"], ["should have been"],
        ["should never have"], ["take it out"], ["take that out"], ["take them out"], ["take this out"],
        ["back it out"], ["roll it back"], ["roll that back"], ["change it back"],
        ["reverted your"], ["i reverted"], ["had to revert"], ["had to undo"], ["had to redo"],
        ["for the third time"], ["how often do i"], ["yet again"]),
    rows!(Correction, First:
        ["undo"], ["revert"], ["please revert"], ["please undo"], ["please don't", "again"],
        ["the", "you", "is wrong"], ["the", "you", "the wrong"], ["and the", "you", "the wrong"],
        ["wrong,"], ["wrong:"], ["wrong."], ["no, not"], ["no, use"], ["no, that"], ["no, you"],
        ["no, i wanted"], ["no, i meant"], ["undo."], ["undo,"], ["stop using"], ["stop adding"],
        ["stop doing"], ["stop writing"], ["stop changing"], ["you", "without running"],
        ["you", "without reading"], ["you committed", "without"], ["you changed", "without"],
        ["you pushed", "without"], ["you merged", "without"], ["you deleted", "without"]),
    rows!(Instruction, Within:
        ["from now on"], ["from here on"], ["from today"], ["as of today"], ["as of now"],
        ["starting today"], ["starting monday"], ["starting tomorrow"], ["starting next week"],
        ["never ever"], ["going forward"], ["for all future"], ["in future always"],
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
        ["nicht das, was ich"], ["das steht doch"], ["wie oft noch"], ["zum dritten mal"],
        ["schon wieder", "du"], ["nimm das", "raus"], ["nimm es", "raus"], ["raus damit"],
        ["bitte zurücknehmen"], ["mach das", "weg"], ["ohne zu fragen"], ["ohne vorher"]),
    rows!(Instruction, Within:
        ["ab jetzt"], ["ab sofort"], ["von nun an"], ["in zukunft"], ["künftig"],
        ["nie wieder"], ["grundsätzlich gilt"], ["merke dir"], ["merk dir"], ["denk daran"],
        ["ab heute"], ["ab montag"], ["ab morgen"], ["beim nächsten mal"], ["nächstes mal"], ["immer wenn du"]),
    rows!(Preference, Within:
        ["ich bevorzuge"], ["ich hätte lieber"], ["mir ist", "lieber"], ["mir sind", "lieber"],
        ["ich mag es, wenn"]),
    // French.
    rows!(Correction, Within:
        ["ce n'est pas ça"], ["c'est faux"], ["tu as oublié"], ["vous avez oublié"],
        ["je t'avais dit"], ["je t'avais demandé"], ["ce n'est pas ce que"], ["annule ça"],
        ["on t'a demandé"], ["je t'ai demandé"], ["sans demander"],
        ["encore une fois, tu"], ["à retirer"], ["pas comme ça"]),
    rows!(Correction, First: ["annule"], ["enlève"], ["retire"]),
    rows!(Instruction, Within:
        ["à partir de maintenant"], ["à partir d'aujourd'hui"], ["à partir de lundi"], ["désormais"], ["dorénavant"], ["à l'avenir"],
        ["la prochaine fois"], ["souviens-toi"]),
    rows!(Preference, Within: ["je préfère"], ["j'aimerais mieux"], ["j'aime mieux"]),
    // Spanish.
    rows!(Correction, Within:
        ["eso está mal"], ["te pedí que no"], ["te dije"], ["te has olvidado"], ["olvidaste"],
        ["no es lo que"], ["no debías"], ["quítalo"], ["quítala"], ["deshazlo"], ["reviértelo"],
        ["sin preguntar"], ["otra vez lo mismo"], ["así no"], ["no así"]),
    rows!(Instruction, Within:
        ["a partir de ahora"], ["a partir de hoy"], ["a partir del lunes"], ["de ahora en adelante"], ["la próxima vez"], ["recuerda que"]),
    rows!(Instruction, First: ["siempre usa"], ["nunca uses"], ["siempre utiliza"]),
    rows!(Preference, Within: ["prefiero"], ["me gusta más"]),
    // Russian.
    rows!(Correction, Within:
        ["ты забыл"], ["ты снова"], ["ты опять"], ["я просил"], ["я же говорил"],
        ["не это имел"], ["не то, что я"], ["так нельзя"], ["переделай"], ["откати"],
        ["без спроса"], ["сколько раз"], ["верни как было"], ["верни обратно"]),
    rows!(Correction, First: ["неправильно:"], ["неправильно,"], ["неверно,"], ["неверно:"]),
    rows!(Instruction, Within:
        ["впредь"], ["отныне"], ["с этого момента"], ["в следующий раз"], ["запомни"],
        ["больше никогда"]),
    rows!(Preference, Within: ["предпочитаю"], ["мне больше нравится"], ["мне удобнее"]),
    // Japanese.
    rows!(Correction, Within:
        ["そうではなく"], ["ではなく", "使ってください"], ["ではなく", "してください"],
        ["元に戻して"], ["言ったはず"], ["やめてください"], ["しましたよね"], ["勝手に"], ["と言いました"], ["間違っています"]),
    rows!(Correction, First: ["違います"], ["違う、"], ["違う。"]),
    rows!(Instruction, Within:
        ["今後は"], ["今後、"], ["これからは"], ["二度と"], ["覚えておいて"], ["次回からは"],
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

/// How a sentence begins that tells the one who is spoken to what they did, and how the word
/// behind it ends. People who tell an agent its own deeds complain, unless they praise or ask.
const DEEDS: [(&str, &[&str]); 16] = [
    ("you ", ENGLISH_PAST),
    ("you just ", ENGLISH_PAST),
    ("you also ", ENGLISH_PAST),
    ("you've ", ENGLISH_PAST),
    ("you have ", ENGLISH_PAST),
    ("and you ", ENGLISH_PAST),
    ("but you ", ENGLISH_PAST),
    ("du hast ", &[""]),
    ("sie haben ", &[""]),
    ("tu as ", &["é", "is", "it", "u"]),
    ("vous avez ", &["é", "is", "it", "u"]),
    ("has ", &["ado", "ido", "cho", "sto"]),
    ("ты ", &["л", "ла", "лся", "лась", "ешь", "ишь"]),
    ("вы ", &["ли", "лись", "ете", "ите"]),
    ("你把", &[""]),
    ("你没", &[""]),
];

/// Endings of the past, and irregular forms of the verbs that work is told with.
const ENGLISH_PAST: &[&str] = &[
    "ed",
    "ran",
    "wrote",
    "made",
    "took",
    "left",
    "did",
    "broke",
    "went",
    "got",
    "kept",
    "put",
    "sent",
    "chose",
    "threw",
    "built",
    "added",
    "hid",
    "forgot",
    "set",
    "didn't",
    "never",
    "hardcoded",
    "rewrote",
    "undid",
    "cut",
    "let",
    "still",
];

/// Deeds that draw no complaint from people, and being right, which begins like one.
const GOOD_DEEDS: [&str; 20] = [
    "fixed",
    "solved",
    "caught",
    "remembered",
    "found",
    "saved",
    "helped",
    "noticed",
    "finished",
    "improved",
    "explained",
    "answered",
    "recht",
    "raison",
    "réussi",
    "trouvé",
    "arreglado",
    "encontrado",
    "нашёл",
    "исправил",
];

/// Who praises or thanks does not complain.
const PRAISE: [&str; 26] = [
    "thank",
    "thx",
    "appreciate",
    "nice",
    "great",
    "perfect",
    "well done",
    "good job",
    "good call",
    "love it",
    "exactly",
    "right this time",
    "danke",
    "prima",
    "super",
    "gut gemacht",
    "gracias",
    "genial",
    "perfecto",
    "merci",
    "bravo",
    "parfait",
    "спасибо",
    "отлично",
    "ありがとう",
    "谢谢",
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

/// Returns what a person's words are, and whether they say that the rule itself is wrong. What was
/// done is only told to an agent where one has `acted` in the session: people talk to each other.
pub(crate) fn read(text: &str, acted: bool) -> Option<(SpokenKind, bool)> {
    let said = without_quotes(text).to_lowercase().replace('’', "'");
    let mut found = sentences(&said).filter_map(of_sentence).min();
    // A deed that is told with praise, or that the speaker wonders about, is no complaint.
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if acted && found.is_none() && sentences(&said).any(tells_a_deed) && !says(&PRAISE) {
        found = Some(SpokenKind::Correction);
    }
    let forgiven = found == Some(SpokenKind::Correction) && says(&FORGIVEN);
    let found = found.filter(|_| !forgiven);
    found.map(|speech| (speech, speech == SpokenKind::Correction && blames_the_rule(&said)))
}

fn of_sentence(sentence: &str) -> Option<SpokenKind> {
    let is_question = sentence.ends_with(['?', '？']);
    PHRASE_SEARCH.strongest(sentence, is_question).or_else(|| {
        let commands = !is_question && is_standing(sentence);
        commands.then_some(SpokenKind::Instruction)
    })
}

/// All parts of all phrases, looked for in one pass: most of what people say has none of them.
struct PhraseSearch {
    parts: Option<AhoCorasick>,
    /// Each phrase with its parts' places in the search.
    phrases: Vec<(&'static Phrase, Vec<usize>)>,
    /// The phrases that begin with a part.
    by_first: Vec<Vec<usize>>,
}

static PHRASE_SEARCH: LazyLock<PhraseSearch> = LazyLock::new(PhraseSearch::new);

impl PhraseSearch {
    fn new() -> Self {
        let mut texts: Vec<&'static str> = Vec::new();
        let mut phrases: Vec<(&'static Phrase, Vec<usize>)> = Vec::new();
        for phrase in PHRASES.iter().copied().flatten() {
            let place = |part: &&'static str| {
                texts.iter().position(|known| known == part).unwrap_or_else(|| {
                    texts.push(part);
                    texts.len() - 1
                })
            };
            let parts = phrase.parts.iter().map(place).collect();
            phrases.push((phrase, parts));
        }
        let mut by_first = vec![Vec::new(); texts.len()];
        for (at, (_, parts)) in phrases.iter().enumerate() {
            parts.first().into_iter().for_each(|first| by_first[*first].push(at));
        }
        Self { parts: AhoCorasick::new(&texts).ok(), phrases, by_first }
    }

    /// Returns the strongest kind that any phrase gives a sentence.
    fn strongest(&self, sentence: &str, is_question: bool) -> Option<SpokenKind> {
        // Where each part stands first.
        let mut found: Vec<(usize, usize)> = Vec::new();
        for hit in self.parts.as_ref()?.find_overlapping_iter(sentence) {
            if stands_between(sentence, hit.start(), hit.end()) {
                found.push((hit.pattern().as_usize(), hit.start()));
            }
        }
        let fits = |(phrase, parts): &&(&Phrase, Vec<usize>)| {
            let is_found = |part: &usize| found.iter().any(|(one, _)| one == part);
            let is_first = || found.iter().any(|(one, at)| Some(one) == parts.first() && *at == 0);
            (phrase.place == Place::Within || is_first())
                && parts.iter().all(is_found)
                && !(is_question && phrase.speech != SpokenKind::Correction)
        };
        let begun = found.iter().flat_map(|(part, _)| &self.by_first[*part]);
        begun.map(|at| &self.phrases[*at]).filter(fits).map(|(phrase, _)| phrase.speech).min()
    }
}

/// Whether a sentence tells the one who is spoken to what they did.
fn tells_a_deed(sentence: &str) -> bool {
    let is_question = sentence.ends_with(['?', '？']);
    let tells = |(words, endings): &(&str, &[&str])| {
        let Some(rest) = sentence.strip_prefix(words) else { return false };
        let word = rest.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_long = rest.chars().any(is_unspaced) || rest.split_whitespace().count() >= 3;
        let is_good = GOOD_DEEDS.contains(&word);
        is_long && !is_good && endings.iter().any(|ending| word.ends_with(ending))
    };
    !is_question && DEEDS.iter().any(tells)
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

/// How people say that a deed should not have been done: what stands before it in the sentence, and
/// what behind it. Where nothing has to stand behind it, it follows at once.
const REPROACHES: &[(&str, &str)] = &[
    ("shouldn't have", ""),
    ("should not have", ""),
    ("should never have", ""),
    ("weren't supposed to", ""),
    ("were not supposed to", ""),
    ("asked you not to", ""),
    ("told you not to", ""),
    ("nobody asked you to", ""),
    ("nobody asked for", ""),
    ("never asked you to", ""),
    ("never asked for", ""),
    ("stop running", ""),
    ("stop using", ""),
    ("stop calling", ""),
    ("stop adding", ""),
    ("solltest", " nicht"),
    ("hättest", " nicht"),
    ("gebeten,", " nicht"),
    ("n'aurais pas dû", ""),
    ("n'auriez pas dû", ""),
    ("demandé de ne pas", ""),
    ("no debías", ""),
    ("no deberías haber", ""),
    ("te pedí que no", ""),
    ("не надо было", ""),
    ("не нужно было", ""),
    ("не следовало", ""),
    ("", "しないで"),
    ("不应该", ""),
];

/// Who says one of these speaks of something that was left out.
const OMISSIONS: &[&str] = &[
    "forg",
    "skip",
    "omit",
    "ignor",
    "miss",
    "left out",
    "leave out",
    "without",
    "vergess",
    "auslass",
    "ausgelass",
    "weglass",
    "weggelass",
    "übersp",
    "oubli",
    "omis",
    "sauté",
    "olvid",
    "забы",
    "пропус",
    "忘",
    "省略",
    "跳过",
];

/// Where another clause begins, which may be about another deed.
const BREAKS: [&str; 20] = [
    ",",
    ";",
    ":",
    " - ",
    "—",
    " and ",
    " but ",
    " then ",
    " before ",
    " after ",
    " until ",
    " without ",
    " und ",
    " aber ",
    " ohne ",
    " et ",
    " sans ",
    " sin ",
    " и ",
    " без ",
];

/// How far behind a reproach its deed may begin, in bytes: a verb stands between, and no more.
const REACH: usize = 40;

/// Whether a text says, in one clause, that a deed should not have been done. To say that it was
/// left out, done too late or done wrongly is none of that.
pub(crate) fn reproaches(text: &str, deed: &str) -> bool {
    // A deed is often set as code, and what it stands in is the speaker's own sentence.
    let unmarked = |line: &str| match line.trim_start().starts_with("```") {
        true => "```".to_owned(),
        false => line.replace('`', ""),
    };
    let lines: Vec<String> = text.lines().map(unmarked).collect();
    let said = without_quotes(&lines.join("\n")).to_lowercase().replace('’', "'");
    let deed = deed.to_lowercase();
    let is_reproached = |sentence: &str| {
        let mut places = sentence.match_indices(&deed).map(|(at, _)| (at, at + deed.len()));
        !OMISSIONS.iter().any(|word| sentence.contains(word))
            && places.any(|(from, to)| {
                let (before, after) = (&sentence[..from], &sentence[to..]);
                stands_between(sentence, from, to)
                    && REPROACHES.iter().any(|words| stand_around(*words, before, after))
            })
    };
    !deed.is_empty() && sentences(&said).any(is_reproached)
}

/// Whether a reproach stands around a deed, in the deed's own clause, and is not the speaker's of
/// themselves.
fn stand_around((opens, closes): (&str, &str), before: &str, after: &str) -> bool {
    let is_one =
        |between: &str| between.len() <= REACH && !BREAKS.iter().any(|part| between.contains(part));
    let opened = opens.is_empty()
        || before.rfind(opens).is_some_and(|at| {
            let who = before[..at].split_whitespace().next_back();
            !(opens.starts_with("should") && who == Some("i"))
                && is_one(&before[at + opens.len()..])
        });
    opened && after.find(closes).is_some_and(|at| is_one(&after[..at]))
}

/// Whether the words say that a rule is wrong or out of date, and not only what was done. Both must
/// stand in one clause: that it is wrong to break a rule is no word against the rule.
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
    // What people say of one who did not go by the rule.
    const BROKEN: [&str; 12] = [
        "forgot", "ignor", "broke", "break", "follow", "skip", "didn't", "did not", "vergess",
        "oubli", "olvid", "забы",
    ];
    let has = |clause: &str, words: &[&str]| words.iter().any(|word| clause.contains(word));
    let blames = |clause: &str| has(clause, &RULES) && has(clause, &WRONG) && !has(clause, &BROKEN);
    sentences(said)
        .flat_map(|sentence| sentence.split([',', ';', ':', '—', '、', '，']))
        .any(blames)
}

/// Whether what stands between two places is a word or words of their own. Where words are not
/// set apart, it only has to be there.
fn stands_between(text: &str, start: usize, end: usize) -> bool {
    let is_word = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    let before = text[..start].chars().next_back().is_some_and(is_word);
    let after = text[end..].chars().next().is_some_and(is_word);
    let opens = text[start..].chars().next().is_some_and(is_word);
    let closes = text[..end].chars().next_back().is_some_and(is_word);
    !(opens && before || closes && after)
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
        assert_eq!(read(text, false).map(|(speech, _)| speech), expected, "{text}");
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
    fn who_tells_an_agent_its_own_deed_complains_unless_they_praise_or_ask() {
        #[track_caller]
        fn check(text: &str, acted: bool, expected: Option<SpokenKind>) {
            assert_eq!(read(text, acted).map(|(speech, _)| speech), expected, "{text}");
        }
        for text in [
            "You renamed half of the module.",
            "And you put the key into the log.",
            "Du hast die Tabelle ohne Index angelegt.",
            "Tu as modifié le schéma à la main.",
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
    fn a_person_may_say_that_the_rule_is_to_blame() {
        assert_eq!(
            read("That is wrong: the rule is out of date.", false),
            Some((SpokenKind::Correction, true))
        );
        assert_eq!(
            read("That is wrong, use the other.", false),
            Some((SpokenKind::Correction, false))
        );
        assert_eq!(read("The rule is out of date, I think.", false), None);
        for text in [
            "That is wrong: you forgot the rule about the header.",
            "That's wrong, it is wrong to ignore the rule about the header.",
            "You didn't follow the rule, and the header is wrong.",
        ] {
            assert_eq!(read(text, false), Some((SpokenKind::Correction, false)), "{text}");
        }
    }

    #[test]
    fn a_deed_is_reproached_by_who_says_that_it_should_not_have_been_done() {
        for text in [
            "You should not have run `make sweep` here.",
            "I told you not to run make sweep!",
            "Stop using make sweep.",
            "Du hättest make sweep nicht ausführen sollen.",
            "Tu n'aurais pas dû lancer make sweep.",
            "No deberías haber ejecutado make sweep.",
            "Не надо было запускать make sweep.",
            "make sweepを実行しないでください。",
            "不应该运行 make sweep。",
        ] {
            assert!(reproaches(text, "make sweep"), "{text}");
        }
        for text in [
            "You forgot to run make sweep after the last edit.",
            "You didn't run make sweep.",
            "You should have run make sweep.",
            "You should not have committed before running make sweep.",
            "You shouldn't have pushed, run make sweep first.",
            "Undo that and run make sweep.",
            "You ran make sweep only once.",
            "You ran make sweep too late.",
            "You should not have skipped make sweep.",
            "Du hättest make sweep nicht vergessen sollen.",
            "I should not have run make sweep.",
            "```\nYou should not have run make sweep.\n```",
            "You should not have run make sweeper.",
            "He said \"you should not have run make sweep\".",
            "Du hast make sweep vergessen.",
            "Ты забыл make sweep.",
            "",
        ] {
            assert!(!reproaches(text, "make sweep"), "{text}");
        }
    }
}
