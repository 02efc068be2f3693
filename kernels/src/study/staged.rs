//! What a transpose through a tile is made of, each part alone.
//!
//! A transpose does two things: it exchanges the elements inside each tile, and it exchanges the
//! tiles. `fine_grained` does only the first, `coarse_grained` only the second, `copy_shared`
//! neither; all three load a tile row by row, wait, and store. `swapped` does both, and lets
//! consecutive blocks walk down the rows of the source instead of along them.
//!
//! A block is 32 × 8 threads and moves a tile of 32 × 32 elements. A part tile at an edge has no
//! place to go to unless both of its exchanges happen, so `fine_grained` and `coarse_grained`
//! want matrices of whole tiles; of others they move what has a place.
//!
//! Source: Ruetsch, Micikevicius and Scudiero, "Optimizing Matrix Transpose in CUDA",
//! `copySharedMem`, `transposeFineGrained`, `transposeCoarseGrained`, and, for the walk, "one could
//! swap the roles of these two components" in section "Diagonal block reordering".

use super::shared::SharedArray;
use crate::element::{Element, B16};
use crate::matrices::Matrices;
use crate::walk::{self, TileIndex};
use crate::{BLOCK_ROWS, ROWS_PER_THREAD, TILE};
use cuda_std::thread;

/// The pitch of a tile without padding, in elements.
const PLAIN: u32 = TILE;

/// The pitch of a tile with one element of padding.
const PADDED: u32 = TILE + 1;

/// One thread's share of a tile that has been loaded: every eighth row `i` of column `j`.
struct Loaded<E> {
    tile: SharedArray<E>,
    first_row: u64,
    first_col: u64,
}

/// Loads the tile at `at`, row by row, and waits until all of it is there.
///
/// # Safety
/// The obligations of the entry points; all threads of the block call it with the same `at`, and
/// `tile` holds `TILE * PITCH` elements.
#[inline(always)]
unsafe fn load<E: Element, const PITCH: u32>(
    matrices: &Matrices<E>,
    tile: SharedArray<E>,
    at: TileIndex,
) -> Loaded<E> {
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_col) = (at.row * TILE as u64, at.col * TILE as u64);
    // All loads before the first store to the tile: they are in flight together.
    let mut held = [E::ANY; ROWS_PER_THREAD];
    for (k, element) in held.iter_mut().enumerate() {
        let i = y + k as u32 * BLOCK_ROWS;
        // SAFETY: the caller's obligations.
        *element = unsafe { matrices.read(first_row + i as u64, first_col + x as u64) };
    }
    for (k, element) in held.into_iter().enumerate() {
        let i = y + k as u32 * BLOCK_ROWS;
        // SAFETY: i and x are below TILE and no two threads share both.
        unsafe { tile.write(i * PITCH + x, element) };
    }
    thread::sync_threads();
    Loaded { tile, first_row, first_col }
}

impl<E: Element> Loaded<E> {
    /// Calls `store` with `(i, x)` for each of this thread's rows `i`; `x` is its column.
    #[inline(always)]
    fn each(self, store: impl Fn(&Self, u32, u32)) {
        for k in 0..ROWS_PER_THREAD as u32 {
            store(&self, thread::thread_idx_y() + k * BLOCK_ROWS, thread::thread_idx_x());
        }
    }
}

/// Copies through shared memory: what the barrier and the staging cost.
///
/// # Safety
/// The obligations of the entry points, the destination being `rows × cols`.
#[inline(always)]
unsafe fn copy_shared<E: Element>(matrices: Matrices<E>, tile: SharedArray<E>) {
    // SAFETY: the caller's obligations; the walk is the same for all threads of a block.
    let loaded = unsafe { load::<E, PLAIN>(&matrices, tile, walk::cartesian()) };
    loaded.each(|from, i, x| {
        let (row, col) = (from.first_row + i as u64, from.first_col + x as u64);
        // SAFETY: i and x are below TILE, loaded before the barrier; the rest is the caller's.
        unsafe { matrices.write_copied(row, col, from.tile.read(i * PLAIN + x)) };
    });
}

