//! What a session's trace says was done: the commands that were run, one by one, and the text that
//! was written.
//!
//! A command is read as a shell reads it. `make lint` was run where it begins a simple command; in a
//! message of a commit, in a comment, behind `echo` or `grep` it is only spoken of.

use serde_json::Value;

/// One thing that was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TraceDeed {
    /// A simple command, word by word. A word that is quoted is nothing that was run, and empty here.
    Command(Vec<String>),
    /// Lines that were written.
    Written(String),
    /// A tool that was called.
    Tool(String),
}

/// Programs that only pass on what they are given to run, and how many words of their own follow.
const WRAPPERS: [(&str, usize); 10] = [
    ("sudo", 0),
    ("env", 0),
    ("time", 0),
    ("nohup", 0),
    ("exec", 0),
    ("command", 0),
    ("then", 0),
    ("do", 0),
    ("timeout", 1),
    ("nice", 0),
];

/// Programs that look at words or repeat them.
const SPEAKERS: [&str; 10] =
    ["echo", "printf", "grep", "rg", "ag", "cat", "man", "which", "type", "alias"];

/// Words behind a command that keep it from doing anything.
const IDLE: [&str; 5] = ["--help", "-h", "--version", "--dry-run", "--just-print"];

/// Reads what a trace's payload says was done, in order. Calls that were refused did nothing.
pub(super) fn deeds_of(payload: &str) -> Vec<TraceDeed> {
    let mut deeds = Vec::new();
    if let Ok(payload) = serde_json::from_str(payload) {
        collect(&payload, &mut deeds);
    }
    deeds
}

fn collect(value: &Value, deeds: &mut Vec<TraceDeed>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| collect(one, deeds)),
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("refused", _) => {}
                    ("command" | "cmd", Value::String(command)) => {
                        deeds.extend(simple_commands(command).into_iter().map(TraceDeed::Command));
                    }
                    ("command" | "cmd", Value::Array(words)) => {
                        let words = words.iter().map(|word| word.as_str().unwrap_or_default());
                        deeds.push(TraceDeed::Command(words.map(str::to_owned).collect()));
                    }
                    ("diff" | "patch" | "new_string", Value::String(text)) => {
                        deeds.push(TraceDeed::Written(added(text)));
                    }
                    ("tool" | "name", Value::String(name)) => {
                        deeds.push(TraceDeed::Tool(name.clone()))
                    }
                    _ => collect(value, deeds),
                }
            }
        }
        _ => {}
    }
}

/// The lines that a diff adds; all of a text that is none.
fn added(text: &str) -> String {
    let is_diff = text.lines().any(|line| line.starts_with(['+', '-']));
    let is_added = |line: &&str| !is_diff || line.starts_with('+') && !line.starts_with("+++");
    let lines: Vec<&str> = text.lines().filter(is_added).collect();
    lines.join("\n")
}

impl TraceDeed {
    /// Whether the deed is what a term names.
    pub(super) fn does(&self, term: &str) -> bool {
        match self {
            Self::Command(words) => {
                let words = behind_wrappers(words);
                let is_idle = words.iter().any(|word| IDLE.contains(&word.as_str()));
                // An option is part of a command wherever it stands in it.
                let is_option = term.starts_with('-') && !speaks(words) && contains(words, term);
                !is_idle && (begins(words, term) || is_option)
            }
            Self::Written(text) => stands_in(text, term),
            Self::Tool(name) => name.eq_ignore_ascii_case(term),
        }
    }

    /// Whether the deed has a term anywhere that may be run, through another program as well.
    pub(super) fn may_do(&self, term: &str) -> bool {
        match self {
            Self::Command(words) => !speaks(words) && contains(words, term),
            _ => self.does(term),
        }
    }

    /// Whether a word is the program of a command, or what the program is told to do.
    pub(super) fn is_called(&self, word: &str) -> bool {
        let Self::Command(words) = self else { return false };
        let words = behind_wrappers(words);
        !speaks(words) && words.iter().take(3).any(|one| one.eq_ignore_ascii_case(word))
    }
}

fn begins(words: &[String], term: &str) -> bool {
    let mut terms = term.split_whitespace().peekable();
    terms.peek().is_some()
        && terms
            .enumerate()
            .all(|(at, term)| words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(term)))
}

fn contains(words: &[String], term: &str) -> bool {
    (0..words.len()).any(|at| begins(&words[at..], term))
}

fn speaks(words: &[String]) -> bool {
    words.first().is_some_and(|program| SPEAKERS.contains(&program.as_str()))
}

fn stands_in(text: &str, term: &str) -> bool {
    let (text, term) = (text.to_ascii_lowercase(), term.to_ascii_lowercase());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&term).any(|(at, _)| {
        let (before, after) =
            (text[..at].chars().next_back(), text[at + term.len()..].chars().next());
        let opens = term.chars().next().is_some_and(is_word);
        let closes = term.chars().next_back().is_some_and(is_word);
        !(opens && before.is_some_and(is_word) || closes && after.is_some_and(is_word))
    })
}

/// The words behind variables that are set for one command and programs that only pass it on.
fn behind_wrappers(words: &[String]) -> &[String] {
    let mut words = words;
    while let Some(first) = words.first() {
        let is_set = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let wrapper = WRAPPERS.iter().find(|(program, _)| program == first);
        match (is_set, wrapper) {
            (true, _) => words = &words[1..],
            (false, Some((_, own))) => {
                words = &words[1..];
                while words.first().is_some_and(|word| word.starts_with('-')) {
                    words = &words[1..];
                }
                words = words.get(*own..).unwrap_or_default();
                // A number is an option's.
                if words.first().is_some_and(|word| word.parse::<u32>().is_ok()) {
                    words = &words[1..];
                }
            }
            (false, None) => break,
        }
    }
    words
}

