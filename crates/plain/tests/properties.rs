//! What holds for every text, and not only for those that a test thought of.

use proptest::prelude::*;
use spore_plain::{
    block, code, cut, cut_with, ends_within, fenced, head, headline, inline, line, line_within,
    name, path, quoted, without_escapes, word,
};

/// Whether a character could act on a terminal, or make another text appear than there is.
/// Written apart from the crate's own list, on purpose.
fn acts(c: char) -> bool {
    matches!(
        u32::from(c),
        0x00..0x20 | 0x7f..0xa0 | 0xad | 0x61c | 0x200b..=0x200f | 0x2028..=0x202e
            | 0x2060..=0x206f | 0xe000..=0xf8ff | 0xfe00..=0xfe0f | 0xfeff | 0xfff9..=0xfffb
            | 0xe0000..=0xe0fff | 0xf0000..
    )
}

fn is_fit_for_a_line(text: &str) -> bool {
    !text.chars().any(acts)
}

/// Texts that are made of what texts are made to do harm with.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        4 => "[a-zäß日👍]{1,9}",
        2 => Just(" ".to_owned()),
        1 => prop::sample::select(vec![
            "\u{1b}[2J", "\u{1b}]0;t\u{7}", "\u{1b}]8;;x\u{1b}\\", "\u{1b}", "\u{9b}1m", "\u{9d}",
            "\u{90}q", "\u{9c}", "\u{7}", "\u{8}", "\r\n", "\r", "\n", "\t", "\u{b}", "\u{85}",
            "\u{2028}", "\u{202e}", "\u{2066}", "\u{200e}", "\u{61c}", "\u{200b}", "\u{feff}",
            "\u{e0041}", "\u{fe0f}", "\u{e000}", "\u{fdd0}", "\u{10ffff}", "`", "```", "~~~", "|",
            "# ", "> ", "---", "\\", "\0", "[", "(", "0",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(pieces, 0..30).prop_map(|pieces| pieces.concat())
}

/// The content of the first fenced block of a document, as CommonMark reads it, and what
/// follows the block.
fn first_block(document: &str) -> (String, String) {
    let document = document.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines = document.split('\n');
    let opening = lines.next().unwrap_or_default();
    let ticks = opening.len() - opening.trim_start_matches('`').len();
    assert!(ticks >= 3 && !opening[ticks..].contains('`'), "{opening:?} opens nothing");
    let closes = |line: &str| {
        let bare = line.trim_start_matches(' ');
        let ends = bare.trim_start_matches('`');
        line.len() - bare.len() <= 3
            && bare.len() - ends.len() >= ticks
            && ends.trim_matches([' ', '\t']).is_empty()
    };
    let content: Vec<&str> = lines.by_ref().take_while(|line| !closes(line)).collect();
    (content.join("\n"), lines.collect::<Vec<_>>().join("\n"))
}

proptest! {
    #[test]
    fn no_line_acts_on_a_terminal(text in hostile(), most in 0_usize..40) {
        for shown in [
            line(&text).into_owned(),
            line_within(&text, most),
            headline(&text, most),
            ends_within(&text, most),
            name(&text).into_owned(),
            path(std::path::Path::new(&text)),
            code(&text, most),
            inline(&text, most),
            word(&text, most),
        ] {
            prop_assert!(is_fit_for_a_line(&shown), "{shown:?}");
        }
        let shown = block(&text);
        prop_assert!(is_fit_for_a_line(&shown.replace(['\n', '\t'], " ")), "{shown:?}");
    }

    #[test]
    fn what_was_made_safe_once_stays_as_it_is(text in hostile(), most in 0_usize..40) {
        let again = |shown: String, way: &dyn Fn(&str) -> String| {
            prop_assert_eq!(way(&shown), shown);
            Ok(())
        };
        again(line(&text).into_owned(), &|text| line(text).into_owned())?;
        again(block(&text).into_owned(), &|text| block(text).into_owned())?;
        again(name(&text).into_owned(), &|text| name(text).into_owned())?;
        again(without_escapes(&text).into_owned(), &|text| without_escapes(text).into_owned())?;
        again(line_within(&text, most), &|text| line_within(text, most))?;
        again(headline(&text, most), &|text| headline(text, most))?;
        again(ends_within(&text, most), &|text| ends_within(text, most))?;
        again(word(&text, most), &|text| word(text, most))?;
    }

    #[test]
    fn no_bound_is_exceeded(text in hostile(), most in 0_usize..80) {
        for shown in [
            line_within(&text, most),
            headline(&text, most),
            ends_within(&text, most),
            word(&text, most),
        ] {
            prop_assert!(shown.chars().count() <= most, "{shown:?}");
        }
        let cuts = [cut(&text, most), cut_with(&text, most, "[…]"), head(&text, most).into()];
        for shown in cuts {
            prop_assert!(shown.len() <= most, "{shown:?}");
            prop_assert!(text.len() > most || shown == text.as_str());
        }
        prop_assert!(inline(&text, most).len() <= most);
    }

    #[test]
    fn a_cut_is_always_seen(text in hostile(), most in 1_usize..40) {
        let whole = line(&text).into_owned();
        for shown in [line_within(&text, most), ends_within(&text, most)] {
            prop_assert!(shown == whole || shown.contains('…'), "{shown:?} of {whole:?}");
        }
    }

    #[test]
    fn ordinary_words_are_never_touched(text in "[ -~äöüß日本👍]{0,60}") {
        prop_assert_eq!(block(&text), text.as_str());
        prop_assert_eq!(name(&text), text.as_str());
        let words: Vec<&str> = text.split_whitespace().collect();
        prop_assert_eq!(line(&text), words.join(" "));
    }

    #[test]
    fn a_fence_ends_where_we_end_it(language in hostile(), text in hostile()) {
        let (content, rest) = first_block(&fenced(&language, &text));
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(content.trim_end_matches('\n'), text.trim_end_matches('\n'));
        prop_assert_eq!(rest, "");
    }

    #[test]
    fn every_line_of_a_quote_is_quoted(text in hostile()) {
        let breaks = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
        let quote = quoted(&text);
        let lines = quote.strip_suffix('\n').into_iter().flat_map(|quote| quote.split(breaks));
        for line in lines {
            prop_assert!(line.starts_with("> "), "{line:?}");
        }
    }
}
