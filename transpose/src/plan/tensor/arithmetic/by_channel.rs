//! The ways to compute a move in one pass whose channels have a factor and a summand each, and what they cost.
//!
//! Kernels whose threads hold pairs, or find one for many elements, come first. Others load pairs for each element, or find them in shared memory; what they cost is
//! by 430 random batches of images on an H200, and matrices whose rows start anywhere by 133 others (`arithmetic --each`, decisions 118 and 119).

use super::costs::Costs;
use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use super::ways::Ways;
use super::{channels, interleaved, matrices, pixels, units};
use crate::Facts;
use kernel_abi::arithmetic::{Operation, flags};

/// What an element costs whose pair is loaded for it alone, in bytes that a copy could have moved meanwhile, of any types.
const OF_ELEMENT: f64 = 21.5;

/// The part of the speed without channels that `compute_pixels` has where channels come to lie together, and where planes do.
const TO_PIXELS: f64 = 0.85;
const TO_PLANES: f64 = 0.97;

/// The part of the speed without channels that `compute_pixels` has to planes, where what lanes load lies a multiple of so many bytes apart: in few banks of shared memory.
const IN_FEW_BANKS: [(usize, f64); 2] = [(128, 0.5), (64, 0.75)];

/// What tiles of `compute_rows_by_pairs` have whose columns, or rows, are channels: the fraction of a copy's speed of those of whose columns there is a certain part, and that part. Tiles of fewer columns, and
/// of fewer rows, have less, by powers of the parts that there are.
const fn by_columns(src: usize, dst: usize) -> [f64; 2] {
    match (src, dst) {
        (1, 2) => [0.87, 0.50],
        (1, 4) => [0.93, 0.35],
        (2, 2) => [0.92, 0.80],
        (2, 4) => [0.93, 0.50],
        (4, 1) => [0.80, 0.90],
        (4, 2) => [0.90, 0.65],
        (4, 4) => [0.96, 0.60],
        _ => [0.60, 0.80],
    }
}
const fn by_rows(src: usize, dst: usize) -> [f64; 2] {
    match (src, dst) {
        (1, 2) => [0.69, 0.55],
        (1, 4) => [1.00, 0.95],
        (2, 2) => [0.76, 0.85],
        (2, 4) => [1.00, 0.70],
        (4, 1) => [0.68, 1.00],
        (4, 2) => [0.86, 0.90],
        (4, 4) => [1.02, 0.95],
        _ => [0.50, 0.80],
    }
}
const FEWER_COLUMNS: f64 = 0.6;
const FEWER_ROWS: f64 = 0.9;

/// The ways, the best first.
pub(super) fn ways(operands: &Operands, operation: &Operation, facts: &Facts) -> Ways {
    let prices = Prices::of(operands);
    let of_matrices = matrices::ways(operands, operation, facts).into_iter();
    let (in_spans, held): (Vec<_>, Vec<_>) = of_matrices.partition(matrices::Way::is_in_spans);
    let in_pixels = pixels::launch(operands, operation);
    let (full, empty): (Vec<_>, Vec<_>) = held.into_iter().partition(matrices::Way::is_full);
    let is_wide = operation.flags & flags::WIDE != 0;
    // Of numbers of 32 bits `compute_rows_by_pairs` is faster than what loads a pair for each, though rows start on vectors.
    let is_ahead = |way: &matrices::Way| {
        way.is_ahead() || in_pixels.is_none() && (way.holds_pairs() || is_wide)
    };
    let (ahead, full): (Vec<_>, Vec<_>) = full.into_iter().partition(is_ahead);
    let one = |part: Part| vec![part];
    let of_matrices = |ways: Vec<matrices::Way>| ways.into_iter().map(|way| vec![way.part]);
    let first = channels::launches(operands, operation).into_iter().chain(of_matrices(ahead));
    let mut all: Vec<_> = first.chain(interleaved::launch(operands, operation).map(one)).collect();
    let mut others = vec![(prices.by_elements(), units::launches(operands, operation))];
    others.extend(in_spans.into_iter().map(|way| (prices.in_spans(way.parts()), one(way.part))));
    others.extend(in_pixels.map(|part| (prices.in_pixels(part.launch.grid[0]), one(part))));
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cost = if all.is_empty() { others.first().map(|&(cost, _)| cost) } else { None };
    all.extend(others.into_iter().map(|(_, parts)| parts));
    all.extend(of_matrices(full).chain(of_matrices(empty)));
    Ways { all, cost }
}

/// What the ways cost that load pairs for each element, or for each column of a tile.
struct Prices<'a> {
    operands: &'a Operands,
    elements: f64,
    /// The axis of the channels, if there are several, and whether it is the destination's fastest.
    channels: Option<Axis>,
    to_pixels: bool,
}

impl<'a> Prices<'a> {
    fn of(operands: &'a Operands) -> Self {
        let has_pairs = |axis: &&Axis| axis.strides[OTHER] != 0;
        Prices {
            operands,
            elements: operands.axes.iter().map(|axis| axis.length as f64).product(),
            channels: operands.axes.iter().find(has_pairs).copied(),
            to_pixels: operands.axes.first().is_some_and(|axis| has_pairs(&axis)),
        }
    }

    fn by_elements(&self) -> f64 {
        self.elements * OF_ELEMENT
    }

    /// The cost of `compute_rows_by_pairs`, of whose tiles' rows and columns there are these parts.
    fn in_spans(&self, [rows, cols]: [f64; 2]) -> f64 {
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        let [most, enough] = if self.to_pixels { by_rows(src, dst) } else { by_columns(src, dst) };
        let fewer = (cols / enough).min(1.0).powf(FEWER_COLUMNS) * rows.powf(FEWER_ROWS);
        self.operands.traffic() / (most * fewer)
    }

    /// The cost of `compute_pixels` in `blocks` blocks.
    fn in_pixels(&self, blocks: u32) -> f64 {
        let cost = Costs::of(self.operands).by_pixels(blocks);
        if self.to_pixels {
            return cost / TO_PIXELS;
        }
        let pixel = self.channels.map_or(0, |axis| axis.length) * self.operands.bytes[SRC];
        let apart = pixel * self.operands.unit();
        let in_few = IN_FEW_BANKS.iter().find(|(bytes, _)| apart.is_multiple_of(*bytes));
        cost / in_few.map_or(TO_PLANES, |&(_, part)| part)
    }
}
