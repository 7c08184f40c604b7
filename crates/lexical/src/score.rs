//! What a match is worth: the two halves of BM25. The caller adds them up, because each kind of
//! search decides for itself how much which fields and units count.

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
pub fn inverse_frequency(all: usize, holding: u32) -> f64 {
    let holding = f64::from(holding);
    (1.0 + (all as f64 - holding + 0.5).max(0.0) / (holding + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarer_term_and_the_shorter_text_win() {
        let bm25 = Bm25 { saturation: 1.2, length: 0.75 };
        assert!(inverse_frequency(100, 1) > inverse_frequency(100, 50));
        assert!(bm25.weight(1.0, 10.0, 20.0) > bm25.weight(1.0, 40.0, 20.0));
        assert!(inverse_frequency(3, 3) > 0.0 && inverse_frequency(0, 0) > 0.0);
    }

    #[test]
    fn a_term_that_comes_again_counts_less_each_time() {
        let bm25 = Bm25 { saturation: 1.2, length: 0.0 };
        let gain = |count: f64| bm25.weight(count + 1.0, 1.0, 1.0) - bm25.weight(count, 1.0, 1.0);
        assert!(gain(0.0) > gain(1.0) && gain(1.0) > gain(5.0) && gain(5.0) > 0.0);
    }
}
