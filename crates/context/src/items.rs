//! A piece of code as people and agents know it: by name, kind and place.

use spore_model::NodeId;
use spore_store::{CodeIndex, CodeIndexError, StoredItem};

use crate::compiled::ItemRef;

/// Returns a node of the code; `None` if the index does not have it.
pub(crate) fn item_ref(index: &CodeIndex, id: &NodeId) -> Result<Option<ItemRef>, CodeIndexError> {
    let node = index.node(id)?;
    Ok(node.map(|node| {
        let text = |key: &str| node.metadata.get(key).and_then(serde_json::Value::as_str);
        let number = |key: &str| {
            let number = node.metadata.get(key).and_then(serde_json::Value::as_u64);
            number.and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
        };
        ItemRef {
            id: id.clone(),
            kind: node.kind.clone(),
            name: node.title.clone(),
            path: text("path").unwrap_or_default().to_owned(),
            first_line: number("first_line"),
            last_line: number("last_line"),
        }
    }))
}

/// Returns an item of a file whose path is known.
pub(crate) fn stored_ref(path: &str, item: &StoredItem) -> ItemRef {
    ItemRef {
        id: item.key.id(),
        kind: item.kind.clone(),
        name: item.qualified.clone(),
        path: path.to_owned(),
        first_line: item.lines.0,
        last_line: item.lines.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_tree::{SampleTree, id};

    #[test]
    fn a_piece_of_code_is_known_by_name_kind_and_place() {
        let tree = SampleTree::of("file src/a.rs\nmethod Bill::total 6-12 adds up");
        let expected = ItemRef {
            id: id("src/a.rs", "Bill::total"),
            kind: "method".into(),
            name: "Bill::total".into(),
            path: "src/a.rs".into(),
            first_line: 6,
            last_line: 12,
        };
        assert_eq!(item_ref(&tree.index, &expected.id).unwrap(), Some(expected.clone()));
        let file = tree.index.file("src/a.rs").unwrap().unwrap();
        let stored = &tree.index.items_of(file.no).unwrap()[0];
        assert_eq!(stored_ref("src/a.rs", stored), expected);
        assert_eq!(item_ref(&tree.index, &id("src/a.rs", "gone")).unwrap(), None);
    }
}
