//! The ways to compute a move in one pass.

use super::channel_costs::ChannelCosts;
use super::costs::Costs;
use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use super::pixels::InPixels;
use super::wanted::{SHAPES, Wanted, Ways};
use super::{
    boxes, boxes_beside, by_channel, interleaved, lines, matrices, pixels, runs, slid, tiles, units,
};
use crate::Facts;
use crate::plan::tensor::words;
use kernel_abi::arithmetic::{COMPUTE_ROWS, COMPUTE_UNITS, Operation};

/// Bytes of what lies together on both sides below which units are said to cost what elements cost.
const SHORT: usize = 64;

/// The part of the cost of a kernel of matrices below which tiles are taken. (By 28 sums of matrices and batches, decision 152.)
const SURE: f64 = 0.9;

/// Bytes that are read and written below which boxes are no way: to plan them would take longer than they gain.
const SMALL: f64 = (1 << 20) as f64;

/// The ways to go in one pass.
pub(super) fn ways(
    operands: &Operands,
    operation: &Operation,
    facts: &Facts,
    wanted: Wanted,
) -> Ways {
    if operands.has_channels() {
        return by_channel::ways(operands, operation, facts, wanted);
    }
    let mut ways = without_boxes(operands, operation, facts, wanted);
    let in_order = [
        runs::best(operands, operation, facts),
        slid::best(operands, operation),
        lines::best(operands, operation),
    ];
    for way in in_order.into_iter().flatten() {
        ways.add(way, ways.cost);
    }
    let Ways { mut all, cost } = ways;
    // They take longest to plan: what costs more than others do is not looked for.
    let (most, limit) = match wanted {
        Wanted::All => (SHAPES, Some(f64::INFINITY)),
        Wanted::Best => (1, cost.filter(|_| operands.traffic() >= SMALL)),
    };
    let in_boxes = limit.map(|limit| match operands.other.is_added() {
        false => boxes::best(operands, operation, facts, most, limit),
        true => boxes_beside::best(operands, operation, facts, most, limit),
    });
    let mut in_boxes = in_boxes.into_iter().flatten().peekable();
    let by_boxes = in_boxes.peek().map(|&(by_boxes, _)| by_boxes);
    let gains = by_boxes.filter(|&by_boxes| cost.is_some_and(|cost| by_boxes < cost));
    let first = gains.and_then(|_| in_boxes.next());
    all.splice(0..0, first.map(|(_, part)| vec![part]));
    all.extend(in_boxes.map(|(_, part)| vec![part]));
    Ways { all, cost: gains.or(cost) }
}

/// Those that do not go through boxes.
fn without_boxes(
    operands: &Operands,
    operation: &Operation,
    facts: &Facts,
    wanted: Wanted,
) -> Ways {
    // Of sums the best tile is found among some.
    let is_one = wanted == Wanted::Best && !operands.other.is_added();
    let shapes = if is_one { 1 } else { SHAPES };
    let mut in_tiles = tiles::best(operands, operation, facts, shapes);
    let in_pixels = pixels::launch(operands, operation);
    let of_interleaved = interleaved::launch(operands, operation);
    // Rows that start anywhere cost what they do where channels have pairs. But for windows nothing is as fast.
    let of_ragged = of_interleaved.as_ref().filter(|way| way.ragged > 0);
    let of_ragged = of_ragged.map(|way| ChannelCosts::of(operands, operation).interleaved(way));
    let of_interleaved = of_interleaved.map(|way| way.part);
    let of_matrices = matrices::ways(operands, operation, facts);
    let (full, empty): (Vec<_>, Vec<_>) = of_matrices.into_iter().partition(matrices::Way::is_full);
    let prices = Prices::of(operands, facts, &in_tiles, in_pixels.as_ref());
    let are_tiles_ahead = full.first().is_some_and(|way| prices.are_tiles_ahead(way));
    let cost = match full.first() {
        // Nothing is faster, but for rows of bytes that stay bytes, in boxes.
        _ if of_interleaved.is_some() => of_ragged.filter(|_| operands.are_bytes()),
        _ if are_tiles_ahead => prices.tiles,
        Some(way) => prices.of_matrices(way),
        None => prices.of_best(),
    };
    let rest = in_tiles.split_off(usize::from(prices.are_tiles_first()).min(in_tiles.len()));
    let pixels_first = prices.are_pixels_first();
    let in_pixels = in_pixels.map(|pixels| pixels.part);
    let (pixels, late) = if pixels_first { (in_pixels, None) } else { (None, in_pixels) };
    let one = |part: Part| vec![part];
    let of_matrices = |ways: Vec<matrices::Way>| ways.into_iter().map(|way| vec![way.part]);
    let of_tiles = |tiles: Vec<(f64, Part)>| tiles.into_iter().map(|(_, part)| vec![part]);
    let mut full: Vec<_> = of_matrices(full).collect();
    let place_of_tiles = if are_tiles_ahead { 0 } else { full.len() };
    full.splice(place_of_tiles..place_of_tiles, of_tiles(in_tiles));
    let ways = of_interleaved
        .map(one)
        .into_iter()
        .chain(pixels.map(one))
        .chain(full)
        .chain([units::launches(operands, operation)]);
    let others = late.map(one).into_iter().chain(of_matrices(empty)).chain(of_tiles(rest));
    let mut ways = Ways { all: ways.chain(others).collect(), cost };
    if let Some(way) = interleaved::cropped::best(operands, operation) {
        ways.add(way, cost.or(of_ragged));
    }
    ways
}

