//! What a match is worth: BM25, for whole documents and for their units.

use crate::{Collection, TermMatches};

/// The two constants of BM25.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bm25 {
    /// How soon a term that comes again stops to count.
    pub saturation: f64,
    /// How much long texts are held back, 0 to 1.
    pub length: f64,
}

impl Bm25 {
    /// Returns what a term is worth that comes so often in a text of this length.
    pub fn weight(self, count: f64, length: f64, mean: f64) -> f64 {
        let norm = 1.0 - self.length + self.length * length / mean.max(1.0);
        count * (self.saturation + 1.0) / (count + self.saturation * norm)
    }
}

/// Returns how telling a term is that so many of all hold.
#[expect(clippy::cast_precision_loss, reason = "counts of things in memory")]
pub fn inverse_frequency(all: usize, holding: u32) -> f64 {
    let holding = f64::from(holding);
    (1.0 + (all as f64 - holding + 0.5).max(0.0) / (holding + 0.5)).ln()
}

/// Returns the score of every document, by its place. A term in the path counts as if the
/// text had it `path` times more.
pub fn document_scores(
    collection: &Collection,
    terms: &[(f64, &TermMatches)],
    bm25: Bm25,
    path: f64,
) -> Vec<f64> {
    let documents = collection.documents();
    let mean = collection.mean_length();
    let mut scores = vec![0.0; documents.len()];
    for (weight, matches) in terms {
        let worth = weight * inverse_frequency(documents.len(), matches.documents);
        let of = |unit: u32| collection.units()[unit as usize].document;
        for postings in matches.postings.chunk_by(|a, b| of(a.unit) == of(b.unit)) {
            let place = of(postings[0].unit) as usize;
            let count: f64 = postings
                .iter()
                .map(|p| f64::from(p.count()) + if p.in_path() { path } else { 0.0 })
                .sum();
            if count > 0.0 {
                let length = f64::from(documents[place].length);
                scores[place] += worth * bm25.weight(count, length, mean);
            }
        }
    }
    scores
}

/// Returns the score of every unit, by its place. A term in the unit's name or documentation
/// counts as if the body had it so many times more.
pub fn unit_scores(
    collection: &Collection,
    terms: &[(f64, &TermMatches)],
    bm25: Bm25,
    name: f64,
    doc: f64,
) -> Vec<f64> {
    let units = collection.units();
    let mean = collection.mean_unit_length();
    let mut scores = vec![0.0; units.len()];
    for (weight, matches) in terms {
        let holding = u32::try_from(matches.postings.len()).unwrap_or(u32::MAX);
        let worth = weight * inverse_frequency(units.len(), holding);
        for posting in &matches.postings {
            let mut count = f64::from(posting.count());
            count += if posting.in_name() { name } else { 0.0 };
            count += if posting.in_doc() { doc } else { 0.0 };
            if count > 0.0 {
                let length = f64::from(units[posting.unit as usize].length);
                scores[posting.unit as usize] += worth * bm25.weight(count, length, mean);
            }
        }
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Field, SegmentBuilder};

    #[test]
    fn the_rarer_term_and_the_shorter_text_win() {
        let texts = ["common common rare", "common", "common and many many other words here"];
        let mut builder = SegmentBuilder::default();
        for (number, text) in (0..).zip(texts) {
            builder.add(number, |document| document.add(0, Field::Body, text));
        }
        let segment = builder.finish();
        let head = segment.head();
        let collection = Collection::new(&[&head], |_, _| true);
        let bm25 = Bm25 { saturation: 1.2, length: 0.75 };
        let of = |term: &str| {
            let list = segment.terms().find(|(known, _)| *known == term).unwrap().1;
            let matches = collection.matches([(0, &list[..])]);
            document_scores(&collection, &[(1.0, &matches)], bm25, 3.0)
        };
        let (rare, common) = (of("rare"), of("common"));
        assert!(rare[0] > common[0] && rare[1] == 0.0);
        assert!(common[1] > common[2]);
        assert!(inverse_frequency(3, 3) > 0.0 && inverse_frequency(0, 0) > 0.0);
    }
}
