//! Texts that no person would write: no panic, no deep recursion, no time without end.
//!
//! Every case runs for every language on a thread with a stack of one megabyte. Ordinary runs
//! take a thirty-second of the size. All of it, which takes minutes:
//!
//!     SPORE_HOSTILE=full cargo test --release -p spore-index --test hostile -- --nocapture
//!
//! A case is limited by the processor time of its thread, not by the clock on the wall: how
//! busy the machine is says nothing about the reader.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(clippy::print_stderr, reason = "the full size tells what was slow")]
#![expect(clippy::unwrap_used, reason = "a test that cannot read its own files has failed")]

mod invariants;

use std::time::Duration;

use spore_index::{Language, read};

use self::invariants::check_invariants;

/// Far more than any case takes, and far less than one that grows with the square of its size.
const PATIENCE: Duration = Duration::from_secs(40);
const WORTH_SAYING: Duration = Duration::from_secs(5);
const STACK: usize = 1 << 20;

/// Reads a text as every language, or as some.
#[track_caller]
fn survive(case: &str, text_of: impl Fn(Language) -> Option<String>) {
    for language in Language::ALL {
        let Some(text) = text_of(*language) else { continue };
        let path = format!("src/file.{language}");
        let language = *language;
        let reader = std::thread::Builder::new().stack_size(STACK).spawn(move || {
            let facts = read(&path, &text, language);
            check_invariants(&text, &facts);
            processor_time()
        });
        let took = reader.unwrap().join();
        assert!(took.is_ok(), "{case} as {language}");
        let took = took.unwrap();
        assert!(took < PATIENCE, "{case} as {language} took {took:?}");
        if took > WORTH_SAYING {
            eprintln!("{case} as {language} took {took:?}");
        }
    }
}

/// Returns how long this thread has been running on a processor; nothing where the system
/// does not tell.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = told.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

/// Returns how much of a number is taken.
fn some_of(all: usize) -> usize {
    let is_full = std::env::var_os("SPORE_HOSTILE").is_some_and(|asked| asked == "full");
    if is_full { all } else { all / 32 }
}

fn megabyte_of(piece: &str) -> String {
    piece.repeat(some_of(1 << 20) / piece.len())
}

/// How a language opens a block, what it needs before and how it closes.
fn nest(language: Language) -> Option<(&'static str, &'static str, &'static str)> {
    Some(match language {
        Language::Rust => ("", "mod a { ", "}"),
        // Its blocks are made of white space: fifty thousand would be gigabytes of it.
        Language::Python => return None,
        Language::TypeScript | Language::Tsx | Language::JavaScript => {
            ("", "function a() { class B { m() { ", "}}}")
        }
        Language::Go => ("package a\n", "func a() { if b { ", "}}"),
        Language::Java => ("", "class A { void m() { ", "}}"),
        Language::Kotlin => ("", "class A { fun m() { ", "}}"),
        Language::C => ("", "void f(void) { struct s { ", "}; }"),
        Language::Cpp => ("", "namespace a { class B { ", "}; }"),
        Language::CSharp => ("", "namespace A { class B { ", "}}"),
        Language::Ruby => ("", "module A; def m; ", "end; end; "),
        Language::Php => ("<?php ", "function f() { if (a) { ", "}}"),
        Language::Swift => ("", "class A { func m() { ", "}}"),
        Language::Scala => ("", "object A { def m() = { ", "}}"),
        Language::Bash => ("", "f() { if a; then ", "fi; }; "),
        Language::Markdown => ("", "> - ", ""),
        Language::Rst => ("", "* ", ""),
    })
}

#[test]
fn a_line_of_a_megabyte() {
    for piece in
        ["a ", "a", "f(x);", ".f()", "x = 1; ", "\"s\" ", "/**/ ", "`a` ", "é", "\u{1f600}"]
    {
        survive(&format!("megabyte of {piece:?}"), |_| Some(megabyte_of(piece)));
    }
}

#[test]
fn brackets_200_000_deep() {
    for (open, close) in
        [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("({[", "]})"), ("f(", ")")]
    {
        let deep = some_of(200_000) / open.len();
        survive(&format!("open {open}"), |_| Some(open.repeat(deep)));
        survive(&format!("closed {open}"), |_| {
            Some(format!("x = {}{}", open.repeat(deep), close.repeat(deep)))
        });
        survive(&format!("only closed {close}"), |_| Some(close.repeat(deep)));
    }
}

#[test]
fn blocks_50_000_deep() {
    survive("blocks", |language| {
        let (before, open, close) = nest(language)?;
        Some(format!("{before}{}{}", open.repeat(some_of(50_000)), close.repeat(some_of(50_000))))
    });
    survive("unclosed blocks", |language| {
        let (before, open, _) = nest(language)?;
        Some(format!("{before}{}", open.repeat(some_of(50_000))))
    });
    survive("indented blocks", |language| {
        (language == Language::Python).then(|| {
            let line = |depth| format!("{}def f():\n", " ".repeat(depth));
            (0..some_of(16_000)).map(line).collect()
        })
    });
}

#[test]
fn a_hundred_thousand_definitions_side_by_side() {
    survive("flat", |language| {
        let (before, open, close) = nest(language)?;
        Some(format!("{before}{}", format!("// doc\n{open}{close}\n").repeat(some_of(50_000))))
    });
    survive("flat on one line", |language| {
        let (before, open, close) = nest(language)?;
        Some(format!("{before}{}", format!("{open}{close} ").repeat(some_of(50_000))))
    });
}

#[test]
fn what_is_never_closed() {
    let marks = [
        "\"", "'", "`", "/*", "/**", "\"\"\"", "'''", "<<EOF\n", "r#\"", "#{", "${", "<!--",
        "```\n",
    ];
    for mark in marks {
        survive(&format!("unclosed {mark:?}"), |language| {
            let (before, open, close) = nest(language).unwrap_or(("", "def f(): pass\n", ""));
            Some(format!("{before}{open}{close}\nx = {mark}{}", "word\n".repeat(some_of(50_000))))
        });
        survive(&format!("many {mark:?}"), |_| Some(format!("{mark} x\n").repeat(some_of(20_000))));
    }
}

#[test]
fn bytes_that_mean_nothing() {
    survive("nul bytes", |_| Some("a\0b()\0\n".repeat(some_of(20_000))));
    survive("only nul bytes", |_| Some(megabyte_of("\0")));
    survive("only line ends", |_| Some("\r\n\r\n\n\r".repeat(some_of(50_000))));
    survive("byte order marks", |_| Some("\u{feff}x()\n".repeat(some_of(20_000))));
    survive("wide characters", |_| Some("\u{10ffff}\u{200b}\u{202e}ß\n".repeat(some_of(20_000))));
    survive("nothing", |_| Some(String::new()));
    survive("one blank", |_| Some(" ".to_owned()));
}

#[test]
fn a_deep_document() {
    for mark in ["#", "=", "-", "`", "~", "*", "."] {
        survive(&format!("headings of {mark}"), |_| {
            let heading = |at: usize| format!("t\n{}\n\n", mark.repeat(1 + at % 40));
            Some((0..some_of(20_000)).map(heading).collect())
        });
    }
}
