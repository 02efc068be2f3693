//! What a way to compute costs: bytes that a copy could have moved meanwhile, as the model of moves counts it.
//!
//! Tiles, and elements one by one, are moved as without arithmetic, so what the model says of that is taken, times what the kernels that compute take longer, and of elements so much more for each byte. What tiles
//! cost is by 760 arrays of random shapes on an H200 (`arithmetic --sweep`, decision 105), but for what says otherwise.

use super::operands::{Axis, DST, Operands, SRC};
use super::pixels::InPixels;
use crate::plan::problem::VECTOR;

/// What is known of elements of two sizes.
struct Speeds {
    /// The fraction of the speed that tiles would have without arithmetic. (Of results of one byte, and of 4 bytes that become 8, by 1590 tiles of 300 random arrays, decision 125.)
    tiles: f64,
    /// What `compute_pixels` would have of a copy's speed if blocks and runs cost nothing, to planes and to pixels. (By 265 random matrices and batches, decision 122, as all prices of pixels; of results of one byte by 109 more, decision 125; of 8 bytes that become 4 as of those that stay 8.)
    pixels: [f64; 2],
    /// What a byte that is read or written costs where elements are computed one by one: this for each that the model says of a byte of a move of them, and so much more. And if something is added, which most
    /// often lies in the destination's order. (By 366 random moves and 282 sums, decision 112; those of 8 bytes and more that keep their size by 47 and 121; of `f64` to `f32` and sums of `f32` to `f64` by 67 matrices and batches each, decision 116; of results of one byte, `f32` to `f64` and sums of `f64` to `f32` by 30 to 60 random arrays each, decision 125.)
    elements: [f64; 2],
    sums: [f64; 2],
}

impl Speeds {
    const fn of(src: usize, dst: usize) -> Self {
        let (tiles, pixels) = match (src, dst) {
            (1, 1) => (0.56, [0.63, 0.53]),
            (1, 2) => (0.90, [1.22, 0.95]),
            (1, _) => (1.10, [1.05, 0.93]),
            (2, 1) => (0.77, [0.95, 0.81]),
            (2, 2) => (0.82, [1.26, 1.02]),
            (2, _) => (0.90, [1.20, 1.04]),
            (4, 1) => (0.72, [1.00, 0.84]),
            (4, 2) => (0.78, [1.21, 0.99]),
            (4, 4) => (0.92, [1.41, 1.14]),
            (4, 8) => (1.12, [1.56, 1.34]),
            _ => (0.92, [1.56, 1.34]),
        };
        let [elements, sums] = match (src, dst) {
            (1, 2) => [[0.40, 4.38], [0.21, 2.83]],
            (1, 4) => [[0.19, 2.91], [0.155, 1.42]],
            (2, 2) => [[0.72, 2.54], [0.52, 1.86]],
            (2, 4) => [[0.375, 2.20], [0.336, 0.96]],
            (4, 2) => [[0.84, 1.97], [0.79, 1.16]],
            (4, 4) => [[0.77, 1.28], [0.52, 0.82]],
            (8.., 8..) if src == dst => [[0.83, 0.41], [0.46, 0.66]],
            (4, 8) => [[0.48, 0.87], [0.288, 0.693]],
            (8, 4) => [[1.006, 0.485], [0.93, 0.30]],
            // What has no second term was fitted before there were two: a part of the speed without arithmetic.
            (1, 1) => [[0.41, 7.2], [1.67, 0.0]],
            (2, 1) => [[0.87, 4.1], [2.1, 0.0]],
            (4, 1) => [[0.95, 2.65], [2.1, 0.0]],
            _ => [[1.25, 0.0]; 2],
        };
        Speeds { tiles, pixels, elements, sums }
    }
}

/// The fraction of a copy's speed that tiles reach at best.
const TILES_BEST: f64 = 0.95;

/// The fraction that tiles reach at best whose columns, or rows, are shorter than [`FEW`] elements.
const FEW_BEST: f64 = 0.7;
const FEW: usize = 8;

/// The fraction that tiles are taken to reach where each of [`LONG`] and more rows of the source has whole vectors, of elements of 2 or 4 bytes: the model of moves, for which other kernels
/// serve there, says less.
const VECTORS_BEST: f64 = 0.85;
const LONG: usize = 1024;

/// What tiles cost that are matrices which lie together in both memories, as a part of what they cost otherwise: blocks load and store one stretch each. (By 34 random batches of small matrices, decision 112.)
const WHOLE: f64 = 0.9;

/// Where results are wider, columns are longer than the model knows, which is told of the source's elements alone: what it says of tiles is taken to this power.
const WIDER: f64 = 0.6;

/// The fraction of a copy's speed that `compute_rows` reaches where what is added has gaps of its own: of it each thread waits by itself. (By 30 random sums, decision 111; of one type boxes are no faster in the mean.)
const fn rows_apart(src: usize, dst: usize) -> Option<f64> {
    match (src, dst) {
        (2, 4) => Some(0.74),
        (1, 4) => Some(0.66),
        (1, 2) => Some(0.58),
        (4, 2) => Some(0.66),
        _ => None,
    }
}

/// What a block of `compute_pixels` costs beside its bytes, and each run that it stores.
const OF_PIXEL_BLOCK: f64 = 7700.0;
const OF_RUN: f64 = 77.0;

/// The fraction of a copy's speed that whole images have at best, whose results are wider, and what a block of them costs, and each stretch that it loads.
const IMAGES_BEST: f64 = 0.86;
const OF_IMAGE_BLOCK: f64 = 2900.0;
const OF_STRETCH: f64 = 17.0;