/// Splits what is given to a shell into simple commands. What stands behind `||` is only run where
/// something failed, and is left out.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut reader = ShellReader::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (reader.quote, c) {
            (Some(quote), c) if c == quote => reader.quote = None,
            (Some('"'), '\\') => drop(chars.next()),
            (Some(_), _) => {}
            (None, '\'' | '"') => reader.open_quote(c),
            (None, '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(c) => reader.word.push(c),
            },
            (None, '#') if reader.word.is_empty() && !reader.is_quoted => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            (None, '\n') => {
                reader.end_command(false);
                reader.skip_document(&mut chars);
            }
            (None, '|') if chars.peek() == Some(&'|') => {
                chars.next();
                reader.end_command(true);
            }
            (None, ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`') => reader.end_command(false),
            (None, c) if c.is_whitespace() => reader.end_word(),
            (None, c) => reader.word.push(c),
        }
    }
    reader.end_command(false);
    reader.commands
}

/// A shell's text as far as it was read.
#[derive(Default)]
struct ShellReader {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: String,
    is_quoted: bool,
    quote: Option<char>,
    /// Whether the command that is read stands behind `||`.
    is_fallback: bool,
    /// The word that ends a document in the text.
    document: Option<String>,
}

impl ShellReader {
    fn open_quote(&mut self, quote: char) {
        self.quote = Some(quote);
        self.is_quoted = true;
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let is_quoted = std::mem::take(&mut self.is_quoted);
        if let Some(end) = word.strip_prefix("<<").filter(|_| !word.starts_with("<<<")) {
            self.document = Some(end.trim_start_matches('-').to_owned());
        } else if self.document.as_deref() == Some("") && !word.is_empty() {
            self.document = Some(word);
        } else if is_quoted {
            self.words.push(String::new());
        } else if !word.is_empty() {
            self.words.push(word);
        }
    }

    fn end_command(&mut self, next_is_fallback: bool) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() && !self.is_fallback {
            self.commands.push(words);
        }
        self.is_fallback = next_is_fallback;
    }

    /// Passes over a document that the command before reads. One whose end is quoted ends at a line
    /// that cannot be known here, so all of the rest is taken for it.
    fn skip_document(&mut self, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
        let Some(end) = self.document.take() else { return };
        loop {
            let line: String = chars.by_ref().take_while(|c| *c != '\n').collect();
            if chars.peek().is_none() || !end.is_empty() && line.trim() == end {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: bool) {
        let payload = serde_json::json!({ "tools": [{ "tool": "Bash", "command": command }] });
        let does = deeds_of(&payload.to_string()).iter().any(|deed| deed.does("make lint"));
        assert_eq!(does, expected, "{command}");
    }

    #[test]
    fn a_command_was_run_where_it_begins_a_simple_one() {
        for command in [
            "make lint",
            "make lint && git commit -m done",
            "cd crates && make lint",
            "cd crates; JOBS=4 make lint 2>&1 | tail",
            "git add -A\nmake lint\ngit commit",
            "sudo -E make lint",
            "timeout 60 make lint",
            "nice -n 5 make lint",
            "(make lint)",
            "if make test; then make lint; fi",
            "make lint # as told",
            "Make Lint",
            "cat <<END > notes\nall is well\nEND\nmake lint",
        ] {
            check(command, true);
        }
        for command in [
            "git commit -m \"skip make lint for now\"",
            "git commit -m 'make lint'",
            "git commit -m make\\ lint",
            "# do not run make lint\ngit commit",
            "# do not run make lint; git commit",
            "grep -rn \"make lint\" Makefile",
            "grep -rn make lint",
            "echo make lint is stupid",
            "make linty",
            "make test || make lint",
            "make lint --dry-run",
            "man make lint",
            "cat <<END > notes\nmake lint\nEND",
            "cat <<'END' > notes\nmake lint\nEND",
            "bash -c \"echo make lint\"",
            "git commit -m \"never closed; make lint",
            "",
        ] {
            check(command, false);
        }
    }

    #[test]
    fn what_was_written_called_and_refused_is_told_apart() {
        let of = |payload: serde_json::Value| deeds_of(&payload.to_string());
        let does = |deeds: &[TraceDeed], term: &str| deeds.iter().any(|deed| deed.does(term));
        let written = of(serde_json::json!({ "diff": "- println!(1)\n+ tracing::info!(1)" }));
        assert!(does(&written, "tracing::info!") && !does(&written, "println!"));
        let called = of(serde_json::json!({ "tools": [{ "tool": "dossier", "path": "make" }] }));
        assert!(does(&called, "dossier") && !does(&called, "make"));
        let refused = of(serde_json::json!({ "refused": [{ "command": "make lint" }] }));
        assert!(refused.is_empty());
        let option = of(serde_json::json!({ "command": "cargo test --locked" }));
        assert!(does(&option, "--locked") && !does(&option, "test"));
        let through = of(serde_json::json!({ "command": "xargs pip install" }));
        assert!(!does(&through, "pip install") && through[0].may_do("pip install"));
    }
}
