//! A tree as rectangles within rectangles: each as large as there is to read in it.
//!
//! Rows are filled so that rectangles are as square as they can be (Bruls, Huizing and van Wijk's
//! squarified layout). What would be too small to see is drawn with others of its directory, or
//! with its directory, so the number of rectangles is bounded by the area and not by the tree.

use crate::tree::{File, Tree};

/// The size of the whole map, in its own units.
pub(super) const WIDTH: f64 = 1200.0;
pub(super) const HEIGHT: f64 = 720.0;

/// A rectangle of less area stands with others, and a directory of less has nothing drawn in it.
const LEAST_FILE: f64 = 180.0;
const LEAST_DIRECTORY: f64 = 900.0;
/// The strip of a directory that its name stands in, where there is room for it.
const STRIP: f64 = 15.0;
const MARGIN: f64 = 2.0;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct MapRect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl MapRect {
    fn area(&self) -> f64 {
        self.width * self.height
    }

    /// What is left of a directory's rectangle for what is in it.
    fn inside(&self) -> Self {
        let strip = if self.height > 3.0 * STRIP { STRIP } else { MARGIN };
        Self {
            x: self.x + MARGIN,
            y: self.y + strip,
            width: (self.width - 2.0 * MARGIN).max(0.0),
            height: (self.height - strip - MARGIN).max(0.0),
        }
    }
}

