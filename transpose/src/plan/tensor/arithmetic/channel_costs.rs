//! What the ways cost of moves whose channels have a factor and a summand each, as [`costs`](super::costs) counts it, where others may be faster.
//!
//! By random batches of images on an H200 (`arithmetic --each`, decisions 118 to 121).

use super::costs::Costs;
use super::interleaved::Interleaved;
use super::operands::{Axis, DST, OTHER, Operands, SRC};
use super::part::Part;
use super::pixels::InPixels;
use super::ways::are_scattered;
use crate::plan::tensor::sectors::SECTOR;
use kernel_abi::arithmetic::{Operation, pair_rows_bytes};

/// What an element costs whose pair is loaded for it alone, in bytes that a copy could have moved meanwhile: of 8 bytes in the source, and of fewer. (Of 8 bytes by 14 random batches of images, decision 151.)
const OF_WIDE_ELEMENT: f64 = 25.0;
const OF_ELEMENT: f64 = 21.5;

/// What `compute_units` has of a copy's speed where elements lie together on both sides and start on units, as those of planes with gaps do. (By 333 batches of planes and of pixels, decision 140; of bytes that stay bytes by decision 149.)
const fn in_units(src: usize, dst: usize) -> f64 {
    match (src, dst) {
        (1, 1) => 0.46,
        (1, 4) => 0.70,
        (2, 2) => 0.90,
        (2, 4) => 0.82,
        (4, 2) => 0.85,
        (4, 4) => 1.00,
        _ => 0.73,
    }
}

/// Numbers of channels from which on pairs leave the L1 cache, where channels lie together in units of eight elements, and the part of the speed of `compute_units` that is left.
const MANY: [(usize, f64); 2] = [(97, 0.48), (49, 0.80)];

/// How many times as fast `compute_runs_by_pairs` is as the model of runs expects, which is told of no types. (By 1430 windows of planes, decision 143, and of bytes that stay bytes by decision 149.)
const fn runs_by_pairs(src: usize, dst: usize) -> f64 {
    match (src, dst) {
        (1, 1) => 1.30,
        (1, 2) => 1.09,
        (1, 4) => 1.36,
        (2, 2) => 0.98,
        (2, 4) => 1.18,
        (4, 1) => 1.25,
        (4, 2) => 1.17,
        (4, 4) => 1.06,
        _ => 1.00,
    }
}

/// What `compute_mirrored2` and its like have of a copy's speed between planes that stay in their order, of whole units, and `compute_windows2` and its like. (By 262 such windows, decision 143; of bytes that stay bytes by decision 149.)
const fn between_planes(src: usize, dst: usize) -> [f64; 2] {
    match (src, dst) {
        (1, 2) => [0.85, 0.78],
        (1, 4) => [0.80, 0.80],
        (2, 1) => [0.92, 0.74],
        (2, 2) => [0.96, 0.81],
        (2, 4) => [0.89, 0.82],
        (4, 1) => [0.84, 0.69],
        (4, 2) => [0.87, 0.77],
        (4, 4) => [0.97, 0.85],
        _ => [0.85, 0.78],
    }
}

/// What `compute_pixels` has of a copy's speed at best, where channels come to lie together, and where planes do. (By 96 of 288 random batches of images, decision 121, as all of its prices.)
const fn to_pixels(src: usize, dst: usize) -> f64 {
    match (src, dst) {
        (1, 4) | (2, 4) => 0.92,
        (2, 2) => 0.87,
        (4, 2) => 0.81,
        (4, 4) => 1.00,
        _ => 0.70,
    }
}
const fn to_planes(src: usize, dst: usize) -> f64 {
    match (src, dst) {
        (1, 4) => 0.92,
        (2, 2) => 1.00,
        (2, 4) => 0.98,
        (4, 1) => 0.75,
        (4, 2) => 0.86,
        (4, 4) => 1.15,
        _ => 0.82,
    }
}

