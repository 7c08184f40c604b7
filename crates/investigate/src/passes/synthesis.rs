//! From what is known of the directories to what is said about the whole.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of summaries that a synthesis is told at once; the rest it can ask for.
const TOLD_BYTES: usize = 160_000;
/// Bytes of one summary in it.
const SUMMARY_BYTES: usize = 2_000;
/// Directories that a report without a synthesis names.
const MECHANICAL: usize = 40;

/// What stands before a report that is older than what is known of the directories.
const OF_BEFORE: &str =
    "This was said by an earlier investigation: what changed since then is not in it.";

/// What a synthesis handed in, or what was made without one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PassReport {
    pub brief: String,
    pub detailed: String,
}

impl PassReport {
    pub fn read(handed_in: &Value) -> Option<Self> {
        let report: Self = serde_json::from_value(handed_in.clone()).ok()?;
        (!report.brief.trim().is_empty()).then_some(report)
    }

    /// The report as it is told where it was written before what changed was looked at.
    pub fn of_before(self) -> Self {
        let detailed = format!("{OF_BEFORE}\n\n{}", self.detailed);
        Self { brief: self.brief, detailed }
    }
}

/// The summaries of a tree, the target's first, then by depth.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SynthesisInput {
    /// As many as there is room for.
    pub told: Vec<(String, String)>,
    pub left_out: usize,
}

impl SynthesisInput {
    /// Chooses what a synthesis is told. A directory's summary was written with those of its
    /// children in view, so of a tree with thousands the upper levels tell the most.
    pub fn of(summaries: &[(String, String)]) -> Self {
        let mut by_depth: Vec<&(String, String)> = summaries.iter().collect();
        by_depth.sort_by_key(|(path, _)| (depth(path), path.clone()));
        let (mut told, mut bytes) = (Vec::new(), 0);
        for (path, summary) in by_depth {
            let summary = spore_plain::cut(summary, SUMMARY_BYTES).into_owned();
            bytes += path.len() + summary.len();
            if bytes > TOLD_BYTES {
                break;
            }
            told.push((path.clone(), summary));
        }
        let left_out = summaries.len() - told.len();
        Self { told, left_out }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for (path, summary) in &self.told {
            text.push_str(&format!("- {}: {}\n", spore_plain::name(path), one_line(summary)));
        }
        if self.left_out > 0 {
            text.push_str(&format!("({} more, further down: list_cache)\n", self.left_out));
        }
        text
    }
}

/// Directories that one session of a first tier sums up, so that a later one has room for all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SynthesisGroup {
    /// The first and the last of them, as people call them.
    pub name: String,
    pub summaries: Vec<(String, String)>,
}

/// Returns the groups in which a tree is summed up first; none where one session has room for all.
/// A group is neighbours in the order of paths, so what belongs together stays together.
pub fn groups(summaries: &[(String, String)]) -> Vec<SynthesisGroup> {
    if SynthesisInput::of(summaries).left_out == 0 {
        return Vec::new();
    }
    let mut by_path: Vec<&(String, String)> = summaries.iter().collect();
    by_path.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
    let mut groups: Vec<SynthesisGroup> = Vec::new();
    let mut room = 0;
    for (path, summary) in by_path {
        let summary = spore_plain::cut(summary, SUMMARY_BYTES).into_owned();
        let bytes = path.len() + summary.len();
        match groups.last_mut().filter(|_| bytes <= room) {
            Some(group) => {
                group.summaries.push((path.clone(), summary));
                room -= bytes;
            }
            None => {
                let name = path.clone();
                groups.push(SynthesisGroup { name, summaries: vec![(path.clone(), summary)] });
                room = TOLD_BYTES.saturating_sub(bytes);
            }
        }
    }
    for group in &mut groups {
        if let Some((last, _)) = group.summaries.last().filter(|(last, _)| *last != group.name) {
            group.name = format!("{} to {last}", group.name);
        }
    }
    groups
}