/// What a rectangle stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CellKind {
    /// Drawn around what is in it.
    Frame(usize),
    /// A directory in which nothing is drawn.
    Directory(usize),
    File(usize),
    /// So many files of a directory, together.
    Rest {
        directory: usize,
        files: usize,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct MapCell {
    pub(super) kind: CellKind,
    pub(super) rect: MapRect,
}

/// Lays out a tree, directories before what is in them.
pub(super) fn cells(tree: &Tree) -> Vec<MapCell> {
    let weights = directory_weights(tree);
    let mut cells = Vec::new();
    let whole = MapRect { x: 0.0, y: 0.0, width: WIDTH, height: HEIGHT };
    let mut open = vec![(0_usize, whole)];
    while let Some((at, rect)) = open.pop() {
        let dir = &tree.dirs[at];
        if rect.area() < LEAST_DIRECTORY || (dir.dirs.is_empty() && dir.files.is_empty()) {
            cells.push(MapCell { kind: CellKind::Directory(at), rect });
            continue;
        }
        cells.push(MapCell { kind: CellKind::Frame(at), rect });
        let inside = rect.inside();
        for (kind, rect) in laid_out(tree, at, &weights, inside) {
            match kind {
                CellKind::Directory(below) => open.push((below, rect)),
                kind => cells.push(MapCell { kind, rect }),
            }
        }
    }
    cells
}

/// What there is to read in a file: its lines, and a little for one that has none.
fn weight(file: &File) -> f64 {
    if file.lines > 0 { f64::from(file.lines) } else { 1.0 + (file.size as f64 / 4096.0).min(50.0) }
}

/// Of everything below each directory.
fn directory_weights(tree: &Tree) -> Vec<f64> {
    let mut weights = vec![0.0; tree.dirs.len()];
    for at in (0..tree.dirs.len()).rev() {
        let dir = &tree.dirs[at];
        let files: f64 = tree.files[dir.files.clone()].iter().map(weight).sum();
        let below: f64 = dir.dirs.iter().map(|below| weights[*below]).sum();
        weights[at] = (files + below).max(1.0);
    }
    weights
}

/// What is right in a directory, with its rectangles.
fn laid_out(tree: &Tree, at: usize, weights: &[f64], inside: MapRect) -> Vec<(CellKind, MapRect)> {
    let dir = &tree.dirs[at];
    let all = weights[at];
    let is_seen = |weight: f64| weight / all * inside.area() >= LEAST_FILE;
    let mut parts: Vec<(CellKind, f64)> =
        dir.dirs.iter().map(|below| (CellKind::Directory(*below), weights[*below])).collect();
    let (mut rest, mut rest_weight) = (0, 0.0);
    for number in dir.files.clone() {
        let weight = weight(&tree.files[number]);
        if is_seen(weight) {
            parts.push((CellKind::File(number), weight));
        } else {
            (rest, rest_weight) = (rest + 1, rest_weight + weight);
        }
    }
    if rest > 0 {
        parts.push((CellKind::Rest { directory: at, files: rest }, rest_weight));
    }
    // The sort is stable, and parts come in the tree's order: the same tree gives the same map.
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rects = squarified(&parts.iter().map(|(_, weight)| *weight).collect::<Vec<_>>(), inside);
    parts.into_iter().map(|(kind, _)| kind).zip(rects).collect()
}

/// Gives each weight, the largest first, its part of a rectangle.
fn squarified(weights: &[f64], inside: MapRect) -> Vec<MapRect> {
    let total: f64 = weights.iter().sum();
    let mut rects = Vec::with_capacity(weights.len());
    let (mut left, mut rest) = (inside, weights);
    let scale = if total > 0.0 { inside.area() / total } else { 0.0 };
    while !rest.is_empty() {
        let side = left.width.min(left.height);
        let (mut count, mut best) = (1, worst(&rest[..1], scale, side));
        while count < rest.len() {
            let next = worst(&rest[..=count], scale, side);
            if next > best {
                break;
            }
            (count, best) = (count + 1, next);
        }
        let row = &rest[..count];
        rects.extend(row_of(row, scale, &mut left));
        rest = &rest[count..];
    }
    rects
}

/// How far the least square rectangle of a row is from a square.
fn worst(row: &[f64], scale: f64, side: f64) -> f64 {
    let sum: f64 = row.iter().sum::<f64>() * scale;
    let (mut most, mut least) = (0.0_f64, f64::INFINITY);
    for weight in row {
        most = most.max(weight * scale);
        least = least.min(weight * scale);
    }
    if sum <= 0.0 || side <= 0.0 || least <= 0.0 {
        return f64::INFINITY;
    }
    (side * side * most / (sum * sum)).max(sum * sum / (side * side * least))
}

/// Lays a row along the shorter side, and takes its room away.
fn row_of(row: &[f64], scale: f64, left: &mut MapRect) -> Vec<MapRect> {
    let sum: f64 = row.iter().sum::<f64>() * scale;
    let is_wide = left.width >= left.height;
    let side = if is_wide { left.height } else { left.width };
    let depth = if side > 0.0 { sum / side } else { 0.0 };
    let mut at = 0.0;
    let rects = row
        .iter()
        .map(|weight| {
            let length = if sum > 0.0 { side * weight * scale / sum } else { 0.0 };
            let rect = match is_wide {
                true => MapRect { x: left.x, y: left.y + at, width: depth, height: length },
                false => MapRect { x: left.x + at, y: left.y, width: length, height: depth },
            };
            at += length;
            rect
        })
        .collect();
    if is_wide {
        left.x += depth;
        left.width = (left.width - depth).max(0.0);
    } else {
        left.y += depth;
        left.height = (left.height - depth).max(0.0);
    }
    rects
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WHOLE: MapRect = MapRect { x: 0.0, y: 0.0, width: 600.0, height: 400.0 };

    #[test]
    fn rectangles_are_as_the_layouts_authors_draw_them() {
        let rects = squarified(
            &[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0],
            MapRect { width: 6.0, height: 4.0, ..WHOLE },
        );
        assert_eq!(rects[0], MapRect { x: 0.0, y: 0.0, width: 3.0, height: 2.0 });
        assert_eq!(rects[1], MapRect { x: 0.0, y: 2.0, width: 3.0, height: 2.0 });
    }

    proptest! {
        #[test]
        fn the_whole_is_filled_and_nothing_lies_outside(
            mut weights in proptest::collection::vec(0.5_f64..5_000.0, 1..80),
        ) {
            weights.sort_by(|a, b| b.total_cmp(a));
            let rects = squarified(&weights, WHOLE);
            prop_assert_eq!(rects.len(), weights.len());
            let area: f64 = rects.iter().map(MapRect::area).sum();
            prop_assert!((area - WHOLE.area()).abs() < 1.0, "{}", area);
            for rect in rects {
                prop_assert!(rect.x >= -1e-6 && rect.y >= -1e-6);
                prop_assert!(rect.x + rect.width <= WHOLE.width + 1e-6);
                prop_assert!(rect.y + rect.height <= WHOLE.height + 1e-6);
            }
        }
    }
}
