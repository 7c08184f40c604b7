//! Which lessons a task file carries.
//!
//! Those that say something, nearest to the task first; what the ledger of memory saw of a
//! lesson moves it up or down. Two that say the same are one. Where too few are near, the newest
//! fill up.

use std::collections::HashSet;

use spore_lexical::terms;
use spore_model::{Lesson, NodeId};

use crate::compiled::CarriedLesson;

/// How lessons are chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LessonRules {
    pub most: usize,
    /// Less similar ones are only carried because they are new.
    pub least_likeness: f64,
    /// Two lessons this similar are one.
    pub same: f64,
}

/// Chooses the lessons for a task. `nearness` is how near each lesson's meaning is, where
/// vectors know it; else words decide. `paths` are the files that the task seems to be about.
pub fn choose(
    lessons: &[Lesson],
    task: &str,
    paths: &[&str],
    nearness: &dyn Fn(&NodeId) -> Option<f64>,
    rules: LessonRules,
) -> Vec<CarriedLesson> {
    let of_task: HashSet<String> = terms(task).into_iter().collect();
    let mut worthy: Vec<Weighed<'_>> = lessons
        .iter()
        .filter(|lesson| lesson.says_something() && applies(lesson, paths))
        .map(|lesson| Weighed::new(lesson, &of_task, nearness))
        .collect();
    worthy.sort_by(|a, b| {
        let key = |w: &Weighed<'_>| (w.similarity >= rules.least_likeness, w.value);
        let ((near_a, value_a), (near_b, value_b)) = (key(a), key(b));
        near_b
            .cmp(&near_a)
            .then_with(
                || if near_a { value_b.total_cmp(&value_a) } else { std::cmp::Ordering::Equal },
            )
            .then_with(|| b.lesson.created.cmp(&a.lesson.created))
            .then_with(|| a.lesson.id.cmp(&b.lesson.id))
    });
    let mut chosen: Vec<&Weighed<'_>> = Vec::new();
    for candidate in &worthy {
        let repeats =
            chosen.iter().any(|known| overlap(&known.terms, &candidate.terms) >= rules.same);
        if !repeats && chosen.len() < rules.most {
            chosen.push(candidate);
        }
    }
    chosen.into_iter().map(|weighed| weighed.carried(rules.least_likeness)).collect()
}

/// Returns whether a lesson is about any of these paths, or about everything.
fn applies(lesson: &Lesson, paths: &[&str]) -> bool {
    lesson.scope.is_empty()
        || paths.is_empty()
        || lesson.scope.iter().any(|scope| paths.iter().any(|path| holds(scope, path)))
}

/// Returns whether a place is a path, or a directory that it is in.
fn holds(place: &str, path: &str) -> bool {
    let place = place.trim_end_matches('/');
    path.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns how much two lessons say the same, from 0 to 1, by their words.
pub fn likeness(a: &Lesson, b: &Lesson) -> f64 {
    overlap_of_texts(&text_of(a), &text_of(b))
}

/// Returns how many words two texts have in common, from 0 to 1.
pub fn overlap_of_texts(a: &str, b: &str) -> f64 {
    overlap(&terms(a).into_iter().collect(), &terms(b).into_iter().collect())
}

fn text_of(lesson: &Lesson) -> String {
    format!("{} {} {}", lesson.title, lesson.pattern, lesson.fix)
}

struct Weighed<'l> {
    lesson: &'l Lesson,
    terms: HashSet<String>,
    similarity: f64,
    value: f64,
}

impl<'l> Weighed<'l> {
    fn new(
        lesson: &'l Lesson,
        of_task: &HashSet<String>,
        nearness: &dyn Fn(&NodeId) -> Option<f64>,
    ) -> Self {
        let terms: HashSet<String> = terms(&text_of(lesson)).into_iter().collect();
        // By words or by meaning, whichever says more.
        let words = overlap(&terms, of_task);
        let similarity = nearness(&lesson.id).map_or(words, |near| near.max(words));
        // A lesson that nothing has tested counts fully; one that never helped counts half.
        let value = similarity * (0.5 + lesson.record.standing());
        Self { lesson, terms, similarity, value }
    }

    fn carried(&self, least_likeness: f64) -> CarriedLesson {
        CarriedLesson {
            id: self.lesson.id.clone(),
            title: self.lesson.title.clone(),
            pattern: self.lesson.pattern.clone(),
            fix: self.lesson.fix.clone(),
            similarity: (self.similarity >= least_likeness).then_some(self.similarity),
        }
    }
}