fn depth(path: &str) -> usize {
    if path == "." { 0 } else { path.split('/').count() }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Puts a report together of the summaries alone.
pub fn mechanical(summaries: &[(String, String)]) -> PassReport {
    let input = SynthesisInput::of(summaries);
    let top = input.told.iter().find(|(path, _)| path == ".").or(input.told.first());
    let brief = top
        .map_or_else(|| "No directory was described.".to_owned(), |(_, summary)| one_line(summary));
    let lines: Vec<String> = input
        .told
        .iter()
        .take(MECHANICAL)
        .map(|(path, summary)| format!("- {}: {}", spore_plain::name(path), one_line(summary)))
        .collect();
    let more = summaries.len().saturating_sub(lines.len());
    let more = if more > 0 { format!("\n- and {more} more directories") } else { String::new() };
    PassReport { brief, detailed: lines.join("\n") + &more }
}

/// What is said of a directory whose loop ended early, from what it wrote about its files.
pub fn partial_summary(files: &[(String, String)], all: usize) -> String {
    if files.is_empty() {
        return format!("Not described: its loop ended before any of its {all} files was.");
    }
    let told: Vec<String> = files
        .iter()
        .take(MECHANICAL)
        .map(|(name, summary)| {
            let line = one_line(summary);
            format!("{}: {}", spore_plain::name(name), spore_plain::cut(&line, 160))
        })
        .collect();
    format!("Described in part, {} of {all} files. {}", files.len(), told.join(" "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn summaries(count: usize) -> Vec<(String, String)> {
        let of = |at: usize| (format!("d{}/e{at}", at % 7), format!("Holds {at}.\nAnd more."));
        std::iter::once((".".to_owned(), "A shop.".to_owned())).chain((0..count).map(of)).collect()
    }

    #[test]
    fn without_a_synthesis_the_summaries_are_the_report() {
        let report = mechanical(&summaries(2));
        assert_eq!(report.brief, "A shop.");
        assert_eq!(
            report.detailed,
            "- .: A shop.\n- d0/e0: Holds 0. And more.\n- d1/e1: Holds 1. And more."
        );
        assert_eq!(mechanical(&[]).brief, "No directory was described.");
        assert!(mechanical(&summaries(100)).detailed.ends_with("- and 61 more directories"));
    }

    #[test]
    fn a_report_of_before_says_that_it_is() {
        let report = mechanical(&summaries(1));
        let told = report.clone().of_before();
        assert_eq!(told.brief, report.brief);
        assert!(told.detailed.starts_with("This was said by an earlier investigation"));
        assert!(told.detailed.ends_with(&report.detailed));
    }

    #[test]
    fn a_loop_that_ended_early_says_how_much_it_read() {
        let files = [("a.rs".to_owned(), "Adds.".to_owned())];
        assert_eq!(partial_summary(&files, 3), "Described in part, 1 of 3 files. a.rs: Adds.");
        assert!(partial_summary(&[], 3).starts_with("Not described"));
    }

    #[test]
    fn what_one_session_has_room_for_is_one_group_and_more_is_several() {
        assert_eq!(groups(&summaries(100)), []);
        let long: Vec<(String, String)> =
            (0..1_000).map(|at| (format!("d{at:03}/e"), "word ".repeat(200))).collect();
        let groups = groups(&long);
        assert!(groups.len() > 1 && groups.len() < 20, "{}", groups.len());
        assert!(groups[0].name.starts_with("d000/e to d"), "{}", groups[0].name);
        let all: usize = groups.iter().map(|group| group.summaries.len()).sum();
        assert_eq!(all, long.len());
        for group in &groups {
            assert_eq!(SynthesisInput::of(&group.summaries).left_out, 0, "{}", group.name);
        }
    }

    proptest! {
        #[test]
        fn a_synthesis_is_told_within_bounds_and_nothing_is_lost_unsaid(count in 0_usize..4000) {
            let all = summaries(count);
            let input = SynthesisInput::of(&all);
            prop_assert_eq!(input.told.len() + input.left_out, all.len());
            prop_assert!(input.text().len() < 2 * TOLD_BYTES);
            prop_assert_eq!(input.told.first().map(|(path, _)| path.as_str()), Some("."));
        }
    }
}
