//! The transpose of aligned matrices: micro-blocks change places in registers.
//!
//! A thread loads one vector of 16 bytes from each of up to four consecutive rows. That micro-block of
//! 4 × 4 elements of 4 bytes (or 4 × 16 of one byte, 4 × 8 of two, 2 × 2 of eight) is transposed in
//! registers, which for elements of 4 bytes and more means giving the registers other names and for smaller
//! ones a few byte permutations. The transposed micro-block goes to a *transposed* tile in shared
//! memory, whose rows are then stored as vectors:
//!
//! ```text
//! block[i] = src[row + i][col .. col + V]                     V elements are 16 bytes
//! tile[col + j][row .. row + R] = (block[0][j], …, block[R - 1][j])
//! barrier
//! dst[c][r .. r + V] = tile[c][r .. r + V]
//! ```
//!
//! # Banks
//! The tile's rows are a multiple of 128 bytes, so vector `k` of every row lies in the same
//! four banks, and threads whose micro-blocks stand side by side would all write to those. Vector `k` of row
//! `c` is therefore kept at `k ^ (c / V) mod 8`: eight neighbours write to eight vectors, and the
//! reader of a row meets each vector of it once. Nothing is wasted on padding, and vectors stay aligned.
//!
//! # Registers
//! 32 registers a thread are enough, and a multiprocessor then has room for as many threads as it can run.
//!
//! # Far rows
//! Rows of the source whose distance is a multiple of 128 KiB meet in few of the memory's banks: what is
//! loaded at a time, the same few columns of very many rows, does not spread. Two columns of tiles
//! at some distance from each other do, so for such matrices they are walked together
//! ([`in_pairs`]); what is written stays long.

use super::edges::{store_each, Extent};
use super::{per_vector, VECTOR};
use crate::element::{Element, B16};
use crate::global::{load_vector, store_vector};
use crate::launch::at_most_registers;
use crate::matrices::Matrices;
use crate::micro_block::MicroBlock;
use crate::opaque::opaque_u64;
use crate::walk::in_pairs;
use cuda_std::thread;
use kernel_abi::{fast::MicroTile, Width};

/// A tile in shared memory, transposed: `cols` rows of `rows` elements.
#[derive(Clone, Copy)]
pub struct Tile<E, const ROWS: u32> {
    base: u32,
    element: core::marker::PhantomData<E>,
}

impl<E: Element, const ROWS: u32> Tile<E, ROWS> {
    /// Bytes from one row of the transposed tile to the next.
    const PITCH: u32 = ROWS * size_of::<E>() as u32;

    /// Vectors of a row that take turns.
    const TURNS: u32 = if Self::PITCH < 8 * VECTOR { Self::PITCH / VECTOR } else { 8 };

    /// The tile at `base`, a multiple of 16.
    #[inline(always)]
    pub fn new(base: u32) -> Self {
        Tile { base, element: core::marker::PhantomData }
    }

    /// Where the transposed tile keeps element `row` of its row `col`; elements up to the next
    /// multiple of 16 bytes follow.
    #[inline(always)]
    pub fn address(&self, row: u32, col: u32) -> u32 {
        let byte = row * size_of::<E>() as u32;
        let vector = (byte / VECTOR) ^ (col / per_vector::<E>() % Self::TURNS);
        self.base + col * Self::PITCH + vector * VECTOR + byte % VECTOR
    }
}

/// Where a block's tile lies in the source, and how much of it there is.
#[derive(Clone, Copy)]
pub struct Place {
    /// The tile's first row.
    pub row: u64,
    /// The tile's first column.
    pub col: u64,
    /// Rows from the tile's first to the matrix's last.
    pub rows: u32,
    /// Columns from the tile's first to the matrix's last.
    pub cols: u32,
}

impl Place {
    /// That of this block's tile of `tile_rows` rows of `tile_cols` columns: the grid's x axis counts tiles down the rows, its y axis
    /// columns of tiles in the order of [`in_pairs`]. Those may be past the last column, and then `cols` says nothing: a block without a tile is for the
    /// caller to find, since of a place that there may be none of the assembler keeps what all threads have in common in registers of each.
    #[inline(always)]
    pub fn of_block<E>(
        matrices: &Matrices<E>,
        apart: u32,
        [tile_rows, tile_cols]: [u32; 2],
    ) -> Self {
        let row = thread::block_idx_x() as u64 * tile_rows as u64;
        let turn = thread::block_idx_y();
        let col = in_pairs(turn, apart) as u64 * tile_cols as u64;
        let left = |all: u64, first: u64| all.wrapping_sub(first).min(1 << 16) as u32;
        Place { row, col, rows: left(matrices.rows, row), cols: left(matrices.cols, col) }
    }
}