/// What `compute_interleaved2` and its like have of a copy's speed where rows start anywhere, to pixels and to planes, and what each row costs beside: elements at its ends are loaded one by one. (By 219 random batches of images of two to four
/// channels, decision 124; results of one byte by `f32` to `u8`, of bytes that stay bytes by decision 149.)
const fn ragged(src: usize, dst: usize) -> [f64; 2] {
    match (src, dst) {
        (1, 1) => [0.66, 0.65],
        (1, 2) => [0.89, 0.93],
        (1, 4) => [0.83, 0.91],
        (2, 2) => [0.98, 1.00],
        (2, 4) => [0.91, 0.95],
        (4, 2) => [0.92, 0.96],
        (4, 4) => [0.97, 1.03],
        _ => [0.74, 0.71],
    }
}
const OF_RAGGED_ROW: f64 = 500.0;
const OF_RAGGED_ROW_OF_FOURS: f64 = 350.0;

/// How many times as much a row costs where something is added. (By 29 windows of bytes that stay bytes, decision 149.)
const OF_RAGGED_SUM: f64 = 2.1;

/// The part of the speed of `compute_interleaved2` and its like that `compute_mirrored2` and its like have where rows start anywhere, and how many times as much a row costs. (By 189 batches of rows of 37 to 2501 pixels, decision 139.)
const OF_MIRRORED: f64 = 0.87;
const OF_MIRRORED_ROW: f64 = 1.25;

/// The part of the speed without channels that `compute_pixels` has where a pair is loaded for each element.
const OF_WIDE_PAIRS: f64 = 0.85;

/// What each block of `compute_pixels` costs beside its bytes, and each stretch that it loads, and each run that it stores.
const OF_PIXEL_BLOCK: f64 = 4100.0;
const OF_STRETCH: f64 = 69.0;
const OF_RUN: f64 = 95.0;

/// What an element of `compute_pixels` costs for each word beside the first that a warp loads of one bank at once.
const OF_MEETING: f64 = 0.23;

/// How many times as long tiles of 256 threads take as the model of moves expects, where columns are channels, and where rows are. (By 453 tiles of 77 random batches of images, decision 120.)
const fn tiles_by_columns(src: usize, dst: usize) -> f64 {
    match (src, dst) {
        (1, 4) => 1.16,
        (2, 2) => 1.09,
        (2, 4) => 1.10,
        (4, 1) => 1.40,
        (4, 2) => 1.08,
        (4, 4) => 1.02,
        _ => 1.25,
    }
}
const fn tiles_by_rows(src: usize, dst: usize) -> f64 {
    match (src, dst) {
        (1, 4) => 1.06,
        (2, 2) => 1.07,
        (2, 4) => 0.88,
        (4, 1) => 1.25,
        (4, 2) => 1.01,
        (4, 4) => 0.92,
        _ => 1.20,
    }
}

/// By which power of their threads tiles take longer: of large blocks few run side by side, and all of one wait for each other.
const OF_THREADS: f64 = 0.1;

/// What a byte of the pairs costs that each tile keeps whose rows are channels. (By 12 batches of 200 to 510 channels.)
const OF_PAIRS: f64 = 1.2;

/// What tiles of `compute_short` and `compute_narrow` have whose rows are channels, of whose rows there is a certain part: that part where results have 4 bytes, and where they have fewer. Tiles of fewer rows, and of fewer columns, have less, by powers of the parts that there are;
/// so have those of which rows of the destination start inside sectors. (By 24 batches of 8 to 256 channels.)
const HELD_ROWS: f64 = 0.97;
const ENOUGH_ROWS: [f64; 2] = [0.5, 0.8];
const FEWER_HELD: [f64; 2] = [0.65, 0.5];
const INSIDE_SECTORS: f64 = 0.74;

/// The part of their rows from which on nothing is faster than these, where rows of the destination start on sectors.
const FULL_ROWS: f64 = 0.9;

/// What full tiles of `compute_micro` have whose columns are channels: a pair is loaded for each unit. Tiles of fewer columns, and of fewer rows, have less, by powers of the parts that there are. (By 14 of the batches of `arithmetic --each 902` to `910`.)
const fn in_micro_blocks(dst: usize) -> f64 {
    match dst {
        1 => 0.82,
        2 => 0.95,
        _ => 1.00,
    }
}
const MICRO_COLUMNS: f64 = 0.35;
const MICRO_ROWS: f64 = 0.30;

