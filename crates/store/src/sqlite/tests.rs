#![expect(clippy::disallowed_methods, reason = "a test has the machine's time")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use spore_model::EffectClass;
use tempfile::TempDir;

use super::*;
use crate::journal::contract::{
    SUITE, at, bill, entry, event, full_run, kept_sums_hold, key, run_id,
};
use crate::journal::{Journal, RunChange, StepEntry};

fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("spore.db");
    (dir, path)
}

#[test]
fn sqlite_keeps_the_journals_contract() {
    for (name, check) in SUITE {
        let (_dir, path) = place();
        let journal = SqliteJournal::open(&path).unwrap();
        let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&journal)));
        assert!(held.is_ok(), "{name}");
    }
}

#[test]
fn what_was_written_is_there_after_opening_again() {
    let (_dir, path) = place();
    SqliteJournal::open(&path).unwrap().create_run(&full_run(1, None), &[event(1)]).unwrap();
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(journal.run(run_id(1)).unwrap(), Some(full_run(1, None)));
    assert_eq!(journal.pending_events().unwrap(), [event(1)]);
}

#[test]
fn a_journal_is_durable_checked_and_in_wal_mode_each_time_it_is_opened() {
    let (_dir, path) = place();
    for _ in 0..2 {
        let journal = SqliteJournal::open(&path).unwrap();
        let setting = |name: &str| {
            let read = |connection: &Connection| {
                connection
                    .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            };
            format!("{:?}", journal.read(read).unwrap())
        };
        assert_eq!(setting("journal_mode"), "Text(\"wal\")");
        assert_eq!(setting("synchronous"), "Integer(2)");
        assert_eq!(setting("foreign_keys"), "Integer(1)");
    }
}

/// Makes a file of an older version, with a row in every table that it had.
fn make_version(path: &Path, version: u32) {
    let connection = Connection::open(path).unwrap();
    for (number, sql) in (1..=version).zip(migrations::MIGRATIONS) {
        migrations::apply(&connection, number, sql).unwrap();
    }
    connection
        .execute_batch(
            r#"INSERT INTO run VALUES ('00000000000000000000000001', NULL, 'trace', 'orchestrate',
                 'n', NULL, 1, 0, NULL, NULL, NULL, 'running', NULL, NULL, NULL, NULL, NULL, NULL,
                 5, NULL, 3, 1, 2, 3, 4, 5, 1, NULL, '{"a":1}');
             INSERT INTO step VALUES (1, '00000000000000000000000001', 'coder/1', 'paid', 2, '"i"',
                 NULL, 6, NULL);
             INSERT INTO run VALUES ('00000000000000000000000002', '00000000000000000000000001',
                 'trace', 'session', 'coder', NULL, 1, 1, 'coder', NULL, NULL, 'ended', 'success',
                 NULL, NULL, NULL, NULL, NULL, 5, 47, 3, 1, 2, 3, 4, 5, 1, NULL, 'null');
             INSERT INTO ledger (session, root, role, backend, model, turns, input_tokens,
                 output_tokens, cache_read_tokens, cache_write_tokens, cost_nanos, cost_estimated,
                 interrupted, booked)
             VALUES ('00000000000000000000000001', '00000000000000000000000001',
                 'coder', 'claude', NULL, 1, 1, 2, 3, 4, 5, 0, 0, 7),
                 ('00000000000000000000000002', '00000000000000000000000001',
                 'coder', 'claude', NULL, 1, 1, 2, 3, 4, 5, 0, 0, 8);
             INSERT INTO process VALUES ('aaaaaaaaaaaaaaaa', '00000000000000000000000001',
                 '00000000000000000000000001', 1, 2, 'boot', 8, NULL);
             INSERT INTO outbox VALUES (1, '00000000000000000000000009',
                 '{"id":"00000000000000000000000009","ts":"2026-01-01T00:00:00.000Z",
                   "source":{"kind":"system","name":"s"},"type":"t"}');
             INSERT INTO flush VALUES (1, '2026-01-01', 3);"#,
        )
        .unwrap();
}

