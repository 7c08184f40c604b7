//! Ranks the cases of the localisation benchmark, or writes down what spoke for each file.
//!
//!     localise rank     CASES CLONES OUT [--weights FILE] [--without SIGNAL] [--seed] [--summaries]
//!     localise signals  CASES CLONES OUT
//!     localise speed    CASES ROOT OUT
//!
//! CASES is what `localise_cases.py` made; CLONES has a clone of each repository under
//! `owner+name`. Every case is answered from the index of its parent's tree, whose history
//! ends there. Beside the ranks it says how many of the right files the task file names within
//! 4,000 and 8,000 tokens; `--seed` ranks as the seed describes it. `--summaries` takes what the files
//! say of themselves at their top for what an investigation would have said of them.

#![expect(clippy::disallowed_methods, reason = "a measurement, outside the product")]
#![allow(clippy::print_stderr, clippy::unwrap_used, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use spore_app::indexing::{IndexSource, Silent, open_for};
use spore_app::{Interrupt, Surroundings, Workspace};
use spore_context::rank::{RankSignal, RankWeights, Ranker};
use spore_context::retrieve::{CompileStage, ContextSources, RankerKind, compile};
use spore_context::task_file::{self, Assignment, Before, TaskFileBudget};
use spore_context::{
    Compiled, ContextOptions, Corpus, PlaceSummaries, PlaceSummary, TaskFileLimits,
};
use spore_effects::{Ids, Probe, SystemClock};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words[0] == "speed" {
        return speed(&words[1], Path::new(&words[2]));
    }
    let [mode, cases, clones, out] = [0, 1, 2, 3].map(|place| words[place].as_str());
    let flag = |name: &str| words.iter().position(|word| word == name);
    let mut weights = match flag("--weights") {
        Some(place) => {
            RankWeights::read(&std::fs::read_to_string(&words[place + 1]).unwrap()).unwrap()
        }
        None => RankWeights::built_in(),
    };
    if let Some(place) = flag("--without") {
        let named = |signal: &&RankSignal| signal.as_str() == words[place + 1];
        weights = weights.without(*RankSignal::ALL.iter().find(named).unwrap());
    }
    let mut out = std::io::BufWriter::new(std::fs::File::create(out).unwrap());
    if mode == "signals" {
        let names: Vec<&str> = RankSignal::ALL.iter().map(|signal| signal.as_str()).collect();
        writeln!(out, "{}", json!({ "signals": names })).unwrap();
    }
    let cases = std::fs::read_to_string(cases).unwrap();
    for (number, line) in cases.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let root = Path::new(clones).join(case["repo"].as_str().unwrap().replace('/', "+"));
        let how = How {
            mode,
            weights: &weights,
            seed: flag("--seed").is_some(),
            summaries: flag("--summaries").is_some(),
        };
        let answer = answer(&root, &case, &how);
        writeln!(out, "{answer}").unwrap();
        if number % 20 == 19 {
            eprintln!("{} cases", number + 1);
        }
    }
}

/// How cases are answered.
struct How<'a> {
    mode: &'a str,
    weights: &'a RankWeights,
    seed: bool,
    summaries: bool,
}

