//! The loops that take the time: matrix products, softmax, GELU, normalisation, dot products.
//!
//! Each is written once, in plain safe Rust over small arrays of a fixed width, and compiled
//! twice: for the processor that every x86-64 has, and for one with AVX2 and FMA, chosen when
//! the program runs. The compiler keeps the arrays in registers and makes one instruction of
//! eight numbers, which was seen in what it wrote; `bench/embed.py` notices when it stops.
//!
//! This module may use `unsafe`, for one thing: calling the second version. That is sound
//! because the call stands behind the check for the very features it was compiled with.

#![expect(unsafe_code, reason = "calls of functions compiled for a processor that was found")]

use crate::DIMENSIONS;

/// Columns of a panel: two registers of eight.
pub(crate) const LANES: usize = 16;

/// Rows of a tile: twelve accumulators of the sixteen registers, so that none is spilled.
const TILE: usize = 6;

/// How deep a panel is taken at a time, so that it stays in the first-level cache.
const DEPTH: usize = 384;

/// One row of a panel, at the start of a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Lane(pub(crate) [f32; LANES]);

impl Lane {
    pub(crate) const ZERO: Self = Self([0.0; LANES]);
}

/// Rows of numbers that lie `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

/// The right side of a product: panels of [`LANES`] columns, each `depth` rows deep.
#[derive(Clone, Copy)]
pub(crate) struct Panels<'a> {
    pub(crate) lanes: &'a [Lane],
    pub(crate) depth: usize,
}

/// Whether a product replaces what is there or is added to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Onto {
    Nothing,
    Sum,
}

