#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;

use proptest::prelude::*;
use serde_json::json;
use spore_model::{EventId, Timestamp};
use tempfile::TempDir;

use super::outbox::{FlushPhase, flush_until};
use super::*;
use crate::journal::Journal;
use crate::journal::contract::{at, event, full_run};
use crate::sqlite::SqliteJournal;

const DAY: &str = "2026-01-01";
const NEXT_DAY: &str = "2026-01-02";

fn spine() -> (TempDir, Spine) {
    let dir = tempfile::tempdir().unwrap();
    let spine = Spine::new(dir.path().join("events")).with_durability(Durability::Buffered);
    (dir, spine)
}

fn lines(numbers: impl IntoIterator<Item = u32>) -> Vec<String> {
    numbers.into_iter().map(|number| line_of(&event(number)).unwrap()).collect()
}

/// Writes bytes as a program does that knows nothing of locks and lines.
fn write_raw(spine: &Spine, day: &str, bytes: &[u8]) {
    fs::create_dir_all(&spine.dir).unwrap();
    let mut file = File::options().append(true).create(true).open(spine.path_of(day)).unwrap();
    file.write_all(bytes).unwrap();
}

/// What a reader says, one word an item: the event's number, or the problem at its place.
fn told(reader: &mut EventReader) -> Vec<String> {
    let word = |item: Result<(Event, Cursor), SpineProblem>| match item {
        Ok((event, _)) => event.payload["number"].to_string(),
        Err(SpineProblem { partition, offset, what }) => {
            let what = match what {
                Flaw::Torn => "torn".to_owned(),
                Flaw::Garbage(_) => "garbage".to_owned(),
                Flaw::Oversized(bytes) => format!("oversized {bytes}"),
                Flaw::Shrunk(bytes) => format!("shrunk {bytes}"),
                Flaw::Gone => "gone".to_owned(),
                Flaw::Unreadable(error) => error.to_string(),
            };
            format!("{what} at {partition}:{offset}")
        }
    };
    reader.map(word).collect()
}

#[track_caller]
fn check(spine: &Spine, from: &Cursor, expected: &[&str]) -> Cursor {
    let mut reader = spine.read_from(from);
    assert_eq!(told(&mut reader), expected);
    reader.cursor().clone()
}

fn cursor(partition: &str, offset: usize) -> Cursor {
    Cursor { partition: partition.into(), offset: offset as u64 }
}

#[test]
fn events_come_back_in_order_each_with_the_cursor_behind_it() {
    let (_dir, spine) = spine();
    check(&spine, &Cursor::default(), &[]);
    spine.append(DAY, &lines([1, 2])).unwrap();
    spine.append(NEXT_DAY, &lines([3])).unwrap();
    let read: Vec<_> = spine.read_from(&Cursor::default()).map(Result::unwrap).collect();
    let length = lines([1])[0].len() + 1;
    let expected = [
        (event(1), cursor(DAY, length)),
        (event(2), cursor(DAY, 2 * length)),
        (event(3), cursor(NEXT_DAY, length)),
    ];
    assert_eq!(read, expected);
    check(&spine, &cursor(DAY, length), &["2", "3"]);
    check(&spine, &cursor(NEXT_DAY, length), &[]);
}

