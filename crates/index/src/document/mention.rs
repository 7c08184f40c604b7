//! Names in code marks: `` `Searcher::search` ``, ``:func:`search.run` ``.

use crate::Language;

/// A name that prose puts into code marks.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Mention<'t> {
    /// What stands before the name, joined by `::`.
    pub(super) path: String,
    pub(super) name: &'t str,
}

/// A longer one is code, not a name.
const MAX_MENTION: usize = 120;

/// Returns the names in a line of Markdown.
pub(super) fn in_markdown(prose: &str) -> Vec<Mention<'_>> {
    spans(prose).filter_map(|span| mention(span.code.trim())).collect()
}

/// Returns the names in a line of reStructuredText: literals, and text of a role such as
/// `:class:`. A link's text is none.
pub(super) fn in_rst(prose: &str) -> Vec<Mention<'_>> {
    let is_link = |span: &BacktickSpan<'_>| span.marks == 1 && prose[span.end..].starts_with('_');
    let names = spans(prose).filter(|span| !is_link(span)).filter_map(|span| {
        let target = span.code.rsplit_once('<').and_then(|(_, target)| target.strip_suffix('>'));
        mention(target.unwrap_or(span.code).trim_start_matches(['~', '!', '.']))
    });
    names.collect()
}

/// What stands between two equal runs of backticks.
struct BacktickSpan<'t> {
    code: &'t str,
    marks: usize,
    /// Behind the closing run.
    end: usize,
}

fn spans(prose: &str) -> impl Iterator<Item = BacktickSpan<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let open = from + prose.get(from..)?.find('`')?;
        let marks = run(&prose[open..]);
        let start = open + marks;
        // Nothing may close it: then the marks are words, and there may be code behind them.
        let close = closing(prose, start, marks);
        from = close.map_or(start, |close| close + marks);
        Some(BacktickSpan { code: &prose[start..close.unwrap_or(start)], marks, end: from })
    })
}

/// Returns where the next run of exactly this many backticks begins.
fn closing(prose: &str, start: usize, marks: usize) -> Option<usize> {
    let mut from = start;
    loop {
        let at = from + prose.get(from..)?.find('`')?;
        let length = run(&prose[at..]);
        if length == marks {
            return Some(at);
        }
        from = at + length;
    }
}

fn run(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

/// Returns the name that a piece of code is; nothing for a file, an option, an expression.
fn mention(code: &str) -> Option<Mention<'_>> {
    if code.len() > MAX_MENTION || is_file(code) {
        return None;
    }
    let path = match code.split_once('(') {
        // `f(x)` mentions `f`; `f(x)(y)` is an expression.
        Some((_, rest)) if rest.find(['(', ')']) != rest.len().checked_sub(1) => {
            return None;
        }
        Some((path, _)) => path,
        None => code,
    };
    let path = path.strip_suffix('!').unwrap_or(path);
    let mut words: Vec<&str> = path.split(['.', ':', '#', '\\']).collect();
    words.retain(|word| !word.is_empty());
    let name = words.pop()?;
    let is_name = |word: &&str| {
        word.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !word.starts_with(|c: char| c.is_numeric())
    };
    (is_name(&name) && words.iter().all(is_name)).then(|| Mention { path: words.join("::"), name })
}

fn is_file(code: &str) -> bool {
    const OTHERS: [&str; 12] =
        ["toml", "json", "yaml", "yml", "txt", "lock", "cfg", "ini", "html", "css", "xml", "sql"];
    let ending = code.rsplit_once('.').map_or("", |(_, ending)| ending);
    code.contains('/') || Language::of_path(code).is_some() || OTHERS.contains(&ending)
}

#[cfg(test)]
mod tests {
    use super::{in_markdown, in_rst, mention};

    #[track_caller]
    fn check(code: &str, expected: Option<(&str, &str)>) {
        let found = mention(code);
        let found = found.as_ref().map(|mention| (mention.path.as_str(), mention.name));
        assert_eq!(found, expected, "{code}");
    }

    #[test]
    fn a_name_or_a_path_or_a_call_is_mentioned() {
        check("foo", Some(("", "foo")));
        check("foo()", Some(("", "foo")));
        check("Foo::bar", Some(("Foo", "bar")));
        check("a.b.Hose.run(litres)", Some(("a::b::Hose", "run")));
        check("println!", Some(("", "println")));
        check("größe", Some(("", "größe")));
    }

    #[test]
    fn files_options_and_expressions_are_not() {
        for code in
            ["foo.py", "src/foo", "--litres 3", "a b", "a = b", "f(x)(y)", "", "3", "x.toml"]
        {
            check(code, None);
        }
    }

    #[test]
    fn runs_of_marks_belong_together() {
        let names = |prose| in_markdown(prose).iter().map(|m| m.name).collect::<Vec<_>>();
        assert_eq!(names("`a` and ``b`` and ``c ` d``"), ["a", "b"]);
        assert_eq!(names("`open and never closed"), [""; 0]);
        assert_eq!(names("``` `x` ```"), [""; 0]);
    }

    #[test]
    fn links_of_rst_are_not_mentions() {
        let names = |prose| in_rst(prose).iter().map(|m| m.name).collect::<Vec<_>>();
        assert_eq!(names("``a`` :func:`~b.run` `d`_ :class:`the title <e.F>`"), ["a", "run", "F"]);
    }
}