fn schema(path: &Path) -> Vec<String> {
    let connection = Connection::open(path).unwrap();
    let mut select = connection
        .prepare("SELECT name || coalesce(sql, '') FROM sqlite_schema ORDER BY name")
        .unwrap();
    let names = select.query_map([], |row| row.get(0)).unwrap();
    names.collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_older_version_is_brought_up_to_date_with_its_rows() {
    let (_fresh_dir, fresh) = place();
    drop(SqliteJournal::open(&fresh).unwrap());
    for version in 1..=migrations::KNOWN {
        let (_dir, path) = place();
        make_version(&path, version);
        let journal = SqliteJournal::open(&path).unwrap();
        let root = "00000000000000000000000001".parse().unwrap();
        let run = journal.run(root).unwrap().unwrap();
        assert_eq!((run.turns, run.settings), (3, json!({ "a": 1 })), "from version {version}");
        assert_eq!(journal.steps(root).unwrap()[0].attempt, 2);
        let booked = journal.ledger(root).unwrap();
        assert_eq!(booked[0].booked.as_millis(), 7);
        // What a session took is read off its row; a file from this version on has it by itself.
        const WITH_TIMES: u32 = 5;
        let took = (version < WITH_TIMES).then_some(42);
        assert_eq!((booked[0].duration_ms, booked[1].duration_ms), (None, took));
        assert_eq!(booked[1].failure, None);
        kept_sums_hold(&journal);
        assert_eq!(journal.open_processes(root).unwrap()[0].start_ticks, 2);
        assert_eq!(journal.pending_events().unwrap().len(), 1);
        assert_eq!(journal.flush_intent().unwrap().unwrap().offset, 3);
        journal.cache("baseline", "tree", &json!(1), at(0)).unwrap();
        drop(journal);
        assert_eq!(schema(&path), schema(&fresh), "from version {version}");
        assert!(SqliteJournal::open(&path).is_ok());
    }
}

#[test]
fn an_older_version_is_not_read_before_it_is_brought_up_to_date() {
    let (_dir, path) = place();
    make_version(&path, 1);
    let known = migrations::KNOWN;
    let refused = SqliteJournal::open_read_only(&path).err().unwrap();
    assert!(matches!(refused, OpenError::Older { found: 1, known: k, .. } if k == known));
}

#[test]
fn a_newer_version_is_left_alone() {
    let (_dir, path) = place();
    drop(SqliteJournal::open(&path).unwrap());
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = std::fs::read(&path).unwrap();
    let refused = SqliteJournal::open(&path).err().unwrap();
    assert!(matches!(refused, OpenError::Newer { found: 99, .. }), "{refused:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    for sql in ["CREATE TABLE run (id)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"] {
        let (_dir, path) = place();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let before = std::fs::read(&path).unwrap();
        let refused = SqliteJournal::open(&path).err().unwrap();
        assert!(matches!(refused, OpenError::NotOurs { .. }), "{sql}: {refused:?}");
        assert_eq!(std::fs::read(&path).unwrap(), before, "{sql}");
    }
}

#[test]
fn a_file_that_is_no_database_is_corrupt() {
    for content in [b"not a database, and never was one".repeat(99), vec![0x53; 40]] {
        let (_dir, path) = place();
        std::fs::write(&path, &content).unwrap();
        let refused = SqliteJournal::open(&path).err().unwrap();
        assert!(matches!(refused, OpenError::Corrupt { .. }), "{refused:?}");
        assert_eq!(std::fs::read(&path).unwrap(), content);
    }
}

fn closed_journal(path: &Path) {
    let journal = SqliteJournal::open(path).unwrap();
    for number in 1..200 {
        let parent = (number > 1).then_some(1);
        journal.create_run(&full_run(number, parent), &[]).unwrap();
    }
}

#[test]
fn a_truncated_file_is_corrupt() {
    let (_dir, path) = place();
    closed_journal(&path);
    let whole = std::fs::metadata(&path).unwrap().len();
    for length in [whole - 4096, whole / 2, 4096, 1000] {
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let refused = SqliteJournal::open(&path).err().unwrap();
        assert!(matches!(refused, OpenError::Corrupt { .. }), "{length}: {refused:?}");
    }
}

#[test]
fn damage_inside_the_file_is_reported_when_it_is_met() {
    use std::os::unix::fs::FileExt;
    let (_dir, path) = place();
    drop(SqliteJournal::open(&path).unwrap());
    let without_rows = std::fs::metadata(&path).unwrap().len();
    closed_journal(&path);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    for page in without_rows / 4096..file.metadata().unwrap().len() / 4096 {
        file.write_all_at(&[0xff; 64], page * 4096).unwrap();
    }
    drop(file);
    let failed = SqliteJournal::open(&path).unwrap().runs(&crate::RunQuery::default());
    assert!(matches!(failed, Err(JournalError::Corrupt { .. })), "{failed:?}");
}

#[test]
fn a_word_that_nobody_knows_is_damage() {
    let (_dir, path) = place();
    closed_journal(&path);
    Connection::open(&path).unwrap().execute("UPDATE run SET state = 'odd'", []).unwrap();
    let failed = SqliteJournal::open(&path).unwrap().run(run_id(1));
    assert!(matches!(failed, Err(JournalError::Corrupt { .. })), "{failed:?}");
}

#[test]
fn a_reader_cannot_write_and_sees_what_the_writer_writes() {
    let (_dir, path) = place();
    let missing = SqliteJournal::open_read_only(&path).err().unwrap();
    assert!(matches!(missing, OpenError::Missing { .. }));
    let writer = SqliteJournal::open(&path).unwrap();
    let reader = SqliteJournal::open_read_only(&path).unwrap();
    writer.create_run(&full_run(1, None), &[]).unwrap();
    assert_eq!(reader.run(run_id(1)).unwrap(), Some(full_run(1, None)));
    let refused = reader.update_run(run_id(1), &RunChange::default(), &[]);
    assert!(matches!(refused, Err(JournalError::ReadOnly { .. })), "{refused:?}");
}

#[test]
fn a_write_protected_file_is_refused_when_it_is_opened() {
    let (_dir, path) = place();
    closed_journal(&path);
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    // To the superuser no file is write-protected, so nothing can be seen there.
    if std::fs::OpenOptions::new().write(true).open(&path).is_err() {
        let refused = SqliteJournal::open(&path).err().unwrap();
        assert!(matches!(refused, OpenError::ReadOnly { .. }), "{refused:?}");
    }
}

#[test]
fn a_place_that_cannot_hold_a_file_is_an_io_error() {
    let (dir, path) = place();
    for place in [path.join("below"), dir.path().to_owned()] {
        let refused = SqliteJournal::open(&place).err().unwrap();
        assert!(matches!(refused, OpenError::Io { .. }), "{refused:?}");
    }
}

#[test]
fn a_full_disk_is_told_apart_and_undoes_the_whole_write() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    journal.create_run(&full_run(1, None), &[]).unwrap();
    let limit = "PRAGMA max_page_count = 1";
    journal.read(|connection| connection.query_row(limit, [], |_| Ok(()))).unwrap();
    let large = RunChange { reason: Some("x".repeat(1 << 20)), ..RunChange::default() };
    let failed = journal.update_run(run_id(1), &large, &[event(1)]);
    assert!(matches!(failed, Err(JournalError::Full { .. })), "{failed:?}");
    assert_eq!(journal.run(run_id(1)).unwrap(), Some(full_run(1, None)));
    assert_eq!(journal.pending_events().unwrap(), []);
}

