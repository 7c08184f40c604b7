//! Texts of a plan that are whole only when what they name is known.
//!
//! `{target}` and `{action}` are known when a flow is planned. What an earlier stage or phase left,
//! and which item of a list it is, is known when a stage's turn comes. A wording keeps such holes
//! as what they are, never as text: so nothing that a person or an agent wrote is ever taken for
//! one.

pub(crate) mod template;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::manifest::{PartStatus, StageEntry};

/// A text with holes.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Wording(Vec<WordingPiece>);

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum WordingPiece {
    Words(String),
    Hole(DataHole),
}

/// What a hole stands for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataHole {
    /// What a stage before this one left.
    Stage { name: String, datum: Datum },
    /// What a phase that this one waits for left: as a whole, or one of its stages.
    Phase {
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
        datum: Datum,
    },
    /// One of the things that a stage is done for. It has braces so that a record does not write it as
    /// a plain text, which is read as words.
    Item {},
}

/// What can be known of a stage or phase.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Datum {
    /// The path of its artifact; of a stage with many parts, the paths of all.
    Artifact,
    /// The commit that it left on the flow's branch.
    Commit,
    /// `success`, `failure` or `skipped`.
    Status,
    /// What the sentinel says of it.
    Grade,
}

impl Datum {
    const ALL: [(&'static str, Self); 4] = [
        ("artifact", Self::Artifact),
        ("commit", Self::Commit),
        ("status", Self::Status),
        ("grade", Self::Grade),
    ];

    fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, one)| *one == self).map_or("", |(word, _)| word)
    }

    fn of(self, entry: &StageEntry) -> Option<String> {
        match self {
            Self::Artifact if entry.status != PartStatus::Success => None,
            Self::Artifact if !entry.parts.is_empty() => {
                let paths = entry.parts.iter().filter_map(|part| part.artifact.as_deref());
                let paths: Vec<&str> = paths.collect();
                (!paths.is_empty()).then(|| paths.join(", "))
            }
            Self::Artifact => entry.artifact.clone(),
            Self::Commit => entry.commit.as_ref().map(ToString::to_string),
            Self::Status => Some(entry.status.word().to_owned()),
            Self::Grade => entry.grade.map(|grade| grade.to_string()),
        }
    }
}

impl fmt::Display for DataHole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stage { name, datum } => write!(f, "{{stage.{name}.{}}}", datum.word()),
            Self::Phase { name, stage: None, datum } => {
                write!(f, "{{phase.{name}.{}}}", datum.word())
            }
            Self::Phase { name, stage: Some(stage), datum } => {
                write!(f, "{{phase.{name}.{stage}.{}}}", datum.word())
            }
            Self::Item {} => f.write_str("{item}"),
        }
    }
}

impl DataHole {
    /// Reads what is between two braces. Nothing where that names no data.
    pub(crate) fn read(name: &str) -> Option<Result<Self, String>> {
        if name == "item" {
            return Some(Ok(Self::Item {}));
        }
        let parts: Vec<&str> = name.split('.').collect();
        let datum = |word: &str| {
            let known = Datum::ALL.iter().find(|(known, _)| *known == word);
            known.map(|(_, datum)| *datum).ok_or_else(|| {
                let words: Vec<&str> = Datum::ALL.iter().map(|(word, _)| *word).collect();
                format!("{{{name}}} asks for {word:?}; there are: {}", words.join(", "))
            })
        };
        let own = |text: &str| text.to_owned();
        match parts.as_slice() {
            ["stage", stage, word] => {
                Some(datum(word).map(|datum| Self::Stage { name: own(stage), datum }))
            }
            ["phase", phase, word] => {
                Some(datum(word).map(|datum| Self::Phase { name: own(phase), stage: None, datum }))
            }
            ["phase", phase, stage, word] => Some(datum(word).map(|datum| Self::Phase {
                name: own(phase),
                stage: Some(own(stage)),
                datum,
            })),
            ["stage" | "phase", _, ..] => Some(Err(format!(
                "{{{name}}} is no hole; write {{stage.NAME.artifact}}, {{phase.NAME.commit}} or \
                 {{phase.NAME.STAGE.artifact}}"
            ))),
            _ => None,
        }
    }
}

