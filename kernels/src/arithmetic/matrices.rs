//! Matrices that are transposed and computed: the tiles of the kernels that only transpose, computed on the way out.
//!
//! `compute_micro` is for matrices where the rows of both matrices start on vectors, `compute_rows` for those where they start anywhere. What they load, and how
//! it changes places in registers, is what [`micro`](crate::fast::micro) and [`rows`](crate::fast::rows) do with the source's elements. A thread then takes
//! units of the transposed tile's columns, computes them, and stores them: by vectors on the side whose elements have more bytes.
//!
//! `compute_sums` and `compute_sum_rows` are for sums of matrices that both are transposed: they compute what they have loaded of both before that changes places.
//!
//! What belongs to an element beside the source, of a second operand or of a table of channels, may lie in any distances: its address goes along with the
//! destination's. Where there is nothing of that, the loops have no instruction for it: narrow elements leave time for 20 to 30 each.
//!
//! Rows of a table of channels that have their own pair, a factor and a summand, are the same for all columns of a thread: `compute_short` and `compute_narrow`
//! hold the pairs of bytes in registers. So do they hold the one pair of a column, which is on its way while the column before is computed.
//!
//! What a block of `compute_rows` adds to is fetched into the cache while it loads, and in the kernels of micro-blocks what lies between lines of the caches ([`fetch`](super::fetch)).

use super::arithmetic_entry;
use super::column::{aligned, slid, Column, ColumnPairs, OnePair, PairOfEach, Units};
use super::fetch::{self, fetch_between_lines, fetch_sectors};
use super::memory::{arrived, load_part, load_shared_part};
use super::operation::NoChannels;
use super::pair::{for_sizes, Pair, Sizes};
use super::row_pairs::{RowPairs, PAIR};
use super::twos::{self, PerhapsByTwos, Twos};
use crate::element::{Element, B16};
use crate::fast::rows::OnTheWayIn;
use crate::fast::{micro, per_vector, rows, SECTOR, VECTOR};
use crate::launch::{at_most_registers, is_hopper, never_more_registers};
use crate::matrices::Matrices;
use crate::tensor::axes::unrolled;
use cuda_std::thread;
use kernel_abi::arithmetic::{
    flags, span_align, span_elements, span_units_together, step_alike, units_together,
    ComputeMatrices, MatrixTile, Operation, SpanTile,
};
use kernel_abi::Width;

/// The matrices of a block's number in the batch: where they start, and what belongs to their elements of the second operand, or of the table of channels.
pub(super) struct Pieces<E> {
    /// The source, and the shape. The destination is the other one's.
    pub matrices: Matrices<E>,
    pub dst: u64,
    /// Bytes from a row of the destination to the next.
    pub stride: u64,
    /// The address of what belongs to the first element.
    second: u64,
    /// Bytes from the destination to a second operand that lies as it does.
    pub beside: u64,
}

impl<E: Element> Pieces<E> {
    /// Those of this block.
    #[inline(always)]
    pub fn of_block(src: *const E, dst: *mut u8, params: &ComputeMatrices) -> Self {
        let batched = &params.matrices;
        let bytes = params.operation.dst_bytes;
        let number = thread::block_idx_z() as u64;
        let src = src.wrapping_add(number.wrapping_mul(batched.src_batch) as usize);
        let behind = number.wrapping_mul(batched.dst_batch).wrapping_mul(bytes);
        let (rows, cols) = (batched.rows, batched.cols);
        let (src_ld, dst_ld) = (batched.src_ld, batched.dst_ld);
        Pieces {
            matrices: Matrices { src, dst: core::ptr::null_mut(), rows, cols, src_ld, dst_ld },
            dst: (dst as u64).wrapping_add(behind),
            stride: dst_ld * bytes,
            second: params.operation.other.wrapping_add(number.wrapping_mul(params.other_batch)),
            beside: params.operation.other.wrapping_sub(dst as u64),
        }
    }

    /// The address of what belongs to the element of a row and column of the source; the row may lie before the first.
    #[inline(always)]
    pub fn second_of(&self, params: &ComputeMatrices, row: i64, col: u64) -> u64 {
        let of_rows = params.other_rows.wrapping_mul(row as u64);
        self.second.wrapping_add(of_rows).wrapping_add(params.other_cols.wrapping_mul(col))
    }
}