fn answer(root: &Path, case: &Value, how: &How<'_>) -> Value {
    let How { mode, weights, seed, summaries } = *how;
    let around = surroundings(root);
    let workspace = Workspace::find(&around).unwrap();
    if !workspace.is_initialised() {
        spore_app::init(&around).unwrap();
    }
    let config = workspace.config(&around, &[]).unwrap();
    let source = IndexSource::Tree(case["parent"].as_str().unwrap().to_owned());
    let begun = Instant::now();
    let (index, _) = open_for(&around, &workspace, &config, &source, &Silent).unwrap();
    let index_ms = begun.elapsed().as_millis();
    let begun = Instant::now();
    let corpus = Corpus::open(&index).unwrap();
    let plain = Ranker::new(&corpus);
    let paths: Vec<String> =
        (0..plain.len()).map(|source| plain.path(source as u32).to_owned()).collect();
    let places = if summaries {
        DocComments::read(&around, &workspace, case["parent"].as_str().unwrap(), &paths)
    } else {
        DocComments::default()
    };
    let ranker = plain.knowing(&places.said);
    let open_ms = begun.elapsed().as_micros() as f64 / 1000.0;
    let task = case["task"].as_str().unwrap();
    let begun = Instant::now();
    let ranking = ranker.rank(task, weights).unwrap();
    let rank_ms = begun.elapsed().as_micros() as f64 / 1000.0;
    let mut answer = json!({
        "repo": case["repo"], "commit": case["commit"], "names_file": case["names_file"],
        "gold": case["gold"],
    });
    if mode == "signals" {
        let gold: Vec<&str> =
            case["gold"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let files: Vec<Value> = (0..ranker.len())
            .map(|file| {
                let path = ranker.path(file as u32);
                let values: Vec<f64> = RankSignal::ALL
                    .iter()
                    .map(|signal| {
                        (f64::from(ranking.signals.value(*signal, file)) * 1e4).round() / 1e4
                    })
                    .collect();
                json!({ "path": path, "gold": gold.contains(&path), "f": values })
            })
            .collect();
        answer["files"] = files.into();
    } else {
        let kind = if seed { RankerKind::Seed } else { RankerKind::Fitted(weights.clone()) };
        let begun = Instant::now();
        let options = spore_app::context_options(&config);
        let compiled = compiled(&corpus, task, &kind, &options, &places);
        let compile_ms = begun.elapsed().as_micros() as f64 / 1000.0;
        let ranked: Vec<&str> = if seed {
            compiled.files.iter().map(|file| file.path.as_str()).collect()
        } else {
            ranking.order.iter().map(|file| ranker.path(*file)).collect()
        };
        answer["ranked"] = ranked.into();
        let limits = spore_app::task_file_limits(&config);
        for tokens in [4_000, 8_000] {
            answer[format!("in_{tokens}")] = named(&compiled, tokens, limits, &case["gold"]).into();
        }
        answer["ms"] = json!({
            "index": index_ms, "open": open_ms, "rank": rank_ms, "compile": compile_ms,
        });
    }
    answer
}

/// How long each stage of a question takes in a process that holds the index of a work tree
/// open: the median over the tasks of the cases, none of them warmed up by itself.
fn speed(cases: &str, root: &Path) {
    let around = surroundings(root);
    let workspace = Workspace::find(&around).unwrap();
    let config = workspace.config(&around, &[]).unwrap();
    let (index, _) =
        open_for(&around, &workspace, &config, &IndexSource::WorkTree, &Silent).unwrap();
    let begun = Instant::now();
    let corpus = Corpus::open(&index).unwrap();
    let load = begun.elapsed();
    let read_one = |path: &&str| std::fs::read_to_string(root.join(path)).ok();
    let read = |paths: &[&str]| paths.iter().map(read_one).collect();
    let options = spore_app::context_options(&config);
    let mut laps: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in std::fs::read_to_string(cases).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let sources = ContextSources {
            knowledge: None,
            lessons: &[],
            near_lessons: &std::collections::HashMap::new(),
            memory: &[],
            semantic: &[],
            read: &read,
            places: None,
        };
        let kind = RankerKind::Fitted(RankWeights::built_in());
        let mut last = Instant::now();
        let mut whole = 0.0;
        let mut done = |stage: CompileStage| {
            let millis = last.elapsed().as_secs_f64() * 1000.0;
            last = Instant::now();
            let name = match stage {
                CompileStage::Open => "prepare (held by a server)",
                CompileStage::Rank => "rank",
                CompileStage::Expand => "expand",
                CompileStage::Read => "read",
            };
            whole += if stage == CompileStage::Open { 0.0 } else { millis };
            laps.entry(name).or_default().push(millis);
        };
        let task = case["task"].as_str().unwrap();
        compile(&corpus, task, &kind, &sources, &options, &mut done).unwrap();
        laps.entry("a question in all").or_default().push(whole);
    }
    eprintln!("{} files, loaded in {:.0} ms", corpus.len(), load.as_secs_f64() * 1000.0);
    for (name, mut millis) in laps {
        millis.sort_by(f64::total_cmp);
        let at = |share: f64| millis[((millis.len() - 1) as f64 * share) as usize];
        eprintln!(
            "{name}: median {:.1} ms, 95 % {:.1} ms (n = {})",
            at(0.5),
            at(0.95),
            millis.len()
        );
    }
}

fn compiled(
    corpus: &Corpus<'_>,
    task: &str,
    kind: &RankerKind,
    options: &ContextOptions,
    places: &DocComments,
) -> Compiled {
    // Snippets are left out: they are of files that are named anyway.
    let read = |paths: &[&str]| vec![None; paths.len()];
    let sources = ContextSources {
        knowledge: None,
        lessons: &[],
        near_lessons: &std::collections::HashMap::new(),
        memory: &[],
        semantic: &[],
        read: &read,
        places: Some(places),
    };
    compile(corpus, task, kind, &sources, options, &mut |_| {}).unwrap()
}

/// What files say of themselves at their top, in place of summaries that a model wrote: a lower
/// bound, for a model reads the whole file and these words are in the text index already.
#[derive(Default)]
struct DocComments {
    said: Vec<PlaceSummary>,
}

