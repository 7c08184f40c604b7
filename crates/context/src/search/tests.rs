//! What a few words find in a small tree.

use super::*;
use crate::sample_tree::SampleTree;

const TREE: &str = "
    file src/flask/sessions.rs
    struct SessionMixin 1-20 a session that can be marked permanent
    method SessionMixin::permanent 3-5 whether the session lives on
    function open_session 22-30 opens the session of a request
    file src/flask/json.rs
    function dumps 1-9 writes a value as json
    function loads 11-19 reads a value of json
    file src/config.rs
    function load_config 1-9 reads the configuration of an app from a file
    file tests/sessions.rs
    test a_session_is_permanent 1-9 opens the session of a request and marks it permanent
    file docs/sessions.md
    section Sessions 1-9 how the session of a request is opened
    edge open_session calls SessionMixin::permanent 900
    edge load_config calls loads 900
";

struct Found {
    tree: SampleTree,
}

impl Found {
    fn new() -> Self {
        Self { tree: SampleTree::of(TREE) }
    }

    fn hits(&self, asked: &SearchAsked<'_>, near: &[NearNode]) -> Vec<Hit> {
        Searcher::open(&self.tree.index).unwrap().search(asked, near).unwrap()
    }

    fn names(&self, text: &str) -> Vec<String> {
        let hits = self.hits(&asked(text), &[]);
        hits.into_iter().map(|hit| hit.qualified).collect()
    }

    #[track_caller]
    fn check(&self, text: &str, first: &str) {
        let names = self.names(text);
        assert_eq!(names.first().map(String::as_str), Some(first), "{text}: {names:?}");
    }
}

fn asked(text: &str) -> SearchAsked<'_> {
    SearchAsked { text, kinds: &[], path: None, limit: 10 }
}

#[test]
fn what_was_named_comes_first() {
    let found = Found::new();
    found.check("SessionMixin", "SessionMixin");
    found.check("SessionMixin::permanent", "SessionMixin::permanent");
    found.check("openSession", "open_session");
    found.check("open session", "open_session");
    found.check("src/config.rs", "src/config.rs");
    found.check("json.rs", "src/flask/json.rs");
    found.check("flask.sessions", "src/flask/sessions.rs");
}

#[test]
fn words_find_what_was_described() {
    let found = Found::new();
    found.check("read the configuration of an app", "load_config");
    found.check("writes json", "dumps");
    // A test stands back behind the code, unless it is asked for.
    found.check("open the session of a request", "open_session");
    found.check("tests that open the session of a request", "tests/sessions.rs");
    assert_eq!(found.names("zebra"), [""; 0]);
    assert_eq!(found.names("?!"), [""; 0]);
}

#[test]
fn only_what_was_asked_for_is_found() {
    let found = Found::new();
    let kinds = ["method".to_owned()];
    let hits = found.hits(&SearchAsked { kinds: &kinds, ..asked("permanent session") }, &[]);
    assert_eq!(hits.iter().map(|hit| hit.name.as_str()).collect::<Vec<_>>(), ["permanent"]);
    let in_docs = |path: &str| path.starts_with("docs/");
    let hits = found.hits(&SearchAsked { path: Some(&in_docs), ..asked("sessions") }, &[]);
    assert!(!hits.is_empty() && hits.iter().all(|hit| in_docs(&hit.path)), "{hits:?}");
    for limit in [0, 1, 2] {
        assert_eq!(found.hits(&SearchAsked { limit, ..asked("session") }, &[]).len(), limit);
    }
}

#[test]
fn a_hit_says_where_it_is_and_why_it_was_found() {
    let found = Found::new();
    let hit = found.hits(&asked("SessionMixin::permanent"), &[]).remove(0);
    let place = format!("{} {}:{}-{}", hit.kind, hit.path, hit.first_line, hit.last_line);
    assert_eq!(place, "method src/flask/sessions.rs:3-5");
    assert_eq!((hit.name.as_str(), hit.signature.as_str()), ("permanent", "fn permanent()"));
    insta::assert_snapshot!(hit.why.join("\n"), @r"
    qualified name
    words: Session permanent
    1 use
    ");
    let file = found.hits(&asked("src/config.rs"), &[]).remove(0);
    assert_eq!((file.first_line, file.last_line, file.why[0].as_str()), (1, 100, "path"));
}

#[test]
fn a_near_meaning_is_found_without_a_word_in_common() {
    let found = Found::new();
    let file = found.tree.index.file("src/config.rs").unwrap().unwrap();
    let node = found.tree.index.items_of(file.no).unwrap()[0].no;
    let near = [NearNode { node, score: 0.6 }];
    let hits = found.hits(&asked("zebra"), &near);
    assert_eq!(hits.iter().map(|hit| hit.name.as_str()).collect::<Vec<_>>(), ["load_config"]);
    assert!(hits[0].why.contains(&"meaning 0.60".to_owned()), "{:?}", hits[0].why);
    // It counts beside words, it does not replace them.
    let hits = found.hits(&asked("open the session of a request"), &near);
    assert_eq!(hits[0].name, "open_session");
    let gone = [NearNode { node: 9_999, score: 0.9 }];
    assert!(found.hits(&asked("zebra"), &gone).is_empty());
}

#[test]
fn the_same_question_gives_the_same_hits() {
    let found = Found::new();
    let hits = || found.hits(&asked("the session of a request"), &[]);
    assert_eq!(hits(), hits());
    let searcher = Searcher::open(&found.tree.index).unwrap();
    assert!(!searcher.is_empty() && searcher.len() == 13, "{}", searcher.len());
}