/// How many units of a span a thread computes together.
pub(super) const fn together<P: Pair>() -> usize {
    span_units_together(P::SRC, P::DST)
}

/// What is computed, as the compiler knows it where there is nothing beside the source: what has to be looked at of a second operand and of channels takes no
/// instructions there.
#[inline(always)]
fn operation_of(params: &ComputeMatrices, has_second: bool) -> Operation {
    let none = if has_second { 0 } else { flags::OTHER | flags::CHANNELS };
    Operation { flags: params.operation.flags & !none, ..params.operation }
}

/// Whether there is something beside the source.
#[inline(always)]
fn has_second(params: &ComputeMatrices) -> bool {
    params.operation.flags & (flags::OTHER | flags::CHANNELS) != 0
}

/// Computes a transposed tile whose columns start on units, `K` of them together.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what loaded the tile.
#[inline(always)]
unsafe fn store_units<
    P: Pair,
    E: Element,
    const ROWS: u32,
    const COLS: u32,
    const THREADS: u32,
    const K: usize,
    const SECOND: bool,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: micro::Tile<E, ROWS>,
    place: micro::Place,
) {
    let operation = &operation_of(params, SECOND);
    let has_other = operation.flags & flags::OTHER != 0;
    let elements = (K * P::UNIT) as u32;
    let units = ROWS / elements;
    let step = THREADS / units;
    let t = thread::thread_idx_x();
    let (row, mut col) = (t % units * elements, t / units);
    let cols = place.cols.min(COLS);
    let end = place.rows as i32 - row as i32;
    if end <= 0 {
        return;
    }
    let (first_row, first_col) = (place.row + row as u64, place.col + col as u64);
    let mut at = pieces.dst + first_col * pieces.stride + first_row * P::DST as u64;
    // Elements of 8 bytes leave no registers for an operand that lies otherwise than the destination.
    let is_beside = P::SRC >= 8;
    let mut second = if SECOND && !is_beside {
        pieces.second_of(params, first_row as i64, first_col)
    } else {
        0
    };
    while col < cols {
        let units = Units { at, first: 0, end };
        let other = if is_beside { at.wrapping_add(pieces.beside) } else { second };
        // SAFETY: elements of the destination's row, of the second operand's, and of the tile.
        unsafe {
            let others = if has_other { units.others::<P, K>(other) } else { [B16::ANY; K] };
            let address = |byte: u32| tile.address(byte / P::SRC as u32, col);
            let values = aligned::<P, K>(address, row * P::SRC as u32);
            let channels = |k: usize| {
                let step = params.other_rows;
                Column { units, before: k * P::UNIT, pair: second, early: 0, step }
            };
            // Two bytes make units of so many numbers that no registers are left for channels.
            let results = if matches!(P::SRC, 1 | 4) {
                let channels: [Column; K] = core::array::from_fn(channels);
                P::compute::<true, K>(operation, values, others, &channels)
            } else {
                P::compute::<true, K>(operation, values, others, &[NoChannels; K])
            };
            units.store::<P, K>(results);
        }
        col += step;
        at += step as u64 * pieces.stride;
        if SECOND && !is_beside {
            second = second.wrapping_add(params.other_cols.wrapping_mul(step as u64));
        }
    }
}

/// Computes a transposed tile whose columns start on units, of channels whose pairs are numbers of 32 bits: each row is a channel, or each column.
///
/// # Safety
/// Those of [`store_units`].
#[inline(always)]
unsafe fn store_units_by_pairs<
    P: Pair,
    E: Element,
    H: ColumnPairs,
    const ROWS: u32,
    const COLS: u32,
    const THREADS: u32,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: micro::Tile<E, ROWS>,
    place: micro::Place,
) {
    let operation = &params.operation;
    let units = ROWS / P::UNIT as u32;
    let step = THREADS / units;
    let t = thread::thread_idx_x();
    let (row, mut col) = (t % units * P::UNIT as u32, t / units);
    let cols = place.cols.min(COLS);
    let end = place.rows as i32 - row as i32;
    if end <= 0 || col >= cols {
        return;
    }
    let (first_row, first_col) = (place.row + row as u64, place.col + col as u64);
    let mut at = pieces.dst + first_col * pieces.stride + first_row * P::DST as u64;
    let mut second = pieces.second_of(params, first_row as i64, first_col);
    // SAFETY: pairs of the table.
    let mut pairs = unsafe { H::load::<P>(second, params.other_rows, end) };
    while col < cols {
        let mut next = B16::ANY;
        if col + step < cols {
            second = second.wrapping_add(params.other_cols.wrapping_mul(step as u64));
            // SAFETY: a pair of the table.
            next = unsafe { load_part(second, 8) };
        }
        // SAFETY: elements of the destination's row and of the tile.
        unsafe {
            let address = |byte: u32| tile.address(byte / P::SRC as u32, col);
            let values = aligned::<P, 1>(address, row * P::SRC as u32);
            let results = P::by_pairs(operation, values, &pairs);
            Units { at, first: 0, end }.store::<P, 1>(results);
        }
        pairs.next(next);
        col += step;
        at += step as u64 * pieces.stride;
    }
}

