//! What a file refers to and imports, in few bytes.
//!
//! Kept beside each file, so that names can be looked up again without parsing. Every word is
//! written once, numbers take as many bytes as they need, and a reference that says the same
//! as one before it in the same scope is left out.

use std::collections::{HashMap, HashSet};

use spore_index::{Access, Import, Reference, ReferenceKind};

const KINDS: [ReferenceKind; 6] = [
    ReferenceKind::Call,
    ReferenceKind::Macro,
    ReferenceKind::Type,
    ReferenceKind::Implements,
    ReferenceKind::Extends,
    ReferenceKind::Mention,
];

/// Takes out the references that add nothing: edges do not count how often.
pub(crate) fn without_repeats(references: Vec<Reference>) -> Vec<Reference> {
    let fresh: Vec<bool> = {
        let mut seen: HashSet<(ReferenceKind, &str, u8, &str, Option<u32>)> = HashSet::new();
        references
            .iter()
            .map(|reference| {
                let (tag, word) = tag(&reference.access);
                let word = word.unwrap_or_default();
                seen.insert((reference.kind, &reference.name, tag, word, reference.scope))
            })
            .collect()
    };
    references.into_iter().zip(fresh).filter(|(_, fresh)| *fresh).map(|(it, _)| it).collect()
}

fn tag(access: &Access) -> (u8, Option<&str>) {
    match access {
        Access::Bare => (0, None),
        Access::Own => (1, None),
        Access::Value(None) => (2, None),
        Access::Value(Some(of)) => (3, Some(of)),
        Access::Path(path) => (4, Some(path)),
    }
}

pub(crate) fn encode(references: &[Reference], imports: &[Import]) -> Vec<u8> {
    let mut words = WordNumbers::default();
    let mut body = Vec::new();
    put(&mut body, references.len());
    for reference in references {
        let kind = KINDS.iter().position(|kind| *kind == reference.kind).unwrap_or_default();
        let (tag, word) = tag(&reference.access);
        put(&mut body, kind << 3 | usize::from(tag));
        put(&mut body, words.number(&reference.name));
        if let Some(word) = word {
            put(&mut body, words.number(word));
        }
        put(&mut body, reference.scope.map_or(0, |scope| scope as usize + 1));
        put(&mut body, reference.line as usize);
    }
    put(&mut body, imports.len());
    for import in imports {
        let flags = usize::from(import.anchored) | usize::from(import.glob) << 1;
        put(&mut body, flags);
        put(&mut body, import.segments.len());
        for segment in &import.segments {
            put(&mut body, words.number(segment));
        }
        for word in [&import.name, &import.alias] {
            put(&mut body, word.as_deref().map_or(0, |word| words.number(word) + 1));
        }
        put(&mut body, import.line as usize);
    }
    let mut bytes = Vec::with_capacity(body.len() + 64);
    put(&mut bytes, words.list.len());
    for word in &words.list {
        put(&mut bytes, word.len());
        bytes.extend_from_slice(word.as_bytes());
    }
    bytes.extend(body);
    bytes
}

/// Returns what was encoded, `None` for bytes that were not written here.
pub(crate) fn decode(bytes: &[u8]) -> Option<(Vec<Reference>, Vec<Import>)> {
    let mut rest = bytes;
    let count = take(&mut rest)?;
    let mut words = Vec::with_capacity(count.min(bytes.len()));
    for _ in 0..count {
        let length = take(&mut rest)?;
        let (word, after) = rest.split_at_checked(length)?;
        rest = after;
        words.push(std::str::from_utf8(word).ok()?);
    }
    Some((references(&mut rest, &words)?, imports(&mut rest, &words)?))
}

