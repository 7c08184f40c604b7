use proptest::prelude::*;

use super::text::{GONE, TITLE};
use super::*;
use crate::evidence::{Decider, EvidenceSignal, RootCause, Trajectory};
use crate::fragment::Fragment;
use crate::fragment::LineRef;
use crate::fragment::tests::fragment;
use crate::lines::LinePlace;
use crate::lines::{LineHash, LineMap};
use spore_model::NodeId;

fn map() -> LineMap {
    LineMap::read("# Memory\n\n- Run the tests\n- Ask first\n")
}

fn some() -> Vec<Fragment> {
    let wrong = Fragment {
        root_cause: Some(RootCause::DirectionWrong),
        ts: "2026-03-01T00:00:00.000Z".into(),
        ..fragment("Ask first", Trajectory::Weakening)
    };
    vec![
        fragment("Run the tests", Trajectory::Strengthening),
        wrong,
        fragment("Ask first", Trajectory::Neutral),
        fragment("A line of old", Trajectory::Weakening),
        Fragment { signal: EvidenceSignal::Instruction, ..fragment("", Trajectory::NewSignal) },
    ]
}

fn folded(fragments: &[Fragment]) -> Ledger {
    let mut ledger = Ledger::default();
    for fragment in fragments {
        ledger.fold(fragment);
    }
    ledger.refresh(&map());
    ledger
}

#[test]
fn a_ledger_is_a_file_that_people_can_read() {
    insta::assert_snapshot!(folded(&some()).render(&map()));
}

#[test]
fn a_line_that_moved_keeps_its_evidence_and_one_that_went_is_history() {
    let ledger = folded(&some());
    let moved = LineMap::read("* Ask first\n\nmore\n");
    let read = Ledger::parse(&ledger.render(&moved)).unwrap();
    assert_eq!(read, ledger);
    let text = ledger.render(&moved);
    assert!(text.contains(&format!("## memory/CLAUDE.md:L1 `{}`", LineHash::of("Ask first"))));
    assert!(text.contains(&format!("## {GONE} `{}`", LineHash::of("Run the tests"))));
}

/// Evidence about a lesson.
fn of_lesson(id: u64, text: &str) -> Fragment {
    let place = LinePlace::Lesson(NodeId::from_parts(id, u128::from(id)));
    Fragment {
        line: Some(LineRef { place, hash: LineHash::of(text) }),
        ..fragment(text, Trajectory::Weakening)
    }
}

#[test]
fn lessons_have_their_place_in_the_ledger_also_where_nobody_knows_them() {
    let all = [of_lesson(2, "Keys"), of_lesson(1, "Keys"), of_lesson(9, "Ask first")];
    let ledger = folded(&all);
    let text = ledger.render(&map());
    let first = NodeId::from_parts(1, 1);
    assert!(text.contains(&format!("## lesson:{first} `{}`", LineHash::of("Keys"))), "{text}");
    assert_eq!(ledger.entry(&LineHash::of("Keys")).and_then(LineRecord::lesson), Some(&first));
    assert_eq!(Ledger::parse(&text).unwrap(), ledger, "it is read as it was written");
    // What became a line of the file is one.
    assert_eq!(ledger.entry(&LineHash::of("Ask first")).and_then(LineRecord::lesson), None);
    let forged = text.replace(&format!("lesson:{first}"), "lesson:../etc");
    assert!(Ledger::parse(&forged).is_err());
}

#[test]
fn a_sparkline_goes_up_with_help_and_down_with_failure() {
    let drawn = |seen: &str| {
        let mut ledger = Ledger::default();
        for (at, what) in seen.chars().enumerate() {
            let trajectory = match what {
                '+' => Trajectory::Strengthening,
                '-' => Trajectory::Weakening,
                _ => Trajectory::Neutral,
            };
            let ts = format!("2026-01-01T00:00:{at:02}.000Z");
            ledger.fold(&Fragment { ts, event: at.to_string(), ..fragment("a", trajectory) });
        }
        ledger.entry(&LineHash::of("a")).map(LineRecord::sparkline).unwrap_or_default()
    };
    assert_eq!(drawn(""), "");
    assert_eq!(drawn("oo"), "");
    assert_eq!(drawn("+o+-"), "▅▆▅");
    assert_eq!(drawn("-----"), "▃▂▁▁▁");
    assert_eq!(drawn(&"+".repeat(40)), "█".repeat(16));
}

#[track_caller]
fn refused(change: impl Fn(&str) -> String, line: usize) {
    let text = folded(&some()).render(&map());
    let changed = change(&text);
    assert_ne!(changed, text, "the change changes something");
    assert_eq!(Ledger::parse(&changed).unwrap_err().line, line, "{changed}");
}

#[test]
fn what_somebody_else_wrote_is_not_read() {
    refused(|text| text.replace("# Effectiveness", "# My notes on"), 1);
    refused(|text| text.replace("> Run the tests", "> Run no tests"), 8);
    refused(|text| text.replace("> Run the tests", "<<<<<<< HEAD"), 8);
    refused(|text| text.replacen("A person said so.", "A person said no.", 1), 12);
    refused(|text| text.replacen(" rule ", " judge:m:1 ", 1), 12);
    refused(|text| text.replace(" STRENGTHENING ", " BETTER "), 12);
    refused(|text| text.replace(" STRENGTHENING ", " WEAKENING "), 12);
    refused(|text| text.replace("statement human - ", "statement "), 12);
    let hash = LineHash::of("Run the tests").to_string();
    refused(|text| text.replacen(&format!("-{hash}-"), "-000000000000-", 1), 12);
}