/// [`store_units`], as many of them together as is best, or [`store_units_by_pairs`] in a kernel that holds pairs.
///
/// # Safety
/// Its obligations.
#[inline(always)]
unsafe fn store<
    P: Pair,
    E: Element,
    const ROWS: u32,
    const COLS: u32,
    const THREADS: u32,
    const HOLDS_PAIRS: bool,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: micro::Tile<E, ROWS>,
    place: micro::Place,
) {
    macro_rules! by_pairs {
        ($held:ident) => {
            store_units_by_pairs::<P, E, $held, ROWS, COLS, THREADS>(params, pieces, tile, place)
        };
    }
    macro_rules! by_units {
        ($k:literal, $second:literal) => {
            store_units::<P, E, ROWS, COLS, THREADS, $k, $second>(params, pieces, tile, place)
        };
    }
    let of_pairs = params.operation.flags & (flags::CHANNELS | flags::WIDE);
    let by_narrow_pairs = HOLDS_PAIRS && of_pairs == flags::CHANNELS;
    // SAFETY: the caller's obligations.
    unsafe {
        if by_narrow_pairs && params.other_cols == 0 {
            by_pairs!(PairOfEach);
        } else if by_narrow_pairs {
            by_pairs!(OnePair);
        } else if has_second(params) {
            by_units!(1, true);
        } else if units_together(P::SRC, P::DST) == 2 {
            by_units!(2, false);
        } else {
            by_units!(1, false);
        }
    }
}

/// A transposed tile whose columns' spans start on sectors of the destination.
pub(super) type SpansOf<
    E,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
> = rows::Tile<E, ROW_VECTORS, ROWS, PITCH, GROUP>;

/// Where the units of a thread are in the spans of a tile's columns, `K` of them side by side.
#[derive(Clone, Copy)]
pub(super) struct Span<const K: usize> {
    /// The row of the source that the first one has if the span starts on time.
    row: i64,
    /// Rows of the source from there to the first and to behind the last, as far as it matters.
    first: i32,
    end: i32,
}

impl<const K: usize> Span<K> {
    /// Those that begin `on_time` rows below `first_row` of the source if the span starts on time: there they are at `row`, of a matrix of `rows`.
    #[inline(always)]
    pub fn of_rows(row: i64, first_row: i64, rows: u64, on_time: u32) -> Self {
        // How many rows there are before and from there on, as far as it matters: what is clamped is the same in all threads.
        let near = |rows: i64| rows.clamp(-1 << 16, 1 << 16) as i32 - on_time as i32;
        Span { row, first: near(-first_row), end: near(rows as i64 - first_row) }
    }

    /// The units in a column whose row 0 is at `start` of the destination.
    #[inline(always)]
    pub fn in_column<P: Pair>(&self, start: u64) -> InColumn {
        let align = span_align(P::SRC, P::DST) as u32;
        let early = (start as u32 % align) / P::DST as u32;
        let row = self.row - early as i64;
        let at = start.wrapping_add(row.wrapping_mul(P::DST as i64) as u64);
        let (first, end) = (self.first + early as i32, self.end + early as i32);
        InColumn { early, units: Units { at, first, end } }
    }
}

/// The units of a thread in one column.
#[derive(Clone, Copy)]
pub(super) struct InColumn {
    /// How many elements early the span is.
    pub early: u32,
    pub units: Units,
}

