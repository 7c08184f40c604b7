//! Writes the defaults without their comments: every start of the program reads them, and two
//! thirds of the text are for people. Lines keep their numbers.

use std::path::Path;
use std::{env, fs};

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script by variables")]
fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=defaults.toml");
    let text = fs::read_to_string("defaults.toml")?;
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    let bare: String =
        text.lines().flat_map(|line| [if is_comment(line) { "" } else { line }, "\n"]).collect();
    let out = env::var("OUT_DIR").map_err(std::io::Error::other)?;
    fs::write(Path::new(&out).join("defaults.toml"), bare)
}
