//! The planner of `compute_micro`, `compute_rows`, `compute_rows_large`, `compute_rows_by_pairs`, `compute_rows_beside`, `compute_sums` and `compute_sum_rows`: a matrix that is transposed, or a batch of them.

use super::operands::{Axis, DST, OTHER, Operands, Other, SRC};
use super::part::{Part, entry};
use crate::facts::{Facts, GRID_LIMIT};
use crate::far_rows;
use crate::launch::{Fields, Launch};
use crate::plan::fast::Tuning;
use crate::plan::problem::VECTOR;
use kernel_abi::arithmetic::{
    BESIDE_THREADS, COMPUTE_MICRO, COMPUTE_NARROW, COMPUTE_ROWS, COMPUTE_ROWS_BESIDE,
    COMPUTE_ROWS_BY_PAIRS, COMPUTE_ROWS_LARGE, COMPUTE_SHORT, COMPUTE_SUM_ROWS, COMPUTE_SUMS,
    ComputeMatrices, MatrixTile, Operation, SpanTile, beside_bytes, by_pairs_bytes, flags,
    span_elements, span_units_together, units_together,
};
use kernel_abi::fast::Batched;
use kernel_abi::{Kernel, Width};

/// Tiles that are at least so full are preferred to those of `compute_tiles`, which are cut to the shape.
const FULL: f64 = 0.625;

/// The part of the rows of tiles of [`COMPUTE_ROWS`] that there are at least where they are preferred and results are narrower, or have the size of sources of 4 bytes and more: 36 to 48 rows of `f32` to `f16`, 0.64 to 0.69 of them, had
/// 0.63 to 0.69 of a copy, 0.81 to 0.95 by others. (0.775 by 70 random matrices and batches, decision 126.)
const ROWS_FULL: f64 = 0.775;

/// The part of the rows of tiles of [`COMPUTE_ROWS`] that there are at least where they are preferred and bytes stay bytes: 61 to 248 rows, 0.64 to 0.86 of those of whole tiles, had 0.38 to 0.62 of a copy, 0.52 to 0.72 by others. (By 9 matrices, decision 149.)
const BYTE_ROWS_FULL: f64 = 0.87;

/// How full tiles of [`COMPUTE_ROWS`] are preferred where results are wider, and by which power less it counts which part of their columns there is than of their rows. (By 23 random matrices and batches, decision 126.)
const WIDER_FULL: f64 = 0.65;
const LESS_FOR_COLUMNS: f64 = 0.4;

/// How full tiles of [`COMPUTE_SHORT`] are preferred to those of `compute_tiles`: less than [`FULL`], for more of them run together.
const SHORT_FULL: f64 = 0.5;

/// How full tiles are preferred whose threads hold channels' pairs.
const HELD_PAIRS_FULL: f64 = 0.125;

/// How full tiles whose threads hold a pair for each row are preferred to `compute_pixels`.
const ROW_PAIRS_FULL: f64 = 0.3;

/// Blocks of `compute_rows` that a multiprocessor should run together; of sources of 1 and 2 bytes as many as the driver chooses, with the shared memory that it chooses (decision 099).
const ROWS_BLOCKS: u32 = 4;

/// Blocks of `compute_rows_beside` that one should run together: with more the cache has too little room for what is on its way (0.90 of a copy for 0.97, decision 099). Of sources of 1 byte as
/// many as the driver chooses: tiles whose elements become 4 bytes have 68 KiB, and a kernel has one rule.
const BESIDE_BLOCKS: u32 = 2;

/// Tiles along the rows from which `compute_rows_beside` is the first way: of two of `bf16` both are at an edge (107 rows 0.34 of a copy, and 0.69 by `compute_tiles`). Tiles of bytes that become 2, and of 4 bytes that become less,
/// are as fast as others from two on, of 8 bytes that become less from three, of 2 that become one from eight (13 counts of rows from 151 to 1601, decision 129).
const fn beside_edges(src: usize, dst: usize) -> u64 {
    match (src, dst) {
        (1, 2) | (4, 1 | 2) => 2,
        (8, 2 | 4) => 3,
        (2, 1) => 8,
        _ => 4,
    }
}

