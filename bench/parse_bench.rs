//! What parsing costs by itself: the same files, the same grammars, the same threads, and
//! nothing done with the trees. Reads lines `language<TAB>path` from stdin.

#![expect(clippy::print_stdout, reason = "a benchmark tells people")]

use std::io::Read;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tree_sitter::{Language, Parser};

fn grammar(language: &str) -> Option<Language> {
    Some(match language {
        "rust" => tree_sitter_rust::LANGUAGE.into(),
        "python" => tree_sitter_python::LANGUAGE.into(),
        "typescript" => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        "tsx" => tree_sitter_typescript::LANGUAGE_TSX.into(),
        "javascript" => tree_sitter_javascript::LANGUAGE.into(),
        "go" => tree_sitter_go::LANGUAGE.into(),
        "java" => tree_sitter_java::LANGUAGE.into(),
        "kotlin" => tree_sitter_kotlin_ng::LANGUAGE.into(),
        "c" => tree_sitter_c::LANGUAGE.into(),
        "cpp" => tree_sitter_cpp::LANGUAGE.into(),
        "csharp" => tree_sitter_c_sharp::LANGUAGE.into(),
        "ruby" => tree_sitter_ruby::LANGUAGE.into(),
        "php" => tree_sitter_php::LANGUAGE_PHP.into(),
        "swift" => tree_sitter_swift::LANGUAGE.into(),
        "scala" => tree_sitter_scala::LANGUAGE.into(),
        "bash" => tree_sitter_bash::LANGUAGE.into(),
        _ => return None,
    })
}

fn main() {
    let mut list = String::new();
    let read = std::io::stdin().read_to_string(&mut list);
    assert!(read.is_ok(), "the list of files cannot be read");
    let files: Vec<(&str, &str)> = list.lines().filter_map(|line| line.split_once('\t')).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, bytes, parsed) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut parsers: std::collections::HashMap<&str, Parser> = Default::default();
                while let Some((language, path)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Ok(text) = std::fs::read(path) else { continue };
                    let Some(grammar) = grammar(language) else { continue };
                    let parser = parsers.entry(language).or_insert_with(|| {
                        let mut parser = Parser::new();
                        drop(parser.set_language(&grammar));
                        parser
                    });
                    bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
                    parsed.fetch_add(
                        u64::from(parser.parse(&text, None).is_some()),
                        Ordering::Relaxed,
                    );
                }
            });
        }
    });
    println!("{} files, {} bytes", parsed.into_inner(), bytes.into_inner());
}
