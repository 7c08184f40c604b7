//! Which lines of a text are inside of a private key. No line of a key says so by itself: what it is
//! shows by the line that the key begins with, which may be far above.

use crate::shapes;

/// Follows a text from its beginning, line by line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KeyLines {
    state: KeyState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum KeyState {
    #[default]
    Outside,
    Inside,
    /// After a line such as `DEK-Info: …`, which a blank line parts from the key itself.
    Headers,
}

impl KeyLines {
    /// Returns whether the next line is inside of a key: after the line that it begins with, and
    /// before the one that it ends with, or a blank one.
    pub fn is_inside(&mut self, line: &str) -> bool {
        let is_end = shapes::ends_private_key(line);
        if self.state == KeyState::Outside || is_end {
            let begins = !is_end && shapes::begins_private_key(line.as_bytes());
            self.state = if begins { KeyState::Inside } else { KeyState::Outside };
            return false;
        }
        let words = without_number(line).trim_matches(['+', '-', ' ', '\t', '\r', '\n']);
        self.state = match (words.is_empty(), self.state) {
            (true, KeyState::Inside) => KeyState::Outside,
            (false, _) if is_header(words) => KeyState::Headers,
            _ => KeyState::Inside,
        };
        true
    }
}

/// A line without the number that it is shown with.
fn without_number(line: &str) -> &str {
    match line.split_once('\t') {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => line,
    }
}

fn is_header(line: &str) -> bool {
    ["Proc-Type:", "DEK-Info:"].iter().any(|name| line.contains(name))
}
