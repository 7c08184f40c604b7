//! How fast the knowledge graph is, beside the same queries as bare SQL.
//!
//! 100,000 nodes and 400,000 edges. Run it with
//!
//!     cargo run --release -p spore-store --example graph_bench
//!
//! Goals: `add` within 1.5 times of bare prepared statements in one transaction on the same
//! schema; `expand` with 7 nodes, 4 hops and cost 2.0 under 5 ms at the median.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![expect(clippy::print_stdout, reason = "a program for people")]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use serde_json::json;
use spore_model::graph::{
    AnalysisOptions, ExpandOptions, GraphSurvey, PathOptions, analyze, expand, paths_between,
};
use spore_model::{Edge, EdgeId, EdgeKind, Node, NodeClass, NodeId, Timestamp};
use spore_store::{Knowledge, NodeQuery, SqliteKnowledge};

const NODES: u64 = 100_000;
const EDGES: u64 = 400_000;
const ROUNDS: usize = 3;
const START: u64 = 1_767_225_600_000;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let (nodes, edges) = graph();
    println!("graph: {} nodes, {} edges", nodes.len(), edges.len());
    let store = bulk_insert(dir.path(), &nodes, &edges)?;
    expansions(&store, &nodes)?;
    others(&store, &nodes)
}

/// A generator of numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.roll(1000)).unwrap_or(0)) / 1000.0
    }
}

const WORDS: [&str; 16] = [
    "parse", "config", "store", "graph", "verdict", "lesson", "run", "budget", "event", "spine",
    "gate", "agent", "edge", "node", "commit", "branch",
];

fn text(dice: &mut Dice, words: usize) -> String {
    let mut text = String::new();
    for _ in 0..words {
        let place = usize::try_from(dice.roll(16)).unwrap_or(0);
        text += WORDS[place];
        text += &format!("_{} ", dice.roll(5000));
    }
    text
}

/// Code in files, work on it, and what was said about both; some nodes are hubs.
fn graph() -> (Vec<Node>, Vec<Edge>) {
    let mut dice = Dice(0x5370_6f72);
    let mut nodes = Vec::new();
    for number in 0..NODES {
        let (class, kind) = match dice.roll(20) {
            0 => (NodeClass::Operational, "implementation"),
            1 => (NodeClass::Meta, "summary"),
            2 => (NodeClass::Knowledge, "file"),
            _ => (NodeClass::Knowledge, "function"),
        };
        let random = u128::from(dice.roll(u64::MAX)) << 8;
        let id = NodeId::from_parts(START + number, random + u128::from(number % 256));
        let created = Timestamp::from_millis(i64::try_from(START + number).unwrap_or(0));
        let title = text(&mut dice, 3);
        let content = text(&mut dice, 24);
        let node = Node::new(id, class, kind, title, created);
        nodes.push(Node { content, metadata: json!({ "line": dice.roll(900) }), ..node });
    }
    let edges = (0..EDGES).map(|number| edge(&mut dice, &nodes, number)).collect();
    (nodes, edges)
}

fn edge(dice: &mut Dice, nodes: &[Node], number: u64) -> Edge {
    let near = dice.roll(NODES);
    let far = match dice.roll(10) {
        0 => dice.roll(100),
        1..=3 => dice.roll(NODES),
        _ => (near + 1 + dice.roll(50)) % NODES,
    };
    let kind = match dice.roll(10) {
        0..=4 => EdgeKind::Calls,
        5 | 6 => EdgeKind::DefinedIn,
        7 => EdgeKind::Related,
        8 => EdgeKind::DerivesFrom,
        _ => EdgeKind::Summarizes,
    };
    let random = u128::from(dice.roll(u64::MAX));
    let [source, target] =
        [near, far].map(|place| nodes[usize::try_from(place).unwrap_or(0)].id.clone());
    let created = Timestamp::from_millis(i64::try_from(START + number).unwrap_or(0));
    let edge = Edge::new(EdgeId::from_parts(START + number, random), source, target, kind, created);
    Edge { confidence: Some(dice.share()), agent: Some("indexer".into()), ..edge }
}

fn bulk_insert(
    dir: &Path,
    nodes: &[Node],
    edges: &[Edge],
) -> Result<SqliteKnowledge, Box<dyn Error>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut last = None;
    for round in 0..ROUNDS {
        let path = dir.join(format!("bare{round}.db"));
        drop(SqliteKnowledge::open(&path)?);
        theirs.push(insert_bare(&path, nodes, edges)?);
        std::fs::remove_file(&path)?;
        let path = dir.join(format!("ours{round}.db"));
        let store = SqliteKnowledge::open(&path)?;
        let begun = Instant::now();
        store.add(nodes, edges)?;
        ours.push(begun.elapsed());
        last = Some(store);
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    println!(
        "bulk insert: {} in one `add`, {} with bare prepared statements: {:.2} x (goal 1.5)",
        show(ours),
        show(theirs),
        ours.as_secs_f64() / theirs.as_secs_f64()
    );
    last.ok_or_else(|| "no round".into())
}

