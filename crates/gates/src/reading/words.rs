//! Takes the text of a shell apart into simple commands, well enough to see what it names.

/// What stands in a word for a part that only a shell could know.
const OPEN: char = '$';

/// Words in front of a command that do not change what it is.
const WRAPPERS: &[&str] = &[
    "!", "builtin", "bunx", "command", "do", "elif", "else", "env", "eval", "exec", "if", "nice",
    "nohup", "npx", "sudo", "then", "time", "timeout", "until", "while", "xargs", "xvfb-run", "{",
];

/// Programs that run what follows `run` in an environment of their own.
const RUN_IN: &[&str] = &["hatch", "pdm", "pipenv", "poetry", "rye", "uv"];

/// Returns the simple commands of `text`, those inside of others as well. What a shell would
/// fill in is a `$` in the word; what output goes to is left out.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut reader = WordReader::default();
    let chars: Vec<char> = text.chars().collect();
    reader.read(&chars);
    reader.end_command();
    reader.commands
}

/// Returns what follows the part of `word` that only a shell could know, if it has one.
pub(super) fn open_end(word: &str) -> Option<&str> {
    word.rsplit_once(OPEN).map(|(_, end)| end.trim_start_matches('/'))
}

/// Drops what stands in front of the program: variables, keywords, and programs that run it.
pub(super) fn without_wrappers<'w>(mut words: &'w [&'w str]) -> &'w [&'w str] {
    let mut after_wrapper = false;
    while let Some((first, rest)) = words.split_first() {
        let is_variable = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        });
        let is_wrapper = WRAPPERS.contains(first);
        // The options of a wrapper, and the number of `timeout` or `nice`.
        let is_option = after_wrapper
            && (first.starts_with('-') || first.starts_with(|c: char| c.is_ascii_digit()));
        if RUN_IN.contains(first) && rest.first() == Some(&"run") {
            words = &rest[1..];
            after_wrapper = true;
            continue;
        }
        if !is_variable && !is_wrapper && !is_option {
            break;
        }
        after_wrapper |= is_wrapper;
        words = rest;
    }
    words
}

#[derive(Default)]
struct WordReader {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    /// The next word is where output goes.
    is_output: bool,
}

impl WordReader {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_with(String::new).push(c);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !std::mem::take(&mut self.is_output)
        {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.is_output = false;
        if !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn read(&mut self, chars: &[char]) {
        let mut at = 0;
        let mut quote = None;
        while let Some(&c) = chars.get(at) {
            at += 1;
            match (quote, c) {
                (Some('\''), '\'') | (Some('"'), '"') => quote = None,
                (Some('\''), c) => self.push(c),
                (_, '\\') => {
                    match chars.get(at) {
                        // A line that goes on.
                        Some('\n') => self.end_word(),
                        Some(c) => self.push(*c),
                        None => {}
                    }
                    at += 1;
                }
                (_, '$') => at = self.open_part(chars, at),
                (_, '`') => {
                    let end = chars[at..]
                        .iter()
                        .position(|c| *c == '`')
                        .map_or(chars.len(), |end| at + end);
                    self.inner(&chars[at..end]);
                    at = end + 1;
                }
                (Some(_), c) => self.push(c),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    self.word.get_or_insert_with(String::new);
                }
                (None, '#') if self.word.is_none() => {
                    at = chars[at..]
                        .iter()
                        .position(|c| *c == '\n')
                        .map_or(chars.len(), |end| at + end);
                }
                (None, '\n' | ';' | '&' | '|' | '(' | ')') => self.end_command(),
                (None, '>') => {
                    // A number in front is a descriptor.
                    self.word.take_if(|word| word.chars().all(|c| c.is_ascii_digit()));
                    self.end_word();
                    // `2>&1` is no end of a command.
                    at += usize::from(chars.get(at) == Some(&'&'));
                    self.is_output = true;
                }
                (None, '<') => self.end_word(),
                (None, c) if c.is_whitespace() => self.end_word(),
                (None, c) => self.push(c),
            }
        }
    }

    /// Reads what stands behind a `$`. Returns where it ends.
    fn open_part(&mut self, chars: &[char], at: usize) -> usize {
        let close = |open: char, close: char| {
            let mut depth = 0_usize;
            let end = chars[at..].iter().position(|c| {
                depth += usize::from(*c == open);
                depth -= usize::from(*c == close && depth > 0);
                depth == 0
            });
            end.map_or(chars.len(), |end| at + end)
        };
        match chars.get(at) {
            Some('(') => {
                let end = close('(', ')');
                self.inner(&chars[(at + 1).min(end)..end]);
                end + 1
            }
            Some('{') => {
                self.push(OPEN);
                close('{', '}') + 1
            }
            _ => {
                self.push(OPEN);
                let name =
                    chars[at..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_');
                let length = name.count();
                // `$@`, `$?` and their like are one character.
                at + if length == 0 { 1 } else { length }
            }
        }
    }

    /// Reads a command inside of a word.
    fn inner(&mut self, chars: &[char]) {
        let mut inner = Self::default();
        inner.read(chars);
        inner.end_command();
        self.commands.extend(inner.commands);
        self.push(OPEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let told: Vec<String> = commands(text)
            .iter()
            .map(|words| {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                without_wrappers(&words).join("|")
            })
            .collect();
        assert_eq!(told.join(" ; "), expected);
    }

    #[test]
    fn a_text_is_taken_apart_into_commands() {
        check("cd 'a b' && ./run \"x y\" | tee log", "cd|a b ; ./run|x y ; tee|log");
        check("# no\nA=1 B=2 env -i sh x.sh > out 2>&1 < in", "sh|x.sh|in");
        check("if ! ./check; then timeout 5 make -C d; fi", "./check ; make|-C|d ; fi");
        check("a \\\n b\nuv run pytest -q", "a|b ; pytest|-q");
    }

    #[test]
    fn what_only_a_shell_knows_is_left_open() {
        check(r#". "$(dirname "$0")/lib.sh"; $X/y ${Z:-w}/v"#, "dirname|$ ; .|$/lib.sh ; $/y|$/v");
        check("x `sh y` 'un$ended", "sh|y ; x|$|un$ended");
        assert_eq!((open_end("$/a/b.sh"), open_end("a")), (Some("a/b.sh"), None));
    }
}
