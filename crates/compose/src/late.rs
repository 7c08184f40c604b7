//! What of a stage is only known when its turn comes: its texts, what it is done for, and the
//! stages of a plan that another made.

use serde::{Deserialize, Serialize};
use spore_config::Position;

use crate::files::flow_json;
use crate::wording::{DataHole, Datum, FlowData, Wording};

/// The longest thing that a stage is done for: a title, not a document.
const ITEM_BYTES: usize = 500;

/// The texts of a stage that have holes. A plan shows them with their holes; here they are kept as
/// what they are.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LateWords {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<Wording>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<Wording>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact: Option<Wording>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task: Option<Wording>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<Wording>,
}

impl LateWords {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns how a text is shown, and keeps it where it has holes.
    pub(crate) fn keep(slot: &mut Option<Wording>, wording: &Wording) -> String {
        *slot = Some(wording.clone()).filter(|wording| wording.plain().is_none());
        wording.to_string()
    }

    /// Fills in what is known.
    pub(crate) fn knowing(&self, data: &FlowData) -> Self {
        let fill = |wording: &Option<Wording>| wording.as_ref().map(|one| one.knowing(data));
        Self {
            target: fill(&self.target),
            prompt: fill(&self.prompt),
            artifact: fill(&self.artifact),
            task: fill(&self.task),
            plan: fill(&self.plan),
        }
    }
}

/// What a stage is done for one by one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EachPlan {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
    /// The file that lists them, where the flow itself does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Wording>,
    pub max_parallel: u32,
    pub max_items: u32,
}

/// What says that a stage has been done often enough.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoundsPlan {
    /// A line of its artifact, or the grade of the checks that is good enough.
    pub until: String,
    /// The stage that another round begins with.
    pub from: String,
    pub max_rounds: u32,
}

impl RoundsPlan {
    /// Returns whether an artifact says it.
    pub fn is_said(&self, artifact: &str) -> bool {
        let decoration = ['*', '`', '_', '#', '>', '-', ' ', '\t'];
        artifact.lines().any(|line| line.trim().trim_matches(decoration) == self.until)
    }
}

/// Stages that a file names which is made on the way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PlannedWork {
    /// The file.
    pub plan: String,
    pub target: String,
    pub max_stages: u32,
}

/// What a later stage takes the artifact of a stage for. It is held to that when it is made, so that
/// the stage that made it can mend it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "made_for", rename_all = "snake_case")]
pub enum MadeFor {
    /// A list of things to be done one by one.
    List { max_items: u32 },
    /// A plan.
    Plan { stage: String, max_stages: u32 },
    /// The phases of a campaign.
    Phases { max_phases: u32, target: String },
}

/// Returns whether a text is the artifact of the stage `name` and nothing else.
pub(crate) fn is_artifact_of(wording: &Wording, name: &str) -> bool {
    let wanted = DataHole::Stage { name: name.to_owned(), datum: Datum::Artifact };
    wording.to_string() == wanted.to_string() && wording.holes().any(|hole| *hole == wanted)
}

/// Reads the things that a file lists: the texts of a JSON array, or a line each, without the mark
/// of a list. Headings and empty lines are no things.
pub fn read_items(path: &str, text: &str, most: u32) -> Result<Vec<String>, String> {
    let place = |at: usize| format!("{path}:{}", Position::of(text, at).line);
    let items: Vec<(usize, String)> = match path.ends_with(".json") {
        true => {
            let wrong = || "it has to be a list of texts".to_owned();
            let node = flow_json::read(text)
                .map_err(|(at, problem)| format!("{}: this is not JSON: {problem}", place(at)))?;
            let nodes = node.list().ok_or_else(|| format!("{}: {}", place(0), wrong()))?;
            let item = |node: &crate::files::flow_node::FlowNode| {
                let at = node.span.as_ref().map_or(0, |span| span.start);
                let text = node.text().ok_or_else(|| format!("{}: {}", place(at), wrong()))?;
                Ok((at, text.trim().to_owned()))
            };
            nodes.iter().map(item).collect::<Result<_, String>>()?
        }
        false => {
            let mut at = 0;
            let mut found = Vec::new();
            for line in text.split_inclusive('\n') {
                let item = without_mark(line.trim());
                if !item.is_empty() && !line.trim_start().starts_with('#') {
                    found.push((at, item.to_owned()));
                }
                at += line.len();
            }
            found
        }
    };
    if items.is_empty() {
        return Err(format!("{}: it lists nothing", place(0)));
    }
    if let Some((at, _)) = items.get(most as usize) {
        let count = items.len();
        return Err(format!("{}: it lists {count} things; at most {most} are done", place(*at)));
    }
    for (index, (at, item)) in items.iter().enumerate() {
        let problem = match item {
            item if item.is_empty() => "one of the things is empty",
            item if item.len() > ITEM_BYTES => "one of the things is too long to be a title",
            item if item.contains('\n') => "one of the things is more than a line",
            item if items[..index].iter().any(|(_, other)| other == item) => {
                "one of the things is there twice"
            }
            _ => continue,
        };
        return Err(format!("{}: {problem}", place(*at)));
    }
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// A line of a list without what marks it as one.
fn without_mark(line: &str) -> &str {
    let marks = ["- [ ] ", "- [x] ", "- ", "* ", "+ "];
    let plain = marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    let digits = plain.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (digits.len() < plain.len())
        .then(|| digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") ")))
        .flatten();
    numbered.unwrap_or(plain).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: Result<&[&str], &str>) {
        let expected = expected
            .map(|items| items.iter().map(|item| (*item).to_owned()).collect())
            .map_err(str::to_owned);
        assert_eq!(read_items(path, text, 3), expected, "{text}");
    }

    #[test]
    fn a_list_is_read_in_either_format_and_refused_with_its_line() {
        check("a.md", "# Things\n\n- one\n* two\n3. three\n", Ok(&["one", "two", "three"]));
        check("a.md", "- [ ] 3 pigs\n", Ok(&["3 pigs"]));
        check("a.json", "[\"one\",\n \"two\"]", Ok(&["one", "two"]));
        check("a.md", "\n# none\n", Err("a.md:1: it lists nothing"));
        check("a.md", "a\nb\nc\nd\n", Err("a.md:4: it lists 4 things; at most 3 are done"));
        check("a.md", "a\n- a\n", Err("a.md:2: one of the things is there twice"));
        check("a.json", "[\n1]", Err("a.json:2: it has to be a list of texts"));
        check("a.json", "{}", Err("a.json:1: it has to be a list of texts"));
        check("a.json", "[\n\"a\nb\"]", Err("a.json:2: this is not JSON: a text has no end"));
        check("a.json", "[\"a\\nb\"]", Err("a.json:1: one of the things is more than a line"));
        let long = "x".repeat(501);
        check("a.md", &long, Err("a.md:1: one of the things is too long to be a title"));
    }

    #[test]
    fn a_line_says_that_it_is_enough_and_a_part_of_one_does_not() {
        let rounds = RoundsPlan { until: "ENOUGH".to_owned(), from: String::new(), max_rounds: 2 };
        assert!(rounds.is_said("why\n\n**ENOUGH**\n"));
        assert!(!rounds.is_said("NOT ENOUGH\nENOUGH is missing\n"));
        assert!(!rounds.is_said(""));
    }
}