/// Transposes one tile of `ROWS` rows of `ROW_VECTORS` vectors, in which each thread has `BLOCKS`
/// micro-blocks. The grid's z axis counts matrices of a batch. Blocks past the last column do nothing.
///
/// # Safety
/// The obligations of the entry points; a block has `ROW_VECTORS * ROWS / R / BLOCKS` threads, and
/// `base` is the shared-memory address of a tile, aligned to 16.
#[inline(always)]
unsafe fn transpose<
    E: MicroBlock<R>,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const BLOCKS: usize,
    const R: usize,
>(
    matrices: Matrices<E>,
    apart: u32,
    base: u32,
) {
    let tile = Tile::<E, ROWS>::new(base);
    let shape = [ROWS, ROW_VECTORS * per_vector::<E>()];
    let place = Place::of_block(&matrices, apart, shape);
    if place.col >= matrices.cols {
        return;
    }
    // SAFETY: the caller's obligations, and the barrier between the two.
    unsafe {
        load::<E, ROW_VECTORS, ROWS, BLOCKS, R>(&matrices, tile, place);
        thread::sync_threads();
        store::<E, ROW_VECTORS, ROWS, BLOCKS, R>(&matrices, tile, place);
    }
}

/// Loads a tile and transposes it into shared memory.
///
/// # Safety
/// Those of [`micro_blocks`]; the tile is the block's own.
#[inline(always)]
pub unsafe fn load<
    E: MicroBlock<R>,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const BLOCKS: usize,
    const R: usize,
>(
    matrices: &Matrices<E>,
    tile: Tile<E, ROWS>,
    place: Place,
) {
    // SAFETY: the caller's obligations.
    unsafe {
        let held = micro_blocks::<E, ROW_VECTORS, ROWS, BLOCKS, R>(matrices, place);
        keep::<E, ROW_VECTORS, ROWS, BLOCKS, R>(held, tile);
    }
    if place.rows <= ROWS && place.cols < ROW_VECTORS * per_vector::<E>() {
        let extent = Extent::of(matrices.src, matrices.rows, matrices.cols, matrices.src_ld);
        // SAFETY: the caller's obligations.
        unsafe { load_last_vector::<E, ROW_VECTORS, ROWS>(matrices, extent, tile, place) };
    }
}

/// Where a thread's micro-blocks are in a tile: the row of the `k`-th one, and the column of all.
#[inline(always)]
fn corner<
    E: MicroBlock<R>,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const BLOCKS: usize,
    const R: usize,
>(
    k: usize,
) -> (u32, u32) {
    let t = thread::thread_idx_x();
    let (vector, group) = (t % ROW_VECTORS, t / ROW_VECTORS);
    (group * R as u32 + k as u32 * (ROWS / BLOCKS as u32), vector * per_vector::<E>())
}

/// The micro-blocks of this thread, of vectors that are inside the source.
///
/// # Safety
/// The source is readable from its first element to its last, and its rows start on vectors. The block has `ROW_VECTORS * ROWS / R / BLOCKS` threads.
#[inline(always)]
pub unsafe fn micro_blocks<
    E: MicroBlock<R>,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const BLOCKS: usize,
    const R: usize,
>(
    matrices: &Matrices<E>,
    place: Place,
) -> [[B16; R]; BLOCKS] {
    let size = size_of::<E>() as u64;
    let row_of = |k: usize| corner::<E, ROW_VECTORS, ROWS, BLOCKS, R>(k).0;
    let (_, col) = corner::<E, ROW_VECTORS, ROWS, BLOCKS, R>(0);

    let stride = matrices.src_ld * size;
    let start = matrices.src as u64
        + (place.row + row_of(0) as u64) * stride
        + (place.col + col as u64) * size;
    // Else the rows' addresses would be multiplied anew, each where it is needed.
    let start = opaque_u64(start);
    let address =
        |k: usize, i: usize| start + (k as u64 * (ROWS / BLOCKS as u32) as u64 + i as u64) * stride;

    // Rows start on vectors, so a vector that has a column ends where the next row starts, or before; the last row has none behind it.
    let passes_end = col + per_vector::<E>() > place.cols;
    let rows = if col < place.cols { place.rows - passes_end as u32 } else { 0 };

    let mut held = [[B16::ANY; R]; BLOCKS];
    for (k, block) in held.iter_mut().enumerate() {
        for (i, held) in block.iter_mut().enumerate() {
            let from = address(k, i);
            if row_of(k) + (i as u32) < rows {
                // SAFETY: the vector ends where the source does, or before, and is aligned.
                *held = unsafe { load_vector(from) };
            }
        }
    }
    held
}

/// Stores this thread's micro-blocks to a transposed tile.
///
/// # Safety
/// The tile is the block's own, which has `ROW_VECTORS * ROWS / R / BLOCKS` threads.
#[inline(always)]
pub unsafe fn keep<
    E: MicroBlock<R>,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const BLOCKS: usize,
    const R: usize,
