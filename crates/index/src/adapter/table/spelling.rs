//! Names as they are spelled: what is called, what is built on, which words a path has.
//!
//! `Pump.default.run`, `Pump::run`, `$this->run` and `\Garden\run` say in one way or another
//! what is reached and through what. Reading the text serves all languages of the table at
//! once. Only the end of a long text is looked at, so that a chain of ten thousand calls does
//! not cost ten thousand times its length.

use super::bare_or_path;
use crate::reader::cut;
use crate::{Access, Import};

/// What stands further before a name is an expression, of which nothing can be said.
const REACH: usize = 240;
/// How much of a list of types is looked at.
const MAX_CLAUSE: usize = 2_000;
const MAX_TITLE: usize = 200;

/// A name and how it is reached.
#[derive(PartialEq, Eq, Debug)]
pub(in super::super) struct Spelled<'t> {
    pub(in super::super) name: &'t str,
    pub(in super::super) access: Access,
}

/// A type that is built on.
pub(in super::super) struct Base<'t> {
    pub(in super::super) spelled: Spelled<'t>,
    /// Whether its constructor is called.
    pub(in super::super) is_called: bool,
}

/// Returns the name that a callee ends with; nothing if it ends with something else.
pub(in super::super) fn called(callee: &str) -> Option<Spelled<'_>> {
    let start = callee.ceil_char_boundary(callee.len().saturating_sub(REACH));
    let text = callee[start..].trim_end().trim_end_matches(['?', '!']);
    let text = without_arguments(text);
    let (before, name) = match text.strip_suffix('`').and_then(|quoted| quoted.rsplit_once('`')) {
        Some((before, name)) => (before, name),
        None => text.split_at(text.trim_end_matches(is_word).len()),
    };
    if !may_be_a_name(name) {
        return None;
    }
    let access = if start == 0 { reach(before) } else { Access::Value(None) };
    Some(Spelled { name, access })
}

/// Returns how a name is reached through what stands before it.
pub(in super::super) fn reach(before: &str) -> Access {
    let before = before.trim_end();
    let is_static = before.ends_with("::") || before.ends_with('\\');
    let separators = ["::", "\\", "->", "."];
    let receiver = separators.iter().find_map(|separator| before.strip_suffix(separator));
    let Some(receiver) = receiver else { return Access::Bare };
    let receiver = receiver.trim_end_matches(['?', '!', '&']).trim();
    let own = ["this", "self", "$this", "Self", "static"];
    if own.contains(&receiver) {
        return Access::Own;
    }
    let words = path_words(without_arguments(receiver));
    match words.last() {
        // A method of what the type builds on, whose name is not told here.
        Some(&"parent" | &"super" | &"base") => Access::Value(None),
        Some(last) if is_static || last.starts_with(char::is_uppercase) => {
            Access::Path(words.join("::"))
        }
        None if is_static && receiver.is_empty() => Access::Bare,
        _ => Access::Value(None),
    }
}

/// Returns the last word of a path behind the others: a type, a class.
pub(in super::super) fn path(text: &str) -> Option<Spelled<'_>> {
    let text = cut(text, REACH).trim();
    let end = text.find(['(', '<', '[', '{', ' ', '\n', '?']).unwrap_or(text.len());
    let text = &text[..end];
    let mut words = path_words(text);
    let name = words.pop()?;
    may_be_a_name(name).then(|| Spelled { name, access: bare_or_path(words.join("::")) })
}

/// Returns the types of a list: `extends A, B<C>`, `: public A`, `extends A(x) with B`.
pub(in super::super) fn bases(clause: &str) -> Vec<Base<'_>> {
    let parts = list_parts(cut(clause, MAX_CLAUSE));
    let base = |part| {
        let part = without_keywords(part);
        let is_called = part[part.find(|c| !is_word(c) && c != '.').unwrap_or(part.len())..]
            .trim_start_matches(|c| c != '(')
            .starts_with('(');
        path(part).map(|spelled| Base { spelled, is_called })
    };
    parts.into_iter().filter_map(base).collect()
}

/// Splits a list at its commas and at the word `with`, not inside of brackets.
fn list_parts(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_u32;
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in list.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            // The first is Ruby's word for "extends".
            '<' if at > 0 => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '>' if before != '-' && before != '=' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            'w' if depth == 0 && before.is_whitespace() && list[at..].starts_with("with ") => {
                parts.push(&list[start..at]);
                start = at + "with ".len();
            }
            _ => {}
        }
        before = c;
    }
    parts.push(list.get(start..).unwrap_or(""));
    parts
}

