use spore_model::graph::{Direction, Links};
use spore_model::{EdgeKind, NodeId};
use tempfile::TempDir;

use super::*;

const PATIENCE: Duration = Duration::from_secs(1);

fn key(number: u8) -> NodeKey {
    NodeKey([number; 16])
}

fn id(number: u8) -> NodeId {
    key(number).id()
}

fn file_row(number: u8, path: &str, mentions: &[u32]) -> FileRow {
    FileRow {
        key: key(number),
        path: path.to_owned(),
        language: "rust".to_owned(),
        package: None,
        import_name: path.to_owned(),
        stamp: FileStamp { size: 10, mtime_ns: 5, inode: 1 },
        blob: vec![number],
        lines: 20,
        marks: FileMarks::default(),
        doc: String::new(),
        syntax_errors: 0,
        facts: vec![number],
        mentions: mentions.to_vec(),
    }
}

fn item_row(number: u8, name: &str, parent: Option<u32>, lines: (u32, u32)) -> ItemRow {
    ItemRow {
        key: key(number),
        kind: "function",
        name: name.to_owned(),
        qualified: format!("m::{name}"),
        parent,
        lines,
        bytes: (0, 1),
        signature: format!("fn {name}()"),
        doc: "Does it.".to_owned(),
        visibility: StoredVisibility::Public,
        hash: u64::MAX,
    }
}

/// A directory, two files and four items, one of them in another.
fn sample() -> (TempDir, CodeIndex) {
    let dir = tempfile::tempdir().unwrap();
    let index = CodeIndex::create(&dir.path().join("index.db")).unwrap();
    index
        .write(|writer| {
            let root = writer.add_directory(key(1), "", None)?;
            let one = writer.put_file(None, root, &file_row(2, "a.rs", &[3, 9]))?;
            let items = [
                item_row(10, "f", None, (1, 9)),
                item_row(11, "g", Some(0), (2, 3)),
                item_row(12, "h", None, (11, 12)),
            ];
            let ones = writer.put_items(one, &[], &items)?;
            let two = writer.put_file(None, root, &file_row(3, "b.rs", &[4]))?;
            let twos = writer.put_items(two, &[], &[item_row(13, "f", None, (1, 1))])?;
            writer.add_edges(&[
                edge(ones[0], EdgeKind::Calls, twos[0], 500),
                edge(ones[0], EdgeKind::Calls, twos[0], 900),
                edge(one, EdgeKind::Imports, two, 1000),
            ])
        })
        .unwrap();
    index.add_lookups().unwrap();
    (dir, index)
}

fn edge(source: NodeNo, kind: EdgeKind, target: NodeNo, confidence: u16) -> StoredEdge {
    StoredEdge { source, kind, target, confidence }
}

fn links(index: &CodeIndex, of: u8) -> Vec<(Direction, EdgeKind, NodeId)> {
    let links = index.links(&[id(of)]).unwrap();
    let mut links: Vec<_> =
        links.into_iter().map(|link| (link.direction, link.kind, link.far)).collect();
    links.sort();
    links
}

#[test]
fn edges_follow_from_where_things_stand_and_from_what_is_kept() {
    let (_dir, index) = sample();
    use Direction::{In, Out};
    assert_eq!(
        links(&index, 10),
        [
            (Out, EdgeKind::Calls, id(13)),
            (Out, EdgeKind::DefinedIn, id(2)),
            (Out, EdgeKind::Contains, id(11)),
            (Out, EdgeKind::Sibling, id(12)),
            (In, EdgeKind::BelongsTo, id(11)),
            (In, EdgeKind::Contains, id(2)),
        ]
    );
    assert_eq!(
        links(&index, 1),
        [(Out, EdgeKind::Contains, id(2)), (Out, EdgeKind::Contains, id(3))]
    );
    assert_eq!(links(&index, 99), []);
    let calls = index.callers(&id(13)).unwrap();
    assert_eq!((calls.len(), calls[0].confidence), (1, 0.9));
}