/// How much two sets of terms have in common, from 0 to 1.
fn overlap(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let shared = a.intersection(b).count() as f64;
    shared / (a.len() as f64 * b.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use spore_model::{LessonRecord, Timestamp};

    use super::*;

    fn lesson(number: u64, title: &str, pattern: &str) -> Lesson {
        Lesson {
            id: NodeId::from_parts(number, u128::from(number)),
            title: title.into(),
            pattern: pattern.into(),
            fix: "look at the code that calls it before changing anything there and then".into(),
            scope: Vec::new(),
            evidence: String::new(),
            run: None,
            created: Timestamp::from_millis(1_767_225_600_000 + number as i64),
            record: LessonRecord::default(),
        }
    }

    fn titles(lessons: &[Lesson], task: &str, paths: &[&str]) -> Vec<String> {
        let chosen =
            choose(lessons, task, paths, &|_| None, crate::options::tests::sample().lessons);
        chosen.into_iter().map(|lesson| lesson.title).collect()
    }

    #[test]
    fn the_nearest_come_first_and_the_newest_fill_up() {
        let lessons = [
            lesson(1, "Cache keys", "the path cache missed because a slash was left at the end"),
            lesson(2, "Retries", "a request was sent twice when the network was slow to answer"),
            lesson(3, "Locks", "two writers waited for each other although neither wrote a byte"),
        ];
        let task = "normalise the path before it becomes a cache key with a slash at the end";
        assert_eq!(titles(&lessons, task, &[]), ["Cache keys", "Locks", "Retries"]);
    }

    #[test]
    fn a_lesson_that_never_helped_falls_behind() {
        let mut bad = lesson(1, "Cache keys", "the path cache missed because of a trailing slash");
        bad.record = LessonRecord { helped: 0, missed: 9 };
        let good = lesson(2, "Cache paths", "a trailing slash made the cache miss its path twice");
        let task = "the path cache misses for a trailing slash";
        assert_eq!(titles(&[bad, good], task, &[])[0], "Cache paths");
    }

    #[test]
    fn what_repeats_another_or_is_about_other_files_is_left_out() {
        let first = lesson(1, "Cache keys", "the path cache missed because of a trailing slash");
        let again = lesson(2, "Cache keys", "the path cache missed because of a trailing slash");
        let mut elsewhere = lesson(3, "Colours", "the terminal had no colours when it was piped");
        elsewhere.scope = vec!["src/terminal".into()];
        let lessons = [first, again, elsewhere];
        assert_eq!(titles(&lessons, "trailing slash", &["src/cache.rs"]), ["Cache keys"]);
        assert_eq!(titles(&lessons, "colours", &["src/terminal/x.rs"]).len(), 2);
        assert_eq!(titles(&lessons, "colours", &["src/terminal_colours.rs"]).len(), 1);
    }

    #[test]
    fn a_lesson_that_says_nothing_is_never_carried() {
        let mut short = lesson(1, "Tests", "");
        short.fix = "cargo test".into();
        assert!(titles(&[short], "cargo test", &[]).is_empty());
    }

    fn cache() -> Lesson {
        lesson(1, "Cache keys", "the path cache missed because of a trailing slash")
    }

    fn retries() -> Lesson {
        lesson(2, "Retries", "a request was sent twice when the network was slow to answer")
    }

    #[test]
    fn a_near_meaning_beats_words_where_vectors_know_it() {
        let lessons = [cache(), retries()];
        let task = "the path cache misses for a trailing slash";
        let rules = crate::options::tests::sample().lessons;
        let near = |id: &NodeId| (*id == lessons[1].id).then_some(0.9);
        let chosen = choose(&lessons, task, &[], &near, rules);
        let told: Vec<(&str, bool)> =
            chosen.iter().map(|it| (it.title.as_str(), it.similarity == Some(0.9))).collect();
        assert_eq!(told, [("Retries", true), ("Cache keys", false)]);
    }

    #[test]
    fn as_many_are_carried_as_the_rules_say() {
        #[track_caller]
        fn check(rules: LessonRules, expected: &[(&str, bool)]) {
            let task = "the path cache misses for a trailing slash";
            let chosen = choose(&[cache(), retries()], task, &[], &|_| None, rules);
            let told: Vec<(&str, bool)> =
                chosen.iter().map(|it| (it.title.as_str(), it.similarity.is_some())).collect();
            assert_eq!(told, expected);
        }
        let rules = LessonRules { most: 5, least_likeness: 0.15, same: 0.8 };
        check(rules, &[("Cache keys", true), ("Retries", false)]);
        check(LessonRules { most: 1, ..rules }, &[("Cache keys", true)]);
        check(LessonRules { most: 0, ..rules }, &[]);
        // With a bound that none reaches, the newest comes first.
        let strict = LessonRules { least_likeness: 1.1, ..rules };
        check(strict, &[("Retries", false), ("Cache keys", false)]);
        // If all are one, the nearest stands for them.
        check(LessonRules { same: 0.0, ..rules }, &[("Cache keys", true)]);
    }

    #[test]
    fn likeness_is_one_for_the_same_words_and_nothing_for_none_in_common() {
        #[track_caller]
        fn check(a: &str, b: &str, expected: f64) {
            let found = overlap_of_texts(a, b);
            assert!((found - expected).abs() < 1e-9, "{a} / {b}: {found}");
        }
        check("path cache", "cache path", 1.0);
        check("path cache", "network retry", 0.0);
        check("path", "path cache slash root", 0.5);
        check("", "path", 0.0);
        assert!((likeness(&cache(), &cache()) - 1.0).abs() < 1e-9);
        assert!(likeness(&cache(), &retries()) < 0.8);
    }

    #[test]
    fn a_place_holds_what_is_below_it() {
        for (place, path, expected) in [
            ("src", "src/a.rs", true),
            ("src/", "src/a.rs", true),
            ("src/a.rs", "src/a.rs", true),
            ("src/a", "src/a.rs", false),
            ("lib", "src/lib/a.rs", false),
        ] {
            assert_eq!(holds(place, path), expected, "{place} {path}");
        }
    }
}