/// What tiles of sums of `f64` to `f32` have of the speed of those without a sum. (Decision 125.)
const SUMS_OF_WIDE: f64 = 0.80;

/// What a block of `compute_tiles` costs more than one that only moves.
const OF_TILE: f64 = 1800.0;

/// What an element costs that is computed by itself, of runs, whose neighbours lie together in all memories: as much for all types, for it is instructions that they wait for. (By 216 random windows, decision 109.)
const OF_ELEMENT: f64 = 18.0;

/// The fraction of a copy's speed that they reach at best, and where numbers have 8 bytes and nothing is added. (By 60 random windows of these, decision 110.)
const RUNS_BEST: f64 = 0.87;
const WIDE_RUNS_BEST: f64 = 0.72;

/// Costs of ways to compute a move.
pub(super) struct Costs {
    speeds: Speeds,
    /// Bytes of the source, twice: what a move of its elements reads and writes.
    moved: f64,
    /// Bytes that are read and written.
    bytes: f64,
    elements: f64,
    /// Bytes of an element of the source, and of the destination.
    sizes: [usize; 2],
    /// Whether what is added lies otherwise than the destination.
    is_apart: bool,
    /// Whether elements lie together in all memories.
    are_runs: bool,
    /// Whether something is added.
    adds: bool,
    /// Whether the axes along which elements lie together are two, one of which has few.
    are_few: bool,
    /// Whether each row of a long source has whole vectors.
    are_vectors: bool,
    /// Elements of a matrix, if each lies together in both memories.
    of_matrix: Option<f64>,
}

impl Costs {
    pub fn of(operands: &Operands) -> Self {
        let [src, dst] = [SRC, DST].map(|side| operands.bytes[side]);
        let elements: f64 = operands.axes.iter().map(|axis| axis.length as f64).product();
        let run = |side: usize| operands.axes.iter().find(|axis| axis.strides[side] == 1);
        let two = run(SRC).zip(run(DST)).filter(|(from, to)| from != to);
        let are_few = two.is_some_and(|(from, to)| from.length.min(to.length) < FEW);
        let are_vectors = two.is_some_and(|(from, to)| {
            let follow = to.strides[SRC] == from.length as isize && to.length >= LONG;
            follow && matches!(src, 2 | 4) && dst > 1 && (from.length * src).is_multiple_of(VECTOR)
        });
        let of_matrix = two.and_then(|(from, to)| {
            let follows =
                |side: usize, fast: &Axis, slow: &Axis| slow.strides[side] == fast.length as isize;
            let lies_together = follows(SRC, from, to) && follows(DST, to, from);
            lies_together.then(|| (from.length * to.length) as f64)
        });
        Costs {
            speeds: Speeds::of(src, dst),
            moved: 2.0 * src as f64 * elements,
            bytes: operands.traffic(),
            elements,
            sizes: [src, dst],
            is_apart: !operands.other_is_like_destination() && operands.other.is_added(),
            are_runs: operands.are_runs(),
            adds: operands.other.is_added(),
            are_few,
            are_vectors,
            of_matrix,
        }
    }

    /// Whether elements have 8 bytes, or 16, and keep their size.
    fn are_wide(&self) -> bool {
        let [src, dst] = self.sizes;
        src == dst && src >= 8
    }

    /// The cost of `tiles` tiles that compute a move, which without arithmetic costs `cost`.
    pub fn by_tiles(&self, cost: f64, tiles: f64) -> f64 {
        if self.are_vectors {
            return self.bytes / VECTORS_BEST;
        }
        let said = self.moved / cost;
        let are_wider = self.sizes[DST] > self.sizes[SRC];
        let said = if are_wider { said.powf(WIDER) } else { said };
        let best = if self.are_few { FEW_BEST } else { TILES_BEST };
        let of_sums = if self.adds && self.sizes == [8, 4] { SUMS_OF_WIDE } else { 1.0 };
        let cost = self.bytes / (said * self.speeds.tiles * of_sums).min(best) + tiles * OF_TILE;
        let is_whole = self.of_matrix.is_some_and(|matrix| matrix * tiles <= self.elements);
        if is_whole { cost * WHOLE } else { cost }
    }

    /// The cost of computing elements one by one, which to move without arithmetic costs `cost`.
    pub fn by_elements(&self, cost: f64) -> f64 {
        if self.are_runs {
            let best = if self.are_wide() && !self.adds { WIDE_RUNS_BEST } else { RUNS_BEST };
            return (self.elements * OF_ELEMENT).max(self.bytes / best);
        }
        let [of_move, more] = if self.adds { self.speeds.sums } else { self.speeds.elements };
        self.bytes * (of_move * cost / self.moved + more)
    }

    /// The cost of matrices whose rows start anywhere, to which what has gaps of its own is added, unless nothing else is as fast.
    pub fn by_rows_apart(&self) -> Option<f64> {
        let [src, dst] = self.sizes;
        rows_apart(src, dst).filter(|_| self.is_apart).map(|fraction| self.bytes / fraction)
    }

    /// The cost of `compute_pixels`, where one factor serves all elements.
    pub fn by_pixels(&self, pixels: &InPixels) -> f64 {
        let InPixels { blocks, stretches, runs, .. } = *pixels;
        if pixels.are_images {
            return self.bytes / IMAGES_BEST + blocks * OF_IMAGE_BLOCK + stretches * OF_STRETCH;
        }
        let best = self.speeds.pixels[usize::from(pixels.to_pixels)];
        self.bytes / best + blocks * OF_PIXEL_BLOCK + runs * OF_RUN
    }
}
