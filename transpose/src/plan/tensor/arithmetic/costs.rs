//! What a way to compute costs: bytes that a copy could have moved meanwhile, as the model of moves counts it.
//!
//! Tiles, and elements one by one, are moved as without arithmetic, so what the model says of that is taken, times what the kernels that compute take longer. That, and what pixels cost, is by
//! 760 arrays of random shapes on an H200 (`arithmetic --sweep`, decision 105).

use super::operands::{DST, Operands, SRC};
use crate::plan::problem::VECTOR;

/// The fraction of a copy's speed that kernels reach for elements of two sizes: of what tiles, and elements one by one, would have without arithmetic, and of pixels in blocks that cost nothing.
struct Speeds {
    tiles: f64,
    elements: f64,
    pixels: f64,
}

impl Speeds {
    const fn of(src: usize, dst: usize) -> Self {
        let [tiles, elements, pixels] = match (src, dst) {
            (1, 1) => [0.82, 0.60, 0.75],
            (1, 2) => [0.90, 0.64, 0.58],
            (1, _) => [1.10, 1.16, 0.81],
            (2, 1) => [0.75, 0.50, 0.75],
            (2, 2) => [0.82, 0.60, 0.78],
            (2, _) => [0.90, 0.76, 0.98],
            (4, 1) => [0.75, 0.45, 0.90],
            (4, 2) => [0.78, 0.46, 0.95],
            (4, _) => [0.92, 0.62, 1.15],
            _ => [0.92, 0.80, 1.40],
        };
        Speeds { tiles, elements, pixels }
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

/// What a block of `compute_pixels` costs beside its bytes, and one of `compute_tiles` more than one that only moves.
const OF_PIXEL_BLOCK: f64 = 8200.0;
const OF_TILE: f64 = 1800.0;

/// What an element costs that is computed by itself, of runs, whose neighbours lie together in all memories: as much for all types, for it is instructions that they wait for. (By 216 random windows, decision 109.)
const OF_ELEMENT: f64 = 18.0;

/// The fraction of a copy's speed that they reach at best, and where numbers have 8 bytes and nothing is added. (By 60 random windows of these, decision 110.)
const RUNS_BEST: f64 = 0.87;
const WIDE_RUNS_BEST: f64 = 0.72;

/// What elements of 8 bytes cost that are computed one by one, if they keep their size: this part of what moving them so is said to cost, and of their bytes; and that of sums, two of whose three memories are
/// in one order. (By 47 random moves and 39 sums, decision 110.)
const WIDE_ELEMENTS: [f64; 2] = [0.83, 0.41];
const WIDE_SUMS: [f64; 2] = [0.42, 0.61];

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
        self.bytes / (said * self.speeds.tiles).min(best) + tiles * OF_TILE
    }

    /// The cost of computing elements one by one, which to move without arithmetic costs `cost`.
    pub fn by_elements(&self, cost: f64) -> f64 {
        if self.are_runs {
            let best = if self.are_wide() && !self.adds { WIDE_RUNS_BEST } else { RUNS_BEST };
            return (self.elements * OF_ELEMENT).max(self.bytes / best);
        }
        if self.are_wide() {
            let [of_move, of_bytes] = if self.adds { WIDE_SUMS } else { WIDE_ELEMENTS };
            return self.bytes * (of_move * cost / self.moved + of_bytes);
        }
        self.bytes * cost / (self.moved * self.speeds.elements)
    }

    /// The cost of matrices whose rows start anywhere, to which what has gaps of its own is added, unless nothing else is as fast.
    pub fn by_rows_apart(&self) -> Option<f64> {
        let [src, dst] = self.sizes;
        rows_apart(src, dst).filter(|_| self.is_apart).map(|fraction| self.bytes / fraction)
    }

    /// The cost of `blocks` blocks of `compute_pixels`.
    pub fn by_pixels(&self, blocks: u32) -> f64 {
        self.bytes / self.speeds.pixels + f64::from(blocks) * OF_PIXEL_BLOCK
    }
}
