//! How much reading facts costs beyond parsing, by language, in CPU time of one thread.
//!
//!     cargo run --release -p spore-index --example read_bench -- DIRECTORY
//!
//! All files of a language are parsed with the bare grammar, then read with the adapter, in
//! turns; the least of each counts, which is the one that was disturbed least.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use spore_index::{Language, read};
use tree_sitter::Parser;

#[derive(Default)]
struct Cost {
    files: u64,
    bytes: u64,
    parse: u64,
    read: u64,
    items: u64,
    references: u64,
}

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::args().nth(1).ok_or("usage: read_bench DIRECTORY")?;
    let mut files = Vec::new();
    collect(Path::new(&root), &mut files)?;
    files.sort();
    let mut texts: BTreeMap<Language, Vec<(String, String)>> = BTreeMap::new();
    for file in &files {
        let path = file.to_string_lossy().replace('\\', "/");
        let Some(language) = Language::of_path(&path) else { continue };
        let Ok(text) = fs::read_to_string(file) else { continue };
        texts.entry(language).or_default().push((path, text));
    }
    let mut costs = BTreeMap::new();
    for (language, texts) in &texts {
        if let Some(grammar) = grammar(*language) {
            costs.insert(*language, measure(*language, &grammar, texts)?);
        }
    }
    report(&costs)
}

fn measure(
    language: Language,
    grammar: &tree_sitter::Language,
    texts: &[(String, String)],
) -> Result<Cost, Box<dyn Error>> {
    let mut parser = Parser::new();
    parser.set_language(grammar)?;
    let mut cost = Cost { parse: u64::MAX, read: u64::MAX, ..Cost::default() };
    for _ in 0..ROUNDS {
        let (mut items, mut references, mut bytes) = (0, 0, 0);
        let start = cpu_nanos()?;
        for (_, text) in texts {
            drop(parser.parse(text, None));
            bytes += text.len() as u64;
        }
        let parsed = cpu_nanos()?;
        for (path, text) in texts {
            let facts = read(path, text, language);
            items += facts.items.len() as u64;
            references += facts.references.len() as u64;
        }
        let done = cpu_nanos()?;
        let (parse, read) = (cost.parse.min(parsed - start), cost.read.min(done - parsed));
        cost = Cost { files: texts.len() as u64, bytes, parse, read, items, references };
    }
    Ok(cost)
}

fn report(costs: &BTreeMap<Language, Cost>) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "language    files      MB   parse s   read s  read/parse   items  references")?;
    for (language, cost) in costs {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        writeln!(
            out,
            "{:10} {:6} {:7.1} {:9.2} {:8.2} {:11.2} {:7} {:11}",
            language.as_str(),
            cost.files,
            cost.bytes as f64 / 1e6,
            seconds(cost.parse),
            seconds(cost.read),
            cost.read as f64 / cost.parse as f64,
            cost.items,
            cost.references,
        )?;
    }
    Ok(())
}

/// The CPU time of this thread, which other programs on the machine disturb least. The kernel
/// counts it in steps of milliseconds: too coarse for one file, good enough for all.
fn cpu_nanos() -> Result<u64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(stat.split_whitespace().next().ok_or("no CPU time")?.parse()?)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn grammar(language: Language) -> Option<tree_sitter::Language> {
    Some(match language {
        Language::Rust => tree_sitter_rust::LANGUAGE.into(),
        Language::Python => tree_sitter_python::LANGUAGE.into(),
        Language::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        Language::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
        Language::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
        Language::Go => tree_sitter_go::LANGUAGE.into(),
        Language::Java => tree_sitter_java::LANGUAGE.into(),
        Language::Kotlin => tree_sitter_kotlin_ng::LANGUAGE.into(),
        Language::C => tree_sitter_c::LANGUAGE.into(),
        Language::Cpp => tree_sitter_cpp::LANGUAGE.into(),
        Language::CSharp => tree_sitter_c_sharp::LANGUAGE.into(),
        Language::Ruby => tree_sitter_ruby::LANGUAGE.into(),
        Language::Php => tree_sitter_php::LANGUAGE_PHP.into(),
        Language::Swift => tree_sitter_swift::LANGUAGE.into(),
        Language::Scala => tree_sitter_scala::LANGUAGE.into(),
        Language::Bash => tree_sitter_bash::LANGUAGE.into(),
        Language::Markdown | Language::Rst => return None,
    })
}