impl InColumn {
    /// Those in a column `apart` bytes of the destination further, whose span is as early.
    #[inline(always)]
    pub fn further(self, apart: u64) -> Self {
        let Units { at, first, end } = self.units;
        InColumn { units: Units { at: at.wrapping_add(apart), first, end }, ..self }
    }

    /// The elements of the second operand; `second` is the address of what belongs to a span that starts on time.
    ///
    /// # Safety
    /// The operand has them.
    #[inline(always)]
    unsafe fn others<P: Pair, const K: usize>(self, second: u64) -> [B16; K] {
        // SAFETY: the caller's obligations.
        unsafe { self.units.others::<P, K>(second.wrapping_sub(self.early as u64 * P::DST as u64)) }
    }
}

/// What is beside the source: nothing, which takes no instructions; anything; or pairs of channels that are computed with in 32 bits, one for each row of the source, or one for each column.
pub(super) const NOTHING: u8 = 0;
const ANYTHING: u8 = 1;
pub(super) const ROW_PAIRS: u8 = 2;
pub(super) const COLUMN_PAIRS: u8 = 3;

/// Computes the spans of a transposed tile's columns, `K` units of them together. Pairs of rows are in shared memory, at `pairs`.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what loaded the tile, and kept the pairs.
#[inline(always)]
pub(super) unsafe fn store_span_units<
    P: Pair,
    E: Element,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const THREADS: u32,
    const K: usize,
    const BESIDE: u8,
    const AHEAD: usize,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
    pairs: u32,
) {
    let has_second = BESIDE != NOTHING;
    let operation = &operation_of(params, BESIDE == ANYTHING);
    let has_other = operation.flags & flags::OTHER != 0;
    let of_sector = span_elements(P::SRC, P::DST);
    let elements = (K * P::UNIT) as u32;
    let units = (ROWS - of_sector) / elements;
    let by_twos = K == 2 && twos::are_taken(P::SRC, P::DST, BESIDE == ANYTHING);
    // A column starts on a quarter of a warp where that takes no more than one thread that has nothing.
    let threads = if by_twos && (units + 1).is_power_of_two() { units + 1 } else { units };
    // Columns of a thread that lie a multiple of a span's alignment apart start alike: then where units are is found once for all. With the second operand's of
    // several columns there are no registers for what is found.
    let most = THREADS / threads;
    let are_alike = most >= of_sector && AHEAD == 1;
    let step = if are_alike { step_alike(most, of_sector) } else { most };
    let t = thread::thread_idx_x();
    let (number, mut col) = (t % threads, t / threads);
    if col >= step || number >= units {
        return;
    }
    let cols = tile.cols(&pieces.matrices);
    // Of a span that starts on time: its row of the tile, and of the source.
    let on_time = of_sector - 1 + number * elements;
    let row = tile.row + on_time as i64;
    let span = Span::<K>::of_rows(row, tile.row, pieces.matrices.rows, on_time);
    let first_col = tile.col + col as u64;
    let mut start = pieces.dst + first_col * pieces.stride;
    let mut here = span.in_column::<P>(start);
    let mut second = if has_second { pieces.second_of(params, row, first_col) } else { 0 };
    // From a column of the thread to its next: of the destination, and of what belongs to it.
    let apart = step as u64 * pieces.stride;
    let second_apart = if has_second { params.other_cols.wrapping_mul(step as u64) } else { 0 };
    // Units begin in one of two vectors if spans are early by less than those have. If columns of the thread are kept alike, too, vectors are found once.
    let are_found = of_sector <= elements && step.is_multiple_of(8 * GROUP);
    let earliest = number * elements * P::SRC as u32;
    let kept = Twos::new(tile.transposed, col, earliest, are_found);
    let row_pairs = RowPairs { base: pairs, rows: ROWS, unit: P::UNIT as u32 };
    // The pair of a thread's next column is on its way while this one is computed, if there are registers for it.
    let fetches_pairs = BESIDE == COLUMN_PAIRS && P::SRC != 2;
    let mut column_pair = if fetches_pairs && col < cols {
        // SAFETY: the pair of the thread's first column.
        unsafe { OnePair::load::<P>(second, 0, 0) }
    } else {
        OnePair::NONE
    };
    while col < cols {
        // What is added to several columns is on its way before any of them is computed: reads and writes that take turns more often are slower.
        let mut others = [[B16::ANY; K]; AHEAD];
        unrolled! { C in [0 1 2 3] of AHEAD => {
            if has_other && col + C as u32 * step < cols {
                let there =
                    if C == 0 { here } else { span.in_column::<P>(start + C as u64 * apart) };
                let second = second.wrapping_add((C as u64).wrapping_mul(second_apart));
                // SAFETY: elements of the second operand's row.
                others[C] = unsafe { there.others::<P, K>(second) };
            }
        } }
        let mut left = AHEAD;
        loop {
            let InColumn { early, units } = here;
            let byte = (on_time - early) * P::SRC as u32;
            // SAFETY: elements of the destination's row, and of the tile.
            unsafe {
                let values = if by_twos {
                    kept.units::<P, E, K>(col, byte)
                } else {
                    slid::<P, K>(|byte| tile.transposed.address(col, byte), byte)
                };
                let channels = |k: usize| {
                    let step = params.other_rows;
                    Column { units, before: k * P::UNIT, pair: second, early, step }
                };
                let results = if BESIDE == ROW_PAIRS {
                    let pairs = row_pairs.of_elements(on_time - early);
                    P::by_pairs(operation, values, &pairs)
                } else if BESIDE == COLUMN_PAIRS && !fetches_pairs {
                    P::by_pairs(operation, values, &OnePair::load::<P>(second, 0, 0))
                } else if BESIDE == COLUMN_PAIRS {
                    let is_last = col + step >= cols;
                    let next = second.wrapping_add(if is_last { 0 } else { second_apart });
                    let next = load_part(next, PAIR as usize);
                    let results = P::by_pairs(operation, values, &column_pair);
                    column_pair.next(next);
                    results
                } else if P::SRC < 8 {
                    let channels: [Column; K] = core::array::from_fn(channels);
                    P::compute::<true, K>(operation, values, others[0], &channels)
                } else {
                    P::compute::<true, K>(operation, values, others[0], &[NoChannels; K])
                };
                units.store::<P, K>(results);
            }
            // The next column's come first, so that the code is there once.
            unrolled! { C in [1 2 3] of AHEAD => { others[C - 1] = others[C]; } }
            (left, col) = (left - 1, col + step);
            start += apart;
            here = if are_alike { here.further(apart) } else { span.in_column::<P>(start) };
            second = second.wrapping_add(second_apart);
            if left == 0 || col >= cols {
                break;
            }
        }
    }
}