#[test]
fn every_link_is_seen_from_both_ends() {
    let (_dir, index) = sample();
    let all: Vec<NodeId> = [1, 2, 3, 10, 11, 12, 13].map(id).to_vec();
    let links = index.links(&all).unwrap();
    for link in &links {
        let back = links.iter().any(|other| {
            (&other.near, &other.far) == (&link.far, &link.near)
                && (other.kind, other.direction) == (link.kind, link.direction.reversed())
        });
        assert!(back, "{link:?}");
    }
    assert_eq!(index.heads(&all).unwrap().len(), all.len());
}

#[test]
fn a_text_names_nodes_by_id_path_line_and_name() {
    let (_dir, index) = sample();
    let check = |typed: &str, expected: &[u8]| {
        let expected: Vec<NodeId> = expected.iter().map(|number| id(*number)).collect();
        assert_eq!(index.find(typed).unwrap(), expected, "{typed}");
    };
    check("0a0a0a0a", &[10]);
    check("0A0a0a", &[10]);
    check("0a0a", &[]);
    check("a.rs", &[2]);
    check("./b.rs", &[3]);
    check(".", &[1]);
    check("a.rs:2", &[11]);
    check("a.rs:9", &[10]);
    check("a.rs:10", &[2]);
    check("a.rs:21", &[]);
    check("m::h", &[12]);
    check("m.h", &[12]);
    check("f", &[10, 13]);
    check("%", &[]);
    check("", &[1]);
}

#[test]
fn what_lives_on_keeps_the_edges_that_others_have_to_it() {
    let (_dir, index) = sample();
    index
        .write(|writer| {
            let no = writer.paths()?["b.rs"];
            let old = writer.items_of(no)?;
            let new = [item_row(14, "new", None, (1, 1)), item_row(13, "f", None, (2, 2))];
            writer.put_file(Some(no), 1, &file_row(3, "b.rs", &[]))?;
            let numbers = writer.put_items(no, &old, &new)?;
            assert_eq!(numbers[1], old[0].no);
            Ok::<_, CodeIndexError>(())
        })
        .unwrap();
    assert_eq!(index.callees(&id(10)).unwrap().len(), 1);
    index
        .write(|writer| {
            let no = writer.paths()?["b.rs"];
            writer.remove_file(no)
        })
        .unwrap();
    assert_eq!(index.callees(&id(10)).unwrap().len(), 0);
    assert!(!index.dump().unwrap().contains("b.rs"));
}

#[test]
fn what_a_name_meant_is_dropped_everywhere_and_nothing_else_is() {
    let (_dir, index) = sample();
    index.write(|writer| writer.drop_edges_to_name("f")).unwrap();
    let counts = index.counts().unwrap();
    assert_eq!((counts.edges.get("calls"), counts.edges.get("imports")), (None, Some(&1)));
}

#[test]
fn files_are_found_by_what_they_mention() {
    let (_dir, index) = sample();
    let found = |hashes: &[u32]| index.write(|writer| writer.mentioning(hashes)).unwrap().len();
    assert_eq!(found(&[9]), 1);
    assert_eq!(found(&[1, 3, 4]), 2);
    assert_eq!(found(&[1, 2, 5, 10]), 0);
    assert_eq!(found(&[]), 0);
}

#[test]
fn a_failed_change_leaves_everything_as_it_was() {
    let (dir, index) = sample();
    index.finish().unwrap();
    let index = CodeIndex::open(&dir.path().join("index.db"), PATIENCE).unwrap();
    let before = index.dump().unwrap();
    let failed: Result<(), CodeIndexError> = index.write(|writer| {
        writer.remove_file(writer.paths()?["a.rs"])?;
        Err(CodeIndexError::Bug { source: "on purpose".into() })
    });
    assert!(failed.is_err());
    assert_eq!(index.dump().unwrap(), before);
}

#[test]
fn a_copy_is_the_same_index_also_in_the_place_of_one_that_is_open() {
    let (dir, index) = sample();
    index.finish().unwrap();
    let index = CodeIndex::open(&dir.path().join("index.db"), PATIENCE).unwrap();
    let other = dir.path().join("other.db");
    index.copy_to(&other, PATIENCE).unwrap();
    let copy = CodeIndex::open(&other, PATIENCE).unwrap();
    assert_eq!(copy.dump().unwrap(), index.dump().unwrap());
    index.write(|writer| writer.remove_file(writer.paths()?["a.rs"])).unwrap();
    index.copy_to(&other, PATIENCE).unwrap();
    assert_eq!(copy.dump().unwrap(), index.dump().unwrap());
}

