//! The knowledge graph's methods, one transaction each.

mod filter;
mod reads;
mod rows;
#[cfg(test)]
mod tests;
mod words;
mod writes;

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::Value;
use spore_model::graph::{GraphSurvey, Link, Links, NodeHead};
use spore_model::{Edge, EdgeId, Node, NodeId, Timestamp};

use super::failure::knowledge_error;
use super::{Handle, OpenError, OpenOptions};
use crate::journal::Cause;
use crate::knowledge::{
    Added, Counts, EdgeQuery, GcQuery, Knowledge, KnowledgeError, NodeQuery, RemovedNodes,
    Succession,
};

/// How much of the file a connection may keep in memory, in KiB. A bulk insert writes all over
/// its indexes; with SQLite's two megabytes it would read them back again and again.
const CACHE_KIB: i64 = 64 << 10;

/// The knowledge graph of one repository; threads take turns on its connection.
pub struct SqliteKnowledge {
    file: Handle,
}

impl SqliteKnowledge {
    /// Opens the file for reading and writing; makes it if it is not there and brings it up
    /// to date if it is older than this program.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::open_with(path, &OpenOptions::default())
    }

    pub fn open_with(path: &Path, options: &OpenOptions) -> Result<Self, OpenError> {
        Self::roomy(path, Handle::open(path, options)?)
    }

    /// Opens a file that is there, for reading alone.
    pub fn open_read_only(path: &Path) -> Result<Self, OpenError> {
        Self::roomy(path, Handle::open_read_only(path)?)
    }

    fn roomy(path: &Path, file: Handle) -> Result<Self, OpenError> {
        let set = file.lock().pragma_update(None, "cache_size", -CACHE_KIB);
        set.map_err(|source| OpenError::new(path, source))?;
        Ok(Self { file })
    }

    /// Runs one statement.
    fn read<T>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, KnowledgeError> {
        act(&self.file.lock()).map_err(knowledge_error)
    }

    /// Runs several statements that see the same rows, whatever others write meanwhile.
    fn snapshot<T>(
        &self,
        act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, KnowledgeError> {
        let connection = self.file.lock();
        let seen = Transaction::new_unchecked(&connection, TransactionBehavior::Deferred)
            .and_then(|transaction| act(&transaction));
        seen.map_err(knowledge_error)
    }

    fn write<T>(
        &self,
        act: impl FnOnce(&Transaction<'_>) -> Result<T, KnowledgeError>,
    ) -> Result<T, KnowledgeError> {
        self.file.write(knowledge_error, act)
    }
}

impl Links for SqliteKnowledge {
    type Error = KnowledgeError;

    fn links(&self, of: &[NodeId]) -> Result<Vec<Link>, KnowledgeError> {
        match of {
            [node] => self.read(|connection| reads::links(connection, std::slice::from_ref(node))),
            nodes => self.snapshot(|connection| reads::links(connection, nodes)),
        }
    }

    fn heads(&self, of: &[NodeId]) -> Result<Vec<NodeHead>, KnowledgeError> {
        match of {
            [node] => self.read(|connection| reads::heads(connection, std::slice::from_ref(node))),
            nodes => self.snapshot(|connection| reads::heads(connection, nodes)),
        }
    }

    fn survey(&self, survey: &mut GraphSurvey) -> Result<(), KnowledgeError> {
        self.snapshot(|connection| reads::survey(connection, survey))
    }
}

impl Knowledge for SqliteKnowledge {
    fn add(&self, nodes: &[Node], edges: &[Edge]) -> Result<Added, KnowledgeError> {
        self.write(|connection| writes::add(connection, nodes, edges).map_err(knowledge_error))
    }

    fn node(&self, id: &NodeId) -> Result<Option<Node>, KnowledgeError> {
        self.read(|connection| reads::node(connection, id))
    }

    fn nodes(&self, ids: &[NodeId]) -> Result<Vec<Node>, KnowledgeError> {
        self.snapshot(|connection| {
            ids.iter().filter_map(|id| reads::node(connection, id).transpose()).collect()
        })
    }

    fn find(&self, typed: &str) -> Result<Vec<Node>, KnowledgeError> {
        self.snapshot(|connection| reads::find_nodes(connection, typed.trim()))
    }

    fn search(
        &self,
        text: &str,
        limit: u32,
        query: &NodeQuery,
    ) -> Result<Vec<(Node, f64)>, KnowledgeError> {
        let Some(words) = words::any_of(text) else { return Ok(Vec::new()) };
        self.read(|connection| reads::search(connection, &words, limit, query))
    }

    fn list(&self, query: &NodeQuery) -> Result<Vec<Node>, KnowledgeError> {
        self.read(|connection| reads::list(connection, query))
    }

    fn region(&self, root: &NodeId, max_depth: u32) -> Result<Vec<(Node, u32)>, KnowledgeError> {
        self.snapshot(|connection| reads::region(connection, root, max_depth))
    }

    fn edge(&self, id: EdgeId) -> Result<Option<Edge>, KnowledgeError> {
        self.read(|connection| reads::edge(connection, id))
    }

    fn find_edge(&self, typed: &str) -> Result<Vec<Edge>, KnowledgeError> {
        self.read(|connection| reads::find_edges(connection, typed.trim()))
    }

    fn edges(&self, query: &EdgeQuery) -> Result<Vec<Edge>, KnowledgeError> {
        self.read(|connection| reads::edges(connection, query))
    }

    fn supersede_node(
        &self,
        old: &NodeId,
        new: &Node,
        edges: &[Edge],
    ) -> Result<Succession, KnowledgeError> {
        self.write(|connection| writes::supersede_node(connection, old, new, edges))
    }

    fn succeed(
        &self,
        nodes: &[Node],
        places: &[(NodeId, NodeId)],
    ) -> Result<Added, KnowledgeError> {
        self.write(|connection| writes::succeed(connection, nodes, places))
    }

    fn supersede_edge(&self, old: EdgeId, new: &Edge) -> Result<(), KnowledgeError> {
        self.write(|connection| writes::supersede_edge(connection, old, new))
    }

    fn supersession_chain(&self, edge: EdgeId) -> Result<Vec<Edge>, KnowledgeError> {
        self.read(|connection| reads::supersession_chain(connection, edge))
    }

    fn update_metadata(
        &self,
        id: &NodeId,
        patch: &Value,
        now: Timestamp,
    ) -> Result<Value, KnowledgeError> {
        self.write(|connection| writes::update_metadata(connection, id, patch, now))
    }

    fn counts(&self, now: Timestamp) -> Result<Counts, KnowledgeError> {
        self.snapshot(|connection| reads::counts(connection, now))
    }

    fn garbage(&self, query: &GcQuery) -> Result<Vec<Node>, KnowledgeError> {
        self.read(|connection| reads::garbage(connection, query))
    }

    fn remove(
        &self,
        ids: &[NodeId],
        export: &mut dyn FnMut(&RemovedNodes) -> Result<(), Cause>,
    ) -> Result<RemovedNodes, KnowledgeError> {
        self.write(|connection| {
            let removed = writes::remove(connection, ids).map_err(knowledge_error)?;
            export(&removed).map_err(|source| KnowledgeError::NotExported { source })?;
            Ok(removed)
        })
    }
}