/// What tiles of `compute_rows_by_pairs` have whose columns, or rows, are channels: the fraction of a copy's speed of those of whose columns there is a certain part, and that part. Tiles of fewer columns, and
/// of fewer rows, have less, by powers of the parts that there are. (Between `f32` and `f64`, where `compute_rows` loads a pair for each number, by 28 random batches of images, decision 151.)
const fn by_columns(src: usize, dst: usize) -> [f64; 2] {
    match (src, dst) {
        (1, 2) => [0.87, 0.50],
        (1, 4) => [0.93, 0.35],
        (2, 2) => [0.92, 0.80],
        (2, 4) => [0.93, 0.50],
        (4, 1) => [0.80, 0.90],
        (4, 2) => [0.90, 0.65],
        (4, 4) => [0.96, 0.60],
        (4, 8) => [0.85, 0.90],
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
        (4, 8) => [0.87, 0.70],
        _ => [0.50, 0.80],
    }
}
const FEWER_COLUMNS: f64 = 0.6;
const FEWER_ROWS: f64 = 0.9;

/// What is known of a move by which its ways have a cost.
pub(super) struct ChannelCosts<'a> {
    operands: &'a Operands,
    elements: f64,
    /// Whether pairs are numbers of 32 bits.
    are_narrow: bool,
    /// The axis of the channels, if there are several, and whether it is the destination's fastest.
    channels: Option<Axis>,
    to_pixels: bool,
}

impl<'a> ChannelCosts<'a> {
    pub fn of(operands: &'a Operands, operation: &Operation) -> Self {
        let has_pairs = |axis: &&Axis| axis.strides[OTHER] != 0;
        ChannelCosts {
            operands,
            elements: operands.axes.iter().map(|axis| axis.length as f64).product(),
            are_narrow: operands.has_narrow_pairs(operation),
            channels: operands.axes.iter().find(has_pairs).copied(),
            to_pixels: operands.axes.first().is_some_and(|axis| has_pairs(&axis)),
        }
    }

    /// Channels that lie together in the destination; 0 if they do not.
    fn channels_of_pixel(&self) -> usize {
        self.channels.filter(|_| self.to_pixels).map_or(0, |axis| axis.length)
    }

    /// The cost of `compute_units`: of units, or of elements one by one, each with a pair that is loaded for it.
    pub fn by_units(&self) -> f64 {
        if !self.are_narrow || !self.operands.are_in_units() || are_scattered(self.operands) {
            let is_wide = self.operands.bytes[SRC] == 8;
            return self.elements * if is_wide { OF_WIDE_ELEMENT } else { OF_ELEMENT };
        }
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        let are_long = self.operands.unit() > 4;
        let many =
            MANY.into_iter().find(|&(least, _)| are_long && self.channels_of_pixel() >= least);
        self.operands.traffic() / (in_units(src, dst) * many.map_or(1.0, |(_, left)| left))
    }

    /// What `compute_runs_by_pairs` costs, of which the model of runs that have no pairs expects this.
    pub fn in_runs<T>(&self, expected: Option<(f64, T)>) -> Option<(f64, T)> {
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        expected.map(|(cost, parts)| (cost / runs_by_pairs(src, dst), parts))
    }

    /// The cost of `compute_rows_by_pairs`, of whose tiles' rows and columns there are these parts.
    pub fn in_spans(&self, [rows, cols]: [f64; 2]) -> f64 {
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        let [most, enough] = if self.to_pixels { by_rows(src, dst) } else { by_columns(src, dst) };
        let fewer = (cols / enough).min(1.0).powf(FEWER_COLUMNS) * rows.powf(FEWER_ROWS);
        self.operands.traffic() / (most * fewer)
    }

    /// Whether there is a price of `compute_micro`: of elements of 4 bytes whose columns, or matrices, are channels.
    pub fn has_micro(&self, is_wide: bool) -> bool {
        !is_wide && !self.to_pixels && self.operands.bytes[SRC] == 4
    }

