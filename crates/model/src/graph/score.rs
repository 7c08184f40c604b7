//! Which of a node's edges a reader should see first.

use serde::{Deserialize, Serialize};

use super::Edge;
use super::kind::certainty;

const RECENCY_WEIGHT: f64 = 0.3;
const CONFIDENCE_WEIGHT: f64 = 0.3;
const PRIORITY_WEIGHT: f64 = 0.4;

/// An edge and how much it tells a reader about its node, from 0 to 1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScoredEdge {
    pub edge: Edge,
    pub score: f64,
    /// Between the oldest edge of this node, 0, and the newest, 1.
    pub recency: f64,
}

/// Scores the edges of one node and returns them best first; equals newest first. Recency is
/// relative to these edges alone, so no clock is asked and old nodes have news too.
pub fn rank_for_context(edges: Vec<Edge>) -> Vec<ScoredEdge> {
    let times = edges.iter().map(|edge| edge.created.as_millis());
    let (oldest, newest) = (times.clone().min().unwrap_or(0), times.max().unwrap_or(0));
    let mut scored: Vec<ScoredEdge> = edges
        .into_iter()
        .map(|edge| {
            let recency = share(edge.created.as_millis() - oldest, newest - oldest);
            let score = RECENCY_WEIGHT * recency
                + CONFIDENCE_WEIGHT * certainty(edge.confidence)
                + PRIORITY_WEIGHT * edge.kind.priority();
            ScoredEdge { edge, score, recency }
        })
        .collect();
    scored.sort_by(|a, b| {
        let newest_first = (b.edge.created, b.edge.id).cmp(&(a.edge.created, a.edge.id));
        b.score.total_cmp(&a.score).then(newest_first)
    });
    scored
}

fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::EdgeKind;
    use crate::{EdgeId, NodeId, Timestamp};

    fn edge(number: u32, kind: EdgeKind, confidence: Option<f64>, millis: i64) -> Edge {
        let [source, target] = [0, 1].map(|end| NodeId::from_parts(0, end));
        let id = EdgeId::from_parts(0, u128::from(number));
        let at = Timestamp::from_millis(millis);
        Edge { confidence, ..Edge::new(id, source, target, kind, at) }
    }

    #[track_caller]
    fn check(edges: &[(EdgeKind, Option<f64>, i64)], expected: &[(u32, f64)]) {
        let edges = (0..).zip(edges).map(|(n, (kind, sure, at))| edge(n, *kind, *sure, *at));
        let ranked = rank_for_context(edges.collect());
        let ids: Vec<EdgeId> = ranked.iter().map(|scored| scored.edge.id).collect();
        let wanted: Vec<EdgeId> =
            expected.iter().map(|(n, _)| EdgeId::from_parts(0, u128::from(*n))).collect();
        assert_eq!(ids, wanted);
        for (scored, (_, score)) in ranked.iter().zip(expected) {
            assert!((scored.score - score).abs() < 1e-12, "{} for {score}", scored.score);
        }
    }

    #[test]
    fn news_certainty_and_importance_add_up() {
        check(
            &[
                (EdgeKind::Calls, Some(1.0), 1000),
                (EdgeKind::Contradicts, None, 3000),
                (EdgeKind::Supports, Some(0.5), 2000),
            ],
            &[(1, 0.3 + 0.15 + 0.4), (2, 0.15 + 0.15 + 0.2), (0, 0.0 + 0.3 + 0.12)],
        );
    }

    #[test]
    fn a_single_edge_is_the_newest_there_is() {
        check(&[(EdgeKind::Calls, Some(0.0), 5)], &[(0, 0.3 + 0.12)]);
        check(&[], &[]);
    }

    #[test]
    fn of_equals_the_newer_edge_comes_first() {
        check(&[(EdgeKind::Calls, None, 5), (EdgeKind::Calls, None, 5)], &[(1, 0.57), (0, 0.57)]);
    }
}