/// [`store_span_units`], as many of them together as is best.
///
/// # Safety
/// Its obligations.
#[inline(always)]
unsafe fn store_spans<
    P: Pair,
    E: Element,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const THREADS: u32,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        macro_rules! store {
            ($k:literal, $beside:ident, $ahead:literal) => {
                store_span_units::<
                    P,
                    E,
                    ROW_VECTORS,
                    ROWS,
                    PITCH,
                    GROUP,
                    THREADS,
                    $k,
                    $beside,
                    $ahead,
                >(params, pieces, tile, 0)
            };
        }
        match (together::<P>(), has_second(params)) {
            (2, false) => store!(2, NOTHING, 1),
            (_, false) => store!(1, NOTHING, 1),
            // With something beside the source there are no registers for two units. On 9.0 a thread has registers for what is added to four columns, elsewhere for
            // two; of narrow elements, of which a unit is many, for one.
            (_, true) if P::SRC == 4 && is_hopper() => store!(1, ANYTHING, 4),
            (_, true) if P::SRC == 4 => store!(1, ANYTHING, 2),
            (_, true) => store!(1, ANYTHING, 1),
        }
    }
}

/// Defines an entry point for matrices whose rows start on vectors.
macro_rules! compute_micro {
    ($row:ident $name:ident: $element:ty, $tile:expr, $bytes:tt, $registers:expr, $holds_pairs:literal) => {
        #[cfg(feature = "arithmetic_matrices")]
        arithmetic_entry! {
            "Transposes and computes matrices whose rows all start on vectors.",
            $row: ComputeMatrices, $name: $element, |src, dst, params| {
                const TILE: MatrixTile = $tile;
                const COLS: u32 = TILE.row_vectors * per_vector::<$element>();
                const BLOCKS: usize = TILE.micro_blocks as usize;
                const R: usize = TILE.block_rows as usize;
                const THREADS: u32 = TILE.block()[0];
                // Left to itself the assembler stops at 40 for bytes on some chips, and spills.
                if size_of::<$element>() == 1 && !is_hopper() {
                    never_more_registers::<{ if $holds_pairs { 56 } else { 48 } }>();
                }
                at_most_registers::<{ $registers }>();
                let bytes = cuda_std::shared_array![B16; (TILE.row_vectors * TILE.rows) as usize];
                let tile = micro::Tile::<$element, { TILE.rows }>::new(crate::tile::shared_address(bytes.cast()));
                let pieces = Pieces::of_block(src, dst, &params);
                let shape = [TILE.rows, COLS];
                let place = micro::Place::of_block(&pieces.matrices, params.apart as u32, shape);
                if place.col >= pieces.matrices.cols {
                    return;
                }
                if fetch::is_wanted(&params.operation) {
                    fetch_between_lines::<$element, { TILE.rows }, COLS, THREADS>(&params, &pieces, place);
                }
                micro::load::<$element, { TILE.row_vectors }, { TILE.rows }, BLOCKS, R>(&pieces.matrices, tile, place);
                thread::sync_threads();
                for_sizes!($bytes matrices, params, store(&params, &pieces, tile, place), [$element, { TILE.rows }, COLS, THREADS, $holds_pairs])
            }
        }
    };
}

