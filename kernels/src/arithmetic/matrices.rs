//! Matrices that are transposed and computed: the tiles of the kernels that only transpose, computed on the way out.
//!
//! `compute_micro` is for matrices where the rows of both matrices start on vectors, `compute_rows` for those where they start anywhere. What they load, and how
//! it changes places in registers, is what [`micro`](crate::fast::micro) and [`rows`](crate::fast::rows) do with the source's elements. A thread then takes
//! units of the transposed tile's columns, computes them, and stores them: by vectors on the side whose elements have more bytes.
//!
//! A third one, `compute_sums`, is for sums of matrices that both are transposed: it computes what it has loaded of both before that changes places.
//!
//! What a block adds to is fetched into the cache while it loads: it costs no registers, which would be blocks.

use super::arithmetic_entry;
use super::column::{aligned, slid, Units};
use super::memory::arrived;
use super::operation::NoChannels;
use super::pair::{for_sizes, Pair, Sizes};
use crate::element::{Element, B16};
use crate::fast::{micro, per_vector, rows, SECTOR};
use crate::global::fetch_sector;
use crate::launch::at_most_registers;
use crate::matrices::Matrices;
use crate::tensor::axes::unrolled;
use cuda_std::thread;
use kernel_abi::arithmetic::{flags, ComputeMatrices, MatrixTile, SpanTile};
use kernel_abi::Width;

/// The matrices of a block's number in the batch: where they start, and the second operand beside the destination.
struct Pieces<E> {
    /// The source, and the shape. The destination is the other one's.
    matrices: Matrices<E>,
    dst: u64,
    /// Bytes from the destination to the second operand.
    beside: u64,
    /// Bytes from a row of the destination to the next.
    stride: u64,
}

impl<E: Element> Pieces<E> {
    /// Those of this block.
    #[inline(always)]
    fn of_block(src: *const E, dst: *mut u8, params: &ComputeMatrices) -> Self {
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
            beside: params.operation.other.wrapping_sub(dst as u64),
            stride: dst_ld * bytes,
        }
    }
}

/// How many units a thread computes together, of elements of so many bytes.
const fn together<P: Pair>() -> usize {
    if P::SRC > P::DST && P::UNIT <= 4 {
        2
    } else {
        1
    }
}

/// Fetches what a block adds to: of `cols` rows of the second operand, the first of which has the element at `start`, those of `1 << log_sectors` sectors that lie
/// between the bytes `low` and `high` of `start`.
///
/// # Safety
/// The second operand has these.
#[inline(always)]
unsafe fn fetch(start: u64, stride: u64, cols: u32, log_sectors: u32, [low, high]: [i32; 2]) {
    let t = thread::thread_idx_x();
    let byte = ((t & ((1 << log_sectors) - 1)) * SECTOR) as i32;
    let (mut col, step) = (t >> log_sectors, thread::block_dim_x() >> log_sectors);
    if byte < low || byte >= high {
        return;
    }
    while col < cols {
        // SAFETY: the caller's obligations.
        unsafe { fetch_sector(start.wrapping_add(col as u64 * stride).wrapping_add(byte as u64)) };
        col += step;
    }
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
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: micro::Tile<E, ROWS>,
    place: micro::Place,
) {
    let operation = &params.operation;
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
    let before = (place.row + row as u64) * P::DST as u64;
    let mut at = pieces.dst + (place.col + col as u64) * pieces.stride + before;
    while col < cols {
        let units = Units { at, first: 0, end };
        // SAFETY: elements of the destination's row, of the second operand's, and of the tile.
        unsafe {
            let others =
                if has_other { units.others::<P, K>(pieces.beside) } else { [B16::ANY; K] };
            let address = |byte: u32| tile.address(byte / P::SRC as u32, col);
            let values = aligned::<P, K>(address, row * P::SRC as u32);
            let results = P::compute::<true, K>(operation, values, others, &[NoChannels; K]);
            units.store::<P, K>(results);
        }
        col += step;
        at += step as u64 * pieces.stride;
    }
}

/// [`store_units`], as many of them together as is best.
///
/// # Safety
/// Its obligations.
#[inline(always)]
unsafe fn store<P: Pair, E: Element, const ROWS: u32, const COLS: u32, const THREADS: u32>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: micro::Tile<E, ROWS>,
    place: micro::Place,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        // Of narrower elements more together would take registers that this kernel has not.
        if together::<P>() == 2 && P::SRC == 8 {
            store_units::<P, E, ROWS, COLS, THREADS, 2>(params, pieces, tile, place);
        } else {
            store_units::<P, E, ROWS, COLS, THREADS, 1>(params, pieces, tile, place);
        }
    }
}