impl DocComments {
    fn read(around: &Surroundings, workspace: &Workspace, at: &str, paths: &[String]) -> Self {
        let repository = workspace.repository(around).unwrap();
        let commit = repository.resolve(at).unwrap();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let texts = repository.read_files(&commit, &paths).unwrap();
        let mut said = Vec::new();
        for (path, text) in paths.iter().zip(texts) {
            let text = text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let Some(top) = text.as_deref().and_then(top_comment) else { continue };
            let (directory, name) = path.rsplit_once('/').unwrap_or((".", path));
            let place = |path: &str, is_directory: bool| PlaceSummary {
                id: spore_model::NodeId::from_parts(1, 1),
                path: path.to_owned(),
                is_directory,
                text: top.clone(),
                confidence: None,
                flags: Vec::new(),
            };
            said.push(place(path, false));
            let stem = name.split('.').next().unwrap_or(name);
            if ["mod", "lib", "main", "__init__", "index", "doc"].contains(&stem) {
                said.push(place(directory, true));
            }
        }
        Self { said }
    }
}

impl PlaceSummaries for DocComments {
    fn matching(&self, _: &str) -> Result<Vec<PlaceSummary>, spore_store::KnowledgeError> {
        Ok(self.said.clone())
    }

    fn about(
        &self,
        files: &[&str],
        directories: &[&str],
    ) -> Result<Vec<PlaceSummary>, spore_store::KnowledgeError> {
        let of = |path: &&str, is_directory: bool| {
            let is_it = |one: &&PlaceSummary| one.is_directory == is_directory && one.path == *path;
            self.said.iter().find(is_it).cloned()
        };
        let files = files.iter().filter_map(|path| of(path, false));
        Ok(files.chain(directories.iter().filter_map(|path| of(path, true))).collect())
    }
}

/// The first comment of a file that says something: a module's documentation in most languages.
fn top_comment(text: &str) -> Option<String> {
    const MOST: usize = 600;
    let mut said = String::new();
    let mut open: Option<&str> = None;
    for line in text.lines().take(120) {
        let line = line.trim();
        if let Some(end) = open {
            let (inside, is_end) =
                line.split_once(end).map_or((line, false), |(text, _)| (text, true));
            said = format!("{said} {}", inside.trim_start_matches('*').trim());
            if is_end {
                open = None;
            }
            continue;
        }
        let comment =
            ["//!", "///", "//", "#!", "#"].iter().find_map(|mark| line.strip_prefix(mark));
        match (comment, ["\"\"\"", "'''", "/**", "/*"].iter().find(|mark| line.starts_with(**mark)))
        {
            (None, Some(mark)) => {
                let end = if mark.starts_with('/') { "*/" } else { mark };
                let rest = &line[mark.len()..];
                match rest.split_once(end) {
                    Some((inside, _)) => said = format!("{said} {inside}"),
                    None => {
                        said = format!("{said} {rest}");
                        open = Some(end);
                    }
                }
            }
            (Some(comment), _) => said = format!("{said} {}", comment.trim()),
            (None, None) if line.is_empty() => {}
            (None, None) if said.trim().len() > 20 => break,
            // Attributes and imports may stand before it.
            (None, None) => {}
        }
        if said.len() > MOST {
            break;
        }
    }
    let said = said.trim();
    (said.len() > 20).then(|| said.chars().take(MOST).collect())
}

/// The share of the right files that a task file of so many tokens names.
fn named(compiled: &Compiled, tokens: usize, limits: TaskFileLimits, gold: &Value) -> f64 {
    let assignment = Assignment {
        role: "coder",
        occasion: None,
        before: Before::Nothing,
        checks: &[],
        budget: TaskFileBudget { context: tokens, whole: Some(tokens) },
        limits,
    };
    let text = task_file::write(compiled, &assignment).text;
    let task_ends = text.find("\n## ").and_then(|at| text[at + 4..].find("\n## ").map(|n| at + n));
    let told = &text[task_ends.unwrap_or(0)..];
    let gold: Vec<&str> = gold.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let found = gold.iter().filter(|path| told.contains(&format!("`{path}`"))).count();
    found as f64 / gold.len() as f64
}

fn surroundings(root: &Path) -> Surroundings {
    let clock: Arc<dyn spore_effects::Clock> = Arc::new(SystemClock);
    Surroundings {
        ids: Ids::random(Arc::clone(&clock)),
        clock,
        probe: Probe::default(),
        exe: PathBuf::new(),
        cwd: root.to_owned(),
        root: Some(root.to_owned()),
        variables: std::env::vars().collect(),
        config_file: PathBuf::from("/nonexistent"),
        state_home: root.join(".spore/state"),
        credentials: spore_app::Credentials::default(),
        interrupt: Interrupt::default(),
        starter: None,
    }
}