/// Blocks of `compute_rows_large` that a multiprocessor runs together: its registers are then in use.
const LARGE_BLOCKS: u32 = 2;

/// How many elements there are from which `compute_rows_large` is faster than `compute_rows` where 2 bytes become 4, and where 4 become 2 (H200, 48 random shapes, decision 101).
const LARGE_FROM: [u64; 2] = [1 << 22, 1 << 24];

/// How full tiles of `compute_rows_large` have to be, as a part of how full those of `compute_rows` are: they gain little more.
const LARGE_FULL: f64 = 0.99;

/// Bytes of a line of the caches. A sum is between lines if rows of its destination do not all start on lines. Kernels of micro-blocks fetch what they add to then.
const LINE: usize = 128;

/// What kernels have of a copy's speed in sums between lines where their tiles are full: `compute_rows_beside`, `compute_micro`, `compute_short` and `compute_narrow`, of which not all serve all sizes. (By 24 sums of
/// matrices and batches of each pair of types on an H200, decision 153; on lines those of micro-blocks have 0.9 to 1.05.)
const fn between_lines(src: usize, dst: usize) -> [f64; 4] {
    match (src, dst) {
        (1, 2) => [1.00, 0.86, 0.83, 0.81],
        (1, _) => [1.00, 0.84, 0.76, 0.75],
        (2, 1) => [0.78, 0.88, 0.80, 0.0],
        (2, 2) => [1.00, 0.93, 0.88, 0.0],
        (2, _) => [1.00, 0.92, 0.87, 0.0],
        (4, 1) => [0.80, 0.86, 0.0, 0.0],
        (4, 2) => [0.93, 0.95, 0.0, 0.0],
        (4, 8) => [1.00, 0.83, 0.0, 0.0],
        (8, 4) => [1.00, 0.95, 0.0, 0.0],
        _ => [1.00, 1.02, 0.0, 0.0],
    }
}

/// Rows from which on `compute_rows_beside` is the slower one of 8 bytes that become 4, in sums on lines: 0.85 of a copy for 0.93 in matrices of 131072 to 419424 rows, 0.97 for 0.91 in those of 672 to 16384. (By nine
/// matrices and batches, decision 153.)
const LONG: u64 = 1 << 16;

/// In sums between lines, by which powers of the parts of its tiles' rows and columns that there are `compute_rows_beside` has less of a copy's speed, and by which power of the part of their rows the kernels of
/// micro-blocks have less. (By the sums of decisions 152 and 153.)
const FEWER_BESIDE: [f64; 2] = [0.5, 0.3];
const FEWER_ROWS: f64 = 0.3;

/// How full tiles of kernels of micro-blocks are in sums between lines that are preferred to those of `compute_tiles`, where results are no wider and there are so many of their rows: 64 columns of `bf16`, 0.47 of those
/// of tiles, had 0.96 of a copy where those have 0.84. (By the sums of decision 153.)
const FULL_BETWEEN_LINES: f64 = 0.4;
const ROWS_BETWEEN_LINES: f64 = 0.6;

/// How full tiles of `compute_rows_beside` are in sums between lines that are preferred to those of [`COMPUTE_TILES`](kernel_abi::arithmetic::COMPUTE_TILES): of bytes, and of others.
const BESIDE_FULL: [f64; 2] = [0.4, 0.55];

/// The part of tiles of so many that there are elements for, of which the first tile begins `early` before the first.
fn full(all: u64, early: u64, tile: u64) -> f64 {
    all as f64 / (all + early).next_multiple_of(tile) as f64
}

/// Rows that the first of tiles whose columns' spans start on sectors begins before a matrix.
fn early(src_bytes: usize, dst_bytes: usize) -> u64 {
    u64::from(span_elements(src_bytes, dst_bytes)) - 1
}

/// A way to move matrices, and how full its tiles are.
pub(super) struct Way {
    full: f64,
    /// The part of the columns of the tiles that there are.
    cols_full: f64,
    enough: f64,
    /// What it costs, in bytes that a copy could have moved meanwhile, where other kernels of matrices, or boxes, may be faster though its tiles are full.
    pub cost: Option<f64>,
    /// What is enough to be preferred to `compute_pixels`, which loads a pair of channels for each number that is computed in 64 bits, and from shared memory for each other one, where this way does not.
    ahead: f64,
    pub part: Part,
}

