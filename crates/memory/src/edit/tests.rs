use proptest::prelude::*;

use super::*;
use crate::evidence::EvidenceSignal;
use crate::fragment::Fragment;
use crate::fragment::tests::fragment;

const FILE: &str =
    "# Memory\n\n- One line\n* Two\n  and more `make lint`\n\n- Three of [[entity-ada]]\n";
const TWO: &str = "Two and more `make lint`";

fn ledger(fragments: &[Fragment]) -> Ledger {
    let mut ledger = Ledger::default();
    for fragment in fragments {
        ledger.fold(fragment);
    }
    ledger
}

fn failed(text: &str) -> Fragment {
    fragment(text, Trajectory::Weakening)
}

fn helped(text: &str) -> Fragment {
    fragment(text, Trajectory::Strengthening)
}

fn judged(text: &str, event: &str) -> Fragment {
    Fragment {
        by: Decider::judge("m", "1"),
        event: event.into(),
        signal: EvidenceSignal::Judged,
        ..failed(text)
    }
}

fn signal(event: &str, signal: EvidenceSignal, kind: &str) -> Fragment {
    Fragment {
        event: event.into(),
        kind: kind.into(),
        signal,
        evidence: vec![
            "An event said so.".into(),
            "In its own words: “Always squash before merging”".into(),
        ],
        ..fragment("", Trajectory::NewSignal)
    }
}

fn remove(text: &str) -> LineChange {
    LineChange::Remove { hash: LineHash::of(text) }
}

fn rewrite(old: &str, new: &str, cites: &[&Fragment]) -> LineChange {
    LineChange::Rewrite {
        hash: LineHash::of(old),
        text: new.into(),
        fragments: cites.iter().map(|one| one.name()).collect(),
        by: Decider::judge("m", "1"),
    }
}

fn sharpen(old: &str, new: &str, cites: &[&Fragment]) -> LineChange {
    LineChange::Sharpen {
        hash: LineHash::of(old),
        text: new.into(),
        fragments: cites.iter().map(|one| one.name()).collect(),
        by: Decider::judge("m", "1"),
    }
}

fn add(text: &str, cites: &[&Fragment]) -> LineChange {
    LineChange::Add {
        text: text.into(),
        fragments: cites.iter().map(|one| one.name()).collect(),
        by: Decider::Rule,
    }
}

fn defend(changes: &[LineChange], ledger: &Ledger) -> Result<Edit, RefusedEdit> {
    defend_in(FILE, changes, ledger, 4096, false)
}

fn defend_in(
    file: &str,
    changes: &[LineChange],
    ledger: &Ledger,
    most_bytes: u64,
    has_priority: bool,
) -> Result<Edit, RefusedEdit> {
    let has_dossier = |pointer: &DossierPointer| pointer.slug == "there";
    let ground = EditGround {
        ledger,
        enough: Enough { wrong: 2 },
        most_bytes,
        has_dossier: &has_dossier,
        has_priority,
    };
    Edit::defend(file, changes, &ground)
}

#[test]
fn a_line_that_failed_may_go_as_a_whole() {
    let edit = defend(&[remove(TWO)], &ledger(&[failed(TWO)])).unwrap();
    assert_eq!(edit.after(), "# Memory\n\n- One line\n\n- Three of [[entity-ada]]\n");
    insta::assert_snapshot!(diff(edit.before(), edit.after()));
}

#[test]
fn without_evidence_nothing_may_go() {
    let recall = Fragment { root_cause: Some(RootCause::RecallMiss), ..failed("One line") };
    let hash = LineHash::of("One line");
    let refused = RefusedEdit::NoEvidence { place: LinePlace::File(3), hash };
    for fragments in [
        vec![],
        vec![failed(TWO), failed("one line")],
        vec![helped("One line"), fragment("One line", Trajectory::Neutral)],
        vec![recall],
    ] {
        assert_eq!(defend(&[remove("One line")], &ledger(&fragments)), Err(refused.clone()));
    }
    let gone = defend(&[remove("No such line")], &ledger(&[failed("No such line")]));
    assert_eq!(gone, Err(RefusedEdit::NoLine(LineHash::of("No such line"))));
    assert_eq!(defend(&[], &Ledger::default()), Err(RefusedEdit::Nothing));
}