    /// The cost of `compute_micro`, of whose tiles' rows and columns there are these parts.
    pub fn in_micro(&self, [rows, cols]: [f64; 2]) -> f64 {
        let fewer = cols.powf(MICRO_COLUMNS) * rows.powf(MICRO_ROWS);
        self.operands.traffic() / (in_micro_blocks(self.operands.bytes[DST]) * fewer)
    }

    /// Whether rows of the destination are whole sectors apart.
    fn are_on_sectors(&self) -> bool {
        let mut apart =
            self.operands.axes.iter().skip(1).map(|axis| axis.strides[DST].unsigned_abs());
        apart.all(|stride| (stride * self.operands.bytes[DST]).is_multiple_of(SECTOR))
    }

    /// Whether tiles whose threads hold pairs are of rows that are channels, and others may be faster; there are these parts of their rows and columns.
    pub fn are_rows_priced(&self, [rows, _]: [f64; 2]) -> bool {
        self.to_pixels && !(rows >= FULL_ROWS && self.are_on_sectors())
    }

    /// The cost of tiles whose threads hold the pairs of rows, of whose rows and columns there are these parts.
    pub fn held_rows(&self, [rows, cols]: [f64; 2]) -> f64 {
        let enough = ENOUGH_ROWS[usize::from(self.operands.bytes[DST] < 4)];
        let fewer = (rows / enough).min(1.0).powf(FEWER_HELD[0]) * cols.powf(FEWER_HELD[1]);
        let inside = if self.are_on_sectors() { 1.0 } else { INSIDE_SECTORS };
        self.operands.traffic() / (HELD_ROWS * fewer * inside)
    }

    /// The cost of `compute_tiles_by_pairs`, of which the model of moves expects this.
    pub fn in_tiles(&self, cost: f64, part: &Part) -> f64 {
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        let tiles = part.launch.grid.iter().map(|&blocks| f64::from(blocks)).product();
        let threads = f64::from(part.launch.block[0]) / 256.0;
        let by = if self.to_pixels { tiles_by_rows } else { tiles_by_columns };
        let computed = Costs::of(self.operands).by_tiles(cost, tiles) * by(src, dst);
        computed * threads.powf(OF_THREADS)
            + tiles * pair_rows_bytes(self.channels_of_pixel()) as f64 * OF_PAIRS
    }

    /// The cost of pixels of two to four channels, in rows that start anywhere, or of planes that stay in their order.
    pub fn interleaved(&self, way: &Interleaved) -> f64 {
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        if way.ragged == 0 {
            let [whole, slid] = between_planes(src, dst);
            return self.operands.traffic() / if way.are_slid { slid } else { whole };
        }
        let [to_pixels, to_planes] = ragged(src, dst);
        let best = if way.to_pixels { to_pixels } else { to_planes };
        let of_row = if src + dst == 8 { OF_RAGGED_ROW_OF_FOURS } else { OF_RAGGED_ROW };
        let [speed, rows] = match way.is_mirrored {
            true => [OF_MIRRORED, OF_MIRRORED_ROW],
            false if self.operands.other.is_added() => [1.0, OF_RAGGED_SUM],
            false => [1.0; 2],
        };
        self.operands.traffic() / (best * speed) + way.ragged as f64 * of_row * rows
    }

    /// The cost of `compute_pixels`.
    pub fn in_pixels(&self, pixels: &InPixels) -> f64 {
        if !self.are_narrow {
            return Costs::of(self.operands).by_pixels(pixels) / OF_WIDE_PAIRS;
        }
        let [src, dst] = [SRC, DST].map(|side| self.operands.bytes[side]);
        let best = if pixels.to_pixels { to_pixels(src, dst) } else { to_planes(src, dst) };
        let InPixels { blocks, stretches, runs, .. } = *pixels;
        let meeting = self.elements * (pixels.meet - 1) as f64 * OF_MEETING;
        let beside = blocks * OF_PIXEL_BLOCK + stretches * OF_STRETCH + runs * OF_RUN;
        self.operands.traffic() / best + beside + meeting
    }
}
