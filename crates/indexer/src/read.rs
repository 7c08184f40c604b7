//! From bytes to rows: one file at a time, on any thread.

use std::any::Any;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use spore_index::{FileFacts, Item, Visibility};
use spore_store::{FileRow, FileStamp, ItemRow, StoredVisibility};

use crate::class::{self, FileClass};
use crate::comparison::TOO_LARGE;
use crate::encoding;
use crate::file_list::ListedFile;
use crate::identity::{blob_id, import_hash, name_hash, node_key, text_hash};
use crate::lean::{LeanFile, sought, subject};
use crate::sink::{FileSink, SeenFile};

/// How much of a file is looked at to tell whether it is text.
const PROBE: usize = 8 << 10;
/// Lines longer than this on the average were not written by a person.
const MINIFIED_LINE: usize = 500;
/// A smaller file is read whatever its lines are like.
const MINIFIED_BYTES: usize = 10_000;
/// Of more than one stray byte in so many the rest is no text either.
const STRAY_BYTES: usize = 20;

/// What became of a file.
pub(crate) enum ReadOutcome {
    Read(Box<ReadFile>),
    /// The content is the one that is known.
    Same,
    Skipped {
        reason: &'static str,
        blob: Vec<u8>,
    },
    /// It was there when the tree was listed.
    Gone,
}

/// A file with all that is kept of it.
pub(crate) struct ReadFile {
    pub(crate) row: FileRow,
    pub(crate) items: Vec<ItemRow>,
    pub(crate) lean: LeanFile,
    /// What each sink made of it.
    pub(crate) prepared: Vec<Box<dyn Any + Send>>,
}

/// Reads the content of a file from the disk.
pub(crate) fn content(root: &Path, found: &ListedFile, most: u64) -> Result<Vec<u8>, ReadOutcome> {
    let skipped = |reason| ReadOutcome::Skipped { reason, blob: Vec::new() };
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => ReadOutcome::Gone,
        std::io::ErrorKind::PermissionDenied => skipped("permission denied"),
        _ => skipped("cannot be read"),
    };
    let file = File::open(root.join(&found.path)).map_err(failed)?;
    let mut bytes = Vec::with_capacity(usize::try_from(found.stamp.size).unwrap_or(0) + 1);
    // It may have grown since it was listed.
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(skipped(TOO_LARGE));
    }
    Ok(bytes)
}

/// Turns the content of a file into rows.
pub(crate) fn read(
    found: &ListedFile,
    stamp: FileStamp,
    known: Option<&[u8]>,
    bytes: Vec<u8>,
    sinks: &[&dyn FileSink],
) -> ReadOutcome {
    let blob = match &found.object {
        Some((_, blob)) => blob.clone(),
        None => blob_id(&bytes),
    };
    if known == Some(&blob) {
        return ReadOutcome::Same;
    }
    let text = match decode(&found.path, bytes) {
        Ok(text) => text,
        Err(reason) => return ReadOutcome::Skipped { reason, blob },
    };
    let mut facts = match found.class {
        FileClass::Code(language) => Some(spore_index::read(&found.path, &text, language)),
        FileClass::Text => None,
    };
    let seen = SeenFile { path: &found.path, text: &text, facts: facts.as_ref() };
    let prepared = sinks.iter().map(|sink| sink.prepare(&seen)).collect();
    if let Some(facts) = &mut facts {
        facts.references = encoding::without_repeats(std::mem::take(&mut facts.references));
    }
    let items = facts.as_mut().map_or_else(Vec::new, |facts| item_rows(&found.path, &text, facts));
    let row = file_row(found, stamp, blob, &text, facts.as_ref());
    let lean = LeanFile::new(&row, facts.map(|facts| facts.items).unwrap_or_default());
    ReadOutcome::Read(Box::new(ReadFile { row, items, lean, prepared }))
}

/// Returns the text of a file, or why it has none. Stray bytes of an old encoding become
/// question marks, one for one, so that places in the text are places in the file.
fn decode(path: &str, bytes: Vec<u8>) -> Result<String, &'static str> {
    if bytes[..bytes.len().min(PROBE)].contains(&0) {
        return Err("binary");
    }
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    let dense = bytes.len() > MINIFIED_BYTES && bytes.len() / lines > MINIFIED_LINE;
    if dense || class::is_minified_name(path) {
        return Err("minified");
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let mut bytes = error.into_bytes();
            let mut strays = 0;
            let mut start = 0;
            while let Err(error) = std::str::from_utf8(&bytes[start..]) {
                let at = start + error.valid_up_to();
                let end = error.error_len().map_or(bytes.len(), |length| at + length);
                bytes[at..end].fill(b'?');
                strays += end - at;
                start = end;
            }
            if strays > bytes.len() / STRAY_BYTES + 1 {
                return Err("not UTF-8");
            }
            String::from_utf8(bytes).map_err(|_| "not UTF-8")
        }
    }
}