fn without_keywords(mut part: &str) -> &str {
    const KEYWORDS: [&str; 7] =
        ["extends", "implements", "public", "protected", "private", "virtual", "use"];
    loop {
        part = part.trim_start_matches([':', '<']).trim_start();
        let word = &part[..part.find(|c| !is_word(c)).unwrap_or(part.len())];
        if !KEYWORDS.contains(&word) {
            return part;
        }
        part = &part[word.len()..];
    }
}

/// Returns the words of a path, or none if it is not only words.
pub(in super::super) fn path_words(path: &str) -> Vec<&str> {
    let parts = path.trim_start_matches(['\\', ':']).split(['.', '\\', ':']);
    let words: Vec<&str> = parts.map(str::trim).filter(|word| !word.is_empty()).collect();
    if words.iter().all(|word| may_be_a_name(word)) { words } else { Vec::new() }
}

/// Returns the import of a path's last word, or of everything there if that is a star.
pub(in super::super) fn import(path: &str) -> Option<Import> {
    let path = path.trim();
    let everything = ["*", "_", "given"].iter().find_map(|all| path.strip_suffix(all));
    if let Some(of) = everything.and_then(|of| of.strip_suffix(['.', '\\'])) {
        return import_all(path_words(of));
    }
    let mut words = path_words(cut(path, MAX_CLAUSE));
    let name = words.pop()?;
    Some(Import { name: Some(name.to_owned()), glob: false, ..import_all_of(words) })
}

/// Returns the import of everything at a path.
pub(in super::super) fn import_all(words: Vec<&str>) -> Option<Import> {
    (!words.is_empty()).then(|| import_all_of(words))
}

/// Returns the import of everything in a file: the words of its path without the ending, as
/// far as they are written out.
pub(in super::super) fn import_file(path: &str) -> Option<Import> {
    let path = path.trim_matches(['"', '\'', '<', '>', ' ']);
    // What a shell or a program puts together stands before the last word that it does.
    let written = path
        .rfind([')', '}', '$'])
        .map_or(path, |at| path[at..].find('/').map_or("", |slash| &path[at + slash..]));
    let (folders, file) = written.rsplit_once('/').unwrap_or(("", written));
    let stem = file.split_once('.').map_or(file, |(stem, _)| stem);
    let folders = folders.split('/').filter(|word| !matches!(*word, "" | "." | ".."));
    let words: Vec<&str> = folders.chain([stem]).collect();
    if stem.is_empty() || path.len() > MAX_CLAUSE { None } else { import_all(words) }
}

fn import_all_of(words: Vec<&str>) -> Import {
    Import {
        segments: words.into_iter().map(str::to_owned).collect(),
        anchored: false,
        name: None,
        alias: None,
        glob: true,
        line: 0,
    }
}

/// Returns a text without the type arguments at its end.
fn without_arguments(text: &str) -> &str {
    let (open, close) = match text.chars().next_back() {
        Some('>') => ('<', '>'),
        Some(']') => ('[', ']'),
        _ => return text,
    };
    let mut depth = 0_u32;
    for (at, c) in text.char_indices().rev() {
        if c == close {
            depth += 1;
        } else if c == open {
            depth -= 1;
            if depth == 0 {
                return text[..at].trim_end().trim_end_matches("::");
            }
        }
    }
    text
}

/// Returns the title of a call of one of these words: `it "waters" do`, `test("waters") {`. A
/// class may stand for one: `describe Bed do`.
pub(in super::super) fn title<'t>(call: &'t str, words: &[&str]) -> Option<&'t str> {
    let call = call.strip_prefix("RSpec.").unwrap_or(call);
    let rest = words.iter().find_map(|word| call.strip_prefix(word))?;
    let title = rest.trim_start_matches([' ', '(']);
    if title.len() == rest.len() {
        return None;
    }
    let title = cut(title, MAX_TITLE);
    match title.chars().next()? {
        quote @ ('"' | '\'') => {
            let title = &title[1..];
            let title = &title[..title.find([quote, '\n']).unwrap_or(title.len())];
            (!title.trim().is_empty()).then_some(title)
        }
        first if first.is_uppercase() => {
            Some(&title[..title.find(|c| !is_word(c) && c != ':').unwrap_or(title.len())])
        }
        _ => None,
    }
}

