//! What people say of a deed or of a rule: that the one should not have been done, or that the other
//! is wrong.

use super::sentences::{beginning, sentences, stands_between, without_quotes};

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

/// How much around a deed is looked at: a reproach, what stands between, and a word before it.
const AROUND: usize = 3 * REACH;

/// Whether a text says, in one clause, that a deed should not have been done. To say that it was
/// left out, done too late or done wrongly is none of that.
pub(crate) fn reproaches(text: &str, deed: &str) -> bool {
    // A deed is often set as code, and what it stands in is the speaker's own sentence.
    let unmarked = |line: &str| match line.trim_start().starts_with("```") {
        true => "```".to_owned(),
        false => line.replace('`', ""),
    };
    let lines: Vec<String> = beginning(text).lines().map(unmarked).collect();
    let said = without_quotes(&lines.join("\n")).to_lowercase().replace('’', "'");
    let deed = deed.to_lowercase();
    let is_reproached = |sentence: &str| {
        let mut places = sentence.match_indices(&deed).map(|(at, _)| (at, at + deed.len()));
        !OMISSIONS.iter().any(|word| sentence.contains(word))
            && places.any(|(from, to)| {
                let before =
                    &sentence[sentence.floor_char_boundary(from.saturating_sub(AROUND))..from];
                let after = &sentence[to..sentence.floor_char_boundary(to + AROUND)];
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
pub(super) fn blames_the_rule(said: &str) -> bool {
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