impl Way {
    /// Whether the tiles are full enough.
    pub fn is_full(&self) -> bool {
        self.full >= self.enough
    }

    /// The parts of the rows and of the columns of the tiles that there are.
    pub fn parts(&self) -> [f64; 2] {
        [self.full / self.cols_full, self.cols_full]
    }

    /// Whether its threads hold pairs of channels.
    pub fn holds_pairs(&self) -> bool {
        self.ahead.is_finite()
    }

    /// Whether the kernel is for rows that start anywhere.
    pub fn is_in_spans(&self) -> bool {
        self.part.launch.entry.name.starts_with(COMPUTE_ROWS.name)
    }

    /// Whether the kernel is for rows that all start on vectors, and loads the pairs of channels for each unit, or for each number.
    pub fn is_in_micro_blocks(&self) -> bool {
        self.part.launch.entry.name.starts_with(COMPUTE_MICRO.name)
    }

    /// Whether they are so for `compute_pixels` to be worse.
    pub fn is_ahead(&self) -> bool {
        self.full >= self.ahead
    }
}

/// A move of matrices.
struct Move<'a> {
    operands: &'a Operands,
    operation: &'a Operation,
    /// The source's elements' width.
    width: Width,
    /// Rows and columns are the source's; elements are counted of each side.
    matrices: Batched,
    /// The axis along rows of the source, and that of the batch, if there is one.
    first: Axis,
    second: Axis,
    batch: Option<Axis>,
}

/// The ways, the better first; none where the move is none of matrices.
pub(super) fn ways(operands: &Operands, operation: &Operation, facts: &Facts) -> Vec<Way> {
    let Some(moved) = Move::of(operands, operation) else { return Vec::new() };
    let in_micro_blocks = moved.in_micro_blocks(facts);
    let sums = moved.sums(facts).into_iter().chain(moved.sums_in_spans());
    let in_spans = moved.in_spans_of_both_sizes(facts);
    // Where rows start anywhere there are none of micro-blocks, and nothing is as fast as spans.
    let have_prices = !in_micro_blocks.is_empty() && moved.adds_with_prices(facts);
    let mut ways: Vec<Way> = in_micro_blocks.into_iter().chain(in_spans).chain(sums).collect();
    if have_prices {
        ways.iter_mut().for_each(|way| moved.price_sum(way));
        let cost = |way: &Way| way.cost.unwrap_or(f64::INFINITY);
        ways.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    }
    ways
}

impl<'a> Move<'a> {
    /// The move as one of matrices, of sizes of elements that the kernels are for.
    fn of(operands: &'a Operands, operation: &'a Operation) -> Option<Self> {
        let (&first, rest) = operands.axes.split_first()?;
        let runs = |axis: &&Axis| axis.strides[SRC] == 1;
        let second = *rest.iter().find(runs)?;
        let batch = rest.iter().find(|axis| !runs(axis)).copied();
        let [rows, cols] = [first, second].map(|axis| axis.length);
        let [src_ld, dst_ld] = [first.strides[SRC], second.strides[DST]];
        let are_matrices = rest.len() == 1 + usize::from(batch.is_some())
            && first.strides[DST] == 1
            && src_ld >= cols as isize
            && dst_ld >= rows as isize;
        let serves = matches!(
            operands.bytes[..OTHER],
            [1 | 2, 1 | 2 | 4] | [4, 1 | 2 | 4 | 8] | [8, 2 | 4 | 8] | [16, 16]
        );
        // Elements of 8 bytes leave no registers for pairs of numbers of as many.
        let has_registers = !operands.has_channels() || operands.bytes[SRC] < 8;
        if !are_matrices || !serves || !has_registers {
            return None;
        }
        let of_batch = |side: usize| batch.map_or(0, |axis| axis.strides[side] as u64);
        let matrices = Batched {
            rows: rows as u64,
            cols: cols as u64,
            src_ld: src_ld as u64,
            dst_ld: dst_ld as u64,
            src_batch: of_batch(SRC),
            dst_batch: of_batch(DST),
        };
        let width = Width::of_bytes(operands.bytes[SRC])?;
        Some(Move { operands, operation, width, matrices, first, second, batch })
    }

