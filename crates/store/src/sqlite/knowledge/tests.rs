use std::path::PathBuf;

use tempfile::TempDir;

use super::super::migrations;
use super::*;
use crate::knowledge::contract::{SUITE, at, edge, edge_id, full_edge, full_node, id, node};
use crate::{Journal, RunQuery, SqliteJournal};
use spore_model::EdgeKind;

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spore.db");
    (dir, path)
}

#[test]
fn sqlite_keeps_the_graphs_contract() {
    for (name, check) in SUITE {
        let (_dir, path) = place();
        let graph = SqliteKnowledge::open(&path).unwrap();
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&graph)));
        assert!(held.is_ok(), "{name}");
        let sound = graph.read(|connection| {
            connection.execute(
                "INSERT INTO node_text (node_text, rank) VALUES ('integrity-check', 1)",
                [],
            )
        });
        assert!(sound.is_ok(), "{name}: {sound:?}");
    }
}

#[test]
fn the_graph_is_made_from_every_older_version() {
    for version in 1..=migrations::KNOWN {
        let (_dir, path) = place();
        let connection = Connection::open(&path).unwrap();
        for (number, sql) in (1..=version).zip(migrations::MIGRATIONS) {
            migrations::apply(&connection, number, sql).unwrap();
        }
        drop(connection);
        let graph = SqliteKnowledge::open(&path).unwrap();
        graph.add(&[full_node(1)], &[full_edge(1)]).unwrap();
        drop(graph);
        let graph = SqliteKnowledge::open(&path).unwrap();
        assert_eq!(graph.node(&id(1)).unwrap(), Some(full_node(1)), "from version {version}");
        assert_eq!(graph.edge(edge_id(1)).unwrap(), Some(full_edge(1)), "from version {version}");
        assert!(SqliteJournal::open(&path).unwrap().runs(&RunQuery::default()).unwrap().is_empty());
    }
}

#[test]
fn a_reader_cannot_write_and_sees_what_the_writer_writes() {
    let (_dir, path) = place();
    let missing = SqliteKnowledge::open_read_only(&path).err().unwrap();
    assert!(matches!(missing, OpenError::Missing { .. }));
    let writer = SqliteKnowledge::open(&path).unwrap();
    let reader = SqliteKnowledge::open_read_only(&path).unwrap();
    writer.add(&[node(1, "n")], &[]).unwrap();
    assert_eq!(reader.node(&id(1)).unwrap(), Some(node(1, "n")));
    let refused = reader.add(&[node(2, "n")], &[]);
    assert!(matches!(refused, Err(KnowledgeError::ReadOnly { .. })), "{refused:?}");
}

#[test]
fn a_word_that_nobody_knows_is_damage() {
    let (_dir, path) = place();
    let graph = SqliteKnowledge::open(&path).unwrap();
    graph.add(&[node(1, "n")], &[edge(1, 1, EdgeKind::Calls, 2)]).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("UPDATE node SET class = 'odd'; UPDATE edge SET kind = 'odd'").unwrap();
    let failed = graph.node(&id(1));
    assert!(matches!(failed, Err(KnowledgeError::Corrupt { .. })), "{failed:?}");
    let failed = graph.links(&[id(1)]);
    assert!(matches!(failed, Err(KnowledgeError::Corrupt { .. })), "{failed:?}");
}

#[test]
fn a_full_disk_is_told_apart_and_undoes_the_whole_write() {
    let (_dir, path) = place();
    let graph = SqliteKnowledge::open(&path).unwrap();
    graph
        .read(|connection| connection.query_row("PRAGMA max_page_count = 1", [], |_| Ok(())))
        .unwrap();
    let large = Node { content: "x ".repeat(1 << 20), ..node(2, "n") };
    let failed = graph.add(&[node(1, "n"), large], &[]);
    assert!(matches!(failed, Err(KnowledgeError::Full { .. })), "{failed:?}");
    assert_eq!(graph.node(&id(1)).unwrap(), None);
}

#[test]
fn writers_on_their_own_connections_wait_for_each_other() {
    let (_dir, path) = place();
    let graph = SqliteKnowledge::open(&path).unwrap();
    graph.add(&[node(0, "contested")], &[]).unwrap();
    let writer = &|thread: u32| {
        let graph = SqliteKnowledge::open(&path).unwrap();
        let mut won = 0;
        for number in 0..50 {
            let number = 1000 * (thread + 1) + number;
            graph.add(&[node(number, "n")], &[edge(number, number, EdgeKind::About, 0)]).unwrap();
            let patch = serde_json::json!({ number.to_string(): thread });
            graph.update_metadata(&id(0), &patch, at(0)).unwrap();
            won += u32::from(graph.supersede_node(&id(0), &node(number, "n"), &[]).is_ok());
        }
        won
    };
    let won: u32 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || writer(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
    let contested = graph.node(&id(0)).unwrap().unwrap();
    assert_eq!(contested.metadata.as_object().unwrap().len(), 200);
    assert_eq!(graph.counts(at(0)).unwrap().edges.total, 201);
}