>(
    held: [[B16; R]; BLOCKS],
    tile: Tile<E, ROWS>,
) {
    for k in 0..BLOCKS {
        let (row, col) = corner::<E, ROW_VECTORS, ROWS, BLOCKS, R>(k);
        // SAFETY: no two threads have a micro-block in common.
        unsafe { E::store_columns(held[k], tile.address(row, col), Tile::<E, ROWS>::PITCH) };
    }
}

/// Loads the elements of the vector that ends behind the matrix's last byte, if there is one: the last
/// of the last row.
///
/// # Safety
/// The obligations of [`transpose`], the tile being the one with the last element of the matrix. The thread
/// that stored that vector's place is the one that stores to it here.
#[inline(always)]
unsafe fn load_last_vector<E: Element, const ROW_VECTORS: u32, const ROWS: u32>(
    matrices: &Matrices<E>,
    extent: Extent,
    tile: Tile<E, ROWS>,
    place: Place,
) {
    let Place { row, col, rows, cols } = place;
    let whole = cols / per_vector::<E>() * per_vector::<E>();
    // Past the barrier: the micro-block around the vector is another thread's.
    thread::sync_threads();
    let mut j = whole + thread::thread_idx_x();
    while j < cols {
        let from = matrices.src as u64
            + ((row + (rows - 1) as u64) * matrices.src_ld + col + j as u64)
                * size_of::<E>() as u64;
        // SAFETY: the source is readable; only this thread stores to the element's place now.
        unsafe {
            if let Some(element) = extent.load::<E>(from) {
                element.store_shared(tile.address(rows - 1, j));
            }
        }
        j += per_vector::<E>();
    }
}

/// Stores a transposed tile.
///
/// # Safety
/// The destination is writable, its rows start on vectors, and no other thread accesses the tile's part of it. A barrier separates this from what stored the
/// tile; the block has `ROW_VECTORS * ROWS / R / BLOCKS` threads.
#[inline(always)]
pub unsafe fn store<
    E: MicroBlock<R>,
    const ROW_VECTORS: u32,
    const ROWS: u32,
    const BLOCKS: usize,
    const R: usize,
>(
    matrices: &Matrices<E>,
    tile: Tile<E, ROWS>,
    place: Place,
) {
    let vectors = ROWS / per_vector::<E>();
    let threads = ROW_VECTORS * ROWS / (R * BLOCKS) as u32;
    // Columns that the block stores at a time; each thread has the same vector of all of its.
    let step = threads / vectors;
    let t = thread::thread_idx_x();
    let (row, first) = (t % vectors * per_vector::<E>(), t / vectors);
    let steps = ROW_VECTORS * per_vector::<E>() / step;
    let to = |col: u32| {
        let offset = (place.col + col as u64) * matrices.dst_ld + place.row + row as u64;
        // SAFETY: only called for columns and rows of the source that there are.
        unsafe { matrices.dst.add(offset as usize) }
    };
    if row + per_vector::<E>() <= place.rows {
        for k in 0..steps {
            let col = first + k * step;
            if col < place.cols {
                // SAFETY: the vector is inside the destination and aligned.
                unsafe {
                    let vector = B16::load_shared(tile.address(row, col));
                    store_vector(to(col) as u64, vector);
                }
            }
        }
    } else if row < place.rows {
        for col in (first..place.cols.min(steps * step)).step_by(step as usize) {
            // SAFETY: the destination's row has `place.rows` elements from the tile's first on.
            unsafe {
                store_each(to(col) as u64, row as i64, place.rows as u64, |byte| {
                    E::load_shared(tile.address(row, col) + byte)
                });
            }
        }
    }
}

/// Defines one entry point with a tile of its own shape.
macro_rules! micro {
    ($name:ident: $element:ty, $width:ident) => {
        crate::fast_entry! {
            "Transposes matrices whose rows, in the source and in the destination, all start on a \
multiple of 16 bytes, columns of tiles `apart` from each other together.",
            MICRO: Micro, $name: $element, |matrices, params| {
                const TILE: MicroTile = MicroTile::of(Width::$width);
                at_most_registers::<32>();
                let bytes = cuda_std::shared_array![B16; (TILE.row_vectors * TILE.rows) as usize];
                let base = crate::tile::shared_address(bytes.cast());
                transpose::<
                    $element,
                    { TILE.row_vectors },
                    { TILE.rows },
                    { TILE.micro_blocks as usize },
                    { TILE.block_rows as usize },
                >(matrices, params.apart as u32, base)
            }
        }
    };
}

micro!(micro_b1: u8, B1);
micro!(micro_b2: u16, B2);
micro!(micro_b4: u32, B4);
micro!(micro_b8: u64, B8);
micro!(micro_b16: B16, B16);
