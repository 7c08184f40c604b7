//! What was typed.

use std::env;

#[derive(Clone)]
pub struct Args {
    words: Vec<String>,
}

#[derive(Clone, Copy)]
pub enum Mode {
    Plan,
    Water,
    Show,
}

impl Mode {
    pub fn parse(word: &str) -> Self {
        match word {
            "plan" => Self::Plan,
            "water" => Self::Water,
            _ => Self::Show,
        }
    }

    pub fn describe(self) -> &'static str {
        "a mode"
    }
}

impl Args {
    pub fn parse() -> Self {
        Self::from_words(env::args().skip(1).collect())
    }

    pub fn from_words(words: Vec<String>) -> Self {
        Args { words }
    }

    pub fn mode(&self) -> Mode {
        self.words.first().map_or(Mode::Show, |word| Mode::parse(word))
    }

    pub fn path(&self) -> &str {
        self.word(1)
    }

    pub fn names(&self) -> Vec<&str> {
        self.words.iter().skip(2).map(String::as_str).collect()
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }
}