compute_micro!(COMPUTE_MICRO compute_micro_b1: u8, MatrixTile::of(Width::B1), 1, 40, false);
compute_micro!(COMPUTE_MICRO compute_micro_b2: u16, MatrixTile::of(Width::B2), 2, 40, false);
compute_micro!(COMPUTE_MICRO compute_micro_b4: u32, MatrixTile::of(Width::B4), 4, 40, false);
compute_micro!(COMPUTE_MICRO compute_micro_b8: u64, MatrixTile::of(Width::B8), 8, 32, false);
compute_micro!(COMPUTE_MICRO compute_micro_b16: B16, MatrixTile::of(Width::B16), 16, 32, false);
compute_micro!(COMPUTE_NARROW compute_narrow_b1: u8, MatrixTile::narrow(), 1, 40, true);
compute_micro!(COMPUTE_SHORT compute_short_b1: u8, MatrixTile::short(), 1, 64, true);
compute_micro!(COMPUTE_SHORT compute_short_b2: u16, MatrixTile::short(), 2, 40, false);

/// Elements that spans start on multiples of, for source elements of `src` bytes: for destination elements of `n` bytes the seven bits from `7 * n` on.
pub(super) const fn of_sector(src: usize) -> u64 {
    let (mut all, mut dst) = (0, 1);
    while dst <= 8 {
        all |= (span_elements(src, dst) as u64) << (7 * dst);
        dst *= 2;
    }
    all
}

/// Defines an entry point for matrices whose rows start anywhere.
macro_rules! compute_rows {
    ($row:ident $name:ident: $element:ty, $width:ident, $bytes:tt, $registers:expr) => {
        #[cfg(feature = "arithmetic_matrices")]
        arithmetic_entry! {
            "Transposes and computes matrices whose rows start anywhere.",
            $row: ComputeMatrices, $name: $element, |src, dst, params| {
                const TILE: SpanTile = SpanTile::of(Width::$width);
                at_most_registers::<{ $registers }>();
                const PITCH: u32 = TILE.rows * size_of::<$element>() as u32;
                const GROUP: u32 = per_vector::<$element>();
                const R: usize = TILE.block_rows as usize;
                const BLOCKS: usize = TILE.micro_blocks as usize;
                const THREADS: u32 = TILE.block()[0];
                let bytes = cuda_std::shared_array![B16; TILE.vectors() as usize];
                let base = crate::tile::shared_address(bytes.cast());
                let pieces = Pieces::of_block(src, dst, &params);
                // Constants to choose from by a shift: a division, or a table in memory, would be what each block waits for first.
                const OF_SECTOR: u64 = of_sector(size_of::<$element>());
                let of_sector = (OF_SECTOR >> (7 * params.operation.dst_bytes)) as u32 % 128;
                let tile = SpansOf::<$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP>::new(thread::block_idx_x(), base, of_sector);
                if params.operation.flags & flags::OTHER != 0 {
                    let bytes = params.operation.dst_bytes;
                    // From a sector's start, if the operand's lie as the destination's do.
                    let log_sectors = (TILE.rows * bytes as u32 / SECTOR).trailing_zeros();
                    let first = tile.row.wrapping_mul(bytes as i64);
                    let start = pieces.second_of(&params, tile.row, tile.col);
                    let near = |bytes: i64| bytes.clamp(-1 << 16, 1 << 16) as i32;
                    let end = near((pieces.matrices.rows * bytes) as i64 - first);
                    fetch_sectors(start, params.other_cols, tile.cols(&pieces.matrices), log_sectors, [near(-first), end]);
                }
                tile.load_as::<R, BLOCKS, _>(&pieces.matrices, &PerhapsByTwos::<false> { params: &params });
                for_sizes!($bytes matrices, params, store_spans(&params, &pieces, tile),
                    [$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP, THREADS])
            }
        }
    };
}