/// Takes signatures and documentation out of the facts: nothing else needs them.
fn item_rows(path: &str, text: &str, facts: &mut FileFacts) -> Vec<ItemRow> {
    let mut ordinals: HashMap<(&'static str, String), u32> = HashMap::new();
    let row = |item: &mut Item| {
        let kind = item.kind.as_str();
        let ordinal = ordinals.entry((kind, item.qualified.clone())).or_default();
        let key = node_key(kind, path, &item.qualified, *ordinal);
        *ordinal += 1;
        let bytes = item.bytes.start as usize..item.bytes.end as usize;
        ItemRow {
            key,
            kind,
            name: item.name.clone(),
            qualified: item.qualified.clone(),
            parent: item.parent,
            lines: (item.lines.first, item.lines.last),
            bytes: (item.bytes.start, item.bytes.end),
            signature: std::mem::take(&mut item.signature),
            doc: std::mem::take(&mut item.doc),
            visibility: match item.visibility {
                Visibility::Public => StoredVisibility::Public,
                Visibility::Restricted => StoredVisibility::Restricted,
                Visibility::Private => StoredVisibility::Private,
            },
            hash: text_hash(text.as_bytes().get(bytes).unwrap_or_default()),
        }
    };
    facts.items.iter_mut().map(row).collect()
}

fn file_row(
    found: &ListedFile,
    stamp: FileStamp,
    blob: Vec<u8>,
    text: &str,
    facts: Option<&FileFacts>,
) -> FileRow {
    let lines = text.bytes().filter(|byte| *byte == b'\n').count()
        + usize::from(!text.is_empty() && !text.ends_with('\n'));
    FileRow {
        key: node_key("file", &found.path, "", 0),
        path: found.path.clone(),
        // A header may turn out to be of another language than its name says.
        language: facts.map_or("", |facts| facts.language.as_str()).to_owned(),
        package: facts.and_then(|facts| facts.package.clone()),
        import_name: spore_index::file_name(&found.path).into_owned(),
        stamp: FileStamp { size: text.len() as u64, ..stamp },
        blob,
        lines: u32::try_from(lines).unwrap_or(u32::MAX),
        marks: class::marks(&found.path, facts.is_some_and(|facts| facts.generated)),
        doc: facts.map(|facts| facts.doc.clone()).unwrap_or_default(),
        syntax_errors: facts.map_or(0, |facts| facts.syntax_errors),
        facts: facts.map_or_else(
            || encoding::encode(&[], &[]),
            |facts| encoding::encode(&facts.references, &facts.imports),
        ),
        mentions: facts.map_or_else(Vec::new, mentions),
    }
}

/// Returns hashes of all names whose meaning, if it changed, would change this file's edges.
fn mentions(facts: &FileFacts) -> Vec<u32> {
    let names = facts.references.iter().map(|reference| name_hash(sought(facts, reference)));
    let mut hashes: Vec<u32> = names.collect();
    hashes.extend(facts.items.iter().filter_map(subject).map(name_hash));
    for import in &facts.imports {
        let names = spore_index::imported_file_names(import);
        hashes.extend(names.iter().map(|name| import_hash(name)));
    }
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Result<&str, &'static str>) {
        assert_eq!(decode("a.rs", bytes.to_vec()).as_deref(), expected.as_ref().copied());
    }

    #[test]
    fn text_is_told_from_what_only_looks_like_it() {
        check("fn grün() {}\n".as_bytes(), Ok("fn grün() {}\n"));
        check(b"a\0b", Err("binary"));
        check(&[b'x'; 1 << 20], Err("minified"));
        check("x\n".repeat(10_000).as_bytes(), Ok(&"x\n".repeat(10_000)));
    }

    #[test]
    fn a_stray_byte_of_an_old_encoding_keeps_every_other_byte_in_its_place() {
        let mut bytes = b"// author: Andr\xe9 of many more words than that\n".to_vec();
        bytes.extend(b"fn f() {}\n");
        let text = decode("a.rs", bytes.clone()).unwrap();
        assert_eq!(text.len(), bytes.len());
        assert!(text.contains("Andr? of") && text.ends_with("fn f() {}\n"));
        check(&[0xfe; 100], Err("not UTF-8"));
    }
}