    /// Whether all rows of a memory that is laid out like the source start on vectors.
    fn start_on_vectors(&self, side: usize) -> bool {
        let on_vectors = |axis: &Axis| {
            (axis.strides[side].unsigned_abs() * self.operands.bytes[side]).is_multiple_of(VECTOR)
        };
        self.operands.aligned[side] >= VECTOR
            && on_vectors(&self.first)
            && self.batch.as_ref().is_none_or(on_vectors)
    }

    /// Whether it is a sum that has prices, on a chip that they were measured on: one between lines, or of 8 bytes that become 4, where `compute_rows_beside` may be the faster one on lines as well.
    fn adds_with_prices(&self, facts: &Facts) -> bool {
        self.operation.flags & flags::OTHER != 0
            && facts.compute_capability == (9, 0)
            && (self.sizes() == [8, 4] && self.matrices.rows < LONG || !self.are_on_lines())
    }

    /// Whether all rows of the destination lie whole lines of the caches behind the first one.
    fn are_on_lines(&self) -> bool {
        let on_lines = |axis: &Axis| {
            (axis.strides[DST].unsigned_abs() * self.operands.bytes[DST]).is_multiple_of(LINE)
        };
        on_lines(&self.second) && self.batch.as_ref().is_none_or(on_lines)
    }

    /// Gives a way of a sum its price, if it has one.
    fn price_sum(&self, way: &mut Way) {
        let [src, dst] = self.sizes();
        let is_of = |kernel: &Kernel<_>| way.part.launch.entry.name.starts_with(kernel.name);
        let kernels = [&COMPUTE_ROWS_BESIDE, &COMPUTE_MICRO, &COMPUTE_SHORT, &COMPUTE_NARROW];
        let Some(kernel) = kernels.into_iter().position(is_of) else { return };
        let [rows, cols] = way.parts();
        let mut speed = between_lines(src, dst)[kernel];
        if is_of(&COMPUTE_ROWS_BESIDE) {
            let [fewer_rows, fewer_cols] = FEWER_BESIDE;
            speed *= rows.powf(fewer_rows) * cols.powf(fewer_cols);
            way.enough = BESIDE_FULL[usize::from(src > 1)];
        } else {
            speed *= rows.powf(FEWER_ROWS);
            if dst <= src && rows >= ROWS_BETWEEN_LINES {
                way.enough = FULL_BETWEEN_LINES;
            }
        }
        way.cost = Some(self.operands.traffic() / speed);
    }

    /// Whether all rows of the destination start on as many units as are stored together.
    fn dst_starts_on_units(&self) -> bool {
        let [src, dst] = self.sizes();
        let bytes = units_together(src, dst) * self.operands.unit() * dst;
        self.operands.start_on(bytes, &self.operands.axes[1..], DST)
    }

    /// Bytes of an element of the source, and of the destination.
    fn sizes(&self) -> [usize; 2] {
        [SRC, DST].map(|side| self.operands.bytes[side])
    }

    /// How many columns of tiles lie between two that are walked together.
    fn apart(&self, facts: &Facts) -> u64 {
        let Tuning { far_rows, pair_distance, .. } = *Tuning::of(facts.compute_capability);
        let bytes = self.width.bytes();
        let cols = MatrixTile::of(self.width).cols(self.width) as usize;
        let pitch = (self.matrices.src_ld as usize).checked_mul(bytes);
        let tiles = self.matrices.cols as usize / cols;
        far_rows::tiles_apart(far_rows, pair_distance, cols * bytes, tiles, pitch) as u64
    }