#[test]
fn an_empty_file_is_an_empty_ledger() {
    assert_eq!(Ledger::parse("").unwrap(), Ledger::default());
    assert_eq!(Ledger::parse(&Ledger::default().render(&map())).unwrap(), Ledger::default());
}

/// What a merge that keeps the lines of both sides makes of two files: blocks of either in
/// turn, and what both have once or twice.
fn union(one: &str, other: &str, turns: &[usize]) -> String {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    let (mut from_one, mut from_other) = (0_usize, 0_usize);
    let mut lines: Vec<&str> = vec![TITLE];
    for (at, count) in turns.iter().chain(&[usize::MAX, usize::MAX]).enumerate() {
        let (from, next) =
            if at % 2 == 0 { (&one, &mut from_one) } else { (&other, &mut from_other) };
        let end = next.saturating_add(*count).min(from.len());
        lines.extend(&from[*next..end]);
        *next = end;
    }
    lines.join("\n") + "\n"
}

#[test]
fn a_ledger_of_an_earlier_version_is_read_and_learns_what_it_rests_on() {
    let now = folded(&some());
    let mut old = now.clone();
    let all = old.entries.values_mut().flat_map(|entry| entry.rows.values_mut());
    all.chain(old.unsaid.values_mut()).for_each(|row| row.proof = None);
    let text = old.render(&map());
    assert!(!text.contains(" | ") && !text.contains("rule"), "{text}");
    let mut read = Ledger::parse(&text).unwrap();
    assert_eq!(read, old);
    for fragment in some() {
        assert!(!read.fold(&fragment), "it is no new evidence");
    }
    assert_eq!(read, now);
}

#[test]
fn a_rewritten_line_is_linked_to_what_it_was() {
    let mut ledger = folded(&some());
    let [a, b, c] = ["a", "b", "c"].map(LineHash::of);
    let link = |ts: &str, old: &LineHash, new: &LineHash| LineLink {
        ts: ts.into(),
        old: old.clone(),
        new: new.clone(),
        by: Decider::judge("m", "1"),
    };
    ledger.link(link("1", &a, &b));
    ledger.link(link("2", &b, &c));
    assert_eq!(Ledger::parse(&ledger.render(&map())).unwrap(), ledger);
    assert_eq!(ledger.predecessors(&c), [b.clone(), a.clone()]);
    ledger.link(link("3", &c, &a));
    assert_eq!(ledger.predecessors(&c), [b, a]);
}

proptest! {
    #[test]
    fn any_union_of_two_ledgers_is_the_ledger_of_both(
        picks in prop::collection::vec((0_usize..4, 0_usize..4, 0_u32..5, any::<bool>(), any::<bool>()), 0..20),
        turns in prop::collection::vec(0_usize..9, 0..9),
    ) {
        let texts = ["Run the tests", "Ask first", "gone", "also gone"];
        let (mut one, mut other) = (Ledger::default(), Ledger::default());
        for (text, trajectory, event, here, by_judge) in picks {
            let (id, named) = (u64::from(event), texts[text]);
            let about = match trajectory < 3 && text == 3 {
                true => of_lesson(id, named).line,
                false => fragment(named, Trajectory::ALL[trajectory]).line,
            };
            let fragment = Fragment {
                line: about,
                event: format!("event{event}"),
                by: if by_judge { Decider::judge("m", "1") } else { Decider::Rule },
                ..fragment(texts[text], Trajectory::ALL[trajectory])
            };
            let ledger = if here { &mut one } else { &mut other };
            ledger.fold(&fragment);
        }
        one.refresh(&map());
        other.refresh(&map());
        let mut both = one.clone();
        both.join(other.clone());
        let mut reversed = other.clone();
        reversed.join(one.clone());
        prop_assert_eq!(&reversed, &both);
        let merged = union(&one.render(&map()), &other.render(&map()), &turns);
        prop_assert_eq!(Ledger::parse(&merged).unwrap(), both);
    }

    #[test]
    fn folding_is_a_union_in_any_order(
        picks in prop::collection::vec((0_usize..4, 0_usize..4, 0_u32..5), 0..20), cut in 0_usize..20
    ) {
        let texts = ["Run the tests", "Ask first", "gone", "also gone"];
        let all: Vec<Fragment> = picks
            .iter()
            .map(|(text, trajectory, event)| Fragment {
                event: format!("event{event}"),
                ..fragment(texts[*text], Trajectory::ALL[*trajectory])
            })
            .collect();
        let once = folded(&all);
        let mut reversed = all.clone();
        reversed.reverse();
        prop_assert_eq!(&folded(&reversed), &once);
        // In two passes, with the file in between, and everything a second time.
        let first = folded(&all[..cut.min(all.len())]);
        let mut later = Ledger::parse(&first.render(&map())).unwrap();
        for fragment in all.iter().chain(&all) {
            later.fold(fragment);
        }
        later.refresh(&map());
        prop_assert_eq!(&later, &once);
        prop_assert_eq!(later.render(&map()), once.render(&map()));
    }
}