/// Whether units are scattered as elements are: those of short runs are, unless each run has the next one beside it on both sides, be it in descending order: then they share sectors.
pub(super) fn are_scattered(operands: &Operands) -> bool {
    let run = operands.axes.first().map_or(0, |axis| axis.length);
    let beside = |side: usize, axis: &Axis| axis.strides[side].unsigned_abs() == run;
    let are_neighbours =
        operands.axes.get(1).is_some_and(|next| beside(SRC, next) && beside(DST, next));
    run * operands.bytes[SRC] < SHORT && !are_neighbours
}

/// What the ways cost that serve any array.
struct Prices<'a> {
    operands: &'a Operands,
    costs: Costs,
    tiles: Option<f64>,
    pixels: Option<f64>,
    elements: f64,
}

impl<'a> Prices<'a> {
    fn of(
        operands: &'a Operands,
        facts: &Facts,
        in_tiles: &[(f64, Part)],
        in_pixels: Option<&InPixels>,
    ) -> Self {
        let costs = Costs::of(operands);
        let of_move = in_tiles.iter().map(|&(cost, _)| cost).min_by(f64::total_cmp);
        let tiles = of_move.zip(in_tiles.first()).map(|(cost, (_, part))| {
            let tiles = part.launch.grid.iter().map(|&blocks| f64::from(blocks)).product();
            costs.by_tiles(cost, tiles)
        });
        let pixels = in_pixels.map(|pixels| costs.by_pixels(pixels));
        let in_words = tiles::in_words(operands);
        let elements = costs.by_elements(words::cost_along(&in_words, in_words.axes(), facts));
        Prices { operands, costs, tiles, pixels, elements }
    }

    /// Whether tiles cost less than elements one by one.
    fn are_tiles_first(&self) -> bool {
        !self.operands.are_in_units() && self.tiles.is_some_and(|tiles| tiles < self.elements)
    }

    /// What tiles cost, or elements, whichever come first.
    fn of_both(&self) -> f64 {
        self.tiles.filter(|_| self.are_tiles_first()).unwrap_or(self.elements)
    }

    /// Whether pixels cost less than both.
    fn are_pixels_first(&self) -> bool {
        let are_less = self.pixels.is_some_and(|pixels| pixels < self.of_both());
        self.operands.are_in_units() || are_less
    }

    /// What the best of them costs; `None` if that is units of long runs.
    fn of_best(&self) -> Option<f64> {
        if self.operands.are_in_units() {
            return are_scattered(self.operands).then_some(self.elements);
        }
        if self.are_pixels_first() { self.pixels } else { Some(self.of_both()) }
    }

    /// What a kernel of matrices costs; `None` if nothing else is as fast.
    fn of_matrices(&self, way: &matrices::Way) -> Option<f64> {
        let of_rows = way.part.launch.entry.name.starts_with(COMPUTE_ROWS.name);
        match way.cost {
            // The model says that boxes cost less than they do, but where they are faster than tiles of few columns.
            Some(_) if of_rows || !matches!(self.operands.bytes[..OTHER], [1 | 2, 4]) => None,
            Some(cost) => Some(cost),
            None => self.costs.by_rows_apart().filter(|_| of_rows),
        }
    }

    /// Whether tiles surely cost less than a kernel of matrices that has a price. Where results are narrower the price of tiles is too low.
    fn are_tiles_ahead(&self, way: &matrices::Way) -> bool {
        let may_be_first = self.operands.bytes[DST] >= self.operands.bytes[SRC];
        let tiles = self.tiles.filter(|_| may_be_first && self.are_tiles_first());
        tiles.zip(way.cost).is_some_and(|(tiles, cost)| tiles < SURE * cost)
    }
}

/// Whether the best way computes elements one by one.
pub(super) fn is_by_elements(operands: &Operands, ways: &[Vec<Part>]) -> bool {
    let by_units = |part: &Part| part.launch.entry.name.starts_with(COMPUTE_UNITS.name);
    !operands.are_in_units() && ways.first().is_none_or(|parts| parts.iter().all(by_units))
}