    /// By tiles of rows that start on vectors; by those of fewer columns first where they are fuller.
    fn in_micro_blocks(&self, facts: &Facts) -> Vec<Way> {
        // The kernels have no registers for channels of elements of two bytes, nor for an operand of eight that lies otherwise than the destination.
        let has_registers = match self.width {
            Width::B1 | Width::B4 => true,
            Width::B2 => !self.operands.has_channels(),
            Width::B8 | Width::B16 => self.operands.other_is_like_destination(),
        };
        let serves = self.operands.other_runs_with_destination()
            && has_registers
            && self.start_on_vectors(SRC)
            && self.dst_starts_on_units();
        if !serves {
            return Vec::new();
        }
        let mut params = self.params();
        if self.operands.gain_by_fetching() && !self.are_on_lines() {
            params.operation.flags |= flags::FETCH;
        }
        let tile = MatrixTile::of(self.width);
        let wide_params = ComputeMatrices { apart: self.apart(facts), ..params };
        let wide = self.in_tiles(&COMPUTE_MICRO, &wide_params, tile);
        let few = |kernel, serves: bool, tile| {
            serves.then(|| self.in_tiles(kernel, &params, tile)).flatten()
        };
        let narrow = few(&COMPUTE_NARROW, self.width == Width::B1, MatrixTile::narrow());
        let short = few(&COMPUTE_SHORT, self.width.bytes() <= 2, MatrixTile::short());
        let short = short.map(|way| Way { enough: SHORT_FULL, ..way });
        let mut ways: Vec<Way> = if self.holds_pairs() {
            // `compute_micro` would load a pair for each number.
            let ahead = if self.columns_have_pairs() { HELD_PAIRS_FULL } else { ROW_PAIRS_FULL };
            let held = |way: Way| Way { enough: HELD_PAIRS_FULL, ahead, ..way };
            short.into_iter().chain(narrow).map(held).collect()
        } else {
            wide.into_iter().chain(narrow).chain(short).collect()
        };
        ways.sort_by(|a, b| b.full.total_cmp(&a.full));
        ways
    }

    /// Whether there are channels whose pairs the threads of [`COMPUTE_NARROW`] and [`COMPUTE_SHORT`] hold.
    fn holds_pairs(&self) -> bool {
        self.width == Width::B1 && self.operands.has_narrow_pairs(self.operation)
    }

    /// Whether there are channels, a pair for each column.
    fn columns_have_pairs(&self) -> bool {
        self.operands.has_channels() && self.second.strides[OTHER] != 0
    }

    /// By such tiles.
    fn in_tiles(
        &self,
        kernel: &Kernel<ComputeMatrices>,
        params: &ComputeMatrices,
        tile: MatrixTile,
    ) -> Option<Way> {
        let shape = [tile.rows.into(), tile.cols(self.width).into()];
        Some(self.way(self.launch(kernel, params, tile.block())?, shape))
    }

    /// By tiles whose columns' spans start on sectors.
    fn in_spans(&self, facts: &Facts) -> Option<Way> {
        if !self.operands.other_runs_with_destination() || self.width == Width::B16 {
            return None;
        }
        // What is added waits in shared memory where that was measured, and comes in whole units.
        let is_added = self.operation.flags & flags::OTHER != 0;
        let [src, dst] = self.sizes();
        let bytes = span_units_together(src, dst) * self.operands.unit() * dst;
        let in_units = is_added && self.operands.other_is_like_destination_on(bytes);
        if in_units && self.has_beside(facts) {
            return self.in_spans_beside();
        }
        let tile = SpanTile::of(self.width);
        let by_pairs = self.operands.has_narrow_pairs(self.operation);
        let kernel = if by_pairs { &COMPUTE_ROWS_BY_PAIRS } else { &COMPUTE_ROWS };
        let mut launch = self.launch(kernel, &self.params(), tile.block())?;
        launch.blocks_per_multiprocessor =
            if matches!(self.width, Width::B1 | Width::B2) { 0 } else { ROWS_BLOCKS };
        if by_pairs {
            launch.dynamic_shared_bytes = by_pairs_bytes(&tile);
        }
        let way = self.way_in_spans(launch, &tile);
        // Something is computed of rows that are not there as well.
        let least = match (src, dst) {
            (1, 1) => BYTE_ROWS_FULL,
            _ if dst < src || dst == src && src >= 4 => ROWS_FULL,
            _ => 0.0,
        };
        let enough = if self.rows_full(&tile) < least {
            1.0
        } else if dst > src && !is_added {
            WIDER_FULL * way.cols_full.powf(LESS_FOR_COLUMNS)
        } else {
            FULL
        };
        Some(Way { enough, ..way })
    }

