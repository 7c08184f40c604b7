//! The conditions of a query, collected one by one.
//!
//! Only the conditions of the query are in the statement, so that SQLite uses the index that
//! fits them.

use rusqlite::types::Value;
use spore_model::EdgeKind;
use spore_model::graph::DEFAULT_CONFIDENCE;

use crate::knowledge::{EdgeQuery, GcQuery, NodeQuery};

/// Conditions that must all hold, and the values of their question marks.
#[derive(Default)]
pub(super) struct NodeConditions {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl NodeConditions {
    fn and(&mut self, condition: &str) {
        self.conditions.push(condition.to_owned());
    }

    /// Adds a condition with one question mark if there is a value for it.
    fn and_if<T: Into<Value>>(&mut self, condition: &str, value: Option<T>) {
        if let Some(value) = value {
            self.and(condition);
            self.values.push(value.into());
        }
    }

    fn and_one_of(&mut self, test: &str, words: impl IntoIterator<Item = String>) {
        let before = self.values.len();
        self.values.extend(words.into_iter().map(Value::Text));
        let marks = vec!["?"; self.values.len() - before].join(", ");
        self.conditions.push(format!("{test} ({marks})"));
    }

    /// Returns ` WHERE …`, or nothing.
    pub(super) fn clause(&self) -> String {
        if self.conditions.is_empty() {
            return String::new();
        }
        format!(" WHERE {}", self.conditions.join(" AND "))
    }

    /// Returns the values, and then those of the rest of the statement.
    pub(super) fn values(self, rest: impl IntoIterator<Item = Value>) -> Vec<Value> {
        let mut values = self.values;
        values.extend(rest);
        values
    }

    pub(super) fn matching(words: &str, query: &NodeQuery) -> Self {
        let mut filter = Self::default();
        filter.and_if("node_text MATCH ?", Some(words.to_owned()));
        filter.of_nodes(query);
        filter
    }

    pub(super) fn nodes(query: &NodeQuery) -> Self {
        let mut filter = Self::default();
        filter.of_nodes(query);
        filter
    }

    fn of_nodes(&mut self, query: &NodeQuery) {
        let text = |id: &Option<spore_model::NodeId>| id.as_ref().map(ToString::to_string);
        self.and_if("node.class = ?", query.class.map(|class| class.as_str().to_owned()));
        self.and_if("node.kind = ?", query.kind.clone());
        self.and_if("node.created >= ?", query.since.map(spore_model::Timestamp::as_millis));
        self.and_if("node.run = ?", query.run.map(|run| run.to_string()));
        self.and_if("node.agent = ?", query.agent.clone());
        if !query.include_superseded {
            self.and("node.superseded_by IS NULL");
        }
        self.and_if(
            "node.id IN (
                 WITH RECURSIVE below (id) AS (
                     SELECT id FROM node WHERE parent = ?
                     UNION
                     SELECT node.id FROM node JOIN below ON node.parent = below.id)
                 SELECT id FROM below)",
            text(&query.region),
        );
    }

    pub(super) fn edges(query: &EdgeQuery) -> Self {
        let mut filter = Self::default();
        let text = |id: &Option<spore_model::NodeId>| id.as_ref().map(ToString::to_string);
        filter.and_if("edge.source = ?", text(&query.source));
        filter.and_if("edge.target = ?", text(&query.target));
        if let Some(node) = text(&query.node) {
            filter.and("(edge.source = ? OR edge.target = ?)");
            filter.values.extend([node.clone(), node].map(Value::Text));
        }
        filter.and_if("edge.agent = ?", query.agent.clone());
        filter.and_if(
            "EXISTS (SELECT 1 FROM node WHERE node.id = edge.target AND node.agent = ?)",
            query.target_agent.clone(),
        );
        if !query.kinds.is_empty() {
            filter.and_one_of("edge.kind IN", query.kinds.iter().map(EdgeKind::to_string));
        }
        if let Some(least) = query.min_confidence {
            filter.and("coalesce(edge.confidence, ?) >= ?");
            filter.values.extend([DEFAULT_CONFIDENCE, least].map(Value::Real));
        }
        filter.and_if("edge.created >= ?", query.since.map(spore_model::Timestamp::as_millis));
        if query.not_superseded {
            filter.and("edge.superseded_by IS NULL");
        }
        filter
    }

    pub(super) fn garbage(query: &GcQuery) -> Self {
        let mut filter = Self::default();
        filter.and("node.class = 'operational'");
        filter.and_if("node.created < ?", Some(query.older_than.as_millis()));
        for use_of_it in [
            // An edge to itself says how a run went; it connects nothing.
            "SELECT 1 FROM edge WHERE source = node.id AND target <> node.id",
            "SELECT 1 FROM edge WHERE target = node.id AND source <> node.id",
            "SELECT 1 FROM node AS child WHERE child.parent = node.id",
            "SELECT 1 FROM node AS older WHERE older.superseded_by = node.id",
        ] {
            filter.and(&format!("NOT EXISTS ({use_of_it})"));
        }
        if !query.force && !query.keep_kinds.is_empty() {
            filter.and_one_of("node.kind NOT IN", query.keep_kinds.iter().cloned());
        }
        filter
    }
}
