//! A log of events with what each must be taken for, held against what the rules make of it.
//!
//! `labelled/unseen.jsonl` was written and labelled from the definitions alone, before the rules
//! were; `labelled/seen.jsonl` with sight of them, to cover what they claim. The phrases were
//! written by the same hand as the log, so neither half says how they do on other people's words.
//! Each line has a
//! session, a kind, a type, words or tools, and what it is: a `correction` (of a line, or of
//! none), an `instruction`, a `preference`, `helped` (a line), `ambiguous` (no rule may decide),
//! `nothing`, `internal`, `unscannable`.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use spore_memory::evidence::Trajectory;
use spore_memory::fragment::Fragment;
use spore_memory::known::KnownFragments;
use spore_memory::lines::LineMap;
use spore_memory::reading::recalled::Recalled;
use spore_memory::reading::turns::Turns;
use spore_memory::rules::ToldByRun;
use spore_memory::scan::{ScanTask, Scanned, scan};
use spore_store::spine::{Cursor, Spine};

const FILES: [(&str, &str); 2] = [
    ("unseen", include_str!("labelled/unseen.jsonl")),
    ("seen", include_str!("labelled/seen.jsonl")),
];
const LINES: &str = include_str!("labelled/lines.md");

/// One labelled event.
struct Labelled {
    id: String,
    event: Value,
    want: String,
    line: Option<usize>,
}

fn labelled(name: &str, text: &str) -> Vec<Labelled> {
    let read = |(at, line): (usize, &str)| {
        let given: Value = serde_json::from_str(line).unwrap();
        let mut payload = json!({});
        for key in ["text", "tools", "diff", "task", "role"] {
            if !given[key].is_null() {
                payload[key] = given[key].clone();
            }
        }
        let id = format!("{name}-{at:04}");
        let event = json!({
            "id": id,
            "ts": format!("2026-01-01T{:02}:{:02}:{:02}.000Z", at / 3600, at / 60 % 60, at % 60),
            "source": { "kind": given["kind"], "name": "test", "own": given["kind"] == "runner" },
            "type": given["type"],
            "session_key": given["s"],
            "payload": payload,
        });
        let line = given["line"].as_u64().map(|line| usize::try_from(line).unwrap() - 1);
        Labelled { id, event, want: given["want"].as_str().unwrap().to_owned(), line }
    };
    text.lines().enumerate().map(read).collect()
}

/// Puts the events of a log on a spine, one day's file for each so many.
fn spine(dir: &Path, log: &[Labelled], per_day: usize) {
    for (day, events) in log.chunks(per_day).enumerate() {
        let lines: Vec<String> = events.iter().map(|one| format!("{}\n", one.event)).collect();
        fs::write(dir.join(format!("2026-01-{:02}.jsonl", day + 1)), lines.concat()).unwrap();
    }
}

fn scan_from(
    dir: &Path,
    map: &LineMap,
    from: &Cursor,
    known: &KnownFragments,
    turns: &Turns,
    most: usize,
) -> Scanned {
    let task = ScanTask {
        map,
        known,
        in_ledger: &HashSet::new(),
        named: &[],
        coverage: false,
        most,
        pending_per_line: 500,
        carried: &|_| ToldByRun::default(),
        turns,
        recalled: &Recalled::default(),
        stop: &|| false,
    };
    scan(&mut Spine::new(dir).read_from(from), &task).unwrap()
}

fn scan_all(dir: &Path, map: &LineMap) -> Scanned {
    scan_from(dir, map, &Cursor::default(), &KnownFragments::default(), &Turns::default(), 9999)
}

/// What a fragment claims, in the words of the labels.
fn claim(fragment: &Fragment, map: &LineMap) -> (String, Option<usize>) {
    let line = fragment
        .line
        .as_ref()
        .map(|at| map.lines().iter().position(|line| line.hash == at.hash).unwrap());
    let word = match fragment.trajectory {
        Trajectory::Weakening => "correction".to_owned(),
        Trajectory::Strengthening => "helped".to_owned(),
        Trajectory::NewSignal => fragment.signal.to_string(),
        Trajectory::Neutral => "waiting".to_owned(),
    };
    (word, line)
}