/// Binds values that are text already: faster than a real caller, who has to make the text.
fn insert_bare(path: &Path, nodes: &[Node], edges: &[Edge]) -> Result<Duration, Box<dyn Error>> {
    let metadata: Vec<String> = nodes.iter().map(|node| node.metadata.to_string()).collect();
    let ids: Vec<String> = edges.iter().map(|edge| edge.id.to_string()).collect();
    let mut connection = Connection::open(path)?;
    // As well tuned as ours.
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -65536")?;
    let begun = Instant::now();
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare(
            "INSERT INTO node (id, class, kind, title, parent, created, updated, superseded_by,
                 confidence, agent, run, metadata, content)
             VALUES (?1, ?2, ?3, ?4, NULL, ?5, ?5, NULL, NULL, NULL, NULL, ?6, ?7)",
        )?;
        for (node, metadata) in nodes.iter().zip(&metadata) {
            insert.execute(params![
                node.id.as_str(),
                node.class.as_str(),
                node.kind,
                node.title,
                node.created.as_millis(),
                metadata,
                node.content,
            ])?;
        }
        let mut insert = transaction.prepare(
            "INSERT INTO edge (id, source, target, kind, confidence, created, superseded_by,
                 agent, run, reason, metadata, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, NULL, ?7, NULL, NULL, 'null', NULL)",
        )?;
        for (edge, id) in edges.iter().zip(&ids) {
            insert.execute(params![
                id,
                edge.source.as_str(),
                edge.target.as_str(),
                edge.kind.as_str(),
                edge.confidence,
                edge.created.as_millis(),
                edge.agent,
            ])?;
        }
    }
    transaction.commit()?;
    Ok(begun.elapsed())
}

fn expansions(store: &SqliteKnowledge, nodes: &[Node]) -> Result<(), Box<dyn Error>> {
    let mut dice = Dice(7);
    let mut times = Vec::new();
    let mut reached = 0;
    for _ in 0..2000 {
        let from = &nodes[usize::try_from(dice.roll(NODES))?].id;
        let begun = Instant::now();
        reached += expand(store, from, &ExpandOptions::within(7, 4, 2.0))?.len();
        times.push(begun.elapsed());
    }
    // The hundred first nodes have a few hundred links each.
    let mut hubs = Vec::new();
    for hub in &nodes[..100] {
        let begun = Instant::now();
        expand(store, &hub.id, &ExpandOptions::within(7, 4, 2.0))?;
        hubs.push(begun.elapsed());
    }
    println!(
        "expand, 7 nodes, 4 hops, cost 2.0: median {} (goal 5 ms), p99 {}, from hubs {}; \
         {reached} nodes reached from {} anchors",
        show(median(&mut times)),
        show(percentile(&mut times, 99)),
        show(median(&mut hubs)),
        times.len(),
    );
    Ok(())
}

fn others(store: &SqliteKnowledge, nodes: &[Node]) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let wide = ExpandOptions::within(20, 6, 3.0);
    expand(store, &nodes[50_000].id, &wide)?;
    println!("expand, 20 nodes, 6 hops, cost 3.0: {}", show(begun.elapsed()));
    let ways = PathOptions { max_hops: 5, only: None, not_superseded: false, limit: 20 };
    let begun = Instant::now();
    let paths = paths_between(store, &nodes[500].id, &nodes[800].id, &ways)?;
    let found = (paths.paths.len(), paths.complete);
    println!("paths between two nodes: {} {found:?}", show(begun.elapsed()));
    let begun = Instant::now();
    let hits = store.search("parse the config of a gate_77", 10, &NodeQuery::default())?;
    println!("search: {} for {} hits", show(begun.elapsed()), hits.len());
    let begun = Instant::now();
    let found = store.find(nodes[77].id.short())?.len();
    println!("find by short id: {} for {found}", show(begun.elapsed()));
    let begun = Instant::now();
    store.counts(Timestamp::from_millis(i64::try_from(START)?))?;
    println!("counts: {}", show(begun.elapsed()));
    let begun = Instant::now();
    let mut survey = GraphSurvey::new();
    spore_model::graph::Links::survey(store, &mut survey)?;
    let surveyed = begun.elapsed();
    let now = Timestamp::from_millis(i64::try_from(START)?);
    let analysis = analyze(&survey, &AnalysisOptions::at(now));
    let (total, health) = (show(begun.elapsed()), analysis.health.score);
    println!("analyze: {total}, {} of it reading; health {health:.2}", show(surveyed));
    Ok(())
}

fn median(times: &mut [Duration]) -> Duration {
    percentile(times, 50)
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}

fn show(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1000.0)
}
