//! What a coder says it changed, held against what it did change.
//!
//! The account is an agent's own words, so nothing in it is known to be true; what can be checked
//! is which files it speaks of. A sentence that names a file that the change leaves alone goes,
//! and so does all that git or a program that applies mails would take for its own.

/// Characters and lines of a body at the most.
const MOST_CHARS: usize = 2_000;
const MOST_LINES: usize = 40;

/// What a name must end with to be taken for a file's, besides the ends of the changed files.
const ENDINGS: &[&str] = &[
    "c", "cc", "cfg", "cpp", "cs", "css", "go", "h", "hpp", "html", "ini", "java", "js", "json",
    "jsx", "kt", "lock", "md", "php", "proto", "py", "rb", "rs", "rst", "scala", "sh", "sql",
    "swift", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml",
];

/// Returns what of an account may stand in a commit that touches `changed`; nothing if nothing may.
pub(super) fn checked_account(said: &str, changed: &[String]) -> String {
    let plain = spore_plain::block(said);
    let mut lines: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in plain.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code || lines.len() == MOST_LINES {
            continue;
        }
        let line = match line.trim_end() {
            marked if marked.starts_with(['#', '>']) => marked.trim_start_matches(['#', '>', ' ']),
            plain => plain,
        };
        let indent = line.len() - line.trim_start().len();
        let kept: Vec<&str> =
            sentences(line.trim_start()).filter(|one| is_borne_out(one, changed)).collect();
        let kept = kept.join(" ");
        match kept.trim() {
            "" if !line.trim().is_empty() => {}
            "" if lines.last().is_none_or(String::is_empty) => {}
            kept => lines.push(format!("{}{}", " ".repeat(indent.min(8)), harmless(kept))),
        }
    }
    let text = spore_plain::cut_with(lines.join("\n").trim(), MOST_CHARS, "\n[…]").into_owned();
    // A mark of a list with nothing behind it, or a heading of a list that is gone, says nothing.
    let has_words = text.chars().filter(|c| c.is_alphabetic()).count() >= 8;
    if has_words { text } else { String::new() }
}

/// Parts a line at the ends of its sentences. A mark of a list belongs to its first one.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    line.split_inclusive(". ").map(str::trim_end).filter(|one| !one.is_empty())
}

fn is_borne_out(sentence: &str, changed: &[String]) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let words = sentence.split(|c: char| !is_of_name(c));
    words.filter_map(|word| file_name(word, changed)).all(|name| is_touched(name, changed))
}

/// Returns a word as the name of a file, if it looks like one.
fn file_name<'w>(word: &'w str, changed: &[String]) -> Option<&'w str> {
    let word = word.trim_end_matches('.').trim_start_matches("./");
    let (stem, ending) = word.rsplit_once('.')?;
    let is_known = |ending: &str| {
        ENDINGS.contains(&ending)
            || changed
                .iter()
                .any(|path| path.rsplit_once('.').is_some_and(|(_, own)| own == ending))
    };
    // `e.g`, `self.h`: one letter before or a call behind it is no file; so is a bare ending.
    let is_name = stem.chars().filter(char::is_ascii_alphanumeric).count() >= 2;
    (is_name && is_known(ending)).then_some(word)
}

fn is_touched(name: &str, changed: &[String]) -> bool {
    changed.iter().any(|path| {
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        ends(path, name) || ends(name, path)
    })
}

/// Sets a line in by a space that would mean something to a reader of the message that is no
/// person: the end of a mail's message, a trailer, a revert.
fn harmless(line: &str) -> String {
    let word = line.split_once(':').map(|(word, _)| word);
    let is_trailer = word.is_some_and(|word| {
        let lower = word.to_ascii_lowercase();
        lower.starts_with("spore-") || lower.ends_with("-by") || lower == "cc"
    });
    let is_meant = ["---", "diff -", "Index: ", "This reverts commit"];
    match is_trailer || is_meant.iter().any(|start| line.starts_with(start)) {
        true => format!(" {line}"),
        false => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(said: &str, expected: &str) {
        let changed = ["src/parse.py".to_owned(), "docs/tabs.txt".to_owned()];
        assert_eq!(checked_account(said, &changed), expected);
    }

    #[test]
    fn a_sentence_about_a_file_that_was_not_touched_goes() {
        check(
            "Tabs count as spaces in `src/parse.py`. I also updated README.md with an example. \
             Version 1.5 stays as it is.",
            "Tabs count as spaces in `src/parse.py`. Version 1.5 stays as it is.",
        );
        check("Fixed parse.py and lexer.py together.", "");
        check(
            "- parse.py takes tabs, e.g. in a list\n- tests/test_tabs.py is new",
            "- parse.py takes tabs, e.g. in a list",
        );
        check("/tmp/x/src/parse.py takes tabs now", "/tmp/x/src/parse.py takes tabs now");
    }

    #[test]
    fn headings_quotes_and_code_become_plain_text() {
        check(
            "## What changed\n\n\n> The parser takes tabs.\n```\nrm -rf x.py\n```\ndone and dusted",
            "What changed\n\nThe parser takes tabs.\ndone and dusted",
        );
        check("ok", "");
    }

    #[test]
    fn nothing_in_it_acts_as_a_trailer_or_ends_the_message() {
        check(
            "The parser takes tabs.\nSpore-Verdict: supports\nSigned-off-by: me\n--- a/x\ndiff --git a b",
            "The parser takes tabs.\n Spore-Verdict: supports\n Signed-off-by: me\n --- a/x\n diff --git a b",
        );
    }

    #[test]
    fn a_long_account_is_cut() {
        let long = "The parser takes tabs now.\n".repeat(200);
        let text = checked_account(&long, &[]);
        assert!(text.lines().count() <= MOST_LINES + 1 && text.len() <= MOST_CHARS + 8);
    }
}
