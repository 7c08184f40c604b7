//! What became of what is gone.
//!
//! A file whose content turns up under another path was renamed, and its items with it; an
//! item whose very text turns up elsewhere was moved. A file most of whose items were moved
//! to one new file was renamed and edited. Anything less certain is not said.

use std::collections::{BTreeMap, HashMap, HashSet};

use spore_store::{FileRow, ItemRow, KnownFile, NodeKey, StoredItem, Writer};

use crate::error::Result;
use crate::identity::node_key;

/// The files and items that came and went with one change of the index.
#[derive(Default)]
pub(crate) struct Renames {
    lost_files: Vec<(KnownFile, Vec<StoredItem>)>,
    new_files: Vec<(String, Vec<u8>)>,
    vanished: Vec<MovableItem>,
    appeared: Vec<MovableItem>,
}

/// An item that came or went.
#[derive(Clone)]
struct MovableItem {
    path: String,
    key: NodeKey,
    kind: String,
    name: String,
    qualified: String,
    hash: u64,
}

impl MovableItem {
    fn of_row(path: &str, item: &ItemRow) -> Self {
        Self {
            path: path.to_owned(),
            key: item.key,
            kind: item.kind.to_owned(),
            name: item.name.clone(),
            qualified: item.qualified.clone(),
            hash: item.hash,
        }
    }

    fn of_stored(path: &str, item: &StoredItem) -> Self {
        Self {
            path: path.to_owned(),
            key: item.key,
            kind: item.kind.clone(),
            name: item.name.clone(),
            qualified: item.qualified.clone(),
            hash: item.hash,
        }
    }
}

impl Renames {
    /// Notes the items of a file that it did not have before.
    pub(crate) fn appeared(
        &mut self,
        row: &FileRow,
        items: &[ItemRow],
        old: &[StoredItem],
        is_new: bool,
    ) {
        if is_new {
            self.new_files.push((row.path.clone(), row.blob.clone()));
        }
        let before: HashSet<NodeKey> = old.iter().map(|item| item.key).collect();
        let new = items.iter().filter(|item| !before.contains(&item.key));
        self.appeared.extend(new.map(|item| MovableItem::of_row(&row.path, item)));
    }

    /// Notes the items of a file that it has no longer.
    pub(crate) fn vanished(&mut self, path: &str, old: &[StoredItem], items: &[ItemRow]) {
        let after: HashSet<NodeKey> = items.iter().map(|item| item.key).collect();
        let gone = old.iter().filter(|item| !after.contains(&item.key));
        self.vanished.extend(gone.map(|item| MovableItem::of_stored(path, item)));
    }

    /// Notes that a file is gone.
    pub(crate) fn lost(&mut self, file: &KnownFile, items: &[StoredItem]) {
        self.vanished(&file.path, items, &[]);
        self.lost_files.push((file.clone(), items.to_vec()));
    }

    /// Finds what belongs together and writes it down.
    pub(crate) fn write(&self, writer: &mut Writer<'_>) -> Result<()> {
        let mut moved = self.moved_items();
        for (from, to) in self.moved_files(&moved) {
            writer.rename(file_key(&from), file_key(&to), "file", &from)?;
            // In a renamed file a name is enough to know an item again.
            let there: HashMap<(&str, &str), &MovableItem> = self
                .appeared
                .iter()
                .filter(|piece| piece.path == to)
                .map(|piece| ((piece.kind.as_str(), piece.qualified.as_str()), piece))
                .collect();
            for piece in self.vanished.iter().filter(|piece| piece.path == from) {
                if let Some(new) = there.get(&(piece.kind.as_str(), piece.qualified.as_str())) {
                    moved.insert(piece.key, new);
                }
            }
        }
        for piece in &self.vanished {
            if let Some(new) = moved.get(&piece.key) {
                writer.rename(piece.key, new.key, &piece.kind, &piece.qualified)?;
            }
        }
        if !self.appeared.is_empty() || !self.vanished.is_empty() || !self.lost_files.is_empty() {
            writer.tidy_renames()?;
        }
        Ok(())
    }

    /// Items whose text turned up in exactly one other place.
    fn moved_items(&self) -> HashMap<NodeKey, &MovableItem> {
        fn told(piece: &MovableItem) -> (&str, &str, u64) {
            (&piece.kind, &piece.name, piece.hash)
        }
        let mut places: HashMap<(&str, &str, u64), Vec<&MovableItem>> = HashMap::new();
        for piece in &self.appeared {
            places.entry(told(piece)).or_default().push(piece);
        }
        let place = |piece: &MovableItem| match places.get(&told(piece)).map(Vec::as_slice) {
            Some([only]) => Some((piece.key, *only)),
            _ => None,
        };
        self.vanished.iter().filter_map(place).collect()
    }

    fn moved_files(&self, moved: &HashMap<NodeKey, &MovableItem>) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        let mut taken: HashSet<&str> = HashSet::new();
        for (file, items) in &self.lost_files {
            let mut same = self.new_files.iter().filter(|(_, blob)| *blob == file.blob);
            let found = match (same.next(), same.next()) {
                (Some((path, _)), None) => Some(path.as_str()),
                (Some(_), Some(_)) => None,
                (None, _) => self.mostly_moved_to(items, moved),
            };
            if let Some(path) = found.filter(|path| taken.insert(path)) {
                files.insert(file.path.clone(), path.to_owned());
            }
        }
        files
    }

    fn mostly_moved_to(
        &self,
        items: &[StoredItem],
        moved: &HashMap<NodeKey, &MovableItem>,
    ) -> Option<&str> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for piece in items.iter().filter_map(|item| moved.get(&item.key)) {
            *counts.entry(piece.path.as_str()).or_default() += 1;
        }
        let (path, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let (path, _) = self.new_files.iter().find(|(new, _)| new == path)?;
        (count * 2 > items.len()).then_some(path)
    }
}

fn file_key(path: &str) -> NodeKey {
    node_key("file", path, "", 0)
}
