//! Tools that change files: `edit`, `write`, `delete`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::files::{answer, word};
use crate::{ModelTool, Reach, Root, ToolAnswer};

const FILE_BYTES: u64 = 4 << 20;

/// How many places of an ambiguous text are named.
const PLACES: usize = 10;

/// A file that is not longer is shown to a model that looks for what is not in it. Small models ask
/// for the same edit again rather than read the file.
const SHOWN_BYTES: usize = 2000;

pub(crate) fn tools(root: &Arc<Root>) -> Vec<ModelTool> {
    let (for_edit, for_write, for_delete) = (Arc::clone(root), Arc::clone(root), Arc::clone(root));
    let path = json!({ "type": "string", "description": "from the working directory" });
    let edit = ModelTool::new(
        "edit",
        "Replaces one piece of a text file. `find` must be in the file exactly once, as it \
         stands there, without line numbers; take enough lines to make it so.",
        Reach::Write,
        json!({
            "type": "object",
            "properties": {
                "path": path,
                "find": { "type": "string", "minLength": 1 },
                "replace": { "type": "string" },
            },
            "required": ["path", "find", "replace"],
            "additionalProperties": false,
        }),
        move |arguments, _| edit(&for_edit, arguments),
    );
    let write = ModelTool::new(
        "write",
        "Makes a file, or replaces a whole one. Directories that are missing are made.",
        Reach::Write,
        json!({
            "type": "object",
            "properties": { "path": path, "content": { "type": "string" } },
            "required": ["path", "content"],
            "additionalProperties": false,
        }),
        move |arguments, _| write(&for_write, arguments),
    );
    let delete = ModelTool::new(
        "delete",
        "Removes one file.",
        Reach::Write,
        json!({
            "type": "object",
            "properties": { "path": path },
            "required": ["path"],
            "additionalProperties": false,
        }),
        move |arguments, _| {
            let removed = for_delete.remove(word(arguments, "path"));
            answer(removed.map(|shown| format!("{shown} is gone")))
        },
    );
    vec![edit, write, delete]
}

fn write(root: &Root, arguments: &Value) -> ToolAnswer {
    let content = word(arguments, "content");
    if content.len() as u64 > FILE_BYTES {
        return ToolAnswer::error(format!("a file may have {FILE_BYTES} bytes, not more"));
    }
    let bytes = content.len();
    answer(root.write(word(arguments, "path"), content.as_bytes()).map(|(is_new, shown)| {
        format!("{shown} is {}, {bytes} bytes", if is_new { "made" } else { "replaced" })
    }))
}

fn edit(root: &Root, arguments: &Value) -> ToolAnswer {
    let (path, find, replace) =
        (word(arguments, "path"), word(arguments, "find"), word(arguments, "replace"));
    let (text, shown) = match root.read_text(path, FILE_BYTES) {
        Ok(read) => read,
        Err(error) => return ToolAnswer::error(error.to_string()),
    };
    let changed = match replaced(&text, find, replace, &shown) {
        Ok(changed) => changed,
        Err(why) => return ToolAnswer::error(why),
    };
    let (content, line) = changed;
    answer(root.write(path, content.as_bytes()).map(|_| format!("{shown}:{line} is changed")))
}

/// What is looked for, as it stands in the file, and where.
struct FoundPiece {
    find: String,
    replace: String,
    places: Vec<usize>,
}

/// Looks for a piece as it was given, and only where that is nowhere with the file's own ends of lines:
/// a model writes whole lines that end in `\n`, and sees neither `\r` nor whether the last line has an
/// end.
fn found_piece(text: &str, find: &str, replace: &str) -> FoundPiece {
    let crlf = |part: &str| part.replace("\r\n", "\n").replace('\n', "\r\n");
    let given = (find.to_owned(), replace.to_owned());
    let mut forms = vec![given.clone()];
    if text.contains("\r\n") && find.contains('\n') {
        forms.push((crlf(find), crlf(replace)));
    }
    for (find, replace) in forms {
        let places = places(text, &find);
        if !places.is_empty() {
            return FoundPiece { find, replace, places };
        }
        let line_end = if find.ends_with("\r\n") { "\r\n" } else { "\n" };
        let last = find.strip_suffix(line_end).filter(|last| !last.is_empty());
        if let Some(last) = last.filter(|last| text.ends_with(last)) {
            let replace = replace.strip_suffix(line_end).unwrap_or(&replace).to_owned();
            let places = vec![text.len() - last.len()];
            return FoundPiece { find: last.to_owned(), replace, places };
        }
    }
    let (find, replace) = given;
    FoundPiece { find, replace, places: Vec::new() }
}

