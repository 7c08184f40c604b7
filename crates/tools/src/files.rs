//! Tools that read: `read` and `list`.

use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use nix::dir::Dir;
use nix::sys::stat::SFlag;
use serde_json::{Value, json};

use crate::root::{kind, look_at, open_child_dir};
use crate::view::CallView;
use crate::{ModelTool, Reach, Root, RootError, ToolAnswer};

/// Bytes of one answer, and of one line in it.
const READ_BYTES: usize = 64 << 10;
const LINE_BYTES: usize = 2000;

/// Lines of one answer that did not ask for a number.
const READ_LINES: u64 = 2000;

/// How far into a file a line is looked for.
const SCAN_BYTES: u64 = 256 << 20;

/// How much of a file is looked at to tell text from the rest.
const SNIFF_BYTES: usize = 8 << 10;

const LIST_ENTRIES: usize = 1000;
const LIST_DEPTH: u64 = 8;

pub(crate) fn tools(root: &Arc<Root>, view: &CallView) -> Vec<ModelTool> {
    let (for_read, for_list) = (Arc::clone(root), Arc::clone(root));
    let view = view.clone();
    let read = ModelTool::new(
        "read",
        "Reads a text file. The answer has one line of the file per line, each after its number \
         and a tab. Long files come in parts: read on with `from`.",
        Reach::Read,
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "from the working directory" },
                "from": { "type": "integer", "minimum": 1, "description": "first line, 1 if left out" },
                "lines": { "type": "integer", "minimum": 1, "description": "how many lines" },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        move |arguments, _| answer(read(&for_read, &view, arguments)),
    );
    let list = ModelTool::new(
        "list",
        "Lists a directory: names in order, directories with a slash, files with their size in \
         bytes. `.git` is left out.",
        Reach::Read,
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "from the working directory, itself if left out" },
                "depth": { "type": "integer", "minimum": 1, "maximum": LIST_DEPTH, "description": "levels, 1 if left out" },
            },
            "additionalProperties": false,
        }),
        move |arguments, _| answer(list(&for_list, arguments)),
    );
    vec![read, list]
}

pub(crate) fn answer(result: Result<String, RootError>) -> ToolAnswer {
    result.map_or_else(|error| ToolAnswer::error(error.to_string()), ToolAnswer::ok)
}

/// A text argument; the schema has made sure of those that must be there.
pub(crate) fn word<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn read(root: &Root, view: &CallView, arguments: &Value) -> Result<String, RootError> {
    let path = word(arguments, "path");
    let from = arguments.get("from").and_then(Value::as_u64).unwrap_or(1).max(1);
    let wanted = arguments.get("lines").and_then(Value::as_u64).unwrap_or(READ_LINES);
    let (file, size, shown) = root.open_file(path)?;
    if !view.is_there(&shown) {
        return Err(RootError::NotFound { path: path.to_owned() });
    }
    let failed = |source| RootError::Io { path: path.to_owned(), source };
    let mut reader = BufReader::with_capacity(SNIFF_BYTES, file.take(SCAN_BYTES));
    if reader.fill_buf().map_err(failed)?.contains(&0) {
        return Ok(format!("{shown} is not text ({size} bytes)"));
    }
    let last = from.saturating_add(wanted).saturating_sub(1);
    let mut text = String::new();
    let mut number = 0;
    let mut is_more = false;
    let mut lines = view.lines();
    while let Some(line) = next_line(&mut reader).map_err(failed)? {
        number += 1;
        let line = lines.next(line);
        if number < from {
            continue;
        }
        if number > last || text.len() + line.len() > READ_BYTES {
            is_more = true;
            break;
        }
        text.push_str(&format!("{number}\t{}\n", lines.shown(line)));
    }
    let shown_to = if is_more { number - 1 } else { number };
    if text.is_empty() {
        return Ok(match number {
            0 => format!("{shown} is empty"),
            _ => format!("{shown} has only {number} lines"),
        });
    }
    let more =
        if is_more { format!("[more follows: from={}]\n", shown_to + 1) } else { String::new() };
    Ok(format!("{shown}, lines {from} to {shown_to}\n{text}{more}"))
}

/// Reads a line of any length in bounded memory; what is too long is cut and marked.
pub(crate) fn next_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let mut over = 0;
    let mut is_any = false;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        is_any = true;
        let (part, used, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&chunk[..at], at + 1, true),
            None => (chunk, chunk.len(), false),
        };
        let room = LINE_BYTES.saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(&part[..room]);
        over += part.len() - room;
        reader.consume(used);
        if ended {
            break;
        }
    }
    if !is_any {
        return Ok(None);
    }
    let mut text = String::from_utf8_lossy(&line).into_owned();
    if over > 0 {
        text.push_str(&format!(" … {over} more bytes"));
    }
    Ok(Some(text))
}

fn list(root: &Root, arguments: &Value) -> Result<String, RootError> {
    let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
    let depth = arguments.get("depth").and_then(Value::as_u64).unwrap_or(1).min(LIST_DEPTH);
    let (dir, shown) = root.open_dir(path)?;
    let mut lines = Vec::new();
    let whole = list_into(&mut lines, dir, "", depth)
        .map_err(|errno| RootError::Io { path: path.to_owned(), source: errno.into() })?;
    let count = lines.len();
    let mut text = format!("{shown}, {count} entries\n");
    lines.iter().for_each(|line| {
        text.push_str(line);
        text.push('\n');
    });
    if !whole {
        text.push_str("[there are more; list a directory below]\n");
    }
    Ok(text)
}

/// Returns whether all entries had room.
fn list_into(lines: &mut Vec<String>, dir: OwnedFd, above: &str, depth: u64) -> nix::Result<bool> {
    let mut dir = Dir::from_fd(dir)?;
    for name in names(&mut dir) {
        if lines.len() >= LIST_ENTRIES {
            return Ok(false);
        }
        // Gone since it was listed.
        let Ok(stat) = look_at(&dir, &name) else { continue };
        let shown = format!("{above}{}", name.to_string_lossy());
        match kind(&stat) {
            SFlag::S_IFDIR => {
                lines.push(format!("{shown}/"));
                if depth > 1
                    && let Ok(child) = open_child_dir(&dir, &name)
                    && !list_into(lines, child, &format!("{shown}/"), depth - 1)?
                {
                    return Ok(false);
                }
            }
            SFlag::S_IFREG => lines.push(format!("{shown} {}", stat.st_size)),
            SFlag::S_IFLNK => lines.push(format!("{shown} (link)")),
            _ => lines.push(format!("{shown} (special)")),
        }
    }
    Ok(true)
}

/// The names in a directory, in order, without those that every directory has and `.git`.
pub(crate) fn names(dir: &mut Dir) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = dir
        .iter()
        .filter_map(Result::ok)
        .map(|entry| std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned())
        .filter(|name| name != "." && name != ".." && name != ".git")
        .collect();
    names.sort();
    names
}
