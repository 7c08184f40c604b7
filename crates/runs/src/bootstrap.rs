//! How sure a mean difference is: a paired bootstrap, by one seed, so that it says the same again.
//!
//! Pairs are drawn again from the pairs that there are, many times; the interval is what the means
//! of the middle 95 % of these draws lie between. A plain percentile interval is too narrow where
//! pairs are few, so its ends are taken as far out as Student's distribution is wider than the
//! normal one (the "expanded percentile" interval). Nothing is assumed of how figures are spread.

use schemars::JsonSchema;
use serde::Serialize;

/// Fewer pairs than this say nothing: the interval would be as wide as luck has it.
pub(crate) const LEAST_PAIRS: usize = 10;

/// How often is drawn: the ends of the interval are steady to about a fiftieth of its width.
const DRAWS: usize = 4000;

const SEED: u64 = 0x5370_6f72_6520_3935;

/// The normal distribution's end of the middle 95 %.
const Z: f64 = 1.959_963_984_540_054;

#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Difference {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

/// Returns the mean of differences with its 95 % interval; `None` for fewer than two.
pub(crate) fn difference(pairs: &[f64]) -> Option<Difference> {
    drawn(pairs, DRAWS, SEED)
}

/// Returns how much more the mean of `a` is than that of `b`, with its 95 % interval: two groups of
/// runs that nothing pairs, each drawn from by itself. `None` where one has fewer than ten.
pub fn difference_of_arms(a: &[f64], b: &[f64]) -> Option<Difference> {
    drawn_apart(a, b, DRAWS, SEED).filter(|_| a.len().min(b.len()) >= LEAST_PAIRS)
}