fn references(rest: &mut &[u8], words: &[&str]) -> Option<Vec<Reference>> {
    let count = take(rest)?;
    let mut references = Vec::with_capacity(count.min(rest.len()));
    for _ in 0..count {
        let head = take(rest)?;
        let name = (*words.get(take(rest)?)?).to_owned();
        let mut word = || Some((*words.get(take(rest)?)?).to_owned());
        let access = match head & 7 {
            0 => Access::Bare,
            1 => Access::Own,
            2 => Access::Value(None),
            3 => Access::Value(Some(word()?)),
            4 => Access::Path(word()?),
            _ => return None,
        };
        let scope = take(rest)?.checked_sub(1).and_then(|scope| u32::try_from(scope).ok());
        let line = u32::try_from(take(rest)?).ok()?;
        references.push(Reference { kind: *KINDS.get(head >> 3)?, name, access, scope, line });
    }
    Some(references)
}

fn imports(rest: &mut &[u8], words: &[&str]) -> Option<Vec<Import>> {
    let count = take(rest)?;
    let mut imports = Vec::with_capacity(count.min(rest.len()));
    for _ in 0..count {
        let flags = take(rest)?;
        let length = take(rest)?;
        let mut segments = Vec::with_capacity(length.min(rest.len()));
        for _ in 0..length {
            segments.push((*words.get(take(rest)?)?).to_owned());
        }
        let mut word = || match take(rest)? {
            0 => Some(None),
            number => Some(Some((*words.get(number - 1)?).to_owned())),
        };
        let (name, alias) = (word()?, word()?);
        imports.push(Import {
            segments,
            anchored: flags & 1 != 0,
            glob: flags & 2 != 0,
            name,
            alias,
            line: u32::try_from(take(rest)?).ok()?,
        });
    }
    Some(imports)
}

/// The words of one file, each with the number it is written as.
#[derive(Default)]
struct WordNumbers<'t> {
    numbers: HashMap<&'t str, usize>,
    list: Vec<&'t str>,
}

impl<'t> WordNumbers<'t> {
    fn number(&mut self, word: &'t str) -> usize {
        let next = self.list.len();
        let number = *self.numbers.entry(word).or_insert(next);
        if number == next {
            self.list.push(word);
        }
        number
    }
}

fn put(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(0x80 | low_bits(number));
        number >>= 7;
    }
    bytes.push(low_bits(number));
}

fn low_bits(number: usize) -> u8 {
    u8::try_from(number & 0x7f).unwrap_or_default()
}

fn take(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(kind: ReferenceKind, name: &str, access: Access, scope: Option<u32>) -> Reference {
        Reference { kind, name: name.to_owned(), access, scope, line: 300 }
    }

    fn sample() -> (Vec<Reference>, Vec<Import>) {
        let accesses = [
            Access::Bare,
            Access::Own,
            Access::Value(None),
            Access::Value(Some("Grün".to_owned())),
            Access::Path("a::b".to_owned()),
        ];
        let references = KINDS
            .iter()
            .zip(accesses.iter().cycle())
            .map(|(kind, access)| reference(*kind, "name", access.clone(), Some(200)))
            .collect();
        let import = |name: Option<&str>, alias: Option<&str>, glob| Import {
            segments: vec!["crate".to_owned(), "name".to_owned()],
            anchored: glob,
            name: name.map(str::to_owned),
            alias: alias.map(str::to_owned),
            glob,
            line: 7,
        };
        (references, vec![import(None, None, true), import(Some("a"), Some("b"), false)])
    }

    #[test]
    fn facts_survive_their_bytes() {
        let (references, imports) = sample();
        let bytes = encode(&references, &imports);
        assert_eq!(decode(&bytes), Some((references, imports)));
        assert_eq!(decode(&encode(&[], &[])), Some((Vec::new(), Vec::new())));
    }

    #[test]
    fn broken_bytes_are_nothing_and_no_panic() {
        let (references, imports) = sample();
        let bytes = encode(&references, &imports);
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), None, "{end}");
        }
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[place] = 0xff;
            drop(decode(&broken));
        }
    }

    #[test]
    fn a_reference_counts_once_in_its_scope() {
        let call = |scope| reference(ReferenceKind::Call, "f", Access::Bare, scope);
        let repeated = vec![call(Some(1)), call(Some(1)), call(Some(2)), call(None)];
        assert_eq!(without_repeats(repeated), [call(Some(1)), call(Some(2)), call(None)]);
    }
}