#[test]
fn a_writer_that_waits_too_long_is_told_who_is_to_blame() {
    let (_dir, path) = place();
    let holder = SqliteJournal::open(&path).unwrap();
    holder.create_run(&full_run(1, None), &[]).unwrap();
    let options = OpenOptions { busy_timeout: Duration::from_millis(20) };
    let journal = SqliteJournal::open_with(&path, &options).unwrap();
    let waited = holder.write(|_| Ok(journal.update_run(run_id(1), &RunChange::default(), &[])));
    assert!(matches!(waited.unwrap(), Err(JournalError::Busy { .. })));
    journal.update_run(run_id(1), &RunChange::default(), &[]).unwrap();
}

#[test]
fn many_processes_may_make_the_same_journal_at_once() {
    for _ in 0..10 {
        let (_dir, path) = place();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let journal = SqliteJournal::open(path).unwrap();
                    journal.create_run(&full_run(number, None), &[]).unwrap();
                });
            }
        });
        let journal = SqliteJournal::open(&path).unwrap();
        assert_eq!(journal.runs(&crate::RunQuery::default()).unwrap().len(), 8);
    }
}

#[test]
fn concurrent_writers_never_see_a_locked_database() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    journal.create_run(&full_run(1, None), &[]).unwrap();
    let numbers = Arc::new(AtomicU32::new(100));
    let end = Instant::now() + Duration::from_secs(10);
    let writer = &|thread: u32| {
        let journal = SqliteJournal::open(&path).unwrap();
        let mut written = 0_u32;
        while Instant::now() < end {
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            let step = key(&format!("{thread}/{written}"));
            let begun = journal
                .begin_step(run_id(1), &step, EffectClass::Paid, &json!(number), at(0))
                .unwrap();
            assert_eq!((begun.attempt, begun.intent), (1, json!(number)));
            let whole = StepEntry {
                new_runs: vec![full_run(number, Some(1))],
                ledger: vec![bill(number, 1)],
                events: vec![event(number)],
                ..entry(json!({ "thread": thread }))
            };
            journal.finish_step(run_id(1), &step, 1, &whole).unwrap();
            assert_eq!(journal.run(run_id(number)).unwrap().unwrap().id, run_id(number));
            written += 1;
        }
        written
    };
    let written: Vec<u32> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || writer(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(written.iter().all(|count| *count > 0), "{written:?}");
    let total = written.iter().sum::<u32>() as usize;
    assert_eq!(journal.children(run_id(1)).unwrap().len(), total);
    assert_eq!(journal.ledger(run_id(1)).unwrap().len(), total);
    assert_eq!(journal.pending_events().unwrap().len(), total);
    let unfinished = journal.steps(run_id(1)).unwrap();
    assert!(unfinished.iter().all(|step| step.result.is_some()));
}