fn drawn_apart(a: &[f64], b: &[f64], draws: usize, seed: u64) -> Option<Difference> {
    let least = a.len().min(b.len());
    if least < 2 {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut random = DrawnNumbers(seed);
    let mut draw = |values: &[f64]| {
        let n = values.len();
        (0..n).map(|_| values[random.below(n)]).sum::<f64>() / n as f64
    };
    let means: Vec<f64> = (0..draws).map(|_| draw(a) - draw(b)).collect();
    let (low, high) = ends(means, tail(least));
    Some(Difference { mean: mean(a) - mean(b), low, high })
}

/// Returns the values between which the draws lie, but for a share at each end.
fn ends(mut means: Vec<f64>, outside: f64) -> (f64, f64) {
    means.sort_by(f64::total_cmp);
    let last = means.len() - 1;
    let at = |share: f64| {
        let place = share * last as f64;
        let (below, part) = (place.floor() as usize, place.fract());
        means[below] * (1.0 - part) + means[(below + 1).min(last)] * part
    };
    (at(outside), at(1.0 - outside))
}

fn drawn(pairs: &[f64], draws: usize, seed: u64) -> Option<Difference> {
    let n = pairs.len();
    if n < 2 {
        return None;
    }
    let mut random = DrawnNumbers(seed);
    let means: Vec<f64> = (0..draws)
        .map(|_| (0..n).map(|_| pairs[random.below(n)]).sum::<f64>() / n as f64)
        .collect();
    let (low, high) = ends(means, tail(n));
    Some(Difference { mean: pairs.iter().sum::<f64>() / n as f64, low, high })
}

/// Returns about how many pairs it takes to tell a difference of this size, four times out of five,
/// from none.
pub(crate) fn pairs_needed(pairs: &[f64]) -> Option<u32> {
    let n = pairs.len() as f64;
    let mean = pairs.iter().sum::<f64>() / n;
    let variance = pairs.iter().map(|pair| (pair - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let needed = (Z + 0.842).powi(2) * variance / (mean * mean);
    (needed.is_finite() && needed < 1e6).then(|| (needed.ceil() as u32).max(LEAST_PAIRS as u32))
}

/// Returns the share of the draws that lies beyond each end of the interval.
fn tail(n: usize) -> f64 {
    let n = n as f64;
    let stretched = (n / (n - 1.0)).sqrt() * students(n - 1.0);
    beyond(stretched)
}

/// Student's counterpart of [`Z`], by the expansion of Cornish and Fisher.
fn students(freedom: f64) -> f64 {
    let z = Z;
    z + (z.powi(3) + z) / (4.0 * freedom)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z)
            / (384.0 * freedom.powi(3))
}

/// Returns how much of the normal distribution lies beyond `z`, which is above zero; to seven
/// digits (Abramowitz and Stegun, 26.2.17).
fn beyond(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    sum * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Numbers that look drawn by lot and are the same each time (SplitMix64).
struct DrawnNumbers(u64);

impl DrawnNumbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number between zero and one.
    fn share(random: &mut DrawnNumbers) -> f64 {
        (random.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(random: &mut DrawnNumbers) -> f64 {
        let radius = (-2.0 * (1.0 - share(random)).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * share(random)).cos()
    }

    /// The share of 2,000 made experiments whose interval holds the effect.
    fn coverage(n: usize, effect: f64, pair: fn(&mut DrawnNumbers, f64) -> f64) -> f64 {
        const EXPERIMENTS: u64 = 2000;
        let held = (0..EXPERIMENTS).filter(|experiment| {
            let mut random = DrawnNumbers(experiment.wrapping_mul(0x1234_5678_9abc_def1));
            let pairs: Vec<f64> = (0..n).map(|_| pair(&mut random, effect)).collect();
            let found = drawn(&pairs, 300, SEED ^ experiment).unwrap();
            found.low <= effect && effect <= found.high
        });
        held.count() as f64 / EXPERIMENTS as f64
    }

    #[track_caller]
    fn check(n: usize, effect: f64, pair: fn(&mut DrawnNumbers, f64) -> f64) {
        let covered = coverage(n, effect, pair);
        assert!((0.93..=0.97).contains(&covered), "n = {n}, effect {effect}: {covered}");
    }

    /// What two runs of a task cost: the task is dear or cheap for both, and each has its luck.
    fn costs(random: &mut DrawnNumbers, effect: f64) -> f64 {
        let task = 1.0 + 3.0 * share(random);
        let (with, without) = (task + 0.4 * normal(random), task + 0.6 * normal(random));
        with + effect - without
    }

    /// Both verified or neither, mostly; else the first more often than the second, by the effect.
    fn verified(random: &mut DrawnNumbers, effect: f64) -> f64 {
        let drawn = share(random);
        match drawn {
            _ if drawn < 0.25 + effect / 2.0 => 1.0,
            _ if drawn < 0.5 => -1.0,
            _ => 0.0,
        }
    }

    #[test]
    fn the_interval_holds_a_known_effect_as_often_as_it_says() {
        // From the fewest pairs on of which anything is concluded.
        for n in [LEAST_PAIRS, 30, 100] {
            check(n, -0.3, costs);
            check(n, 0.0, costs);
            check(n, 0.2, verified);
        }
    }

    /// Runs that were told something and runs that were not, verified by luck with these chances.
    #[test]
    fn the_interval_of_two_arms_holds_a_known_effect_as_often_as_it_says() {
        const EXPERIMENTS: u64 = 600;
        for (told, kept, n, m) in [(0.7, 0.5, 40, 40), (0.6, 0.6, 60, 30)] {
            let held = (0..EXPERIMENTS).filter(|experiment| {
                let mut random = DrawnNumbers(experiment.wrapping_mul(0x9abc_def1_1234_5678));
                let mut arm = |chance: f64, many: usize| -> Vec<f64> {
                    (0..many).map(|_| f64::from(u8::from(share(&mut random) < chance))).collect()
                };
                let (a, b) = (arm(told, n), arm(kept, m));
                let found = drawn_apart(&a, &b, 300, SEED ^ experiment).unwrap();
                found.low <= told - kept && told - kept <= found.high
            });
            let covered = held.count() as f64 / EXPERIMENTS as f64;
            assert!((0.925..=0.985).contains(&covered), "{told} {kept}: {covered}");
        }
        assert_eq!(difference_of_arms(&[1.0; 9], &[0.0; 40]), None);
        let sure = difference_of_arms(&[1.0; 12], &[0.0; 12]).unwrap();
        assert_eq!((sure.mean, sure.low, sure.high), (1.0, 1.0, 1.0));
    }

    #[test]
    fn the_same_pairs_have_the_same_interval() {
        let pairs: Vec<f64> = (0..40).map(|number| f64::from(number % 7) - 2.0).collect();
        assert_eq!(difference(&pairs), difference(&pairs));
        assert_eq!(difference(&[1.0]), None);
        let same = difference(&[2.0; 12]).unwrap();
        assert_eq!((same.mean, same.low, same.high), (2.0, 2.0, 2.0));
    }

    #[test]
    fn the_distributions_are_those_of_the_tables() {
        for (freedom, expected) in [(9.0, 2.262_157), (29.0, 2.045_230), (99.0, 1.984_217)] {
            assert!(
                (students(freedom) - expected).abs() < 2e-3,
                "{freedom}: {}",
                students(freedom)
            );
        }
        assert!((beyond(Z) - 0.025).abs() < 1e-6);
        assert!((beyond(1.0) - 0.158_655_3).abs() < 1e-6);
    }
}
