//! The walk: which tile a block takes.
//!
//! The grid's x axis counts tiles across the columns, its y axis tiles down the rows. The y axis
//! of a grid ends at 65535, so longer matrices continue along z: the tile row is
//! `block.y + grid.y · block.z`. A block past the last tile finds every lane outside the
//! matrix and moves nothing.
//!
//! The fast kernels walk down the rows instead, in the columns' order or [`in_pairs`].

use crate::TILE;
use cuda_std::thread;

/// The position of a tile, counted in tiles.
#[derive(Clone, Copy)]
pub struct TileIndex {
    /// Tiles above.
    pub row: u64,
    /// Tiles to the left.
    pub col: u64,
}

/// Row by row, in the order in which blocks are numbered.
#[inline(always)]
pub fn cartesian() -> TileIndex {
    let z = thread::block_idx_z() as u64 * thread::grid_dim_y() as u64;
    TileIndex { row: z + thread::block_idx_y() as u64, col: thread::block_idx_x() as u64 }
}

/// Along diagonals, so that blocks which run together differ in tile row *and* tile column.
///
/// Consecutive blocks of the Cartesian walk write down one column of destination tiles. Where
/// addresses map to memory partitions by their plain residue, such a column lies in few
/// partitions and its blocks queue for them: partition camping. A diagonal spreads both the
/// reads and the writes. Source: Ruetsch, Micikevicius and Scudiero, "Optimizing Matrix
/// Transpose in CUDA", section "Diagonal block reordering":
///
/// - square grids: `row = x`, `col = (x + y) mod tile_cols`;
/// - others: `id = x + tile_cols · y`, `row = id mod tile_rows`,
///   `col = (id / tile_rows + row) mod tile_cols`.
#[inline(always)]
pub fn diagonal(rows: u64) -> TileIndex {
    along_diagonals(rows.div_ceil(TILE as u64))
}

/// The [`diagonal`] walk over `tile_rows` rows of tiles of any shape.
#[inline(always)]
pub fn along_diagonals(tile_rows: u64) -> TileIndex {
    let tile_cols = thread::grid_dim_x() as u64;
    let TileIndex { row: y, col: x } = cartesian();
    if y >= tile_rows {
        return TileIndex { row: y, col: x };
    }
    if tile_rows == tile_cols {
        let col = x + y;
        let wrapped = if col >= tile_cols { col - tile_cols } else { col };
        return TileIndex { row: x, col: wrapped };
    }
    let id = x + tile_cols * y;
    let row = id % tile_rows;
    TileIndex { row, col: (id / tile_rows + row) % tile_cols }
}

/// Which column of tiles is the `turn`-th if columns `apart` from each other take turns: 0, `apart`, 1,
/// `apart + 1`, … inside every group of `2 · apart` columns.
///
/// `apart` is a power of two, or 0 for the columns as they lie. A grid whose columns do not fill the
/// last group has blocks for all of the group.
#[inline(always)]
pub fn in_pairs(turn: u32, apart: u32) -> u32 {
    let place = 2 * apart - (apart != 0) as u32;
    (turn & !place) | ((turn & 1) * apart) | ((turn & place) / 2)
}
