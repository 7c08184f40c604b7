//! How often a call is resolved to what it means, on small projects in which every call was
//! labelled by hand.
//!
//! `labelled/<language>/` is a project, `labelled/<language>.labels` has one line for each of
//! its calls: `path:line name -> path::Qualified::Name`, or `-` for something outside of the
//! project. A call without a label fails the test, so nothing is left out because it is hard.
//! `SHOW_CALLS=1` prints every call with its answer.

#![expect(clippy::disallowed_methods, reason = "a test has the machine's environment")]
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a fixture that cannot be read has failed; calls are printed on demand"
)]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use spore_index::{
    CandidateItem, FileFacts, Language, Namesakes, ReferenceKind, ReferenceSite, SURE, read,
    resolve,
};

/// A project as an index sees it: the facts of its files, and its definitions by name.
struct Project {
    files: Vec<(String, FileFacts)>,
}

impl Project {
    fn read(root: &Path) -> Self {
        let mut paths = Vec::new();
        collect(root, &mut paths);
        paths.sort();
        let files = paths.iter().filter_map(|file| {
            let path = file.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let language = Language::of_path(&path)?;
            let facts = read(&path, &fs::read_to_string(file).unwrap(), language);
            Some((path, facts))
        });
        Self { files: files.collect() }
    }

    fn namesakes(&self) -> HashMap<&str, Namesakes<'_>> {
        let mut by_name: HashMap<&str, Vec<CandidateItem<'_>>> = HashMap::new();
        for (path, facts) in &self.files {
            for item in &facts.items {
                by_name.entry(&item.name).or_default().push(CandidateItem {
                    path,
                    package: facts.package.as_deref(),
                    kind: item.kind,
                    qualified: &item.qualified,
                    visibility: item.visibility,
                });
            }
        }
        by_name.into_iter().map(|(name, found)| (name, Namesakes::new(found))).collect()
    }

    /// Returns what each call means: by its place and name, the surest answer.
    fn calls(&self) -> BTreeMap<(String, u32, String), Option<(String, f64)>> {
        let namesakes = self.namesakes();
        let mut calls = BTreeMap::new();
        for (path, facts) in &self.files {
            let site = ReferenceSite { path, facts };
            for reference in &facts.references {
                if !matches!(reference.kind, ReferenceKind::Call | ReferenceKind::Macro) {
                    continue;
                }
                let answer = namesakes.get(reference.name.as_str()).and_then(|namesakes| {
                    let surest = resolve(site, reference, namesakes).into_iter().next()?;
                    let meant = namesakes.candidates()[surest.candidate];
                    let target = format!("{}::{}", meant.path, meant.qualified);
                    Some((target, surest.confidence))
                });
                let key = (path.clone(), reference.line, reference.name.clone());
                calls.insert(key, answer);
            }
        }
        calls
    }
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect(&path, paths) } else { paths.push(path) }
    }
}

fn labels(text: &str) -> BTreeMap<(String, u32, String), Option<String>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parsed = lines.map(|line| {
        let (place, target) = line.split_once(" -> ").unwrap();
        let (place, name) = place.rsplit_once(' ').unwrap();
        let (path, number) = place.rsplit_once(':').unwrap();
        let key = (path.to_owned(), number.parse().unwrap(), name.to_owned());
        (key, Some(target.to_owned()).filter(|target| target != "-"))
    });
    parsed.collect()
}

/// What a comparison of answers with labels counts.
#[derive(Default)]
struct Score {
    calls: usize,
    inside: usize,
    sure: usize,
    sure_and_right: usize,
    answered: usize,
    answered_right: usize,
    mistakes: String,
}

fn score(root: &Path, labels_of: &str) -> Score {
    let calls = Project::read(root).calls();
    let labels = labels(labels_of);
    let mut score = Score { calls: labels.len(), ..Score::default() };
    for key in calls.keys().filter(|key| !labels.contains_key(*key)) {
        writeln!(score.mistakes, "no label: {}:{} {}", key.0, key.1, key.2).unwrap();
    }
    assert!(score.mistakes.is_empty(), "{}", score.mistakes);
    for (key, label) in &labels {
        score.inside += usize::from(label.is_some());
        let Some((target, confidence)) = calls.get(key).cloned().flatten() else { continue };
        let is_right = label.as_ref() == Some(&target);
        score.answered += 1;
        score.answered_right += usize::from(is_right);
        if confidence >= SURE {
            score.sure += 1;
            score.sure_and_right += usize::from(is_right);
        }
        if !is_right {
            let meant = label.as_deref().unwrap_or("-");
            let (path, line, name) = key;
            writeln!(
                score.mistakes,
                "{path}:{line} {name} is {meant}, not {target} ({confidence})"
            )
            .unwrap();
        }
    }
    score
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/labelled")
}

fn check(language: &str) -> String {
    let root = fixtures().join(language);
    let text = fs::read_to_string(fixtures().join(format!("{language}.labels"))).unwrap();
    if std::env::var_os("SHOW_CALLS").is_some() {
        for ((path, line, name), answer) in Project::read(&root).calls() {
            let target = answer.as_ref().map_or("-", |(target, _)| target);
            let sure = answer.as_ref().map_or(0.0, |(_, sure)| *sure);
            println!("{path}:{line} {name} -> {target}\t{sure:.2}");
        }
    }
    let score = score(&root, &text);
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole as f64;
    let precision = share(score.sure_and_right, score.sure);
    assert!(score.calls >= 50, "{} calls are labelled", score.calls);
    assert!(precision >= 95.0, "precision {precision:.1} %\n{}", score.mistakes);
    format!(
        "{} calls, {} of them inside\nsure: {} of {} right ({:.1} %), {:.1} % of those inside\n\
         all answers: {} of {} right, {:.1} % of those inside\n{}",
        score.calls,
        score.inside,
        score.sure_and_right,
        score.sure,
        precision,
        share(score.sure_and_right, score.inside),
        score.answered_right,
        score.answered,
        share(score.answered_right, score.inside),
        score.mistakes,
    )
}

#[test]
fn calls_of_rust_are_resolved() {
    insta::assert_snapshot!(check("rust"));
}

#[test]
fn calls_of_python_are_resolved() {
    insta::assert_snapshot!(check("python"));
}

#[test]
fn calls_of_typescript_and_javascript_are_resolved() {
    insta::assert_snapshot!(check("typescript"));
}

#[test]
fn calls_of_go_are_resolved() {
    insta::assert_snapshot!(check("go"));
}
