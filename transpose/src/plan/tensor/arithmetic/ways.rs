//! The ways to compute a move in one pass.

use super::operands::Operands;
use super::part::Part;
use super::{matrices, pixels, tiles, triples, units};
use crate::Facts;
use crate::plan::tensor::words;
use kernel_abi::arithmetic::Operation;

/// The ways to go, the best first.
pub(super) fn ways(operands: &Operands, operation: &Operation, facts: &Facts) -> Vec<Vec<Part>> {
    /// How many shapes of tile are candidates.
    const SHAPES: usize = 6;
    let of_matrices = matrices::ways(operands, operation, facts);
    let mut in_tiles = tiles::best(operands, operation, facts, SHAPES);
    let by_units = units::launches(operands, operation);
    let in_triples = triples::launch(operands, operation);
    let in_pixels: Vec<Vec<Part>> = in_triples
        .into_iter()
        .chain(pixels::launch(operands, operation))
        .map(|part| vec![part])
        .collect();
    let in_words = tiles::in_words(operands);
    let cost = words::cost_along(&in_words, in_words.axes(), facts);
    let (full, empty): (Vec<_>, Vec<_>) = of_matrices.into_iter().partition(matrices::Way::is_full);
    let (first, full): (Vec<_>, Vec<_>) = full.into_iter().partition(matrices::Way::is_ahead);
    let few = !(first.is_empty() && in_pixels.is_empty() && full.is_empty());
    let tiles_first = !few
        && !operands.are_in_units()
        && in_tiles.first().is_some_and(|(of_tiles, _)| *of_tiles < cost);
    let rest = in_tiles.split_off(usize::from(tiles_first).min(in_tiles.len()));
    let one = |(_, part): (f64, Part)| vec![part];
    let of_matrices = |ways: Vec<matrices::Way>| ways.into_iter().map(|way| vec![way.part]);
    let ways = of_matrices(first)
        .chain(in_pixels)
        .chain(of_matrices(full))
        .chain(in_tiles.into_iter().map(one))
        .chain([by_units]);
    ways.chain(of_matrices(empty)).chain(rest.into_iter().map(one)).collect()
}