#[test]
fn a_line_is_rewritten_in_its_place_on_what_is_cited() {
    let one = failed(TWO);
    let book = ledger(&[one.clone(), helped("One line"), judged(TWO, "j1"), judged(TWO, "j2")]);
    let new = "Two: `just lint`, then more";
    let edit = defend(&[rewrite(TWO, new, &[&one])], &book).unwrap();
    assert_eq!(
        edit.after(),
        "# Memory\n\n- One line\n* Two: `just lint`, then more\n\n- Three of [[entity-ada]]\n"
    );
    let refused = |change: LineChange| defend(&[change], &book).unwrap_err();
    assert_eq!(refused(rewrite(TWO, new, &[])), RefusedEdit::NoFragments);
    let other = failed("One line");
    assert_eq!(refused(rewrite(TWO, new, &[&other])), RefusedEdit::Unfounded(other.name()));
    let help = helped("One line");
    assert_eq!(refused(rewrite("One line", new, &[&help])), RefusedEdit::Unfounded(help.name()));
    assert_eq!(refused(rewrite(TWO, new, &[&judged(TWO, "j1")])), RefusedEdit::JudgedOnce);
    assert!(defend(&[rewrite(TWO, new, &[&judged(TWO, "j1"), &judged(TWO, "j2")])], &book).is_ok());
    for bad in [
        "",
        "short",
        "two\nlines of it",
        "# A heading",
        "- a bullet",
        "@priority.md",
        "```lines",
        "<!-- a comment -->",
        "---",
        &"x".repeat(301),
        "bell \u{7} rings out",
    ] {
        assert_eq!(refused(rewrite(TWO, bad, &[&one])), RefusedEdit::NotOneLine, "{bad:?}");
    }
    assert_eq!(refused(rewrite(TWO, "One line", &[&one])), RefusedEdit::Known);
    assert_eq!(refused(rewrite(TWO, TWO, &[&one])), RefusedEdit::Known);
    assert_eq!(
        refused(rewrite(TWO, "Two, see [[topic-nowhere]]", &[&one])),
        RefusedEdit::NoDossier("[[topic-nowhere]]".into())
    );
    assert!(defend(&[rewrite(TWO, "Two, see [[topic-there]]", &[&one])], &book).is_ok());
    let twice = [rewrite(TWO, new, &[&one]), remove(TWO)];
    assert_eq!(defend(&twice, &book), Err(RefusedEdit::Twice));
}

#[test]
fn what_failed_once_does_not_come_back_as_a_rewrite() {
    let one = failed(TWO);
    let book = ledger(&[one.clone(), failed("Two, as it was of old")]);
    let back = defend(&[rewrite(TWO, "Two, as it was of old", &[&one])], &book);
    assert_eq!(back, Err(RefusedEdit::Known));
}

#[test]
fn a_line_that_helped_is_sharpened_and_loses_no_cue() {
    let help = helped(TWO);
    let book = ledger(std::slice::from_ref(&help));
    let sharper = "Two and more `make lint`, before every commit";
    assert!(defend(&[sharpen(TWO, sharper, &[&help])], &book).is_ok());
    let lost = defend(&[sharpen(TWO, "Two and a lot more, always", &[&help])], &book);
    assert!(matches!(lost, Err(RefusedEdit::LostCue(_))), "{lost:?}");
    let since = Fragment { ts: "2026-09-01T00:00:00.000Z".into(), ..failed(TWO) };
    let mixed = ledger(&[help.clone(), since]);
    let contested = defend(&[sharpen(TWO, sharper, &[&help])], &mixed);
    assert!(matches!(contested, Err(RefusedEdit::NoEvidence { .. })), "{contested:?}");
}

#[test]
fn a_new_line_needs_an_instruction_or_recurrence() {
    use EvidenceSignal::{Instruction, Judged, Preference};
    let text = "Always squash before merging";
    let (told, liked) = (signal("a", Instruction, "human"), signal("b", Preference, "human"));
    let by_judge = Fragment { by: Decider::judge("m", "1"), ..signal("c", Judged, "human") };
    let channel = signal("d", Instruction, "channel");
    let all = [told.clone(), liked.clone(), by_judge.clone(), channel.clone()];
    let book = ledger(&all);
    let edit = defend(&[add(text, &[&told])], &book).unwrap();
    assert!(edit.after().starts_with(FILE) && edit.after().ends_with(&format!("\n- {text}\n")));
    for once in [&liked, &by_judge, &channel] {
        assert_eq!(defend(&[add(text, &[once])], &book), Err(RefusedEdit::NotRecurring));
    }
    assert!(defend(&[add(text, &[&liked, &by_judge])], &book).is_ok());
    assert_eq!(defend(&[add(text, &[])], &book), Err(RefusedEdit::NoFragments));
    let unknown = signal("z", Instruction, "human");
    assert_eq!(
        defend(&[add(text, &[&unknown])], &book),
        Err(RefusedEdit::Unfounded(unknown.name()))
    );
    let full = defend_in(FILE, &[add(text, &[&told])], &book, 40, false);
    assert_eq!(full, Err(RefusedEdit::TooLong(40)));
}

