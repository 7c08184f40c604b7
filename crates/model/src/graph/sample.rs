//! Small graphs for tests, written as text.

use std::convert::Infallible;

use super::{Direction, EdgeKind, GraphSurvey, Link, Links, NodeClass, NodeHead};
use crate::{NodeId, Timestamp};

/// A graph in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub(super) heads: Vec<NodeHead>,
    pub(super) edges: Vec<SampleEdge>,
}

#[derive(Clone, Debug)]
pub(super) struct SampleEdge {
    pub(super) source: NodeId,
    pub(super) target: NodeId,
    pub(super) kind: EdgeKind,
    pub(super) confidence: Option<f64>,
    pub(super) superseded: bool,
}

/// Ids sort as their names do.
pub(super) fn id(name: &str) -> NodeId {
    let number = name.bytes().fold(0_u128, |number, byte| (number << 8) | u128::from(byte));
    NodeId::from_parts(0, number)
}

pub(super) fn head(name: &str) -> NodeHead {
    NodeHead {
        id: id(name),
        class: NodeClass::Knowledge,
        kind: "function".into(),
        title: name.into(),
        parent: None,
        updated: Timestamp::from_millis(0),
        superseded: false,
    }
}

impl Sample {
    /// Reads `a calls .9 b` as an edge, with `!calls` as a superseded one, and `a word` as
    /// something about a node: `unknown`, `superseded`, a class, `in:region`, `at:day`, or
    /// else its kind.
    pub(super) fn new(text: &str) -> Self {
        let mut sample = Self::default();
        for line in text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
            match line[..] {
                [] => {}
                [name] => drop(sample.head(name)),
                [source, kind, confidence, target] => {
                    sample.head(source);
                    sample.head(target);
                    sample.edges.push(SampleEdge {
                        source: id(source),
                        target: id(target),
                        kind: kind.trim_start_matches('!').parse().unwrap(),
                        confidence: confidence.parse().ok(),
                        superseded: kind.starts_with('!'),
                    });
                }
                [name, "unknown"] => {
                    sample.head(name);
                    sample.heads.retain(|head| head.id != id(name));
                }
                [name, word] => describe(sample.head(name), word),
                _ => panic!("{line:?}"),
            }
        }
        sample
    }

    fn head(&mut self, name: &str) -> &mut NodeHead {
        let place = self.heads.iter().position(|head| head.id == id(name)).unwrap_or_else(|| {
            self.heads.push(head(name));
            self.heads.len() - 1
        });
        &mut self.heads[place]
    }
}

fn describe(head: &mut NodeHead, word: &str) {
    if word == "superseded" {
        head.superseded = true;
    } else if let Ok(class) = word.parse() {
        head.class = class;
    } else if let Some(region) = word.strip_prefix("in:") {
        head.parent = Some(id(region));
    } else if let Some(day) = word.strip_prefix("at:") {
        head.updated = Timestamp::from_millis(day.parse::<i64>().unwrap() * 86_400_000);
    } else {
        head.kind = word.into();
    }
}

impl Links for Sample {
    type Error = Infallible;

    fn links(&self, of: &[NodeId]) -> Result<Vec<Link>, Infallible> {
        let mut links = Vec::new();
        for near in of {
            for edge in &self.edges {
                let ends = [
                    (&edge.source, &edge.target, Direction::Out),
                    (&edge.target, &edge.source, Direction::In),
                ];
                for (_, far, direction) in ends.into_iter().filter(|(end, ..)| *end == near) {
                    links.push(Link {
                        near: near.clone(),
                        far: far.clone(),
                        direction,
                        kind: edge.kind,
                        confidence: edge.confidence,
                        superseded: edge.superseded,
                    });
                }
            }
        }
        Ok(links)
    }

    fn heads(&self, of: &[NodeId]) -> Result<Vec<NodeHead>, Infallible> {
        Ok(self.heads.iter().filter(|head| of.contains(&head.id)).cloned().collect())
    }

    fn survey(&self, survey: &mut GraphSurvey) -> Result<(), Infallible> {
        self.heads.iter().cloned().for_each(|head| survey.add_node(head));
        for edge in self.edges.iter().filter(|edge| !edge.superseded) {
            survey.add_edge(&edge.source, &edge.target, edge.kind);
        }
        Ok(())
    }
}

/// Random small graphs, and what a test needs to know of them.
pub(super) mod random {
    use proptest::prelude::*;

    use super::{EdgeKind, NodeClass, Sample, SampleEdge, head, id};

    pub(crate) const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const KINDS: [EdgeKind; 5] = [
        EdgeKind::Calls,
        EdgeKind::Contradicts,
        EdgeKind::DerivesFrom,
        EdgeKind::Contains,
        EdgeKind::Clicked,
    ];

    pub(crate) fn kind() -> impl Strategy<Value = EdgeKind> {
        prop::sample::select(&KINDS[..])
    }

    fn edge() -> impl Strategy<Value = SampleEdge> {
        let end = || prop::sample::select(&NAMES[..]).prop_map(id);
        // Few values, so that equal distances are common.
        let confidence = prop::option::of((0_u8..=4).prop_map(|quarter| f64::from(quarter) / 4.0));
        (end(), end(), kind(), confidence, prop::bool::weighted(0.1)).prop_map(
            |(source, target, kind, confidence, superseded)| SampleEdge {
                source,
                target,
                kind,
                confidence,
                superseded,
            },
        )
    }

    pub(crate) fn sample() -> impl Strategy<Value = Sample> {
        let traits = prop::collection::vec(0_u8..12, NAMES.len());
        (prop::collection::vec(edge(), 0..24), traits).prop_map(|(edges, traits)| {
            let mut sample = Sample { heads: Vec::new(), edges };
            for (name, chance) in NAMES.into_iter().zip(traits) {
                let mut head = head(name);
                match chance {
                    0 => continue,
                    1 => head.superseded = true,
                    2 => head.kind = "directory".into(),
                    3 | 4 => head.class = NodeClass::Operational,
                    _ => {}
                }
                sample.heads.push(head);
            }
            sample
        })
    }
}