    /// Whether [`COMPUTE_ROWS_BESIDE`] was measured on such a chip, and a block has the shared memory that it takes.
    fn has_beside(&self, facts: &Facts) -> bool {
        let [_, dst] = self.sizes();
        let bytes = beside_bytes(&SpanTile::beside(self.width, dst), self.width, dst);
        facts.compute_capability == (9, 0) && bytes as usize <= facts.block_shared
    }

    /// By tiles of [`COMPUTE_ROWS_BESIDE`].
    fn in_spans_beside(&self) -> Option<Way> {
        let [src, dst] = self.sizes();
        let tile = SpanTile::beside(self.width, dst);
        let block = [BESIDE_THREADS, 1, 1];
        let mut launch = self.launch(&COMPUTE_ROWS_BESIDE, &self.params(), block)?;
        launch.blocks_per_multiprocessor = if self.width == Width::B1 { 0 } else { BESIDE_BLOCKS };
        launch.dynamic_shared_bytes = beside_bytes(&tile, self.width, dst);
        let way = self.way_in_spans(launch, &tile);
        // Blocks at the first and last rows have units of which there is a part, and wait for what they add.
        let at_edges = self.matrices.rows < beside_edges(src, dst) * tile.span_rows(src, dst);
        Some(Way { full: if at_edges { 0.0 } else { way.full }, ..way })
    }

    /// By tiles whose columns' spans start on sectors, of either size, the better size first.
    fn in_spans_of_both_sizes(&self, facts: &Facts) -> impl Iterator<Item = Way> {
        let (small, large) = (self.in_spans(facts), self.in_large_spans(facts));
        let from = LARGE_FROM[usize::from(self.width == Width::B4)];
        let is_large = self.matrices.rows.saturating_mul(self.matrices.cols) >= from;
        let full = |way: &Option<Way>| way.as_ref().map_or(0.0, |way| way.full);
        let large_first = is_large && full(&large) >= LARGE_FULL * full(&small);
        let ways = if large_first { [large, small] } else { [small, large] };
        ways.into_iter().flatten()
    }

    /// By tiles of [`COMPUTE_ROWS_LARGE`], for what was measured.
    fn in_large_spans(&self, facts: &Facts) -> Option<Way> {
        let tile = SpanTile::large();
        let [src, dst] = self.sizes();
        let nothing_beside = self.operation.flags & (flags::OTHER | flags::CHANNELS) == 0;
        let serves = nothing_beside
            && matches!([src, dst], [2, 4] | [4, 2])
            && facts.compute_capability == (9, 0)
            && tile.vectors() as usize * VECTOR <= facts.block_shared;
        let launch = || self.launch(&COMPUTE_ROWS_LARGE, &self.params(), tile.block());
        let mut launch = serves.then(launch).flatten()?;
        launch.blocks_per_multiprocessor = LARGE_BLOCKS;
        launch.dynamic_shared_bytes = tile.vectors() * VECTOR as u32;
        Some(self.way_in_spans(launch, &tile))
    }

    /// Sums with what is laid out like the source.
    fn sums(&self, facts: &Facts) -> Option<Way> {
        let bytes = self.operands.bytes;
        let other_ld = self.first.strides[OTHER];
        let serves = matches!(self.operands.other, Other::Numbers(_))
            && bytes[SRC] == bytes[DST]
            && bytes[SRC] > 1
            && self.second.strides[OTHER] == 1
            && other_ld >= self.second.length as isize
            && [SRC, OTHER].into_iter().all(|side| self.start_on_vectors(side))
            && (self.second.length * bytes[SRC]).is_multiple_of(VECTOR)
            && self.dst_starts_on_units();
        let params = ComputeMatrices { apart: self.apart(facts), ..self.params() };
        let tile = MatrixTile::of(self.width);
        serves.then(|| self.in_tiles(&COMPUTE_SUMS, &params, tile)).flatten()
    }

    /// Sums with what is laid out like the source, where rows start anywhere: inside vectors alike.
    fn sums_in_spans(&self) -> Option<Way> {
        let bytes = self.operands.bytes;
        let alike = |axis: &Axis| axis.strides[OTHER] == axis.strides[SRC];
        let serves = matches!(self.operands.other, Other::Numbers(_))
            && bytes[SRC] == bytes[DST]
            && matches!(bytes[SRC], 2 | 4 | 8)
            && [self.first, self.second].iter().chain(&self.batch).all(alike)
            && [SRC, OTHER].into_iter().all(|side| self.operands.aligned[side] >= VECTOR);
        let tile = SpanTile::of_sums(self.width);
        let launch = || self.launch(&COMPUTE_SUM_ROWS, &self.params(), tile.block());
        let shape = [tile.span_rows(bytes[SRC], bytes[DST]), tile.cols(self.width).into()];
        Some(self.way(serves.then(launch).flatten()?, shape))
    }

