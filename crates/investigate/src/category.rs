//! What kind of thing a file is: by its name, else by how its content begins.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// The seven kinds of files.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Source,
    Config,
    Data,
    Document,
    Media,
    Archive,
    #[default]
    Unknown,
}

impl Category {
    pub const ALL: [Self; 7] = [
        Self::Source,
        Self::Config,
        Self::Data,
        Self::Document,
        Self::Media,
        Self::Archive,
        Self::Unknown,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Config => "config",
            Self::Data => "data",
            Self::Document => "document",
            Self::Media => "media",
            Self::Archive => "archive",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the category of a file by its name; `None` where the name says nothing.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        if let Some((_, category)) = NAMES.iter().find(|(known, _)| *known == lower) {
            return Some(*category);
        }
        let (stem, ending) = lower.rsplit_once('.')?;
        // `.profile` is a name without an ending.
        if stem.is_empty() {
            return None;
        }
        BY_ENDING.get(ending).copied()
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

const NAMES: [(&str, Category); 16] = [
    ("makefile", Category::Source),
    ("gnumakefile", Category::Source),
    ("dockerfile", Category::Config),
    ("cmakelists.txt", Category::Config),
    ("requirements.txt", Category::Config),
    ("go.mod", Category::Config),
    ("go.sum", Category::Config),
    ("readme", Category::Document),
    ("license", Category::Document),
    ("copying", Category::Document),
    ("notice", Category::Document),
    ("authors", Category::Document),
    ("changelog", Category::Document),
    ("contributing", Category::Document),
    ("codeowners", Category::Config),
    ("justfile", Category::Source),
];

/// Markup that people read is a document, HTML and CSS with it; SQL is data, as the seed has it.
const ENDINGS: [(Category, &str); 6] = [
    (
        Category::Source,
        "rs py pyi pyx ts tsx js jsx mjs cjs mts cts go java kt kts c h cc cpp cxx hh hpp hxx cs rb \
         php swift scala sh bash zsh fish ps1 bat pl pm lua r jl ex exs erl hrl hs ml mli clj cljs \
         dart vue svelte zig nim d f f90 f95 s asm m mm groovy v sv vhd lisp el scm rkt tcl proto \
         thrift graphql cu cuh wat sol bzl nix mk cmake",
    ),
    (
        Category::Config,
        "toml yaml yml ini cfg conf json5 jsonc env properties lock gradle tf tfvars hcl plist \
         editorconfig service desktop csproj sln vcxproj xcconfig mod sum",
    ),
    (
        Category::Data,
        "json jsonl ndjson csv tsv xml sql db sqlite sqlite3 parquet avro arrow feather npy npz h5 \
         pkl pickle dat bin log diff patch po pot snap stdout stderr out map geojson ipynb \
         safetensors onnx pb pem crt key",
    ),
    (
        Category::Document,
        "md markdown mdx rst txt adoc tex bib org html htm xhtml css scss sass less pdf doc docx \
         odt rtf epub ppt pptx xls xlsx ods odp man 1 3 5 7 8",
    ),
    (
        Category::Media,
        "png jpg jpeg gif bmp tif tiff webp svg ico icns heic psd mp3 wav flac ogg m4a aac mp4 mkv \
         avi mov webm ttf otf woff woff2 eot glb gltf obj stl",
    ),
    (
        Category::Archive,
        "zip tar gz tgz bz2 xz zst 7z rar jar war whl deb rpm apk dmg iso cab a so dll dylib exe o \
         class wasm pyc rlib",
    ),
];

static BY_ENDING: LazyLock<HashMap<&str, Category>> = LazyLock::new(|| {
    let endings = ENDINGS.iter();
    endings.flat_map(|(of, list)| list.split_whitespace().map(|ending| (ending, *of))).collect()
});

/// Says what a content is by its first bytes. Only asked where the name says nothing.
pub(crate) fn sniff(head: &[u8]) -> (Category, &'static str) {
    if head.is_empty() {
        return (Category::Unknown, "empty");
    }
    if let Some((_, category, what)) = MAGIC.iter().find(|(magic, ..)| head.starts_with(magic)) {
        return (*category, what);
    }
    if head.len() > 262 && head[257..].starts_with(b"ustar") {
        return (Category::Archive, "tar archive");
    }
    if head.starts_with(b"#!") {
        return (Category::Source, "script");
    }
    if head.contains(&0) {
        return (Category::Unknown, "binary data");
    }
    match std::str::from_utf8(head) {
        Ok(_) => text(head),
        // The head may end in the middle of a character.
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => text(head),
        Err(_) => (Category::Unknown, "text in another encoding, or binary data"),
    }
}

fn text(head: &[u8]) -> (Category, &'static str) {
    match head.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => (Category::Data, "text, perhaps JSON"),
        Some(b'<') => (Category::Document, "text, perhaps markup"),
        _ => (Category::Document, "text"),
    }
}

const MAGIC: [(&[u8], Category, &str); 24] = [
    (b"\x89PNG", Category::Media, "PNG image"),
    (b"\xff\xd8\xff", Category::Media, "JPEG image"),
    (b"GIF8", Category::Media, "GIF image"),
    (b"RIFF", Category::Media, "RIFF media"),
    (b"OggS", Category::Media, "Ogg media"),
    (b"ID3", Category::Media, "MP3 audio"),
    (b"fLaC", Category::Media, "FLAC audio"),
    (b"%PDF", Category::Document, "PDF document"),
    (b"{\\rtf", Category::Document, "RTF document"),
    (b"PK\x03\x04", Category::Archive, "zip archive"),
    (b"\x1f\x8b", Category::Archive, "gzip archive"),
    (b"BZh", Category::Archive, "bzip2 archive"),
    (b"\xfd7zXZ\0", Category::Archive, "xz archive"),
    (b"\x28\xb5\x2f\xfd", Category::Archive, "zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", Category::Archive, "7-zip archive"),
    (b"!<arch>\n", Category::Archive, "ar archive"),
    (b"\x7fELF", Category::Archive, "ELF program or library"),
    (b"MZ", Category::Archive, "Windows program or library"),
    (b"\xca\xfe\xba\xbe", Category::Archive, "Java class or Mach-O program"),
    (b"\0asm", Category::Archive, "WebAssembly module"),
    (b"SQLite format 3\0", Category::Data, "SQLite database"),
    (b"PACK", Category::Data, "git pack"),
    (b"-----BEGIN ", Category::Data, "PEM data"),
    (b"From ", Category::Document, "mailbox or mail"),
];

/// What names of files made by programs end in.
const GENERATED_ENDINGS: [&str; 14] = [
    ".d.ts",
    "_pb2.py",
    "_pb2_grpc.py",
    ".pb.go",
    ".pb.cc",
    ".pb.h",
    ".g.dart",
    ".designer.cs",
    ".min.css",
    ".min.js",
    ".min.mjs",
    ".bundle.js",
    "_generated.go",
    ".generated.ts",
];

/// What programs write at the top of what they write.
const GENERATED_WORDS: [&str; 5] = [
    "@generated",
    "code generated by",
    "automatically generated",
    "autogenerated",
    "generated file - do not edit",
];

/// As far as a file is read for such words.
const GENERATED_HEAD: usize = 1024;

/// Returns whether a program wrote the file, by its name and by what it says of itself.
pub(crate) fn is_generated(name: &str, head: &[u8]) -> bool {
    if GENERATED_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return true;
    }
    let head = head[..head.len().min(GENERATED_HEAD)].to_ascii_lowercase();
    let lines = head.split(|byte| *byte == b'\n');
    lines.take(20).any(|line| is_comment(line) && says_generated(line))
}

