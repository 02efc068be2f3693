//! Square matrices: tiles mirrored at the diagonal change places.

use super::launch;
use super::pitch::tuple_pitch;
use crate::divide::divisor32;
use crate::facts::Facts;
use crate::far_rows::tiles_apart;
use crate::in_place::shape::Shape;
use crate::kernels::Width;
use crate::launch::Launch;
use kernel_abi::in_place::{
    SQUARE, SQUARE_THREADS, SQUARE_TUPLES, SQUARE_WIDE, Square, SquareTuples,
};

/// Threads of a block.
const THREADS: usize = SQUARE_THREADS as usize;

/// A square matrix, tiles exchanged across the diagonal. `None` if not even two elements fit on chip.
pub fn square(shape: &Shape, facts: &Facts) -> Option<Launch> {
    let Shape { rows: side, ld, width, tuple, .. } = *shape;
    if tuple != 1 {
        return square_tuples(shape, facts);
    }
    let bytes = width.bytes();
    let wide = ((side | ld) * bytes).is_multiple_of(16);
    // A tile's side, and the bytes that it takes in shared memory.
    let (tile, held) = match (wide, width) {
        // Columns of 32 words, and a word between them.
        (true, Width::B1) => (128, 128 * 33 * 4),
        (true, Width::B2) => (64, 64 * 33 * 4),
        (true, Width::B4) => (64, 64 * 65 * 4),
        _ => (32, 32 * 33 * bytes),
    };
    let kernel = if wide { &SQUARE_WIDE } else { &SQUARE };
    let (grid, square) = tiled(shape, tile);
    Some(launch(kernel, width, grid, THREADS, 2 * held, square))
}

/// The grid, and the matrix in such tiles.
fn tiled(shape: &Shape, tile: usize) -> ([usize; 2], Square) {
    let tiles = shape.rows.div_ceil(tile);
    let apart = apart(shape, tile, tiles);
    let square = Square {
        side: shape.rows as u64,
        ld: shape.ld as u64,
        tiles: tiles as u64,
        apart: apart as u64,
    };
    (grid(tiles, apart), square)
}

/// Rows a multiple of so many bytes apart meet in few of the memory's banks.
const FAR_ROWS: usize = 128 << 10;

/// How far apart two columns of tiles should lie where rows meet in few of the memory's banks, in bytes.
const PAIR_DISTANCE: usize = 8 << 10;

/// How far apart rows of tiles are that are walked together, in tiles: their mirrors are columns of tiles.
fn apart(shape: &Shape, tile: usize, tiles: usize) -> usize {
    let bytes = shape.element_bytes();
    tiles_apart(FAR_ROWS, PAIR_DISTANCE, tile * bytes, tiles, shape.ld.checked_mul(bytes))
}

/// Two rows of tiles for each row of the grid, and rows for whole groups of those that take turns.
fn grid(tiles: usize, apart: usize) -> [usize; 2] {
    let side = tiles.next_multiple_of((2 * apart).max(1));
    [side + 1, side.div_ceil(2)]
}

/// Bytes of the two tiles that a block exchanges, if elements have several words.
const TUPLE_TILES_BYTES: usize = 40 << 10;

/// A square matrix of elements of several words.
fn square_tuples(shape: &Shape, facts: &Facts) -> Option<Launch> {
    let Shape { width, tuple, .. } = *shape;
    let mut tile = 64;
    while tile > 1 && 2 * tile * tile * shape.element_bytes() > TUPLE_TILES_BYTES {
        tile /= 2;
    }
    let pitch = tuple_pitch(tile * tuple, tuple, width);
    let shared = 2 * tile * pitch * width.bytes();
    let (grid, square) = tiled(shape, tile);
    let (tile, pitch) = (tile as u64, pitch as u64);
    let params = SquareTuples { square, tile, pitch, tuple: divisor32(tuple) };
    let launch = launch(&SQUARE_TUPLES, width, grid, THREADS, shared, params);
    (shared <= facts.block_shared).then_some(launch)
}
