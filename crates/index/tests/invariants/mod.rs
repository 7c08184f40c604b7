//! What always holds of the facts of a text, whatever the text is.

use spore_index::{FileFacts, Import, Item, Language, Reference, read};

/// More facts than this for each byte of text would be a blow-up.
const MOST_PER_BYTE: usize = 64;

/// Fails if facts are not about their text.
#[track_caller]
pub(crate) fn check_invariants(text: &str, facts: &FileFacts) {
    let lines = u32::try_from(text.matches('\n').count() + 1).unwrap();
    let mut size = facts.doc.len();
    for (place, item) in facts.items.iter().enumerate() {
        check_item(text, lines, &facts.items[..place], item);
        check_parent(facts, item);
        size += item.name.len() + item.qualified.len() + item.signature.len() + item.doc.len();
    }
    for reference in &facts.references {
        check_reference(lines, facts.items.len(), reference);
        size += reference.name.len();
    }
    for import in &facts.imports {
        check_import(lines, import);
        size += import.segments.iter().map(String::len).sum::<usize>();
    }
    let most = 100_000 + MOST_PER_BYTE * text.len();
    assert!(size <= most, "{size} bytes of facts for {} bytes of text", text.len());
}

/// Reads bytes as the language that the first of them stands for.
#[allow(dead_code, reason = "each test binary that shares this module uses a part of it")]
pub(crate) fn check_bytes(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else { return };
    let language = Language::ALL[usize::from(*first) % Language::ALL.len()];
    let text = String::from_utf8_lossy(rest);
    check_invariants(&text, &read("src/file", &text, language));
}

#[track_caller]
fn check_item(text: &str, lines: u32, before: &[Item], item: &Item) {
    let span = item.bytes.start as usize..item.bytes.end as usize;
    assert!(text.get(span).is_some(), "{item:?} is not in the text");
    assert!(!item.name.is_empty(), "{item:?} has no name");
    assert!(!item.qualified.is_empty(), "{item:?} has no qualified name");
    assert!(!item.signature.contains('\n'), "{item:?} has more than one line");
    assert!(item.signature.len() <= 300, "{item:?} has a long signature");
    assert!(item.doc.len() <= 2_000, "{item:?} has long documentation");
    assert!(item.lines.first >= 1 && item.lines.first <= item.lines.last, "{item:?}");
    assert!(item.lines.last <= lines, "{item:?} is behind the last of {lines} lines");
    if let Some(parent) = item.parent {
        assert!((parent as usize) < before.len(), "{item:?} comes before its parent");
    }
}

/// An item is inside of what holds it. A method of Go stands beside its type.
#[track_caller]
fn check_parent(facts: &FileFacts, item: &Item) {
    let Some(parent) = item.parent.filter(|_| facts.language != Language::Go) else { return };
    let parent = &facts.items[parent as usize];
    let (outer, inner) = (&parent.bytes, &item.bytes);
    assert!(outer.start <= inner.start && inner.end <= outer.end, "{item:?} in {parent:?}");
}

#[track_caller]
fn check_reference(lines: u32, items: usize, reference: &Reference) {
    assert!(!reference.name.is_empty(), "{reference:?} has no name");
    assert!((1..=lines).contains(&reference.line), "{reference:?} is on none of {lines} lines");
    assert!(reference.scope.is_none_or(|scope| (scope as usize) < items), "{reference:?}");
}

#[track_caller]
fn check_import(lines: u32, import: &Import) {
    assert!((1..=lines).contains(&import.line), "{import:?} is on none of {lines} lines");
    let names = import.segments.iter().chain(&import.name).chain(&import.alias);
    for name in names {
        assert!(!name.contains('\n'), "{import:?} has more than one line");
    }
}