    /// What all kernels are told.
    fn params(&self) -> ComputeMatrices {
        let bytes =
            |axis: &Axis| (axis.strides[OTHER] * self.operands.bytes[OTHER] as isize) as u64;
        ComputeMatrices {
            operation: *self.operation,
            matrices: self.matrices,
            apart: 0,
            other_rows: bytes(&self.first),
            other_cols: bytes(&self.second),
            other_batch: self.batch.as_ref().map_or(0, bytes),
        }
    }

    /// A launch of all matrices; `None` if a grid has not as many blocks.
    fn launch(
        &self,
        kernel: &Kernel<ComputeMatrices>,
        params: &ComputeMatrices,
        block: [u32; 3],
    ) -> Option<Launch> {
        let [x, y] = kernel.grid(params, self.width)?;
        let grid = [x, y, self.batch.map_or(1, |axis| axis.length as u64)];
        if grid.iter().zip(GRID_LIMIT).any(|(&blocks, limit)| blocks > limit as u64) {
            return None;
        }
        Some(Launch {
            entry: entry(kernel, self.width.bytes()),
            grid: grid.map(|blocks| blocks as u32),
            block,
            dynamic_shared_bytes: 0,
            blocks_per_multiprocessor: 0,
            evict_last: true,
            cooperative: false,
            offsets: [0, 0],
            params: Fields::of(params),
        })
    }

    /// A launch as a way, by tiles of so many rows and columns.
    fn way(&self, launch: Launch, [rows, cols]: [u64; 2]) -> Way {
        self.way_from(launch, [rows, cols], 0)
    }

    /// The part of the rows of such tiles that there are.
    fn rows_full(&self, tile: &SpanTile) -> f64 {
        let [src, dst] = self.sizes();
        full(self.matrices.rows, early(src, dst), tile.span_rows(src, dst))
    }

    /// A way by tiles whose columns' spans start on sectors: the first tile begins up to a sector's elements before the matrix.
    fn way_in_spans(&self, launch: Launch, tile: &SpanTile) -> Way {
        let [src, dst] = self.sizes();
        let shape = [tile.span_rows(src, dst), tile.cols(self.width).into()];
        self.way_from(launch, shape, early(src, dst))
    }

    /// A way by tiles of so many rows and columns, the first of which begins `early` rows before the matrix.
    fn way_from(&self, launch: Launch, [rows, cols]: [u64; 2], early: u64) -> Way {
        let cols_full = full(self.matrices.cols, 0, cols);
        let full = full(self.matrices.rows, early, rows) * cols_full;
        let part = Part::of(launch);
        Way { full, cols_full, enough: FULL, cost: None, ahead: f64::INFINITY, part }
    }
}

#[cfg(all(test, feature = "simulator"))]
mod tests {
    use super::super::operands::Operand;
    use super::super::wanted::Wanted;
    use super::super::ways;
    use super::*;
    use crate::TensorLayout;
    use kernel_abi::Params;
    use kernel_abi::arithmetic::Format;

