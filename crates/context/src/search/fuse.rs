//! What speaks for a unit, made into one number.
//!
//! A weighted sum rather than ranks: how much better the first is than the second is worth
//! knowing. `bench/search` prints both. The figures were chosen together, by what they do to its
//! questions: one of them alone is no setting.

use super::exact::Exact;

const WORDS: f32 = 0.45;
const NAME: f32 = 0.25;
const MEANING: f32 = 0.30;
/// A cosine below the first says nothing; one above the second says all it can.
const MEANING_FROM: f32 = 0.15;
const MEANING_TO: f32 = 0.75;
/// What holding all of a question of so many terms adds, and how fast less is worth less.
const WHOLE: f32 = 0.4;
const WHOLE_POWER: i32 = 4;
const LONG: usize = 3;
/// What a word of the question that names it adds.
const NAMED: f32 = 0.35;

pub(super) struct HitSignals<'a> {
    pub(super) exact: Exact,
    /// A share of the best.
    pub(super) words: f32,
    /// 0 to 1.
    pub(super) name: f32,
    /// How much of the question it holds, 0 to 1.
    pub(super) coverage: f32,
    /// How many terms the question has.
    pub(super) terms: usize,
    /// A cosine.
    pub(super) meaning: Option<f32>,
    pub(super) kind: &'a str,
    pub(super) callers: u32,
    pub(super) is_test: bool,
    /// Generated or vendored.
    pub(super) is_foreign: bool,
    pub(super) tests_asked: bool,
}

/// Returns the score: the whole part is how exactly it was named, the rest is below one.
pub(super) fn score(signals: &HitSignals<'_>) -> f32 {
    let meaning = signals.meaning.map_or(0.0, |cosine| {
        ((cosine - MEANING_FROM) / (MEANING_TO - MEANING_FROM)).clamp(0.0, 1.0)
    });
    let named = if signals.exact == Exact::Part { NAMED } else { 0.0 };
    let whole =
        if signals.terms >= LONG { WHOLE * signals.coverage.powi(WHOLE_POWER) } else { 0.0 };
    let fit = WORDS * signals.words + NAME * signals.name + MEANING * meaning + named + whole;
    let fit = fit * prior(signals);
    signals.exact.rank() + (fit / 2.0).clamp(0.0, 0.999)
}

/// Returns what speaks for or against a unit whatever the question is.
fn prior(signals: &HitSignals<'_>) -> f32 {
    let kind = match signals.kind {
        "function" | "method" | "struct" | "class" | "enum" | "trait" | "interface" => 1.0,
        "type" | "macro" | "file" => 0.9,
        "const" | "module" => 0.85,
        // A section of prose holds the words of most questions and would be in every answer.
        "section" => 0.8,
        "impl" => 0.7,
        _ => 0.95,
    };
    let test = match (signals.is_test, signals.tests_asked) {
        (true, false) => 0.65,
        (true, true) => 1.15,
        (false, _) => 1.0,
    };
    let foreign = if signals.is_foreign { 0.5 } else { 1.0 };
    let callers = 1.0 + 0.04 * (signals.callers as f32).ln_1p();
    kind * test * foreign * callers
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: HitSignals<'_> = HitSignals {
        exact: Exact::Not,
        words: 0.5,
        name: 0.5,
        coverage: 0.5,
        terms: 4,
        meaning: None,
        kind: "function",
        callers: 0,
        is_test: false,
        is_foreign: false,
        tests_asked: false,
    };

    #[test]
    fn what_was_named_comes_before_what_was_described_however_well() {
        let named =
            |exact| score(&HitSignals { exact, words: 0.0, name: 0.0, is_foreign: true, ..SOME });
        let all = HitSignals { words: 1.0, name: 1.0, coverage: 1.0, callers: 64, ..SOME };
        let best = HitSignals { meaning: Some(1.0), ..all };
        assert!(score(&best) < named(Exact::Spelling));
        assert!(named(Exact::Spelling) < named(Exact::Name));
        assert!(named(Exact::Name) < named(Exact::Qualified));
        assert!(score(&HitSignals { exact: Exact::Part, ..SOME }) > score(&SOME));
    }

    #[test]
    fn tests_and_foreign_code_stand_back_unless_asked_for() {
        let test = HitSignals { is_test: true, ..SOME };
        assert!(score(&test) < score(&SOME));
        assert!(score(&HitSignals { tests_asked: true, ..test }) > score(&SOME));
        assert!(score(&HitSignals { is_foreign: true, ..SOME }) < score(&SOME));
        assert!(score(&HitSignals { kind: "impl", ..SOME }) < score(&SOME));
        assert!(score(&HitSignals { callers: 9, ..SOME }) > score(&SOME));
    }

    #[test]
    fn a_near_meaning_helps_and_a_far_one_does_not_hurt() {
        let with = |cosine| score(&HitSignals { meaning: Some(cosine), ..SOME });
        assert!(with(0.6) > with(0.4) && with(0.4) > score(&SOME));
        assert!((with(-0.2) - score(&SOME)).abs() < 1e-6);
    }
}
