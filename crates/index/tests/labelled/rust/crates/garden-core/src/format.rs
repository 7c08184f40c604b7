//! Lines for people.

/// A line about a number of things.
pub fn summary(count: usize, what: &str) -> String {
    let what = if count == 1 { singular(what) } else { what.to_owned() };
    format!("{count} {}", clean(&what))
}

pub fn short(line: &str) -> String {
    line.chars().take(8).collect()
}

pub fn log(line: String) {
    drop(short(&line));
}

fn singular(what: &str) -> String {
    clean(what.trim_end_matches('s'))
}

fn clean(text: &str) -> String {
    text.replace('\t', " ")
}