macro_rules! compiled_twice {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?, $body:ident) => {
        $(#[$doc])*
        pub(crate) fn $name($($arg: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide($($arg: $type),*) $(-> $result)? {
                    $body::<true>($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("fma")
                {
                    // SAFETY: this processor has both features.
                    return unsafe { wide($($arg),*) };
                }
            }
            $body::<false>($($arg),*)
        }
    };
}

compiled_twice!(
    /// Multiplies `left` by `right` into rows of `out` that lie `stride` apart.
    product(left: Rows<'_>, right: Panels<'_>, out: &mut [f32], stride: usize, onto: Onto),
    product_body
);

compiled_twice!(
    /// Turns a row of scores into shares that add up to one.
    softmax(row: &mut [f32]),
    softmax_body
);

compiled_twice!(
    /// Adds the bias to a row and applies GELU, the exact one with the error function.
    gelu(row: &mut [f32], bias: &[f32]),
    gelu_body
);

compiled_twice!(
    /// Brings a row to mean 0 and variance 1, then scales and shifts it.
    normalise(row: &mut [f32], scale: &[f32], shift: &[f32]),
    normalise_body
);

compiled_twice!(
    /// Multiplies each row of signed bytes with the query, exactly.
    dots(rows: &[[u8; DIMENSIONS]], query: &[i16; DIMENSIONS], sums: &mut [i32]),
    dots_body
);

/// `a * b + c`; fused where the processor can, because otherwise a fused one is a slow call.
#[inline(always)]
fn fma<const WIDE: bool>(a: f32, b: f32, c: f32) -> f32 {
    if WIDE { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn product_body<const WIDE: bool>(
    left: Rows<'_>,
    right: Panels<'_>,
    out: &mut [f32],
    stride: usize,
    onto: Onto,
) {
    for from in (0..left.columns).step_by(DEPTH) {
        let depth = DEPTH.min(left.columns - from);
        let add = from > 0 || onto == Onto::Sum;
        for (panel, lanes) in right.lanes.chunks_exact(right.depth).enumerate() {
            let lanes = &lanes[from..from + depth];
            let mut row = 0;
            while row < left.rows {
                let rows = tile_rows(left.rows - row);
                let left = Rows { data: &left.data[row * left.stride + from..], rows, ..left };
                let out = &mut out[row * stride + panel * LANES..];
                match rows {
                    1 => tile_product::<WIDE, 1>(left, lanes, out, stride, add),
                    2 => tile_product::<WIDE, 2>(left, lanes, out, stride, add),
                    3 => tile_product::<WIDE, 3>(left, lanes, out, stride, add),
                    4 => tile_product::<WIDE, 4>(left, lanes, out, stride, add),
                    5 => tile_product::<WIDE, 5>(left, lanes, out, stride, add),
                    _ => tile_product::<WIDE, TILE>(left, lanes, out, stride, add),
                }
                row += rows;
            }
        }
    }
}

/// Returns how many of the rows that are left the next tile takes. The last two share what
/// there is: 7 rows are 4 + 3, where 6 + 1 would waste most of the 1.
#[inline(always)]
fn tile_rows(left: usize) -> usize {
    match left {
        0..=TILE => left,
        _ if left < 2 * TILE => left.div_ceil(2),
        _ => TILE,
    }
}

#[inline(always)]
fn tile_product<const WIDE: bool, const ROWS: usize>(
    left: Rows<'_>,
    lanes: &[Lane],
    out: &mut [f32],
    stride: usize,
    add: bool,
) {
    let depth = lanes.len();
    // All of one length that is known to be the loop's: no check is left inside of it.
    let rows: [&[f32]; ROWS] = std::array::from_fn(|row| &left.data[row * left.stride..][..depth]);
    let mut sums = [[0.0_f32; LANES]; ROWS];
    // Written with an index on purpose: over an iterator the compiler gives up on registers,
    // and this is ten times slower.
    for column in 0..depth {
        let lane = &lanes[column].0;
        for row in 0..ROWS {
            for at in 0..LANES {
                sums[row][at] = fma::<WIDE>(rows[row][column], lane[at], sums[row][at]);
            }
        }
    }
    for (row, sums) in sums.iter().enumerate() {
        let out = &mut out[row * stride..row * stride + LANES];
        for (out, sum) in out.iter_mut().zip(sums) {
            *out = if add { *out + sum } else { *sum };
        }
    }
}

/// e to the power of a number that is not above 88: two to a whole number, times a polynomial.
#[inline(always)]
fn exp<const WIDE: bool>(x: f32) -> f32 {
    // Adding this rounds to a whole number and leaves it in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = fma::<WIDE>(x, std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    let rest = fma::<WIDE>(whole, -LN2_HIGH, x);
    let rest = fma::<WIDE>(whole, -LN2_LOW, rest);
    let mut power = 1.987_569_1e-4;
    for coefficient in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5, 1.0, 1.0]
    {
        power = fma::<WIDE>(power, rest, coefficient);
    }
    power * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

#[inline(always)]
fn softmax_body<const WIDE: bool>(row: &mut [f32]) {
    let mut highest = f32::MIN;
    for number in row.iter() {
        highest = if *number > highest { *number } else { highest };
    }
    for number in row.iter_mut() {
        *number = exp::<WIDE>(*number - highest);
    }
    let share = 1.0 / sum(row);
    for number in row.iter_mut() {
        *number *= share;
    }
}

#[inline(always)]
fn gelu_body<const WIDE: bool>(row: &mut [f32], bias: &[f32]) {
    for (number, bias) in row.iter_mut().zip(bias) {
        *number = gelu_of::<WIDE>(*number + bias);
    }
}

/// The error function is Abramowitz and Stegun 7.1.26, right to 1.5e-7.
#[inline(always)]
fn gelu_of<const WIDE: bool>(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / fma::<WIDE>(0.327_591_1, z, 1.0);
    let mut series = 1.061_405_4;
    for coefficient in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        series = fma::<WIDE>(series, t, coefficient);
    }
    let tail = series * t * exp::<WIDE>(-z * z);
    // For x < 0 the function is x/2 · tail, for x > 0 it is x - x/2 · tail.
    let half = 0.5 * x * tail;
    if x < 0.0 { half } else { x - half }
}

#[inline(always)]
fn normalise_body<const WIDE: bool>(row: &mut [f32], scale: &[f32], shift: &[f32]) {
    const EPSILON: f32 = 1e-12;
    let count = row.len() as f32;
    let mean = sum(row) / count;
    let mut squares = [0.0_f32; LANES];
    let (chunks, _) = row.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for at in 0..LANES {
            chunk[at] -= mean;
            squares[at] = fma::<WIDE>(chunk[at], chunk[at], squares[at]);
        }
    }
    let variance = squares.iter().sum::<f32>() / count;
    let factor = 1.0 / (variance + EPSILON).sqrt();
    for ((number, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
        *number = fma::<WIDE>(*number * factor, *scale, *shift);
    }
}

/// Adds up in lanes, which is both faster and more exact than one after the other.
#[inline(always)]
fn sum(numbers: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for at in 0..LANES {
            sums[at] += chunk[at];
        }
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[inline(always)]
fn dots_body<const WIDE: bool>(
    rows: &[[u8; DIMENSIONS]],
    query: &[i16; DIMENSIONS],
    sums: &mut [i32],
) {
    for (row, into) in rows.iter().zip(sums) {
        let mut sum = 0;
        for (number, factor) in row.iter().zip(query) {
            sum += i32::from(*number as i8) * i32::from(*factor);
        }
        *into = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mix = |at: u32| at.wrapping_mul(2_654_435_761) >> 8;
        (0..count as u32).map(|at| mix(at + seed) as f32 / (1 << 23) as f32 - 1.0).collect()
    }

    /// Compares with the product as three plain loops make it.
    #[track_caller]
    fn check(rows: usize, columns: usize, width: usize, onto: Onto) {
        let (left, right) = (numbers(rows * columns, 1), numbers(columns * width, 99));
        let before = numbers(rows * width, 7);
        let lanes: Vec<Lane> = (0..width / LANES * columns)
            .map(|lane| {
                let (panel, row) = (lane / columns, lane % columns);
                Lane(std::array::from_fn(|at| right[row * width + panel * LANES + at]))
            })
            .collect();
        let left_rows = Rows { data: &left, stride: columns, rows, columns };
        let panels = Panels { lanes: &lanes, depth: columns };
        let mut chosen = before.clone();
        product(left_rows, panels, &mut chosen, width, onto);
        let mut portable = before.clone();
        product_body::<false>(left_rows, panels, &mut portable, width, onto);
        for row in 0..rows {
            for column in 0..width {
                let start = if onto == Onto::Sum { before[row * width + column] } else { 0.0 };
                let terms =
                    (0..columns).map(|at| left[row * columns + at] * right[at * width + column]);
                let expected = start + terms.sum::<f32>();
                for found in [&chosen, &portable] {
                    let found = found[row * width + column];
                    assert!((found - expected).abs() < 1e-3, "{found} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_product_is_right_for_every_height_and_depth() {
        for rows in 1..=25 {
            check(rows, 32, 16, Onto::Nothing);
            check(rows, 7, 48, Onto::Sum);
        }
        check(13, 2 * DEPTH + 5, 32, Onto::Nothing);
        check(13, 2 * DEPTH + 5, 32, Onto::Sum);
    }

    #[test]
    fn the_exponential_is_right_to_a_millionth() {
        for step in -8700..=500 {
            let x = step as f32 / 100.0;
            for found in [exp::<true>(x), exp::<false>(x)] {
                assert!((found / x.exp() - 1.0).abs() < 1e-6, "{x}: {found} {}", x.exp());
            }
        }
        assert!(exp::<false>(-1000.0) < 1e-37);
    }

    #[test]
    fn gelu_is_the_exact_one() {
        // Of x, x/2 · (1 + erf(x/√2)), to seven places.
        for (x, expected) in [
            (-10.0, 0.0),
            (-3.0, -0.004_049_7),
            (-1.0, -0.158_655_3),
            (0.0, 0.0),
            (0.5, 0.345_731_2),
            (1.0, 0.841_344_7),
            (3.0, 2.995_950_3),
            (10.0, 10.0),
        ] {
            let mut row = [x - 0.25];
            gelu(&mut row, &[0.25]);
            assert!((row[0] - expected).abs() < 1e-6, "{x}: {} {expected}", row[0]);
        }
    }

    #[test]
    fn shares_add_up_to_one_for_any_scores() {
        for scale in [0.0, 1.0, 1e4] {
            let mut row: Vec<f32> = numbers(37, 3).iter().map(|number| number * scale).collect();
            softmax(&mut row);
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{row:?}");
        }
    }

    #[test]
    fn dot_products_of_the_largest_numbers_are_exact() {
        let query = [-8191; DIMENSIONS];
        let mut sums = [0; 2];
        dots(&[[127; DIMENSIONS], [129; DIMENSIONS]], &query, &mut sums);
        assert_eq!(sums, [-8191 * 127 * 384, 8191 * 127 * 384]);
    }
}