/// Exchanges the elements inside each tile and leaves the tile where it is.
///
/// # Safety
/// The obligations of the entry points, the destination being `rows × cols`.
#[inline(always)]
unsafe fn fine_grained<E: Element>(matrices: Matrices<E>, tile: SharedArray<E>) {
    // SAFETY: the caller's obligations; the walk is the same for all threads of a block.
    let loaded = unsafe { load::<E, PADDED>(&matrices, tile, walk::cartesian()) };
    loaded.each(|from, i, x| {
        let (row, col) = (from.first_row + i as u64, from.first_col + x as u64);
        // SAFETY: x and i are below TILE, loaded before the barrier; the rest is the caller's.
        unsafe { matrices.write_copied(row, col, from.tile.read(x * PADDED + i)) };
    });
}

/// Moves each tile to its transposed place and leaves the elements inside as they are.
///
/// # Safety
/// The obligations of the entry points, the destination being `cols × rows`.
#[inline(always)]
unsafe fn coarse_grained<E: Element>(matrices: Matrices<E>, tile: SharedArray<E>) {
    // SAFETY: the caller's obligations; the walk is the same for all threads of a block.
    let loaded = unsafe { load::<E, PADDED>(&matrices, tile, walk::cartesian()) };
    loaded.each(|from, i, x| {
        // Row i of the destination's tile is what a transpose would fetch from column i.
        let (row, col) = (from.first_row + x as u64, from.first_col + i as u64);
        // SAFETY: i and x are below TILE, loaded before the barrier; the rest is the caller's.
        unsafe { matrices.write_transposed(row, col, from.tile.read(i * PADDED + x)) };
    });
}

/// Transposes, with the grid's x axis counting tiles down the rows.
///
/// # Safety
/// The obligations of the entry points, the grid's x axis being along the rows.
#[inline(always)]
unsafe fn swapped<E: Element>(matrices: Matrices<E>, tile: SharedArray<E>) {
    let TileIndex { row, col } = walk::cartesian();
    // SAFETY: the caller's obligations; the walk is the same for all threads of a block.
    let loaded = unsafe { load::<E, PADDED>(&matrices, tile, TileIndex { row: col, col: row }) };
    loaded.each(|from, i, x| {
        let (row, col) = (from.first_row + x as u64, from.first_col + i as u64);
        // SAFETY: x and i are below TILE, loaded before the barrier; the rest is the caller's.
        unsafe { matrices.write_transposed(row, col, from.tile.read(x * PADDED + i)) };
    });
}

crate::entries! {
    "Copies through an unpadded tile.", study::COPY_SHARED,
    copy_shared, shared (TILE * PLAIN) as usize =>
        copy_shared_b1: u8, copy_shared_b2: u16, copy_shared_b4: u32, copy_shared_b8: u64,
        copy_shared_b16: B16
}

crate::entries! {
    "Transposes inside each tile.", study::FINE_GRAINED,
    fine_grained, shared (TILE * PADDED) as usize =>
        fine_grained_b1: u8, fine_grained_b2: u16, fine_grained_b4: u32, fine_grained_b8: u64,
        fine_grained_b16: B16
}

crate::entries! {
    "Transposes the order of the tiles.", study::COARSE_GRAINED,
    coarse_grained, shared (TILE * PADDED) as usize =>
        coarse_grained_b1: u8, coarse_grained_b2: u16, coarse_grained_b4: u32,
        coarse_grained_b8: u64, coarse_grained_b16: B16
}

crate::entries! {
    "Transposes through a padded tile, blocks walking down the rows.", study::SWAPPED,
    swapped, shared (TILE * PADDED) as usize =>
        swapped_b1: u8, swapped_b2: u16, swapped_b4: u32, swapped_b8: u64, swapped_b16: B16
}