compute_rows!(COMPUTE_ROWS compute_rows_b1: u8, B1, 1, 64);
compute_rows!(COMPUTE_ROWS compute_rows_b2: u16, B2, 2, 64);
compute_rows!(COMPUTE_ROWS compute_rows_b4: u32, B4, 4, 64);
compute_rows!(COMPUTE_ROWS compute_rows_b8: u64, B8, 8, 64);

/// The second operand as a source: the same shape, laid out like the source.
#[inline(always)]
fn second_source<E>(pieces: &Pieces<E>, params: &ComputeMatrices) -> Matrices<E> {
    let Matrices { dst, rows, cols, dst_ld, .. } = pieces.matrices;
    let src = pieces.second as *const E;
    Matrices { src, dst, rows, cols, src_ld: params.other_rows / size_of::<E>() as u64, dst_ld }
}

/// The results for micro-blocks of both operands.
#[inline(always)]
fn sums<P: Pair, const R: usize>(
    params: &ComputeMatrices,
    held: [B16; R],
    others: [B16; R],
) -> [B16; R] {
    let mut results = held;
    // One after the other: what all of them need together would leave registers for half as many blocks.
    unrolled! { I in [0 1 2 3] of R => {
        let (a, b) = ([arrived(held[I])], [arrived(others[I])]);
        [results[I]] = P::compute::<true, 1>(&params.operation, a, b, &[NoChannels]);
    } }
    results
}

/// Defines an entry point for sums of matrices that both are transposed, of elements that are as many bytes as the results: it is computed on the way in.
macro_rules! compute_sums {
    ($name:ident: $element:ty, $width:ident, $bytes:tt) => {
        #[cfg(feature = "arithmetic_matrices")]
        arithmetic_entry! {
            "Adds matrices whose rows all start and end on vectors, and transposes the sums.",
            COMPUTE_SUMS: ComputeMatrices, $name: $element, |src, dst, params| {
                const TILE: MatrixTile = MatrixTile::of(Width::$width);
                const COLS: u32 = TILE.row_vectors * per_vector::<$element>();
                const BLOCKS: usize = TILE.micro_blocks as usize;
                const R: usize = TILE.block_rows as usize;
                at_most_registers::<64>();
                let bytes = cuda_std::shared_array![B16; (TILE.row_vectors * TILE.rows) as usize];
                let tile = micro::Tile::<$element, { TILE.rows }>::new(crate::tile::shared_address(bytes.cast()));
                let pieces = Pieces::of_block(src, dst, &params);
                let shape = [TILE.rows, COLS];
                let place = micro::Place::of_block(&pieces.matrices, params.apart as u32, shape);
                if place.col >= pieces.matrices.cols {
                    return;
                }
                let other = second_source(&pieces, &params);
                let mut held = micro::micro_blocks::<$element, { TILE.row_vectors }, { TILE.rows }, BLOCKS, R>(&pieces.matrices, place);
                let others = micro::micro_blocks::<$element, { TILE.row_vectors }, { TILE.rows }, BLOCKS, R>(&other, place);
                for k in 0..BLOCKS {
                    held[k] = sums::<Sizes<$bytes, $bytes>, R>(&params, held[k], others[k]);
                }
                micro::keep::<$element, { TILE.row_vectors }, { TILE.rows }, BLOCKS, R>(held, tile);
                thread::sync_threads();
                let matrices = Matrices { dst: pieces.dst as *mut $element, ..pieces.matrices };
                micro::store::<$element, { TILE.row_vectors }, { TILE.rows }, BLOCKS, R>(&matrices, tile, place)
            }
        }
    };
}

