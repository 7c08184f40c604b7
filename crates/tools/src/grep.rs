//! The tool that searches: `grep`.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::dir::Dir;
use nix::sys::stat::SFlag;
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};
use spore_effects::{Clock as _, SystemClock};
use spore_plain::cut;

use crate::files::{names, next_line, word};
use crate::root::{kind, look_at, open_child_dir, open_regular};
use crate::view::CallView;
use crate::{ModelTool, Reach, Root, ToolAnswer, ToolCaller};

const MATCHES: usize = 200;
const MATCH_BYTES: usize = 300;

/// A file that is larger is data.
const FILE_BYTES: u64 = 4 << 20;
const ALL_BYTES: u64 = 512 << 20;
const DEPTH: usize = 64;
const TIME: Duration = Duration::from_secs(20);
const PATTERN_BYTES: usize = 1 << 20;

/// What builds leave behind; searched only where the path points into it.
const SKIPPED: [&str; 3] = ["target", "node_modules", ".spore"];

pub(crate) fn tool(root: &Arc<Root>, view: CallView) -> ModelTool {
    let root = Arc::clone(root);
    ModelTool::new(
        "grep",
        "Searches text files for a regular expression, line by line. Each answer line is \
         path:line: text. Build directories (target, node_modules) are searched only if `path` \
         points into one.",
        Reach::Search,
        json!({
            "type": "object",
            "properties": {
                "pattern": { "type": "string", "description": "Rust regex syntax" },
                "path": { "type": "string", "description": "file or directory, all if left out" },
                "ignore_case": { "type": "boolean" },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
        move |arguments, caller| grep(&root, &view, arguments, caller),
    )
}

struct GrepSearch<'a> {
    pattern: Regex,
    caller: &'a dyn ToolCaller,
    view: &'a CallView,
    found: Vec<String>,
    bytes_left: u64,
    until: Instant,
    /// Why the search ended before all was seen.
    stopped: Option<&'static str>,
}

fn grep(
    root: &Root,
    view: &CallView,
    arguments: &Value,
    caller: &mut dyn ToolCaller,
) -> ToolAnswer {
    let built = RegexBuilder::new(word(arguments, "pattern"))
        .case_insensitive(arguments.get("ignore_case").and_then(Value::as_bool).unwrap_or(false))
        .size_limit(PATTERN_BYTES)
        .build();
    let pattern = match built {
        Ok(pattern) => pattern,
        Err(error) => return ToolAnswer::error(cut(&error.to_string(), 500)),
    };
    let mut search = GrepSearch {
        pattern,
        caller,
        view,
        found: Vec::new(),
        bytes_left: ALL_BYTES,
        until: SystemClock.monotonic() + TIME,
        stopped: None,
    };
    let path = arguments.get("path").and_then(Value::as_str).unwrap_or(".");
    match root.open_dir(path) {
        Ok((dir, shown)) => {
            let above = if shown == "." { String::new() } else { format!("{shown}/") };
            search.directory(dir, &above, DEPTH);
        }
        Err(_) => match root.open_file(path) {
            Ok((file, _, shown)) => search.file(file, &shown),
            Err(error) => return ToolAnswer::error(error.to_string()),
        },
    }
    search.answer()
}

impl GrepSearch<'_> {
    fn directory(&mut self, dir: OwnedFd, above: &str, depth: usize) {
        let Ok(mut dir) = Dir::from_fd(dir) else { return };
        for name in names(&mut dir) {
            if self.is_over() {
                return;
            }
            let Ok(stat) = look_at(&dir, &name) else { continue };
            let shown = format!("{above}{}", name.to_string_lossy());
            match kind(&stat) {
                SFlag::S_IFDIR if depth > 0 && self.is_searched(&name, &shown) => {
                    if let Ok(child) = open_child_dir(&dir, &name) {
                        self.directory(child, &format!("{shown}/"), depth - 1);
                    }
                }
                SFlag::S_IFREG
                    if u64::try_from(stat.st_size).is_ok_and(|size| size <= FILE_BYTES) =>
                {
                    if let Ok((file, _)) = open_regular(&dir, &name, &shown) {
                        self.file(file, &shown);
                    }
                }
                _ => {}
            }
        }
    }

    fn file(&mut self, file: impl Read, shown: &str) {
        let mut reader = BufReader::with_capacity(8 << 10, file.take(FILE_BYTES));
        if reader.fill_buf().is_ok_and(|start| start.contains(&0)) {
            return;
        }
        if !self.view.is_there(shown) {
            return;
        }
        let mut number = 0_u64;
        let mut lines = self.view.lines();
        while let Ok(Some(line)) = next_line(&mut reader) {
            number += 1;
            self.bytes_left = self.bytes_left.saturating_sub(line.len() as u64 + 1);
            let line = lines.next(line);
            // Decided by the line as it is shown, and by nothing else: where a hidden text could make
            // a line match or not, a pattern would ask for it bit by bit.
            let line = lines.shown(line);
            if self.pattern.is_match(&line) {
                let line = cut(line.trim(), MATCH_BYTES);
                self.found.push(format!("{shown}:{number}: {line}"));
            }
            if self.found.len() >= MATCHES || number.is_multiple_of(1024) && self.is_over() {
                return;
            }
        }
    }

    /// Who sees a part of the files sees all of that part, whatever it is called.
    fn is_searched(&self, name: &OsStr, shown: &str) -> bool {
        if self.view.is_whole() { !is_skipped(name) } else { self.view.is_there(shown) }
    }

    fn is_over(&mut self) -> bool {
        self.stopped = if self.found.len() >= MATCHES {
            Some("there may be more; make the pattern narrower")
        } else if self.bytes_left == 0 {
            Some("there is too much to search; name a path")
        } else if SystemClock.monotonic() > self.until {
            Some("the search took too long; name a path")
        } else if self.caller.cancelled() {
            Some("cancelled")
        } else {
            None
        };
        self.stopped.is_some()
    }

    fn answer(mut self) -> ToolAnswer {
        // A single file does not ask by itself.
        self.is_over();
        let mut text = match self.found.len() {
            0 => "nothing matches\n".to_owned(),
            _ => self.found.join("\n") + "\n",
        };
        if let Some(why) = self.stopped {
            text.push_str(&format!("[{why}]\n"));
        }
        ToolAnswer::ok(text)
    }
}

fn is_skipped(name: &OsStr) -> bool {
    SKIPPED.iter().any(|skipped| name == *skipped)
}
