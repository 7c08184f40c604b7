//! What people say of a deed: that it should not have been done.

use super::sentences::{beginning, sentences, stands_between, without_quotes};
use super::standing::has_words;
use super::voices::is_reported;

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

/// Words between a reproach and its deed: the verb that does the deed, and an article. "You should
/// not have committed the output of X" is no reproach of X.
const DOING: &[&str] = &[
    "run",
    "ran",
    "running",
    "use",
    "used",
    "using",
    "call",
    "called",
    "calling",
    "execute",
    "executed",
    "invoke",
    "invoked",
    "start",
    "started",
    "do",
    "done",
    "add",
    "added",
    "adding",
    "write",
    "written",
    "be",
    "been",
    "the",
    "a",
    "an",
    "any",
    "ausführen",
    "benutzen",
    "verwenden",
    "das",
    "die",
    "den",
    "lancer",
    "utiliser",
    "exécuter",
    "appeler",
    "le",
    "la",
    "ejecutar",
    "ejecutado",
    "usar",
    "usado",
    "haber",
    "el",
    "запускать",
    "использовать",
    "вызывать",
    "применять",
    "を実行",
    "を使用",
    "を使わ",
    "运行",
    "使用",
    "用",
    "执行",
    "调用",
];

/// Words behind a deed that leave the reproach as it is.
const ENDINGS: &[&str] = &[
    "at all",
    "anymore",
    "any more",
    "in the first place",
    "please",
    "ever",
    "in this repo",
    "in this repository",
    "in this project",
    "in this codebase",
    "ausführen sollen",
    "ausführen",
    "ausführen dürfen",
    "laufen lassen",
    "laufen lassen sollen",
    "benutzen",
    "benutzen sollen",
    "verwenden",
    "verwenden sollen",
    "aufrufen",
    "ください",
];

/// Who says one of these says how, when or how often the deed was wrong, and not that it was.
const QUALIFIED: &[&str] = &[
    "with",
    "twice",
    "thrice",
    "once",
    "times",
    "again",
    "only",
    "just",
    "except",
    "unless",
    "until",
    "while",
    "when",
    "if",
    "for",
    "on the",
    "first",
    "yet",
    "so early",
    "so late",
    "too",
    "enough",
    "instead",
    "nur",
    "zweimal",
    "einmal",
    "mit",
    "erst",
    "solange",
    "wenn",
    "seulement",
    "deux fois",
    "une fois",
    "avec",
    "quand",
    "sólo",
    "solo",
    "dos veces",
    "una vez",
    "con",
    "cuando",
    "только",
    "дважды",
    "раз",
    "когда",
    "一度",
    "二回",
    "だけ",
    "两次",
    "一次",
    "只",
];

/// How much around a deed is looked at: a reproach, what stands between, and a word before it.
const AROUND: usize = 120;

/// Whether a text says, in one clause and without reserve, that a deed should not have been done. To
/// say that it was left out, done too late or done wrongly is none of that.
pub(crate) fn reproaches(text: &str, deed: &str) -> bool {
    let (said, deed) = (unmarked(text), deed.to_lowercase());
    let has_reserve = |sentence: &str| has_words(&sentence.replace(&deed, "…"), QUALIFIED);
    let is_reproached = |sentence: &str| {
        let mut places = sentence.match_indices(&deed).map(|(at, _)| (at, at + deed.len()));
        !OMISSIONS.iter().any(|word| sentence.contains(word))
            && !sentence.ends_with(['?', '？'])
            && !is_reported(sentence)
            && places.any(|(from, to)| {
                let before =
                    &sentence[sentence.floor_char_boundary(from.saturating_sub(AROUND))..from];
                let after = &sentence[to..sentence.floor_char_boundary(to + AROUND)];
                stands_between(sentence, from, to)
                    && REPROACHES.iter().any(|words| stand_around(*words, before, after))
            })
    };
    // What limits the reproach often stands in the next sentence: "once is enough".
    !deed.is_empty() && sentences(&said).any(is_reproached) && !sentences(&said).any(has_reserve)
}

/// A message in lower case with its own code marks taken off, and without what it quotes: a deed is
/// often set as code, and what it stands in is the speaker's own sentence.
pub(super) fn unmarked(text: &str) -> String {
    let unmarked = |line: &str| match line.trim_start().starts_with("```") {
        true => "```".to_owned(),
        false => line.replace('`', ""),
    };
    let lines: Vec<String> = beginning(text).lines().map(unmarked).collect();
    without_quotes(&lines.join("\n")).to_lowercase().replace('’', "'")
}

/// Whether a reproach stands around a deed and is not the speaker's of themselves: nothing but the
/// verb that does it stands between, and nothing behind it limits what is said.
fn stand_around((opens, closes): (&str, &str), before: &str, after: &str) -> bool {
    let opened = opens.is_empty()
        || before.rfind(opens).is_some_and(|at| {
            let who = before[..at].split_whitespace().next_back();
            !(opens.starts_with("should") && who == Some("i"))
                && does_only(&before[at + opens.len()..])
        });
    let closed = after.find(closes).is_some_and(|at| {
        let rest = after[at + closes.len()..].trim_matches(|c: char| !c.is_alphanumeric());
        let ends = after[at + closes.len()..].trim_end().trim_end_matches(['.', '!', '。', '！']);
        let is_plain = !ends.contains([',', ';', ':', '—', '(']);
        does_only(&after[..at]) && is_plain && (rest.is_empty() || ENDINGS.contains(&rest))
    });
    opened && closed
}

/// Whether words only do a deed.
fn does_only(words: &str) -> bool {
    words.split_whitespace().all(|word| DOING.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deed_is_reproached_by_who_says_that_it_should_not_have_been_done() {
        for text in [
            "You should not have run `make sweep`.",
            "You shouldn't have run make sweep at all.",
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
            "You shouldn't have run `make sweep` with JOBS=64.",
            "You shouldn't have run `make sweep` twice, once is enough.",
            "You shouldn't have run `make sweep`. Once is enough.",
            "You should not have run make sweep on the whole tree.",
            "You should not have run make sweep on this machine.",
            "You should not have run make sweep, only make test.",
            "You should not have run make sweep yet.",
            "You should not have committed the output of make sweep.",
            "Ada said you should not have run make sweep.",
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
            "Du hättest make sweep nicht zweimal ausführen sollen.",
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