/// A transposed tile whose columns' spans start on sectors of the destination.
type SpansOf<E, const ROW_VECTORS: u32, const ROWS: u32, const PITCH: u32, const GROUP: u32> =
    rows::Tile<E, ROW_VECTORS, ROWS, PITCH, GROUP>;

/// Computes the spans of a transposed tile's columns, `K` units of them together.
///
/// # Safety
/// The obligations of the entry points; a barrier separates this from what loaded the tile.
#[inline(always)]
unsafe fn store_span_units<
    P: Pair,
    E: Element,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const PITCH: u32,
    const GROUP: u32,
    const THREADS: u32,
    const K: usize,
>(
    params: &ComputeMatrices,
    pieces: &Pieces<E>,
    tile: SpansOf<E, ROW_VECTORS, ROWS, PITCH, GROUP>,
) {
    let operation = &params.operation;
    let has_other = operation.flags & flags::OTHER != 0;
    let of_sector = SECTOR / P::DST as u32;
    let elements = (K * P::UNIT) as u32;
    let units = (ROWS - of_sector) / elements;
    let step = THREADS / units;
    let t = thread::thread_idx_x();
    let (number, mut col) = (t % units, t / units);
    if col >= step {
        return;
    }
    let cols = tile.cols(&pieces.matrices);
    // Of a span that starts on time: its row of the tile, and of the source.
    let on_time = of_sector - 1 + number * elements;
    let row = tile.row + on_time as i64;
    // How many rows there are from there on and before, as far as it matters.
    let near = |rows: i64| rows.clamp(-64, 64) as i32;
    let (first, end) = (near(-row), near(pieces.matrices.rows as i64 - row));
    let mut start = pieces.dst + (tile.col + col as u64) * pieces.stride;
    while col < cols {
        let early = (start as u32 % SECTOR) / P::DST as u32;
        let at = start.wrapping_add((row - early as i64).wrapping_mul(P::DST as i64) as u64);
        let units = Units { at, first: first + early as i32, end: end + early as i32 };
        // SAFETY: elements of the destination's row, of the second operand's, and of the tile.
        unsafe {
            let others =
                if has_other { units.others::<P, K>(pieces.beside) } else { [B16::ANY; K] };
            let byte = (on_time - early) * P::SRC as u32;
            let values = slid::<P, E, K>(|byte| tile.transposed.address(col, byte), byte);
            let results = P::compute::<true, K>(operation, values, others, &[NoChannels; K]);
            units.store::<P, K>(results);
        }
        col += step;
        start += step as u64 * pieces.stride;
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
        if together::<P>() == 2 {
            store_span_units::<P, E, ROW_VECTORS, ROWS, PITCH, GROUP, THREADS, 2>(
                params, pieces, tile,
            );
        } else {
            store_span_units::<P, E, ROW_VECTORS, ROWS, PITCH, GROUP, THREADS, 1>(
                params, pieces, tile,
            );
        }
    }
}

/// Defines an entry point for matrices whose rows start on vectors.
macro_rules! compute_micro {
    ($row:ident $name:ident: $element:ty, $tile:expr, $bytes:tt, $registers:expr) => {
        arithmetic_entry! {
            "Transposes and computes matrices whose rows all start on vectors.",
            $row: ComputeMatrices, $name: $element, |src, dst, params| {
                const TILE: MatrixTile = $tile;
                const COLS: u32 = TILE.row_vectors * per_vector::<$element>();
                const BLOCKS: usize = TILE.micro_blocks as usize;
                const R: usize = TILE.block_rows as usize;
                const THREADS: u32 = TILE.block()[0];
                at_most_registers::<{ $registers }>();
                let bytes = cuda_std::shared_array![B16; (TILE.row_vectors * TILE.rows) as usize];
                let tile = micro::Tile::<$element, { TILE.rows }>::new(crate::tile::shared_address(bytes.cast()));
                let pieces = Pieces::of_block(src, dst, &params);
                let shape = [TILE.rows, COLS];
                let Some(place) = micro::Place::of_block(&pieces.matrices, params.apart as u32, shape) else { return };
                if params.operation.flags & flags::OTHER != 0 {
                    let bytes = params.operation.dst_bytes;
                    let start = pieces.dst + place.col * pieces.stride + place.row * bytes;
                    let start = start.wrapping_add(pieces.beside);
                    let log_sectors = (TILE.rows * bytes as u32 / SECTOR).trailing_zeros();
                    let end = place.rows.min(TILE.rows) * bytes as u32;
                    fetch(start, pieces.stride, place.cols.min(COLS), log_sectors, [0, end as i32]);
                }
                micro::load::<$element, { TILE.row_vectors }, { TILE.rows }, BLOCKS, R>(&pieces.matrices, tile, place);
                thread::sync_threads();
                for_sizes!($bytes matrices, params, store(&params, &pieces, tile, place), [$element, { TILE.rows }, COLS, THREADS])
            }
        }
    };
}

