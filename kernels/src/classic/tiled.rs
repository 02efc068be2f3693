//! The transpose through shared memory: `tiled`, `padded` and `diagonal`.
//!
//! A block loads a tile row by row into shared memory, waits, and stores it column by column:
//!
//! ```text
//! tile[i][j] = src[row + i][col + j]      a warp reads along a row:  coalesced
//! barrier
//! dst[col + j][row + i] = tile[i][j]      a warp writes along a row: coalesced
//! ```
//!
//! Only the tile is accessed with a stride, where a stride costs bank conflicts at most; a
//! padded tile has none. Source: Ruetsch, Micikevicius and Scudiero, sections "Coalesced
//! Transpose", "Shared memory bank conflicts" and "Diagonal block reordering".

use crate::element::{Element, B16};
use crate::matrices::Matrices;
use crate::tile::Tile;
use crate::walk::{self, TileIndex};
use crate::{BLOCK_ROWS, ROWS_PER_THREAD, TILE};
use cuda_std::thread;

/// The pitch of a tile without padding, in elements.
pub const PLAIN: u32 = TILE;

/// The pitch of a tile with one element of padding.
pub const PADDED: u32 = TILE + 1;

/// Transposes the tile at `at` through `tile`.
///
/// # Safety
/// The obligations of the entry points; all threads of the block call it with the same `at`.
#[inline(always)]
unsafe fn transpose<E: Element, const PITCH: u32>(
    matrices: Matrices<E>,
    tile: Tile<E, PITCH>,
    at: TileIndex,
) {
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
        // SAFETY: y + k * BLOCK_ROWS and x are below TILE and no two threads share both.
        unsafe { tile.write(y + k as u32 * BLOCK_ROWS, x, element) };
    }
    thread::sync_threads();
    for k in 0..ROWS_PER_THREAD as u32 {
        let j = y + k * BLOCK_ROWS;
        // SAFETY: x and j are below TILE, and the barrier has separated writes from reads.
        let element = unsafe { tile.read(x, j) };
        // SAFETY: the caller's obligations.
        unsafe { matrices.write_transposed(first_row + x as u64, first_col + j as u64, element) };
    }
}

/// Transposes in the Cartesian walk.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn cartesian<E: Element, const PITCH: u32>(matrices: Matrices<E>, tile: Tile<E, PITCH>) {
    // SAFETY: the caller's obligations; the walk is the same for all threads of a block.
    unsafe { transpose(matrices, tile, walk::cartesian()) }
}

/// Transposes in the diagonal walk.
///
/// # Safety
/// The obligations of the entry points.
#[inline(always)]
unsafe fn diagonal<E: Element, const PITCH: u32>(matrices: Matrices<E>, tile: Tile<E, PITCH>) {
    // SAFETY: the caller's obligations; the walk is the same for all threads of a block.
    unsafe { transpose(matrices, tile, walk::diagonal(matrices.rows)) }
}

crate::entries! {
    "Transposes through an unpadded tile.", classic::TILED,
    cartesian, pitch PLAIN =>
        tiled_b1: u8, tiled_b2: u16, tiled_b4: u32, tiled_b8: u64, tiled_b16: B16
}

crate::entries! {
    "Transposes through a padded tile.", classic::PADDED,
    cartesian, pitch PADDED =>
        padded_b1: u8, padded_b2: u16, padded_b4: u32, padded_b8: u64, padded_b16: B16
}

crate::entries! {
    "Transposes through a padded tile, blocks walking along diagonals.", classic::DIAGONAL,
    diagonal, pitch PADDED =>
        diagonal_b1: u8, diagonal_b2: u16, diagonal_b4: u32, diagonal_b8: u64, diagonal_b16: B16
}