#[test]
fn the_rules_label_as_people_do() {
    for (name, text) in FILES {
        let log = labelled(name, text);
        let dir = tempfile::tempdir().unwrap();
        spine(dir.path(), &log, 60);
        let map = LineMap::read(LINES);
        let scanned = scan_all(dir.path(), &map);
        // The gate is perfect.
        let count = |want: &str| log.iter().filter(|one| one.want == want).count() as u64;
        assert_eq!(scanned.rejected.values().sum::<u64>(), count("internal"), "{name}");
        assert_eq!(scanned.unscannable, count("unscannable"), "{name}");
        let inside: HashSet<&str> = log
            .iter()
            .filter(|one| matches!(one.want.as_str(), "internal" | "unscannable"))
            .map(|one| one.id.as_str())
            .collect();
        assert!(scanned.fragments.iter().all(|one| !inside.contains(one.event.as_str())));
        // What the rules claim is so, and of corrections and instructions they find half.
        let by_id: BTreeMap<&str, &Labelled> =
            log.iter().map(|one| (one.id.as_str(), one)).collect();
        let mut right: BTreeMap<String, u32> = BTreeMap::new();
        let mut wrong = Vec::new();
        for fragment in &scanned.fragments {
            let one = by_id[fragment.event.as_str()];
            let (word, line) = claim(fragment, &map);
            if one.want == word && one.line == line {
                *right.entry(word).or_default() += 1;
            } else {
                wrong.push(format!(
                    "{word} {line:?} for {} {:?}: {}",
                    one.want, one.line, one.event["payload"]
                ));
            }
        }
        let correct: u32 = right.values().sum();
        let precision = f64::from(correct) / scanned.fragments.len() as f64;
        println!(
            "{name}: {} events, {} labels, precision {precision:.3}",
            log.len(),
            scanned.fragments.len()
        );
        for want in ["correction", "instruction", "preference", "helped"] {
            let found = right.get(want).copied().unwrap_or(0);
            let recall = f64::from(found) / count(want) as f64;
            println!("{name}: {want}: {found} of {}, recall {recall:.2}", count(want));
            let least = if matches!(want, "correction" | "instruction") { 0.5 } else { 0.0 };
            assert!(recall >= least, "{name}: {want}");
        }
        wrong.iter().for_each(|wrong| println!("{name}: wrong: {wrong}"));
        assert!(precision >= 0.95, "{name}: {wrong:#?}");
    }
}

fn names(scanned: &Scanned) -> Vec<String> {
    scanned.fragments.iter().map(Fragment::name).collect()
}

#[test]
fn scanning_the_log_again_finds_nothing_new() {
    let log: Vec<Labelled> = FILES.iter().flat_map(|(name, text)| labelled(name, text)).collect();
    assert!(log.len() >= 300, "{}", log.len());
    let dir = tempfile::tempdir().unwrap();
    spine(dir.path(), &log, 60);
    let map = LineMap::read(LINES);
    let first = scan_all(dir.path(), &map);
    let known = KnownFragments::of(names(&first));
    let again = scan_from(dir.path(), &map, &Cursor::default(), &known, &Turns::default(), 9999);
    assert_eq!(names(&again), [] as [String; 0]);
    assert_eq!(again.repeated, first.fragments.len() as u64);
}

#[test]
fn where_a_scan_was_cut_decides_nothing() {
    let log: Vec<Labelled> = FILES.iter().flat_map(|(name, text)| labelled(name, text)).collect();
    let dir = tempfile::tempdir().unwrap();
    spine(dir.path(), &log, 60);
    let map = LineMap::read(LINES);
    let whole = names(&scan_all(dir.path(), &map));
    for most in [3, 20] {
        let (mut cut, mut from, mut turns) = (Vec::new(), Cursor::default(), Turns::default());
        loop {
            let known = KnownFragments::of(cut.clone());
            let part = scan_from(dir.path(), &map, &from, &known, &turns, most);
            cut.extend(names(&part));
            from = part.to;
            turns = Turns::read(&part.turns.render());
            if !part.full {
                break;
            }
        }
        assert_eq!(cut, whole, "at most {most}");
    }
}

#[test]
fn other_files_of_the_same_events_and_moved_lines_change_nothing() {
    let log: Vec<Labelled> = FILES.iter().flat_map(|(name, text)| labelled(name, text)).collect();
    let map = LineMap::read(LINES);
    let mut all = Vec::new();
    for per_day in [1000, 60, 13] {
        let dir = tempfile::tempdir().unwrap();
        spine(dir.path(), &log, per_day);
        all.push(names(&scan_all(dir.path(), &map)));
    }
    let dir = tempfile::tempdir().unwrap();
    spine(dir.path(), &log, 60);
    let mut moved: Vec<&str> = LINES.lines().filter(|line| line.starts_with("- ")).collect();
    moved.rotate_left(3);
    let moved = LineMap::read(&format!("# Elsewhere\n\n{}\n", moved.join("\n")));
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let first = sorted(all[0].clone());
    all.push(names(&scan_all(dir.path(), &moved)));
    for names in all {
        assert_eq!(sorted(names), first);
    }
}