compute_micro!(COMPUTE_MICRO compute_micro_b1: u8, MatrixTile::of(Width::B1), 1, 40);
compute_micro!(COMPUTE_MICRO compute_micro_b2: u16, MatrixTile::of(Width::B2), 2, 40);
compute_micro!(COMPUTE_MICRO compute_micro_b4: u32, MatrixTile::of(Width::B4), 4, 40);
compute_micro!(COMPUTE_MICRO compute_micro_b8: u64, MatrixTile::of(Width::B8), 8, 32);
compute_micro!(COMPUTE_MICRO compute_micro_b16: B16, MatrixTile::of(Width::B16), 16, 32);
compute_micro!(COMPUTE_NARROW compute_narrow_b1: u8, MatrixTile::narrow(), 1, 40);

/// Defines an entry point for matrices whose rows start anywhere.
macro_rules! compute_rows {
    ($row:ident $name:ident: $element:ty, $width:ident, $bytes:tt, $registers:expr) => {
        arithmetic_entry! {
            "Transposes and computes matrices whose rows start anywhere.",
            $row: ComputeMatrices, $name: $element, |src, dst, params| {
                const TILE: SpanTile = SpanTile::of(Width::$width);
                at_most_registers::<{ $registers }>();
                const PITCH: u32 = TILE.rows * size_of::<$element>() as u32;
                const GROUP: u32 = per_vector::<$element>();
                const R: usize = TILE.block_rows as usize;
                const THREADS: u32 = TILE.block()[0];
                let bytes = cuda_std::shared_array![B16; ((TILE.row_vectors - 1) * TILE.rows) as usize];
                let base = crate::tile::shared_address(bytes.cast());
                let pieces = Pieces::of_block(src, dst, &params);
                let of_sector = SECTOR / params.operation.dst_bytes as u32;
                let tile = SpansOf::<$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP>::new(thread::block_idx_x(), base, of_sector);
                if params.operation.flags & flags::OTHER != 0 {
                    let bytes = params.operation.dst_bytes;
                    // From a sector's start, if the operand's lie as the destination's do.
                    let log_sectors = (TILE.rows * bytes as u32 / SECTOR).trailing_zeros();
                    let first = tile.row.wrapping_mul(bytes as i64);
                    let start = pieces.dst + tile.col * pieces.stride;
                    let start = start.wrapping_add(pieces.beside).wrapping_add(first as u64);
                    let near = |bytes: i64| bytes.clamp(-1 << 16, 1 << 16) as i32;
                    let end = near((pieces.matrices.rows * bytes) as i64 - first);
                    fetch(start, pieces.stride, tile.cols(&pieces.matrices), log_sectors, [near(-first), end]);
                }
                tile.load::<R>(&pieces.matrices);
                for_sizes!($bytes matrices, params, store_spans(&params, &pieces, tile),
                    [$element, { TILE.row_vectors }, { TILE.rows }, PITCH, GROUP, THREADS])
            }
        }
    };
}

compute_rows!(COMPUTE_ROWS compute_rows_b1: u8, B1, 1, 56);
compute_rows!(COMPUTE_ROWS compute_rows_b2: u16, B2, 2, 56);
compute_rows!(COMPUTE_ROWS compute_rows_b4: u32, B4, 4, 56);
compute_rows!(COMPUTE_ROWS compute_rows_b8: u64, B8, 8, 40);

/// The second operand as a source: the same shape, laid out like the source.
#[inline(always)]
fn second_source<E>(pieces: &Pieces<E>, params: &ComputeMatrices) -> Matrices<E> {
    let number = thread::block_idx_z() as u64;
    let start = params.operation.other as *const E;
    let src = start.wrapping_add(number.wrapping_mul(params.other_batch) as usize);
    let Matrices { dst, rows, cols, dst_ld, .. } = pieces.matrices;
    Matrices { src, dst, rows, cols, src_ld: params.other_ld, dst_ld }
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
                let Some(place) = micro::Place::of_block(&pieces.matrices, params.apart as u32, shape) else { return };
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

compute_sums!(compute_sums_b2: u16, B2, 2);
compute_sums!(compute_sums_b4: u32, B4, 4);
compute_sums!(compute_sums_b8: u64, B8, 8);
compute_sums!(compute_sums_b16: B16, B16, 16);