    /// A chip of compute capability 9.0 may be planned for as one with less shared memory than it has.
    #[test]
    fn blocks_have_no_more_shared_memory_than_the_facts_say() {
        let hopper = Facts { compute_capability: (9, 0), ..Facts::simulated() };
        let operand = |rows, cols, turned: bool, element_bytes| {
            let layout = TensorLayout::contiguous(&[rows, cols], element_bytes).unwrap();
            Operand { layout: if turned { layout.t() } else { layout }, element_bytes, align: 16 }
        };
        let none = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        // What is added to, and numbers that become narrower in a large matrix.
        for (rows, cols, other, to) in
            [(1000, 1001, Other::Destination, 4), (10007, 9973, Other::None, 2)]
        {
            let formats = [Format::F32, if to == 4 { Format::F32 } else { Format::F16 }];
            let [src, dst] = formats.map(|format| format as u64);
            let flags = if other.is_added() { flags::OTHER } else { 0 };
            let operation = Operation { src, dst, dst_bytes: to as u64, flags, ..none };
            let (src, dst) = (operand(rows, cols, true, 4), operand(cols, rows, false, to));
            let operands = Operands::of(&src, &dst, &other);
            let most = |block_shared| {
                let facts = Facts { block_shared, ..hopper.clone() };
                let all = ways::ways(&operands, &operation, &facts, Wanted::All).all;
                let bytes = |part: &Part| part.launch.dynamic_shared_bytes as usize;
                all.iter().flatten().map(bytes).max().unwrap()
            };
            assert!(most(227 << 10) > 48 << 10);
            assert!(most(48 << 10) <= 48 << 10);
        }
    }

    /// 500 matrices of so many rows of 192 numbers, transposed and added to halves: to what the destination holds, or to numbers `apart` from that.
    fn sum(from: Format, rows: usize, apart: bool) -> (Operands, Operation) {
        let none = Operation::from_fields(&[0; Operation::FIELDS]).unwrap();
        let bytes = from.bytes();
        let [src, dst] = [from, Format::F16].map(|format| format as u64);
        let operation = Operation { src, dst, dst_bytes: 2, flags: flags::OTHER, ..none };
        let layout = TensorLayout::contiguous(&[500, rows, 192], bytes).unwrap();
        let layout = layout.permute_axes(&[0, 2, 1]).unwrap();
        let src = Operand { layout, element_bytes: bytes, align: 16 };
        let layout = TensorLayout::contiguous(&[500, 192, rows], 2).unwrap();
        let dst = Operand { layout, element_bytes: 2, align: 16 };
        let other = if apart { Other::Numbers(dst) } else { Other::Destination };
        (Operands::of(&src, &dst, &other), operation)
    }

    /// What lies between lines is fetched, but not of numbers apart from the destination that are wider than the source's.
    #[test]
    fn what_lies_between_lines_is_fetched() {
        let fetches = |from: Format, rows: usize, apart: bool| {
            let (operands, operation) = sum(from, rows, apart);
            let of_micro = |way: &Way| way.is_in_micro_blocks();
            let ways = ways(&operands, &operation, &Facts::h200());
            let params = &ways.iter().find(|way| of_micro(way)).unwrap().part.launch.params;
            let params: ComputeMatrices = params.to().unwrap();
            params.operation.flags & flags::FETCH != 0
        };
        assert!(fetches(Format::F16, 784, false));
        assert!(fetches(Format::F16, 784, true));
        assert!(fetches(Format::U8, 784, false));
        assert!(!fetches(Format::U8, 784, true));
        assert!(!fetches(Format::F16, 768, false));
    }

    /// Batches of bytes that become halves, and of halves that stay it, in sums: rows of the destination of whole lines, and of some.
    #[test]
    fn sums_between_lines_go_another_way() {
        let [ampere, hopper] = [(8, 0), (9, 0)]
            .map(|compute_capability| Facts { compute_capability, ..Facts::simulated() });
        let kernel = |from: Format, rows: usize, facts: &Facts| {
            let (operands, operation) = sum(from, rows, false);
            ways::ways(&operands, &operation, facts, Wanted::Best).all[0][0].launch.entry.name
        };
        assert!(kernel(Format::U8, 3136, &hopper).starts_with(COMPUTE_NARROW.name));
        assert!(kernel(Format::U8, 784, &hopper).starts_with(COMPUTE_ROWS_BESIDE.name));
        assert!(kernel(Format::U8, 787, &hopper).starts_with(COMPUTE_ROWS_BESIDE.name));
        // It was measured on no other chip.
        assert!(!kernel(Format::U8, 784, &ampere).starts_with(COMPUTE_ROWS_BESIDE.name));
        // On lines the fuller tiles are taken, between lines those of more rows.
        assert!(kernel(Format::F16, 1088, &hopper).starts_with(COMPUTE_SHORT.name));
        assert!(kernel(Format::F16, 784, &hopper).starts_with(COMPUTE_MICRO.name));
    }
}