/// A program that looks for the words has them in its code, not in a comment at the top.
fn is_comment(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    ["//", "#", "/*", "*", "--", "<!--", ";", "%", "\"\"\""]
        .iter()
        .any(|opening| line.starts_with(opening.as_bytes()))
}

fn says_generated(line: &[u8]) -> bool {
    let contains = |word: &str| line.windows(word.len()).any(|part| part == word.as_bytes());
    GENERATED_WORDS.iter().any(|word| contains(word))
        || contains("do not edit") && contains("generated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_kind_of_a_file() {
        let of = Category::of_name;
        assert_eq!(of("lib.rs"), Some(Category::Source));
        assert_eq!(of("LIB.RS"), Some(Category::Source));
        assert_eq!(of("Makefile"), Some(Category::Source));
        assert_eq!(of("Cargo.toml"), Some(Category::Config));
        assert_eq!(of("schema.sql"), Some(Category::Data));
        assert_eq!(of("index.html"), Some(Category::Document));
        assert_eq!(of("logo.svg"), Some(Category::Media));
        assert_eq!(of("backup.tar.gz"), Some(Category::Archive));
        assert_eq!(of("strange.qqq"), None);
        assert_eq!(of(".toml"), None);
        assert_eq!(of("noending"), None);
    }

    #[test]
    fn no_ending_is_listed_twice() {
        let all: Vec<&str> =
            ENDINGS.iter().flat_map(|(_, endings)| endings.split_whitespace()).collect();
        for (at, ending) in all.iter().enumerate() {
            assert!(!all[..at].contains(ending), "{ending}");
        }
    }

    #[test]
    fn a_content_tells_what_its_name_does_not() {
        assert_eq!(sniff(b"").1, "empty");
        assert_eq!(sniff(b"\x89PNG\r\n").0, Category::Media);
        assert_eq!(sniff(b"#!/bin/sh\n").0, Category::Source);
        assert_eq!(sniff(b"  {\"a\": 1}").0, Category::Data);
        assert_eq!(sniff("grüß".as_bytes()).0, Category::Document);
        assert_eq!(sniff(&"grüß".as_bytes()[..3]).0, Category::Document);
        assert_eq!(sniff(b"a\0b").1, "binary data");
        assert_eq!(sniff(b"gr\xfc\xdf").0, Category::Unknown);
    }

    #[test]
    fn what_a_program_wrote_is_known_by_name_or_by_its_first_lines() {
        assert!(is_generated("a_pb2.py", b""));
        assert!(is_generated("a.go", b"// Code generated by protoc. DO NOT EDIT.\n"));
        assert!(is_generated("a.rs", b"/* Automatically GENERATED */"));
        assert!(!is_generated("a.rs", b"// please do not edit this by hand\n"));
        assert!(!is_generated("a.rs", b"let words = [\"@generated\"];\n"));
        assert!(!is_generated("a.rs", &[b"\n".repeat(30), b"// @generated".to_vec()].concat()));
    }
}