/// A second operand whose rows start inside vectors as the source's do.
struct Added<'a, P> {
    params: &'a ComputeMatrices,
    /// Bytes from an element of the source to the operand's: a multiple of a vector's.
    beside: u64,
    pair: core::marker::PhantomData<P>,
}

impl<P: Pair, E: Element> OnTheWayIn<E> for Added<'_, P> {
    #[inline(always)]
    unsafe fn vectors<const R: usize>(
        &self,
        vectors: [B16; R],
        from: impl Fn(usize) -> Option<u64>,
    ) -> [B16; R] {
        let mut others = [B16::ANY; R];
        for (i, other) in others.iter_mut().enumerate() {
            if let Some(from) = from(i) {
                // SAFETY: the operand has what the source has.
                *other = unsafe { load_part(from.wrapping_add(self.beside), 16) };
            }
        }
        sums::<P, R>(self.params, vectors, others)
    }

    #[inline(always)]
    unsafe fn keep(&self, element: E, from: u64, at: u32) {
        // SAFETY: the caller's obligations; the element is this thread's, and the operand has one.
        unsafe {
            element.store_shared(at);
            let a = load_shared_part(at, P::SRC);
            let b = load_part(from.wrapping_add(self.beside), P::SRC);
            let [B16(low, high, ..)] =
                P::compute::<false, 1>(&self.params.operation, [a], [b], &[NoChannels]);
            match P::SRC {
                2 => (low as u16).store_shared(at),
                4 => low.store_shared(at),
                _ => (low as u64 | (high as u64) << 32).store_shared(at),
            }
        }
    }
}

/// Defines an entry point for sums of matrices that both are transposed and whose rows start anywhere, but alike.
macro_rules! compute_sum_rows {
    ($name:ident: $element:ty, $width:ident, $bytes:tt, $registers:expr) => {
        #[cfg(feature = "arithmetic_matrices")]
        arithmetic_entry! {
            "Adds matrices whose rows start inside vectors alike, and transposes the sums.",
            COMPUTE_SUM_ROWS: ComputeMatrices, $name: $element, |src, dst, params| {
                const TILE: SpanTile = SpanTile::of_sums(Width::$width);
                at_most_registers::<{ $registers }>();
                const PITCH: u32 = TILE.rows * size_of::<$element>() as u32;
                const GROUP: u32 = per_vector::<$element>();
                const R: usize = TILE.block_rows as usize;
                const BLOCKS: usize = TILE.micro_blocks as usize;
                let bytes = cuda_std::shared_array![B16; TILE.vectors() as usize];
                let base = crate::tile::shared_address(bytes.cast());
                let pieces = Pieces::of_block(src, dst, &params);
                let of_sector = SECTOR / size_of::<$element>() as u32;
                let tile = SpansOf::<$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP>::new(thread::block_idx_x(), base, of_sector);
                let beside = pieces.second.wrapping_sub(pieces.matrices.src as u64);
                let pair = core::marker::PhantomData::<Sizes<$bytes, $bytes>>;
                tile.load_as::<R, BLOCKS, _>(&pieces.matrices, &Added { params: &params, beside, pair });
                let matrices = Matrices { dst: pieces.dst as *mut $element, ..pieces.matrices };
                tile.store::<{ TILE.block()[0] }, { (PITCH - SECTOR) / VECTOR }>(&matrices);
            }
        }
    };
}

compute_sum_rows!(compute_sum_rows_b2: u16, B2, 2, 80);
compute_sum_rows!(compute_sum_rows_b4: u32, B4, 4, 80);
compute_sum_rows!(compute_sum_rows_b8: u64, B8, 8, 64);

compute_sums!(compute_sums_b2: u16, B2, 2);
compute_sums!(compute_sums_b4: u32, B4, 4);
compute_sums!(compute_sums_b8: u64, B8, 8);
compute_sums!(compute_sums_b16: B16, B16, 16);