#[test]
fn what_cannot_be_used_is_said_to_be_unusable() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index.db");
    let open = || CodeIndex::open(&path, PATIENCE).err().map(|error| error.to_string());
    assert!(open().unwrap().contains("there is no index"));
    std::fs::write(&path, "x".repeat(5000)).unwrap();
    assert!(open().unwrap().ends_with("is damaged"));
    std::fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(open().unwrap().ends_with("is not one of ours"));
    other.execute_batch("PRAGMA application_id = 1399867768; PRAGMA user_version = 99").unwrap();
    assert!(open().unwrap().ends_with("has version 99"));
}

#[test]
fn a_text_is_found_by_its_hash_until_its_file_is_forgotten() {
    let (_dir, index) = sample();
    let nodes: Vec<NodeNo> = index
        .units_at(&[(2, 0), (2, 1), (2, 2), (2, 9)])
        .unwrap()
        .into_iter()
        .map(|row| row.map_or(0, |row| row.no))
        .collect();
    assert_eq!((nodes[0], nodes[3]), (2, 0), "the file itself, and nothing");
    let put = |writer: &mut Writer<'_>| {
        writer.put_text(nodes[1], 7)?;
        writer.put_text(nodes[2], 7)
    };
    index.write(put).unwrap();
    assert_eq!(index.nodes_of_texts(&[7, 8]).unwrap(), [vec![nodes[1], nodes[2]], vec![]]);
    let parts = index.text_parts(&nodes).unwrap();
    assert_eq!(parts[&nodes[1]].qualified, "m::f");
    assert_eq!((parts[&2].qualified.as_str(), parts[&2].path.as_str()), ("", "a.rs"));
    assert_eq!(index.texts().unwrap().len(), 2);
    index.write(|writer: &mut Writer<'_>| writer.forget_texts(2)).unwrap();
    assert_eq!(index.nodes_of_texts(&[7]).unwrap(), [Vec::<NodeNo>::new()]);
}

#[test]
fn callers_are_counted_up_to_a_limit() {
    let (_dir, index) = sample();
    let rows = index.units_at(&[(6, 1)]).unwrap();
    let called = rows[0].as_ref().unwrap().no;
    let count = |most| index.count_incoming(&[called], &[EdgeKind::Calls], most).unwrap();
    assert_eq!((count(64), count(0)), (vec![1], vec![0]));
}

#[test]
fn the_row_of_known_files_says_what_the_tables_say() {
    let (_dir, index) = sample();
    let check = |expected: &[&str]| {
        let known = index.known_tree().unwrap();
        assert_eq!(known, index.read(known::gather).unwrap());
        let paths: Vec<&str> = known.iter().map(|file| file.path).collect();
        assert_eq!(paths, expected);
        known
    };
    let known = check(&["a.rs", "b.rs"]);
    let one = known.get(0).unwrap().to_file().unwrap();
    let stamp = FileStamp { size: 1, mtime_ns: 2, inode: 3 };
    let left_out = SkippedFile {
        path: "c.rs".to_owned(),
        reason: "binary".to_owned(),
        stamp,
        blob: Vec::new(),
    };
    type Deed<'d> = Box<dyn FnOnce(&mut Writer<'_>) -> Result<(), CodeIndexError> + 'd>;
    let deeds: [(Deed<'_>, &[&str]); 4] = [
        (Box::new(|writer| writer.put_skipped(&left_out)), &["a.rs", "b.rs", "c.rs"]),
        (
            Box::new(|writer| writer.restamp(&KnownFile { stamp, ..one.clone() })),
            &["a.rs", "b.rs", "c.rs"],
        ),
        (Box::new(|writer| writer.remove_file(one.no)), &["b.rs", "c.rs"]),
        (Box::new(|writer| writer.remove_skipped("c.rs")), &["b.rs"]),
    ];
    for (deed, expected) in deeds {
        index.write(deed).unwrap();
        check(expected);
    }
}

#[test]
fn a_row_of_known_files_that_nobody_wrote_is_damage() {
    let (_dir, index) = sample();
    index.lock().execute("UPDATE known SET bytes = x'0102'", []).unwrap();
    assert!(matches!(index.known_tree(), Err(CodeIndexError::Damaged { .. })));
}