#[test]
fn a_cursor_survives_json() {
    let here = cursor(DAY, 17);
    let text = serde_json::to_string(&here).unwrap();
    assert_eq!(text, r#"{"partition":"2026-01-01","offset":17}"#);
    assert_eq!(serde_json::from_str::<Cursor>(&text).unwrap(), here);
}

#[test]
fn a_line_goes_to_the_newest_partition_whatever_the_clock_says() {
    let (_dir, spine) = spine();
    spine.append(NEXT_DAY, &lines([1])).unwrap();
    spine.append(DAY, &lines([2])).unwrap();
    assert_eq!(spine.partitions().unwrap(), [NEXT_DAY]);
    check(&spine, &Cursor::default(), &["1", "2"]);
}

#[test]
fn what_is_no_line_or_no_day_is_not_written() {
    let (_dir, spine) = spine();
    for bad in ["a\nb".to_owned(), "x".repeat(MAX_LINE_BYTES + 1)] {
        let refused = spine.append(DAY, &["{}".to_owned(), bad]);
        assert!(matches!(refused, Err(SpineError::BadLine { .. })));
    }
    for bad in ["", "2026-1-1", "../../etc/x", "2026-01-011"] {
        let refused = spine.append(bad, &lines([1]));
        assert!(matches!(refused, Err(SpineError::BadDay { .. })), "{bad}");
    }
    assert_eq!(spine.partitions().unwrap(), Vec::<String>::new());
}

#[test]
fn an_unfinished_line_is_left_alone_until_it_is_finished() {
    let (_dir, spine) = spine();
    spine.append(DAY, &lines([1])).unwrap();
    let length = lines([1])[0].len() + 1;
    let line = lines([2]).remove(0);
    let mut reader = spine.read_from(&Cursor::default());
    for part in [&line[..10], &line[10..]] {
        write_raw(&spine, DAY, part.as_bytes());
        told(&mut reader);
        assert_eq!(*reader.cursor(), cursor(DAY, length));
    }
    write_raw(&spine, DAY, b"\n");
    assert_eq!(told(&mut reader), ["2"]);
}

#[test]
fn the_next_append_closes_a_torn_line() {
    let (_dir, spine) = spine();
    write_raw(&spine, DAY, br#"{"id":"0000"#);
    spine.append(DAY, &lines([1])).unwrap();
    check(&spine, &Cursor::default(), &["garbage at 2026-01-01:0", "1"]);
}

#[test]
fn the_last_line_of_a_closed_partition_is_judged_without_its_newline() {
    let (_dir, spine) = spine();
    write_raw(&spine, "2025-12-30", lines([1])[0].as_bytes());
    write_raw(&spine, "2025-12-31", br#"{"id":"0000"#);
    spine.append(DAY, &lines([2])).unwrap();
    check(&spine, &Cursor::default(), &["1", "torn at 2025-12-31:0", "2"]);
}

#[test]
fn garbage_is_reported_and_passed_over() {
    let (_dir, spine) = spine();
    write_raw(&spine, DAY, b"\n  \nhello\n\xff\xfe\x00\n{\"id\":1}\n[]\n");
    spine.append(DAY, &lines([1])).unwrap();
    let at = |offset| format!("garbage at {DAY}:{offset}");
    let expected = [at(4), at(10), at(14), at(23)];
    let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    expected.push("1");
    check(&spine, &Cursor::default(), &expected);
}

#[test]
fn a_huge_line_is_passed_over_without_being_kept() {
    let (_dir, spine) = spine();
    let huge = vec![b'x'; 3 * MAX_LINE_BYTES];
    write_raw(&spine, DAY, &huge);
    let before = check(&spine, &Cursor::default(), &[]);
    assert_eq!(before, cursor(DAY, 0));
    spine.append(DAY, &lines([1])).unwrap();
    let problem = format!("oversized {} at {DAY}:0", huge.len());
    check(&spine, &before, &[&problem, "1"]);
    let exact = Event { kind: String::new(), payload: json!(null), ..event(2) };
    let room = MAX_LINE_BYTES - line_of(&exact).unwrap().len();
    let exact = Event { kind: "k".repeat(room), ..exact };
    spine.append(DAY, &[line_of(&exact).unwrap()]).unwrap();
    let last = spine.read_from(&before).last().unwrap().unwrap().0;
    assert_eq!(last.kind.len(), room);
}

#[test]
fn a_second_event_with_the_same_id_is_dropped() {
    let (_dir, spine) = spine();
    spine.append(DAY, &lines([1, 2, 1])).unwrap();
    spine.append(NEXT_DAY, &lines([2, 3])).unwrap();
    check(&spine, &Cursor::default(), &["1", "2", "3"]);
}

#[test]
fn a_cursor_into_a_file_that_changed_is_a_problem_not_an_end() {
    let (_dir, spine) = spine();
    spine.append(DAY, &lines([1])).unwrap();
    spine.append(NEXT_DAY, &lines([2])).unwrap();
    let length = lines([1])[0].len() + 1;
    let shrunk = format!("shrunk {length} at {DAY}:9999");
    check(&spine, &cursor(DAY, 9999), &[&shrunk, "2"]);
    check(&spine, &cursor("2025-12-31", 5), &["gone at 2025-12-31:5", "1", "2"]);
    check(&spine, &cursor("2025-12-31", 0), &["1", "2"]);
    check(&spine, &cursor("../../etc/passwd", 0), &["1", "2"]);
    check(&spine, &cursor(DAY, 3), &["garbage at 2026-01-01:3", "2"]);
}

#[test]
fn eight_writers_at_once_tear_no_line() {
    let (_dir, spine) = spine();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let spine = &spine;
            scope.spawn(move || {
                for batch in 0..50 {
                    let first = thread * 1000 + batch * 10;
                    spine.append(DAY, &lines(first..first + 10)).unwrap();
                }
            });
        }
    });
    let numbers: Vec<u64> = spine
        .read_from(&Cursor::default())
        .map(|item| item.unwrap().0.payload["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers.len(), 8 * 50 * 10);
    let together = |batch: &[u64]| batch.windows(2).all(|pair| pair[1] == pair[0] + 1);
    assert!(numbers.chunks(10).all(together));
}

#[test]
fn a_reader_that_follows_misses_nothing_across_midnight() {
    let (_dir, spine) = spine();
    let total = 2_000;
    let seen = std::thread::scope(|scope| {
        for thread in 0..2 {
            let spine = &spine;
            scope.spawn(move || {
                for number in 0..total / 2 {
                    // The two clocks disagree about when the day ends.
                    let day = if number < 300 + thread * 200 { DAY } else { NEXT_DAY };
                    spine.append(day, &lines([thread * total + number])).unwrap();
                }
            });
        }
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        let mut reader = spine.read_from(&Cursor::default());
        let mut seen = 0;
        while seen < total && std::time::Instant::now() < deadline {
            seen += u32::try_from(reader.by_ref().map(Result::unwrap).count()).unwrap();
        }
        seen
    });
    assert_eq!(seen, total);
}

/// A journal with events that wait, and the spine they are to go to.
fn outbox(numbers: impl IntoIterator<Item = u32>) -> (TempDir, Spine, SqliteJournal) {
    let (dir, spine) = spine();
    let journal = SqliteJournal::open(&dir.path().join("spore.db")).unwrap();
    let events: Vec<Event> = numbers.into_iter().map(event).collect();
    journal.create_run(&full_run(1, None), &events).unwrap();
    (dir, spine, journal)
}

/// How often each event stands in the files, without the reader's deduplication.
fn copies(spine: &Spine) -> BTreeMap<EventId, usize> {
    let mut copies = BTreeMap::new();
    for day in spine.partitions().unwrap() {
        let bytes = fs::read(spine.path_of(&day)).unwrap();
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(event) = serde_json::from_slice::<Event>(line) {
                *copies.entry(event.id).or_insert(0) += 1;
            }
        }
    }
    copies
}

#[track_caller]
fn assert_each_once(spine: &Spine, journal: &dyn Journal, numbers: &[u32]) {
    let once = numbers.iter().map(|number| (event(*number).id, 1)).collect();
    assert_eq!(copies(spine), once);
    assert_eq!(journal.pending_events().unwrap(), []);
    assert_eq!(journal.flush_intent().unwrap(), None);
}

#[test]
fn a_flush_moves_everything_in_order_and_an_idle_one_nothing() {
    let (_dir, spine, journal) = outbox(1..=3_000);
    assert_eq!(flush(&journal, &spine, at(0)).unwrap(), 3_000);
    assert_eq!(flush(&journal, &spine, at(0)).unwrap(), 0);
    let expected: Vec<Event> = (1..=3_000).map(event).collect();
    let read: Vec<Event> =
        spine.read_from(&Cursor::default()).map(|item| item.unwrap().0).collect();
    assert!(read == expected);
    assert_eq!(spine.partitions().unwrap(), [at(0).day()]);
    assert_each_once(&spine, &journal, &(1..=3_000).collect::<Vec<_>>());
}

#[test]
fn a_flush_that_dies_anywhere_leaves_every_event_on_the_spine_once() {
    let phases = [
        FlushPhase::Locked,
        FlushPhase::Recovered,
        FlushPhase::IntentRecorded,
        FlushPhase::Appended,
        FlushPhase::Marked,
    ];
    let tomorrow = Timestamp::from_millis(at(0).as_millis() + 86_400_000);
    for first in phases {
        for second in phases {
            for now in [at(0), tomorrow] {
                let (_dir, spine, journal) = outbox(1..=3);
                let die = |at_phase| {
                    move |phase| match phase == at_phase {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                };
                flush_until(&journal, &spine, at(0), &mut die(first)).unwrap();
                spine.append(&at(0).day(), &lines([50])).unwrap();
                journal
                    .update_run(full_run(1, None).id, &crate::RunChange::default(), &[event(4)])
                    .unwrap();
                flush_until(&journal, &spine, now, &mut die(second)).unwrap();
                flush(&journal, &spine, now).unwrap();
                assert_each_once(&spine, &journal, &[1, 2, 3, 4, 50]);
            }
        }
    }
}

#[test]
fn an_append_cut_short_at_any_byte_is_made_good() {
    let text = lines([1, 2]).join("\n") + "\n";
    let (_journal_dir, _, journal) = outbox([]);
    for cut in 0..=text.len() {
        for between in [&[][..], &[50]] {
            let (_dir, spine) = spine();
            let run = full_run(1, None).id;
            let events = [1, 2].map(event);
            journal.update_run(run, &crate::RunChange::default(), &events).unwrap();
            let die = &mut |phase| match phase {
                FlushPhase::IntentRecorded => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            };
            flush_until(&journal, &spine, at(0), die).unwrap();
            write_raw(&spine, DAY, &text.as_bytes()[..cut]);
            spine.append(NEXT_DAY, &lines(between.iter().copied())).unwrap();
            flush(&journal, &spine, at(0)).unwrap();
            let expected: Vec<u32> = [1, 2].iter().chain(between).copied().collect();
            assert_each_once(&spine, &journal, &expected);
        }
    }
}

#[test]
fn an_append_that_fails_keeps_the_events_waiting() {
    let (_dir, spine, journal) = outbox(1..=2);
    fs::create_dir_all(spine.path_of(&at(0).day())).unwrap();
    assert!(matches!(flush(&journal, &spine, at(0)), Err(FlushError::Spine(_))));
    assert_eq!(journal.pending_events().unwrap().len(), 2);
    fs::remove_dir(spine.path_of(&at(0).day())).unwrap();
    assert_eq!(flush(&journal, &spine, at(0)).unwrap(), 2);
    assert_each_once(&spine, &journal, &[1, 2]);
}

#[test]
fn flushes_at_once_share_the_work() {
    let (dir, spine, journal) = outbox(1..=500);
    let path = dir.path().join("spore.db");
    let flushed: usize = std::thread::scope(|scope| {
        let flusher = || {
            let journal = SqliteJournal::open(&path).unwrap();
            flush(&journal, &spine, at(0)).unwrap()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(flusher)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(flushed, 500);
    assert_each_once(&spine, &journal, &(1..=500).collect::<Vec<_>>());
}

#[derive(Clone, Debug)]
enum Deed {
    Append { later: bool, events: u32 },
    Tear(usize),
    Read(usize),
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        (any::<bool>(), 0..4_u32).prop_map(|(later, events)| Deed::Append { later, events }),
        (1..60_usize).prop_map(Deed::Tear),
        (0..5_usize).prop_map(Deed::Read),
    ];
    proptest::collection::vec(deed, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// However reading is cut into pieces by cursors and mixed with writing, the pieces
    /// together are what one reader sees in the end.
    #[test]
    fn reading_in_pieces_equals_reading_whole(deeds in deeds()) {
        let (_dir, spine) = spine();
        let (mut cursor, mut pieces, mut number) = (Cursor::default(), Vec::new(), 0);
        for deed in deeds {
            match deed {
                Deed::Append { later, events } => {
                    let day = if later { NEXT_DAY } else { DAY };
                    spine.append(day, &lines(number..number + events)).unwrap();
                    number += events;
                }
                Deed::Tear(length) => {
                    let partition = spine.newest(DAY).unwrap();
                    let line = line_of(&event(9_999)).unwrap();
                    write_raw(&spine, &partition, &line.as_bytes()[..length.min(line.len() - 1)]);
                }
                Deed::Read(count) => {
                    let mut reader = spine.read_from(&cursor);
                    for item in reader.by_ref().take(count) {
                        pieces.extend(item.ok().map(|(event, _)| event.id));
                    }
                    cursor = reader.cursor().clone();
                }
            }
        }
        pieces.extend(spine.read_from(&cursor).flatten().map(|(event, _)| event.id));
        let whole: Vec<EventId> =
            spine.read_from(&Cursor::default()).flatten().map(|(event, _)| event.id).collect();
        prop_assert_eq!(&pieces, &whole);
        prop_assert_eq!(whole.len(), number as usize);
    }
}