impl From<&str> for Wording {
    /// What a person says is words, whatever braces it has.
    fn from(words: &str) -> Self {
        let mut wording = Self::default();
        wording.push(WordingPiece::Words(words.to_owned()));
        wording
    }
}

impl Wording {
    /// Reads a text of a flow file, which was checked: `values` go into the holes of their names,
    /// data holes stay, other braces are just text.
    pub(crate) fn read(text: &str, values: &[(&str, &Wording)]) -> Self {
        let mut wording = Self::default();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            wording.push(WordingPiece::Words(before.to_owned()));
            let Some((name, tail)) = after.split_once('}') else {
                wording.push(WordingPiece::Words("{".to_owned()));
                rest = after;
                continue;
            };
            let value = values.iter().find(|(hole, _)| *hole == name);
            match (value, DataHole::read(name)) {
                (Some((_, value)), _) => value.0.iter().cloned().for_each(|one| wording.push(one)),
                (None, Some(Ok(hole))) => wording.push(WordingPiece::Hole(hole)),
                (None, _) => {
                    wording.push(WordingPiece::Words("{".to_owned()));
                    rest = after;
                    continue;
                }
            }
            rest = tail;
        }
        wording.push(WordingPiece::Words(rest.to_owned()));
        wording
    }

    fn push(&mut self, piece: WordingPiece) {
        match (self.0.last_mut(), piece) {
            (_, WordingPiece::Words(words)) if words.is_empty() => {}
            (Some(WordingPiece::Words(last)), WordingPiece::Words(words)) => last.push_str(&words),
            (_, piece) => self.0.push(piece),
        }
    }

    /// Adds words at the end.
    pub(crate) fn add(&mut self, words: &str) {
        self.push(WordingPiece::Words(words.to_owned()));
    }

    pub(crate) fn holes(&self) -> impl Iterator<Item = &DataHole> {
        self.0.iter().filter_map(|piece| match piece {
            WordingPiece::Words(_) => None,
            WordingPiece::Hole(hole) => Some(hole),
        })
    }

    /// Fills in what is known.
    pub(crate) fn knowing(&self, data: &FlowData) -> Self {
        let mut filled = Self::default();
        for piece in &self.0 {
            filled.push(match piece {
                WordingPiece::Hole(hole) => match data.get(hole) {
                    Some(value) => WordingPiece::Words(value),
                    None => piece.clone(),
                },
                WordingPiece::Words(_) => piece.clone(),
            });
        }
        filled
    }

    /// Fills in everything, or says what nothing fills.
    pub(crate) fn said(&self, data: &FlowData) -> Result<String, DataMissing> {
        let filled = self.knowing(data);
        match filled.holes().next() {
            None => Ok(filled.to_string()),
            Some(hole) => Err(DataMissing::Hole(hole.clone())),
        }
    }

    /// Returns the text where it has no holes.
    pub(crate) fn plain(&self) -> Option<String> {
        self.holes().next().is_none().then(|| self.to_string())
    }
}

/// Holes are shown as people write them.
impl fmt::Display for Wording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            WordingPiece::Words(words) => f.write_str(words),
            WordingPiece::Hole(hole) => hole.fmt(f),
        })
    }
}

/// Why a text cannot be made whole.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DataMissing {
    #[error("{0} is nothing: what it names left none")]
    Hole(DataHole),
    #[error("the artifact {0:?} is not inside the project")]
    Outside(String),
}

/// What is known of the parts of a flow that are over.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FlowData {
    stages: BTreeMap<String, StageEntry>,
    phases: BTreeMap<String, PhaseData>,
    item: Option<String>,
}

/// What is known of a phase that is over.
#[derive(Clone, PartialEq, Debug, Default)]
struct PhaseData {
    stages: BTreeMap<String, StageEntry>,
    commit: Option<String>,
}

fn by_name<'e>(entries: impl Iterator<Item = &'e StageEntry>) -> BTreeMap<String, StageEntry> {
    entries.map(|entry| (entry.name.clone(), entry.clone())).collect()
}