#[test]
fn opening_a_journal_that_is_up_to_date_writes_nothing() {
    let (dir, path) = place();
    closed_journal(&path);
    let state = || {
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        (std::fs::read(&path).unwrap(), modified)
    };
    let before = state();
    let journal = SqliteJournal::open(&path).unwrap();
    let log = std::fs::metadata(dir.path().join("spore.db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0);
    drop(journal);
    assert!(state() == before);
}

#[test]
fn a_file_that_was_cut_at_any_length_is_refused_and_left_alone() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    journal.create_run(&full_run(1, None), &[event(1)]).unwrap();
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    let pages = (0..whole.len()).step_by(4096);
    let lengths = pages.flat_map(|at| [at, at + 1, at + 511, at + 512, at + 4095]);
    for length in lengths.chain([15, 16, 17, 99, 100, 101, whole.len() - 1]) {
        std::fs::write(&path, &whole[..length]).unwrap();
        let opened = SqliteJournal::open(&path).map(|_| ());
        let is_refused = |opened: &Result<(), OpenError>| {
            matches!(opened, Err(OpenError::Empty { .. } | OpenError::Corrupt { .. }))
        };
        // A page that is cut in its middle is missed when it is read, not when the file is opened.
        let is_seen_later = length > whole.len() - 4096;
        assert!(is_refused(&opened) || is_seen_later, "{length}: {opened:?}");
        let looked_at = SqliteJournal::open_read_only(&path).map(|_| ());
        assert!(is_refused(&looked_at) || is_seen_later, "{length}: {looked_at:?}");
        assert_eq!(std::fs::read(&path).unwrap().len(), length);
    }
}

#[test]
fn a_file_that_was_emptied_does_not_take_the_log_beside_it_along() {
    let (_dir, path) = place();
    let journal = SqliteJournal::open(&path).unwrap();
    journal.create_run(&full_run(1, None), &[]).unwrap();
    let log = path.with_extension("db-wal");
    let written = std::fs::read(&log).unwrap();
    assert!(!written.is_empty());
    // As it is after a crash: the log is there, and no connection is.
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("spore.db");
    let log = place.path().join("spore.db-wal");
    std::fs::write(&path, "").unwrap();
    std::fs::write(&log, &written).unwrap();
    for _ in 0..2 {
        assert!(matches!(SqliteJournal::open(&path), Err(OpenError::Empty { .. })));
        assert!(matches!(SqliteKnowledge::open(&path), Err(OpenError::Empty { .. })));
        assert!(matches!(SqliteJournal::open_read_only(&path), Err(OpenError::Empty { .. })));
    }
    assert_eq!(std::fs::read(&log).unwrap(), written);
}

#[test]
fn a_new_file_leaves_nothing_else_behind() {
    let (dir, path) = place();
    drop(SqliteJournal::open(&path).unwrap());
    let names: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["spore.db"]);
}
