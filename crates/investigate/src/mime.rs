//! What kind of content a file has, in the words of MIME: what a loop is told of each file before it
//! reads any.

use std::borrow::Cow;
use std::path::Path;

use crate::tree::File;

/// Endings that say it by themselves, and those whose language has a name of its own in MIME.
const BY_ENDING: [(&str, &str); 56] = [
    ("7z", "application/x-7z-compressed"),
    ("avi", "video/x-msvideo"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("class", "application/java-vm"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("db", "application/vnd.sqlite3"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("gz", "application/gzip"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/vnd.microsoft.icon"),
    ("ipynb", "application/x-ipynb+json"),
    ("jar", "application/java-archive"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("cjs", "text/javascript"),
    ("mjs", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("mkv", "video/x-matroska"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ogg", "audio/ogg"),
    ("otf", "font/otf"),
    ("parquet", "application/vnd.apache.parquet"),
    ("pdf", "application/pdf"),
    ("pem", "application/x-pem-file"),
    ("png", "image/png"),
    ("rtf", "application/rtf"),
    ("sqlite", "application/vnd.sqlite3"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tgz", "application/gzip"),
    ("toml", "application/toml"),
    ("tsv", "text/tab-separated-values"),
    ("ttf", "font/ttf"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];

/// What first bytes say where no name does, by the words of the scan.
const BY_CONTENT: [(&str, &str); 21] = [
    ("empty", "inode/x-empty"),
    ("PNG image", "image/png"),
    ("JPEG image", "image/jpeg"),
    ("GIF image", "image/gif"),
    ("Ogg media", "audio/ogg"),
    ("MP3 audio", "audio/mpeg"),
    ("FLAC audio", "audio/flac"),
    ("PDF document", "application/pdf"),
    ("RTF document", "application/rtf"),
    ("zip archive", "application/zip"),
    ("gzip archive", "application/gzip"),
    ("bzip2 archive", "application/x-bzip2"),
    ("xz archive", "application/x-xz"),
    ("zstd archive", "application/zstd"),
    ("tar archive", "application/x-tar"),
    ("ELF program or library", "application/x-elf"),
    ("WebAssembly module", "application/wasm"),
    ("SQLite database", "application/vnd.sqlite3"),
    ("PEM data", "application/x-pem-file"),
    ("mailbox or mail", "application/mbox"),
    ("script", "text/x-script"),
];

/// Returns the type of a file's content by its name, its language or its first bytes.
pub fn mime_of(file: &File) -> Cow<'static, str> {
    let ending = Path::new(&file.name).extension().map(|ending| ending.to_string_lossy());
    let ending = ending.unwrap_or_default().to_lowercase();
    if let Some((_, mime)) = BY_ENDING.iter().find(|(known, _)| *known == ending) {
        return Cow::Borrowed(mime);
    }
    if let Some(language) = file.language {
        let name = language.name().to_lowercase();
        let name: String =
            name.chars().map(|c| if c.is_alphanumeric() || c == '+' { c } else { '-' }).collect();
        return Cow::Owned(format!("text/x-{name}"));
    }
    let said = file.description.unwrap_or_default();
    match BY_CONTENT.iter().find(|(known, _)| *known == said) {
        Some((_, mime)) => Cow::Borrowed(mime),
        None if said.starts_with("text") && !said.contains("binary") => Cow::Borrowed("text/plain"),
        None => Cow::Borrowed("application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use spore_model::Timestamp;
    use tokei::LanguageType;

    use super::*;
    use crate::category::Category;
    use crate::file_reader::ScannedKind;
    use crate::hash::Hash;

    #[track_caller]
    fn check(
        name: &str,
        language: Option<LanguageType>,
        description: Option<&'static str>,
        expected: &str,
    ) {
        let file = File {
            dir: 0,
            name: name.into(),
            kind: ScannedKind::Regular,
            hash: Hash::of_content(b""),
            size: 0,
            disk: 0,
            modified: Timestamp::from_millis(0),
            category: Category::Unknown,
            language,
            lines: 0,
            code: 0,
            generated: false,
            description,
        };
        assert_eq!(mime_of(&file), expected, "{name}");
    }

    #[test]
    fn a_file_is_told_by_its_name_then_its_language_then_its_content() {
        check("a.PNG", None, None, "image/png");
        check("main.rs", Some(LanguageType::Rust), None, "text/x-rust");
        check("a.cc", Some(LanguageType::Cpp), None, "text/x-c++");
        check("data", None, Some("zip archive"), "application/zip");
        check("notes", None, Some("text, perhaps markup"), "text/plain");
        check(
            "blob",
            None,
            Some("text in another encoding, or binary data"),
            "application/octet-stream",
        );
        check("blob.bin", None, None, "application/octet-stream");
    }
}
