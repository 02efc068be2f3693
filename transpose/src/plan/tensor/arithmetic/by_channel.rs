//! The ways to compute a move in one pass whose channels have a factor and a summand each.
//!
//! Kernels whose threads hold pairs, or find one for many elements, come first where nothing was seen to be faster. All others have a [price](super::channel_costs): those that find pairs by where elements lie, or in shared memory, and
//! those that load them for each element.

use super::channel_costs::ChannelCosts;
use super::operands::Operands;
use super::part::Part;
use super::pixels::{self, FEW_CHANNELS};
use super::wanted::{SHAPES, Wanted, Ways};
use super::{channels, interleaved, lines, matrices, runs, slid, tiles, units};
use crate::Facts;
use kernel_abi::arithmetic::{Operation, flags};

/// The ways, the best first.
pub(super) fn ways(
    operands: &Operands,
    operation: &Operation,
    facts: &Facts,
    wanted: Wanted,
) -> Ways {
    let costs = ChannelCosts::of(operands, operation);
    let of_matrices = matrices::ways(operands, operation, facts).into_iter();
    let (in_spans, held): (Vec<_>, Vec<_>) = of_matrices.partition(matrices::Way::is_in_spans);
    let in_pixels = pixels::launch(operands, operation);
    let is_wide = operation.flags & flags::WIDE != 0;
    let has_price = |way: &matrices::Way| way.is_in_micro_blocks() && costs.has_micro(is_wide);
    let (in_micro, held): (Vec<_>, Vec<_>) = held.into_iter().partition(has_price);
    let holds_rows = |way: &matrices::Way| way.holds_pairs() && costs.are_rows_priced(way.parts());
    let (held_rows, held): (Vec<_>, Vec<_>) = held.into_iter().partition(holds_rows);
    let (full, empty): (Vec<_>, Vec<_>) = held.into_iter().partition(matrices::Way::is_full);
    // Of numbers of 32 bits `compute_rows_by_pairs` is faster than what loads a pair for each, though rows start on vectors.
    let are_few = in_pixels.as_ref().is_some_and(|pixels| pixels.channels <= FEW_CHANNELS);
    let is_ahead =
        |way: &matrices::Way| way.is_ahead() || !are_few && (way.holds_pairs() || is_wide);
    let (ahead, full): (Vec<_>, Vec<_>) = full.into_iter().partition(is_ahead);
    let one = |part: Part| vec![part];
    let of_matrices = |ways: Vec<matrices::Way>| ways.into_iter().map(|way| vec![way.part]);
    let first = channels::launches(operands, operation).into_iter().chain(of_matrices(ahead));
    let of_interleaved = interleaved::launch(operands, operation).into_iter();
    let (priced, whole): (Vec<_>, Vec<_>) =
        of_interleaved.partition(|way| way.ragged > 0 || way.stay_planes);
    let mut all: Vec<_> = first.chain(whole.into_iter().map(|way| one(way.part))).collect();
    let mut others = vec![(costs.by_units(), units::launches(operands, operation))];
    others.extend(priced.into_iter().map(|way| (costs.interleaved(&way), one(way.part))));
    others.extend(in_spans.into_iter().map(|way| (costs.in_spans(way.parts()), one(way.part))));
    others.extend(in_micro.into_iter().map(|way| (costs.in_micro(way.parts()), one(way.part))));
    others.extend(held_rows.into_iter().map(|way| (costs.held_rows(way.parts()), one(way.part))));
    others.extend(in_pixels.map(|pixels| (costs.in_pixels(&pixels), one(pixels.part))));
    if wanted == Wanted::All || all.is_empty() {
        let in_tiles = tiles::best(operands, operation, facts, SHAPES).into_iter();
        others.extend(costs.in_runs(runs::best(operands, operation, facts)));
        others.extend(slid::best(operands, operation));
        others.extend(lines::best(operands, operation));
        others.extend(interleaved::cropped::best(operands, operation));
        others.extend(in_tiles.map(|(cost, part)| (costs.in_tiles(cost, &part), one(part))));
    }
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cost = if all.is_empty() { others.first().map(|&(cost, _)| cost) } else { None };
    all.extend(others.into_iter().map(|(_, parts)| parts));
    all.extend(of_matrices(full).chain(of_matrices(empty)));
    Ways { all, cost }
}