/// Returns where `find` begins in `text`. Overlapping ones count too: which of them is meant is just as
/// unclear.
fn places(text: &str, find: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while places.len() <= PLACES
        && let Some(at) = text[from..].find(find)
    {
        places.push(from + at);
        from += at + find.chars().next().map_or(1, char::len_utf8);
    }
    places
}

/// Returns the new text and the line of the change, or why there is none.
fn replaced(text: &str, find: &str, replace: &str, shown: &str) -> Result<(String, usize), String> {
    if find == replace {
        return Err("`find` and `replace` are the same".to_owned());
    }
    let line_of = |at: usize| 1 + text[..at].matches('\n').count();
    let FoundPiece { find, replace, places } = found_piece(text, find, replace);
    match places.as_slice() {
        [] if text.len() <= SHOWN_BYTES => {
            Err(format!("{shown} does not contain that text. This is all of it:\n\n{text}"))
        }
        [] => Err(format!("{shown} does not contain that text; read it again")),
        [at] => {
            let content = [&text[..*at], &replace, &text[at + find.len()..]].concat();
            if content.len() as u64 > FILE_BYTES {
                return Err(format!("a file may have {FILE_BYTES} bytes, not more"));
            }
            Ok((content, line_of(*at)))
        }
        places => {
            let lines: Vec<String> =
                places.iter().take(PLACES).map(|at| line_of(*at).to_string()).collect();
            let more = if places.len() > PLACES { " and more" } else { "" };
            Err(format!(
                "{shown} has that text several times, at lines {}{more}; take more lines",
                lines.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, find: &str, expected: Result<(&str, usize), &str>) {
        let found = replaced(text, find, "X", "f");
        let found = found.as_ref().map(|(text, line)| (text.as_str(), *line));
        assert_eq!(found.map_err(String::as_str), expected);
    }

    #[test]
    fn only_a_text_that_is_there_once_is_replaced() {
        check("a\nb\nc\n", "b", Ok(("a\nX\nc\n", 2)));
        check("a\n", "z", Err("f does not contain that text. This is all of it:\n\na\n"));
        let long = "a\n".repeat(SHOWN_BYTES);
        check(&long, "z", Err("f does not contain that text; read it again"));
        check("b\nb\n", "b", Err("f has that text several times, at lines 1, 2; take more lines"));
        check("aaa", "aa", Err("f has that text several times, at lines 1, 1; take more lines"));
        check("ää", "ä", Err("f has that text several times, at lines 1, 1; take more lines"));
        check("X", "X", Err("`find` and `replace` are the same"));
    }

    #[track_caller]
    fn check_lines(text: &str, find: &str, replace: &str, expected: Result<(&str, usize), &str>) {
        let found = replaced(text, find, replace, "f");
        let found = found.as_ref().map(|(text, line)| (text.as_str(), *line));
        assert_eq!(found.map_err(String::as_str), expected, "{text:?}");
    }

    #[test]
    fn whole_lines_are_found_whatever_ends_them_in_the_file() {
        check_lines("a\nb", "b\n", "c\n", Ok(("a\nc", 2)));
        check_lines("a\nb", "a\nb\n", "c\nd\n", Ok(("c\nd", 1)));
        check_lines("a\r\nb\r\n", "b\n", "c\nd\n", Ok(("a\r\nc\r\nd\r\n", 2)));
        check_lines("a\r\nb\r\nc\r\n", "a\nb\n", "x\r\n", Ok(("x\r\nc\r\n", 1)));
        check_lines("a\r\nb", "b\n", "c\n", Ok(("a\r\nc", 2)));
        check_lines("a\r\nb", "a\nb\n", "c\nd\n", Ok(("c\r\nd", 1)));
        check_lines("a\r\nb", "b\n", "", Ok(("a\r\n", 2)));
        let twice = "f has that text several times, at lines 1, 2; take more lines";
        check_lines("a\r\na\r\n", "a\n", "b\n", Err(twice));
        // What is there as it was given is taken as that.
        check_lines("b\nb", "b\n", "c\n", Ok(("c\nb", 1)));
        check_lines("a\r\nb\nc\r\n", "b\n", "d\n", Ok(("a\r\nd\nc\r\n", 2)));
        // A line's end alone is no line.
        let none = "f does not contain that text. This is all of it:\n\na";
        check_lines("a", "\n", "b\n", Err(none));
    }
}
