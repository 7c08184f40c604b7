use std::cell::RefCell;

use super::*;

/// A user's file, a session's home, and the records of both.
struct Sides {
    dir: tempfile::TempDir,
    copies: RefCell<Option<SessionCopies>>,
}

const SESSION: &str = "home/state/session";

fn places() -> TokenPlaces {
    let name = |text: &str| text.to_owned();
    TokenPlaces::of(&AgentState {
        access_token: name("a"),
        refresh_token: name("r"),
        expires: name("e"),
        ..AgentState::default()
    })
    .unwrap()
}

/// Tokens of one age.
fn tokens(number: u32) -> String {
    format!(r#"{{"a":"a{number}","e":{number},"r":"r{number}"}}"#)
}

impl Sides {
    fn new(is_whole: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("home")).unwrap();
        let sides = Self { dir, copies: RefCell::default() };
        std::fs::create_dir(sides.records().dir()).unwrap();
        sides.write("user", &tokens(1));
        sides.give(is_whole);
        sides
    }

    fn records(&self) -> CopyRecords {
        CopyRecords::below(self.dir.path())
    }

    fn give(&self, is_whole: bool) {
        *self.copies.borrow_mut() = Some(SessionCopies::watch(vec![self.copy(is_whole)]));
    }

    fn copy(&self, is_whole: bool) -> SessionCopy {
        let of_user = OneFile::of_user(&self.dir.path().join("user")).unwrap();
        let places = places();
        let kind = match is_whole {
            true => {
                let lock = Lock::try_take(&self.records().lock_of(&of_user.path)).unwrap();
                CopyKind::Whole { places, _lock: lock }
            }
            false => CopyKind::Access { places },
        };
        let text = of_user.read().unwrap();
        let record = CopyRecord {
            file: of_user.path.clone(),
            home: self.dir.path().join("home"),
            name: "state/session".into(),
            session: "0123456789abcdef0123456789abcdef".parse().unwrap(),
            places: kind.whole_of(),
            given: records::mark(&text),
        };
        SessionCopy::make(&self.records(), record, of_user, kind, text).unwrap()
    }

    fn end(&self) {
        drop(self.copies.borrow_mut().take());
    }

    fn write(&self, side: &str, text: &str) {
        let path = self.dir.path().join(side);
        spore_effects::files::write_atomic(&path, text.as_bytes()).unwrap();
    }

    fn read(&self, side: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(side)).unwrap_or_default()
    }

    #[track_caller]
    fn wait_for(&self, side: &str, text: &str) {
        for _ in 0..2000 {
            if self.read(side) == text {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("{side} is {:?}", self.read(side));
    }

    #[track_caller]
    fn assert_nothing_is_left(&self) {
        assert!(!self.dir.path().join(SESSION).exists());
        let left = spore_effects::files::paths_in(self.records().dir()).unwrap();
        let copies = |path: &&PathBuf| path.to_string_lossy().contains("copy-");
        assert_eq!(left.iter().filter(copies).count(), 0, "{left:?}");
    }
}

#[test]
fn what_one_side_renews_the_other_has_at_once() {
    let sides = Sides::new(true);
    assert_eq!(sides.read(SESSION), tokens(1));
    sides.write(SESSION, &tokens(2));
    sides.wait_for("user", &tokens(2));
    sides.write("user", &tokens(3));
    sides.wait_for(SESSION, &tokens(3));
    sides.write(SESSION, &tokens(4));
    sides.end();
    assert_eq!(sides.read("user"), tokens(4));
    sides.assert_nothing_is_left();
}

#[test]
fn a_session_with_an_access_token_hears_of_newer_ones_and_writes_nothing_back() {
    let sides = Sides::new(false);
    assert_eq!(sides.read(SESSION), r#"{"a":"a1","e":1,"r":""}"#);
    sides.write("user", &tokens(3));
    sides.wait_for(SESSION, r#"{"a":"a3","e":3,"r":""}"#);
    sides.write(SESSION, &tokens(9));
    sides.end();
    assert_eq!(sides.read("user"), tokens(3));
    sides.assert_nothing_is_left();
}

#[test]
fn nothing_empty_broken_older_or_linked_reaches_the_user() {
    for text in ["", "{", "{}", "[]", "null", &tokens(0), r#"{"a":"","e":0,"r":""}"#] {
        let sides = Sides::new(true);
        sides.write(SESSION, text);
        sides.end();
        assert_eq!(sides.read("user"), tokens(1), "{text}");
    }
    let sides = Sides::new(true);
    sides.write("other", &tokens(7));
    std::fs::remove_file(sides.dir.path().join(SESSION)).unwrap();
    std::os::unix::fs::symlink("../../other", sides.dir.path().join(SESSION)).unwrap();
    sides.end();
    assert_eq!(sides.read("user"), tokens(1));
    let sides = Sides::new(true);
    std::fs::remove_file(sides.dir.path().join(SESSION)).unwrap();
    sides.end();
    assert_eq!(sides.read("user"), tokens(1));
}

#[test]
fn what_a_killed_process_left_is_brought_back_once_and_a_living_ones_is_left_alone() {
    let sides = Sides::new(true);
    let bring_back = || sides.records().bring_back(Duration::ZERO, None);
    bring_back();
    assert_eq!(sides.read(SESSION), tokens(1));
    sides.end();
    // A copy that no thread looks after any more: its locks are free, as after a kill.
    for (left, user) in [(2, 2), (1, 2), (3, 3)] {
        let copy = sides.copy(true);
        drop(copy);
        sides.write(SESSION, &tokens(left));
        assert!(bring_back());
        assert_eq!(sides.read("user"), tokens(user));
        sides.assert_nothing_is_left();
    }
    drop(sides.copy(false));
    sides.write(SESSION, &tokens(8));
    assert!(bring_back());
    assert_eq!(sides.read("user"), tokens(3));
    sides.assert_nothing_is_left();
}