impl FlowData {
    pub(crate) fn of_stages<'e>(entries: impl Iterator<Item = &'e StageEntry>) -> Self {
        Self { stages: by_name(entries), ..Self::default() }
    }

    pub(crate) fn add_phase(&mut self, name: &str, stages: &[StageEntry], commit: Option<String>) {
        let data = PhaseData { stages: by_name(stages.iter()), commit };
        self.phases.insert(name.to_owned(), data);
    }

    /// The same for one item of a list.
    pub(crate) fn for_item(&self, item: &str) -> Self {
        Self { item: Some(item.to_owned()), ..self.clone() }
    }

    fn get(&self, hole: &DataHole) -> Option<String> {
        match hole {
            DataHole::Item {} => self.item.clone(),
            DataHole::Stage { name, datum } => datum.of(self.stages.get(name)?),
            DataHole::Phase { name, stage: Some(stage), datum } => {
                datum.of(self.phases.get(name)?.stages.get(stage)?)
            }
            DataHole::Phase { name, stage: None, datum } => self.phases.get(name)?.get(*datum),
        }
    }
}

impl PhaseData {
    fn get(&self, datum: Datum) -> Option<String> {
        match datum {
            Datum::Artifact => {
                let all = self.stages.values().filter_map(|entry| Datum::Artifact.of(entry));
                let all: Vec<String> = all.collect();
                (!all.is_empty()).then(|| all.join(", "))
            }
            Datum::Commit => self.commit.clone(),
            // Only a phase that passed lets others begin.
            Datum::Status => Some(PartStatus::Success.word().to_owned()),
            Datum::Grade => {
                let worst = self.stages.values().filter_map(|entry| entry.grade).max();
                worst.map(|grade| grade.to_string())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn left(name: &str, artifact: &str) -> StageEntry {
        StageEntry { artifact: Some(artifact.to_owned()), ..StageEntry::passed(name) }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let target = Wording::from("{stage.A.artifact}");
        let wording = Wording::read(text, &[("target", &target)]);
        let mut data = FlowData::of_stages([left("A", "a.md")].iter()).for_item("one");
        data.add_phase("p", &[left("B", "b.md")], Some("c0ffee".to_owned()));
        let told = wording.said(&data).unwrap_or_else(|missing| missing.to_string());
        assert_eq!(told, expected, "{text}");
        let kept: Wording =
            serde_json::from_value(serde_json::to_value(&wording).unwrap()).unwrap();
        assert_eq!(kept, wording);
    }

    #[test]
    fn holes_are_filled_with_what_is_known_and_values_never_are_holes() {
        check("see {stage.A.artifact}", "see a.md");
        check("{target}", "{stage.A.artifact}");
        check("{item}: {phase.p.commit} {phase.p.B.artifact}", "one: c0ffee b.md");
        check("{phase.p.artifact} {stage.A.status}", "b.md success");
        check("{\"a\": {}} {", "{\"a\": {}} {");
        check("{{item}}", "{one}");
        check("{stage.C.artifact}", "{stage.C.artifact} is nothing: what it names left none");
        check("{stage.A.grade}", "{stage.A.grade} is nothing: what it names left none");
    }

    #[test]
    fn what_is_no_hole_is_refused_in_words() {
        let told = |name: &str| DataHole::read(name).unwrap().unwrap_err();
        assert_eq!(
            told("stage.A.path"),
            "{stage.A.path} asks for \"path\"; there are: artifact, commit, status, grade"
        );
        assert!(told("stage.A").starts_with("{stage.A} is no hole; write "));
        assert_eq!(DataHole::read("anything"), None);
    }

    proptest! {
        #[test]
        fn nothing_that_people_say_becomes_a_hole(words in "[{}a-z.]{0,40}") {
            let said = Wording::from(words.as_str());
            let wording = Wording::read("<{target}>", &[("target", &said)]);
            prop_assert_eq!(wording.said(&FlowData::default()).unwrap(), format!("<{words}>"));
        }

        #[test]
        fn a_text_is_shown_as_it_was_written(text in "[{}a-z. ]{0,40}") {
            prop_assert_eq!(Wording::read(&text, &[]).to_string(), text);
        }
    }
}
