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