#[test]
fn the_first_file_is_imported_once_and_only_where_it_is() {
    let change = [LineChange::ImportPriority];
    let book = Ledger::default();
    let edit = defend_in(FILE, &change, &book, 4096, true).unwrap();
    assert_eq!(edit.after(), format!("@priority.md\n\n{FILE}"));
    let again = defend_in(edit.after(), &change, &book, 4096, true);
    assert_eq!(again, Err(RefusedEdit::NoPriority));
    assert_eq!(defend(&change, &book), Err(RefusedEdit::NoPriority));
}

proptest! {
    /// Whatever is changed, every line that no change names is there as it was, and every byte
    /// that is no line.
    #[test]
    fn what_no_change_names_is_as_it_was(
        lines in prop::collection::vec(0_usize..7, 1..10),
        deeds in prop::collection::vec(0_usize..3, 7),
        ending in "(\n|\r\n)", last in any::<bool>(),
    ) {
        let words = ["- alpha line", "* beta line", "gamma line", "# Title", "", "- delta\n  epsilon", "3. zeta  line"];
        let mut before = lines.iter().map(|at| words[*at]).collect::<Vec<_>>().join("\n");
        if last {
            before.push('\n');
        }
        let before = before.replace('\n', &ending);
        let texts = ["alpha line", "beta line", "gamma line", "", "", "delta epsilon", "zeta line"];
        let mut changes = Vec::new();
        let mut fragments = Vec::new();
        for (at, deed) in deeds.iter().enumerate() {
            if texts[at].is_empty() || LineMap::read(&before).by_hash(&LineHash::of(texts[at])).is_none() {
                continue;
            }
            let against = failed(texts[at]);
            match deed {
                0 => changes.push(remove(texts[at])),
                1 => changes.push(rewrite(texts[at], &format!("{} anew", texts[at]), &[&against])),
                _ => continue,
            }
            fragments.push(against);
        }
        let Ok(edit) = defend_in(&before, &changes, &ledger(&fragments), 9999, false) else {
            prop_assert!(changes.is_empty());
            return Ok(());
        };
        let told = |text: &str| -> Vec<String> {
            LineMap::read(text).lines().iter().map(|line| line.text.clone()).collect()
        };
        let mut expected = Vec::new();
        for text in told(&before) {
            let hash = LineHash::of(&text);
            match changes.iter().find(|change| change.hash() == Some(&hash)) {
                None => expected.push(text),
                Some(change) => expected.extend(change.text().map(|(text, _)| text.to_owned())),
            }
        }
        prop_assert_eq!(told(edit.after()), expected);
        let furniture = |text: &str| text.split_inclusive('\n').filter(|l| l.trim().is_empty() || l.starts_with('#')).count();
        prop_assert_eq!(furniture(edit.after()), furniture(&before));
    }
}

#[test]
fn a_line_that_helped_since_it_failed_is_rewritten_by_people_alone() {
    let failed = Fragment { ts: "2026-01-01T00:00:00.000Z".into(), ..failed(TWO) };
    let helped =
        Fragment { ts: "2026-01-02T00:00:00.000Z".into(), event: "later".into(), ..helped(TWO) };
    let wish = rewrite(TWO, "Two and more `just lint`", &[&failed]);
    assert!(defend(std::slice::from_ref(&wish), &ledger(std::slice::from_ref(&failed))).is_ok());
    let since = ledger(&[failed.clone(), helped.clone()]);
    let refused = defend(std::slice::from_ref(&wish), &since);
    assert!(matches!(refused, Err(RefusedEdit::HelpedSince(_))), "{refused:?}");
    let LineChange::Rewrite { hash, text, fragments, .. } = wish.clone() else { unreachable!() };
    let by_person = LineChange::Rewrite { hash, text, fragments, by: Decider::Person };
    assert!(defend(&[by_person], &since).is_ok());
    // It failed once more.
    let again =
        Fragment { ts: "2026-01-03T00:00:00.000Z".into(), event: "again".into(), ..failed.clone() };
    assert!(defend(&[wish], &ledger(&[failed, helped, again])).is_ok());
}
