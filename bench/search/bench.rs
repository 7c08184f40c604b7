//! Searches in this process: how long they take, and what they find.
//!
//!     search_bench latency ROOT QUERIES    times, with and without vectors
//!     search_bench run     ROOT QUERIES    the hits of every query as JSON lines
//!
//! ROOT is a tree that `spore index` was run in; QUERIES has a JSON object with a `query` on
//! each line. Vectors count where `SPORE_MODEL_DIR` names the model.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spore_context::search::{NearNode, SearchAsked, Searcher};
use spore_embed::{Model, TextKind, Vectors};
use spore_store::CodeIndex;

/// How often each query is asked for its times.
const ROUNDS: usize = 5;
const NEAR: usize = 100;
/// How deep the lists of hits are.
const DEPTH: usize = 50;

struct Bench<'i> {
    index: &'i CodeIndex,
    searcher: Searcher<'i>,
    meaning: Option<(Model, Vectors)>,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [mode, root, queries] = [0, 1, 2].map(|place| words[place].as_str());
    let spore = Path::new(root).join(".spore");
    let index = CodeIndex::open(&spore.join("index.db"), Duration::from_secs(10)).unwrap();
    let begun = Instant::now();
    let searcher = Searcher::open(&index).unwrap();
    let opened = begun.elapsed();
    let model = std::env::var_os("SPORE_MODEL_DIR").map(PathBuf::from);
    let meaning = model
        .filter(|_| spore.join("vectors").exists())
        .map(|dir| (Model::load(&dir).unwrap(), Vectors::open(&spore.join("vectors")).unwrap()));
    let bench = Bench { index: &index, searcher, meaning };
    let queries: Vec<Value> = std::fs::read_to_string(queries)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    match mode {
        "latency" => bench.latency(&queries, opened),
        "run" => bench.run(&queries),
        _ => println!("latency or run"),
    }
}

impl Bench<'_> {
    fn near(&self, query: &str) -> (Vec<NearNode>, Duration, Duration) {
        let Some((model, vectors)) = &self.meaning else {
            return (Vec::new(), Duration::ZERO, Duration::ZERO);
        };
        let begun = Instant::now();
        let vector = model.embed(&[query], TextKind::Query)[0];
        let embedded = begun.elapsed();
        let near = vectors.nearest(&vector, NEAR, 1, |_| true);
        let hashes: Vec<u128> = near.iter().map(|near| near.key.0).collect();
        let nodes = self.index.nodes_of_texts(&hashes).unwrap();
        let found = near.iter().zip(nodes).flat_map(|(near, nodes)| {
            nodes.into_iter().map(|node| NearNode { node, score: near.score })
        });
        (found.collect(), embedded, begun.elapsed() - embedded)
    }

    fn latency(&self, queries: &[Value], opened: Duration) {
        let mut times: [Vec<f64>; 4] = Default::default();
        let mut best = vec![[f64::MAX; 4]; queries.len()];
        for round in 0..=ROUNDS {
            for (query, best) in queries.iter().zip(&mut best) {
                let text = query["query"].as_str().unwrap();
                let asked = SearchAsked { text, kinds: &[], path: None, limit: 10 };
                let (near, embedded, scanned) = self.near(text);
                let begun = Instant::now();
                let _ = self.searcher.search(&asked, &[]).unwrap();
                let without = begun.elapsed();
                let begun = Instant::now();
                let _ = self.searcher.search(&asked, &near).unwrap();
                let with = begun.elapsed();
                // The first round warms up.
                if round > 0 {
                    let all = [without, embedded, scanned, with].map(ms);
                    for (at, time) in all.into_iter().enumerate() {
                        times[at].push(time);
                        best[at] = best[at].min(time);
                    }
                }
            }
        }
        let vectors = self.meaning.as_ref().map_or(0, |(_, vectors)| vectors.len());
        println!("units {}, vectors {vectors}, open {:.1} ms", self.searcher.len(), ms(opened));
        let names =
            ["search without vectors", "embed the query", "scan vectors", "search with them"];
        // On a busy machine the best of a query's rounds is nearest to what it costs.
        println!(
            "{:24} {:>8} {:>8} {:>8} {:>14}",
            "", "p50 ms", "p95 ms", "max ms", "p50 of best ms"
        );
        for (row, (name, times)) in names.iter().zip(&mut times).enumerate() {
            times.sort_by(f64::total_cmp);
            let mut least: Vec<f64> = best.iter().map(|best| best[row]).collect();
            least.sort_by(f64::total_cmp);
            let least = least[least.len() / 2];
            let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
            println!("{name:24} {:8.2} {:8.2} {:8.2} {least:14.2}", at(50), at(95), at(100));
        }
    }

    fn run(&self, queries: &[Value]) {
        for query in queries {
            let text = query["query"].as_str().unwrap();
            let (near, _, _) = self.near(text);
            let asked = SearchAsked { text, kinds: &[], path: None, limit: DEPTH };
            let found = |near: &[NearNode]| {
                let hits = self.searcher.search(&asked, near).unwrap();
                let hits = hits.iter().map(|hit| json!([hit.path, hit.qualified, hit.kind]));
                hits.collect::<Vec<Value>>()
            };
            let alone: Vec<Value> = near.iter().take(DEPTH).map(|near| self.told(near)).collect();
            let line = json!({
                "query": text,
                "words": found(&[]),
                "fused": found(&near),
                "vectors": alone,
            });
            println!("{line}");
        }
    }

    /// A node as path, qualified name and kind.
    fn told(&self, near: &NearNode) -> Value {
        let spot = self.index.spots_of(&[near.node]).unwrap()[0].unwrap();
        let row = self.index.units_at(&[spot]).unwrap().remove(0).unwrap();
        let path = &self.index.text_parts(&[near.node]).unwrap()[&near.node].path;
        json!([path, row.qualified, row.kind])
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
