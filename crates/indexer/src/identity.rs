//! Hashes: what a node is called for ever, and how two texts are told apart.

use sha1::{Digest, Sha1};
use spore_store::NodeKey;

/// Returns the id of a node: of its kind, its path from the root, its qualified name, and
/// which one it is of those that have all three in common.
pub fn node_key(kind: &str, path: &str, qualified: &str, ordinal: u32) -> NodeKey {
    let mut hash = Sha1::new();
    for word in [kind, path, qualified] {
        hash.update(word);
        // No text holds this byte, so no two lists of words read alike.
        hash.update([0xff]);
    }
    hash.update(ordinal.to_le_bytes());
    let mut key = [0; 16];
    key.copy_from_slice(&hash.finalize()[..16]);
    NodeKey(key)
}

/// Returns the id that git gives a content, so that a file of a work tree and one of a commit
/// can be compared without reading both.
pub(crate) fn blob_id(content: &[u8]) -> Vec<u8> {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    hash.finalize().to_vec()
}

/// Reads an object's name; empty if it is none.
pub(crate) fn blob_of_hex(text: &str) -> Vec<u8> {
    let digit =
        |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pairs = text.as_bytes().chunks_exact(2);
    pairs
        .map(|pair| Some(digit(&pair[0])? << 4 | digit(&pair[1])?))
        .collect::<Option<_>>()
        .unwrap_or_default()
}

const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns 64 bits that change with the text. Eight bytes a step: items nest, and each byte
/// of a file is looked at several times.
pub(crate) fn text_hash(text: &[u8]) -> u64 {
    let mut hash = (text.len() as u64).wrapping_mul(PRIME);
    let mut words = text.chunks_exact(8);
    for word in &mut words {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(word);
        hash = stir(hash ^ u64::from_le_bytes(bytes));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    stir(stir(hash ^ u64::from_le_bytes(last)))
}

fn stir(word: u64) -> u64 {
    let wide = u128::from(word ^ PRIME).wrapping_mul(0xd6e8_feb8_6659_fd93_a5a3_564e_27f8_8693);
    (wide >> 64) as u64 ^ wide as u64
}

/// What a file's list of names says of a definition that is used in it.
pub(crate) fn name_hash(name: &str) -> u32 {
    fold(text_hash(name.as_bytes()))
}

/// What it says of a file that is imported: the same word means another thing.
pub(crate) fn import_hash(name: &str) -> u32 {
    fold(text_hash(name.as_bytes()) ^ PRIME)
}

fn fold(hash: u64) -> u32 {
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_has_the_id_that_git_gives_it() {
        let id = blob_id(b"hello\n");
        assert_eq!(id, blob_of_hex("ce013625030ba8dba906f756967f9e9ca394464a"));
        assert!(blob_of_hex("no name").is_empty());
    }

    #[test]
    fn every_part_of_an_id_counts_and_so_does_where_it_ends() {
        let id = node_key("function", "a.rs", "f", 0);
        for other in [
            node_key("method", "a.rs", "f", 0),
            node_key("function", "b.rs", "f", 0),
            node_key("function", "a.rs", "g", 0),
            node_key("function", "a.rs", "f", 1),
            node_key("function", "a.rsf", "", 0),
        ] {
            assert_ne!(id, other);
        }
        // Entries that users keep hold such ids: an id must never change.
        assert_eq!(id.id().as_str().len(), 32);
    }

    #[test]
    fn a_changed_byte_changes_the_hash() {
        let text: Vec<u8> = (0..100).collect();
        for place in 0..text.len() {
            let mut other = text.clone();
            other[place] ^= 1;
            assert_ne!(text_hash(&text), text_hash(&other), "{place}");
        }
        assert_ne!(text_hash(b""), text_hash(b"\0"));
    }
}
