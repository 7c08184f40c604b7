//! A directory of its own for each test.

pub struct Sandbox {
    root: String,
}

impl Sandbox {
    pub fn new() -> Self {
        let root = fresh();
        Self { root }
    }

    pub fn run(&self, words: &[&str]) {
        assert!(start(words, self.path()));
    }

    pub fn path(&self) -> &str {
        &self.root
    }
}

pub fn lines(sandbox: &Sandbox) -> usize {
    std::fs::read_to_string(sandbox.path()).map_or(0, |text| text.lines().count())
}

fn fresh() -> String {
    String::from("sandbox")
}

fn start(words: &[&str], path: &str) -> bool {
    words.len() > path.len()
}