/// Returns the words of a text, without those in quotes or parentheses.
pub(super) fn words_outside_parentheses(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut depth = 0_u32;
    let mut quote = None;
    let mut start = None;
    for (at, c) in text.char_indices() {
        let is_outside = depth == 0 && quote.is_none();
        if is_outside && is_word(c) {
            start.get_or_insert(at);
            continue;
        }
        words.extend(start.take().map(|start| &text[start..at]));
        match c {
            _ if quote == Some(c) => quote = None,
            _ if quote.is_some() => {}
            '"' => quote = Some(c),
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    words.extend(start.map(|start| &text[start..]));
    words
}

/// Returns whether a name is `test_…`, `testWaters` or just `test1`.
pub(super) fn begins_like_a_test(name: &str) -> bool {
    let rest = name.strip_prefix("test").and_then(|rest| rest.chars().next());
    rest.is_some_and(|next| next == '_' || next.is_uppercase() || next.is_ascii_digit())
}

/// Returns whether a type is called like an interface in C#.
pub(super) fn is_called_i(name: &str) -> bool {
    let rest = name.strip_prefix('I').and_then(|rest| rest.chars().next());
    rest.is_some_and(char::is_uppercase)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn may_be_a_name(word: &str) -> bool {
    let first = word.chars().next();
    first.is_some_and(|first| first != '$' && !first.is_numeric())
        && !word.contains(|c: char| c.is_control() || c == '(' || c == '@' || c == '"' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::{bases, called, title};
    use crate::Access;

    #[track_caller]
    fn check(callee: &str, expected: Option<(&str, Access)>) {
        let found = called(callee).map(|spelled| (spelled.name, spelled.access));
        assert_eq!(found, expected, "{callee}");
    }

    fn path(words: &str) -> Access {
        Access::Path(words.to_owned())
    }

    #[test]
    fn a_callee_says_what_it_reaches_and_through_what() {
        check("water", Some(("water", Access::Bare)));
        check("this.water", Some(("water", Access::Own)));
        check("this->water", Some(("water", Access::Own)));
        check("$this->water", Some(("water", Access::Own)));
        check("self::water", Some(("water", Access::Own)));
        check("Pump.run", Some(("run", path("Pump"))));
        check("org.garden.Pump.run", Some(("run", path("org::garden::Pump"))));
        check("Pump::instance().run", Some(("run", Access::Value(None))));
        check("std::make_unique<Hose<int>>", Some(("make_unique", path("std"))));
        check("Bed<T>::make", Some(("make", path("Bed"))));
        check("::abort", Some(("abort", Access::Bare)));
        check("\\Garden\\dig", Some(("dig", path("Garden"))));
        check("plant?.drink", Some(("drink", Access::Value(None))));
        check("plants\n    .each", Some(("each", Access::Value(None))));
        check("`waters it`", Some(("waters it", Access::Bare)));
        check("größe", Some(("größe", Access::Bare)));
    }

    #[test]
    fn a_callee_that_ends_with_no_name_is_none() {
        check("", None);
        check("f(x)", None);
        check("(*bed->water)", None);
        check("$run", None);
        check("pair.0", None);
        check(">", None);
    }

    #[test]
    fn only_the_end_of_a_long_callee_counts() {
        let chain = format!("Pump{}.run", ".next()".repeat(1_000));
        check(&chain, Some(("run", Access::Value(None))));
    }

    #[test]
    fn a_list_of_types_is_read_with_what_stands_before_them() {
        let names = |clause| {
            let found = bases(clause).into_iter();
            found.map(|base| (base.spelled.name, base.is_called)).collect::<Vec<_>>()
        };
        assert_eq!(names("extends Map<K, V>, A"), [("Map", false), ("A", false)]);
        assert_eq!(names(": public Plot, protected virtual a::B"), [("Plot", false), ("B", false)]);
        assert_eq!(names("extends Plot(a, b) with Wet"), [("Plot", true), ("Wet", false)]);
        assert_eq!(names("Plot(x), Wet by wet"), [("Plot", true), ("Wet", false)]);
        assert_eq!(names("< Garden::Plot"), [("Plot", false)]);
        assert_eq!(names("extends"), []);
    }

    #[test]
    fn a_title_is_a_text_or_a_class() {
        let words = ["describe", "it"];
        assert_eq!(title("it 'waters' do", &words), Some("waters"));
        assert_eq!(title("it(\"waters\") {", &words), Some("waters"));
        assert_eq!(title("RSpec.describe Garden::Bed, x do", &words), Some("Garden::Bed"));
        assert_eq!(title("items \"x\" do", &words), None);
        assert_eq!(title("it { x }", &words), None);
    }
}
